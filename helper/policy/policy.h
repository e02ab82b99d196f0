/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The administrator's policy as data: profiles, grants, the compiled system call filters, and where
 * each value was written.
 *
 * yett-policy compiles it from the text of the files, without privilege, and hands it over as an
 * image. image.c checks the image and sets the pointers below to its parts. After that a policy is
 * immutable and needs no I/O. Nothing in it comes from a client. dist/yett.conf shows every key,
 * and is compiled in as the built-in policy.
 */
#pragma once

#include "helper/plan/plan.h"
#include "helper/policy/key_line.h"

#include <linux/filter.h>

#define POLICY_LABEL_MAX       100
#define POLICY_FILES_MAX       256
#define POLICY_SPARES_MAX      16
#define POLICY_SANDBOXES_MAX   4095
#define POLICY_CONNECTIONS_MAX 256
#define POLICY_RULES_MAX       5000 /* in one list */
/* The rules of a profile, a grant and a request together then fit into EGRESS_RULES_SIZE_MAX. */
#define POLICY_RULES_SIZE_MAX   (640u << 10)
#define POLICY_LINGER_UNLIMITED UINT64_MAX
/* Above the ids that systemd assigns, below 2^31. */
#define POLICY_IDS_FIRST_DEFAULT UINT32_C(0x70000000)
/*
 * yett-policy runs as this id, of the roles' range of the shipped policy. It has not read yet which
 * range is configured.
 */
#define POLICY_COMPILER_ID    (POLICY_IDS_FIRST_DEFAULT + 2)
#define POLICY_RUNTIME_DIRS   "/run/user" /* where each user's programs keep their sockets */
#define POLICY_RUNTIME_X11    "/tmp/.X11-unix"
#define POLICY_IDS_FIRST_MIN  131072
#define POLICY_IDS_RANGES_MAX 32768
#define POLICY_IDS_STEP       65536
/* Programs that keep an id in an int take higher ids for negative numbers. */
#define POLICY_IDS_END_MAX (UINT64_C(1) << 31)

/*
 * An item of `namings`: the user, group or everyone that is named, then the index of the grant in
 * the low bits.
 */
#define POLICY_NAMING_BITS 24
#define POLICY_NAMING(kind, id, grant) \
	(((uint64_t)(kind) << 32 | (id)) << POLICY_NAMING_BITS | (grant))

/* Where a value was written; refusals show it. */
struct policy_place {
	const char *file; /* "built-in" for the default policy */
	unsigned line;
};

/* A list of texts; an empty list means none. */
struct policy_list {
	char **items;
	struct policy_place *places; /* of each item */
	size_t count;
	/* of the first item; of the section if the list is empty */
	struct policy_place place;
};

/*
 * Network rules, as bytes that root passes on without reading them. The origin of a rule is its
 * index in policy->rule_lines, from 1 on.
 */
struct policy_rules {
	struct net_list *list; /* base/net_list.h; all rules are of one enum net_list_kind */
	size_t size;           /* 0: there are no rules, and no struct net_list */
};
/*
 * The bits of an item of rule_lines that hold the line. Those above hold the index in
 * policy->files.
 */
#define POLICY_RULE_LINE_BITS 20

/* A mount in each sandbox of a profile, checked against the profile's system directories. */
struct policy_mount {
	char *source; /* the path on the host; "": a tmpfs */
	char *target;
	uint64_t size_bytes; /* of a tmpfs */
	bool writable;
	struct policy_place place;
};

/* What a request may share: anything, or nothing that a command could change. */
enum policy_workspace { POLICY_WORKSPACE_ANY = 0, POLICY_WORKSPACE_COW = 1 };

/* What happens to a request if the profile's label is not available. */
enum policy_label { POLICY_LABEL_IF_AVAILABLE = 0, POLICY_LABEL_REQUIRED = 1 };

/*
 * Whether the audit records sandboxes, and whether a sandbox may run whose record cannot be
 * written: helper/setup/audit.h.
 */
enum policy_audit { POLICY_AUDIT_OFF = 0, POLICY_AUDIT_BEST_EFFORT = 1, POLICY_AUDIT_REQUIRED = 2 };

/* What yett-audit records of the life of a sandbox, or-ed. */
enum policy_record {
	POLICY_RECORD_COMMANDS = 1,
	POLICY_RECORD_CONNECTIONS = 2,
	POLICY_RECORD_DENIALS = 4,
	POLICY_RECORD_ALL = 7
};

