/*
 * The audit: what root's processes tell yett-audit of who was given which sandbox.
 *
 * yett-audit (programs/audit/) writes it down and says when that is on disk; it has an id of its
 * own and reads nothing that a client sent. These are structs of fixed size, told by the supervisor
 * of a sandbox and by a connection's monitor. With their privilege; a socket in root's own
 * directory, on which nobody else can connect.
 */
#pragma once

#include "helper/setup/registry.h"

#define AUDIT_SOCKET "audit" /* registry_connect(), registry_listen() */

enum audit_kind {
	AUDIT_CREATE = 1, /* a sandbox is about to be made. With it comes the memory of its plan,
	                     and that of its network's rules */
	AUDIT_FAILED,     /* it could not be: `error`. With it comes the memory of its plan, which
	                     error_key() refers to */
	AUDIT_ENDED,      /* it has: `sandbox` and `usage`, as they were last */
	AUDIT_ACT, /* something is asked of it: `action`. With a MOUNT comes a plan, with a NETWORK
	              the rules */
	AUDIT_REFUSED, /* a request: `error` */
	AUDIT_POLICY,  /* a policy is in force. With it comes its image */
	AUDIT_FOLLOW,  /* what happens in it is to be written down. With it comes a stream of that:
	                  helper/supervisor/events.h */
};

/* One packet: yett-audit answers with an int32_t, 0 when it is on disk, else an errno. */
struct audit_record {
	uint32_t kind;   /* enum audit_kind */
	uint32_t action; /* of an ACT: enum manage_action; of a FOLLOW: the number of the last event
	                    before */
	struct plan_asker asker; /* of ENDED and POLICY: nobody */
	char id[PLAN_ID_SIZE];   /* of the sandbox; empty: it is about none */
	struct yett_error error; /* code 0: none */
	struct record sandbox;
	struct cgroup_usage usage;
};

struct setup_host;
struct setup;

/*
 * Tells it, with so many descriptors. A socket, for audit_await(); -ENOENT where the policy says
 * that there is no audit, or there is no root; or -errno. Does not wait.
 */
int audit_tell(const struct setup_host *host, const struct audit_record *record, const int *fds,
               size_t count);

/* The same of the sandbox of `setup`: its id, how it is, and what it has used are filled in. That
 * it has to be told of its end is noted. */
int audit_tell_of(struct setup *setup, struct audit_record *record, const int *fds, size_t count);

/* Waits until what setup->audit was told is on disk, if there is anything to wait for. Else the
 * next sweep tells of the end. */
void audit_settle(struct setup *setup);

/*
 * Waits until what audit_tell() gave this `socket` for (consumed) is on disk. 0, or there is
 * nothing to wait for; -errno: it is not, and the policy lets that be, or HELPER_UNAVAILABLE where
 * it does not.
 */
_must_check_ int audit_await(const struct setup_host *host, int socket, struct yett_error *error);

/*
 * Lets go of such a socket (consumed) when what was told is taken, or a second has passed: for what
 * is done anyway. Who told without end and waited for nothing would fill the queue in which all
 * others wait.
 */
void audit_leave(int socket);
