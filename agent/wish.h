/*
 * A sandbox that is asked for: fields of a request, as options of the library.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

#define WISH_SHARES_MAX 64

extern const struct field wish_share_fields[];
extern const char *const wish_tiers[], *const wish_networks[], *const wish_modes[];

/* "none" also for what is no network. */
const char *wish_network_name(enum yett_network network);
/* Of one of wish_modes, or NULL: bits of enum yett_share_flag. */
uint32_t wish_share_flags(const char *mode);
/* Of one of wish_networks. */
enum yett_network wish_network(const char *name);

/* Rows for the tables of operations that make a sandbox. */
#define WISH_FIELDS                                                                                                                        \
	{"profile", FIELD_TEXT, FIELD_NULLABLE,                                                                                            \
	 1,         64,         "The profile of the policy by which the sandbox is made"},                                                 \
		{"tier", FIELD_CHOICE, FIELD_NULLABLE, .choices = wish_tiers,                                                              \
	         .description =                                                                                                            \
	                 "Instead of a profile: the one that the settings name light or strong"},                                          \
		{"shares",                                                                                                                 \
	         FIELD_OBJECTS,                                                                                                            \
	         FIELD_NULLABLE,                                                                                                           \
	         0,                                                                                                                        \
	         WISH_SHARES_MAX,                                                                                                          \
	         "Directories and files of the host that are to be seen inside",                                                           \
	         .fields = wish_share_fields},                                                                                             \
		{"network", FIELD_CHOICE, FIELD_NULLABLE, .choices = wish_networks,                                                        \
	         .description =                                                                                                            \
	                 "What it may connect to, of what whoever started the program allows; without it what the profile says, or none"}, \
		{"allow",                                                                                                                  \
	         FIELD_TEXTS,                                                                                                              \
	         FIELD_NULLABLE,                                                                                                           \
	         0,                                                                                                                        \
	         256,                                                                                                                      \
	         "What it may connect to besides: NAME:PORT, *.NAME:PORT, ADDRESS/BITS:PORT"},                                             \
		{"deny", FIELD_TEXTS, FIELD_NULLABLE,                                                                                      \
	         0,      256,         "What it may not connect to, whatever is allowed"},                                                  \
		{"memory_bytes", FIELD_NUMBER,                                                                                             \
	         FIELD_NULLABLE, 1,                                                                                                        \
	         INT64_MAX,      "The most memory of all its processes together"},                                                         \
		{"cpus", FIELD_REAL, FIELD_NULLABLE,                                                                                       \
	         .description = "How many processors: 0.5, 2"},                                                                            \
	{                                                                                                                                  \
		"pids", FIELD_NUMBER, FIELD_NULLABLE, 1, 4194304, "How many processes and threads"                                         \
	}

struct wish {
	struct yett_sandbox_options options;
	struct yett_share shares[WISH_SHARES_MAX];
	char **allow, **deny;
	const char *labels[2];
};

/*
 * The options point into the wish, which may not be moved, and into `asked`. With a name it
 * lingers. YETT_E_INVALID_REQUEST; YETT_E_PERMISSION_DENIED: that is more than the agent's bounds.
 */
_must_check_ int wish_read(struct wish *wish, const struct agent *agent, const json_t *asked,
                           const char *name, struct yett_error *error);
/* Closes its descriptors, too. What is all zeros is free already. */
void wish_free(struct wish *wish);

/* Whether it is a number of processors. */
bool wish_is_cpus(double processors);
#define WISH_CPUS_WANTED "cpus: expected a number of processors, like 0.5 or 2"

/* Whether anything of WISH_FIELDS is asked for, which makes no sense of a sandbox that is there. */
bool wish_is_any(const json_t *asked);

/* What yett_sandbox_create() would say: the steps as JSON, the caller's; or the refusal. */
_must_check_ int wish_plan(struct agent *agent, const json_t *asked, json_t **ret_plan,
                           struct yett_error *error);
