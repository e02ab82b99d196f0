/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what can be asked about sandboxes that are there: who may what, and that nothing
 * else is allowed. */
#include <string.h>

#include "programs/decide/decider/manage.h"
#include "tests/support/testing.h"

#define ACTIONS_BEYOND 64 /* numbers that are tried besides those of actions */

/* Of whom the table asks what, written down once more: '-' nobody, 'm' managers, 'r' root. In the
 * order of enum manage_scope. */
static const struct {
	const char *name, *who;
	bool sends_memory, rests, runs,
		pauses; /* whether a supervisor acts on it: when stopped, running, paused */
} expected[] = {
	[MANAGE_LIST] = {"list", "-mr", true, false, false, false},
	[MANAGE_INSPECT] = {"inspect", "m--", true, false, false, false},
	[MANAGE_ATTACH] = {"attach", "m--", false, false, true, true},
	[MANAGE_DETACH] = {"detach", "m--", false, false, false, false},
	[MANAGE_PAUSE] = {"pause", "m--", false, false, true, false},
	[MANAGE_RESUME] = {"resume", "m--", false, false, false, true},
	[MANAGE_KILL] = {"kill", "m--", false, false, true, false},
	[MANAGE_DESTROY] = {"destroy", "m--", false, true, true, true},
	[MANAGE_USAGE] = {"usage", "mmr", true, false, false, false},
	[MANAGE_FOLLOW] = {"follow", "m--", false, false, true, true},
	[MANAGE_TOTALS] = {"totals", "-r-", false, false, false, false},
	[MANAGE_PLAN] = {"plan", "m--", true, true, true, true},
	[MANAGE_RULES] = {"rules", "m--", true, false, true, true},
	[MANAGE_NETWORK] = {"network", "m--", false, false, true, true},
};

static bool acts_in(const struct manage_row *row, enum sandbox_state state)
{
	return row->states & (1U << state);
}

TEST(each_action_is_allowed_to_whom_it_is_for_and_to_nobody_else)
{
	for (uint32_t action = 0; action < ARRAY_SIZE(expected); action++) {
		const struct manage_row *row = manage_find_row(action);

		assert_string_equal(row->name, expected[action].name);
		assert_non_null(row->handle);
		for (enum manage_scope scope = 0; scope < SCOPES; scope++)
			for (int is_root = 0; is_root < 2; is_root++) {
				char who = expected[action].who[scope];
				struct yett_error error = {0};
				int r = manage_decide(row, scope, is_root, &error);

				assert_int_equal(r, who == 'm' || (who == 'r' && is_root) ? 0
				                    : who == 'r' ? YETT_E_PERMISSION_DENIED
				                                 : YETT_E_INVALID_REQUEST);
				assert_int_equal(error.code, r);
			}
	}
}

TEST(each_action_needs_what_it_is_for)
{
	for (uint32_t action = 0; action < ARRAY_SIZE(expected); action++) {
		const struct manage_row *row = manage_find_row(action);

		assert_int_equal(row->sends_memory, expected[action].sends_memory);
		assert_int_equal(acts_in(row, SANDBOX_STOPPED), expected[action].rests);
		assert_int_equal(acts_in(row, SANDBOX_FAILED), expected[action].rests);
		assert_int_equal(acts_in(row, SANDBOX_STOPPING), expected[action].rests);
		assert_int_equal(acts_in(row, SANDBOX_RUNNING), expected[action].runs);
		assert_int_equal(acts_in(row, SANDBOX_PAUSED), expected[action].pauses);
	}
}

TEST(what_is_no_action_is_allowed_to_nobody)
{
	static const struct manage_row empty;

	for (uint32_t i = 0; i <= ACTIONS_BEYOND; i++) {
		uint32_t action =
			i < ACTIONS_BEYOND ? (uint32_t)ARRAY_SIZE(expected) + i : UINT32_MAX;

		assert_null(manage_find_row(action)->handle);
		for (enum manage_scope scope = 0; scope < SCOPES; scope++) {
			struct yett_error error = {0};

			assert_int_equal(
				manage_decide(manage_find_row(action), scope, true, &error),
				YETT_E_INVALID_REQUEST);
		}
	}
	for (enum manage_scope scope = 0; scope < SCOPES; scope++)
		assert_int_equal(empty.who[scope],
		                 WHO_NOBODY); /* so a row that says nothing allows nothing */
}

TEST_MAIN(NULL, NULL)
