/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between the connector (yett-dialer) and the supervisor. The supervisor, which runs as
 * root, treats addresses, names and rules of the network as plain bytes.
 */
#pragma once

#include <stdint.h>

/*
 * Connector → supervisor. The connector never blocks to send these: reports that cannot be sent at
 * once are kept and merged, at most REPORTED_MAX. See reports.h.
 */
enum egress_report_kind {
	/*
	 * With the name, if the program used one, the address, and the rule that allowed the
	 * connection.
	 */
	EGRESS_REPORT_CONNECTED = 1,
	/*
	 * As CONNECTED, with the bytes transferred. Without name and address: the sum of
	 * connections for which there was no separate room.
	 */
	EGRESS_REPORT_CLOSED = 2,
	EGRESS_REPORT_FAILED = 3, /* The rules allowed the connection, but it failed: `error`. */
	EGRESS_REPORT_DENIED = 4, /* `verdict` has the reason */
	EGRESS_REPORT_FULL = 5,   /* the limit of connections was reached */
	EGRESS_REPORT_ASKED = 6,  /* the connection waits for other rules */
};
struct egress_report {
	uint32_t kind; /* enum egress_report_kind */
	/*
	 * Number of equal events in this report: 1 for the first, then all within a second after it
	 */
	uint32_t count;
	uint32_t lost; /* number of reports dropped before this one */
	uint32_t open; /* connections open after this event */
	/*
	 * FAILED: an errno, or 0 if the name has no address; plus EGRESS_PROXY_ERROR if the HTTP
	 * proxy failed
	 */
	int32_t error;
	/*
	 * CONNECTED, CLOSED, and DENIED by a rule: the number that the list has for the rule's
	 * origin; 0: no rule.
	 */
	uint32_t origin;
	uint16_t port; /* 0: only the name was looked up */
	/*
	 * `verdict` is an enum net_verdict: for DENIED and ASKED, and for CLOSED if new rules cut
	 * the connection, otherwise 0.
	 */
	uint8_t verdict, reserved;
	/* CLOSED: by the sandbox, the sum of all merged events */
	uint64_t sent_bytes, received_bytes;
	uint8_t address[16]; /* IPv4 in mapped form; zeros: none */
	char name[254];      /* NET_NAME_SIZE; empty: none */
	uint8_t rule[278];   /* CONNECTED, DENIED: the struct net_rule that decided; zeros: none */
};

/* Supervisor → connector: a packet of 32 bits, with the descriptor of the rules. */
enum egress_order {
	/* The rules from now on. Cuts connections that they do not allow. */
	EGRESS_ORDER_RULES = 1,
	/*
	 * The rules that RULES is likely to bring, sent before it, so that they are indexed
	 * already.
	 */
	EGRESS_ORDER_EXPECTED = 2,
};
