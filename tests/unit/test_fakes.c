/* SPDX-License-Identifier: Apache-2.0 */
/* Fake addresses: each stands for one name and for ever, there are 65,520 of them in each half, and
 * they cost what is said. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "programs/net/dns.h"
#include "programs/net/synthetic.h"
#include "tests/support/testing.h"

#define PREFIX "fd12:3456:789a:bcde::"

_Static_assert(SYNTHETIC_LENGTH_MAX == DNS_NAME_MAX,
               "every name that can be asked for can be given an address");

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

/* How many more times there is memory before there is none once. */
static unsigned allocations_left = UINT_MAX;

static bool is_short(void)
{
	return allocations_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return is_short() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_short() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	return is_short() ? NULL : __real_reallocarray(memory, count, size);
}

static struct in6_addr address_of(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static struct synthetic *make(unsigned half, bool has_ipv6)
{
	struct synthetic_options options = {
		.key = "a key of sixteen", .half = half, .has_ipv6 = has_ipv6};
	struct synthetic *names;

	if (has_ipv6)
		options.prefix = address_of(PREFIX);
	assert_int_equal(synthetic_new(&options, &names), 0);
	return names;
}

static uint32_t index_of(struct synthetic *names, const char *name)
{
	uint32_t index = 0, found = 0;

	assert_int_equal(synthetic_add(names, name, &index), 0);
	assert_true(synthetic_find(names, name, &found));
	assert_int_equal(found, index);
	return index;
}

static void expect_address(const struct synthetic *names, uint32_t index, int family,
                           const char *text)
{
	struct in6_addr expected = address_of(text), address;

	synthetic_address(names, index, family, &address);
	assert_memory_equal(&address, &expected, sizeof address);
}

/* NULL: nothing. */
static void expect_name(const struct synthetic *names, const char *address, const char *name)
{
	struct in6_addr bytes = address_of(address);
	const char *found = synthetic_by_address(names, &bytes);

	assert_int_equal(found != NULL, name != NULL);
	if (name)
		assert_string_equal(found, name);
}

TEST(without_names_nothing_is_found)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, true);
	uint32_t index = 7;

	assert_int_equal(synthetic_count(names), 0);
	assert_false(synthetic_find(names, "example.net", &index));
	assert_int_equal(index, 7);
	expect_name(names, "::ffff:198.18.0.16", NULL);
	expect_name(names, PREFIX "10", NULL);
	assert_in_range(synthetic_memory_bytes(names), 1, 256);
	synthetic_free(NULL);
}

TEST(a_name_keeps_its_index)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, true);

	assert_int_equal(index_of(names, "a.example.net"), SYNTHETIC_RESERVED);
	assert_int_equal(index_of(names, "b.example.net"), SYNTHETIC_RESERVED + 1);
	assert_int_equal(index_of(names, "a.example.net"), SYNTHETIC_RESERVED);
	assert_int_equal(index_of(names, "example.net"), SYNTHETIC_RESERVED + 2);
	assert_int_equal(index_of(names, "a"), SYNTHETIC_RESERVED + 3);
	assert_int_equal(synthetic_count(names), 4);
}

TEST(the_first_half_begins_at_198_18)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, true);

	(void)index_of(names, "a.example.net");
	(void)index_of(names, "b.example.net");
	expect_address(names, 16, AF_INET, "::ffff:198.18.0.16");
	expect_address(names, 17, AF_INET, "::ffff:198.18.0.17");
	expect_address(names, 16, AF_INET6, PREFIX "10");
	expect_address(names, 17, AF_INET6, PREFIX "11");
	expect_name(names, "::ffff:198.18.0.16", "a.example.net");
	expect_name(names, "::ffff:198.18.0.17", "b.example.net");
	expect_name(names, PREFIX "10", "a.example.net");
	expect_name(names, PREFIX "11", "b.example.net");
}

TEST(the_second_half_has_other_addresses)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(1, true);

	(void)index_of(names, "a.example.net");
	expect_address(names, 16, AF_INET, "::ffff:198.19.0.16");
	expect_address(names, 16, AF_INET6, PREFIX "1:10");
	expect_name(names, "::ffff:198.19.0.16", "a.example.net");
	expect_name(names, PREFIX "1:10", "a.example.net");
	expect_name(names, "::ffff:198.18.0.16",
	            NULL); /* an address that a program had of the front before */
	expect_name(names, PREFIX "10", NULL);
}

TEST(addresses_that_stand_for_nothing_have_no_name)
{
	static const char *const others[] = {
		"::ffff:198.18.0.0",
		"::ffff:198.18.0.1",
		"::ffff:198.18.0.2",
		"::ffff:198.18.0.15",
		"::ffff:198.18.0.17",
		"::ffff:198.19.0.16",
		"::ffff:198.17.0.16",
		"::ffff:0.0.0.16",
		"::ffff:127.0.0.1",
		"::ffff:255.255.255.255",
		"::198.18.0.16",
		"::10",
		"::",
		"64:ff9b::198.18.0.16", /* an IPv4 address in it or not */
		PREFIX,
		PREFIX "1",
		PREFIX "f",
		PREFIX "11",
		PREFIX "1:10",
		PREFIX "1:0:10",
		"fd12:3456:789a:bcde:1::10",
		"fd12:3456:789a:bcdf::10",
		"fe80::10",
		PREFIX "ffff:198.18.0.16",
	};
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, true),
						    *without = make(0, false);

	(void)index_of(names, "example.net");
	(void)index_of(without, "example.net");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		expect_name(names, others[i], NULL);
		expect_name(without, others[i], NULL);
	}
	expect_name(without, PREFIX "10", NULL);
	expect_name(without, "::10", NULL); /* the prefix of who has none is not that of zeros */
	expect_name(without, "::ffff:198.18.0.16", "example.net");
}

