/*
 * The rules by which the network of a sandbox goes: from a decision to the bytes that yett-front
 * and yett-dialer have in sealed memory.
 *
 * Pure but for memory; no privilege. Rules of the policy were parsed by yett-policy, and are copied
 * as they are; those of a request are made of what the decoder says, and believed only when they
 * are valid.
 */
#pragma once

#include "base/net_list.h"
#include "programs/decider/authorize.h"
#include "programs/egress/egress.h"

/* begins the origins of a request's rules; below them are those of the policy */
#define RULES_OF_REQUEST (UINT32_C(1) << 31)

/* The rule in a request. False: it is none. */
_must_check_ bool rules_take(const struct message *request, const struct message_rule *from,
                             struct net_rule *ret_rule);

/* The list of the policy; NULL: it has no rules, or they are none. */
const struct net_list *rules_of_policy(const struct policy_rules *rules);

/* As many of its rules as fit, with ", " between them; "nothing" where there are none. Returns
 * `out`. */
char *rules_print(const struct net_list *list, char *out, size_t size);

/*
 * Where a rule of the policy stands that has this origin, and its text. False: there is none, as
 * where the policy has changed, or it is one of the request's.
 */
bool rules_find(const struct policy *policy, uint32_t origin, struct policy_place *ret_place,
                char text[NET_RULE_TEXT_SIZE]);

/* Where the rule of the policy stands that was copied to here. */
struct policy_place rules_place(const struct policy *policy, const struct net_record *record);

/*
 * The same for people: a line for each rule and where it stands, and for what else bounds it;
 * without a line's end after the last one. What does not fit is counted. Returns `out`, which is
 * empty where there is no network.
 */
char *rules_describe(const struct policy *policy, const struct decision *decision, char *out,
                     size_t size);

/*
 * All that a sandbox of this decision goes by: the profile's rules, what its grant denies, and the
 * request's. For one with a network; to be freed with free(3). 0, -ENOMEM, or
 * YETT_E_INVALID_REQUEST.
 */
_must_check_ int rules_make(const struct policy *policy, const struct decision *decision,
                            struct egress_rules **ret_rules, size_t *ret_size,
                            struct yett_error *error);
