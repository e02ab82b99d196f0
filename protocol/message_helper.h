/*
 * The messages between client and helper: their fields and structs (fields.h). PROTOCOL.md is
 * normative.
 *
 * What root's program knows of them, too, is in message_told.h.
 */
#pragma once

#include "protocol/fields.h"
#include "protocol/message_told.h"

#define MESSAGE_SHARES_MAX       125
#define MESSAGE_TMPFS_MAX        32
#define MESSAGE_COVERS_MAX       128
#define MESSAGE_HOSTNAME_MAX     64
#define MESSAGE_RULES_MAX        256
#define MESSAGE_RULE_KIND_MAX    4   /* of enum net_rule_kind */
#define MESSAGE_RULE_NAME_MAX    253 /* NET_NAME_SIZE without the NUL */
#define MESSAGE_REACH_RULE_MAX   335 /* NET_RULE_TEXT_SIZE without the NUL */
#define MESSAGE_CHALLENGE_SIZE   32
#define MESSAGE_LANDLOCK_ABI_MAX 255
#define MESSAGE_LABEL_MAX        127
#define MESSAGE_WEAKER_MAX       511
#define MESSAGE_LABELS_MAX       32
#define MESSAGE_KEY_VALUE_MAX    256
#define MESSAGE_ANNOTATION       '#' /* begins the key of a label that is an annotation */

/* X(NAME, number, body): each is a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_HELPER_KINDS(X)                                                                     \
	X(HELLO, 1, hello)     /* helper → client, once, first */                                 \
	X(CREATE, 2, create)   /* client → helper, signed; one descriptor for each share */       \
	X(CREATED, 3, created) /* helper → client, answers a create or an attach; one descriptor: \
	                          the exec channel */                                               \
	X(PLAN, 4, plan)   /* helper → client, answers a create with plan_only, or a manage; one  \
	                      sealed memfd with text */                                             \
	X(ERROR, 5, error) /* helper or init → client; the sequence names the message refused */  \
	X(ENDED, 6, ended) /* helper → client; the sequence is that of the create or attach */    \
	X(MANAGE, 7, manage) /* client → helper, signed */                                        \
	X(DONE, 8, done)     /* helper → client, answers a manage that asks for no more */        \
	X(STATE, 9, state)   /* helper → client; the sequence is that of the create or attach */  \
	X(LISTING, 10, listing) /* helper → client, answers a manage; one sealed memfd with       \
	                           MESSAGE_SANDBOX or MESSAGE_USAGE bodies */                       \
	X(SANDBOX, 11, sandbox) /* in the memfd of a listing, and nowhere else */                   \
	X(USAGE, 12, usage)     /* likewise */                                                      \
	X(EVENT, 13, event)     /* helper → client, on an event stream */                         \
	X(FOLLOWING, 14,                                                                            \
	  following) /* helper → client, answers a manage; one descriptor: an event stream */     \
	X(TOTALS, 15, totals)   /* helper → client, answers a manage */                           \
	X(REACH, 16, reach)     /* in the memfd of a listing, and nowhere else */                   \
	X(RELAY, 24, relay)     /* client → helper, signed */                                     \
	X(ALLOWED, 25, allowed) /* helper → client, answers a relay */                            \
	X(MOUNT, 26, mount)     /* client → helper, signed; one descriptor for each share */      \
	X(EXITED, 34, exited)   /* init → client; what an EVENT has of it is the same */

#define NETWORK_NAME_MAX    253 /* of a host: NET_NAME_SIZE */
#define NETWORK_ADDRESS_MAX 45
#define NETWORK_VERDICT_MAX 7

#define MESSAGE_CONNECTION_FIELDS(F, S)                                                            \
	F(S, TEXT, name, ANY, 0, NETWORK_NAME_MAX)       /* empty: it was to an address as such */ \
	F(S, TEXT, address, ANY, 0, NETWORK_ADDRESS_MAX) /* empty: it came to none */              \
	F(S, U32, port, 0, 65535)                        /* 0: the name was only looked up */      \
	F(S, U32, verdict, 0, NETWORK_VERDICT_MAX)       /* enum net_verdict, of BLOCKED: why */   \
	F(S, U64, sent_bytes, 0, UINT64_MAX)             /* of DISCONNECTED; by the sandbox */     \
	F(S, U64, received_bytes, 0, UINT64_MAX)                                                   \
	F(S, U32, open, 0, UINT32_MAX) /* connections, afterwards */                               \
	F(S, TEXT, rule, ANY, 0, 335)                                                              \
	F(S, TEXT, place, ANY, 0, MESSAGE_PATH_MAX) /* of CONNECTED, BLOCKED; or empty */
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
 * COW: a directory behind an overlay, whose changes go into the STORE of the same target, or where
 * a tmpfs has that target, into memory.
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

