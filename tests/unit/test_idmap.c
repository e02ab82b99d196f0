/* SPDX-License-Identifier: Apache-2.0 */
/* Whose ids a sandbox has: the lines of its map, at the borders of ranges and of what the kernel
 * takes. */
#include <string.h>

#include "helper/setup/idmap.h"
#include "programs/rootless/rootless.h"
#include "tests/support/testing.h"

#define FIRST UINT32_C(1879113728)
#define FACE  (FIRST - IDMAP_RANGE + IDMAP_ROLE_FACE)
#define LAST  (FIRST + IDMAP_RANGE - 1)
#define NONE  UINT32_MAX

static struct idmap map;

static bool overlap(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count)
{
	return a < (uint64_t)b + b_count && b < (uint64_t)a + a_count;
}

/* The kernel takes no other map, and nobody is two inside or outside. user_namespaces(7) */
static void check_half(const struct idmap_half *half)
{
	assert_in_range(half->count, 1, IDMAP_LINES_MAX);
	for (size_t i = 0; i < half->count; i++) {
		const struct idmap_line *a = &half->lines[i];

		assert_int_not_equal(a->count, 0);
		assert_true((uint64_t)a->host + a->count <= UINT32_MAX &&
		            (uint64_t)a->inside + a->count <= UINT32_MAX);
		for (size_t j = 0; j < i; j++) {
			const struct idmap_line *b = &half->lines[j];

			assert_false(overlap(a->inside, a->count, b->inside, b->count));
			assert_false(overlap(a->host, a->count, b->host, b->count));
		}
	}
}

static void make(const struct idmap_subject *subject)
{
	assert_int_equal(idmap_make(subject, FIRST, FACE, &map), 0);
	check_half(&map.uids);
	check_half(&map.gids);
}

static uint32_t uid(uint32_t inside)
{
	return idmap_host(&map.uids, inside);
}

static uint32_t gid(uint32_t inside)
{
	return idmap_host(&map.gids, inside);
}

/* No line leads to an id of the host's but those of the range, and those that are named. */
static void check_hosts(const struct idmap_half *half, const uint32_t *others, size_t others_count)
{
	for (size_t i = 0; i < half->count; i++) {
		const struct idmap_line *line = &half->lines[i];
		bool is_known = line->host >= FIRST && line->host + line->count - 1 <= LAST;

		for (size_t j = 0; j < others_count; j++)
			is_known = is_known || (line->count == 1 && line->host == others[j]);
		assert_true(is_known);
	}
}

TEST(a_callers_numbers_stand_for_private_ids_and_0_for_nobody)
{
	static const gid_t groups[] = {27, 100};
	static const uint32_t face[] = {FACE};

	make(&(struct idmap_subject){.uid = 1000,
	                             .gid = 1000,
	                             .groups = groups,
	                             .groups_count = 2,
	                             .identity = PLAN_IDENTITY_PRIVATE});
	assert_int_equal(uid(0), FACE);
	assert_int_equal(gid(0), FACE);
	for (uint32_t id = 1; id < IDMAP_RANGE; id++) {
		assert_int_equal(uid(id), FIRST + id);
		assert_int_equal(gid(id), FIRST + id);
	}
	assert_int_equal(uid(IDMAP_RANGE), NONE);
	assert_int_equal(uid(NONE - 1), NONE);
	assert_int_equal(uid(NONE), NONE);
	check_hosts(&map.uids, face, 1);
	check_hosts(&map.gids, face, 1);
	assert_int_equal(map.payload_uid, 1000);
	assert_int_equal(map.payload_gid, 1000);
	assert_false(map.shares_need_own_map);
}

TEST(the_last_id_of_the_range_is_plain_and_the_next_one_stands_for_another)
{
	static const uint32_t face[] = {FACE};

	make(&(struct idmap_subject){
		.uid = IDMAP_RANGE - 1, .gid = IDMAP_RANGE, .identity = PLAN_IDENTITY_PRIVATE});
	assert_int_equal(uid(IDMAP_RANGE - 1), LAST);
	assert_int_equal(uid(IDMAP_RANGE), NONE);
	assert_int_equal(gid(IDMAP_RANGE), LAST);
	assert_int_equal(gid(IDMAP_RANGE - 1), NONE); /* what it would stand for is taken */
	assert_int_equal(gid(IDMAP_RANGE - 2), LAST - 1);
	check_hosts(&map.uids, face, 1);
	check_hosts(&map.gids, face, 1);
}

