/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validates host names. Every host name passes this one validator, whether it comes from a rule, a
 * DNS query or a peer.
 *
 * Pure functions with the privilege of the caller. A canonical name is in lower case, has no final
 * dot, and consists of characters that every parser reads the same way: letters, digits, hyphens,
 * and underscores in all labels but the last. RFC 952, RFC 1123 (2.1), RFC 1035 (2.3.4)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/fd.h"

/* 253 characters, the most that fit in the 255 bytes of RFC 1035, and a NUL. */
#define NET_NAME_SIZE 254
#define NET_LABEL_MAX 63
/*
 * Reserved, with all names below it, for credentials that Yett will add outside the sandbox. No
 * rule may use these names.
 */
#define NET_NAME_OF_US "inject.internal"

/*
 * `wrong` continues a message after the quoted name: 'a..b' "has an empty label". `mend` is the
 * hint: "write one dot between labels".
 */
struct net_name_problem {
	const char *wrong, *mend;
};

/*
 * Converts the `length` bytes of `text` to a canonical name, and fills the rest of `ret_name` with
 * zeros. Returns NULL, or the problem with the name, and `ret_name` is unchanged then. A label has
 * 1 to 63 characters and neither begins nor ends with a hyphen. Every label but the last may
 * contain underscores, since names in use do. Refuses a last label that some parser would read as a
 * number of an IPv4 address. Refuses non-ASCII characters: programs that read user input convert
 * them to xn--… first (net_idn.h).
 */
_must_check_ const struct net_name_problem *net_name_canonical(const char *text, size_t length,
                                                               char ret_name[NET_NAME_SIZE]);

/* Whether `name` is valid and net_name_canonical() would not change it. */
bool net_name_is_canonical(const char *name);

/* Whether `name` is a subdomain of `above`, at any depth. Both must be canonical. */
bool net_name_is_below(const char *name, const char *above);

/* The part of `name` after its first dot; NULL if `name` has only one label. */
const char *net_name_parent(const char *name);