/* 0 means: what the profile says. */
#define MESSAGE_LIMITS_FIELDS(F, S)                                                                \
	F(S, U64, memory_bytes, 0, SIZE_BYTES_MAX)                                                 \
	F(S, U64, cpu_millis, 0, 1024000) /* thousandths of a processor: 1500 is one and a half */ \
	F(S, U64, pids, 0, PIDS_MAX)                                                               \
	F(S, U64, files, 0, 1048576)             /* RLIMIT_NOFILE */                               \
	F(S, U64, file_bytes, 0, SIZE_BYTES_MAX) /* RLIMIT_FSIZE */                                \
	F(S, U64, core_bytes, 0, SIZE_BYTES_MAX) /* RLIMIT_CORE; 1: no core files */
MESSAGE_STRUCT(limits, MESSAGE_LIMITS_FIELDS);

enum idle_action { IDLE_END = 0, IDLE_PAUSE = 1 };

/* How long it may live. 0: no bound. */
#define MESSAGE_LIFE_FIELDS(F, S)                                              \
	F(S, BOOL, linger) /* it outlives the connection that made it */       \
	F(S, U64, wall_ms, 0, TIMEOUT_MS_MAX)                                  \
	F(S, U64, cpu_ms, 0, TIMEOUT_MS_MAX)                                   \
	F(S, U64, idle_ms, 0, TIMEOUT_MS_MAX) /* without a process but init */ \
	F(S, U32, idle_action, 0, IDLE_PAUSE) /* enum idle_action */           \
	F(S, U64, cleanup_ms, 0,                                               \
	  TIMEOUT_MS_MAX) /* how long it can be looked at when it has ended */
MESSAGE_STRUCT(life, MESSAGE_LIFE_FIELDS);

enum network_asked {
	NETWORK_OF_PROFILE = 0,
	NETWORK_NONE = 1,
	NETWORK_LIMITED = 2,
	NETWORK_OPEN = 3,
	NETWORK_HOST = 4
};

/* A struct net_rule of base/net_rule.h, which says what is valid. */
#define MESSAGE_RULE_FIELDS(F, S)                                                       \
	F(S, BOOL, deny)                          /* else it allows */                  \
	F(S, U32, kind, 0, MESSAGE_RULE_KIND_MAX) /* enum net_rule_kind */              \
	F(S, BOOL, bound)         /* of a name: only where it leads into the network */ \
	F(S, U32, prefix, 0, 128) /* of the network */                                  \
	F(S, U32, port_first, 1, 65535)                                                 \
	F(S, U32, port_last, 1, 65535)                                                  \
	F(S, BYTES, address, 16) /* the first of the network; of IPv4 mapped */         \
	F(S, TEXT, name, ANY, 0, MESSAGE_RULE_NAME_MAX) /* canonical */
MESSAGE_STRUCT(rule, MESSAGE_RULE_FIELDS);

/* Absolute paths inside, each below the target of a share of the same request. A path that does not
 * exist is ignored. */
#define MESSAGE_COVER_FIELDS(F, S)                                                        \
	F(S, TEXTS, masks, 0, MESSAGE_COVERS_MAX, ANY, MESSAGE_PATH_MAX)     /* hidden */ \
	F(S, TEXTS, read_only, 0, MESSAGE_COVERS_MAX, ANY, MESSAGE_PATH_MAX) /* not writable */

/* Of each request that is signed: a program asks on behalf of a model, which the policy can bind by
 * grants of its own. */
#define MESSAGE_ASKER_FIELDS(F, S) F(S, BOOL, agent)

