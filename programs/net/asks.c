/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asks of the proxy (yett-front), from the packet to the answer. See connector.h.
 *
 * Runs as the caller, without privilege. An ask goes from FREE to LOOKUP if it has a name, to
 * DIALING, and to ANSWERED until the answer is sent. DIALING tries one address after the other.
 * Each is checked by the rules right before the attempt, and again when it is connected if the
 * rules have changed. With an HTTP proxy, LOOKUP and DIALING are about the HTTP proxy's name and
 * address, and TUNNEL follows, in which the HTTP proxy is asked to connect. An ask that the user
 * must allow first is HELD, and begins again when new rules come.
 */
#include "programs/net/connector.h"
#include "programs/net/connect.h"
#include "protocol/frame.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static const struct net_address no_address;

static bool has_address(const struct egress_ask *ask)
{
	return net_address_compare(&ask->address, &no_address) != 0;
}

bool asks_is_sound(const struct egress_ask *ask)
{
	char canonical[NET_NAME_SIZE];
	size_t length = strnlen(ask->name, sizeof ask->name);

	if (length == 0) {
		static const char none[NET_NAME_SIZE];

		return memcmp(ask->name, none, sizeof none) == 0 && ask->port != 0 &&
		       (ask->kind == EGRESS_ASK_CONNECT || ask->kind == EGRESS_ASK_FULL);
	}
	if (length == sizeof ask->name || net_name_canonical(ask->name, length, canonical) ||
	    memcmp(canonical, ask->name, sizeof canonical) != 0 || has_address(ask))
		return false;
	if (ask->kind == EGRESS_ASK_UNKNOWN)
		return ask->port == 0;
	return (ask->kind == EGRESS_ASK_CONNECT || ask->kind == EGRESS_ASK_FULL) && ask->port != 0;
}

static uint32_t count_asks(const struct connector *connector)
{
	uint32_t count = 0;

	for (size_t i = 0; i < connector->asks_end; i++)
		count += connector->asks[i].state != ASK_FREE &&
		         connector->asks[i].state != ASK_ANSWERED;
	return count;
}

static void drop_attempt(const struct connector *connector, struct attempt *attempt)
{
	if (attempt->fd >= 0)
		connector_unwatch(connector, attempt->fd);
	attempt->fd = fd_close(attempt->fd);
}

/*
 * Ends the attempts of an ask. `fd` is the connection if `answer` is 0. The answer is sent when the
 * socket to the proxy has room.
 */
static void asks_finish(struct connector *connector, struct ask *ask, int answer, int fd)
{
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		drop_attempt(connector, &ask->attempts[i]);
	ask->state = ASK_ANSWERED;
	ask->answer = answer;
	ask->fd = fd;
}

static uint32_t count_held(const struct connector *connector)
{
	uint32_t count = 0;

	for (size_t i = 0; i < connector->asks_end; i++)
		count += connector->asks[i].state == ASK_HELD;
	return count;
}

/* Leaves room for connections that the rules allow. */
static uint32_t held_max(const struct connector *connector)
{
	uint32_t half = (connector->rules.memory->connections_max + 1) / 2;

	return half < CONNECTOR_HELD_MAX ? half : CONNECTOR_HELD_MAX;
}

/*
 * Holds an ask until new rules come. Reports each ask only once, however often new rules come that
 * do not allow it.
 */
static bool asks_hold(struct connector *connector, struct ask *ask,
                      const struct connector_target *target)
{
	uint64_t held_ms = ask->held_ms ? ask->held_ms : connector->now_ms + CONNECTOR_HELD_MS;

	if (held_ms <= connector->now_ms || count_held(connector) >= held_max(connector))
		return false;
	if (!ask->held_ms)
		connector_report(connector, target,
		                 (struct egress_report){.kind = EGRESS_REPORT_ASKED,
		                                        .verdict = NET_VERDICT_ASKED});
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		drop_attempt(connector, &ask->attempts[i]);
	ask->refused = *target;
	ask->held_ms = held_ms;
	ask->state = ASK_HELD;
	return true;
}

static void asks_deny(struct connector *connector, struct ask *ask,
                      const struct connector_target *target, enum net_verdict why)
{
	if (why == NET_VERDICT_ASKED && asks_hold(connector, ask, target))
		return;
	asks_finish(connector, ask, EACCES, -1);
	connector_report(
		connector, target,
		(struct egress_report){.kind = EGRESS_REPORT_DENIED, .verdict = (uint8_t)why});
}

