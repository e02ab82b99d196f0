/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about existing sandboxes: one table of actions, and the only place that decides who may
 * use which.
 *
 * In the decider, without privilege. The monitor sends no records of sandboxes that the peer may
 * not see. authorize_manage() decides which sandboxes a client may manage; in every answer all
 * others appear not to exist. An action that no row of the table allows is refused.
 */
#pragma once

#include "programs/decide/decider/connection.h"

/* Nobody is the default. A manager is a client that authorize_manager() accepts. */
enum manage_who { WHO_NOBODY = 0, WHO_MANAGER, WHO_ADMINISTRATOR };

/* The scope is one named sandbox, all sandboxes of the client's user, or those of all users. */
enum manage_scope { SCOPE_ONE, SCOPE_OWN, SCOPE_EVERYBODY, SCOPES };

struct manage_asked; /* an allowed request; manage.c */

struct manage_row {
	const char *name;
	enum manage_who who[SCOPES];
	bool sends_memory; /* the answer has a memfd, so connection_check_unread() comes first */
	/* Bits 1 << enum sandbox_state: the supervisor acts only in these. supervisor_request */
	unsigned states;
	int (*handle)(const struct manage_asked *asked, struct yett_error *error);
};

/* The row of the action; for an unknown number a row that allows nothing. */
const struct manage_row *manage_find_row(uint32_t action);

/*
 * Decides whether the table allows the action with this scope. Returns 0; INVALID_REQUEST if the
 * action does not have that scope; PERMISSION_DENIED if only an administrator may use it. Pure.
 */
_must_check_ int manage_decide(const struct manage_row *row, enum manage_scope scope,
                               bool is_administrator, struct yett_error *error);

/*
 * Makes a listing of the network rules in `memory`, which has a struct egress_rules. Returns a
 * sealed memfd, and leaves a MESSAGE_LISTING with the number of rules and with `changes` in the
 * message of `c`. Returns -errno and sets `error` if the memory holds no valid rules or the memfd
 * cannot be made.
 */
_must_check_ int manage_list_rules(struct connection *c, int memory, uint32_t changes,
                                   struct yett_error *error);

/*
 * Handles a verified MESSAGE_MANAGE. Returns 0 if the answer has been sent or comes later from a
 * supervisor; else the code of the refusal.
 */
_must_check_ int manage_handle(struct connection *c, const struct verified *verified,
                               uint64_t sequence, struct yett_error *error);

/*
 * Finds the record of the sandbox `wanted`, an id or a name. The client must be allowed to manage
 * the sandbox, and the sandbox must belong to the client's user: only the grants of its owner say
 * what may be mounted in a sandbox. Returns 0 or a code.
 */
_must_check_ int manage_find_own(struct connection *c, const struct verified *verified,
                                 const char *wanted, struct record *ret_record,
                                 struct yett_error *error);
