/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of checkpoints, in memory and in a file: the same of both. What only files have is in
 * test_checkpoint_file.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "checkpoint/uuid.h"
#include "checkpoint/yett-checkpoint.h"
#include "tests/support/testing.h"

#define NOWHERE "0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d11"

/* Where stores are; in memory where there is no directory. */
static char directory[64], path[96];

static struct yett_checkpoint_store *open_with(struct yett_checkpoint_store_options options)
{
	struct yett_checkpoint_store *store = NULL;
	struct yett_error error = {0};

	options.size = sizeof options;
	options.path = *directory ? path : NULL;
	options.flags |= *directory ? 0 : YETT_CHECKPOINT_MEMORY;
	if (yett_checkpoint_store_open(&options, &store, &error) != 0)
		fail_msg("%s", error.message);
	return store;
}

static int open_one(void **state)
{
	*state = open_with((struct yett_checkpoint_store_options){0});
	return 0;
}

static int close_one(void **state)
{
	char name[128];

	yett_checkpoint_store_close(*state);
	for (size_t i = 0; *directory && i < 3; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path,
		               (const char *[]){"", "-wal", "-shm"}[i]);
		(void)unlink(name);
	}
	return 0;
}

static struct yett_checkpoint *put_with(struct yett_checkpoint_store *store,
                                        struct yett_checkpoint_put_options options)
{
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_error error = {0};

	options.size = sizeof options;
	if (yett_checkpoint_put(store, &options, &checkpoint, NULL, &error) != 0)
		fail_msg("%s", error.message);
	return checkpoint;
}

/* The id of one that was put, until this was called eight times more. */
static const char *put(struct yett_checkpoint_store *store, const char *thread, const char *text,
                       const char *parent)
{
	static char ids[8][YETT_CHECKPOINT_ID_SIZE];
	static size_t next;
	char *id = ids[next++ % ARRAY_SIZE(ids)];
	struct yett_checkpoint *checkpoint =
		put_with(store, (struct yett_checkpoint_put_options){.thread = thread,
	                                                             .state = text,
	                                                             .state_size = strlen(text),
	                                                             .parent = parent});

	(void)strcpy(id, checkpoint->id);
	yett_checkpoint_free(checkpoint);
	return id;
}

static struct yett_checkpoint *get(struct yett_checkpoint_store *store, const char *id)
{
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_error error = {0};

	if (yett_checkpoint_get(store, id, &checkpoint, &error) != 0)
		fail_msg("%s", error.message);
	return checkpoint;
}

static bool is_there(struct yett_checkpoint_store *store, const char *id)
{
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_error error = {0};
	int r = yett_checkpoint_get(store, id, &checkpoint, &error);

	assert_true(r == 0 || r == YETT_E_NOT_FOUND);
	yett_checkpoint_free(checkpoint);
	return r == 0;
}

/* The parent of a checkpoint, until this was called again. */
static const char *parent_of(struct yett_checkpoint_store *store, const char *id)
{
	static char parent[YETT_CHECKPOINT_ID_SIZE];
	struct yett_checkpoint *checkpoint = get(store, id);

	(void)snprintf(parent, sizeof parent, "%s", checkpoint->parent ? checkpoint->parent : "");
	yett_checkpoint_free(checkpoint);
	return parent;
}

/* That a list has these ids, which end with NULL; frees it. */
static void assert_ids(struct yett_checkpoint_list *list, ...)
{
	size_t count = 0;
	const char *id;
	va_list ids;

	va_start(ids, list);
	for (; (id = va_arg(ids, const char *)); count++) {
		assert_true(count < yett_checkpoint_list_count(list));
		assert_string_equal(yett_checkpoint_list_get(list, count)->id, id);
		assert_null(yett_checkpoint_list_get(list, count)->state);
	}
	va_end(ids);
	assert_int_equal(yett_checkpoint_list_count(list), count);
	assert_null(yett_checkpoint_list_get(list, count));
	yett_checkpoint_list_free(list);
}

