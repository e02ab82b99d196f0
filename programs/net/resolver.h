/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between the connector (yett-dialer) and yett-resolver: one fixed size for each
 * direction, over SOCK_SEQPACKET, which is descriptor 0 of the resolver.
 *
 * The resolver parses what the internet answers, and so may be compromised. The connector trusts it
 * only to say which addresses a name may have, and decides about each of them.
 */
#pragma once

#include "base/net_address.h"
#include "base/net_name.h"

#define RESOLVER_AT_ONCE_MAX   16 /* further questions wait in the socket */
#define RESOLVER_SECONDS       20 /* after this time a question fails */
#define RESOLVER_ADDRESSES_MAX 16

struct resolver_question {
	uint32_t id;              /* of one open question at a time */
	char name[NET_NAME_SIZE]; /* canonical */
	uint16_t reserved;
};

struct resolver_answer {
	uint32_t id;
	/*
	 * 0; ENOENT: the name does not exist or has no address; EAGAIN, ETIMEDOUT, EIO: the lookup
	 * failed.
	 */
	int32_t error;
	/*
	 * 0 if `error` is set, otherwise 1 to RESOLVER_ADDRESSES_MAX. Try the addresses in this
	 * order: RFC 6724.
	 */
	uint32_t count;
	struct net_address addresses[RESOLVER_ADDRESSES_MAX];
};
