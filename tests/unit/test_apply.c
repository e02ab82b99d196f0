/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What yett-apply decides of changes: the order of its steps, what conflicts, which names are
 * protected; how it reads a journal; and what a new file has of the one that it replaces, on a
 * machine that has no labels: by a getxattr(2) and setxattr(2) of the test's own.
 */
#include <stdlib.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/testing.h"
#include "workspace/apply/apply.h"
#include "workspace/diff/protect.h"

#define F (S_IFREG | 0644)
#define D (S_IFDIR | 0755)

/* The steps of changes, as letters and paths. */
static char *steps_of(const struct change *changes, size_t count, const char *left)
{
	const struct diff diff = {.changes = (struct change *)changes, .count = count};
	static const char letters[] = {
		[STEP_ADD] = 'a', [STEP_REPLACE] = 'r', [STEP_REMOVE] = 'd', [STEP_MODE] = 'm'};
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
		(void)fprintf(to, "%c %s %o\n", letters[steps[i].kind], steps[i].path,
		              steps[i].new.mode & 07777);
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

TEST(what_is_in_a_directory_goes_before_it_and_comes_behind_it)
{
	ASSERT_STEPS(NULL, "d a/b 0\nd a 0\na c 755\na c/d 644\n", {.path = "a", .old = {D, 0}},
	             {.path = "a/b", .old = {F, 0}}, {.path = "c", .new = {D, 0}},
	             {.path = "c/d", .new = {F, 0}});
}

TEST(what_becomes_of_another_kind_is_replaced_in_one_step)
{
	ASSERT_STEPS(NULL, "d a/b 0\nr a 644\nr c 755\na c/d 644\n", {.path = "a", .old = {D, 0}},
	             {.path = "a", .new = {F, 0}}, {.path = "a/b", .old = {F, 0}},
	             {.path = "c", .old = {F, 0}}, {.path = "c", .new = {D, 0}},
	             {.path = "c/d", .new = {F, 0}});
}

TEST(directories_are_open_while_something_is_done_in_them)
{
	ASSERT_STEPS(
		NULL, "m b 755\na a 755\na a/x 644\na b/x 644\nm c 500\nm a 555\n",
		{.path = "a", .new = {S_IFDIR | 0555, 0}}, {.path = "a/x", .new = {F, 0}},
		{.path = "b", .old = {S_IFDIR | 0555, 0}, .new = {D, 0}, .same_content = true},
		{.path = "b/x", .new = {F, 0}},
		{.path = "c", .old = {D, 0}, .new = {S_IFDIR | 0500, 0}, .same_content = true});
}

TEST(no_mode_gets_set_id_bits_and_directories_keep_theirs)
{
	ASSERT_STEPS(
		NULL, "a a 755\nm b 755\nm c 2700\n", {.path = "a", .new = {S_IFREG | 06755, 0}},
		{.path = "b", .old = {F, 0}, .new = {S_IFREG | 04755, 0}, .same_content = true},
		{.path = "c",
	         .old = {S_IFDIR | 02755, 0},
	         .new = {S_IFDIR | 01700, 0},
	         .same_content = true});
}

TEST(a_directory_stays_while_something_in_it_is_left)
{
	ASSERT_STEPS("a/b/c", "d a/d 0\n", {.path = "a", .old = {D, 0}},
	             {.path = "a/b", .old = {D, 0}}, {.path = "a/b/c", .old = {F, 0}},
	             {.path = "a/d", .old = {F, 0}});
	ASSERT_STEPS("a", "a b 644\n", {.path = "a", .new = {D, 0}}, {.path = "a/b", .new = {F, 0}},
	             {.path = "b", .new = {F, 0}});
}

TEST(in_doubt_it_is_a_conflict)
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

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(plan_conflict(&cases[i].facts) != NULL, cases[i].is_conflict);
}

static bool is_bare(void *context, const char *directory)
{
	return strcmp(directory, context) == 0;
}

