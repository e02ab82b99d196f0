/* SPDX-License-Identifier: Apache-2.0 */
/* See net_list.h. No privilege, no allocation. */
#include "base/net_list.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct net_list) % NET_LIST_ALIGN == 0 &&
                      sizeof(struct net_record) % NET_LIST_ALIGN == 0 &&
                      offsetof(struct net_record, bytes) == sizeof(struct net_record),
              "records follow each other without gaps");

/* The size of the largest record, including the padding to NET_LIST_ALIGN. */
#define RECORD_MAX \
	(sizeof(struct net_record) + sizeof(struct net_address) + NET_NAME_SIZE + NET_LIST_ALIGN)

static size_t network_size(bool has_network)
{
	return has_network ? sizeof(struct net_address) : 0;
}

static size_t base_net_list_measure(bool has_network, size_t name_length)
{
	size_t size = sizeof(struct net_record) + network_size(has_network) +
	              (name_length ? name_length + 1 : 0);

	return (size + NET_LIST_ALIGN - 1) / NET_LIST_ALIGN * NET_LIST_ALIGN;
}

uint32_t net_list_count(const struct net_list *list)
{
	uint32_t count = 0;

	for (size_t kind = 0; kind < NET_LISTS; kind++)
		count += list->count[kind];
	return count;
}

size_t net_list_measure(const struct net_rule *rule)
{
	return base_net_list_measure(net_rule_has_network(rule), strlen(rule->name));
}

void net_list_begin(struct net_list *list)
{
	*list = (struct net_list){.size = sizeof *list};
}

static void write_record(struct net_record *record, enum net_list_kind kind,
                         const struct net_rule *rule, uint32_t origin)
{
	size_t size = net_list_measure(rule), network = network_size(net_rule_has_network(rule));

	memset(record, 0, size);
	*record = (struct net_record){.origin = origin,
	                              .size = (uint16_t)size,
	                              .port_first = rule->port_first,
	                              .port_last = rule->port_last,
	                              .list = (uint8_t)kind,
	                              .kind = rule->kind,
	                              .is_bound = rule->is_bound,
	                              .prefix = rule->prefix,
	                              .name_length = (uint8_t)strlen(rule->name)};
	memcpy(record->bytes, &rule->address, network);
	memcpy(record->bytes + network, rule->name, record->name_length);
}

int net_list_add(struct net_list *list, size_t size, enum net_list_kind kind,
                 const struct net_rule *rule, uint32_t origin)
{
	size_t needed = net_list_measure(rule);

	if (net_list_count(list) >= NET_LIST_RULES_MAX)
		return -E2BIG;
	if (size < list->size || size - list->size < needed)
		return -ENOSPC;
	write_record((struct net_record *)((char *)list + list->size), kind, rule, origin);
	list->size += (uint32_t)needed;
	list->count[kind]++;
	return 0;
}

int net_list_append(struct net_list *list, size_t size, const struct net_list *from)
{
	size_t added = from->size - sizeof *from;

	if (net_list_count(list) + net_list_count(from) > NET_LIST_RULES_MAX)
		return -E2BIG;
	if (size < list->size || size - list->size < added)
		return -ENOSPC;
	memcpy((char *)list + list->size, from + 1, added);
	list->size += (uint32_t)added;
	for (unsigned kind = 0; kind < NET_LISTS; kind++)
		list->count[kind] += from->count[kind];
	return 0;
}

const struct net_record *net_list_next(const struct net_list *list, const struct net_record *record)
{
	const char *next = record ? (const char *)record + record->size : (const char *)(list + 1);

	return next < (const char *)list + list->size ? (const struct net_record *)next : NULL;
}

static bool has_network(const struct net_record *record)
{
	return record->kind == NET_RULE_ADDRESS || record->is_bound;
}

const struct net_address *net_list_network(const struct net_record *record)
{
	return has_network(record) ? (const struct net_address *)record->bytes : NULL;
}

const char *net_list_name(const struct net_record *record)
{
	return record->name_length ? (const char *)record->bytes + network_size(has_network(record))
	                           : "";
}

void net_list_rule(const struct net_record *record, struct net_rule *ret_rule)
{
	const struct net_address *network = net_list_network(record);

	*ret_rule = (struct net_rule){.kind = record->kind,
	                              .is_bound = record->is_bound,
	                              .prefix = record->prefix,
	                              .port_first = record->port_first,
	                              .port_last = record->port_last};
	if (network)
		ret_rule->address = *network;
	memcpy(ret_rule->name, net_list_name(record), record->name_length);
}

/*
 * Whether `left` untrusted bytes begin with a valid record in its canonical encoding: encoding its
 * rule again must give the same bytes.
 */
static bool record_is_right(const struct net_record *record, size_t left)
{
	_Alignas(struct net_record) char again[RECORD_MAX];
	struct net_rule rule;

	if (left < sizeof *record || record->list >= NET_LISTS ||
	    record->name_length >= NET_NAME_SIZE)
		return false;
	if (record->size > left ||
	    record->size != base_net_list_measure(has_network(record), record->name_length))
		return false;
	net_list_rule(record, &rule);
	if (!net_rule_is_valid(&rule))
		return false;
	write_record((struct net_record *)again, record->list, &rule, record->origin);
	return memcmp(again, record, record->size) == 0;
}

const struct net_record *net_list_record(const void *bytes, size_t size, size_t at)
{
	const struct net_record *record = (const struct net_record *)((const char *)bytes + at);

	return at <= size && record_is_right(record, size - at) ? record : NULL;
}

bool net_list_check(const void *bytes, size_t size)
{
	const struct net_list *list = bytes;
	struct net_list counted = {0};
	size_t used = sizeof *list;

	if ((uintptr_t)bytes % NET_LIST_ALIGN != 0 || size < sizeof *list || list->size != size)
		return false;
	while (used < size) {
		const struct net_record *record = net_list_record(bytes, size, used);

		if (!record || net_list_count(&counted) >= NET_LIST_RULES_MAX)
			return false;
		counted.count[record->list]++;
		used += record->size;
	}
	return memcmp(counted.count, list->count, sizeof counted.count) == 0;
}
