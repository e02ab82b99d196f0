/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See net_match.h. No privilege.
 *
 * One hash table indexes the rules of all lists. The key of a rule is its list, its kind and its
 * name or network. A question has few possible keys: the name, the rest of the name after each dot,
 * "*", and the address masked to each prefix length that occurs in the list. Names are hashed from
 * their end, so that one pass over a name computes the hash of every such rest.
 */
#include "base/net_match.h"

#include <string.h>

#define HASH_FIRST UINT32_C(2166136261) /* FNV-1a */
#define HASH_PRIME UINT32_C(16777619)

struct entry {
	uint32_t hash;
	uint32_t at; /* the record's offset in the list, in bytes */
	/* 1 + the index of the bucket's next entry, which comes later in the list. 0: none. */
	uint32_t next;
};

struct net_match {
	const struct net_list *list;
	struct entry *entries; /* in the order of the list */
	uint32_t *buckets;     /* 1 + the index of the first entry; 0: none */
	uint32_t mask;
	struct {
		/* The different prefix lengths of the ADDRESS rules. */
		uint8_t prefixes[NET_ADDRESS_PREFIX_MAX + 1];
		uint8_t count;
	} lists[NET_LISTS];
};

/*
 * A search in the list `list`. It consists of several lookups: one for each possible key of a name
 * or an address.
 */
struct search {
	const struct net_match *match;
	enum net_list_kind list;
	uint16_t port;
	const struct net_address *address; /* NULL: unknown, so it is in no network */
	enum net_address_kind kind;        /* of the address */
	/* Whether a rule with a matching key counts in this search. */
	bool (*counts)(const struct search *search, const struct net_record *record);
	const struct net_record *found; /* of the rules that count, the first in the list */
};

static uint32_t hash_byte(uint32_t hash, uint8_t byte)
{
	return (hash ^ byte) * HASH_PRIME;
}

static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size-- > 0)
		hash = hash_byte(hash, at[size]);
	return hash;
}

/* Adds what distinguishes keys with the same name or network. */
static uint32_t hash_end(uint32_t hash, enum net_list_kind list, uint8_t kind, uint8_t prefix)
{
	hash = hash_byte(hash_byte(hash_byte(hash, (uint8_t)list), kind), prefix);
	return hash ^ hash >> 16;
}

static uint32_t hash_record(const struct net_record *record)
{
	if (record->kind == NET_RULE_ADDRESS)
		return hash_end(hash_bytes(HASH_FIRST, net_list_network(record),
		                           sizeof(struct net_address)),
		                record->list, record->kind, record->prefix);
	return hash_end(hash_bytes(HASH_FIRST, net_list_name(record), record->name_length),
	                record->list, record->kind, 0);
}

static void add_prefix(struct net_match *match, const struct net_record *record)
{
	uint8_t *count = &match->lists[record->list].count;

	if (record->kind == NET_RULE_ADDRESS &&
	    !memchr(match->lists[record->list].prefixes, record->prefix, *count))
		match->lists[record->list].prefixes[(*count)++] = record->prefix;
}

static void net_match_fill(struct net_match *match)
{
	uint32_t count = 0;

	for (const struct net_record *record = NULL; (record = net_list_next(match->list, record));
	     count++) {
		match->entries[count].hash = hash_record(record);
		match->entries[count].at =
			(uint32_t)((const char *)record - (const char *)match->list);
		add_prefix(match, record);
	}
	/* Insert from the last entry to the first, so that chains are in the order of the list. */
	while (count > 0) {
		uint32_t *bucket = &match->buckets[match->entries[count - 1].hash & match->mask];

		match->entries[count - 1].next = *bucket;
		*bucket = count--;
	}
}

int net_match_new(const struct net_list *list, struct net_match **ret_match)
{
	_cleanup_(net_match_freep) struct net_match *match = calloc(1, sizeof *match);
	size_t count = net_list_count(list), buckets = 16;

	if (!match)
		return -ENOMEM;
	while (buckets < 2 * count)
		buckets *= 2;
	match->list = list;
	match->mask = (uint32_t)buckets - 1;
	match->entries = calloc(count + 1, sizeof *match->entries);
	match->buckets = calloc(buckets, sizeof *match->buckets);
	if (!match->entries || !match->buckets)
		return -ENOMEM;
	net_match_fill(match);
	*ret_match = steal_ptr(&match);
	return 0;
}

void net_match_free(struct net_match *match)
{
	if (!match)
		return;
	free(match->entries);
	free(match->buckets);
	free(match);
}

static bool net_match_has_port(const struct search *search, const struct net_record *record)
{
	if (search->port == 0)
		return search->list != NET_LIST_DENY ||
		       (record->port_first == 1 && record->port_last == NET_RULE_PORT_MAX);
	return record->port_first <= search->port && search->port <= record->port_last;
}

/*
 * Whether the searched address is in the rule's network. In the deny list the embedded IPv4
 * addresses count, too, so that a denied IPv4 address cannot be reached through an IPv6 form of it.
 */
