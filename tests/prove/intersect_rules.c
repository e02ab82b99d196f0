/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How intersect() takes the lesser of two numbers, by WP, for all values: narrow() leaves a bound
 * that is within the one before and within what was said, and one of them; and where either is
 * narrowed, the outcome is not wider. intersect_walk.c proves what is narrowed by what.
 */
#include "tests/prove/models.h"

#include "helper/plan/admit.h"
#include "programs/decide/decider/intersect.h"
#include "programs/decide/decider/refuse.h"

#include <string.h>

/* What a grant says by a row: intersect_walk.c proves which member that is. A policy does not
 * change. */
/*@ axiomatic policy { logic integer says(struct intersect_row *row, struct policy_grant *grant); }
    logic integer none(integer rule) = rule == INTERSECT_LINGER ? UINT64_MAX : 0;
    predicate is_less(integer rule, integer value, integer than) = value != none(rule) && (than ==
   none(rule) || value < than); predicate is_within(integer rule, integer value, integer most) =
   most == none(rule) || (value != none(rule) && value <= most); */

/*@ assigns \nothing; ensures \result == says(row, grant); */
uint64_t intersect_value(const struct intersect_row *row, const struct policy_grant *grant);

/*@ requires \valid_read(row); assigns \nothing; ensures \result == none(row->rule); */
static uint64_t unlimited(const struct intersect_row *row);

/*@ requires \valid_read(row); assigns \nothing; ensures \result <==> is_less(row->rule, value,
 * than); */
bool intersect_is_less(const struct intersect_row *row, uint64_t value, uint64_t than);

/*@ requires \valid_read(row) && \valid(bound) && \separated(row, bound);
    assigns *bound;
    ensures said: is_within(row->rule, bound->most, says(row, by));
    ensures before: is_within(row->rule, bound->most, \old(bound->most));
    ensures either: (bound->most == says(row, by) && bound->by == by) ||
                    (bound->most == \old(bound->most) && bound->by == \old(bound->by)); */
static void narrow(const struct intersect_row *row, struct bound *bound,
                   const struct policy_grant *by);

/*@ assigns \nothing;
    ensures \result == (a == 0 ? b : b == 0 ? a : a < b ? a : b); */
uint64_t plan_lesser(uint64_t a, uint64_t b);

#include "programs/decide/decider/intersect.c"
#include "programs/decide/decider/plan_add.c"

/* Of two bounds the narrower one, each narrowed by what is said, where that is narrower for the
 * first one, too. */
/*@ requires \valid_read(row) && \valid(a) && \valid(b) && \separated(row, a, b);
    requires is_within(row->rule, a->most, b->most) && is_within(row->rule, says(row, of_a),
   says(row, of_b)); assigns *a, *b; ensures is_within(row->rule, a->most, b->most); */
void both(const struct intersect_row *row, struct bound *a, const struct policy_grant *of_a,
          struct bound *b, const struct policy_grant *of_b)
{
	narrow(row, a, of_a);
	narrow(row, b, of_b);
}

/* The same where one more is there to say something. */
/*@ requires \valid_read(row) && \valid(a) && \valid(b) && \separated(row, a, b);
    requires is_within(row->rule, a->most, b->most);
    assigns *a;
    ensures is_within(row->rule, a->most, b->most); */
void one_more(const struct intersect_row *row, struct bound *a, const struct policy_grant *of_a,
              const struct bound *b)
{
	(void)b;
	narrow(row, a, of_a);
}
