/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox.h, and "sandbox" in yett.h: makes handles of sandboxes, and ends sandboxes. */
#include "libclient/discard.h"
#include "base/failure.h"
#include "libclient/sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define WHY_ENDED_TIMEOUT_MS 1000

void sandbox_free(struct yett_sandbox *sandbox)
{
	channel_free(sandbox->channel);
	fd_close(sandbox->request.fd);
	fd_close(sandbox->files_program);
	fd_close(sandbox->events);
	free(sandbox->directory);
	free(sandbox);
}

bool sandbox_is_channel(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
		return false;
	size = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX &&
	       type == SOCK_SEQPACKET;
}

int sandbox_take(struct yett_sandbox *sandbox, struct yett_sandbox **ret_sandbox,
                 struct yett_error *error)
{
	_cleanup_(sandbox_freep) struct yett_sandbox *owned = sandbox;
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (!sandbox_is_channel(sandbox->request.fd)) {
		sandbox_forget(sandbox);
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's descriptor is no exec channel");
	}
	sandbox->info = sandbox->request.info;
	sandbox->channel = channel_take(steal_fd(&sandbox->request.fd), "the sandbox");
	if (!sandbox->channel) {
		sandbox_forget(sandbox);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a sandbox");
	}
	sandbox->events = epoll_create1(EPOLL_CLOEXEC);
	if (sandbox->events < 0 ||
	    epoll_ctl(sandbox->events, EPOLL_CTL_ADD, sandbox->channel->fd, &event) < 0) {
		sandbox_forget(sandbox);
		return failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL,
		                   "cannot wait for a sandbox: %m");
	}
	r = query_send_directory(sandbox, error);
	if (r) {
		sandbox_forget(sandbox);
		return r;
	}
	*ret_sandbox = steal_ptr(&owned);
	return 0;
}

/*
 * Reads the umask from /proc. umask(2) returns it only by changing it, which affects all threads.
 */
static mode_t own_umask(void)
{
	static const char name[] = "\nUmask:\t";
	_cleanup_fd_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	const char *found;

	text[n > 0 ? n : 0] = '\0';
	found = strstr(text, name);
	return found ? (mode_t)strtoul(found + strlen(name), NULL, 8) & 0777 : 022;
}

struct yett_sandbox *sandbox_new(enum connection_wanted wanted)
{
	struct yett_sandbox *sandbox = calloc(1, sizeof *sandbox);

	if (sandbox) {
		sandbox->request = (struct connection_request){.wanted = wanted, .fd = -1};
		sandbox->files_program = sandbox->events = -1;
		sandbox->umask = own_umask();
	}
	return sandbox;
}

const struct yett_sandbox_info *yett_sandbox_get_info(const struct yett_sandbox *sandbox)
{
	return &sandbox->info;
}

/* Handles messages of the helper until this sandbox has ended or the deadline has passed. */
static int wait_ended(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	CONNECTION_LOCKED(sandbox->request.connection);
	int r = 0;

	while (r == 0 && sandbox->request.state != CONNECTION_ENDED)
		r = connection_step(sandbox->request.connection, deadline, error);
	return sandbox->request.state == CONNECTION_ENDED ? 0 : r;
}

enum yett_ended yett_sandbox_ended(struct yett_sandbox *sandbox)
{
	if (sandbox->request.connection)
		(void)wait_ended(sandbox, channel_deadline(0), NULL);
	return sandbox->request.ended;
}

int sandbox_why_ended(struct yett_sandbox *sandbox, struct yett_error *error)
{
	if (sandbox->request.connection)
		(void)wait_ended(sandbox, channel_deadline(WHY_ENDED_TIMEOUT_MS), NULL);
	switch (sandbox->request.ended) {
	case YETT_ENDED_OUT_OF_MEMORY:
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "the sandbox ended because its memory ran out");
	case YETT_ENDED_INIT_DIED:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the sandbox ended because its first process, init, died");
	case YETT_ENDED_DESTROYED:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the sandbox was destroyed");
	case YETT_ENDED_WALL_TIME:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the sandbox ended because its time was over");
	case YETT_ENDED_CPU_TIME:
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "the sandbox ended because its processor time was used");
	case YETT_ENDED_IDLE:
		return error_set(
			error, YETT_E_NOT_RUNNING, YETT_R_NONE,
			"the sandbox ended because no command ran in it for its idle time");
	case YETT_ENDED_HELPER:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the sandbox was ended by the helper");
	case YETT_ENDED_NOT:
	case YETT_ENDED_CLOSED:
		break;
	}
	return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox has ended");
}

