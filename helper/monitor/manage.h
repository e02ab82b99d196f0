/*
 * What is asked about sandboxes that are there: which of them a client may manage, telling of them, and asking their supervisors.
 *
 * In the monitor, without effective privilege but to send a descriptor. Who may manage what is authorize_manage()'s to say;
 * what a client may not manage is, in every answer, not there.
 */
#pragma once

#include "helper/monitor/authorize.h"
#include "helper/supervisor/supervisor.h"

/* The one that the request names, by its id or by its name among the client's own. 0, NOT_FOUND, INVALID_REQUEST. */
_must_check_ int manage_find(const struct setup_host *host, const struct verified *verified, struct record *ret_record,
			     struct yett_error *error);

/* All that the request may see, as a sealed memfd in the form of PROTOCOL.md, "listing". 0, -errno or a code. */
_must_check_ int manage_list(const struct setup_host *host, const struct verified *verified, int *ret_memfd,
			     uint32_t *ret_count, struct yett_error *error);

/* What the helper has done for all users. 0, PERMISSION_DENIED, INVALID_REQUEST. */
_must_check_ int manage_totals(const struct setup_host *host, const struct verified *verified, struct message_totals *ret_totals,
			       struct yett_error *error);

/*
 * Asks its supervisor, without waiting: a descriptor on which the answer comes, or -errno. `channel`, -1 or init's end of a new
 * channel, is borrowed.
 */
_must_check_ int manage_ask(const struct setup_host *host, const struct record *record, enum manage_action action, int channel);
