/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is to have a connection served, by a clock of the test's own. The rest of
 * admission.c is hostile-door's. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/testing.h"

static uint64_t now_ms = 1000000;
#define clock_now_ms() now_ms
#include "helper/listener/admission.c"

#define WORKERS 64

static struct admission admission = {.debts_key = 0x9e3779b97f4a7c15, .processors = 2};
static struct worker workers[WORKERS];
static bool proven[WORKERS];
static int monitors[WORKERS];
static size_t count;

static int clear(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++) {
		close(workers[i].control);
		close(monitors[i]);
	}
	count = 0;
	memset(proven, 0, sizeof proven);
	memset(admission.granted_ms, 0, sizeof admission.granted_ms);
	return 0;
}

static void come(uid_t uid, size_t times)
{
	int pair[2];

	for (; times > 0; times--, count++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		workers[count] = (struct worker){.control = pair[0],
		                                 .uid = uid,
		                                 .is_serving = true,
		                                 .is_waiting = true,
		                                 .is_proven = &proven[count],
		                                 .since_ms = now_ms++};
		monitors[count] = pair[1];
	}
}

/* Of which monitors it is the turn now, as bits. */
static uint64_t turns(bool waits)
{
	uint64_t given = 0;
	char byte;

	assert_int_equal(admission_give_turns(&admission, workers, count), waits);
	for (size_t i = 0; i < count; i++)
		given |= (uint64_t)(recv(monitors[i], &byte, 1, MSG_DONTWAIT) == 1) << i;
	return given;
}

TEST_WITH(who_is_alone_has_some_for_each_processor_the_oldest_first, NULL, clear)
{
	come(1000, 20);
	assert_int_equal(turns(true), 0xff);
	assert_int_equal(turns(true), 0);
	proven[0] = proven[1] = true;
	now_ms += GRANTED_MS;
	assert_int_equal(turns(true), 0x300);
	now_ms += BEGINNING_MS;
	assert_int_equal(turns(true), 0x3fc00);
	now_ms += BEGINNING_MS;
	assert_int_equal(turns(false), 0xc0000);
}

TEST_WITH(users_who_came_lately_share_the_processors, NULL, clear)
{
	come(1001, 1);
	assert_int_equal(turns(false), 1);
	proven[0] = true;
	come(1000, 30);
	assert_int_equal(turns(true), 0x1fe); /* it is not known yet who is granted anything */
	proven[1] = true;
	now_ms += BEGINNING_MS;
	come(1001, 1);
	assert_int_equal(turns(true),
	                 UINT64_C(1) << 31 | 0x200); /* one of two processors for each */
	now_ms += LATELY_MS;
	assert_int_equal(turns(true), 0x3fc00); /* eight: nobody was granted anything lately */
}

TEST_WITH(one_that_ends_makes_room, NULL, clear)
{
	come(1000, 9);
	assert_int_equal(turns(true), 0xff);
	workers[1].is_serving = false;
	assert_int_equal(turns(false), 0x100);
}

TEST_WITH(root_waits_for_nobody, NULL, clear)
{
	come(1000, 20);
	(void)turns(true);
	come(0, 20);
	assert_int_equal(turns(true), UINT64_C(0xfffff) << 20);
}

TEST_MAIN(NULL, NULL)
