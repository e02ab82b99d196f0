/* SPDX-License-Identifier: Apache-2.0 */
/* DNS of the front: which queries are understood, refused or dropped, and that the C library reads
 * every answer as it was meant. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <resolv.h>

#include "programs/net/dns.h"
#include "tests/support/testing.h"

#define TYPE_SVCB  64
#define TYPE_HTTPS 65
#define AD         0x20

static struct dns_question question;

/* A message in the making, or one that was received. */
static struct message {
	uint8_t bytes[NS_MAXMSG];
	size_t size;
} query, answer;

static void add(const void *bytes, size_t size)
{
	memcpy(query.bytes + query.size, bytes, size);
	query.size += size;
}

static void add_16(unsigned value)
{
	add(&(uint16_t){htons((uint16_t)value)}, 2);
}

static void add_header(unsigned flags, unsigned questions, unsigned answers, unsigned authorities,
                       unsigned additional)
{
	const unsigned words[] = {0x1234, flags, questions, answers, authorities, additional};

	query.size = 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		add_16(words[i]);
}

/* "" is the root. */
static void add_name(const char *name)
{
	while (*name) {
		uint8_t size = (uint8_t)strcspn(name, ".");

		add(&size, 1);
		add(name, size);
		name += size + (name[size] == '.');
	}
	add("", 1);
}

static void add_question(const char *name, unsigned type)
{
	add_name(name);
	add_16(type);
	add_16(ns_c_in);
}

static void add_record(const char *name, unsigned type, unsigned class, unsigned ttl_high,
                       unsigned ttl_low, unsigned size)
{
	add_name(name);
	add_16(type);
	add_16(class);
	add_16(ttl_high);
	add_16(ttl_low);
	add_16(size);
	for (unsigned i = 0; i < size; i++)
		add("", 1);
}

static void add_opt(unsigned udp_size, unsigned version, unsigned flags)
{
	add_record("", ns_t_opt, udp_size, version, flags, 0);
}

/* From memory of just that size: a sanitizer sees what is read after it. */
static int parse(void)
{
	_cleanup_free_ uint8_t *bytes = malloc(query.size + 1);

	assert_non_null(bytes);
	memcpy(bytes + 1, query.bytes, query.size);
	memset(&question, 0xa5, sizeof question);
	return dns_parse(bytes + 1, query.size, &question);
}

static int ask(const char *name, unsigned type)
{
	add_header(0x0100, 1, 0, 0, 0);
	add_question(name, type);
	return parse();
}

static int ask_with_edns(const char *name, unsigned type)
{
	add_header(0x0100, 1, 0, 0, 1);
	add_question(name, type);
	add_opt(4096, 0, 0);
	return parse();
}

/* The answer to `question`, into at most `size` bytes; nothing is written after them. 0 where there
 * is none. */
static size_t reply_into(const struct dns_reply *reply, size_t size)
{
	int length;

	memset(answer.bytes, 0xa5, sizeof answer.bytes);
	length = dns_answer(&question, reply, answer.bytes, size);
	for (size_t i = size; i < size + 64 && i < sizeof answer.bytes; i++)
		assert_int_equal(answer.bytes[i], 0xa5);
	if (length == -EMSGSIZE)
		return 0;
	assert_in_range(length, NS_HFIXEDSZ, size);
	answer.size = (size_t)length;
	return answer.size;
}

static unsigned flags_of(const struct message *message)
{
	return ns_get16(message->bytes + 2);
}

/* Reads `answer` as resolvers do: it is whole, it is one to `query`, repeats that question bit by
 * bit if there is one, and has such a code.
 */
static ns_msg read_answer(int rcode)
{
	ns_msg message;

	assert_int_equal(ns_initparse(answer.bytes, (int)answer.size, &message), 0);
	assert_int_equal(ns_msg_id(message), ns_get16(query.bytes));
	assert_int_equal(flags_of(&answer) & ~(0x0200u | 0xfu),
	                 0x8080 | (flags_of(&query) & 0x7910));
	assert_int_equal(flags_of(&answer) & 0xf, rcode & 0xf);
	assert_int_equal(ns_msg_count(message, ns_s_ar), question.has_edns);
	if (ns_msg_count(message, ns_s_qd) == 1)
		assert_memory_equal(answer.bytes + NS_HFIXEDSZ, query.bytes + NS_HFIXEDSZ,
		                    question.asked_size);
	return message;
}

