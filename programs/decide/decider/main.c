/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-decider: serves one client, decides what the client may have, and requests that from its
 * monitor.
 *
 * All decisions are made here, and without privilege. Only this process reads the client's
 * requests. It starts yett-decoder to parse them, and compares the decoder's reading with the
 * signed bytes. For everything that needs privilege it asks its monitor, on descriptor 0 (ask.h).
 * It starts as root (in personal mode as the caller). decider_lock_down() drops all privilege
 * before any byte of a client arrives.
 */
#include "helper/policy/image.h"
#include "helper/privilege/lockdown.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/requests.h"
#include "programs/filters/filters.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* Exit statuses: the log names the stage that failed by its number. */
enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_DESCRIPTORS,
	STAGE_DECODER,
	STAGE_LIBRARY,
	STAGE_ROOT,
	STAGE_IDS,
	STAGE_LIMITS,
	STAGE_CAPABILITIES,
	STAGE_DEATH_SIGNAL,
	STAGE_POLICY,
	STAGE_FILTER,
};

/* sockets of SANDBOXES_MAX (4096) sandboxes, and 256 other descriptors */
#define SANDBOXES_FILES 4352

struct arguments {
	uint32_t id;
	char empty_dir[4096]; /* empty: none */
	const char *libexec;
	int policy; /* -1: none */
};

/* Exits if the stage failed. The monitor logs that. */
static void decider_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool decider_read_arguments(int argc, char **argv, struct arguments *ret)
{
	uint32_t policy = 0;

	if (argc != 5 || !lockdown_parse_id(argv[1], &ret->id) ||
	    (strcmp(argv[3], "-1") != 0 && !lockdown_parse_id(argv[3], &policy)))
		return false;
	if (*argv[2] && (size_t)snprintf(ret->empty_dir, sizeof ret->empty_dir, "%s/empty",
	                                 argv[2]) >= sizeof ret->empty_dir)
		return false;
	ret->policy = strcmp(argv[3], "-1") != 0 ? (int)policy : -1;
	ret->libexec = argv[4];
	return true;
}

/*
 * Returns the hard limits that this process inherited from the helper; 0: no bound. No process in a
 * sandbox can have more, because raising a hard limit takes CAP_SYS_RESOURCE.
 */
static struct plan_limits limits_given(void)
{
	static const struct {
		uint32_t resource;
		size_t offset;
	} rows[] = {{RLIMIT_NOFILE, offsetof(struct plan_limits, files)},
	            {RLIMIT_FSIZE, offsetof(struct plan_limits, file_bytes)},
	            {RLIMIT_CPU, offsetof(struct plan_limits, cpu_seconds)},
	            {RLIMIT_STACK, offsetof(struct plan_limits, stack_bytes)}};
	struct plan_limits given = {0};
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (getrlimit(rows[i].resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
			*(uint64_t *)((char *)&given + rows[i].offset) = limit.rlim_max;
	return given;
}

/*
 * RLIMIT_FSIZE bounds the memfds that the decider hands over; it can write no other file.
 * RLIMIT_CORE is 1 and not 0, because only with 1 the kernel does not start the host's core handler
 * either: core(5).
 */
static bool decider_set_limits(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NOFILE, SANDBOXES_FILES},
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 64u << 20},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(256u << 20)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

static void decider_lock_down(int argc, char **argv, struct decoder *decoder,
                              struct policy **ret_policy)
{
	static struct arguments arguments;
	struct yett_error error;

	decider_need(decider_read_arguments(argc, argv, &arguments), STAGE_ARGUMENTS);
	fd_close_except(&arguments.policy, 1);
	decider_need(close(STDOUT_FILENO) == 0 || errno == EBADF, STAGE_DESCRIPTORS);
	decider_need(close(STDERR_FILENO) == 0 || errno == EBADF, STAGE_DESCRIPTORS);
	/* The decoder must not inherit the policy. */
	decider_need(arguments.policy < 0 || fcntl(arguments.policy, F_SETFD, FD_CLOEXEC) == 0,
	             STAGE_DESCRIPTORS);
	decider_need(decoder_start(arguments.libexec, arguments.id, arguments.empty_dir, decoder) ==
	                     0,
	             STAGE_DECODER);
	/* Before chroot(2): sodium_init() looks for a source of random bytes. */
	decider_need(sodium_init() >= 0, STAGE_LIBRARY);
	if (geteuid() == 0 && *arguments.empty_dir) {
		/*
		 * Needs CAP_SYS_CHROOT. Safe because the directory belongs to root and is empty,
		 * and this process can create nothing in it.
		 */
		decider_need(chroot(arguments.empty_dir) == 0 && chdir("/") == 0, STAGE_ROOT);
		decider_need(lockdown_bounding_set() && lockdown_ids(arguments.id, arguments.id),
		             STAGE_IDS);
	}
	decider_need(decider_set_limits(), STAGE_LIMITS);
	decider_need(lockdown_capabilities() && lockdown_undumpable() && lockdown_no_new_privs(),
	             STAGE_CAPABILITIES);
	/* If the monitor died before this call, ask_begin() sees end of file and exits. */
	decider_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	/* Without a policy the decider only tells the client why there is no service. */
	decider_need(arguments.policy < 0 || image_load(arguments.policy, ret_policy, &error) == 0,
	             STAGE_POLICY);
	decider_need(lockdown_filter(&filters_decider), STAGE_FILTER);
}

int main(int argc, char **argv)
{
	struct decoder decoder = DECODER_NONE;
	struct policy *policy = NULL;
	const struct decider_begin *begin;
	const struct plan_limits given = limits_given();
	struct ask_fds fds;

	decider_lock_down(argc, argv, &decoder, &policy);
	begin = ask_begin(&fds);
	requests_serve(begin, &given, policy, &decoder, fds.first, fds.second);
	/*
	 * Let the decoder exit by itself. The listener adopts orphans, and takes one that a signal
	 * ended for a killed supervisor.
	 */
	decoder_end(&decoder);
	/* Not exit(3): the filter kills the process for the system calls of exit handlers. */
	_exit(0);
}
