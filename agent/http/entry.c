/* SPDX-License-Identifier: Apache-2.0 */
/* See entry.h. */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <fcntl.h>

#include "agent/http/entry.h"

#include "base/failure.h"

/* If the backlog of a Unix socket is full, a non-blocking connect(2) fails with EAGAIN. */
#define BACKLOG 1024

static int http_entry_fail(struct yett_error *error, int error_number, const char *what,
                           const char *path)
{
	errno = error_number;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "%s %s: %m", what, path);
}

static int http_entry_add(struct entry *entry, int fd, struct yett_error *error)
{
	if (entry->count == ENTRY_MAX) {
		(void)fd_close(fd);
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "cannot listen on more than %d sockets", ENTRY_MAX);
	}
	entry->fds[entry->count++] = fd;
	return 0;
}

int entry_take(struct entry *entry, struct yett_error *error)
{
	int count = sd_listen_fds(1), r;

	if (count < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the sockets of the service manager: %s", strerror(-count));
	for (int i = 0; i < count; i++) {
		int fd = SD_LISTEN_FDS_START + i;

		if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
			return error_set(
				error, YETT_E_INVALID_REQUEST, 0,
				"descriptor %d of the service manager is not a listening Unix stream socket; for TCP use --port",
				fd);
		if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
			return http_entry_fail(error, errno, "cannot listen on",
			                       "a socket of the service manager");
		if ((r = http_entry_add(entry, fd, error)) != 0)
			return r;
	}
	entry->is_activated = count > 0;
	return 0;
}

/* Creates only the last directory: $XDG_RUNTIME_DIR itself must exist. */
static void http_entry_make_directory(const char *path)
{
	_cleanup_free_ char *directory = strdup(path);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (slash && slash != directory) {
		*slash = '\0';
		/* On failure, the next use of the path reports the error. */
		(void)mkdir(directory, 0700);
	}
}

/* Removes a socket that a dead server left. Returns whether `address` is free now. */
static bool http_entry_clear(const struct sockaddr_un *address)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat found;

	if (lstat(address->sun_path, &found) < 0)
		return errno == ENOENT;
	if (!S_ISSOCK(found.st_mode) || found.st_uid != getuid() || fd < 0)
		return false;
	return connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
	       errno == ECONNREFUSED && unlink(address->sun_path) == 0;
}

int entry_listen(struct entry *entry, const char *path, struct yett_error *error)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof address.sun_path)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the path of the socket is longer than %zu bytes: %s",
		                 sizeof address.sun_path - 1, path);
	(void)strcpy(address.sun_path, path);
	http_entry_make_directory(path);
	if (!http_entry_clear(&address))
		return error_set(
			error, YETT_E_ALREADY_EXISTS, 0,
			"%s exists: it is in use, or is not a socket that an ended server of yours left; remove it, or choose another path",
			path);
	mask = umask(0177);
	r = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
	(void)umask(mask);
	if (r == 0 && (lstat(path, &entry->socket_file) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0)
		return http_entry_fail(error, -r, "cannot listen on", path);
	entry->socket_path = strdup(path);
	return http_entry_add(entry, steal_fd(&fd), error);
}