static bool leads_there(const struct search *search, const struct net_record *record)
{
	const struct net_address *network = net_list_network(record);
	struct net_address embedded[NET_ADDRESS_EMBEDDED_MAX];
	size_t count = search->address && search->list == NET_LIST_DENY
	                       ? net_address_embedded(search->address, embedded)
	                       : 0;

	for (size_t i = 0; i < count; i++)
		if (net_address_is_in(&embedded[i], network, record->prefix))
			return true;
	return search->address && net_address_is_in(search->address, network, record->prefix);
}

/* Accepts every rule with the port, regardless of the network to which a rule is bound. */
static bool counts_anywhere(const struct search *search, const struct net_record *record)
{
	return net_match_has_port(search, record);
}

/* Accepts the rules with the port that apply to whatever address the name resolves to. */
static bool counts_everywhere(const struct search *search, const struct net_record *record)
{
	return net_match_has_port(search, record) && !record->is_bound;
}

static bool counts_there(const struct search *search, const struct net_record *record)
{
	return net_match_has_port(search, record) &&
	       (!record->is_bound || leads_there(search, record));
}

/* Accepts the rules with a network that names the address, as net_rule.h defines that. */
static bool counts_as_name_of_it(const struct search *search, const struct net_record *record)
{
	const struct net_address *network = net_list_network(record);

	return network && net_match_has_port(search, record) && leads_there(search, record) &&
	       net_rule_network_names(network, record->prefix, search->kind);
}

/* A key to look up. `bytes` is the network of an ADDRESS rule, and the name of any other rule. */
struct key {
	uint8_t kind, prefix;
	const void *bytes;
	size_t size;
};

static bool has_key(const struct search *search, const struct net_record *record,
                    const struct key *key)
{
	if (record->list != search->list || record->kind != key->kind)
		return false;
	if (key->kind == NET_RULE_ADDRESS)
		return record->prefix == key->prefix &&
		       memcmp(net_list_network(record), key->bytes, key->size) == 0;
	return record->name_length == key->size &&
	       memcmp(net_list_name(record), key->bytes, key->size) == 0;
}

/*
 * Looks up one key. Sets search->found to the first rule in the list that has the key and counts,
 * unless search->found comes earlier in the list. `hash` is the hash of the key's bytes.
 */
static void try_key(struct search *search, uint32_t hash, const struct key *key)
{
	const struct net_match *match = search->match;
	const struct entry *entry;

	hash = hash_end(hash, search->list, key->kind, key->prefix);
	for (uint32_t next = match->buckets[hash & match->mask]; next; next = entry->next) {
		const struct net_record *record;

		entry = &match->entries[next - 1];
		record = (const struct net_record *)((const char *)match->list + entry->at);
		if (search->found && record >= search->found)
			return;
		if (entry->hash == hash && has_key(search, record, key) &&
		    search->counts(search, record)) {
			search->found = record;
			return;
		}
	}
}

static void try_any(struct search *search)
{
	try_key(search, HASH_FIRST, &(struct key){.kind = NET_RULE_ANY, .bytes = ""});
}

/* Looks up all rules that match the name, including ANY. */
static void try_name(struct search *search, const char *name)
{
	const char *parent = net_name_parent(name);
	size_t length = strlen(name);
	uint32_t hash = HASH_FIRST;

	try_any(search);
	for (size_t at = length; at-- > 0;) {
		const char *part = name + at;

		hash = hash_byte(hash, (uint8_t)*part);
		if (at == 0)
			try_key(search, hash, &(struct key){NET_RULE_NAME, 0, part, length});
		else if (part[-1] == '.')
			try_key(search, hash, &(struct key){NET_RULE_BELOW, 0, part, length - at});
		if (part == parent)
			try_key(search, hash,
			        &(struct key){NET_RULE_BELOW_ONE, 0, part, length - at});
	}
}

/* Looks up all ADDRESS rules that match the address. */
static void net_match_try_address(struct search *search, const struct net_address *address)
{
	const uint8_t *prefixes = search->match->lists[search->list].prefixes;
	bool is_v4 = net_address_is_v4(address);

	for (size_t i = 0; i < search->match->lists[search->list].count; i++) {
		struct net_address network = net_address_masked(address, prefixes[i]);
		const struct key key = {NET_RULE_ADDRESS, prefixes[i], &network, sizeof network};

		if (!is_v4 || prefixes[i] >= NET_ADDRESS_PREFIX_V4)
			try_key(search, hash_bytes(HASH_FIRST, &network, sizeof network), &key);
	}
}

/* As net_match_try_address(), also for the embedded IPv4 addresses: see leads_there(). */
static void try_denied_address(struct search *search, const struct net_address *address)
{
	struct net_address embedded[NET_ADDRESS_EMBEDDED_MAX];
	size_t count = net_address_embedded(address, embedded);

	net_match_try_address(search, address);
	for (size_t i = 0; i < count; i++)
		net_match_try_address(search, &embedded[i]);
}

static const struct net_record *denying(const struct net_match *match,
                                        const struct net_question *question)
{
	struct search search = {match, NET_LIST_DENY, question->port, &question->address,
	                        .counts = counts_there};

	if (question->name)
		try_name(&search, question->name);
	else
		try_any(&search);
	try_denied_address(&search, &question->address);
	return search.found;
}

