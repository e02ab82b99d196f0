/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett policy test FILE`: checks that the policy decides each request of a file as the file
 * expects.
 *
 * Runs as the caller. yett-explain answers, and runs once for each request.
 */
#pragma once

/*
 * Tests the policy at `policy` (NULL: the installed one). Prints each difference, then their
 * number. Returns an exit status: 0 if there is none, 1 if there are some, 2 if a request could not
 * be decided because the file or the policy is wrong or the user is unknown.
 */
int policy_test(const char *policy, const char *path);
