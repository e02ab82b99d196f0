/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port listeners: accept the connections of a sandbox, one listener for each port, where BPF cannot
 * redirect them to a single place.
 *
 * Runs in the sandbox's upper user namespace with the building capabilities, and reads nothing from
 * a client. Makes a second network namespace that a veth pair joins to the sandbox's, and routes
 * everything that leaves the sandbox there. In the second namespace every address is local, as it
 * is inside. Its listeners take no port away from the sandbox's own servers, and no process of the
 * sandbox can bind there. veth(4)
 */
#include "base/net_listen.h"
#include "base/net_ports.h"
#include "base/rtnetlink.h"
#include "programs/net/ruleset.h"
#include "programs/inside/init/build/build.h"

#include <linux/if_link.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define WIRE "net0"
/*
 * The interface index in both namespaces. The index is high because loaded tunnel modules give
 * every namespace some interfaces with low indexes.
 */
#define WIRE_INDEX 1000
#define NEXT_V4    EGRESS_SERVER_V4
#define NEXT_V6    "fd79:6574:7400::2"

#define LISTENERS_MAX (PROXY_FD_END - PROXY_FD_TCP4)

_Static_assert(NET_PORTS_MAX == EGRESS_PORTS_MAX && PROXY_FD_TCP4 + NET_LISTEN_DNS == PROXY_FD_DNS,
               "what a front takes");
_Static_assert(EGRESS_LISTENERS_MAX <= MESSAGE_FDS_MAX, "so many come with a packet");

/* Both ends have no ARP and the same Ethernet address, so each accepts what the other one sends. */
static void add_end(struct rtnetlink_ask *ask)
{
	static const uint8_t ethernet[6] = {2, [5] = 1};

	rtnetlink_add(ask, IFLA_IFNAME, WIRE, sizeof WIRE);
	rtnetlink_add(ask, IFLA_ADDRESS, ethernet, sizeof ethernet);
}

/*
 * Makes a veth pair with one end here and one in the other network namespace. Deletes the pair of
 * an earlier port listener, which is not needed any more.
 */
static int make_wire(int netlink, int other)
{
	const struct ifinfomsg end = {
		.ifi_index = WIRE_INDEX, .ifi_flags = IFF_NOARP, .ifi_change = IFF_NOARP};
	struct rtnetlink_ask old = {.header.nlmsg_len = NLMSG_LENGTH(sizeof old.body.link)};
	struct rtnetlink_ask ask = {.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.link),
	                            .body.link = end};
	struct rtattr *info, *data, *peer;
	int r;

	rtnetlink_add(&old, IFLA_IFNAME, WIRE, sizeof WIRE);
	r = rtnetlink_send(netlink, &old, RTM_DELLINK);
	if (r < 0 && r != -ENODEV)
		return r;
	add_end(&ask);
	info = rtnetlink_add(&ask, IFLA_LINKINFO, NULL, 0);
	rtnetlink_add(&ask, IFLA_INFO_KIND, "veth", sizeof "veth");
	data = rtnetlink_add(&ask, IFLA_INFO_DATA, NULL, 0);
	peer = rtnetlink_add(&ask, VETH_INFO_PEER, &end, sizeof end);
	add_end(&ask);
	rtnetlink_add(&ask, IFLA_NET_NS_FD, &other, sizeof other);
	rtnetlink_end(&ask, peer);
	rtnetlink_end(&ask, data);
	rtnetlink_end(&ask, info);
	return rtnetlink_send(netlink, &ask, RTM_NEWLINK);
}

static int ports_start(int netlink, int index)
{
	struct rtnetlink_ask ask = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.link),
		.body.link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP}};

	return rtnetlink_send(netlink, &ask, RTM_NEWLINK);
}

/* A route to `to`: through the veth pair, or local (`is_local`). */
struct route {
	const char *to, *via; /* NULL: everything; no next hop */
	bool is_local;
};

static int add_route(int netlink, uint8_t family, const struct route *route)
{
	const uint8_t size = family == AF_INET ? 4 : 16;
	const int index = route->is_local ? RTNETLINK_LO : WIRE_INDEX;
	struct rtnetlink_ask ask = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.route),
		.body.route = {.rtm_family = family,
	                       /*
	                        * The local table is looked up first, and source addresses of
	                        * answers are validated with it.
	                        */
	                       .rtm_table = route->via ? RT_TABLE_MAIN : RT_TABLE_LOCAL,
	                       .rtm_protocol = RTPROT_BOOT,
	                       .rtm_scope = route->via || family == AF_INET6 ? RT_SCOPE_UNIVERSE
	                                    : route->is_local                ? RT_SCOPE_HOST
	                                                                     : RT_SCOPE_LINK,
	                       .rtm_type = route->is_local ? RTN_LOCAL : RTN_UNICAST,
	                       .rtm_dst_len = route->to ? (uint8_t)(8 * size) : 0,
	                       .rtm_flags = route->via ? RTNH_F_ONLINK : 0}};
	struct net_address address;

	for (int i = 0; i < 2; i++) {
		const char *text = i == 0 ? route->to : route->via;

		if (text && net_address_parse(text, &address) == 0)
			rtnetlink_add(&ask, i == 0 ? RTA_DST : RTA_GATEWAY,
			              address.bytes + sizeof address - size, size);
	}
	rtnetlink_add(&ask, RTA_OIF, &index, sizeof index);
	return rtnetlink_send(netlink, &ask, RTM_NEWROUTE);
}

