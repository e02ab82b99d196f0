/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proxy.h. DNS answers: the rules decide whether a name exists, and the synthetic addresses
 * stand for the name in this sandbox.
 */
#include "programs/net/dns.h"
#include "programs/net/proxy.h"

#include <arpa/nameser.h>
#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#define TTL_FOUND_S     60
#define TTL_NOT_THERE_S 5 /* short, since new rules may allow the name */
#define DATAGRAMS_MAX   64

#define LOCALHOST "localhost" /* RFC 6761, section 6.3 */
#define REVERSE   "arpa"

static_assert(NET_NAME_SIZE == DNS_NAME_MAX + 1, "what is said of names holds for both kinds");

static const char prohibited[] = "no rule of this sandbox's network allows this name";

static bool is_or_is_below(const char *name, const char *above)
{
	return strcmp(name, above) == 0 || net_name_is_below(name, above);
}

/*
 * Whether the rules may allow some connection to the name, or asking about one. The connector
 * decides which ones.
 */
static bool proxy_dns_is_allowed(const struct proxy *proxy, const char *name)
{
	const struct net_record *record;
	enum net_verdict verdict =
		net_match_name(proxy->rules.match, name, 0, NET_LIST_ALLOW, &record);

	if (is_or_is_below(name, NET_NAME_OF_US))
		return false;
	if (verdict == NET_VERDICT_NO_RULE && proxy->rules.memory->asks)
		verdict = net_match_name(proxy->rules.match, name, 0, NET_LIST_ASK, &record);
	return verdict == NET_VERDICT_ALLOWED ||
	       (verdict == NET_VERDICT_NO_RULE && proxy->rules.memory->mode == EGRESS_OPEN);
}

void proxy_dns_keep(struct proxy *proxy)
{
	const struct net_list *list = ruleset_list(&proxy->rules);

	proxy->names_kept = 0;
	for (const struct net_record *record = NULL; (record = net_list_next(list, record));)
		proxy->names_kept +=
			record->list == NET_LIST_ALLOW && record->kind == NET_RULE_NAME;
}

/*
 * Finds the index of a name. Makes a new one only if enough indexes are left for the names that
 * rules spell out.
 */
static bool find_index(const struct proxy *proxy, const char *name, uint32_t *ret_index)
{
	if (synthetic_find(proxy->names, name, ret_index))
		return true;
	return (synthetic_count(proxy->names) + proxy->names_kept < SYNTHETIC_MAX ||
	        net_match_spells(proxy->rules.match, name)) &&
	       synthetic_add(proxy->names, name, ret_index) == 0;
}

static void reply_loopback(const struct proxy *proxy, uint16_t type, struct dns_reply *reply)
{
	static const struct in6_addr v4 = {
		.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};

	if (type != ns_t_a && (type != ns_t_aaaa || !proxy->has_ipv6))
		return;
	reply->kind = DNS_ADDRESSES;
	reply->addresses_count = 1;
	reply->addresses[0] = type == ns_t_a ? v4 : in6addr_loopback;
}

static void reply_synthetic(const struct proxy *proxy, const char *name, uint16_t type,
                            struct dns_reply *reply)
{
	uint32_t index;

	/* Other types could give a way around the name (HTTPS, SVCB), or carry any data (TXT). */
	if (type != ns_t_a && (type != ns_t_aaaa || !proxy->has_ipv6))
		return;
	if (!find_index(proxy, name, &index)) {
		reply->kind = DNS_SERVFAIL;
		return;
	}
	reply->kind = DNS_ADDRESSES;
	reply->addresses_count = 1;
	synthetic_address(proxy->names, index, type == ns_t_a ? AF_INET : AF_INET6,
	                  &reply->addresses[0]);
}

static void reply_reverse(const struct proxy *proxy, const struct in6_addr *address,
                          struct dns_reply *reply)
{
	bool is_loopback = IN6_IS_ADDR_LOOPBACK(address) ||
	                   (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);

	reply->name = is_loopback ? LOCALHOST : synthetic_by_address(proxy->names, address);
	reply->kind = reply->name ? DNS_NAME : DNS_NXDOMAIN;
}

/* Fills `reply`, whose kind the caller has set to NODATA. Returns whether to report the name. */
static bool proxy_dns_decide(const struct proxy *proxy, const struct dns_question *question,
                             struct dns_reply *reply)
{
	char name[NET_NAME_SIZE];
	struct in6_addr address;

	reply->ttl_s = TTL_FOUND_S;
	if (question->is_name_valid && question->type == ns_t_ptr &&
	    dns_reverse(question->name, &address)) {
		reply_reverse(proxy, &address, reply);
		return false;
	}
	if (!question->is_name_valid ||
	    net_name_canonical(question->name, strlen(question->name), name)) {
		reply->kind = DNS_NXDOMAIN;
		reply->prohibited = prohibited;
		return false;
	}
	if (is_or_is_below(name, LOCALHOST)) {
		reply_loopback(proxy, question->type, reply);
		return false;
	}
	if (proxy_dns_is_allowed(proxy, name)) {
		reply_synthetic(proxy, name, question->type, reply);
		return false;
	}
	reply->kind = DNS_NXDOMAIN;
	reply->prohibited = prohibited;
	return !is_or_is_below(name, REVERSE);
}

