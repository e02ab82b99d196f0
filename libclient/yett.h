/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyett: run commands in a sandbox that a privileged helper creates.
 *
 * A program connects to the helper and asks for a sandbox by a signed request on that connection.
 * Commands run in the sandbox through a second channel, in which the helper has no part. The
 * library needs no privilege, installs no signal handler, keeps no global state and never raises
 * SIGPIPE. It starts no thread, except a detached one to close a descriptor that a peer should not
 * have sent, since that close(2) can block. Threads may share a connection. Only one thread at a
 * time may use a sandbox and its commands.
 */
#pragma once

/*
 * Conventions
 *
 * A function that can fail returns 0, or a positive enum yett_code and the reason in `error`
 * (`error` may be NULL). Output parameters are written only on success, unless a function says
 * otherwise.
 *
 * Structs grow at their end, and each begins with its size. The caller sets `.size = sizeof
 * options` in an options struct and zeroes every member that it does not set. An options struct
 * without a size is YETT_E_INVALID_REQUEST. A member that is set and that this library does not
 * know is YETT_E_UNSUPPORTED. The library allocates everything that it returns. A const result
 * belongs to the object that it was obtained from. Any other result belongs to the caller: each
 * kind of handle has its own function that releases it, and everything else (a text, a list, a
 * status) is freed by yett_free(), with all that it points to.
 *
 * Suffixes of function names: _free releases what this process holds of an object, and nothing
 * changes elsewhere. _close also drops what only that handle kept alive, without asking or waiting.
 * _end ends the object itself, for all who use it, and waits until it is gone. _kill sends SIGKILL
 * to commands and to everything that they have started; their sandbox goes on. A function takes the
 * handle of an object that has one, and the id of an object that has none; where both forms exist,
 * the form that takes the id ends in _by_id.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yett_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define YETT_API        __attribute__((visibility("default")))
#define YETT_MUST_CHECK __attribute__((warn_unused_result))

/*
 * The version of this header. A program that was compiled with it runs with every library that
 * yett_check_version() accepts.
 */
#define YETT_VERSION_MAJOR 0
#define YETT_VERSION_MINOR 2
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
struct yett_workspace;

/* The version of the library that is loaded, as "1.2.3". */
YETT_API const char *yett_version(void);

/*
 * Succeeds if the loaded library has everything that a header of version `number` promises.
 * `number` is the YETT_VERSION_NUMBER that the caller was compiled with. YETT_E_UNSUPPORTED, with
 * both versions in the message: the library is older, or has another major version (before 1.0:
 * another minor version).
 */
YETT_API YETT_MUST_CHECK int yett_check_version(uint32_t number, struct yett_error *error);

/*
 * The text of a code, its short name ("permission-denied"), and the short name of a reason
 * ("replayed"). Never NULL.
 */
YETT_API const char *yett_error_code_text(enum yett_code code);
YETT_API const char *yett_error_code_name(enum yett_code code);
YETT_API const char *yett_error_reason_name(enum yett_reason reason);

/*
 * Frees memory that a function of the library returned and that is not a handle, with everything
 * that belongs to that memory. Takes NULL.
 */
YETT_API void yett_free(void *memory);

/*
 * Returns whether the same call can succeed later although the call, the policy and the
 * installation of the helper stay as they are. Returns false for NULL, and for a helper that cannot
 * be reached for a reason that the kernel gives (`os_error`).
 */
YETT_API bool yett_error_retryable(const struct yett_error *error);

/* --- keys ------------------------------------------------------------------------------------- */

/*
 * Signs message[0 … length) with Ed25519. Returns 0 or an errno. The library calls this function in
 * the thread that makes a request of the helper; other calls on the connection wait until the
 * function returns.
 */
typedef int (*yett_sign_fn)(const uint8_t *message, size_t length,
                            uint8_t ret_signature[YETT_SIGNATURE_SIZE], void *data);

/*
 * Makes a signer for a key that is kept elsewhere (a key agent, a TPM): the library calls `sign`
 * for each signature. Free the signer with yett_signer_free().
 */
YETT_API YETT_MUST_CHECK int yett_signer_new(const uint8_t public_key[YETT_KEY_SIZE],
                                             yett_sign_fn sign, void *data,
                                             struct yett_signer **ret_signer,
                                             struct yett_error *error);

/*
 * Loads the key of a file made by yett_key_generate(). `path` NULL means ~/.config/yett/id_ed25519;
 * the home directory is that of the user database, or $HOME where the database has none. The file
 * must be a regular file, not a symbolic link, that belongs to the effective user and that nobody
 * else can read or write. YETT_E_NOT_FOUND: there is no such file. YETT_E_SECURITY_VIOLATION: wrong
 * owner or mode. YETT_E_INVALID_REQUEST: not a key file. YETT_E_FILE_OPERATION_FAILED. The secret
 * is kept in locked memory where the limits allow it; yett_signer_free() wipes it.
 */
YETT_API YETT_MUST_CHECK int yett_signer_load(const char *path, struct yett_signer **ret_signer,
                                              struct yett_error *error);

YETT_API const uint8_t *yett_signer_public_key(const struct yett_signer *signer);

/* Takes NULL. */
YETT_API void yett_signer_free(struct yett_signer *signer);

/*
 * Makes a key pair: the secret key in `path` (mode 0600) and the public key in `path`.pub (mode
 * 0644, "ed25519 BASE64 comment"). Overwrites nothing: YETT_E_ALREADY_EXISTS if either file exists.
 * `path` NULL means the same as for yett_signer_load(), and missing directories are made.
 */
YETT_API YETT_MUST_CHECK int yett_key_generate(const char *path, struct yett_error *error);

/*
 * Makes sure that the caller has a key. If `directory` (NULL: ~/.config/yett) has no file
 * id_ed25519, makes a key pair there and appends its public key to authorized_keys in the same
 * directory. The helper accepts keys of that file only if the policy sets user_keys. An existing
 * key is neither changed nor enrolled. *ret_created says whether a key was made.
 */
YETT_API YETT_MUST_CHECK int yett_key_ensure(const char *directory, bool *ret_created,
                                             struct yett_error *error);

/* Writes the path that yett_signer_load(NULL) reads to path[0 … size). */
YETT_API YETT_MUST_CHECK int yett_key_path(char *path, size_t size, struct yett_error *error);

/*
 * Reads the single public key "ed25519 BASE64 [comment]" of a file. Writes the line, as it can be
 * copied into another file, to line[0 … size), which should have at least 128 bytes: without a line
 * end, with a comment of printable ASCII, cut to fit.
 */
YETT_API YETT_MUST_CHECK int yett_key_read_public(const char *path, uint8_t ret_key[YETT_KEY_SIZE],
                                                  char *line, size_t size,
                                                  struct yett_error *error);

/* --- connection ------------------------------------------------------------------------------- */

enum yett_start {
	/*
	 * The service if its socket answers, else a set-user-id helper, else the caller's own
	 * helper.
	 */
	YETT_START_ANY = 0,
	YETT_START_SERVICE = 1, /* the listening socket of the service */
	/*
	 * A helper that the library executes on a socketpair: yett-helper for root, yett-rootless
	 * for other users.
	 */
	YETT_START_PERSONAL = 2,
	YETT_START_SETUID = 3, /* yett-helper, if the file belongs to root and is set-user-id */
};

/* Bits of yett_connect_options.flags. */
enum yett_connect_flag {
	/*
	 * The requests come from an AI model. A policy may have separate grants for these
	 * (yett.conf(5), "agents"). With YETT_START_ANY, a service that exists but does not answer
	 * is not replaced by another helper.
	 */
	YETT_CONNECT_AGENT = 1,
};

/*
 * For a socket or helper that is not set here, the library reads the environment variables
 * YETT_SOCKET and YETT_HELPER with secure_getenv(3). With YETT_START_ANY, a socket that is named
 * here or there is the only one tried. The same holds for a named helper if no socket is named.
 */
struct yett_connect_options {
	size_t size;
	enum yett_start start;
	int timeout_ms;          /* for each answer of the helper; 0: 30 seconds */
	const char *socket_path; /* NULL: YETT_SOCKET, else YETT_SOCKET_PATH */
	/*
	 * NULL: YETT_HELPER, else the helper of the build tree that contains the program, else the
	 * installed helper.
	 */
	const char *helper_path;
	/*
	 * Borrowed until the connection is closed. NULL: the library calls yett_signer_load(NULL)
	 * when a signer is first needed.
	 */
	const struct yett_signer *signer;
	/* If `signer` is NULL: the file of the key to load, which must exist. */
	const char *key_path;
	/*
	 * Further arguments, such as "--policy", FILE, for a helper that runs with the caller's
	 * privilege; at most 16, ends with NULL; or NULL.
	 */
	const char *const *helper_arguments;
	uint64_t flags; /* enum yett_connect_flag, or-ed */
	/*
	 * yett_workspace() of libyett-workspace, which makes the stores of copy-on-write shares.
	 * NULL: copy-on-write shares of this connection need memory_bytes, and others are
	 * YETT_E_INVALID_REQUEST.
	 */
	const struct yett_workspace *workspace;
};

/*
 * Connects, checks that the peer is root (or, on a socketpair, the caller itself) and agrees on the
 * protocol version. `options` may be NULL. A helper that is executed, and each directory above it,
 * must belong to root or the caller and be writable by nobody else. Executing a helper makes a
 * child process, which yett_connection_close() waits for.
 *
 * Errors: YETT_E_HELPER_UNAVAILABLE; YETT_E_NOT_FOUND (the named helper does not exist);
 * YETT_E_PERMISSION_DENIED (the caller may not reach the socket, or is not in the group that may
 * execute a set-user-id helper); YETT_E_SECURITY_VIOLATION (wrong owner or mode of a helper, or
 * wrong uid of the peer); YETT_E_UNSUPPORTED (executing a helper needs /proc, a flag is not known,
 * or libyett-workspace is too old); YETT_E_INVALID_REQUEST (a path is too long or not absolute);
 * YETT_E_PROTOCOL; YETT_E_TIMEOUT; the errors of yett_signer_load() for `key_path`; or the helper's
 * refusal.
 *
 * The connection belongs to the calling process. The helper ends the connection when that process
 * has ended, even if another process still has the descriptor. After the service was restarted or
 * has loaded a new policy, every request on an older connection is refused with
 * YETT_E_HELPER_UNAVAILABLE: make a new connection. Sandboxes, and commands in them, go on.
 */
