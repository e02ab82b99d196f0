/* SPDX-License-Identifier: Apache-2.0 */
/* See dns.h. */
#include "programs/net/dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <assert.h>
#include <string.h>

/* Bits of the second word of the header. RFC 1035, section 4.1.1; CD: RFC 4035, section 3.2.2 */
#define FLAG_QR      0x8000u
#define FLAGS_OPCODE 0x7800u
#define FLAG_TC      0x0200u
#define FLAG_RD      0x0100u
#define FLAG_RA      0x0080u
#define FLAG_CD      0x0010u

#define EDNS_VERSION(ttl) ((ttl) >> 16 & 0xff) /* RFC 6891, section 6.1.3 */
#define EDNS_DO           0x8000u
#define OPT_SIZE          (1 + NS_RRFIXEDSZ) /* without options */
#define OPTION_ERROR      15                 /* RFC 8914, section 2 */
#define ERROR_PROHIBITED  18
#define ERROR_TEXT_MAX    255

#define TYPE_OPT    41  /* has no name in <arpa/nameser.h> of older systems */
#define QTYPE_FIRST 128 /* RFC 6895, section 3.1 */
#define QTYPE_ANY   255

#define ADDITIONAL_MAX 2 /* an OPT record and a signature of the message: no query has more */
/* A compressed name, which points to the name at byte 12. RFC 1035, section 4.1.4 */
#define TO_THE_QUESTION 0xc00c

/*
 * Copies the question byte for byte. ns_parserr() has checked that the name ends within the message
 * and is not too long. Returns false if the name is compressed: no valid name precedes it that it
 * could point to, and in the answer the pointer would point to something else.
 */
static bool take_asked(const uint8_t *bytes, struct dns_question *q)
{
	size_t size = 0;

	while (bytes[size] != 0) {
		if (bytes[size] > NS_MAXLABEL)
			return false;
		size += bytes[size] + 1u;
	}
	size += 1 + NS_QFIXEDSZ;
	if (size > sizeof q->asked)
		return false;
	memcpy(q->asked, bytes, size);
	q->asked_size = size;
	return true;
}

/*
 * Returns the character as it is in a canonical name, or '\0' if a canonical name cannot have it.
 * Does not depend on the locale.
 */
static char canonical(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ? (char)c
	                                                                                : '\0';
}

/*
 * Whether inet_aton(3), and so getaddrinfo(3), takes a name that ends with this label for an
 * address. No name of a host ends so. RFC 3696, section 2
 */
static bool dns_is_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x')
		return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

/*
 * Writes the name of the question as text. Reads the labels, since the text that ns_parserr() makes
 * depends on the C library: musl's shows a dot within a label like a dot between labels, and
 * glibc's escapes it.
 */
static void name_question(struct dns_question *q)
{
	char name[DNS_NAME_MAX + 2]; /* a dot after each label */
	size_t length = 0, last = 0;

	for (const uint8_t *label = q->asked; *label != 0; label += *label + 1) {
		last = length;
		for (size_t i = 1; i <= *label; i++) {
			char c = canonical(label[i]);

			if (c == '\0')
				return;
			name[length++] = c;
		}
		name[length++] = '.';
	}
	if (length == 0)
		return;
	name[length - 1] = '\0';
	if (dns_is_number(name + last))
		return;
	memcpy(q->name, name, length);
	q->is_name_valid = true;
}

/* Parses one record of the additional section. Returns 0 or an rcode. */
static int parse_additional(ns_msg *message, int number, struct dns_question *q)
{
	ns_rr record;
	uint16_t size;

	if (ns_parserr(message, ns_s_ar, number, &record) < 0)
		return ns_r_formerr;
	if (record.type != TYPE_OPT)
		return 0;
	if (q->has_edns || record.name[0] != '\0')
		return ns_r_formerr;
	q->has_edns = true;
	q->is_dnssec_ok = (record.ttl & EDNS_DO) != 0;
	/* RFC 6891, section 6.1.2: the class is the size, and less than 512 means 512. */
	size = record.rr_class;
	q->udp_size = size < DNS_UDP_SIZE       ? DNS_UDP_SIZE
	              : size > DNS_UDP_SIZE_MAX ? DNS_UDP_SIZE_MAX
	                                        : size;
	return EDNS_VERSION(record.ttl) == 0 ? 0 : ns_r_badvers;
}

