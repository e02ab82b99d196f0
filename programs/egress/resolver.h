/*
 * What the dialer and yett-resolver say to one another: packets of one size each over
 * SOCK_SEQPACKET, which is the resolver's descriptor 0.
 *
 * The resolver parses what the internet answers, and so may be captured: the dialer believes it in
 * nothing but in which addresses a name may have, each of which it decides about.
 */
#pragma once

#include "base/net_address.h"
#include "base/net_name.h"

#define RESOLVER_AT_ONCE_MAX   16 /* further questions wait in the socket */
#define RESOLVER_SECONDS       20 /* then a question has failed */
#define RESOLVER_ADDRESSES_MAX 16

struct resolver_question {
	uint32_t id;              /* one is asked about once at a time */
	char name[NET_NAME_SIZE]; /* canonical */
	uint16_t reserved;
};

struct resolver_answer {
	uint32_t id;
	int32_t error; /* 0; ENOENT: there is no such name, or it has no address; EAGAIN, ETIMEDOUT,
	                  EIO: it could not be found out */
	uint32_t count; /* 0 with an error, else 1 to RESOLVER_ADDRESSES_MAX, in the order in which
	                   they are to be tried: RFC 6724 */
	struct net_address addresses[RESOLVER_ADDRESSES_MAX];
};