static struct yett_checkpoint_list *list_with(struct yett_checkpoint_store *store,
                                              struct yett_checkpoint_list_options options)
{
	struct yett_checkpoint_list *list = NULL;
	struct yett_error error = {0};

	options.size = sizeof options;
	if (yett_checkpoints_list(store, &options, &list, &error) != 0)
		fail_msg("%s", error.message);
	return list;
}

static struct yett_checkpoint_list *history(struct yett_checkpoint_store *store, const char *id)
{
	struct yett_checkpoint_list *list = NULL;

	assert_int_equal(yett_checkpoint_history(store, id, &list, NULL), 0);
	return list;
}

TEST_WITH(all_that_was_put_comes_back, open_one, close_one)
{
	static const char bytes[] = "\0a state\0\xff\n";
	struct yett_checkpoint *put_one =
		put_with(*state, (struct yett_checkpoint_put_options){
					 .thread = "a thread \xc3\xa4",
					 .state = bytes,
					 .state_size = sizeof bytes,
					 .step = -7,
					 .node = "planner",
					 .tags = (const char *const[]){"one", "two words", NULL},
					 .custom = " { \"b\" : [1, 2],\n\"a\":\"\xc3\xa9\" } ",
					 .sandbox = "8f80ea07dc9b3768",
					 .snapshot = "before the tests"});
	struct yett_checkpoint *found = get(*state, put_one->id);

	assert_null(put_one->state);
	assert_int_equal(found->size, sizeof *found);
	assert_string_equal(found->thread, "a thread \xc3\xa4");
	assert_null(found->parent);
	assert_int_equal(found->state_size, sizeof bytes);
	assert_memory_equal(found->state, bytes, sizeof bytes);
	assert_int_equal(put_one->state_size, sizeof bytes);
	assert_int_equal(found->step, -7);
	assert_string_equal(found->node, "planner");
	assert_string_equal(found->tags[0], "one");
	assert_string_equal(found->tags[1], "two words");
	assert_null(found->tags[2]);
	assert_string_equal(found->custom, "{\"b\":[1,2],\"a\":\"\xc3\xa9\"}");
	assert_string_equal(found->sandbox, "8f80ea07dc9b3768");
	assert_string_equal(found->snapshot, "before the tests");
	assert_int_equal(found->created_ms, put_one->created_ms);
	yett_checkpoint_free(put_one);
	yett_checkpoint_free(found);
}

TEST_WITH(what_was_not_set_is_not_there_and_a_state_may_be_empty, open_one, close_one)
{
	struct yett_checkpoint *put_one = put_with(
				       *state, (struct yett_checkpoint_put_options){.thread = "t"}),
			       *found;

	found = get(*state, put_one->id);
	assert_non_null(found->state);
	assert_int_equal(found->state_size, 0);
	assert_int_equal(found->step, 0);
	assert_null(found->node);
	assert_null(found->tags[0]);
	assert_null(found->custom);
	assert_null(found->sandbox);
	assert_null(found->snapshot);
	yett_checkpoint_free(put_one);
	yett_checkpoint_free(found);
}

TEST_WITH(what_a_store_gave_outlives_it, open_one, close_one)
{
	struct yett_checkpoint_list *list;
	struct yett_checkpoint *found = get(*state, put(*state, "t", "text", NULL));

	list = list_with(*state, (struct yett_checkpoint_list_options){0});
	yett_checkpoint_store_close(*state);
	*state = NULL;
	assert_memory_equal(found->state, "text", 4);
	assert_ids(list, found->id, NULL);
	yett_checkpoint_free(found);
}

