/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "sockets" in yett.h: forwards connections from the host to ports of a sandbox, and from a
 * sandbox to Unix sockets of the host. Runs as the caller.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/net_address.h"
#include "base/failure.h"
#include "libclient/pair.h"
#include "libclient/relay.h"

#define EVENTS         64
#define ACCEPTS        16 /* of one listener, before other sources get a turn */
#define BACKLOG        64
#define PRIVILEGED_END 1024 /* ip(7) */

/* epoll_event.data.ptr points to this, in a struct listener or a struct side. */
struct source {
	enum { SOURCE_LISTENER, SOURCE_SIDE } kind;
};

struct listener {
	struct source source; /* must be the first member */
	struct listener *next;
	int fd;        /* owned */
	uint16_t port; /* of the sandbox; 0: connections go to the Unix socket `path` */
	char *path;    /* owned */
};

struct side {
	struct source source; /* must be the first member */
	struct relayed *of;
	int index;
	uint32_t waits_for; /* events registered with epoll(7); 0: not registered */
};

struct relayed {
	struct relayed *next;
	struct side sides[2]; /* 0: the accepted socket; 1: the socket to the destination */
	struct pair pair;
	uint16_t port;
	bool is_v6; /* destination is a port: ::1 is tried, after 127.0.0.1 */
	bool is_over;
};

struct yett_relay {
	struct yett_sandbox *sandbox;
	int events; /* epoll(7) */
	int spare;  /* closed at the limit of descriptors, to accept and reset one connection */
	struct listener *listeners;
	struct relayed *relayed;
	size_t count;
	/*
	 * Init has not answered during this dispatch. Do not ask again: each attempt blocks for
	 * seconds.
	 */
	bool is_silent;
	uint8_t buffer[PAIR_BUFFER];
};

static int relay_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a relay");
}

int yett_relay_new(struct yett_sandbox *sandbox, struct yett_relay **ret_relay,
                   struct yett_error *error)
{
	struct yett_relay *relay = calloc(1, sizeof *relay);

	if (!relay)
		return relay_no_memory(error);
	relay->sandbox = sandbox;
	relay->events = epoll_create1(EPOLL_CLOEXEC);
	relay->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (relay->events < 0 || relay->spare < 0) {
		int r = failure_set(error, YETT_E_RESOURCE_LIMIT, NULL,
		                    "no descriptor for a relay: %m");

		yett_relay_close(relay);
		return r;
	}
	*ret_relay = relay;
	return 0;
}

/*
 * Asks the helper whether the policy allows this relay: to the Unix socket `path` of the host, or
 * (path NULL) from `address` and `port` of the host. Port 0: the kernel chooses.
 */
static int ask_policy(struct yett_sandbox *of, const char *path, const struct net_address *address,
                      uint16_t port, struct yett_error *error)
{
	_cleanup_(sandbox_freep) struct yett_sandbox *request = sandbox_new(CONNECTION_ALLOWED);
	struct message_relay *relay;
	int r;

	if (!request)
		return relay_no_memory(error);
	if (!of->request.connection)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the connection that the sandbox was asked for on is closed");
	CONNECTION_LOCKED(of->request.connection);
	if (of->request.connection->channel->failure.code) {
		if (error)
			*error = of->request.connection->channel->failure;
		return (int)of->request.connection->channel->failure.code;
	}
	relay = &channel_prepare(of->request.connection->channel, MESSAGE_RELAY)->body.relay;
	r = channel_put_text(of->request.connection->channel, of->info.profile, MESSAGE_NAME_MAX,
	                     "the profile", &relay->profile, error);
	if (r == 0)
		r = channel_put_text(of->request.connection->channel, path, MESSAGE_PATH_MAX,
		                     "the path of the socket", &relay->socket, error);
	memcpy(relay->address, address->bytes, sizeof relay->address);
	relay->port = port;
	if (r == 0)
		r = sandbox_request(of->request.connection, NULL, 0, request, error);
	if (r == 0)
		sandbox_forget(request);
	return r;
}

