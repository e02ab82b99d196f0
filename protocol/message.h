/*
 * The messages of Yett as C structs, and the tables that tie them to their msgpack form.
 *
 * A struct has no pointers and a fixed bound: texts live in the arena of the `struct message` that holds them and
 * are named by offset and length, so a message can cross a process boundary as bytes. Every field is always on the
 * wire, in table order; "not given" is the empty text, the empty list or 0. PROTOCOL.md is normative.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROTOCOL.md, "Sizes". A whole packet, header included, never exceeds MESSAGE_PACKET_MAX. */
#define MESSAGE_PACKET_MAX 65536
#define MESSAGE_ARENA_MAX (MESSAGE_PACKET_MAX + 8192) /* every text costs a NUL more than on the wire */
#define MESSAGE_FDS_MAX 128
#define MESSAGE_SHARES_MAX 125
#define MESSAGE_TMPFS_MAX 32
#define MESSAGE_ARGV_MAX 4096
#define MESSAGE_ENV_MAX 2048
#define MESSAGE_TEXTS_MAX (6 << 20) /* bytes of arguments and environment: what execve(2) takes at most, _STK_LIM / 4 * 3 */
#define MESSAGE_PATH_MAX 4095
#define MESSAGE_NAME_MAX 64
#define MESSAGE_HOSTNAME_MAX 64
#define MESSAGE_CHALLENGE_SIZE 32
#define MESSAGE_LANDLOCK_ABI_MAX 255
#define MESSAGE_LABEL_MAX 127
#define MESSAGE_WEAKER_MAX 511
#define MESSAGE_WINDOW_MAX 65535 /* rows and columns: struct winsize, ioctl_tty(2) */
#define MESSAGE_LABELS_MAX 32
#define MESSAGE_KEY_VALUE_MAX 256
#define MESSAGE_ANNOTATION '#' /* begins the key of a label that is an annotation */
#define MESSAGE_COMMAND_TEXT_MAX 511 /* of all arguments together, each with its NUL */
#define MESSAGE_COMMAND_ARGUMENTS_MAX 64
#define MESSAGE_COMMANDS_MAX 32
#define MESSAGE_RESTRICT_PATHS_MAX 64
#define MESSAGE_OUTPUT_MAX (16 << 20) /* bytes of one output that are kept */
#define MESSAGE_FILE_NAME_MAX 255
#define MESSAGE_FILE_OWNER_MAX 32
#define MESSAGE_FILE_ENTRIES_MAX 64

enum message_kind {
	/* between client and helper */
	MESSAGE_HELLO = 1,   /* helper → client, once, first */
	MESSAGE_CREATE = 2,  /* client → helper, signed; one descriptor for each share */
	MESSAGE_CREATED = 3, /* helper → client, answers a create or an attach; one descriptor: the exec channel */
	MESSAGE_PLAN = 4,    /* helper → client, answers a create with plan_only, or a manage; one sealed memfd with text */
	MESSAGE_ERROR = 5,   /* helper or init → client; the sequence names the message refused */
	MESSAGE_ENDED = 6,   /* helper → client; the sequence is that of the create or attach */
	MESSAGE_MANAGE = 7,  /* client → helper, signed */
	MESSAGE_DONE = 8,    /* helper → client, answers a manage that asks for no more */
	MESSAGE_STATE = 9,   /* helper → client; the sequence is that of the create or attach */
	MESSAGE_LISTING = 10, /* helper → client, answers a manage; one sealed memfd with MESSAGE_SANDBOX or MESSAGE_USAGE bodies */
	MESSAGE_SANDBOX = 11, /* in the memfd of a listing, and nowhere else */
	MESSAGE_USAGE = 12,   /* likewise */
	MESSAGE_EVENT = 13,   /* helper → client, on an event stream */
	MESSAGE_FOLLOWING = 14, /* helper → client, answers a manage; one descriptor: an event stream */
	MESSAGE_TOTALS = 15,    /* helper → client, answers a manage */
	/* between client and init, on the exec channel */
	MESSAGE_EXEC = 32,    /* client → init; a descriptor for each stdio entry that is not "null" */
	MESSAGE_STARTED = 33, /* init → client */
	MESSAGE_EXITED = 34,  /* init → client */
	MESSAGE_SIGNAL = 35,  /* client → init; not answered unless refused */
	MESSAGE_QUERY = 36,   /* client → init */
	MESSAGE_COMMANDS = 37, /* init → client, answers a query; a descriptor for each output asked for that is not empty */
	MESSAGE_SESSION = 38, /* client → init */
	MESSAGE_SURROUNDINGS = 39, /* init → client, answers a session */
	/* between client and yett-files, a process for each FILE */
	MESSAGE_FILE = 96,         /* client → yett-files; the descriptors that its operation takes */
	MESSAGE_FILE_OPENED = 97,  /* yett-files → client; one descriptor */
	MESSAGE_FILE_ENTRIES = 98, /* yett-files → client, as often as need be */
	MESSAGE_FILE_SKIPPED = 99, /* yett-files → client, as often as need be */
	MESSAGE_FILE_DONE = 100,   /* yett-files → client, once, last; or ERROR */
};

