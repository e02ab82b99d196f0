/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connector's loop: packets of the proxy, the supervisor and the resolver, events of sockets,
 * and timeouts. See connector.h.
 *
 * Runs as the caller, without privilege. An invalid packet of the proxy or the supervisor ends the
 * process.
 */
#include "programs/net/connector.h"
#include "base/clock.h"
#include "protocol/frame.h"

#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SOURCE_SHIFT 32
#define REPORTS_MAX  REPORTED_MAX /* reports sent in one round */

static bool control(const struct connector *connector, int operation, int fd, uint32_t events,
                    uint64_t data)
{
	struct epoll_event event = {.events = events, .data.u64 = data};

	return epoll_ctl(connector->epoll, operation, fd, &event) == 0;
}

bool connector_watch(const struct connector *connector, int fd, uint32_t events,
                     enum connector_source source, size_t index)
{
	return control(connector, EPOLL_CTL_ADD, fd, events,
	               (uint64_t)source << SOURCE_SHIFT | index);
}

void connector_unwatch(const struct connector *connector, int fd)
{
	(void)control(connector, EPOLL_CTL_DEL, fd, 0, 0);
}

/* Changes the events for which a descriptor is watched; `watched` is 0 if it is not watched yet. */
static int rewatch(const struct connector *connector, int fd, uint32_t *watched, uint32_t events,
                   enum connector_source source)
{
	int operation = *watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (*watched != events &&
	    !control(connector, operation, fd, events, (uint64_t)source << SOURCE_SHIFT))
		return -errno;
	*watched = events;
	return 0;
}

_Static_assert(sizeof(struct net_rule) == sizeof(((struct egress_report *)NULL)->rule),
               "what is told of a rule is a rule");

/*
 * Writes the rule that `origin` identifies, or leaves zeros. `origin` must be of the rules in
 * force: a decision by older rules is only reported by its end, without a rule.
 */
static void write_rule(const struct ruleset *rules, uint32_t origin, struct egress_report *one)
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

void connector_report(struct connector *connector, const struct connector_target *target,
                      struct egress_report one)
{
	/* ASKED: the rule of `origin` could allow the connection, and has not denied it. */
	one.origin = one.verdict == NET_VERDICT_ASKED ? 0 : target->origin;
	one.port = target->port;
	memcpy(one.address, &target->address, sizeof one.address);
	memcpy(one.name, target->name, sizeof one.name);
	if (one.kind == EGRESS_REPORT_CONNECTED || one.kind == EGRESS_REPORT_DENIED)
		write_rule(&connector->rules, one.origin, &one);
	reports_add(&connector->reports, &one, connector->now_ms);
}

struct connector_verdict connector_decide(const struct connector *connector,
                                          const struct connector_target *target,
                                          const struct net_address *address)
{
	if (target->has_proxy)
		return connector_rules_by_proxy(&connector->rules, connector->netlink, target->name,
		                                &target->address, target->port);
	return connector_rules_decide(&connector->rules, connector->netlink, target->name, address,
	                              target->port);
}

/* Sends due reports. Returns 0 also if the socket to the supervisor is full. */
static int egress_connector_report(struct connector *connector)
{
	static struct egress_report one; /* static, so that its padding is zero */

	for (size_t i = 0; !connector->supervisor_is_full && i < REPORTS_MAX &&
	                   reports_due(&connector->reports, connector->now_ms, &one);
	     i++) {
		int r;

		one.open = connections_count(connector);
		r = frame_send(connector->supervisor, &one, sizeof one, NULL, 0, MSG_DONTWAIT);
		if (r < 0 && r != -EAGAIN && r != -ENOBUFS)
			return r;
		connector->supervisor_is_full = r < 0;
		if (r == 0)
			reports_sent(&connector->reports, connector->now_ms);
	}
	return 0;
}

static int connector_answer(struct connector *connector)
{
	int r;

	if (connector->proxy_is_full || connector->retry_ms > connector->now_ms)
		return 0;
	r = asks_answer(connector);
	connector->retry_ms =
		r == -ETOOMANYREFS || r == -ENOBUFS ? connector->now_ms + CONNECTOR_RETRY_MS : 0;
	connector->proxy_is_full = r == -EAGAIN;
	return connector->retry_ms != 0 || connector->proxy_is_full ? 0 : r;
}

static int connector_hear_proxy(struct connector *connector, struct frame *frame)
{
	struct egress_ask ask;
	int r = frame_receive(connector->proxy, frame, MSG_DONTWAIT);

	if (r <= 0)
		return r == -EAGAIN ? 0 : r == 0 ? -EPIPE : r;
	if (frame->length != sizeof ask || frame->fd_count != 0) {
		frame_close_fds(frame);
		return -EBADMSG;
	}
	memcpy(&ask, frame->bytes, sizeof ask);
	return asks_is_sound(&ask) && asks_add(connector, &ask) ? 0 : -EBADMSG;
}

/* Cuts connections before the proxy has the new rules: cutting does not depend on the proxy. */
static int connector_take_rules(struct connector *connector, int *fd)
{
	int r = ruleset_change(&connector->rules, *fd);

	if (r < 0)
		return r;
	connector->rules_changes++;
	fd_close(connector->rules_due);
	connector->rules_due = steal_fd(fd);
	asks_check(connector);
	connections_check(connector);
	return 0;
}