static int parse_sections(const uint8_t *bytes, size_t size, struct dns_question *q)
{
	ns_msg message;
	ns_rr asked;
	int r = 0;

	if (ns_initparse(bytes, (int)size, &message) < 0 || ns_msg_count(message, ns_s_qd) != 1 ||
	    ns_msg_count(message, ns_s_an) != 0 || ns_msg_count(message, ns_s_ns) != 0 ||
	    ns_msg_count(message, ns_s_ar) > ADDITIONAL_MAX ||
	    ns_parserr(&message, ns_s_qd, 0, &asked) < 0 || !take_asked(bytes + NS_HFIXEDSZ, q))
		return ns_r_formerr;
	q->type = asked.type;
	name_question(q);
	for (int i = 0; r == 0 && i < ns_msg_count(message, ns_s_ar); i++)
		r = parse_additional(&message, i, q);
	if (r != 0)
		return r;
	if (q->type == TYPE_OPT)
		return ns_r_formerr;
	if (asked.rr_class != ns_c_in || (q->type >= QTYPE_FIRST && q->type < QTYPE_ANY))
		return ns_r_refused;
	return 0;
}

int dns_parse(const uint8_t *bytes, size_t size, struct dns_question *ret)
{
	unsigned flags;

	if (size < NS_HFIXEDSZ || size > NS_MAXMSG)
		return -EBADMSG;
	flags = ns_get16(bytes + 2);
	if (flags & FLAG_QR)
		return -EBADMSG;
	*ret = (struct dns_question){
		.id = (uint16_t)ns_get16(bytes),
		.flags = (uint16_t)(flags & (FLAGS_OPCODE | FLAG_RD | FLAG_CD)),
		.udp_size = DNS_UDP_SIZE,
	};
	return flags & FLAGS_OPCODE ? ns_r_notimpl : parse_sections(bytes, size, ret);
}

/*
 * An answer that is being written. After the first part that does not fit, nothing more is written.
 */
struct writer {
	uint8_t *bytes;
	size_t used, size;
	bool is_full;
};

static void put_bytes(struct writer *w, const void *bytes, size_t size)
{
	w->is_full = w->is_full || size > w->size - w->used;
	if (w->is_full)
		return;
	memcpy(w->bytes + w->used, bytes, size);
	w->used += size;
}

static void put_8(struct writer *w, size_t value)
{
	put_bytes(w, &(uint8_t){(uint8_t)value}, 1);
}

static void put_16(struct writer *w, size_t value)
{
	uint16_t bytes = htons((uint16_t)value);

	put_bytes(w, &bytes, sizeof bytes);
}

static void put_32(struct writer *w, uint32_t value)
{
	uint32_t bytes = htonl(value);

	put_bytes(w, &bytes, sizeof bytes);
}

/* Writes a record of the name in question, up to its data. RFC 1035, section 4.1.3 */
static void dns_put_head(struct writer *w, uint16_t type, uint32_t ttl_s, size_t data_size)
{
	put_16(w, TO_THE_QUESTION);
	put_16(w, type);
	put_16(w, ns_c_in);
	put_32(w, ttl_s);
	put_16(w, data_size);
}

/* Each of these functions writes the records of one kind of reply, and returns their number. */
static uint16_t put_addresses(struct writer *w, const struct dns_question *q,
                              const struct dns_reply *reply)
{
	bool is_v4 = q->type == ns_t_a;
	size_t size = is_v4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);

	assert((is_v4 || q->type == ns_t_aaaa) && reply->addresses_count > 0 &&
	       reply->addresses_count <= DNS_ADDRESSES_MAX);
	for (size_t i = 0; i < reply->addresses_count; i++) {
		const struct in6_addr *address = &reply->addresses[i];

		assert(IN6_IS_ADDR_V4MAPPED(address) == is_v4);
		dns_put_head(w, q->type, reply->ttl_s, size);
		put_bytes(w, address->s6_addr + sizeof *address - size, size);
	}
	return (uint16_t)reply->addresses_count;
}

