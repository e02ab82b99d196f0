/*
 * One connection of a client's, as the parts of the monitor know it: monitor.c hears its client, sandboxes.c the supervisors of
 * its sandboxes. Privilege: monitor.h.
 */
#pragma once

#include "helper/monitor/monitor.h"
#include "helper/monitor/verify.h"
#include "helper/plan/authorize.h"
#include "helper/plan/plan.h"
#include "protocol/envelope.h"
#include "protocol/frame.h"

/* One sandbox of this connection, made or attached to; or one that something else is asked about. */
struct sandbox {
	struct supervisor supervisor;
	uint64_t sequence; /* of the request */
	uint32_t action;   /* enum manage_action; of a create: 0, which no supervisor is asked */
	bool is_created;
	bool lasts;  /* its supervisor may outlive us */
	int channel; /* of an attach: the client's end */
	char id[PLAN_ID_SIZE];
	char profile[MESSAGE_NAME_MAX + 1];
	char weaker[PLAN_WEAKER_SIZE];
	struct message_limits limits;
};

struct connection {
	struct monitor *monitor;
	int socket;
	int process; /* pidfd of who connected: what outlives it of the connection does not count */
	struct peer peer;
	struct verify_context verify;
	struct frame *frame; /* mapped; pages are given back when idle */
	bool has_fds;        /* the client's packet, which then still lies in the socket: see handle_client() */
	int taker;           /* socket of the supervisor that it was given to, until that answers; -1 */
	uint8_t head[ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE]; /* of that packet: no other one begins like it */
	struct message *message;                                   /* likewise: requests and answers */
	struct plan *plan;                                         /* likewise */
	struct sandbox *sandboxes;
	pid_t *children; /* supervisors and sweeps of ours that are to be reaped when they end */
	size_t children_count;
	int pool, pool_end; /* without root: supervisors of ours announce themselves here when they are ready again; theirs. -1 */
	unsigned kept;      /* supervisors that do so, and were not ended: at most as many as the policy has spares */
	bool has_created;
	bool is_resting;                 /* nothing has happened for so long that nothing is kept ready */
	size_t sandboxes_count, pending; /* pending: those whose supervisor has not answered yet */
	int supervisors;                 /* epoll(7), has their sockets: a turn costs the same however many there are */
	unsigned memory_sent, refusals;
	uint64_t since_ms;
	bool is_known;    /* a request of this client was signed by an enrolled key */
	bool is_outdated; /* whether the policy that it decides by is in force could not be learned: it decides nothing any more */
	bool is_over;
};

/*
 * Sends `message` of the connection, with a descriptor that stays the caller's (-1: none). An answer that cannot be delivered at
 * once ends the connection: whoever does not read is not waited for.
 */
void connection_answer(struct connection *c, uint64_t sequence, int fd);

/* The same with an error, which is logged. */
void connection_refuse(struct connection *c, uint64_t sequence, const struct yett_error *error);

/* Has the decoder print the connection's plan, and sends that. 0, or -errno when the decoder failed: then the connection is to end. */
_must_check_ int connection_send_plan(struct connection *c, uint64_t sequence, struct yett_error *error);

/*
 * Before an answer that carries memory: what is sent and not read counts for us, not for the client, and one that reads nothing is
 * sent no more of it. 0 or RESOURCE_LIMIT.
 */
_must_check_ int connection_check_unread(struct connection *c, struct yett_error *error);

/*
 * Has a process take away the packet with descriptors that lies in the socket, and what came with it. Closing that may take as long
 * as the client chose: then the connection is over. See frame_drop().
 */
void connection_drop(struct connection *c);

/* The same for what a sandbox was to take: if it has not. */
void connection_take_back(struct connection *c);

/* --- what it has to do with sandboxes; sandboxes.c --- */

#define SANDBOXES_PENDING_MAX 4 /* in the making: more requests wait in the socket; each costs three processes */

/* Whether one more can be begun or asked. 0, RESOURCE_LIMIT, or why this host can have none. */
_must_check_ int sandboxes_check(const struct connection *c, struct yett_error *error);

/*
 * Whether the policy that this connection decides by is in force: asked of the listener at every request, for nothing is decided by
 * one that was replaced, or that nobody answers for. 0 or HELPER_UNAVAILABLE.
 */
_must_check_ int sandboxes_check_policy(const struct connection *c, struct yett_error *error);

/*
 * Hands the connection's plan to a supervisor; its answer comes through the loop. Where the plan has shares, the sandbox takes the
 * client's packet itself. 0 or a code.
 */
_must_check_ int sandboxes_begin(struct connection *c, const struct decision *decision, uint64_t sequence, struct yett_error *error);

/*
 * Asks the supervisor of one that is there; its answer comes through the loop. `takes_channel`: it gets an end of a new socket pair,
 * and the client the other one with the answer. The request's id is filled in. 0 or a code.
 */
_must_check_ int sandboxes_ask(struct connection *c, const struct record *record, struct supervisor_request request, bool takes_channel,
                               uint64_t sequence, struct yett_error *error);

/* Ends this connection's holds on it, as if the connection ended. 0 or NOT_RUNNING. */
_must_check_ int sandboxes_detach(struct connection *c, uint64_t sequence, const char *id, struct yett_error *error);

/* Ends those that are ready again and wait for a sandbox to make; waits so long for each that may still become so. */
void sandboxes_end_spares(struct connection *c, int timeout_ms);

/* Reads what one of the supervisors says, if any does. */
void sandboxes_handle(struct connection *c);

void sandboxes_reap_children(struct connection *c);

/* Ends those that do not last, and waits for their supervisors. The connection's socket is closed already. */
void sandboxes_end(struct connection *c);