/* A text in the arena of the message that holds it; arena[offset + length] is NUL. */
struct text {
	uint32_t offset;
	uint32_t length;
};

struct message_hello {
	uint32_t version_min, version_max;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
};

enum share_mode { SHARE_RO = 0, SHARE_RW = 1 };

struct message_share {
	uint32_t fd;       /* index among the descriptors of the packet */
	uint32_t mode;     /* enum share_mode */
	struct text target; /* absolute path inside */
};

struct message_tmpfs {
	struct text target;
	uint64_t size_bytes; /* 0: the profile's default size */
};

/* 0 means: what the profile says. */
struct message_limits {
	uint64_t memory_bytes;
	uint64_t cpu_millis; /* thousandths of a processor: 1500 is one and a half */
	uint64_t pids;
	uint64_t files; /* RLIMIT_NOFILE */
};

enum idle_action { IDLE_END = 0, IDLE_PAUSE = 1 };

/* How long it may live. 0: no bound. */
struct message_life {
	bool linger; /* it outlives the connection that made it */
	uint64_t wall_ms, cpu_ms;
	uint64_t idle_ms; /* without a process but init */
	uint32_t idle_action; /* enum idle_action */
	uint64_t cleanup_ms; /* how long it can be looked at when it has ended */
};

struct message_create {
	struct text profile;
	struct text hostname; /* empty: the profile's */
	struct message_limits limits;
	struct message_share shares[MESSAGE_SHARES_MAX];
	uint32_t shares_count;
	struct message_tmpfs tmpfs[MESSAGE_TMPFS_MAX];
	uint32_t tmpfs_count;
	bool plan_only;
	struct text name; /* empty: none */
	struct text labels[MESSAGE_LABELS_MAX]; /* KEY=VALUE, each key once */
	uint32_t labels_count;
	struct message_life life;
};

struct message_created {
	struct text id;      /* 16 lower-case hexadecimal digits */
	struct text profile;
	uint32_t private_uid; /* the host uid that the sandbox's commands run as */
	struct text label;     /* of AppArmor, as the kernel writes it: "yett-sandbox (enforce)"; empty: none */
	uint32_t landlock_abi; /* the version of Landlock that holds them as well; 0: none */
	struct message_limits limits; /* in force; 0: unlimited */
	struct text weaker; /* what a helper without root could not give of the profile, for people; empty: nothing */
};

struct message_error {
	uint32_t code;   /* enum yett_code */
	uint32_t reason; /* enum yett_reason */
	bool retryable;
	struct text message;
	struct text detail;
	/* of a refusal by the policy; as in struct yett_error */
	struct text rule, file;
	uint32_t line;
	struct text asked, allowed;
	struct text mend;
	uint32_t error_number; /* errno; 0: none */
	struct text step; /* empty: none */
};

enum ended_reason {
	ENDED_CLOSED = 0,
	ENDED_INIT_DIED = 1,
	ENDED_OOM = 2,
	ENDED_HELPER = 3,
	ENDED_DESTROYED = 4, /* somebody asked for it */
	ENDED_WALL_TIME = 5,
	ENDED_CPU_TIME = 6,
	ENDED_IDLE = 7,
};

