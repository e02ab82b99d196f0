/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See yett_hide_list() and yett_protect_list() in yett-workspace.h. Runs as the caller, on files of
 * the administrator and of the caller.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/sandbox_name.h"
#include "workspace/store/work_glob.h"
#include "workspace/yett-workspace.h"

#define PARTS_MAX 4

/* Accepts the names that --hide accepts. */
static int check_hidden(const char *path, const char *name, struct yett_error *error)
{
	_cleanup_(work_globs_free) struct work_globs globs = {.count = 0};

	return work_globs_read(path, (const char *const[]){name, NULL}, &globs, error);
}

/* Accepts names in the form of yett-apply's built-in lists: workspace/diff/protect.h. */
static int check_protected(const char *path, const char *name, struct yett_error *error)
{
	bool is_sound = *name != '/';
	size_t parts = 0, length;

	for (const char *part = name; is_sound && *part; part += length + (part[length] == '/')) {
		length = strcspn(part, "/");
		is_sound = ++parts <= PARTS_MAX && length > 0 && length <= NAME_MAX &&
		           strspn(part, ".") < length &&
		           !(part[length] == '/' && !part[length + 1]) &&
		           !(length == 1 && *part == '*');
		for (size_t i = 0; is_sound && i < length; i++)
			is_sound = part[i] > ' ' && part[i] < 0x7f && !strchr("?[\\", part[i]) &&
			           (part[i] != '*' || i == 0 || i == length - 1);
	}
	if (is_sound)
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		"%s: %.100s: expected a name, or up to %d names joined by /, in ASCII without spaces; * at the start or end matches any text",
		path, ESCAPE(name), PARTS_MAX);
}

int yett_hide_list(const char *profile, const char *const **ret_names, struct yett_error *error)
{
	char name[256];

	/* A name that no profile can have has no list. */
	if (profile && (!sandbox_name_is_valid(profile) || strlen(profile) > 64))
		return (*ret_names = memory_new(sizeof **ret_names))
		               ? 0
		               : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                           "no memory for a list of names");
	(void)snprintf(name, sizeof name, "hide.d/%s", profile ? profile : "default");
	return name_list_read(name, check_hidden, ret_names, error);
}

int yett_protect_list(const char *const **ret_names, struct yett_error *error)
{
	return name_list_read("protect", check_protected, ret_names, error);
}