YETT_API YETT_MUST_CHECK int yett_connect(const struct yett_connect_options *options,
                                          struct yett_connection **ret_connection,
                                          struct yett_error *error);

/* How the helper was started; never YETT_START_ANY. */
YETT_API enum yett_start yett_connection_start(const struct yett_connection *connection);

/*
 * For poll(2): readable when yett_connection_dispatch() has something to do. Owned by the
 * connection.
 */
YETT_API int yett_connection_fd(const struct yett_connection *connection);

/*
 * Handles what the helper has sent (the end of a sandbox, for example), without waiting. After an
 * error the connection is unusable.
 */
YETT_API int yett_connection_dispatch(struct yett_connection *connection, struct yett_error *error);

/*
 * Closes the connection and, with it, ends those of its sandboxes that neither linger nor were
 * attached. The sandbox handles remain and must still be closed. Waits at most 10 seconds for a
 * helper that the library executed. Takes NULL.
 */
YETT_API void yett_connection_close(struct yett_connection *connection);

/*
 * Writes the path of the helper that would be executed if no service answers to path[0 … size),
 * with symbolic links resolved, after the same checks as in yett_connect(). `helper_path` as in the
 * options. YETT_E_NOT_FOUND, YETT_E_SECURITY_VIOLATION, YETT_E_INVALID_REQUEST (not absolute, or
 * too long).
 */
YETT_API YETT_MUST_CHECK int yett_helper_path(const char *helper_path, char *path, size_t size,
                                              struct yett_error *error);

/* --- sandbox ---------------------------------------------------------------------------------- */

/* Bits of yett_share.flags. */
enum yett_share_flag {
	YETT_SHARE_WRITABLE = 1,
	YETT_SHARE_FD = 2, /* `fd` is shared, and `path` is NULL */
	/*
	 * The share is a Unix socket on which somebody listens. The policy must name it. Not with
	 * YETT_SHARE_WRITABLE.
	 */
	YETT_SHARE_SOCKET = 4,
	/*
	 * Copy-on-write: the share is a directory of the caller's that stays unchanged. Processes
	 * inside may change it, and the changes are kept elsewhere: in a store of libyett-workspace
	 * (yett-workspace.h), or in memory. Alone, or with YETT_SHARE_FD.
	 */
	YETT_SHARE_COW = 8,
};

/*
 * A share has one source: `path`, or `fd` with its flag. A share with no source or with both is
 * YETT_E_INVALID_REQUEST.
 */
struct yett_share {
	size_t size; /* the same in all elements of an array */
	/*
	 * A directory, a regular file or, with its flag, a socket. The library opens it with the
	 * caller's rights.
	 */
	const char *path;
	const char *target; /* absolute path inside; NULL: `path`, which must then be absolute */
	uint32_t flags;     /* enum yett_share_flag, or-ed */
	/*
	 * With YETT_SHARE_FD: the descriptor, O_PATH or not; borrowed until the sandbox is created.
	 */
	int fd;
	/*
	 * With YETT_SHARE_COW: keep the changes in so many bytes of the sandbox's memory, and lose
	 * them with the sandbox; 0: keep them in a store, which needs
	 * yett_connect_options.workspace. Memory needs Linux 6.6.
	 */
	uint64_t memory_bytes;
	/*
	 * With YETT_SHARE_COW: the id of an existing store that no sandbox works on; the sandbox
	 * begins with the changes in that store. NULL: a new store. If `path` and the descriptor,
	 * or `target`, are not given, the store supplies them.
	 */
	const char *store;
	/*
	 * With YETT_SHARE_COW and a new store: names and paths below the directory to hide from the
	 * sandbox (`hide`), and exceptions from these (`no_hide`). Each is NULL, or a list that
	 * ends with NULL. A name is hidden wherever it exists when the sandbox is created, and at
	 * the top of the directory also if it is made later. A path, or ./NAME, is hidden there
	 * even if it does not exist yet. *, ? and [ ] match within a name and ** matches any number
	 * of directories; a pattern hides what matches when the sandbox is created.
	 * YETT_E_UNSUPPORTED before Linux 5.8.
	 */
	const char *const *hide, *const *no_hide;
};

/*
 * Protected paths: a share that contains a protected path hides it, or shows it read-only, unless
 * the request shares that path itself as well. docs/guide.md lists these paths. Further paths are
 * listed in /etc/yett/secret and /etc/yett/guard by the administrator, and in ~/.config/yett/secret
 * and ~/.config/yett/guard by the caller.
 */
enum yett_guard {
	YETT_GUARD_NONE = 0,
	YETT_GUARD_READ_ONLY = 1, /* in writable shares: files that the caller's programs obey */
	YETT_GUARD_HIDDEN = 2,    /* in all shares: keys, passwords and the like */
};

/*
 * Finds out how the file open as `fd` is protected in a share of the directory open as `share`. For
 * programs that share a path because somebody else named it. `*ret_why` is a static text.
 * YETT_E_INVALID_REQUEST: a list is malformed, or the file has no path.
 * YETT_E_FILE_OPERATION_FAILED.
 */
YETT_API YETT_MUST_CHECK int yett_guard_of(int share, int fd, enum yett_guard *ret_guard,
                                           const char **ret_why, struct yett_error *error);

struct yett_tmpfs {
	size_t size; /* the same in all elements of an array */
	const char *target;
	uint64_t size_bytes; /* 0: the profile's default */
};

/* The action when no command ran for idle_time_ms. */
enum yett_idle_action { YETT_IDLE_END = 0, YETT_IDLE_PAUSE = 1 };

/* Bits of yett_sandbox_options.flags and of yett_sandbox_status.flags. */
enum yett_sandbox_flag {
	/*
	 * The sandbox outlives the connection that created it. The policy says how long it may
	 * rest, idle or paused, with no client attached.
	 */
	YETT_SANDBOX_LINGER = 1,
	/*
	 * In options only, with YETT_NETWORK_LIMITED: a connection that no rule allows, but that
	 * the policy would let `allow` allow, is reported as YETT_EVENT_ASKED and waits 8 seconds
	 * for a rule that allows it. At most 64 connections wait at once.
	 */
	YETT_SANDBOX_ASK = 2,
	/*
	 * In options only: names that rules allow may resolve to private addresses, even if no rule
	 * names these addresses.
	 */
	YETT_SANDBOX_PRIVATE = 4,
};

/* As core_bytes: no core files. */
#define YETT_CORE_NONE 1

/* The network access of a sandbox. */
enum yett_network {
	/* The profile's setting; YETT_NETWORK_LIMITED if that is none and `allow` is set. */
	YETT_NETWORK_PROFILE = 0,
	YETT_NETWORK_NONE = 1,    /* nothing but the sandbox itself */
	YETT_NETWORK_LIMITED = 2, /* what the rules of the profile and of `allow` allow */
	YETT_NETWORK_OPEN = 3,    /* everything but private addresses and what rules deny */
	/*
	 * The network of the host, with everything that listens there, without rules. Needs version
	 * 6 of Landlock, or SELinux.
	 */
	YETT_NETWORK_HOST = 4,
};

struct yett_sandbox_options {
	size_t size;
	const char *profile;  /* NULL: "default" */
	const char *hostname; /* NULL: the profile's */
	/*
	 * The directory in which commands start if neither their options nor the session set one:
	 * an absolute path inside. NULL: the target of the first share that is a directory, or "/"
	 * if no directory is shared.
	 */
	const char *directory;
	const struct yett_share *shares;
	/* At most 125, including memory_dir; a copy-on-write share with a store counts twice. */
	size_t shares_count;
	const struct yett_tmpfs *tmpfs;
	size_t tmpfs_count; /* at most 32, with the shares whose changes are kept in memory */
	/*
	 * A directory of the host that is shared, writable, at /mnt/memory, so that the next
	 * sandbox finds it as well. NULL: none; but if the profile requires one (memory_mount), the
	 * library shares ~/.local/state/yett/memory, in the home directory of the user database,
	 * and makes that directory if it does not exist.
	 */
	const char *memory_dir;
	uint64_t memory_bytes; /* this to open_files are limits; 0: the profile's */
	/* Thousandths of a processor; commands may run on so many processors, rounded up. */
	uint64_t cpu_millis;
	uint64_t pids;
	uint64_t open_files; /* of each process */
	uint32_t flags;      /* enum yett_sandbox_flag, or-ed */
	enum yett_idle_action idle_action;
	/*
	 * Time limits: since the start, of processor time, and without a running command; at most
	 * 30 days each; 0: no limit.
	 */
	uint64_t wall_time_ms, cpu_time_ms, idle_time_ms;
	/*
	 * How long the sandbox stays listed after its end; until then it counts as one of the
	 * user's.
	 */
	uint64_t cleanup_ms;
	/*
	 * A name to find the sandbox by; only one sandbox of the user has it at a time; NULL: none.
	 */
	const char *name;
	/*
	 * KEY=VALUE, to select listed sandboxes by; no key begins with '#'; ends with NULL. NULL:
	 * none.
	 */
	const char *const *labels;
	/*
	 * KEY=VALUE for people to read; otherwise as `labels`. Labels and annotations together are
	 * at most 32, of 255 bytes each and 2500 bytes in all.
	 */
	const char *const *annotations;
	/* Limit of each file that a process writes; 0: the profile's. */
	uint64_t file_bytes;
	/* Limit of core files, which the kernel writes when a command crashes; 0: the profile's. */
	uint64_t core_bytes;
	enum yett_network network;
	/*
	 * Rules besides the profile's: HOST[:PORT[-PORT]], such as "api.example.org:443",
	 * "*.example.org", "10.1.0.0/16:5432" or "*:22"; yett.conf(5) describes all forms. The
	 * policy limits what `allow` may contain. `deny` wins over `allow`. At most 256 rules in
	 * both together.
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
	uint32_t private_uid; /* the host uid under which the sandbox's commands run */
	/* The AppArmor label as the kernel writes it: "yett-sandbox (enforce)"; empty: none. */
	char label[YETT_LABEL_SIZE];
	uint32_t landlock_abi; /* the version of Landlock in force inside (landlock(7)); 0: none */
	/* The limits in force, as in the options; 0: unlimited. */
	uint64_t memory_bytes, cpu_millis, pids, open_files;
	/*
	 * In which respect the sandbox is weaker than others, for people: "without root: …", "by
	 * devices of the host: …", "by the network of the host: …". Empty: it is not weaker.
	 */
	char weaker[YETT_WEAKER_SIZE];
	uint64_t file_bytes;       /* limit of each file that a process writes; 0: unlimited */
	uint64_t core_bytes;       /* limit of core files; YETT_CORE_NONE: there are none */
	enum yett_network network; /* the network in force; never YETT_NETWORK_PROFILE */
	/*
	 * The sandbox's own addresses inside, if its network has rules. All sandboxes have the
	 * same. address6 is empty if this host has no IPv6.
	 */
	char address4[16], address6[46];
	char hostname[65];     /* inside */
	char platform[16];     /* "linux" */
	char architecture[65]; /* of the machine, as uname(2) reports it: "x86_64" */
	char type[16];         /* the kind of isolation: "namespaces" */
	/*
	 * How the helper that answered was started: "service", "setuid", "rootless", or "personal"
	 * for a helper that root executed.
	 */
	char backend[16];
	/*
	 * The time limit of a command that sets none, and the longest that a command may set, as
	 * the policy says; 0: no limit.
	 */
	uint64_t command_timeout_ms, max_command_timeout_ms;
};

