/* SPDX-License-Identifier: Apache-2.0 */
/* See copy.h. */
#include "cli/files/copy.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/output.h"

static void cli_copy_print_skipped(const char *path, const char *why, void *data)
{
	(void)data;
	output_note("%s: %s", path, why);
}

int copy_target(const char *from, const char *to, bool is_directory, char *out, size_t size,
                struct yett_error *error)
{
	const char *end = from + strlen(from), *name;
	size_t length;

	while (end > from && end[-1] == '/')
		end--;
	name = end;
	while (name > from && name[-1] != '/')
		name--;
	length = (size_t)(end - name);
	if (!is_directory || (length <= 2 && strncmp(name, "..", length) == 0))
		length = 0;
	if ((size_t)snprintf(out, size, "%s%s%.*s", to,
	                     length == 0 || to[strlen(to) - 1] == '/' ? "" : "/", (int)length,
	                     name) >= size)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "a path is too long");
	return 0;
}

static bool is_directory_inside(struct yett_sandbox *sandbox, const char *path)
{
	struct yett_file_info *info = NULL;
	bool is_directory = yett_file_stat(sandbox, path, YETT_FILE_FOLLOW, &info, NULL) == 0 &&
	                    info->kind == YETT_FILE_DIRECTORY;

	yett_free(info);
	return is_directory;
}

static bool is_directory_outside(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Refuses a target that is a symbolic link to a directory. An earlier copy may have put the link
 * there, and so the sandbox chose where it points: this copy would write to that place.
 */
static int check_link(const char *path, struct yett_error *error)
{
	size_t length = strlen(path);
	struct stat st;

	if (length == 0 || path[length - 1] == '/' || lstat(path, &st) < 0 ||
	    !S_ISLNK(st.st_mode) || !is_directory_outside(path))
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"%.180s is a symbolic link to a directory: to copy into that directory, write a slash behind it",
		path);
}

int copy_one(struct yett_sandbox *sandbox, bool is_out, const struct run_copy *copy,
             struct copied *ret_copied, struct yett_error *error)
{
	const struct yett_copy_options options = {.size = sizeof options,
	                                          .on_skipped = cli_copy_print_skipped};
	struct yett_copy_result *result = NULL;
	struct copied copied = {0};
	int r = is_out ? check_link(copy->to, error) : 0;

	if (r == 0)
		r = copy_target(copy->from, copy->to,
		                is_out ? is_directory_outside(copy->to)
		                       : is_directory_inside(sandbox, copy->to),
		                copied.target, sizeof copied.target, error);
	if (r == 0)
		r = (is_out ? yett_copy_out : yett_copy_in)(sandbox, copy->from, copied.target,
		                                            &options, &result, error);
	if (result)
		copied.result = *result;
	yett_free(result);
	if (r)
		copied.target[0] = '\0';
	if (r == 0 && copied.result.skipped > 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              "%llu entries of %.180s were not copied",
		              (unsigned long long)copied.result.skipped, copy->from);
	*ret_copied = copied;
	return r;
}

static int copy_all(struct yett_sandbox *sandbox, bool is_out, const struct run_copy *copies,
                    size_t count, struct yett_error *error)
{
	struct yett_error first = {0}, why = {0};
	struct copied copied;

	for (size_t i = 0; i < count; i++)
		if (copy_one(sandbox, is_out, &copies[i], &copied, &why) && !first.code)
			first = why;
	if (first.code)
		*error = first;
	return (int)first.code;
}

int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options,
                struct yett_error *error)
{
	return copy_all(sandbox, false, options->copies_in, options->copies_in_count, error);
}

int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options,
                 struct yett_error *error)
{
	return copy_all(sandbox, true, options->copies_out, options->copies_out_count, error);
}