/* Takes ownership of `fd` and `path`, also on failure. */
static int add_listener(struct yett_relay *relay, int fd, uint16_t port, char *path,
                        struct yett_error *error)
{
	struct listener *listener = malloc(sizeof *listener);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = listener};

	if (!listener || epoll_ctl(relay->events, EPOLL_CTL_ADD, fd, &event) < 0) {
		free(listener);
		free(path);
		fd_close(fd);
		return relay_no_memory(error);
	}
	*listener =
		(struct listener){.next = relay->listeners, .fd = fd, .port = port, .path = path};
	relay->listeners = listener;
	return 0;
}

/* Fills in an IPv4 or IPv6 socket address. Returns its length. */
static socklen_t make_address(const struct net_address *address, uint16_t port,
                              struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	*out = (struct sockaddr_storage){0};
	if (net_address_is_v4(address)) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, address->bytes + 12, sizeof v4->sin_addr);
		return sizeof *v4;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, address->bytes, sizeof v6->sin6_addr);
	return sizeof *v6;
}

static int listen_outside(const struct net_address *address, uint16_t port, int *ret_fd,
                          uint16_t *ret_port, struct yett_error *error)
{
	struct sockaddr_storage name;
	socklen_t length = make_address(address, port, &name);
	_cleanup_fd_ int fd = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	char text[NET_ADDRESS_TEXT_SIZE];

	(void)net_address_print(address, text);
	/*
	 * SO_REUSEADDR lets bind(2) succeed while old connections of the port are in TIME_WAIT. It
	 * does not take a port at which another socket listens. socket(7)
	 */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    (name.ss_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
	    bind(fd, (const struct sockaddr *)&name, length) < 0 || listen(fd, BACKLOG) < 0) {
		if (errno == EADDRINUSE)
			return failure_set(error, YETT_E_INVALID_REQUEST, NULL,
			                   "port %u of %s is taken by another program", port, text);
		if (errno == EADDRNOTAVAIL)
			return failure_set(error, YETT_E_INVALID_REQUEST, NULL,
			                   "this host has no address %s", text);
		return failure_set(error, YETT_E_INVALID_REQUEST, NULL,
		                   "cannot listen at port %u of %s: %m", port, text);
	}
	if (getsockname(fd, (struct sockaddr *)&name, &length) < 0)
		return failure_set(error, YETT_E_INVALID_REQUEST, NULL, "cannot tell the port: %m");
	*ret_port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
	                                             : ((struct sockaddr_in *)&name)->sin_port);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int yett_relay_publish(struct yett_relay *relay, const char *address, uint16_t host_port,
                       uint16_t port, uint16_t *ret_host_port, struct yett_error *error)
{
	struct net_address parsed;
	uint16_t chosen;
	int fd, r;

	if (net_address_parse(address ? address : "127.0.0.1", &parsed) < 0)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"%.60s is not an IPv4 or IPv6 address, such as 127.0.0.1 or 2001:db8::1",
			address);
	if (port == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "0 is no port of a sandbox");
	if (host_port > 0 && host_port < PRIVILEGED_END) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                "port %u is privileged: it is for services of the host", host_port);
		error_mend(error, "a port from %d on, or 0, which lets the kernel choose",
		           PRIVILEGED_END);
		return YETT_E_INVALID_REQUEST;
	}
	r = ask_policy(relay->sandbox, NULL, &parsed, host_port, error);
	if (r == 0)
		r = listen_outside(&parsed, host_port, &fd, &chosen, error);
	if (r == 0)
		r = add_listener(relay, fd, port, NULL, error);
	if (r == 0 && ret_host_port)
		*ret_host_port = chosen;
	return r;
}

int yett_relay_socket(struct yett_relay *relay, const char *path, const char *target,
                      struct yett_error *error)
{
	const struct net_address none = {0};
	/* the policy names sockets by their real paths */
	char *real = path ? realpath(path, NULL) : NULL;
	struct stat st;
	int fd, r = 0;

	if (!real)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot find the socket %.150s: %m", path ? path : "");
	if (stat(real, &st) < 0 || !S_ISSOCK(st.st_mode))
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_WRONG_TYPE,
		              "%.150s is no socket", path);
	if (r == 0 && strlen(real) >= sizeof((struct sockaddr_un *)0)->sun_path)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		              "no socket is reached by so long a path: %.150s", real);
	if (r == 0)
		r = ask_policy(relay->sandbox, real, &none, 0, error);
	if (r == 0)
		r = yett_socket_listen(relay->sandbox, target ? target : path, 0600, &fd, error);
	if (r) {
		free(real);
		return r;
	}
	return add_listener(relay, fd, 0, real, error);
}

