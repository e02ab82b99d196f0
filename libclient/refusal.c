/* SPDX-License-Identifier: Apache-2.0 */
/* See refusal.h. */
#include "libclient/refusal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/fd_path.h"

#define SOCKETS "sockets" /* the key of a grant */

/* Compares in the form of a refusal: escaped, and cut to the size of error->asked. */
static bool is_target(const char *target, const char *asked)
{
	char text[sizeof((struct yett_error *)0)->asked];

	(void)snprintf(text, sizeof text, "%s", ESCAPE(target));
	return strcmp(text, asked) == 0;
}

static bool refusal_find_path(int fd, char path[static PATH_MAX], bool *ret_is_directory)
{
	struct stat st;

	if (fd_path(fd, path) < 0 || fstat(fd, &st) < 0)
		return false;
	*ret_is_directory = S_ISDIR(st.st_mode);
	return true;
}

/*
 * Cuts the path to the longest part that a policy can name: root owns every directory above it, and
 * nobody else can write these. The policy loader requires the same (helper/policy/check.c).
 */
static void cut_to_rule(char *path)
{
	for (char *slash = path; slash; slash = strchr(slash + 1, '/')) {
		char kept = slash[1];
		struct stat st;
		bool is_safe;

		if (slash == path)
			slash[1] = '\0';
		else
			*slash = '\0';
		is_safe = stat(path, &st) == 0 && st.st_uid == 0 &&
		          !(st.st_mode & (S_IWGRP | S_IWOTH));
		if (!is_safe)
			return;
		if (slash == path)
			slash[1] = kept;
		else
			*slash = '/';
	}
}

void refusal_name_share(const char *const *targets, const int *fds, size_t count,
                        struct yett_error *error)
{
	char path[PATH_MAX], rule[PATH_MAX];
	bool is_directory, is_socket = strncmp(error->rule, SOCKETS " ", strlen(SOCKETS " ")) == 0;

	if (error->code != YETT_E_PERMISSION_DENIED ||
	    (strncmp(error->rule, "share_r", 7) != 0 && !is_socket))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!targets[i] || !is_target(targets[i], error->asked) ||
		    !refusal_find_path(fds[i], path, &is_directory))
			continue;
		(void)snprintf(rule, sizeof rule, "%s", path);
		cut_to_rule(rule);
		(void)snprintf(error->asked, sizeof error->asked, "%s", ESCAPE(path));
		error_detail(error, "asked %s, allowed %s by %s (%s:%u)", error->asked,
		             error->allowed, error->rule, error->file, error->line);
		if (is_socket) {
			error_mend(error, SOCKETS " += {\"%s\"} in %s (%s:%u)", error->asked,
			           error->rule + strlen(SOCKETS " of "), error->file, error->line);
			return;
		}
		/* A rule that names a path allows directories only. A file needs "*". */
		error_mend(
			error,
			is_directory
				? "%.8s += {\"%s\"} in %s (%s:%u)"
				: "%.8s += {\"%s\"} in %s (%s:%u), which allows all of the host; or share its directory",
			error->rule, is_directory ? ESCAPE(rule) : "*",
			error->rule + strlen("share_rX of "), error->file, error->line);
		return;
	}
}

void refusal_mend_key(struct yett_error *error)
{
	if (error->code == YETT_E_BAD_SIGNATURE && error->reason == YETT_R_UNKNOWN_KEY &&
	    !error->mend[0])
		error_mend(
			error,
			"append the public half of the key to ~/.config/yett/authorized_keys, or have the administrator enroll it: yett enroll NAME "
			"FILE.pub");
}
