/*
 * libyett: run commands in a sandbox that a privileged helper makes.
 *
 * A connection leads to the helper; a sandbox is asked for on it with a signed request; commands
 * run in the sandbox through a channel that the helper is not part of. The library needs no
 * privilege, starts no thread, installs no signal handler, keeps no global state and never raises
 * SIGPIPE. A connection may be shared by threads; a sandbox and its commands are used by one thread
 * at a time.
 *
 * Functions that can fail return 0, or a positive enum yett_code with the reason in `error` (which
 * may be NULL). An output parameter is written only on success.
 *
 * Structs grow at their end, and each begins with its size. In options that is what the caller
 * sets, `.size = sizeof options`, and every other member that is not set is zero: without a size
 * they are YETT_E_INVALID_REQUEST, and with something set that the library does not know yet
 * YETT_E_UNSUPPORTED. All that the library tells it has allocated itself, and is const or the
 * caller's: a handle has a function of its own that gives it up; everything else, be it a text, a
 * list or a status, is freed by yett_free(), with all that it points to.
 *
 * What the names of functions say: _free gives back what this process holds of a thing, and nothing
 * changes anywhere else. _close besides lets go of what only that handle kept alive, without asking
 * or waiting. _end ends the thing itself, for all who use it, and waits until it is gone. _kill
 * sends SIGKILL to commands and all that they have started; their sandbox goes on. Whatever has a
 * handle is meant by it; what has none, by its id: _by_id where there are both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yett_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define YETT_API        __attribute__((visibility("default")))
#define YETT_MUST_CHECK __attribute__((warn_unused_result))

/* Of this header. A program that was compiled with it runs with any library for which
 * yett_check_version() says so. */
#define YETT_VERSION_MAJOR 0
#define YETT_VERSION_MINOR 1
#define YETT_VERSION_PATCH 0
#define YETT_VERSION_NUMBER \
	(YETT_VERSION_MAJOR * 1000000 + YETT_VERSION_MINOR * 1000 + YETT_VERSION_PATCH)

#define YETT_SOCKET_PATH    "/run/yett/socket"
#define YETT_KEY_SIZE       32
#define YETT_SIGNATURE_SIZE 64
#define YETT_ID_SIZE        17 /* 16 hexadecimal digits and a NUL */
#define YETT_NAME_SIZE      65
#define YETT_LABEL_SIZE     128
#define YETT_WEAKER_SIZE    512

struct yett_connection;
struct yett_sandbox;
struct yett_command;
struct yett_signer;
struct yett_operation;

/* The version of the library that is loaded, as "1.2.3". */
YETT_API const char *yett_version(void);

/*
 * Whether the library that is loaded has all that a header of this version promises; `number` is
 * YETT_VERSION_NUMBER, as the caller was compiled with it. YETT_E_UNSUPPORTED, and both versions in
 * the message: it is older, or of another major version (of another minor one before 1.0).
 */
YETT_API YETT_MUST_CHECK int yett_check_version(uint32_t number, struct yett_error *error);

/* The text of a code, its short name ("permission-denied"), and the short name of a reason
 * ("replayed"). Never NULL. */
YETT_API const char *yett_error_code_text(enum yett_code code);
YETT_API const char *yett_error_code_name(enum yett_code code);
YETT_API const char *yett_error_reason_name(enum yett_reason reason);

/* Frees what a function of the library has given the caller and that is no handle, and all that
 * belongs to it. Takes NULL. */
YETT_API void yett_free(void *memory);

/*
 * Whether the same call can succeed later without a change of it, of the policy or of how the
 * helper is installed. NULL is not retryable, nor is a helper that cannot be reached for a reason
 * that the system gives (`os_error`).
 */
YETT_API bool yett_error_retryable(const struct yett_error *error);

/* --- keys ------------------------------------------------------------------------------------- */

/*
 * Signs message[0 … length) with Ed25519; 0 or an errno. Called while something is asked of the
 * helper, in that thread; other calls on the connection wait until it returns.
 */
typedef int (*yett_sign_fn)(const uint8_t *message, size_t length,
                            uint8_t ret_signature[YETT_SIGNATURE_SIZE], void *data);

/* A key that lives elsewhere (a key agent, a TPM): `sign` is asked for each signature. Free with
 * yett_signer_free(). */
YETT_API YETT_MUST_CHECK int yett_signer_new(const uint8_t public_key[YETT_KEY_SIZE],
                                             yett_sign_fn sign, void *data,
                                             struct yett_signer **ret_signer,
                                             struct yett_error *error);

/*
 * The key of a file made by yett_key_generate(); `path` NULL: ~/.config/yett/id_ed25519, home as
 * the user database has it. Refused unless it is a regular file of the caller's that nobody else
 * can read or write. YETT_E_NOT_FOUND when there is none. The secret is kept in locked memory where
 * the limits allow it, and wiped by yett_signer_free().
 */
YETT_API YETT_MUST_CHECK int yett_signer_load(const char *path, struct yett_signer **ret_signer,
                                              struct yett_error *error);

YETT_API const uint8_t *yett_signer_public_key(const struct yett_signer *signer);

/* Takes NULL. */
YETT_API void yett_signer_free(struct yett_signer *signer);

/*
 * Makes a key: `path` (0600, secret) and `path`.pub (0644, "ed25519 BASE64 comment"). Nothing is
 * overwritten: YETT_E_ALREADY_EXISTS when either is there. `path` NULL: as for yett_signer_load(),
 * and its directories are made.
 */
YETT_API YETT_MUST_CHECK int yett_key_generate(const char *path, struct yett_error *error);

/*
 * Sees to it that the caller has a key. Where there is no file id_ed25519 in `directory` (NULL:
 * ~/.config/yett) one is made and its public half appended to authorized_keys there, which counts
 * where the policy says user_keys; *ret_created tells. A key that exists is neither changed nor
 * enrolled.
 */
YETT_API YETT_MUST_CHECK int yett_key_ensure(const char *directory, bool *ret_created,
                                             struct yett_error *error);

/* Where yett_signer_load(NULL) looks, in path[0 … size). */
YETT_API YETT_MUST_CHECK int yett_key_path(char *path, size_t size, struct yett_error *error);

/*
 * Reads the one public key "ed25519 BASE64 [comment]" of a file. line[0 … size), at least 128
 * bytes, gets it as it is to be written elsewhere: no line end, and a comment of printable ASCII,
 * cut to fit.
 */
YETT_API YETT_MUST_CHECK int yett_key_read_public(const char *path, uint8_t ret_key[YETT_KEY_SIZE],
                                                  char *line, size_t size,
                                                  struct yett_error *error);

/* --- connection ------------------------------------------------------------------------------- */

enum yett_start {
	YETT_START_ANY = 0, /* the service if its socket answers, else a set-user-id helper, else
	                       one of the caller's own */
	YETT_START_SERVICE = 1,  /* the listening socket of the service */
	YETT_START_PERSONAL = 2, /* root's yett-helper, or anybody else's yett-rootless, executed by
	                            the library on a socketpair */
	YETT_START_SETUID = 3,   /* yett-helper, where the file is root's and set-user-id */
};

/* Bits of yett_connect_options.flags. */
enum yett_connect_flag {
	/* What is asked for is the wish of a model: a policy may have grants of its own for that
	   (yett.conf(5), agents). With YETT_START_ANY no other helper takes the place of a service
	   that is there and does not answer. */
	YETT_CONNECT_AGENT = 1,
};

/*
 * What is not set here is taken from the environment by secure_getenv(3): YETT_SOCKET and
 * YETT_HELPER. With YETT_START_ANY a socket that was named (here or there) is the only one tried,
 * and so is a helper that was named.
 */
struct yett_connect_options {
	size_t size;
	enum yett_start start;
	int timeout_ms;          /* for each answer of the helper; 0: 30 seconds */
	const char *socket_path; /* NULL: YETT_SOCKET, else YETT_SOCKET_PATH */
	const char *helper_path; /* NULL: YETT_HELPER, else that of the build tree the program lies
	                            in, else the installed one */
	/* Borrowed, and kept until the connection is closed. NULL: yett_signer_load(NULL) when
	 * first needed. */
	const struct yett_signer *signer;
	const char *key_path; /* where `signer` is NULL: of the key to load, which must be there */
	const char *const
		*helper_arguments; /* more for a helper that runs with the caller's privilege, as
	                              "--policy", FILE; ends with NULL; or NULL */
	uint64_t flags;            /* enum yett_connect_flag, or-ed */
};

/*
 * Connects, checks that the peer is root (or, on a socketpair, the caller itself) and agrees on the
 * version. `options` may be NULL. A helper to be executed, and each directory above it, must belong
 * to root or the caller and be writable by nobody else. Executing one makes a child process, which
 * yett_connection_close() waits for. YETT_E_HELPER_UNAVAILABLE, YETT_E_NOT_FOUND (the helper that
 * was named), YETT_E_PERMISSION_DENIED (a socket that the caller may not reach, or a set-user-id
 * helper whose group is another), YETT_E_SECURITY_VIOLATION, YETT_E_UNSUPPORTED (no /proc, which
 * executing a helper takes), YETT_E_INVALID_REQUEST (a path that is too long or not absolute),
 * YETT_E_PROTOCOL, YETT_E_TIMEOUT, what yett_signer_load() says of `key_path`, or the helper's
 * refusal.
 *
 * It is the calling process's: the helper ends it when that process has ended, whoever else has its
 * descriptor by then. When the service was restarted, or has loaded a policy anew, all that is
 * asked through a connection from before is refused with YETT_E_HELPER_UNAVAILABLE: another one is
 * to be made. Sandboxes, and commands in them, go on.
 */
YETT_API YETT_MUST_CHECK int yett_connect(const struct yett_connect_options *options,
                                          struct yett_connection **ret_connection,
                                          struct yett_error *error);

/* How it was started; never YETT_START_ANY. */
YETT_API enum yett_start yett_connection_start(const struct yett_connection *connection);

/* For poll(2): readable when yett_connection_dispatch() has something to do. Owned by the
 * connection. */
YETT_API int yett_connection_fd(const struct yett_connection *connection);

/* Handles what the helper has sent (the end of a sandbox), without waiting. An error is final for
 * the connection. */
YETT_API int yett_connection_dispatch(struct yett_connection *connection, struct yett_error *error);

/* Closes it, which ends those of its sandboxes that neither linger nor were attached; handles stay
 * to be closed. Takes NULL. */
YETT_API void yett_connection_close(struct yett_connection *connection);

/*
 * The helper that would be executed where no service answers, checked as yett_connect() checks it,
 * in path[0 … size) with symbolic links resolved. `helper_path` as in the options.
 * YETT_E_NOT_FOUND, YETT_E_SECURITY_VIOLATION.
 */
YETT_API YETT_MUST_CHECK int yett_helper_path(const char *helper_path, char *path, size_t size,
                                              struct yett_error *error);

