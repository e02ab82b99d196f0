/*
 * Turns a report of the connector (yett-dialer) into texts for people and audit records. The
 * connector may be compromised, so invalid names and rules are left out. Pure, without privilege.
 */
#pragma once

#include "base/net_rule.h"
#include "programs/egress/egress_told.h"

/* Each text may be empty, which means that there is none. */
struct told_text {
	char name[NET_NAME_SIZE], address[NET_ADDRESS_TEXT_SIZE], rule[NET_RULE_TEXT_SIZE];
};

void told_text_read(const struct egress_told *told, struct told_text *ret);
