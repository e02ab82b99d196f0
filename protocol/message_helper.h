/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between client and helper: their fields and structs (fields.h). PROTOCOL.md is
 * normative.
 *
 * message_state.h has the part of them that yett-helper uses, too.
 */
#pragma once

#include "protocol/fields.h"
#include "protocol/message_state.h"

#define MESSAGE_SHARES_MAX       125
#define MESSAGE_TMPFS_MAX        32
#define MESSAGE_COVERS_MAX       128
#define MESSAGE_HOSTNAME_MAX     64
#define MESSAGE_RULES_MAX        256
#define MESSAGE_RULE_KIND_MAX    4   /* the highest of enum net_rule_kind */
#define MESSAGE_RULE_NAME_MAX    253 /* NET_NAME_SIZE without the NUL */
#define MESSAGE_REACH_RULE_MAX   335 /* NET_RULE_TEXT_SIZE without the NUL */
#define MESSAGE_CHALLENGE_SIZE   32
#define MESSAGE_LANDLOCK_ABI_MAX 255
#define MESSAGE_LABEL_MAX        127
#define MESSAGE_WEAKER_MAX       511
#define MESSAGE_LABELS_MAX       32
#define MESSAGE_KEY_VALUE_MAX    256
/* first character of the key of a label that is an annotation */
#define MESSAGE_ANNOTATION '#'

/* X(NAME, number, body): each makes a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_HELPER_KINDS(X)                                                                    \
	X(HELLO, 1, hello)   /* helper → client, once, first */                                  \
	X(CREATE, 2, create) /* client → helper, signed; one descriptor for each share */        \
	/*                                                                                         \
	 * helper → client, answers a create or an attach; one descriptor: the exec channel      \
	 */                                                                                        \
	X(CREATED, 3, created)                                                                     \
	/*                                                                                         \
	 * helper → client, answers a create with plan_only, or a manage; one sealed memfd       \
	 * with text                                                                               \
	 */                                                                                        \
	X(PLAN, 4, plan)                                                                           \
	/*                                                                                         \
	 * helper, init or yett-files → client; its sequence is that of the refused message      \
	 */                                                                                        \
	X(ERROR, 5, error)                                                                         \
	X(ENDED, 6, ended)   /* helper → client; its sequence is that of the create or attach */ \
	X(MANAGE, 7, manage) /* client → helper, signed */                                       \
	X(DONE, 8, done)     /* helper → client, answers a manage that returns nothing else */   \
	X(STATE, 9, state)   /* helper → client; its sequence is that of the create or attach */ \
	/*                                                                                         \
	 * helper → client, answers a manage; one sealed memfd with MESSAGE_SANDBOX,             \
	 * MESSAGE_USAGE or MESSAGE_REACH bodies                                                   \
	 */                                                                                        \
	X(LISTING, 10, listing)                                                                    \
	X(SANDBOX, 11, sandbox) /* only in the memfd of a listing */                               \
	X(USAGE, 12, usage)     /* only in the memfd of a listing */                               \
	X(EVENT, 13, event)     /* helper → client, on an event stream */                        \
	/* helper → client, answers a manage; one descriptor: an event stream */                 \
	X(FOLLOWING, 14, following)                                                                \
	X(TOTALS, 15, totals)   /* helper → client, answers a manage */                          \
	X(REACH, 16, reach)     /* only in the memfd of a listing */                               \
	X(RELAY, 24, relay)     /* client → helper, signed */                                    \
	X(ALLOWED, 25, allowed) /* helper → client, answers a relay */                           \
	X(MOUNT, 26, mount)     /* client → helper, signed; one descriptor for each share */     \
	X(EXITED, 34, exited)   /* init → client; also a part of an EVENT */

#define NETWORK_NAME_MAX    253 /* of a host: NET_NAME_SIZE without the NUL */
#define NETWORK_ADDRESS_MAX 45
#define NETWORK_VERDICT_MAX 7

