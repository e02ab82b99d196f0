/*
 * yett-front, the proxy: accepts all connections of a sandbox, answers its DNS queries and copies
 * bytes. The connector (yett-dialer) decides whether and where a connection goes. Arguments: the id
 * to run as, if started by a root that can change its ids; and 1 if another proxy of this sandbox
 * has ended, otherwise 0. Descriptors: enum front_fd, of which some may be missing.
 *
 * Everything from inside is hostile, so assume that this process gets compromised. Then it must be
 * able to do no more than it may anyway: send asks to the connector. It drops all other rights in
 * lock_down(), before its first input. The exit status is the number of the stage that failed. It
 * exits when the connector does, which resets all open connections.
 */
#include "programs/egress/front.h"
#include "base/clock_us.h"
#include "helper/privilege/lockdown.h"
#include "programs/egress/guard.h"
#include "protocol/frame.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_DESCRIPTORS,
	STAGE_LIMITS,
	STAGE_IDS,
	STAGE_CAPABILITIES,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_DEATH_SIGNAL,
	STAGE_LISTENERS,
	STAGE_SOCKETS,
	STAGE_NAMES,
	STAGE_FILTER,
};

#define FILES_EACH 6 /* per connection: two sockets, and both ends of two pipes */
/* Streams of DNS over TCP, the descriptor of one answer, and connections that are reset at once. */
#define FILES_OTHER (FRONT_FD_END + 56)

#define EVENTS_MAX  64
#define ANSWERS_MAX 64
#define TOLD_MAX_S  32
#define SECOND_US   UINT64_C(1000000)

struct arguments {
	uint32_t id;
	unsigned half;
};

static void need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool read_arguments(int argc, char **argv, struct arguments *ret)
{
	if (argc != 3 || !lockdown_parse_id(argv[1], &ret->id) ||
	    (strcmp(argv[2], "0") != 0 && strcmp(argv[2], "1") != 0))
		return false;
	ret->half = argv[2][0] == '1';
	return true;
}

/* Closes all descriptors beyond enum front_fd, and finds those that are open. */
static bool find_descriptors(struct front *front)
{
	if (syscall(SYS_close_range, (unsigned)FRONT_FD_END, ~0u, 0u) != 0)
		return false;
	for (enum front_fd fd = FRONT_FD_DIALER; fd < FRONT_FD_END; fd++)
		front->has[fd] = fcntl((int)fd, F_GETFD) >= 0;
	return front->has[FRONT_FD_DIALER];
}

/*
 * Receives the listeners. The sender runs in the sandbox's namespaces, and may be compromised.
 * prepare_sockets() fails for a descriptor that cannot be used in its place, or nothing uses the
 * descriptor.
 */
static bool take_listeners(struct front *front)
{
	static struct frame frame;
	struct egress_listeners listeners = {0};

	/* Reserve the numbers, so that frame_receive() returns none of them. */
	for (int fd = FRONT_FD_TCP4; fd < FRONT_FD_END; fd++)
		if (!front->has[fd] && dup2(0, fd) < 0)
			return false;
	while (!listeners.is_last) {
		if (frame_receive(FRONT_FD_CATCHER, &frame, 0) <= 0 ||
		    frame.length != sizeof listeners || frame.fd_count > EGRESS_LISTENERS_MAX)
			return false;
		memcpy(&listeners, frame.bytes, sizeof listeners);
		for (size_t i = 0; i < frame.fd_count; i++) {
			uint32_t number = listeners.numbers[i];

			if (number < FRONT_FD_TCP4 || number >= FRONT_FD_END ||
			    front->has[number] || dup2(frame.fds[i], (int)number) < 0)
				return false;
			front->has[number] = true;
		}
		frame_close_fds(&frame);
	}
	for (int fd = FRONT_FD_TCP4; fd < FRONT_FD_END; fd++)
		if (!front->has[fd] || fd == FRONT_FD_CATCHER)
			(void)close(fd);
	return true;
}

/* No file, no process, and no core dump (1: core(5)). */
static bool set_limits(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NOFILE, FILES_OTHER + EGRESS_CONNECTIONS_MAX * FILES_EACH},
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(64u << 20)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

static bool prepare_sockets(struct front *front)
{
	front->has_ipv6 = front->has[FRONT_FD_TCP6];
	front->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (front->epoll < 0 || front_watch(front, FRONT_FD_DIALER, FRONT_DIALER, 0, EPOLLIN) < 0)
		return false;
	for (int fd = FRONT_FD_DIALER; fd < FRONT_FD_END; fd++)
		if (front_has_listener(front, fd) &&
		    (!front_connections_prepare(fd) ||
		     front_watch(front, fd, FRONT_LISTENER, (uint32_t)fd, EPOLLIN) < 0))
			return false;
	return !front->has[FRONT_FD_DNS] ||
	       (front_dns_prepare(FRONT_FD_DNS) &&
	        front_watch(front, FRONT_FD_DNS, FRONT_DNS, 0, EPOLLIN) == 0);
}

