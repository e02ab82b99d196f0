/*
 * The messages between client and init, on the exec channel, as C structs: schema_command.c ties them to their msgpack form, PROTOCOL.md
 * is normative.
 */
#pragma once

#include "protocol/message_helper.h"

#define MESSAGE_ARGV_MAX 4096
#define MESSAGE_ENV_MAX 2048
#define MESSAGE_TEXTS_MAX (6 << 20) /* bytes of arguments and environment: what execve(2) takes at most, _STK_LIM / 4 * 3 */
#define MESSAGE_WINDOW_MAX 65535 /* rows and columns: struct winsize, ioctl_tty(2) */
#define MESSAGE_COMMAND_TEXT_MAX 511 /* of all arguments together, each with its NUL */
#define MESSAGE_COMMAND_ARGUMENTS_MAX 64
#define MESSAGE_COMMANDS_MAX 32
#define MESSAGE_RESTRICT_PATHS_MAX 64
#define MESSAGE_OUTPUT_MAX (16 << 20) /* bytes of one output that are kept */

/* X(NAME, number, body): each is a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_COMMAND_KINDS(X) \
	X(EXEC, 32, exec)                 /* client → init; a descriptor for each stdio entry that is not "null" */                      \
	X(STARTED, 33, started)           /* init → client */                                                                            \
	X(SIGNAL, 35, signal)             /* client → init; not answered unless refused */                                               \
	X(QUERY, 36, query)               /* client → init */                                                                            \
	X(COMMANDS, 37, commands)         /* init → client, answers a query; a descriptor for each output asked for that is not empty */ \
	X(SESSION, 38, session)           /* client → init */                                                                            \
	X(SURROUNDINGS, 39, surroundings) /* init → client, answers a session */

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