enum yett_ended {
	YETT_ENDED_NOT = 0,    /* it lives */
	YETT_ENDED_CLOSED = 1, /* its channel or its connection was closed */
	YETT_ENDED_INIT_DIED = 2,
	YETT_ENDED_OUT_OF_MEMORY = 3,
	/* The helper ended it, or is gone; or the connection that created it was closed. */
	YETT_ENDED_HELPER = 4,
	YETT_ENDED_DESTROYED = 5, /* a client ended it by its id */
	YETT_ENDED_WALL_TIME = 6,
	YETT_ENDED_CPU_TIME = 7,
	YETT_ENDED_IDLE = 8,
};

/*
 * A sandbox passes through these in this order. A destroyed sandbox is gone and no longer listed.
 */
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

/*
 * Asks for a sandbox and waits until it is ready. `options` may be NULL. The error of a refusal
 * says which rule refuses, which value was asked and which is allowed.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_create(struct yett_connection *connection,
                                                 const struct yett_sandbox_options *options,
                                                 struct yett_sandbox **ret_sandbox,
                                                 struct yett_error *error);

/*
 * Begins the same. The operation is over when the answer has arrived; yett_operation_take_sandbox()
 * then gives the sandbox. The operation goes on in yett_connection_dispatch(). The caller may
 * release what `options` points to when this function returns. If the operation is freed before it
 * is over, a sandbox that does not linger ends as soon as it is created.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_create_begin(struct yett_connection *connection,
                                                       const struct yett_sandbox_options *options,
                                                       struct yett_operation **ret_operation,
                                                       struct yett_error *error);

/*
 * Returns the steps that creating the sandbox takes, as text, or the refusal that
 * yett_sandbox_create() would get: the helper creates the sandbox and takes it down before anything
 * runs in it. No key is needed where the policy lets the caller enroll one. Free *ret_text with
 * yett_free().
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_plan(struct yett_connection *connection,
                                               const struct yett_sandbox_options *options,
                                               char **ret_text, struct yett_error *error);

/* Returns the same steps as one JSON object; PROTOCOL.md, "plan", lists its members. */
YETT_API YETT_MUST_CHECK int yett_sandbox_plan_json(struct yett_connection *connection,
                                                    const struct yett_sandbox_options *options,
                                                    char **ret_json, struct yett_error *error);

/*
 * Makes a handle of an existing sandbox, named by its id or its name. The caller must be the user
 * who created it, on any connection, and must sign with the same enrolled key (or, if one of the
 * user's own keys created it, with any of these). root may attach to every sandbox, to those of
 * other users by id only. yett_commands_list() finds the commands that other handles have started.
 * YETT_E_NOT_FOUND. YETT_E_NOT_RUNNING: the sandbox has ended. YETT_E_RESOURCE_LIMIT: 32
 * connections hold it.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_attach(struct yett_connection *connection,
                                                 const char *id_or_name,
                                                 struct yett_sandbox **ret_sandbox,
                                                 struct yett_error *error);

/*
 * A feature that sandboxes on this machine have or lack:
 *
 * "sandbox"               a sandbox at all
 * "network-none", "network-limited", "network-open", "network-host"
 * "limit-memory", "limit-cpu", "limit-pids"
 * "linger"                it outlives the connection that created it
 * "pause"                 its processes can be frozen and thawed
 * "suspend-on-idle"       it is paused while no command runs (YETT_IDLE_PAUSE)
 * "resume"                a lingering sandbox is created again from its store, under the
 *                         same name, as `yett resume` does
 * "copy-on-write"         a directory whose changes are kept in a store
 * "copy-on-write-memory"  a directory whose changes are kept in memory
 * "snapshot"              states of a store that can be restored
 * "live-mounts"           shares can be mounted in a running sandbox
 * "label"                 a label of AppArmor or SELinux
 * "landlock"              Landlock rules around its commands, and restrictions of single
 *                         commands
 *
 * More names can be added.
 */
struct yett_capability {
	size_t size;
	const char *name;
	bool is_supported;
	/*
	 * "service", "cgroup v2", "yett-sandbox (enforce)", "version 6"; empty: there is nothing to
	 * add.
	 */
	const char *how;
	/*
	 * YETT_OK: it is supported. Otherwise why not: YETT_E_PERMISSION_DENIED means the policy,
	 * YETT_E_UNSUPPORTED the machine; other codes are those of the attempt that failed.
	 */
	enum yett_code code;
	/*
	 * For people: why it is not supported, and what would help; empty if there is nothing to
	 * say.
	 */
	const char *reason;
	const char *mend;
};

struct yett_capability_list;

/*
 * Finds out what this caller can have on this machine with a profile (NULL: "default"), by trying
 * each feature: asks for a plan, as yett_sandbox_plan() does, and creates, examines and ends one
 * sandbox. During the call there are a directory in the caller's home and a store. So the call
 * takes as long as a dozen sandboxes and needs a key, as creating a sandbox does. Without
 * yett_connect_options.workspace, "copy-on-write" and "snapshot" are not supported. If one answer
 * cannot be found out, the whole call fails, with the helper's error, or with YETT_E_RESOURCE_LIMIT
 * if as many sandboxes exist as the policy allows.
 */
YETT_API YETT_MUST_CHECK int yett_capabilities(struct yett_connection *connection,
                                               const char *profile,
                                               struct yett_capability_list **ret_list,
                                               struct yett_error *error);

/*
 * The first two are like yett_sandbox_list_count() and yett_sandbox_list_get().
 * yett_capability_list_find() returns the element with a name, or NULL.
 */
YETT_API size_t yett_capability_list_count(const struct yett_capability_list *list);
YETT_API const struct yett_capability *
yett_capability_list_get(const struct yett_capability_list *list, size_t i);
YETT_API const struct yett_capability *
yett_capability_list_find(const struct yett_capability_list *list, const char *name);

/*
 * The state as far as the helper has reported it: running, paused, or YETT_STATE_DESTROYED once the
 * sandbox has ended. Handles what the helper has sent; never waits.
 */
YETT_API enum yett_state yett_sandbox_state(struct yett_sandbox *sandbox);

/*
 * The kinds of events of a sandbox that the audit log keeps if the policy says so: yett-audit(8).
 */
enum yett_recorded {
	/* Each command: its arguments, its start, its end and its result. */
	YETT_RECORDED_COMMANDS = 1,
	YETT_RECORDED_CONNECTIONS = 2, /* each connection and its traffic */
	YETT_RECORDED_DENIALS = 4,     /* each connection, name and system call that was refused */
};

/* Describes a sandbox to a caller who may manage it. */
struct yett_sandbox_status {
	size_t size;
	const struct yett_sandbox_info *info;
	char name[YETT_NAME_SIZE]; /* empty: none */
	enum yett_state state;
	enum yett_ended ended; /* YETT_ENDED_NOT before YETT_STATE_STOPPING */
	uint32_t uid;
	/*
	 * Name of the enrolled key that asked for the sandbox; empty: one of the user's own keys.
	 */
	char principal[YETT_NAME_SIZE];
	uint32_t flags; /* enum yett_sandbox_flag, or-ed; this to cleanup_ms as in the options */
	enum yett_idle_action idle_action;
	uint64_t wall_time_ms, cpu_time_ms, idle_time_ms, cleanup_ms;
	/*
	 * A lingering sandbox ends after so long without a running command and without an attached
	 * client; 0: never.
	 */
	uint64_t linger_ms;
	uint64_t created_ms, started_ms, ended_ms;      /* milliseconds since 1970; 0: not yet */
	uint32_t attached;                              /* connections that hold the sandbox */
	const char *const *labels, *const *annotations; /* KEY=VALUE, each list ends with NULL */
	/* enum yett_recorded, or-ed: what the administrator has recorded of its life. */
	unsigned recorded;
};

struct yett_sandbox_list;

enum yett_list_flag {
	YETT_LIST_ALL = 1, /* the sandboxes of all users; for root only */
};

/* Lists all sandboxes that the caller may manage, in no order. `flags`: enum yett_list_flag. */
YETT_API YETT_MUST_CHECK int yett_sandboxes_list(struct yett_connection *connection, unsigned flags,
                                                 struct yett_sandbox_list **ret_list,
                                                 struct yett_error *error);

/*
 * The number of elements, and element `i`, which is valid as long as the list; NULL if `i` is not
 * less than the number.
 */
YETT_API size_t yett_sandbox_list_count(const struct yett_sandbox_list *list);
YETT_API const struct yett_sandbox_status *
yett_sandbox_list_get(const struct yett_sandbox_list *list, size_t i);

/* Describes one sandbox. YETT_E_NOT_FOUND also for a sandbox that the caller may not manage. */
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  struct yett_sandbox_status **ret_status,
                                                  struct yett_error *error);

/*
 * Returns the steps by which the sandbox was created, in the form of yett_sandbox_plan(), for as
 * long as the sandbox is listed.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect_plan(struct yett_connection *connection,
                                                       const char *id_or_name, char **ret_text,
                                                       struct yett_error *error);
YETT_API YETT_MUST_CHECK int yett_sandbox_inspect_plan_json(struct yett_connection *connection,
                                                            const char *id_or_name, char **ret_json,
                                                            struct yett_error *error);

/*
 * These work by id or name, whatever other clients hold the sandbox. Pause freezes all processes of
 * the sandbox and resume thaws them; the time limits of commands go on meanwhile. Kill ends every
 * command, but not the sandbox. yett_sandbox_end_by_id() ends the sandbox and waits until it is
 * gone. YETT_E_NOT_FOUND. YETT_E_NOT_RUNNING: the state of the sandbox does not allow the call.
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

/* Valid as long as the sandbox handle. */
YETT_API const struct yett_sandbox_info *yett_sandbox_get_info(const struct yett_sandbox *sandbox);

