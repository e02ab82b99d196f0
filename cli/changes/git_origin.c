/* SPDX-License-Identifier: Apache-2.0 */
/* See git_origin.h. */
#include "cli/changes/git_origin.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "cli/changes/work.h"
#include "cli/connect.h"
#include "cli/output.h"

void git_origin_close(struct git_origin *origin)
{
	if (origin->is_made) /* waits for the end: then the store is free */
		(void)yett_sandbox_end(origin->sandbox, NULL);
	yett_sandbox_close(origin->sandbox);
	yett_connection_close(origin->connection);
}

/*
 * Attaches the running sandbox `name`, or else finds the store that `name` means. A store has the
 * changes of a sandbox that has ended. The id of a store takes precedence.
 */
static int git_origin_find(struct git_origin *origin, const struct yett_work_list *list,
                           const char *name, const struct yett_work **ret_store,
                           struct yett_error *error)
{
	const struct yett_work *store = NULL;
	struct yett_error unknown = {0};
	int r = yett_work_find(list, name, &store, &unknown);

	if (name && (r || strcmp(store->id, name) != 0)) {
		if (yett_sandbox_attach(origin->connection, name, &origin->sandbox, error) == 0)
			return 0;
		if (r || (error->code != YETT_E_NOT_FOUND && error->code != YETT_E_NOT_RUNNING))
			return (int)error->code;
	}
	if (r) {
		*error = unknown;
		return r;
	}
	work_note_chosen(store, name);
	*ret_store = store;
	return 0;
}

static int git_origin_make_sandbox(struct git_origin *origin, const char *store,
                                   struct yett_error *error)
{
	const struct yett_share share = {
		.size = sizeof share, .flags = YETT_SHARE_COW, .store = store};
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .shares = &share,
	                                             .shares_count = 1,
	                                             .network = YETT_NETWORK_NONE};

	int r = yett_sandbox_create(origin->connection, &options, &origin->sandbox, error);

	origin->is_made = r == 0;
	return r;
}

/*
 * Uses the target of the sandbox's copy-on-write share as the directory, if there is exactly one.
 */
static int find_directory(const struct yett_work_list *list, struct git_origin *origin,
                          struct yett_error *error)
{
	const struct yett_work *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < yett_work_list_count(list); i++)
		if (strcmp(yett_work_list_get(list, i)->sandbox, origin->id) == 0) {
			found = yett_work_list_get(list, i);
			count++;
		}
	if (count == 1 && (size_t)snprintf(origin->directory, sizeof origin->directory, "%s",
	                                   found->target) < sizeof origin->directory)
		return 0;
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "the sandbox %s has %s copy-on-write share: where is the repository?",
	                origin->id, count ? "more than one" : "no");
	error_mend(error, "name it: yett git fetch -C DIR %s", origin->id);
	return YETT_E_INVALID_REQUEST;
}

int git_origin_open(struct git_origin *origin, const struct git_choice *choice, const char *name,
                    struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *store = NULL;
	int r = yett_works_list(&list, error);

	if (r == 0)
		r = connect_for(&choice->connect, false, name, &origin->connection, error);
	if (r)
		return r;
	r = git_origin_find(origin, list, name, &store, error);
	if (r == 0 && store && !store->is_used)
		r = git_origin_make_sandbox(origin, store->id, error);
	else if (r == 0 && store)
		r = yett_sandbox_attach(origin->connection, store->sandbox, &origin->sandbox,
		                        error);
	if (r)
		return r;
	(void)snprintf(origin->id, sizeof origin->id, "%s",
	               yett_sandbox_get_info(origin->sandbox)->id);
	if (choice->directory || store) {
		(void)snprintf(origin->directory, sizeof origin->directory, "%s",
		               choice->directory ? choice->directory : store->target);
		return 0;
	}
	return find_directory(list, origin, error);
}

/* Writes a word of a URL of git-remote-ext(1), in which an unescaped space ends the word. */
static void write_word(FILE *file, const char *word)
{
	for (; *word; word++)
		(void)fprintf(file, *word == '%' ? "%%%%" : *word == ' ' ? "%% " : "%c", *word);
}

/*
 * The URL runs upload-pack inside, with `yett exec`. safe.directory=* lets it read repositories of
 * other users there, which harms nobody outside.
 */