static const struct net_record *allowing(const struct net_match *match,
                                         const struct net_question *question)
{
	struct search search = {match, question->by, question->port, &question->address,
	                        .counts = counts_there};

	if (question->name) {
		try_name(&search, question->name);
		return search.found;
	}
	try_any(&search);
	net_match_try_address(&search, &question->address);
	return search.found;
}

static const struct net_record *bound_elsewhere(const struct net_match *match,
                                                const struct net_question *question)
{
	struct search search = {match, question->by, question->port, .counts = counts_anywhere};

	if (question->name)
		try_name(&search, question->name);
	return search.found;
}

static bool net_match_is_named(const struct net_match *match, const struct net_question *question,
                               enum net_address_kind kind)
{
	struct search search = {
		match, question->by, question->port, &question->address, kind, counts_as_name_of_it,
		NULL};

	net_match_try_address(&search, &question->address);
	if (question->name)
		try_name(&search, question->name);
	return search.found;
}

enum net_verdict net_match_decide(const struct net_match *match,
                                  const struct net_question *question,
                                  const struct net_record **ret_record)
{
	enum net_address_kind kind = net_address_kind(&question->address);

	*ret_record = NULL;
	if (question->port == 0)
		return NET_VERDICT_NEVER;
	*ret_record = denying(match, question);
	if (*ret_record)
		return NET_VERDICT_DENIED_BY_RULE;
	if (kind >= NET_ADDRESS_LINK)
		return NET_VERDICT_NEVER;
	*ret_record = allowing(match, question);
	if (!*ret_record && question->mode == NET_MATCH_LIMITED) {
		*ret_record = bound_elsewhere(match, question);
		return *ret_record ? NET_VERDICT_NOT_BOUND : NET_VERDICT_NO_RULE;
	}
	if (kind == NET_ADDRESS_PUBLIC ||
	    (kind == NET_ADDRESS_PRIVATE && question->allows_private) ||
	    net_match_is_named(match, question, kind))
		return NET_VERDICT_ALLOWED;
	return kind == NET_ADDRESS_PRIVATE ? NET_VERDICT_PRIVATE : NET_VERDICT_LOCAL;
}

enum net_verdict net_match_name(const struct net_match *match, const char *name, uint16_t port,
                                enum net_list_kind by, const struct net_record **ret_record)
{
	struct search deny = {match, NET_LIST_DENY, port, .counts = counts_there};
	struct search allow = {match, by, port, .counts = counts_anywhere};

	try_name(&deny, name);
	if (!deny.found)
		try_name(&allow, name);
	*ret_record = deny.found ? deny.found : allow.found;
	return deny.found    ? NET_VERDICT_DENIED_BY_RULE
	       : allow.found ? NET_VERDICT_ALLOWED
	                     : NET_VERDICT_NO_RULE;
}

enum net_verdict net_match_unseen(const struct net_match *match, const char *name, uint16_t port,
                                  enum net_match_mode mode, enum net_list_kind by,
                                  const struct net_record **ret_record)
{
	struct search allow = {match, by, port, .counts = counts_everywhere};
	enum net_verdict verdict = net_match_name(match, name, port, by, ret_record);

	if (verdict == NET_VERDICT_NO_RULE && mode == NET_MATCH_OPEN)
		return NET_VERDICT_ALLOWED;
	if (verdict != NET_VERDICT_ALLOWED || mode == NET_MATCH_OPEN)
		return verdict;
	try_name(&allow, name);
	*ret_record = allow.found ? allow.found : *ret_record;
	return allow.found ? NET_VERDICT_ALLOWED : NET_VERDICT_NOT_BOUND;
}

bool net_match_spells(const struct net_match *match, const char *name)
{
	struct search search = {match, NET_LIST_ALLOW, 0, .counts = counts_anywhere};
	size_t length = strlen(name);

	try_key(&search, hash_bytes(HASH_FIRST, name, length),
	        &(struct key){NET_RULE_NAME, 0, name, length});
	return search.found;
}

bool net_match_is_direct(const struct net_match *match, const char *name,
                         const struct net_address *address, uint16_t port)
{
	struct search direct = {match, NET_LIST_DIRECT, port, name ? NULL : address,
	                        .counts = counts_there};

	if (name)
		try_name(&direct, name);
	else
		net_match_try_address(&direct, address);
	if (!name)
		try_any(&direct);
	return direct.found;
}

enum net_verdict net_match_address(const struct net_match *match, const struct net_address *address,
                                   uint16_t port, const struct net_record **ret_record)
{
	const struct net_question question = {.address = *address, .port = port};
	const struct net_record *deny = denying(match, &question),
				*allow = deny ? NULL : allowing(match, &question);

	*ret_record = deny ? deny : allow;
	return deny    ? NET_VERDICT_DENIED_BY_RULE
	       : allow ? NET_VERDICT_ALLOWED
	               : NET_VERDICT_NO_RULE;
}