#define MESSAGE_CONNECTION_FIELDS(F, S)                                                        \
	/* empty: the sandbox connected to an address */                                       \
	F(S, TEXT, name, ANY, 0, NETWORK_NAME_MAX)                                             \
	F(S, TEXT, address, ANY, 0, NETWORK_ADDRESS_MAX) /* empty: no address was reached */   \
	F(S, U32, port, 0, 65535)                        /* 0: the name was only looked up */  \
	F(S, U32, verdict, 0, NETWORK_VERDICT_MAX)       /* of BLOCKED: enum net_verdict */    \
	F(S, U64, sent_bytes, 0, UINT64_MAX)             /* of DISCONNECTED: by the sandbox */ \
	F(S, U64, received_bytes, 0, UINT64_MAX)                                               \
	F(S, U32, open, 0, UINT32_MAX) /* connections, after the event */                      \
	F(S, TEXT, rule, ANY, 0, 335)                                                          \
	/* of CONNECTED and BLOCKED: of the rule; or empty */                                  \
	F(S, TEXT, place, ANY, 0, MESSAGE_PATH_MAX)
MESSAGE_STRUCT(connection, MESSAGE_CONNECTION_FIELDS);

#define MESSAGE_EVENT_FIELDS(F, S)    \
	MESSAGE_HAPPENED_FIELDS(F, S) \
	F(S, MAP, connection, connection) /* of CONNECTED to FULL, and ASKED */
MESSAGE_STRUCT(event, MESSAGE_EVENT_FIELDS);

#define MESSAGE_HELLO_FIELDS(F, S)     \
	F(S, U32, version_min, 1, 255) \
	F(S, U32, version_max, 1, 255) \
	F(S, BYTES, challenge, MESSAGE_CHALLENGE_SIZE)
MESSAGE_STRUCT(hello, MESSAGE_HELLO_FIELDS);

/*
 * SHARE_COW: a directory below an overlay. Changes go into the SHARE_STORE with the same target or,
 * if a tmpfs has that target, into memory.
 */
enum share_mode { SHARE_RO = 0, SHARE_RW = 1, SHARE_SOCKET = 2, SHARE_COW = 3, SHARE_STORE = 4 };

#define MESSAGE_SHARE_FIELDS(F, S)                                                               \
	F(S, U32, fd, 0, MESSAGE_SHARES_MAX - 1) /* index among the descriptors of the packet */ \
	F(S, U32, mode, 0, SHARE_STORE)          /* enum share_mode */                           \
	F(S, TEXT, target, ANY, 0, MESSAGE_PATH_MAX) /* absolute path inside */
MESSAGE_STRUCT(share, MESSAGE_SHARE_FIELDS);

#define MESSAGE_TMPFS_FIELDS(F, S)                   \
	F(S, TEXT, target, ANY, 0, MESSAGE_PATH_MAX) \
	F(S, U64, size_bytes, 0, SIZE_BYTES_MAX) /* 0: the profile's default size */
MESSAGE_STRUCT(tmpfs, MESSAGE_TMPFS_FIELDS);

/* In a create, 0 means the profile's value. */
#define MESSAGE_LIMITS_FIELDS(F, S)                                                                \
	F(S, U64, memory_bytes, 0, SIZE_BYTES_MAX)                                                 \
	F(S, U64, cpu_millis, 0, 1024000) /* thousandths of a processor: 1500 is one and a half */ \
	F(S, U64, pids, 0, PIDS_MAX)                                                               \
	F(S, U64, files, 0, 1048576)             /* RLIMIT_NOFILE */                               \
	F(S, U64, file_bytes, 0, SIZE_BYTES_MAX) /* RLIMIT_FSIZE */                                \
	F(S, U64, core_bytes, 0, SIZE_BYTES_MAX) /* RLIMIT_CORE; 1: no core files */
MESSAGE_STRUCT(limits, MESSAGE_LIMITS_FIELDS);

enum idle_action { IDLE_END = 0, IDLE_PAUSE = 1 };