/* The limits that a request can ask for and a grant can cap. */
enum policy_limit {
	POLICY_LIMIT_MEMORY,
	POLICY_LIMIT_CPUS,
	POLICY_LIMIT_PIDS,
	POLICY_LIMIT_FILES,
	POLICY_LIMIT_FILE_SIZE,
	POLICY_LIMIT_CORE,
	POLICY_LIMITS
};

/* `extends` has been applied: every profile is complete in itself. */
struct policy_profile {
	char *name;
	struct policy_place place;
	/* The template: read-only, shared by all sandboxes of the profile. */
	/*
	 * Host directories and symlinks, shown read-only at the same path: /usr, /bin …; none is
	 * below another.
	 */
	struct policy_list system;
	/* Names below the host's /etc that the sandbox's /etc shows; "*": all of it. */
	struct policy_list etc;
	/* Host device nodes besides the six that every sandbox has; a grant must name each. */
	struct policy_list devices;
	/* On top of the template, in each sandbox. */
	struct policy_mount *mounts;
	size_t mounts_count;
	struct policy_list read_only; /* paths inside that become read-only */
	struct policy_list mask;      /* paths inside that are hidden */
	/* of the sandbox's root tmpfs: /tmp, home, /run and /dev/shm together */
	uint64_t tmp_size_bytes;
	/* Read-only trees that other sandboxes have, too, are below an overlay of the sandbox. */
	bool overlay_ro;
	bool private_home; /* an empty home directory at the caller's path */
	/*
	 * `memory_mount`: a request must bring a share at PLAN_MEMORY. `outputs_mount`: a tmpfs is
	 * at PLAN_OUTPUTS.
	 */
	bool memory_mount, outputs_mount;
	/* NAME=VALUE; planning adds HOME, USER, LOGNAME and SHELL */
	struct policy_list environment;
	/* The defaults. Where a grant allows less, its limit applies. */
	struct plan_limits limits;
	/*
	 * Where each was written, possibly in a profile that this one extends; file NULL: not
	 * written.
	 */
	struct policy_place limits_places[POLICY_LIMITS], shares_place;
	/* The time limit of a command that asks for none, and the maximum; 0: no limit. */
	uint64_t command_ms, command_max_ms;
	struct policy_place command_places[2]; /* as limits_places */
	/* Compiled from the system call keys: programs/decide/policy/seccomp.h. */
	struct sock_filter *init_filter, *command_filter, *build_filter;
	size_t init_filter_count, command_filter_count, build_filter_count;
	struct policy_list capabilities; /* names like "chown"; a grant must name each */
	uint64_t capabilities_mask;
	/*
	 * Commands may make user namespaces, and other namespaces in these. There they can give
	 * files in writable shares capabilities, which count only in user namespaces whose id 0 is
	 * the caller's id, so only in the caller's own. capabilities(7), "Namespaced file
	 * capabilities"
	 */
	bool nested_userns;
	/* Commands may measure and sample themselves: perf_event_open(2). */
	bool perf_events;
	bool core_files; /* the profile or a grant allows core files */
	enum plan_identity identity;
	unsigned umask; /* PLAN_UMASK_CALLER: each command has the umask of its client */
	int nice;
	char *hostname;
	char *apparmor_profile; /* of init and commands; "": none */
	/* Of init; the loaded SELinux policy derives the type of commands from it. "": none. */
	char *selinux_type;
	enum policy_label label;
	/* enum policy_record, including what is recorded of all sandboxes */
	uint32_t record;
	bool shares; /* whether a request may bring shares and tmpfs */
	/* whether the shares of a request must be copy-on-write */
	enum policy_workspace workspace;
	/* The network of a sandbox, unless its request says otherwise. */
	enum plan_network network;
	struct policy_rules allow, deny;
	/* Names that rules allow may resolve to private addresses without a rule for these. */
	bool allow_private;
	uint32_t connections; /* at once; 1 to POLICY_CONNECTIONS_MAX */
	/* per second; 0: unlimited */
	uint64_t bandwidth_in_bytes, bandwidth_out_bytes;
	struct policy_place network_place;
};

