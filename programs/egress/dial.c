/* See dial.h. As the caller, without privilege. */
#include "programs/egress/dial.h"
#include "base/filter_head.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define V4_AT       12 /* net_address.h: the mapped form */
#define SOCKET_TYPE (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

union dial_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The one way from an address to where it connects. A mapped address is one of IPv4, and nothing
 * else. */
static socklen_t make_sockaddr(const struct net_address *address, uint16_t port,
                               union dial_sockaddr *ret_sockaddr)
{
	union dial_sockaddr made = {0};

	if (net_address_is_v4(address)) {
		made.v4.sin_family = AF_INET;
		made.v4.sin_port = htons(port);
		memcpy(&made.v4.sin_addr, address->bytes + V4_AT, sizeof made.v4.sin_addr);
	} else {
		made.v6.sin6_family = AF_INET6;
		made.v6.sin6_port = htons(port);
		memcpy(&made.v6.sin6_addr, address->bytes, sizeof made.v6.sin6_addr);
	}
	*ret_sockaddr = made;
	return net_address_is_v4(address) ? sizeof made.v4 : sizeof made.v6;
}

int dial_begin(const struct net_address *address, uint16_t port)
{
	union dial_sockaddr to;
	socklen_t length = make_sockaddr(address, port, &to);
	_cleanup_fd_ int fd = socket(to.any.sa_family, SOCKET_TYPE, IPPROTO_TCP);
	const int on = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) < 0)
		return -errno;
	if (connect(fd, &to.any, length) < 0 && errno != EINPROGRESS)
		return -errno;
	return steal_fd(&fd);
}

int dial_result(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info, error_size = sizeof(int);
	const union dial_sockaddr nowhere = {.v4 = {.sin_family = AF_INET}};
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 ||
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return -errno;
	if (error != 0)
		return -error;
	if (info.tcpi_state == DIAL_SYN_SENT || info.tcpi_state == DIAL_SYN_RECV)
		return -EINPROGRESS;
	if (info.tcpi_state == DIAL_CLOSE)
		return -ECONNRESET;
	/*
	 * Asked again, the kernel takes note that it is connected: a socket that is still
	 * "connecting", and is reset then, could be connected anew by whoever holds it
	 * (MSG_FASTOPEN). The address does not count.
	 */
	return connect(fd, &nowhere.any, sizeof nowhere.v4) < 0 && errno != EISCONN ? -errno : 0;
}

const struct sock_filter dial_checks[DIAL_CHECKS] = {
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 8),
	FILTER_LOAD_ARGUMENT(0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 4),
	FILTER_LOAD_ARGUMENT(1),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCKET_TYPE, 0, 2),
	FILTER_LOAD_ARGUMENT(2),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	FILTER_LOAD_NUMBER,
};