char *git_origin_url(const struct git_origin *origin, const struct git_choice *choice)
{
	char self[PATH_MAX], *url = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *const words[] = {"exec",
	                             choice->connect.socket_path ? "--socket" : NULL,
	                             choice->connect.socket_path,
	                             choice->connect.key_path ? "--key" : NULL,
	                             choice->connect.key_path,
	                             "--env=GIT_PROTOCOL=version=2",
	                             "-C",
	                             "/",
	                             origin->id,
	                             "--",
	                             "git",
	                             "-c",
	                             "safe.directory=*",
	                             "-c",
	                             "core.bigFileThreshold=16m", /* git outside holds each object
	                                                             sent as a delta in memory */
	                             "upload-pack",
	                             origin->directory};
	size_t length;
	FILE *file = n < 0 ? NULL : open_memstream(&url, &length);

	if (!file)
		return NULL;
	self[n] = '\0';
	(void)fputs("ext::", file); /* git-remote-ext(1) */
	write_word(file, self);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!words[i])
			continue;
		(void)fputc(' ', file);
		write_word(file, words[i]);
	}
	if (fclose(file) == 0)
		return url;
	free(url);
	return NULL;
}

/* Lowers a limit to `most`; a lower limit stays. getrlimit(2) */
static int git_origin_lower(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -errno;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
	return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? -errno : 0;
}

/*
 * Sets limits for git and what git starts, and so for this process: a small pack can contain
 * objects that unpack to any size.
 */
static int git_origin_limit(const struct git_choice *choice)
{
	int r = git_origin_lower(RLIMIT_FSIZE, choice->max_bytes);

	if (r == 0)
		r = git_origin_lower(RLIMIT_DATA, GIT_MEMORY_BYTES);
	return r < 0 ? r : git_origin_lower(RLIMIT_CPU, GIT_CPU_SECONDS);
}

static int git_origin_start(const struct git_choice *choice, char **argv, int out, int errors,
                            pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = setenv("GIT_ALLOW_PROTOCOL", "ext", true) < 0 ? errno : -git_origin_limit(choice);
	(void)signal(SIGXFSZ, SIG_IGN); /* git reports EFBIG itself */
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	if (r == 0 && out >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret_pid, "git", &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

bool git_next_line(FILE *from, char line[GIT_LINE_SIZE])
{
	size_t length = 0;
	int c;

	while ((c = getc(from)) != EOF && c != '\n')
		if (length < GIT_LINE_SIZE - 1)
			line[length++] = c ? (char)c : '?';
	line[length] = '\0';
	return c != EOF || length > 0;
}

/*
 * Whether `line` is "From URL" in any language. git may omit the end of the URL. Compares the rest
 * of the line as a whole, so that the sandbox cannot hide another line by imitating this one.
 */
static bool is_of_url(const char *line, const char *url)
{
	const char *space = strchr(line, ' ');
	size_t length = space ? strlen(space + 1) : 0;

	return space && length + strlen("/.git") >= strlen(url) &&
	       strncmp(space + 1, url, length) == 0;
}

/*
 * Prints what git prints on stderr, which includes messages of git inside. Omits only the line with
 * our URL, which the user did not type and which says nothing.
 */
static void pass_errors(int errors, const char *url)
{
	FILE *file = fdopen(errors, "r");
	char line[GIT_LINE_SIZE];

	while (file && git_next_line(file, line)) {
		if (is_of_url(line, url))
			continue;
		output_text(stderr, line, false);
		(void)fputc('\n', stderr);
	}
	if (file)
		(void)fclose(file);
}

bool git_run(const struct git_choice *choice, const char *const *words, size_t count, char **more,
             size_t more_count, int out, struct yett_error *error)
{
	static const char *const checked[] = {"git",
	                                      "-c",
	                                      "transfer.fsckObjects=true",
	                                      "-c",
	                                      "fetch.fsckObjects=true",
	                                      "-c",
	                                      "fetch.unpackLimit=1",
	                                      "-c",
	                                      "core.bigFileThreshold=16m",
	                                      "-c",
	                                      "pack.threads=2",
	                                      "-c",
	                                      "gc.auto=0"};
	_cleanup_free_ char **argv =
		calloc(ARRAY_SIZE(checked) + count + more_count + 1, sizeof *argv);
	int errors[2] = {-1, -1}, status = 0,
	    r = argv && pipe2(errors, O_CLOEXEC) == 0 ? 0 : -errno;
	pid_t pid;

	if (r == 0) {
		memcpy(argv, checked, sizeof checked);
		memcpy(argv + ARRAY_SIZE(checked), words, count * sizeof *words);
		for (size_t i = 0; i < more_count; i++)
			argv[ARRAY_SIZE(checked) + count + i] = more[i];
		r = git_origin_start(choice, argv, out, errors[1], &pid);
	}
	fd_close(errors[1]);
	if (r < 0) {
		fd_close(errors[0]);
		errno = -r;
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot start git: %m");
		return false;
	}
	pass_errors(errors[0], words[count - 1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                "git failed to list or fetch from the sandbox");
	return false;
}