/* A different one for each number, of that length. */
static const char *name_of(uint32_t number, size_t length)
{
	static char name[SYNTHETIC_LENGTH_MAX + 1];

	memset(name, 'a', length);
	(void)snprintf(name, sizeof name, "%05u", number);
	if (length > 5)
		name[5] = '-';
	name[length] = '\0';
	return name;
}

static size_t length_of(uint32_t number, size_t length)
{
	/* Of names of 0 bytes: those that leave the most of each block, 31 times 254 bytes and a
	 * little, and then one that no longer fits.
	 */
	return length > 0 ? length : number % 33 == 31 ? 70 : SYNTHETIC_LENGTH_MAX;
}

static void fill(struct synthetic *names, unsigned half, size_t length)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < SYNTHETIC_MAX; i++) {
		const char *name = name_of(i, length_of(i, length));
		uint32_t index;

		bytes += strlen(name);
		assert_int_equal(synthetic_add(names, name, &index), 0);
		assert_int_equal(index, SYNTHETIC_RESERVED + i);
		assert_in_range(synthetic_memory_bytes(names), bytes,
		                bytes + SYNTHETIC_EACH_MAX * (i + 1) + 10240);
	}
	assert_in_range(synthetic_memory_bytes(names), 1, SYNTHETIC_BYTES_MAX);
	for (uint32_t i = 0; i < SYNTHETIC_MAX; i++) {
		const char *name = name_of(i, length_of(i, length));
		struct in6_addr address;

		synthetic_address(names, SYNTHETIC_RESERVED + i, i % 2 == 0 ? AF_INET : AF_INET6,
		                  &address);
		assert_int_equal(ntohl(address.s6_addr32[3]) & 0x1ffff,
		                 half << 16 | (SYNTHETIC_RESERVED + i));
		assert_string_equal(synthetic_by_address(names, &address), name);
		assert_int_equal(index_of(names, name), SYNTHETIC_RESERVED + i);
	}
}

TEST(each_half_is_full_after_65520_names_of_any_length)
{
	static const size_t lengths[] = {5, 24, 0, SYNTHETIC_LENGTH_MAX};

	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_(synthetic_freep) struct synthetic *names = make(i % 2, true);
		uint32_t index = 7;

		fill(names, i % 2, lengths[i]);
		assert_int_equal(synthetic_count(names), 65520);
		assert_int_equal(synthetic_add(names, "one.too.many", &index), -ENOSPC);
		assert_false(synthetic_find(names, "one.too.many", &index));
		assert_int_equal(index, 7);
		assert_int_equal(index_of(names, name_of(0, length_of(0, lengths[i]))),
		                 SYNTHETIC_RESERVED); /* what is there is still found */
		expect_name(names, i % 2 == 0 ? "::ffff:198.18.255.255" : "::ffff:198.19.255.255",
		            name_of(65519, length_of(65519, lengths[i])));
		expect_name(names, i % 2 == 0 ? "::ffff:198.19.0.0" : "::ffff:198.20.0.0", NULL);
		expect_name(names, i % 2 == 0 ? PREFIX "1:0" : PREFIX "2:0", NULL);
	}
}

TEST(a_text_stays_where_it_is)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, false);
	struct in6_addr address = address_of("::ffff:198.18.0.16");
	const char *first;

	(void)index_of(names, "example.net");
	first = synthetic_by_address(names, &address);
	for (uint32_t i = 0; i < 5000; i++)
		(void)index_of(names, name_of(i, 100));
	assert_ptr_equal(synthetic_by_address(names, &address), first);
	assert_string_equal(first, "example.net");
}

TEST(without_memory_nothing_changes)
{
	_cleanup_(synthetic_freep) struct synthetic *names = make(0, false);
	unsigned failed = 0;

	for (uint32_t i = 0; i < 5000; i++) {
		const char *name = name_of(i, 100);
		uint32_t index = 7;

		for (allocations_left = 0; synthetic_add(names, name, &index) < 0;
		     allocations_left = ++failed % 8) {
			assert_int_equal(index, 7);
			assert_int_equal(synthetic_count(names), i);
			assert_false(synthetic_find(names, name, &index));
		}
		allocations_left = UINT_MAX;
		assert_int_equal(index_of(names, name), SYNTHETIC_RESERVED + i);
		assert_int_equal(index_of(names, name_of(i / 2, 100)), SYNTHETIC_RESERVED + i / 2);
	}
	assert_in_range(failed, 5000 * 101 / 8192, 5000);
}

TEST(without_memory_none_are_made)
{
	struct synthetic *names = NULL;
	int r;

	allocations_left = 0;
	r = synthetic_new(&(struct synthetic_options){0}, &names);
	allocations_left = UINT_MAX;
	assert_int_equal(r, -ENOMEM);
	assert_null(names);
}

TEST_MAIN(NULL, NULL)