/* With an HTTP proxy, every failure is a failure at the HTTP proxy. */
static void asks_fail(struct connector *connector, struct ask *ask, int answer, int error)
{
	asks_finish(connector, ask, answer, -1);
	connector_report(connector, &ask->target,
	                 (struct egress_report){.kind = EGRESS_REPORT_FAILED,
	                                        .error = ask->target.has_proxy
	                                                         ? EGRESS_PROXY_ERROR + error
	                                                         : error});
}

/* No address is left. The ask failed if an attempt failed, and was denied if all addresses were. */
static void asks_give_up(struct connector *connector, struct ask *ask)
{
	if (ask->error != 0)
		asks_fail(connector, ask, ask->error, ask->error);
	else
		asks_deny(connector, ask, &ask->refused, ask->denied);
}

static void refuse_address(struct ask *ask, const struct net_address *address,
                           const struct connector_verdict *verdict)
{
	if (ask->denied != NET_VERDICT_ALLOWED &&
	    (ask->denied == NET_VERDICT_ASKED || verdict->verdict != NET_VERDICT_ASKED))
		return;
	ask->denied = verdict->verdict;
	ask->refused = ask->target;
	if (!ask->target.has_proxy)
		ask->refused.address = *address;
	ask->refused.origin = verdict->origin;
}

static struct connector_verdict asks_decide(const struct connector *connector,
                                            const struct ask *ask,
                                            const struct net_address *address)
{
	return connector_decide(connector, &ask->target, address);
}

static struct attempt *find_attempt(struct ask *ask)
{
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		if (ask->attempts[i].fd < 0)
			return &ask->attempts[i];
	return NULL;
}

static bool is_trying(const struct ask *ask)
{
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		if (ask->attempts[i].fd >= 0)
			return true;
	return false;
}

/* The checked address is the one that is connected to: nothing in between can change it. */
static bool asks_try_address(struct connector *connector, struct ask *ask, struct attempt *attempt,
                             const struct net_address *address)
{
	struct connector_verdict verdict = asks_decide(connector, ask, address);
	size_t index = (size_t)(ask - connector->asks) * CONNECTOR_ATTEMPTS_MAX +
	               (size_t)(attempt - ask->attempts);
	int fd;

	if (verdict.verdict != NET_VERDICT_ALLOWED) {
		refuse_address(ask, address, &verdict);
		return false;
	}
	fd = verdict.error != 0 ? -verdict.error : connect_begin(address, ask->port);
	if (fd < 0) {
		ask->error = -fd;
		return false;
	}
	*attempt = (struct attempt){fd, connector->now_ms, *address, verdict.origin,
	                            connector->rules_changes};
	if (!connector_watch(connector, fd, EPOLLOUT, CONNECTOR_SOURCE_ATTEMPT, index)) {
		attempt->fd = fd_close(fd);
		ask->error = ENOMEM;
		return false;
	}
	return true;
}

/* Tries the next address that the rules allow, if any. */
static void try_next(struct connector *connector, struct ask *ask)
{
	struct attempt *attempt = find_attempt(ask);

	while (attempt && ask->next < ask->count)
		if (asks_try_address(connector, ask, attempt, &ask->addresses[ask->next++])) {
			ask->next_ms = connector->now_ms + CONNECTOR_STAGGER_MS;
			return;
		}
	if (!is_trying(ask))
		asks_give_up(connector, ask);
}

static void dial(struct connector *connector, struct ask *ask)
{
	ask->state = ASK_DIALING;
	ask->next = 0;
	try_next(connector, ask);
}

static void take_addresses(struct connector *connector, struct ask *ask)
{
	const struct resolver_answer *answer = &connector->lookup.names[ask->lookup].answer;

	if (answer->count == 0) {
		asks_fail(connector, ask, answer->error == ENOENT ? EHOSTUNREACH : answer->error,
		          answer->error == ENOENT ? 0 : answer->error);
		return;
	}
	ask->count = answer->count;
	memcpy(ask->addresses, answer->addresses, sizeof ask->addresses);
	dial(connector, ask);
}

static void asks_look_up(struct connector *connector, struct ask *ask, const char *name)
{
	ask->state = ASK_LOOKUP;
	ask->lookup = lookup_begin(&connector->lookup, name, connector->now_ms);
	if (ask->lookup < 0)
		asks_fail(connector, ask, -ask->lookup, -ask->lookup);
	else if (connector->lookup.names[ask->lookup].state == LOOKUP_KNOWN)
		take_addresses(connector, ask);
}

