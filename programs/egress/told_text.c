/* See told_text.h. */
#include "programs/egress/told_text.h"
#include "base/net_name.h"

#include <string.h>

void told_text_read(const struct egress_told *told, struct told_text *ret)
{
	static const uint8_t none[sizeof told->address] = {0};
	struct net_address address;
	struct net_rule rule;

	memcpy(&address, told->address, sizeof address);
	memcpy(&rule, told->rule, sizeof rule);
	ret->name[0] = ret->address[0] = ret->rule[0] = '\0';
	if (memchr(told->name, '\0', sizeof told->name) && *told->name &&
	    net_name_canonical(told->name, strlen(told->name), ret->name))
		ret->name[0] = '\0';
	if (memcmp(told->address, none, sizeof none) != 0)
		(void)net_address_print(&address, ret->address);
	if (net_rule_is_valid(&rule))
		(void)net_rule_print(&rule, ret->rule);
}