#define MESSAGE_CREATE_FIELDS(F, S)                                                              \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                           \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX) /* empty: the profile's */       \
	F(S, MAP, limits, limits)                                                                \
	F(S, MAPS, shares, 0, MESSAGE_SHARES_MAX, share)                                         \
	F(S, MAPS, tmpfs, 0, MESSAGE_TMPFS_MAX, tmpfs)                                           \
	F(S, BOOL, plan_only)                                                                    \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX) /* empty: none */                            \
	F(S, TEXTS, labels, 0, MESSAGE_LABELS_MAX, ENVIRONMENT,                                  \
	  MESSAGE_KEY_VALUE_MAX) /* KEY=VALUE, each key once */                                  \
	F(S, MAP, life, life)                                                                    \
	F(S, U32, network, 0, NETWORK_HOST) /* enum network_asked */                             \
	F(S, MAPS, rules, 0, MESSAGE_RULES_MAX, rule)                                            \
	F(S, BOOL, ask) /* what no rule allows, and the policy would let a rule allow, waits for \
	                   such a rule */                                                        \
	F(S, BOOL, allow_private) /* names that rules allow may lead to private addresses */     \
	MESSAGE_COVER_FIELDS(F, S)                                                               \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(create, MESSAGE_CREATE_FIELDS);

#define MESSAGE_CREATED_FIELDS(F, S)                                                               \
	F(S, TEXT, id, HEX, 16, 16) /* 16 lower-case hexadecimal digits */                         \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                             \
	F(S, U32, private_uid, 0,                                                                  \
	  UINT32_MAX - 1) /* the host uid that the sandbox's commands run as */                    \
	F(S, TEXT, label, ANY, 0, MESSAGE_LABEL_MAX) /* of AppArmor, as the kernel writes it:      \
	                                                "yett-sandbox (enforce)"; empty: none */   \
	F(S, U32, landlock_abi, 0,                                                                 \
	  MESSAGE_LANDLOCK_ABI_MAX) /* the version of Landlock that holds them as well; 0: none */ \
	F(S, MAP, limits, limits)   /* in force; 0: unlimited */                                   \
	F(S, TEXT, weaker, ANY, 0,                                                                 \
	  MESSAGE_WEAKER_MAX) /* by what it is weaker than others: without root, by devices; for   \
	                         people; empty: it is not */                                       \
	F(S, U32, network, 0,                                                                      \
	  NETWORK_HOST - NETWORK_NONE) /* that it has: enum network_asked, less NETWORK_NONE */    \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX)                                    \
	F(S, U64, command_ms, 0,                                                                   \
	  TIMEOUT_MS_MAX) /* the time of a command that asks for none; 0: no bound */              \
	F(S, U64, command_max_ms, 0, TIMEOUT_MS_MAX) /* of each command */
MESSAGE_STRUCT(created, MESSAGE_CREATED_FIELDS);

#define MESSAGE_PLAN_FIELDS(F, S) /* the text is in the descriptor */
MESSAGE_STRUCT(plan, MESSAGE_PLAN_FIELDS);

#define MESSAGE_ERROR_FIELDS(F, S)                                                        \
	F(S, U32, code, 1, YETT_CODES_COUNT)     /* enum yett_code */                     \
	F(S, U32, reason, 0, YETT_REASONS_COUNT) /* enum yett_reason */                   \
	F(S, BOOL, retryable)                                                             \
	F(S, TEXT, message, ANY, 0, ERROR_TEXT_MAX(message))                              \
	F(S, TEXT, detail, ANY, 0, ERROR_TEXT_MAX(detail))                                \
	F(S, TEXT, rule, ANY, 0,                                                          \
	  ERROR_TEXT_MAX(rule)) /* of a refusal by the policy; as in struct yett_error */ \
	F(S, TEXT, file, ANY, 0, ERROR_TEXT_MAX(file))                                    \
	F(S, U32, line, 0, UINT32_MAX)                                                    \
	F(S, TEXT, asked, ANY, 0, ERROR_TEXT_MAX(asked))                                  \
	F(S, TEXT, allowed, ANY, 0, ERROR_TEXT_MAX(allowed))                              \
	F(S, TEXT, mend, ANY, 0, ERROR_TEXT_MAX(mend))                                    \
	F(S, U32, error_number, 0, YETT_ERRNO_MAX)    /* errno; 0: none */                \
	F(S, TEXT, step, NAME, 0, YETT_STEP_SIZE - 1) /* empty: none */
MESSAGE_STRUCT(error, MESSAGE_ERROR_FIELDS);

#define MESSAGE_ENDED_FIELDS(F, S) F(S, U32, reason, 0, ENDED_IDLE) /* enum ended_reason */
MESSAGE_STRUCT(ended, MESSAGE_ENDED_FIELDS);