TEST_WITH(ids_are_of_their_time_and_in_the_order_of_putting, open_one, close_one)
{
	char last[YETT_CHECKPOINT_ID_SIZE] = "", least[YETT_CHECKPOINT_ID_SIZE];
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	for (int i = 0; i < 200; i++) {
		struct yett_checkpoint *one =
			put_with(*state, (struct yett_checkpoint_put_options){.thread = "t"});

		assert_true(strcmp(one->id, last) > 0);
		assert_int_equal(one->id[14], '7');
		assert_non_null(strchr("89ab", one->id[19]));
		assert_in_range(one->created_ms, (uint64_t)now.tv_sec * 1000,
		                (uint64_t)now.tv_sec * 1000 + 3600000);
		yett_checkpoint_time_id(one->created_ms, least);
		assert_true(strcmp(one->id, least) > 0);
		yett_checkpoint_time_id(one->created_ms + 1, least);
		assert_true(strcmp(one->id, least) < 0);
		(void)strcpy(last, one->id);
		yett_checkpoint_free(one);
	}
}

TEST(an_id_comes_behind_one_of_a_clock_that_was_ahead)
{
	uint8_t last[UUID_SIZE], id[UUID_SIZE];

	uuid_of_time(UINT64_C(4102444800000), last); /* the year 2100 */
	memset(last + 9, 0xff, 7);
	assert_int_equal(uuid_make(last, id), 0);
	assert_true(memcmp(id, last, UUID_SIZE) > 0);
	assert_int_equal(uuid_time(id), UINT64_C(4102444800000));
	memset(last, 0xff, sizeof last);
	assert_int_equal(uuid_make(last, id), -ERANGE);
}

TEST_WITH(a_parent_is_the_last_of_the_thread_unless_it_is_named, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", NULL),
		   *c = put(*state, "t", "c", a);
	const char *other = put(*state, "other", "d", b);

	assert_string_equal(parent_of(*state, a), "");
	assert_string_equal(parent_of(*state, b), a);
	assert_string_equal(parent_of(*state, c), a);
	assert_string_equal(parent_of(*state, put(*state, "t", "e", NULL)), c);
	assert_string_equal(parent_of(*state, other), b);
}

TEST_WITH(the_last_of_a_thread_is_the_one_put_last, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", a);
	struct yett_checkpoint *latest = NULL;
	struct yett_error error = {0};

	(void)put(*state, "u", "c", NULL);
	assert_int_equal(yett_checkpoint_latest(*state, "t", &latest, NULL), 0);
	assert_string_equal(latest->id, b);
	assert_memory_equal(latest->state, "b", 1);
	yett_checkpoint_free(latest);
	assert_int_equal(yett_checkpoint_latest(*state, "T", &latest, &error), YETT_E_NOT_FOUND);
	assert_string_equal(error.message, "the thread 'T' has no checkpoint");
}

TEST_WITH(a_list_has_what_fits_the_last_first, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "u", "b", NULL),
		   *c = put(*state, "t", "c", NULL);
	const char *d = put(*state, "t", "d", NULL);

	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){0}), d, c, b, a, NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.thread = "t"}), d, c, a,
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.thread = "nobody's"}),
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.limit = 2}), d, c,
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.limit = UINT64_MAX}), d,
	           c, b, a, NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.before = c}), b, a,
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.after = b}), d, c,
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.after = a,
	                                                                   .before = d,
	                                                                   .thread = "t"}),
	           c, NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.before = NOWHERE}),
	           NULL);
	assert_ids(list_with(*state,
	                     (struct yett_checkpoint_list_options){.after = NOWHERE, .limit = 1}),
	           d, NULL);
}

TEST_WITH(a_list_has_a_hundred_unless_it_is_told_otherwise, open_one, close_one)
{
	struct yett_checkpoint_list *list = NULL;

	for (int i = 0; i < 101; i++)
		(void)put(*state, "t", "", NULL);
	assert_int_equal(yett_checkpoints_list(*state, NULL, &list, NULL), 0);
	assert_int_equal(yett_checkpoint_list_count(list), 100);
	yett_checkpoint_list_free(list);
}