/* Finds a free slot. Returns false if an ask with this id is open, or no slot is free. */
static bool asks_find_free(struct connector *connector, uint32_t id, struct ask **ret_free)
{
	*ret_free = NULL;
	for (size_t i = 0; i < connector->asks_end; i++) {
		struct ask *ask = &connector->asks[i];

		if (ask->state == ASK_FREE)
			*ret_free = *ret_free ? *ret_free : ask;
		else if (ask->id == id)
			return false;
	}
	if (!*ret_free && connector->asks_end < CONNECTOR_ASKS_MAX)
		*ret_free = &connector->asks[connector->asks_end++];
	return *ret_free;
}

static void connect_to_address(struct connector *connector, struct ask *ask,
                               const struct net_address *address)
{
	ask->count = 1;
	ask->addresses[0] = *address;
	dial(connector, ask);
}

/* Returns true if the verdict is ALLOWED. Otherwise denies the ask. */
static bool check_verdict(struct connector *connector, struct ask *ask,
                          const struct connector_verdict *verdict)
{
	if (verdict->verdict == NET_VERDICT_ALLOWED)
		return true;
	ask->target.origin = verdict->origin;
	asks_deny(connector, ask, &ask->target, verdict->verdict);
	return false;
}

static void connect_to_name(struct connector *connector, struct ask *ask)
{
	struct connector_verdict verdict =
		connector_rules_name(&connector->rules, ask->target.name, ask->target.port);

	if (check_verdict(connector, ask, &verdict))
		asks_look_up(connector, ask, ask->target.name);
}

/*
 * The administrator has named the HTTP proxy, so no rule is needed for the HTTP proxy's own
 * addresses.
 */
static void connect_by_proxy(struct connector *connector, struct ask *ask)
{
	const struct net_record *proxy = connector->rules.proxy;
	struct connector_verdict verdict;

	ask->target.has_proxy = true;
	ask->port = proxy->port_first;
	verdict = asks_decide(connector, ask, &ask->target.address);
	if (!check_verdict(connector, ask, &verdict))
		return;
	if (proxy->kind == NET_RULE_NAME)
		asks_look_up(connector, ask, net_list_name(proxy));
	else
		connect_to_address(connector, ask, net_list_network(proxy));
}

/* Begins an ask, for the first time or again, by the rules that are in force now. */
static void asks_begin(struct connector *connector, struct ask *ask)
{
	ask->state = ASK_DIALING; /* so that count_held() does not count this ask */
	ask->denied = NET_VERDICT_ALLOWED;
	ask->error = 0;
	ask->tunnel = (struct tunnel){0};
	ask->port = ask->target.port;
	ask->target.has_proxy = false;
	if (*ask->target.name)
		ask->target.address = no_address;
	if (connector_rules_has_proxy(&connector->rules, ask->target.name, &ask->target.address,
	                              ask->target.port))
		connect_by_proxy(connector, ask);
	else if (*ask->target.name)
		connect_to_name(connector, ask);
	else
		connect_to_address(connector, ask, &ask->target.address);
}

static void asks_connect_to(struct connector *connector, struct ask *ask)
{
	if (!connections_have_room(connector) ||
	    count_asks(connector) >= connector->rules.memory->connections_max) {
		asks_finish(connector, ask, EMFILE, -1);
		connector_report(connector, &ask->target,
		                 (struct egress_report){.kind = EGRESS_REPORT_FULL});
	} else {
		asks_begin(connector, ask);
	}
}

/*
 * Handles a packet that is only reported. By now the rules may allow the name, or allow asking
 * about it: then there is nothing to report.
 */
static void asks_note(struct connector *connector, const struct egress_ask *asked,
                      struct connector_target *target)
{
	struct connector_verdict verdict;

	if (asked->kind == EGRESS_ASK_FULL) {
		connector_report(connector, target,
		                 (struct egress_report){.kind = EGRESS_REPORT_FULL});
		return;
	}
	verdict = connector_rules_name(&connector->rules, asked->name, 0);
	target->origin = verdict.origin;
	if (verdict.verdict != NET_VERDICT_ALLOWED && verdict.verdict != NET_VERDICT_ASKED)
		connector_report(connector, target,
		                 (struct egress_report){.kind = EGRESS_REPORT_DENIED,
		                                        .verdict = (uint8_t)verdict.verdict});
}