static ns_msg reply(const struct dns_reply *with, int rcode)
{
	assert_true(reply_into(with, question.udp_size) > 0);
	assert_false(flags_of(&answer) & 0x0200);
	return read_answer(rcode);
}

static ns_rr record_of(ns_msg *message, ns_sect section, int number)
{
	ns_rr record;

	assert_int_equal(ns_parserr(message, section, number, &record), 0);
	return record;
}

/* The OPT record at the end. Its options, which need no more than `size` bytes, into `options`. RFC
 * 6891, section 6.1.2 */
static size_t read_opt(ns_msg *message, int rcode, bool is_dnssec_ok, uint8_t *options, size_t size)
{
	ns_rr opt = record_of(message, ns_s_ar, 0);

	assert_string_equal(opt.name, "");
	assert_int_equal(opt.type, ns_t_opt);
	assert_int_equal(opt.rr_class, DNS_UDP_SIZE_MAX);
	assert_int_equal(opt.ttl, (unsigned)rcode >> 4 << 24 | (is_dnssec_ok ? 0x8000 : 0));
	assert_in_range(opt.rdlength, 0, size);
	memcpy(options, opt.rdata, opt.rdlength);
	return opt.rdlength;
}

static const struct in6_addr v4[] = {{.s6_addr = {[10] = 255, 255, 198, 18, 0, 16}},
                                     {.s6_addr = {[10] = 255, 255, 198, 19, 255, 255}}};
static const struct in6_addr v6[] = {{.s6_addr = {0xfd, 1, 2, 3, [15] = 16}},
                                     {.s6_addr = {0xfd, 1, 2, 3, [13] = 1, [15] = 17}}};

static struct dns_reply addresses(const struct in6_addr *of, size_t count)
{
	struct dns_reply with = {.kind = DNS_ADDRESSES, .ttl_s = 60, .addresses_count = count};

	memcpy(with.addresses, of, count * sizeof *of);
	return with;
}

#define HEADER(flags, additional) "\x12\x34" flags "\0\1\0\0\0\0\0" additional
#define EXAMPLE(type)             "\7example\3net\0\0" type "\0\1"
#define BYTES(text)               (const uint8_t *)(text), sizeof(text) - 1