struct message_ended {
	uint32_t reason; /* enum ended_reason */
};

enum manage_action {
	MANAGE_LIST = 0,
	MANAGE_INSPECT = 1,
	MANAGE_ATTACH = 2,
	MANAGE_DETACH = 3,
	MANAGE_PAUSE = 4,
	MANAGE_RESUME = 5,
	MANAGE_KILL = 6,
	MANAGE_DESTROY = 7,
	MANAGE_USAGE = 8,
	MANAGE_FOLLOW = 9,
	MANAGE_TOTALS = 10,
	MANAGE_PLAN = 11,
};

struct message_manage {
	uint32_t action; /* enum manage_action */
	struct text sandbox; /* an id or a name; empty for a list, and for the usage of all */
	bool all; /* of these: everybody's, for an administrator */
};

struct message_done {
	struct text id; /* of the sandbox */
};

/* DESTROYED is gone, and never on the wire. */
enum sandbox_state {
	SANDBOX_CREATING = 0,
	SANDBOX_STARTING = 1,
	SANDBOX_RUNNING = 2,
	SANDBOX_PAUSED = 3,
	SANDBOX_STOPPING = 4,
	SANDBOX_STOPPED = 5,
	SANDBOX_FAILED = 6,
	SANDBOX_DESTROYED = 7,
};

struct message_state {
	uint32_t state; /* enum sandbox_state */
};

struct message_listing {
	uint32_t count; /* of sandboxes in the memfd */
};

struct message_sandbox {
	struct text id, name, profile;
	uint32_t state; /* enum sandbox_state */
	uint32_t ended; /* enum ended_reason; of one that is stopping, stopped or failed */
	uint32_t uid;
	struct text principal; /* the name of the enrolled key that asked; empty: a key of the user's own */
	uint32_t private_uid;
	struct text label;
	uint32_t landlock_abi;
	struct message_limits limits;
	struct message_life life; /* in force */
	uint64_t linger_ms; /* how long it may rest with nobody attached; 0: no bound */
	uint64_t created_ms, started_ms, ended_ms; /* since 1970; 0: not yet */
	uint32_t attached; /* connections that hold it */
	struct text labels[MESSAGE_LABELS_MAX];
	uint32_t labels_count;
};

/* What is counted of a sandbox, in the order of the wire: X(NAME, field). Bit n of `known` is for the n-th. */
#define USAGE_COUNTS(X)                        \
	X(CPU, cpu_us)                         \
	X(USER, user_us)                       \
	X(SYSTEM, system_us)                   \
	X(MEMORY, memory_bytes)                \
	X(MEMORY_PEAK, memory_peak_bytes)      \
	X(READ_BYTES, read_bytes)              \
	X(WRITTEN_BYTES, written_bytes)        \
	X(READS, reads)                        \
	X(WRITES, writes)                      \
	X(PROCESSES, processes)                \
	X(THREADS, threads)                    \
	X(OPEN_FILES, open_files)              \
	X(OOM_KILLS, oom_kills)                \
	X(FORKS_REFUSED, forks_refused)

enum usage_count {
#define X(name, field) USAGE_##name,
	USAGE_COUNTS(X)
#undef X
	USAGE_COUNTS_MAX,
};

struct message_usage {
	struct text id, name;
	uint32_t state; /* enum sandbox_state */
	uint64_t taken_us; /* when: CLOCK_MONOTONIC of the helper */
	uint64_t uptime_ms;
	uint64_t memory_limit_bytes, pids_limit; /* 0: unlimited */
	uint32_t known; /* of the following: the others are 0 because nothing here counts them */
#define X(name, field) uint64_t field;
	USAGE_COUNTS(X)
#undef X
};

enum stdio_kind {
	STDIO_NULL = 0,
	STDIO_FD = 1,
	STDIO_CAPTURE = 2, /* of 1 and 2: kept by init; of 0: a pipe of init's, whose other end who asks for it gets */
	STDIO_AS_OUTPUT = 3, /* of 2: what 1 is */
};