TEST_WITH(a_list_can_be_of_a_tag_which_is_all_of_one, open_one, close_one)
{
	static const char *const tags[][3] = {
		{"red", "blue"}, {"blue", "dark red"}, {"re"}, {NULL}};
	char ids[ARRAY_SIZE(tags)][YETT_CHECKPOINT_ID_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		struct yett_checkpoint *one =
			put_with(*state, (struct yett_checkpoint_put_options){.thread = "t",
		                                                              .tags = tags[i]});

		(void)strcpy(ids[i], one->id);
		yett_checkpoint_free(one);
	}
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.tag = "red"}), ids[0],
	           NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.tag = "blue"}), ids[1],
	           ids[0], NULL);
	assert_ids(list_with(*state,
	                     (struct yett_checkpoint_list_options){.tag = "re", .thread = "t"}),
	           ids[2], NULL);
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){.tag = "%"}), NULL);
}

TEST_WITH(a_history_goes_from_a_checkpoint_to_the_first, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", NULL),
		   *c = put(*state, "t", "c", a);
	const char *d = put(*state, "u", "d", b);
	struct yett_checkpoint_list *list = NULL;

	assert_ids(history(*state, a), a, NULL);
	assert_ids(history(*state, c), c, a, NULL);
	assert_ids(history(*state, d), d, b, a, NULL);
	assert_int_equal(yett_checkpoint_history(*state, NOWHERE, &list, NULL), YETT_E_NOT_FOUND);
}

TEST_WITH(who_loses_a_parent_gets_the_parent_s, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", NULL),
		   *c = put(*state, "t", "c", NULL);
	struct yett_error error = {0};

	assert_int_equal(yett_checkpoint_delete(*state, b, NULL), 0);
	assert_false(is_there(*state, b));
	assert_ids(history(*state, c), c, a, NULL);
	assert_int_equal(yett_checkpoint_delete(*state, a, NULL), 0);
	assert_ids(history(*state, c), c, NULL);
	assert_int_equal(yett_checkpoint_delete(*state, a, &error), YETT_E_NOT_FOUND);
	assert_non_null(strstr(error.message, a));
}

TEST_WITH(a_thread_is_removed_with_all_it_has, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", NULL),
		   *c = put(*state, "u", "c", b);
	uint64_t removed = 0;

	assert_int_equal(yett_checkpoint_delete_thread(*state, "t", &removed, NULL), 0);
	assert_int_equal(removed, 2);
	assert_false(is_there(*state, a) || is_there(*state, b));
	assert_string_equal(parent_of(*state, c), "");
	assert_int_equal(yett_checkpoint_delete_thread(*state, "t", &removed, NULL),
	                 YETT_E_NOT_FOUND);
}

TEST_WITH(a_thread_that_is_taken_back_has_nothing_later, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "t", "b", NULL),
		   *c = put(*state, "t", "c", NULL);
	const char *branch = put(*state, "t", "d", a), *other = put(*state, "u", "e", c);
	struct yett_checkpoint *checkpoint = NULL;
	uint64_t removed = 0;

	assert_int_equal(yett_checkpoint_rollback(*state, "t", b, &checkpoint, &removed, NULL), 0);
	assert_int_equal(removed, 2);
	assert_string_equal(checkpoint->id, b);
	assert_memory_equal(checkpoint->state, "b", 1);
	yett_checkpoint_free(checkpoint);
	assert_false(is_there(*state, c) || is_there(*state, branch));
	assert_string_equal(parent_of(*state, other), b);
	assert_int_equal(yett_checkpoint_rollback(*state, "t", b, NULL, &removed, NULL), 0);
	assert_int_equal(removed, 0);
	assert_string_equal(parent_of(*state, put(*state, "t", "f", NULL)), b);
}

