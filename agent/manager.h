/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: the ways to run a request, by name and tier. Chooses one by what the request needs and
 * what this host and the policy support.
 *
 * Every executor runs programs in sandboxes. The tier selects a profile, which the settings name;
 * `how` says which sandbox is used. Runs with the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

enum manager_how {
	/*
	 * A process in the sandbox that is kept for this executor, with the files and state that
	 * earlier requests left.
	 */
	MANAGER_PROCESS = 0,
	MANAGER_SANDBOX = 1, /* a new sandbox, which ends with the request */
	MANAGER_IMAGE = 2,   /* a root file system of its own */
};

struct executor {
	const char *name, *tier;
	enum manager_how how;
};

/* In order of preference; ends with a row without a name. */
extern const struct executor executors[];

struct manager;

/* The needs of a request. NULL strings: not specified. */
struct manager_need {
	const char *executor, *tier, *image;
	bool is_kept; /* later requests must find what this one leaves */
};

/* NULL: no memory. */
struct manager *manager_new(struct agent *agent);
void manager_free(struct manager *manager);

/* "process", "sandbox", "image" */
const char *manager_how_name(enum manager_how how);

/*
 * Chooses an executor. Returns 0; YETT_E_NOT_FOUND: no executor matches the request; or the error
 * that keeps the last matching one from being used, such as YETT_E_UNSUPPORTED.
 */
_must_check_ int manager_choose(struct manager *manager, const struct manager_need *need,
                                const struct executor **ret_executor, struct yett_error *error);

/*
 * Returns 0, or the error that keeps the executor from being used here. The check requests a plan
 * for the tier's profile from the helper; the result is cached.
 */
_must_check_ int manager_support(struct manager *manager, const struct executor *executor,
                                 struct yett_error *error);

/* Clears the cached results of manager_support(), for example after a change of the settings. */
void manager_forget(struct manager *manager);

/*
 * The id of the sandbox that is kept for this executor; NULL: none. Ends a kept sandbox whose
 * profile the settings no longer name.
 */
const char *manager_kept(struct manager *manager, const struct executor *executor);
/* Sets the kept sandbox. `sandbox` NULL: there is none any more. */
void manager_keep(struct manager *manager, const struct executor *executor, const char *sandbox);

/*
 * Records which executor ran an execution. manager_noted() returns NULL for an execution that was
 * not recorded.
 */
void manager_note(struct manager *manager, const char *id, const struct executor *executor);
const struct executor *manager_noted(const struct manager *manager, const char *id);
