/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-apply ID SOURCE OUT NOTES TERMINAL WHAT [PROTECT…] "" [PATH…]: applies changes. See apply.h.
 *
 * Descriptor 0 is the store. SOURCE to TERMINAL are numbers of descriptors; TERMINAL may be "-".
 * WHAT is letters: "c" completes an interrupted apply, "a" undoes it, "f" forces, "n" changes
 * nothing, "i" asks, "j" writes JSON, "p" takes protected names. PROTECT are names that the user
 * has listed (workspace/diff/protect.h). The exit status is one of enum APPLY_*. It runs with the
 * rights of its user. If it asks, libgit2 starts first, since it reads the user's settings; then
 * the program confines itself.
 */
#include <fcntl.h>
#include <git2.h>
#include <linux/landlock.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "helper/privilege/lockdown.h"
#include "programs/filters/filters.h"
#include "workspace/apply/apply.h"
#include "workspace/diff/protect.h"

#define MEMORY_MAX ((rlim_t)1 << 30)

/*
 * All file rights of Landlock's second version, the first that allows renames between directories.
 * landlock(7)
 */
#define RIGHTS_ALL  (LANDLOCK_ACCESS_FS_REFER * 2 - 1)
#define RIGHTS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Without Landlock, only read_open() keeps to the directories. */
static bool apply_confine_files(const struct apply *apply)
{
	struct landlock_ruleset_attr attributes = {.handled_access_fs = RIGHTS_ALL};
	const struct landlock_path_beneath_attr rules[] = {
		{.allowed_access = RIGHTS_READ, .parent_fd = apply->store},
		{.allowed_access = RIGHTS_ALL, .parent_fd = apply->room},
		{.allowed_access = RIGHTS_ALL, .parent_fd = apply->source},
	};
	_cleanup_fd_ int ruleset = -1;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2)
		return true;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rules[i],
		            0) < 0)
			return false;
	return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

static bool apply_confine(const struct apply *apply)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(MEMORY_MAX)},
		{RLIMIT_CORE, 1},
		{RLIMIT_NPROC, 0}};

	return lockdown_limits(limits, ARRAY_SIZE(limits)) && lockdown_no_new_privs() &&
	       lockdown_undumpable() && apply_confine_files(apply) &&
	       lockdown_filter(&filters_apply);
}

/* Parses the number of a descriptor, at least 3. Returns -1 for anything else. */
static int apply_parse_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	return *end || fd <= STDERR_FILENO || fd > 1 << 20 ? -1 : (int)fd;
}

/*
 * Opens our directory in the store, which must belong to the user, without access for others.
 * Returns a descriptor or -errno.
 */
static int open_room(int store)
{
	_cleanup_fd_ int room = -1;
	struct stat st;

	if (mkdirat(store, "apply", 0700) < 0 && errno != EEXIST)
		return -errno;
	room = read_open(store, "apply", O_RDONLY | O_DIRECTORY);
	if (room < 0 || fstat(room, &st) < 0)
		return room < 0 ? room : -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? steal_fd(&room) : -EPERM;
}

static int apply_add_layer(struct diff *diff, int fd)
{
	if (fd >= 0)
		diff->layers[diff->layer_count++] = fd;
	return fd < 0 ? fd : 0;
}

/*
 * Opens "upper", then the frozen layers by number, up to the first missing one. Reverses the frozen
 * layers, so that the newest is directly behind "upper".
 */
static int apply_open_layers(struct apply *apply)
{
	struct diff *diff = &apply->diff;
	int r = apply_add_layer(diff, read_open(apply->store, "upper", O_RDONLY | O_DIRECTORY));

	while (r == 0 && diff->layer_count < DIFF_LAYERS_MAX) {
		char name[32];

		(void)snprintf(name, sizeof name, "layers/%zu", diff->layer_count);
		r = apply_add_layer(diff, read_open(apply->store, name, O_RDONLY | O_DIRECTORY));
	}
	if (r < 0 && (r != -ENOENT || diff->layer_count == 0))
		return r;
	for (size_t i = 1, j = diff->layer_count - 1; i < j; i++, j--) {
		int layer = diff->layers[i];

		diff->layers[i] = diff->layers[j];
		diff->layers[j] = layer;
	}
	diff->hidden = read_open(apply->store, "hidden", O_RDONLY | O_DIRECTORY);
	return diff->hidden < 0 && diff->hidden != -ENOENT ? diff->hidden : 0;
}

static int apply_open_all(struct apply *apply, char **argv)
{
	int out = apply_parse_fd(argv[3]), notes = apply_parse_fd(argv[4]);

	apply->id = argv[1];
	apply->source = apply->diff.source = apply_parse_fd(argv[2]);
	apply->diff.out = out < 0 ? NULL : fdopen(out, "w");
	apply->diff.notes = notes < 0 ? NULL : fdopen(notes, "w");
	if (apply->diff.notes)
		(void)setvbuf(apply->diff.notes, NULL, _IOFBF, DIFF_NOTES_SIZE);
	if (apply->source < 0 || !apply->diff.out || !apply->diff.notes)
		return -EBADF;
	apply->room = open_room(apply->store);
	if (apply->room < 0)
		return apply->room;
	return apply_open_layers(apply);
}

static bool apply_has(const char *what, char letter)
{
	return strchr(what, letter) != NULL;
}

static int apply_fail(struct apply *apply, const char *what, int r)
{
	if (apply->diff.notes) {
		(void)fprintf(apply->diff.notes, "%s: %s\n", what, strerror(-r));
		(void)fflush(apply->diff.notes);
	}
	return APPLY_NOTHING;
}

int main(int argc, char *argv[])
{
	struct apply apply = {.store = STDIN_FILENO, .stage = -1};
	const char *what = argc > 6 ? argv[6] : "";
	int result, paths = protect_take(argc, argv, 7),
		    r = paths ? apply_open_all(&apply, argv) : -EINVAL;

	if (r < 0)
		return apply_fail(&apply, "the store cannot be used", r);
	apply.diff.wanted = argv + paths;
	apply.diff.wanted_count = (size_t)(argc - paths);
	apply.is_forced = apply_has(what, 'f');
	apply.is_dry = apply_has(what, 'n');
	apply.is_asking = apply_has(what, 'i');
	apply.is_json = apply_has(what, 'j');
	apply.takes_protected = apply_has(what, 'p');
	apply.terminal = apply_parse_fd(argv[5]);
	record_read_boot(&apply);
	/* The parent may be gone; an apply that has begun is completed all the same. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, "yett-apply", 0, 0, 0);
	errno = EPERM;
	if ((apply.is_asking && git_libgit2_init() < 0) || !apply_confine(&apply))
		return apply_fail(&apply, "yett-apply cannot confine itself", -errno);
	result = apply_has(what, 'c') || apply_has(what, 'a')
	                 ? run_resume(&apply, apply_has(what, 'a'))
	                 : run_apply(&apply);
	if (apply.diff.note_count > DIFF_NOTES_MAX)
		(void)fprintf(apply.diff.notes, "and %zu more\n",
		              apply.diff.note_count - DIFF_NOTES_MAX);
	if (apply.diff.out)
		/* As in yett-diff, the parent reads `out` to its end before it reads the notes. */
		(void)fclose(apply.diff.out);
	(void)fflush(apply.diff.notes);
	/*
	 * Skip the exit handlers: everything is written, and the filter forbids what libgit2 does
	 * there.
	 */
	_exit(result);
}
