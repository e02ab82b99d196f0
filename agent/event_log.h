/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: the latest events of sandboxes, and requests that this program was refused.
 *
 * A sandbox is followed from when it is made, or first asked about. Runs with the caller's
 * privilege.
 */
#pragma once

#include "agent/agent.h"

#define EVENT_LOG_MAX        2000 /* the oldest are dropped first */
#define EVENT_LOG_DENIED_MAX 8

/* The members of an event, as the operation `events` and HTTP's /v1/events return it. */
extern const struct field event_fields[];

/* Called for each new event; `json` is borrowed. The callback must not add or free a listener. */
typedef void (*event_fn)(const json_t *json, uint64_t number, void *data);

struct event_listener;

struct event_log *event_log_new(struct agent *agent);
void event_log_free(struct event_log *event_log);

/*
 * Follows a sandbox by id or name, unless it is followed already; `ret_id` receives its id. Returns
 * 0; YETT_E_NOT_FOUND; YETT_E_NOT_RUNNING: the sandbox has ended; YETT_E_RESOURCE_LIMIT: the
 * sandbox has too many followers, or this program follows too many sandboxes.
 */
_must_check_ int event_log_follow(struct agent *agent, const char *id_or_name,
                                  char ret_id[YETT_ID_SIZE], struct yett_error *error);

/*
 * Follows a sandbox that this program has just made or attached to, if possible. Following costs
 * about a third of the time of making a sandbox. A sandbox that ends with its call (`stays` is
 * false) is therefore followed only if it has network rules, or if all sandboxes are followed.
 */
void event_log_follow_handle(struct agent *agent, const struct yett_sandbox_info *info, bool stays);

/*
 * Follows every running sandbox that the caller may manage, as far as possible, and from now on
 * every sandbox that this program makes.
 */
_must_check_ int event_log_follow_all(struct agent *agent, struct yett_error *error);

/*
 * Logs that the request described by `text` was refused. Does nothing if `error` is a failure, not
 * a refusal.
 */
void event_log_add_refusal(struct agent *agent, const char *text, const struct yett_error *error);

/* NULL: no memory. */
struct event_listener *event_log_listen(struct agent *agent, event_fn each, void *data);
void event_log_leave(struct event_listener *listener);

/*
 * Events after number `after`, of one sandbox (NULL: of all), at most `max`, as a list that the
 * caller owns. `*ret_last` is the number of the last event considered.
 */
json_t *event_log_list(struct agent *agent, const char *sandbox, uint64_t after, size_t max,
                       uint64_t *ret_last);

/*
 * Connections that were denied to the sandbox with this id after event `after`, as far as they are
 * reported yet: a list of errors (problem.h), at most EVENT_LOG_DENIED_MAX, without duplicates,
 * owned by the caller. `*ret_is_cut`: there may be more.
 */
json_t *event_log_denied(struct agent *agent, const char *sandbox, uint64_t after,
                         bool *ret_is_cut);

/* The number of the last event. Reads pending events of `sandbox` first (NULL: none). */
uint64_t event_log_last(struct agent *agent, const char *sandbox);
