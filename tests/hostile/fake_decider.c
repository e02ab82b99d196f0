/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-decider that its client has captured: the real one, but for what it asks its monitor for.
 *
 * A request whose host name is "hostile-MODE" has the act below done in the place of, or before,
 * the honest one; a mode may have a number or an id after a second "-at-". What came of it the
 * client is told as a refusal, where there is anybody left to tell it.
 */
#define ask honest_ask
#include "programs/decide/decider/ask.c" /* NOLINT: with what it keeps to itself */
#undef ask
#include "base/clock.h"
#include "protocol/frame.h"
#include "tests/hostile/lingering.h"
int ask(enum decider_act act, const struct iovec *parts, unsigned count,
        struct decider_answer *ret_answer, struct ask_fds *ret_fds, struct yett_error *error);

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/time.h>

#define ROOT        "/root"
#define FLOOD       100000
#define COUNTED     40
#define REFUSING_MS 4000
#define UNTOLD      ((enum decider_act)77)
#define IGNORE_END  60000 /* ms that the monitor has to kill the decider */

struct attack {
	struct plan *plan;
	const char *argument; /* of the mode; empty: none */
	struct yett_error *error;
	struct decider_answer answer;
	struct ask_fds fds;
};

/*
 * A client can send one of its own, which an honest decider does not receive. Made while that is
 * still possible, where the tests listen: the number of the port is in a file beside the program.
 */
static int lingering = -1;
static bool lingers_on_created; /* it goes to the supervisor of the sandbox that is being made, once
                                   that has its plan */
static char port_path[4096];

__attribute__((constructor)) static void find_port(int argc, char **argv)
{
	if (argc == 5)
		(void)snprintf(port_path, sizeof port_path, "%s/port", argv[4]);
}

/*
 * Where the helper has let go of it first, its last close(2) is the one here, which would wait for
 * that hour: a signal ends it. The signal comes again and again, because the filter leaves no call
 * that would ask for it in time. setitimer(2)
 */
static void go_on(int signal_)
{
	(void)signal_;
}

static void be_woken(void)
{
	static const struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_RESTART};
	static const struct itimerval interval = {{.tv_usec = 200000}, {.tv_usec = 200000}};

	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &interval, NULL) < 0)
		_exit(3);
}

void __real_fd_close_except(const int *keep, size_t count);
void __wrap_fd_close_except(const int *keep, size_t count);
void __wrap_fd_close_except(const int *keep, size_t count)
{
	unsigned port = 0;
	FILE *file;

	__real_fd_close_except(keep, count);
	file = fopen(port_path, "re");
	if (file && fscanf(file, "%u", &port) == 1)
		lingering = make_lingering_to(htons((in_port_t)port));
	be_woken();
	if (file)
		(void)fclose(file);
}

/* Whoever closes it after this one is the last. The second may be -1. Whether one of the two took
 * it. */
static bool send_lingering(int first, int second)
{
	bool is_sent = frame_send(first, "", 1, &lingering, 1, MSG_DONTWAIT) == 0;

	is_sent = (second >= 0 && frame_send(second, "", 1, &lingering, 1, MSG_DONTWAIT) == 0) ||
	          is_sent;
	if (is_sent)
		(void)close(lingering);
	return is_sent;
}

/* What the client is told of it. */
static int tell(struct attack *a, const char *format, uint64_t first, uint64_t second)
{
	char text[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof text, format, first, second);
#pragma GCC diagnostic pop
	return error_set(a->error, YETT_E_SECURITY_VIOLATION, 0, "captured: %s", text);
}

static int wait_for_the_end(struct attack *a)
{
	uint64_t end_ms = clock_now_ms() + IGNORE_END;

	while (clock_now_ms() < end_ms)
		(void)poll(NULL, 0, IGNORE_END);
	return tell(a, "the decider was let live", 0, 0);
}

static int do_act(struct attack *a, enum decider_act act, const void *bytes, size_t size)
{
	return honest_ask(act, &(struct iovec){(void *)(uintptr_t)bytes, size}, 1, &a->answer,
	                  &a->fds, a->error);
}

static void close_fds(struct attack *a)
{
	fd_close(a->fds.first);
	fd_close(a->fds.second);
	a->fds = (struct ask_fds){-1, -1};
}

/* --- plans that are not what the policy allows: 0, and the plan is sent as it is now ---------- */

static struct plan_text add_text(struct plan *plan, const char *text)
{
	struct plan_text added = {plan->arena_used};

