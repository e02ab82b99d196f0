/* SPDX-License-Identifier: Apache-2.0 */
/* See review.h. */
#include "cli/changes/review.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>

#include "base/escape.h"
#include "base/spawn.h"
#include "cli/connect.h"
#include "cli/output.h"

#define PASSED_MAX 128 /* descriptors */

int review_check_paths(const char *subcommand, int count, char **paths, struct yett_error *error)
{
	for (int i = 0; i < count; i++) {
		size_t length = strlen(paths[i]);

		while (length > 1 && paths[i][length - 1] == '/')
			paths[i][--length] = '\0';
		for (const char *at = paths[i]; *at || at == paths[i]; at += *at == '/') {
			size_t part = strcspn(at, "/");

			if (part == 0 ||
			    (at[0] == '.' && (part == 1 || (part == 2 && at[1] == '.'))))
				return error_set(
					error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					"%s %.200s: expected a path below the directory that was shared, without . and ..",
					subcommand, paths[i]);
			at += part;
		}
	}
	return 0;
}

/*
 * Returns the program that the environment variable names, or the program beside the helper.
 * libyett checks it like a helper.
 */
static int find_program(const char *name, const char *variable, char path[PATH_MAX],
                        struct yett_error *error)
{
	const char *named = secure_getenv(variable);
	char helper[PATH_MAX], beside[PATH_MAX];
	int r = named ? 0 : yett_helper_path(NULL, helper, sizeof helper, error);

	if (r)
		return r;
	if (!named &&
	    (size_t)snprintf(beside, sizeof beside, "%.*s/%s", (int)(strrchr(helper, '/') - helper),
	                     helper, name) >= sizeof beside)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path of %s, beside the helper, is too long", name);
	return yett_helper_path(named ? named : beside, path, PATH_MAX, error);
}

static int review_fail(const struct review *review, const char *path, int r,
                       struct yett_error *error)
{
	errno = -r;
	return path ? error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                        "cannot execute %s: %m", path)
	            : error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "cannot start %s: %m",
	                        review->name);
}

/* Builds argv. The caller frees the array, but not the strings. */
static char **put_arguments(const struct review *review, const char *const *protected,
                            char numbers[REVIEW_PIPES][16])
{
	size_t names = 0, paths = 0, used = 1, pipes = 0;
	char **argv;

	while (protected[names])
		names++;
	while (review->paths[paths])
		paths++;
	argv = calloc(review->first_count + names + paths + 3, sizeof *argv);
	if (!argv)
		return NULL;
	argv[0] = (char *)review->name;
	for (size_t i = 0; i < review->first_count; i++)
		argv[used++] = review->first[i] ? review->first[i] : numbers[pipes++];
	memcpy(argv + used, protected, names * sizeof *argv);
	used += names;
	argv[used++] = (char *)"";
	memcpy(argv + used, review->paths, paths * sizeof *argv);
	return argv;
}

int review_start(struct review *review, int input, const int *fds, size_t count,
                 struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) const char *const *protected = NULL;
	_cleanup_free_ char **argv = NULL;
	char path[PATH_MAX], numbers[REVIEW_PIPES][16];
	int passed[PASSED_MAX], out[2], notes[2];
	int r = find_program(review->name, review->variable, path, error);

	if (r == 0)
		r = yett_protect_list(&protected, error);
	if (r)
		return r;
	if (pipe2(out, O_CLOEXEC) < 0)
		return review_fail(review, NULL, -errno, error);
	review->out = out[0];
	if (pipe2(notes, O_CLOEXEC) < 0) {
		fd_close(out[1]);
		return review_fail(review, NULL, -errno, error);
	}
	review->notes = notes[0];
	(void)snprintf(numbers[0], sizeof numbers[0], "%d", out[1]);
	(void)snprintf(numbers[1], sizeof numbers[1], "%d", notes[1]);
	memcpy(passed, fds, count * sizeof *fds);
	passed[count] = out[1];
	passed[count + 1] = notes[1];
	argv = put_arguments(review, protected, numbers);
	r = argv ? spawn(path, argv, input, passed, count + REVIEW_PIPES, &review->pid) : -ENOMEM;
	fd_close(out[1]);
	fd_close(notes[1]);
	return r == 0 ? 0 : review_fail(review, r == -ENOMEM ? NULL : path, r, error);
}

void review_report(FILE *from)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, from)) > 0) {
		line[n - 1] = '\0';
		output_note("%s", line);
	}
}

int review_finish(struct review *review, void (*print)(FILE *from))
{
	FILE *out = fdopen(review->out, "r"), *notes = fdopen(review->notes, "r");
	int status = 0;

	if (out) {
		print(out);
		(void)fclose(out); /* the program ends when nobody reads its output */
	}
	if (notes) {
		review_report(notes);
		(void)fclose(notes);
	}
	while (waitpid(review->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return out && notes ? status : -1;
}