TEST(large_ids_have_one_of_the_range_each)
{
	static const gid_t groups[] = {70001, UINT32_MAX - 1, 70000, 70001, 5};

	make(&(struct idmap_subject){.uid = UINT32_MAX - 1,
	                             .gid = 70000,
	                             .groups = groups,
	                             .groups_count = ARRAY_SIZE(groups),
	                             .identity = PLAN_IDENTITY_PRIVATE});
	assert_int_equal(uid(UINT32_MAX - 1), LAST);
	assert_in_range(gid(70000), FIRST, LAST);
	assert_in_range(gid(70001), FIRST, LAST);
	assert_in_range(gid(UINT32_MAX - 1), FIRST, LAST);
	assert_int_equal(gid(5), FIRST + 5);
	assert_int_equal(gid(70002), NONE);
	assert_int_equal(map.payload_uid, UINT32_MAX - 1);
}

TEST(a_caller_of_its_own_identity_is_itself_and_nobody_else)
{
	static const gid_t groups[] = {0, 27, 70000};
	static const uint32_t uids[] = {FACE, 1000}, gids[] = {0, 27, 1001, 70000};

	make(&(struct idmap_subject){.uid = 1000,
	                             .gid = 1001,
	                             .groups = groups,
	                             .groups_count = 3,
	                             .identity = PLAN_IDENTITY_CALLER});
	assert_int_equal(uid(1000), 1000);
	assert_int_equal(uid(999), FIRST + 999);
	assert_int_equal(uid(1001), FIRST + 1001);
	assert_int_equal(gid(1001), 1001);
	assert_int_equal(gid(27), 27);
	assert_int_equal(gid(0), 0); /* one of the caller's groups */
	assert_int_equal(gid(70000), 70000);
	assert_int_equal(gid(IDMAP_RANGE - 1), LAST);
	check_hosts(&map.uids, uids, ARRAY_SIZE(uids));
	check_hosts(&map.gids, gids, ARRAY_SIZE(gids));
}

TEST(root_inside_is_a_private_id)
{
	make(&(struct idmap_subject){.uid = 70000, .gid = 1000, .identity = PLAN_IDENTITY_ROOT});
	assert_int_equal(uid(0), FIRST);
	assert_int_equal(gid(0), FIRST);
	assert_int_equal(uid(70000), NONE); /* the caller has no number there, but 0 */
	assert_int_equal(gid(1000), FIRST + 1000);
	assert_int_equal(map.payload_uid, 0);
	assert_int_equal(map.payload_gid, 0);
	assert_true(map.shares_need_own_map);
	check_hosts(&map.uids, NULL, 0);
	check_hosts(&map.gids, NULL, 0);
}

TEST(a_caller_that_is_0_has_that_number)
{
	static const gid_t groups[] = {0};

	make(&(struct idmap_subject){.uid = 0,
	                             .gid = 1000,
	                             .groups = groups,
	                             .groups_count = 1,
	                             .identity = PLAN_IDENTITY_PRIVATE});
	assert_int_equal(uid(0), FIRST);
	assert_int_equal(gid(0), FIRST);
	check_hosts(&map.uids, NULL, 0);
	check_hosts(&map.gids, NULL, 0);
	make(&(struct idmap_subject){.uid = 1000, .gid = 0, .identity = PLAN_IDENTITY_PRIVATE});
	assert_int_equal(uid(0), FACE);
	assert_int_equal(gid(0), FIRST);
}

