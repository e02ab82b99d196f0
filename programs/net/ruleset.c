/* SPDX-License-Identifier: Apache-2.0 */
/* See ruleset.h. */
#include "programs/net/ruleset.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* With these seals nobody can change or truncate the mapped memory. */
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

static const struct net_record *find_proxy(const struct net_list *list)
{
	const struct net_record *record = NULL;

	while (list->count[NET_LIST_PROXY] > 0 && (record = net_list_next(list, record)) &&
	       record->list != NET_LIST_PROXY)
		;
	return record;
}

/* There is at most one HTTP proxy, at exactly one host and port. */
static bool has_sound_proxy(const struct net_list *list)
{
	const struct net_record *proxy = find_proxy(list);

	return !proxy ||
	       (list->count[NET_LIST_PROXY] == 1 && proxy->port_first == proxy->port_last &&
	        !proxy->is_bound &&
	        (proxy->kind == NET_RULE_NAME ||
	         (proxy->kind == NET_RULE_ADDRESS && proxy->prefix == NET_ADDRESS_PREFIX_MAX)));
}

static bool is_valid(const struct egress_rules *rules, size_t size)
{
	return (rules->mode == EGRESS_LIMITED || rules->mode == EGRESS_OPEN) &&
	       rules->allow_private <= 1 && rules->asks <= 1 && rules->asked_private <= 1 &&
	       rules->reserved == 0 && rules->connections_max >= 1 &&
	       rules->connections_max <= EGRESS_CONNECTIONS_MAX &&
	       rules->list_size == size - sizeof *rules &&
	       net_list_check(rules->list, rules->list_size) &&
	       has_sound_proxy((const struct net_list *)rules->list);
}

/* Maps the memory. Checks only that nobody can change it, and its size. */
static int ruleset_map(int fd, struct ruleset *ret)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size < (off_t)sizeof *ret->memory || st.st_size > EGRESS_RULES_SIZE_MAX)
		return -EBADMSG;
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret = (struct ruleset){.memory = memory, .size = (size_t)st.st_size};
	return 0;
}

int ruleset_change(struct ruleset *current, int fd)
{
	struct ruleset rules;
	int r = ruleset_map(fd, &rules);

	if (r < 0)
		return r;
	if (current->memory && current->size == rules.size &&
	    memcmp(current->memory, rules.memory, rules.size) == 0) {
		ruleset_unmap(&rules);
		return 0;
	}
	r = is_valid(rules.memory, rules.size) ? net_match_new(ruleset_list(&rules), &rules.match)
	                                       : -EBADMSG;
	if (r < 0) {
		ruleset_unmap(&rules);
		return r;
	}
	rules.proxy = find_proxy(ruleset_list(&rules));
	ruleset_unmap(current);
	*current = rules;
	return 1;
}

void ruleset_unmap(struct ruleset *rules)
{
	net_match_free(rules->match);
	if (rules->memory)
		(void)munmap((void *)(uintptr_t)rules->memory, rules->size);
	*rules = (struct ruleset){0};
}
