/*
 * A supervisor: a process that carries out one plan and then keeps that sandbox until it ends
 * (life.h).
 *
 * Root, with the capabilities of PRIVILEGE_BUILD, few of which are effective while the sandbox
 * runs. One that the listener started, or a monitor without root for a client that makes several,
 * is used again for sandboxes of the same user: it puts itself at their disposal when all of a
 * sandbox is gone. It takes orders from one socket, which only a monitor (or the listener, to hand
 * it to a monitor) holds, and parses nothing of a client's: a plan, descriptors, and end of file,
 * which ends a sandbox that does not linger.
 */
#pragma once

#include "helper/privilege/place.h"
#include "helper/setup/setup.h"

/*
 * Supervisor → monitor: the answer to a plan, with the exec channel if `code` is 0 (to a dry one a
 * NOTICE_DONE, with the plan); the answer to an attach, whose channel the monitor has itself; and,
 * if `code` is not 0, the refusal of any request, with the plan if there was one.
 */
struct supervisor_created {
	int32_t code;
	uint32_t is_told; /* to the audit: that it failed */
	struct yett_error error;
	uint32_t private_uid;
	struct init_layers layers;
};

/* Supervisor → monitor. ENDED: the sandbox is gone, and everything of it but file systems of its
 * own with little in them. */
enum supervisor_notice_kind { NOTICE_STATE, NOTICE_ENDED, NOTICE_DONE };

struct supervisor_notice {
	uint32_t kind;
	uint32_t value; /* enum sandbox_state, enum ended_reason, 0 */
};

/*
 * Monitor → supervisor, over registry_connect(); with an attach comes init's end of the new
 * channel, with a NETWORK sealed rules, and after a MOUNT the plan, by supervisor_order().
 */
struct supervisor_request {
	char id[PLAN_ID_SIZE]; /* no answer but the end of the connection when this is not the
	                          sandbox here */
	uint32_t action;       /* enum manage_action, from ATTACH on */
	uint32_t
		states; /* bits 1 << enum sandbox_state: in others it is refused with NOT_RUNNING */
	struct plan_asker asker;
	uint32_t changes; /* of a NETWORK: as the record had it when the rules were made; else
	                     somebody was quicker */
};

struct supervisor {
	pid_t pid;  /* to be reaped by whoever started it; 0: somebody else did */
	int socket; /* for supervisor_order(); answers with a supervisor_created and, later, notices
	             */
};

/* Supervisor → who started it, on the socket `pool`, with a new socket for orders: ready for
 * another sandbox of this user. */
struct supervisor_ready {
	uid_t uid;
	uint32_t profile;    /* that it expects to be asked for */
	uint64_t generation; /* of the policy that it knows */
};

/* Of one that is started before there is an order. */
struct supervisor_ahead {
	int pool;
	uint32_t profile; /* that is expected, and of whom */
	uid_t uid;
	gid_t gid;
};

/*
 * Forks a supervisor into `place`, which waits for an order. With `ahead` (else NULL) it prepares
 * itself at once, announces itself at the pool after each sandbox, and ends when nobody takes it. 0
 * or -errno.
 */
_must_check_ int supervisor_start(const struct setup_host *host, const struct place *place,
                                  const struct supervisor_ahead *ahead,
                                  struct supervisor *ret_supervisor);

struct frame;

/*
 * Sends a plan; for one with a network its `rules` (memory, which is sealed), and for one with
 * shares the `connection` whose next packet has them; both borrowed, else -1. With a request, for a
 * sandbox that is there; else NULL. 0 or -errno.
 */
_must_check_ int supervisor_order(int socket, const struct supervisor_request *request,
                                  const struct plan *plan, int rules, int connection);

/* What came with such a packet, of which nothing is left then; `order` is SETUP_NO_ORDER before. 0
 * or -errno. */
_must_check_ int supervisor_take_order(struct frame *frame, struct setup_order *order);

/* Sees to what supervisors that were killed have left, in a child of its own: it may take a while
 * to go. The child, or -1. */
pid_t supervisor_start_sweep(const struct setup_host *host);