/* Receives one packet of the supervisor. `flags` as for recv(2). */
static int hear_supervisor(struct connector *connector, struct frame *frame, int flags)
{
	uint32_t order;
	int r = frame_receive(connector->supervisor, frame, flags);

	if (r <= 0)
		return r == -EAGAIN ? 0 : r == 0 ? -EPIPE : r;
	r = -EBADMSG;
	if (frame->length == sizeof order && frame->fd_count == 1) {
		memcpy(&order, frame->bytes, sizeof order);
		connector->is_serving = connector->is_serving || order == EGRESS_ORDER_RULES;
		if (order == EGRESS_ORDER_RULES ||
		    (order == EGRESS_ORDER_EXPECTED && !connector->is_serving))
			r = connector_take_rules(connector, &frame->fds[0]);
	}
	frame_close_fds(frame);
	return r;
}

static int connector_handle(struct connector *connector, const struct epoll_event *event,
                            struct frame *frame)
{
	size_t index = (uint32_t)event->data.u64;

	switch ((enum connector_source)(event->data.u64 >> SOURCE_SHIFT)) {
	case CONNECTOR_SOURCE_PROXY:
		connector->proxy_is_full =
			connector->proxy_is_full && !(event->events & (EPOLLOUT | EPOLLHUP));
		return event->events & ~(uint32_t)EPOLLOUT ? connector_hear_proxy(connector, frame)
		                                           : 0;
	case CONNECTOR_SOURCE_SUPERVISOR:
		connector->supervisor_is_full =
			connector->supervisor_is_full && !(event->events & (EPOLLOUT | EPOLLHUP));
		return event->events & ~(uint32_t)EPOLLOUT
		               ? hear_supervisor(connector, frame, MSG_DONTWAIT)
		               : 0;
	case CONNECTOR_SOURCE_RESOLVER:
		if (event->events & ~(uint32_t)EPOLLOUT)
			lookup_receive(&connector->lookup, connector->now_ms);
		lookup_send(&connector->lookup, connector->now_ms);
		return 0;
	case CONNECTOR_SOURCE_ATTEMPT:
		asks_advance_attempt(connector, index);
		return 0;
	case CONNECTOR_SOURCE_CONNECTION:
		connections_advance(connector, index, event->events);
		return 0;
	}
	return 0;
}

/* The socket of a resolver that was given up is closed, which also removes it from epoll. */
static int watch_resolver(struct connector *connector)
{
	int resolver = lookup_socket(&connector->lookup);

	if (resolver != connector->resolver) {
		connector->resolver = resolver;
		connector->resolver_events = 0;
	}
	if (resolver < 0)
		return 0;
	return rewatch(connector, resolver, &connector->resolver_events,
	               lookup_is_waiting(&connector->lookup) ? EPOLLIN | EPOLLOUT : EPOLLIN,
	               CONNECTOR_SOURCE_RESOLVER);
}

/*
 * While an answer or rules wait to be sent, the proxy's asks stay in its socket. The end of the
 * proxy is noticed in any case, since epoll(7) always reports EPOLLHUP.
 */
static int egress_connector_watch(struct connector *connector)
{
	uint32_t proxy = asks_are_answered(connector) ? EPOLLIN
	                 : connector->proxy_is_full   ? EPOLLOUT
	                                              : EPOLLERR;
	int r = rewatch(connector, connector->proxy, &connector->proxy_events, proxy,
	                CONNECTOR_SOURCE_PROXY);

	if (r == 0)
		r = rewatch(connector, connector->supervisor, &connector->supervisor_events,
		            connector->supervisor_is_full ? EPOLLIN | EPOLLOUT : EPOLLIN,
		            CONNECTOR_SOURCE_SUPERVISOR);
	return r == 0 ? watch_resolver(connector) : r;
}

static uint64_t connector_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Milliseconds until something must be done; -1: wait for an event. epoll_wait(2) */
static int connector_timeout_of(const struct connector *connector)
{
	uint64_t next = connector_lesser(asks_next_ms(connector), connections_next_ms(connector));

	if (!connector->supervisor_is_full)
		next = connector_lesser(next, reports_next_ms(&connector->reports));
	if (connector->retry_ms != 0)
		next = connector_lesser(next, connector->retry_ms);
	if (next == UINT64_MAX)
		return -1;
	return next <= connector->now_ms ? 0
	                                 : (int)connector_lesser(next - connector->now_ms, INT_MAX);
}

/*
 * Takes one event at a time: handling an event may close the descriptor that the next event is
 * about.
 */
static int wait_and_handle(struct connector *connector, struct frame *frame)
{
	struct epoll_event event;
	int count = epoll_wait(connector->epoll, &event, 1, connector_timeout_of(connector));

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	connector->now_ms = clock_now_ms();
	return count > 0 ? connector_handle(connector, &event, frame) : 0;
}

int connector_run(struct connector *connector)
{
	static struct frame frame;
	int r = 0;

	connector->now_ms = clock_now_ms();
	/* Before there are rules, take no ask of the proxy: it would be denied. */
	while (r == 0 && !connector->is_serving) {
		r = hear_supervisor(connector, &frame, 0);
		if (r == 0)
			r = connector_answer(connector);
	}
	connector->now_ms = clock_now_ms();
	while (r == 0) {
		asks_advance_known(connector);
		asks_advance_time(connector);
		connections_advance_time(connector);
		r = connector_answer(connector);
		if (r == 0)
			r = egress_connector_report(connector);
		if (r == 0)
			r = egress_connector_watch(connector);
		if (r == 0)
			r = wait_and_handle(connector, &frame);
	}
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}
