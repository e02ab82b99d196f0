/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's network, from inside: see build.h. Sets an address on lo, and routes that make
 * every other address a local one, so that each connection arrives at the process that serves the
 * network (programs/net/). Uses rtnetlink(7), with CAP_NET_ADMIN in the sandbox's network
 * namespace.
 */
#include "base/kernel.h"
#include "base/rtnetlink.h"
#include "programs/net/egress.h"
#include "programs/inside/init/build/build.h"

#include <linux/if_addr.h>
#include <sys/socket.h>

/*
 * Adds the sandbox's own address of a family, and a route for everything with that source address.
 * With `by_port`, ports_serve() makes another route instead.
 */
static int add_family(int fd, uint8_t family, const struct net_address *own, bool by_port)
{
	const uint8_t *bytes = family == AF_INET ? own->bytes + 12 : own->bytes;
	const uint8_t size = family == AF_INET ? 4 : 16;
	const uint32_t lo = RTNETLINK_LO;
	struct rtnetlink_ask address = {.header.nlmsg_len =
	                                        NLMSG_LENGTH(sizeof address.body.address),
	                                .body.address = {.ifa_family = family,
	                                                 .ifa_prefixlen = (uint8_t)(8 * size),
	                                                 .ifa_flags = IFA_F_NODAD,
	                                                 .ifa_scope = RT_SCOPE_UNIVERSE,
	                                                 .ifa_index = RTNETLINK_LO}};
	/*
	 * In the kernel's local table, which the kernel also consults to validate source addresses
	 * of answers.
	 */
	struct rtnetlink_ask route = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof route.body.route),
		.body.route = {.rtm_family = family,
	                       .rtm_table = RT_TABLE_LOCAL,
	                       .rtm_protocol = RTPROT_BOOT,
	                       .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
	                       .rtm_type = RTN_LOCAL}};
	int r;

	rtnetlink_add(&address, IFA_LOCAL, bytes, size);
	r = rtnetlink_send(fd, &address, RTM_NEWADDR);
	rtnetlink_add(&route, RTA_OIF, &lo, sizeof lo);
	rtnetlink_add(&route, RTA_PREFSRC, bytes, size);
	return r == 0 && !by_port ? rtnetlink_send(fd, &route, RTM_NEWROUTE) : r;
}

/*
 * Minimum, initial and maximum buffer size of a TCP connection, in bytes. Every connection here is
 * on lo, where a window of 1 MiB delays nobody. A sender may exceed its limit by one segment, which
 * is up to half a window; where cgroups are of version 1, that may exceed the sandbox's memory
 * limit as well. tcp(7)
 */
#define TCP_ROOM "4096 16384 1048576"

int network_prepare(struct build *b, const struct plan_step *step)
{
	static const char *const settings[][2] = {
		{"sys/net/ipv4/tcp_congestion_control", "reno"},
		{"sys/net/ipv4/tcp_rmem", TCP_ROOM},
		{"sys/net/ipv4/tcp_wmem", TCP_ROOM},
	};

	(void)step;
	for (size_t i = 0; b->owns_network && i < ARRAY_SIZE(settings); i++)
		(void)kernel_write_file(b->proc, settings[i][0], settings[i][1]);
	return 0;
}

int network_make(struct build *b, const struct plan_step *step)
{
	static const struct {
		uint8_t family;
		const char *own;
	} families[] = {{AF_INET, EGRESS_OWN_V4}, {AF_INET6, EGRESS_OWN_V6}};
	_cleanup_fd_ int fd = -1;
	int r = 0;

	(void)step;
	if (!plan_network_has_rules(b->plan->network))
		return 0;
	fd = rtnetlink_open();
	if (fd < 0)
		return fd;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
		struct net_address own;

		r = net_address_parse(families[i].own, &own);
		if (r == 0)
			r = add_family(fd, families[i].family, &own, b->order.by_port);
		/* On a host without IPv6 the sandbox has none either. */
		if (families[i].family == AF_INET6 &&
		    (r == -EOPNOTSUPP || r == -EAFNOSUPPORT || r == -EACCES))
			r = 0;
	}
	return r;
}
