/*
 * The asks of the proxy (yett-front), from the packet to the answer. See dialer.h.
 *
 * Runs as the caller, without privilege. An ask goes from FREE to LOOKUP if it has a name, to
 * DIALING, and to ANSWERED until the answer is sent. DIALING tries one address after the other.
 * Each is checked by the rules right before the attempt, and again when it is connected if the
 * rules have changed. With an HTTP proxy, LOOKUP and DIALING are about the HTTP proxy's name and
 * address, and TUNNEL follows, in which the HTTP proxy is asked to connect. An ask that the user
 * must allow first is HELD, and begins again when new rules come.
 */
#include "programs/egress/dialer.h"
#include "programs/egress/dial.h"
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

static uint32_t count_asks(const struct dialer *dialer)
{
	uint32_t count = 0;

	for (size_t i = 0; i < dialer->asks_end; i++)
		count += dialer->asks[i].state != ASK_FREE && dialer->asks[i].state != ASK_ANSWERED;
	return count;
}

static void drop_attempt(const struct dialer *dialer, struct attempt *attempt)
{
	if (attempt->fd >= 0)
		dialer_unwatch(dialer, attempt->fd);
	attempt->fd = fd_close(attempt->fd);
}

/*
 * Ends the attempts of an ask. `fd` is the connection if `answer` is 0. The answer is sent when the
 * socket to the proxy has room.
 */
static void finish(struct dialer *dialer, struct ask *ask, int answer, int fd)
{
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		drop_attempt(dialer, &ask->attempts[i]);
	ask->state = ASK_ANSWERED;
	ask->answer = answer;
	ask->fd = fd;
}

static uint32_t count_held(const struct dialer *dialer)
{
	uint32_t count = 0;

	for (size_t i = 0; i < dialer->asks_end; i++)
		count += dialer->asks[i].state == ASK_HELD;
	return count;
}

/* Leaves room for connections that the rules allow. */
static uint32_t held_max(const struct dialer *dialer)
{
	uint32_t half = (dialer->rules.memory->connections_max + 1) / 2;

	return half < DIALER_HELD_MAX ? half : DIALER_HELD_MAX;
}

/*
 * Holds an ask until new rules come. Reports each ask only once, however often new rules come that
 * do not allow it.
 */
static bool hold(struct dialer *dialer, struct ask *ask, const struct dialer_target *target)
{
	uint64_t held_ms = ask->held_ms ? ask->held_ms : dialer->now_ms + DIALER_HELD_MS;

	if (held_ms <= dialer->now_ms || count_held(dialer) >= held_max(dialer))
		return false;
	if (!ask->held_ms)
		dialer_tell(dialer, target,
		            (struct egress_told){.kind = EGRESS_TOLD_ASKED,
		                                 .verdict = NET_VERDICT_ASKED});
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		drop_attempt(dialer, &ask->attempts[i]);
	ask->refused = *target;
	ask->held_ms = held_ms;
	ask->state = ASK_HELD;
	return true;
}

static void deny(struct dialer *dialer, struct ask *ask, const struct dialer_target *target,
                 enum net_verdict why)
{
	if (why == NET_VERDICT_ASKED && hold(dialer, ask, target))
		return;
	finish(dialer, ask, EACCES, -1);
	dialer_tell(dialer, target,
	            (struct egress_told){.kind = EGRESS_TOLD_DENIED, .verdict = (uint8_t)why});
}

/* With an HTTP proxy, every failure is a failure at the HTTP proxy. */
static void fail(struct dialer *dialer, struct ask *ask, int answer, int error)
{
	finish(dialer, ask, answer, -1);
	dialer_tell(dialer, &ask->target,
	            (struct egress_told){.kind = EGRESS_TOLD_FAILED,
	                                 .error = ask->target.has_proxy ? EGRESS_PROXY_ERROR + error
	                                                                : error});
}

/* No address is left. The ask failed if an attempt failed, and was denied if all addresses were. */
static void give_up(struct dialer *dialer, struct ask *ask)
{
	if (ask->error != 0)
		fail(dialer, ask, ask->error, ask->error);
	else
		deny(dialer, ask, &ask->refused, ask->denied);
}

static void refuse_address(struct ask *ask, const struct net_address *address,
                           const struct dialer_verdict *verdict)
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

