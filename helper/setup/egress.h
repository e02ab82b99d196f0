/*
 * The network of a sandbox, as far as that takes root: what catches its connections, and the two
 * processes that serve them.
 *
 * yett-front answers inside, yett-dialer connects outside (programs/egress/egress.h). Neither has
 * privilege. They are born in the sandbox's group, end with the sandbox, and are started again once
 * when one of them ended before. Root makes the sockets that the front listens on, loads a small
 * program that has the kernel send all connections there, and starts the two. It sees no rule, no
 * name and no packet. Where it may load none, yett-init's program is started once more, as somebody
 * of the sandbox's: it listens at the ports of the rules.
 */
#pragma once

#include "base/fd.h"
#include "base/net_catch.h"
#include "programs/egress/egress_told.h"

#include <stdint.h>
#include <sys/types.h>

struct setup;

struct egress {
	pid_t front, dialer, catcher; /* 0: none. The last is yett-init's program, where each port
	                                 takes a socket of its own */
	int told; /* SOCK_SEQPACKET: what the dialer says; it ends with either of them. -1: none */
	int link; /* by which connections are caught: who has it may take that off. -1: not yet, or
	             by nothing */
	int awaited;       /* where it comes from, or what the catcher reports; -1 */
	uint32_t front_id; /* whom a front becomes */
	unsigned starts;
	bool is_spoilt; /* something could not be closed, or one of them did not end: it is the last
	                   sandbox here, and goes on */
};

#define EGRESS_NONE_YET   ((struct egress){.told = -1, .link = -1, .awaited = -1})
#define EGRESS_STARTS_MAX 2
/* front, dialer, catcher, and those of the dialer that look names up */
#define EGRESS_PROCESSES 20

/*
 * catch.c, for the process that becomes a front, in the sandbox's network namespace. Has the kernel
 * send the sockets what is caught: a descriptor, with whose last copy that ends, or -errno. And
 * whether this kernel lets us: else each port of the rules takes a listener.
 */
_must_check_ int catch_attach(const int sockets[static NET_CATCH_SOCKETS]);
bool catch_is_possible(void);

/*
 * Starts them for the network namespace of init, and sends them the rules: they do nothing before
 * that, and what comes from inside waits. `plan` and `rules` are sealed memory of root's, borrowed.
 * 0 or -errno. Where they were started before, they are ended first.
 */
_must_check_ int egress_start(struct setup *setup, int plan, enum egress_order kind, int rules);

/* Rules for those that were started; borrowed. 0 or -errno. */
_must_check_ int egress_send_rules(const struct setup *setup, enum egress_order kind, int rules);

/* The network of a request: rules for those that were started ahead of it, or for new ones where
 * there are none, or no more. 0 or -errno.
 */
_must_check_ int egress_use(struct setup *setup, int plan, int rules);

/* Waits until connections are caught, which they must be before anybody is told of the sandbox. 0
 * or -errno, with the shared error. */
_must_check_ int egress_await(struct setup *setup);

/* Ends them, and waits for that, but not for long. */
void egress_end(struct setup *setup);
