/* SPDX-License-Identifier: Apache-2.0 */
/* See activation.h. */
#include "helper/start/activation.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LISTEN_FDS_START 3

/* Returns an integer option of SOL_SOCKET, which describes a socket, or -errno. socket(7) */
static int activation_option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -errno : value;
}

static bool is_packet_socket(int fd)
{
	return activation_option(fd, SO_DOMAIN) == AF_UNIX &&
	       activation_option(fd, SO_TYPE) == SOCK_SEQPACKET;
}

int activation_listen(const char *path, int *ret_fd, struct yett_error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct sockaddr *to = (const struct sockaddr *)&address;
	struct stat st;

	if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
	    sizeof address.sun_path)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the path of the socket is too long: %s", path);
	*ret_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/*
	 * The file at this path may be the socket of a listener that has ended. connect(2) refuses
	 * a file that is no socket, too, so check the type before removing it.
	 */
	if (connect(*ret_fd, to, sizeof address) < 0 && errno == ECONNREFUSED &&
	    lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	if (bind(*ret_fd, to, sizeof address) < 0 || chmod(path, 0666) < 0 ||
	    listen(*ret_fd, SOMAXCONN) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "cannot listen at %s: %s", path,
		                 strerror(errno));
	return 0;
}

int activation_receive(enum activation *ret_activation, int *ret_fd, struct yett_error *error)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int fd = LISTEN_FDS_START;

	*ret_activation = ACTIVATION_NONE;
	*ret_fd = -1;
	if (!pid || !count || atoi(pid) != getpid())
		return 0;
	if (strcmp(count, "1") != 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "one socket is expected, not %s",
		                 count);
	if (!is_packet_socket(fd))
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the socket handed over is no AF_UNIX SOCK_SEQPACKET socket");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret_activation = activation_option(fd, SO_ACCEPTCONN) == 1 ? ACTIVATION_LISTENING
	                                                            : ACTIVATION_CONNECTED;
	*ret_fd = fd;
	return 0;
}

bool activation_is_pair(int fd)
{
	/* A longer name is cut, but its length is returned whole. */
	struct sockaddr name;
	socklen_t own = sizeof name, peers = own;

	return is_packet_socket(fd) && activation_option(fd, SO_ACCEPTCONN) == 0 &&
	       getsockname(fd, &name, &own) == 0 && getpeername(fd, &name, &peers) == 0 &&
	       own == sizeof(sa_family_t) && peers == own;
}
