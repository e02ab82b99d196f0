/*
 * One connection of a client's, as the parts of the decider know it: connection.c hears its client,
 * sandboxes.c the supervisors of its sandboxes. Without privilege.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "programs/decider/authorize.h"
#include "programs/decider/verify.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

/* One sandbox of this connection, made or attached to; or one that something else is asked about.
 */
struct sandbox {
	int supervisor;    /* socket: answers with a supervisor_created and, later, notices */
	uint64_t sequence; /* of the request */
	uint32_t action;   /* enum manage_action; of a create: 0, which no supervisor is asked */
	bool is_created;
	int channel; /* of an attach: the client's end */
	char id[PLAN_ID_SIZE];
	char profile[MESSAGE_NAME_MAX + 1];
	char hostname[MESSAGE_HOSTNAME_MAX + 1];
	char weaker[PLAN_WEAKER_SIZE];
	struct message_limits limits;
	uint64_t command_ms, command_max_ms;
	uint32_t network; /* enum plan_network */
	uint32_t changes; /* of its rules, when this was asked */
};

struct stream; /* streams.c */

struct connection {
	const struct decider_begin *begin;
	const struct plan_limits *given; /* no process inside can have more; 0: no bound */
	const struct policy *policy;
	struct decoder *decoder;
	int socket;
	struct peer peer;
	struct verify_context verify;
	struct frame *frame; /* mapped; pages are given back when idle */
	bool has_fds;        /* the client's packet, which then still lies in the socket: see
	                        handle_client() */
	int taker; /* socket of the supervisor that it was given to, until that answers; -1 */
	uint8_t head[ENVELOPE_HEADER_SIZE +
	             ENVELOPE_SIGNED_SIZE]; /* of that packet: no other one begins like it */
	struct message *message;            /* likewise: requests and answers */
	struct plan *plan;                  /* likewise */
	struct sandbox *sandboxes;
	size_t sandboxes_count, pending; /* pending: those whose supervisor has not answered yet */
	struct stream *streams;
	size_t streams_count;
	int supervisors; /* epoll(7), has their sockets and the streams: a turn costs the same
	                    however many there are */
	unsigned memory_sent, refusals;
	uint64_t since_ms;
	bool is_known; /* a request of this client was signed by an enrolled key */
	bool is_over;
};

/* Serves the connection until its end: the whole life of a decider. All but the socket is borrowed.
 */
void connection_serve(const struct decider_begin *begin, const struct plan_limits *given,
                      const struct policy *policy, struct decoder *decoder, int socket);

/*
 * Sends `message` of the connection, with a descriptor that stays the caller's (-1: none). An
 * answer that cannot be delivered at once ends the connection: whoever does not read is not waited
 * for.
 */
void connection_answer(struct connection *c, uint64_t sequence, int fd);

/* The same with an error, which is logged, and recorded by the audit as a refusal. */
void connection_refuse(struct connection *c, uint64_t sequence, const struct yett_error *error);
/* The same with one that the audit was told of by the supervisor: that a sandbox which was granted
 * could not be made. */
void connection_refuse_told(struct connection *c, uint64_t sequence,
                            const struct yett_error *error);

/* Has the decoder print the connection's plan, and sends that. 0, or -errno when the decoder
 * failed: then the connection is to end. */
_must_check_ int connection_send_plan(struct connection *c, uint64_t sequence,
                                      struct yett_error *error);

/*
 * Before an answer that carries memory: what is sent and not read counts for us, not for the
 * client, and one that reads nothing is sent no more of it. 0 or RESOURCE_LIMIT.
 */
_must_check_ int connection_check_unread(struct connection *c, struct yett_error *error);

/*
 * Has the packet with descriptors that lies in the socket taken away, and what came with it.
 * Closing that may take as long as the client chose, so the monitor has a process do it: takes that
 * too long, the connection is over.
 */
void connection_drop(struct connection *c);

/* The same for what a sandbox was to take: if it has not. */
void connection_take_back(struct connection *c);

/* --- what it has to do with sandboxes; sandboxes.c --- */

/* in the making: more requests wait in the socket; each costs three processes */
#define SANDBOXES_PENDING_MAX 4

/* Whether one more can be begun or asked. 0, RESOURCE_LIMIT, or why this host can have none. */
_must_check_ int sandboxes_check(const struct connection *c, struct yett_error *error);

/*
 * Hands the connection's plan to a supervisor; its answer comes through the loop. Where the plan
 * has shares, the sandbox takes the client's packet itself. 0 or a code.
 */
_must_check_ int sandboxes_begin(struct connection *c, const struct decision *decision,
                                 uint64_t sequence, struct yett_error *error);

/* What the network of the decision goes by, for the monitor to keep until a plan comes, or what
 * sandboxes_ask() asks. 0 or a code. */
_must_check_ int sandboxes_tell_rules(const struct connection *c, const struct decision *decision,
                                      struct yett_error *error);

/*
 * Has the supervisor of one that is there asked; its answer comes through the loop. An action that
 * takes a channel gets an end of a new socket pair, and the client the other one with the answer.
 * The request's id is filled in. 0 or a code.
 */
_must_check_ int sandboxes_ask(struct connection *c, const struct record *record,
                               struct supervisor_request request, uint64_t sequence,
                               struct yett_error *error);

/* Has the supervisor of one that is there carry out the connection's plan, as sandboxes_begin() one
 * that is to be. 0 or a code. */
_must_check_ int sandboxes_mount(struct connection *c, const struct record *record,
                                 uint64_t sequence, struct yett_error *error);

/* Ends this connection's holds on it, as if the connection ended. 0 or NOT_RUNNING. */
_must_check_ int sandboxes_detach(struct connection *c, uint64_t sequence, const char *id,
                                  struct yett_error *error);

/* Ends this connection's holds on all of them. */
void sandboxes_leave(struct connection *c);

/* Reads what one of the supervisors says, if any does. */
void sandboxes_handle(struct connection *c);

/* --- event streams; streams.c --- */

/*
 * Passes on to the client what a supervisor tells on the socket `events` (consumed). The client's
 * end of the stream, or -errno. The stream ends with the sandbox, when the client closes its end,
 * and with the connection.
 */
_must_check_ int streams_add(struct connection *c, int events);

/* Sees to the stream that has this socket, if there is one. */
void streams_handle(struct connection *c, int fd);
