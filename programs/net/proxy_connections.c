/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proxy.h. The connections: the address that the program connected to decides about the target,
 * and the connector decides whether the connection is allowed, before any byte is read.
 */
#include "programs/net/proxy.h"

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

bool proxy_connections_prepare(int listener)
{
	const int bytes = BUFFER_BYTES;

	/*
	 * Accepted sockets inherit the size from the listener, before the first window is
	 * announced. tcp(7)
	 */
	return setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0;
}

static struct proxy_connection *proxy_connections_find(struct proxy *proxy, uint32_t id)
{
	struct proxy_connection *c = &proxy->connections.slots[id % (1 << SLOT_BITS)];

	return c->state != PROXY_FREE && c->id == id ? c : NULL;
}

static void set_due(struct proxy *proxy, struct proxy_connection *c)
{
	proxy->connections.due += !c->is_due;
	c->is_due = true;
}

static void set_starved(struct proxy *proxy, struct proxy_connection *c, enum flow_way way,
                        bool is_starved)
{
	proxy->connections.starved += (uint32_t)is_starved - (uint32_t)c->is_starved[way];
	c->is_starved[way] = is_starved;
}

static struct proxy_connection *proxy_connections_take_slot(struct proxy *proxy)
{
	uint32_t i = 0;

	if (proxy->connections.used >= proxy->connections.max)
		return NULL;
	while (proxy->connections.slots[i].state != PROXY_FREE)
		i++;
	proxy->connections.used++;
	if (proxy->connections.end < i + 1)
		proxy->connections.end = i + 1;
	proxy->connections.next_number =
		(proxy->connections.next_number + 1) % (1u << (32 - SLOT_BITS));
	proxy->connections.slots[i] = (struct proxy_connection){
		.state = PROXY_UNASKED, .id = proxy->connections.next_number << SLOT_BITS | i};
	return &proxy->connections.slots[i];
}

static void free_slot(struct proxy *proxy, struct proxy_connection *c)
{
	proxy->connections.due -= c->is_due;
	proxy->connections.refused -= c->state == PROXY_REFUSED;
	for (enum flow_way way = 0; way < FLOW_WAYS; way++)
		set_starved(proxy, c, way, false);
	c->is_due = false;
	c->state = PROXY_FREE;
	proxy->connections.used--;
	while (proxy->connections.end > 0 &&
	       proxy->connections.slots[proxy->connections.end - 1].state == PROXY_FREE)
		proxy->connections.end--;
}

/*
 * Ends a connection. If it is ASKED, the slot stays in use, because the connector's answer is still
 * to come. The connector has a duplicate of the outer socket, and epoll watches the socket until
 * the last duplicate is closed: so remove it.
 */
