/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a client, as the parts of the decider share it, and the answers to the client.
 * requests.c serves the client, sandboxes.c the supervisors of its sandboxes, streams.c its event
 * streams. Runs without privilege.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "programs/decide/decider/authorize.h"
#include "programs/decide/decider/verify.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

/* A sandbox that this connection made or attached to, or about which it has asked a supervisor. */
struct sandbox {
	int supervisor;    /* socket: answers with a supervisor_created and, later, notices */
	uint64_t sequence; /* of the request */
	uint32_t action;   /* enum manage_action; 0 for a create: no supervisor gets that action */
	bool is_created;
	int channel; /* attach: the client's end; follow: the decider's end; else -1 */
	char id[PLAN_ID_SIZE];
	char profile[MESSAGE_NAME_MAX + 1];
	char hostname[MESSAGE_HOSTNAME_MAX + 1];
	char weaker[PLAN_WEAKER_SIZE];
	struct message_limits limits;
	uint64_t command_ms, command_max_ms;
	uint32_t network; /* enum plan_network */
	uint32_t changes; /* how often its rules had changed when the request was sent */
};

struct stream; /* streams.c */

struct connection {
	const struct decider_begin *begin;
	const struct plan_limits *given; /* the helper's own limits; 0: no bound */
	const struct policy *policy;
	struct decoder *decoder;
	int socket;
	struct peer peer;
	struct account account;
	struct verify_context verify;
	struct frame *frame; /* mapped; its pages are released while the connection is idle */
	/* The client's packet has descriptors and is still in the socket: requests.c. */
	bool has_fds;
	/* The socket of the supervisor that may receive that packet, until it answers; else -1. */
	int taker;
	/* The first bytes of that packet, which no other packet has. */
	uint8_t head[ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE];
	struct message *message; /* mapped like `frame`: requests and answers */
	struct plan *plan;       /* mapped like `frame` */
	struct sandbox *sandboxes;
	size_t sandboxes_count, pending; /* pending: those whose supervisor has not answered yet */
	struct stream *streams;
	size_t streams_count;
	/*
	 * epoll(7): the sockets of supervisors and streams. The cost of a turn of the loop does not
	 * depend on their number.
	 */
	int supervisors;
	unsigned memory_sent, refusals;
	uint64_t since_ms;
	bool is_known; /* an enrolled key has signed a request of this client */
	bool is_over;
};

/*
 * Sends the connection's `message`, with a descriptor that stays the caller's (-1: none). Ends the
 * connection if the socket cannot take the answer at once: the decider does not wait for a client
 * that does not read.
 */
void connection_answer(struct connection *c, uint64_t sequence, int fd);

/* Sends an error to the client. The monitor logs the error, and the audit records a refusal. */
void connection_refuse(struct connection *c, uint64_t sequence, const struct yett_error *error);
/*
 * Sends the client the error of a supervisor that could not make a granted sandbox. The supervisor
 * has already recorded this error in the audit, so the monitor only logs it.
 */
void connection_refuse_reported(struct connection *c, uint64_t sequence,
                                const struct yett_error *error);

/*
 * Has the decoder print the connection's plan, and sends the text. Returns 0, or -errno when the
 * decoder failed: then the caller must end the connection.
 */
_must_check_ int connection_send_plan(struct connection *c, uint64_t sequence,
                                      struct yett_error *error);

/*
 * Call before an answer that carries a memfd. The kernel charges the memory of unread answers to
 * the decider, not to the client. So a client that does not read gets no more such answers. Returns
 * 0 or RESOURCE_LIMIT.
 */
_must_check_ int connection_check_unread(struct connection *c, struct yett_error *error);

/*
 * Has the monitor discard the packet with descriptors that is queued in the socket. To close those
 * descriptors may take as long as the client chose (SO_LINGER, socket(7)). So the monitor forks a
 * process for that, and the connection is over if the process takes too long.
 */
void connection_drop(struct connection *c);

/*
 * Call when the supervisor that may receive the client's packet has answered. If the supervisor has
 * not received the packet, discards it as connection_drop() does.
 */
void connection_take_back(struct connection *c);

/* --- sandboxes of the connection; sandboxes.c --- */

/*
 * At most this many sandboxes are being made at once. Further requests wait in the socket. Each
 * sandbox costs three processes.
 */
#define SANDBOXES_PENDING_MAX 4

/*
 * Checks that a further sandbox can be made or asked. Returns 0, RESOURCE_LIMIT, or the reason why
 * this host can have no sandboxes.
 */
_must_check_ int sandboxes_check(const struct connection *c, struct yett_error *error);

/*
 * Sends the connection's plan to a supervisor through the monitor. The supervisor's answer arrives
 * later, in sandboxes_handle(). If the plan has shares, the supervisor's mount-clone child receives
 * the client's packet itself. Returns 0, a code or -ENOMEM.
 */
_must_check_ int sandboxes_begin(struct connection *c, const struct decision *decision,
                                 uint64_t sequence, struct yett_error *error);

/*
 * Sends the network rules of the decision to the monitor, which keeps them for the next plan or for
 * the next request of sandboxes_ask(). Returns 0, a code or -ENOMEM.
 */
_must_check_ int sandboxes_report_rules(const struct connection *c, const struct decision *decision,
                                        struct yett_error *error);

/*
 * Sends a request to the supervisor of an existing sandbox. The answer arrives later, in
 * sandboxes_handle(). For an action with a channel the monitor makes a socket pair: the supervisor
 * gets one end, and the decider keeps the other for the answer. Fills in the id of `request`.
 * Returns 0 or a code.
 */
_must_check_ int sandboxes_ask(struct connection *c, const struct record *record,
                               struct supervisor_request request, uint64_t sequence,
                               struct yett_error *error);

/*
 * Has the supervisor of an existing sandbox carry out the connection's plan, which planning_mount()
 * made. Otherwise as sandboxes_begin(). Returns 0 or a code.
 */
_must_check_ int sandboxes_mount(struct connection *c, const struct record *record,
                                 uint64_t sequence, struct yett_error *error);

/*
 * Detaches this connection from the sandbox `id`, as if the connection ended. Returns 0, or
 * NOT_RUNNING when the connection is not attached.
 */
_must_check_ int sandboxes_detach(struct connection *c, uint64_t sequence, const char *id,
                                  struct yett_error *error);

/* Detaches this connection from all sandboxes. */
void sandboxes_leave(struct connection *c);

/* Handles one packet of a supervisor or stream, if there is one. Never waits. */
void sandboxes_handle(struct connection *c);

/* --- event streams; streams.c --- */

/*
 * Starts an event stream that forwards the packets of a supervisor on the socket `events`
 * (consumed). Returns the client's end of the stream, or -errno. The stream ends with the sandbox,
 * or when the client closes its end; it outlives the connection.
 */
_must_check_ int streams_add(struct connection *c, int events);

/* Handles the stream that has the socket `fd`, if there is one. */
void streams_handle(struct connection *c, int fd);
