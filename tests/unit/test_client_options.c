/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of options of other versions of the library: what is too short, too long, or has no size.
 */
#include <stdlib.h>
#include <string.h>

#include "libclient/options.h"
#include "tests/support/testing.h"

static const struct sized_kind *const kinds[] = {
	&options_connect, &options_share,  &options_tmpfs, &options_sandbox,
	&options_command, &options_follow, &options_copy};

/* The bytes of a program's struct, which is `more` longer than ours. */
static unsigned char *make(const struct sized_kind *kind, size_t size, size_t more)
{
	unsigned char *bytes = calloc(1, kind->size + more);

	memcpy(bytes, &size, sizeof size);
	return bytes;
}

TEST(a_struct_without_a_size_is_named)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const size_t sizes[] = {0, 4097, SIZE_MAX};

		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
			unsigned char *bytes = make(kinds[i], sizes[j], 0),
				      *taken = malloc(kinds[i]->size);
			struct yett_error error = {0};

			assert_int_equal(sized_take(kinds[i], bytes, taken, &error),
			                 YETT_E_INVALID_REQUEST);
			assert_non_null(strstr(error.message, kinds[i]->name));
			assert_non_null(strstr(error.message, "has no size"));
			free(bytes);
			free(taken);
		}
	}
}

TEST(a_struct_shorter_than_its_first_version_is_refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned char *bytes = make(kinds[i], kinds[i]->first - 1, 0),
			      *taken = malloc(kinds[i]->size);
		struct yett_error error = {0};

		assert_int_equal(sized_take(kinds[i], bytes, taken, &error),
		                 YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(error.message, kinds[i]->name));
		assert_non_null(strstr(error.message, "never as small"));
		free(bytes);
		free(taken);
	}
}

TEST(a_longer_struct_is_taken_unless_something_unknown_is_set)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned char *bytes = make(kinds[i], kinds[i]->size + 24, 24),
			      *taken = malloc(kinds[i]->size);
		struct yett_error error = {0};

		assert_int_equal(sized_take(kinds[i], bytes, taken, &error), 0);
		for (size_t at = 0; at < 24; at += 23) {
			bytes[kinds[i]->size + at] = 1;
			assert_int_equal(sized_take(kinds[i], bytes, taken, &error),
			                 YETT_E_UNSUPPORTED);
			assert_non_null(strstr(error.message, kinds[i]->name));
			bytes[kinds[i]->size + at] = 0;
		}
		free(bytes);
		free(taken);
	}
}

/* As a library of later reads a program of today: what the program does not have is zero. */
TEST(what_a_shorter_struct_does_not_have_is_zero)
{
	const struct sized_kind later = {"yett_tmpfs", sizeof(struct yett_tmpfs) + 16,
	                                 sizeof(struct yett_tmpfs)};
	const struct yett_tmpfs tmpfs = {.size = sizeof tmpfs, .target = "/x", .size_bytes = 7};
	unsigned char taken[sizeof tmpfs + 16];
	struct yett_error error = {0};

	memset(taken, 0xff, sizeof taken);
	assert_int_equal(sized_take(&later, &tmpfs, taken, &error), 0);
	assert_memory_equal(taken, &tmpfs, sizeof tmpfs);
	for (size_t i = sizeof tmpfs; i < sizeof taken; i++)
		assert_int_equal(taken[i], 0);
	memset(taken, 0xff, sizeof taken);
	assert_int_equal(sized_take(&options_tmpfs, NULL, taken, &error), 0);
	for (size_t i = 0; i < sizeof tmpfs; i++)
		assert_int_equal(taken[i], 0);
}

TEST(elements_of_an_array_lie_as_far_apart_as_the_first_says)
{
	struct {
		struct yett_tmpfs known;
		uint64_t later;
	} array[3] = {{.known = {.size_bytes = 1}},
	              {.known = {.size_bytes = 2}},
	              {.known = {.size_bytes = 3}}};
	struct yett_tmpfs taken;
	struct yett_error error = {0};

	for (size_t i = 0; i < 3; i++)
		array[i].known.size = sizeof array[0];
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(sized_take_element(&options_tmpfs, array, i, &taken, &error), 0);
		assert_int_equal(taken.size_bytes, i + 1);
	}
	array[1].later = 1;
	assert_int_equal(sized_take_element(&options_tmpfs, array, 1, &taken, &error),
	                 YETT_E_UNSUPPORTED);
	array[2].known.size = sizeof taken;
	assert_int_equal(sized_take_element(&options_tmpfs, array, 2, &taken, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "element 2"));
}

TEST_MAIN(NULL, NULL)
