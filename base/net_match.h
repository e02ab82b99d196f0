/*
 * The decision about a connection, by a list of rules.
 *
 * Pure functions with the privilege of the caller, but that net_match_new() allocates. They cost
 * what the asked name has of labels and the list has of different prefixes, not what it has of
 * rules; only rules that differ in nothing but ports or the network of one name are looked at one
 * after the other.
 *
 * Deny wins over allow, wherever each stands. The rules of the allow list add up: one that is bound
 * takes nothing away from another for the same name. Those of the ask list decide nothing, but are
 * used in place of these where a question says so. What rules allow and which of them name an
 * address, net_rule.h says.
 */
#pragma once

#include "base/net_list.h"

struct net_match;

enum net_match_mode {
	NET_MATCH_LIMITED, /* what a rule allows */
	NET_MATCH_OPEN, /* what no rule denies; rules of the allow list only name private and local
	                   addresses */
};

enum net_verdict {
	NET_VERDICT_ALLOWED,
	NET_VERDICT_DENIED_BY_RULE,
	NET_VERDICT_NO_RULE,
	NET_VERDICT_NOT_BOUND, /* rules allow the name, but not where it leads */
	NET_VERDICT_PRIVATE,   /* would be allowed where the policy allows private addresses, or a
	                          rule named this one */
	NET_VERDICT_LOCAL,     /* would be allowed if a rule named this address of the host's own */
	NET_VERDICT_NEVER,     /* link-local, a cloud's metadata, no host's address, or port 0 */
	NET_VERDICT_ASKED, /* would be allowed by the ask list. No function here says so: it is for
	                      those that ask twice */
};

struct net_question {
	const char *name;           /* canonical; NULL: the connection was made to a bare address */
	struct net_address address; /* the one that would be connected */
	uint16_t port;
	bool allows_private;
	enum net_match_mode mode;
	enum net_list_kind by; /* ALLOW; ASK: what would be if that were what is allowed */
};

/* An index over a list that net_list_check() took, which it borrows. 0 or -ENOMEM. */
_must_check_ int net_match_new(const struct net_list *list, struct net_match **ret_match);
void net_match_free(struct net_match *match);

/*
 * The whole decision. `ret_record` is the rule that it rests on, NULL where there is none: the
 * denying one, the allowing one (for PRIVATE and LOCAL, which allow too little), of NOT_BOUND one
 * that is bound. Of several, the first in the list.
 */
enum net_verdict net_match_decide(const struct net_match *match,
                                  const struct net_question *question,
                                  const struct net_record **ret_record);

/*
 * Whether a canonical name may be looked up, before it is known where it leads: ALLOWED, NO_RULE or
 * DENIED_BY_RULE, with the record as above. Bound rules count on the allow list and not on the
 * other. Port 0: which one will be asked for is not known, so any that is allowed will do, and only
 * a rule that denies all denies. `by` as in a question.
 */
enum net_verdict net_match_name(const struct net_match *match, const char *name, uint16_t port,
                                enum net_list_kind by, const struct net_record **ret_record);

/*
 * Whether a canonical name may be connected to where somebody else finds out where it leads: of
 * rules that are bound to a network none counts then, and NOT_BOUND is the verdict where there are
 * only such.
 */
enum net_verdict net_match_unseen(const struct net_match *match, const char *name, uint16_t port,
                                  enum net_match_mode mode, enum net_list_kind by,
                                  const struct net_record **ret_record);

/* Whether a rule of the list ALLOW spells out the name, whatever else it says. */
bool net_match_spells(const struct net_match *match, const char *name);

/* Whether a rule of the list DIRECT is about the name, or where it is NULL about the bare address.
 */
bool net_match_is_direct(const struct net_match *match, const char *name,
                         const struct net_address *address, uint16_t port);

/*
 * The same of a bare address, whatever kind it has: for who wants to know of rules only. The
 * decision about a connection is net_match_decide()'s.
 */
enum net_verdict net_match_address(const struct net_match *match, const struct net_address *address,
                                   uint16_t port, const struct net_record **ret_record);

static inline void net_match_freep(struct net_match **match)
{
	net_match_free(*match);
}
