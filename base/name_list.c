/* SPDX-License-Identifier: Apache-2.0 */
/* See name_list.h. */
#include "base/name_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/home.h"
#include "base/memory.h"

#define WHITESPACE " \t\r\n"

/* `list` ends with NULL, and its texts belong to it: memory.h. */
struct names {
	const char **list;
	size_t count;
	name_list_check *check;
};

static int name_list_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list of names");
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
	if (names->count == NAME_LIST_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "%s: more than %d names", path, NAME_LIST_MAX);
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

int name_list_read(const char *name, name_list_check *check, const char *const **ret_names,
                   struct yett_error *error)
{
	struct names names = {.check = check};
	_cleanup_(memory_freep) const char **list = memory_new((NAME_LIST_MAX + 1) * sizeof *list);
	char home[HOME_PATH_SIZE], path[HOME_PATH_SIZE * 2];
	int r;

	if (!list)
		return name_list_no_memory(error);
	names.list = list;
	(void)snprintf(path, sizeof path, YETT_SETTINGS_DIRECTORY "/%s", name);
	r = name_list_read_list(&names, path, error);
	if (r == 0 && home_find(home, sizeof home, NULL) == 0) {
		(void)snprintf(path, sizeof path, "%s/.config/yett/%s", home, name);
		r = name_list_read_list(&names, path, error);
	}
	if (r == 0)
		*ret_names = (const char *const *)steal_ptr(&list);
	return r;
}
