/*
 * The administrator's policy as data: profiles, grants, the compiled system call filters, and where
 * each value was written.
 *
 * yett-policy makes it of the files' text without privilege and hands it over as an image; image.c
 * checks that one and points the pointers below into it. After that a policy is immutable and needs
 * no I/O. Nothing here comes from a client. dist/yett.conf shows every key, and is also what is
 * compiled in as the built-in policy.
 */
#pragma once

#include "base/error.h"
#include "helper/plan/plan.h"
#include "helper/policy/key_line.h"

#include <linux/filter.h>

#define POLICY_LABEL_MAX       100
#define POLICY_FILES_MAX       256
#define POLICY_SPARES_MAX      16
#define POLICY_SANDBOXES_MAX   4095
#define POLICY_CONNECTIONS_MAX 256
#define POLICY_RULES_MAX       5000 /* of a list */
/* so that those of a profile, a grant and a request fit into EGRESS_RULES_SIZE_MAX */
#define POLICY_RULES_SIZE_MAX   (640u << 10)
#define POLICY_LINGER_UNLIMITED UINT64_MAX
/* above what systemd hands out, below 2^31 */
#define POLICY_IDS_FIRST_DEFAULT UINT32_C(0x70000000)
/* yett-policy runs as this id, of the roles' range of the shipped policy: which range is in force
 * it has yet to read. */
#define POLICY_COMPILER_ID    (POLICY_IDS_FIRST_DEFAULT + 2)
#define POLICY_RUNTIME_DIRS   "/run/user" /* where each user's programs keep their sockets */
#define POLICY_RUNTIME_X11    "/tmp/.X11-unix"
#define POLICY_IDS_FIRST_MIN  131072
#define POLICY_IDS_RANGES_MAX 32768
#define POLICY_IDS_STEP       65536
/* ids beyond are negative to programs that keep them in an int */
#define POLICY_IDS_END_MAX (UINT64_C(1) << 31)

/* An item of namings: who is named, and in the bits below the index of the grant. */
#define POLICY_NAMING_BITS 24
#define POLICY_NAMING(kind, id, grant) \
	(((uint64_t)(kind) << 32 | (id)) << POLICY_NAMING_BITS | (grant))

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

/* Rules for the network, in bytes that root only hands on. The origin of each is its index in
 * policy->rule_lines, from 1 on. */
struct policy_rules {
	struct net_list *list; /* base/net_list.h, of one kind */
	size_t size;           /* 0: there are none, and no list either */
};
/* of an item of rule_lines; above them is the index of the file in policy->files */
#define POLICY_RULE_LINE_BITS 20

/* What a profile mounts in each of its sandboxes, checked against its system directories. */
struct policy_mount {
	char *source; /* the host's path; "": it is a tmpfs */
	char *target;
	uint64_t size_bytes; /* of a tmpfs */
	bool writable;
	struct policy_place place;
};

/* What a request may share: anything, or nothing that a command could change. */
enum policy_workspace { POLICY_WORKSPACE_ANY = 0, POLICY_WORKSPACE_COW = 1 };

/* What becomes of a request where the profile's label cannot be had. */
enum policy_label { POLICY_LABEL_IF_AVAILABLE = 0, POLICY_LABEL_REQUIRED = 1 };

/* Whether it is written down which sandboxes there were, and what becomes of one whose record
 * cannot be: helper/setup/audit.h. */
enum policy_audit { POLICY_AUDIT_OFF = 0, POLICY_AUDIT_BEST_EFFORT = 1, POLICY_AUDIT_REQUIRED = 2 };

/* What yett-audit writes down of the life of a sandbox, or-ed. */
enum policy_record {
	POLICY_RECORD_COMMANDS = 1,
	POLICY_RECORD_CONNECTIONS = 2,
	POLICY_RECORD_DENIALS = 4,
	POLICY_RECORD_ALL = 7
};

