/*
 * The connector's loop: packets of the proxy, the supervisor and the resolver, events of sockets,
 * and timeouts. See dialer.h.
 *
 * Runs as the caller, without privilege. An invalid packet of the proxy or the supervisor ends the
 * process.
 */
#include "programs/egress/dialer.h"
#include "base/clock.h"
#include "protocol/frame.h"

#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SOURCE_SHIFT 32
#define TELLS_MAX    TOLD_MAX /* reports sent in one round */

static bool control(const struct dialer *dialer, int operation, int fd, uint32_t events,
                    uint64_t data)
{
	struct epoll_event event = {.events = events, .data.u64 = data};

	return epoll_ctl(dialer->epoll, operation, fd, &event) == 0;
}

bool dialer_watch(const struct dialer *dialer, int fd, uint32_t events, enum dialer_source source,
                  size_t index)
{
	return control(dialer, EPOLL_CTL_ADD, fd, events, (uint64_t)source << SOURCE_SHIFT | index);
}

void dialer_unwatch(const struct dialer *dialer, int fd)
{
	(void)control(dialer, EPOLL_CTL_DEL, fd, 0, 0);
}

/* Changes the events for which a descriptor is watched; `watched` is 0 if it is not watched yet. */
static int rewatch(const struct dialer *dialer, int fd, uint32_t *watched, uint32_t events,
                   enum dialer_source source)
{
	int operation = *watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (*watched != events &&
	    !control(dialer, operation, fd, events, (uint64_t)source << SOURCE_SHIFT))
		return -errno;
	*watched = events;
	return 0;
}

_Static_assert(sizeof(struct net_rule) == sizeof(((struct egress_told *)NULL)->rule),
               "what is told of a rule is a rule");

/*
 * Writes the rule that `origin` identifies, or leaves zeros. `origin` must be of the rules in
 * force: a decision by older rules is only reported by its end, without a rule.
 */
static void write_rule(const struct ruleset *rules, uint32_t origin, struct egress_told *one)
{
	const struct net_record *record = NULL;
	struct net_rule rule;

	while (origin && (record = net_list_next(ruleset_list(rules), record)) &&
	       record->origin != origin)
		;
	if (!record)
		return;
	net_list_rule(record, &rule);
	memcpy(one->rule, &rule, sizeof rule);
}

void dialer_tell(struct dialer *dialer, const struct dialer_target *target, struct egress_told one)
{
	/* ASKED: the rule of `origin` could allow the connection, and has not denied it. */
	one.origin = one.verdict == NET_VERDICT_ASKED ? 0 : target->origin;
	one.port = target->port;
	memcpy(one.address, &target->address, sizeof one.address);
	memcpy(one.name, target->name, sizeof one.name);
	if (one.kind == EGRESS_TOLD_CONNECTED || one.kind == EGRESS_TOLD_DENIED)
		write_rule(&dialer->rules, one.origin, &one);
	told_add(&dialer->told, &one, dialer->now_ms);
}

struct dialer_verdict dialer_decide(const struct dialer *dialer, const struct dialer_target *target,
                                    const struct net_address *address)
{
	if (target->has_proxy)
		return dialer_rules_by_proxy(&dialer->rules, dialer->netlink, target->name,
		                             &target->address, target->port);
	return dialer_rules_decide(&dialer->rules, dialer->netlink, target->name, address,
	                           target->port);
}

/* Sends due reports. Returns 0 also if the socket to the supervisor is full. */
static int tell(struct dialer *dialer)
{
	static struct egress_told one; /* static, so that its padding is zero */

	for (size_t i = 0; !dialer->supervisor_is_full && i < TELLS_MAX &&
	                   told_due(&dialer->told, dialer->now_ms, &one);
	     i++) {
		int r;

		one.open = connections_count(dialer);
		r = frame_send(dialer->supervisor, &one, sizeof one, NULL, 0, MSG_DONTWAIT);
		if (r < 0 && r != -EAGAIN && r != -ENOBUFS)
			return r;
		dialer->supervisor_is_full = r < 0;
		if (r == 0)
			told_sent(&dialer->told, dialer->now_ms);
	}
	return 0;
}

static int answer(struct dialer *dialer)
{
	int r;

	if (dialer->front_is_full || dialer->retry_ms > dialer->now_ms)
		return 0;
	r = asks_answer(dialer);
	dialer->retry_ms =
		r == -ETOOMANYREFS || r == -ENOBUFS ? dialer->now_ms + DIALER_RETRY_MS : 0;
	dialer->front_is_full = r == -EAGAIN;
	return dialer->retry_ms != 0 || dialer->front_is_full ? 0 : r;
}

static int hear_front(struct dialer *dialer, struct frame *frame)
{
	struct egress_ask ask;
	int r = frame_receive(dialer->front, frame, MSG_DONTWAIT);

	if (r <= 0)
		return r == -EAGAIN ? 0 : r == 0 ? -EPIPE : r;
	if (frame->length != sizeof ask || frame->fd_count != 0) {
		frame_close_fds(frame);
		return -EBADMSG;
	}
	memcpy(&ask, frame->bytes, sizeof ask);
	return asks_is_sound(&ask) && asks_add(dialer, &ask) ? 0 : -EBADMSG;
}

/* Cuts connections before the proxy has the new rules: cutting does not depend on the proxy. */
static int take_rules(struct dialer *dialer, int *fd)
{
	int r = ruleset_change(&dialer->rules, *fd);

	if (r < 0)
		return r;
	dialer->rules_changes++;
	fd_close(dialer->rules_due);
	dialer->rules_due = steal_fd(fd);
	asks_check(dialer);
	connections_check(dialer);
	return 0;
}

