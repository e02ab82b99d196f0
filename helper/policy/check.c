/* SPDX-License-Identifier: Apache-2.0 */
/* See check.h. */
#include "helper/policy/check.h"

static const char missing[] = "does not exist";

/*
 * What a path names: NAMED_SOURCE the source of a profile's mount; NAMED_DIRECTORY a directory
 * below which a grant lets clients share; NAMED_NODE a socket or device, which may be created
 * later.
 */
enum named { NAMED_SOURCE, NAMED_DIRECTORY, NAMED_NODE };

/*
 * Returns why a user other than root and `owner` could make `path` name another file than now; NULL
 * if none can.
 */
static const char *rename_problem(const char *path, bool is_directory, uid_t owner)
{
	char prefix[PATH_MAX];
	struct stat st;

	for (size_t length = 0;; length += 1 + strcspn(path + length + 1, "/")) {
		FORMAT(prefix, "%.*s", length ? (int)length : 1, path);
		if (lstat(prefix, &st) < 0)
			return errno == ENOENT ? missing : "cannot be looked at";
		if (S_ISLNK(st.st_mode))
			return "leads through a symbolic link: name the real path";
		if (path[length] == '\0')
			return is_directory && !S_ISDIR(st.st_mode) ? "is not a directory" : NULL;
		if (!S_ISDIR(st.st_mode))
			return "goes through a file";
		if ((st.st_uid != 0 && st.st_uid != owner) || (st.st_mode & (S_IWGRP | S_IWOTH)))
			return "is in a directory that others can write, so that they could replace it";
	}
}

/*
 * "*" stands for any directory. Sockets in the runtime directories are exempt: users may replace
 * those, but then clients connect only to their own. A process in a sandbox cannot replace them,
 * because the runtime directories are never shared (helper/setup/share.c).
 */
static int policy_check_check_path(const char *path, enum named named, struct policy_place place,
                                   uid_t owner, struct yett_error *error)
{
	bool is_any = named == NAMED_DIRECTORY && strcmp(path, "*") == 0;
	const char *problem = is_any ? NULL : rename_problem(path, named == NAMED_DIRECTORY, owner);

	if (named == NAMED_NODE &&
	    (problem == missing || policy_path_is_in(path, POLICY_RUNTIME_DIRS) ||
	     policy_path_is_in(path, POLICY_RUNTIME_X11)))
		return 0;
	return problem ? policy_refuse(place, path, problem, error) : 0;
}

static int policy_check_check_rules(const struct policy_list *list, enum named named, uid_t owner,
                                    struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = policy_check_check_path(list->items[i], named, list->places[i], owner, error);
	return r;
}

int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->profiles_count; i++) {
		r = policy_check_check_rules(&policy->profiles[i].devices, NAMED_NODE, owner,
		                             error);
		for (size_t m = 0; r == 0 && m < policy->profiles[i].mounts_count; m++) {
			const struct policy_mount *mount = &policy->profiles[i].mounts[m];

			if (*mount->source)
				r = policy_check_check_path(mount->source, NAMED_SOURCE,
				                            mount->place, owner, error);
		}
	}
	for (size_t i = 0; r == 0 && i < policy->grants_count; i++)
		r = policy_check_check_rules(&policy->grants[i].share_ro, NAMED_DIRECTORY, owner, error)
		            ?: policy_check_check_rules(&policy->grants[i].share_rw, NAMED_DIRECTORY, owner, error)
		            ?: policy_check_check_rules(&policy->grants[i].sockets, NAMED_NODE, owner, error);
	return r;
}