/* --- sandbox ---------------------------------------------------------------------------------- */

/* Bits of yett_share.flags. */
enum yett_share_flag {
	YETT_SHARE_WRITABLE = 1,
	YETT_SHARE_FD = 2,     /* `fd` is what is shared, and `path` is NULL */
	YETT_SHARE_SOCKET = 4, /* it is a socket that somebody listens at, which the policy has to
	                          name; not with YETT_SHARE_WRITABLE */
	/*
	 * It is a directory of the caller's that stays as it is: all inside may change it, and what
	 * was changed is kept apart: see "work". Alone, or with YETT_SHARE_FD.
	 */
	YETT_SHARE_COW = 8,
};

/* One source, which is `path`, or `fd` with its flag; a share that has none or both is
 * YETT_E_INVALID_REQUEST. */
struct yett_share {
	size_t size;      /* in an array: all have the same */
	const char *path; /* a directory, a regular file or, with its flag, a socket; opened by the
	                     library, as the caller */
	const char *target; /* absolute path inside; NULL: `path`, which is then absolute */
	uint32_t flags;     /* enum yett_share_flag, or-ed */
	int fd; /* with YETT_SHARE_FD: the same, O_PATH or not; borrowed until the sandbox is
	           created */
	/* With YETT_SHARE_COW: what is changed is kept in so much memory of the sandbox's, and gone
	 * with it; 0: in a store. Linux 6.6 */
	uint64_t memory_bytes;
	/*
	 * With YETT_SHARE_COW: the id of a store that is there and that no sandbox works on, for
	 * one to begin with what was changed in it; NULL: a new one. Of `path`, a descriptor and
	 * `target`, those that are not given are as the store tells.
	 */
	const char *store;
	/*
	 * With YETT_SHARE_COW and a new store: names and paths below the directory that are not to
	 * be seen inside, and such as are to be seen all the same; NULL, or lists that end with
	 * NULL. A name is hidden wherever it is found, and at the top also where it comes later; a
	 * path, as ./NAME, where it is or would be. *, ? and [ ] match in a name, ** any
	 * directories: what matches when the sandbox is made. YETT_E_UNSUPPORTED before Linux 5.8.
	 */
	const char *const *hide, *const *no_hide;
};

/*
 * What is listed to be hidden in copy-on-write shares of sandboxes of a profile (NULL: "default"),
 * for `hide` of these: in /etc/yett/hide.d/PROFILE, by the administrator, and in
 * ~/.config/yett/hide.d/PROFILE, by the caller, a name in each line. At most 1024, a list that ends
 * with NULL, and may be empty; one yett_free() frees it. It is for the caller's good, and nothing
 * but the caller has to heed it. YETT_E_INVALID_REQUEST: a line is none that `hide` takes;
 * YETT_E_FILE_OPERATION_FAILED.
 */
YETT_API YETT_MUST_CHECK int yett_hide_list(const char *profile, const char *const **ret_names,
                                            struct yett_error *error);

/*
 * What is listed to be applied only where it is named, besides what yett-apply protects anyway: in
 * /etc/yett/protect and
 * ~/.config/yett/protect. A name, or up to four with / between, at any depth and with all below;
 * "*" at the begin or end of a name stands for any. As above.
 */
YETT_API YETT_MUST_CHECK int yett_protect_list(const char *const **ret_names,
                                               struct yett_error *error);

/*
 * Guarded paths: a share that contains one hides it, or shows it read-only, unless the request
 * shares that path itself as well. docs/guide.md lists them. More are listed in /etc/yett/secret
 * and /etc/yett/guard, by the administrator, and in ~/.config/yett/secret and
 * ~/.config/yett/guard, by the caller.
 */
enum yett_guard {
	YETT_GUARD_NONE = 0,
	YETT_GUARD_READ_ONLY = 1, /* in writable shares: the caller's programs obey it */
	YETT_GUARD_HIDDEN = 2,    /* in all shares: keys, passwords and the like */
};

/*
 * How the file open as `fd` is guarded in a share of the directory open as `share`, for programs
 * that pass on somebody else's wish to share it by name. `*ret_why` is a static text.
 * YETT_E_INVALID_REQUEST: a list is malformed; YETT_E_FILE_OPERATION_FAILED.
 */
YETT_API YETT_MUST_CHECK int yett_guard_of(int share, int fd, enum yett_guard *ret_guard,
                                           const char **ret_why, struct yett_error *error);

struct yett_tmpfs {
	size_t size; /* in an array: all have the same */
	const char *target;
	uint64_t size_bytes; /* 0: as the profile says */
};

/* What happens when no command ran for idle_time_ms. */
enum yett_idle_action { YETT_IDLE_END = 0, YETT_IDLE_PAUSE = 1 };

/* Bits of yett_sandbox_options.flags and of yett_sandbox_status.flags. */
enum yett_sandbox_flag {
	YETT_SANDBOX_LINGER = 1, /* it outlives the connection that made it; the policy says for how
	                            long at rest */
	/*
	 * Of options only, with YETT_NETWORK_LIMITED: a connection that no rule allows, and that
	 * the policy would let `allow` allow, is YETT_EVENT_ASKED, and waits 8 seconds for a rule
	 * that allows it. At most 64 wait at once.
	 */
	YETT_SANDBOX_ASK = 2,
	/* Of options only: names that rules allow may lead to private addresses, though no rule
	   names these. */
	YETT_SANDBOX_PRIVATE = 4,
};

/* As core_bytes. */
#define YETT_CORE_NONE 1

/* What a sandbox can connect to. */
enum yett_network {
	YETT_NETWORK_PROFILE = 0, /* what the profile says; YETT_NETWORK_LIMITED where that is none,
	                             and `allow` is set */
	YETT_NETWORK_NONE = 1,    /* nothing but itself */
	YETT_NETWORK_LIMITED = 2, /* what rules allow: those of the profile and of `allow` */
	YETT_NETWORK_OPEN = 3,    /* all but private addresses, and what rules deny */
	YETT_NETWORK_HOST = 4, /* that of the host, with all that listens there; no rules. It takes
	                          Landlock 6, or SELinux */
};

struct yett_sandbox_options {
	size_t size;
	const char *profile;  /* NULL: "default" */
	const char *hostname; /* NULL: the profile's */
	/*
	 * Where commands start when neither their options nor the session say otherwise: an
	 * absolute path inside. NULL: the target of the first share that is a directory, or "/"
	 * where nothing is shared.
	 */
	const char *directory;
	const struct yett_share *shares;
	size_t shares_count; /* at most 125 */
	const struct yett_tmpfs *tmpfs;
	size_t tmpfs_count; /* at most 32 */
	/*
	 * A directory that is shared, writable, at /mnt/memory, to be there for the next sandbox,
	 * too. NULL: none, but where the profile wants one (memory_mount) it is
	 * ~/.local/state/yett/memory, home as the user database has it, and made if it is not
	 * there.
	 */
	const char *memory_dir;
	uint64_t memory_bytes; /* limits; 0: as the profile says */
	uint64_t cpu_millis;   /* thousandths of a processor; commands run on as many, rounded up */
	uint64_t pids;
	uint64_t open_files; /* of a process */
	uint32_t flags;      /* enum yett_sandbox_flag, or-ed */
	enum yett_idle_action idle_action;
	uint64_t wall_time_ms, cpu_time_ms,
		idle_time_ms; /* how long it may live, each of at most 30 days; 0: no bound */
	uint64_t cleanup_ms;  /* how long it is listed when it has ended; it counts as one of the
	                         user's until then */
	const char *name; /* by which it can be found, of one sandbox of the user at a time; NULL:
	                     none */
	const char *const *labels; /* KEY=VALUE for whoever lists sandboxes, no key with '#' first;
	                              ends with NULL. NULL: none */
	const char *const *annotations; /* KEY=VALUE for people; as labels; both together at most 32
	                                   of 255 bytes, and 2500 bytes in all */
	uint64_t
		file_bytes; /* a limit of each file that a process writes; 0: as the profile says */
	uint64_t core_bytes; /* of core files, which the kernel writes where a command crashes; 0:
	                        as the profile says */
	enum yett_network network;
	/*
	 * Rules besides the profile's: HOST[:PORT[-PORT]], as "api.example.org:443",
	 * "*.example.org", "10.1.0.0/16:5432" or "*:22"; yett.conf(5) has all forms. The policy
	 * says what `allow` may have in it; `deny` wins. At most 256 in both together.
	 */
	const char *const *allow;
	size_t allow_count;
	const char *const *deny;
	size_t deny_count;
};

struct yett_sandbox_info {
	size_t size;
	char id[YETT_ID_SIZE];
	char profile[YETT_NAME_SIZE];
	uint32_t private_uid;        /* the host uid its commands run as */
	char label[YETT_LABEL_SIZE]; /* of AppArmor, as the kernel writes it: "yett-sandbox
	                                (enforce)"; empty: none */
	uint32_t landlock_abi; /* the version of Landlock in force inside (landlock(7)); 0: none */
	uint64_t memory_bytes, cpu_millis, pids,
		open_files;            /* limits in force, as in the options; 0: unlimited */
	char weaker[YETT_WEAKER_SIZE]; /* by what it is weaker than others, "without root: …", "by
	                                  devices of the host: …", "by the network of the host: …";
	                                  for people; empty: it is not */
	uint64_t file_bytes;           /* as the other limits: of each file that a process writes */
	uint64_t core_bytes;           /* of core files; YETT_CORE_NONE: there are none */
	enum yett_network network;     /* that it has; never YETT_NETWORK_PROFILE */
	char address4[16], address6[46]; /* its own, inside, with rules; address6 empty: this host
	                                    has no IPv6. All have the same */
	char hostname[65];               /* inside */
	char platform[16];               /* "linux" */
	char architecture[65];           /* of the machine, as uname(2) has it: "x86_64" */
	char type[16];                   /* by what it is kept apart: "namespaces" */
	char backend[16]; /* how the helper that tells of it was started: "service", "setuid",
	                     "rootless"; root's own: "personal" */
	/* Of each command: for how long it may run where its options do not say, and at most, as
	 * the policy has it; 0: no bound. */
	uint64_t command_timeout_ms, max_command_timeout_ms;
};

enum yett_ended {
	YETT_ENDED_NOT = 0,    /* it lives */
	YETT_ENDED_CLOSED = 1, /* because its channel or its connection was closed */
	YETT_ENDED_INIT_DIED = 2,
	YETT_ENDED_OUT_OF_MEMORY = 3,
	YETT_ENDED_HELPER =
		4, /* the helper ended it, or is gone; or the connection that made it was closed */
	YETT_ENDED_DESTROYED = 5, /* somebody ended it by its id */
	YETT_ENDED_WALL_TIME = 6,
	YETT_ENDED_CPU_TIME = 7,
	YETT_ENDED_IDLE = 8,
};

