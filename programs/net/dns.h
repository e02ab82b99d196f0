/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS messages of the proxy (yett-front): parses queries of programs in a sandbox, and writes the
 * answers.
 *
 * Pure functions, without privilege and without allocation. The input is hostile. The C library
 * parses it, so that there is no second parser of names; this module checks what a query may
 * contain. It must never decide whether a name may be reached. It copies nothing of a query but the
 * identifier, three flags, the bit DO and the question. RFC 1035, RFC 6891
 */
#pragma once

#include "base/fd.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of a name as text without the final dot, which is 255 bytes in a message. RFC 1035,
 * section 3.1
 */
#define DNS_NAME_MAX     253
#define DNS_QUESTION_MAX (255 + 2 + 2) /* a name, a type and a class */
#define DNS_UDP_SIZE     512 /* for clients that announce no size. RFC 1035, section 4.2.1 */
/* Neither fragmented nor dropped on any path: the minimum IPv6 MTU (1280) without headers. */
#define DNS_UDP_SIZE_MAX  1232
#define DNS_ADDRESSES_MAX 8

/* A query. Members that dns_parse() could not fill in are 0. */
struct dns_question {
	uint16_t id;
	uint16_t flags; /* copied to the answer: the opcode, RD and CD */
	uint16_t type;
	/* Maximum size of a datagram with the answer: DNS_UDP_SIZE to DNS_UDP_SIZE_MAX. */
	uint16_t udp_size;
	/* The query has an OPT record, so the answer must have one. RFC 6891, section 6.1.1 */
	bool has_edns;
	bool is_dnssec_ok; /* the bit DO, copied to the answer. RFC 3225, section 3 */
	/*
	 * The name has only letters, digits, hyphens and underscores, and its last label is no
	 * number. No rule can allow any other name.
	 */
	bool is_name_valid;
	/* In lower case, without the final dot; empty if the name is not valid. */
	char name[DNS_NAME_MAX + 1];
	/*
	 * Bytes of `asked`. 0: there is no question to repeat, and only DNS_RCODE can be answered.
	 */
	size_t asked_size;
	/* The question byte for byte: resolvers also compare upper and lower case. */
	uint8_t asked[DNS_QUESTION_MAX];
};

enum dns_kind {
	DNS_ADDRESSES, /* answers a question of type A or AAAA */
	DNS_NAME,      /* answers a question of type PTR */
	DNS_NODATA,    /* the name exists, but has no record of that type */
	DNS_NXDOMAIN,
	DNS_SERVFAIL,
	DNS_RCODE, /* the rcode that dns_parse() returned */
};

struct dns_reply {
	enum dns_kind kind;
	uint32_t ttl_s;   /* also of negative answers. RFC 2308, section 5 */
	int rcode;        /* DNS_RCODE */
	const char *name; /* DNS_NAME: as in struct dns_question */
	/*
	 * DNS_NXDOMAIN: why the name is prohibited, for people, in at most 255 bytes of UTF-8; NULL
	 * if the name is not prohibited.
	 */
	const char *prohibited;
	size_t addresses_count;                       /* DNS_ADDRESSES: 1 to DNS_ADDRESSES_MAX */
	struct in6_addr addresses[DNS_ADDRESSES_MAX]; /* v4-mapped for a question of type A */
};

/*
 * Parses the message in one datagram, or one message of a stream. Writes `*ret` unless it returns
 * -EBADMSG. Returns one of these:
 * - 0: answer the question.
 * - -EBADMSG: drop the message without an answer. It is not a DNS message, or is an answer itself:
 *   two servers would answer each other forever.
 * - ns_r_formerr: the message is malformed, does not have exactly one question (RFC 9619), has a
 *   compressed question, or has records that no query has.
 * - ns_r_notimpl: the opcode is not QUERY.
 * - ns_r_badvers: the version of EDNS is not 0 (RFC 6891, section 6.1.3).
 * - ns_r_refused: the class is not IN, or the type is a transfer or the like (RFC 6895, section
 *   3.1: QTYPEs; ANY counts as a type here).
 */
_must_check_ int dns_parse(const uint8_t *bytes, size_t size, struct dns_question *ret);

/*
 * Writes the answer to `question` into `out`, at most `size` bytes. Returns its length, or
 * -EMSGSIZE if not even a header fits. Leaves out records that do not fit as a whole, and marks the
 * answer as truncated (RFC 2181, section 9). An answer without data has a SOA record of a zone that
 * contains only the name in question, so that resolvers cache the answer (RFC 2308, section 3). If
 * the query had an OPT record, the answer has one, with extended error 18 and the text `prohibited`
 * if there is room (RFC 8914, section 4.19).
 */
_must_check_ int dns_answer(const struct dns_question *question, const struct dns_reply *reply,
                            uint8_t *out, size_t size);

/*
 * Finds the address that a PTR question is about: 4 numbers before in-addr.arpa (RFC 1035, section
 * 3.5; v4-mapped in `*ret`), or 32 digits before ip6.arpa (RFC 3596, section 2.5). `name` as in
 * struct dns_question. Returns false for any other name, including names of networks.
 */
_must_check_ bool dns_reverse(const char *name, struct in6_addr *ret);
