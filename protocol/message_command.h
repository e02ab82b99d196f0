/* The messages between client and init, on the exec channel: their fields and structs (fields.h).
 * PROTOCOL.md is normative. */
#pragma once

#include "protocol/message_helper.h"

/* Lists of exactly so many. */
#define MESSAGE_MEMBER_U32S(name, count, high) uint32_t name[count];
#define MESSAGE_MEMBER_U64S(name, count, high) uint64_t name[count];

#define MESSAGE_ARGV_MAX 4096
#define MESSAGE_ENV_MAX  2048
/* bytes of arguments and environment: what execve(2) takes at most, _STK_LIM / 4 * 3 */
#define MESSAGE_TEXTS_MAX             (6 << 20)
#define MESSAGE_WINDOW_MAX            65535 /* rows and columns: struct winsize, ioctl_tty(2) */
#define MESSAGE_COMMAND_TEXT_MAX      511   /* of all arguments together, each with its NUL */
#define MESSAGE_COMMAND_ARGUMENTS_MAX 64
#define MESSAGE_COMMANDS_MAX          16
#define MESSAGE_METADATA_ITEMS_MAX    16
#define MESSAGE_METADATA_MAX          1024 /* bytes of all of a command together, each with its NUL */
#define MESSAGE_RESTRICT_PATHS_MAX    64
#define MESSAGE_OUTPUT_MAX            (16 << 20) /* bytes of one output that are kept */

/* X(NAME, number, body): each is a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_COMMAND_KINDS(X)                                                                    \
	X(EXEC, 32,                                                                                 \
	  exec) /* client → init; a descriptor for each stdio entry that is not "null" */         \
	X(STARTED, 33, started)   /* init → client */                                             \
	X(SIGNAL, 35, signal)     /* client → init; not answered unless refused */                \
	X(QUERY, 36, query)       /* client → init */                                             \
	X(COMMANDS, 37, commands) /* init → client, answers a query; a descriptor for each output \
	                             asked for that is not empty */                                 \
	X(SESSION, 38, session)   /* client → init */                                             \
	X(SURROUNDINGS, 39, surroundings) /* init → client, answers a session */                  \
	X(CONNECT, 40, connect)           /* client → init */                                     \
	X(CONNECTED, 41,                                                                            \
	  connected) /* init → client, answers a connect; one descriptor: the socket */

enum stdio_kind {
	STDIO_NULL = 0,
	STDIO_FD = 1,
	STDIO_CAPTURE = 2, /* of 1 and 2: kept by init; of 0: a pipe of init's, whose other end who
	                      asks for it gets */
	STDIO_AS_OUTPUT = 3, /* of 2: what 1 is */
};

/* Bits of message_exec.restrictions: what the command may not. */
enum restriction {
	RESTRICT_WRITE = 1,   /* change anything in the file system */
	RESTRICT_NETWORK = 2, /* have sockets, but for Unix sockets */
	RESTRICT_PATHS = 4, /* reach files, but for those at or below its paths and what it needs to
	                       be executed */
};