/* In this order; one that is destroyed is gone, and in no list any more. */
enum yett_state {
	YETT_STATE_CREATING = 0,
	YETT_STATE_STARTING = 1,
	YETT_STATE_RUNNING = 2,
	YETT_STATE_PAUSED = 3,
	YETT_STATE_STOPPING = 4,
	YETT_STATE_STOPPED = 5,
	YETT_STATE_FAILED = 6, /* stopped, because init died or memory ran out */
	YETT_STATE_DESTROYED = 7,
};

/* "running", "wall-time" and so on. Never NULL. */
YETT_API const char *yett_state_name(enum yett_state state);
YETT_API const char *yett_ended_name(enum yett_ended ended);

/* Asks for a sandbox and waits for it. `options` may be NULL. A refusal says which rule, what was
 * asked, what is allowed. */
YETT_API YETT_MUST_CHECK int yett_sandbox_create(struct yett_connection *connection,
                                                 const struct yett_sandbox_options *options,
                                                 struct yett_sandbox **ret_sandbox,
                                                 struct yett_error *error);

/*
 * The same, begun: the operation is over when the answer is there, and
 * yett_operation_take_sandbox() gives the sandbox. It goes on in yett_connection_dispatch(). What
 * `options` point to is not needed any more when this returns. Freed before it is over, a sandbox
 * that does not linger ends as soon as it is there.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_create_begin(struct yett_connection *connection,
                                                       const struct yett_sandbox_options *options,
                                                       struct yett_operation **ret_operation,
                                                       struct yett_error *error);

/*
 * The steps that creating it takes, as text; or the refusal that yett_sandbox_create() would get:
 * it is made, and taken down before anything runs in it. Not even a key is needed by who could
 * enroll one.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_plan(struct yett_connection *connection,
                                               const struct yett_sandbox_options *options,
                                               char **ret_text, struct yett_error *error);

/* The same steps as one JSON object; PROTOCOL.md, "plan", has its members. */
YETT_API YETT_MUST_CHECK int yett_sandbox_plan_json(struct yett_connection *connection,
                                                    const struct yett_sandbox_options *options,
                                                    char **ret_json, struct yett_error *error);

/*
 * A handle of a sandbox that is there, by its id or its name: of one that the same user made with
 * the same enrolled key (or with any key of the user's own), from whatever connection; root may
 * attach to all, to those of others by id. What other handles have started is found by
 * yett_commands_list(). YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING: it has ended.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_attach(struct yett_connection *connection,
                                                 const char *id_or_name,
                                                 struct yett_sandbox **ret_sandbox,
                                                 struct yett_error *error);

/*
 * Something that sandboxes can have, or not:
 *
 * "sandbox"               one at all
 * "network-none", "network-limited", "network-open", "network-host"
 * "limit-memory", "limit-cpu", "limit-pids"
 * "linger"                it outlives the connection that made it
 * "pause"                 it stands still, and goes on
 * "suspend-on-idle"       it is paused where no command runs (YETT_IDLE_PAUSE)
 * "resume"                it is made again with what its store holds, under the same name, as `yett
 * resume` does: of one that lingers "copy-on-write"         a directory whose changes are kept in a
 * store "copy-on-write-memory"  the same in memory "snapshot"              states of a store that
 * can be gone back to "live-mounts"           shares of a sandbox that runs "label" of AppArmor or
 * SELinux "landlock"              rules of the kernel's around its commands, and restrictions of a
 * single one
 *
 * More can come.
 */
struct yett_capability {
	size_t size;
	const char *name;
	bool is_supported;
	const char *how; /* "service", "cgroup v2", "yett-sandbox (enforce)", "version 6"; empty:
	                    there is nothing more to say */
	enum yett_code code; /* why not: YETT_E_PERMISSION_DENIED is the policy, YETT_E_UNSUPPORTED
	                        the machine; YETT_OK where it is supported */
	const char
		*reason; /* the same for people, and what would help; empty where there is none */
	const char *mend;
};

struct yett_capability_list;

/*
 * What this caller can have on this machine, of a profile (NULL: "default"). Each is tried: a plan
 * is asked for with it, as by yett_sandbox_plan(), and one sandbox is made, looked at and ended;
 * for a moment there are a directory in the caller's home and a store. So it takes as long as a
 * dozen sandboxes, and a key, as making one does. What cannot be told is an error of it all: of the
 * helper, or YETT_E_RESOURCE_LIMIT where there are as many sandboxes as there may be.
 */
YETT_API YETT_MUST_CHECK int yett_capabilities(struct yett_connection *connection,
                                               const char *profile,
                                               struct yett_capability_list **ret_list,
                                               struct yett_error *error);

/* As those of a list of sandboxes. And the one of a name; NULL: there is none. */
YETT_API size_t yett_capability_list_count(const struct yett_capability_list *list);
YETT_API const struct yett_capability *
yett_capability_list_get(const struct yett_capability_list *list, size_t i);
YETT_API const struct yett_capability *
yett_capability_list_find(const struct yett_capability_list *list, const char *name);

/* Paused or running, as far as the helper has told; looks without waiting. */
YETT_API enum yett_state yett_sandbox_state(struct yett_sandbox *sandbox);

/* What the audit keeps of what happens in a sandbox, where the policy says so: yett-audit(8). */
enum yett_recorded {
	YETT_RECORDED_COMMANDS =
		1, /* each command's arguments, its start, its end and how it ended */
	YETT_RECORDED_CONNECTIONS = 2, /* each connection, and what went through it */
	YETT_RECORDED_DENIALS = 4,     /* each connection, name and system call that was refused */
};

/* What is known of a sandbox to those who may manage it. */
struct yett_sandbox_status {
	size_t size;
	const struct yett_sandbox_info *info;
	char name[YETT_NAME_SIZE]; /* empty: none */
	enum yett_state state;
	enum yett_ended ended; /* YETT_ENDED_NOT before YETT_STATE_STOPPING */
	uint32_t uid;
	char principal[YETT_NAME_SIZE]; /* the enrolled key that asked for it; empty: one of the
	                                   user's own */
	uint32_t flags; /* enum yett_sandbox_flag, or-ed; this and what follows as in the options */
	enum yett_idle_action idle_action;
	uint64_t wall_time_ms, cpu_time_ms, idle_time_ms, cleanup_ms;
	uint64_t linger_ms; /* a lingering one ends after so long at rest with nobody attached; 0:
	                       never */
	uint64_t created_ms, started_ms, ended_ms;      /* since 1970; 0: not yet */
	uint32_t attached;                              /* connections that hold it */
	const char *const *labels, *const *annotations; /* KEY=VALUE, each list ends with NULL */
	unsigned recorded; /* enum yett_recorded, or-ed: what of its life the administrator has
	                      recorded */
};

struct yett_sandbox_list;

enum yett_list_flag {
	YETT_LIST_ALL = 1, /* of all users, which is root's */
};

/* All that the caller may manage, in no order. `flags`: enum yett_list_flag. */
YETT_API YETT_MUST_CHECK int yett_sandboxes_list(struct yett_connection *connection, unsigned flags,
                                                 struct yett_sandbox_list **ret_list,
                                                 struct yett_error *error);

/* How many are in the list, and one of them, which is valid as long as the list; NULL when `i` is
 * not less than their number. */
YETT_API size_t yett_sandbox_list_count(const struct yett_sandbox_list *list);
YETT_API const struct yett_sandbox_status *
yett_sandbox_list_get(const struct yett_sandbox_list *list, size_t i);

/* One of them. YETT_E_NOT_FOUND also for what is another one's. */
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  struct yett_sandbox_status **ret_status,
                                                  struct yett_error *error);

