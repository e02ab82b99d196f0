/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes of the whole project: why an operation was refused or failed.
 *
 * Installed with yett.h. A code is a class of errors that a program can act on. A reason, where
 * there is one, says which rule was broken. Codes and reasons are numbers in messages (PROTOCOL.md,
 * "Errors") and never change their meaning. The tables are for the project's own sources, which
 * define YETT_ERROR_TABLES; other programs get none of these macros.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, number, retryable, "text for people") */
#define YETT_CODES(X)                                                    \
	X(NOT_FOUND, 1, false, "sandbox not found")                      \
	X(ALREADY_EXISTS, 2, false, "sandbox already exists")            \
	X(NOT_RUNNING, 3, false, "not running")                          \
	X(INIT_FAILED, 4, true, "the sandbox could not be set up")       \
	X(COMMAND_FAILED, 5, false, "the command could not be started")  \
	X(RESOURCE_LIMIT, 6, true, "a resource limit is exceeded")       \
	X(SECURITY_VIOLATION, 7, false, "security violation")            \
	X(FILE_OPERATION_FAILED, 8, false, "the file operation failed")  \
	X(NETWORK_DENIED, 9, false, "network access denied")             \
	X(TIMEOUT, 10, true, "the time allowed is over")                 \
	X(INVALID_REQUEST, 11, false, "the request is invalid")          \
	X(PERMISSION_DENIED, 12, false, "the policy does not permit it") \
	X(BAD_SIGNATURE, 13, false, "the signature is not accepted")     \
	X(UNSUPPORTED, 14, false, "this host cannot do it")              \
	X(HELPER_UNAVAILABLE, 15, true, "the helper cannot be reached")  \
	X(PROTOCOL, 16, false, "the peer violates the protocol")         \
	X(OUT_OF_MEMORY, 17, false, "there is not enough memory")

enum yett_code {
	YETT_OK = 0,
#define YETT_ROW(name, number, retryable, text) YETT_E_##name = (number),
	YETT_CODES(YETT_ROW)
#undef YETT_ROW
};

/*
 * X(NAME, number, "short-name", "the rule that was broken"). protocol/vectors uses the short names.
 */
#define YETT_REASONS(X)                                                                      \
	X(REPLAYED, 1, "replayed", "this sequence number was used before")                   \
	X(OUT_OF_ORDER, 2, "out-of-order", "the sequence number is not the next one")        \
	X(OTHER_CONNECTION, 3, "other-connection",                                           \
	  "the request was signed for another connection")                                   \
	X(UNKNOWN_KEY, 4, "unknown-key", "the key is not enrolled for this user")            \
	X(WRONG_SIGNATURE, 5, "wrong-signature", "the signature does not match the request") \
	X(TRUNCATED, 6, "truncated", "the message ends before its stated size")              \
	X(TRAILING, 7, "trailing-bytes", "bytes follow the end of the message")              \
	X(FD_COUNT, 8, "fd-count", "the number of descriptors is not the number stated")     \
	X(MAGIC, 9, "magic", "the message does not begin with the magic of Yett")            \
	X(VERSION, 10, "version", "the protocol version is not supported")                   \
	X(KIND, 11, "kind", "this kind of message is not accepted here")                     \
	X(SIZE, 12, "size", "the message is larger than 64 KiB")                             \
	X(MALFORMED, 13, "malformed", "the body is not msgpack")                             \
	X(DEPTH, 14, "depth", "the body nests too deeply")                                   \
	X(WRONG_TYPE, 15, "wrong-type", "a value has the wrong type")                        \
	X(RANGE, 16, "range", "a value is outside its range")                                \
	X(UNKNOWN_FIELD, 17, "unknown-field", "a field is not known")                        \
	X(REPEATED_FIELD, 18, "repeated-field", "a field stands twice")                      \
	X(MISSING_FIELD, 19, "missing-field", "a field is missing")                          \
	X(FIELD_ORDER, 20, "field-order", "the fields are not in order")                     \
	X(NOT_CANONICAL, 21, "not-canonical", "a value is not in its shortest form")         \
	X(EMBEDDED_NUL, 22, "embedded-nul", "a text holds a NUL byte")                       \
	X(NOT_UTF8, 23, "not-utf8", "a text is not UTF-8")                                   \
	X(TOO_LONG, 24, "too-long", "a text or a list is too long")                          \
	X(TOO_SHORT, 25, "too-short", "a text or a list is too short")                       \
	X(RESERVED, 26, "reserved", "a reserved part of the message is not zero")            \
	X(WANTED_MOUNT, 27, "wanted-mount", "the profile requires a share that is missing")  \
	X(LATER, 28, "later", "the request may be granted if sent later")                    \
	X(WANTED_COW, 29, "wanted-cow", "the profile requires shares to be copy-on-write")

enum yett_reason {
	YETT_R_NONE = 0,
#define YETT_ROW(name, number, short_name, text) YETT_R_##name = (number),
	YETT_REASONS(YETT_ROW)
#undef YETT_ROW
};

#ifdef YETT_ERROR_TABLES
/* How many codes and reasons there are; their numbers have no gaps. */
#define YETT_ROW(...) +1
enum { YETT_CODES_COUNT = 0 YETT_CODES(YETT_ROW), YETT_REASONS_COUNT = 0 YETT_REASONS(YETT_ROW) };
#undef YETT_ROW
#else
#undef YETT_CODES
#undef YETT_REASONS
#endif

#define YETT_STEP_SIZE 32

struct yett_error {
	enum yett_code code;
	enum yett_reason reason; /* YETT_R_NONE where the code needs no reason */
	char message[256];       /* one sentence for people, without a final full stop */
	/* which rule, which value was asked for and is allowed; may be empty */
	char detail[512];
	/*
	 * The rule of the policy behind a refusal, as fields; each may be empty. Values are written
	 * as in the policy.
	 */
	char rule[128]; /* the key and its section: "max_memory of grant 'everyone'" */
	/*
	 * The file of that key, or of its section if the key is not written; "built-in" is not a
	 * file.
	 */
	char file[256];
	uint32_t line; /* from 1; 0: no place */
	char asked[128], allowed[128];
	/*
	 * The hint: the smallest change that helps, a line of the policy and its place, or another
	 * action.
	 */
	char mend[256];
	int os_error; /* the errno(3) of the system call that failed; 0: not known */
	/*
	 * The step of starting a command, or of a plan, that failed: "working-directory"; otherwise
	 * empty.
	 */
	char step[YETT_STEP_SIZE];
	/* For later members, so that the size of this struct never changes. Do not read. */
	uint64_t reserved[8];
};

#ifdef __cplusplus
}
#endif