	memcpy(plan->arena + plan->arena_used, text, strlen(text) + 1);
	plan->arena_used += (uint32_t)strlen(text) + 1;
	return added;
}

/* Among those of its kind: before what makes the sandbox its own. */
static int mount_host(struct attack *a, const char *source, bool writable)
{
	struct plan *plan = a->plan;
	uint32_t at = 0;

	while (plan->steps[at].kind != PLAN_LOOPBACK && plan->steps[at].kind != PLAN_HOSTNAME)
		at++;
	memmove(plan->steps + at + 1, plan->steps + at,
	        (plan->steps_count++ - at) * sizeof *plan->steps);
	plan->steps[at] = (struct plan_step){.kind = PLAN_HOST,
	                                     .source = add_text(plan, source),
	                                     .target = add_text(plan, "/mnt/stolen"),
	                                     .writable = writable};
	return 0;
}

static int shadow(struct attack *a)
{
	return mount_host(a, "/etc/shadow", false);
}
static int home_of_root(struct attack *a)
{
	return mount_host(a, ROOT, false);
}
static int written_to(struct attack *a)
{
	return mount_host(a, "/usr/share", true);
}
static int another_uid(struct attack *a)
{
	return a->plan->caller_uid = 0;
}
static int uid_of(struct attack *a)
{
	a->plan->caller_uid = (uid_t)strtoul(a->argument, NULL, 10);
	return 0;
}
static int another_gid(struct attack *a)
{
	return a->plan->caller_gid = 0;
}
static int a_group_more(struct attack *a)
{
	return a->plan->groups[a->plan->groups_count++] = 0;
}
static int identity_root(struct attack *a)
{
	return a->plan->identity = PLAN_IDENTITY_ROOT, 0;
}
static int identity_caller(struct attack *a)
{
	return a->plan->identity = PLAN_IDENTITY_CALLER, 0;
}
static int capabilities(struct attack *a)
{
	return a->plan->capabilities = UINT64_MAX, 0;
}
static int user_namespaces(struct attack *a)
{
	return a->plan->nested_userns = !a->plan->nested_userns, 0;
}
static int other_label(struct attack *a)
{
	return a->plan->label = add_text(a->plan, "unconfined"), 0;
}
static int other_type(struct attack *a)
{
	return a->plan->selinux_type = add_text(a->plan, "unconfined_t"), 0;
}
static int nice_value(struct attack *a)
{
	return a->plan->nice = -20, 0;
}
static int both_dry_and_not(struct attack *a)
{
	memset(&a->plan->is_dry, 2, 1);
	return 0;
}
static int name_of_profile(struct attack *a)
{
	return a->plan->profile_name = add_text(a->plan, "another"), 0;
}
static int profile(struct attack *a)
{
	return a->plan->profile = (uint32_t)strtoul(a->argument, NULL, 10), 0;
}

/* --- plans whose numbers lie; the lengths below are right, but for those that are the lie ----- */

static int send_plan(struct attack *a, size_t steps, size_t arena)
{
	struct plan *plan = a->plan;
	const struct iovec parts[] = {
		{plan, offsetof(struct plan, steps) + steps * sizeof *plan->steps},
		{plan->arena, arena}};
	int r = honest_ask(ACT_CREATE, parts, ARRAY_SIZE(parts), &a->answer, &a->fds, a->error);

	return r ? r : tell(a, "a plan whose numbers lie was taken", 0, 0);
}

static int shorter(struct attack *a)
{
	return send_plan(a, a->plan->steps_count, a->plan->arena_used - 1);
}
static int longer(struct attack *a)
{
	return send_plan(a, a->plan->steps_count, a->plan->arena_used + 1);
}
static int a_step_less(struct attack *a)
{
	return send_plan(a, a->plan->steps_count - 1, a->plan->arena_used);
}
static int all_steps(struct attack *a)
{
	return a->plan->steps_count = UINT32_MAX, send_plan(a, 10, a->plan->arena_used);
}
static int all_texts(struct attack *a)
{
	return a->plan->arena_used = UINT32_MAX, send_plan(a, a->plan->steps_count, 100);
}
static int all_groups(struct attack *a)
{
	a->plan->groups_count = UINT32_MAX;
	return send_plan(a, a->plan->steps_count, a->plan->arena_used);
}
static int all_labels(struct attack *a)
{
	a->plan->labels_count = UINT32_MAX;
	return send_plan(a, a->plan->steps_count, a->plan->arena_used);
}
static int all_variables(struct attack *a)
{
	a->plan->env_count = UINT32_MAX;
	return send_plan(a, a->plan->steps_count, a->plan->arena_used);
}
static int all_descriptors(struct attack *a)
{
	a->plan->share_fds = UINT32_MAX;
	return send_plan(a, a->plan->steps_count, a->plan->arena_used);
}
static int no_kind(struct attack *a)
{
	a->plan->steps[a->plan->steps_count - 1].kind = PLAN_STEP_KINDS;
	return send_plan(a, a->plan->steps_count, a->plan->arena_used);
}
static int no_head(struct attack *a)
{
	int r = do_act(a, ACT_CREATE, a->plan, 100);

	return r ? r : tell(a, "a plan without a head was taken", 0, 0);
}