TEST(protected_names_are_found_at_any_depth_and_however_they_are_written)
{
	static const struct {
		const char *path, *why;
	} cases[] = {
		{".git/config", PROTECT_WHY_DOT},
		{".git/objects/ab/cd", PROTECT_WHY_DOT},
		{"a/b/.git/hooks/pre-commit", PROTECT_WHY_DOT},
		{".GIT/x", PROTECT_WHY_DOT},
		{".git /x", PROTECT_WHY_DOT},
		{".git./x", PROTECT_WHY_DOT},
		{"git~1/x", PROTECT_WHY_SHORT},
		{".git::$INDEX_ALLOCATION/x", PROTECT_WHY_DOT},
		{".g\u200cit/x", PROTECT_WHY_DOT},
		{"\u200c.x", PROTECT_WHY_DOT},
		{"a\\.git\\x", PROTECT_WHY_DOT},
		{"GITMOD~1", PROTECT_WHY_SHORT},
		{"gi7eba~1", PROTECT_WHY_SHORT},
		{"a~1", PROTECT_WHY_SHORT},
		{"x/.ENVRC", PROTECT_WHY_DOT},
		{"x/.config", PROTECT_WHY_DOT},
		{".local/bin/ls", PROTECT_WHY_DOT},
		{".x/.gitignore", PROTECT_WHY_DOT},
		{".Gitignore", PROTECT_WHY_DOT},
		{".gitignore/x", PROTECT_WHY_DOT},
		{"AGENTS.md", "agents obey it"},
		{"agents.MD", "agents obey it"},
		{"x/CLAUDE.md. .", "agents obey it"},
		{"AGENT.md", "agents obey it"},
		{"opencode.jsonc", "agents obey it"},
		{"my.code-workspace", "editors and desktops go by it"},
		{"lefthook-local.yml", "git or its like runs it"},
		{"left\u00adhook.toml", "git or its like runs it"},
		{"Makefile", "builds go by it"},
		{"ma\u212aefile.am", "builds go by it"},
		{"x/con\ufb01gure", "builds go by it"},
		{"rollup.config.mjs", "builds go by it"},
		{"x/package.json", "package managers and interpreters go by it"},
		{"evil.pth", "package managers and interpreters go by it"},
		{"bunfig.toml", "package managers and interpreters go by it"},
		{"x/node_modules/y/index.js", "package managers and interpreters go by it"},
		{"x/__pycache__/y.cpython-311.pyc", "package managers and interpreters go by it"},
		{"bin/ls", "programs are looked for in it"},
		{"Foo.vcxproj", "builds go by it"},
		{"a:b.mk", "builds go by it"},
		{"x.mk:stream", "builds go by it"},
		{"x.mk. ", "builds go by it"},
		{"x:1.pth", "package managers and interpreters go by it"},
		{"...", PROTECT_WHY_DOT},
		{".:x", PROTECT_WHY_DOT},
		{"agents~1.md", PROTECT_WHY_SHORT},
		{"tasks.py", "builds go by it"},
		{"build/answer", "builds go on with what is in it"},
		{"bare/HEAD", PROTECT_WHY_GIT},
		{"bare/config", PROTECT_WHY_GIT},
		{"bare/hooks/post-update", PROTECT_WHY_GIT},
		{"bare/config.worktree", PROTECT_WHY_GIT},
		{"bare/objects", PROTECT_WHY_GIT},
		{"bare/REFS", PROTECT_WHY_GIT},
		{"config", NULL},
		{"hooks/x", NULL},
		{".gitignore", NULL},
		{"x/.editorconfig", NULL},
		{"git/config", NULL},
		{"x.git/config", NULL},
		{"configure/x", NULL},
		{"src/bin/main.rs", NULL},
		{"AGENTS.md2", NULL},
		{"agents.py", NULL},
		{"HEAD", NULL},
		{"other/HEAD", NULL},
		{"bare/objects/x", NULL},
		{"other/objects", NULL},
		{"env", NULL},
		{"vscode/tasks.json", NULL},
		{"a~", NULL},
		{"~1", NULL},
		{"foo.c.~1~", NULL},
		{"a~b", NULL},
		{"scripts/x", NULL},
		{"x/tasks.py", NULL},
		{"x/build/answer.c", NULL},
		{"longer-than~1", NULL},
		{"bare/note", NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *why = protect(cases[i].path, false, &(size_t){0}, is_bare, "bare");

		if (!why != !cases[i].why || (why && strcmp(why, cases[i].why) != 0))
			fail_msg("%s: %s", cases[i].path, why ? why : "not protected");
	}
	assert_null(protect("configure", true, &(size_t){0}, is_bare, "bare"));
	assert_non_null(protect(".gitignore", true, &(size_t){0}, is_bare, "bare"));
	assert_non_null(protect("bare/objects", true, &(size_t){0}, is_bare, "bare"));
	assert_non_null(protect("HEAD", false, &(size_t){0}, is_bare, ""));
}

TEST(what_is_gits_is_found)
{
	static const struct {
		const char *path;
		size_t length;
	} cases[] = {{".git", 4},      {".git/x", 4},   {"a/.git/x", 6},   {"a/.GIT. /x", 8},
	             {"a/git~1/x", 7}, {"gi7eba~1", 8}, {"a\\.git\\x", 6}, {"", 0},
	             {"a/.github", 0}, {"a.git/x", 0},  {"git/x", 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(protect_find_git(cases[i].path), cases[i].length);
}

/* So that none is written in a way that nothing matches. */
TEST(each_entry_matches_what_it_is_for)
{
	for (const struct protect_class *class = protect_classes; class->why; class ++)
		for (const char *const *entry = class->names; *entry; entry++) {
			char name[64];
			size_t used = 0;

			for (const char *at = *entry; *at; at++)
				used += (size_t)snprintf(name + used, sizeof name - used, "%s",
				                         *at == '*' ? "Xx" : (char[]){*at, '\0'});
			if (!protect(name, false, &(size_t){0}, is_bare, "bare"))
				fail_msg("%s does not protect %s", *entry, name);
		}
}

TEST(what_is_listed_is_protected_too)
{
	static const char *const own[] = {"deploy/prod*", ".gitignore", "a/b/c",
	                                  "*inside*",     ".:",         NULL};
	char *argv[] = {"program", "deploy/prod*", ".gitignore", "", "a path", NULL};

	protect_own = own;
	assert_string_equal(protect("x/deploy/prod.yml", false, &(size_t){0}, is_bare, "bare"),
	                    PROTECT_WHY_LISTED);
	assert_string_equal(protect("x/deploy", false, &(size_t){0}, is_bare, "bare"),
	                    PROTECT_WHY_LISTED);
	assert_string_equal(protect(".gitignore", false, &(size_t){0}, is_bare, "bare"),
	                    PROTECT_WHY_LISTED);
	assert_null(protect("x/deploy", true, &(size_t){0}, is_bare, "bare"));
	assert_non_null(protect("a/b", false, &(size_t){0}, is_bare, "bare"));
	assert_null(protect("a/b", true, &(size_t){0}, is_bare, "bare"));
	assert_null(protect("a/d", false, &(size_t){0}, is_bare, "bare"));
	assert_string_equal(protect("x/is INSIDE it", false, &(size_t){0}, is_bare, "bare"),
	                    PROTECT_WHY_LISTED);
	assert_int_equal(protect_names_before(), 2);
	assert_int_equal(protect_take(5, argv, 1), 4);
	assert_ptr_equal(protect_own, argv + 1);
	assert_null(argv[3]);
	assert_int_equal(protect_take(3, argv, 1), 0);
	protect_own = NULL;
}

static const char text[] = "yett-apply 1\nstore plain 7 4\n"
			   "a 0 0 0 0 5 100644 3 -9 a%20b\n"
			   "r 1 100644 2 3 6 120777 4 5 c/d\n"
			   "d 2 40755 0 0 0 0 0 0 e\n"
			   "m 3 42755 0 0 3 42700 0 0 f\n"
			   "end\n";

TEST(a_journal_reads_as_it_was_written)
{
	struct journal journal;
	struct step *steps;
	size_t count, size;
	char *copy = strdup(text), *printed;
	FILE *to = open_memstream(&printed, &size);

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

TEST(a_journal_that_somebody_else_wrote_is_refused)
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

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const char *at = strstr(text, changes[i].old);
		struct journal journal;
		struct step *steps;
		size_t count;
		char *copy;

		assert_non_null(at);
		assert_true(asprintf(&copy, "%.*s%s%s", (int)(at - text), text, changes[i].new,
		                     at + strlen(changes[i].old)) > 0);
		if (journal_parse(copy, &journal, &steps, &count) != -EBADMSG)
			fail_msg("%s was taken", changes[i].new);
		free(copy);
	}
}

TEST(text_in_files_comes_back_as_it_was)
{
	char bad[] = "%0x", nul[] = "a%00", *written;
	size_t size;
	FILE *to = open_memstream(&written, &size);

	record_put_text(to, "a b%\n\x7f\xff");
	(void)fclose(to);
	assert_string_equal(written, "a%20b%25%0a%7f%ff");
	assert_true(record_take_text(written));
	assert_string_equal(written, "a b%\n\x7f\xff");
	assert_false(record_take_text(bad));
	assert_false(record_take_text(nul));
	free(written);
}

TEST(a_journal_is_never_longer_than_it_can_be_read)
{
	struct step step = {.kind = STEP_REPLACE,
	                    .path = (char *)"\xff\xff \n/x",
	                    .old = {UINT64_MAX, UINT64_MAX, INT64_MIN, 0, S_IFREG | 07777, 0},
	                    .new = {UINT64_MAX, UINT64_MAX, INT64_MIN, 0, S_IFREG | 0777, 0}};
	const struct journal journal = {true, true, UINT64_MAX};
	char *printed, *path = malloc(PATH_MAX);
	size_t size, most, count = 0;
	struct step *many = calloc(2 * DIFF_CHANGES_MAX + 1, sizeof *many);
	FILE *to = open_memstream(&printed, &size);

	journal_print(to, &journal, &step, 1);
	(void)fclose(to);
	assert_true(size <= sizeof "yett-apply 1\n" + 128 + journal_step_size(&step));
	free(printed);
	for (size_t i = 0; i <= 2 * DIFF_CHANGES_MAX; i++)
		many[i] = step;
	assert_true(journal_is_bounded(many, 2 * DIFF_CHANGES_MAX));
	assert_false(journal_is_bounded(many, 2 * DIFF_CHANGES_MAX + 1));
	memset(path, '\xff', PATH_MAX - 1);
	path[PATH_MAX - 1] = '\0';
	step.path = path;
	most = APPLY_JOURNAL_MAX / journal_step_size(&step);
	for (; count <= most; count++)
		many[count].path = path;
	assert_true(journal_is_bounded(many, most - 1));
	assert_false(journal_is_bounded(many, most + 1));
	free(many);
	free(path);
}

/* An ACL as the kernel has it in an attribute, of tags and permissions. linux/posix_acl_xattr.h */
static size_t put_acl(char *to, const unsigned (*entries)[2], size_t count)
{
	static const unsigned char head[] = {2, 0, 0, 0};

	memcpy(to, head, sizeof head);
	for (size_t i = 0; i < count; i++) {
		const unsigned char entry[] = {(unsigned char)entries[i][0],
		                               0,
		                               (unsigned char)entries[i][1],
		                               0,
		                               0xff,
		                               0xff,
		                               0xff,
		                               0xff};

		memcpy(to + sizeof head + i * sizeof entry, entry, sizeof entry);
	}
	return sizeof head + 8 * count;
}

TEST(a_mode_is_narrowed_to_a_default_acl)
{
	static const unsigned full[][2] = {{ACL_USER_OBJ, 7},
	                                   {ACL_USER, 6},
	                                   {ACL_GROUP_OBJ, 0},
	                                   {ACL_MASK, 4},
	                                   {ACL_OTHER, 1}},
			      bare[][2] = {{ACL_USER_OBJ, 7}, {ACL_GROUP_OBJ, 5}, {ACL_OTHER, 0}};
	char acl[64];
	size_t size = put_acl(acl, full, 5);

	assert_int_equal(inherit_acl_bits(acl, size, ACL_MASK), 4);
	assert_int_equal(inherit_acl_bits(acl, size, ACL_GROUP_OBJ), 0);
	assert_int_equal(inherit_mode_of_default(0777, acl, size), 0741);
	assert_int_equal(inherit_mode_of_default(0600, acl, size), 0600);
	size = put_acl(acl, bare, 3);
	assert_int_equal(inherit_acl_bits(acl, size, ACL_MASK), INHERIT_NO_ENTRY);
	assert_int_equal(inherit_mode_of_default(02777, acl, size), 02750);
	assert_int_equal(inherit_mode_of_default(0777, acl, 7),
	                 0700); /* half a one gives nothing */
}

/* What the machine would have: names that end so have that label. */
static struct {
	const char *end, *label;
} labels[4];
static char given[512]; /* "NAME=LABEL\n" for each that was set */
static int error_of_set;

static bool ends(const char *name, const char *end)
{
	size_t length = strlen(name), wanted = strlen(end);

	return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static void name_of(const char *link, char name[PATH_MAX])
{
	ssize_t n = readlink(link, name, PATH_MAX - 1);

	assert_true(n > 0);
	name[n] = '\0';
}

ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	char file[PATH_MAX];

	name_of(path, file);
	for (size_t i = 0;
	     strcmp(name, "security.selinux") == 0 && i < sizeof labels / sizeof *labels; i++)
		if (labels[i].end && ends(file, labels[i].end)) {
			size_t length = strlen(labels[i].label);

			if (size)
				memcpy(value, labels[i].label, length);
			return (ssize_t)length;
		}
	errno = ENODATA;
	return -1;
}

int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
	char file[PATH_MAX], line[128];

	(void)flags;
	if (error_of_set) {
		errno = error_of_set;
		return -1;
	}
	assert_string_equal(name, "security.selinux");
	name_of(path, file);
	(void)snprintf(line, sizeof line, "%s=%.*s\n", strrchr(file, '/') + 1, (int)size,
	               (const char *)value);
	(void)strcat(given, line);
	return 0;
}

/* What is given to "staged", for a change from one mode to another at a path of the source. */
static void assert_label(int top, const char *path, uint32_t old, uint32_t new,
                         const char *expected)
{
	const struct change change = {.path = (char *)path};
	const struct item item = {.path = (char *)path, .change = &change};
	const struct step step = {
		.path = (char *)path, .old = {.mode = old}, .new = {.mode = new}, .item = &item};
	struct apply apply = {.source = openat(top, "source", O_RDONLY | O_DIRECTORY)};
	uint32_t mode = new & 0777;
	int fd = openat(top, "staged", O_RDWR);

	apply.diff.layers[0] = openat(top, "layer", O_RDONLY | O_DIRECTORY);
	given[0] = '\0';
	assert_int_equal(inherit(&apply, &step, fd, &mode), 0);
	assert_string_equal(given, expected);
	(void)close(apply.source);
	(void)close(apply.diff.layers[0]);
	(void)close(fd);
}

TEST(what_is_staged_gets_the_label_of_its_place)
{
	static const char *const directories[] = {"source", "source/dir", "layer", "layer/dir"},
				 *const files[] = {"source/file",  "source/dir/in", "layer/file",
	                                           "layer/dir/in", "layer/dir/new", "staged"};
	char folder[] = "/tmp/yett-test-XXXXXX";
	int top = open(mkdtemp(folder), O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		assert_int_equal(mkdirat(top, directories[i], 0700), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		(void)close(openat(top, files[i], O_CREAT | O_WRONLY, 0600));
	labels[0].end = "/staged", labels[0].label = "u:r:state_t";
	labels[1].end = "/source/dir", labels[1].label = "u:r:dir_t";
	labels[2].end = "/source/dir/in", labels[2].label = "u:r:in_t";
	labels[3].end = "/source", labels[3].label = "u:r:state_t";
	assert_label(top, "dir/in", F, F, "staged=u:r:in_t\n");
	assert_label(top, "dir/new", 0, F, "staged=u:r:dir_t\n");
	assert_label(top, "dir/in", F, D, "staged=u:r:dir_t\n"); /* it is no file any more */
	assert_label(top, "dir/made/in", 0, S_IFLNK | 0777,
	             "staged=u:r:dir_t\n");               /* of the nearest that is there */
	assert_label(top, "file", F, S_IFLNK | 0777, ""); /* it has that of the top already */
	error_of_set = EPERM;
	assert_label(top, "dir/in", F, F, "");
	error_of_set = 0;
	for (size_t i = sizeof files / sizeof *files; i-- > 0;)
		(void)unlinkat(top, files[i], 0);
	for (size_t i = sizeof directories / sizeof *directories; i-- > 0;)
		(void)unlinkat(top, directories[i], AT_REMOVEDIR);
	(void)close(top);
	assert_int_equal(rmdir(folder), 0);
}

TEST_MAIN(NULL, NULL)
