/* SPDX-License-Identifier: Apache-2.0 */
/* See home.h. */
#include "base/home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int home_find(char *out, size_t size, struct yett_error *error)
{
	char buffer[16384];
	struct passwd entry, *found = NULL;
	const char *home = NULL;

	if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found)
		home = found->pw_dir;
	if (!home || home[0] != '/')
		home = secure_getenv("HOME");
	if (!home || home[0] != '/')
		return error_set(
			error, YETT_E_NOT_FOUND, YETT_R_NONE,
			"this user has no home directory: neither the user database nor HOME names one");
	if ((size_t)snprintf(out, size, "%s", home) >= size)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path of the home directory is too long");
	return 0;
}

int home_find_state(char path[static HOME_PATH_SIZE], struct yett_error *error)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	int r = 0;

	if (!state || state[0] != '/')
		r = home_find(path, HOME_PATH_SIZE - 64, error);
	else if (snprintf(path, HOME_PATH_SIZE - 64, "%s", state) >= HOME_PATH_SIZE - 64)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		              "XDG_STATE_HOME is longer than a path can be");
	if (r == 0)
		(void)strcat(path, state && state[0] == '/' ? "/yett/" : "/.local/state/yett/");
	return r;
}
