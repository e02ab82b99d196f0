/*
 * See front.h. The connections: the address that the program connected to decides about the target,
 * and the connector decides whether the connection is allowed, before any byte is read.
 */
#include "programs/egress/front.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPTS_MAX 64
#define PAUSE_US    UINT64_C(100000)
#define REFUSED_US  UINT64_C(10000)
#define SLOT_BITS   8
/*
 * Receive buffer for what programs send; the kernel doubles it. A larger one is not faster over
 * loopback.
 */
#define BUFFER_BYTES   (256 << 10)
#define SHARE_LEAST    1460
#define ALL_EVENTS     (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLET)
#define FAKE_V4_PREFIX 111 /* 198.18.0.0/15 */
#define FAKE_V6_PREFIX 64

static_assert(EGRESS_CONNECTIONS_MAX <= 1 << SLOT_BITS, "an id has room for the number of a slot");

bool front_connections_prepare(int listener)
{
	const int bytes = BUFFER_BYTES;

	/*
	 * Accepted sockets inherit the size from the listener, before the first window is
	 * announced. tcp(7)
	 */
	return setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0;
}

static struct front_connection *find(struct front *front, uint32_t id)
{
	struct front_connection *c = &front->connections.slots[id % (1 << SLOT_BITS)];

	return c->state != FRONT_FREE && c->id == id ? c : NULL;
}

static void set_due(struct front *front, struct front_connection *c)
{
	front->connections.due += !c->is_due;
	c->is_due = true;
}

static void set_starved(struct front *front, struct front_connection *c, enum flow_way way,
                        bool is_starved)
{
	front->connections.starved += (uint32_t)is_starved - (uint32_t)c->is_starved[way];
	c->is_starved[way] = is_starved;
}

static struct front_connection *take_slot(struct front *front)
{
	uint32_t i = 0;

	if (front->connections.used >= front->connections.max)
		return NULL;
	while (front->connections.slots[i].state != FRONT_FREE)
		i++;
	front->connections.used++;
	if (front->connections.end < i + 1)
		front->connections.end = i + 1;
	front->connections.next_number =
		(front->connections.next_number + 1) % (1u << (32 - SLOT_BITS));
	front->connections.slots[i] = (struct front_connection){
		.state = FRONT_UNASKED, .id = front->connections.next_number << SLOT_BITS | i};
	return &front->connections.slots[i];
}

static void free_slot(struct front *front, struct front_connection *c)
{
	front->connections.due -= c->is_due;
	front->connections.refused -= c->state == FRONT_REFUSED;
	for (enum flow_way way = 0; way < FLOW_WAYS; way++)
		set_starved(front, c, way, false);
	c->is_due = false;
	c->state = FRONT_FREE;
	front->connections.used--;
	while (front->connections.end > 0 &&
	       front->connections.slots[front->connections.end - 1].state == FRONT_FREE)
		front->connections.end--;
}

/*
 * Ends a connection. If it is ASKED, the slot stays in use, because the connector's answer is still
 * to come. The connector has a duplicate of the outer socket, and epoll watches the socket until
 * the last duplicate is closed: so remove it.
 */
static void end(struct front *front, struct front_connection *c, bool is_broken)
{
	if (c->state == FRONT_OPEN && c->flow.sockets[FLOW_OUTSIDE] >= 0)
		(void)epoll_ctl(front->epoll, EPOLL_CTL_DEL, c->flow.sockets[FLOW_OUTSIDE], NULL);
	flow_end(&c->flow, is_broken);
	if (c->state == FRONT_ASKED)
		c->state = FRONT_GONE;
	else
		free_slot(front, c);
}

/* Reads the socket's own address, which is the address to which the program connected. */
static bool read_target(int socket, struct net_address *ret_address, uint16_t *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} own = {0};
	socklen_t size = sizeof own;

	*ret_address = (struct net_address){.bytes = {[10] = 0xff, [11] = 0xff}};
	if (getsockname(socket, &own.any, &size) < 0)
		return false;
	if (own.any.sa_family == AF_INET)
		memcpy(ret_address->bytes + 12, &own.v4.sin_addr, sizeof own.v4.sin_addr);
	else
		memcpy(ret_address->bytes, &own.v6.sin6_addr, sizeof own.v6.sin6_addr);
	*ret_port = ntohs(own.any.sa_family == AF_INET ? own.v4.sin_port : own.v6.sin6_port);
	return true;
}

