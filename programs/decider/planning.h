/*
 * Planning: the full list of set-up steps for one decision.
 *
 * Pure: no I/O, no privilege, the same decision gives the same plan but for the id that the caller
 * hands in.
 */
#pragma once

#include "programs/decider/authorize.h"

/*
 * Resolves every value: mounts in order (parents before children), the masked and read-only parts
 * of /proc, limits, names. A SHARE step's `source` lists the policy directories below which it must
 * lie, separated by '\n' ("*": any). A share may be read-only where either list of the grant allows
 * it, writable only where share_rw does. Targets must be absolute, normalized (no "//", ".", "..",
 * trailing "/"), below neither /proc, /sys nor /dev, not "/", and not the target of another mount;
 * each share must use another descriptor and every descriptor must be used. A path that is to be
 * read-only or hidden inside something writable is refused where a parent of it could be renamed.
 * On failure the content of `ret_plan` is undefined. 0, or YETT_E_INVALID_REQUEST /
 * YETT_E_UNSUPPORTED with the field in the detail.
 */
_must_check_ int planning_make(const struct policy *policy, const struct decision *decision,
                               const char id[PLAN_ID_SIZE], struct plan *ret_plan,
                               struct yett_error *error);

/*
 * What is to be mounted in a sandbox that is there, and taken off: a plan of those steps alone,
 * with what the profile protects in them. The decision is that of a create with the same shares.
 * Each place has to lie where commands may come, whatever the sandbox had when it was made: below
 * /mnt, /tmp, /var/tmp, /run or the home. Where the profile protects something, nothing is taken
 * off. Of `mount` what is no part of a create is looked at, with texts of the decision's request.
 * As planning_make().
 */
_must_check_ int planning_mount(const struct policy *policy, const struct decision *decision,
                                const char id[PLAN_ID_SIZE], const struct message_mount *mount,
                                struct plan *ret_plan, struct yett_error *error);
