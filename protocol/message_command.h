/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between client and init, on the exec channel: their fields and structs (fields.h).
 * PROTOCOL.md is normative.
 */
#pragma once

#include "protocol/message_helper.h"

/* Lists of exactly `count` numbers. */
#define MESSAGE_MEMBER_U32S(name, count, high) uint32_t name[count];
#define MESSAGE_MEMBER_U64S(name, count, high) uint64_t name[count];

#define MESSAGE_ARGV_MAX 4096
#define MESSAGE_ENV_MAX  2048
/* The most bytes of arguments and environment that execve(2) accepts: _STK_LIM / 4 * 3. */
#define MESSAGE_TEXTS_MAX             (6 << 20)
#define MESSAGE_WINDOW_MAX            65535 /* rows and columns: struct winsize, ioctl_tty(2) */
#define MESSAGE_COMMAND_TEXT_MAX      511   /* bytes of arguments that init reports, with NULs */
#define MESSAGE_COMMAND_ARGUMENTS_MAX 64
#define MESSAGE_COMMANDS_MAX          16
#define MESSAGE_METADATA_ITEMS_MAX    16
/* of all metadata of a command together, each with its NUL */
#define MESSAGE_METADATA_MAX       1024
#define MESSAGE_RESTRICT_PATHS_MAX 64
#define MESSAGE_OUTPUT_MAX         (16 << 20) /* bytes of one output that init keeps */

/* X(NAME, number, body): each makes a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_COMMAND_KINDS(X)                                                               \
	/*                                                                                     \
	 * client → init; one descriptor for each stdio entry that is STDIO_FD, then the     \
	 * memory of more_bytes                                                                \
	 */                                                                                    \
	X(EXEC, 32, exec)                                                                      \
	/* init → client; the terminal's master, if the exec asked for a terminal */         \
	X(STARTED, 33, started)                                                                \
	X(SIGNAL, 35, signal) /* client → init; answered only by an error */                 \
	X(QUERY, 36, query)   /* client → init */                                            \
	/*                                                                                     \
	 * init → client, answers a query; one descriptor for each output that was asked for \
	 * and is not empty, or for the input that was asked for                               \
	 */                                                                                    \
	X(COMMANDS, 37, commands)                                                              \
	X(SESSION, 38, session)           /* client → init */                                \
	X(SURROUNDINGS, 39, surroundings) /* init → client, answers a session */             \
	X(CONNECT, 40, connect)           /* client → init */                                \
	/* init → client, answers a connect; one descriptor: the socket */                   \
	X(CONNECTED, 41, connected)

enum stdio_kind {
	STDIO_NULL = 0,
	STDIO_FD = 1,
	/*
	 * 1, 2: an output that init keeps. 0: a pipe, whose other end init gives to clients that
	 * ask for it.
	 */
	STDIO_CAPTURE = 2,
	STDIO_AS_OUTPUT = 3, /* 2: the same as 1 */
};

/* Bits of message_exec.restrictions: what the command must not do. */
enum restriction {
	RESTRICT_WRITE = 1,   /* change anything in the file system */
	RESTRICT_NETWORK = 2, /* have sockets other than Unix sockets */
	/*
	 * reach files other than those at or below its paths, and those that it needs to be
	 * executed
	 */
	RESTRICT_PATHS = 4,
};