#define MESSAGE_MANAGE_FIELDS(F, S)                                                           \
	F(S, U32, action, 0, MANAGE_NETWORK) /* enum manage_action */                         \
	F(S, TEXT, sandbox, NAME, 0,                                                          \
	  MESSAGE_NAME_MAX) /* an id or a name; empty for a list, and for the usage of all */ \
	F(S, BOOL, all)     /* of these: everybody's, for an administrator */                 \
	F(S, U32, changes, 0,                                                                 \
	  UINT32_MAX) /* of NETWORK: as many as the listing of its rules told */              \
	F(S, MAPS, rules, 0, MESSAGE_RULES_MAX,                                               \
	  rule)                   /* of NETWORK: in place of those of the request, all */     \
	F(S, BOOL, ask)           /* of NETWORK: as of a create */                            \
	F(S, BOOL, allow_private) /* likewise */                                              \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(manage, MESSAGE_MANAGE_FIELDS);

/* Whether a client may relay, for a sandbox of the profile: a socket of the host into it, or one of
 * its ports to an address of the host. */
#define MESSAGE_RELAY_FIELDS(F, S)                                                           \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                       \
	F(S, TEXT, socket, ANY, 0,                                                           \
	  MESSAGE_PATH_MAX) /* absolute, as the kernel would tell it; empty: it is a port */ \
	F(S, BYTES, address,                                                                 \
	  16) /* where the port is to be reached; of IPv4 mapped; of a socket 0 */           \
	F(S, U32, port, 0, 65535) /* 0: the kernel chooses; of a socket 0 */                 \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(relay, MESSAGE_RELAY_FIELDS);

/* What is to change in what a sandbox that is there shows: first is taken off, then looked at anew,
 * then mounted. Fields of a create mean the same. */
#define MESSAGE_MOUNT_FIELDS(F, S)                                                                \
	F(S, TEXT, sandbox, NAME, 1, MESSAGE_NAME_MAX) /* an id or a name */                      \
	F(S, TEXTS, unmount, 0, MESSAGE_SHARES_MAX, ANY,                                          \
	  MESSAGE_PATH_MAX) /* absolute paths inside */                                           \
	F(S, TEXTS, refresh, 0, MESSAGE_SHARES_MAX, ANY, MESSAGE_PATH_MAX) /* likewise; /: all */ \
	F(S, MAPS, shares, 0, MESSAGE_SHARES_MAX, share)                                          \
	F(S, MAPS, tmpfs, 0, MESSAGE_TMPFS_MAX,                                                   \
	  tmpfs) /* memory of shares that are copy-on-write */                                    \
	MESSAGE_COVER_FIELDS(F, S)                                                                \
	MESSAGE_ASKER_FIELDS(F, S)
MESSAGE_STRUCT(mount, MESSAGE_MOUNT_FIELDS);

#define MESSAGE_ALLOWED_FIELDS(F, S) /* nothing more */
MESSAGE_STRUCT(allowed, MESSAGE_ALLOWED_FIELDS);

#define MESSAGE_DONE_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16) /* of the sandbox */
MESSAGE_STRUCT(done, MESSAGE_DONE_FIELDS);

#define MESSAGE_STATE_FIELDS(F, S) F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */
MESSAGE_STRUCT(state, MESSAGE_STATE_FIELDS);

#define MESSAGE_LISTING_FIELDS(F, S)                                                            \
	F(S, U32, count, 0, UINT32_MAX)   /* of sandboxes, or rules, in the memfd */            \
	F(S, U32, changes, 0, UINT32_MAX) /* of rules: so often they were changed so far */     \
	F(S, BOOL, by_port) /* of rules: only ports that they were about at first are caught */ \
	F(S, BOOL, allow_private) /* of rules: as of a create, or the last change */
MESSAGE_STRUCT(listing, MESSAGE_LISTING_FIELDS);

/* One rule by which the network of a sandbox goes. */
#define MESSAGE_REACH_FIELDS(F, S)                                                        \
	F(S, U32, list, 0, 2) /* enum net_list_kind */                                    \
	F(S, TEXT, rule, ANY, 1,                                                          \
	  MESSAGE_REACH_RULE_MAX) /* as the policy and the command line have rules */     \
	F(S, BOOL, asked)         /* by a request, and so one that the next may change */ \
	F(S, TEXT, file, ANY, 0,                                                          \
	  ERROR_TEXT_MAX(file)) /* of the policy, where it stands; empty: not known */    \
	F(S, U32, line, 0, UINT32_MAX)