/* What a request may ask for and a grant may cap. */
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
	/* the template: read-only, shared by all sandboxes of the profile */
	struct policy_list system; /* host directories and symlinks shown read-only at the same
	                              path: /usr, /bin …; none below another */
	struct policy_list etc; /* names below the host's /etc that are shown in the sandbox's; "*":
	                           all of it is */
	struct policy_list devices; /* host device nodes besides the six; a grant must name each */
	/* on top of it, per sandbox */
	struct policy_mount *mounts;
	size_t mounts_count;
	struct policy_list read_only; /* paths inside made read-only */
	struct policy_list mask;      /* paths inside hidden */
	uint64_t
		tmp_size_bytes; /* of the sandbox's own root: /tmp, home, /run, /dev/shm together */
	bool overlay_ro;   /* what is read-only and others have, too, is behind an overlay of the
	                      sandbox's own */
	bool private_home; /* an empty home directory at the caller's path */
	bool memory_mount, outputs_mount; /* what is at PLAN_MEMORY and PLAN_OUTPUTS */
	struct policy_list
		environment; /* NAME=VALUE; planning adds HOME, USER, LOGNAME and SHELL */
	struct plan_limits
		limits; /* defaults and, where a grant says less, more strictly bounded */
	struct policy_place limits_places[POLICY_LIMITS],
		shares_place; /* where written, perhaps in what it extends; file NULL: nowhere */
	uint64_t command_ms, command_max_ms;   /* the time of a command that asks for none, and the
	                                          most; 0: no bound */
	struct policy_place command_places[2]; /* likewise */
	struct sock_filter *init_filter, *command_filter,
		*build_filter; /* what the system call keys come to: programs/policy/seccomp.h */
	size_t init_filter_count, command_filter_count, build_filter_count;
	struct policy_list capabilities; /* names like "chown"; a grant must name each */
	uint64_t capabilities_mask;
	bool nested_userns; /* commands may make user namespaces, and what belongs to those */
	bool perf_events;   /* commands may count and sample what they do themselves:
	                       perf_event_open(2) */
	bool core_files;    /* it or a grant gives any */
	enum plan_identity identity;
	unsigned umask; /* PLAN_UMASK_CALLER: the caller's */
	int nice;
	char *hostname;
	char *apparmor_profile; /* of init and commands; "": none */
	char *selinux_type;     /* of init; what commands get follows from it in the loaded SELinux
	                           policy. "": none */
	enum policy_label label;
	uint32_t record; /* enum policy_record, with what is written for all */
	bool shares;     /* whether a request may bring shares and tmpfs of its own at all */
	enum policy_workspace
		workspace; /* what it shares has to be copy-on-write, or can be anything */
	/* what its sandboxes reach, unless a request says otherwise */
	enum plan_network network;
	struct policy_rules allow, deny;
	bool allow_private;   /* addresses of private networks need no rule that names them */
	uint32_t connections; /* at once; 1 to POLICY_CONNECTIONS_MAX */
	uint64_t bandwidth_in_bytes, bandwidth_out_bytes; /* a second; 0: unlimited */
	struct policy_place network_place;
};

/* Keys of a grant by which a request is refused: the first ones cap a limit. */
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
	POLICY_BOUNDS, /* those before are numbers, of grants and ceilings */
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

/* Or a ceiling, which gives nothing, and whose bounds count for whom it is for like those of a
 * grant, whichever grant decides. */
struct policy_grant {
	char *name;
	struct policy_place place;
	/* who: any of these */
	uid_t *uids;
	size_t uids_count;
	gid_t *gids;
	size_t gids_count;
	bool everyone;
	struct policy_list
		keys; /* principals: names of enrolled keys; "*" is any enrolled key; empty: none */
	/* what */
	struct policy_list profiles; /* names; "*" is all */
	struct policy_list share_ro; /* host directories below which a client may share read-only;
	                                "*" is anything it can open */
	struct policy_list share_rw;
	struct policy_list sockets, publish; /* paths that a client may share or relay, %u its uid;
	                                        addresses for ports */
	struct policy_list capabilities, devices; /* that its profiles may give */
	uint64_t capabilities_mask;
	bool identity_caller, identity_root, nested_userns, perf_events,
		allow_private;           /* profiles, and requests, with these */
	enum plan_network network;       /* the most */
	struct policy_rules allow, deny; /* each rule that a request allows is within one of these;
	                                    what is denied in any case */
	/* ~/.config/yett/authorized_keys counts; it counts for what agents ask for and nothing
	 * else, and if such a one is for the asker, only such */
	bool user_keys, agents;
	bool confined_clients; /* a client in another namespace than the helper's may ask */
	bool fall_through; /* what it does not give is looked for in grants that name the asker less
	                      closely */
	struct plan_limits limits_max; /* of one sandbox; 0: the profile's own value is the most */
	/* of all sandboxes of whomever the grant is for, also of those that another one gives */
	struct plan_limits user_limits;        /* memory, cpu, pids */
	unsigned sandboxes_max, terminals_max; /* 0: unlimited */
	uint32_t creations_max, requests_max;  /* a minute; 0: unlimited */
	uint64_t linger_max_ms;  /* how long a sandbox may rest with nobody attached; 0: none may
	                            linger */
	uint64_t command_max_ms; /* the most time of a command, besides what the profile says; 0: no
	                            bound */
	struct policy_place
		places[POLICY_KEYS]; /* where each was written; file NULL: not written */
	bool is_ceiling;             /* it has no profiles and no keys */
	uint64_t expires; /* from then on, in seconds since 1970, it is as if it were not written;
	                     0: it does not */
	char *notice; /* what the administrator is to be told: "FILE:LINE: what"; may be empty */
	bool is_void; /* for that reason; whom it names gets nothing by it, and by no other that it
	                 comes before */
};

