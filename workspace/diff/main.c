/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-diff LAYERS HIDDEN SOURCE OUT NOTES FORM [PROTECT…] "" [PATH…]: lists changes. See diff.h.
 *
 * LAYERS to NOTES are numbers of descriptors. LAYERS is "0", the upper directory, and, after
 * commas, the layers below it; HIDDEN may be "-". FORM is names, json, stat or patch; the last two
 * also with "-marked", where each line begins with one of enum SHOW_*. PROTECT are names that the
 * user has listed (protect.h). The exit status is one of enum DIFF_*; NOTES gets the reasons, one a
 * line. It runs with the rights of its user. libgit2 starts first, because it reads the user's
 * settings; then the program confines itself.
 */
#include <fcntl.h>
#include <git2.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "helper/privilege/lockdown.h"
#include "programs/filters/filters.h"
#include "workspace/diff/diff.h"
#include "workspace/diff/protect.h"
#include "workspace/diff/ways.h"

#define MEMORY_MAX ((rlim_t)512 << 20)

/* All rights of Landlock's first version. landlock(7) */
#define RIGHTS_FIRST (LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1)
#define RIGHTS_READ  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Without Landlock, only read_open() keeps to the directories. */
static bool diff_confine_files(const struct diff *diff)
{
	struct landlock_ruleset_attr attributes = {.handled_access_fs = RIGHTS_FIRST};
	_cleanup_fd_ int ruleset = -1;
	int directories[DIFF_LAYERS_MAX + 2] = {diff->source, diff->hidden};

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		return true;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	for (size_t i = 0; i < diff->layer_count; i++)
		directories[i + 2] = diff->layers[i];
	for (size_t i = 0; i < diff->layer_count + 2; i++) {
		struct landlock_path_beneath_attr rule = {.allowed_access = RIGHTS_READ,
		                                          .parent_fd = directories[i]};

		if (directories[i] >= 0 && syscall(SYS_landlock_add_rule, ruleset,
		                                   LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
			return false;
	}
	return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

static bool diff_confine(const struct diff *diff)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(MEMORY_MAX)},
		{RLIMIT_CORE, 1},
		{RLIMIT_NPROC, 0},
		{RLIMIT_FSIZE, 0}};

	return lockdown_limits(limits, ARRAY_SIZE(limits)) && lockdown_no_new_privs() &&
	       lockdown_undumpable() && diff_confine_files(diff) && lockdown_filter(&filters_diff);
}

/* Parses the number of a descriptor, at least 3. Returns -1 for anything else. */
static int diff_parse_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	return *end || fd <= STDERR_FILENO || fd > 1 << 20 ? -1 : (int)fd;
}

/* Parses "0", or "0,NUMBER,…". */
static bool parse_layers(struct diff *diff, char *text)
{
	char *number = strsep(&text, ",");

	if (strcmp(number, "0") != 0)
		return false;
	diff->layers[diff->layer_count++] = STDIN_FILENO;
	while ((number = strsep(&text, ","))) {
		int fd = diff->layer_count < DIFF_LAYERS_MAX ? diff_parse_fd(number) : -1;

		if (fd < 0)
			return false;
		diff->layers[diff->layer_count++] = fd;
	}
	return true;
}

/* Parses the arguments. False: they are not as main.c's header says. */
static bool diff_take(struct diff *diff, int argc, char *argv[])
{
	int out = argc > 6 ? diff_parse_fd(argv[4]) : -1,
	    notes = argc > 6 ? diff_parse_fd(argv[5]) : -1;
	int paths = protect_take(argc, argv, 7);

	if (paths == 0 || !parse_layers(diff, argv[1]))
		return false;
	diff->hidden = diff_parse_fd(argv[2]);
	diff->source = diff_parse_fd(argv[3]);
	diff->out = out < 0 ? NULL : fdopen(out, "w");
	diff->notes = notes < 0 ? NULL : fdopen(notes, "w");
	if (diff->notes)
		(void)setvbuf(diff->notes, NULL, _IOFBF, DIFF_NOTES_SIZE);
	diff->wanted = argv + paths;
	diff->wanted_count = (size_t)(argc - paths);
	return (diff->hidden >= 0 || strcmp(argv[2], "-") == 0) && diff->source >= 0 && diff->out &&
	       diff->notes;
}

static int diff_report(struct diff *diff, int r)
{
	if (r == -E2BIG)
		(void)fprintf(
			diff->notes,
			"there is more than %zu changes, or their paths are longer than %zu bytes together; name paths below which to look\n",
			DIFF_CHANGES_MAX, DIFF_PATHS_MAX);
	else if (r < 0)
		(void)fprintf(diff->notes, "cannot list the changes: %s\n", strerror(-r));
	if (diff->note_count > DIFF_NOTES_MAX)
		(void)fprintf(diff->notes, "and %zu more\n", diff->note_count - DIFF_NOTES_MAX);
	/*
	 * Close `out` before writing the notes: the parent reads `out` to its end first, and a pipe
	 * may not hold all notes.
	 */
	(void)fclose(diff->out);
	(void)fflush(diff->notes);
	return r < 0 ? DIFF_FAILED : diff->note_count ? DIFF_INCOMPLETE : DIFF_WHOLE;
}

int main(int argc, char *argv[])
{
	struct diff diff = {0};
	int r;

	if (!diff_take(&diff, argc, argv))
		return DIFF_FAILED;
	(void)prctl(PR_SET_NAME, "yett-diff", 0, 0, 0);
	if (!lockdown_death_signal() || git_libgit2_init() < 0 || !diff_confine(&diff)) {
		(void)fputs("yett-diff cannot confine itself\n", diff.notes);
		(void)fflush(diff.notes);
		return DIFF_FAILED;
	}
	r = walk(&diff);
	if (r == 0) {
		ways_guard_changes(&diff, strcmp(argv[6], "json") == 0);
		r = rename_find(&diff);
	}
	if (r == 0)
		r = show(&diff, argv[6]);
	/*
	 * Skip the exit handlers: everything is written, and the filter forbids what libgit2 does
	 * there.
	 */
	_exit(diff_report(&diff, r));
}
