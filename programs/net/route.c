/* SPDX-License-Identifier: Apache-2.0 */
/* See route.h. No privilege. */
#include "programs/net/route.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_SIZE 1024
#define V4_AT       12 /* start of the IPv4 address in its mapped form, see net_address.h */

struct question {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr destination;
	uint8_t address[16];
};

int route_open(void)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return netlink < 0 ? -errno : netlink;
}

static int route_send_question(int netlink, const struct net_address *address)
{
	bool is_v4 = net_address_is_v4(address);
	uint8_t size = is_v4 ? 4 : 16;
	struct question question = {
		.header = {.nlmsg_type = RTM_GETROUTE,
	                   .nlmsg_flags = NLM_F_REQUEST,
	                   .nlmsg_seq = 1},
		.route = {.rtm_family = is_v4 ? AF_INET : AF_INET6,
	                  .rtm_dst_len = (uint8_t)(size * 8)},
		.destination = {.rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(size)},
	};

	memcpy(question.address, address->bytes + (is_v4 ? V4_AT : 0), size);
	question.header.nlmsg_len = (uint32_t)offsetof(struct question, address) + size;
	return send(netlink, &question, question.header.nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0
	               ? -errno
	               : 0;
}

static int read_type(uint8_t type, enum route *ret_route)
{
	switch (type) {
	case RTN_UNICAST:
		*ret_route = ROUTE_OUT;
		return 0;
	case RTN_LOCAL:
		*ret_route = ROUTE_LOCAL;
		return 0;
	case RTN_BROADCAST:
	case RTN_ANYCAST:
	case RTN_MULTICAST:
		*ret_route = ROUTE_GROUP;
		return 0;
	default: /* blackhole, unreachable, prohibit, throw, and unknown types */
		return -EHOSTUNREACH;
	}
}

int route_ask(int netlink, const struct net_address *address, enum route *ret_route)
{
	union {
		struct nlmsghdr header;
		uint8_t bytes[ANSWER_SIZE];
	} answer;
	ssize_t n;
	int r = route_send_question(netlink, address);

	if (r < 0)
		return r;
	n = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if ((size_t)n >= NLMSG_LENGTH(sizeof(struct nlmsgerr)) &&
	    answer.header.nlmsg_type == NLMSG_ERROR) {
		r = ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
		return r < 0 ? r : -EIO;
	}
	if ((size_t)n < NLMSG_LENGTH(sizeof(struct rtmsg)) ||
	    answer.header.nlmsg_type != RTM_NEWROUTE)
		return -EIO;
	return read_type(((const struct rtmsg *)NLMSG_DATA(&answer.header))->rtm_type, ret_route);
}