/* Whether the address is in the ranges of synthetic addresses, and so is no host's. */
static bool is_fake(const struct front *front, const struct net_address *address)
{
	static const struct net_address v4 = {{[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18}};
	struct net_address v6;

	memcpy(&v6, &front->prefix, sizeof v6);
	return net_address_is_in(address, &v4, FAKE_V4_PREFIX) ||
	       net_address_is_in(address, &v6, FAKE_V6_PREFIX);
}

/* Returns false if the address is synthetic, but stands for no name. */
static bool name_target(const struct front *front, const struct net_address *address, uint16_t port,
                        struct egress_ask *ask)
{
	struct in6_addr found;
	const char *name;

	memcpy(&found, address, sizeof found);
	name = fakes_by_address(front->names, &found);
	if (!name && is_fake(front, address))
		return false;
	ask->kind = EGRESS_ASK_CONNECT;
	ask->port = port;
	/* The name fits: fakes_add() takes no longer one. */
	if (name)
		memcpy(ask->name, name, strlen(name) + 1);
	else
		ask->address = *address;
	return true;
}

static void send_ask(struct front *front, struct front_connection *c, struct egress_ask *ask)
{
	ask->id = c->id;
	if (front_send(front, ask) == 0)
		c->state = FRONT_ASKED;
}

void front_connections_ask(struct front *front)
{
	struct net_address address;
	uint16_t port;

	for (uint32_t i = 0; i < front->connections.end; i++) {
		struct front_connection *c = &front->connections.slots[i];
		struct egress_ask ask = {0};

		if (c->state != FRONT_UNASKED)
			continue;
		if (read_target(c->flow.sockets[FLOW_INSIDE], &address, &port) &&
		    name_target(front, &address, port, &ask))
			send_ask(front, c, &ask);
		else
			end(front, c, true);
		if (front->dialer.is_full)
			return;
	}
}

static void begin(struct front *front, int socket, const struct net_address *address, uint16_t port)
{
	struct front_connection *c;
	struct egress_ask ask = {0};

	if (!name_target(front, address, port, &ask)) {
		(void)close(socket);
		return;
	}
	c = take_slot(front);
	if (!c) {
		ask.kind = EGRESS_ASK_FULL;
		front_tell(front, &ask);
		(void)close(socket);
		return;
	}
	flow_begin(&c->flow, socket, -1);
	if (front_watch(front, socket, FRONT_INSIDE, c->id, ALL_EVENTS) == 0)
		send_ask(front, c, &ask);
	else
		end(front, c, true);
}

static void watch_listeners(struct front *front, uint32_t events)
{
	for (int fd = FRONT_FD_DIALER; fd < FRONT_FD_END; fd++)
		if (front_has_listener(front, fd))
			(void)epoll_ctl(front->epoll, EPOLL_CTL_MOD, fd,
			                &(struct epoll_event){.events = events,
			                                      .data.u64 = (uint64_t)fd << 8 |
			                                                  FRONT_LISTENER});
}

/* While memory or descriptors are short, waiting connections would keep the loop busy. */
static void pause_accepting(struct front *front)
{
	front->connections.paused_us = front->now_us + PAUSE_US;
	watch_listeners(front, 0);
}

static void resume_accepting(struct front *front)
{
	front->connections.paused_us = 0;
	watch_listeners(front, EPOLLIN);
}

void front_connections_accept(struct front *front, int listener)
{
	struct net_address address;
	uint16_t port;

	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (socket < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			pause_accepting(front);
			return;
		}
		if (socket < 0 && errno == EAGAIN)
			return;
		/* This connection had failed before it was accepted: accept(2) */
		if (socket < 0)
			continue;
		/* Port 0 is never a server's, and no rule is about it. */
		if (flow_prepare(socket) < 0 || !read_target(socket, &address, &port) || port == 0)
			(void)close(socket);
		else if (port == FRONT_DNS_PORT)
			front_stream_take(front, socket);
		else
			begin(front, socket, &address, port);
	}
}

/* Shuts the socket down, since the connector has a duplicate. */
static void refuse_outside(int outside)
{
	if (outside >= 0) {
		(void)shutdown(outside, SHUT_RDWR);
		(void)close(outside);
	}
}

/*
 * Delays the reset, unless more than half of the connections are in use. Some programs miss a reset
 * that comes before they have checked whether they are connected (node 20 exits as if all were
 * well).
 */
static void refuse(struct front *front, struct front_connection *c)
{
	if (front->connections.used > front->connections.max / 2) {
		end(front, c, true);
		return;
	}
	c->state = FRONT_REFUSED;
	c->reset_us = front->now_us + REFUSED_US;
	front->connections.refused++;
}

static void reset_refused(struct front *front)
{
	for (uint32_t i = 0; i < front->connections.end; i++) {
		struct front_connection *c = &front->connections.slots[i];

		if (c->state == FRONT_REFUSED && c->reset_us <= front->now_us)
			end(front, c, true);
	}
}