static uint16_t dns_put_name(struct writer *w, const struct dns_question *q,
                             const struct dns_reply *reply)
{
	size_t length = strlen(reply->name);

	assert(q->type == ns_t_ptr && length > 0 && length <= DNS_NAME_MAX);
	dns_put_head(w, q->type, reply->ttl_s, length + 2);
	for (const char *label = reply->name; label;) {
		const char *dot = strchr(label, '.');
		size_t size = dot ? (size_t)(dot - label) : strlen(label);

		assert(size > 0 && size <= NS_MAXLABEL);
		put_8(w, size);
		put_bytes(w, label, size);
		label = dot ? dot + 1 : NULL;
	}
	put_8(w, 0);
	return 1;
}

/*
 * Nobody transfers this zone, so all numbers but the last are the usual ones. The owner is the name
 * itself, and no name above it: such a zone would also cover names that exist. The record's TTL and
 * its last number both limit how long the answer is cached. RFC 2308, sections 3 and 5
 */
static uint16_t put_soa(struct writer *w, const struct dns_question *q,
                        const struct dns_reply *reply)
{
	const uint32_t numbers[] = {1 /* serial */, 3600 /* refresh */, 1200 /* retry */,
	                            604800 /* expire */, reply->ttl_s};

	(void)q;
	dns_put_head(w, ns_t_soa, reply->ttl_s, 1 + 1 + sizeof numbers);
	/* The name server and the mailbox are the root, which means that there are none. */
	put_8(w, 0);
	put_8(w, 0);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		put_32(w, numbers[i]);
	return 1;
}

static const struct kind {
	ns_sect section;
	int rcode;
	uint16_t (*put)(struct writer *w, const struct dns_question *q,
	                const struct dns_reply *reply);
} kinds[] = {
	[DNS_ADDRESSES] = {ns_s_an, ns_r_noerror, put_addresses},
	[DNS_NAME] = {ns_s_an, ns_r_noerror, dns_put_name},
	[DNS_NODATA] = {ns_s_ns, ns_r_noerror, put_soa},
	[DNS_NXDOMAIN] = {ns_s_ns, ns_r_nxdomain, put_soa},
	[DNS_SERVFAIL] = {ns_s_an, ns_r_servfail, NULL},
	[DNS_RCODE] = {ns_s_an, 0, NULL},
};

/*
 * The caller has left room for the record without its option. RFC 6891, section 6.1.2; RFC 8914,
 * section 2
 */
static void put_opt(struct writer *w, const struct dns_question *q, const struct dns_reply *reply,
                    int rcode)
{
	const char *text = reply->kind == DNS_NXDOMAIN ? reply->prohibited : NULL;
	size_t length = text ? strlen(text) : 0, data_size = text ? 2 + 2 + 2 + length : 0;

	assert(length <= ERROR_TEXT_MAX);
	if (OPT_SIZE + data_size > w->size - w->used)
		data_size = 0;
	put_8(w, 0);
	put_16(w, TYPE_OPT);
	put_16(w, DNS_UDP_SIZE_MAX);
	put_32(w, (uint32_t)rcode >> 4 << 24 | (q->is_dnssec_ok ? EDNS_DO : 0));
	put_16(w, data_size);
	if (data_size == 0)
		return;
	put_16(w, OPTION_ERROR);
	put_16(w, 2 + length);
	put_16(w, ERROR_PROHIBITED);
	put_bytes(w, text, length);
}

