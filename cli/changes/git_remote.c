/* SPDX-License-Identifier: Apache-2.0 */
/* See git_remote.h. */
#include "cli/changes/git_remote.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/changes/git_origin.h"
#include "cli/options.h"
#include "cli/output.h"

#define PROGRAM    "git-remote-yett"
#define REFS_MAX   100000
#define WANTED_MAX 100000

/* One session of git with this program. */
struct remote {
	struct git_choice choice;
	struct git_origin origin;
	char *url;
	char **wanted; /* hashes; ours to free */
	size_t wanted_count;
};

bool git_remote_is_called(const char *name)
{
	const char *last = strrchr(name, '/');

	return strcmp(last ? last + 1 : name, PROGRAM) == 0;
}

static size_t hash_length(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");

	return length == 40 || length == 64 ? length : 0;
}

/* Whether the character is invisible: with such characters, two different names look the same. */
static bool is_invisible(uint32_t point)
{
	return point == 0xad || point == 0x61c || (point >= 0x200b && point <= 0x200d) ||
	       (point >= 0x2060 && point <= 0x2064) || point == 0xfeff ||
	       (point >= 0xe0000 && point <= 0xe0fff);
}

/*
 * Whether `name` may be passed to git as a branch. git checks the rest of its syntax, but prints
 * names unescaped.
 */
static bool is_branch(const char *name)
{
	if (strncmp(name, "refs/heads/", strlen("refs/heads/")) != 0)
		return false;
	while (*name) {
		uint32_t point = 0;
		/* No character has more than four bytes. */
		size_t length = json_utf8_next(name, strnlen(name, 4), &point);

		if (length == 0 || point == ' ' || json_is_harmful(point) || is_invisible(point))
			return false;
		name += length;
	}
	return true;
}

/*
 * Passes a line of git ls-remote on: "HASH TAB NAME", or "ref: NAME TAB HEAD". Tags are omitted:
 * git would also fetch tags that point to what it fetches.
 */
static void report_ref(char *line)
{
	char *tab = strchr(line, '\t');
	size_t length = hash_length(line);

	if (!tab)
		return;
	*tab++ = '\0';
	if (strncmp(line, "ref: ", 5) == 0 && is_branch(line + 5) && strcmp(tab, "HEAD") == 0)
		(void)printf("@%s HEAD\n", line + 5);
	else if (length && !line[length] && (is_branch(tab) || strcmp(tab, "HEAD") == 0))
		(void)printf("%s %s\n", line, tab);
}

static bool git_remote_list(struct remote *remote, struct yett_error *error)
{
	const char *const words[] = {"ls-remote", "--symref", "--", remote->url};
	char *refs[] = {(char *)"HEAD", (char *)"refs/heads/*"};
	char line[GIT_LINE_SIZE];
	size_t count = 0;
	FILE *reported = tmpfile();
	bool is_reported = reported && git_run(&remote->choice, words, ARRAY_SIZE(words), refs,
	                                       ARRAY_SIZE(refs), fileno(reported), error);

	if (!reported)
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot make a file for the list of refs: %m");
	if (is_reported)
		rewind(reported);
	while (is_reported && count++ < REFS_MAX && git_next_line(reported, line))
		report_ref(line);
	if (reported)
		(void)fclose(reported);
	if (is_reported)
		(void)putchar('\n');
	return is_reported;
}

/* Handles "fetch HASH NAME". Fetches by hash, since the name may point to another commit by now. */
static bool add_wanted(struct remote *remote, const char *words, struct yett_error *error)
{
	size_t length = hash_length(words);
	char **more = length && remote->wanted_count < WANTED_MAX
	                      ? reallocarray(remote->wanted, remote->wanted_count + 1, sizeof *more)
	                      : NULL;

	if (more) {
		remote->wanted = more;
		more[remote->wanted_count] = strndup(words, length);
		if (more[remote->wanted_count++])
			return true;
	}
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "git sent invalid or too many hashes");
	return false;
}

static bool git_remote_fetch(struct remote *remote, struct yett_error *error)
{
	const char *const words[] = {"fetch",
	                             "--quiet",
	                             "--no-tags",
	                             "--no-recurse-submodules",
	                             "--no-write-fetch-head",
	                             "--",
	                             remote->url};
	bool is_fetched = git_run(&remote->choice, words, ARRAY_SIZE(words), remote->wanted,
	                          remote->wanted_count, STDERR_FILENO, error);

	while (remote->wanted_count)
		free(remote->wanted[--remote->wanted_count]);
	if (is_fetched)
		(void)putchar('\n');
	return is_fetched;
}

/*
 * Handles one line from git. Returns false at the end of the session, or after an error, which is
 * then in `error`.
 */
static bool git_remote_answer(struct remote *remote, const char *line, struct yett_error *error)
{
	if (strcmp(line, "capabilities") == 0)
		return fputs("fetch\noption\n\n", stdout) >= 0;
	if (strncmp(line, "option ", 7) == 0)
		return puts("unsupported") >= 0;
	if (strcmp(line, "list") == 0)
		return git_remote_list(remote, error);
	if (strncmp(line, "fetch ", 6) == 0)
		return add_wanted(remote, line + 6, error);
	if (!*line && remote->wanted_count)
		return git_remote_fetch(remote, error);
	if (*line)
		(void)error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "sandboxes support git fetch and nothing else");
	return false;
}

static void converse(struct remote *remote, struct yett_error *error)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!git_remote_answer(remote, line, error) || fflush(stdout) != 0)
			break;
	}
	free(line);
}

int git_remote_main(int argc, char **argv)
{
	struct remote remote = {.choice.max_bytes = GIT_PACK_BYTES};
	struct yett_error error = {0};

	if (argc != 3) {
		(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                PROGRAM " is for git to call: git remote add NAME yett::ID");
	} else if (git_origin_open(&remote.origin, &remote.choice, argv[2], &error) == 0) {
		remote.url = git_origin_url(&remote.origin, &remote.choice);
		if (remote.url)
			converse(&remote, &error);
		else
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "not enough memory to fetch with git");
	}
	while (remote.wanted_count)
		free(remote.wanted[--remote.wanted_count]);
	free(remote.wanted);
	free(remote.url);
	git_origin_close(&remote.origin);
	if (error.code)
		output_error(&error);
	return error.code ? EXIT_FAILED : 0;
}