/* How a grant names somebody, from the least close. */
enum policy_naming {
	POLICY_NAMING_NONE,
	POLICY_NAMING_EVERYONE,
	POLICY_NAMING_GROUP,
	POLICY_NAMING_USER
};

/* A key of the keys directory. */
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
	uint32_t ids_ranges; /* how many ranges of 65536; the first one is the roles' own */
	struct policy_place ids_place; /* file NULL: not written */
	enum policy_audit audit;
	uint32_t record; /* enum policy_record, of all profiles together: where there is any, the
	                    listener does not end when idle */
	char *audit_dir; /* "/var/log/yett": of root's alone */
	uint64_t audit_max_bytes, audit_user_bytes; /* of all records; of those that one user causes
	                                               in a day. 0: unlimited */
	unsigned
		spares; /* prepared supervisors a recently served user has; 0 … POLICY_SPARES_MAX */
	struct policy_profile *profiles;
	size_t profiles_count;
	struct policy_grant *grants;
	size_t grants_count;
	uint64_t *namings; /* POLICY_NAMING() of whomever each grant names, ascending: the index of
	                      the grants */
	size_t namings_count;
	uint32_t ceilings_count; /* the last ones of the grants */
	uint32_t *rule_lines;    /* where each rule for the network stands: line, and file above
	                            POLICY_RULE_LINE_BITS */
	size_t rule_lines_count;
	/* What is in keys_dir, in the order of the lines, of which no two are the same, and when
	 * that was last changed. Inode 0: that is not known. */
	struct policy_enrolled *enrolled;
	size_t enrolled_count;
	struct policy_list origins; /* "KEY\tVALUE" of what is written for the helper, and
	                               "\tFILE:LINE" of what that replaces */
	ino_t keys_inode;
	struct timespec keys_changed;
	uint64_t generation; /* of the text that was read: another text, another number */
	void *image;         /* where all the pointers lead, read-only; policy_free() unmaps it */
	size_t image_size;
	int memory; /* the image as it came, sealed: for programs that read it, too */
};

struct policy_source {
	const char *libexec; /* the folder of yett-policy */
	const char *path; /* NULL: the built-in policy, dist/yett.conf; its places say "built-in" */
	bool with_fragments; /* and conf.d/\*.conf beside it */
	uid_t owner; /* whom files and their directories must belong to; writable by nobody else */
};

/*
 * Opens the files, has yett-policy compile them, and checks what it says. Unknown keys, wrong
 * values and names that do not exist are refused. 0, -errno, or YETT_E_INVALID_REQUEST /
 * YETT_E_SECURITY_VIOLATION with "FILE:LINE: what" as message; YETT_E_HELPER_UNAVAILABLE when
 * yett-policy failed.
 */
_must_check_ int policy_load(const struct policy_source *source, struct policy **ret_policy,
                             struct yett_error *error);

/* Whether `path` is `directory` or below it; both absolute and normalized. */
bool policy_path_is_in(const char *path, const char *directory);

/* Whether it is, or is in, one of the places of a host's programs and libraries, where there are no
 * secrets: /usr and the like. */
bool policy_path_has_programs(const char *path);

/* Why it is no path inside, as the end of a sentence; NULL when it is one: absolute, normalized,
 * not too long. */
const char *policy_path_problem(const char *path);

/* The same of an AppArmor profile or SELinux type, whose empty text is none. */
const char *policy_label_problem(const char *name);

/* YETT_E_INVALID_REQUEST with "FILE:LINE: 'text' problem". */
int policy_refuse(struct policy_place place, const char *text, const char *problem,
                  struct yett_error *error);

void policy_free(struct policy *policy);
static inline void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}
