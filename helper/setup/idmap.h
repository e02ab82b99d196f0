/*
 * Which host ids a sandbox uses, and the user namespace that says so.
 *
 * idmap_make() is pure. The rest runs with full privilege in the supervisor. user_namespaces(7),
 * mount_setattr(2).
 */
#pragma once

#include "base/error.h"
#include "helper/plan/plan.h"

#define IDMAP_RANGE     65536u
#define IDMAP_DECIDERS  32768u /* so many at once */
#define IDMAP_FRONTS    16384u
#define IDMAP_LINES_MAX 340 /* the kernel's bound on a map */

/* Ids of the first range, which no sandbox gets. 2 is yett-policy's, in that of the shipped policy:
 * POLICY_COMPILER_ID. */
enum idmap_role {
	IDMAP_ROLE_FACE =
		0, /* what root's files show as, read-only and the same for every sandbox */
	IDMAP_ROLE_CLOSER = 3,          /* of the listener's, for connections that are not served */
	IDMAP_ROLE_AUDIT = 4,           /* yett-audit */
	IDMAP_ROLES_OF_DECIDERS = 1024, /* and up: each yett-decider has one of IDMAP_DECIDERS while
	                                   it lives, with its yett-decoder */
	IDMAP_ROLES_OF_FRONTS =
		34816, /* and up: each yett-front has one of IDMAP_FRONTS, by its sandbox's range */
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
	uint32_t init_inside; /* id of init inside, as user and as group; nobody else's */
	uint32_t payload_uid, payload_gid; /* inside ids of commands */
	bool shares_need_own_map; /* the payload is 0 inside: shares map the caller onto it and
	                             nobody else */
};

/* Who the sandbox is for; all of it comes from the kernel (SO_PEERCRED, SO_PEERGROUPS) and the
 * policy. */
struct idmap_subject {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t groups_count;
	enum plan_identity identity;
};

/*
 * The map: ids 0 … 65535 onto `first` … first + 65535, but 0 onto `face` (unless a payload is 0
 * itself), each of the caller's ids above 65535 onto one of the top of the range, and under
 * PLAN_IDENTITY_CALLER the caller's ids onto themselves. 0 or -E2BIG when that needs more lines
 * than the kernel takes.
 */
_must_check_ int idmap_make(const struct idmap_subject *subject, uint32_t first, uint32_t face,
                            struct idmap *ret_map);

/* The host id of an inside user or group id; UINT32_MAX when it has none. */
uint32_t idmap_host(const struct idmap_half *half, uint32_t inside);

/* Gives the user namespace that `pid` has just made for itself, or a new one where that is 0, this
 * map; a descriptor of it or -errno. */
_must_check_ int idmap_open(pid_t pid, const struct idmap_half *uids,
                            const struct idmap_half *gids);

/* A user namespace that maps only on-disk `disk_uid`/`disk_gid` onto the given host ids, for
 * mounts. A fd or -errno. */
_must_check_ int idmap_open_single(uint32_t disk_uid, uint32_t host_uid, uint32_t disk_gid,
                                   uint32_t host_gid);

/*
 * A user namespace for mounts of what `subject`, of whom `map` was made, shares: the ids of the
 * caller onto those in the sandbox, and, unless those are to be `alone`, all others onto
 * themselves. So whoever takes ids of the sandbox can be nobody who owns a file there but the
 * caller (and, of files that they gave away before, private ids), files of others keep the rights
 * that they give to groups and to everybody, and chown(2) says EPERM where it says so outside. A
 * descriptor, -E2BIG or -errno.
 */
_must_check_ int idmap_open_shares(const struct idmap *map, const struct idmap_subject *subject,
                                   bool alone);