/*
 * Returns whether and why the sandbox ended, as far as the helper has reported it. Handles what the
 * helper has sent; never waits.
 */
YETT_API enum yett_ended yett_sandbox_ended(struct yett_sandbox *sandbox);

/* For poll(2): readable when yett_sandbox_dispatch() has something to do. Owned by the sandbox. */
YETT_API int yett_sandbox_fd(const struct yett_sandbox *sandbox);

/*
 * Handles the messages of init and the output of commands, and calls their on_exit and on_output,
 * without waiting. After an error the sandbox handle is unusable.
 */
YETT_API int yett_sandbox_dispatch(struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Ends the sandbox and everything in it, and waits until the helper has taken it down. Commands
 * that have not ended fail with YETT_E_NOT_RUNNING. The handle remains and must still be closed.
 * YETT_E_TIMEOUT: the helper did not confirm the end. YETT_E_NOT_RUNNING: the sandbox outlives the
 * handle, and yett_connection_close() has closed its connection. Takes NULL. Must not be called
 * from an on_exit.
 */
YETT_API int yett_sandbox_end(struct yett_sandbox *sandbox, struct yett_error *error);

/*
 * Frees the handle without waiting. If the sandbox lingers, or if the handle is an attached one,
 * the sandbox and its commands go on; but a command whose start was not waited for may never start.
 * Any other sandbox ends a moment later with everything in it. Takes NULL. Must not be called from
 * an on_exit.
 */
YETT_API void yett_sandbox_close(struct yett_sandbox *sandbox);

/* --- commands --------------------------------------------------------------------------------- */

/*
 * Takes the place of a descriptor of a command. No value is -1 or a negative errno, so the result
 * of a failed call is never mistaken for one of them. Any other negative number is
 * YETT_E_INVALID_REQUEST.
 */
enum yett_stdio {
	YETT_STDIO_NULL = -10001, /* /dev/null */
	/* The caller's own descriptor of the same number, if it passes yett_stdio_check(). */
	YETT_STDIO_INHERIT = -10002,
	YETT_STDIO_PIPE = -10003, /* a pipe whose other end yett_command_take_pipe() gives */
	/*
	 * stdout and stderr only: the sandbox keeps up to capture_bytes, for yett_command_output().
	 */
	YETT_STDIO_CAPTURE = -10004,
	/* stdout and stderr only: on_output is called with the output. */
	YETT_STDIO_STREAM = -10005,
	YETT_STDIO_AS_OUTPUT = -10006, /* stderr only: the same as stdout */
	/* stdin only: yett_command_input() supplies the input later, by the command's id. */
	YETT_STDIO_LATER = -10007,
};

/* The most bytes that capture_bytes can keep of one output. */
#define YETT_CAPTURE_MAX 16777216

enum yett_stream { YETT_STREAM_OUT = 0, YETT_STREAM_ERR = 1 };

/*
 * Arguments and environment variables may be as many and as long as execve(2) accepts, up to 6 MiB
 * together. They need not be UTF-8, except for the name of the program.
 */
struct yett_command_options {
	size_t size;
	/* Ends with NULL; an argv[0] without '/' is looked up in the PATH inside. */
	const char *const *argv;
	/*
	 * NAME=VALUE, ends with NULL; added to the variables of the session and the profile, and
	 * overrides them. NULL: none.
	 */
	const char *const *env;
	/*
	 * Directory inside; NULL: the session's, which is at first yett_sandbox_options.directory.
	 */
	const char *cwd;
	/* Three descriptors (borrowed) or enum yett_stdio; NULL: /dev/null for all. */
	const int *stdio;
	/*
	 * Bytes for the command's stdin, copied; stdio[0] must be YETT_STDIO_NULL. NULL: as `stdio`
	 * says.
	 */
	const void *input;
	size_t input_length;
	/*
	 * Limit of what is kept of each output with YETT_STDIO_CAPTURE; further output is dropped.
	 */
	size_t capture_bytes;
	/*
	 * After this time the command and everything that it started are killed; 0: after
	 * command_timeout_ms of yett_sandbox_info, if that is not 0. More than
	 * max_command_timeout_ms is YETT_E_PERMISSION_DENIED.
	 */
	uint64_t timeout_ms;
	/*
	 * Restrictions of this command and of what it starts. YETT_E_UNSUPPORTED if the host cannot
	 * enforce them; the command is not started then. deny_write: nothing in the file system can
	 * be changed, but the command's streams and devices can still be written to.
	 */
	bool deny_write;
	bool deny_network; /* no sockets but Unix sockets */
	/*
	 * Absolute paths, at most 64, ends with NULL: the only files that the command can reach,
	 * besides those that it needs to be executed; NULL: all.
	 */
	const char *const *only_paths;
	/*
	 * Run as uid and gid `user` inside, without other groups. Possible only where the profile
	 * gives capabilities.
	 */
	bool other_user;
	uint32_t user;
	/* Limits of this command, within those of the sandbox; 0: none. */
	uint64_t memory_bytes, pids;
	/*
	 * The command's streams are a terminal of the sandbox. `stdio` must be NULL or all
	 * YETT_STDIO_NULL.
	 */
	bool terminal;
	uint16_t rows, columns; /* of that terminal; 0: not known */
	void (*on_exit)(struct yett_command *command, void *data); /* may be NULL */
	/*
	 * For YETT_STDIO_STREAM: called with a piece of an output, in order. All pieces come before
	 * on_exit. The callback must not free, wait for, ask or end anything.
	 */
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
	/*
	 * KEY=VALUE, returned to every client that asks about the command (yett_command_status);
	 * ends with NULL. At most 16 with different keys, 1 KiB in all, UTF-8. NULL: none. The
	 * sandbox can read them, and a hostile sandbox can change them.
	 */
	const char *const *metadata;
};

/* Bits of yett_result.limits_hit: the limits that were reached while the command ran. */
enum yett_limit {
	YETT_LIMIT_MEMORY = 1,
	YETT_LIMIT_PIDS = 2,
	YETT_LIMIT_CPU = 4,
	YETT_LIMIT_CPU_TIME = 8,
};

/* Valid as long as the object that it was obtained from. */
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
	uint64_t started_ms, ended_ms; /* milliseconds since 1970; ended_ms 0: the command runs */
	/*
	 * The signal that ended the command: "SEGV", "RTMIN+3"; empty: none, or a signal without a
	 * name.
	 */
	char signal_name[16];
	/*
	 * After the command has ended: bytes that it and the children that it waited for read from
	 * disks and changed in files on disks, whether or not these bytes have been written to the
	 * disk yet (getrusage(2), ru_inblock and ru_oublock). Files in memory, pipes and sockets do
	 * not count.
	 */
	uint64_t read_bytes, written_bytes;
};

/*
 * Checks whether a sandbox may hold this descriptor. Allowed are pipes, regular files that are not
 * on a pseudo file system, /dev/null, and connected stream and seqpacket sockets of AF_UNIX, such
 * as those of socketpair(2). All others are YETT_E_SECURITY_VIOLATION: a directory or O_PATH
 * descriptor is a way into the host, a terminal accepts input for the caller's shell, and any other
 * socket can be connected to everything that the host's network reaches. Connect such a descriptor
 * to the command by a pipe, or a terminal by a terminal of the command. YETT_E_INVALID_REQUEST: the
 * descriptor is not open.
 */
YETT_API YETT_MUST_CHECK int yett_stdio_check(int fd, struct yett_error *error);

/*
 * Starts a command, without waiting: yett_command_wait() reports a command that could not be
 * started. Several commands may run at once. YETT_E_NOT_RUNNING: the sandbox is known to be paused;
 * a sandbox that is paused later starts the command after it is resumed. Descriptors must pass
 * yett_stdio_check().
 *
 * The call changes two kinds of descriptors. A socket without a name gets one (unix(7), "Autobind
 * feature"). The mode of an unnamed pipe is opened to others in the direction in which the command
 * uses the pipe, so that the command, which has another uid, can open the pipe again as /dev/stdin
 * or /dev/stdout.
 *
 * Any call that learns of the command's end can call on_exit. The callback may free the command,
 * unless that call is a yett_command_wait() or yett_command_id() for the same command.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_exec(struct yett_sandbox *sandbox,
                                               const struct yett_command_options *options,
                                               struct yett_command **ret_command,
                                               struct yett_error *error);

/*
 * Waits for the command to end. timeout_ms -1 means no limit, 0 only checks. *ret_result
 * (`ret_result` may be NULL) is valid as long as the command handle. YETT_E_TIMEOUT: the command
 * still runs. YETT_E_COMMAND_FAILED: the command could not be started; the error has the os_error,
 * and a `step` unless executing the program is what failed. YETT_E_NOT_RUNNING,
 * YETT_E_RESOURCE_LIMIT: the sandbox ended first. May be called again, with the same result.
 */
YETT_API YETT_MUST_CHECK int yett_command_wait(struct yett_command *command, int timeout_ms,
                                               const struct yett_result **ret_result,
                                               struct yett_error *error);

/*
 * Sends a signal (1 … 64) to the command's process group. YETT_E_NOT_RUNNING: the command is known
 * to have ended. YETT_E_INVALID_REQUEST: no such signal.
 */
YETT_API YETT_MUST_CHECK int yett_command_signal(struct yett_command *command, int signal_number,
                                                 struct yett_error *error);

/*
 * Returns the command's id, which every handle of the sandbox can use, and which the sandbox gives
 * to no other command. If the id is not known yet, waits for the sandbox to report it, which takes
 * a moment. Returns 0 for a command that could not be started, or after 10 seconds. Must not be
 * called in an on_output.
 */
YETT_API uint64_t yett_command_id(const struct yett_command *command);

/* The command's pid inside the sandbox; 0 until the command is known to have started. */
YETT_API uint32_t yett_command_pid(const struct yett_command *command);

/*
 * The master of the command's terminal, for reading and writing; -1 until the command is known to
 * have started, and for a command without a terminal. The command owns the descriptor:
 * yett_command_free() closes it, which hangs up the terminal unless the caller keeps a duplicate.
 * The library checks that the descriptor is the master of a pty (pty(7)). It never becomes the
 * caller's controlling terminal. read(2) fails with EIO after all processes that had the terminal
 * open are gone. The data comes from the sandbox: if it is printed on a terminal, its escape
 * sequences take effect there.
 */