TEST_WITH(a_thread_is_taken_back_only_to_what_it_has, open_one, close_one)
{
	const char *a = put(*state, "t", "a", NULL), *b = put(*state, "u", "b", NULL),
		   *c = put(*state, "u", "c", NULL);
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_checkpoint_rollback(*state, "t", b, &checkpoint, NULL, &error),
	                 YETT_E_NOT_FOUND);
	assert_non_null(strstr(error.message, "is not of the thread 't', but of 'u'"));
	assert_int_equal(yett_checkpoint_rollback(*state, "t", NOWHERE, &checkpoint, NULL, &error),
	                 YETT_E_NOT_FOUND);
	assert_true(is_there(*state, a) && is_there(*state, b) && is_there(*state, c));
}

TEST_WITH(what_a_rollback_tells_names_the_snapshot, open_one, close_one)
{
	struct yett_checkpoint *first = put_with(
		*state, (struct yett_checkpoint_put_options){
				.thread = "t", .sandbox = "8f80ea07dc9b3768", .snapshot = "s"});
	struct yett_checkpoint *checkpoint = NULL;

	(void)put(*state, "t", "a", NULL);
	assert_int_equal(yett_checkpoint_rollback(*state, "t", first->id, &checkpoint, NULL, NULL),
	                 0);
	assert_string_equal(checkpoint->sandbox, "8f80ea07dc9b3768");
	assert_string_equal(checkpoint->snapshot, "s");
	yett_checkpoint_free(first);
	yett_checkpoint_free(checkpoint);
}

/* Another store of the same file, or in memory. */
static void reopen(void **state, struct yett_checkpoint_store_options options)
{
	(void)close_one(state);
	*state = open_with(options);
}

static uint64_t pruned_by_putting(struct yett_checkpoint_store *store, const char *thread,
                                  size_t size)
{
	_cleanup_free_ char *bytes = calloc(1, size + 1);
	struct yett_checkpoint_put_options options = {
		.size = sizeof options, .thread = thread, .state = bytes, .state_size = size};
	struct yett_error error = {0};
	uint64_t pruned = 99;

	if (yett_checkpoint_put(store, &options, NULL, &pruned, &error) != 0)
		fail_msg("%s", error.message);
	return pruned;
}

TEST_WITH(the_oldest_of_a_thread_go_where_it_has_too_many, open_one, close_one)
{
	const char *other, *a, *b;

	reopen(state, (struct yett_checkpoint_store_options){.thread_max = 2});
	other = put(*state, "u", "", NULL);
	a = put(*state, "t", "", NULL);
	b = put(*state, "t", "", NULL);
	assert_int_equal(pruned_by_putting(*state, "t", 0), 1);
	assert_false(is_there(*state, a));
	assert_true(is_there(*state, b) && is_there(*state, other));
	assert_string_equal(parent_of(*state, b), "");
}

TEST_WITH(the_oldest_of_all_go_where_there_are_too_many, open_one, close_one)
{
	const char *a, *b, *c;

	reopen(state, (struct yett_checkpoint_store_options){.total_max = 2});
	a = put(*state, "t", "", NULL);
	b = put(*state, "u", "", NULL);
	c = put(*state, "v", "", a);
	assert_false(is_there(*state, a));
	assert_true(is_there(*state, b) && is_there(*state, c));
	assert_string_equal(parent_of(*state, c), "");
}

TEST_WITH(the_oldest_of_all_go_where_there_is_too_much, open_one, close_one)
{
	const char *a, *b;

	reopen(state, (struct yett_checkpoint_store_options){.bytes_max = 600000});
	a = put(*state, "t", "", NULL);
	assert_int_equal(pruned_by_putting(*state, "u", 300000), 0);
	b = put(*state, "t", "", NULL);
	assert_int_equal(pruned_by_putting(*state, "u", 400000), 2);
	assert_false(is_there(*state, a));
	assert_true(is_there(*state, b));
}