bool front_connections_answer(struct front *front, uint32_t id, int outside)
{
	struct front_connection *c = find(front, id);
	bool is_tcp = outside < 0 || flow_prepare(outside) == 0;

	if (!c || (c->state != FRONT_ASKED && c->state != FRONT_GONE) || !is_tcp) {
		refuse_outside(outside);
		return is_tcp;
	}
	if (c->state == FRONT_GONE) {
		refuse_outside(outside);
		free_slot(front, c);
		return true;
	}
	if (outside < 0) {
		refuse(front, c);
		return true;
	}
	c->state = FRONT_OPEN;
	c->flow.sockets[FLOW_OUTSIDE] = outside;
	if (front_watch(front, outside, FRONT_OUTSIDE, c->id, ALL_EVENTS) < 0)
		end(front, c, true);
	return true;
}

void front_connections_heard(struct front *front, enum front_source source, uint32_t id,
                             uint32_t events)
{
	struct front_connection *c = find(front, id);

	if (!c || c->state == FRONT_GONE)
		return;
	if (c->state == FRONT_REFUSED)
		end(front, c, true);
	else if (flow_heard(&c->flow, source == FRONT_INSIDE ? FLOW_INSIDE : FLOW_OUTSIDE, events) <
	         0)
		end(front, c, true);
	else if (c->state == FRONT_OPEN)
		set_due(front, c);
}

/* Returns how many tokens one connection may take, so that some are left for the others. */
static size_t share(struct front *front, enum flow_way way)
{
	size_t left = tokens_left(&front->connections.tokens[way], front->now_us), part;

	if (left == SIZE_MAX || left == 0)
		return left;
	part = left / (front->connections.due + 1);
	return part < SHARE_LEAST ? (left < SHARE_LEAST ? left : SHARE_LEAST) : part;
}

static void run_one(struct front *front, struct front_connection *c)
{
	bool is_more, wants_turn = false;

	for (enum flow_way way = 0; way < FLOW_WAYS; way++) {
		size_t most = share(front, way);
		ssize_t taken = flow_move(&c->flow, way, most, &is_more);

		if (taken < 0) {
			end(front, c, true);
			return;
		}
		tokens_take(&front->connections.tokens[way], (size_t)taken);
		wants_turn |= is_more && most > 0;
		set_starved(front, c, way, is_more && most == 0);
	}
	if (flow_is_done(&c->flow) || flow_is_broken(&c->flow))
		end(front, c, flow_is_broken(&c->flow));
	else if (wants_turn)
		set_due(front, c);
}

/* Makes the connections due for which there are tokens again. */
static void wake_starved(struct front *front)
{
	for (uint32_t i = 0; i < front->connections.end; i++) {
		struct front_connection *c = &front->connections.slots[i];

		for (enum flow_way way = 0; way < FLOW_WAYS; way++)
			if (c->is_starved[way] &&
			    tokens_left(&front->connections.tokens[way], front->now_us) > 0) {
				set_starved(front, c, way, false);
				set_due(front, c);
			}
	}
}

void front_connections_run(struct front *front)
{
	uint32_t end = front->connections.end;

	if (front->connections.paused_us != 0 && front->connections.paused_us <= front->now_us)
		resume_accepting(front);
	if (front->connections.starved > 0)
		wake_starved(front);
	if (front->connections.refused > 0) {
		reset_refused(front);
		end = front->connections.end;
	}
	for (uint32_t i = 0; i < end && front->connections.due > 0; i++) {
		struct front_connection *c =
			&front->connections.slots[(front->connections.first + i) % end];

		if (!c->is_due)
			continue;
		c->is_due = false;
		front->connections.due--;
		run_one(front, c);
	}
	front->connections.first = end == 0 ? 0 : (front->connections.first + 1) % end;
}

int front_connections_wait_ms(struct front *front)
{
	int wait_ms = -1;

	if (front->connections.due > 0)
		return 0;
	if (front->connections.paused_us != 0)
		wait_ms = (int)(PAUSE_US / 1000);
	if (front->connections.refused > 0)
		wait_ms = (int)(REFUSED_US / 1000);
	for (enum flow_way way = 0; front->connections.starved > 0 && way < FLOW_WAYS; way++) {
		int tokens_ms = tokens_wait_ms(&front->connections.tokens[way]);

		if (tokens_ms > 0 && (wait_ms < 0 || tokens_ms < wait_ms))
			wait_ms = tokens_ms;
	}
	/* Tokens may have come since a connection found none. */
	return wait_ms < 0 && front->connections.starved > 0 ? 0 : wait_ms;
}
