/*
 * The event log: the latest events of sandboxes, and requests that this program was refused.
 *
 * A sandbox is followed from when it is made, or first asked about. Runs with the caller's
 * privilege.
 */
#pragma once

#include "agent/agent.h"

#define HAPPENINGS_MAX        2000 /* the oldest are dropped first */
#define HAPPENINGS_DENIED_MAX 8

/* The members of an event, as the operation `events` and HTTP's /v1/events return it. */
extern const struct field happening_fields[];

/* Called for each new event; `json` is borrowed. The callback must not add or free a listener. */
typedef void (*happening_fn)(const json_t *json, uint64_t number, void *data);

struct happening_listener;

struct happenings *happenings_new(struct agent *agent);
void happenings_free(struct happenings *happenings);

/*
 * Follows a sandbox by id or name, unless it is followed already; `ret_id` receives its id. Returns
 * 0; YETT_E_NOT_FOUND; YETT_E_NOT_RUNNING: the sandbox has ended; YETT_E_RESOURCE_LIMIT: the
 * sandbox has too many followers, or this program follows too many sandboxes.
 */
_must_check_ int happenings_follow(struct agent *agent, const char *id_or_name,
                                   char ret_id[YETT_ID_SIZE], struct yett_error *error);

/*
 * Follows a sandbox that this program has just made or attached to, if possible. Following costs
 * about a third of the time of making a sandbox. A sandbox that ends with its call (`stays` is
 * false) is therefore followed only if it has network rules, or if all sandboxes are followed.
 */
void happenings_follow_box(struct agent *agent, const struct yett_sandbox_info *info, bool stays);

/*
 * Follows every running sandbox that the caller may manage, as far as possible, and from now on
 * every sandbox that this program makes.
 */
_must_check_ int happenings_follow_all(struct agent *agent, struct yett_error *error);

/*
 * Logs that the request described by `text` was refused. Does nothing if `error` is a failure, not
 * a refusal.
 */
void happenings_add_refusal(struct agent *agent, const char *text, const struct yett_error *error);

/* NULL: no memory. */
struct happening_listener *happenings_listen(struct agent *agent, happening_fn each, void *data);
void happenings_leave(struct happening_listener *listener);

/*
 * Events after number `after`, of one sandbox (NULL: of all), at most `max`, as a list that the
 * caller owns. `*ret_last` is the number of the last event considered.
 */
json_t *happenings_list(struct agent *agent, const char *sandbox, uint64_t after, size_t max,
                        uint64_t *ret_last);

/*
 * Connections that were denied to the sandbox with this id after event `after`, as far as they are
 * reported yet: a list of errors (problem.h), at most HAPPENINGS_DENIED_MAX, without duplicates,
 * owned by the caller. `*ret_is_cut`: there may be more.
 */
json_t *happenings_denied(struct agent *agent, const char *sandbox, uint64_t after,
                          bool *ret_is_cut);

/* The number of the last event. Reads pending events of `sandbox` first (NULL: none). */
uint64_t happenings_last(struct agent *agent, const char *sandbox);