/* How long the sandbox may live. 0: no limit. */
#define MESSAGE_LIFE_FIELDS(F, S)                                                 \
	F(S, BOOL, linger) /* the sandbox outlives the connection that made it */ \
	F(S, U64, wall_ms, 0, TIMEOUT_MS_MAX)                                     \
	F(S, U64, cpu_ms, 0, TIMEOUT_MS_MAX)                                      \
	F(S, U64, idle_ms, 0, TIMEOUT_MS_MAX) /* with no process but init */      \
	F(S, U32, idle_action, 0, IDLE_PAUSE) /* enum idle_action */              \
	/* how long the sandbox is still listed after its end */                  \
	F(S, U64, cleanup_ms, 0, TIMEOUT_MS_MAX)
MESSAGE_STRUCT(life, MESSAGE_LIFE_FIELDS);

enum network_asked {
	NETWORK_OF_PROFILE = 0,
	NETWORK_NONE = 1,
	NETWORK_LIMITED = 2,
	NETWORK_OPEN = 3,
	NETWORK_HOST = 4
};

/* A struct net_rule of base/net_rule.h, which defines valid rules. */
#define MESSAGE_RULE_FIELDS(F, S)                                                              \
	F(S, BOOL, deny)                          /* false: the rule allows */                 \
	F(S, U32, kind, 0, MESSAGE_RULE_KIND_MAX) /* enum net_rule_kind */                     \
	/* with a name: the name counts only where it resolves to an address of the network */ \
	F(S, BOOL, bound)                                                                      \
	F(S, U32, prefix, 0, 128) /* of the network */                                         \
	F(S, U32, port_first, 1, 65535)                                                        \
	F(S, U32, port_last, 1, 65535)                                                         \
	F(S, BYTES, address, 16) /* the first of the network; IPv4 in mapped form */           \
	F(S, TEXT, name, ANY, 0, MESSAGE_RULE_NAME_MAX) /* in canonical form */
MESSAGE_STRUCT(rule, MESSAGE_RULE_FIELDS);

/*
 * Absolute paths inside, each below the target of a share of the same request. A path that does not
 * exist is ignored.
 */
#define MESSAGE_COVER_FIELDS(F, S)                                                        \
	F(S, TEXTS, masks, 0, MESSAGE_COVERS_MAX, ANY, MESSAGE_PATH_MAX)     /* hidden */ \
	F(S, TEXTS, read_only, 0, MESSAGE_COVERS_MAX, ANY, MESSAGE_PATH_MAX) /* not writable */

/*
 * In each signed request: a program asks on behalf of a model. The policy can have separate grants
 * for that.
 */
#define MESSAGE_ASKER_FIELDS(F, S) F(S, BOOL, agent)

#define MESSAGE_CREATE_FIELDS(F, S)                                                                \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                             \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX) /* empty: the profile's */         \
	F(S, MAP, limits, limits)                                                                  \
	F(S, MAPS, shares, 0, MESSAGE_SHARES_MAX, share)                                           \
	F(S, MAPS, tmpfs, 0, MESSAGE_TMPFS_MAX, tmpfs)                                             \
	F(S, BOOL, plan_only)                                                                      \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX) /* empty: none */                              \
	/* KEY=VALUE, each key once */                                                             \
	F(S, TEXTS, labels, 0, MESSAGE_LABELS_MAX, ENVIRONMENT, MESSAGE_KEY_VALUE_MAX)             \
	F(S, MAP, life, life)                                                                      \
	F(S, U32, network, 0, NETWORK_HOST) /* enum network_asked */                               \
	F(S, MAPS, rules, 0, MESSAGE_RULES_MAX, rule)                                              \
	/*                                                                                         \
	 * a connection that no rule allows, but that the policy would let a rule allow, waits for \
	 * such a rule                                                                             \
	 */                                                                                        \
	F(S, BOOL, ask)                                                                            \
	/* names that rules allow may resolve to private addresses */                              \
	F(S, BOOL, allow_private)                                                                  \
	MESSAGE_COVER_FIELDS(F, S)                                                                 \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(create, MESSAGE_CREATE_FIELDS);

