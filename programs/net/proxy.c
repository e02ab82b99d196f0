/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-front, the proxy: accepts all connections of a sandbox, answers its DNS queries and copies
 * bytes. The connector (yett-dialer) decides whether and where a connection goes. Arguments: the id
 * to run as, if started by a root that can change its ids; and 1 if another proxy of this sandbox
 * has ended, otherwise 0. Descriptors: enum proxy_fd, of which some may be missing.
 *
 * Everything from inside is hostile, so assume that this process gets compromised. Then it must be
 * able to do no more than it may anyway: send asks to the connector. It drops all other rights in
 * proxy_lock_down(), before its first input. The exit status is the number of the stage that
 * failed. It exits when the connector does, which resets all open connections.
 */
#include "programs/net/proxy.h"
#include "base/clock_us.h"
#include "helper/privilege/lockdown.h"
#include "programs/filters/filters.h"
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
#define FILES_OTHER (PROXY_FD_END + 56)

#define EVENTS_MAX     64
#define ANSWERS_MAX    64
#define REPORTED_MAX_S 32
#define SECOND_US      UINT64_C(1000000)

struct arguments {
	uint32_t id;
	unsigned half;
};

static void proxy_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool proxy_read_arguments(int argc, char **argv, struct arguments *ret)
{
	if (argc != 3 || !lockdown_parse_id(argv[1], &ret->id) ||
	    (strcmp(argv[2], "0") != 0 && strcmp(argv[2], "1") != 0))
		return false;
	ret->half = argv[2][0] == '1';
	return true;
}

/* Closes all descriptors beyond enum proxy_fd, and finds those that are open. */
static bool find_descriptors(struct proxy *proxy)
{
	if (syscall(SYS_close_range, (unsigned)PROXY_FD_END, ~0u, 0u) != 0)
		return false;
	for (enum proxy_fd fd = PROXY_FD_CONNECTOR; fd < PROXY_FD_END; fd++)
		proxy->has[fd] = fcntl((int)fd, F_GETFD) >= 0;
	return proxy->has[PROXY_FD_CONNECTOR];
}

/*
 * Receives the listeners. The sender runs in the sandbox's namespaces, and may be compromised.
 * prepare_sockets() fails for a descriptor that cannot be used in its place, or nothing uses the
 * descriptor.
 */
static bool take_listeners(struct proxy *proxy)
{
	static struct frame frame;
	struct egress_listeners listeners = {0};

	/* Reserve the numbers, so that frame_receive() returns none of them. */
	for (int fd = PROXY_FD_TCP4; fd < PROXY_FD_END; fd++)
		if (!proxy->has[fd] && dup2(0, fd) < 0)
			return false;
	while (!listeners.is_last) {
		if (frame_receive(PROXY_FD_CATCHER, &frame, 0) <= 0 ||
		    frame.length != sizeof listeners || frame.fd_count > EGRESS_LISTENERS_MAX)
			return false;
		memcpy(&listeners, frame.bytes, sizeof listeners);
		for (size_t i = 0; i < frame.fd_count; i++) {
			uint32_t number = listeners.numbers[i];

			if (number < PROXY_FD_TCP4 || number >= PROXY_FD_END ||
			    proxy->has[number] || dup2(frame.fds[i], (int)number) < 0)
				return false;
			proxy->has[number] = true;
		}
		frame_close_fds(&frame);
	}
	for (int fd = PROXY_FD_TCP4; fd < PROXY_FD_END; fd++)
		if (!proxy->has[fd] || fd == PROXY_FD_CATCHER)
			(void)close(fd);
	return true;
}

/*
 * Forbids writing files, new processes and core dumps. With RLIMIT_CORE 1, unlike with 0, the
 * kernel does not run the host's core_pattern program either. core(5)
 */
static bool proxy_set_limits(void)
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