/* --- packets that are no acts: nobody is to be left who could go on --------------------------- */

static int no_act(struct attack *a)
{
	return send_parts(UNTOLD, NULL, 0), wait_for_the_end(a);
}
static int act_of_0(struct attack *a)
{
	return send_parts((enum decider_act)0, NULL, 0), wait_for_the_end(a);
}
static int largest_act(struct attack *a)
{
	return send_parts((enum decider_act)UINT32_MAX, NULL, 0), wait_for_the_end(a);
}
static int half_a_number(struct attack *a)
{
	return (void)send(STDIN_FILENO, "xx", 2, MSG_NOSIGNAL), wait_for_the_end(a);
}
static int nothing(struct attack *a)
{
	return (void)send(STDIN_FILENO, "", 0, MSG_NOSIGNAL), wait_for_the_end(a);
}
static int short_key(struct attack *a)
{
	return send_parts(ACT_KEY, &(struct iovec){a->plan, sizeof(struct decider_key) - 1}, 1),
	       wait_for_the_end(a);
}
static int long_key(struct attack *a)
{
	return send_parts(ACT_KEY, &(struct iovec){a->plan, sizeof(struct decider_key) + 1}, 1),
	       wait_for_the_end(a);
}
static int short_request(struct attack *a)
{
	return send_parts(ACT_ASK, &(struct iovec){a->plan, sizeof(struct supervisor_request) - 1},
	                  1),
	       wait_for_the_end(a);
}
static int long_records(struct attack *a)
{
	return send_parts(ACT_RECORDS, &(struct iovec){a->plan, sizeof(struct decider_records) + 1},
	                  1),
	       wait_for_the_end(a);
}

static int larger_than_all(struct attack *a)
{
	const struct iovec parts[] = {{a->plan, sizeof *a->plan}, {a->plan, 4096}};

	return send_parts(ACT_CREATE, parts, ARRAY_SIZE(parts)), wait_for_the_end(a);
}

/* Closing what a client made may take as long as that chose. */
static int a_descriptor(struct attack *a)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.align = {.cmsg_level = SOL_SOCKET,
	                       .cmsg_type = SCM_RIGHTS,
	                       .cmsg_len = CMSG_LEN(sizeof(int))}};
	uint32_t number = ACT_LOST;
	int fd = STDIN_FILENO;

	memcpy(CMSG_DATA(&control.align), &fd, sizeof fd);
	(void)!sendmsg(STDIN_FILENO,
	               &(struct msghdr){.msg_iov = &(struct iovec){&number, sizeof number},
	                                .msg_iovlen = 1,
	                                .msg_control = control.bytes,
	                                .msg_controllen = sizeof control.bytes},
	               MSG_NOSIGNAL);
	return wait_for_the_end(a);
}

/* --- what is another's ------------------------------------------------------------------------ */

static int count_records(struct attack *a, const struct decider_records *wanted)
{
	struct decider_record reports;
	uint64_t own = 0, others = 0;
	int r = do_act(a, ACT_RECORDS, wanted, sizeof *wanted);

	for (uint32_t i = 0; r == 0 && i < a->answer.count; i++)
		if (pread(a->fds.first, &reports, sizeof reports, (off_t)(i * sizeof reports)) ==
		    sizeof reports)
			*(reports.record.uid == a->plan->caller_uid ? &own : &others) += 1;
	close_fds(a);
	return r ? r
	         : tell(a, "told of %" PRIu64 " of its own, %" PRIu64 " of others", own, others);
}

static int records(struct attack *a)
{
	return count_records(a, &(struct decider_records){.of_all = true, .with_usage = true});
}