static const struct {
	const char *who;
	const uint8_t *bytes;
	size_t size;
	const char *name;
	uint16_t type, flags, udp_size;
	bool has_edns, is_dnssec_ok;
} asked[] = {
	{"glibc", BYTES(HEADER("\1\0", "\0") EXAMPLE("\1")), "example.net", ns_t_a, 0x0100, 512},
	{"glibc, options edns0 trust-ad",
         BYTES(HEADER("\1\x20", "\1") EXAMPLE("\34") "\0\0\51\4\xb0\0\0\0\0\0\0"), "example.net",
         ns_t_aaaa, 0x0100, 1200, true},
	{"musl", BYTES(HEADER("\1\0", "\0") EXAMPLE("\34")), "example.net", ns_t_aaaa, 0x0100, 512},
	{"c-ares 1.18", BYTES(HEADER("\1\0", "\0") "\3www" EXAMPLE("\1")), "www.example.net",
         ns_t_a, 0x0100, 512},
	{"c-ares 1.34, Node's dns.resolve(): with a cookie",
         BYTES(HEADER("\1\0", "\1") EXAMPLE("\1") "\0\0\51\4\xd0\0\0\0\0\0\14\0\12\0\10abcdefgh"),
         "example.net", ns_t_a, 0x0100, 1232, true},
	{"dig",
         BYTES(HEADER("\1\x20", "\1")
                       EXAMPLE("\20") "\0\0\51\4\xd0\0\0\0\0\0\14\0\12\0\10\1\2\3\4\5\6\7\10"),
         "example.net", ns_t_txt, 0x0100, 1232, true},
	{"dig +dnssec +cdflag +norecurse",
         BYTES(HEADER("\0\x30", "\1") EXAMPLE("\1") "\0\0\51\4\xd0\0\0\x80\0\0\0"), "example.net",
         ns_t_a, 0x0010, 1232, true, true},
	{"dig -x",
         BYTES(HEADER("\1\x20", "\0") "\00216\0010\00218\003198\7in-addr\4arpa\0\0\14\0\1"),
         "16.0.18.198.in-addr.arpa", ns_t_ptr, 0x0100, 512},
	{"systemd-resolved", BYTES(HEADER("\1\0", "\1") EXAMPLE("\1") "\0\0\51\2\0\0\0\0\0\0\0"),
         "example.net", ns_t_a, 0x0100, 512, true},
	{"systemd-resolved with DNSSEC",
         BYTES(HEADER("\1\0", "\1") EXAMPLE("\60") "\0\0\51\5\xc0\0\0\x80\0\0\0"), "example.net",
         48, 0x0100, 1232, true, true},
	{"Go", BYTES(HEADER("\1\0", "\1") EXAMPLE("\34") "\0\0\51\4\xd0\0\0\0\0\0\0"),
         "example.net", ns_t_aaaa, 0x0100, 1232, true},
	{"a browser", BYTES(HEADER("\1\0", "\0") EXAMPLE("\101")), "example.net", TYPE_HTTPS,
         0x0100, 512},
	{"unbound with use-caps-for-id",
         BYTES(HEADER("\0\x10", "\1") "\7eXAmPLe\3NEt\0\0\1\0\1\0\0\51\4\xd0\0\0\x80\0\0\0"),
         "example.net", ns_t_a, 0x0010, 1232, true, true},
	{"a service's name", BYTES(HEADER("\1\0", "\0") "\5_http\4_tcp" EXAMPLE("\41")),
         "_http._tcp.example.net", ns_t_srv, 0x0100, 512},
};

TEST(queries_of_real_resolvers_are_understood)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		query.size = 0;
		add(asked[i].bytes, asked[i].size);
		print_message("%s\n", asked[i].who);
		assert_int_equal(parse(), 0);
		assert_int_equal(question.id, 0x1234);
		assert_int_equal(question.flags, asked[i].flags);
		assert_int_equal(question.type, asked[i].type);
		assert_int_equal(question.udp_size, asked[i].udp_size);
		assert_int_equal(question.has_edns, asked[i].has_edns);
		assert_int_equal(question.is_dnssec_ok, asked[i].is_dnssec_ok);
		assert_true(question.is_name_valid);
		assert_string_equal(question.name, asked[i].name);
		(void)reply(&(struct dns_reply){.kind = DNS_NODATA, .ttl_s = 5}, 0);
	}
}

TEST(what_the_c_library_asks_is_understood_whatever_the_type)
{
	static const int types[] = {ns_t_a,  ns_t_aaaa, ns_t_ptr,   TYPE_HTTPS, TYPE_SVCB, ns_t_txt,
	                            ns_t_mx, ns_t_any,  ns_t_cname, ns_t_ns,    ns_t_soa};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int size = res_mkquery(ns_o_query, "Registry.Example.NET", ns_c_in, types[i], NULL,
		                       0, NULL, query.bytes, sizeof query.bytes);

		assert_in_range(size, NS_HFIXEDSZ, 512);
		query.size = (size_t)size;
		assert_int_equal(parse(), 0);
		assert_int_equal(question.type, types[i]);
		assert_string_equal(question.name, "registry.example.net");
		(void)reply(&(struct dns_reply){.kind = DNS_NODATA, .ttl_s = 5}, 0);
	}
}

TEST(answers_and_scraps_are_dropped)
{
	add_header(0x8180, 1, 0, 0, 0);
	add_question("example.net", ns_t_a);
	assert_int_equal(parse(), -EBADMSG);
	add_header(0x0100, 0, 0, 0, 0);
	for (query.size = 0; query.size < NS_HFIXEDSZ; query.size++)
		assert_int_equal(parse(), -EBADMSG);
	assert_int_equal(dns_parse(query.bytes, NS_MAXMSG + 1, &question), -EBADMSG);
}