/* The keys of a grant that can be the reason of a refusal. The first ones cap the limits above. */
enum policy_key {
	POLICY_KEY_SANDBOXES = POLICY_LIMITS,
	POLICY_KEY_LINGER,
	POLICY_KEY_COMMAND,
	POLICY_KEY_IO_READ,
	POLICY_KEY_IO_WRITE,
	POLICY_KEY_USER_MEMORY,
	POLICY_KEY_USER_CPUS,
	POLICY_KEY_USER_PIDS,
	POLICY_KEY_USER_TERMINALS,
	POLICY_KEY_CREATIONS,
	POLICY_KEY_REQUESTS,
	POLICY_BOUNDS, /* the keys above this one are numbers, of grants and ceilings */
	POLICY_KEY_IDENTITY_ROOT = POLICY_BOUNDS,
	POLICY_KEY_IDENTITY_CALLER,
	POLICY_KEY_NESTED_USERNS,
	POLICY_KEY_PERF_EVENTS,
	POLICY_KEY_USER_KEYS,
	POLICY_KEY_CONFINED,
	POLICY_KEY_ALLOW_PRIVATE,
	POLICY_KEY_NETWORK,
	POLICY_KEY_ALLOW,
	POLICY_KEY_KEYS,
	POLICY_KEY_PROFILES,
	POLICY_KEY_SHARE_RO,
	POLICY_KEY_SHARE_RW,
	POLICY_KEY_SOCKETS,
	POLICY_KEY_CAPABILITIES,
	POLICY_KEY_DEVICES,
	POLICY_KEYS
};

/*
 * A grant, or a ceiling. A ceiling gives nothing. Its bounds apply to everyone that it names, like
 * those of a grant, whichever grant decides.
 */
struct policy_grant {
	char *name;
	struct policy_place place;
	/* Whom it names: any of these. */
	uid_t *uids;
	size_t uids_count;
	gid_t *gids;
	size_t gids_count;
	bool everyone;
	/* Principals: names of enrolled keys; "*" is any enrolled key; empty: none. */
	struct policy_list keys;
	/* What it gives. */
	struct policy_list profiles; /* names; "*" is all */
	/*
	 * Host directories below which a client may share read-only; "*" is anything that the
	 * client can open.
	 */
	struct policy_list share_ro;
	struct policy_list share_rw;
	/*
	 * `sockets`: paths that a client may share or relay; %u is its uid. `publish`: host
	 * addresses for relayed ports.
	 */
	struct policy_list sockets, publish;
	/* that its profiles may have */
	struct policy_list capabilities, devices;
	uint64_t capabilities_mask;
	/* whether its profiles and requests may have these */
	bool identity_caller, identity_root, nested_userns, perf_events, allow_private;
	enum plan_network network; /* the highest */
	/*
	 * `allow`: each rule that a request adds to allow something must be within one of these.
	 * `deny`: denied in any case.
	 */
	struct policy_rules allow, deny;
	/*
	 * `user_keys`: keys in ~/.config/yett/authorized_keys count. `agents`: the grant is only
	 * for requests of agents; where such a grant names the peer, only such grants count for
	 * these requests.
	 */
	bool user_keys, agents;
	bool confined_clients; /* whether confined clients are served: struct peer */
	/*
	 * A request that this grant does not allow may be allowed by a grant that names the peer
	 * less closely.
	 */
	bool fall_through;
	/* of one sandbox; 0: the profile's own value is the maximum */
	struct plan_limits limits_max;
	/*
	 * Bounds on all sandboxes of each user that the grant names, including those that another
	 * grant gives.
	 */
	struct plan_limits user_limits;        /* memory, cpu, pids */
	unsigned sandboxes_max, terminals_max; /* 0: unlimited */
	uint32_t creations_max, requests_max;  /* per minute; 0: unlimited */
	/*
	 * How long a sandbox may be idle or paused with no client attached; 0: sandboxes may not
	 * linger.
	 */
	uint64_t linger_max_ms;
	/* The maximum time limit of a command, besides the profile's; 0: no limit. */
	uint64_t command_max_ms;
	/* Where each key was written; file NULL: not written. */
	struct policy_place places[POLICY_KEYS];
	bool is_ceiling; /* has no profiles and no keys */
	/* When the grant expires, in seconds since 1970: from then on it is ignored. 0: never. */
	uint64_t expires;
	/* A warning for the administrator: "FILE:LINE: what"; may be empty. */
	char *notice;
	/*
	 * For the reason in `notice`, the grant gives nothing. It still decides: a request for
	 * which it decides is refused.
	 */
	bool is_void;
};

/*
 * How a grant names the user who connects. A later value names the user more closely, and takes
 * precedence.
 */
