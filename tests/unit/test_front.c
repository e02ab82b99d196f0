/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of what the front of a sandbox's network does without a socket: counting bytes, and
 * taking rules over. */
#include "programs/net/ruleset.h"
#include "programs/net/tokens.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define MS UINT64_C(1000)

/* Takes what there is at each step. */
static uint64_t drain(struct tokens *tokens, uint64_t from_us, uint64_t until_us, uint64_t step_us)
{
	uint64_t taken = 0;

	for (uint64_t now_us = from_us; now_us < until_us; now_us += step_us) {
		size_t left = tokens_left(tokens, now_us);

		tokens_take(tokens, left);
		taken += left;
	}
	return taken;
}

TEST(test_what_is_not_bounded_never_waits)
{
	struct tokens tokens = {0};

	tokens_set(&tokens, 0, 5);
	tokens_take(&tokens, SIZE_MAX / 2);
	assert_true(tokens_left(&tokens, 6) == SIZE_MAX);
	assert_int_equal(tokens_wait_ms(&tokens), 0);
	tokens_set(&tokens, UINT64_MAX, 7);
	assert_true(tokens_left(&tokens, 8) == SIZE_MAX);
}

TEST(test_any_rate_is_kept_over_any_steps)
{
	static const uint64_t rates[] = {1,      7,       1000,       4096,
	                                 123457, 1 << 20, 1000000007, TOKENS_RATE_MAX},
			      steps[] = {1, 333, 10 * MS, 99 * MS};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			struct tokens tokens = {0};
			uint64_t span_us = steps[k] == 1 ? TOKENS_SECOND / 4 : 20 * TOKENS_SECOND,
				 taken, due, burst;

			tokens_set(&tokens, rates[i], 77);
			burst = rates[i] / 10 < TOKENS_LEAST ? TOKENS_LEAST : rates[i] / 10;
			taken = drain(&tokens, 77, 77 + span_us, steps[k]);
			due = rates[i] * (span_us / 1000) / 1000 + burst;
			assert_in_range(taken, due - due / 50 - rates[i] / 10 - 1, due);
		}
	}
}

TEST(test_a_pause_saves_no_more_than_100_ms)
{
	struct tokens tokens = {0};

	tokens_set(&tokens, 1000000, 0);
	assert_int_equal(tokens_left(&tokens, 0), 100000);
	tokens_take(&tokens, 100000);
	assert_int_equal(tokens_left(&tokens, 9 * MS), 0);
	assert_int_equal(tokens_wait_ms(&tokens), 2);
	assert_int_equal(tokens_left(&tokens, 10 * MS), 10000);
	assert_int_equal(tokens_left(&tokens, 3600 * TOKENS_SECOND), 100000);
	assert_int_equal(tokens_left(&tokens, UINT64_MAX), 100000);
}

TEST(test_a_new_rate_forgives_nothing)
{
	struct tokens tokens = {0};

	tokens_set(&tokens, 1000000, 0);
	tokens_take(&tokens, tokens_left(&tokens, 0));
	tokens_set(&tokens, 2000000, 0);
	assert_int_equal(tokens_left(&tokens, 0), 0);
	assert_int_equal(tokens_left(&tokens, 50 * MS), 100000);
	tokens_set(&tokens, 100000, 50 * MS);
	assert_int_equal(tokens_left(&tokens, 50 * MS), 10000);
}

struct image {
	_Alignas(struct egress_rules)
		uint8_t bytes[sizeof(struct egress_rules) + sizeof(struct net_list)];
};

static struct image image_valid(void)
{
	struct egress_rules rules = {.mode = EGRESS_LIMITED,
	                             .connections_max = 256,
	                             .list_size = sizeof(struct net_list)};
	struct net_list list = {.size = sizeof list};
	struct image image;

	memcpy(image.bytes, &rules, sizeof rules);
	memcpy(image.bytes + sizeof rules, &list, sizeof list);
	return image;
}

static int map(const struct image *image, size_t size)
{
	_cleanup_fd_ int memory = fd_new_sealed("rules", image->bytes, size);
	struct ruleset rules = {0};
	int r;

	assert_true(memory >= 0);
	r = ruleset_change(&rules, memory);
	assert_true((r == 1) == (rules.memory != NULL));
	assert_int_equal(ruleset_change(&rules, memory), r == 1 ? 0 : r);
	ruleset_unmap(&rules);
	ruleset_unmap(&rules);
	return r == 1 ? 0 : r;
}

TEST(test_rules_are_taken_only_as_they_are_made)
{
	struct image image = image_valid();
	struct egress_rules *rules = (struct egress_rules *)image.bytes;

	assert_int_equal(map(&image, sizeof image), 0);
	for (size_t size = 1; size < sizeof image; size++)
		assert_int_equal(map(&image, size), -EBADMSG);
	rules->mode = EGRESS_NONE;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->mode = EGRESS_OPEN;
	assert_int_equal(map(&image, sizeof image), 0);
	rules->allow_private = 2;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->allow_private = 1;
	rules->reserved = 1;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->reserved = 0;
	rules->connections_max = 0;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->connections_max = EGRESS_CONNECTIONS_MAX + 1;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->connections_max = 1;
	rules->list_size--;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
	rules->list_size++;
	rules->list[4]++;
	assert_int_equal(map(&image, sizeof image), -EBADMSG);
}

TEST(test_rules_that_can_be_changed_are_none)
{
	struct image image = image_valid();
	_cleanup_fd_ int memory = memfd_create("rules", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			 null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct ruleset rules = {0};

	assert_int_equal(write(memory, &image, sizeof image), sizeof image);
	assert_int_equal(ruleset_change(&rules, memory), -EBADMSG);
	assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
	assert_int_equal(ruleset_change(&rules, memory), -EBADMSG);
	assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_int_equal(ruleset_change(&rules, memory), 1);
	ruleset_unmap(&rules);
	assert_int_equal(ruleset_change(&rules, null), -EBADMSG);
	assert_int_equal(ruleset_change(&rules, -1), -EBADMSG);
}

TEST_MAIN(NULL, NULL)