static struct dialer_verdict decide(const struct dialer *dialer, const struct ask *ask,
                                    const struct net_address *address)
{
	return dialer_decide(dialer, &ask->target, address);
}

static struct attempt *find_attempt(struct ask *ask)
{
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		if (ask->attempts[i].fd < 0)
			return &ask->attempts[i];
	return NULL;
}

static bool is_trying(const struct ask *ask)
{
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		if (ask->attempts[i].fd >= 0)
			return true;
	return false;
}

/* The checked address is the one that is connected to: nothing in between can change it. */
static bool try_address(struct dialer *dialer, struct ask *ask, struct attempt *attempt,
                        const struct net_address *address)
{
	struct dialer_verdict verdict = decide(dialer, ask, address);
	size_t index = (size_t)(ask - dialer->asks) * DIALER_ATTEMPTS_MAX +
	               (size_t)(attempt - ask->attempts);
	int fd;

	if (verdict.verdict != NET_VERDICT_ALLOWED) {
		refuse_address(ask, address, &verdict);
		return false;
	}
	fd = verdict.error != 0 ? -verdict.error : dial_begin(address, ask->port);
	if (fd < 0) {
		ask->error = -fd;
		return false;
	}
	*attempt = (struct attempt){fd, dialer->now_ms, *address, verdict.origin,
	                            dialer->rules_changes};
	if (!dialer_watch(dialer, fd, EPOLLOUT, DIALER_SOURCE_ATTEMPT, index)) {
		attempt->fd = fd_close(fd);
		ask->error = ENOMEM;
		return false;
	}
	return true;
}

/* Tries the next address that the rules allow, if any. */
static void try_next(struct dialer *dialer, struct ask *ask)
{
	struct attempt *attempt = find_attempt(ask);

	while (attempt && ask->next < ask->count)
		if (try_address(dialer, ask, attempt, &ask->addresses[ask->next++])) {
			ask->next_ms = dialer->now_ms + DIALER_STAGGER_MS;
			return;
		}
	if (!is_trying(ask))
		give_up(dialer, ask);
}

static void dial(struct dialer *dialer, struct ask *ask)
{
	ask->state = ASK_DIALING;
	ask->next = 0;
	try_next(dialer, ask);
}

static void take_addresses(struct dialer *dialer, struct ask *ask)
{
	const struct resolver_answer *answer = &dialer->lookup.names[ask->lookup].answer;

	if (answer->count == 0) {
		fail(dialer, ask, answer->error == ENOENT ? EHOSTUNREACH : answer->error,
		     answer->error == ENOENT ? 0 : answer->error);
		return;
	}
	ask->count = answer->count;
	memcpy(ask->addresses, answer->addresses, sizeof ask->addresses);
	dial(dialer, ask);
}

static void look_up(struct dialer *dialer, struct ask *ask, const char *name)
{
	ask->state = ASK_LOOKUP;
	ask->lookup = lookup_begin(&dialer->lookup, name, dialer->now_ms);
	if (ask->lookup < 0)
		fail(dialer, ask, -ask->lookup, -ask->lookup);
	else if (dialer->lookup.names[ask->lookup].state == LOOKUP_KNOWN)
		take_addresses(dialer, ask);
}

/* Finds a free slot. Returns false if an ask with this id is open, or no slot is free. */
static bool find_free(struct dialer *dialer, uint32_t id, struct ask **ret_free)
{
	*ret_free = NULL;
	for (size_t i = 0; i < dialer->asks_end; i++) {
		struct ask *ask = &dialer->asks[i];

		if (ask->state == ASK_FREE)
			*ret_free = *ret_free ? *ret_free : ask;
		else if (ask->id == id)
			return false;
	}
	if (!*ret_free && dialer->asks_end < DIALER_ASKS_MAX)
		*ret_free = &dialer->asks[dialer->asks_end++];
	return *ret_free;
}

static void connect_to_address(struct dialer *dialer, struct ask *ask,
                               const struct net_address *address)
{
	ask->count = 1;
	ask->addresses[0] = *address;
	dial(dialer, ask);
}