static void proxy_connections_end(struct proxy *proxy, struct proxy_connection *c, bool is_broken)
{
	if (c->state == PROXY_OPEN && c->flow.sockets[FLOW_OUTSIDE] >= 0)
		(void)epoll_ctl(proxy->epoll, EPOLL_CTL_DEL, c->flow.sockets[FLOW_OUTSIDE], NULL);
	flow_end(&c->flow, is_broken);
	if (c->state == PROXY_ASKED)
		c->state = PROXY_GONE;
	else
		free_slot(proxy, c);
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
static bool is_synthetic(const struct proxy *proxy, const struct net_address *address)
{
	static const struct net_address v4 = {{[10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18}};
	struct net_address v6;

	memcpy(&v6, &proxy->prefix, sizeof v6);
	return net_address_is_in(address, &v4, FAKE_V4_PREFIX) ||
	       net_address_is_in(address, &v6, FAKE_V6_PREFIX);
}

/* Returns false if the address is synthetic, but stands for no name. */
static bool name_target(const struct proxy *proxy, const struct net_address *address, uint16_t port,
                        struct egress_ask *ask)
{
	struct in6_addr found;
	const char *name;

	memcpy(&found, address, sizeof found);
	name = synthetic_by_address(proxy->names, &found);
	if (!name && is_synthetic(proxy, address))
		return false;
	ask->kind = EGRESS_ASK_CONNECT;
	ask->port = port;
	/* The name fits: synthetic_add() takes no longer one. */
	if (name)
		memcpy(ask->name, name, strlen(name) + 1);
	else
		ask->address = *address;
	return true;
}

static void send_ask(struct proxy *proxy, struct proxy_connection *c, struct egress_ask *ask)
{
	ask->id = c->id;
	if (proxy_send(proxy, ask) == 0)
		c->state = PROXY_ASKED;
}

void proxy_connections_ask(struct proxy *proxy)
{
	struct net_address address;
	uint16_t port;

	for (uint32_t i = 0; i < proxy->connections.end; i++) {
		struct proxy_connection *c = &proxy->connections.slots[i];
		struct egress_ask ask = {0};

		if (c->state != PROXY_UNASKED)
			continue;
		if (read_target(c->flow.sockets[FLOW_INSIDE], &address, &port) &&
		    name_target(proxy, &address, port, &ask))
			send_ask(proxy, c, &ask);
		else
			proxy_connections_end(proxy, c, true);
		if (proxy->connector.is_full)
			return;
	}
}

static void proxy_connections_begin(struct proxy *proxy, int socket,
                                    const struct net_address *address, uint16_t port)
{
	struct proxy_connection *c;
	struct egress_ask ask = {0};

	if (!name_target(proxy, address, port, &ask)) {
		(void)close(socket);
		return;
	}
	c = proxy_connections_take_slot(proxy);
	if (!c) {
		ask.kind = EGRESS_ASK_FULL;
		proxy_report(proxy, &ask);
		(void)close(socket);
		return;
	}
	flow_begin(&c->flow, socket, -1);
	if (proxy_watch(proxy, socket, PROXY_INSIDE, c->id, ALL_EVENTS) == 0)
		send_ask(proxy, c, &ask);
	else
		proxy_connections_end(proxy, c, true);
}

static void watch_listeners(struct proxy *proxy, uint32_t events)
{
	for (int fd = PROXY_FD_CONNECTOR; fd < PROXY_FD_END; fd++)
		if (proxy_has_listener(proxy, fd))
			(void)epoll_ctl(proxy->epoll, EPOLL_CTL_MOD, fd,
			                &(struct epoll_event){.events = events,
			                                      .data.u64 = (uint64_t)fd << 8 |
			                                                  PROXY_LISTENER});
}

/* While memory or descriptors are short, waiting connections would keep the loop busy. */
static void pause_accepting(struct proxy *proxy)
{
	proxy->connections.paused_us = proxy->now_us + PAUSE_US;
	watch_listeners(proxy, 0);
}

static void resume_accepting(struct proxy *proxy)
{
	proxy->connections.paused_us = 0;
	watch_listeners(proxy, EPOLLIN);
}

void proxy_connections_accept(struct proxy *proxy, int listener)
{
	struct net_address address;
	uint16_t port;

	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (socket < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			pause_accepting(proxy);
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
		else if (port == PROXY_DNS_PORT)
			proxy_stream_take(proxy, socket);
		else
			proxy_connections_begin(proxy, socket, &address, port);
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
static void proxy_connections_refuse(struct proxy *proxy, struct proxy_connection *c)
{
	if (proxy->connections.used > proxy->connections.max / 2) {
		proxy_connections_end(proxy, c, true);
		return;
	}
	c->state = PROXY_REFUSED;
	c->reset_us = proxy->now_us + REFUSED_US;
	proxy->connections.refused++;
}

static void reset_refused(struct proxy *proxy)
{
	for (uint32_t i = 0; i < proxy->connections.end; i++) {
		struct proxy_connection *c = &proxy->connections.slots[i];

		if (c->state == PROXY_REFUSED && c->reset_us <= proxy->now_us)
			proxy_connections_end(proxy, c, true);
	}
}

bool proxy_connections_answer(struct proxy *proxy, uint32_t id, int outside)
{
	struct proxy_connection *c = proxy_connections_find(proxy, id);
	bool is_tcp = outside < 0 || flow_prepare(outside) == 0;

	if (!c || (c->state != PROXY_ASKED && c->state != PROXY_GONE) || !is_tcp) {
		refuse_outside(outside);
		return is_tcp;
	}
	if (c->state == PROXY_GONE) {
		refuse_outside(outside);
		free_slot(proxy, c);
		return true;
	}
	if (outside < 0) {
		proxy_connections_refuse(proxy, c);
		return true;
	}
	c->state = PROXY_OPEN;
	c->flow.sockets[FLOW_OUTSIDE] = outside;
	if (proxy_watch(proxy, outside, PROXY_OUTSIDE, c->id, ALL_EVENTS) < 0)
		proxy_connections_end(proxy, c, true);
	return true;
}

void proxy_connections_heard(struct proxy *proxy, enum proxy_source source, uint32_t id,
                             uint32_t events)
{
	struct proxy_connection *c = proxy_connections_find(proxy, id);

	if (!c || c->state == PROXY_GONE)
		return;
	if (c->state == PROXY_REFUSED)
		proxy_connections_end(proxy, c, true);
	else if (flow_heard(&c->flow, source == PROXY_INSIDE ? FLOW_INSIDE : FLOW_OUTSIDE, events) <
	         0)
		proxy_connections_end(proxy, c, true);
	else if (c->state == PROXY_OPEN)
		set_due(proxy, c);
}

/* Returns how many tokens one connection may take, so that some are left for the others. */
static size_t proxy_connections_share(struct proxy *proxy, enum flow_way way)
{
	size_t left = tokens_left(&proxy->connections.tokens[way], proxy->now_us), part;

	if (left == SIZE_MAX || left == 0)
		return left;
	part = left / (proxy->connections.due + 1);
	return part < SHARE_LEAST ? (left < SHARE_LEAST ? left : SHARE_LEAST) : part;
}

static void run_one(struct proxy *proxy, struct proxy_connection *c)
{
	bool is_more, wants_turn = false;

	for (enum flow_way way = 0; way < FLOW_WAYS; way++) {
		size_t most = proxy_connections_share(proxy, way);
		ssize_t taken = flow_move(&c->flow, way, most, &is_more);

		if (taken < 0) {
			proxy_connections_end(proxy, c, true);
			return;
		}
		tokens_take(&proxy->connections.tokens[way], (size_t)taken);
		wants_turn |= is_more && most > 0;
		set_starved(proxy, c, way, is_more && most == 0);
	}
	if (flow_is_done(&c->flow) || flow_is_broken(&c->flow))
		proxy_connections_end(proxy, c, flow_is_broken(&c->flow));
	else if (wants_turn)
		set_due(proxy, c);
}

/* Makes the connections due for which there are tokens again. */
static void wake_starved(struct proxy *proxy)
{
	for (uint32_t i = 0; i < proxy->connections.end; i++) {
		struct proxy_connection *c = &proxy->connections.slots[i];

		for (enum flow_way way = 0; way < FLOW_WAYS; way++)
			if (c->is_starved[way] &&
			    tokens_left(&proxy->connections.tokens[way], proxy->now_us) > 0) {
				set_starved(proxy, c, way, false);
				set_due(proxy, c);
			}
	}
}

void proxy_connections_run(struct proxy *proxy)
{
	uint32_t end = proxy->connections.end;

	if (proxy->connections.paused_us != 0 && proxy->connections.paused_us <= proxy->now_us)
		resume_accepting(proxy);
	if (proxy->connections.starved > 0)
		wake_starved(proxy);
	if (proxy->connections.refused > 0) {
		reset_refused(proxy);
		end = proxy->connections.end;
	}
	for (uint32_t i = 0; i < end && proxy->connections.due > 0; i++) {
		struct proxy_connection *c =
			&proxy->connections.slots[(proxy->connections.first + i) % end];

		if (!c->is_due)
			continue;
		c->is_due = false;
		proxy->connections.due--;
		run_one(proxy, c);
	}
	proxy->connections.first = end == 0 ? 0 : (proxy->connections.first + 1) % end;
}

int proxy_connections_wait_ms(struct proxy *proxy)
{
	int wait_ms = -1;

	if (proxy->connections.due > 0)
		return 0;
	if (proxy->connections.paused_us != 0)
		wait_ms = (int)(PAUSE_US / 1000);
	if (proxy->connections.refused > 0)
		wait_ms = (int)(REFUSED_US / 1000);
	for (enum flow_way way = 0; proxy->connections.starved > 0 && way < FLOW_WAYS; way++) {
		int tokens_ms = tokens_wait_ms(&proxy->connections.tokens[way]);

		if (tokens_ms > 0 && (wait_ms < 0 || tokens_ms < wait_ms))
			wait_ms = tokens_ms;
	}
	/* Tokens may have come since a connection found none. */
	return wait_ms < 0 && proxy->connections.starved > 0 ? 0 : wait_ms;
}