#define MESSAGE_EXEC_FIELDS(F, S)                                                                  \
	F(S, TEXTS, argv, 1, MESSAGE_ARGV_MAX, ANY, MESSAGE_PACKET_MAX)                            \
	/* NAME=VALUE; added to the variables of session and profile, and overrides them */        \
	F(S, TEXTS, env, 0, MESSAGE_ENV_MAX, ENVIRONMENT, MESSAGE_PACKET_MAX)                      \
	F(S, TEXT, cwd, ANY, 0, MESSAGE_PATH_MAX) /* empty: the session's */                       \
	/* enum stdio_kind; STDIO_FD entries take the packet's descriptors in order */             \
	F(S, U32S, stdio, 3, STDIO_AS_OUTPUT)                                                      \
	/* from the start of the command; 0: none */                                               \
	F(S, U64, timeout_ms, 0, TIMEOUT_MS_MAX)                                                   \
	/* stdio is a terminal of the sandbox's devpts; its master comes with STARTED */           \
	F(S, BOOL, terminal)                                                                       \
	F(S, U32, rows, 0, MESSAGE_WINDOW_MAX) /* of that terminal; 0: not known */                \
	F(S, U32, columns, 0, MESSAGE_WINDOW_MAX)                                                  \
	/* of each output that is STDIO_CAPTURE; init drops the rest */                            \
	F(S, U64, capture_bytes, 0, MESSAGE_OUTPUT_MAX)                                            \
	F(S, BITS, restrictions, RESTRICT_BITS) /* enum restriction, or-ed */                      \
	/* of RESTRICT_PATHS: absolute */                                                          \
	F(S, TEXTS, paths, 0, MESSAGE_RESTRICT_PATHS_MAX, ANY, MESSAGE_PATH_MAX)                   \
	F(S, BOOL, has_user)                                                                       \
	/*                                                                                         \
	 * the user, as an id inside, if has_user; otherwise 0, and the command runs as the        \
	 * sandbox's user                                                                          \
	 */                                                                                        \
	F(S, U32, user, 0, UINT32_MAX - 1)                                                         \
	/* limits of this command and its descendants; 0: only those of the sandbox */             \
	F(S, U64, memory_bytes, 0, SIZE_BYTES_MAX)                                                 \
	F(S, U64, pids, 0, PIDS_MAX)                                                               \
	/*                                                                                         \
	 * size of the packet's last descriptor, a sealed memfd with further argv and then env; 0: \
	 * none                                                                                    \
	 */                                                                                        \
	F(S, U64, more_bytes, 0, MESSAGE_TEXTS_MAX)                                                \
	F(S, U32, more_argv, 0, MESSAGE_TEXTS_MAX) /* how many of each, each followed by a NUL */  \
	F(S, U32, more_env, 0, MESSAGE_TEXTS_MAX)                                                  \
	/* an operation of the library's: it is not listed, and init keeps no result */            \
	F(S, BOOL, file_operation)                                                                 \
	/* the client's, for a profile that sets no umask */                                       \
	F(S, U32, umask, 0, 0777)                                                                  \
	/* KEY=VALUE, each key once */                                                             \
	F(S, TEXTS, metadata, 0, MESSAGE_METADATA_ITEMS_MAX, ENVIRONMENT, MESSAGE_METADATA_MAX)
MESSAGE_STRUCT(exec, MESSAGE_EXEC_FIELDS);

#define MESSAGE_STARTED_FIELDS(F, S)                   \
	/* its id; a sandbox never uses an id twice */ \
	F(S, U64, command, 1, UINT64_MAX)              \
	F(S, U32, pid, 1, PIDS_MAX) /* inside the sandbox */
MESSAGE_STRUCT(started, MESSAGE_STARTED_FIELDS);

#define MESSAGE_SIGNAL_FIELDS(F, S)                                              \
	/* the sequence of its EXEC, or of a query that waits for the command */ \
	F(S, U64, command, 1, UINT64_MAX)                                        \
	F(S, U32, signal, 1, 64) /* 1 … 64 */
MESSAGE_STRUCT(signal, MESSAGE_SIGNAL_FIELDS);

enum query_action {
	QUERY_LIST = 0,   /* commands from this id on, as many as fit into a message */
	QUERY_STATUS = 1, /* of one command */
	QUERY_WAIT = 2,   /* its status, once it has ended */
	QUERY_KILL = 3,   /* kill the command and its descendants; answered with its status */
	QUERY_OUTPUT = 4, /* what init keeps of its outputs so far, and its status */
	/*
	 * Like QUERY_OUTPUT, but answered once an output exceeds its `output_bytes`, or the command
	 * has ended.
	 */
	QUERY_FOLLOW = 5,
	QUERY_INPUT = 6, /* the write end of the pipe that is its stdin, and its status */
	/*
	 * Like QUERY_INPUT, and init closes its own copy of the write end: only clients can write
	 * then.
	 */
	QUERY_LAST_INPUT = 7,
	QUERY_SIGNAL = 8, /* send a signal to its process group; answered with its status */
};