YETT_API int yett_command_terminal(const struct yett_command *command);

/*
 * Sets the size of the command's terminal, which sends SIGWINCH to its foreground process group. A
 * size that is set before the command has started is applied when it starts.
 * YETT_E_INVALID_REQUEST: the command was started without a terminal. YETT_E_NOT_RUNNING: the
 * command is known to have ended.
 */
YETT_API YETT_MUST_CHECK int yett_command_resize(struct yett_command *command, uint16_t rows,
                                                 uint16_t columns, struct yett_error *error);

/*
 * Gives the library's end of the pipe of a stream (0, 1 or 2) with YETT_STDIO_PIPE: the write end
 * for stream 0, the read end for the others. The caller owns and closes the descriptor from then
 * on; until then the command owns it. YETT_E_INVALID_REQUEST: the stream has no pipe, or the pipe
 * was taken already.
 */
YETT_API YETT_MUST_CHECK int yett_command_take_pipe(struct yett_command *command, int stream,
                                                    int *ret_fd, struct yett_error *error);

/* Frees the handle; the command itself goes on. Takes NULL. */
YETT_API void yett_command_free(struct yett_command *command);

/*
 * The directory and the environment variables that commands of a sandbox start with if their
 * options do not set others. The sandbox keeps the session; it is the same for all handles.
 */
struct yett_session {
	size_t size;
	const char *directory; /* empty: neither given nor changed, which means "/" */
	/* NAME=VALUE besides the variables of the profile, ends with NULL. */
	const char *const *env;
};

/*
 * Free *ret_session with yett_free(). YETT_E_TIMEOUT: init does not answer. YETT_E_NOT_RUNNING: the
 * sandbox is paused or has ended.
 */
YETT_API YETT_MUST_CHECK int yett_session_get(struct yett_sandbox *sandbox,
                                              struct yett_session **ret_session,
                                              struct yett_error *error);

/*
 * Changes the session for commands that start from now on: another directory (absolute; NULL: no
 * change), variables to set, and names of variables to remove (lists that end with NULL; NULL:
 * none). Makes all changes or none. YETT_E_RESOURCE_LIMIT: more than 1024 variables, or more than
 * 32 KiB of them. YETT_E_TIMEOUT and YETT_E_NOT_RUNNING as for yett_session_get(). A directory that
 * does not exist is reported when a command starts.
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

/*
 * Describes a command. A sandbox knows all commands that run and 256 that have ended, whatever
 * client started them.
 */
struct yett_command_status {
	size_t size;
	uint64_t id;
	enum yett_command_state state;
	uint32_t pid;     /* inside the sandbox */
	const char *text; /* the arguments with spaces between them, cut to 127 bytes; printable */
	/*
	 * The arguments themselves, at most 511 bytes; UTF-8, but otherwise unchanged; ends with
	 * NULL.
	 */
	const char *const *argv;
	bool argv_cut;       /* some arguments are missing or cut */
	uint64_t started_ms; /* milliseconds since 1970 */
	/* For a running command, times and memory so far; 0 where the host does not count them. */
	const struct yett_result *result;
	const struct yett_error *error; /* YETT_COMMAND_FAILED: the reason; otherwise NULL */
	const struct yett_output_status *outputs[2]; /* index: enum yett_stream */
	/* As in the options that the command was started with; ends with NULL. */
	const char *const *metadata;
};

/* Describes an output of a command. */
struct yett_output_status {
	size_t size;
	size_t length;  /* bytes kept so far */
	bool captured;  /* the output is kept at all */
	bool truncated; /* more was written than kept */
};

struct yett_command_list;

/*
 * Lists the commands of the sandbox by ascending id. YETT_E_TIMEOUT: init does not answer.
 * YETT_E_NOT_RUNNING: the sandbox is paused or has ended. The same two hold for the other calls
 * below that take the id of a command.
 */
YETT_API YETT_MUST_CHECK int yett_commands_list(struct yett_sandbox *sandbox,
                                                struct yett_command_list **ret_list,
                                                struct yett_error *error);

/* Like yett_sandbox_list_count() and yett_sandbox_list_get(). */
YETT_API size_t yett_command_list_count(const struct yett_command_list *list);
YETT_API const struct yett_command_status *
yett_command_list_get(const struct yett_command_list *list, size_t i);

/*
 * Describes one command. YETT_E_NOT_FOUND: no command has this id, or the sandbox no longer knows
 * what became of it.
 */
YETT_API YETT_MUST_CHECK int yett_command_inspect(struct yett_sandbox *sandbox, uint64_t id,
                                                  struct yett_command_status **ret_status,
                                                  struct yett_error *error);

struct yett_follow_options {
	size_t size;
	/* May be NULL. Both callbacks work as in yett_command_options. */
	void (*on_exit)(struct yett_command *command, void *data);
	void (*on_output)(struct yett_command *command, enum yett_stream stream, const char *bytes,
	                  size_t length, void *data);
	void *data;
};

/*
 * Makes a handle of an existing command, whatever client started it. The handle works like that of
 * a command started by this sandbox handle, but has no terminal and no streams. `options` may be
 * NULL; on_output is not called. YETT_E_NOT_FOUND.
 */
YETT_API YETT_MUST_CHECK int yett_command_attach(struct yett_sandbox *sandbox, uint64_t id,
                                                 const struct yett_follow_options *options,
                                                 struct yett_command **ret_command,
                                                 struct yett_error *error);

/*
 * Does the same, and calls on_output (which must be set) with everything that is kept of the
 * command's outputs, from the beginning and as more is written, even if the command has ended.
 * YETT_E_NOT_FOUND. YETT_E_INVALID_REQUEST: no output of the command is kept, or on_output is not
 * set.
 */
YETT_API YETT_MUST_CHECK int yett_command_follow(struct yett_sandbox *sandbox, uint64_t id,
                                                 const struct yett_follow_options *options,
                                                 struct yett_command **ret_command,
                                                 struct yett_error *error);

enum yett_input_flag { YETT_INPUT_LAST = 1 };

/*
 * Gives a pipe to the stdin of a command that was started with YETT_STDIO_LATER. The caller writes
 * to the pipe and closes it; write(2) raises SIGPIPE after the command has ended. A call with
 * YETT_INPUT_LAST gives the last pipe. The command reads end-of-file once a pipe was requested with
 * YETT_INPUT_LAST and all its pipes are closed. YETT_E_NOT_FOUND. YETT_E_NOT_RUNNING: the command
 * has ended. YETT_E_INVALID_REQUEST: the command was not started with YETT_STDIO_LATER, or the last
 * pipe was already given. YETT_E_SECURITY_VIOLATION: the sandbox sent something else than a pipe.
 */
YETT_API YETT_MUST_CHECK int yett_command_input(struct yett_sandbox *sandbox, uint64_t id,
                                                unsigned flags, int *ret_fd,
                                                struct yett_error *error);

/*
 * Sends a signal (1 … 64) to the process group of the command with this id. YETT_E_NOT_FOUND.
 * YETT_E_NOT_RUNNING: the command has ended. YETT_E_TIMEOUT.
 */
YETT_API YETT_MUST_CHECK int yett_command_signal_by_id(struct yett_sandbox *sandbox, uint64_t id,
                                                       int signal_number, struct yett_error *error);

/*
 * Sends SIGKILL to the command with this id and to everything that it started; does nothing if the
 * command has ended. YETT_E_NOT_FOUND, YETT_E_TIMEOUT.
 */
YETT_API YETT_MUST_CHECK int yett_command_kill(struct yett_sandbox *sandbox, uint64_t id,
                                               struct yett_error *error);

struct yett_captured {
	size_t size;
	const char *bytes; /* followed by a NUL */
	size_t length;
	bool truncated; /* more was written than kept */
};

/*
 * Returns what is kept of an output of the command with this id, so far or at its end. Free
 * *ret_captured with yett_free(). YETT_E_NOT_FOUND as above. YETT_E_INVALID_REQUEST: the command
 * was not started with YETT_STDIO_CAPTURE for this output.
 */
YETT_API YETT_MUST_CHECK int yett_command_output(struct yett_sandbox *sandbox, uint64_t id,
                                                 enum yett_stream stream,
                                                 struct yett_captured **ret_captured,
                                                 struct yett_error *error);

struct yett_output {
	size_t size;
	const struct yett_result *result;
	const char *out, *err; /* the two outputs, each followed by a NUL */
	size_t out_length, err_length;
	bool out_truncated, err_truncated;
	/*
	 * Both outputs together in the order in which they arrived. Bytes written to one output
	 * come before bytes written later to the other output, unless the former were not read yet
	 * when the latter were written.
	 */
	const char *both;
	size_t both_length;
	bool both_truncated;
};

/*
 * Runs a command to its end and keeps up to `output_max` bytes of each output, and of both
 * together; further output is read and dropped. Only the first entry of options->stdio counts.
 * on_exit and on_output are not called. YETT_E_INVALID_REQUEST with a terminal. Does not wait for
 * processes that outlive the command. Free *ret_output with yett_free().
 */
YETT_API YETT_MUST_CHECK int yett_run(struct yett_sandbox *sandbox,
                                      const struct yett_command_options *options, size_t output_max,
                                      struct yett_output **ret_output, struct yett_error *error);

/* --- usage ------------------------------------------------------------------------------------ */

/* Bits of yett_usage.known, in the order of the members. */
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
	/* This and the following: only if the sandbox has a network with rules. */
	YETT_USAGE_CONNECTIONS = 16384,
	YETT_USAGE_CONNECTED = 32768,
	YETT_USAGE_BLOCKED = 65536,
	YETT_USAGE_SENT_BYTES = 131072,
	YETT_USAGE_RECEIVED_BYTES = 262144,
};

