/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decision costs by itself: decide POLICY LIBEXEC UID.
 *
 * Whether the user may have keys of its own, what of a request is allowed, and whether root would
 * carry the plan out: all that looks at grants, and no signature. Each time is that of the first
 * decision of a new process, which has looked at nothing of the policy yet, as a decider has not.
 * Prints the median in microseconds.
 */
#include "helper/plan/admit.h"
#include "programs/decide/decider/planning.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 301

static _Noreturn void fail(const char *what, const struct yett_error *error)
{
	(void)fprintf(stderr, "%s: %s\n", what, error->message);
	exit(1);
}

static double now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static double decide(const struct policy *policy, uid_t uid)
{
	static const struct plan_limits given;
	static struct peer peer;
	static struct message request;
	static struct plan plan;
	struct verified verified = {
		.peer = &peer, .request = &request, .key_source = KEY_ENROLLED, .principal = "one"};
	struct yett_error error = {0};
	struct decision decision;
	double before, middle, after;
	int r;

	peer.uid = peer.gid = uid;
	for (peer.groups_count = 0; peer.groups_count < 8; peer.groups_count++)
		peer.groups[peer.groups_count] = 100 + (gid_t)peer.groups_count;
	(void)message_begin(&request, MESSAGE_CREATE);
	if (message_add_text(&request, "one", &request.body.create.profile) < 0)
		fail("the request", &error);
	before = now_us();
	(void)authorize_user_keys(policy, &peer);
	r = authorize(policy, &verified, &given, &decision, &error);
	middle = now_us();
	if (r == 0)
		r = planning_make(policy, &decision, "0000000000000000", &plan, &error);
	if (r != 0)
		fail("the request", &error);
	after = now_us();
	if (admit_check(policy, &peer, &plan, &error) != 0)
		fail("the plan", &error);
	return middle - before + now_us() - after;
}

int main(int argc, char **argv)
{
	double *times = mmap(NULL, ROUNDS * sizeof *times, PROT_READ | PROT_WRITE,
	                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct yett_error error = {0};
	struct policy *policy;

	if (argc != 4 || times == MAP_FAILED)
		return 2;
	if (policy_load(&(struct policy_source){argv[2], argv[1], true, getuid()}, &policy,
	                &error) != 0)
		fail(argv[1], &error);
	for (size_t i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			times[i] = decide(policy, (uid_t)strtoul(argv[3], NULL, 10));
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	qsort(times, ROUNDS, sizeof *times, compare);
	(void)printf("%.1f\n", times[ROUNDS / 2]);
	policy_free(policy);
	return 0;
}