TEST_WITH(what_does_not_fit_alone_is_refused_and_nothing_goes, open_one, close_one)
{
	static char bytes[600001];
	struct yett_checkpoint_put_options options = {
		.size = sizeof options, .thread = "t", .state = bytes, .state_size = sizeof bytes};
	struct yett_error error = {0};
	const char *a;

	reopen(state, (struct yett_checkpoint_store_options){.bytes_max = 600000});
	a = put(*state, "t", "", NULL);
	assert_int_equal(yett_checkpoint_put(*state, &options, NULL, NULL, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_true(is_there(*state, a));
	reopen(state, (struct yett_checkpoint_store_options){.state_max = sizeof bytes - 1});
	assert_int_equal(yett_checkpoint_put(*state, &options, NULL, NULL, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_string_equal(error.message,
	                    "the state has 600001 bytes, and may have 600000 at most");
	options.state_size--;
	assert_int_equal(yett_checkpoint_put(*state, &options, NULL, NULL, &error), 0);
}

TEST_WITH(limits_can_be_none, open_one, close_one)
{
	const uint64_t none = YETT_CHECKPOINT_UNLIMITED;

	reopen(state, (struct yett_checkpoint_store_options){.state_max = none,
	                                                     .thread_max = none,
	                                                     .total_max = none,
	                                                     .bytes_max = none,
	                                                     .ttl_ms = none});
	for (int i = 0; i < 1002; i++)
		assert_int_equal(pruned_by_putting(*state, "t", 0), 0);
}

TEST_WITH(a_thread_has_a_thousand_unless_it_is_told_otherwise, open_one, close_one)
{
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pruned_by_putting(*state, "t", 0), 0);
	assert_int_equal(pruned_by_putting(*state, "t", 0), 1);
}

/* Until the clock has gone on by more than a checkpoint is kept. */
TEST_WITH(what_is_too_old_goes_when_something_is_put, open_one, close_one)
{
	struct yett_checkpoint *old;
	struct timespec now;

	reopen(state, (struct yett_checkpoint_store_options){.ttl_ms = 50});
	old = put_with(*state, (struct yett_checkpoint_put_options){.thread = "t"});
	do
		(void)clock_gettime(CLOCK_REALTIME, &now);
	while ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 <=
	       old->created_ms + 60);
	assert_int_equal(pruned_by_putting(*state, "u", 0), 1);
	assert_false(is_there(*state, old->id));
	yett_checkpoint_free(old);
}

static const char long_text[YETT_CHECKPOINT_TEXT_MAX + 2] = {[0 ... YETT_CHECKPOINT_TEXT_MAX] =
                                                                     'x'};
static const char long_tag[YETT_CHECKPOINT_TAG_MAX + 2] = {[0 ... YETT_CHECKPOINT_TAG_MAX] = 'x'};
static char long_custom[YETT_CHECKPOINT_CUSTOM_MAX + 2];
static const char *many_tags[YETT_CHECKPOINT_TAGS_MAX + 2];

/* What cannot be put, and what is said of it. */
static const struct {
	struct yett_checkpoint_put_options options;
	const char *said;
} refused[] = {
	{{.thread = NULL}, "the name of a thread is empty"},
	{{.thread = ""}, "the name of a thread is empty"},
	{{.thread = long_text}, "the name of a thread is longer than 255 bytes"},
	{{.thread = "a\nb"}, "the name of a thread has a control character, at byte 1"},
	{{.thread = "a\xc2\x9b"}, "the name of a thread has a control character, at byte 1"},
	{{.thread = "a\xff"}, "the name of a thread is not UTF-8, at byte 1"},
	{{.thread = "t", .parent = "nobody"},
         "the parent 'nobody' is no id of a checkpoint, like 0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d11"},
	{{.thread = "t", .parent = NOWHERE "0"}, "is no id of a checkpoint"},
	{{.thread = "t", .node = ""}, "the node is empty"},
	{{.thread = "t", .sandbox = "\x1b"},
         "the id of a sandbox has a control character, at byte 0"},
	{{.thread = "t", .sandbox = "s", .snapshot = long_text},
         "the name of a snapshot is longer than 255 bytes"},
	{{.thread = "t", .snapshot = "s"}, "a snapshot is named without the sandbox that it is of"},
	{{.thread = "t", .state_size = 1}, "the state has a size, but is NULL"},
	{{.thread = "t", .tags = (const char *const[]){"a", "", NULL}}, "the tag is empty"},
	{{.thread = "t", .tags = (const char *const[]){long_tag, NULL}},
         "the tag is longer than 64 bytes"},
	{{.thread = "t", .tags = (const char *const[]){"a\nb", NULL}},
         "the tag has a control character, at byte 1"},
	{{.thread = "t", .tags = many_tags}, "more than 32 tags"},
	{{.thread = "t", .custom = ""}, "'' is no JSON object"},
	{{.thread = "t", .custom = "[1]"}, "'[1]' is no JSON object"},
	{{.thread = "t", .custom = "{\"a\":1,}"}, "is no JSON object"},
	{{.thread = "t", .custom = "{\"a\":NaN}"}, "is no JSON object"},
	{{.thread = "t", .custom = "{} {}"}, "is no JSON object"},
	{{.thread = "t", .custom = "{\"a\":\"\xff\"}"}, "the JSON is not UTF-8, at byte 6"},
	{{.thread = "t", .custom = long_custom}, "the JSON is longer than 65536 bytes"},
};

TEST_WITH(what_cannot_be_put_is_refused_and_named, open_one, close_one)
{
	memset(long_custom, ' ', sizeof long_custom - 1);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(many_tags); i++)
		many_tags[i] = "t";
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct yett_checkpoint_put_options options = refused[i].options;
		struct yett_checkpoint *checkpoint = NULL;
		struct yett_error error = {0};

		options.size = sizeof options;
		assert_int_equal(yett_checkpoint_put(*state, &options, &checkpoint, NULL, &error),
		                 YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(error.message, refused[i].said));
		assert_null(checkpoint);
	}
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){0}), NULL);
}

