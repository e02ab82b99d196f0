/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a sandbox, as the proxy and the connector hold them: mapped, validated and indexed.
 *
 * Runs without privilege. The memory is sealed, so nobody can change it. The process that sent it
 * may be compromised, so its content is validated like bytes of any peer.
 */
#pragma once

#include "base/net_match.h"
#include "programs/net/egress.h"

struct ruleset {
	const struct egress_rules *memory; /* NULL: none */
	size_t size;
	struct net_match *match;
	/* The HTTP proxy for all connections that no DIRECT rule matches; NULL: none. */
	const struct net_record *proxy;
};

/*
 * Replaces the current rules, if any, with those of a descriptor (borrowed; may be closed
 * afterwards). Returns 1; 0 if the new rules are the same bytes, and nothing changed; -EBADMSG if
 * the memory has no valid rules, or is not sealed; or -errno. fcntl(2), seals
 */
_must_check_ int ruleset_change(struct ruleset *current, int fd);

static inline const struct net_list *ruleset_list(const struct ruleset *rules)
{
	return (const struct net_list *)rules->memory->list;
}

/* Accepts a ruleset without memory. */
void ruleset_unmap(struct ruleset *rules);
