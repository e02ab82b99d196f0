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

static int check_rules(const struct policy_list *rules, uid_t owner, struct yett_error *error)
{
	struct stat st;

	for (size_t i = 0; i < rules->count; i++) {
		const char *problem;

		if (strcmp(rules->items[i], "*") == 0)
			continue;
		problem = rename_problem(rules->items[i], owner);
		if (!problem && (stat(rules->items[i], &st) < 0 || !S_ISDIR(st.st_mode)))
			problem = "is not a directory";
		if (problem)
			return policy_refuse(rules->places[i], rules->items[i], problem, error);
	}
	return 0;
}

/* SOURCE[:TARGET] lists. */
static int check_shares(const struct policy_list *shares, uid_t owner, struct yett_error *error)
{
	for (size_t i = 0; i < shares->count; i++) {
		_cleanup_free_ char *source = NULL, *target = NULL;
		const char *problem;

		if (policy_split(shares->items[i], &source, &target) < 0)
			return -ENOMEM;
		problem = rename_problem(source, owner);
		if (problem)
			return policy_refuse(shares->places[i], shares->items[i], problem, error);
	}
	return 0;
}

int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->profiles_count; i++) {
		r = check_shares(&policy->profiles[i].share_ro, owner, error);
		if (r == 0)
			r = check_shares(&policy->profiles[i].share_rw, owner, error);
	}
	for (size_t i = 0; r == 0 && i < policy->grants_count; i++) {
		r = check_rules(&policy->grants[i].share_ro, owner, error);
		if (r == 0)
			r = check_rules(&policy->grants[i].share_rw, owner, error);
	}
	return r;
}