TEST_WITH(a_parent_that_is_not_there_is_named, open_one, close_one)
{
	struct yett_checkpoint_put_options options = {
		.size = sizeof options, .thread = "t", .parent = NOWHERE};
	struct yett_error error = {0};

	assert_int_equal(yett_checkpoint_put(*state, &options, NULL, NULL, &error),
	                 YETT_E_NOT_FOUND);
	assert_string_equal(error.message,
	                    "there is no checkpoint " NOWHERE ", which is to be the parent");
	assert_ids(list_with(*state, (struct yett_checkpoint_list_options){0}), NULL);
}

TEST_WITH(the_longest_of_everything_is_taken, open_one, close_one)
{
	char text[YETT_CHECKPOINT_TEXT_MAX + 1] = {0}, tag[YETT_CHECKPOINT_TAG_MAX + 1] = {0};
	const char *tags[YETT_CHECKPOINT_TAGS_MAX + 1] = {NULL};
	_cleanup_free_ char *custom = calloc(1, YETT_CHECKPOINT_CUSTOM_MAX + 1);
	struct yett_checkpoint *one, *found;

	memset(text, 'x', sizeof text - 1);
	memset(tag, 'y', sizeof tag - 1);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(tags); i++)
		tags[i] = tag;
	memset(custom, 'z', YETT_CHECKPOINT_CUSTOM_MAX);
	memcpy(custom, "{\"\":\"", 5);
	memcpy(custom + YETT_CHECKPOINT_CUSTOM_MAX - 2, "\"}", 2);
	one = put_with(*state, (struct yett_checkpoint_put_options){.thread = text,
	                                                            .node = text,
	                                                            .sandbox = text,
	                                                            .snapshot = text,
	                                                            .tags = tags,
	                                                            .custom = custom});
	found = get(*state, one->id);
	assert_string_equal(found->snapshot, text);
	assert_string_equal(found->custom, custom);
	assert_string_equal(found->tags[YETT_CHECKPOINT_TAGS_MAX - 1], tag);
	assert_null(found->tags[YETT_CHECKPOINT_TAGS_MAX]);
	yett_checkpoint_free(one);
	yett_checkpoint_free(found);
}