/* Returns true if the verdict is ALLOWED. Otherwise denies the ask. */
static bool check_verdict(struct dialer *dialer, struct ask *ask,
                          const struct dialer_verdict *verdict)
{
	if (verdict->verdict == NET_VERDICT_ALLOWED)
		return true;
	ask->target.origin = verdict->origin;
	deny(dialer, ask, &ask->target, verdict->verdict);
	return false;
}

static void connect_to_name(struct dialer *dialer, struct ask *ask)
{
	struct dialer_verdict verdict =
		dialer_rules_name(&dialer->rules, ask->target.name, ask->target.port);

	if (check_verdict(dialer, ask, &verdict))
		look_up(dialer, ask, ask->target.name);
}

/*
 * The administrator has named the HTTP proxy, so no rule is needed for the HTTP proxy's own
 * addresses.
 */
static void connect_by_proxy(struct dialer *dialer, struct ask *ask)
{
	const struct net_record *proxy = dialer->rules.proxy;
	struct dialer_verdict verdict;

	ask->target.has_proxy = true;
	ask->port = proxy->port_first;
	verdict = decide(dialer, ask, &ask->target.address);
	if (!check_verdict(dialer, ask, &verdict))
		return;
	if (proxy->kind == NET_RULE_NAME)
		look_up(dialer, ask, net_list_name(proxy));
	else
		connect_to_address(dialer, ask, net_list_network(proxy));
}

/* Begins an ask, for the first time or again, by the rules that are in force now. */
static void begin(struct dialer *dialer, struct ask *ask)
{
	ask->state = ASK_DIALING; /* so that count_held() does not count this ask */
	ask->denied = NET_VERDICT_ALLOWED;
	ask->error = 0;
	ask->tunnel = (struct tunnel){0};
	ask->port = ask->target.port;
	ask->target.has_proxy = false;
	if (*ask->target.name)
		ask->target.address = no_address;
	if (dialer_rules_has_proxy(&dialer->rules, ask->target.name, &ask->target.address,
	                           ask->target.port))
		connect_by_proxy(dialer, ask);
	else if (*ask->target.name)
		connect_to_name(dialer, ask);
	else
		connect_to_address(dialer, ask, &ask->target.address);
}

static void connect_to(struct dialer *dialer, struct ask *ask)
{
	if (!connections_have_room(dialer) ||
	    count_asks(dialer) >= dialer->rules.memory->connections_max) {
		finish(dialer, ask, EMFILE, -1);
		dialer_tell(dialer, &ask->target, (struct egress_told){.kind = EGRESS_TOLD_FULL});
	} else {
		begin(dialer, ask);
	}
}

/*
 * Handles a packet that is only reported. By now the rules may allow the name, or allow asking
 * about it: then there is nothing to report.
 */
static void note(struct dialer *dialer, const struct egress_ask *asked,
                 struct dialer_target *target)
{
	struct dialer_verdict verdict;

	if (asked->kind == EGRESS_ASK_FULL) {
		dialer_tell(dialer, target, (struct egress_told){.kind = EGRESS_TOLD_FULL});
		return;
	}
	verdict = dialer_rules_name(&dialer->rules, asked->name, 0);
	target->origin = verdict.origin;
	if (verdict.verdict != NET_VERDICT_ALLOWED && verdict.verdict != NET_VERDICT_ASKED)
		dialer_tell(dialer, target,
		            (struct egress_told){.kind = EGRESS_TOLD_DENIED,
		                                 .verdict = (uint8_t)verdict.verdict});
}

bool asks_add(struct dialer *dialer, const struct egress_ask *asked)
{
	struct dialer_target target = {.port = asked->port, .address = asked->address};
	struct ask *ask;

	memcpy(target.name, asked->name, sizeof target.name);
	if (asked->kind != EGRESS_ASK_CONNECT) {
		note(dialer, asked, &target);
		return true;
	}
	if (!find_free(dialer, asked->id, &ask))
		return false;
	*ask = (struct ask){.id = asked->id,
	                    .target = target,
	                    .port = asked->port,
	                    .deadline_ms = dialer->now_ms + DIALER_ASK_MS,
	                    .fd = -1};
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		ask->attempts[i].fd = -1;
	connect_to(dialer, ask);
	return true;
}