bool asks_add(struct connector *connector, const struct egress_ask *asked)
{
	struct connector_target target = {.port = asked->port, .address = asked->address};
	struct ask *ask;

	memcpy(target.name, asked->name, sizeof target.name);
	if (asked->kind != EGRESS_ASK_CONNECT) {
		asks_note(connector, asked, &target);
		return true;
	}
	if (!asks_find_free(connector, asked->id, &ask))
		return false;
	*ask = (struct ask){.id = asked->id,
	                    .target = target,
	                    .port = asked->port,
	                    .deadline_ms = connector->now_ms + CONNECTOR_ASK_MS,
	                    .fd = -1};
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		ask->attempts[i].fd = -1;
	asks_connect_to(connector, ask);
	return true;
}

void asks_advance_known(struct connector *connector)
{
	for (size_t i = 0; i < connector->asks_end; i++) {
		struct ask *ask = &connector->asks[i];

		if (ask->state == ASK_LOOKUP &&
		    connector->lookup.names[ask->lookup].state == LOOKUP_KNOWN)
			take_addresses(connector, ask);
	}
}

/* Whether the rules still allow the attempt, if they have changed since it began. */
static bool is_allowed_still(const struct connector *connector, struct ask *ask,
                             struct attempt *attempt)
{
	struct connector_verdict verdict;

	if (attempt->rules_changes == connector->rules_changes)
		return true;
	verdict = asks_decide(connector, ask, &attempt->address);
	attempt->origin = verdict.origin;
	if (verdict.verdict != NET_VERDICT_ALLOWED)
		refuse_address(ask, &attempt->address, &verdict);
	return verdict.verdict == NET_VERDICT_ALLOWED;
}

/* Checks the limit again: other asks may have connected in the meantime. */
static void succeed(struct connector *connector, struct ask *ask, struct attempt *attempt)
{
	if (!is_allowed_still(connector, ask, attempt)) {
		drop_attempt(connector, attempt);
		try_next(connector, ask);
		return;
	}
	if (!connections_have_room(connector)) {
		asks_finish(connector, ask, EMFILE, -1);
		connector_report(connector, &ask->target,
		                 (struct egress_report){.kind = EGRESS_REPORT_FULL});
		return;
	}
	if (!ask->target.has_proxy)
		ask->target.address = attempt->address;
	ask->target.origin = attempt->origin;
	ask->target.asked = ask->tunnel.asked;
	ask->target.answered = ask->tunnel.answered;
	connector_unwatch(connector, attempt->fd);
	asks_finish(connector, ask, 0, steal_fd(&attempt->fd));
}

/* Asks the HTTP proxy through its first address that has connected. */
static void ask_proxy(struct connector *connector, struct ask *ask, struct attempt *attempt,
                      size_t index)
{
	int r;

	/* The HTTP proxy need not learn of the target. */
	if (!is_allowed_still(connector, ask, attempt)) {
		drop_attempt(connector, attempt);
		try_next(connector, ask);
		return;
	}
	for (size_t i = 0; i < CONNECTOR_ATTEMPTS_MAX; i++)
		if (&ask->attempts[i] != attempt)
			drop_attempt(connector, &ask->attempts[i]);
	r = tunnel_ask(&ask->tunnel, attempt->fd, ask->target.name, &ask->target.address,
	               ask->target.port);
	connector_unwatch(connector, attempt->fd);
	if (r == 0 &&
	    !connector_watch(connector, attempt->fd, EPOLLIN, CONNECTOR_SOURCE_ATTEMPT, index))
		r = -ENOMEM;
	ask->state = ASK_TUNNEL;
	if (r < 0)
		asks_fail(connector, ask, -r, -r);
}

static void asks_hear_proxy(struct connector *connector, struct ask *ask, struct attempt *attempt)
{
	int r = tunnel_hear(&ask->tunnel, attempt->fd);

	if (r == 0)
		succeed(connector, ask, attempt);
	else if (r != -EAGAIN)
		asks_fail(connector, ask, r > 0 ? ECONNREFUSED : -r, r > 0 ? r : -r);
}

void asks_advance_attempt(struct connector *connector, size_t index)
{
	struct ask *ask = &connector->asks[index / CONNECTOR_ATTEMPTS_MAX];
	struct attempt *attempt = &ask->attempts[index % CONNECTOR_ATTEMPTS_MAX];
	int r;

	if ((ask->state != ASK_DIALING && ask->state != ASK_TUNNEL) || attempt->fd < 0)
		return;
	if (ask->state == ASK_TUNNEL) {
		asks_hear_proxy(connector, ask, attempt);
		return;
	}
	r = connect_result(attempt->fd);
	if (r == -EINPROGRESS)
		return;
	if (r == 0 && ask->target.has_proxy) {
		ask_proxy(connector, ask, attempt, index);
		return;
	}
	if (r == 0) {
		succeed(connector, ask, attempt);
		return;
	}
	ask->error = -r;
	drop_attempt(connector, attempt);
	try_next(connector, ask);
}

