/* See attack.h: sockets of other kinds than a program needs, and those that listen outside. */
#include "tests/hostile/attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static int family(long number)
{
	int types[] = {SOCK_RAW, SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET}, r = -EAFNOSUPPORT;

	/* whichever type and protocol the family has: PF_KEY knows one protocol, PF_KEY_V2, which has the number 2 */
	for (size_t i = 0; i < ARRAY_SIZE(types) && r != 0; i++)
		r = attack_result(socket((int)number, types[i] | SOCK_CLOEXEC, number == AF_KEY ? 2 : 0));
	return r;
}

static int netlink(long protocol)
{
	return attack_result(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, (int)protocol));
}

static int raw(long protocol)
{
	return attack_result(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, (int)protocol));
}

static int connect_unix(const char *name, bool is_abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	strncpy(address.sun_path + is_abstract, name, sizeof address.sun_path - 2);
	return attack_result(connect(fd, (const struct sockaddr *)&address,
				     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name))));
}

static int abstract(long unused)
{
	(void)unused;
	return connect_unix(getenv("ATTACK_ABSTRACT"), true);
}

static int path_socket(long unused)
{
	(void)unused;
	return connect_unix(getenv("ATTACK_SOCKET"), false);
}

static int helper_socket(long unused)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)unused;
	if (fd < 0)
		return -errno;
	strncpy(address.sun_path, getenv("ATTACK_HELPER"), sizeof address.sun_path - 1);
	return attack_result(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

static int loopback(long type)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)strtoul(getenv("ATTACK_PORT"), NULL, 10)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, (int)type | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : attack_result(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

/* TEST-NET-1, RFC 5737: nobody is there, but a host with a route would send. */
static int route_out(long unused)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)unused;
	return fd < 0 ? -errno : attack_result(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

static int shared_memory(long unused)
{
	(void)unused;
	return attack_result(shmget((key_t)strtol(getenv("ATTACK_SHM"), NULL, 10), 0, 0));
}

static int queue(long unused)
{
	(void)unused;
	return attack_result(mq_open(getenv("ATTACK_QUEUE"), O_RDONLY | O_CLOEXEC));
}

const struct attack attack_sockets[] = {
	{"packet-socket", family, AF_PACKET},
	{"vsock-socket", family, AF_VSOCK},
	{"alg-socket", family, AF_ALG},
	{"key-socket", family, AF_KEY},
	{"xdp-socket", family, AF_XDP},
	{"can-socket", family, AF_CAN},
	{"bluetooth-socket", family, AF_BLUETOOTH},
	{"tipc-socket", family, AF_TIPC},
	{"rds-socket", family, AF_RDS},
	{"x25-socket", family, AF_X25},
	{"appletalk-socket", family, AF_APPLETALK},
	{"netlink-generic", netlink, NETLINK_GENERIC},
	{"netlink-netfilter", netlink, NETLINK_NETFILTER},
	{"netlink-xfrm", netlink, NETLINK_XFRM},
	{"netlink-uevent", netlink, NETLINK_KOBJECT_UEVENT},
	{"raw-socket", raw, IPPROTO_ICMP},
	{"abstract-socket", abstract, 0},
	{"path-socket", path_socket, 0},
	{"helper-socket", helper_socket, 0},
	{"loopback-tcp", loopback, SOCK_STREAM},
	{"route-out", route_out, 0},
	{"shared-memory", shared_memory, 0},
	{"message-queue", queue, 0},
	{0},
};
