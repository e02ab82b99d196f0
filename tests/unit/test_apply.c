/* What yett-apply decides of changes: the order of its steps, what conflicts, which names are protected; and how it reads a journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/apply/apply.h"
#include "programs/apply/protect.h"

#define F (S_IFREG | 0644)
#define D (S_IFDIR | 0755)

/* The steps of changes, as letters and paths. */
static char *steps_of(const struct change *changes, size_t count, const char *left)
{
	const struct diff diff = {.changes = (struct change *)changes, .count = count};
	static const char letters[] = {[STEP_ADD] = 'a', [STEP_REPLACE] = 'r', [STEP_REMOVE] = 'd', [STEP_MODE] = 'm'};
	struct item *items;
	struct step *steps;
	size_t item_count, step_count, size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(plan_items(&diff, &items, &item_count), 0);
	for (size_t i = 0; i < item_count; i++)
		if (left && strcmp(items[i].path, left) == 0)
			items[i].left = "so";
	plan_leave(items, item_count);
	assert_int_equal(plan_steps(items, item_count, &steps, &step_count), 0);
	for (size_t i = 0; i < step_count; i++)
		(void)fprintf(to, "%c %s %o\n", letters[steps[i].kind], steps[i].path, steps[i].new.mode & 07777);
	(void)fclose(to);
	free(items);
	free(steps);
	return text;
}

#define ASSERT_STEPS(left, expected, ...)                                                \
	do {                                                                             \
		const struct change changes[] = {__VA_ARGS__};                           \
		char *steps = steps_of(changes, sizeof changes / sizeof *changes, left); \
                                                                                         \
		assert_string_equal(steps, expected);                                    \
		free(steps);                                                             \
	} while (0)

static void what_is_in_a_directory_goes_before_it_and_comes_behind_it(void **state)
{
	(void)state;
	ASSERT_STEPS(NULL, "d a/b 0\nd a 0\na c 755\na c/d 644\n", {.path = "a", .old = {D, 0}}, {.path = "a/b", .old = {F, 0}},
	             {.path = "c", .new = {D, 0}}, {.path = "c/d", .new = {F, 0}});
}

static void what_becomes_of_another_kind_is_replaced_in_one_step(void **state)
{
	(void)state;
	ASSERT_STEPS(NULL, "d a/b 0\nr a 644\nr c 755\na c/d 644\n", {.path = "a", .old = {D, 0}}, {.path = "a", .new = {F, 0}},
	             {.path = "a/b", .old = {F, 0}}, {.path = "c", .old = {F, 0}}, {.path = "c", .new = {D, 0}},
	             {.path = "c/d", .new = {F, 0}});
}

static void directories_are_open_while_something_is_done_in_them(void **state)
{
	(void)state;
	ASSERT_STEPS(NULL, "m b 755\na a 755\na a/x 644\na b/x 644\nm c 500\nm a 555\n", {.path = "a", .new = {S_IFDIR | 0555, 0}},
	             {.path = "a/x", .new = {F, 0}}, {.path = "b", .old = {S_IFDIR | 0555, 0}, .new = {D, 0}, .same_content = true},
	             {.path = "b/x", .new = {F, 0}}, {.path = "c", .old = {D, 0}, .new = {S_IFDIR | 0500, 0}, .same_content = true});
}

static void no_mode_gets_set_id_bits_and_directories_keep_theirs(void **state)
{
	(void)state;
	ASSERT_STEPS(NULL, "a a 755\nm b 755\nm c 2700\n", {.path = "a", .new = {S_IFREG | 06755, 0}},
	             {.path = "b", .old = {F, 0}, .new = {S_IFREG | 04755, 0}, .same_content = true},
	             {.path = "c", .old = {S_IFDIR | 02755, 0}, .new = {S_IFDIR | 01700, 0}, .same_content = true});
}

static void a_directory_stays_while_something_in_it_is_left(void **state)
{
	(void)state;
	ASSERT_STEPS("a/b/c", "d a/d 0\n", {.path = "a", .old = {D, 0}}, {.path = "a/b", .old = {D, 0}}, {.path = "a/b/c", .old = {F, 0}},
	             {.path = "a/d", .old = {F, 0}});
	ASSERT_STEPS("a", "a b 644\n", {.path = "a", .new = {D, 0}}, {.path = "a/b", .new = {F, 0}}, {.path = "b", .new = {F, 0}});
}