/* If all slots for attempts are taken, drops the oldest attempt after CONNECTOR_ATTEMPT_MS. */
static void stagger(struct connector *connector, struct ask *ask)
{
	struct attempt *oldest = &ask->attempts[0];

	if (!find_attempt(ask)) {
		for (size_t i = 1; i < CONNECTOR_ATTEMPTS_MAX; i++)
			if (ask->attempts[i].since_ms < oldest->since_ms)
				oldest = &ask->attempts[i];
		if (oldest->since_ms + CONNECTOR_ATTEMPT_MS > connector->now_ms) {
			ask->next_ms = oldest->since_ms + CONNECTOR_ATTEMPT_MS;
			return;
		}
		ask->error = ETIMEDOUT;
		drop_attempt(connector, oldest);
	}
	try_next(connector, ask);
}

/* When something must be done about an ask; UINT64_MAX: never. */
static uint64_t asks_time_of(const struct ask *ask)
{
	if (ask->state == ASK_DIALING && ask->next < ask->count && ask->next_ms < ask->deadline_ms)
		return ask->next_ms;
	if (ask->state == ASK_HELD)
		return ask->held_ms;
	return ask->state == ASK_DIALING || ask->state == ASK_LOOKUP || ask->state == ASK_TUNNEL
	               ? ask->deadline_ms
	               : UINT64_MAX;
}

void asks_advance_time(struct connector *connector)
{
	for (size_t i = 0; i < connector->asks_end; i++) {
		struct ask *ask = &connector->asks[i];

		if (asks_time_of(ask) > connector->now_ms)
			continue;
		if (ask->state == ASK_HELD)
			asks_deny(connector, ask, &ask->refused, NET_VERDICT_ASKED);
		else if (ask->deadline_ms <= connector->now_ms)
			asks_fail(connector, ask, ETIMEDOUT, ETIMEDOUT);
		else
			stagger(connector, ask);
	}
}

uint64_t asks_next_ms(const struct connector *connector)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < connector->asks_end; i++)
		if (asks_time_of(&connector->asks[i]) < next)
			next = asks_time_of(&connector->asks[i]);
	return next;
}

void asks_check(struct connector *connector)
{
	for (size_t i = 0; i < connector->asks_end; i++) {
		struct ask *ask = &connector->asks[i];
		struct connector_verdict verdict;

		if (ask->state == ASK_HELD)
			asks_begin(connector, ask);
		if (ask->state != ASK_ANSWERED || ask->answer != 0)
			continue;
		verdict = asks_decide(connector, ask, &ask->target.address);
		ask->target.origin = verdict.origin;
		if (verdict.verdict == NET_VERDICT_ALLOWED)
			continue;
		ask->fd = fd_close(ask->fd);
		asks_deny(connector, ask, &ask->target, verdict.verdict);
	}
}

static int asks_send_answer(struct connector *connector, struct ask *ask)
{
	const struct egress_answer answer = {EGRESS_ANSWER, ask->id, ask->answer};
	int r = frame_send(connector->proxy, &answer, sizeof answer, &ask->fd, ask->answer == 0,
	                   MSG_DONTWAIT);

	if (r < 0)
		return r;
	ask->state = ASK_FREE;
	if (ask->answer == 0)
		connections_take(connector, steal_fd(&ask->fd), &ask->target);
	return 0;
}

static int send_rules(struct connector *connector)
{
	const struct egress_answer answer = {
		.kind = connector->is_serving ? EGRESS_ANSWER_RULES : EGRESS_ANSWER_EXPECTED};
	int r = frame_send(connector->proxy, &answer, sizeof answer, &connector->rules_due, 1,
	                   MSG_DONTWAIT);

	if (r == 0)
		connector->rules_due = fd_close(connector->rules_due);
	return r;
}

int asks_answer(struct connector *connector)
{
	int r = connector->rules_due >= 0 ? send_rules(connector) : 0;

	for (size_t i = 0; r == 0 && i < connector->asks_end; i++)
		if (connector->asks[i].state == ASK_ANSWERED)
			r = asks_send_answer(connector, &connector->asks[i]);
	return r;
}

bool asks_are_answered(const struct connector *connector)
{
	if (connector->rules_due >= 0)
		return false;
	for (size_t i = 0; i < connector->asks_end; i++)
		if (connector->asks[i].state == ASK_ANSWERED)
			return false;
	return true;
}
