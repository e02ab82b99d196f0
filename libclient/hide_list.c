/* See yett_hide_list() in yett.h. With the caller's privilege, on files of the administrator's and of the caller's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "libclient/failure.h"
#include "libclient/keyfile.h"
#include "libclient/memory.h"
#include "libclient/sandbox.h"
#include "libclient/work_glob.h"

#define NAMES_MAX  1024
#define PERSONAL   "/.config/yett/hide.d/"
#define WHITESPACE " \t\r\n"

/* The names are a list that ends with NULL, and own their texts. */
struct names {
	const char **list;
	size_t count;
};

/* A line is a name, a comment or nothing. */
static int add_line(struct names *names, const char *path, char *line, struct yett_error *error)
{
	_cleanup_(work_globs_free) struct work_globs globs = {.count = 0};
	char *name = line + strspn(line, WHITESPACE);
	size_t length = strlen(name);
	int r;

	while (length && strchr(WHITESPACE, name[length - 1]))
		name[--length] = '\0';
	if (!*name || *name == '#')
		return 0;
	if (names->count == NAMES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "%s: more than %d names to hide", path, NAMES_MAX);
	r = work_globs_read(path, (const char *const[]){name, NULL}, &globs, error);
	if (r)
		return r;
	names->list[names->count] = memory_add_text(names->list, name);
	return names->list[names->count++] ? 0 : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for what is to be hidden");
}

/* What cannot be read is not passed over: what it names would be seen. */
static int read_list(struct names *names, const char *path, struct yett_error *error)
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
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s is no file, where names to hide are listed", path);
	if (fd >= 0)
		file = fdopen(fd, "r");
	if (!file)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot read the names to hide in %s: %m", path);
	fd = -1;
	while (r == 0 && getline(&line, &size, file) > 0)
		r = add_line(names, path, line, error);
	if (r == 0 && ferror(file))
		r = failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot read the names to hide in %s: %m", path);
	free(line);
	(void)fclose(file);
	return r;
}

int yett_hide_list(const char *profile, const char *const **ret_names, struct yett_error *error)
{
	_cleanup_(memory_freep) const char **list = memory_new((NAMES_MAX + 1) * sizeof *list);
	struct names names = {.list = list};
	char home[KEYFILE_PATH_SIZE], path[KEYFILE_PATH_SIZE * 2];
	const char *name = profile ? profile : "default";
	int r = 0;

	if (!list)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for what is to be hidden");
	if (sandbox_is_name(name)) { /* of no other there is a list */
		(void)snprintf(path, sizeof path, YETT_HIDE_DIRECTORY "/%s", name);
		r = read_list(&names, path, error);
		if (r == 0 && keyfile_home(home, sizeof home, NULL) == 0) {
			(void)snprintf(path, sizeof path, "%s" PERSONAL "%s", home, name);
			r = read_list(&names, path, error);
		}
	}
	if (r == 0)
		*ret_names = (const char *const *)steal_ptr(&list);
	return r;
}