static bool prepare_sockets(struct proxy *proxy)
{
	proxy->has_ipv6 = proxy->has[PROXY_FD_TCP6];
	proxy->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (proxy->epoll < 0 ||
	    proxy_watch(proxy, PROXY_FD_CONNECTOR, PROXY_CONNECTOR, 0, EPOLLIN) < 0)
		return false;
	for (int fd = PROXY_FD_CONNECTOR; fd < PROXY_FD_END; fd++)
		if (proxy_has_listener(proxy, fd) &&
		    (!proxy_connections_prepare(fd) ||
		     proxy_watch(proxy, fd, PROXY_LISTENER, (uint32_t)fd, EPOLLIN) < 0))
			return false;
	return !proxy->has[PROXY_FD_DNS] ||
	       (proxy_dns_prepare(PROXY_FD_DNS) &&
	        proxy_watch(proxy, PROXY_FD_DNS, PROXY_DNS, 0, EPOLLIN) == 0);
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
static void apply_rules(struct proxy *proxy)
{
	proxy->connections.max = connections_max(proxy->rules.memory);
	tokens_set(&proxy->connections.tokens[FLOW_IN], proxy->rules.memory->in_bytes_s,
	           proxy->now_us);
	tokens_set(&proxy->connections.tokens[FLOW_OUT], proxy->rules.memory->out_bytes_s,
	           proxy->now_us);
	proxy_dns_keep(proxy);
}

static bool make_names(struct proxy *proxy, unsigned half)
{
	struct synthetic_options options = {.half = half, .has_ipv6 = proxy->has_ipv6};

	if (inet_pton(AF_INET6, EGRESS_PREFIX_V6, &proxy->prefix) != 1 ||
	    getrandom(options.key, sizeof options.key, 0) != sizeof options.key)
		return false;
	options.prefix = proxy->prefix;
	return synthetic_new(&options, &proxy->names) == 0;
}

static void proxy_lock_down(int argc, char **argv, struct proxy *proxy)
{
	struct arguments arguments;

	proxy_need(proxy_read_arguments(argc, argv, &arguments), STAGE_ARGUMENTS);
	proxy_need(find_descriptors(proxy), STAGE_DESCRIPTORS);
	/* SIGPIPE is ignored because splice(2) has no MSG_NOSIGNAL. */
	proxy_need(signal(SIGPIPE, SIG_IGN) != SIG_ERR, STAGE_DESCRIPTORS);
	proxy_need(proxy_set_limits(), STAGE_LIMITS);
	if (lockdown_can_leave_root())
		proxy_need(lockdown_bounding_set() && lockdown_ids(arguments.id, arguments.id),
		           STAGE_IDS);
	proxy_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	proxy_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	proxy_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/* If the parent has died already, the connector's end of the socket closes soon. */
	proxy_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	proxy_need(!proxy->has[PROXY_FD_CATCHER] || take_listeners(proxy), STAGE_LISTENERS);
	proxy_need(prepare_sockets(proxy), STAGE_SOCKETS);
	proxy_need(make_names(proxy, arguments.half), STAGE_NAMES);
	proxy_need(lockdown_filter(&filters_proxy), STAGE_FILTER);
}

int proxy_watch(struct proxy *proxy, int socket, enum proxy_source source, uint32_t id,
                uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)id << 8 | source};

	return epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, socket, &event) < 0 ? -errno : 0;
}

/* Sets whether the socket to the connector is full. While it is full, epoll waits for room. */
static void set_full(struct proxy *proxy, bool is_full)
{
	struct epoll_event event = {.events = is_full ? EPOLLIN | EPOLLOUT : EPOLLIN,
	                            .data.u64 = PROXY_CONNECTOR};

	if (proxy->connector.is_full != is_full &&
	    epoll_ctl(proxy->epoll, EPOLL_CTL_MOD, PROXY_FD_CONNECTOR, &event) < 0)
		_exit(PROXY_EXIT_MEMORY);
	proxy->connector.is_full = is_full;
}

int proxy_send(struct proxy *proxy, const struct egress_ask *ask)
{
	int r = proxy->connector.is_full
	                ? -EAGAIN
	                : frame_send(PROXY_FD_CONNECTOR, ask, sizeof *ask, NULL, 0, MSG_DONTWAIT);

	if (r < 0 && r != -EAGAIN && r != -ENOBUFS && r != -ENOMEM)
		_exit(0);
	set_full(proxy, r < 0);
	return r < 0 ? -EAGAIN : 0;
}

/* Programs ask for A and AAAA at once, and retry at once what failed. */
void proxy_report(struct proxy *proxy, const struct egress_ask *ask)
{
	uint64_t second = proxy->now_us / SECOND_US;

	if (proxy->connector.reported_us != 0 &&
	    proxy->now_us - proxy->connector.reported_us < SECOND_US &&
	    memcmp(&proxy->connector.reports, ask, sizeof *ask) == 0)
		return;
	if (proxy->connector.second != second)
		proxy->connector.reports_count = 0;
	proxy->connector.second = second;
	if (proxy->connector.reports_count >= REPORTED_MAX_S || proxy->connector.is_full)
		return;
	proxy->connector.reports_count++;
	proxy->connector.reported_us = proxy->now_us;
	proxy->connector.reports = *ask;
	(void)!proxy_send(proxy, ask);
}

