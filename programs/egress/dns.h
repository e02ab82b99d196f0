/*
 * DNS messages of the front: queries of programs in a sandbox, and the answers to them.
 *
 * Pure: bytes in, a struct out, and the other way round; without privilege and without memory of
 * its own. What it reads is hostile. The C library parses, so that no second parser of names
 * exists; this module says what a query may be, and writes. It never decides whether a name may be
 * reached, and copies nothing of a query but the identifier, three flags, the bit DO and the
 * question. RFC 1035, RFC 6891.
 */
#pragma once

#include "base/fd.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* of a name as text, without the dot at its end: 255 bytes in a message. RFC 1035, section 3.1 */
#define DNS_NAME_MAX     253
#define DNS_QUESTION_MAX (255 + 2 + 2) /* a name, a type and a class */
#define DNS_UDP_SIZE     512 /* of answers to who says nothing about it. RFC 1035, section 4.2.1 */
/* what is neither fragmented nor dropped anywhere: an MTU of 1280 without the headers */
#define DNS_UDP_SIZE_MAX  1232
#define DNS_ADDRESSES_MAX 8

/* A query. What dns_parse() could not find out is 0. */
struct dns_question {
	uint16_t id;
	uint16_t flags; /* to be given back: the opcode, RD and CD, where the header has them */
	uint16_t type;
	uint16_t udp_size;  /* what a datagram with the answer may hold: DNS_UDP_SIZE to
	                       DNS_UDP_SIZE_MAX */
	bool has_edns;      /* and so must the answer. RFC 6891, section 6.1.1 */
	bool is_dnssec_ok;  /* its bit DO, to be given back. RFC 3225, section 3 */
	bool is_name_valid; /* letters, digits, hyphens, underscores; the last label is no number:
	                       else no rule can allow it */
	char name[DNS_NAME_MAX +
	          1];      /* in lower case, without the dot at its end; empty if it is not valid */
	size_t asked_size; /* 0: there is no question that could be repeated, and only DNS_RCODE can
	                      be answered */
	uint8_t asked[DNS_QUESTION_MAX]; /* the question in the very bytes: resolvers compare upper
	                                    and lower case, too */
};

enum dns_kind {
	DNS_ADDRESSES, /* to a question of type A or AAAA */
	DNS_NAME,      /* to one of type PTR */
	DNS_NODATA,    /* the name exists, and has nothing of that type */
	DNS_NXDOMAIN,
	DNS_SERVFAIL,
	DNS_RCODE, /* what dns_parse() returned */
};

struct dns_reply {
	enum dns_kind kind;
	uint32_t ttl_s;         /* also of what does not exist. RFC 2308, section 5 */
	int rcode;              /* DNS_RCODE */
	const char *name;       /* DNS_NAME: as in struct dns_question */
	const char *prohibited; /* DNS_NXDOMAIN: why, in at most 255 bytes of UTF-8 for people; NULL
	                           where that is not the reason */
	size_t addresses_count; /* DNS_ADDRESSES: 1 to DNS_ADDRESSES_MAX */
	struct in6_addr addresses[DNS_ADDRESSES_MAX]; /* for a question of type A, v4-mapped */
};

/*
 * Reads the message that one datagram holds, or one message of a stream. 0: a question to be
 * answered; -EBADMSG: to be dropped without an answer, being none or an answer itself, which two
 * servers would send each other for ever; or the rcode of arpa/nameser.h to answer with:
 *   ns_r_formerr   it is malformed, or has not exactly one question (RFC 9619), or that is
 * compressed, or records that no query has ns_r_notimpl   its opcode is not QUERY ns_r_badvers its
 * version of EDNS is not 0 (RFC 6891, section 6.1.3) ns_r_refused   it asks another class than IN,
 * or for a transfer or the like (RFC 6895, section 3.1: QTYPEs; ANY is a type here)
 * `*ret` is written in each case but -EBADMSG.
 */
_must_check_ int dns_parse(const uint8_t *bytes, size_t size, struct dns_question *ret);

/*
 * Writes the answer to `question` into `out`, of which it uses at most `size` bytes. Its length; or
 * -EMSGSIZE if not even a header fits. What does not fit as a whole is left out and the answer is
 * marked as truncated (RFC 2181, section 9). Without data there is a SOA record, of a zone that has
 * the name in question alone, so that resolvers remember that (RFC 2308, section 3). An OPT record
 * follows where one was sent, for `prohibited` with extended error 18 if there is room (RFC 8914,
 * section 4.19).
 */
_must_check_ int dns_answer(const struct dns_question *question, const struct dns_reply *reply,
                            uint8_t *out, size_t size);

/*
 * The address whose name a question of type PTR asks for: 4 numbers before in-addr.arpa (RFC 1035,
 * section 3.5; v4-mapped in `*ret`), or 32 digits before ip6.arpa (RFC 3596, section 2.5). `name`
 * as in struct dns_question. False for all other names, and for those of networks.
 */
_must_check_ bool dns_reverse(const char *name, struct in6_addr *ret);
