/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: sockets of other kinds than a program needs, and ways out that nobody listens on.
 */
#include "tests/hostile/attack.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int family(long number)
{
	int types[] = {SOCK_RAW, SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET}, r = -EAFNOSUPPORT;

	/* whichever type and protocol the family has: PF_KEY knows one protocol, PF_KEY_V2, which
	 * has the number 2 */
	for (size_t i = 0; i < ARRAY_SIZE(types) && r != 0; i++)
		r = result_of(
			socket((int)number, types[i] | SOCK_CLOEXEC, number == AF_KEY ? 2 : 0));
	return r;
}

static int netlink(long protocol)
{
	return result_of(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, (int)protocol));
}

static int helper_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	strncpy(address.sun_path, given("ATTACK_HELPER"), sizeof address.sun_path - 1);
	return result_of(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

/* TEST-NET-1, RFC 5737: nobody is there, but a host with a route would send. */
static int route_out(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno
	              : result_of(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

const struct attack attack_sockets[] = {
#define ROW(text, function, value)                                            \
	{                                                                     \
		text, ATTACK_COMMAND, .run_with = function, .argument = value \
	}
	ROW("vsock-socket", family, AF_VSOCK),
	ROW("key-socket", family, AF_KEY),
	ROW("xdp-socket", family, AF_XDP),
	ROW("can-socket", family, AF_CAN),
	ROW("bluetooth-socket", family, AF_BLUETOOTH),
	ROW("tipc-socket", family, AF_TIPC),
	ROW("rds-socket", family, AF_RDS),
	ROW("x25-socket", family, AF_X25),
	ROW("appletalk-socket", family, AF_APPLETALK),
	ROW("netlink-generic", netlink, NETLINK_GENERIC),
	ROW("netlink-xfrm", netlink, NETLINK_XFRM),
	ROW("netlink-uevent", netlink, NETLINK_KOBJECT_UEVENT),
	{"helper-socket", ATTACK_COMMAND, .run = helper_socket},
	{"route-out", ATTACK_COMMAND, .run = route_out},
	{0},
};