#define MESSAGE_CREATED_FIELDS(F, S)                                                             \
	F(S, TEXT, id, HEX, 16, 16) /* 16 lower-case hexadecimal digits */                       \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                           \
	/* the host uid of the sandbox's commands */                                             \
	F(S, U32, private_uid, 0, UINT32_MAX - 1)                                                \
	/* of AppArmor, as the kernel writes it: "yett-sandbox (enforce)"; empty: none */        \
	F(S, TEXT, label, ANY, 0, MESSAGE_LABEL_MAX)                                             \
	/* version of Landlock that confines the commands, too; 0: none */                       \
	F(S, U32, landlock_abi, 0, MESSAGE_LANDLOCK_ABI_MAX)                                     \
	F(S, MAP, limits, limits) /* in force; 0: unlimited */                                   \
	/*                                                                                       \
	 * why the sandbox is weaker than others (devices, no root), for people, as the end of a \
	 * sentence; empty: it is not                                                            \
	 */                                                                                      \
	F(S, TEXT, weaker, ANY, 0, MESSAGE_WEAKER_MAX)                                           \
	/* enum network_asked, less NETWORK_NONE */                                              \
	F(S, U32, network, 0, NETWORK_HOST - NETWORK_NONE)                                       \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX)                                  \
	/* the time limit of a command that asks for none; 0: no limit */                        \
	F(S, U64, command_ms, 0, TIMEOUT_MS_MAX)                                                 \
	/* the highest time limit of a command; 0: no limit */                                   \
	F(S, U64, command_max_ms, 0, TIMEOUT_MS_MAX)
MESSAGE_STRUCT(created, MESSAGE_CREATED_FIELDS);

#define MESSAGE_PLAN_FIELDS(F, S) /* No fields: the text is in the descriptor. */
MESSAGE_STRUCT(plan, MESSAGE_PLAN_FIELDS);

#define MESSAGE_ERROR_FIELDS(F, S)                                                  \
	F(S, U32, code, 1, YETT_CODES_COUNT)     /* enum yett_code */               \
	F(S, U32, reason, 0, YETT_REASONS_COUNT) /* enum yett_reason */             \
	F(S, BOOL, retryable)                                                       \
	F(S, TEXT, message, ANY, 0, ERROR_TEXT_MAX(message))                        \
	F(S, TEXT, detail, ANY, 0, ERROR_TEXT_MAX(detail))                          \
	/* a refusal's rule in five fields, then the hint: see struct yett_error */ \
	F(S, TEXT, rule, ANY, 0, ERROR_TEXT_MAX(rule))                              \
	F(S, TEXT, file, ANY, 0, ERROR_TEXT_MAX(file))                              \
	F(S, U32, line, 0, UINT32_MAX)                                              \
	F(S, TEXT, asked, ANY, 0, ERROR_TEXT_MAX(asked))                            \
	F(S, TEXT, allowed, ANY, 0, ERROR_TEXT_MAX(allowed))                        \
	F(S, TEXT, mend, ANY, 0, ERROR_TEXT_MAX(mend))                              \
	F(S, U32, error_number, 0, YETT_ERRNO_MAX)    /* an errno; 0: none */       \
	F(S, TEXT, step, NAME, 0, YETT_STEP_SIZE - 1) /* empty: none */
MESSAGE_STRUCT(error, MESSAGE_ERROR_FIELDS);

#define MESSAGE_ENDED_FIELDS(F, S) F(S, U32, reason, 0, ENDED_IDLE) /* enum ended_reason */
MESSAGE_STRUCT(ended, MESSAGE_ENDED_FIELDS);

