/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit: what root's processes report to yett-audit about who was given which sandbox.
 *
 * The listener, monitors and supervisors send structs of fixed size, with their own privilege, on a
 * socket in root's directory: no other user can connect to it. yett-audit (programs/audit/) writes
 * each record to disk and answers when it is there. yett-audit has its own id and reads nothing
 * that a client sent.
 */
#pragma once

#include "helper/setup/registry.h"

#define AUDIT_SOCKET "audit" /* registry_connect(), registry_listen() */

enum audit_kind {
	/*
	 * a sandbox is about to be made; carries the memory of its plan and of its network's rules
	 */
	AUDIT_CREATE = 1,
	/*
	 * the sandbox could not be made: `error`; carries the memory of its plan, which error_key()
	 * refers to
	 */
	AUDIT_FAILED,
	AUDIT_ENDED, /* the sandbox ended: `sandbox` and `usage` in their last state */
	/* a request about the sandbox: `action`; MOUNT carries a plan, NETWORK the rules */
	AUDIT_ACT,
	AUDIT_REFUSED, /* a request was refused: `error` */
	AUDIT_POLICY,  /* a policy is in force; carries its image */
	/* record the events of the sandbox; carries a stream of them: helper/supervisor/events.h */
	AUDIT_FOLLOW,
};

/*
 * One packet. yett-audit answers with an int32_t: 0 when the record is on disk, otherwise an errno.
 */
struct audit_record {
	uint32_t kind; /* enum audit_kind */
	/* for ACT: enum manage_action; for FOLLOW: the number of the last event before */
	uint32_t action;
	struct plan_asker asker; /* unset for ENDED and POLICY */
	char id[PLAN_ID_SIZE];   /* of the sandbox; empty: the record is about none */
	struct yett_error error; /* code 0: no error */
	struct record sandbox;
	struct cgroup_usage usage;
};

struct setup_host;
struct setup;

/*
 * Sends a record with `count` descriptors (borrowed), without waiting. Returns a socket for
 * audit_await(); -ENOENT where there is no audit, by the policy or because the helper is rootless;
 * or -errno.
 */
int audit_report(const struct setup_host *host, const struct audit_record *record, const int *fds,
                 size_t count);

/*
 * Does the same for the sandbox of `setup`: fills in its id, its record and its usage. For CREATE,
 * notes in the record of `setup` that the end must be reported as well.
 */
int audit_report_of(struct setup *setup, struct audit_record *record, const int *fds, size_t count);

/*
 * Waits for the answer on setup->audit, if there is such a socket, and then notes that the end is
 * recorded. If the end is not recorded, the next sweep reports it.
 */
void audit_settle(struct setup *setup);

/*
 * Waits until the record that was sent on `socket` (from audit_report(), consumed) is on disk.
 * Returns 0 if it is, or if there is no audit; -errno if it is not and the policy tolerates that;
 * or HELPER_UNAVAILABLE if it is not and the policy requires the record.
 */
_must_check_ int audit_await(const struct setup_host *host, int socket, struct yett_error *error);

/*
 * Closes the socket (consumed) of a record of something that is done in any case, after the answer
 * or after 1 s. The wait slows down a client that causes such records in a loop: without it, that
 * client could fill the queue in which all others wait.
 */
void audit_leave(int socket);