MESSAGE_STRUCT(reach, MESSAGE_REACH_FIELDS);

/* As enum policy_record. */
enum recorded_bit {
	RECORDED_COMMANDS = 1,
	RECORDED_CONNECTIONS = 2,
	RECORDED_DENIALS = 4,
	RECORDED_BITS = 7
};

#define MESSAGE_SANDBOX_FIELDS(F, S)                                                               \
	F(S, TEXT, id, HEX, 16, 16)                                                                \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX)                                                \
	F(S, TEXT, profile, NAME, 1, MESSAGE_NAME_MAX)                                             \
	F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */                               \
	F(S, U32, ended, 0,                                                                        \
	  ENDED_IDLE) /* enum ended_reason; of one that is stopping, stopped or failed */          \
	F(S, U32, uid, 0, UINT32_MAX - 1)                                                          \
	F(S, TEXT, principal, NAME, 0,                                                             \
	  MESSAGE_NAME_MAX) /* the name of the enrolled key that asked; empty: a key of the user's \
	                       own */                                                              \
	F(S, U32, private_uid, 0, UINT32_MAX - 1)                                                  \
	F(S, TEXT, label, ANY, 0, MESSAGE_LABEL_MAX)                                               \
	F(S, U32, landlock_abi, 0, MESSAGE_LANDLOCK_ABI_MAX)                                       \
	F(S, MAP, limits, limits)                                                                  \
	F(S, U32, network, 0, NETWORK_HOST - NETWORK_NONE) /* as of a created */                   \
	F(S, MAP, life, life)                              /* in force */                          \
	F(S, U64, linger_ms, 0,                                                                    \
	  CLOCK_MS_MAX) /* how long it may rest with nobody attached; 0: no bound */               \
	F(S, U64, created_ms, 0, CLOCK_MS_MAX) /* since 1970; 0: not yet */                        \
	F(S, U64, started_ms, 0, CLOCK_MS_MAX)                                                     \
	F(S, U64, ended_ms, 0, CLOCK_MS_MAX)                                                       \
	F(S, U32, attached, 0, UINT32_MAX) /* connections that hold it */                          \
	F(S, TEXTS, labels, 0, MESSAGE_LABELS_MAX, ENVIRONMENT, MESSAGE_KEY_VALUE_MAX)             \
	F(S, TEXT, hostname, HOSTNAME, 0, MESSAGE_HOSTNAME_MAX)                                    \
	F(S, U64, command_ms, 0, TIMEOUT_MS_MAX) /* as of a created */                             \
	F(S, U64, command_max_ms, 0, TIMEOUT_MS_MAX)                                               \
	F(S, BITS, recorded,                                                                       \
	  RECORDED_BITS) /* enum recorded_bit, or-ed: what of its life the audit has */
MESSAGE_STRUCT(sandbox, MESSAGE_SANDBOX_FIELDS);

#define MESSAGE_MEMBER_COUNTS(list)       list(MESSAGE_MEMBER_COUNT)
#define MESSAGE_MEMBER_COUNT(name, field) uint64_t field;
#define MESSAGE_USAGE_FIELDS(F, S)                                                             \
	F(S, TEXT, id, HEX, 16, 16)                                                            \
	F(S, TEXT, name, NAME, 0, MESSAGE_NAME_MAX)                                            \
	F(S, U32, state, 0, SANDBOX_FAILED) /* enum sandbox_state */                           \
	F(S, U64, taken_us, 0, UINT64_MAX)  /* when: CLOCK_MONOTONIC of the helper */          \
	F(S, U64, uptime_ms, 0, CLOCK_MS_MAX)                                                  \
	F(S, U64, memory_limit_bytes, 0, SIZE_BYTES_MAX) /* 0: unlimited */                    \
	F(S, U64, pids_limit, 0, PIDS_MAX)                                                     \
	F(S, BITS, known,                                                                      \
	  (1U << USAGE_COUNTS_MAX) -                                                           \
	          1) /* of the following: the others are 0 because nothing here counts them */ \
	F(S, COUNTS, USAGE_COUNTS)
MESSAGE_STRUCT(usage, MESSAGE_USAGE_FIELDS);

#define MESSAGE_FOLLOWING_FIELDS(F, S) F(S, TEXT, id, HEX, 16, 16) /* of the sandbox */
MESSAGE_STRUCT(following, MESSAGE_FOLLOWING_FIELDS);
