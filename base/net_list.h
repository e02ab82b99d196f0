/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte encoding of rule lists, in which yett-decider passes them in sealed memory to the
 * processes that enforce them.
 *
 * Pure functions with the privilege of the caller. They allocate nothing, and the bytes hold no
 * pointers. A list is a struct net_list followed by records of variable size, of all kinds in any
 * order. A record takes 16 bytes, 16 more if it has a network, and the length of its name and a NUL
 * if it has one, rounded up to NET_LIST_ALIGN.
 */
#pragma once

#include "base/net_rule.h"

#define NET_LIST_ALIGN     4
#define NET_LIST_RULES_MAX 32768

enum net_list_kind {
	NET_LIST_ALLOW,
	NET_LIST_DENY,
	/* Connections that are allowed if the user, when asked about them, agrees. */
	NET_LIST_ASK,
	/*
	 * At most one rule: the HTTP proxy through which all connections are made. A NAME or a
	 * single ADDRESS, with one port.
	 */
	NET_LIST_PROXY,
	/* Connections that bypass that HTTP proxy. */
	NET_LIST_DIRECT,
	NET_LISTS,
};

struct net_list {
	uint32_t size;             /* in bytes, with this struct and all records */
	uint32_t count[NET_LISTS]; /* by enum net_list_kind */
};

/* One rule. Read records only with the functions below. */
struct net_record {
	uint32_t origin; /* a number of the caller's: which line of which policy the rule is from */
	uint16_t size;   /* of the whole record in bytes, a multiple of NET_LIST_ALIGN */
	uint16_t port_first, port_last;
	uint8_t list; /* enum net_list_kind */
	uint8_t kind, is_bound, prefix;
	uint8_t name_length;
	uint8_t reserved; /* 0 */
	/* The network, if any; the name and a NUL, if any; zeros up to `size`. */
	uint8_t bytes[];
};

/* The number of rules of all kinds together. */
uint32_t net_list_count(const struct net_list *list);

/* How many bytes a valid rule adds to a list. An empty list has sizeof(struct net_list) bytes. */
size_t net_list_measure(const struct net_rule *rule);

/* Initializes an empty list. The memory must be aligned to NET_LIST_ALIGN. */
void net_list_begin(struct net_list *list);

/*
 * Appends a valid rule to a list that has `size` bytes of memory. Returns 0; -ENOSPC if the memory
 * has no room; -E2BIG if the list has NET_LIST_RULES_MAX rules already.
 */
_must_check_ int net_list_add(struct net_list *list, size_t size, enum net_list_kind kind,
                              const struct net_rule *rule, uint32_t origin);

/*
 * Appends all records of `from`, which must have passed net_list_check() or have been made with
 * these functions. Returns 0, -ENOSPC or -E2BIG as net_list_add(); after an error the list is
 * unchanged.
 */
_must_check_ int net_list_append(struct net_list *list, size_t size, const struct net_list *from);

/*
 * The record at the offset `at` of `size` untrusted bytes, which must be aligned to NET_LIST_ALIGN.
 * NULL if there is no complete record, its rule is invalid, or its encoding is not canonical.
 */
const struct net_record *net_list_record(const void *bytes, size_t size, size_t at);

/*
 * Whether untrusted bytes are exactly one list: aligned to NET_LIST_ALIGN, sizes and counts
 * correct, at most NET_LIST_RULES_MAX rules, every rule valid and in its canonical encoding.
 */
bool net_list_check(const void *bytes, size_t size);

/*
 * The record after `record` (NULL: the first one), or NULL after the last. The list must have
 * passed net_list_check() or have been made with these functions.
 */
const struct net_record *net_list_next(const struct net_list *list,
                                       const struct net_record *record);

/* The first address of the rule's network; NULL if the rule has no network. */
const struct net_address *net_list_network(const struct net_record *record);

/* The rule's name; "" if the rule has no name. */
const char *net_list_name(const struct net_record *record);

/* Decodes the rule that was passed to net_list_add(). */
void net_list_rule(const struct net_record *record, struct net_rule *ret_rule);