static void in_doubt_it_is_a_conflict(void **state)
{
	static const struct {
		struct facts facts;
		bool is_conflict;
	} cases[] = {
		{{.old_mode = F, .ctime_ns = 9, .stamp_ns = 10}, false},
		{{.old_mode = F, .ctime_ns = 10, .stamp_ns = 10}, true},
		{{.old_mode = F, .ctime_ns = 11, .stamp_ns = 10}, true},
		{{.old_mode = F, .ctime_ns = 11, .stamp_ns = 10, .is_own = true}, false},
		{{.old_mode = F, .ctime_ns = 9, .stamp_ns = 10, .is_clock_doubtful = true}, true},
		{{.old_mode = F, .ctime_ns = 9, .stamp_ns = 10, .is_hidden = true}, true},
		{{.old_mode = F, .ctime_ns = 9, .stamp_ns = 10, .is_moved = true}, true},
		{{.old_mode = D, .ctime_ns = 11, .stamp_ns = 10, .only_goes = true}, false},
		{{.is_clock_doubtful = true}, false}, /* nothing is there, and nothing was */
		{{.is_gone = true}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(plan_conflict(&cases[i].facts) != NULL, cases[i].is_conflict);
}

static bool is_bare(void *context, const char *directory)
{
	return strcmp(directory, context) == 0;
}

static void protected_names_are_found_at_any_depth_and_however_they_are_written(void **state)
{
	static const char *const yes[] =
		{
			".git/config",
			"a/b/.git/hooks/pre-commit",
			".git/modules/x/config",
			".GIT/Config",
			".git /hooks/x",
			".git./config",
			"git~1/hooks/x",
			".git::$INDEX_ALLOCATION/config",
			".g\u200cit/config",
			".git/con\ufb01g",
			".git/hoo\u212as/x",
			".git\\hooks\\x",
			".git/rebase-merge/git-rebase-todo",
			".gitmodules",
			"GITMOD~1",
			"gi7eba~1",
			".envrc",
			"x/.ENVRC",
			".en\u00advrc",
			".vscode/tasks.json",
			"VSCODE~1/tasks.json",
			".github/workflows/ci.yml",
			"AGENTS.md",
			"agents.MD",
			"x/CLAUDE.md",
			"x/.claude/settings.json",
			"my.code-workspace",
			".bash_login",
			".yarnrc.yml",
			".hu\u017fky/pre-push",
			".npmrc. .",
			"bare/HEAD",
			"bare/config",
			"bare/hooks/post-update",
			"bare/config.worktree",
			"bare/objects",
			"bare/REFS",
			".github",
			"x/.config",
			"lefthook-local.yml",
			"lefthook.toml",
			".hg/hgrc",
			".config/mise/config.toml",
		},
				 *const no[] = {
					 "config",
					 "hooks/x",
					 ".git/HEAD",
					 ".git/objects/ab/cd",
					 ".git/refs/heads/main",
					 ".gitignore",
					 "git/config",
					 "x.git/config",
					 ".github/README",
					 "Makefile",
					 ".editorconfig",
					 ".envrc2",
					 "AGENTS.md2",
					 "HEAD",
					 "other/HEAD",
					 "bare/objects/x",
					 "other/objects",
					 ".github/x",
					 "env",
					 "vscode/tasks.json",
					 "a~1",
					 "bare/note",
				 };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!protect(yes[i], false, is_bare, "bare"))
			fail_msg("%s is not protected", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (protect(no[i], false, is_bare, "bare"))
			fail_msg("%s is protected", no[i]);
	assert_true(protect("a/.git", false, is_bare, "bare"));
	assert_false(protect("a/.git", true, is_bare, "bare"));
	assert_false(protect("a/.github", true, is_bare, "bare"));
	assert_true(protect("bare/objects", true, is_bare, "bare"));
	assert_false(protect(".git/objects", true, is_bare, ".git"));
	assert_true(protect("HEAD", false, is_bare, ""));
}

static const char text[] = "yett-apply 1\nstore plain 7 4\n"
			   "a 0 0 0 0 5 100644 3 -9 a%20b\n"
			   "r 1 100644 2 3 6 120777 4 5 c/d\n"
			   "d 2 40755 0 0 0 0 0 0 e\n"
			   "m 3 42755 0 0 3 42700 0 0 f\n"
			   "end\n";

static void a_journal_reads_as_it_was_written(void **state)
{
	struct journal journal;
	struct step *steps;
	size_t count, size;
	char *copy = strdup(text), *printed;
	FILE *to = open_memstream(&printed, &size);

	(void)state;
	assert_int_equal(journal_parse(copy, &journal, &steps, &count), 0);
	assert_int_equal(count, 4);
	assert_string_equal(steps[0].path, "a b");
	journal_print(to, &journal, steps, count);
	(void)fclose(to);
	assert_string_equal(printed, text);
	free(printed);
	free(steps);
	free(copy);
}

static void a_journal_that_somebody_else_wrote_is_refused(void **state)
{
	static const struct {
		const char *old, *new;
	} changes[] = {
		{"yett-apply 1", "yett-apply 2"},
		{"store", "else"},
		{"plain", "odd"},
		{" 7 4", " 7 3"},
		{" 7 4", " 7 5"},
		{" 7 4", " 7 99999999999"},
		{"c/d", "../d"},
		{"c/d", "/d"},
		{"c/d", "c//d"},
		{"c/d", "c/./d"},
		{"c/d", "c/"},
		{"c/d", ""},
		{"c/d", "c%00d"},
		{"c/d", "c%2"},
		{"c/d", "a/..%2f../d"},
		{"5 100644", "5 104755"},
		{"5 100644", "5 20644"},
		{"5 100644", "5 140644"},
		{"5 100644", "5 0"},
		{"0 0 0 0 5", "1 100644 0 0 5"},
		{"3 42700", "3 46700"},
		{"3 42700", "4 42700"},
		{"3 42700", "3 100700"},
		{"d 2 40755", "x 2 40755"},
		{"d 2 40755", "d  2 40755"},
		{"d 2", "d +2"},
		{"d 2", "d 99999999999999999999"},
		{"end\n", ""},
		{"end\n", "end"},
		{"end\n", "end\nend\n"},
		{"120777", "120777x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const char *at = strstr(text, changes[i].old);
		struct journal journal;
		struct step *steps;
		size_t count;
		char *copy;

		assert_non_null(at);
		assert_true(asprintf(&copy, "%.*s%s%s", (int)(at - text), text, changes[i].new, at + strlen(changes[i].old)) > 0);
		if (journal_parse(copy, &journal, &steps, &count) != -EBADMSG)
			fail_msg("%s was taken", changes[i].new);
		free(copy);
	}
}

static void text_in_files_comes_back_as_it_was(void **state)
{
	char bad[] = "%0x", nul[] = "a%00", *written;
	size_t size;
	FILE *to = open_memstream(&written, &size);

	(void)state;
	record_put_text(to, "a b%\n\x7f\xff");
	(void)fclose(to);
	assert_string_equal(written, "a%20b%25%0a%7f%ff");
	assert_true(record_take_text(written));
	assert_string_equal(written, "a b%\n\x7f\xff");
	assert_false(record_take_text(bad));
	assert_false(record_take_text(nul));
	free(written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_a_directory_goes_before_it_and_comes_behind_it),
		cmocka_unit_test(what_becomes_of_another_kind_is_replaced_in_one_step),
		cmocka_unit_test(directories_are_open_while_something_is_done_in_them),
		cmocka_unit_test(no_mode_gets_set_id_bits_and_directories_keep_theirs),
		cmocka_unit_test(a_directory_stays_while_something_in_it_is_left),
		cmocka_unit_test(in_doubt_it_is_a_conflict),
		cmocka_unit_test(protected_names_are_found_at_any_depth_and_however_they_are_written),
		cmocka_unit_test(a_journal_reads_as_it_was_written),
		cmocka_unit_test(a_journal_that_somebody_else_wrote_is_refused),
		cmocka_unit_test(text_in_files_comes_back_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