/* What dns_parse() refuses can be answered with no more than what it has found out. */
static void expect_refusal(int rcode, bool has_question)
{
	ns_msg message;

	assert_int_equal(parse(), rcode);
	assert_int_equal(question.asked_size > 0, has_question);
	message = reply(&(struct dns_reply){.kind = DNS_RCODE, .rcode = rcode}, rcode);
	assert_int_equal(ns_msg_count(message, ns_s_qd), has_question);
	assert_int_equal(ns_msg_count(message, ns_s_an) + ns_msg_count(message, ns_s_ns), 0);
}

TEST(other_opcodes_are_not_implemented)
{
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		add_header(0x0110 | opcode << 11, 1, 0, 0, 0);
		add_question("example.net", ns_t_a);
		expect_refusal(ns_r_notimpl, false);
		query.size -= 5; /* whatever follows */
		expect_refusal(ns_r_notimpl, false);
	}
}

TEST(a_query_has_one_question_and_no_records)
{
	static const struct {
		unsigned questions, answers, authorities, additional;
	} wrong[] = {{0},          {2},     {1, 1},
	             {1, 0, 1},    {0, 1},  {0, 0, 0, 1},
	             {1, 0, 0, 3}, {65535}, {1, 65535, 65535, 65535}};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		add_header(0x0100, wrong[i].questions, wrong[i].answers, wrong[i].authorities,
		           wrong[i].additional);
		for (unsigned j = 0; j < wrong[i].questions && j < 100; j++)
			add_question("example.net", ns_t_a);
		for (unsigned j = 0;
		     j < wrong[i].answers + wrong[i].authorities + wrong[i].additional && j < 100;
		     j++)
			add_record("example.net", ns_t_a, ns_c_in, 0, 60, 4);
		expect_refusal(ns_r_formerr, false);
	}
	add_header(0x0100, 1, 0, 0, 0);
	add_question("example.net", ns_t_a);
	add("x", 1); /* nor anything after it */
	expect_refusal(ns_r_formerr, false);
}

TEST(a_compressed_question_is_malformed)
{
	static const struct {
		const char *name;
		size_t size;
	} wrong[] = {
		{"\xc0\x0c", 2},         /* itself */
		{"\1a\xc0\x0c", 4},      /* a loop with a label */
		{"\xc0\x0e\xc0\x0c", 4}, /* a loop of two: what follows is the type */
		{"\xc0\x00", 2},
		{"\xc0\x04", 2},      /* the header: an empty name, in which counts are zero */
		{"\xc0\x0b", 2},      /* its last byte */
		{"\3www\xc0\x0b", 6}, /* which ends a name */
		{"\xc0\x12", 2},      /* what follows: the record's name */
		{"\xc0\xff", 2},
		{"\xff\xff", 2},    /* nothing */
		{"\x3\x61\x62", 3}, /* a label to the end of it */
		{"\x40"
	         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0",
	         66},             /* 64 bytes, or a label of RFC 2673 */
		{"\x80\1a\0", 4}, /* a kind of label that there is not */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		add_header(0x0100, 1, 0, 0, 1);
		add(wrong[i].name, wrong[i].size);
		add_16(ns_t_a);
		add_16(ns_c_in);
		add_opt(512, 0, 0);
		expect_refusal(ns_r_formerr, false);
	}
}

