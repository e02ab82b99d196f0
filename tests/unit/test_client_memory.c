/* SPDX-License-Identifier: Apache-2.0 */
/* What memory_free() frees: run with valgrind or a sanitizer, this says that nothing is lost or
 * freed twice. */
#include <string.h>

#include "base/memory.h"
#include "tests/support/testing.h"

TEST(what_belongs_to_a_block_goes_with_it)
{
	const char *const texts[] = {"one", "two", "three"};

	for (int i = 0; i < 1000; i++) {
		char *block = memory_new(10);
		char **list = memory_add_list(block, texts, 3),
		     *text = memory_add_text(block, "text");

		assert_string_equal(list[2], "three");
		assert_null(list[3]);
		assert_string_equal(text, "text");
		assert_int_equal((uintptr_t)text % _Alignof(max_align_t), 0);
		for (size_t j = 0; j < 10; j++)
			assert_int_equal(block[j], 0);
		memory_free(block);
	}
	memory_free(NULL);
}

TEST(a_block_is_kept_when_its_owner_goes)
{
	struct list *list = memory_new(sizeof *list), *other = memory_new(sizeof *other);
	char *kept;

	for (int i = 0; i < 100; i++) {
		char *item = memory_new(8);

		(void)memory_add_text(item, "belongs to it");
		item[0] = (char)i;
		assert_true(list_add(list, item));
	}
	assert_true(list_move(list, other));
	assert_int_equal(list->count, 0);
	assert_int_equal(other->count, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(((char *)other->items[i])[0], i);
	memory_free(list);
	kept = memory_keep(other, other->items[50]);
	assert_int_equal(kept[0], 50);
	memory_free(kept);
}

TEST(a_block_keeps_its_bytes_when_it_grows)
{
	char *block = memory_resize(NULL, 4);

	memcpy(block, "abc", 4);
	block = memory_resize(block, 1 << 20);
	assert_string_equal(block, "abc");
	memory_free(block);
}

/* Nobody looks at what came of each of the calls that fill a status in before the last. */
TEST(what_has_no_owner_is_not_made)
{
	assert_null(memory_add(NULL, 1));
	assert_null(memory_add_text(NULL, "text"));
	assert_null(memory_add_list(NULL, NULL, 0));
}

TEST_MAIN(NULL, NULL)