#define MESSAGE_MANAGE_FIELDS(F, S)                                                \
	F(S, U32, action, 0, MANAGE_NETWORK) /* enum manage_action */              \
	/* an id or a name; empty for a list, totals, and the usage of all */      \
	F(S, TEXT, sandbox, NAME, 0, MESSAGE_NAME_MAX)                             \
	/* list, usage of all: of the sandboxes of all users, for uid 0 */         \
	F(S, BOOL, all)                                                            \
	/* of NETWORK: the `changes` of the listing that `rules` were made from */ \
	F(S, U32, changes, 0, UINT32_MAX)                                          \
	/* of NETWORK: replace all rules that requests asked for */                \
	F(S, MAPS, rules, 0, MESSAGE_RULES_MAX, rule)                              \
	F(S, BOOL, ask)           /* of NETWORK: as in a create */                 \
	F(S, BOOL, allow_private) /* of NETWORK: as in a create */                 \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(manage, MESSAGE_MANAGE_FIELDS);

/*
 * Asks whether the client may relay something for sandboxes of the profile: a socket of the host
 * into them, or one of their ports to an address of the host.
 */
#define MESSAGE_RELAY_FIELDS(F, S)                                                       \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                   \
	/* an absolute path, as the kernel reports it; empty: the relay is of a port */  \
	F(S, TEXT, socket, ANY, 0, MESSAGE_PATH_MAX)                                     \
	/* of a port: where it can be reached, IPv4 in mapped form; otherwise 0 */       \
	F(S, BYTES, address, 16)                                                         \
	F(S, U32, port, 0, 65535) /* of a port: 0 lets the kernel choose; otherwise 0 */ \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(relay, MESSAGE_RELAY_FIELDS);

/*
 * Changes the mounts of a running sandbox: first unmounts, then refreshes, then mounts. Fields have
 * the same meaning as in a create.
 */
#define MESSAGE_MOUNT_FIELDS(F, S)                                           \
	F(S, TEXT, sandbox, NAME, 1, MESSAGE_NAME_MAX) /* an id or a name */ \
	/* absolute paths inside */                                          \
	F(S, TEXTS, unmount, 0, MESSAGE_SHARES_MAX, ANY, MESSAGE_PATH_MAX)   \
	/* overlays, by the same kind of path; /: all */                     \
	F(S, TEXTS, refresh, 0, MESSAGE_SHARES_MAX, ANY, MESSAGE_PATH_MAX)   \
	F(S, MAPS, shares, 0, MESSAGE_SHARES_MAX, share)                     \
	/* memory of copy-on-write shares */                                 \
	F(S, MAPS, tmpfs, 0, MESSAGE_TMPFS_MAX, tmpfs)                       \
	MESSAGE_COVER_FIELDS(F, S)                                           \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(mount, MESSAGE_MOUNT_FIELDS);

#define MESSAGE_ALLOWED_FIELDS(F, S) /* no fields */
MESSAGE_STRUCT(allowed, MESSAGE_ALLOWED_FIELDS);

#define MESSAGE_DONE_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16) /* of the sandbox */
MESSAGE_STRUCT(done, MESSAGE_DONE_FIELDS);

#define MESSAGE_STATE_FIELDS(F, S) F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */
MESSAGE_STRUCT(state, MESSAGE_STATE_FIELDS);

#define MESSAGE_LISTING_FIELDS(F, S)                                                         \
	F(S, U32, count, 0, UINT32_MAX)   /* of sandboxes or rules in the memfd */           \
	F(S, U32, changes, 0, UINT32_MAX) /* of rules: how often they were changed so far */ \
	/* of rules: the sandbox can only ever reach the ports of its first rules */         \
	F(S, BOOL, by_port)                                                                  \
	F(S, BOOL, allow_private) /* of rules: as in the create, or in the last change */
MESSAGE_STRUCT(listing, MESSAGE_LISTING_FIELDS);

/* One rule in force for the network of a sandbox. */
#define MESSAGE_REACH_FIELDS(F, S)                                    \
	F(S, U32, list, 0, 2) /* enum net_list_kind */                \
	/* in the syntax of the policy and the command line */        \
	F(S, TEXT, rule, ANY, 1, MESSAGE_REACH_RULE_MAX)              \
	/* a request added the rule, so the next one may change it */ \
	F(S, BOOL, asked)                                             \
	/* of the policy that has the rule; empty: not known */       \
	F(S, TEXT, file, ANY, 0, ERROR_TEXT_MAX(file))                \
	F(S, U32, line, 0, UINT32_MAX)