/* Receives one packet of the supervisor. `flags` as for recv(2). */
static int hear_supervisor(struct dialer *dialer, struct frame *frame, int flags)
{
	uint32_t order;
	int r = frame_receive(dialer->supervisor, frame, flags);

	if (r <= 0)
		return r == -EAGAIN ? 0 : r == 0 ? -EPIPE : r;
	r = -EBADMSG;
	if (frame->length == sizeof order && frame->fd_count == 1) {
		memcpy(&order, frame->bytes, sizeof order);
		dialer->is_serving = dialer->is_serving || order == EGRESS_ORDER_RULES;
		if (order == EGRESS_ORDER_RULES ||
		    (order == EGRESS_ORDER_EXPECTED && !dialer->is_serving))
			r = take_rules(dialer, &frame->fds[0]);
	}
	frame_close_fds(frame);
	return r;
}

static int handle(struct dialer *dialer, const struct epoll_event *event, struct frame *frame)
{
	size_t index = (uint32_t)event->data.u64;

	switch ((enum dialer_source)(event->data.u64 >> SOURCE_SHIFT)) {
	case DIALER_SOURCE_FRONT:
		dialer->front_is_full =
			dialer->front_is_full && !(event->events & (EPOLLOUT | EPOLLHUP));
		return event->events & ~(uint32_t)EPOLLOUT ? hear_front(dialer, frame) : 0;
	case DIALER_SOURCE_SUPERVISOR:
		dialer->supervisor_is_full =
			dialer->supervisor_is_full && !(event->events & (EPOLLOUT | EPOLLHUP));
		return event->events & ~(uint32_t)EPOLLOUT
		               ? hear_supervisor(dialer, frame, MSG_DONTWAIT)
		               : 0;
	case DIALER_SOURCE_RESOLVER:
		if (event->events & ~(uint32_t)EPOLLOUT)
			lookup_receive(&dialer->lookup, dialer->now_ms);
		lookup_send(&dialer->lookup, dialer->now_ms);
		return 0;
	case DIALER_SOURCE_ATTEMPT:
		asks_advance_attempt(dialer, index);
		return 0;
	case DIALER_SOURCE_CONNECTION:
		connections_advance(dialer, index, event->events);
		return 0;
	}
	return 0;
}

/* The socket of a resolver that was given up is closed, which also removes it from epoll. */
static int watch_resolver(struct dialer *dialer)
{
	int resolver = lookup_socket(&dialer->lookup);

	if (resolver != dialer->resolver) {
		dialer->resolver = resolver;
		dialer->resolver_events = 0;
	}
	if (resolver < 0)
		return 0;
	return rewatch(dialer, resolver, &dialer->resolver_events,
	               lookup_is_waiting(&dialer->lookup) ? EPOLLIN | EPOLLOUT : EPOLLIN,
	               DIALER_SOURCE_RESOLVER);
}

/*
 * While an answer or rules wait to be sent, the proxy's asks stay in its socket. The end of the
 * proxy is noticed in any case, since epoll(7) always reports EPOLLHUP.
 */
static int watch(struct dialer *dialer)
{
	uint32_t front = asks_are_answered(dialer) ? EPOLLIN
	                 : dialer->front_is_full   ? EPOLLOUT
	                                           : EPOLLERR;
	int r = rewatch(dialer, dialer->front, &dialer->front_events, front, DIALER_SOURCE_FRONT);

	if (r == 0)
		r = rewatch(dialer, dialer->supervisor, &dialer->supervisor_events,
		            dialer->supervisor_is_full ? EPOLLIN | EPOLLOUT : EPOLLIN,
		            DIALER_SOURCE_SUPERVISOR);
	return r == 0 ? watch_resolver(dialer) : r;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Milliseconds until something must be done; -1: wait for an event. epoll_wait(2) */
static int timeout_of(const struct dialer *dialer)
{
	uint64_t next = lesser(asks_next_ms(dialer), connections_next_ms(dialer));

	if (!dialer->supervisor_is_full)
		next = lesser(next, told_next_ms(&dialer->told));
	if (dialer->retry_ms != 0)
		next = lesser(next, dialer->retry_ms);
	if (next == UINT64_MAX)
		return -1;
	return next <= dialer->now_ms ? 0 : (int)lesser(next - dialer->now_ms, INT_MAX);
}

/*
 * Takes one event at a time: handling an event may close the descriptor that the next event is
 * about.
 */
static int wait_and_handle(struct dialer *dialer, struct frame *frame)
{
	struct epoll_event event;
	int count = epoll_wait(dialer->epoll, &event, 1, timeout_of(dialer));

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	dialer->now_ms = clock_now_ms();
	return count > 0 ? handle(dialer, &event, frame) : 0;
}

int dialer_run(struct dialer *dialer)
{
	static struct frame frame;
	int r = 0;

	dialer->now_ms = clock_now_ms();
	/* Before there are rules, take no ask of the proxy: it would be denied. */
	while (r == 0 && !dialer->is_serving) {
		r = hear_supervisor(dialer, &frame, 0);
		if (r == 0)
			r = answer(dialer);
	}
	dialer->now_ms = clock_now_ms();
	while (r == 0) {
		asks_advance_known(dialer);
		asks_advance_time(dialer);
		connections_advance_time(dialer);
		r = answer(dialer);
		if (r == 0)
			r = tell(dialer);
		if (r == 0)
			r = watch(dialer);
		if (r == 0)
			r = wait_and_handle(dialer, &frame);
	}
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}
