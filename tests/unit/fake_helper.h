/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper and its init in one unprivileged process, for tests of the command: it answers every
 * request on descriptor 3 and runs the commands itself, without any sandbox.
 */
#pragma once

/*
 * Serves until the client hangs up. Refuses shares in profile "strict" and everything in profile
 * "none", tells limits of a command whose first argument is "limits", and has no directory whose
 * path contains "/outside". Returns 0.
 */
int fake_helper(void);