/* Bits of message_exec.restrictions: what the command may not. */
enum restriction {
	RESTRICT_WRITE = 1,   /* change anything in the file system */
	RESTRICT_NETWORK = 2, /* have sockets, but for Unix sockets */
	RESTRICT_PATHS = 4,   /* reach files, but for those at or below its paths and what it needs to be executed */
};

struct message_exec {
	struct text argv[MESSAGE_ARGV_MAX];
	uint32_t argv_count; /* at least 1 */
	struct text env[MESSAGE_ENV_MAX]; /* NAME=VALUE; added to the session's and the profile's, and wins over them */
	uint32_t env_count;
	struct text cwd;      /* empty: the session's */
	uint32_t stdio[3];    /* enum stdio_kind; those that are STDIO_FD take the packet's descriptors in order */
	uint64_t timeout_ms;  /* 0: none; measured from the start of the command */
	bool terminal;	      /* stdio is a terminal of the sandbox's own; its master comes with STARTED */
	uint32_t rows, columns; /* of that terminal; 0: not known */
	uint64_t capture_bytes; /* of each output that is STDIO_CAPTURE; more is dropped */
	uint32_t restrictions; /* enum restriction, or-ed */
	struct text paths[MESSAGE_RESTRICT_PATHS_MAX]; /* of RESTRICT_PATHS: absolute */
	uint32_t paths_count;
	bool has_user;
	uint32_t user; /* as an id inside; without has_user 0, and the sandbox's own */
	uint64_t memory_bytes, pids; /* of this command and what it starts; 0: what the sandbox has */
	uint64_t more_bytes; /* of the packet's last descriptor, a sealed memfd with further argv and then env; 0: none */
	uint32_t more_argv, more_env; /* how many of each, with a NUL behind each */
	bool file_operation; /* of the library's own: in no list, and no result is kept */
};

struct message_started {
	uint64_t command; /* its id: the sandbox gives each only once */
	uint32_t pid; /* inside the sandbox */
};

/* Bits of message_exited.limits_hit: which kernel limit was reached while the command ran. */
enum limit_bit {
	LIMIT_MEMORY = 1,   /* the kernel killed a process of the sandbox for want of memory */
	LIMIT_PIDS = 2,     /* a fork was refused */
	LIMIT_CPU = 4,      /* the sandbox was throttled to its share of processors */
	LIMIT_CPU_TIME = 8, /* RLIMIT_CPU ended it */
};

struct message_exited {
	bool signaled;
	uint32_t status; /* exit status, or the signal's number if signaled */
	bool timed_out;
	bool out_of_memory;
	uint32_t limits_hit; /* enum limit_bit, or-ed */
	uint64_t wall_us;
	uint64_t user_us, system_us; /* CPU time of the command and what it waited for */
	uint64_t memory_peak_bytes;
};

struct message_signal {
	uint64_t command; /* the sequence of its EXEC, or of a query that waits for it */
	uint32_t signal;  /* 1 … 64 */
};

enum query_action {
	QUERY_LIST = 0,	  /* those from this id on, as many as a message holds */
	QUERY_STATUS = 1, /* of one */
	QUERY_WAIT = 2,	  /* the same, once it has ended */
	QUERY_KILL = 3,	  /* it and all that it started; and its status */
	QUERY_OUTPUT = 4, /* what is kept of its outputs; and its status */
	QUERY_FOLLOW = 5, /* the same, once more is kept than `output_bytes` of one of them, or it has ended */
	QUERY_INPUT = 6,  /* the pipe that is its stdin, to be written to; and its status */
	QUERY_LAST_INPUT = 7, /* the same, and init lets go of the pipe: who asked is the last who can write */
	QUERY_SIGNAL = 8, /* a signal to its process group; and its status */
};

struct message_query {
	uint32_t action; /* enum query_action */
	uint64_t command; /* an id */
	uint64_t output_bytes[2]; /* of QUERY_FOLLOW */
	uint32_t signal; /* of QUERY_SIGNAL: 1 … 64; otherwise 0 */
};

