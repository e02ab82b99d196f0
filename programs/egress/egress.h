/*
 * What the two processes of a sandbox's network say to one another, to the supervisor, and are
 * started with.
 *
 * The front (yett-front) stands where the sandbox's connections end: it answers DNS, accepts, and
 * copies bytes. It has no way out. The dialer (yett-dialer) is in the host's network namespace, as
 * the caller: it decides, looks names up, connects, and passes the socket. What a connection may
 * reach is decided by the dialer alone; the front knows the rules only so that it can say of a name
 * that it does not exist.
 *
 * Packets are structs of fixed size over SOCK_SEQPACKET. Each side checks every member of what it
 * receives: the front hears the sandbox, and the dialer the internet, so that either may be
 * captured. A packet that is none ends who received it, and so both.
 *
 * A socket that the front is given belongs to the host's network namespace: its filter must let it
 * make no call that could connect such a socket anew (connect(2), bind(2), listen(2)). It shuts one
 * down in both directions before it closes it: the dialer's duplicate would keep it open otherwise,
 * and it is by that that the dialer notices its end.
 */
#pragma once

#include "base/net_rule.h"
#include "programs/egress/egress_told.h"

#define EGRESS_PORTS_MAX 256 /* that rules may be about where each takes a listener */

/* Descriptors; 0 to 2 are /dev/null. Of the sockets of the front those that the host cannot have
 * are not there. */
enum front_fd {
	FRONT_FD_DIALER = 3, /* SOCK_SEQPACKET */
	FRONT_FD_TCP4 = 4, /* listen in the sandbox's namespace, non-blocking. Whatever is connected
	                      to comes here; its own address is what */
	FRONT_FD_TCP6 = 5, /* the program wanted */
	FRONT_FD_DNS = 6,  /* UDP, port 53, of IPv6 where there is such, for both families; with
	                      IP_PKTINFO and IPV6_RECVPKTINFO */
	FRONT_FD_CATCHER = 7, /* SOCK_SEQPACKET: then the others come from there, struct
	                         egress_listeners, and are not there before */
	/* Where the kernel sends nobody all connections, each listens at one port in a namespace to
	   which all comes that leaves the sandbox's. */
	FRONT_FD_PORTS = 8,
	FRONT_FD_END = FRONT_FD_PORTS + EGRESS_PORTS_MAX + 1 /* of rules, and that of DNS */,
};

/* Who makes what a front listens on → front, which gives each descriptor that comes with it its
 * number. */
#define EGRESS_LISTENERS_MAX 64
struct egress_listeners {
	uint32_t is_last;
	uint32_t numbers[EGRESS_LISTENERS_MAX]; /* enum front_fd of each */
};

enum dialer_fd {
	DIALER_FD_FRONT = 3,      /* SOCK_SEQPACKET */
	DIALER_FD_SUPERVISOR = 4, /* SOCK_SEQPACKET */
	DIALER_FD_PLAN = 5, /* sealed memory: struct plan as far as it is used, which says who the
	                       caller is */
	DIALER_FD_RESOLVER = 6, /* the program yett-resolver */
	DIALER_FD_END = 7,
};

/* Addresses inside. The sandbox's own, the name server of its /etc/resolv.conf, and the networks of
 * those that stand for names: fakes.h. */
#define EGRESS_OWN_V4    "198.18.0.1"
#define EGRESS_OWN_V6    "fd79:6574:7400::1"
#define EGRESS_SERVER_V4 "198.18.0.2"
#define EGRESS_PREFIX_V6 "fd79:6574:7400::"

enum egress_mode {
	EGRESS_NONE = 0,    /* no front and no dialer */
	EGRESS_LIMITED = 1, /* what the rules allow */
	EGRESS_OPEN = 2,    /* all but private addresses, and what the rules deny */
};

#define EGRESS_CONNECTIONS_MAX 256       /* of a sandbox at once */
#define EGRESS_RULES_SIZE_MAX  (3 << 20) /* of the whole memory */

/*
 * egress_told.error of what failed on the way through a proxy: this and the status with which it
 * refused (300 to 599), or an errno; and nothing, where it has no address.
 */
#define EGRESS_PROXY_ERROR 1000

/*
 * Made by yett-decider, in memory that root sealed. The supervisor sends it to the dialer
 * (EGRESS_ORDER_RULES), and the dialer to the front (EGRESS_ANSWER_RULES): first of all, since both
 * may be started before there is a request, and take nothing from inside until then; and again
 * whenever the rules change.
 */
struct egress_rules {
	uint32_t mode;         /* enum egress_mode: LIMITED or OPEN */
	uint8_t allow_private; /* 0 or 1: private addresses need no rule that names them */
	uint8_t asks; /* 0 or 1: what no rule allows, and one of NET_LIST_ASK would, is held until
	                 other rules come */
	uint8_t asked_private; /* 0 or 1: the request asked for that, whatever the profile says */
	uint8_t reserved;
	uint32_t connections_max;         /* 1 to EGRESS_CONNECTIONS_MAX */
	uint32_t list_size;               /* bytes of `list`, up to the end of the memory */
	uint64_t in_bytes_s, out_bytes_s; /* into the sandbox, out of it; 0: not bounded */
	uint64_t generation; /* of the policy whose lines are the origins of its rules */
	uint8_t list[] __attribute__((aligned(8))); /* net_list_check() */
};

/* front → dialer */
enum egress_ask_kind {
	EGRESS_ASK_CONNECT =
		1, /* answered with the same id; one id is asked about once at a time */
	EGRESS_ASK_UNKNOWN =
		2, /* a name was asked for that no rule allows: not answered, only told of */
	EGRESS_ASK_FULL =
		3, /* a connection was reset because there were as many as there may be: likewise */
};
struct egress_ask {
	uint32_t kind; /* enum egress_ask_kind */
	uint32_t id;
	struct net_address address; /* where the program connected to, if that stands for no name;
	                               else zeros */
	uint16_t port;              /* 0: UNKNOWN */
	char name[NET_NAME_SIZE];   /* canonical, filled up with zeros; empty: the address itself */
};

/* dialer → front */
enum egress_answer_kind {
	EGRESS_ANSWER =
		1, /* one descriptor if `error` is 0: a connected, non-blocking TCP socket */
	EGRESS_ANSWER_RULES = 2,    /* one descriptor: rules, from now on */
	EGRESS_ANSWER_EXPECTED = 3, /* likewise, before these: EGRESS_ORDER_EXPECTED */
};
struct egress_answer {
	uint32_t kind; /* enum egress_answer_kind */
	uint32_t id;   /* RULES, EXPECTED: 0 */
	int32_t error; /* errno of what failed. EACCES: denied; EMFILE: too many are open;
	                  EHOSTUNREACH: no such name, too */
};
