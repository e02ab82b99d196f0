/*
 * Lists of rules as bytes: how they go from the process that decides to those that let connections
 * through, in sealed memory.
 *
 * Pure functions with the privilege of the caller; no allocation, and no pointer in the bytes. A
 * struct net_list, then records of their own size each, of all lists in any order; a rule takes 16
 * bytes, its network 16, its name its length.
 */
#pragma once

#include "base/net_rule.h"

#define NET_LIST_ALIGN     4
#define NET_LIST_RULES_MAX 32768

enum net_list_kind {
	NET_LIST_ALLOW,
	NET_LIST_DENY,
	NET_LIST_ASK,   /* what could be allowed, if somebody who is asked about it says so */
	NET_LIST_PROXY, /* one at most: the HTTP proxy by which all is connected, a NAME or a single
	                   ADDRESS with one port; */
	NET_LIST_DIRECT, /* but what such a rule is about */
	NET_LISTS,
};

struct net_list {
	uint32_t size;             /* of everything, this struct too */
	uint32_t count[NET_LISTS]; /* by enum net_list_kind */
};

/* One rule; read it with the functions below. */
struct net_record {
	uint32_t origin; /* the caller's own number: which line of which policy it comes from */
	uint16_t size;   /* of everything, a multiple of NET_LIST_ALIGN */
	uint16_t port_first, port_last;
	uint8_t list; /* enum net_list_kind */
	uint8_t kind, is_bound, prefix;
	uint8_t name_length;
	uint8_t reserved; /* 0 */
	uint8_t bytes[];  /* the network, where there is one, then the name and its NUL where there
	                     is one, then zeros */
};

/* How many rules there are, in all lists together. */
uint32_t net_list_count(const struct net_list *list);

/* How many bytes the valid rule adds to a list. An empty one has sizeof(struct net_list). */
size_t net_list_measure(const struct net_rule *rule);

/* Makes the memory, which is aligned to NET_LIST_ALIGN, an empty list. */
void net_list_begin(struct net_list *list);

/* Adds the valid rule to a list in `size` bytes of memory. -ENOSPC: it has no room for it; -E2BIG:
 * there are NET_LIST_RULES_MAX. */
_must_check_ int net_list_add(struct net_list *list, size_t size, enum net_list_kind kind,
                              const struct net_rule *rule, uint32_t origin);

/* Adds all that another one holds, which was checked or made here, as it is. -ENOSPC and -E2BIG as
 * above: then nothing is added. */
_must_check_ int net_list_append(struct net_list *list, size_t size, const struct net_list *from);

/* Of bytes of a peer: the record `at` so many of them, if there is one, and its rule is valid and
 * in its one form; NULL. */
const struct net_record *net_list_record(const void *bytes, size_t size, size_t at);

/* Whether bytes of a peer are a list with nothing after it: all sizes right, every rule valid and
 * in its one form. */
bool net_list_check(const void *bytes, size_t size);

/* The record after `record` (NULL: the first) of a list that was checked or made here; NULL after
 * the last. */
const struct net_record *net_list_next(const struct net_list *list,
                                       const struct net_record *record);

/* The network's first address; NULL where the rule has none. */
const struct net_address *net_list_network(const struct net_record *record);

/* The name; "" where the rule has none. */
const char *net_list_name(const struct net_record *record);

/* The rule that was added. */
void net_list_rule(const struct net_record *record, struct net_rule *ret_rule);
