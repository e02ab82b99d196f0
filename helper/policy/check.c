/* See check.h. */
#include "helper/policy/check.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Why somebody else could make `path` mean another file than the one it names now; NULL when nobody can. */
static const char *rename_problem(const char *path, uid_t owner)
{
	char prefix[PATH_MAX];
	struct stat st;

	for (size_t length = 0;; length += 1 + strcspn(path + length + 1, "/")) {
		(void)snprintf(prefix, sizeof prefix, "%.*s", length ? (int)length : 1, path);
		if (lstat(prefix, &st) < 0)
			return errno == ENOENT ? "does not exist" : "cannot be looked at";
		if (S_ISLNK(st.st_mode))
			return "leads through a symbolic link: name the real path";
		if (path[length] == '\0')
			return NULL;
		if (!S_ISDIR(st.st_mode))
			return "leads through a file";
		if ((st.st_uid != 0 && st.st_uid != owner) || (st.st_mode & (S_IWGRP | S_IWOTH)))
			return "lies in a directory that others can write, who could put something else in its place";
	}
}

/* Directories, of which "*" is any; or of what a profile shares SOURCE[:TARGET]. */
static int check_list(const struct policy_list *list, bool are_shares, uid_t owner, struct yett_error *error)
{
	struct stat st;

	for (size_t i = 0; i < list->count; i++) {
		const char *item = list->items[i], *problem;
		_cleanup_free_ char *path = strndup(item, are_shares ? strcspn(item, ":") : strlen(item));

		if (!path)
			return -ENOMEM;
		if (strcmp(path, "*") == 0)
			continue;
		problem = rename_problem(path, owner);
		if (!problem && !are_shares && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
			problem = "is not a directory";
		if (problem)
			return policy_refuse(list->places[i], item, problem, error);
	}
	return 0;
}

int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->profiles_count; i++)
		r = check_list(&policy->profiles[i].share_ro, true, owner, error) ?: check_list(&policy->profiles[i].share_rw, true, owner, error);
	for (size_t i = 0; r == 0 && i < policy->grants_count; i++)
		r = check_list(&policy->grants[i].share_ro, false, owner, error) ?: check_list(&policy->grants[i].share_rw, false, owner, error);
	return r;
}