void proxy_report_unknown(struct proxy *proxy, const char *name)
{
	struct egress_ask ask = {.kind = EGRESS_ASK_UNKNOWN};

	memcpy(ask.name, name, strlen(name) + 1);
	proxy_report(proxy, &ask);
}

static void proxy_take_rules(struct proxy *proxy, int fd)
{
	int r = ruleset_change(&proxy->rules, fd);

	if (r < 0)
		_exit(r == -EBADMSG ? PROXY_EXIT_CONFUSED : PROXY_EXIT_MEMORY);
	if (r > 0)
		apply_rules(proxy);
}

/*
 * Handles a packet of the connector, and takes its descriptor if there is one. Returns false if the
 * packet is invalid.
 */
static bool proxy_take_answer(struct proxy *proxy, struct frame *frame)
{
	struct egress_answer answer;

	if (frame->length != sizeof answer)
		return false;
	memcpy(&answer, frame->bytes, sizeof answer);
	if (answer.kind == EGRESS_ANSWER && answer.error >= 0 &&
	    frame->fd_count == (answer.error == 0))
		return proxy_connections_answer(proxy, answer.id,
		                                answer.error == 0 ? steal_fd(&frame->fds[0]) : -1);
	proxy->is_serving = proxy->is_serving || answer.kind == EGRESS_ANSWER_RULES;
	if ((answer.kind != EGRESS_ANSWER_RULES &&
	     (answer.kind != EGRESS_ANSWER_EXPECTED || proxy->is_serving)) ||
	    answer.id != 0 || answer.error != 0 || frame->fd_count != 1)
		return false;
	proxy_take_rules(proxy, frame->fds[0]);
	frame_close_fds(frame);
	return true;
}

/* Meanwhile, everything from inside waits in its socket. */
static void await_rules(struct proxy *proxy)
{
	static struct frame frame;

	while (!proxy->is_serving) {
		if (frame_receive(PROXY_FD_CONNECTOR, &frame, 0) <= 0)
			_exit(0);
		proxy->now_us = clock_now_us();
		if (!proxy_take_answer(proxy, &frame))
			_exit(PROXY_EXIT_CONFUSED);
	}
}

static void hear_connector(struct proxy *proxy, uint32_t events)
{
	static struct frame frame;
	int r = 1;

	if (events & EPOLLOUT) {
		set_full(proxy, false);
		proxy_connections_ask(proxy);
	}
	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		r = frame_receive(PROXY_FD_CONNECTOR, &frame, MSG_DONTWAIT);
		if (r == -EAGAIN)
			return;
		if (r == 0 || r == -ECONNRESET)
			_exit(0);
		if (r < 0 || !proxy_take_answer(proxy, &frame))
			_exit(PROXY_EXIT_CONFUSED);
	}
}

static void proxy_handle(struct proxy *proxy, const struct epoll_event *event)
{
	uint32_t id = (uint32_t)(event->data.u64 >> 8);
	enum proxy_source source = event->data.u64 & 0xff;

	switch (source) {
	case PROXY_CONNECTOR:
		hear_connector(proxy, event->events);
		return;
	case PROXY_LISTENER:
		proxy_connections_accept(proxy, (int)id);
		return;
	case PROXY_DNS:
		proxy_dns_serve(proxy);
		return;
	case PROXY_STREAM:
		proxy_stream_heard(proxy, id);
		return;
	case PROXY_INSIDE:
	case PROXY_OUTSIDE:
		proxy_connections_heard(proxy, source, id, event->events);
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
	static struct proxy proxy;

	/* Otherwise the name is the number of a descriptor: execveat(2) */
	(void)prctl(PR_SET_NAME, argv[0], 0, 0, 0);
	proxy_lock_down(argc, argv, &proxy);
	await_rules(&proxy);
	for (;;) {
		struct epoll_event events[EVENTS_MAX];
		int wait_ms =
			sooner(proxy_streams_expire(&proxy), proxy_connections_wait_ms(&proxy));
		int count = epoll_wait(proxy.epoll, events, EVENTS_MAX, wait_ms);

		proxy.now_us = clock_now_us();
		for (int i = 0; i < count; i++)
			proxy_handle(&proxy, &events[i]);
		proxy_connections_run(&proxy);
	}
}
