/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets and descriptors of the two processes of a sandbox's network. The proxy (yett-front)
 * accepts the sandbox's connections, answers its DNS queries and copies bytes. It cannot connect to
 * anything. The connector (yett-dialer) runs in the host's network namespace, as the caller. It
 * alone decides what a connection may reach; it looks up names, connects and passes the sockets.
 * The proxy has the rules only to answer that a name does not exist.
 *
 * Packets are structs of fixed size over SOCK_SEQPACKET. Either process may be compromised, so each
 * side checks every member. On an invalid packet the receiver exits, and then the other process,
 * too.
 */
#pragma once

#include "base/net_rule.h"
#include "programs/net/egress_report.h"

#define EGRESS_PORTS_MAX 256 /* listeners for ports of rules, where each port takes one */

/*
 * Descriptors of the proxy; 0 to 2 are /dev/null. Sockets that the host cannot provide are closed.
 *
 * A socket that the proxy receives from the connector belongs to the host's network namespace. The
 * proxy's filter must allow no call that could connect this socket again (connect(2), bind(2),
 * listen(2)). The proxy shuts such a socket down in both directions before it closes it: the
 * connector's duplicate would keep the connection open otherwise, and the connector notices the end
 * by the shutdown.
 */
enum proxy_fd {
	PROXY_FD_CONNECTOR = 3, /* SOCK_SEQPACKET */
	/*
	 * Non-blocking listening sockets in the sandbox's network namespace, which receive all its
	 * connections. The local address of an accepted socket is the address to which the program
	 * connected.
	 */
	PROXY_FD_TCP4 = 4,
	PROXY_FD_TCP6 = 5,
	/*
	 * A UDP socket at port 53, of IPv6 for both families if the host has IPv6, with IP_PKTINFO
	 * and IPV6_RECVPKTINFO.
	 */
	PROXY_FD_DNS = 6,
	/*
	 * SOCK_SEQPACKET. If this is open, the listening sockets and PROXY_FD_DNS are not open at
	 * first: they arrive here, with struct egress_listeners.
	 */
	PROXY_FD_CATCHER = 7,
	/*
	 * Where the kernel cannot redirect all connections: one listening socket for each port of
	 * the rules, in a network namespace that receives everything that leaves the sandbox's.
	 */
	PROXY_FD_PORTS = 8,
	/* `+ 1`: besides the ports of the rules, there is port 53 for DNS over TCP. */
	PROXY_FD_END = PROXY_FD_PORTS + EGRESS_PORTS_MAX + 1,
};

/*
 * Port listener → proxy, over PROXY_FD_CATCHER. The i-th descriptor of the packet becomes the
 * proxy's descriptor `numbers[i]`.
 */
#define EGRESS_LISTENERS_MAX 64
struct egress_listeners {
	uint32_t is_last;
	uint32_t numbers[EGRESS_LISTENERS_MAX]; /* enum proxy_fd of each */
};

enum connector_fd {
	CONNECTOR_FD_PROXY = 3,      /* SOCK_SEQPACKET */
	CONNECTOR_FD_SUPERVISOR = 4, /* SOCK_SEQPACKET */
	/* Sealed memory with the used part of struct plan, which says who the caller is. */
	CONNECTOR_FD_PLAN = 5,
	CONNECTOR_FD_RESOLVER = 6, /* the program yett-resolver */
	CONNECTOR_FD_END = 7,
};

/*
 * Addresses inside: the sandbox's own, and the name server in its /etc/resolv.conf. synthetic.h has
 * the networks of the synthetic addresses.
 */
#define EGRESS_OWN_V4    "198.18.0.1"
#define EGRESS_OWN_V6    "fd79:6574:7400::1"
#define EGRESS_SERVER_V4 "198.18.0.2"
#define EGRESS_PREFIX_V6 "fd79:6574:7400::"

enum egress_mode {
	EGRESS_NONE = 0,    /* no proxy and no connector */
	EGRESS_LIMITED = 1, /* only what the rules allow */
	EGRESS_OPEN = 2,    /* everything except private addresses and what the rules deny */
};

#define EGRESS_CONNECTIONS_MAX 256       /* open in one sandbox at once */
#define EGRESS_RULES_SIZE_MAX  (3 << 20) /* of the whole memory */

/*
 * Added to egress_report.error if a connection failed at the HTTP proxy. The rest is the HTTP
 * status of the refusal (300 to 599), an errno, or 0 if the HTTP proxy's name has no address.
 */
#define EGRESS_PROXY_ERROR 1000

/*
 * yett-decider makes this memory, and root seals it. The supervisor sends it to the connector
 * (EGRESS_ORDER_RULES), and the connector to the proxy (EGRESS_ANSWER_RULES). It is the first
 * packet of both, since both may be started before there is a request, and take nothing from inside
 * before they have rules. Each change of the rules sends all of it again.
 */
struct egress_rules {
	uint32_t mode; /* enum egress_mode: LIMITED or OPEN */
	/* 0 or 1. 1: private addresses are allowed without a rule that names them. */
	uint8_t allow_private;
	/*
	 * 0 or 1. 1: a connection that no rule allows, but that a rule of NET_LIST_ASK would allow,
	 * is held until new rules come.
	 */
	uint8_t asks;
	/* 0 or 1. 1: the request asked for private addresses, whatever the profile says. */
	uint8_t asked_private;
	uint8_t reserved;
	uint32_t connections_max;         /* 1 to EGRESS_CONNECTIONS_MAX */
	uint32_t list_size;               /* bytes of `list`, which ends with the memory */
	uint64_t in_bytes_s, out_bytes_s; /* into the sandbox, out of it; 0: unlimited */
	uint64_t generation;              /* of the policy to whose lines the origins refer */
	uint8_t list[] __attribute__((aligned(8))); /* net_list_check() */
};

/* proxy → connector */
enum egress_ask_kind {
	/* Answered with the same id. An id must not be used again before its answer. */
	EGRESS_ASK_CONNECT = 1,
	/* A program looked up a name that no rule allows. Not answered, only reported. */
	EGRESS_ASK_UNKNOWN = 2,
	/* A connection was reset because the limit is reached. Not answered, only reported. */
	EGRESS_ASK_FULL = 3,
};
struct egress_ask {
	uint32_t kind; /* enum egress_ask_kind */
	uint32_t id;
	/* The address to which the program connected; zeros if a name is given. */
	struct net_address address;
	uint16_t port; /* 0 for UNKNOWN */
	/* Canonical, padded with zeros; empty: connect to the address itself. */
	char name[NET_NAME_SIZE];
};

/* connector → proxy */
enum egress_answer_kind {
	/* With one descriptor if `error` is 0: a connected, non-blocking TCP socket. */
	EGRESS_ANSWER = 1,
	EGRESS_ANSWER_RULES = 2, /* with one descriptor: the rules from now on */
	/*
	 * With one descriptor: the rules that are likely to come (EGRESS_ORDER_EXPECTED). Only
	 * before RULES.
	 */
	EGRESS_ANSWER_EXPECTED = 3,
};
struct egress_answer {
	uint32_t kind; /* enum egress_answer_kind */
	uint32_t id;   /* 0 for RULES and EXPECTED */
	/*
	 * An errno, or 0. EACCES: denied; EMFILE: too many connections are open; EHOSTUNREACH: also
	 * if the name does not exist.
	 */
	int32_t error;
};
