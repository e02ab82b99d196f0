/*
 * The names of hosts: the one validator of them, wherever a name comes from (a rule, a DNS query, a
 * peer).
 *
 * Pure functions with the privilege of the caller. A canonical name is lower case, without a final
 * dot, and of what every parser takes for the same name: letters, digits, hyphens. RFC 952, RFC
 * 1123 (2.1), RFC 1035 (2.3.4)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/fd.h"

/* 253 characters, which is what 255 bytes of RFC 1035 hold, and the NUL */
#define NET_NAME_SIZE 254
#define NET_LABEL_MAX 63
/* for credentials that are added outside; nobody's until then, nor what is below it */
#define NET_NAME_OF_US "inject.internal"

/* Both follow the name: 'a..b' "has an empty label"; "write one dot between labels". */
struct net_name_problem {
	const char *wrong, *mend;
};

/*
 * Makes the `length` bytes of `text` a canonical name, filled up with zeros. NULL, or what is wrong
 * with it: labels are 1 to 63 characters that neither begin nor end with a hyphen. An underscore
 * may stand in every label but the last, as names that programs do use have it. A last label that
 * some parser would take for a number of an address is refused, and so is what is not ASCII:
 * whoever hears people turns that into xn--… first.
 */
_must_check_ const struct net_name_problem *net_name_canonical(const char *text, size_t length,
                                                               char ret_name[NET_NAME_SIZE]);

/* Whether it is as net_name_canonical() would make it. */
bool net_name_is_canonical(const char *name);

/* Whether `name` is `above` with at least one label before it. Both are canonical. */
bool net_name_is_below(const char *name, const char *above);

/* The name without its first label; NULL if it has but one. */
const char *net_name_parent(const char *name);
