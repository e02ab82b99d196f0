/*
 * Which fake addresses stand for which names, in the front of one sandbox.
 *
 * Each name has one index, from FAKES_RESERVED on in the order in which they were added, and by
 * that an IPv4 address in 198.18.0.0/15 (RFC 2544, which nobody routes) and an IPv6 address in a
 * /64 of the sandbox's own (RFC 4193). Nothing is ever taken out: an address that a program keeps
 * must not come to mean another name. For the same reason a front that was started again takes the
 * other half of both.
 *
 * Without privilege; calls nothing but malloc(3). Names come from hostile programs, of which none
 * can know how they are hashed.
 *
 * Memory: without a name nothing but the struct; then a block of 8 KiB, the smallest tables, and
 * for each name its text and at most FAKES_EACH_MAX bytes. At the worst, with 65,520 names of 253
 * bytes, FAKES_BYTES_MAX, and the tables before (320 KiB) while they grow.
 */
#pragma once

#include "base/fd.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* indexes that stand for no name, in both halves. In the first, 1 is the sandbox itself, 2 its name
 * server */
#define FAKES_RESERVED   16
#define FAKES_INDEX_END  65536 /* one more than the last index */
#define FAKES_MAX        (FAKES_INDEX_END - FAKES_RESERVED)
#define FAKES_LENGTH_MAX 253 /* DNS_NAME_MAX */
#define FAKES_KEY_SIZE   16  /* crypto_shorthash_KEYBYTES */
#define FAKES_EACH_MAX   24
#define FAKES_BYTES_MAX  (18u << 20)

struct fakes;

struct fakes_options {
	uint8_t key[FAKES_KEY_SIZE]; /* at random, of this process: getrandom(2) */
	unsigned half; /* 0: 198.18.0.0/16; 1, after another front ended: 198.19.0.0/16 */
	bool has_ipv6;
	struct in6_addr prefix; /* a /64, its lower half is 0. The interface ids of the halves are
	                           INDEX and 65536 + INDEX */
};

/* To be freed with fakes_free(). 0 or -ENOMEM. */
_must_check_ int fakes_new(const struct fakes_options *options, struct fakes **ret);

/*
 * The index of `name`, which is given one if it has none. It must be canonical, as in struct
 * dns_question, and is copied. 0; -ENOSPC if it is new and all have been given away; -ENOMEM. Then
 * nothing has changed.
 */
_must_check_ int fakes_add(struct fakes *names, const char *name, uint32_t *ret_index);

/* The index of `name`, if it has one. */
_must_check_ bool fakes_find(const struct fakes *names, const char *name, uint32_t *ret_index);

/* What the address stands for (IPv4 is v4-mapped), to be read until fakes_free(); NULL if for
 * nothing, as one of the other half. */
const char *fakes_by_address(const struct fakes *names, const struct in6_addr *address);

/* The address of an index that fakes_add() or fakes_find() gave; AF_INET, v4-mapped, or AF_INET6,
 * for which there must be a prefix. */
void fakes_address(const struct fakes *names, uint32_t index, int family, struct in6_addr *ret);

size_t fakes_count(const struct fakes *names);

/* What it has of malloc(3), which adds some of its own. */
size_t fakes_memory_bytes(const struct fakes *names);

void fakes_free(struct fakes *names);
static inline void fakes_freep(struct fakes **names)
{
	fakes_free(*names);
}