/* Ids of file operations have this bit: they are counted apart, so that those of commands have no gaps. */
#define MESSAGE_FILE_OPERATION (UINT64_C(1) << 63)

enum execution_state {
	EXECUTION_PENDING = 0, /* the program is not executed yet */
	EXECUTION_RUNNING = 1,
	EXECUTION_COMPLETED = 2, /* it exited */
	EXECUTION_FAILED = 3,	 /* the program could not be executed */
	EXECUTION_TIMEOUT = 4,
	EXECUTION_KILLED = 5, /* a signal ended it */
};

/* Bits of message_command.captured and truncated, and indices of output_bytes. */
enum output_bit { OUTPUT_OUT = 1, OUTPUT_ERR = 2 };

struct message_command {
	uint64_t id;
	uint32_t state; /* enum execution_state */
	struct text argv[MESSAGE_COMMAND_ARGUMENTS_MAX]; /* what was asked for, as far as it fits */
	uint32_t argv_count;
	bool argv_cut;
	uint32_t pid; /* inside the sandbox */
	uint64_t started_ms; /* since 1970 */
	uint32_t captured, truncated; /* enum output_bit, or-ed */
	uint64_t output_bytes[2]; /* kept so far */
	struct message_exited result; /* while it runs, times and memory so far */
	uint32_t code; /* enum yett_code of EXECUTION_FAILED; else 0 */
	struct text message, detail; /* as of an error, and so what follows */
	uint32_t error_number;
	struct text step;
};

struct message_commands {
	uint64_t last; /* the id that was given last; 0: none */
	struct message_command commands[MESSAGE_COMMANDS_MAX]; /* by id, the lowest first */
	uint32_t commands_count;
};

enum file_operation {
	FILE_OPEN = 1,
	FILE_STAT = 2,
	FILE_LIST = 3,
	FILE_MKDIR = 4,
	FILE_RENAME = 5,
	FILE_REMOVE = 6,
	FILE_PACK = 7,	 /* a file or tree becomes an archive */
	FILE_UNPACK = 8, /* and the other way round */
};

/* Bits of message_file.flags; the operation says which have a meaning. */
enum file_flag {
	FILE_READ = 1,
	FILE_WRITE = 2,
	FILE_CREATE = 4,
	FILE_EXCLUSIVE = 8,
	FILE_APPEND = 16,
	FILE_TRUNCATE = 32,
	FILE_FOLLOW = 64,    /* the last component too may be a symbolic link */
	FILE_RECURSIVE = 128, /* with what is above (mkdir), or below (remove) */
	FILE_REPLACE = 256,
};

struct message_file {
	uint32_t operation; /* enum file_operation */
	uint32_t flags;	    /* enum file_flag, or-ed */
	uint32_t mode;	    /* of what is made */
	struct text path, target;
	uint64_t entries_max, bytes_max; /* 0: no bound */
};

struct message_file_opened {
	uint64_t size_bytes;
};

enum file_kind {
	FILE_OTHER = 0,
	FILE_REGULAR = 1,
	FILE_DIRECTORY = 2,
	FILE_SYMLINK = 3,
	FILE_FIFO = 4,
	FILE_SOCKET = 5,
	FILE_CHARACTER_DEVICE = 6,
	FILE_BLOCK_DEVICE = 7,
};

struct message_file_entry {
	struct text name;
	uint32_t kind; /* enum file_kind */
	uint32_t mode; /* permission bits, set-id and sticky */
	uint32_t uid, gid;
	struct text owner, group; /* empty: no name */
	uint64_t size_bytes;
	uint64_t mtime_s; /* before 1970: 0 */
	uint32_t mtime_ns;
	struct text link; /* of a symbolic link */
};

struct message_file_entries {
	struct message_file_entry entries[MESSAGE_FILE_ENTRIES_MAX];
	uint32_t entries_count;
};

struct message_file_skipped {
	struct text path;
	struct text why;
};

struct message_file_done {
	uint64_t entries, bytes, skipped;
};