int yett_relay_fd(const struct yett_relay *relay)
{
	return relay->events;
}

/*
 * Registers the events that the pair wants with epoll(7). A socket without wanted events is
 * removed: epoll(7) always reports EPOLLHUP and EPOLLERR, so its end would wake us again and again.
 */
static int relay_watch(struct yett_relay *relay, struct relayed *one)
{
	for (int i = 0; i < 2; i++) {
		struct side *side = &one->sides[i];
		struct epoll_event event = {.events = pair_wants(&one->pair, i), .data.ptr = side};
		int what = !event.events     ? EPOLL_CTL_DEL
		           : side->waits_for ? EPOLL_CTL_MOD
		                             : EPOLL_CTL_ADD;

		if (event.events == side->waits_for)
			continue;
		if (epoll_ctl(relay->events, what, one->pair.sockets[i], &event) < 0)
			return -errno;
		side->waits_for = event.events;
	}
	return 0;
}

/*
 * Ends a connection. relay_sweep() frees it later: events that epoll_wait(2) has already returned
 * may still point to it.
 */
static void relay_end(struct yett_relay *relay, struct relayed *one, bool is_broken)
{
	if (one->is_over)
		return;
	/*
	 * Another process may hold the same sockets. close(2) alone would leave them registered,
	 * and epoll(7) would report them further.
	 */
	for (int i = 0; i < 2; i++)
		if (one->sides[i].waits_for)
			(void)epoll_ctl(relay->events, EPOLL_CTL_DEL, one->pair.sockets[i], NULL);
	pair_end(&one->pair, is_broken);
	one->is_over = true;
	relay->count--;
}