/* The resources that a sandbox uses, as the kernel counts them for all its processes together. */
struct yett_usage {
	size_t size;
	char id[YETT_ID_SIZE];
	char name[YETT_NAME_SIZE]; /* empty: none */
	enum yett_state state;     /* running or paused */
	uint64_t taken_us;         /* when the helper read these numbers: CLOCK_MONOTONIC */
	uint64_t uptime_ms;
	uint64_t memory_limit_bytes, pids_limit; /* 0: unlimited */
	/*
	 * enum yett_usage_count, or-ed: which of the following this host counts; the others are 0.
	 */
	uint32_t known;
	uint64_t cpu_us, user_us, system_us;
	uint64_t memory_bytes, memory_peak_bytes; /* including cached file contents */
	/* From and to disks: bytes, operations. */
	uint64_t read_bytes, written_bytes, reads, writes;
	/*
	 * Including init, the child that init may have ready for the next command, and the network
	 * processes.
	 */
	uint64_t processes, threads;
	uint64_t open_files;
	uint64_t oom_kills;     /* processes that the kernel killed because memory ran out */
	uint64_t forks_refused; /* because of the limit of processes */
	uint64_t connections;   /* out of the sandbox, open now */
	uint64_t connected;     /* connections that were made */
	uint64_t blocked;       /* connections and name lookups that were not allowed */
	uint64_t sent_bytes, received_bytes; /* over connections that have ended */
};

/*
 * Reads what a sandbox uses now. Only the helper is asked: a hostile sandbox cannot influence the
 * numbers, and the call does not disturb the sandbox. YETT_E_NOT_RUNNING: the sandbox does not run.
 * YETT_E_NOT_FOUND also for a sandbox that the caller may not manage.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_usage(struct yett_connection *connection,
                                                const char *id_or_name,
                                                struct yett_usage **ret_usage,
                                                struct yett_error *error);

struct yett_usage_list;

/*
 * Does the same for all running sandboxes that the caller may manage, in no order. `flags`: enum
 * yett_list_flag.
 */
YETT_API YETT_MUST_CHECK int yett_sandboxes_usage(struct yett_connection *connection,
                                                  unsigned flags, struct yett_usage_list **ret_list,
                                                  struct yett_error *error);

/* Like yett_sandbox_list_count() and yett_sandbox_list_get(). */
YETT_API size_t yett_usage_list_count(const struct yett_usage_list *list);
YETT_API const struct yett_usage *yett_usage_list_get(const struct yett_usage_list *list, size_t i);

/*
 * Returns the processor share that a sandbox used between two readings, in percent of one
 * processor: 250 means two and a half. Negative if the share is unknown: the readings are of
 * different sandboxes, not in order of time, or without processor time.
 */
YETT_API double yett_usage_cpu_percent(const struct yett_usage *before,
                                       const struct yett_usage *now);

/* Totals of the helper's work since the machine started, for all users. */
struct yett_totals {
	size_t size;
	uint64_t sandboxes;  /* sandboxes that have ended */
	uint64_t executions; /* commands that have ended: successes and failures */
	uint64_t successes;  /* commands with status 0 */
	uint64_t failures;
	uint64_t timeouts;    /* among the failures */
	uint64_t duration_us; /* of all commands together */
};

/*
 * For root; others get YETT_E_PERMISSION_DENIED. The init processes of the sandboxes count
 * commands, so a hostile sandbox can falsify these numbers, and they lag by a moment.
 */
YETT_API YETT_MUST_CHECK int yett_helper_totals(struct yett_connection *connection,
                                                struct yett_totals **ret_totals,
                                                struct yett_error *error);

/* --- mounts ----------------------------------------------------------------------------------- */

/*
 * Mounts shares in a running sandbox of the caller's, under the policy as it is now. The shares are
 * as in yett_sandbox_options, but each target must be below /mnt, /tmp, /var/tmp, /run or the
 * sandbox's home, where nothing is mounted yet. Mounts all `count` shares or none, and waits for
 * the answer. YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING, YETT_E_PERMISSION_DENIED,
 * YETT_E_ALREADY_EXISTS.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_mount(struct yett_connection *connection,
                                                const char *id_or_name,
                                                const struct yett_share *shares, size_t count,
                                                struct yett_error *error);

/*
 * Unmounts what is mounted at these paths inside, including shares that the sandbox was created
 * with, but not what the profile mounts or protects there. Files that commands have open stay open
 * to them. After an error, some of the paths may already be unmounted. Errors as for
 * yett_sandbox_mount(); YETT_E_NOT_FOUND also if nothing is mounted at a path.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_unmount(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  const char *const *targets, size_t count,
                                                  struct yett_error *error);

/*
 * Makes the overlays at these paths inside look at their layers again. With `count` 0: all overlays
 * of the sandbox. Overlays are the shares that are copy-on-write, and read-only shares in a profile
 * with overlay_ro. Files that were replaced, made or removed outside then appear as they are,
 * except files that are open inside. Errors as for yett_sandbox_mount(); YETT_E_NOT_FOUND also if
 * nothing is mounted at a path, YETT_E_INVALID_REQUEST if the mount is not an overlay.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_refresh(struct yett_connection *connection,
                                                  const char *id_or_name,
                                                  const char *const *targets, size_t count,
                                                  struct yett_error *error);

enum yett_mount_mode {
	YETT_MOUNT_READ_ONLY = 0,
	YETT_MOUNT_WRITABLE = 1,
	YETT_MOUNT_COPY_ON_WRITE = 2, /* as with YETT_SHARE_COW */
};

/* A mount in a sandbox. */
struct yett_mount {
	size_t size;
	const char *target; /* the mount point inside; need not be UTF-8 */
	/*
	 * The part of the file system that is mounted, as a path from the file system's root. For a
	 * share, this is a part of the shared path or the whole path.
	 */
	const char *root;
	const char *type; /* of the file system: "ext4", "tmpfs", "overlay", "proc" */
	enum yett_mount_mode mode;
	/*
	 * The file system is in the sandbox's own memory: its root with /tmp, the home, /run and
	 * /dev/shm; a tmpfs; or the changes of a share with memory_bytes. Only such a mount has the
	 * following sizes and numbers of files; a limit of 0 means no limit.
	 */
	bool is_own;
	uint64_t size_bytes, used_bytes;
	uint64_t files_max, files_used;
};

struct yett_mount_list;

/*
 * Lists what is mounted in a sandbox now, including the mounts of yett_sandbox_mount(), in the
 * order in which they were mounted. A process inside the sandbox answers, as for files (see
 * "files"), so a hostile sandbox can answer falsely. YETT_E_TIMEOUT, YETT_E_NOT_RUNNING.
 */
YETT_API YETT_MUST_CHECK int yett_sandbox_mounts(struct yett_sandbox *sandbox,
                                                 struct yett_mount_list **ret_list,
                                                 struct yett_error *error);

/* Like yett_sandbox_list_count() and yett_sandbox_list_get(). */
YETT_API size_t yett_mount_list_count(const struct yett_mount_list *list);
YETT_API const struct yett_mount *yett_mount_list_get(const struct yett_mount_list *list, size_t i);

/* --- network ---------------------------------------------------------------------------------- */

enum yett_rule_list {
	YETT_RULES_ALLOW = 0,
	YETT_RULES_DENY = 1,
	YETT_RULES_ASK = 2, /* with YETT_SANDBOX_ASK: what the policy would let a request allow */
};

/* One rule of a sandbox's network. */
struct yett_rule {
	size_t size;
	enum yett_rule_list list;
	const char *text; /* as in yett_sandbox_options */
	/* 1: from the request for the sandbox or a later change; 0: from the policy. */
	int is_asked;
	/*
	 * The policy file that contains the rule; empty: the rule is not from the policy, or the
	 * policy was loaded again since.
	 */
	const char *file;
	uint32_t line;
};

struct yett_rules;

/* Like yett_sandbox_list_count() and yett_sandbox_list_get(). */
YETT_API size_t yett_rules_count(const struct yett_rules *rules);
YETT_API const struct yett_rule *yett_rules_get(const struct yett_rules *rules, size_t i);

/*
 * Lists the rules of a sandbox's network. YETT_E_NOT_FOUND, YETT_E_NOT_RUNNING.
 * YETT_E_INVALID_REQUEST: the sandbox has no network, or the host's.
 */
YETT_API YETT_MUST_CHECK int yett_network_rules(struct yett_connection *connection,
                                                const char *id_or_name,
                                                struct yett_rules **ret_rules,
                                                struct yett_error *error);

/*
 * Adds rules to those that requests have set for the sandbox; the same rule is removed from the
 * other list. The policy as it is now decides. New connections follow the new rules a moment later,
 * in a paused sandbox when it is resumed. Connections that the new rules do not allow are cut. If
 * only `deny` has rules, earlier rules that the policy no longer lets requests allow are dropped.
 * `allow` and `deny` may be NULL if their counts are 0. Errors as above. YETT_E_PERMISSION_DENIED:
 * the grant does not let a rule be allowed, or the sandbox is another user's. YETT_E_UNSUPPORTED:
 * without root or BPF, connections to a port that no rule of the sandbox named before cannot be
 * allowed.
 */
YETT_API YETT_MUST_CHECK int yett_network_change(struct yett_connection *connection,
                                                 const char *id_or_name, const char *const *allow,
                                                 size_t allow_count, const char *const *deny,
                                                 size_t deny_count, struct yett_error *error);

/* --- events ----------------------------------------------------------------------------------- */

/*
 * Added to the os_error of YETT_EVENT_UNREACHABLE if connections go through an HTTP proxy that the
 * policy names. os_error is then this value plus the status with which the proxy refused (300 to
 * 599), plus the errno with which connecting to the proxy failed, or plus 0 if the proxy has no
 * address.
 */
enum yett_event_error { YETT_EVENT_OF_PROXY = 1000 };