enum policy_naming {
	POLICY_NAMING_NONE,
	POLICY_NAMING_EVERYONE,
	POLICY_NAMING_GROUP,
	POLICY_NAMING_USER
};

/* A key in the keys directory. */
struct policy_enrolled {
	char line[KEY_LINE_LENGTH];
	char *file; /* NAME.pub */
};

struct policy {
	char **files; /* the names that places point to */
	size_t files_count;
	char *runtime_dir;   /* "/run/yett" */
	char *keys_dir;      /* "/etc/yett/keys.d" */
	char *cgroup;        /* "/yett": below the root of each hierarchy */
	uint32_t ids_first;  /* first host id of the private ranges; a multiple of 65536 */
	uint32_t ids_ranges; /* number of ranges of 65536; the first one is for the roles */
	struct policy_place ids_place; /* file NULL: not written */
	enum policy_audit audit;
	/*
	 * enum policy_record of all profiles together; if not 0, the listener does not exit when
	 * idle
	 */
	uint32_t record;
	char *audit_dir; /* "/var/log/yett"; belongs to root alone */
	/* Of all records; of the records that one user causes in a day. 0: unlimited. */
	uint64_t audit_max_bytes, audit_user_bytes;
	/* How many pre-started supervisors a recently served user has; 0 … POLICY_SPARES_MAX. */
	unsigned spares;
	struct policy_profile *profiles;
	size_t profiles_count;
	struct policy_grant *grants;
	size_t grants_count;
	/*
	 * POLICY_NAMING() of each user and group that a grant names, ascending: the index of the
	 * grants.
	 */
	uint64_t *namings;
	size_t namings_count;
	uint32_t ceilings_count; /* the last ones of the grants */
	/*
	 * Where each network rule is written: the line, and above POLICY_RULE_LINE_BITS the file.
	 */
	uint32_t *rule_lines;
	size_t rule_lines_count;
	/*
	 * The keys in keys_dir, ordered by their lines, which are all different. Then the inode and
	 * the ctime of keys_dir when it was read. Inode 0: keys_dir may have changed since.
	 */
	struct policy_enrolled *enrolled;
	size_t enrolled_count;
	/*
	 * "KEY\tVALUE" of each key that is written for the helper, then "\tFILE:LINE" of the value
	 * that it overrides.
	 */
	struct policy_list origins;
	ino_t keys_inode;
	struct timespec keys_changed;
	uint64_t generation; /* of the text that was read: another text has another number */
	/* the memory that all pointers point into, read-only; policy_free() unmaps it */
	void *image;
	size_t image_size;
	int memory; /* a sealed memfd with the unchanged image, for other programs to read */
};

struct policy_source {
	const char *libexec; /* directory of yett-policy */
	const char *path; /* NULL: the built-in policy, dist/yett.conf; its places say "built-in" */
	bool with_fragments; /* whether to read conf.d/\*.conf beside it, too */
	/* files and directories must belong to this uid and be writable by nobody else */
	uid_t owner;
};

/*
 * Opens the files, has yett-policy compile them, and checks the result. Refuses unknown keys, wrong
 * values and names that do not exist. Returns 0, -errno, or YETT_E_INVALID_REQUEST or
 * YETT_E_SECURITY_VIOLATION with "FILE:LINE: what" as message; YETT_E_HELPER_UNAVAILABLE when
 * yett-policy failed.
 */
_must_check_ int policy_load(const struct policy_source *source, struct policy **ret_policy,
                             struct yett_error *error);

/* Returns whether `path` is `directory` or below it; both must be absolute and normalized. */
bool policy_path_is_in(const char *path, const char *directory);

/*
 * Returns whether `path` is, or is below, a directory of the host's programs and libraries, which
 * hold no secrets: /usr and the like.
 */
bool policy_path_has_programs(const char *path);

/*
 * Returns NULL if `path` can be a path inside a sandbox: absolute, normalized, not too long, not
 * "/", and without control characters. Otherwise returns the problem, as the end of a sentence.
 */
const char *policy_path_problem(const char *path);

/*
 * Returns what is wrong with the name of an AppArmor profile or SELinux type; NULL: nothing. The
 * empty name, which means none, is valid.
 */
const char *policy_label_problem(const char *name);

/* Returns YETT_E_INVALID_REQUEST with the message "FILE:LINE: 'text' problem". */
int policy_refuse(struct policy_place place, const char *text, const char *problem,
                  struct yett_error *error);

void policy_free(struct policy *policy);
static inline void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}
