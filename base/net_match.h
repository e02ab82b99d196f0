/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides about a connection by a list of rules. net_rule.h defines what each rule allows.
 *
 * Pure functions with the privilege of the caller; only net_match_new() allocates. Their cost grows
 * with the labels of the name and the different prefix lengths in the list, not with the number of
 * rules. Only rules that differ in nothing but their ports, or the network of one name, are
 * compared one after the other.
 */
#pragma once

/*
 * A deny rule wins over an allow rule, regardless of their order. Allow rules add up: a bound rule
 * takes nothing away from another rule for the same name. Rules of the ask list decide nothing by
 * themselves; a question can select them in place of the allow list (`by`).
 */

#include "base/net_list.h"

struct net_match;

enum net_match_mode {
	/* Only what a rule allows is allowed. */
	NET_MATCH_LIMITED,
	/*
	 * Everything that no rule denies is allowed. Allow rules serve only to name private and
	 * local addresses.
	 */
	NET_MATCH_OPEN,
};

enum net_verdict {
	NET_VERDICT_ALLOWED,
	NET_VERDICT_DENIED_BY_RULE,
	NET_VERDICT_NO_RULE,
	/* Rules allow the name, but not the address to which the name resolves. */
	NET_VERDICT_NOT_BOUND,
	/* A private address: denied, unless allowed by the policy or named by a rule. */
	NET_VERDICT_PRIVATE,
	/* An address of the host itself: denied, unless a rule names this address. */
	NET_VERDICT_LOCAL,
	/*
	 * Always denied: a link-local address, a cloud's metadata service, an address of no host,
	 * or port 0.
	 */
	NET_VERDICT_NEVER,
	/*
	 * The ask list would allow the connection. No function here returns this verdict. Callers
	 * that decide by the allow list first, then by the ask list, use it.
	 */
	NET_VERDICT_ASKED,
};

struct net_question {
	const char *name;           /* canonical; NULL: the program connects to a bare address */
	struct net_address address; /* the address to connect to */
	uint16_t port;
	bool allows_private;
	enum net_match_mode mode;
	enum net_list_kind by; /* ALLOW, or ASK to use the ask list in place of the allow list */
};

/*
 * Makes an index of a list that passed net_list_check(). The list must stay in memory, unchanged,
 * as long as the index exists. Returns 0 or -ENOMEM.
 */
_must_check_ int net_match_new(const struct net_list *list, struct net_match **ret_match);
void net_match_free(struct net_match *match);

/*
 * Makes the whole decision about a connection. `*ret_record` is the rule on which the verdict
 * rests, or NULL: the denying rule; the allowing rule, also for PRIVATE and LOCAL, where that rule
 * is not sufficient; for NOT_BOUND a bound rule. If there are several, the first in the list.
 */
enum net_verdict net_match_decide(const struct net_match *match,
                                  const struct net_question *question,
                                  const struct net_record **ret_record);

/*
 * Whether a canonical name may be looked up, before its addresses are known. Returns ALLOWED,
 * NO_RULE or DENIED_BY_RULE, with `*ret_record` as above. Bound rules count in the list `by`, but
 * not in the deny list. `port` 0 means that the port is not known yet: a rule for any port then
 * allows, and only a rule for all ports denies. `by` as in struct net_question.
 */
enum net_verdict net_match_name(const struct net_match *match, const char *name, uint16_t port,
                                enum net_list_kind by, const struct net_record **ret_record);

/*
 * Decides about a connection to a canonical name that an HTTP proxy resolves, so that the address
 * stays unknown. Rules that are bound to a network allow and deny nothing then. In the mode LIMITED
 * the verdict is NOT_BOUND if only bound rules match.
 */
enum net_verdict net_match_unseen(const struct net_match *match, const char *name, uint16_t port,
                                  enum net_match_mode mode, enum net_list_kind by,
                                  const struct net_record **ret_record);

/* Whether the list ALLOW has a NAME rule for exactly this name, whatever its ports and network. */
bool net_match_spells(const struct net_match *match, const char *name);

/*
 * Whether a rule of the list DIRECT matches the canonical name; or, if `name` is NULL, the bare
 * address.
 */
bool net_match_is_direct(const struct net_match *match, const char *name,
                         const struct net_address *address, uint16_t port);

/*
 * As net_match_name() for a bare address. Looks only at the rules and ignores the kind of the
 * address; decide about a connection with net_match_decide().
 */
enum net_verdict net_match_address(const struct net_match *match, const struct net_address *address,
                                   uint16_t port, const struct net_record **ret_record);

static inline void net_match_freep(struct net_match **match)
{
	net_match_free(*match);
}
