/*
 * The rules of a sandbox as a process of its network holds them: mapped, found to be rules, and
 * indexed.
 *
 * Without privilege. They come as memory that nobody can change any more; whoever passed it on may
 * be captured, so that it is looked at as bytes of a peer.
 */
#pragma once

#include "base/net_match.h"
#include "programs/egress/egress.h"

struct ruleset {
	const struct egress_rules *memory; /* NULL: none */
	size_t size;
	struct net_match *match;
	const struct net_record
		*proxy; /* by which all is connected but what is DIRECT; NULL: none */
};

/*
 * Puts those of a descriptor, which is borrowed and may be closed then, in the place of those that
 * are there, if any. 1; 0: they are the same to the last byte, and nothing is done; -EBADMSG: they
 * are none, or could be changed; or -errno. fcntl(2), seals
 */
_must_check_ int ruleset_change(struct ruleset *current, int fd);

static inline const struct net_list *ruleset_list(const struct ruleset *rules)
{
	return (const struct net_list *)rules->memory->list;
}

/* Takes those without memory. */
void ruleset_unmap(struct ruleset *rules);