static int record_of(struct attack *a)
{
	struct decider_records wanted = {.of_all = true, .with_usage = true};

	(void)snprintf(wanted.id, sizeof wanted.id, "%s", a->argument);
	return count_records(a, &wanted);
}

/* An id that does not end. */
static int record_without_end(struct attack *a)
{
	struct decider_records wanted = {.of_all = true};

	memset(wanted.id, '0', sizeof wanted.id);
	return count_records(a, &wanted);
}

static int totals(struct attack *a)
{
	int r = do_act(a, ACT_TOTALS, "", 0);

	return r ? r : tell(a, "told the totals", 0, 0);
}

static bool is_refused(int supervisor)
{
	struct supervisor_created answer = {0};
	struct pollfd wait = {.fd = supervisor, .events = POLLIN};

	while (poll(&wait, 1, -1) < 0)
		;
	return recv(supervisor, &answer, sizeof answer, 0) == sizeof answer && answer.code != 0;
}

static int ask_as(struct attack *a, enum manage_action action, bool lingers)
{
	struct supervisor_request request = {.action = action, .states = UINT32_MAX};
	bool refused, is_sent = false;
	int r;

	(void)snprintf(request.id, sizeof request.id, "%s", a->argument);
	r = do_act(a, ACT_ASK, &request, sizeof request);
	if (r == 0 && lingers)
		is_sent = send_lingering(a->fds.first, a->fds.second);
	refused = r == 0 && is_refused(a->fds.first);
	close_fds(a);
	if (r == 0 && is_sent)
		return tell(a, "the supervisor was asked, and sent what lingers", 0, 0);
	return r ? r
	         : tell(a,
	                refused ? "the supervisor was asked, and refused"
	                        : "the supervisor was asked",
	                0, 0);
}

/* Those that linger let go at once of what they got. */
#define ASKS(X)                                             \
	X(attach, MANAGE_ATTACH, false)                     \
	X(follow, MANAGE_FOLLOW, false)                     \
	X(destroy, MANAGE_DESTROY, false)                   \
	X(kill_it, MANAGE_KILL, false)                      \
	X(ask_for_its_plan, MANAGE_PLAN, false)             \
	X(no_action, (enum manage_action)UINT32_MAX, false) \
	X(attach_and_linger, MANAGE_ATTACH, true)           \
	X(follow_and_linger, MANAGE_FOLLOW, true)           \
	X(destroy_and_linger, MANAGE_DESTROY, true)

#define X(name, action, lingers)                   \
	static int name(struct attack *a)          \
	{                                          \
		return ask_as(a, action, lingers); \
	}
ASKS(X)
#undef X

static int linger_with_monitor(struct attack *a)
{
	return (void)send_lingering(STDIN_FILENO, -1), wait_for_the_end(a);
}
static int linger_with_supervisor(struct attack *a)
{
	(void)a;
	lingers_on_created = true;
	return 0;
}

/* --- what no list can tell -------------------------------------------------------------------- */

static int name_of_bytes(struct attack *a)
{
	return a->plan->name = add_text(a->plan, "\x01\xff\x1b[2J"), 0;
}
static int labels_of_bytes(struct attack *a)
{
	a->plan->labels[0] = add_text(a->plan, "\x01\xff\x1b[2J");
	return a->plan->labels_count = 1, 0;
}
static int boundless_limits(struct attack *a)
{
	return a->plan->limits.memory_bytes = UINT64_C(1) << 52, 0;
}
static int boundless_life(struct attack *a)
{
	return a->plan->life.wall_ms = UINT64_MAX / 2, 0;
}

/* --- rules of the network, which nobody of root's looks into ---------------------------------- */

static int tell_garbage(uint32_t packets, size_t size)
{
	static const uint8_t garbage[1 << 16] = {0xff};

	for (uint32_t i = 0; i < packets; i++)
		ask_report_bytes(ACT_RULES, garbage, size);
	return 0;
}
static int rules_of_garbage(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_LIMITED, tell_garbage(1, 1000);
}
static int rules_of_nothing(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_LIMITED, tell_garbage(FLOOD, 1);
}
static int rules_without_end(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_LIMITED, tell_garbage(64, 1 << 16);
}
static int no_rules(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_LIMITED, 0;
}
static int rules_without_a_network(struct attack *a)
{
	(void)a;
	return tell_garbage(1, 1000);
}
static int network_that_is_none(struct attack *a)
{
	return a->plan->network = PLAN_NETWORKS, tell_garbage(1, 1000);
}