/*
 * The limit that the host gives may be lower than the sandbox's: then fewer connections can be open
 * at once.
 */
static uint32_t connections_max(const struct egress_rules *rules)
{
	uint32_t most = EGRESS_CONNECTIONS_MAX;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < FILES_OTHER + FILES_EACH)
		most = 1;
	else if (files.rlim_cur < FILES_OTHER + (rlim_t)most * FILES_EACH)
		most = (uint32_t)((files.rlim_cur - FILES_OTHER) / FILES_EACH);
	return rules->connections_max < most ? rules->connections_max : most;
}

/* Open connections stay: the connector cuts those that are no longer allowed. */
static void apply_rules(struct front *front)
{
	front->connections.max = connections_max(front->rules.memory);
	tokens_set(&front->connections.tokens[FLOW_IN], front->rules.memory->in_bytes_s,
	           front->now_us);
	tokens_set(&front->connections.tokens[FLOW_OUT], front->rules.memory->out_bytes_s,
	           front->now_us);
	front_dns_keep(front);
}

static bool make_names(struct front *front, unsigned half)
{
	struct fakes_options options = {.half = half, .has_ipv6 = front->has_ipv6};

	if (inet_pton(AF_INET6, EGRESS_PREFIX_V6, &front->prefix) != 1 ||
	    getrandom(options.key, sizeof options.key, 0) != sizeof options.key)
		return false;
	options.prefix = front->prefix;
	return fakes_new(&options, &front->names) == 0;
}

/*
 * Allows to accept, move and close what others have made or sent. Allows no new socket, no
 * connect(2), no path and no process.
 */
static bool enter_filter(void)
{
	static const int calls[] = {
		/* connections */
		SYS_accept4,
		SYS_getsockname,
		SYS_getsockopt /* is_cut */,
		SYS_setsockopt,
		SYS_shutdown,
		SYS_close,
		SYS_splice,
		SYS_pipe2,
		SYS_write /* take_urgent */,
		/* datagrams, packets, streams */
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_sendto,
		SYS_sendmsg,
		/* waiting */
		SYS_epoll_ctl,
		SYS_epoll_pwait,
		SYS_clock_gettime,
		SYS_restart_syscall,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		/* new rules (ruleset_change, connections_max), and flow_prepare */
		SYS_fcntl,
		SYS_fstat,
		SYS_newfstatat,
		SYS_prlimit64,
		SYS_getrlimit,
		/* memory */
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mremap,
		SYS_madvise,
		LOCKDOWN_END,
	};

	return lockdown_filter_with(guard_checks, GUARD_CHECKS, calls, ARRAY_SIZE(calls));
}

static void lock_down(int argc, char **argv, struct front *front)
{
	struct arguments arguments;

	need(read_arguments(argc, argv, &arguments), STAGE_ARGUMENTS);
	need(find_descriptors(front), STAGE_DESCRIPTORS);
	/* SIGPIPE is ignored because splice(2) has no MSG_NOSIGNAL. */
	need(signal(SIGPIPE, SIG_IGN) != SIG_ERR, STAGE_DESCRIPTORS);
	need(set_limits(), STAGE_LIMITS);
	if (lockdown_can_leave_root())
		need(lockdown_bounding_set() && lockdown_ids(arguments.id, arguments.id),
		     STAGE_IDS);
	need(lockdown_capabilities(), STAGE_CAPABILITIES);
	need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/* If the parent has died already, the connector's end of the socket closes soon. */
	need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	need(!front->has[FRONT_FD_CATCHER] || take_listeners(front), STAGE_LISTENERS);
	need(prepare_sockets(front), STAGE_SOCKETS);
	need(make_names(front, arguments.half), STAGE_NAMES);
	need(enter_filter(), STAGE_FILTER);
}

int front_watch(struct front *front, int socket, enum front_source source, uint32_t id,
                uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)id << 8 | source};

	return epoll_ctl(front->epoll, EPOLL_CTL_ADD, socket, &event) < 0 ? -errno : 0;
}

/* Sets whether the socket to the connector is full. While it is full, epoll waits for room. */
static void set_full(struct front *front, bool is_full)
{
	struct epoll_event event = {.events = is_full ? EPOLLIN | EPOLLOUT : EPOLLIN,
	                            .data.u64 = FRONT_DIALER};

	if (front->dialer.is_full != is_full &&
	    epoll_ctl(front->epoll, EPOLL_CTL_MOD, FRONT_FD_DIALER, &event) < 0)
		_exit(FRONT_EXIT_MEMORY);
	front->dialer.is_full = is_full;
}

int front_send(struct front *front, const struct egress_ask *ask)
{
	int r = front->dialer.is_full
	                ? -EAGAIN
	                : frame_send(FRONT_FD_DIALER, ask, sizeof *ask, NULL, 0, MSG_DONTWAIT);

	if (r < 0 && r != -EAGAIN && r != -ENOBUFS && r != -ENOMEM)
		_exit(0);
	set_full(front, r < 0);
	return r < 0 ? -EAGAIN : 0;
}

