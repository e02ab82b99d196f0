/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning: makes the full list of set-up steps for one decision.
 *
 * Pure: no I/O, no privilege. The same decision gives the same plan, except for the id that the
 * caller passes in.
 */
#pragma once

#include "programs/decide/decider/authorize.h"

/*
 * Resolves every value: mounts in order (parents before children), the masked and read-only parts
 * of /proc, limits, names. The `source` of a SHARE step lists the policy directories below which
 * the share must be located, separated by '\n' ("*": any). A share may be read-only where share_ro
 * or share_rw of the grant allows it, and writable only where share_rw does. Targets must be
 * absolute, normalized (no "//", ".", "..", trailing "/"), not "/", not below /proc, /sys or /dev,
 * and not the target of another mount. Each share must use a different descriptor, and every
 * descriptor must be used. A read-only or hidden path inside a writable mount is refused where a
 * program could rename a parent of that path. Returns 0, YETT_E_INVALID_REQUEST or
 * YETT_E_UNSUPPORTED, with the field in the detail. On failure the content of `ret_plan` is
 * undefined.
 */
_must_check_ int planning_make(const struct policy *policy, const struct decision *decision,
                               const char id[PLAN_ID_SIZE], struct plan *ret_plan,
                               struct yett_error *error);

/*
 * Plans what to mount and unmount in an existing sandbox: only those steps, and covers for the
 * paths that the profile protects inside the new shares. The decision is that of a create with the
 * same shares; `mount` has the fields that a create lacks, with texts in the decision's request.
 * Each target must be below /mnt, /tmp, /var/tmp, /run or the home: Landlock lets commands reach
 * these places in every sandbox. A path that the profile protects or mounts cannot be unmounted.
 * Returns as planning_make().
 */
_must_check_ int planning_mount(const struct policy *policy, const struct decision *decision,
                                const char id[PLAN_ID_SIZE], const struct message_mount *mount,
                                struct plan *ret_plan, struct yett_error *error);