/* Labels of 63 bytes, and one of as many as are needed. */
static const char *name_of(size_t length)
{
	static char name[NS_MAXDNAME];

	for (size_t i = 0; i < length; i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	name[length] = '\0';
	return name;
}

TEST(a_name_has_253_letters_and_a_label_63)
{
	for (size_t length = 1; length < 300; length++) {
		if (length % 64 == 0)
			continue; /* it would end with a dot */
		add_header(0x0100, 1, 0, 0, 0);
		add_question(name_of(length), ns_t_a);
		if (length > DNS_NAME_MAX) {
			expect_refusal(ns_r_formerr, false);
			continue;
		}
		assert_int_equal(parse(), 0);
		assert_true(question.is_name_valid);
		assert_string_equal(question.name, name_of(length));
		(void)reply(&(struct dns_reply){.kind = DNS_NXDOMAIN, .ttl_s = 5}, ns_r_nxdomain);
	}
}

static void expect_validity(bool is_valid)
{
	assert_int_equal(parse(), 0);
	assert_int_equal(question.is_name_valid, is_valid);
	assert_int_equal(question.name[0] != '\0', is_valid);
	(void)reply(&(struct dns_reply){.kind = DNS_NXDOMAIN, .ttl_s = 5}, ns_r_nxdomain);
}

TEST(names_that_no_rule_can_allow_are_told_apart)
{
	static const char *const wrong[] = {
		"",           "a b.net",  "a\\.net",      "*.net", "@.net", "a@b.net",   "a/.net",
		"a:.net",     "\x7f.net", "\xc3\xa4.net", "1",     "127.1", "127.0.0.1", "0x7f",
		"2130706433", "0177.0",   "a.0x7F",       "0X",    "0x",    "a.net.0"};
	static const char *const right[] = {"0x7g", "127.0.0.1a", "1.a", "a-", "-", "_", "1-1"};
	static const uint8_t dot[] = "\3a.b\3net\0\0\1\0", nothing[] = "\3a\0b\3net\0\0\1\0",
			     last[] = "\3net\1\0\0\0\1\0";

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		(void)ask(wrong[i], ns_t_a);
		expect_validity(false);
	}
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		(void)ask(right[i], ns_t_a);
		expect_validity(true);
		assert_string_equal(question.name, right[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		add_header(0x0100, 1, 0, 0, 0);
		add((const uint8_t *const[]){dot, nothing, last}[i],
		    (const size_t[]){sizeof dot, sizeof nothing, sizeof last}[i] - 1);
		add("\1", 1);
		expect_validity(false);
	}
}

TEST(a_query_cut_anywhere_is_malformed)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		for (size_t size = 0; size < asked[i].size; size++) {
			query.size = 0;
			add(asked[i].bytes, size);
			if (size < NS_HFIXEDSZ)
				assert_int_equal(parse(), -EBADMSG);
			else
				expect_refusal(ns_r_formerr, false);
		}
	}
}

TEST(of_edns_the_size_and_a_bit_are_heard)
{
	static const struct {
		unsigned said, heard;
	} sizes[] = {{0, 512},     {511, 512},   {512, 512},   {513, 513},
	             {1231, 1231}, {1232, 1232}, {1233, 1232}, {65535, 1232}};
	uint8_t options[1];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		bool is_dnssec_ok = i % 2 != 0;
		ns_msg message;

		add_header(0x0100, 1, 0, 0, 2);
		add_question("example.net", ns_t_a);
		add_opt(sizes[i].said, 0, is_dnssec_ok ? 0xffff : 0x7fff);
		add_record("a.key", ns_t_tsig, ns_c_any, 0, 0, 20);
		assert_int_equal(parse(), 0);
		assert_int_equal(question.udp_size, sizes[i].heard);
		message = reply(&(struct dns_reply){.kind = DNS_SERVFAIL}, ns_r_servfail);
		assert_int_equal(
			read_opt(&message, ns_r_servfail, is_dnssec_ok, options, sizeof options),
			0);
	}
}

TEST(other_versions_of_edns_are_told_the_one_there_is)
{
	uint8_t options[1];

	for (unsigned version = 1; version < 256; version++) {
		ns_msg message;

		add_header(0x0100, 1, 0, 0, 1);
		add_question("example.net", ns_t_a);
		add_opt(1232, version, 0);
		expect_refusal(ns_r_badvers, true);
		message = read_answer(ns_r_badvers);
		assert_int_equal(read_opt(&message, ns_r_badvers, false, options, sizeof options),
		                 0);
	}
}

TEST(a_misplaced_opt_is_malformed)
{
	add_header(0x0100, 1, 0, 0, 2);
	add_question("example.net", ns_t_a);
	add_opt(1232, 0, 0);
	add_opt(1232, 0, 0);
	expect_refusal(ns_r_formerr, true);
	add_header(0x0100, 1, 0, 0, 1);
	add_question("example.net", ns_t_a);
	add_record("a", ns_t_opt, 1232, 0, 0, 0);
	expect_refusal(ns_r_formerr, true);
	assert_int_equal(ask("example.net", ns_t_opt), ns_r_formerr);
	expect_refusal(ns_r_formerr, true);
}