/* Programs ask for A and AAAA at once, and retry at once what failed. */
void front_tell(struct front *front, const struct egress_ask *ask)
{
	uint64_t second = front->now_us / SECOND_US;

	if (front->dialer.told_us != 0 && front->now_us - front->dialer.told_us < SECOND_US &&
	    memcmp(&front->dialer.told, ask, sizeof *ask) == 0)
		return;
	if (front->dialer.second != second)
		front->dialer.told_count = 0;
	front->dialer.second = second;
	if (front->dialer.told_count >= TOLD_MAX_S || front->dialer.is_full)
		return;
	front->dialer.told_count++;
	front->dialer.told_us = front->now_us;
	front->dialer.told = *ask;
	(void)!front_send(front, ask);
}

void front_tell_unknown(struct front *front, const char *name)
{
	struct egress_ask ask = {.kind = EGRESS_ASK_UNKNOWN};

	memcpy(ask.name, name, strlen(name) + 1);
	front_tell(front, &ask);
}

static void take_rules(struct front *front, int fd)
{
	int r = ruleset_change(&front->rules, fd);

	if (r < 0)
		_exit(r == -EBADMSG ? FRONT_EXIT_CONFUSED : FRONT_EXIT_MEMORY);
	if (r > 0)
		apply_rules(front);
}

/*
 * Handles a packet of the connector, and takes its descriptor if there is one. Returns false if the
 * packet is invalid.
 */
static bool take_answer(struct front *front, struct frame *frame)
{
	struct egress_answer answer;

	if (frame->length != sizeof answer)
		return false;
	memcpy(&answer, frame->bytes, sizeof answer);
	if (answer.kind == EGRESS_ANSWER && answer.error >= 0 &&
	    frame->fd_count == (answer.error == 0))
		return front_connections_answer(front, answer.id,
		                                answer.error == 0 ? steal_fd(&frame->fds[0]) : -1);
	front->is_serving = front->is_serving || answer.kind == EGRESS_ANSWER_RULES;
	if ((answer.kind != EGRESS_ANSWER_RULES &&
	     (answer.kind != EGRESS_ANSWER_EXPECTED || front->is_serving)) ||
	    answer.id != 0 || answer.error != 0 || frame->fd_count != 1)
		return false;
	take_rules(front, frame->fds[0]);
	frame_close_fds(frame);
	return true;
}

/* Meanwhile, everything from inside waits in its socket. */
static void await_rules(struct front *front)
{
	static struct frame frame;

	while (!front->is_serving) {
		if (frame_receive(FRONT_FD_DIALER, &frame, 0) <= 0)
			_exit(0);
		front->now_us = clock_now_us();
		if (!take_answer(front, &frame))
			_exit(FRONT_EXIT_CONFUSED);
	}
}

static void hear_dialer(struct front *front, uint32_t events)
{
	static struct frame frame;
	int r = 1;

	if (events & EPOLLOUT) {
		set_full(front, false);
		front_connections_ask(front);
	}
	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		r = frame_receive(FRONT_FD_DIALER, &frame, MSG_DONTWAIT);
		if (r == -EAGAIN)
			return;
		if (r == 0 || r == -ECONNRESET)
			_exit(0);
		if (r < 0 || !take_answer(front, &frame))
			_exit(FRONT_EXIT_CONFUSED);
	}
}

static void handle(struct front *front, const struct epoll_event *event)
{
	uint32_t id = (uint32_t)(event->data.u64 >> 8);
	enum front_source source = event->data.u64 & 0xff;

	switch (source) {
	case FRONT_DIALER:
		hear_dialer(front, event->events);
		return;
	case FRONT_LISTENER:
		front_connections_accept(front, (int)id);
		return;
	case FRONT_DNS:
		front_dns_serve(front);
		return;
	case FRONT_STREAM:
		front_stream_heard(front, id);
		return;
	case FRONT_INSIDE:
	case FRONT_OUTSIDE:
		front_connections_heard(front, source, id, event->events);
		return;
	}
}

/* The earlier of two waits; -1 means to wait forever. */
static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

int main(int argc, char **argv)
{
	static struct front front;

	/* Otherwise the name is the number of a descriptor: execveat(2) */
	(void)prctl(PR_SET_NAME, argv[0], 0, 0, 0);
	lock_down(argc, argv, &front);
	await_rules(&front);
	for (;;) {
		struct epoll_event events[EVENTS_MAX];
		int wait_ms =
			sooner(front_streams_expire(&front), front_connections_wait_ms(&front));
		int count = epoll_wait(front.epoll, events, EVENTS_MAX, wait_ms);

		front.now_us = clock_now_us();
		for (int i = 0; i < count; i++)
			handle(&front, &events[i]);
		front_connections_run(&front);
	}
}