#define MESSAGE_QUERY_FIELDS(F, S)                                                                 \
	F(S, U32, action, 0, QUERY_SIGNAL)              /* enum query_action */                    \
	F(S, U64, command, 0, UINT64_MAX)               /* an id */                                \
	F(S, U64S, output_bytes, 2, MESSAGE_OUTPUT_MAX) /* of QUERY_FOLLOW: what the client has */ \
	F(S, U32, signal, 0, 64)                        /* of QUERY_SIGNAL: 1 … 64; otherwise 0 */
MESSAGE_STRUCT(query, MESSAGE_QUERY_FIELDS);

/*
 * Ids of file operations have this bit set. They are counted separately, so that the ids of
 * commands have no gaps.
 */
#define MESSAGE_FILE_OPERATION (UINT64_C(1) << 63)

enum execution_state {
	EXECUTION_PENDING = 0, /* the program is not executed yet */
	EXECUTION_RUNNING = 1,
	EXECUTION_COMPLETED = 2, /* the program exited */
	EXECUTION_FAILED = 3,    /* the program could not be executed */
	EXECUTION_TIMEOUT = 4,
	EXECUTION_KILLED = 5, /* a signal ended the program */
};

/*
 * Bits of message_command.captured and message_command.truncated. Bit n and item n of output_bytes,
 * both counted from 0, are of the same output.
 */
enum output_bit { OUTPUT_OUT = 1, OUTPUT_ERR = 2 };

#define MESSAGE_COMMAND_FIELDS(F, S)                                                               \
	F(S, U64, id, 1, UINT64_MAX)                                                               \
	F(S, U32, state, 0, EXECUTION_KILLED) /* enum execution_state */                           \
	/* of the exec, as far as they fit */                                                      \
	F(S, TEXTS, argv, 0, MESSAGE_COMMAND_ARGUMENTS_MAX, ANY, MESSAGE_COMMAND_TEXT_MAX)         \
	F(S, BOOL, argv_cut)                                                                       \
	F(S, U32, pid, 1, PIDS_MAX)            /* inside the sandbox */                            \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX) /* since 1970 */                                    \
	F(S, BITS, captured, OUTPUT_BITS)      /* enum output_bit, or-ed */                        \
	F(S, BITS, truncated, OUTPUT_BITS)                                                         \
	F(S, U64S, output_bytes, 2, MESSAGE_OUTPUT_MAX) /* kept so far */                          \
	F(S, MAP, result, exited)            /* of a running command: times and memory so far */   \
	F(S, U32, code, 0, YETT_CODES_COUNT) /* enum yett_code of EXECUTION_FAILED; otherwise 0 */ \
	/* of EXECUTION_FAILED, as in a MESSAGE_ERROR; so are the next three */                    \
	F(S, TEXT, message, ANY, 0, ERROR_TEXT_MAX(message))                                       \
	F(S, TEXT, detail, ANY, 0, ERROR_TEXT_MAX(detail))                                         \
	F(S, U32, error_number, 0, YETT_ERRNO_MAX)                                                 \
	F(S, TEXT, step, NAME, 0, YETT_STEP_SIZE - 1)                                              \
	/* as in the exec */                                                                       \
	F(S, TEXTS, metadata, 0, MESSAGE_METADATA_ITEMS_MAX, ENVIRONMENT, MESSAGE_METADATA_MAX)
MESSAGE_STRUCT(command, MESSAGE_COMMAND_FIELDS);

#define MESSAGE_COMMANDS_FIELDS(F, S)                                             \
	F(S, U64, last, 0, UINT64_MAX) /* the highest id given so far; 0: none */ \
	F(S, MAPS, commands, 0, MESSAGE_COMMANDS_MAX, command) /* in ascending order of ids */
MESSAGE_STRUCT(commands, MESSAGE_COMMANDS_FIELDS);

/* Changes the directory and environment of later commands. All fields empty: changes nothing. */
#define MESSAGE_SESSION_FIELDS(F, S)                                          \
	F(S, TEXT, cwd, ANY, 0, MESSAGE_PATH_MAX) /* empty: unchanged */      \
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

/* No fields: the descriptor is the socket, and its SO_ERROR says whether the attempt succeeded. */
#define MESSAGE_CONNECTED_FIELDS(F, S)
MESSAGE_STRUCT(connected, MESSAGE_CONNECTED_FIELDS);
