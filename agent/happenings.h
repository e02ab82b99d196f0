/*
 * What happens in sandboxes, and what this program was refused: the latest of it, for those who ask
 * and those who listen.
 *
 * A sandbox is followed from when it is made, or first asked about. With the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

#define HAPPENINGS_MAX        2000 /* the oldest go first */
#define HAPPENINGS_DENIED_MAX 8

/* The members of one, as the operation `events` and HTTP's /v1/events give it. */
extern const struct field happening_fields[];

/* Told of each as it comes; `json` is borrowed. Nothing is listened to, and no listener freed, in
 * it. */
typedef void (*happening_fn)(const json_t *json, uint64_t number, void *data);

struct happening_listener;

struct happenings *happenings_new(struct agent *agent);
void happenings_free(struct happenings *happenings);

/*
 * Follows a sandbox, by its id or name, unless it is followed; `ret_id` is its id.
 * YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING: it has ended; YETT_E_RESOURCE_LIMIT: as many follow it as
 * may, or too many are followed here.
 */
_must_check_ int happenings_follow(struct agent *agent, const char *id_or_name,
                                   char ret_id[YETT_ID_SIZE], struct yett_error *error);

/*
 * Follows a sandbox that this program has just made or been let into, if it can be followed. That
 * takes as long as a third of making it: one that ends with its call (`stays` is false) is followed
 * where it can be kept from connections, or all are.
 */
void happenings_follow_box(struct agent *agent, const struct yett_sandbox_info *info, bool stays);

/* Follows all that the caller may manage and that run, as far as they can be followed, and from now
 * on all that this program makes. */
_must_check_ int happenings_follow_all(struct agent *agent, struct yett_error *error);

/* Adds that what `text` says was refused to a request; nothing where `error` is no refusal, but a
 * failure. */
void happenings_add_refusal(struct agent *agent, const char *text, const struct yett_error *error);

/* NULL: no memory. */
struct happening_listener *happenings_listen(struct agent *agent, happening_fn each, void *data);
void happenings_leave(struct happening_listener *listener);

/* Those after the number `after`, of one sandbox (NULL: of all), at most `max`: a list, the
 * caller's. *ret_last is the number of the last.
 */
json_t *happenings_list(struct agent *agent, const char *sandbox, uint64_t after, size_t max,
                        uint64_t *ret_last);

/*
 * What the sandbox of that id was kept from reaching after the number `after`, as far as it was
 * told yet: a list of problems (problem.h), HAPPENINGS_DENIED_MAX at most, none twice; the
 * caller's. `*ret_is_cut`: there may be more.
 */
json_t *happenings_denied(struct agent *agent, const char *sandbox, uint64_t after,
                          bool *ret_is_cut);

/* The number of the last one; what was told of that sandbox (NULL: of any) is heard first. */
uint64_t happenings_last(struct agent *agent, const char *sandbox);