TEST(other_classes_and_transfers_are_refused)
{
	static const unsigned classes[] = {0, 2, ns_c_chaos, ns_c_hs, ns_c_none, ns_c_any, 65535};
	static const unsigned types[] = {128,       ns_t_tkey,  ns_t_tsig, ns_t_ixfr,
	                                 ns_t_axfr, ns_t_mailb, ns_t_maila};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		add_header(0x0100, 1, 0, 0, 0);
		add_name("version.bind");
		add_16(ns_t_txt);
		add_16(classes[i]);
		expect_refusal(ns_r_refused, true);
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		(void)ask("example.net", types[i]);
		expect_refusal(ns_r_refused, true);
	}
}

TEST(addresses_are_answered)
{
	static const struct {
		unsigned type;
		const struct in6_addr *of;
		size_t size;
	} kinds[] = {{ns_t_a, v4, 4}, {ns_t_aaaa, v6, 16}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct dns_reply with = addresses(kinds[i].of, 2);
		ns_msg message;

		assert_int_equal(ask("eXample.NET", kinds[i].type), 0);
		message = reply(&with, 0);
		assert_int_equal(ns_msg_count(message, ns_s_qd), 1);
		assert_int_equal(ns_msg_count(message, ns_s_an), 2);
		assert_int_equal(ns_msg_count(message, ns_s_ns), 0);
		for (int j = 0; j < 2; j++) {
			ns_rr record = record_of(&message, ns_s_an, j);

			assert_string_equal(record.name, "eXample.NET"); /* as it was asked */
			assert_int_equal(record.type, kinds[i].type);
			assert_int_equal(record.rr_class, ns_c_in);
			assert_int_equal(record.ttl, 60);
			assert_int_equal(record.rdlength, kinds[i].size);
			assert_memory_equal(record.rdata,
			                    (const uint8_t *)&kinds[i].of[j + 1] - kinds[i].size,
			                    kinds[i].size);
		}
	}
}

TEST(the_most_that_is_ever_answered_fits_the_smallest_datagram)
{
	static struct in6_addr many[DNS_ADDRESSES_MAX];
	struct dns_reply with = addresses(many, DNS_ADDRESSES_MAX);

	assert_int_equal(ask_with_edns(name_of(DNS_NAME_MAX), ns_t_aaaa), 0);
	question.udp_size = DNS_UDP_SIZE;
	(void)reply(&with, 0);
	with = (struct dns_reply){.kind = DNS_NAME, .name = name_of(DNS_NAME_MAX)};
	assert_int_equal(ask_with_edns(name_of(200), ns_t_ptr), 0);
	question.udp_size = DNS_UDP_SIZE;
	(void)reply(&with, 0);
}

TEST(a_name_is_answered)
{
	char name[NS_MAXDNAME];
	ns_msg message;
	ns_rr record;

	for (size_t length = 1; length <= DNS_NAME_MAX; length += 4) {
		assert_int_equal(ask("16.0.18.198.in-addr.arpa", ns_t_ptr), 0);
		message = reply(
			&(struct dns_reply){.kind = DNS_NAME, .ttl_s = 60, .name = name_of(length)},
			0);
		assert_int_equal(ns_msg_count(message, ns_s_an), 1);
		record = record_of(&message, ns_s_an, 0);
		assert_int_equal(record.type, ns_t_ptr);
		assert_int_equal(record.ttl, 60);
		assert_int_equal(dn_expand(answer.bytes, answer.bytes + answer.size, record.rdata,
		                           name, sizeof name),
		                 record.rdlength);
		assert_string_equal(name, name_of(length));
	}
}

/* So resolvers remember it: the zone's name is one that has the name in question in it, and the
 * last number is how long. RFC 2308 */
