/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host ids that a sandbox uses, and the user namespace that maps them. idmap_make() and
 * idmap_host() are pure; the rest runs with full privilege in the supervisor and its children. A
 * sandbox's map must hold no host ids but those of its range, the face and, with
 * PLAN_IDENTITY_CALLER, the caller's. user_namespaces(7), mount_setattr(2).
 */
#pragma once

#include "helper/plan/plan.h"

#define IDMAP_RANGE     65536u
#define IDMAP_DECIDERS  32768u /* at most so many at once */
#define IDMAP_FRONTS    16384u
#define IDMAP_LINES_MAX 340 /* the kernel's limit for a map */

/*
 * Ids of the first range, which no sandbox gets. The number 2 is yett-policy's where the policy has
 * the default range: POLICY_COMPILER_ID.
 */
enum idmap_role {
	/* owner of root's files as sandboxes see them: read-only, and the same id for all */
	IDMAP_ROLE_FACE = 0,
	/* yett-closer, for connections that are not served */
	IDMAP_ROLE_CLOSER = 3,
	IDMAP_ROLE_AUDIT = 4, /* yett-audit */
	/*
	 * first of IDMAP_DECIDERS ids: each yett-decider has one while it lives, shared with its
	 * yett-decoder
	 */
	IDMAP_ROLES_OF_DECIDERS = 1024,
	/* first of IDMAP_FRONTS ids: each yett-front has one, derived from its sandbox's range */
	IDMAP_ROLES_OF_FRONTS = 34816,
};

struct idmap_line {
	uint32_t inside, host, count;
};

struct idmap_half {
	struct idmap_line lines[IDMAP_LINES_MAX];
	size_t count;
};

struct idmap {
	struct idmap_half uids, gids;
	/* inside id of init, as user and as group; no command has it */
	uint32_t init_inside;
	uint32_t payload_uid, payload_gid; /* inside ids of commands */
	/* commands have id 0 inside: shares map the caller's ids onto it, and no other ids */
	bool shares_need_own_map;
};

/*
 * The user that the sandbox is for. All of it comes from the kernel (SO_PEERCRED, SO_PEERGROUPS)
 * and the policy.
 */
struct idmap_subject {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t groups_count;
	enum plan_identity identity;
};

/*
 * Makes the map. Ids 0 … 65535 map onto `first` … first + 65535, with these exceptions: 0 maps onto
 * `face`, unless commands have id 0; each of the caller's ids above 65535 maps onto one of the top
 * of the range; with PLAN_IDENTITY_CALLER the caller's ids map onto themselves. Returns 0, or
 * -E2BIG if that takes more lines than the kernel allows.
 */
_must_check_ int idmap_make(const struct idmap_subject *subject, uint32_t first, uint32_t face,
                            struct idmap *ret_map);

/* Returns the host id of an inside user or group id; UINT32_MAX if it has none. */
uint32_t idmap_host(const struct idmap_half *half, uint32_t inside);

/*
 * Writes this map for the user namespace that `pid` has just made for itself, or for a new one if
 * `pid` is 0. Returns a descriptor of the user namespace or -errno.
 */
_must_check_ int idmap_open(pid_t pid, const struct idmap_half *uids,
                            const struct idmap_half *gids);

/*
 * Makes a user namespace for mounts that maps only `disk_uid` and `disk_gid`, the owners on disk,
 * onto the given host ids. Returns a descriptor or -errno.
 */
_must_check_ int idmap_open_single(uint32_t disk_uid, uint32_t host_uid, uint32_t disk_gid,
                                   uint32_t host_gid);

/*
 * Makes a user namespace for mounts of what `subject` shares; `map` was made for the same subject.
 * The caller's ids map onto their host ids in the sandbox. With `alone` no other id is mapped;
 * otherwise all other ids map onto themselves. So a process with ids of the sandbox owns no file
 * there but the caller's, and those that such a process gave to a private id before. Files of
 * others keep the permissions that they grant to groups and to everybody, and chown(2) fails with
 * EPERM where it does outside. Returns a descriptor, -E2BIG or -errno.
 */
_must_check_ int idmap_open_shares(const struct idmap *map, const struct idmap_subject *subject,
                                   bool alone);
