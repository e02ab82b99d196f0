/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a report of the connector (yett-dialer) into texts for people and audit records. The
 * connector may be compromised, so invalid names and rules are left out. Pure, without privilege.
 */
#pragma once

#include "base/net_rule.h"
#include "programs/net/egress_report.h"

/* Each text may be empty, which means that there is none. */
struct report_text {
	char name[NET_NAME_SIZE], address[NET_ADDRESS_TEXT_SIZE], rule[NET_RULE_TEXT_SIZE];
};

void report_text_read(const struct egress_report *reports, struct report_text *ret);
