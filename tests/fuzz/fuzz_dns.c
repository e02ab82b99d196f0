/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing DNS: whatever is answered, in however little room, is whole, and repeats the question.
 * libFuzzer. Nothing tells it what the C library looks for in a message: of two bytes before one,
 * bits choose whether it is taken as it is, or as a name to make a query with.
 */
#include <arpa/nameser.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "programs/net/dns.h"

static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reverse(const char *prefix, const char *suffix)
{
	char name[512];
	struct in6_addr address;

	(void)snprintf(name, sizeof name, "%s%s", prefix, suffix);
	(void)!dns_reverse(name, &address);
}

static void check_question(const struct dns_question *question)
{
	size_t length = strnlen(question->name, sizeof question->name);

	assert(length <= DNS_NAME_MAX && question->name[strspn(question->name, allowed)] == '\0');
	assert(question->is_name_valid == (length > 0) && strstr(question->name, "..") == NULL);
	assert(question->asked_size <= DNS_QUESTION_MAX &&
	       (!question->is_name_valid || question->asked_size == length + 2 + NS_QFIXEDSZ));
	assert(question->udp_size >= DNS_UDP_SIZE && question->udp_size <= DNS_UDP_SIZE_MAX);
	check_reverse(question->name, "");
	check_reverse(question->name, ".in-addr.arpa");
	check_reverse(question->name, ".ip6.arpa");
}

/* From memory of just that size. */
static void check_answer(const struct dns_question *question, const struct dns_reply *reply,
                         size_t size)
{
	_cleanup_free_ uint8_t *out = malloc(size + 1);
	struct dns_question none;
	ns_msg message;
	ns_rr record;
	int length;

	assert(out);
	length = dns_answer(question, reply, out + 1, size);
	assert(length == -EMSGSIZE ? size < NS_HFIXEDSZ
	                           : length >= NS_HFIXEDSZ && (size_t)length <= size);
	if (length < 0)
		return;
	assert(dns_parse(out + 1, (size_t)length, &none) ==
	       -EBADMSG); /* two servers never answer each other */
	assert(ns_initparse(out + 1, length, &message) == 0 && ns_msg_id(message) == question->id);
	assert(ns_msg_count(message, ns_s_qd) == 0 ||
	       memcmp(out + 1 + NS_HFIXEDSZ, question->asked, question->asked_size) == 0);
	for (ns_sect section = ns_s_qd; section < ns_s_max; section++) {
		for (int i = 0; i < ns_msg_count(message, section); i++)
			assert(ns_parserr(&message, section, i, &record) == 0);
	}
	if (size >= DNS_UDP_SIZE &&
	    reply->kind != DNS_NAME) /* to a long name with a long name, which no address has */
		assert(!ns_msg_getflag(message, ns_f_tc) &&
		       ns_msg_count(message, ns_s_qd) == (question->asked_size > 0));
}

static void check_replies(const struct dns_question *question, int rcode, size_t size)
{
	struct dns_reply replies[] = {
		{.kind = DNS_RCODE, .rcode = rcode},
		{.kind = DNS_SERVFAIL},
		{.kind = DNS_NODATA, .ttl_s = 60},
		{.kind = DNS_NXDOMAIN, .ttl_s = 60, .prohibited = "not allowed"},
		{.kind = DNS_NAME,
	         .ttl_s = 60,
	         .name = question->is_name_valid ? question->name : "a"},
		{.kind = DNS_ADDRESSES,
	         .ttl_s = 60,
	         .addresses_count = 1 + size % DNS_ADDRESSES_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		enum dns_kind kind = replies[i].kind;

		for (size_t j = 0; j < DNS_ADDRESSES_MAX && question->type == ns_t_a; j++)
			replies[i].addresses[j] =
				(struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff, [15] = 1}};
		if ((kind != DNS_RCODE && question->asked_size == 0) ||
		    (kind == DNS_NAME && question->type != ns_t_ptr) ||
		    (kind == DNS_ADDRESSES && question->type != ns_t_a &&
		     question->type != ns_t_aaaa))
			continue;
		check_answer(question, &replies[i], size);
		check_answer(question, &replies[i], question->udp_size);
		check_answer(question, &replies[i], NS_MAXMSG);
	}
}

static void check_query(const uint8_t *bytes, size_t size, size_t room)
{
	struct dns_question question;
	int r = dns_parse(bytes, size, &question);

	if (r < 0)
		return;
	check_question(&question);
	check_replies(&question, r, room);
}

/* A query for a name that is in these bytes, or not, with or without EDNS. */
static void check_name(const uint8_t *name, size_t size, unsigned choice)
{
	static const uint16_t types[] = {ns_t_a,   ns_t_aaaa, ns_t_ptr, ns_t_mx,
	                                 ns_t_any, ns_t_axfr, ns_t_opt, 65};
	static const uint8_t opt[] = "\0\0\51\4\xd0\0\0\x80\0\0\0";
	const bool has_opt = choice & 1;
	const uint8_t header[NS_HFIXEDSZ] = {[2] = 1, [5] = 1, [11] = has_opt},
		      tail[] = {0, (uint8_t)types[choice >> 1 & 7], 0, ns_c_in};
	size_t tail_at = sizeof header + size, opt_at = tail_at + sizeof tail,
	       opt_size = has_opt ? sizeof opt - 1 : 0;
	_cleanup_free_ uint8_t *message = malloc(opt_at + opt_size);

	assert(message);
	memcpy(message, header, sizeof header);
	memcpy(message + sizeof header, name, size);
	memcpy(message + tail_at, tail, sizeof tail);
	memcpy(message + opt_at, opt, opt_size);
	check_query(message, opt_at + opt_size, choice >> 4 & 0x3ff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned choice;

	if (size < 2)
		return 0;
	choice = ns_get16(data);
	if (choice & 0x8000)
		check_name(data + 2, size - 2, choice);
	else
		check_query(data + 2, size - 2, choice >> 4 & 0x3ff);
	return 0;
}
