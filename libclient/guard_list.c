/* SPDX-License-Identifier: Apache-2.0 */
/* See guard_read_lists() in guard.h. Runs as the caller. */
#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "base/name_list.h"
#include "libclient/guard.h"

/* A path without "." and ".." components; "./" may come first if `may_be_here`. */
static bool guard_list_is_path(const char *name, bool may_be_here)
{
	const char *part =
		strncmp(name, "./", 2) == 0 && may_be_here ? name + 2 : name + (*name == '/');
	size_t length;

	for (bool is_first = true; is_first || *part;
	     is_first = false, part += length + (part[length] == '/')) {
		length = strcspn(part, "/");
		if (length == 0 || length > NAME_MAX || strspn(part, ".") >= length ||
		    (part[length] == '/' && !part[length + 1]))
			return false;
		for (size_t i = 0; i < length; i++)
			if ((unsigned char)part[i] < ' ' || part[i] == 0x7f)
				return false;
	}
	return true;
}

static int guard_list_check_path(const char *path, const char *name, bool may_be_here,
                                 struct yett_error *error)
{
	if (guard_list_is_path(name, may_be_here))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
	                 "%s: %.100s: expected a path below the home, %s, without . and ..", path,
	                 ESCAPE(name),
	                 may_be_here ? "an absolute one, or ./PATH below the top of a share"
	                             : "or an absolute one");
}

static int check_secret(const char *path, const char *name, struct yett_error *error)
{
	return guard_list_check_path(path, name, false, error);
}

static int check_guarded(const char *path, const char *name, struct yett_error *error)
{
	return guard_list_check_path(path, name, true, error);
}

int guard_read_lists(const char *const **ret_hidden, const char *const **ret_read_only,
                     struct yett_error *error)
{
	int r = name_list_read("secret", check_secret, ret_hidden, error);

	return r ? r : name_list_read("guard", check_guarded, ret_read_only, error);
}
