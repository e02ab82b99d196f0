/*
 * What requests may ask for at most, as whoever started the program gave it: by options, or in the
 * settings' file. No request moves it, so a model that asks reaches nothing that its user did not
 * mean to give.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/fields.h"
#include "base/asker_label.h"
#include "base/net_rule.h"
#include "libclient/yett.h"

/* In what would mend a refusal. */
#define BOUNDS_WHERE \
	"where yett tool, mcp or serve is started, or \"may\" in ~/.config/yett/agent.json"

/* Of sandboxes that agents make. */
#define BOUNDS_LABEL ASKER_LABEL

/* What is given, as one object: of options and of "may" in the settings' file. */
extern const struct field bounds_fields[];

/* Adds what an option (without its dashes: ro, rw, cow, allow, net, profile, memory, cpus, pids,
 * sandboxes) says to an object of these fields. */
_must_check_ int bounds_take_option(json_t *given, const char *name, const char *value,
                                    struct yett_error *error);

struct bounds {
	struct bounds_share {
		char *path;     /* absolute, as it was given; `fd` is what lay there then */
		char *real;     /* the same with links resolved */
		uint32_t flags; /* of YETT_SHARE_WRITABLE and YETT_SHARE_COW: what may be asked for
		                   besides read-only */
		int fd;
	} * shares;
	size_t shares_count;
	struct net_rule *allow;
	size_t allow_count;
	char **profiles; /* ends with NULL */
	enum yett_network network;
	uint64_t memory_bytes, cpu_millis, pids;  /* 0: as the policy has it */
	bool has_all_sandboxes;                   /* of the user; else those with the label */
	char label[sizeof BOUNDS_LABEL "=" + 16]; /* the same for those that were started with the
	                                             same bounds at the same place */
};

/*
 * Takes the object, which may lack any member: then no network, the current directory copy-on-write
 * unless it is the home directory, or holds it, or holds the system; and of profiles the two of
 * `tiers`. YETT_E_INVALID_REQUEST, YETT_E_FILE_OPERATION_FAILED: with the option named.
 */
_must_check_ int bounds_make(struct bounds *bounds, const json_t *given, const char *const tiers[2],
                             struct yett_error *error);
void bounds_free(struct bounds *bounds);

/*
 * Whether a sandbox may be made so. What the options do not say is said by the bounds: where no
 * network may be asked for there is none, and limits are the bounds' own. Shares become descriptors
 * of what lies there now, the caller's to close, also after a failure: those with YETT_SHARE_FD.
 * YETT_E_PERMISSION_DENIED: with the option that would allow it.
 */
_must_check_ int bounds_apply(const struct bounds *bounds, struct yett_sandbox_options *options,
                              struct yett_share *shares, struct yett_error *error);

/* What is left to look at when it was made: a network that no option named is the profile's.
 * YETT_E_PERMISSION_DENIED */
_must_check_ int bounds_check_made(const struct bounds *bounds,
                                   const struct yett_sandbox_info *info, struct yett_error *error);

/* Whether rules may be added to a sandbox. YETT_E_PERMISSION_DENIED, as above. */
_must_check_ int bounds_check_rules(const struct bounds *bounds, const char *const *rules,
                                    size_t count, struct yett_error *error);

/* Whether anything that may be shared may be written to. */
bool bounds_can_write(const struct bounds *bounds);

/* What may be asked for, in a few sentences for a model; the caller's. NULL: no memory. */
char *bounds_describe(const struct bounds *bounds);