enum yett_event_kind {
	YETT_EVENT_FOLLOWED = 0, /* the first event of every stream: `state` is the state now */
	YETT_EVENT_STARTED = 1,  /* a command started */
	YETT_EVENT_EXITED = 2,   /* a command ended: `result` */
	YETT_EVENT_FAILED = 3,   /* the program of a command could not be executed: `os_error` */
	YETT_EVENT_TIMEOUT = 4,  /* the time of a command is over, and the command is killed */
	YETT_EVENT_OOM = 5,      /* the kernel killed `count` processes because memory ran out */
	/* The limit of processes was reached `count` times; 0: the host does not count this. */
	YETT_EVENT_FORKS_REFUSED = 6,
	YETT_EVENT_PAUSED = 7,
	YETT_EVENT_RESUMED = 8,
	YETT_EVENT_ENDED = 9, /* the last event: `ended` says why */
	/*
	 * The sandbox's filter refused the system call `call` to process `pid`, `count` times since
	 * the last event about that call.
	 */
	YETT_EVENT_DENIED = 10,
	/*
	 * A connection out of the sandbox was made: `peer`. For this and the other events about
	 * connections, `count` is the number of such events within a second.
	 */
	YETT_EVENT_CONNECTED = 11,
	YETT_EVENT_DISCONNECTED = 12, /* a connection ended */
	/*
	 * An allowed connection could not be made: `os_error`; 0: the name has no address. See
	 * YETT_EVENT_OF_PROXY.
	 */
	YETT_EVENT_UNREACHABLE = 13,
	YETT_EVENT_BLOCKED = 14, /* a connection or name lookup was not allowed: `peer->why` */
	/* A connection was reset, since the sandbox has as many as it may have. */
	YETT_EVENT_FULL = 15,
	/*
	 * The processes that serve the network ended, and all connections with them. `count` 1:
	 * they were started again; 0: they were not.
	 */
	YETT_EVENT_NETWORK_LOST = 16,
	/*
	 * With YETT_SANDBOX_ASK: a connection to `peer` waits 8 seconds for yett_network_change()
	 * to allow it.
	 */
	YETT_EVENT_ASKED = 17,
	/*
	 * A request about the sandbox was carried out, but the host's audit log could not write its
	 * record.
	 */
	YETT_EVENT_UNRECORDED = 18,
};

/* Why a connection was not allowed. */
enum yett_blocked {
	YETT_BLOCKED_NOT = 0,
	YETT_BLOCKED_BY_RULE = 1, /* a rule denies it */
	YETT_BLOCKED_NO_RULE = 2, /* no rule allows it */
	YETT_BLOCKED_UNBOUND = 3, /* its rule binds the name to other addresses */
	YETT_BLOCKED_PRIVATE = 4, /* its address is private, and no rule names that address */
	YETT_BLOCKED_LOCAL = 5,   /* its address is one of this host */
	/*
	 * Nothing may connect to its address: a link-local address, or one of those under which
	 * clouds serve metadata to their machines.
	 */
	YETT_BLOCKED_NEVER = 6,
	/* It was asked about (YETT_EVENT_ASKED), and nobody allowed it in time. */
	YETT_BLOCKED_ASKED = 7,
};

/* "no rule allows it" and so on. Never NULL. */
YETT_API const char *yett_blocked_text(enum yett_blocked why);

/* The other end of a connection. */
struct yett_peer {
	const char *name;    /* the name that the sandbox asked for; empty: it used an address */
	const char *address; /* empty: no address was determined */
	uint16_t port;       /* 0: the name was only looked up */
	enum yett_blocked why;
	/* What the sandbox sent and received, if the connection has ended. */
	uint64_t sent_bytes, received_bytes;
	uint32_t open; /* open connections of the sandbox after this event */
	/* The deciding rule for YETT_EVENT_CONNECTED and YETT_EVENT_BLOCKED; empty: none. */
	const char *rule;
	/*
	 * Where `rule` is written: "FILE:LINE" of the policy, or "the request"; empty: no longer
	 * there.
	 */
	const char *place;
};

#define YETT_PEER_SIZE      272 /* a name of 253 bytes, and a port */
#define YETT_PEER_RULE_SIZE 320 /* the same, and an address */

/*
 * Writes the destination in the form of network rules: "example.com:443", "[2001:db8::1]:443", or a
 * name alone if there is no port. Returns `out`.
 */
YETT_API const char *yett_peer_text(const struct yett_peer *peer, char out[YETT_PEER_SIZE]);

/*
 * Writes the rule that would have allowed a blocked connection, as `allow` of yett_sandbox_options
 * takes it: "example.com:443", followed by "@ADDRESS" if the name alone does not allow that
 * address. Empty if no rule would have allowed the connection, because a rule denies it or nothing
 * may connect there. Returns `out`.
 */
YETT_API const char *yett_peer_rule(const struct yett_peer *peer, char out[YETT_PEER_RULE_SIZE]);

struct yett_event {
	size_t size;
	/*
	 * The number of the event in its sandbox, from 1 on, the same for all followers; for
	 * YETT_EVENT_FOLLOWED that of the last event before. Events of commands are counted only
	 * while somebody follows the sandbox or the audit log records them.
	 */
	uint64_t number;
	/* So many events before this one were lost, because this reader was too slow. */
	uint64_t lost;
	uint64_t time_ms; /* milliseconds since 1970 */
	enum yett_event_kind kind;
	enum yett_state state; /* of the sandbox */
	/*
	 * The id of the command, whatever client started it; 0: the event is not about a command.
	 */
	uint64_t command;
	/*
	 * The command's pid inside; for YETT_EVENT_DENIED the calling process's pid, or 0 if that
	 * process was gone.
	 */
	uint32_t pid;
	const struct yett_result *result; /* YETT_EVENT_EXITED: the result; otherwise NULL */
	int os_error; /* an errno; for YETT_EVENT_UNREACHABLE see also YETT_EVENT_OF_PROXY */
	uint64_t count;
	uint32_t call; /* the number of a system call, for yett_call_name() */
	enum yett_ended ended;
	const struct yett_peer *peer; /* for events about connections; otherwise NULL */
};

struct yett_events;

/* Receives one event, which is valid during the call. The callback must not free the stream. */
typedef void (*yett_event_fn)(const struct yett_event *event, void *data);

/* "started", "forks-refused" and so on. Never NULL. */
YETT_API const char *yett_event_name(enum yett_event_kind kind);

/*
 * The name of a system call number on the host's architecture: "mount", "ptrace" and so on. NULL:
 * the library does not know the number.
 */
YETT_API const char *yett_call_name(uint32_t call);

/*
 * Follows the events of a sandbox from now on. `each` is called in yett_events_dispatch(). Everyone
 * who may manage the sandbox may follow it, with at most eight streams at a time. The stream does
 * not keep the sandbox alive. It does not need the connection that it was requested on, and goes on
 * even if the service is restarted. Free *ret_events with yett_events_free(). YETT_E_NOT_FOUND.
 * YETT_E_NOT_RUNNING: the sandbox has ended. YETT_E_RESOURCE_LIMIT: there are eight streams.
 *
 * Events about commands, and only these, are reported by the sandbox's init, which a hostile
 * sandbox may have compromised.
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
 * Calls the stream's yett_event_fn for every event since the last call, without waiting. After an
 * error the stream is unusable. YETT_E_NOT_RUNNING: the last event was delivered; or the helper's
 * process for the sandbox was killed, and there is no last event.
 */
YETT_API YETT_MUST_CHECK int yett_events_dispatch(struct yett_events *events,
                                                  struct yett_error *error);

/* Takes NULL. */
YETT_API void yett_events_free(struct yett_events *events);

/* --- files ------------------------------------------------------------------------------------ */

/*
 * Operations on files of a sandbox, as its commands see them and with the commands' rights. Each
 * call runs a process inside: yett-files, which the library supplies, so that the sandbox needs no
 * program of its own. Paths inside are absolute, have at most 4095 bytes and need not be UTF-8. A
 * failed operation is YETT_E_FILE_OPERATION_FAILED, with its os_error in the error. YETT_E_TIMEOUT:
 * the sandbox did not answer for 30 seconds. YETT_E_PROTOCOL or YETT_E_SECURITY_VIOLATION: the
 * sandbox sent something that was not requested. Further calls are possible in each case.
 */

enum yett_open_flag {
	YETT_OPEN_READ = 1,
	YETT_OPEN_WRITE = 2,
	YETT_OPEN_CREATE = 4,    /* make the file, with `mode`, if it does not exist */
	YETT_OPEN_EXCLUSIVE = 8, /* with YETT_OPEN_CREATE: fail if the file exists */
	YETT_OPEN_APPEND = 16,
	YETT_OPEN_TRUNCATE = 32,
};

/*
 * Opens a regular file. The descriptor is of the file itself: reading and writing it do not involve
 * the sandbox. The library checks that the descriptor has the requested access mode, and that it is
 * not of a FIFO, a device, a directory or a file on a pseudo file system such as /proc. Other
 * processes inside can change the file at any time, and hostile ones can change the descriptor's
 * file offset: use pread(2), which does not depend on the offset. The caller owns *ret_fd.
 * YETT_E_INVALID_REQUEST: the flags do not fit together, or `mode` is more than 0777.
 */
YETT_API YETT_MUST_CHECK int yett_file_open(struct yett_sandbox *sandbox, const char *path,
                                            unsigned flags, unsigned mode, int *ret_fd,
                                            struct yett_error *error);

/*
 * Returns the content of a file of at most `max` bytes, followed by a NUL. Free *ret_bytes with
 * yett_free(). YETT_E_RESOURCE_LIMIT: the file is larger.
 */
YETT_API YETT_MUST_CHECK int yett_file_read(struct yett_sandbox *sandbox, const char *path,
                                            size_t max, char **ret_bytes, size_t *ret_length,
                                            struct yett_error *error);

/*
 * Replaces the content of a file by these bytes. A file that does not exist is made with `mode`.
 * *ret_written (`ret_written` may be NULL) is set on failure too: the number of bytes that are in
 * the file, for example when the file system is full.
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
	char path[4352]; /* as requested; in a list, with "/NAME" added */
	char name[256];  /* the last component; "." if the path has none */
	enum yett_file_kind kind;
	uint64_t size_bytes;
	unsigned mode;        /* 0 … 07777 */
	char permissions[11]; /* as ls(1) prints them: "-rw-r--r--" */
	uint32_t uid, gid;
	char owner[33], group[33]; /* names from the sandbox's user database; empty: none */
	int64_t mtime_s;           /* seconds since 1970; 0 for earlier times */
	uint32_t mtime_ns;
	char link[4096]; /* the target of a symbolic link */
};

/* Each flag is for the one function that is named here; other bits are YETT_E_INVALID_REQUEST. */
enum yett_file_flag {
	YETT_FILE_FOLLOW = 1, /* yett_file_stat(): follow a symbolic link */
	/*
	 * yett_file_mkdir(): make missing parents too (mode 0755); an existing directory is no
	 * error.
	 */
	YETT_FILE_PARENTS = 2,
	YETT_FILE_REPLACE = 4,   /* yett_file_rename(): replace an existing target */
	YETT_FILE_RECURSIVE = 8, /* yett_file_remove(): remove a directory with everything in it */
};

/*
 * Describes a file. Describes a symbolic link itself, unless YETT_FILE_FOLLOW is set. Free
 * *ret_info with yett_free().
 */
YETT_API YETT_MUST_CHECK int yett_file_stat(struct yett_sandbox *sandbox, const char *path,
                                            unsigned flags, struct yett_file_info **ret_info,
                                            struct yett_error *error);