MESSAGE_STRUCT(reach, MESSAGE_REACH_FIELDS);

/* The same bits as enum policy_record. */
enum recorded_bit {
	RECORDED_COMMANDS = 1,
	RECORDED_CONNECTIONS = 2,
	RECORDED_DENIALS = 4,
	RECORDED_BITS = 7
};

#define MESSAGE_SANDBOX_FIELDS(F, S)                                                           \
	F(S, TEXT, id, HEX, 16, 16)                                                            \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX)                                            \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                         \
	F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */                           \
	/* enum ended_reason, in the states from SANDBOX_STOPPING on */                        \
	F(S, U32, ended, 0, ENDED_IDLE)                                                        \
	F(S, U32, uid, 0, UINT32_MAX - 1)                                                      \
	/* name of the enrolled key that signed the request; empty: a key of the user's own */ \
	F(S, TEXT, principal, NAME, 0, MESSAGE_NAME_MAX)                                       \
	F(S, U32, private_uid, 0, UINT32_MAX - 1)                                              \
	F(S, TEXT, label, ANY, 0, MESSAGE_LABEL_MAX)                                           \
	F(S, U32, landlock_abi, 0, MESSAGE_LANDLOCK_ABI_MAX)                                   \
	F(S, MAP, limits, limits)                                                              \
	F(S, U32, network, 0, NETWORK_HOST - NETWORK_NONE) /* as in a created */               \
	F(S, MAP, life, life)                              /* in force */                      \
	/* how long it may be idle or paused with no client attached; 0: no limit */           \
	F(S, U64, linger_ms, 0, CLOCK_MS_MAX)                                                  \
	F(S, U64, created_ms, 0, CLOCK_MS_MAX) /* since 1970; 0: not yet */                    \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX)                                                 \
	F(S, U64, ended_ms, 0, CLOCK_MS_MAX)                                                   \
	F(S, U32, attached, 0, UINT32_MAX) /* connections that hold the sandbox */             \
	F(S, TEXTS, labels, 0, MESSAGE_LABELS_MAX, ENVIRONMENT, MESSAGE_KEY_VALUE_MAX)         \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX)                                \
	F(S, U64, command_ms, 0, TIMEOUT_MS_MAX) /* as in a created */                         \
	F(S, U64, command_max_ms, 0, TIMEOUT_MS_MAX)                                           \
	/* enum recorded_bit, or-ed: what the audit records of the sandbox */                  \
	F(S, BITS, recorded, RECORDED_BITS)
MESSAGE_STRUCT(sandbox, MESSAGE_SANDBOX_FIELDS);

#define MESSAGE_MEMBER_COUNTS(list)       list(MESSAGE_MEMBER_COUNT)
#define MESSAGE_MEMBER_COUNT(name, field) uint64_t field;
#define MESSAGE_USAGE_FIELDS(F, S)                                              \
	F(S, TEXT, id, HEX, 16, 16)                                             \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX)                             \
	F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */            \
	/* time of the reading: CLOCK_MONOTONIC of the helper */                \
	F(S, U64, taken_us, 0, UINT64_MAX)                                      \
	F(S, U64, uptime_ms, 0, CLOCK_MS_MAX)                                   \
	F(S, U64, memory_limit_bytes, 0, SIZE_BYTES_MAX) /* 0: unlimited */     \
	F(S, U64, pids_limit, 0, PIDS_MAX)                                      \
	/* which of the following counters the host counts; the others are 0 */ \
	F(S, BITS, known, (1U << USAGE_COUNTS_MAX) - 1)                         \
	F(S, COUNTS, USAGE_COUNTS)
MESSAGE_STRUCT(usage, MESSAGE_USAGE_FIELDS);

#define MESSAGE_FOLLOWING_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16) /* of the sandbox */
MESSAGE_STRUCT(following, MESSAGE_FOLLOWING_FIELDS);
