/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The synthetic addresses that stand for names in one sandbox. Used by the proxy (yett-front).
 *
 * Each name gets an index, counted from SYNTHETIC_RESERVED. The index gives the name an IPv4
 * address in 198.18.0.0/15 (RFC 2544, routed by nobody) and an IPv6 address in a /64 of the sandbox
 * (RFC 4193). Entries are never removed: an address that a program has stored must not come to mean
 * another name. For the same reason a restarted proxy uses the other half of both ranges.
 *
 * Runs without privilege; calls only malloc(3). Names come from hostile programs: a random key
 * keeps programs from predicting their hashes.
 */
#pragma once

#include "base/fd.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Indexes that stand for no name, in both halves. In the first half, 1 is the sandbox itself and 2
 * is its name server.
 */
#define SYNTHETIC_RESERVED   16
#define SYNTHETIC_INDEX_END  65536 /* last index + 1 */
#define SYNTHETIC_MAX        (SYNTHETIC_INDEX_END - SYNTHETIC_RESERVED)
#define SYNTHETIC_LENGTH_MAX 253 /* DNS_NAME_MAX */
#define SYNTHETIC_KEY_SIZE   16  /* crypto_shorthash_KEYBYTES */
#define SYNTHETIC_EACH_MAX   24
#define SYNTHETIC_BYTES_MAX  (18u << 20)

struct synthetic;

struct synthetic_options {
	uint8_t key[SYNTHETIC_KEY_SIZE]; /* random, for this process only: getrandom(2) */
	/* 0: 198.18.0.0/16; 1, if another proxy of the sandbox has ended: 198.19.0.0/16 */
	unsigned half;
	bool has_ipv6;
	/*
	 * A /64, whose lower half is 0. Interface ids are INDEX in the first half, 65536 + INDEX in
	 * the second.
	 */
	struct in6_addr prefix;
};

/*
 * Makes an empty table, to free with synthetic_free(). Allocates nothing more before the first
 * name; then a block of 8 KiB, the smallest tables, and for each name its text and at most
 * SYNTHETIC_EACH_MAX bytes. The maximum, with 65,520 names of 253 bytes, is SYNTHETIC_BYTES_MAX,
 * plus the old tables (320 KiB) while they grow. Returns 0 or -ENOMEM.
 */
_must_check_ int synthetic_new(const struct synthetic_options *options, struct synthetic **ret);

/*
 * Finds or makes the index of `name`, which must be canonical as in struct dns_question, and is
 * copied. Returns 0; -ENOSPC if the name is new and no index is left; or -ENOMEM. An error changes
 * nothing.
 */
_must_check_ int synthetic_add(struct synthetic *names, const char *name, uint32_t *ret_index);

/* Whether `name` has an index. */
_must_check_ bool synthetic_find(const struct synthetic *names, const char *name,
                                 uint32_t *ret_index);

/*
 * Returns the name that the address (v4-mapped for IPv4) stands for, valid until synthetic_free(),
 * or NULL, also for an address of the other half.
 */
const char *synthetic_by_address(const struct synthetic *names, const struct in6_addr *address);

/*
 * Makes the address of an index that synthetic_add() or synthetic_find() returned. AF_INET gives a
 * v4-mapped address; AF_INET6 requires options with has_ipv6.
 */
void synthetic_address(const struct synthetic *names, uint32_t index, int family,
                       struct in6_addr *ret);

size_t synthetic_count(const struct synthetic *names);

/* Bytes requested from malloc(3), without its overhead. */
size_t synthetic_memory_bytes(const struct synthetic *names);

void synthetic_free(struct synthetic *names);
static inline void synthetic_freep(struct synthetic **names)
{
	synthetic_free(*names);
}
