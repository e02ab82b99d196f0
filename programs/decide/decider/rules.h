/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network rules of a sandbox: turns a decision into the bytes that yett-front and yett-dialer get
 * in sealed memory.
 *
 * Pure except for memory; no privilege. yett-policy has parsed the rules of the policy, which are
 * copied unchanged. The rules of a request come from the decoder, and are used only if they are
 * valid.
 */
#pragma once

#include "base/net_list.h"
#include "programs/decide/decider/decision.h"
#include "programs/net/egress.h"

/* The first origin of rules of a request. Lower origins are of rules of the policy. */
#define RULES_OF_REQUEST (UINT32_C(1) << 31)

/* Converts a rule of a request. Returns false if the rule is not valid. */
_must_check_ bool rules_take(const struct message *request, const struct message_rule *from,
                             struct net_rule *ret_rule);

/* The list of rules in the policy; NULL if there are no rules or they are not valid. */
const struct net_list *rules_of_policy(const struct policy_rules *rules);

/*
 * Writes as many rules as fit, separated by ", ", and "..." if some do not fit; "nothing" if the
 * list is NULL or empty. Returns `out`.
 */
char *rules_print(const struct net_list *list, char *out, size_t size);

/*
 * Finds the rule of the policy with this origin: its file and line, and its text. Returns false if
 * there is none, because the policy has changed or the rule is one of a request.
 */
bool rules_find(const struct policy *policy, uint32_t origin, struct policy_place *ret_place,
                char text[NET_RULE_TEXT_SIZE]);

/* The file and line of the policy's rule from which `record` was copied; file NULL: none. */
struct policy_place rules_place(const struct policy *policy, const struct net_record *record);

/*
 * Describes the network of the decision for people: one line for each rule with its file and line,
 * and one for each further limit, without a newline after the last line. Rules that do not fit are
 * counted. Returns `out`, which is empty if the network has no rules.
 */
char *rules_describe(const struct policy *policy, const struct decision *decision, char *out,
                     size_t size);

/*
 * Makes the rules for a sandbox of this decision, whose network is limited or open: the rules of
 * the profile and the request, those that the grant denies, and for a decision with `asks` those
 * that the grant lets requests allow. The caller frees `ret_rules` with free(3). Returns 0, -ENOMEM
 * or YETT_E_INVALID_REQUEST.
 */
_must_check_ int rules_make(const struct policy *policy, const struct decision *decision,
                            struct egress_rules **ret_rules, size_t *ret_size,
                            struct yett_error *error);
