/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection points: named steps at which test builds wait, die or fail. */
#pragma once

/*
 * Returns 0. Test builds replace this function (tests/support/) by one that waits, kills the
 * process or returns -errno at the step `step` of `process`.
 */
int reached_step(const char *process, const char *step);