/* Adds a route of each family. On a host without IPv6 the sandbox has none either. */
static int add_routes(int netlink, const struct route *v4, const struct route *v6)
{
	int r = add_route(netlink, AF_INET, v4), r6 = r == 0 ? add_route(netlink, AF_INET6, v6) : r;

	return r == 0 && (r6 == -EOPNOTSUPP || r6 == -EAFNOSUPPORT || r6 == -EACCES) ? 0 : r6;
}

static int start_inside(int netlink)
{
	/*
	 * There is only one next hop, and it needs no neighbour discovery. So destinations take no
	 * entries in the host's neighbour tables, which are small.
	 */
	static const struct route v4 = {NULL, NEXT_V4, false}, v6 = {NULL, NEXT_V6, false};
	/*
	 * init brings lo up too. Before lo is up no address is local, and the kernel accepts no
	 * next hop.
	 */
	int r = ports_start(netlink, RTNETLINK_LO);

	if (r == 0)
		r = ports_start(netlink, WIRE_INDEX);
	return r == 0 ? add_routes(netlink, &v4, &v6) : r;
}

static int start_beside(int netlink)
{
	static const struct route all = {NULL, NULL, true}, v4 = {EGRESS_OWN_V4, NULL, false},
				  v6 = {EGRESS_OWN_V6, NULL, false};
	int r = ports_start(netlink, RTNETLINK_LO);

	if (r == 0)
		r = ports_start(netlink, WIRE_INDEX);
	if (r == 0)
		r = add_routes(netlink, &all, &all);
	return r == 0 ? add_routes(netlink, &v4, &v6) : r;
}

/* Reports what is missing, and what makes it unnecessary. */
static int ports_refuse(struct build *b, const char *what, int r)
{
	(void)error_set(&b->error, YETT_E_UNSUPPORTED, 0, "without %s, a network takes %s: %s",
	                b->order.is_rootless ? "root" : "BPF", what, strerror(-r));
	error_detail(&b->error, "%s",
	             b->order.is_rootless ? "the service needs none of that (docs/admin.md)"
	                                  : "a service that may use bpf(2) needs none of that");
	return error_cause(&b->error, "network", -r);
}

static int ports_enter(struct build *b)
{
	_cleanup_fd_ int inside = rtnetlink_open(), beside = -1, namespace = -1;
	int r = inside < 0 ? inside : unshare(CLONE_NEWNET) < 0 ? -errno : 0;

	if (r == -ENOSPC)
		return ports_refuse(
			b,
			"a second network namespace; as root: sysctl user.max_net_namespaces=15000",
			r);
	beside = r == 0 ? rtnetlink_open() : r;
	namespace = beside < 0 ? beside : ioctl(beside, SIOCGSKNS);
	if (beside < 0 || namespace < 0)
		return beside < 0 ? beside : -errno;
	r = make_wire(inside, namespace);
	if (r < 0)
		return ports_refuse(
			b, "virtual interfaces of the kernel (veth); as root: modprobe veth", r);
	r = start_beside(beside);
	return r == 0 ? start_inside(inside) : r;
}

/* Never shares an address with another socket: SO_REUSEADDR and similar options are not set. */
static int open_listener(uint16_t port)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int off = 0;
	_cleanup_fd_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool is_v4 = fd < 0 && errno == EAFNOSUPPORT;

	if (is_v4)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || (!is_v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0))
		return -errno;
	/* The host's default may be an algorithm that waits between packets, such as bbr. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
	         is_v4 ? sizeof v4 : sizeof v6) < 0 ||
	    listen(fd, NET_LISTEN_BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

/*
 * Returns -EINVAL if the rules are about more ports than there can be listeners for; the decider
 * should have refused those.
 */
static int read_ports(int memory, struct net_ports *ret_ports)
{
	struct ruleset rules = {0};
	int r = ruleset_change(&rules, memory);

	if (r < 0)
		return r;
	r = 0;
	if (rules.memory->mode != EGRESS_LIMITED ||
	    net_ports_collect(ruleset_list(&rules), ret_ports))
		r = -EINVAL;
	ruleset_unmap(&rules);
	return r;
}

/* Sends the open listeners, each with its descriptor number; -1 entries are skipped. */
static int send_listeners(const int sockets[static LISTENERS_MAX])
{
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < LISTENERS_MAX;) {
		struct egress_listeners listeners = {0};
		int fds[EGRESS_LISTENERS_MAX];
		size_t count = 0;

		for (; at < LISTENERS_MAX && count < EGRESS_LISTENERS_MAX; at++) {
			if (sockets[at] < 0)
				continue;
			listeners.numbers[count] = PROXY_FD_TCP4 + at;
			fds[count++] = sockets[at];
		}
		listeners.is_last = at == LISTENERS_MAX;
		r = frame_send(INIT_FD_CHANNEL, &listeners, sizeof listeners, fds, count, 0);
	}
	return r;
}

int ports_serve(struct build *b, int rules)
{
	int sockets[LISTENERS_MAX], *next = sockets + (PROXY_FD_PORTS - PROXY_FD_TCP4), r;
	struct net_ports ports;

	for (size_t i = 0; i < LISTENERS_MAX; i++)
		sockets[i] = -1;
	r = read_ports(rules, &ports);
	if (r == 0)
		r = ports_enter(b);
	if (r != 0)
		return r;
	r = net_listen_open(sockets);
	if (r == 0)
		r = *next++ = open_listener(NET_LISTEN_PORT_DNS);
	for (uint32_t i = 0; r >= 0 && i < ports.count; i++)
		if (ports.ports[i] != NET_LISTEN_PORT_DNS)
			r = *next++ = open_listener(ports.ports[i]);
	/* The sockets here are closed when this process exits. */
	return r < 0 ? r : send_listeners(sockets);
}