static void relay_sweep(struct yett_relay *relay)
{
	for (struct relayed **at = &relay->relayed; *at;) {
		struct relayed *one = *at;

		if (!one->is_over) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

static void relay_prepare(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* fails on a Unix socket */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
}

/* Takes ownership of both descriptors. */
static void relay_join(struct yett_relay *relay, int from, int to, uint16_t port)
{
	struct relayed *one = calloc(1, sizeof *one);

	if (!one) {
		pair_close(from, true);
		pair_close(to, true);
		return;
	}
	relay_prepare(from);
	relay_prepare(to);
	one->pair.sockets[0] = from;
	one->pair.sockets[1] = to;
	one->pair.is_connecting = port != 0;
	one->port = port;
	for (int i = 0; i < 2; i++)
		one->sides[i] = (struct side){.source = {SOURCE_SIDE}, .of = one, .index = i};
	one->next = relay->relayed;
	relay->relayed = one;
	relay->count++;
	if (relay_watch(relay, one) < 0)
		relay_end(relay, one, true);
}

/*
 * Connects to a Unix socket of the host as the user: the listener sees the credentials of the user.
 * Returns -1 on failure.
 */
static int connect_outside(const char *path)
{
	/*
	 * The path that the policy allowed has no symbolic link. If its directory is shared, a
	 * sandbox may have put a link there since. openat2(2)
	 */
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
	                             .resolve = RESOLVE_NO_SYMLINKS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int there = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (there < 0 || fstat(there, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	(void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", there);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return -1;
	return steal_fd(&fd);
}

/*
 * Accepts the next connection. Returns -1 if there is none. A process inside can hold the same
 * listening socket, clear O_NONBLOCK and accept the connection first, so that accept4(2) would
 * block here. So O_NONBLOCK is set again before each call. At the limit of descriptors, `spare` is
 * closed, so that the connection can be accepted and reset.
 */
static int accept_next(struct yett_relay *relay, const struct listener *listener)
{
	int fd;

	(void)fcntl(listener->fd, F_SETFL, O_RDWR | O_NONBLOCK);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		return fd;
	/* The listener is of no more use. For example, a process inside has shut it down. */
	if (errno == EINVAL || errno == EBADF || errno == ENOTSOCK || errno == EOPNOTSUPP) {
		(void)epoll_ctl(relay->events, EPOLL_CTL_DEL, listener->fd, NULL);
		return -1;
	}
	/* Any other error is of this one connection, or passes. accept(2) */
	if (errno != EMFILE && errno != ENFILE)
		return -1;
	relay->spare = fd_close(relay->spare);
	pair_close(accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), true);
	relay->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return -1;
}

static int ask_init(struct yett_relay *relay, uint16_t port, bool is_v6, int *ret_fd)
{
	int r = relay->is_silent ? YETT_E_TIMEOUT
	                         : query_connect(relay->sandbox, port, is_v6, ret_fd, NULL);

	relay->is_silent = r == YETT_E_TIMEOUT;
	return r;
}

/*
 * Connects to the destination of a listener. Returns 0 or a code; YETT_E_TIMEOUT: init does not
 * answer.
 */
static int relay_connect_to(struct yett_relay *relay, const struct listener *listener, int *ret_fd)
{
	if (relay->count >= YETT_RELAY_CONNECTIONS_MAX)
		return YETT_E_RESOURCE_LIMIT;
	if (listener->port)
		return ask_init(relay, listener->port, false, ret_fd);
	*ret_fd = connect_outside(listener->path);
	return *ret_fd < 0 ? YETT_E_NOT_RUNNING : 0;
}

static void accept_all(struct yett_relay *relay, const struct listener *listener)
{
	int r = 0;

	for (int i = 0, fd;
	     i < ACCEPTS && r != YETT_E_TIMEOUT && (fd = accept_next(relay, listener)) >= 0; i++) {
		int to = -1;

		r = relay_connect_to(relay, listener, &to);
		if (r)
			pair_close(fd, true);
		else
			relay_join(relay, fd, to, listener->port);
	}
}

/*
 * Handles the outcome of a connect to a port. If 127.0.0.1 refuses the connection, tries ::1.
 * Returns 0 or -errno.
 */
static int take_connected(struct yett_relay *relay, struct relayed *one)
{
	int result = 0, fd;
	socklen_t size = sizeof result;

	if (getsockopt(one->pair.sockets[1], SOL_SOCKET, SO_ERROR, &result, &size) < 0)
		return -errno;
	if (result == ECONNREFUSED && !one->is_v6 && ask_init(relay, one->port, true, &fd) == 0) {
		(void)epoll_ctl(relay->events, EPOLL_CTL_DEL, one->pair.sockets[1], NULL);
		pair_close(one->pair.sockets[1], true);
		relay_prepare(fd);
		one->pair.sockets[1] = fd;
		one->sides[1].waits_for = 0;
		one->is_v6 = true;
		return 0;
	}
	one->pair.is_connecting = result != 0;
	return -result;
}

static void relay_serve(struct yett_relay *relay, struct side *side)
{
	struct relayed *one = side->of;
	int r;

	if (one->is_over)
		return;
	r = one->pair.is_connecting ? take_connected(relay, one)
	                            : pair_move(&one->pair, side->index, relay->buffer);
	if (r == 0 && !pair_is_done(&one->pair))
		r = relay_watch(relay, one);
	if (r < 0 || pair_is_done(&one->pair))
		relay_end(relay, one, r < 0);
}

void yett_relay_dispatch(struct yett_relay *relay)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(relay->events, events, EVENTS, 0);

	relay->is_silent = false;
	for (int i = 0; i < count; i++) {
		struct source *source = events[i].data.ptr;

		if (source->kind == SOURCE_LISTENER)
			accept_all(relay, (struct listener *)source);
		else
			relay_serve(relay, (struct side *)source);
	}
	relay_sweep(relay);
}

void yett_relay_close(struct yett_relay *relay)
{
	struct listener *next;

	if (!relay)
		return;
	for (struct relayed *one = relay->relayed; one; one = one->next)
		relay_end(relay, one, true);
	relay_sweep(relay);
	for (struct listener *listener = relay->listeners; listener; listener = next) {
		next = listener->next;
		pair_close(listener->fd, false);
		free(listener->path);
		free(listener);
	}
	fd_close(relay->events);
	fd_close(relay->spare);
	free(relay);
}
