/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The upper bounds of what requests may ask for. The user who starts the program sets them, by
 * options or in the settings file. No request can change them, so a model cannot reach anything
 * that its user did not mean to give.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/fields.h"
#include "base/asker_label.h"
#include "base/net_rule.h"
#include "libclient/yett.h"

/* For hints: where the user can widen the bounds. */
#define BOUNDS_WHERE \
	"where yett tool, mcp or serve is started, or \"may\" in ~/.config/yett/agent.json"

/* Label of sandboxes that agents make. */
#define BOUNDS_LABEL ASKER_LABEL

/* The fields of the given bounds: from options, or from "may" in the settings file. */
extern const struct field bounds_fields[];

/*
 * Adds the value of an option to an object of these fields. `name` has no dashes: ro, rw, cow,
 * allow, net, profile, memory, cpus, pids, sandboxes.
 */
_must_check_ int bounds_take_option(json_t *given, const char *name, const char *value,
                                    struct yett_error *error);

struct bounds {
	struct bounds_share {
		char *path; /* absolute, as given; `fd` is the file that was there at start */
		char *real; /* `path` with symbolic links resolved */
		/*
		 * YETT_SHARE_WRITABLE and YETT_SHARE_COW: what requests may ask for besides
		 * read-only.
		 */
		uint32_t flags;
		int fd;
	} * shares;
	size_t shares_count;
	struct net_rule *allow;
	size_t allow_count;
	char **profiles; /* ends with NULL */
	enum yett_network network;
	uint64_t memory_bytes, cpu_millis, pids; /* 0: the policy's limit */
	/* All sandboxes that the helper shows the caller; else only those with `label`. */
	bool has_all_sandboxes;
	/* Equal for all agents that were started with the same bounds in the same directory. */
	char label[sizeof BOUNDS_LABEL "=" + 16];
};

/*
 * Fills `bounds` from `given`, in which any member may be missing. Defaults: no network; the two
 * profiles in `tiers`; the current directory as a copy-on-write share, unless it is the home
 * directory, a directory above it, or a system directory (see own_place.h). Returns 0,
 * YETT_E_INVALID_REQUEST or YETT_E_FILE_OPERATION_FAILED; the error names the value.
 */
_must_check_ int bounds_make(struct bounds *bounds, const json_t *given, const char *const tiers[2],
                             struct yett_error *error);
void bounds_free(struct bounds *bounds);

/*
 * Checks whether a sandbox may be made with these options, and fills in what they leave open: no
 * network where the bounds allow none, and the limits of the bounds. Replaces the path of each
 * share by a descriptor of the file that is there now, and sets YETT_SHARE_FD. The caller closes
 * these descriptors, also after a failure. Returns 0 or YETT_E_PERMISSION_DENIED; the hint names
 * the option that would allow the request.
 */
_must_check_ int bounds_apply(const struct bounds *bounds, struct yett_sandbox_options *options,
                              struct yett_share *shares, struct yett_error *error);

/*
 * Checks that the network of a new sandbox is within the bounds. This is known only after the
 * sandbox was made: if the request names no network, the profile chooses one. Returns 0 or
 * YETT_E_PERMISSION_DENIED.
 */
_must_check_ int bounds_check_made(const struct bounds *bounds,
                                   const struct yett_sandbox_info *info, struct yett_error *error);

/*
 * Checks whether these rules may be added to a sandbox. Returns 0 or an error, as bounds_apply().
 */
_must_check_ int bounds_check_rules(const struct bounds *bounds, const char *const *rules,
                                    size_t count, struct yett_error *error);

/* Whether any of the shares may be writable. */
bool bounds_can_write(const struct bounds *bounds);

/*
 * Describes the bounds to a model, in a few sentences. The caller frees the text. NULL: no memory.
 */
char *bounds_describe(const struct bounds *bounds);
