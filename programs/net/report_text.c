/* SPDX-License-Identifier: Apache-2.0 */
/* See report_text.h. */
#include "programs/net/report_text.h"
#include "base/net_name.h"

#include <string.h>

void report_text_read(const struct egress_report *reports, struct report_text *ret)
{
	static const uint8_t none[sizeof reports->address] = {0};
	struct net_address address;
	struct net_rule rule;

	memcpy(&address, reports->address, sizeof address);
	memcpy(&rule, reports->rule, sizeof rule);
	ret->name[0] = ret->address[0] = ret->rule[0] = '\0';
	if (memchr(reports->name, '\0', sizeof reports->name) && *reports->name &&
	    net_name_canonical(reports->name, strlen(reports->name), ret->name))
		ret->name[0] = '\0';
	if (memcmp(reports->address, none, sizeof none) != 0)
		(void)net_address_print(&address, ret->address);
	if (net_rule_is_valid(&rule))
		(void)net_rule_print(&rule, ret->rule);
}
