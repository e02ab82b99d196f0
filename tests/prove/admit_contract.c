/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit_unpack(), by WP: of a struct of any bytes and any length that is said to have come, what it
 * accepts has its counts within their bounds, steps of kinds that there are, and parts that lie
 * within what came. Only the arena and one byte are written to.
 */
#include "tests/prove/models.h"

#include "helper/plan/admit.h"
#include "protocol/message_state.h"

#include <string.h>

/*@ predicate is_right(struct plan *plan, integer i) = plan->steps[i].kind < PLAN_STEP_KINDS &&
      (i <= PLAN_CGROUP ==> plan->steps[i].kind == i) &&
      (plan->steps[i].kind == PLAN_SHARE ==> plan->steps[i].fd < plan->share_fds) &&
      (plan->steps[i].layer != 0 ==> plan->steps[i].kind == PLAN_SHARE && plan->steps[i].is_socket
   == 0) && plan->steps[i].layer <= PLAN_LAYER_STORE; logic integer came(struct plan *plan) =
   sizeof(struct plan_step) * plan->steps_count + plan->arena_used; */

/* memmove(3), as admit_unpack() may call it: what is moved are the last bytes that came, and the
 * arena has room for them. */
/*@ requires \valid(plan) && to == &plan->arena[0] && from == &plan->steps[plan->steps_count];
    requires plan->steps_count <= PLAN_STEPS_MAX && count == plan->arena_used <= PLAN_ARENA_MAX &&
   length == head + came(plan); assigns plan->arena[0 .. count - 1]; */
void move_arena(struct plan *plan, size_t head, size_t length, char *to,
                const struct plan_step *from, size_t count);

/*@ requires \valid(plan);
    assigns plan->arena[0 .. PLAN_ARENA_MAX - 1], plan->weaker[PLAN_WEAKER_SIZE - 1];
    ensures code: \result == 0 || \result == -EPROTO;
    ensures length: \result == 0 ==> length == sizeof(struct plan) - sizeof(plan->steps) -
   sizeof(plan->arena) + came(plan); ensures counts: \result == 0 ==> PLAN_CGROUP <
   plan->steps_count <= PLAN_STEPS_MAX && plan->arena_used <= PLAN_ARENA_MAX && plan->groups_count
   <= PLAN_GROUPS_MAX && plan->labels_count <= PLAN_LABELS_MAX && plan->env_count <= PLAN_ENV_MAX &&
      plan->share_fds <= MESSAGE_FDS_MAX && plan->terminals_max <= PLAN_TERMINALS_MAX &&
   plan->network < PLAN_NETWORKS; ensures steps: \result == 0 ==> \forall integer i; 0 <= i <
   plan->steps_count ==> is_right(plan, i); ensures ends: \result == 0 ==>
   plan->weaker[PLAN_WEAKER_SIZE - 1] == 0; */
int admit_unpack(struct plan *plan, size_t length);

#define memmove(to, from, count) move_arena(plan, head, length, to, from, count)
#include "helper/plan/admit.c"
