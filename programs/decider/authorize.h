/*
 * The decision: what of a verified request the policy allows.
 *
 * Pure: no I/O header is included here or in authorize.c, and no privilege is used. Effective =
 * request ∩ grant ∩ profile ∩ ceilings; a request beyond what bounds it is refused with the rule
 * (FILE:LINE), the value asked and the value allowed, never weakened.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/policy.h"
#include "protocol/message.h"

/* Where programs look for what is kept from one sandbox to the next, and leave what is to be
 * collected. */
#define PLAN_MEMORY  "/mnt/memory"
#define PLAN_OUTPUTS "/mnt/session/outputs"

/* Where the public key that signed was found. */
enum key_source { KEY_ENROLLED, KEY_OF_USER };

/* A request whose signature holds. Only verify.c makes one. */
struct verified {
	const struct peer *peer;
	const struct message
		*request; /* of a kind that is signed; its texts were checked by re-encoding */
	enum key_source key_source;
	bool is_agents;    /* it says that an agent asks */
	bool is_first_key; /* the user may enroll keys, and has enrolled none: good for a plan
	                      alone, of which nothing runs */
	char principal[MESSAGE_NAME_MAX +
	               1]; /* the enrolled key's name; for KEY_OF_USER the empty text */
	size_t fd_count;
};

/* The most that a number may be, by the rule that intersect.h has for it, and who says so. */
struct bound {
	uint64_t most; /* 0: unlimited; of POLICY_KEY_LINGER POLICY_LINGER_UNLIMITED is that, and 0
	                  none */
	const struct policy_grant *by; /* a grant or a ceiling; NULL: the profile, or nobody */
};

/* What may be done. Only authorize() makes one. */
struct decision {
	const struct verified *verified;
	const struct policy_profile *profile;
	const struct policy_grant *grant;
	struct bound bounds[POLICY_BOUNDS]; /* of this sandbox, and of all that the peer has: by
	                                       enum policy_key */
	struct plan_limits limits, user_limits;
	struct plan_life life;
	enum plan_network network; /* by the request's rules, the profile's, and what the grant
	                              denies: rules.h */
	const struct message_rule *rules; /* the request's, each of which may be asked for */
	uint32_t rules_count;
	bool asks; /* what none of them allows, and the grant would let one allow, waits for it */
	bool asks_private, allows_private; /* as asked; by the profile, too: names may lead to
	                                      private addresses */
};

/* Which grant decides. */
struct choice {
	const struct policy_grant *grant;   /* NULL: none gives it */
	const struct policy_grant *nearest; /* then the one that would with the least change; NULL:
	                                       none is for the peer */
};

/* How early a grant counts: AUTHORIZE_RANKS - 1 comes first, and 0 is a ceiling's, which decides
 * nothing. Of one that is for the peer. */
#define AUTHORIZE_RANKS (2 * POLICY_NAMING_USER + 2)
unsigned authorize_rank(const struct policy_grant *grant, const struct verified *verified);

/* How closely it names the peer. */
enum policy_naming authorize_naming(const struct policy_grant *grant, const struct peer *peer);

/*
 * Where grants for agents are for the peer, these are all that count for what an agent asks for;
 * for the rest they do not count at all. A grant that names the user comes before one that names a
 * group of the user's, and that before "*"; among equals one that names the key before others, then
 * the first in the text. Only the foremost that are for the peer count: what none of them gives is
 * not given, unless all of them say fall_through; then the next ones count in the same way.
 */
struct choice authorize_choose(const struct policy *policy, const struct verified *verified,
                               const char *profile);

/* Whether it says that an agent asks, and a grant for agents is for the peer. */
bool authorize_is_bound(const struct policy *policy, const struct verified *verified);

/* What a section like that begins with: "grant" or "ceiling". */
const char *authorize_section(const struct policy_grant *grant);

/*
 * The grant that authorize_choose() finds for the profile asked decides. 0, or
 * YETT_E_PERMISSION_DENIED, YETT_E_BAD_SIGNATURE (reason UNKNOWN_KEY: a user key where no grant
 * that counts has user_keys), YETT_E_RESOURCE_LIMIT, YETT_E_SECURITY_VIOLATION (confined client)
 * with asked, allowed and FILE:LINE in the detail. `given` is what the helper can give of limits
 * whatever the policy says (0: no bound): asked for more, it refuses with YETT_E_RESOURCE_LIMIT; of
 * a profile's own values the lesser counts.
 */
_must_check_ int authorize(const struct policy *policy, const struct verified *verified,
                           const struct plan_limits *given, struct decision *ret_decision,
                           struct yett_error *error);

/*
 * Other rules for the network of a sandbox of `profile` that is there, whose mode is `network`:
 * those of the request in place of all that it asked for before, by the policy as it is now. A
 * decision about the network, and nothing else. Errors as of authorize().
 */
_must_check_ int authorize_rules(const struct policy *policy, const struct verified *verified,
                                 const char *profile, enum plan_network network,
                                 struct decision *ret_decision, struct yett_error *error);

/*
 * Whether the client may relay what a MESSAGE_RELAY names, for sandboxes of the profile: a socket
 * that the grant lists, a port at an address of loopback or one that it lists. 0, or as
 * authorize(). The client is who relays, with what its user may do: this keeps programs that ask
 * from what the administrator does not want in sandboxes, and no user from it.
 */
_must_check_ int authorize_relay(const struct policy *policy, const struct verified *verified,
                                 struct yett_error *error);

/*
 * Whether the peer may manage sandboxes at all: some grant fits it and its key, and one that says
 * confined_clients where it is confined. 0, PERMISSION_DENIED, BAD_SIGNATURE, SECURITY_VIOLATION.
 */
_must_check_ int authorize_manager(const struct policy *policy, const struct verified *verified,
                                   struct yett_error *error);

/* Whether it may manage a sandbox of `profile` that `principal` of `uid` asked for: it could have
 * asked for it, or manages all. */
bool authorize_manage(const struct policy *policy, const struct verified *verified, uid_t uid,
                      const char *principal, const char *profile);

/* Whether any grant lets this peer use keys of its own (then yett-reader looks into
 * ~/.config/yett/authorized_keys). */
bool authorize_user_keys(const struct policy *policy, const struct peer *peer);