void asks_advance_known(struct dialer *dialer)
{
	for (size_t i = 0; i < dialer->asks_end; i++) {
		struct ask *ask = &dialer->asks[i];

		if (ask->state == ASK_LOOKUP &&
		    dialer->lookup.names[ask->lookup].state == LOOKUP_KNOWN)
			take_addresses(dialer, ask);
	}
}

/* Whether the rules still allow the attempt, if they have changed since it began. */
static bool is_allowed_still(const struct dialer *dialer, struct ask *ask, struct attempt *attempt)
{
	struct dialer_verdict verdict;

	if (attempt->rules_changes == dialer->rules_changes)
		return true;
	verdict = decide(dialer, ask, &attempt->address);
	attempt->origin = verdict.origin;
	if (verdict.verdict != NET_VERDICT_ALLOWED)
		refuse_address(ask, &attempt->address, &verdict);
	return verdict.verdict == NET_VERDICT_ALLOWED;
}

/* Checks the limit again: other asks may have connected in the meantime. */
static void succeed(struct dialer *dialer, struct ask *ask, struct attempt *attempt)
{
	if (!is_allowed_still(dialer, ask, attempt)) {
		drop_attempt(dialer, attempt);
		try_next(dialer, ask);
		return;
	}
	if (!connections_have_room(dialer)) {
		finish(dialer, ask, EMFILE, -1);
		dialer_tell(dialer, &ask->target, (struct egress_told){.kind = EGRESS_TOLD_FULL});
		return;
	}
	if (!ask->target.has_proxy)
		ask->target.address = attempt->address;
	ask->target.origin = attempt->origin;
	ask->target.asked = ask->tunnel.asked;
	ask->target.answered = ask->tunnel.answered;
	dialer_unwatch(dialer, attempt->fd);
	finish(dialer, ask, 0, steal_fd(&attempt->fd));
}

/* Asks the HTTP proxy through its first address that has connected. */
static void ask_proxy(struct dialer *dialer, struct ask *ask, struct attempt *attempt, size_t index)
{
	int r;

	/* The HTTP proxy need not learn of the target. */
	if (!is_allowed_still(dialer, ask, attempt)) {
		drop_attempt(dialer, attempt);
		try_next(dialer, ask);
		return;
	}
	for (size_t i = 0; i < DIALER_ATTEMPTS_MAX; i++)
		if (&ask->attempts[i] != attempt)
			drop_attempt(dialer, &ask->attempts[i]);
	r = tunnel_ask(&ask->tunnel, attempt->fd, ask->target.name, &ask->target.address,
	               ask->target.port);
	dialer_unwatch(dialer, attempt->fd);
	if (r == 0 && !dialer_watch(dialer, attempt->fd, EPOLLIN, DIALER_SOURCE_ATTEMPT, index))
		r = -ENOMEM;
	ask->state = ASK_TUNNEL;
	if (r < 0)
		fail(dialer, ask, -r, -r);
}

static void hear_proxy(struct dialer *dialer, struct ask *ask, struct attempt *attempt)
{
	int r = tunnel_hear(&ask->tunnel, attempt->fd);

	if (r == 0)
		succeed(dialer, ask, attempt);
	else if (r != -EAGAIN)
		fail(dialer, ask, r > 0 ? ECONNREFUSED : -r, r > 0 ? r : -r);
}

void asks_advance_attempt(struct dialer *dialer, size_t index)
{
	struct ask *ask = &dialer->asks[index / DIALER_ATTEMPTS_MAX];
	struct attempt *attempt = &ask->attempts[index % DIALER_ATTEMPTS_MAX];
	int r;

	if ((ask->state != ASK_DIALING && ask->state != ASK_TUNNEL) || attempt->fd < 0)
		return;
	if (ask->state == ASK_TUNNEL) {
		hear_proxy(dialer, ask, attempt);
		return;
	}
	r = dial_result(attempt->fd);
	if (r == -EINPROGRESS)
		return;
	if (r == 0 && ask->target.has_proxy) {
		ask_proxy(dialer, ask, attempt, index);
		return;
	}
	if (r == 0) {
		succeed(dialer, ask, attempt);
		return;
	}
	ask->error = -r;
	drop_attempt(dialer, attempt);
	try_next(dialer, ask);
}