TEST(inits_id_is_nobody_elses)
{
	static const gid_t tops[] = {65533, 65532, 65531}, large[] = {70000, 70001, 70002, 65530},
			   many[] = {70000, 70001, 70002, 70003, 70004, 70005, 70006, 70007};
	const struct idmap_subject subjects[] = {
		{.uid = 1000, .gid = 1000, .identity = PLAN_IDENTITY_PRIVATE},
		{.uid = 65533, .gid = 1000, .identity = PLAN_IDENTITY_PRIVATE},
		{.uid = 1000, .gid = 65533, .identity = PLAN_IDENTITY_CALLER},
		{.uid = 65530,
	         .gid = 65529,
	         .groups = tops,
	         .groups_count = 3,
	         .identity = PLAN_IDENTITY_PRIVATE},
		{.uid = 70000,
	         .gid = 1000,
	         .groups = large,
	         .groups_count = 4,
	         .identity = PLAN_IDENTITY_PRIVATE},
		{.uid = 1000,
	         .gid = 1000,
	         .groups = many,
	         .groups_count = 8,
	         .identity = PLAN_IDENTITY_PRIVATE},
		{.uid = 1000,
	         .gid = 1000,
	         .groups = tops,
	         .groups_count = 3,
	         .identity = PLAN_IDENTITY_ROOT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		const struct idmap_subject *subject = &subjects[i];
		uint32_t own;

		make(subject);
		own = map.init_inside;
		assert_int_equal(uid(own), FIRST + own); /* as user and as group, and on the host
		                                            private in any case */
		assert_int_equal(gid(own), FIRST + own);
		assert_int_not_equal(own, 0);
		assert_int_not_equal(own, subject->uid);
		assert_int_not_equal(own, subject->gid);
		for (size_t j = 0; j < subject->groups_count; j++)
			assert_int_not_equal(own, subject->groups[j]);
	}
	make(&subjects[0]);
	assert_int_equal(map.init_inside, 65533);
}

/* Every other id is one of the caller's, so that each takes a line of its own, and one before it.
 */
TEST(more_lines_than_the_kernel_takes_are_refused)
{
	static gid_t groups[PLAN_GROUPS_MAX + 1];
	struct idmap_subject subject = {
		.uid = 1000, .gid = 3, .groups = groups, .identity = PLAN_IDENTITY_CALLER};

	for (uint32_t i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i] = 5 + 2 * i;
	/* 0, 1 to 2, 3, then two for each group, and what is above them. */
	subject.groups_count = (IDMAP_LINES_MAX - 4) / 2;
	make(&subject);
	assert_int_equal(map.gids.count, IDMAP_LINES_MAX);
	subject.groups_count++;
	assert_int_equal(idmap_make(&subject, FIRST, FACE, &map), -E2BIG);
	/* One line too many: 0 and 1 have one each. */
	subject.gid = 1;
	assert_int_equal(idmap_make(&subject, FIRST, FACE, &map), -E2BIG);
	subject.groups_count--;
	make(&subject);
	assert_int_equal(map.gids.count, IDMAP_LINES_MAX - 1);
	/* Private ids of so many groups lie side by side. */
	subject.identity = PLAN_IDENTITY_PRIVATE;
	subject.groups_count = PLAN_GROUPS_MAX;
	make(&subject);
	subject.groups_count++;
	assert_int_equal(idmap_make(&subject, FIRST, FACE, &map), -E2BIG);
}

TEST(as_many_large_groups_as_there_may_be_have_private_ids)
{
	static gid_t groups[PLAN_GROUPS_MAX];

	for (uint32_t i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i] = 100000 + i;
	make(&(struct idmap_subject){.uid = 1000,
	                             .gid = 1000,
	                             .groups = groups,
	                             .groups_count = 256,
	                             .identity = PLAN_IDENTITY_PRIVATE});
	for (uint32_t i = 0; i < ARRAY_SIZE(groups); i++)
		assert_in_range(gid(groups[i]), FIRST, LAST);
	assert_int_equal(gid(IDMAP_RANGE - PLAN_GROUPS_MAX), NONE);
	assert_int_equal(gid(IDMAP_RANGE - PLAN_GROUPS_MAX - 1), LAST - PLAN_GROUPS_MAX);
}

TEST(an_id_is_looked_up_at_both_ends_of_a_line)
{
	const struct idmap_half half = {.lines = {{10, 1000, 3}, {20, 5, 1}}, .count = 2};

	assert_int_equal(idmap_host(&half, 9), NONE);
	assert_int_equal(idmap_host(&half, 10), 1000);
	assert_int_equal(idmap_host(&half, 12), 1002);
	assert_int_equal(idmap_host(&half, 13), NONE);
	assert_int_equal(idmap_host(&half, 20), 5);
	assert_int_equal(idmap_host(&half, 21), NONE);
	assert_int_equal(idmap_host(&(struct idmap_half){0}, 0), NONE);
}

TEST(without_root_its_map_has_the_callers_ids_and_no_other)
{
	const struct idmap_subject subject = {
		.uid = 70000, .gid = 100, .identity = PLAN_IDENTITY_PRIVATE};

	rootless_make_map(&subject, &map);
	assert_int_equal(map.uids.count + map.gids.count, 2);
	assert_int_equal(idmap_host(&map.uids, 70000), 70000);
	assert_int_equal(idmap_host(&map.gids, 100), 100);
	assert_int_equal(idmap_host(&map.uids, 0), NONE);
	assert_int_equal(map.payload_uid, 70000);
	assert_int_equal(map.payload_gid, 100);
}

TEST_MAIN(NULL, NULL)