static void expect_soa(ns_msg *message, uint32_t ttl_s)
{
	ns_rr soa;

	assert_int_equal(ns_msg_count(*message, ns_s_an), 0);
	assert_int_equal(ns_msg_count(*message, ns_s_ns), 1);
	soa = record_of(message, ns_s_ns, 0);
	assert_int_equal(soa.type, ns_t_soa);
	assert_int_equal(soa.rr_class, ns_c_in);
	assert_true(strcasecmp(soa.name, question.name) == 0);
	assert_int_equal(soa.ttl, ttl_s);
	assert_int_equal(soa.rdlength, 2 + 5 * 4); /* two names of the root */
	assert_int_equal(soa.rdata[0] + soa.rdata[1], 0);
	assert_int_equal(ns_get32(soa.rdata + soa.rdlength - 4), ttl_s);
}

TEST(what_does_not_exist_is_remembered)
{
	ns_msg message;
	uint8_t options[1];

	assert_int_equal(ask("example.net", ns_t_mx), 0);
	message = reply(&(struct dns_reply){.kind = DNS_NODATA, .ttl_s = 30}, 0);
	expect_soa(&message, 30);
	message = reply(
		&(struct dns_reply){.kind = DNS_NXDOMAIN, .ttl_s = 10, .prohibited = "not allowed"},
		ns_r_nxdomain);
	expect_soa(&message, 10);
	assert_int_equal(ask_with_edns("example.net", ns_t_mx), 0);
	message = reply(&(struct dns_reply){.kind = DNS_NXDOMAIN, .ttl_s = UINT32_MAX},
	                ns_r_nxdomain);
	expect_soa(&message, UINT32_MAX);
	assert_int_equal(read_opt(&message, 0, false, options, sizeof options), 0);
}

TEST(a_prohibited_name_is_said_to_be_one)
{
	static const char said[] = "\0\17\0\15\0\22not allowed";
	uint8_t options[sizeof said - 1];
	ns_msg message;

	assert_int_equal(ask_with_edns("example.net", ns_t_a), 0);
	message = reply(
		&(struct dns_reply){.kind = DNS_NXDOMAIN, .ttl_s = 10, .prohibited = "not allowed"},
		ns_r_nxdomain);
	expect_soa(&message, 10);
	assert_int_equal(read_opt(&message, 0, false, options, sizeof options), sizeof options);
	assert_memory_equal(options, said, sizeof options);
	/* and nothing else is */
	message = reply(
		&(struct dns_reply){.kind = DNS_NODATA, .ttl_s = 10, .prohibited = "not allowed"},
		0);
	assert_int_equal(read_opt(&message, 0, false, options, sizeof options), 0);
}

TEST(a_failure_has_no_records)
{
	ns_msg message;

	assert_int_equal(ask("example.net", ns_t_a), 0);
	message = reply(&(struct dns_reply){.kind = DNS_SERVFAIL, .ttl_s = 10}, ns_r_servfail);
	assert_int_equal(ns_msg_count(message, ns_s_qd), 1);
	assert_int_equal(ns_msg_count(message, ns_s_an) + ns_msg_count(message, ns_s_ns), 0);
}

/* Into every size: what is left out is left out as a whole, and that is said. */
static void expect_truncation(const struct dns_reply *with, int rcode)
{
	size_t whole = reply_into(with, NS_MAXMSG),
	       minimum = NS_HFIXEDSZ + question.asked_size + (question.has_edns ? 11 : 0);
	ns_msg message = read_answer(rcode);
	int records = ns_msg_count(message, ns_s_an) + ns_msg_count(message, ns_s_ns);

	for (size_t size = 0; size <= whole; size++) {
		size_t used = reply_into(with, size);
		bool has_edns = question.has_edns;
		int count;

		assert_int_equal(used > 0, size >= NS_HFIXEDSZ);
		if (used == 0)
			continue;
		question.has_edns = has_edns && size >= NS_HFIXEDSZ + 11;
		message = read_answer(rcode);
		question.has_edns = has_edns;
		count = ns_msg_count(message, ns_s_an) + ns_msg_count(message, ns_s_ns);
		assert_int_equal(ns_msg_count(message, ns_s_qd), size >= minimum);
		assert_true(count == 0 || count == records);
		assert_int_equal((flags_of(&answer) & 0x0200) != 0,
		                 count != records || ns_msg_count(message, ns_s_qd) == 0);
		if (with->kind != DNS_NXDOMAIN) /* whose option is left out before all else */
			assert_int_equal(used == whole, size == whole);
	}
}