TEST_WITH(ids_that_are_none_are_refused, open_one, close_one)
{
	static const char *const ids[] = {"",
	                                  "x",
	                                  "0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d1",
	                                  "0192f6a4x7c1e-7a3b-9d52-0c6b1f0e8d11",
	                                  "0192f6a47c1e7a3b9d520c6b1f0e8d11",
	                                  "0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d1g"};
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_checkpoint_list *list = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct yett_checkpoint_list_options before = {.size = sizeof before,
		                                              .before = ids[i]};
		struct yett_checkpoint_list_options after = {.size = sizeof after, .after = ids[i]};

		assert_int_equal(yett_checkpoint_get(*state, ids[i], &checkpoint, NULL),
		                 YETT_E_INVALID_REQUEST);
		assert_int_equal(yett_checkpoint_history(*state, ids[i], &list, NULL),
		                 YETT_E_INVALID_REQUEST);
		assert_int_equal(yett_checkpoint_delete(*state, ids[i], NULL),
		                 YETT_E_INVALID_REQUEST);
		assert_int_equal(yett_checkpoint_rollback(*state, "t", ids[i], NULL, NULL, NULL),
		                 YETT_E_INVALID_REQUEST);
		assert_int_equal(yett_checkpoints_list(*state, &before, &list, NULL),
		                 YETT_E_INVALID_REQUEST);
		assert_int_equal(yett_checkpoints_list(*state, &after, &list, NULL),
		                 YETT_E_INVALID_REQUEST);
	}
	assert_int_equal(yett_checkpoint_get(*state, NULL, &checkpoint, NULL),
	                 YETT_E_INVALID_REQUEST);
}

TEST_WITH(an_id_may_be_in_capitals, open_one, close_one)
{
	char id[YETT_CHECKPOINT_ID_SIZE];

	(void)strcpy(id, put(*state, "t", "a", NULL));
	for (char *at = id; *at; at++)
		*at = *at >= 'a' ? (char)(*at - 'a' + 'A') : *at;
	assert_true(is_there(*state, id));
}

TEST_WITH(options_have_a_size, open_one, close_one)
{
	struct yett_checkpoint_store_options none = {0},
					     flags = {.size = sizeof flags, .flags = 64};
	struct yett_checkpoint_store_options much = {.size = sizeof much,
	                                             .state_max = UINT64_C(1) << 30};
	struct yett_checkpoint_store_options slow = {.size = sizeof slow, .timeout_ms = UINT32_MAX};
	struct yett_checkpoint_store_options both = {
		.size = sizeof both, .flags = YETT_CHECKPOINT_MEMORY, .path = "x"};
	struct yett_checkpoint_put_options put_none = {.thread = "t"};
	struct yett_checkpoint_list_options list_none = {0};
	struct yett_checkpoint_store *store = NULL;
	struct yett_checkpoint_list *list = NULL;

	assert_int_equal(yett_checkpoint_store_open(&none, &store, NULL), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_checkpoint_store_open(&flags, &store, NULL), YETT_E_UNSUPPORTED);
	assert_int_equal(yett_checkpoint_store_open(&much, &store, NULL), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_checkpoint_store_open(&slow, &store, NULL), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_checkpoint_store_open(&both, &store, NULL), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_checkpoint_put(*state, &put_none, NULL, NULL, NULL),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_checkpoints_list(*state, &list_none, &list, NULL),
	                 YETT_E_INVALID_REQUEST);
	assert_null(store);
	yett_checkpoint_store_close(NULL);
	yett_checkpoint_list_free(NULL);
	yett_checkpoint_free(NULL);
}

/* Runs all tests with each kind of store. */
int main(void)
{
	int failed = testing_run("in memory", NULL, NULL);

	(void)strcpy(directory, "/tmp/yett-checkpoint-XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(path, sizeof path, "%s/store.db", directory);
	failed += testing_run("in a file", NULL, NULL);
	return rmdir(directory) < 0 ? 1 : failed;
}
