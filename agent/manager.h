/*
 * Which way a request is run: executors by name and tier, chosen by what the request needs and this
 * host and policy have.
 *
 * Every one of them runs things in sandboxes: a tier is a profile, which the settings name; how
 * tells whose sandbox it is. With the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

enum manager_how {
	MANAGER_PROCESS = 0, /* one more process in the sandbox that the tier keeps, with what was
	                        left in it */
	MANAGER_SANDBOX = 1, /* a sandbox of its own, which is gone with it */
	MANAGER_IMAGE = 2,   /* a root of its own */
};

struct executor {
	const char *name, *tier;
	enum manager_how how;
};

/* Those that are chosen first stand first; ends with a row without name. */
extern const struct executor executors[];

struct manager;

/* What a request says; each text may be NULL, which is: it does not. */
struct manager_need {
	const char *executor, *tier, *image;
	bool is_kept; /* what it leaves is to be there for the next one */
};

/* NULL: no memory. */
struct manager *manager_new(struct agent *agent);
void manager_free(struct manager *manager);

/* "process", "sandbox", "image" */
const char *manager_how_name(enum manager_how how);

/* YETT_E_NOT_FOUND: there is no such executor; YETT_E_UNSUPPORTED: none can do that, and why. */
_must_check_ int manager_choose(struct manager *manager, const struct manager_need *need,
                                const struct executor **ret_executor, struct yett_error *error);

/* 0, or why it cannot be used here. Known for a while once it was asked: the helper is asked for a
 * plan of the tier's profile. */
_must_check_ int manager_support(struct manager *manager, const struct executor *executor,
                                 struct yett_error *error);

/* What is known of support is asked for anew, as after a change of the settings. */
void manager_forget(struct manager *manager);

/* The sandbox that the tier of an executor keeps; NULL: none. One of a profile that the settings do
 * not name any more is ended. */
const char *manager_kept(struct manager *manager, const struct executor *executor);
/* `sandbox` NULL: there is none any more. */
void manager_keep(struct manager *manager, const struct executor *executor, const char *sandbox);

/* By which executor an execution was run. NULL: it was not asked for by this way. */
void manager_note(struct manager *manager, const char *id, const struct executor *executor);
const struct executor *manager_noted(const struct manager *manager, const char *id);
