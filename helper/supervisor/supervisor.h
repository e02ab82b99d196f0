/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A supervisor: a process that carries out one plan and keeps that sandbox until it ends (life.h).
 *
 * Runs as root with the capabilities of PRIVILEGE_BUILD, few of which are effective while a sandbox
 * runs. It takes orders from one socket, which only a monitor holds (or the listener, to pass it on
 * to a monitor): a plan, descriptors, and end of file, which ends a sandbox that does not linger.
 * It must never parse anything that a client sent. A supervisor that the listener started, or a
 * monitor without root for a client that makes several sandboxes, is used again: when all of a
 * sandbox is gone, it offers itself for another sandbox of the same user.
 */
#pragma once

#include "helper/privilege/place.h"
#include "helper/setup/setup.h"

/*
 * Supervisor → monitor: the answer to a plan or an attach (`code` 0), or the refusal of any request
 * (`code` not 0). The answer to a plan comes with the exec channel; a dry run gets NOTICE_DONE with
 * the plan instead. The answer to an attach has no descriptor, because the monitor has the channel
 * already. A refusal comes with the plan, if the request had one.
 */
struct supervisor_created {
	int32_t code;
	uint32_t is_reported; /* The failure was reported to yett-audit. */
	struct yett_error error;
	uint32_t private_uid;
	struct init_layers layers;
};

/*
 * Supervisor → monitor. NOTICE_ENDED: the sandbox is gone, with everything in it except private
 * file systems with little data, which are still being unmounted.
 */
enum supervisor_notice_kind { NOTICE_STATE, NOTICE_ENDED, NOTICE_DONE };

struct supervisor_notice {
	uint32_t kind;
	uint32_t value; /* enum sandbox_state, enum ended_reason, or 0 */
};

/*
 * Monitor → supervisor, over registry_connect(). An ATTACH comes with init's end of a new exec
 * channel, a FOLLOW with the supervisor's end of a new event stream, a NETWORK with the sealed
 * rules. supervisor_order() sends a MOUNT, with its plan.
 */
struct supervisor_request {
	/*
	 * If this is not the id of the present sandbox, the connection is closed without an answer.
	 */
	char id[PLAN_ID_SIZE];
	uint32_t action; /* enum manage_action, from ATTACH on */
	/*
	 * Bits 1 << enum sandbox_state. In any other state the request is refused with NOT_RUNNING.
	 */
	uint32_t states;
	struct plan_asker asker;
	/*
	 * For a NETWORK: the number of changes in the record when the rules were made. If the
	 * record has another number by now, the request is refused: another change came first.
	 */
	uint32_t changes;
};

/*
 * Supervisor → the process that started it, on the socket `pool`, with a new socket for orders: the
 * supervisor can serve another sandbox of this user.
 */
struct supervisor_ready {
	uid_t uid;
	uint32_t profile;    /* of the expected next request */
	uint64_t generation; /* of the policy that it has */
};

/* For a supervisor that is started before there is an order. */
struct supervisor_ahead {
	int pool;
	/* The expected request: its profile and user. */
	uint32_t profile;
	uid_t uid;
	gid_t gid;
};

/*
 * Forks a supervisor into `place`. If `ahead` is NULL, the supervisor waits for one order and exits
 * when the sandbox of that order is gone. Otherwise it prepares the expected sandbox before an
 * order comes, announces itself on ahead->pool after each sandbox, and exits when its socket is
 * closed. Returns the pid, which the caller must reap, or -errno. `ret_socket` is for
 * supervisor_order(); the supervisor sends a supervisor_created on it and, later, notices.
 */
_must_check_ pid_t supervisor_start(const struct setup_host *host, const struct place *place,
                                    const struct supervisor_ahead *ahead, int *ret_socket);

struct frame;

/*
 * Sends a plan. `rules` is a memfd with the plan's network rules, which this function seals; -1:
 * the plan has none. `connection` is the client's connection, whose next packet has the shares; -1:
 * the plan has none. Both are borrowed. `request` names an existing sandbox; NULL: make a new one.
 * Returns 0 or -errno.
 */
_must_check_ int supervisor_order(int socket, const struct supervisor_request *request,
                                  const struct plan *plan, int rules, int connection);

/*
 * Moves the descriptors of a packet that supervisor_order() sent from `frame` into `order`, which
 * is SETUP_NO_ORDER before. None stays in `frame`. Returns 0 or -errno.
 */
_must_check_ int supervisor_take_order(struct frame *frame, struct setup_order *order);

/*
 * Starts a child that removes what killed supervisors have left, which may take a while. Returns
 * its pid, or -1.
 */
pid_t supervisor_start_sweep(const struct setup_host *host);
