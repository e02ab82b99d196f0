/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root's part of a sandbox's network: it catches connections, and starts and ends the processes
 * that serve them. Runs with full privilege; must read no rule, name or packet.
 *
 * The proxy yett-front answers inside, the connector yett-dialer connects outside; neither has
 * privilege (programs/net/egress.h). They start in the sandbox's cgroup, end with the
 * sandbox, and are started again once. A BPF program directs all connections to sockets of the
 * proxy. Where BPF is not possible, the port listener (yett-init's program) listens at the ports of
 * the rules.
 */
#pragma once

#include "base/net_listen.h"
#include "programs/net/egress_report.h"

#include <sys/types.h>

struct setup;

struct egress {
	/*
	 * process ids; 0 or less: none. The port listener runs only where BPF cannot be used.
	 */
	pid_t proxy, connector, port_listener;
	/*
	 * SOCK_SEQPACKET for the connector's reports; closed when the proxy or the connector ends;
	 * -1: none
	 */
	int reports;
	/*
	 * BPF link that catches connections: a process that has it can detach the program; -1: none
	 * (yet)
	 */
	int link;
	/*
	 * Socket on which egress_await() waits: the child that becomes the proxy sends `link` on it
	 * or, where BPF cannot be used, the port listener sends its report. -1: none
	 */
	int awaited;
	uint32_t proxy_id; /* host id that the proxy takes */
	unsigned starts;
	/*
	 * Tainted: a descriptor could not be closed, or a process did not end. This sandbox goes
	 * on, but this supervisor makes no further one.
	 */
	bool is_tainted;
};

#define EGRESS_NONE_YET   ((struct egress){.reports = -1, .link = -1, .awaited = -1})
#define EGRESS_STARTS_MAX 2
/* proxy, connector, port listener, and the connector's processes that look up names */
#define EGRESS_PROCESSES 20

/*
 * port_listener.c, for the process that becomes the proxy, in the sandbox's network namespace.
 * port_listener_attach() makes the kernel direct connections to the sockets. Returns a descriptor
 * of the BPF link, or -errno; closing its last copy detaches the program.
 * port_listener_is_possible() returns whether this kernel allows that; if not, each port of the
 * rules needs a listener.
 */
_must_check_ int port_listener_attach(const int sockets[static NET_LISTEN_SOCKETS]);
bool port_listener_is_possible(void);

/*
 * Starts the processes for the network namespace of init, and sends them the rules; ends those
 * started before. They do nothing until they have rules, and connections from inside wait. `plan`
 * and `rules` are root's sealed memory, borrowed. Returns 0 or -errno.
 */
_must_check_ int egress_start(struct setup *setup, int plan, enum egress_order kind, int rules);

/* Sends rules (borrowed) to the running processes. Returns 0 or -errno. */
_must_check_ int egress_send_rules(const struct setup *setup, enum egress_order kind, int rules);

/*
 * Sets up the network of a request: sends its rules to the processes that were started ahead, or
 * starts new ones if there are none or they have ended. Returns 0 or -errno.
 */
_must_check_ int egress_use(struct setup *setup, int plan, int rules);

/*
 * Waits until connections are caught. Call this before the sandbox is reported to anyone. Returns 0
 * or -errno, with the shared error.
 */
_must_check_ int egress_await(struct setup *setup);

/* Kills the processes and waits for their end, at most 2 s for each. */
void egress_end(struct setup *setup);