static int network_of_the_host(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_HOST, 0;
}
static int network_of_the_host_with_rules(struct attack *a)
{
	return a->plan->network = PLAN_NETWORK_HOST, tell_garbage(1, 1000);
}

/* --- how much --------------------------------------------------------------------------------- */

/* Asks, and never takes an answer. */
static int flood(struct attack *a)
{
	static const struct decider_records wanted = {.of_all = true, .with_usage = true};

	for (int i = 0; i < FLOOD; i++)
		send_parts(ACT_RECORDS, &(struct iovec){(void *)(uintptr_t)&wanted, sizeof wanted},
		           1);
	return wait_for_the_end(a);
}

static int flood_log(struct attack *a)
{
	(void)a;
	for (int i = 0; i < FLOOD; i++)
		ask_log(LOG_LEVEL_NOTICE, "flood %d\n<0>\033[2J forged line", i);
	return tell(a, "it has written a flood", 0, 0);
}

/* For seconds: each is one that yett-audit is told of. */
static int flood_refusals(struct attack *a)
{
	struct yett_error refused = {0};
	uint64_t end_ms = clock_now_ms() + REFUSING_MS;

	(void)error_set(&refused, YETT_E_RESOURCE_LIMIT, 0, "flood");
	while (clock_now_ms() < end_ms)
		ask_report_bytes(ACT_REFUSED, &refused, sizeof refused);
	return tell(a, "it was refused without end", 0, 0);
}

static int flood_sweeps(struct attack *a)
{
	for (int i = 0; i < FLOOD / 400; i++) /* a process each: the client waits 30 s for all */
		(void)!do_act(a, ACT_LOST, "", 0);
	return tell(a, "it has had much swept", 0, 0);
}

/* Without the key's act, with which an honest one begins each request. */
static int count_records_that_are_told(struct attack *a)
{
	static const struct decider_records wanted = {.of_all = true};
	uint64_t passed = 0;

	for (int i = 0; i < COUNTED; i++) {
		passed += do_act(a, ACT_RECORDS, &wanted, sizeof wanted) == 0;
		close_fds(a);
	}
	return tell(a, "told of records %" PRIu64 " times", passed, 0);
}

static int count_sandboxes_that_are_made(struct attack *a)
{
	const struct iovec parts[] = {
		{a->plan,
	         offsetof(struct plan, steps) + a->plan->steps_count * sizeof *a->plan->steps},
		{a->plan->arena, a->plan->arena_used}};
	uint64_t passed = 0;

	for (int i = 0; i < COUNTED; i++) {
		passed += honest_ask(ACT_CREATE, parts, ARRAY_SIZE(parts), &a->answer, &a->fds,
		                     a->error) == 0;
		close_fds(a);
	}
	return tell(a, "let make %" PRIu64 " sandboxes", passed, 0);
}

/* Without the key's act, by which an honest one learns that another policy is in force. */
static int ask_until_refused(struct attack *a)
{
	static const struct decider_records wanted = {.of_all = true};
	int r = do_act(a, ACT_RECORDS, &wanted, sizeof wanted);

	if (r == 0)
		ask_log(LOG_LEVEL_NOTICE, "one was answered");
	while (r == 0) {
		close_fds(a);
		r = do_act(a, ACT_RECORDS, &wanted, sizeof wanted);
	}
	return r;
}

/* There is no packet of the client that has descriptors: the next one goes. */
static int flood_drops(struct attack *a)
{
	for (int i = 0; i < FLOOD / 500; i++)
		(void)!do_act(a, ACT_DROP, "", 0);
	return tell(a, "it has dropped much", 0, 0);
}

static int hang(struct attack *a)
{
	(void)a;
	while (poll(NULL, 0, -1) <= 0)
		;
	return 0;
}

static int leave_badly(struct attack *a)
{
	(void)a;
	_exit(3);
}