TEST(what_does_not_fit_is_said_to_be_missing)
{
	const struct dns_reply of_any[] = {{.kind = DNS_NODATA},
	                                   {.kind = DNS_NXDOMAIN, .prohibited = "not allowed"},
	                                   {.kind = DNS_SERVFAIL},
	                                   {.kind = DNS_RCODE, .rcode = ns_r_refused}};
	static const int rcodes[] = {0, ns_r_nxdomain, ns_r_servfail, ns_r_refused};
	struct dns_reply with = addresses(v4, 2);

	for (int has_edns = 0; has_edns < 2; has_edns++) {
		int (*with_or_without)(const char *, unsigned) = has_edns ? ask_with_edns : ask;

		assert_int_equal(with_or_without("example.net", ns_t_a), 0);
		for (size_t i = 0; i < ARRAY_SIZE(of_any); i++)
			expect_truncation(&of_any[i], rcodes[i]);
		expect_truncation(&with, 0);
		assert_int_equal(with_or_without("example.net", ns_t_ptr), 0);
		expect_truncation(&(struct dns_reply){.kind = DNS_NAME, .name = "www.example.net"},
		                  0);
	}
}

#define ZEROS_31 "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."

TEST(reverse_names_are_addresses)
{
	static const struct {
		const char *name, *address;
	} good[] = {
		{"16.0.18.198.in-addr.arpa", "::ffff:198.18.0.16"},
		{"255.255.19.198.in-addr.arpa", "::ffff:198.19.255.255"},
		{"0.0.0.0.in-addr.arpa", "::ffff:0.0.0.0"},
		{"1." ZEROS_31 "ip6.arpa", "::1"},
		{"f.e.d.c.b.a.9.8.7.6.5.4.3.2.1.0.f.e.d.c.b.a.9.8.7.6.5.4.3.2.d.f.ip6.arpa",
	         "fd23:4567:89ab:cdef:123:4567:89ab:cdef"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct in6_addr address, expected;

		assert_int_equal(inet_pton(AF_INET6, good[i].address, &expected), 1);
		assert_true(dns_reverse(good[i].name, &address));
		assert_memory_equal(&address, &expected, sizeof address);
	}
}

TEST(other_names_are_none)
{
	static const char *const wrong[] = {"",
	                                    "arpa",
	                                    "in-addr.arpa",
	                                    ".in-addr.arpa",
	                                    "ip6.arpa",
	                                    ".ip6.arpa",
	                                    "example.net",
	                                    "16.0.18.198",
	                                    "0.18.198.in-addr.arpa",
	                                    "18.198.in-addr.arpa",
	                                    "198.in-addr.arpa",
	                                    "1.16.0.18.198.in-addr.arpa",
	                                    "256.0.18.198.in-addr.arpa",
	                                    "016.0.18.198.in-addr.arpa",
	                                    "0x1.0.18.198.in-addr.arpa",
	                                    "-1.0.18.198.in-addr.arpa",
	                                    "1.0.18..in-addr.arpa",
	                                    "a.0.18.198.in-addr.arpa",
	                                    "16.0.18.198.in-addr.arpa.net",
	                                    "16.0.18.198xin-addr.arpa",
	                                    "1111.2222.3333.4444.in-addr.arpa",
	                                    ZEROS_31 "ip6.arpa",
	                                    "1." ZEROS_31 "0.ip6.arpa",
	                                    "g." ZEROS_31 "ip6.arpa",
	                                    "." ZEROS_31 "0ip6.arpa",
	                                    "10" ZEROS_31 "ip6.arpa",
	                                    "1" ZEROS_31 ".ip6.arpa",
	                                    "A." ZEROS_31 "ip6.arpa",
	                                    "1." ZEROS_31 "ip6.arpa.net",
	                                    "1-" ZEROS_31 "ip6.arpa",
	                                    "8.b.d.0.1.0.0.2.ip6.arpa"};
	struct in6_addr address;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(dns_reverse(wrong[i], &address));
	assert_false(dns_reverse(name_of(DNS_NAME_MAX), &address));
}

TEST_MAIN(NULL, NULL)