/* The steps by which it was made, as yett_sandbox_plan() tells them of one that is not. */
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect_plan(struct yett_connection *connection,
                                                       const char *id_or_name, char **ret_text,
                                                       struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect_plan_json(struct yett_connection *connection,
                                                            const char *id_or_name, char **ret_json,
                                                            struct yett_error *error);

/*
 * By id or name, whoever holds it. Pause has all its processes stand still, resume has them go on;
 * time limits of commands go on meanwhile. Kill ends every command, not the sandbox.
 * YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING: it is not in a state for that.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_pause(struct yett_connection *connection,
                                                const char *id_or_name, struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_resume(struct yett_connection *connection,
                                                 const char *id_or_name, struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_kill(struct yett_connection *connection,
                                               const char *id_or_name, struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_end_by_id(struct yett_connection *connection,
                                                    const char *id_or_name,
                                                    struct yett_error *error);

/* Valid as long as the sandbox. */
YETT_API const struct yett_sandbox_info *yett_sandbox_get_info(const struct yett_sandbox *sandbox);

/* Whether and why it ended, as far as the helper has told; looks without waiting. */
YETT_API enum yett_ended yett_sandbox_ended(struct yett_sandbox *sandbox);

/* For poll(2): readable when yett_sandbox_dispatch() has something to do. Owned by the sandbox. */
YETT_API int yett_sandbox_fd(const struct yett_sandbox *sandbox);

/*
 * Handles what init has sent and what comes of outputs, and calls the on_exit and on_output of
 * commands, without waiting. An error is final for the sandbox.
 */
YETT_API int yett_sandbox_dispatch(struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Ends the sandbox with everything in it, and waits until the helper has taken it down; commands
 * not freed yet end with YETT_E_NOT_RUNNING. The handle stays, to be closed. YETT_E_TIMEOUT when
 * the helper did not confirm. Takes NULL. Not to be called from an on_exit.
 */
YETT_API int yett_sandbox_end(struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Frees the handle, without waiting for anything. The sandbox goes on if it lingers, or if the
 * handle was an attached one: then commands go on, but one whose start was not waited for may never
 * be. Any other sandbox ends with everything in it, a moment later. Takes NULL. Not to be called
 * from an on_exit.
 */
YETT_API void yett_sandbox_close(struct yett_sandbox *sandbox);

/* --- commands --------------------------------------------------------------------------------- */

/*
 * In the place of a descriptor of a command. None of them is -1 or a negative errno, so that a call
 * that failed is never taken for one: any other negative number is YETT_E_INVALID_REQUEST.
 */
enum yett_stdio {
	YETT_STDIO_NULL = -10001,    /* /dev/null */
	YETT_STDIO_INHERIT = -10002, /* the caller's own descriptor of the same number, if it passes
	                                yett_stdio_check() */
	YETT_STDIO_PIPE = -10003,    /* a pipe, whose other end yett_command_take_pipe() gives */
	YETT_STDIO_CAPTURE = -10004, /* of 1 and 2: the sandbox keeps it, up to capture_bytes, for
	                                yett_command_output() */
	YETT_STDIO_STREAM = -10005,  /* of 1 and 2: on_output is called with it */
	YETT_STDIO_AS_OUTPUT = -10006, /* of 2: what 1 is */
	YETT_STDIO_LATER = -10007, /* of 0: yett_command_input() gives it, by the command's id */
};

/* The most that is kept of one output. */
#define YETT_CAPTURE_MAX 16777216

enum yett_stream { YETT_STREAM_OUT = 0, YETT_STREAM_ERR = 1 };

/* Arguments and variables may be as many and as long as execve(2) takes them, within 6 MiB; they
 * need not be UTF-8. */
struct yett_command_options {
	size_t size;
	const char *const
		*argv; /* ends with NULL; argv[0] without '/' is looked up in the PATH inside */
	const char *const *env; /* NAME=VALUE, ends with NULL; added to the session's and the
	                           profile's, and wins. NULL: none */
	const char *cwd;  /* inside; NULL: the session's, which is as yett_sandbox_options.directory
	                     says until it is changed */
	const int *stdio; /* three descriptors (borrowed) or enum yett_stdio; NULL: /dev/null for
	                     all */
	const void *input; /* what it reads from its stdin, copied; stdio[0] is YETT_STDIO_NULL
	                      then. NULL: as `stdio` says */
	size_t input_length;
	size_t capture_bytes; /* of each output that is YETT_STDIO_CAPTURE: what exceeds it is
	                         dropped */
	uint64_t timeout_ms;  /* the command and all it started are killed then; 0: after
	                         command_timeout_ms of the sandbox's info, if any */
	/* Restrictions of this command and what it starts; where the host cannot keep it to them:
	 * YETT_E_UNSUPPORTED, and no command. */
	bool deny_write; /* nothing in the file system can be changed; its streams, and devices, can
	                    be written to */
	bool deny_network;             /* no sockets but Unix sockets */
	const char *const *only_paths; /* absolute, at most 64, ends with NULL: what it can reach
	                                  besides what it needs to be executed; NULL: all */
	bool other_user; /* it runs as `user`, as uid and gid inside, with no group besides;
	                    possible only where the profile gives capabilities */
	uint32_t user;
	uint64_t memory_bytes, pids; /* limits of its own below those of the sandbox; 0: none */
	bool terminal; /* its streams are a terminal of the sandbox's own; `stdio` is NULL or all
	                  null then */
	uint16_t rows, columns; /* of that terminal; 0: not known */
	void (*on_exit)(struct yett_command *command, void *data); /* may be NULL */
	/* Of YETT_STDIO_STREAM: a piece of an output, in order; all of it before on_exit. In it
	 * nothing is freed, waited for, asked or ended. */
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
	/*
	 * KEY=VALUE for whoever asks about the command, which yett_command_status has again; ends
	 * with NULL. At most 16, 1 KiB in all, UTF-8, each key once. NULL: none. The sandbox can
	 * read them, and a hostile one can change them.
	 */
	const char *const *metadata;
};

/* Bits of yett_result.limits_hit: which limit was reached while the command ran. */
enum yett_limit {
	YETT_LIMIT_MEMORY = 1,
	YETT_LIMIT_PIDS = 2,
	YETT_LIMIT_CPU = 4,
	YETT_LIMIT_CPU_TIME = 8,
};

/* Each is valid as long as what it was got from. */
struct yett_result {
	size_t size;
	bool signaled;
	int status; /* exit status, or the signal's number if signaled */
	bool timed_out;
	bool out_of_memory;
	uint32_t limits_hit; /* enum yett_limit, or-ed */
	uint64_t wall_us;
	uint64_t user_us, system_us;
	uint64_t memory_peak_bytes;
	uint64_t started_ms, ended_ms; /* since 1970; ended_ms 0: it runs */
	char signal_name[16]; /* of one that a signal ended: "SEGV", "RTMIN+3"; empty: none, or a
	                         signal without a name */
	/*
	 * Of one that has ended, by it and the children that it waited for (getrusage(2),
	 * ru_inblock and ru_oublock): what came from disks, and what was changed in files on disks,
	 * whether it is there yet or not. Files in memory, pipes and sockets do not count.
	 */
	uint64_t read_bytes, written_bytes;
};

/*
 * Whether a sandbox may hold this descriptor: pipes, regular files that are not on a pseudo file
 * system, /dev/null, and stream and seqpacket sockets of AF_UNIX that are connected, as of
 * socketpair(2). YETT_E_SECURITY_VIOLATION for the rest: a directory or O_PATH descriptor is a way
 * into the host, a terminal takes input for the caller's shell, and any other socket can be
 * connected to whatever the host's network reaches. Bridge these with a pipe, a terminal also with
 * a terminal of the command's own.
 */
YETT_API YETT_MUST_CHECK int yett_stdio_check(int fd, struct yett_error *error);

/*
 * Starts a command, without waiting: that it could not be started is told by yett_command_wait().
 * Several may run at once. YETT_E_NOT_RUNNING when the sandbox is known to be paused; one that is
 * paused later starts it when it goes on. Descriptors must pass yett_stdio_check(), a socket that
 * has no name gets one (unix(7), "Autobind feature"); the mode of a pipe without a name is opened
 * to others in the direction of its use, so that the command, which has another id, can open it
 * anew as /dev/stdin or /dev/stdout. on_exit is called from whatever call learns of the end, and
 * may free the command unless that call is a yett_command_wait() or yett_command_id() for it.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_exec(struct yett_sandbox *sandbox,
                                               const struct yett_command_options *options,
                                               struct yett_command **ret_command,
                                               struct yett_error *error);

/*
 * Waits for its end: timeout_ms -1 without bound, 0 just looks. The result (may be NULL) is valid
 * as long as the command. YETT_E_TIMEOUT: it still runs. YETT_E_COMMAND_FAILED: it could not be
 * started, for the os_error; where it was not the program that could not be executed, the error has
 * a step. YETT_E_NOT_RUNNING, YETT_E_RESOURCE_LIMIT: the sandbox ended first. May be called again,
 * and tells the same.
 */
YETT_API YETT_MUST_CHECK int yett_command_wait(struct yett_command *command, int timeout_ms,
                                               const struct yett_result **ret_result,
                                               struct yett_error *error);

/* Sends a signal (1 … 64) to the command's process group. YETT_E_NOT_RUNNING when it is known to
 * have ended. */
YETT_API YETT_MUST_CHECK int yett_command_signal(struct yett_command *command, int signal_number,
                                                 struct yett_error *error);

/*
 * Its id, by which it is known to every handle of the sandbox, and which no other command of it
 * gets. Where that is not known yet it waits until the sandbox has told it, as it does at once: 0
 * for a command that could not be started, or after 10 seconds. Not to be called in an on_output.
 */
YETT_API uint64_t yett_command_id(const struct yett_command *command);

/* Its pid inside the sandbox; 0 until it is known to have started. */
YETT_API uint32_t yett_command_pid(const struct yett_command *command);

/*
 * The master of the command's terminal, to be read and written; -1 until it is known to have
 * started, and for a command without one. Owned by the command: closed by yett_command_free(),
 * which hangs up the terminal unless a duplicate is kept. It is checked to be a pty's master
 * (pty(7)), and is never the caller's controlling terminal. read(2) fails with EIO once all who had
 * the terminal open are gone. What is read was written by the sandbox: printed on a terminal, it
 * does there what its escape sequences say.
 */
YETT_API int yett_command_terminal(const struct yett_command *command);

/*
 * Tells the command's terminal its size, which sends SIGWINCH to its foreground; before the start
 * it is kept until then. YETT_E_INVALID_REQUEST for a command that was started without a terminal;
 * YETT_E_NOT_RUNNING when it is known to have ended.
 */
YETT_API YETT_MUST_CHECK int yett_command_resize(struct yett_command *command, uint16_t rows,
                                                 uint16_t columns, struct yett_error *error);

/*
 * Our end of the pipe of a stream (0, 1 or 2) that is YETT_STDIO_PIPE: to be written to of 0, to be
 * read of the others. It is the caller's from then on, to be closed; until then it is the
 * command's. YETT_E_INVALID_REQUEST: there is none, or it was taken.
 */
YETT_API YETT_MUST_CHECK int yett_command_take_pipe(struct yett_command *command, int stream,
                                                    int *ret_fd, struct yett_error *error);

/* Frees the handle; the command itself goes on. Takes NULL. */
YETT_API void yett_command_free(struct yett_command *command);

/* What commands of a sandbox begin with when their options do not say otherwise: kept by it, the
 * same for all its handles. */
struct yett_session {
	size_t size;
	const char *directory;  /* empty: it was neither given nor changed, and is "/" */
	const char *const *env; /* NAME=VALUE besides those of the profile, ends with NULL */
};

/* YETT_E_TIMEOUT: init does not answer. */
YETT_API YETT_MUST_CHECK int yett_session_get(struct yett_sandbox *sandbox,
                                              struct yett_session **ret_session,
                                              struct yett_error *error);

/*
 * For commands that start from now on: another directory (absolute; NULL: it stays), further
 * variables, and names of some that go (lists that end with NULL; NULL: none). All of it or
 * nothing: YETT_E_RESOURCE_LIMIT beyond 1024 variables or 32 KiB of them. That a directory is not
 * there is told when a command starts.
 */
YETT_API YETT_MUST_CHECK int yett_session_change(struct yett_sandbox *sandbox,
                                                 const char *directory, const char *const *set,
                                                 const char *const *unset,
                                                 struct yett_error *error);

enum yett_command_state {
	YETT_COMMAND_PENDING = 0, /* its program is not executed yet */
	YETT_COMMAND_RUNNING = 1,
	YETT_COMMAND_COMPLETED = 2, /* it exited */
	YETT_COMMAND_FAILED = 3,    /* its program could not be executed */
	YETT_COMMAND_TIMEOUT = 4,
	YETT_COMMAND_KILLED = 5, /* a signal ended it */
};

/* "running", "completed" and so on. Never NULL. */
YETT_API const char *yett_command_state_name(enum yett_command_state state);

/* What a sandbox knows of a command: of all that run, and of 256 that have ended, whoever started
 * them. */
struct yett_command_status {
	size_t size;
	uint64_t id;
	enum yett_command_state state;
	uint32_t pid;     /* inside the sandbox */
	const char *text; /* its arguments with spaces between them, cut to 127 bytes; printable */
	const char *const *argv; /* the arguments themselves, of 511 bytes at most; UTF-8, but
	                            otherwise as they are; ends with NULL */
	bool argv_cut;           /* some are missing */
	uint64_t started_ms;     /* since 1970 */
	const struct yett_result *result; /* of one that runs times and memory so far; 0 where the
	                                     host does not tell */
	const struct yett_error *error;   /* YETT_COMMAND_FAILED: why; otherwise NULL */
	const struct yett_output_status *outputs[2]; /* by enum yett_stream */
	const char *const
		*metadata; /* as in the options that it was started with; ends with NULL */
};

/* How an output of a command is kept. */
struct yett_output_status {
	size_t size;
	size_t length;  /* so much of it so far */
	bool captured;  /* it is kept at all */
	bool truncated; /* more was written than kept */
};

struct yett_command_list;

/* By their ids, the lowest first. YETT_E_TIMEOUT: init does not answer. */
YETT_API YETT_MUST_CHECK int yett_commands_list(struct yett_sandbox *sandbox,
                                                struct yett_command_list **ret_list,
                                                struct yett_error *error);

/* As those of a list of sandboxes. */
YETT_API size_t yett_command_list_count(const struct yett_command_list *list);
YETT_API const struct yett_command_status *
yett_command_list_get(const struct yett_command_list *list, size_t i);

/* One of them. YETT_E_NOT_FOUND: there was none with this id, or what became of it is not known any
 * more. */
YETT_API YETT_MUST_CHECK int yett_command_inspect(struct yett_sandbox *sandbox, uint64_t id,
                                                  struct yett_command_status **ret_status,
                                                  struct yett_error *error);

struct yett_follow_options {
	size_t size;
	void (*on_exit)(
		struct yett_command *command,
		void *data); /* may be NULL; as in the options of a command, and so the next */
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
};

/*
 * A handle of a command that is known, whoever started it: to be waited for and so on, as one that
 * was started by this handle of the sandbox, but for its terminal and streams. `options` may be
 * NULL; on_output is not called. YETT_E_NOT_FOUND.
 */
YETT_API YETT_MUST_CHECK int yett_command_attach(struct yett_sandbox *sandbox, uint64_t id,
                                                 const struct yett_follow_options *options,
                                                 struct yett_command **ret_command,
                                                 struct yett_error *error);

/*
 * The same, and on_output is called with all that is kept of its outputs, from the beginning on and
 * while it comes. Of a command that has ended, too. YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: no
 * output of it is kept.
 */
YETT_API YETT_MUST_CHECK int yett_command_follow(struct yett_sandbox *sandbox, uint64_t id,
                                                 const struct yett_follow_options *options,
                                                 struct yett_command **ret_command,
                                                 struct yett_error *error);

enum yett_input_flag { YETT_INPUT_LAST = 1 };

/*
 * What a command that was started with YETT_STDIO_LATER reads: a pipe, to be written to and closed
 * by the caller, whom write(2) sends SIGPIPE when the command has ended. The command meets the end
 * of its input when, after one was asked for with YETT_INPUT_LAST, all of them are closed.
 * YETT_E_NOT_FOUND; YETT_E_NOT_RUNNING: it has ended; YETT_E_INVALID_REQUEST: it was not started
 * so, or the last was asked for.
 */
YETT_API YETT_MUST_CHECK int yett_command_input(struct yett_sandbox *sandbox, uint64_t id,
                                                unsigned flags, int *ret_fd,
                                                struct yett_error *error);

/* A signal (1 … 64) to the process group of a command, by its id. YETT_E_NOT_FOUND,
 * YETT_E_NOT_RUNNING: it has ended; YETT_E_TIMEOUT. */
YETT_API YETT_MUST_CHECK int yett_command_signal_by_id(struct yett_sandbox *sandbox, uint64_t id,
                                                       int signal_number, struct yett_error *error);

/* SIGKILL to the command and all that it started, by its id; none where it has ended.
 * YETT_E_NOT_FOUND, YETT_E_TIMEOUT. */
YETT_API YETT_MUST_CHECK int yett_command_kill(struct yett_sandbox *sandbox, uint64_t id,
                                               struct yett_error *error);

struct yett_captured {
	size_t size;
	const char *bytes; /* NUL-terminated besides */
	size_t length;
	bool truncated; /* more was written than kept */
};

/*
 * What is kept of an output of a command, so far or at its end, by its id. YETT_E_NOT_FOUND as
 * above; YETT_E_INVALID_REQUEST: it was not started with YETT_STDIO_CAPTURE for it.
 */
YETT_API YETT_MUST_CHECK int yett_command_output(struct yett_sandbox *sandbox, uint64_t id,
                                                 enum yett_stream stream,
                                                 struct yett_captured **ret_captured,
                                                 struct yett_error *error);

struct yett_output {
	size_t size;
	const struct yett_result *result;
	const char *out, *err; /* what it wrote, NUL-terminated besides */
	size_t out_length, err_length;
	bool out_truncated, err_truncated;
	/*
	 * The two together, in the order in which they came: what is written to one of them is read
	 * before what is written to the other later, but for what was not read yet by then.
	 */
	const char *both;
	size_t both_length;
	bool both_truncated;
};

/*
 * Runs a command to its end and keeps up to `output_max` bytes of each of its two outputs, and of
 * both together; more is read and dropped. Of options->stdio only the first entry counts; on_exit
 * and on_output are not called; YETT_E_INVALID_REQUEST with a terminal. What outlives the command
 * is not waited for.
 */
YETT_API YETT_MUST_CHECK int yett_run(struct yett_sandbox *sandbox,
                                      const struct yett_command_options *options, size_t output_max,
                                      struct yett_output **ret_output, struct yett_error *error);

/* --- usage ------------------------------------------------------------------------------------ */

/* Bits of yett_usage.known, in the order of its members. */
enum yett_usage_count {
	YETT_USAGE_CPU = 1,
	YETT_USAGE_USER = 2,
	YETT_USAGE_SYSTEM = 4,
	YETT_USAGE_MEMORY = 8,
	YETT_USAGE_MEMORY_PEAK = 16,
	YETT_USAGE_READ_BYTES = 32,
	YETT_USAGE_WRITTEN_BYTES = 64,
	YETT_USAGE_READS = 128,
	YETT_USAGE_WRITES = 256,
	YETT_USAGE_PROCESSES = 512,
	YETT_USAGE_THREADS = 1024,
	YETT_USAGE_OPEN_FILES = 2048,
	YETT_USAGE_OOM_KILLS = 4096,
	YETT_USAGE_FORKS_REFUSED = 8192,
	YETT_USAGE_CONNECTIONS = 16384, /* this and the next: of a sandbox that has a network */
	YETT_USAGE_CONNECTED = 32768,
	YETT_USAGE_BLOCKED = 65536,
	YETT_USAGE_SENT_BYTES = 131072,
	YETT_USAGE_RECEIVED_BYTES = 262144,
};

/* What a sandbox uses, by what the kernel counts for all its processes together. */
struct yett_usage {
	size_t size;
	char id[YETT_ID_SIZE];
	char name[YETT_NAME_SIZE]; /* empty: none */
	enum yett_state state;     /* running or paused */
	uint64_t taken_us;         /* when the helper read this: CLOCK_MONOTONIC */
	uint64_t uptime_ms;
	uint64_t memory_limit_bytes, pids_limit; /* 0: unlimited */
	uint32_t known; /* enum yett_usage_count, or-ed: what of the following this host counts; the
	                   others are 0 */
	uint64_t cpu_us, user_us, system_us;
	uint64_t memory_bytes, memory_peak_bytes; /* with what of files is kept in memory */
	uint64_t read_bytes, written_bytes, reads, writes; /* of disks */
	uint64_t processes, threads; /* with init, the child that it may have ready for the next
	                                command, and what serves its network */
	uint64_t open_files;
	uint64_t oom_kills;                  /* processes killed for want of memory */
	uint64_t forks_refused;              /* because of the limit of processes */
	uint64_t connections;                /* out of the sandbox, open now */
	uint64_t connected;                  /* that were made */
	uint64_t blocked;                    /* that were not allowed, and names that are not */
	uint64_t sent_bytes, received_bytes; /* over connections that have ended */
};

/*
 * Reads what a sandbox uses now. Of one that does not run: YETT_E_NOT_RUNNING. YETT_E_NOT_FOUND
 * also for what is another one's. Nobody but the helper is asked, so that a hostile sandbox has no
 * say in it and is not kept from working.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_usage(struct yett_connection *connection,
                                                const char *id_or_name,
                                                struct yett_usage **ret_usage,
                                                struct yett_error *error);

struct yett_usage_list;

/* The same of all that run and that the caller may manage, in no order. `flags`: enum
 * yett_list_flag. */
YETT_API YETT_MUST_CHECK int yett_sandboxes_usage(struct yett_connection *connection,
                                                  unsigned flags, struct yett_usage_list **ret_list,
                                                  struct yett_error *error);

/* As those of a list of sandboxes. */
YETT_API size_t yett_usage_list_count(const struct yett_usage_list *list);
YETT_API const struct yett_usage *yett_usage_list_get(const struct yett_usage_list *list, size_t i);

/*
 * The share of processors that a sandbox used between two readings, in hundredths of one: 250 is
 * two and a half. Negative when it cannot be told: they are of two sandboxes, of one moment, or
 * without the time.
 */
YETT_API double yett_usage_cpu_percent(const struct yett_usage *before,
                                       const struct yett_usage *now);

/* What the helper has done since the machine started, for all users. */
struct yett_totals {
	size_t size;
	uint64_t sandboxes;  /* that have ended */
	uint64_t executions; /* of commands, that have ended: successes and failures */
	uint64_t successes;  /* those with status 0 */
	uint64_t failures;
	uint64_t timeouts;    /* among the failures */
	uint64_t duration_us; /* of all together */
};

/*
 * For root; others: YETT_E_PERMISSION_DENIED. Commands are counted by the inits of sandboxes, so a
 * hostile sandbox can make these numbers wrong, and they are a moment late.
 */
YETT_API YETT_MUST_CHECK int yett_helper_totals(struct yett_connection *connection,
                                                struct yett_totals **ret_totals,
                                                struct yett_error *error);

/* --- mounts ----------------------------------------------------------------------------------- */

/*
 * Mounts shares in a sandbox that runs, of the caller's own, by the policy as it is now; as those
 * it is made with, but each at a place below /mnt, /tmp, /var/tmp, /run or the home, where nothing
 * is mounted yet. All of `count`, or none. YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING,
 * YETT_E_PERMISSION_DENIED, YETT_E_ALREADY_EXISTS. Waits for the answer.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_mount(struct yett_connection *connection,
                                                const char *id_or_name,
                                                const struct yett_share *shares, size_t count,
                                                struct yett_error *error);

/*
 * Takes off what is mounted at these places inside, the ones that it was made with, too, but not
 * what the profile has there or protects. What commands have open of it stays open to them. Errors
 * as above; YETT_E_NOT_FOUND also where nothing is mounted.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_unmount(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  const char *const *targets, size_t count,
                                                  struct yett_error *error);

/*
 * Has the overlays at these places inside, with none all that are the sandbox's, look at their
 * layers anew: shares that are copy-on-write, and read-only ones in a profile with overlay_ro.
 * Files that were replaced, made or removed outside are seen as they are then, but for what is open
 * inside. Errors as above; YETT_E_NOT_FOUND also where nothing is, YETT_E_INVALID_REQUEST where no
 * overlay is mounted.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_refresh(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  const char *const *targets, size_t count,
                                                  struct yett_error *error);

enum yett_mount_mode {
	YETT_MOUNT_READ_ONLY = 0,
	YETT_MOUNT_WRITABLE = 1,
	YETT_MOUNT_COPY_ON_WRITE = 2, /* as YETT_SHARE_COW has it */
};

/* Something that is mounted in a sandbox. */
struct yett_mount {
	size_t size;
	const char *target; /* where it is inside; bytes that need not be UTF-8 */
	const char *root;   /* what of its file system it shows, as a path from that one's top: of a
	                       share part of its path, or all of it */
	const char *type;   /* of the file system: "ext4", "tmpfs", "overlay", "proc" */
	enum yett_mount_mode mode;
	/*
	 * It is a file system in the sandbox's own memory: its root with /tmp, the home, /run and
	 * /dev/shm, a tmpfs, or what changes of a share with memory_bytes are in. Only of these is
	 * told how much room there is, and how much of that is taken; 0: no bound.
	 */
	bool is_own;
	uint64_t size_bytes, used_bytes;
	uint64_t files_max, files_used;
};

struct yett_mount_list;

/*
 * What is mounted in a sandbox now, with what yett_sandbox_mount() has mounted, in the order in
 * which it was mounted. It is asked inside, as files are (see "files"), and so what a hostile
 * sandbox says. YETT_E_TIMEOUT, YETT_E_NOT_RUNNING.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_mounts(struct yett_sandbox *sandbox,
                                                 struct yett_mount_list **ret_list,
                                                 struct yett_error *error);

/* As those of a list of sandboxes. */
YETT_API size_t yett_mount_list_count(const struct yett_mount_list *list);
YETT_API const struct yett_mount *yett_mount_list_get(const struct yett_mount_list *list, size_t i);

/* --- work ------------------------------------------------------------------------------------- */

/*
 * Each share with YETT_SHARE_COW has a store of its own, a directory $XDG_STATE_HOME/yett/work/ID
 * (~/.local/state without that variable, home as the user database has it), which is there until it
 * is discarded. What its files are called and hold is as a sandbox left it.
 */
struct yett_work {
	size_t size;
	char id[YETT_ID_SIZE];
	bool is_complete;    /* else its request came to nothing, or is under way, and the texts are
	                        empty */
	bool is_used;        /* by a sandbox that is there */
	const char *source;  /* the directory outside; as a store tells it, like what follows */
	const char *target;  /* where it is inside */
	const char *sandbox; /* its id; empty: a fork, which none has worked on */
	uint64_t created_ms; /* since 1970: what changed in the source from then on changed
	                        meanwhile */
	const char *store;   /* its directory; "upper" in it has what was changed. */
	uint64_t inode; /* of the directory outside, when the store was made; 0: it does not tell */
	/* In another boot of the machine it was used last: what was written shortly before its end
	 * may be torn, if that was a crash. */
	bool is_earlier_boot;
	const char *const *hidden; /* what is hidden of the source: paths below that, most of which
	                              may not be there */
	size_t hidden_count;
	const char *name; /* of that sandbox; empty: it had none */
	bool is_changed;  /* else nothing was changed, and it has no snapshots */
};

struct yett_work_list;

/* All stores of the caller's, in no order; freed with yett_free(). */
YETT_API YETT_MUST_CHECK int yett_works_list(struct yett_work_list **ret_list,
                                             struct yett_error *error);

/* As those of a list of sandboxes. */
YETT_API size_t yett_work_list_count(const struct yett_work_list *list);
YETT_API const struct yett_work *yett_work_list_get(const struct yett_work_list *list, size_t i);

/*
 * The one that is meant by `name`: by its own id, which comes first; or by the id or the name of
 * the sandbox that works on it, or was the last to. Of several sandboxes of one name it is that
 * with the newest store: whoever acts by a name should say which store that is. NULL: the newest in
 * which something was changed of the current directory, or of one that holds it. Borrowed of the
 * list. YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: the sandbox has several, which the error names;
 * YETT_E_FILE_OPERATION_FAILED: there is no current directory.
 */
YETT_API YETT_MUST_CHECK int yett_work_find(const struct yett_work_list *list, const char *name,
                                            const struct yett_work **ret_work,
                                            struct yett_error *error);

/* Removes a store with all that is in it. YETT_E_NOT_FOUND; YETT_E_INVALID_REQUEST: a sandbox works
 * on it; YETT_E_FILE_OPERATION_FAILED. */
YETT_API YETT_MUST_CHECK int yett_work_discard(const char *id, struct yett_error *error);

/* The same, but only where nothing was changed, and there are no snapshots: else
 * YETT_E_INVALID_REQUEST, too. */
YETT_API YETT_MUST_CHECK int yett_work_discard_unchanged(const char *id, struct yett_error *error);

/* --- snapshot --------------------------------------------------------------------------------- */

/*
 * A state of a store that can be gone back to. To take one, and to go back to it, takes that no
 * sandbox works on the store: YETT_E_INVALID_REQUEST, as where another of these calls is under way.
 * YETT_E_NOT_FOUND: there is no such store or snapshot. Where one fails, the store shows what it
 * showed before.
 */
struct yett_snapshot {
	size_t size;
	const char *name;
	uint64_t created_ms; /* since 1970 */
	uint32_t layers; /* so many of "layers" in the store are its; those by higher numbers are in
	                    "pending" */
	/* Taken in another boot of the machine: what was written shortly before its end may be
	 * torn, if that was a crash. */
	bool is_earlier_boot;
};

struct yett_snapshot_list;

/*
 * Names what a store holds now: a-z, 0-9, '.', '_' and '-', at most 63 of them, and a letter or
 * digit first; NULL: a number. The name is in `ret_name`, if that is not NULL, and freed with
 * yett_free(). YETT_E_ALREADY_EXISTS; YETT_E_RESOURCE_LIMIT: there are as many as there may be.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_take(const char *work, const char *name, char **ret_name,
                                                struct yett_error *error);

/*
 * Likewise also while a sandbox works on the store, which whoever asks has made stand still: what
 * was changed is copied then, as yett_snapshot_fork() copies it. YETT_E_FILE_OPERATION_FAILED: it
 * cannot be, or there is no room.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_take_used(const char *work, const char *name,
                                                     char **ret_name, struct yett_error *error);

/* The oldest first, freed with yett_free(); also while a sandbox works on the store. */
YETT_API YETT_MUST_CHECK int yett_snapshots_list(const char *work,
                                                 struct yett_snapshot_list **ret_list,
                                                 struct yett_error *error);
YETT_API size_t yett_snapshot_list_count(const struct yett_snapshot_list *list);
YETT_API const struct yett_snapshot *yett_snapshot_list_get(const struct yett_snapshot_list *list,
                                                            size_t i);

/*
 * Forgets it, also while a sandbox works on the store; at rest, what no other one needs apart is
 * put together, and takes less room. What the store shows stays as it is.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_delete(const char *work, const char *name,
                                                  struct yett_error *error);

/* Bits of the flags of yett_snapshot_rollback(). */
enum yett_rollback_flag {
	YETT_ROLLBACK_DELETE_LATER = 1,
	YETT_ROLLBACK_CHECK = 2, /* changes nothing: whether it would be refused, but for a sandbox
	                            that works on the store */
};

/*
 * Has the store hold what it held then: what was changed since is gone. Where there are later
 * snapshots, which go with it, that takes YETT_ROLLBACK_DELETE_LATER: YETT_E_INVALID_REQUEST
 * without it, and where an apply of the store ended half-way.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_rollback(const char *work, const char *name,
                                                    uint32_t flags, struct yett_error *error);

/* Bits of the flags of yett_snapshot_fork(). */
enum yett_fork_flag { YETT_FORK_USED = 1 };

/*
 * Makes another store with a copy of that, or of what the store holds now (NULL), and of the
 * snapshots up to there. It is about the same directory. `ret_id` is what it is called. With
 * YETT_FORK_USED also while a sandbox works on the store, which whoever asks has made stand still.
 */
YETT_API YETT_MUST_CHECK int yett_snapshot_fork(const char *work, const char *name, uint32_t flags,
                                                char ret_id[YETT_ID_SIZE],
                                                struct yett_error *error);

/* --- network ---------------------------------------------------------------------------------- */

enum yett_rule_list {
	YETT_RULES_ALLOW = 0,
	YETT_RULES_DENY = 1,
	YETT_RULES_ASK = 2, /* with YETT_SANDBOX_ASK: what the policy would let a request allow */
};

/* One rule by which it goes. */
struct yett_rule {
	size_t size;
	enum yett_rule_list list;
	const char *text; /* as in the options of a sandbox */
	int is_asked; /* 1: of who made the sandbox, or changed its rules since; 0: of the policy */
	const char *file; /* of the policy, where it stands; empty: of none, or that was loaded anew
	                     since */
	uint32_t line;
};

struct yett_rules;

/* As those of a list of sandboxes. */
YETT_API size_t yett_rules_count(const struct yett_rules *rules);
YETT_API const struct yett_rule *yett_rules_get(const struct yett_rules *rules, size_t i);

/* What the network of a sandbox goes by. YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING;
 * YETT_E_INVALID_REQUEST: it has no network, or the host's. */
YETT_API YETT_MUST_CHECK int yett_network_rules(struct yett_connection *connection,
                                                const char *id_or_name,
                                                struct yett_rules **ret_rules,
                                                struct yett_error *error);

/*
 * Adds rules to those that the sandbox was asked for with; the same rule in the other list is taken
 * away. By the policy as it is now. New connections go by them from a moment later on, in a paused
 * sandbox when it goes on, and those that they do not allow are cut. Where only `deny` has
 * something, rules of before go that the policy does not let requests allow any more. `allow` and
 * `deny` may be NULL where their counts are 0. Errors as above; YETT_E_PERMISSION_DENIED: the grant
 * does not let it be allowed, or the sandbox is another user's.
 */
YETT_API YETT_MUST_CHECK int yett_network_change(struct yett_connection *connection,
                                                 const char *id_or_name, const char *const *allow,
                                                 size_t allow_count, const char *const *deny,
                                                 size_t deny_count, struct yett_error *error);

/* --- events ----------------------------------------------------------------------------------- */

/*
 * Where connections go by way of an HTTP proxy, which the policy names, os_error of UNREACHABLE is
 * this and the status with which the proxy has refused (300 to 599), or the errno of why it was not
 * reached, or nothing more: the proxy has no address.
 */
enum yett_event_error { YETT_EVENT_OF_PROXY = 1000 };

enum yett_event_kind {
	YETT_EVENT_FOLLOWED = 0, /* the first of every stream: `state` is how things stand */
	YETT_EVENT_STARTED = 1,  /* a command */
	YETT_EVENT_EXITED = 2,   /* a command: `result` */
	YETT_EVENT_FAILED = 3,   /* the program of a command could not be executed: `os_error` */
	YETT_EVENT_TIMEOUT = 4,  /* the time of a command is over, and it is killed */
	YETT_EVENT_OOM = 5,      /* the kernel killed `count` processes for want of memory */
	YETT_EVENT_FORKS_REFUSED =
		6, /* the limit of processes was met; `count` times, if that is counted here */
	YETT_EVENT_PAUSED = 7,
	YETT_EVENT_RESUMED = 8,
	YETT_EVENT_ENDED = 9,      /* the last: `ended` says why */
	YETT_EVENT_DENIED = 10,    /* the system call `call` was forbidden to process `pid`, `count`
	                              times since it was last told of */
	YETT_EVENT_CONNECTED = 11, /* a connection out of the sandbox was made: `peer`; so the next
	                              ones, `count` times within a second */
	YETT_EVENT_DISCONNECTED = 12, /* it ended */
	YETT_EVENT_UNREACHABLE = 13,  /* it was allowed, and could not be made: `os_error`; 0: the
	                                 name has no address; see YETT_EVENT_OF_PROXY */
	YETT_EVENT_BLOCKED = 14,      /* it was not allowed: `peer->why` */
	YETT_EVENT_FULL = 15,         /* it was reset, since there were as many as there may be */
	YETT_EVENT_NETWORK_LOST = 16, /* what serves the network was killed, and with it all
	                                 connections; `count` 1: it was started again */
	YETT_EVENT_ASKED = 17,        /* with YETT_SANDBOX_ASK: it waits a few seconds for
	                                 yett_network_change(); `peer` says what for */
	YETT_EVENT_UNRECORDED = 18,   /* something was asked of the sandbox, and done, of which the
	                                 host's audit could write no record */
};

/* Why a connection was not allowed. */
enum yett_blocked {
	YETT_BLOCKED_NOT = 0,
	YETT_BLOCKED_BY_RULE = 1, /* a rule denies it */
	YETT_BLOCKED_NO_RULE = 2, /* no rule allows it */
	YETT_BLOCKED_UNBOUND = 3, /* its rule binds the name to other addresses */
	YETT_BLOCKED_PRIVATE = 4, /* it leads to a private address, which no rule names */
	YETT_BLOCKED_LOCAL = 5,   /* it leads to this host */
	YETT_BLOCKED_NEVER = 6, /* it leads to where nothing may connect: link-local addresses, and
	                           what clouds tell their machines there */
	YETT_BLOCKED_ASKED =
		7, /* it was asked about (YETT_EVENT_ASKED), and nobody has allowed it */
};

/* "no rule allows it" and so on. Never NULL. */
YETT_API const char *yett_blocked_text(enum yett_blocked why);

/* The other end of a connection. */
struct yett_peer {
	const char *name;    /* by which the sandbox asked for it; empty: by its address */
	const char *address; /* empty: it came to none */
	uint16_t port;       /* 0: the name was looked up, and not more */
	enum yett_blocked why;
	uint64_t sent_bytes, received_bytes; /* of one that ended: by and for the sandbox */
	uint32_t open;                       /* connections of the sandbox, afterwards */
	const char *rule; /* of YETT_EVENT_CONNECTED and _BLOCKED: the rule that it rests on; empty:
	                     none */
	const char *place; /* of the rule: "FILE:LINE" of the policy, or "the request"; empty: it is
	                      not there any more */
};

#define YETT_PEER_SIZE      272 /* a name of 253 bytes, and a port */
#define YETT_PEER_RULE_SIZE 320 /* the same, and an address */

/* Where it leads, as rules of a network name it: "example.com:443", "[2001:db8::1]:443", a name
 * alone where it came to no port. Returns `out`. */
YETT_API const char *yett_peer_text(const struct yett_peer *peer, char out[YETT_PEER_SIZE]);

/*
 * The rule that would have allowed what was blocked, as `allow` of struct yett_sandbox_options
 * takes it: "example.com:443", and "@ADDRESS" behind it where its name alone allows no such
 * address. Empty: no rule would, since one denies it or nothing may connect there. Returns `out`.
 */
YETT_API const char *yett_peer_rule(const struct yett_peer *peer, char out[YETT_PEER_RULE_SIZE]);

struct yett_event {
	size_t size;
	uint64_t number;  /* from 1 on for each sandbox, whoever follows; what commands do counts
	                     while somebody follows */
	uint64_t lost;    /* so many before this one are lost to this reader, who was too slow */
	uint64_t time_ms; /* since 1970 */
	enum yett_event_kind kind;
	enum yett_state state; /* of the sandbox */
	uint64_t command; /* of the sandbox's commands, whoever started it, counted from 1; 0: it is
	                     about none */
	uint32_t pid; /* its own, inside; of a denied call: of the process, or 0 where that was gone
	               */
	const struct yett_result *result; /* of one that has exited; otherwise NULL */
	int os_error; /* an errno; of UNREACHABLE see YETT_EVENT_OF_PROXY, too */
	uint64_t count;
	uint32_t call; /* the number of a system call; yett_call_name() */
	enum yett_ended ended;
	const struct yett_peer *peer; /* of events about connections; otherwise NULL */
};

struct yett_events;

/* Told of one event, which is valid during the call. Not to be freed in it: the stream. */
typedef void (*yett_event_fn)(const struct yett_event *event, void *data);

/* "started", "forks-refused" and so on. Never NULL. */
YETT_API const char *yett_event_name(enum yett_event_kind kind);

/* "mount", "ptrace" and so on: what the host's architecture calls the number. NULL: it was newer
 * than the library. */
YETT_API const char *yett_call_name(uint32_t call);

/*
 * Follows a sandbox from now on; who may manage it may follow it, eight at a time. The stream does
 * not keep the sandbox, and goes on without the connection that it was asked for on, also when the
 * service is restarted. Free with yett_events_free(). YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING: it has
 * ended; YETT_E_RESOURCE_LIMIT.
 *
 * What is said of commands, and that only, is what the sandbox's init says, which a hostile sandbox
 * may have captured.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_follow(struct yett_connection *connection,
                                                 const char *id_or_name, yett_event_fn each,
                                                 void *data, struct yett_events **ret_events,
                                                 struct yett_error *error);

/* The id of the sandbox. Valid as long as the stream. */
YETT_API const char *yett_events_id(const struct yett_events *events);

/* For poll(2): readable when yett_events_dispatch() has something to do. Owned by the stream. */
YETT_API int yett_events_fd(const struct yett_events *events);

/*
 * Tells of what has happened since the last call, without waiting. An error is final for the
 * stream: YETT_E_NOT_RUNNING after the last event, or without one when the helper's process for the
 * sandbox was killed.
 */
YETT_API YETT_MUST_CHECK int yett_events_dispatch(struct yett_events *events,
                                                  struct yett_error *error);

/* Takes NULL. */
YETT_API void yett_events_free(struct yett_events *events);

/* --- files ------------------------------------------------------------------------------------ */

/*
 * Files of a sandbox, as its commands see them and with their rights: each call has a process of
 * its own inside (yett-files, which the library brings along; the sandbox need have nothing). Paths
 * inside are absolute, of up to 4095 bytes that need not be UTF-8. What cannot be done is
 * YETT_E_FILE_OPERATION_FAILED, and the error has its os_error. A sandbox that does not answer for
 * 30 seconds is given up on with YETT_E_TIMEOUT, one that answers with what was not asked for with
 * YETT_E_PROTOCOL or YETT_E_SECURITY_VIOLATION; further calls are possible in each case.
 */

enum yett_open_flag {
	YETT_OPEN_READ = 1,
	YETT_OPEN_WRITE = 2,
	YETT_OPEN_CREATE = 4,    /* when there is none; with the mode */
	YETT_OPEN_EXCLUSIVE = 8, /* with CREATE: there must be none */
	YETT_OPEN_APPEND = 16,
	YETT_OPEN_TRUNCATE = 32,
};

/*
 * Opens a regular file. The descriptor is the file itself, read and written without the sandbox's
 * doing. It is of the mode asked, not of a FIFO, device or directory, and not on a pseudo file
 * system such as /proc. Others inside may change the file at any time, and, if they are hostile,
 * its offset: pread(2) does not depend on that.
 */
YETT_API YETT_MUST_CHECK int yett_file_open(struct yett_sandbox *sandbox, const char *path,
                                            unsigned flags, unsigned mode, int *ret_fd,
                                            struct yett_error *error);

/* The content of a file of at most `max` bytes, and a NUL besides. More: YETT_E_RESOURCE_LIMIT. */
YETT_API YETT_MUST_CHECK int yett_file_read(struct yett_sandbox *sandbox, const char *path,
                                            size_t max, char **ret_bytes, size_t *ret_length,
                                            struct yett_error *error);

/*
 * Makes these bytes the content of a file, which is made with `mode` when there is none.
 * ret_written (may be NULL) is written on failure too: so many bytes are in the file when its file
 * system is full, say.
 */
YETT_API YETT_MUST_CHECK int yett_file_write(struct yett_sandbox *sandbox, const char *path,
                                             const void *bytes, size_t length, unsigned mode,
                                             size_t *ret_written, struct yett_error *error);

enum yett_file_kind {
	YETT_FILE_OTHER = 0,
	YETT_FILE_REGULAR = 1,
	YETT_FILE_DIRECTORY = 2,
	YETT_FILE_SYMLINK = 3,
	YETT_FILE_FIFO = 4,
	YETT_FILE_SOCKET = 5,
	YETT_FILE_CHARACTER_DEVICE = 6,
	YETT_FILE_BLOCK_DEVICE = 7,
};

struct yett_file_info {
	size_t size;
	char path[4352]; /* as asked, with "/NAME" added in a list */
	char name[256];  /* the last component; "." where the path has none */
	enum yett_file_kind kind;
	uint64_t size_bytes;
	unsigned mode;        /* 0 … 07777 */
	char permissions[11]; /* as ls(1) writes them: "-rw-r--r--" */
	uint32_t uid, gid;
	char owner[33], group[33]; /* names, as the sandbox has them; empty: none */
	int64_t mtime_s;           /* before 1970: 0 */
	uint32_t mtime_ns;
	char link[4096]; /* where a symbolic link points */
};

/* Each is for the one function that says so; other bits are YETT_E_INVALID_REQUEST. */
enum yett_file_flag {
	YETT_FILE_FOLLOW = 1,    /* yett_file_stat(): what a symbolic link points to */
	YETT_FILE_PARENTS = 2,   /* yett_file_mkdir(): those above it too (0755), and one that is
	                            there is no error */
	YETT_FILE_REPLACE = 4,   /* yett_file_rename(): what is there already gives way */
	YETT_FILE_RECURSIVE = 8, /* yett_file_remove(): a directory with all that is in it */
};

/* Of the path itself: a symbolic link is not followed, unless YETT_FILE_FOLLOW. */
YETT_API YETT_MUST_CHECK int yett_file_stat(struct yett_sandbox *sandbox, const char *path,
                                            unsigned flags, struct yett_file_info **ret_info,
                                            struct yett_error *error);

/* Another value than 0 ends the list. `info` is valid during the call. */
typedef int (*yett_file_fn)(const struct yett_file_info *info, void *data);

/*
 * Tells the entries of a directory one after the other, in no order, without "." and "..". More
 * than `max` of them are YETT_E_RESOURCE_LIMIT, once `max` were told. Not to be closed in `each`:
 * the sandbox.
 */
YETT_API YETT_MUST_CHECK int yett_file_list(struct yett_sandbox *sandbox, const char *path,
                                            size_t max, yett_file_fn each, void *data,
                                            struct yett_error *error);

/* Makes a directory. */
YETT_API YETT_MUST_CHECK int yett_file_mkdir(struct yett_sandbox *sandbox, const char *path,
                                             unsigned mode, unsigned flags,
                                             struct yett_error *error);

/* `to` must not be there, unless YETT_FILE_REPLACE. On one file system. */
YETT_API YETT_MUST_CHECK int yett_file_rename(struct yett_sandbox *sandbox, const char *from,
                                              const char *to, unsigned flags,
                                              struct yett_error *error);

/* Removes a file or an empty directory. Follows no link. */
YETT_API YETT_MUST_CHECK int yett_file_remove(struct yett_sandbox *sandbox, const char *path,
                                              unsigned flags, struct yett_error *error);

struct yett_copy_options {
	size_t size;
	uint64_t entries_max; /* files, directories and links; 0: 1,000,000 */
	uint64_t bytes_max;   /* of all files, holes included; 0: 64 GiB */
	int timeout_ms;       /* for all of it; 0: none, as long as it moves at all */
	/* Told of each entry that was passed over: a device node, one that may not be read. NULL:
	 * that is an error, then. */
	void (*on_skipped)(const char *path, const char *why, void *data);
	void *data;
};

struct yett_copy_result {
	size_t size;
	uint64_t entries, bytes;
	uint64_t skipped;
};

/*
 * Copies a file, a symbolic link or a tree in: what is at `host_path` will be at `path`, with
 * modes, times to the nanosecond, symbolic links as they are, hard links among what is copied, and
 * holes; owners as far as the sandbox may set them. A directory that is there stays as it is, and
 * gets what is copied besides what it has; a file that is there is replaced once the new one is
 * whole. A directory does not replace a file, nor a file a directory. Set-id bits are not copied,
 * nor device nodes, FIFOs and sockets: these are passed over, as is what cannot be read or written,
 * and all else is copied. `options` may be NULL; `ret_result` (may be NULL) is written on failure
 * too; NULL where nothing was begun.
 */
YETT_API YETT_MUST_CHECK int yett_copy_in(struct yett_sandbox *sandbox, const char *host_path,
                                          const char *path, const struct yett_copy_options *options,
                                          struct yett_copy_result **ret_result,
                                          struct yett_error *error);

/*
 * The same in the other direction. All that is made belongs to the caller and lies at or below
 * `host_path`, whatever the sandbox sends; symbolic links are copied as they are, and may point
 * anywhere. A child process does it, which can write nothing outside of the directory that
 * `host_path` lies in where the kernel has Landlock.
 */
YETT_API YETT_MUST_CHECK int yett_copy_out(struct yett_sandbox *sandbox, const char *path,
                                           const char *host_path,
                                           const struct yett_copy_options *options,
                                           struct yett_copy_result **ret_result,
                                           struct yett_error *error);

/* --- sockets ---------------------------------------------------------------------------------- */

/*
 * A connection to a port at which a program of the sandbox listens, at 127.0.0.1 or ::1 inside,
 * from outside: a TCP socket, non-blocking and close-on-exec, of the caller's. It needs no network,
 * and no grant: whoever has the sandbox could have a command connect. YETT_E_COMMAND_FAILED: nobody
 * listens there, or nobody answered for 10 seconds; YETT_E_SECURITY_VIOLATION: what came is no such
 * socket.
 */
YETT_API YETT_MUST_CHECK int yett_socket_connect(struct yett_sandbox *sandbox, uint16_t port,
                                                 int *ret_fd, struct yett_error *error);

/*
 * A Unix socket that listens at a path inside, of at most 107 bytes, for the caller to accept(2)
 * from: non-blocking, close-on-exec, of type SOCK_STREAM. Directories above are made. A socket that
 * is there, and at which nobody listens any more, is replaced. It is there until somebody removes
 * it. Who connects are programs of the sandbox, hostile ones perhaps: what they send is to be read
 * with MSG_DONTWAIT, and descriptors may come with it. YETT_E_FILE_OPERATION_FAILED: there is
 * something already; YETT_E_SECURITY_VIOLATION.
 */
YETT_API YETT_MUST_CHECK int yett_socket_listen(struct yett_sandbox *sandbox, const char *path,
                                                unsigned mode, int *ret_fd,
                                                struct yett_error *error);

#define YETT_RELAY_CONNECTIONS_MAX 256

/*
 * Serves ports and sockets: accepts on one side, connects on the other, and copies both ways. It
 * works in yett_relay_dispatch() alone, so as long as its program calls that. Connections beyond
 * YETT_RELAY_CONNECTIONS_MAX are closed at once; who does not read is not read for, and keeps 64
 * KiB at most. Descriptors are not relayed: who sends some is disconnected. A relay belongs to the
 * thread that uses its sandbox, and is closed before that.
 */
struct yett_relay;

YETT_API YETT_MUST_CHECK int yett_relay_new(struct yett_sandbox *sandbox,
                                            struct yett_relay **ret_relay,
                                            struct yett_error *error);

/*
 * From now on `host_port` at the `address` of the host (NULL: 127.0.0.1) leads to `port` of the
 * sandbox. With `host_port` 0 the kernel chooses; *ret_host_port (may be NULL) is the one in use.
 * Ports below 1024 are refused, and so are addresses other than those of loopback, unless the
 * policy's grant has them (`publish`). YETT_E_INVALID_REQUEST: the port is taken or there is no
 * such address; YETT_E_PERMISSION_DENIED.
 */
YETT_API YETT_MUST_CHECK int yett_relay_publish(struct yett_relay *relay, const char *address,
                                                uint16_t host_port, uint16_t port,
                                                uint16_t *ret_host_port, struct yett_error *error);

/*
 * From now on who connects to `target` inside (NULL: the same path) is led to the Unix socket
 * `path` of the host, which sees a connection of the caller's. The policy's grant must have the
 * path (`sockets`), as it is without symbolic links. Errors as of yett_socket_listen(), and
 * YETT_E_PERMISSION_DENIED.
 */
YETT_API YETT_MUST_CHECK int yett_relay_socket(struct yett_relay *relay, const char *path,
                                               const char *target, struct yett_error *error);

/* For poll(2): readable when yett_relay_dispatch() has something to do. Owned by the relay. */
YETT_API int yett_relay_fd(const struct yett_relay *relay);

/* Does what can be done without waiting for anything but init's answer to a new connection. Not in
 * a callback of the sandbox's. */
YETT_API void yett_relay_dispatch(struct yett_relay *relay);

/* Ends its connections, and closes what it listens at. Takes NULL. Not in a callback of the
 * sandbox's. */
YETT_API void yett_relay_close(struct yett_relay *relay);

/* --- operations ------------------------------------------------------------------------------- */

/*
 * For programs with an event loop: the functions that end in _begin start what the others wait for,
 * and return an operation. It goes on whenever the connection (of a create) or the sandbox is
 * dispatched, which is due when its descriptor is readable, and at the latest after
 * yett_operation_time_left(). An operation is used by the thread that uses its sandbox; several may
 * go on at once. When the sandbox is ended or closed, those in it are over, with
 * YETT_E_NOT_RUNNING.
 *
 * yett_file_read() and yett_file_write() are an open, and then pread(2) and pwrite(2) of a regular
 * file.
 */
YETT_API YETT_MUST_CHECK int yett_file_open_begin(struct yett_sandbox *sandbox, const char *path,
                                                  unsigned flags, unsigned mode,
                                                  struct yett_operation **ret_operation,
                                                  struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_file_stat_begin(struct yett_sandbox *sandbox, const char *path,
                                                  unsigned flags,
                                                  struct yett_operation **ret_operation,
                                                  struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_file_list_begin(struct yett_sandbox *sandbox, const char *path,
                                                  size_t max, yett_file_fn each, void *data,
                                                  struct yett_operation **ret_operation,
                                                  struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_file_mkdir_begin(struct yett_sandbox *sandbox, const char *path,
                                                   unsigned mode, unsigned flags,
                                                   struct yett_operation **ret_operation,
                                                   struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_file_rename_begin(struct yett_sandbox *sandbox, const char *from,
                                                    const char *to, unsigned flags,
                                                    struct yett_operation **ret_operation,
                                                    struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_file_remove_begin(struct yett_sandbox *sandbox, const char *path,
                                                    unsigned flags,
                                                    struct yett_operation **ret_operation,
                                                    struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_mounts_begin(struct yett_sandbox *sandbox,
                                                       struct yett_operation **ret_operation,
                                                       struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_copy_in_begin(struct yett_sandbox *sandbox, const char *host_path,
                                                const char *path,
                                                const struct yett_copy_options *options,
                                                struct yett_operation **ret_operation,
                                                struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_copy_out_begin(struct yett_sandbox *sandbox, const char *path,
                                                 const char *host_path,
                                                 const struct yett_copy_options *options,
                                                 struct yett_operation **ret_operation,
                                                 struct yett_error *error);

/* Whether it is over, so that yett_operation_finish() does not wait; does what can be done now. Not
 * in a callback of its own. */
YETT_API bool yett_operation_is_over(struct yett_operation *operation);

/* For poll(2): after so many milliseconds it is to be dispatched in any case; -1: never, as one
 * that is over. */
YETT_API int yett_operation_time_left(const struct yett_operation *operation);

/*
 * Waits for its end: timeout_ms -1 without bound, 0 just looks. What it came to, as the function
 * that waits would return it, and the same each time. YETT_E_TIMEOUT also while it is not over. Not
 * in a callback of its own.
 */
YETT_API YETT_MUST_CHECK int yett_operation_finish(struct yett_operation *operation, int timeout_ms,
                                                   struct yett_error *error);

/* What came of it, once it is over: the caller's from then on, and given once. -1 and NULL where
 * there is none. */
YETT_API int yett_operation_take_fd(struct yett_operation *operation);
YETT_API struct yett_sandbox *yett_operation_take_sandbox(struct yett_operation *operation);
YETT_API struct yett_mount_list *yett_operation_take_mounts(struct yett_operation *operation);

/* The same of a stat and of a copy, also of one that failed; valid as long as the operation. */
YETT_API const struct yett_file_info *
yett_operation_file_info(const struct yett_operation *operation);
YETT_API const struct yett_copy_result *
yett_operation_copy_result(const struct yett_operation *operation);

/* Gives it up, if it is not over: what has been done so far stays. Takes NULL. Not in a callback of
 * its own. */
YETT_API void yett_operation_free(struct yett_operation *operation);

#undef YETT_API
#undef YETT_MUST_CHECK

#ifdef __cplusplus
}
#endif