/* Where the filter lets a process say nothing of it. */
static int open_a_file(struct attack *a)
{
	return tell(a, "it has opened a file: %" PRIu64, (uint64_t)open("/", O_RDONLY | O_CLOEXEC),
	            0);
}
static int make_a_process(struct attack *a)
{
	return tell(a, "it has made a process: %" PRIu64, (uint64_t)fork(), 0);
}
static int connect_to_somebody(struct attack *a)
{
	return tell(a, "it has a socket: %" PRIu64,
	            (uint64_t)socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
}

static const struct {
	const char *name;
	int (*run)(struct attack *a);
} modes[] = {
#define MODE(function)              \
	{                           \
#function, function \
	}
	MODE(shadow),
	MODE(home_of_root),
	MODE(written_to),
	MODE(another_uid),
	MODE(uid_of),
	MODE(another_gid),
	MODE(a_group_more),
	MODE(identity_root),
	MODE(identity_caller),
	MODE(capabilities),
	MODE(user_namespaces),
	MODE(other_label),
	MODE(other_type),
	MODE(nice_value),
	MODE(both_dry_and_not),
	MODE(name_of_profile),
	MODE(profile),
	MODE(shorter),
	MODE(longer),
	MODE(a_step_less),
	MODE(all_steps),
	MODE(all_texts),
	MODE(all_groups),
	MODE(all_labels),
	MODE(all_variables),
	MODE(all_descriptors),
	MODE(no_kind),
	MODE(no_head),
	MODE(no_act),
	MODE(act_of_0),
	MODE(largest_act),
	MODE(half_a_number),
	MODE(nothing),
	MODE(short_key),
	MODE(long_key),
	MODE(short_request),
	MODE(long_records),
	MODE(larger_than_all),
	MODE(a_descriptor),
	MODE(records),
	MODE(record_of),
	MODE(record_without_end),
	MODE(totals),
	MODE(attach),
	MODE(follow),
	MODE(destroy),
	MODE(kill_it),
	MODE(ask_for_its_plan),
	MODE(no_action),
	MODE(flood),
	MODE(count_records_that_are_told),
	MODE(count_sandboxes_that_are_made),
	MODE(ask_until_refused),
	MODE(flood_log),
	MODE(flood_refusals),
	MODE(flood_sweeps),
	MODE(flood_drops),
	MODE(hang),
	MODE(leave_badly),
	MODE(open_a_file),
	MODE(make_a_process),
	MODE(connect_to_somebody),
	MODE(attach_and_linger),
	MODE(follow_and_linger),
	MODE(destroy_and_linger),
	MODE(linger_with_monitor),
	MODE(linger_with_supervisor),
	MODE(name_of_bytes),
	MODE(labels_of_bytes),
	MODE(boundless_limits),
	MODE(boundless_life),
	MODE(rules_of_garbage),
	MODE(rules_of_nothing),
	MODE(rules_without_end),
	MODE(no_rules),
	MODE(rules_without_a_network),
	MODE(network_that_is_none),
	MODE(network_of_the_host),
	MODE(network_of_the_host_with_rules),
};

/* "hostile-MODE" or "hostile-MODE-at-ARGUMENT": a host name has no '_'. 0: it is none, or is done
 * and the plan to be sent. */
static int attack(struct plan *plan, struct yett_error *error)
{
	struct attack a = {.plan = plan, .argument = "", .error = error, .fds = {-1, -1}};
	char name[64] = "", *at;

	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == PLAN_HOSTNAME)
			(void)snprintf(name, sizeof name, "%s",
			               plan_text(plan, plan->steps[i].source));
	if (strncmp(name, "hostile-", 8) != 0)
		return 0;
	at = strstr(name, "-at-");
	if (at) {
		*at = '\0';
		a.argument = at + 4;
	}
	for (at = name; *at; at++)
		*at = *at == '-' ? '_' : *at;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i].name, name + 8) == 0)
			return modes[i].run(&a);
	return 0;
}

int ask(enum decider_act act, const struct iovec *parts, unsigned count,
        struct decider_answer *ret_answer, struct ask_fds *ret_fds, struct yett_error *error)
{
	struct plan *plan = act == ACT_CREATE ? parts[0].iov_base : NULL;
	const struct plan_limits limits = plan ? plan->limits : (struct plan_limits){0};
	int r = plan ? attack(plan, error) : 0;

	if (r != 0 || !plan)
		return r != 0 ? r : honest_ask(act, parts, count, ret_answer, ret_fds, error);
	r = honest_ask(
		act,
		(const struct iovec[]){{plan, offsetof(struct plan, steps) +
	                                              plan->steps_count * sizeof *plan->steps},
	                               {plan->arena, plan->arena_used}},
		2, ret_answer, ret_fds, error);
	plan->limits = limits; /* that the client is told of */
	if (r == 0 && lingers_on_created)
		(void)send_lingering(ret_fds->first, -1);
	return r;
}
