/*
 * What a dialer tells of a connection, as texts for people and records. A dialer may be captured:
 * what is no name and no rule is left out. Pure, without privilege.
 */
#pragma once

#include "base/net_rule.h"
#include "programs/egress/egress_told.h"

/* Each may be empty: there is none. */
struct told_text {
	char name[NET_NAME_SIZE], address[NET_ADDRESS_TEXT_SIZE], rule[NET_RULE_TEXT_SIZE];
};

void told_text_read(const struct egress_told *told, struct told_text *ret);