enum event_kind {
	EVENT_FOLLOWED = 0,	 /* the first of a stream */
	EVENT_STARTED = 1,	 /* a command */
	EVENT_EXITED = 2,	 /* likewise */
	EVENT_FAILED = 3,	 /* the program of a command could not be executed */
	EVENT_TIMEOUT = 4,	 /* the time of a command is over, and it is killed */
	EVENT_OOM = 5,		 /* the kernel killed for want of memory */
	EVENT_FORKS_REFUSED = 6, /* the limit of processes was met */
	EVENT_PAUSED = 7,	 /* the sandbox, here and below */
	EVENT_RESUMED = 8,
	EVENT_ENDED = 9,
	EVENT_DENIED = 10, /* a system call was refused */
};

struct message_event {
	uint64_t number; /* each of a sandbox has the next one, but FOLLOWED that of the last: a gap is what the reader lost */
	uint64_t time_ms; /* since 1970 */
	uint32_t kind;	  /* enum event_kind */
	uint32_t state;	  /* enum sandbox_state */
	uint64_t command; /* which of the sandbox's commands, counted from 1; 0: it is about none */
	uint32_t pid;	  /* its own, inside; of DENIED: of the process that called, or 0 */
	struct message_exited result; /* of EXITED */
	uint32_t error;	 /* of FAILED: an errno */
	uint64_t count;	 /* of OOM, FORKS_REFUSED and DENIED: how many since the last such event; 0: not counted */
	uint32_t call;	 /* of DENIED: the number of the system call, on the host's architecture */
	uint32_t ended;	 /* enum ended_reason, of ENDED */
};

/* Since the runtime directory is there: since the machine started, for a service. Commands are counted by init. */
struct message_totals {
	uint64_t sandboxes;  /* that have ended */
	uint64_t executions; /* of commands that have ended: successes and failures together */
	uint64_t successes;  /* those with status 0 */
	uint64_t failures;
	uint64_t timeouts;    /* among the failures */
	uint64_t duration_us; /* of all executions together */
};

struct message_following {
	struct text id; /* of the sandbox */
};

/* A change of what later commands begin with; all empty: none. */
struct message_session {
	struct text cwd; /* empty: it stays */
	struct text set[MESSAGE_ENV_MAX];
	uint32_t set_count;
	struct text unset[MESSAGE_ENV_MAX]; /* names */
	uint32_t unset_count;
};

struct message_surroundings {
	struct text cwd; /* empty: "/" */
	struct text env[MESSAGE_ENV_MAX];
	uint32_t env_count;
};

union message_body {
	struct message_hello hello;
	struct message_create create;
	struct message_created created;
	struct message_error error;
	struct message_ended ended;
	struct message_manage manage;
	struct message_done done;
	struct message_state state;
	struct message_listing listing;
	struct message_sandbox sandbox;
	struct message_usage usage;
	struct message_event event;
	struct message_following following;
	struct message_totals totals;
	struct message_exec exec;
	struct message_started started;
	struct message_exited exited;
	struct message_signal signal;
	struct message_query query;
	struct message_commands commands;
	struct message_session session;
	struct message_surroundings surroundings;
	struct message_file file;
	struct message_file_opened file_opened;
	struct message_file_entries file_entries;
	struct message_file_skipped file_skipped;
	struct message_file_done file_done;
};

struct message {
	uint32_t kind; /* enum message_kind */
	uint32_t arena_used;
	union message_body body;
	char arena[MESSAGE_ARENA_MAX];
};

/*
 * The C string of a text. A text that does not lie inside the arena and end in NUL there (possible only if another
 * process made the struct) yields NULL; length 0 yields "".
 */
const char *message_text(const struct message *message, struct text text);

/* Appends a NUL-terminated copy of `string` to the arena. -ENOSPC when it does not fit. */
int message_add_text(struct message *message, const char *string, struct text *ret_text)
	__attribute__((warn_unused_result));

/* Makes it an empty one of this kind: no text, and all fields 0. The body, to be filled. */
union message_body *message_begin(struct message *message, enum message_kind kind);

/* Bytes of `union message_body` that this kind uses; 0 for an unknown kind and for MESSAGE_PLAN, which has no field. */
size_t message_body_size(uint32_t kind);
