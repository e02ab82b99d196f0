/*
 * What is asked about sandboxes that are there: one table of the actions, and the only place that
 * decides who may take which.
 *
 * In the decider, without privilege: of other users' sandboxes a monitor tells it nothing. Whose
 * sandboxes a client may manage is authorize_manage()'s to say; what it may not manage is, in every
 * answer, not there. What no row of the table allows is refused.
 */
#pragma once

#include "programs/decider/connection.h"

/* Who may: nobody, unless it is said. Managers are those whom authorize_manager() lets pass. */
enum manage_who { WHO_NOBODY = 0, WHO_MANAGER, WHO_ADMINISTRATOR };

/* Of what it can be asked: of one sandbox that is named; of all of the client's; of all users'. */
enum manage_scope { SCOPE_ONE, SCOPE_OWN, SCOPE_EVERYBODY, SCOPES };

struct manage_asked; /* one that was allowed; manage.c */

struct manage_row {
	const char *name;
	enum manage_who who[SCOPES];
	bool sends_memory; /* its answer carries memory, of which a client that does not read is
	                      sent no more: connection_check_unread() */
	unsigned states;   /* bits 1 << enum sandbox_state, in which a supervisor acts on it:
	                      supervisor_request */
	int (*handle)(const struct manage_asked *asked, struct yett_error *error);
};

/* The row of an action, by any number; one that says nothing where there is none. */
const struct manage_row *manage_find_row(uint32_t action);

/*
 * Whether the table allows it: 0, INVALID_REQUEST for a scope that the action does not have,
 * PERMISSION_DENIED for an administrator's. Pure.
 */
_must_check_ int manage_decide(const struct manage_row *row, enum manage_scope scope,
                               bool is_administrator, struct yett_error *error);

/*
 * The rules in the memory of a sandbox, a struct egress_rules, as a listing in sealed memory, with
 * the message that says how many there are in `c`; `changes` is for that. A descriptor; -errno,
 * with the error: they are none.
 */
_must_check_ int manage_list_rules(struct connection *c, int memory, uint32_t changes,
                                   struct yett_error *error);

/* The whole way of a verified request about sandboxes that are there: 0, answered or with the
 * answer to come; else the refusal. */
_must_check_ int manage_handle(struct connection *c, const struct verified *verified,
                               uint64_t sequence, struct yett_error *error);

/*
 * The record of the sandbox `wanted`, an id or a name, if the client may manage it and it is its
 * user's own: what is shared with another user's sandbox is that user's policy to say. 0 or a code.
 */
_must_check_ int manage_find_own(struct connection *c, const struct verified *verified,
                                 const char *wanted, struct record *ret_record,
                                 struct yett_error *error);
