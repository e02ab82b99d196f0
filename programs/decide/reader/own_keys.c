/* SPDX-License-Identifier: Apache-2.0 */
/* See own_keys.h. */
#include "programs/decide/reader/own_keys.h"
#include "base/error_text.h"
#include "helper/policy/key_line.h"
#include "helper/plan/peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILE_MAX 16384

static int own_keys_refuse(struct yett_error *error, const char *why)
{
	return error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY,
	                 "~/.config/yett/authorized_keys does not count: %s", why);
}

static int refuse_closed(struct yett_error *error)
{
	int number = errno;
	int r = own_keys_refuse(error, "it, or its directory, cannot be opened or read");

	(void)error_cause(error, NULL, number);
	return r;
}

static const char *owner_problem(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_uid != uid && st.st_uid != 0))
		return "it, or its directory, belongs to somebody else";
	return st.st_mode & 022 ? "others can write it or its directory" : NULL;
}

static const char *file_problem(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is not a regular file";
	return st.st_size > FILE_MAX ? "it is larger than 16 KiB" : NULL;
}

int own_keys_find(const char *home, uid_t uid, const char *line, bool *ret_is_first,
                  struct yett_error *error)
{
	char path[PEER_HOME_MAX + 32], text[FILE_MAX];
	_cleanup_fd_ int dir = -1, fd = -1;
	const char *problem;
	ssize_t n;

	/* The account has no home directory, so no key can be enrolled. */
	*ret_is_first = home[0] != '/';
	if (*ret_is_first)
		return 0;
	(void)snprintf(path, sizeof path, "%s/.config/yett", home);
	dir = open(path, O_DIRECTORY | O_PATH | O_CLOEXEC);
	fd = dir < 0 ? -1
	             : openat(dir, "authorized_keys",
	                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* ENOENT alone shows that no key is enrolled: after another error there may be one. */
	if (fd < 0 && errno == ENOENT) {
		*ret_is_first = true;
		return 0;
	}
	if (fd < 0)
		return refuse_closed(error);
	problem = owner_problem(dir, uid);
	problem = problem ? problem : owner_problem(fd, uid);
	problem = problem ? problem : file_problem(fd);
	if (problem)
		return own_keys_refuse(error, problem);
	n = read(fd, text, sizeof text);
	if (n < 0)
		return refuse_closed(error);
	*ret_is_first = n == 0;
	if (n == 0 || key_line_is_in(text, (size_t)n, line))
		return 0;
	return error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY, "%s",
	                 error_reason_text(YETT_R_UNKNOWN_KEY));
}
