/*
 * What the dialer tells the supervisor, in packets of this size, and is told: all that root's
 * program knows of a network's addresses, names and rules is that they are bytes.
 */
#pragma once

#include <stdint.h>

/* dialer → supervisor. Never waited for: what does not go at once is kept to be merged, at most
 * TOLD_MAX. See told.h. */
enum egress_told_kind {
	EGRESS_TOLD_CONNECTED = 1, /* of which name, if by one, to which address, by which rule */
	EGRESS_TOLD_CLOSED = 2, /* the same, with what went through it; neither name nor address: of
	                           others, for which there was no room */
	EGRESS_TOLD_FAILED = 3, /* it was allowed, and could not be made: `error` */
	EGRESS_TOLD_DENIED = 4, /* `verdict` says why */
	EGRESS_TOLD_FULL = 5,   /* there were as many connections as there may be */
	EGRESS_TOLD_ASKED = 6,  /* it waits for other rules */
};
struct egress_told {
	uint32_t kind;  /* enum egress_told_kind */
	uint32_t count; /* so many that are alike: the first, or all that came within a second after
	                   it */
	uint32_t lost;  /* others before it, that could not be told */
	uint32_t open;  /* connections, after this */
	int32_t error;  /* FAILED: errno; 0: there was no address */
	uint32_t origin; /* CONNECTED, CLOSED; DENIED by a rule: which rule, by the number that the
	                    list has for it; 0: none */
	uint16_t port;   /* 0: it was asked for the name only */
	uint8_t verdict, reserved; /* DENIED, ASKED: enum net_verdict; CLOSED: likewise, if other
	                              rules have cut it, else 0 */
	uint64_t sent_bytes, received_bytes; /* CLOSED: by the sandbox, of all that are merged */
	uint8_t address[16];                 /* of IPv4 in its mapped form; zeros: none */
	char name[254];                      /* NET_NAME_SIZE; empty: none */
	uint8_t rule[278]; /* CONNECTED, DENIED: the struct net_rule that it rests on; zeros: none
	                    */
};

/* supervisor → dialer: a packet of 32 bits, with a descriptor of rules. */
enum egress_order {
	EGRESS_ORDER_RULES = 1,    /* from now on. Connections that they do not allow are cut */
	EGRESS_ORDER_EXPECTED = 2, /* before the first ones: what those are likely to be, so that
	                              they are known when they come */
};