int entry_listen_tcp(struct entry *entry, uint16_t port, struct yett_error *error)
{
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;

	/* Without SO_REUSEADDR, only an immediate restart fails. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return failure_set(error, YETT_E_INVALID_REQUEST, NULL,
		                   "cannot listen on port %u of 127.0.0.1: %m", port);
	entry->port = ntohs(address.sin_port);
	return http_entry_add(entry, steal_fd(&fd), error);
}

int entry_write_token(struct entry *entry, const char *path, const char *token,
                      struct yett_error *error)
{
	_cleanup_free_ char *making = NULL;
	_cleanup_fd_ int fd = -1;

	http_entry_make_directory(path);
	if (asprintf(&making, "%s.%d", path, (int)getpid()) < 0) {
		making = NULL;
		return error_set(error, YETT_E_OUT_OF_MEMORY, 0, "no memory for the token's file");
	}
	(void)unlink(making);
	if ((fd = open(making, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		return http_entry_fail(error, errno, "the token cannot be written to", path);
	if (dprintf(fd, "%s\n", token) < 0 || fstat(fd, &entry->token_file) < 0 ||
	    rename(making, path) < 0) {
		int saved = errno;

		(void)unlink(making);
		return http_entry_fail(error, saved, "the token cannot be written to", path);
	}
	entry->token_path = strdup(path);
	return 0;
}

char *entry_runtime_path(const char *name, struct yett_error *error)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char *path;

	if (!runtime || *runtime != '/') {
		(void)error_set(error, YETT_E_INVALID_REQUEST, 0,
		                "XDG_RUNTIME_DIR is not set, so that there is no place for %s",
		                name);
		return NULL;
	}
	if (asprintf(&path, "%s/yett/%s", runtime, name) < 0) {
		(void)error_set(error, YETT_E_OUT_OF_MEMORY, 0, "no memory for a path");
		return NULL;
	}
	return path;
}

/*
 * Finds the uid that owns the TCP socket connected from `from` to `to`. A socket that its process
 * has closed has no owner; the kernel reports inode 0 for it.
 */
static int http_entry_find_owner(const struct sockaddr_in *from, const struct sockaddr_in *to,
                                 uid_t *ret_uid)
{
	_cleanup_fd_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 wanted;
	} request = {
		.head = {.nlmsg_len = sizeof request,
	                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
	                 .nlmsg_flags = NLM_F_REQUEST},
		.wanted = {.sdiag_family = AF_INET,
	                   .sdiag_protocol = IPPROTO_TCP,
	                   .idiag_states = UINT32_MAX,
	                   .id = {.idiag_sport = from->sin_port,
	                          .idiag_dport = to->sin_port,
	                          .idiag_src = {from->sin_addr.s_addr},
	                          .idiag_dst = {to->sin_addr.s_addr},
	                          .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg found;
		uint8_t more[1024];
	} answer;
	ssize_t length;

	if (fd < 0 || send(fd, &request, sizeof request, 0) < 0 ||
	    (length = recv(fd, &answer, sizeof answer, 0)) < 0)
		return -errno;
	if ((size_t)length < offsetof(__typeof__(answer), more) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || answer.found.idiag_inode == 0)
		return -ENOENT;
	*ret_uid = answer.found.idiag_uid;
	return 0;
}

int entry_peer(int fd, bool *ret_is_tcp, uid_t *ret_uid)
{
	struct sockaddr_in own, peer;
	socklen_t length = sizeof(int), own_length = sizeof own, peer_length = sizeof peer;
	struct ucred credentials;
	int domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0)
		return -errno;
	*ret_is_tcp = domain != AF_UNIX;
	if (domain == AF_UNIX) {
		length = sizeof credentials;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
			return -errno;
		*ret_uid = credentials.uid;
		return 0;
	}
	if (getsockname(fd, (struct sockaddr *)&own, &own_length) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_length) < 0)
		return -errno;
	return http_entry_find_owner(&peer, &own, ret_uid);
}

void entry_close(struct entry *entry)
{
	struct stat found;

	for (size_t i = 0; i < entry->count; i++)
		(void)fd_close(entry->fds[i]);
	if (entry->socket_path && lstat(entry->socket_path, &found) == 0 &&
	    fd_same_file(&found, &entry->socket_file))
		(void)unlink(entry->socket_path);
	if (entry->token_path && lstat(entry->token_path, &found) == 0 &&
	    fd_same_file(&found, &entry->token_file))
		(void)unlink(entry->token_path);
	free(entry->socket_path);
	free(entry->token_path);
	*entry = (struct entry){0};
}
