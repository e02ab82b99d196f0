/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandbox requests: converts the fields of a request to options of libyett.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/agent.h"
#include "agent/sandbox_words.h"

extern const struct field sandbox_request_share_fields[];

/* Rows for the tables of operations that make a sandbox. */
#define SANDBOX_REQUEST_FIELDS                                                                                          \
	{"profile", FIELD_TEXT, FIELD_NULLABLE,                                                                         \
	 1,         64,         "The profile of the policy by which the sandbox is made"},                              \
		{"tier", FIELD_CHOICE, FIELD_NULLABLE, .choices = sandbox_words_tiers,                                  \
	         .description =                                                                                         \
	                 "Instead of profile: the profile that the settings name light or strong"},                     \
		{"shares",                                                                                              \
	         FIELD_OBJECTS,                                                                                         \
	         FIELD_NULLABLE,                                                                                        \
	         0,                                                                                                     \
	         SANDBOX_WORDS_SHARES_MAX,                                                                              \
	         "Directories and files of the host that are to be seen inside",                                        \
	         .fields = sandbox_request_share_fields},                                                               \
		{"network", FIELD_CHOICE, FIELD_NULLABLE, .choices = sandbox_words_networks,                            \
	         .description =                                                                                         \
	                 "The kind of network, within the bounds of the agent. Default: that of the profile, or none"}, \
		{"allow",                                                                                               \
	         FIELD_TEXTS,                                                                                           \
	         FIELD_NULLABLE,                                                                                        \
	         0,                                                                                                     \
	         256,                                                                                                   \
	         "Further peers to allow: NAME:PORT, *.NAME:PORT, ADDRESS/BITS:PORT"},                                  \
		{"deny", FIELD_TEXTS, FIELD_NULLABLE,                                                                   \
	         0,      256,         "Peers to refuse, even if another rule allows them"},                             \
		{"memory_bytes", FIELD_NUMBER,                                                                          \
	         FIELD_NULLABLE, 1,                                                                                     \
	         INT64_MAX,      "The most memory of all its processes together"},                                      \
		{"cpus", FIELD_REAL, FIELD_NULLABLE,                                                                    \
	         .description = "How many processors: 0.5, 2"},                                                         \
	{                                                                                                               \
		"pids", FIELD_NUMBER, FIELD_NULLABLE, 1, 4194304, "How many processes and threads"                      \
	}

struct request {
	struct yett_sandbox_options options;
	struct yett_share shares[SANDBOX_WORDS_SHARES_MAX];
	char **allow, **deny;
	const char *labels[2];
};

/*
 * Reads a request. The options point into `wish`, which must not be moved, and into `asked`. With a
 * name, the sandbox lingers. Returns 0; YETT_E_INVALID_REQUEST; YETT_E_PERMISSION_DENIED: the
 * request exceeds the agent's bounds; or another error of bounds_apply().
 */
_must_check_ int sandbox_request_read(struct request *request, const struct agent *agent,
                                      const json_t *asked, const char *name,
                                      struct yett_error *error);
/* Also closes the descriptors of shares. Safe on zeroed memory, and after an earlier call. */
void sandbox_request_free(struct request *request);

/* Whether the request has any of SANDBOX_REQUEST_FIELDS, which make no sense for an existing
 * sandbox. */
bool sandbox_request_is_any(const json_t *asked);

/*
 * Asks for the plan that yett_sandbox_create() would carry out: its steps as JSON, owned by the
 * caller, or the error of the refusal.
 */
_must_check_ int sandbox_request_plan(struct agent *agent, const json_t *asked, json_t **ret_plan,
                                      struct yett_error *error);