/* Writes the question and the records of `kind`, if they fit, and their numbers to `counts`. */
static void put_sections(struct writer *w, const struct kind *kind, const struct dns_question *q,
                         const struct dns_reply *reply, uint16_t counts[ns_s_max])
{
	size_t before;
	uint16_t count;

	put_bytes(w, q->asked, q->asked_size);
	counts[ns_s_qd] = q->asked_size > 0 && !w->is_full;
	before = w->used;
	if (!kind->put)
		return;
	assert(q->asked_size > 0);
	count = kind->put(w, q, reply);
	if (w->is_full)
		w->used = before;
	else
		counts[kind->section] = count;
}

int dns_answer(const struct dns_question *question, const struct dns_reply *reply, uint8_t *out,
               size_t size)
{
	const struct kind *kind = &kinds[reply->kind];
	int rcode = reply->kind == DNS_RCODE ? reply->rcode : kind->rcode;
	bool is_opt_due = question->has_edns && size >= NS_HFIXEDSZ + OPT_SIZE;
	struct writer header = {.bytes = out, .size = NS_HFIXEDSZ},
		      w = {.bytes = out, .used = NS_HFIXEDSZ};
	uint16_t counts[ns_s_max] = {0};

	if (size < NS_HFIXEDSZ)
		return -EMSGSIZE;
	w.size = size < NS_MAXMSG ? size : NS_MAXMSG;
	w.size -= is_opt_due ? OPT_SIZE : 0;
	put_sections(&w, kind, question, reply, counts);
	put_16(&header, question->id);
	put_16(&header, FLAG_QR | question->flags | FLAG_RA | (w.is_full ? FLAG_TC : 0) |
	                        ((unsigned)rcode & 0xf));
	if (is_opt_due) {
		w.size += OPT_SIZE;
		w.is_full = false;
		put_opt(&w, question, reply, rcode);
		counts[ns_s_ar] = 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		put_16(&header, counts[i]);
	return (int)w.used;
}

/* Whether `name` ends with `suffix`, after 1 to `size` - 1 bytes, which are written to `prefix`. */
static bool dns_split(const char *name, const char *suffix, char *prefix, size_t size)
{
	size_t length = strlen(name), suffix_length = strlen(suffix);

	if (length <= suffix_length || length - suffix_length >= size ||
	    strcmp(name + length - suffix_length, suffix) != 0)
		return false;
	memcpy(prefix, name, length - suffix_length);
	prefix[length - suffix_length] = '\0';
	return true;
}

static bool reverse_v4(const char *name, struct in6_addr *ret)
{
	char prefix[INET_ADDRSTRLEN];
	uint8_t from[sizeof(struct in_addr)];

	if (!dns_split(name, ".in-addr.arpa", prefix, sizeof prefix) ||
	    inet_pton(AF_INET, prefix, from) != 1)
		return false;
	*ret = (struct in6_addr){.s6_addr = {[10] = 0xff,
	                                     [11] = 0xff,
	                                     [12] = from[3],
	                                     [13] = from[2],
	                                     [14] = from[1],
	                                     [15] = from[0]}};
	return true;
}

static bool reverse_v6(const char *name, struct in6_addr *ret)
{
	static const char hex[] = "0123456789abcdef";
	/* A digit and a dot for each half byte; NUL in place of the last dot. */
	char prefix[4 * sizeof *ret];
	struct in6_addr address = {0};

	if (!dns_split(name, ".ip6.arpa", prefix, sizeof prefix) ||
	    strlen(prefix) != sizeof prefix - 1)
		return false;
	for (size_t i = 0; i < 2 * sizeof address; i++) {
		const char *digit = strchr(hex, prefix[2 * i]);

		if (!digit || !*digit || (prefix[2 * i + 1] != '.' && prefix[2 * i + 1] != '\0'))
			return false;
		address.s6_addr[sizeof address - 1 - i / 2] |=
			(uint8_t)((digit - hex) << (i % 2 * 4));
	}
	*ret = address;
	return true;
}

bool dns_reverse(const char *name, struct in6_addr *ret)
{
	return reverse_v4(name, ret) || reverse_v6(name, ret);
}
