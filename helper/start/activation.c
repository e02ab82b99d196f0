/* See activation.h. */
#include "helper/start/activation.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#define LISTEN_FDS_START 3

int activation_option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -errno : value;
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
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "one socket is expected, not %s", count);
	if (activation_option(fd, SO_DOMAIN) != AF_UNIX || activation_option(fd, SO_TYPE) != SOCK_SEQPACKET)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the socket handed over is no AF_UNIX SOCK_SEQPACKET socket");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret_activation = activation_option(fd, SO_ACCEPTCONN) == 1 ? ACTIVATION_LISTENING : ACTIVATION_CONNECTED;
	*ret_fd = fd;
	return 0;
}