int yett_sandbox_fd(const struct yett_sandbox *sandbox)
{
	return sandbox->events;
}

enum yett_state yett_sandbox_state(struct yett_sandbox *sandbox)
{
	/* This call also handles pending messages of the helper, which set sandbox_state. */
	if (yett_sandbox_ended(sandbox) != YETT_ENDED_NOT)
		return YETT_STATE_DESTROYED;
	return sandbox->request.sandbox_state;
}

bool sandbox_is_paused(struct yett_sandbox *sandbox)
{
	struct yett_connection *connection = sandbox->request.connection;
	bool is_paused;

	if (!connection || pthread_mutex_trylock(&connection->lock) != 0)
		return false;
	(void)!connection_look(connection, NULL);
	is_paused = sandbox->request.state == CONNECTION_ANSWERED &&
	            sandbox->request.sandbox_state == YETT_STATE_PAUSED;
	connection_unlock(&connection);
	return is_paused;
}

/* Closes the channel. Ends all operations and commands of the handle with `why`. */
static void sandbox_let_go(struct yett_sandbox *sandbox, const char *why)
{
	struct yett_error closed;

	(void)error_set(&closed, YETT_E_NOT_RUNNING, YETT_R_NONE, "%s", why);
	if (!sandbox->channel->failure.code)
		sandbox->channel->failure = closed;
	operation_fail_all(&sandbox->operations, &closed);
	command_fail_all(sandbox, &closed);
	for (struct yett_command *c = sandbox->commands, *next; c; c = next) {
		next = c->next;
		c->sandbox = NULL;
		c->next = NULL;
	}
	discard_socket(steal_fd(&sandbox->channel->fd));
}

/* Waits until the helper reports the end of the sandbox. */
static int confirm_end(struct yett_sandbox *sandbox, struct yett_error *error)
{
	/*
	 * An init that broke the protocol may ignore the end of file. Wait only briefly: the
	 * sandbox ends with the connection.
	 */
	bool is_broken = sandbox->channel->failure.code == YETT_E_PROTOCOL;
	int r = wait_ended(sandbox,
	                   channel_deadline(is_broken ? WHY_ENDED_TIMEOUT_MS
	                                              : sandbox->request.connection->timeout_ms),
	                   error);

	return r == -EAGAIN ? error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
	                                "the helper did not say that the sandbox ended")
	                    : r;
}

static void remove_handle(struct yett_sandbox *sandbox)
{
	if (sandbox->request.connection) {
		CONNECTION_LOCKED(sandbox->request.connection);
		sandbox_forget(sandbox);
	}
	sandbox_free(sandbox);
}

int yett_sandbox_end(struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = 0;

	if (!sandbox)
		return 0;
	if (sandbox->outlives && sandbox->request.ended == YETT_ENDED_CLOSED)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the connection of the sandbox is closed, so that only "
		                 "yett_sandbox_end_by_id() can end the sandbox");
	/* End of file on the channel ends a sandbox, unless `outlives` is set. */
	if (sandbox->outlives && sandbox->request.connection &&
	    yett_sandbox_ended(sandbox) == YETT_ENDED_NOT)
		r = manage_done(sandbox->request.connection, MANAGE_DESTROY, sandbox->info.id,
		                error);
	sandbox_let_go(sandbox, "the sandbox was ended before the command");
	/* YETT_E_NOT_FOUND: the sandbox has just ended by itself. */
	if (sandbox->request.connection && (r == 0 || r == YETT_E_NOT_FOUND))
		r = confirm_end(sandbox, error);
	return r;
}

void yett_sandbox_close(struct yett_sandbox *sandbox)
{
	if (!sandbox)
		return;
	sandbox_let_go(sandbox, "the sandbox was closed before the command ended");
	/* Otherwise the connection would keep the sandbox attached until the connection ends. */
	if (sandbox->outlives && sandbox->request.connection &&
	    yett_sandbox_ended(sandbox) == YETT_ENDED_NOT)
		manage_let_go(sandbox->request.connection, sandbox->info.id);
	remove_handle(sandbox);
}
