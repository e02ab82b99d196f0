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
#include "tests/support/scripted.h"
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

static struct attack {
	struct plan *plan;
	struct script_wish wish;
	struct yett_error *error;
	struct decider_answer answer;
	struct ask_fds fds;
} a;

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
static int tell(const char *format, uint64_t first, uint64_t second)
{
	char text[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof text, format, first, second);
#pragma GCC diagnostic pop
	return error_set(a.error, YETT_E_SECURITY_VIOLATION, 0, "captured: %s", text);
}

static int wait_for_the_end(void)
{
	uint64_t end_ms = clock_now_ms() + IGNORE_END;

	while (clock_now_ms() < end_ms)
		(void)poll(NULL, 0, IGNORE_END);
	return tell("the decider was let live", 0, 0);
}

static int do_act(enum decider_act act, const void *bytes, size_t size)
{
	return honest_ask(act, &(struct iovec){(void *)(uintptr_t)bytes, size}, 1, &a.answer,
	                  &a.fds, a.error);
}

static void close_fds(void)
{
	fd_close(a.fds.first);
	fd_close(a.fds.second);
	a.fds = (struct ask_fds){-1, -1};
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
static int mount_host(const char *source, bool writable)
{
	struct plan *plan = a.plan;
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

SCRIPT_RETURN(shadow, mount_host("/etc/shadow", false))
SCRIPT_RETURN(home_of_root, mount_host(ROOT, false))
SCRIPT_RETURN(written_to, mount_host("/usr/share", true))
SCRIPT_DO(another_uid, a.plan->caller_uid = 0)

SCRIPT_DO(uid_of, a.plan->caller_uid = (uid_t)strtoul(a.wish.argument, NULL, 10))
SCRIPT_DO(another_gid, a.plan->caller_gid = 0)
SCRIPT_DO(a_group_more, a.plan->groups[a.plan->groups_count++] = 0)
SCRIPT_DO(identity_root, a.plan->identity = PLAN_IDENTITY_ROOT)
SCRIPT_DO(identity_caller, a.plan->identity = PLAN_IDENTITY_CALLER)
SCRIPT_DO(capabilities, a.plan->capabilities = UINT64_MAX)
SCRIPT_DO(user_namespaces, a.plan->nested_userns = !a.plan->nested_userns)
SCRIPT_DO(other_label, a.plan->label = add_text(a.plan, "unconfined"))
SCRIPT_DO(other_type, a.plan->selinux_type = add_text(a.plan, "unconfined_t"))
SCRIPT_DO(nice_value, a.plan->nice = -20)

SCRIPT_DO(both_dry_and_not, memset(&a.plan->is_dry, 2, 1))
SCRIPT_DO(name_of_profile, a.plan->profile_name = add_text(a.plan, "another"))
SCRIPT_DO(profile, a.plan->profile = (uint32_t)strtoul(a.wish.argument, NULL, 10))

/* --- plans whose numbers lie; the lengths below are right, but for those that are the lie ----- */

static int send_plan(size_t steps, size_t arena)
{
	struct plan *plan = a.plan;
	const struct iovec parts[] = {
		{plan, offsetof(struct plan, steps) + steps * sizeof *plan->steps},
		{plan->arena, arena}};
	int r = honest_ask(ACT_CREATE, parts, ARRAY_SIZE(parts), &a.answer, &a.fds, a.error);

	return r ? r : tell("a plan whose numbers lie was taken", 0, 0);
}

SCRIPT_RETURN(shorter, send_plan(a.plan->steps_count, a.plan->arena_used - 1))
SCRIPT_RETURN(longer, send_plan(a.plan->steps_count, a.plan->arena_used + 1))
SCRIPT_RETURN(a_step_less, send_plan(a.plan->steps_count - 1, a.plan->arena_used))
SCRIPT_RETURN(all_steps, a.plan->steps_count = UINT32_MAX, send_plan(10, a.plan->arena_used))
SCRIPT_RETURN(all_texts, a.plan->arena_used = UINT32_MAX, send_plan(a.plan->steps_count, 100))

SCRIPT_RETURN(all_groups, a.plan->groups_count = UINT32_MAX,
              send_plan(a.plan->steps_count, a.plan->arena_used))
SCRIPT_RETURN(all_labels, a.plan->labels_count = UINT32_MAX,
              send_plan(a.plan->steps_count, a.plan->arena_used))
SCRIPT_RETURN(all_variables, a.plan->env_count = UINT32_MAX,
              send_plan(a.plan->steps_count, a.plan->arena_used))
SCRIPT_RETURN(all_descriptors, a.plan->share_fds = UINT32_MAX,
              send_plan(a.plan->steps_count, a.plan->arena_used))
SCRIPT_RETURN(no_kind, a.plan->steps[a.plan->steps_count - 1].kind = PLAN_STEP_KINDS,
              send_plan(a.plan->steps_count, a.plan->arena_used))

SCRIPT(no_head)
{
	int r = do_act(ACT_CREATE, a.plan, 100);

	return r ? r : tell("a plan without a head was taken", 0, 0);
}

/* --- packets that are no acts: nobody is to be left who could go on --------------------------- */

/* Sends the first `size` bytes of the plan as this act. */
static int send_act(enum decider_act act, size_t size)
{
	send_parts(act, &(struct iovec){a.plan, size}, 1);
	return wait_for_the_end();
}

static int send_raw(const char *bytes)
{
	(void)send(STDIN_FILENO, bytes, strlen(bytes), MSG_NOSIGNAL);
	return wait_for_the_end();
}

SCRIPT_RETURN(no_act, send_act(UNTOLD, 0))
SCRIPT_RETURN(act_of_0, send_act((enum decider_act)0, 0))
SCRIPT_RETURN(largest_act, send_act((enum decider_act)UINT32_MAX, 0))
SCRIPT_RETURN(half_a_number, send_raw("xx"))
SCRIPT_RETURN(nothing, send_raw(""))
SCRIPT_RETURN(short_key, send_act(ACT_KEY, sizeof(struct decider_key) - 1))
SCRIPT_RETURN(long_key, send_act(ACT_KEY, sizeof(struct decider_key) + 1))
SCRIPT_RETURN(short_request, send_act(ACT_ASK, sizeof(struct supervisor_request) - 1))
SCRIPT_RETURN(long_records, send_act(ACT_RECORDS, sizeof(struct decider_records) + 1))

SCRIPT(larger_than_all)
{
	const struct iovec parts[] = {{a.plan, sizeof *a.plan}, {a.plan, 4096}};

	return send_parts(ACT_CREATE, parts, ARRAY_SIZE(parts)), wait_for_the_end();
}

/* Closing what a client made may take as long as that chose. */
SCRIPT(a_descriptor)
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
	return wait_for_the_end();
}

/* --- what is another's ------------------------------------------------------------------------ */

static int count_records(const struct decider_records *wanted)
{
	struct decider_record reports;
	uint64_t own = 0, others = 0;
	int r = do_act(ACT_RECORDS, wanted, sizeof *wanted);

	for (uint32_t i = 0; r == 0 && i < a.answer.count; i++)
		if (pread(a.fds.first, &reports, sizeof reports, (off_t)(i * sizeof reports)) ==
		    sizeof reports)
			*(reports.record.uid == a.plan->caller_uid ? &own : &others) += 1;
	close_fds();
	return r ? r : tell("told of %" PRIu64 " of its own, %" PRIu64 " of others", own, others);
}

SCRIPT_RETURN(records, count_records(&(struct decider_records){.of_all = true, .with_usage = true}))

SCRIPT(record_of)
{
	struct decider_records wanted = {.of_all = true, .with_usage = true};

	(void)snprintf(wanted.id, sizeof wanted.id, "%.16s", a.wish.argument);
	return count_records(&wanted);
}

/* An id that does not end. */
SCRIPT(record_without_end)
{
	struct decider_records wanted = {.of_all = true};

	memset(wanted.id, '0', sizeof wanted.id);
	return count_records(&wanted);
}

SCRIPT(totals)
{
	int r = do_act(ACT_TOTALS, "", 0);

	return r ? r : tell("told the totals", 0, 0);
}

static bool is_refused(int supervisor)
{
	struct supervisor_created answer = {0};
	struct pollfd wait = {.fd = supervisor, .events = POLLIN};

	while (poll(&wait, 1, -1) < 0)
		;
	return recv(supervisor, &answer, sizeof answer, 0) == sizeof answer && answer.code != 0;
}

static int ask_as(enum manage_action action, bool lingers)
{
	struct supervisor_request request = {.action = action, .states = UINT32_MAX};
	bool refused, is_sent = false;
	int r;

	(void)snprintf(request.id, sizeof request.id, "%.16s", a.wish.argument);
	r = do_act(ACT_ASK, &request, sizeof request);
	if (r == 0 && lingers)
		is_sent = send_lingering(a.fds.first, a.fds.second);
	refused = r == 0 && is_refused(a.fds.first);
	close_fds();
	if (r == 0 && is_sent)
		return tell("the supervisor was asked, and sent what lingers", 0, 0);
	return r ? r
	         : tell(refused ? "the supervisor was asked, and refused"
	                        : "the supervisor was asked",
	                0, 0);
}

/* Those that linger let go at once of what they got. */
SCRIPT_RETURN(attach, ask_as(MANAGE_ATTACH, false))
SCRIPT_RETURN(follow, ask_as(MANAGE_FOLLOW, false))
SCRIPT_RETURN(destroy, ask_as(MANAGE_DESTROY, false))
SCRIPT_RETURN(kill_it, ask_as(MANAGE_KILL, false))
SCRIPT_RETURN(ask_for_its_plan, ask_as(MANAGE_PLAN, false))
SCRIPT_RETURN(no_action, ask_as((enum manage_action)UINT32_MAX, false))
SCRIPT_RETURN(attach_and_linger, ask_as(MANAGE_ATTACH, true))
SCRIPT_RETURN(follow_and_linger, ask_as(MANAGE_FOLLOW, true))
SCRIPT_RETURN(destroy_and_linger, ask_as(MANAGE_DESTROY, true))

SCRIPT_RETURN(linger_with_monitor, (void)send_lingering(STDIN_FILENO, -1), wait_for_the_end())

SCRIPT_DO(linger_with_supervisor, lingers_on_created = true)

/* --- what no list can tell -------------------------------------------------------------------- */

SCRIPT_DO(name_of_bytes, a.plan->name = add_text(a.plan, "\x01\xff\x1b[2J"))

SCRIPT_RETURN(labels_of_bytes, a.plan->labels[0] = add_text(a.plan, "\x01\xff\x1b[2J"),
              a.plan->labels_count = 1, 0)
SCRIPT_DO(boundless_limits, a.plan->limits.memory_bytes = UINT64_C(1) << 52)
SCRIPT_DO(boundless_life, a.plan->life.wall_ms = UINT64_MAX / 2)

/* --- rules of the network, which nobody of root's looks into ---------------------------------- */

static int tell_garbage(uint32_t packets, size_t size)
{
	static const uint8_t garbage[1 << 16] = {0xff};

	for (uint32_t i = 0; i < packets; i++)
		ask_report_bytes(ACT_RULES, garbage, size);
	return 0;
}

SCRIPT_RETURN(rules_of_garbage, a.plan->network = PLAN_NETWORK_LIMITED, tell_garbage(1, 1000))
SCRIPT_RETURN(rules_of_nothing, a.plan->network = PLAN_NETWORK_LIMITED, tell_garbage(FLOOD, 1))
SCRIPT_RETURN(rules_without_end, a.plan->network = PLAN_NETWORK_LIMITED, tell_garbage(64, 1 << 16))
SCRIPT_DO(no_rules, a.plan->network = PLAN_NETWORK_LIMITED)
SCRIPT_RETURN(rules_without_a_network, tell_garbage(1, 1000))
SCRIPT_RETURN(network_that_is_none, a.plan->network = PLAN_NETWORKS, tell_garbage(1, 1000))

SCRIPT_DO(network_of_the_host, a.plan->network = PLAN_NETWORK_HOST)
SCRIPT_RETURN(network_of_the_host_with_rules, a.plan->network = PLAN_NETWORK_HOST,
              tell_garbage(1, 1000))

/* --- how much --------------------------------------------------------------------------------- */

/* Asks, and never takes an answer. */
SCRIPT(flood)
{
	static const struct decider_records wanted = {.of_all = true, .with_usage = true};

	for (int i = 0; i < FLOOD; i++)
		send_parts(ACT_RECORDS, &(struct iovec){(void *)(uintptr_t)&wanted, sizeof wanted},
		           1);
	return wait_for_the_end();
}

SCRIPT(flood_log)
{
	for (int i = 0; i < FLOOD; i++)
		ask_log(LOG_LEVEL_NOTICE, "flood %d\n<0>\033[2J forged line", i);
	return tell("it has written a flood", 0, 0);
}

/* For seconds: each is one that yett-audit is told of. */
SCRIPT(flood_refusals)
{
	struct yett_error refused = {0};
	uint64_t end_ms = clock_now_ms() + REFUSING_MS;

	(void)error_set(&refused, YETT_E_RESOURCE_LIMIT, 0, "flood");
	while (clock_now_ms() < end_ms)
		ask_report_bytes(ACT_REFUSED, &refused, sizeof refused);
	return tell("it was refused without end", 0, 0);
}

SCRIPT(flood_sweeps)
{
	for (int i = 0; i < FLOOD / 400; i++) /* a process each: the client waits 30 s for all */
		(void)!do_act(ACT_LOST, "", 0);
	return tell("it has had much swept", 0, 0);
}

/* Without the key's act, with which an honest one begins each request. */
SCRIPT(count_records_that_are_told)
{
	static const struct decider_records wanted = {.of_all = true};
	uint64_t passed = 0;

	for (int i = 0; i < COUNTED; i++) {
		passed += do_act(ACT_RECORDS, &wanted, sizeof wanted) == 0;
		close_fds();
	}
	return tell("told of records %" PRIu64 " times", passed, 0);
}

SCRIPT(count_readers_that_are_started)
{
	uint64_t passed = 0;

	for (int i = 0; i < COUNTED; i++) {
		passed += do_act(ACT_READER, "", 0) == 0;
		close_fds();
	}
	return tell("got readers %" PRIu64 " times", passed, 0);
}

SCRIPT(count_sandboxes_that_are_made)
{
	const struct iovec parts[] = {{a.plan, offsetof(struct plan, steps) +
	                                               a.plan->steps_count * sizeof *a.plan->steps},
	                              {a.plan->arena, a.plan->arena_used}};
	uint64_t passed = 0;

	for (int i = 0; i < COUNTED; i++) {
		passed += honest_ask(ACT_CREATE, parts, ARRAY_SIZE(parts), &a.answer, &a.fds,
		                     a.error) == 0;
		close_fds();
	}
	return tell("let make %" PRIu64 " sandboxes", passed, 0);
}

/* Without the key's act, by which an honest one learns that another policy is in force. */
SCRIPT(ask_until_refused)
{
	static const struct decider_records wanted = {.of_all = true};
	int r = do_act(ACT_RECORDS, &wanted, sizeof wanted);

	if (r == 0)
		ask_log(LOG_LEVEL_NOTICE, "one was answered");
	while (r == 0) {
		close_fds();
		r = do_act(ACT_RECORDS, &wanted, sizeof wanted);
	}
	return r;
}

/* There is no packet of the client that has descriptors: the next one goes. */
SCRIPT(flood_drops)
{
	for (int i = 0; i < FLOOD / 500; i++)
		(void)!do_act(ACT_DROP, "", 0);
	return tell("it has dropped much", 0, 0);
}

SCRIPT(hang)
{
	while (poll(NULL, 0, -1) <= 0)
		;
	return 0;
}

SCRIPT_DO(leave_badly, _exit(3))

/* Where the filter lets a process say nothing of it. */
SCRIPT_RETURN(open_a_file,
              tell("it has opened a file: %" PRIu64, (uint64_t)open("/", O_RDONLY | O_CLOEXEC), 0))
SCRIPT_RETURN(make_a_process, tell("it has made a process: %" PRIu64, (uint64_t)fork(), 0))
SCRIPT_RETURN(connect_to_somebody,
              tell("it has a socket: %" PRIu64,
                   (uint64_t)socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0))

/* Runs the script that the host name asks for. Returns 0 if the plan shall be sent. */
static int attack(struct plan *plan, struct yett_error *error)
{
	const struct script *script;

	a = (struct attack){.plan = plan, .error = error, .fds = {-1, -1}};
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == PLAN_HOSTNAME)
			a.wish = script_wish(plan_text(plan, plan->steps[i].source));
	script = script_find(a.wish.mode);
	return script ? script->run() : 0;
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