/* If all slots for attempts are taken, drops the oldest attempt after DIALER_ATTEMPT_MS. */
static void stagger(struct dialer *dialer, struct ask *ask)
{
	struct attempt *oldest = &ask->attempts[0];

	if (!find_attempt(ask)) {
		for (size_t i = 1; i < DIALER_ATTEMPTS_MAX; i++)
			if (ask->attempts[i].since_ms < oldest->since_ms)
				oldest = &ask->attempts[i];
		if (oldest->since_ms + DIALER_ATTEMPT_MS > dialer->now_ms) {
			ask->next_ms = oldest->since_ms + DIALER_ATTEMPT_MS;
			return;
		}
		ask->error = ETIMEDOUT;
		drop_attempt(dialer, oldest);
	}
	try_next(dialer, ask);
}

/* When something must be done about an ask; UINT64_MAX: never. */
static uint64_t time_of(const struct ask *ask)
{
	if (ask->state == ASK_DIALING && ask->next < ask->count && ask->next_ms < ask->deadline_ms)
		return ask->next_ms;
	if (ask->state == ASK_HELD)
		return ask->held_ms;
	return ask->state == ASK_DIALING || ask->state == ASK_LOOKUP || ask->state == ASK_TUNNEL
	               ? ask->deadline_ms
	               : UINT64_MAX;
}

void asks_advance_time(struct dialer *dialer)
{
	for (size_t i = 0; i < dialer->asks_end; i++) {
		struct ask *ask = &dialer->asks[i];

		if (time_of(ask) > dialer->now_ms)
			continue;
		if (ask->state == ASK_HELD)
			deny(dialer, ask, &ask->refused, NET_VERDICT_ASKED);
		else if (ask->deadline_ms <= dialer->now_ms)
			fail(dialer, ask, ETIMEDOUT, ETIMEDOUT);
		else
			stagger(dialer, ask);
	}
}

uint64_t asks_next_ms(const struct dialer *dialer)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < dialer->asks_end; i++)
		if (time_of(&dialer->asks[i]) < next)
			next = time_of(&dialer->asks[i]);
	return next;
}

void asks_check(struct dialer *dialer)
{
	for (size_t i = 0; i < dialer->asks_end; i++) {
		struct ask *ask = &dialer->asks[i];
		struct dialer_verdict verdict;

		if (ask->state == ASK_HELD)
			begin(dialer, ask);
		if (ask->state != ASK_ANSWERED || ask->answer != 0)
			continue;
		verdict = decide(dialer, ask, &ask->target.address);
		ask->target.origin = verdict.origin;
		if (verdict.verdict == NET_VERDICT_ALLOWED)
			continue;
		ask->fd = fd_close(ask->fd);
		deny(dialer, ask, &ask->target, verdict.verdict);
	}
}

static int send_answer(struct dialer *dialer, struct ask *ask)
{
	const struct egress_answer answer = {EGRESS_ANSWER, ask->id, ask->answer};
	int r = frame_send(dialer->front, &answer, sizeof answer, &ask->fd, ask->answer == 0,
	                   MSG_DONTWAIT);

	if (r < 0)
		return r;
	ask->state = ASK_FREE;
	if (ask->answer == 0)
		connections_take(dialer, steal_fd(&ask->fd), &ask->target);
	return 0;
}

static int send_rules(struct dialer *dialer)
{
	const struct egress_answer answer = {.kind = dialer->is_serving ? EGRESS_ANSWER_RULES
	                                                                : EGRESS_ANSWER_EXPECTED};
	int r = frame_send(dialer->front, &answer, sizeof answer, &dialer->rules_due, 1,
	                   MSG_DONTWAIT);

	if (r == 0)
		dialer->rules_due = fd_close(dialer->rules_due);
	return r;
}

int asks_answer(struct dialer *dialer)
{
	int r = dialer->rules_due >= 0 ? send_rules(dialer) : 0;

	for (size_t i = 0; r == 0 && i < dialer->asks_end; i++)
		if (dialer->asks[i].state == ASK_ANSWERED)
			r = send_answer(dialer, &dialer->asks[i]);
	return r;
}

bool asks_are_answered(const struct dialer *dialer)
{
	if (dialer->rules_due >= 0)
		return false;
	for (size_t i = 0; i < dialer->asks_end; i++)
		if (dialer->asks[i].state == ASK_ANSWERED)
			return false;
	return true;
}
