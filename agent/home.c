/* SPDX-License-Identifier: Apache-2.0 */
/* See home.h. */
#include "agent/home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *home_path(const char *variable, const char *below, const char *name)
{
	const char *base = secure_getenv(variable);
	const struct passwd *user = base && base[0] == '/' ? NULL : getpwuid(getuid());
	char *path = NULL;
	int r = -1;

	if (base && base[0] == '/')
		r = asprintf(&path, "%s/%s", base, name);
	else if (user)
		r = asprintf(&path, "%s/%s/%s", user->pw_dir, below, name);
	return r < 0 ? NULL : path;
}
