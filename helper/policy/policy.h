/*
 * The administrator's policy as data: profiles, grants, and where each value was written.
 *
 * load.c reads it as root from files that only root can write, through libConfuse (parse.c) and the tables of
 * settings.c; check.c compares it with the host; after that a policy is immutable and needs no I/O. Nothing here comes
 * from a client. dist/yett.conf shows every key, and is also what is compiled in as the built-in policy.
 */
#pragma once

#include "base/error.h"
#include "helper/plan.h"

#define POLICY_NAME_MAX 64
#define POLICY_HOSTNAME_MAX 64

/* Where a value was written; shown in refusals. */
struct policy_place {
	const char *file; /* "built-in" for the default policy */
	unsigned line;
};

/* A list of texts; an empty list means none. */
struct policy_list {
	char **items;
	struct policy_place *places; /* of each item */
	size_t count;
	struct policy_place place; /* of the first item; of the section when there is none */
};

enum policy_syscalls { POLICY_SYSCALLS_DEFAULT = 0, POLICY_SYSCALLS_STRICT = 1 };

/* After loading, `extends` has been applied: every profile is complete in itself. */
struct policy_profile {
	char *name;
	struct policy_place place;
	char *description;
	char *extends; /* NULL: none */
	/* the template: read-only, shared by all sandboxes of the profile */
	struct policy_list system;       /* host directories and symlinks shown read-only at the same path: /usr, /bin … */
	struct policy_list etc;          /* names below the host's /etc that are copied or bound into the sandbox's */
	struct policy_list devices;      /* host device nodes besides the six; a grant must name each */
	/* on top of it, per sandbox */
	struct policy_list share_ro;     /* host paths that every sandbox of the profile gets, SOURCE or SOURCE:TARGET */
	struct policy_list share_rw;
	struct policy_list read_only;    /* paths inside made read-only */
	struct policy_list mask;         /* paths inside hidden */
	struct policy_list tmpfs;        /* TARGET or TARGET:SIZE; without a size it is tmp_size */
	uint64_t tmp_size_bytes;         /* of the sandbox's own root: /tmp, home, /run, /dev/shm together */
	bool private_home;               /* an empty home directory at the caller's path */
	struct policy_list environment;  /* NAME=VALUE; planning adds HOME, USER, LOGNAME and SHELL */
	struct plan_limits limits;       /* defaults and, where a grant says less, more strictly bounded */
	enum policy_syscalls syscalls;
	struct policy_list syscalls_allow, syscalls_deny, syscalls_log;
	struct policy_list capabilities; /* names like "chown"; a grant must name each */
	uint64_t capabilities_mask;
	enum plan_identity identity;
	unsigned umask;
	int nice;
	char *hostname;
	bool shares;                     /* whether a request may bring shares and tmpfs of its own at all */
};

/* What a request may ask for and a grant may cap. */
enum policy_limit { POLICY_LIMIT_MEMORY, POLICY_LIMIT_CPUS, POLICY_LIMIT_PIDS, POLICY_LIMIT_FILES, POLICY_LIMITS };

struct policy_grant {
	char *name;
	struct policy_place place;
	/* who: any of these; "*" is everyone */
	struct policy_list users;        /* names or numbers, resolved to uids at load */
	struct policy_list groups;
	uid_t *uids;
	size_t uids_count;
	gid_t *gids;
	size_t gids_count;
	bool everyone;
	struct policy_list keys;         /* principals: names of enrolled keys; empty: any enrolled key of that uid */
	/* what */
	struct policy_list profiles;     /* names; "*" is all */
	struct policy_list share_ro;     /* host directories below which a client may share read-only; "*" is anything it can open */
	struct policy_list share_rw;
	struct policy_list capabilities, devices; /* that its profiles may give */
	uint64_t capabilities_mask;
	bool identity_caller, identity_root;
	bool user_keys;                  /* ~/.config/yett/authorized_keys counts */
	bool confined_clients;           /* a client in another namespace than the helper's may ask */
	struct plan_limits ceilings;     /* of one sandbox; 0: the profile's own value is the ceiling */
	struct plan_limits user_limits;  /* memory, cpu, pids of all the user's sandboxes together */
	unsigned sandboxes_max;          /* 0: unlimited */
	/* where each of these was written, for refusals */
	struct policy_place ceilings_place[POLICY_LIMITS]; /* file NULL: not written */
	struct policy_place sandboxes_place, identity_place;
};

struct policy {
	char *runtime_dir;      /* "/run/yett" */
	char *keys_dir;         /* "/etc/yett/keys.d" */
	char *cgroup;           /* "/yett": below the root of each hierarchy */
	uint32_t ids_first;     /* first host id of the private ranges; a multiple of 65536 */
	uint32_t ids_ranges;    /* how many ranges of 65536; the first one is the roles' own */
	struct policy_place ids_place; /* file NULL: not written */
	unsigned spares;        /* prepared supervisors a recently served user has; 0 … 16 */
	struct policy_profile *profiles;
	size_t profiles_count;
	struct policy_grant *grants;
	size_t grants_count;
	uint64_t generation;    /* of the text that was read: another text, another number */
	char **files;           /* their names, which places point to */
	size_t files_count;
};

/*
 * Reads `path` and, when `with_fragments`, conf.d/\*.conf beside it. Files and their directories must be owned by
 * `owner` and writable by nobody else; unknown keys, wrong values and names that do not exist are refused.
 * 0, -errno, or YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with "FILE:LINE: what" as message.
 */
_must_check_ int policy_load(const char *path, bool with_fragments, uid_t owner, struct policy **ret_policy,
			     struct yett_error *error);

/* The policy of personal mode: dist/yett.conf, compiled in. Its places say "built-in". */
_must_check_ int policy_load_builtin(struct policy **ret_policy, struct yett_error *error);

/* NULL when there is none. */
const struct policy_profile *policy_find_profile(const struct policy *policy, const char *name);

/* Whether `path` is `directory` or below it; both absolute and normalized. */
bool policy_path_is_in(const char *path, const char *directory);

/*
 * Why nothing may be mounted at `target` in a sandbox of `profile`, as the end of a sentence; NULL when it may. It must be
 * absolute and normalized, and hide none of what makes the sandbox: /proc, /sys, /dev, /etc itself, its own files in
 * /run, the system directories of the profile. Pure.
 */
const char *policy_target_problem(const struct policy_profile *profile, const char *target);

/* The same for any path inside: absolute, normalized, not too long. */
const char *policy_path_problem(const char *path);

/* Why a sandbox cannot have this host name; NULL when it can. Pure. */
const char *policy_hostname_problem(const char *name);

/*
 * Splits "HEAD[:TAIL]" of a list like share_ro or tmpfs at its first colon; the copies are the caller's to free.
 * `ret_tail` is NULL without a colon. -ENOMEM.
 */
_must_check_ int policy_split(const char *item, char **ret_head, char **ret_tail);

void policy_free(struct policy *policy);
static inline void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}
