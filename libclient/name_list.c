/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See yett_hide_list() and yett_protect_list() in yett.h, and guard.h: reads lists of names. Runs
 * as the caller, on files of the administrator and of the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/failure.h"
#include "libclient/guard.h"
#include "libclient/keyfile.h"
#include "libclient/memory.h"
#include "libclient/sandbox.h"
#include "libclient/work_glob.h"

#define NAMES_MAX  1024
#define WHITESPACE " \t\r\n"
#define PARTS_MAX  4

/* `list` ends with NULL, and its texts belong to it: memory.h. */
struct names {
	const char **list;
	size_t count;
	int (*check)(const char *path, const char *name, struct yett_error *error);
};

static int name_list_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list of names");
}

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

/* A path without "." and ".." components; "./" may come first if `may_be_here`. */
static bool name_list_is_path(const char *name, bool may_be_here)
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

static int name_list_check_path(const char *path, const char *name, bool may_be_here,
                                struct yett_error *error)
{
	if (name_list_is_path(name, may_be_here))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
	                 "%s: %.100s: expected a path below the home, %s, without . and ..", path,
	                 ESCAPE(name),
	                 may_be_here ? "an absolute one, or ./PATH below the top of a share"
	                             : "or an absolute one");
}

static int check_secret(const char *path, const char *name, struct yett_error *error)
{
	return name_list_check_path(path, name, false, error);
}

static int check_guarded(const char *path, const char *name, struct yett_error *error)
{
	return name_list_check_path(path, name, true, error);
}

/* A line is a name, a comment or nothing. */
static int name_list_add_line(struct names *names, const char *path, char *line,
                              struct yett_error *error)
{
	char *name = line + strspn(line, WHITESPACE);
	size_t length = strlen(name);
	int r;

	while (length && strchr(WHITESPACE, name[length - 1]))
		name[--length] = '\0';
	if (!*name || *name == '#')
		return 0;
	if (names->count == NAMES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "%s: more than %d names", path, NAMES_MAX);
	r = names->check(path, name, error);
	if (r)
		return r;
	names->list[names->count] = memory_add_text(names->list, name);
	return names->list[names->count++] ? 0 : name_list_no_memory(error);
}

/*
 * A list that does not exist is empty. Any other error fails the call: without the list, the
 * sandbox would see, or yett-apply would apply, the files that the list names.
 */
static int name_list_read_list(struct names *names, const char *path, struct yett_error *error)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = NULL;
	char *line = NULL;
	size_t size = 0;
	struct stat st;
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is not a file, but must be a list of names", path);
	if (fd >= 0)
		file = fdopen(fd, "r");
	if (!file)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot read the list of names %s: %m", path);
	fd = -1;
	while (r == 0 && getline(&line, &size, file) > 0)
		r = name_list_add_line(names, path, line, error);
	if (r == 0 && ferror(file))
		r = failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                "cannot read the list of names %s: %m", path);
	free(line);
	(void)fclose(file);
	return r;
}

/*
 * Reads the administrator's list and then the caller's list. Both have the file name `name`, each
 * in its settings directory.
 */
static int read_lists(struct names *names, const char *name, const char *const **ret_names,
                      struct yett_error *error)
{
	_cleanup_(memory_freep) const char **list = memory_new((NAMES_MAX + 1) * sizeof *list);
	char home[KEYFILE_PATH_SIZE], path[KEYFILE_PATH_SIZE * 2];
	int r;

	if (!list)
		return name_list_no_memory(error);
	names->list = list;
	(void)snprintf(path, sizeof path, YETT_SETTINGS_DIRECTORY "/%s", name);
	r = name_list_read_list(names, path, error);
	if (r == 0 && keyfile_home(home, sizeof home, NULL) == 0) {
		(void)snprintf(path, sizeof path, "%s/.config/yett/%s", home, name);
		r = name_list_read_list(names, path, error);
	}
	if (r == 0)
		*ret_names = (const char *const *)steal_ptr(&list);
	return r;
}

int yett_hide_list(const char *profile, const char *const **ret_names, struct yett_error *error)
{
	struct names names = {.check = check_hidden};
	char name[256];

	/* A name that no profile can have has no list. */
	if (profile && (!sandbox_is_name(profile) || strlen(profile) > 64))
		return (*ret_names = memory_new(sizeof **ret_names)) ? 0
		                                                     : name_list_no_memory(error);
	(void)snprintf(name, sizeof name, "hide.d/%s", profile ? profile : "default");
	return read_lists(&names, name, ret_names, error);
}

int yett_protect_list(const char *const **ret_names, struct yett_error *error)
{
	struct names names = {.check = check_protected};

	return read_lists(&names, "protect", ret_names, error);
}

int guard_read_lists(const char *const **ret_hidden, const char *const **ret_read_only,
                     struct yett_error *error)
{
	struct names hidden = {.check = check_secret}, read_only = {.check = check_guarded};
	int r = read_lists(&hidden, "secret", ret_hidden, error);

	return r ? r : read_lists(&read_only, "guard", ret_read_only, error);
}
