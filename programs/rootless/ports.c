/* See ports.h. */
#include "programs/rootless/ports.h"
#include "base/net_ports.h"
#include "base/rtnetlink.h"
#include "programs/egress/ruleset.h"

#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#define WIRE       "net0"
#define WIRE_INDEX 1000 /* in both namespaces; where modules for tunnels are loaded, each has some with low numbers from the start */
#define NEXT_V4    EGRESS_SERVER_V4
#define NEXT_V6    "fd79:6574:7400::2"
#define PORT_DNS   53
#define BACKLOG    256

_Static_assert(CATCH_PORTS_MAX == EGRESS_PORTS_MAX + 1 && NET_PORTS_MAX == EGRESS_PORTS_MAX, "what rules are about, and port 53");

/* Neither end asks who has an address: both have the same one of Ethernet, and so each takes what the other one sends. */
static void add_end(struct rtnetlink_ask *ask)
{
	static const uint8_t ethernet[6] = {2, [5] = 1};

	rtnetlink_add(ask, IFLA_IFNAME, WIRE, sizeof WIRE);
	rtnetlink_add(ask, IFLA_ADDRESS, ethernet, sizeof ethernet);
}

/* With one end here, and one in the other network namespace. One that a front before us has left is not needed any more. */
static int make_wire(int netlink, int other)
{
	const struct ifinfomsg end = {.ifi_index = WIRE_INDEX, .ifi_flags = IFF_NOARP, .ifi_change = IFF_NOARP};
	struct rtnetlink_ask old = {.header.nlmsg_len = NLMSG_LENGTH(sizeof old.body.link)};
	struct rtnetlink_ask ask = {.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.link), .body.link = end};
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

static int start(int netlink, int index)
{
	struct rtnetlink_ask ask = {.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.link),
	                            .body.link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP}};

	return rtnetlink_send(netlink, &ask, RTM_NEWLINK);
}

/* Where something goes: by the wire, or nowhere else (`is_local`). */
struct route {
	const char *to, *via; /* NULL: everything; nobody */
	bool is_local;
};

static int add_route(int netlink, uint8_t family, const struct route *route)
{
	const uint8_t size = family == AF_INET ? 4 : 16;
	const int index = route->is_local ? RTNETLINK_LO : WIRE_INDEX;
	struct rtnetlink_ask ask = {.header.nlmsg_len = NLMSG_LENGTH(sizeof ask.body.route),
	                            .body.route = {.rtm_family = family,
	                                           /* what is local is looked up first, and in it whom an answer may be from */
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
			rtnetlink_add(&ask, i == 0 ? RTA_DST : RTA_GATEWAY, address.bytes + sizeof address - size, size);
	}
	rtnetlink_add(&ask, RTA_OIF, &index, sizeof index);
	return rtnetlink_send(netlink, &ask, RTM_NEWROUTE);
}

/* Of both families, of which a host may lack IPv6: then nothing inside has it either. */
static int add_routes(int netlink, const struct route *v4, const struct route *v6)
{
	int r = add_route(netlink, AF_INET, v4), r6 = r == 0 ? add_route(netlink, AF_INET6, v6) : r;

	return r == 0 && (r6 == -EOPNOTSUPP || r6 == -EAFNOSUPPORT || r6 == -EACCES) ? 0 : r6;
}

static int start_inside(int netlink)
{
	/* One next hop, which is asked nothing: no address has an entry in the tables of neighbours, of which a host has few. */
	static const struct route v4 = {NULL, NEXT_V4, false}, v6 = {NULL, NEXT_V6, false};
	int r = start(netlink, RTNETLINK_LO); /* init does it, too; before it nobody knows what is local, and so who can be a next hop */

	if (r == 0)
		r = start(netlink, WIRE_INDEX);
	return r == 0 ? add_routes(netlink, &v4, &v6) : r;
}

static int start_beside(int netlink)
{
	static const struct route all = {NULL, NULL, true}, v4 = {EGRESS_OWN_V4, NULL, false}, v6 = {EGRESS_OWN_V6, NULL, false};
	int r = start(netlink, RTNETLINK_LO);

	if (r == 0)
		r = start(netlink, WIRE_INDEX);
	if (r == 0)
		r = add_routes(netlink, &all, &all);
	return r == 0 ? add_routes(netlink, &v4, &v6) : r;
}

/* The step that failed, for people. */
static int tell(const struct setup *setup, const char *what, int r)
{
	(void)error_set(&setup->shared->error, YETT_E_UNSUPPORTED, 0, "without root, a network takes %s: %s", what, strerror(-r));
	error_detail(&setup->shared->error, "the service needs none of that (docs/admin.md)");
	setup->shared->result = error_cause(&setup->shared->error, "network", -r);
	return -EPIPE;
}

static int enter(const struct setup *setup)
{
	_cleanup_fd_ int inside = rtnetlink_open(), beside = -1, namespace = -1;
	int r = inside < 0 ? inside : unshare(CLONE_NEWNET) < 0 ? -errno : 0;

	if (r == -ENOSPC)
		return tell(setup, "a second network namespace; as root: sysctl user.max_net_namespaces=15000", r);
	beside = r == 0 ? rtnetlink_open() : r;
	namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (beside < 0 || namespace < 0)
		return beside < 0 ? beside : -errno;
	r = make_wire(inside, namespace);
	if (r < 0)
		return tell(setup, "virtual interfaces of the kernel (veth); as root: modprobe veth", r);
	r = start_beside(beside);
	return r == 0 ? start_inside(inside) : r;
}

/* No address is ever shared with another one: SO_REUSEADDR and its like are not set. */
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
	/* What the host has chosen may be one that waits between packets: bbr. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6, is_v4 ? sizeof v4 : sizeof v6) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* -EINVAL: they are about more ports than there can be listeners for, which the decider has not passed on. */
static int read_ports(int memory, struct net_ports *ret_ports)
{
	struct ruleset rules = {0};
	int r = ruleset_change(&rules, memory);

	if (r < 0)
		return r;
	r = 0;
	if (rules.memory->mode != EGRESS_LIMITED || net_ports_collect(ruleset_list(&rules), ret_ports))
		r = -EINVAL;
	ruleset_unmap(&rules);
	return r;
}

int ports_listen(const struct setup *setup, int rules, int ret_sockets[static CATCH_PORTS_MAX])
{
	struct net_ports ports;
	int count = 0, r = read_ports(rules, &ports);

	if (r == 0)
		r = enter(setup);
	if (r == 0)
		r = ret_sockets[count++] = open_listener(PORT_DNS);
	for (uint32_t i = 0; r >= 0 && i < ports.count; i++)
		if (ports.ports[i] != PORT_DNS)
			r = ret_sockets[count++] = open_listener(ports.ports[i]);
	return r < 0 ? r : count;
}