#define MESSAGE_EXEC_FIELDS(F, S)                                                                  \
	F(S, TEXTS, argv, 1, MESSAGE_ARGV_MAX, ANY, MESSAGE_PACKET_MAX)                            \
	F(S, TEXTS, env, 0, MESSAGE_ENV_MAX, ENVIRONMENT,                                          \
	  MESSAGE_PACKET_MAX) /* NAME=VALUE; added to the session's and the profile's, and wins    \
	                         over them */                                                      \
	F(S, TEXT, cwd, ANY, 0, MESSAGE_PATH_MAX) /* empty: the session's */                       \
	F(S, U32S, stdio, 3, STDIO_AS_OUTPUT) /* enum stdio_kind; those that are STDIO_FD take the \
	                                         packet's descriptors in order */                  \
	F(S, U64, timeout_ms, 0,                                                                   \
	  TIMEOUT_MS_MAX) /* 0: none; measured from the start of the command */                    \
	F(S, BOOL,                                                                                 \
	  terminal) /* stdio is a terminal of the sandbox's own; its master comes with STARTED */  \
	F(S, U32, rows, 0, MESSAGE_WINDOW_MAX) /* of that terminal; 0: not known */                \
	F(S, U32, columns, 0, MESSAGE_WINDOW_MAX)                                                  \
	F(S, U64, capture_bytes, 0,                                                                \
	  MESSAGE_OUTPUT_MAX) /* of each output that is STDIO_CAPTURE; more is dropped */          \
	F(S, BITS, restrictions, RESTRICT_BITS) /* enum restriction, or-ed */                      \
	F(S, TEXTS, paths, 0, MESSAGE_RESTRICT_PATHS_MAX, ANY,                                     \
	  MESSAGE_PATH_MAX) /* of RESTRICT_PATHS: absolute */                                      \
	F(S, BOOL, has_user)                                                                       \
	F(S, U32, user, 0,                                                                         \
	  UINT32_MAX - 1) /* as an id inside; without has_user 0, and the sandbox's own */         \
	F(S, U64, memory_bytes, 0,                                                                 \
	  SIZE_BYTES_MAX) /* of this command and what it starts; 0: what the sandbox has */        \
	F(S, U64, pids, 0, PIDS_MAX)                                                               \
	F(S, U64, more_bytes, 0,                                                                   \
	  MESSAGE_TEXTS_MAX) /* of the packet's last descriptor, a sealed memfd with further argv  \
	                        and then env; 0: none */                                           \
	F(S, U32, more_argv, 0, MESSAGE_TEXTS_MAX) /* how many of each, with a NUL behind each */  \
	F(S, U32, more_env, 0, MESSAGE_TEXTS_MAX)                                                  \
	F(S, BOOL, file_operation) /* of the library's own: in no list, and no result is kept */   \
	F(S, U32, umask, 0, 0777)  /* the client's, for where the profile has none of its own */   \
	F(S, TEXTS, metadata, 0, MESSAGE_METADATA_ITEMS_MAX, ENVIRONMENT,                          \
	  MESSAGE_METADATA_MAX) /* KEY=VALUE, each key once */
MESSAGE_STRUCT(exec, MESSAGE_EXEC_FIELDS);

#define MESSAGE_STARTED_FIELDS(F, S)                                                     \
	F(S, U64, command, 1, UINT64_MAX) /* its id: the sandbox gives each only once */ \
	F(S, U32, pid, 1, PIDS_MAX)       /* inside the sandbox */
MESSAGE_STRUCT(started, MESSAGE_STARTED_FIELDS);

#define MESSAGE_SIGNAL_FIELDS(F, S)                                                              \
	F(S, U64, command, 1,                                                                    \
	  UINT64_MAX)            /* the sequence of its EXEC, or of a query that waits for it */ \
	F(S, U32, signal, 1, 64) /* 1 … 64 */
MESSAGE_STRUCT(signal, MESSAGE_SIGNAL_FIELDS);

enum query_action {
	QUERY_LIST = 0,   /* those from this id on, as many as a message holds */
	QUERY_STATUS = 1, /* of one */
	QUERY_WAIT = 2,   /* the same, once it has ended */
	QUERY_KILL = 3,   /* it and all that it started; and its status */
	QUERY_OUTPUT = 4, /* what is kept of its outputs; and its status */
	QUERY_FOLLOW = 5, /* the same, once more is kept than `output_bytes` of one of them, or it
	                     has ended */
	QUERY_INPUT = 6,  /* the pipe that is its stdin, to be written to; and its status */
	QUERY_LAST_INPUT =
		7, /* the same, and init lets go of the pipe: who asked is the last who can write */
	QUERY_SIGNAL = 8, /* a signal to its process group; and its status */
};

#define MESSAGE_QUERY_FIELDS(F, S)                                              \
	F(S, U32, action, 0, QUERY_SIGNAL)              /* enum query_action */ \
	F(S, U64, command, 0, UINT64_MAX)               /* an id */             \
	F(S, U64S, output_bytes, 2, MESSAGE_OUTPUT_MAX) /* of QUERY_FOLLOW */   \
	F(S, U32, signal, 0, 64)                        /* of QUERY_SIGNAL: 1 … 64; otherwise 0 */
MESSAGE_STRUCT(query, MESSAGE_QUERY_FIELDS);

/* Ids of file operations have this bit: they are counted apart, so that those of commands have no
 * gaps. */
#define MESSAGE_FILE_OPERATION (UINT64_C(1) << 63)

enum execution_state {
	EXECUTION_PENDING = 0, /* the program is not executed yet */
	EXECUTION_RUNNING = 1,
	EXECUTION_COMPLETED = 2, /* it exited */
	EXECUTION_FAILED = 3,    /* the program could not be executed */
	EXECUTION_TIMEOUT = 4,
	EXECUTION_KILLED = 5, /* a signal ended it */
};