/* A value other than 0 ends the list. `info` is valid during the call. */
typedef int (*yett_file_fn)(const struct yett_file_info *info, void *data);

/*
 * Calls `each` for the entries of a directory, in no order, without "." and "..".
 * YETT_E_RESOURCE_LIMIT: the directory has more than `max` entries; `each` was called for `max` of
 * them. `each` must not close the sandbox.
 */
YETT_API YETT_MUST_CHECK int yett_file_list(struct yett_sandbox *sandbox, const char *path,
                                            size_t max, yett_file_fn each, void *data,
                                            struct yett_error *error);

YETT_API YETT_MUST_CHECK int yett_file_mkdir(struct yett_sandbox *sandbox, const char *path,
                                             unsigned mode, unsigned flags,
                                             struct yett_error *error);

/* Renames a file within one file system. `to` must not exist, unless YETT_FILE_REPLACE is set. */
YETT_API YETT_MUST_CHECK int yett_file_rename(struct yett_sandbox *sandbox, const char *from,
                                              const char *to, unsigned flags,
                                              struct yett_error *error);

/*
 * Removes a file, a symbolic link itself, or an empty directory; with YETT_FILE_RECURSIVE, a
 * directory with everything in it.
 */
YETT_API YETT_MUST_CHECK int yett_file_remove(struct yett_sandbox *sandbox, const char *path,
                                              unsigned flags, struct yett_error *error);

struct yett_copy_options {
	size_t size;
	uint64_t entries_max; /* limit of files, directories and links; 0: 1,000,000 */
	uint64_t bytes_max;   /* limit of the sizes of all files, including holes; 0: 64 GiB */
	int timeout_ms;       /* for the whole copy; 0: no limit while data keeps moving */
	/*
	 * Called for each entry that was skipped, such as a device node or an unreadable file.
	 * NULL: skipped entries make the call fail after everything else was copied.
	 */
	void (*on_skipped)(const char *path, const char *why, void *data);
	void *data;
};

struct yett_copy_result {
	size_t size;
	uint64_t entries, bytes;
	uint64_t skipped;
};

/*
 * Copies a file, a symbolic link or a directory tree into the sandbox: `host_path` becomes `path`.
 * Keeps modes, times to the nanosecond, symbolic links as they are, hard links within the copy, and
 * holes; and owners as far as the sandbox may set them. An existing directory remains and receives
 * the copied entries besides its own. An existing file is replaced once the new file is complete. A
 * directory does not replace a file, nor a file a directory. Set-id bits are not copied. Device
 * nodes, FIFOs, sockets, and entries that cannot be read or written are skipped, and everything
 * else is copied.
 *
 * `options` may be NULL. *ret_result (`ret_result` may be NULL) is set on failure too, and freed
 * with yett_free(); NULL means that nothing was begun.
 */
YETT_API YETT_MUST_CHECK int yett_copy_in(struct yett_sandbox *sandbox, const char *host_path,
                                          const char *path, const struct yett_copy_options *options,
                                          struct yett_copy_result **ret_result,
                                          struct yett_error *error);

/*
 * Copies in the other direction. Everything that is made belongs to the caller and is located at or
 * below `host_path`, whatever the sandbox sends. Symbolic links are copied as they are, and may
 * point anywhere. A child process makes the copy. If the kernel has Landlock, that process can
 * write nothing outside the directory that contains `host_path`.
 */
YETT_API YETT_MUST_CHECK int yett_copy_out(struct yett_sandbox *sandbox, const char *path,
                                           const char *host_path,
                                           const struct yett_copy_options *options,
                                           struct yett_copy_result **ret_result,
                                           struct yett_error *error);

/* --- sockets ---------------------------------------------------------------------------------- */

/*
 * Connects from outside to a port at which a program of the sandbox listens on 127.0.0.1 or ::1
 * inside. *ret_fd is a TCP socket, non-blocking and close-on-exec, which the caller owns. The call
 * needs neither a network nor a grant: a client of the sandbox could as well have a command
 * connect. YETT_E_COMMAND_FAILED: nobody listens there, or nobody answered for 10 seconds.
 * YETT_E_SECURITY_VIOLATION: the sandbox sent something else than such a socket.
 */
YETT_API YETT_MUST_CHECK int yett_socket_connect(struct yett_sandbox *sandbox, uint16_t port,
                                                 int *ret_fd, struct yett_error *error);

/*
 * Makes a Unix socket (SOCK_STREAM) that listens at a path inside of at most 107 bytes, for the
 * caller to accept(2) from. *ret_fd is non-blocking and close-on-exec, and the caller owns it.
 * Missing parent directories are made. An existing socket at which nobody listens any more is
 * replaced. The socket file stays until somebody removes it. The peers are programs of the sandbox,
 * which may be hostile: read from them with MSG_DONTWAIT, and expect descriptors with the data.
 * YETT_E_FILE_OPERATION_FAILED: the path exists already. YETT_E_SECURITY_VIOLATION: the sandbox
 * sent something else than such a socket.
 */
YETT_API YETT_MUST_CHECK int yett_socket_listen(struct yett_sandbox *sandbox, const char *path,
                                                unsigned mode, int *ret_fd,
                                                struct yett_error *error);

#define YETT_RELAY_CONNECTIONS_MAX 256

/*
 * A relay serves ports and sockets: it accepts connections on one side, connects on the other, and
 * copies data both ways. A relay works only during yett_relay_dispatch(), so the program must keep
 * calling that function. Connections beyond YETT_RELAY_CONNECTIONS_MAX are closed at once. While a
 * peer does not read, the relay reads nothing further for that peer and buffers at most 64 KiB. The
 * relay passes no descriptors: a peer that sends descriptors is disconnected. A relay belongs to
 * the thread that uses its sandbox, and must be closed before the sandbox.
 */
struct yett_relay;

YETT_API YETT_MUST_CHECK int yett_relay_new(struct yett_sandbox *sandbox,
                                            struct yett_relay **ret_relay,
                                            struct yett_error *error);

/*
 * Forwards connections to `host_port` at the host's `address` (NULL: 127.0.0.1) to `port` in the
 * sandbox. If `host_port` is 0, the kernel chooses a port. *ret_host_port (`ret_host_port` may be
 * NULL) is the port in use. Ports below 1024 are refused, and so are addresses that are not
 * loopback, unless the policy's grant has them (`publish`). YETT_E_INVALID_REQUEST: the port is in
 * use, or the host has no such address. YETT_E_PERMISSION_DENIED.
 */
YETT_API YETT_MUST_CHECK int yett_relay_publish(struct yett_relay *relay, const char *address,
                                                uint16_t host_port, uint16_t port,
                                                uint16_t *ret_host_port, struct yett_error *error);

/*
 * Forwards connections to the path `target` inside (NULL: the same as `path`) to the Unix socket
 * `path` of the host. To the listener there, these are connections of the caller. The policy's
 * grant must name `path`, with symbolic links resolved (`sockets`). Errors as for
 * yett_socket_listen(), and YETT_E_PERMISSION_DENIED.
 */
YETT_API YETT_MUST_CHECK int yett_relay_socket(struct yett_relay *relay, const char *path,
                                               const char *target, struct yett_error *error);

/* For poll(2): readable when yett_relay_dispatch() has something to do. Owned by the relay. */
YETT_API int yett_relay_fd(const struct yett_relay *relay);

/*
 * Handles everything that is ready. Waits only for init's answer to a new connection to a port.
 * Must not be called in a callback of the sandbox.
 */
YETT_API void yett_relay_dispatch(struct yett_relay *relay);

/*
 * Ends the relay's connections and closes its listening sockets. Takes NULL. Must not be called in
 * a callback of the sandbox.
 */
YETT_API void yett_relay_close(struct yett_relay *relay);

/* --- operations ------------------------------------------------------------------------------- */

/*
 * For programs with an event loop. A function whose name ends in _begin starts what the blocking
 * function does, and returns an operation. The operation goes on whenever its connection (for
 * yett_sandbox_create_begin()) or its sandbox is dispatched. Dispatch when the descriptor of the
 * connection or sandbox is readable, and at the latest after yett_operation_time_left(). Only the
 * thread that uses its sandbox may use an operation. Several operations may be in progress at once.
 * When the sandbox is ended or closed, its operations are over, with YETT_E_NOT_RUNNING.
 *
 * To read or write a whole file like yett_file_read() and yett_file_write(), open it with
 * yett_file_open_begin() and use pread(2) or pwrite(2): the file is a regular file.
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

/*
 * Returns whether the operation is over, so that yett_operation_finish() does not wait. Does what
 * can be done now. Must not be called in a callback of the operation.
 */
YETT_API bool yett_operation_is_over(struct yett_operation *operation);

/*
 * The timeout for poll(2) in milliseconds, after which the operation must be dispatched in any
 * case; -1: no timeout, or the operation is over.
 */
YETT_API int yett_operation_time_left(const struct yett_operation *operation);

/*
 * Waits for the operation to end. timeout_ms -1 means no limit, 0 only checks. Returns what the
 * blocking function would return, the same each time. YETT_E_TIMEOUT also means that the operation
 * is not over. Must not be called in a callback of the operation.
 */
YETT_API YETT_MUST_CHECK int yett_operation_finish(struct yett_operation *operation, int timeout_ms,
                                                   struct yett_error *error);

/*
 * Take the result of an operation that is over: a descriptor, a sandbox, a list of mounts. The
 * caller then owns the result; each result is given once. -1 or NULL if there is none.
 */
YETT_API int yett_operation_take_fd(struct yett_operation *operation);
YETT_API struct yett_sandbox *yett_operation_take_sandbox(struct yett_operation *operation);
YETT_API struct yett_mount_list *yett_operation_take_mounts(struct yett_operation *operation);

/*
 * The result of a stat or of a copy, the latter also after a failure. Valid as long as the
 * operation.
 */
YETT_API const struct yett_file_info *
yett_operation_file_info(const struct yett_operation *operation);
YETT_API const struct yett_copy_result *
yett_operation_copy_result(const struct yett_operation *operation);

/*
 * Frees the operation. If it is not over, it is cancelled; what it has done so far stays. Takes
 * NULL. Must not be called in a callback of the operation.
 */
YETT_API void yett_operation_free(struct yett_operation *operation);

#undef YETT_API
#undef YETT_MUST_CHECK

#ifdef __cplusplus
}
#endif