size_t proxy_dns_answer(const struct proxy *proxy, const uint8_t *bytes, size_t size,
                        bool is_stream, uint8_t out[PROXY_DNS_ANSWER_MAX],
                        char unknown[NET_NAME_SIZE])
{
	struct dns_question question;
	struct dns_reply reply = {.kind = DNS_NODATA};
	int r = dns_parse(bytes, size, &question);
	bool is_unknown = false;

	unknown[0] = '\0';
	if (r < 0)
		return 0;
	if (r > 0) {
		reply.kind = DNS_RCODE;
		reply.rcode = r;
	} else {
		is_unknown = proxy_dns_decide(proxy, &question, &reply);
	}
	if (reply.kind != DNS_ADDRESSES && reply.kind != DNS_NAME)
		reply.ttl_s = TTL_NOT_THERE_S;
	if (is_unknown)
		memcpy(unknown, question.name, NET_NAME_SIZE);
	r = dns_answer(&question, &reply, out,
	               is_stream ? PROXY_DNS_ANSWER_MAX : question.udp_size);
	return r < 0 ? 0 : (size_t)r;
}

static bool proxy_dns_set(int socket, int level, int option)
{
	const int on = 1;

	return setsockopt(socket, level, option, &on, sizeof on) == 0;
}

static int family_of(int socket)
{
	int family = AF_UNSPEC;
	socklen_t size = sizeof family;

	return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0 ? AF_UNSPEC : family;
}

/*
 * Without FREEBIND the kernel does not send from addresses that only a route makes local. ipv6(7)
 * does not have IPV6_FREEBIND; see IP_FREEBIND in ip(7).
 */
bool proxy_dns_prepare(int socket)
{
	if (family_of(socket) == AF_INET6)
		return proxy_dns_set(socket, SOL_IPV6, IPV6_RECVPKTINFO) &&
		       proxy_dns_set(socket, SOL_IPV6, IPV6_FREEBIND);
	return proxy_dns_set(socket, SOL_IP, IP_PKTINFO) &&
	       proxy_dns_set(socket, SOL_IP, IP_FREEBIND);
}

union control {
	struct cmsghdr align;
	uint8_t v4[CMSG_SPACE(sizeof(struct in_pktinfo))];
	uint8_t v6[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	uint8_t both[CMSG_SPACE(sizeof(struct in_pktinfo)) +
	             CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/*
 * Turns the control data of a datagram into that of its answer. An IPv6 socket may also have IPv4
 * control data, which is ignored.
 */
static bool turn_round(struct msghdr *message, union control *control, sa_family_t family)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
	bool is_v6 = family == AF_INET6;
	struct in_pktinfo v4;
	struct in6_pktinfo v6;

	while (cmsg && (cmsg->cmsg_level != (is_v6 ? SOL_IPV6 : SOL_IP) ||
	                cmsg->cmsg_type != (is_v6 ? IPV6_PKTINFO : IP_PKTINFO)))
		cmsg = CMSG_NXTHDR(message, cmsg);
	if (!cmsg)
		return false;
	if (is_v6) {
		memcpy(&v6, CMSG_DATA(cmsg), sizeof v6);
		v6.ipi6_ifindex = 0;
	} else {
		memcpy(&v4, CMSG_DATA(cmsg), sizeof v4);
		v4 = (struct in_pktinfo){.ipi_spec_dst = v4.ipi_addr};
	}
	memset(control, 0, sizeof *control);
	message->msg_controllen = (socklen_t)(is_v6 ? sizeof control->v6 : sizeof control->v4);
	cmsg = CMSG_FIRSTHDR(message);
	cmsg->cmsg_level = is_v6 ? SOL_IPV6 : SOL_IP;
	cmsg->cmsg_type = is_v6 ? IPV6_PKTINFO : IP_PKTINFO;
	cmsg->cmsg_len = (socklen_t)(is_v6 ? CMSG_LEN(sizeof v6) : CMSG_LEN(sizeof v4));
	memcpy(CMSG_DATA(cmsg), is_v6 ? (const void *)&v6 : &v4, is_v6 ? sizeof v6 : sizeof v4);
	return true;
}

/*
 * Answers one datagram. Returns false if there is none. If the program's socket is full, the answer
 * is dropped.
 */
static bool proxy_dns_serve_one(struct proxy *proxy)
{
	uint8_t in[PROXY_DNS_QUERY_MAX], out[PROXY_DNS_ANSWER_MAX];
	char unknown[NET_NAME_SIZE];
	struct sockaddr_storage peer;
	union control control;
	struct iovec part = {.iov_base = in, .iov_len = sizeof in};
	struct msghdr message = {.msg_name = &peer,
	                         .msg_namelen = sizeof peer,
	                         .msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof control};
	ssize_t n = recvmsg(PROXY_FD_DNS, &message, MSG_DONTWAIT);

	if (n < 0)
		return errno != EAGAIN;
	if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    !turn_round(&message, &control, peer.ss_family))
		return true;
	part = (struct iovec){out, proxy_dns_answer(proxy, in, (size_t)n, false, out, unknown)};
	message.msg_flags = 0;
	/* Report first: the answer may end the program, and with it the sandbox. */
	if (unknown[0])
		proxy_report_unknown(proxy, unknown);
	if (part.iov_len > 0)
		(void)!sendmsg(PROXY_FD_DNS, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

void proxy_dns_serve(struct proxy *proxy)
{
	for (unsigned i = 0; i < DATAGRAMS_MAX && proxy_dns_serve_one(proxy); i++)
		;
}