/* Bits of message_command.captured and truncated, and indices of output_bytes. */
enum output_bit { OUTPUT_OUT = 1, OUTPUT_ERR = 2 };

#define MESSAGE_COMMAND_FIELDS(F, S)                                                          \
	F(S, U64, id, 1, UINT64_MAX)                                                          \
	F(S, U32, state, 0, EXECUTION_KILLED) /* enum execution_state */                      \
	F(S, TEXTS, argv, 0, MESSAGE_COMMAND_ARGUMENTS_MAX, ANY,                              \
	  MESSAGE_COMMAND_TEXT_MAX) /* what was asked for, as far as it fits */               \
	F(S, BOOL, argv_cut)                                                                  \
	F(S, U32, pid, 1, PIDS_MAX)            /* inside the sandbox */                       \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX) /* since 1970 */                               \
	F(S, BITS, captured, OUTPUT_BITS)      /* enum output_bit, or-ed */                   \
	F(S, BITS, truncated, OUTPUT_BITS)                                                    \
	F(S, U64S, output_bytes, 2, MESSAGE_OUTPUT_MAX) /* kept so far */                     \
	F(S, MAP, result, exited)            /* while it runs, times and memory so far */     \
	F(S, U32, code, 0, YETT_CODES_COUNT) /* enum yett_code of EXECUTION_FAILED; else 0 */ \
	F(S, TEXT, message, ANY, 0,                                                           \
	  ERROR_TEXT_MAX(message)) /* as of an error, and so what follows */                  \
	F(S, TEXT, detail, ANY, 0, ERROR_TEXT_MAX(detail))                                    \
	F(S, U32, error_number, 0, YETT_ERRNO_MAX)                                            \
	F(S, TEXT, step, NAME, 0, YETT_STEP_SIZE - 1)                                         \
	F(S, TEXTS, metadata, 0, MESSAGE_METADATA_ITEMS_MAX, ENVIRONMENT,                     \
	  MESSAGE_METADATA_MAX) /* as of the exec */
MESSAGE_STRUCT(command, MESSAGE_COMMAND_FIELDS);

#define MESSAGE_COMMANDS_FIELDS(F, S)                                            \
	F(S, U64, last, 0, UINT64_MAX) /* the id that was given last; 0: none */ \
	F(S, MAPS, commands, 0, MESSAGE_COMMANDS_MAX, command) /* by id, the lowest first */
MESSAGE_STRUCT(commands, MESSAGE_COMMANDS_FIELDS);

/* A change of what later commands begin with; all empty: none. */
#define MESSAGE_SESSION_FIELDS(F, S)                                          \
	F(S, TEXT, cwd, ANY, 0, MESSAGE_PATH_MAX) /* empty: it stays */       \
	F(S, TEXTS, set, 0, MESSAGE_ENV_MAX, ENVIRONMENT, MESSAGE_PACKET_MAX) \
	F(S, TEXTS, unset, 0, MESSAGE_ENV_MAX, ANY, MESSAGE_PACKET_MAX) /* names */
MESSAGE_STRUCT(session, MESSAGE_SESSION_FIELDS);

#define MESSAGE_SURROUNDINGS_FIELDS(F, S)                          \
	F(S, TEXT, cwd, ANY, 0, MESSAGE_PATH_MAX) /* empty: "/" */ \
	F(S, TEXTS, env, 0, MESSAGE_ENV_MAX, ENVIRONMENT, MESSAGE_PACKET_MAX)
MESSAGE_STRUCT(surroundings, MESSAGE_SURROUNDINGS_FIELDS);

enum connect_family { CONNECT_V4 = 0, CONNECT_V6 = 1 };

/* A connection to a port of the sandbox's loopback, 127.0.0.1 or ::1. */
#define MESSAGE_CONNECT_FIELDS(F, S) \
	F(S, U32, port, 1, 65535)    \
	F(S, U32, family, 0, CONNECT_V6) /* enum connect_family */
MESSAGE_STRUCT(connect, MESSAGE_CONNECT_FIELDS);

#define MESSAGE_CONNECTED_FIELDS( \
	F, S) /* the socket is in the descriptor; what became of the attempt, it tells */
MESSAGE_STRUCT(connected, MESSAGE_CONNECTED_FIELDS);
