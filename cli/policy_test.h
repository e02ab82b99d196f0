/*
 * `yett policy test FILE`: whether the policy says of each request in a file what is expected of
 * it.
 *
 * Runs as the caller; yett-explain answers, once for each request.
 */
#pragma once

/*
 * By the policy at `policy` (NULL: the installed one). Prints what differs, then how many do. An
 * exit status: 0 if none does, 1, or 2 if it cannot be told of one, because something is wrong with
 * the file or the policy, or the user is not known.
 */
int policy_test(const char *policy, const char *path);
