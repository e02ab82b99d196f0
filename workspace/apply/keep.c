/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. At the end of an apply, the stage has copies of the store's files, and the files
 * that the source was to lose. Any other file was somebody else's, and may be the only copy. It is
 * moved to a directory beside the stage, and reported.
 */
#include "workspace/apply/apply.h"

#include "base/reached.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define IN_STORE   "kept"
#define SUFFIX     ".kept" /* after the stage's name, in the source */
#define NUMBER_MAX 100000u

static int parent_of(const struct apply *apply)
{
	return apply->is_stage_in_source ? apply->source : apply->room;
}

static void keep_name_of(const struct apply *apply, char name[static NAME_MAX])
{
	(void)snprintf(name, NAME_MAX, "%s%s%s", apply->is_stage_in_source ? STAGE_NAME : IN_STORE,
	               apply->is_stage_in_source ? apply->id : "",
	               apply->is_stage_in_source ? SUFFIX : "");
}

/* Reports that somebody else has made the directory, or another file of its name. */
static int say_foreign(const struct apply *apply, const char *name)
{
	(void)fprintf(apply->diff.notes, "%s is not a directory that is yours alone, in ", name);
	report_directory(apply->diff.notes, parent_of(apply));
	(void)fputs(
		": move it away, then complete the apply (--continue) or undo the apply (--abort)\n",
		apply->diff.notes);
	return -EPERM;
}

static int keep_open_kept(const struct apply *apply)
{
	_cleanup_fd_ int kept = -1;
	char name[NAME_MAX];
	struct stat st;

	keep_name_of(apply, name);
	if (mkdirat(parent_of(apply), name, 0700) < 0 && errno != EEXIST)
		return -errno;
	kept = read_open(parent_of(apply), name, O_RDONLY | O_DIRECTORY);
	if (kept == -ENOTDIR || kept == -ELOOP || kept == -EACCES)
		return say_foreign(apply, name);
	if (kept < 0 || fstat(kept, &st) < 0)
		return kept < 0 ? kept : -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? steal_fd(&kept)
	                                                     : say_foreign(apply, name);
}

void keep_report(struct apply *apply)
{
	_cleanup_fd_ int kept = -1;
	char name[NAME_MAX];

	keep_name_of(apply, name);
	kept = read_open(parent_of(apply), name, O_RDONLY | O_DIRECTORY);
	if (kept < 0)
		return;
	(void)fputs("files missing from the stage may be in ", apply->diff.notes);
	report_directory(apply->diff.notes, kept);
	(void)fputs(
		", where a killed apply kept them: look there, then end the apply with --force\n",
		apply->diff.notes);
}

/*
 * Whether a staged file may be deleted: it is the step's new file or, unless the steps were undone,
 * the old one. After undoing, an old file in the stage may be one that could not go back, or that
 * somebody wrote to after it was taken out.
 */
static bool is_spare(const struct apply *apply, const struct step *step, const char *staged,
                     const struct ident *now)
{
	bool is_new = step->new.mode &&plan_is_same(now, &step->new);
	bool is_old = !apply->is_restored && step->old.mode && plan_is_same(now, &step->old);

	return (is_new || is_old) && stage_is_empty_if_directory(apply, staged, now->mode);
}

/* Moves a file to an unused number and as much of its name as there is room for. */
static int move(struct apply *apply, int kept, const char *staged, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[NAME_MAX];

	for (unsigned i = 1; i < NUMBER_MAX; i++) {
		(void)snprintf(name, sizeof name, "%u-%.200s", i, slash ? slash + 1 : path);
		if (renameat2(apply->stage, staged, kept, name, RENAME_NOREPLACE) == 0)
			return reached_step("apply", "kept");
		if (errno != EEXIST)
			return -errno;
	}
	return -EMFILE;
}

static int keep_one(struct apply *apply, int *kept, size_t i)
{
	const struct step *step = &apply->steps[i];
	struct ident now;
	char staged[24];
	int r;

	(void)snprintf(staged, sizeof staged, "%zu", i);
	r = look_at(apply->stage, staged, &now);
	if (r < 0 || !now.mode || is_spare(apply, step, staged, &now))
		return r;
	if (*kept < 0)
		*kept = keep_open_kept(apply);
	r = *kept < 0 ? *kept : move(apply, *kept, staged, step->path);
	if (r == 0)
		note(&apply->diff, step->path,
		     "was not the expected file when apply took it out of its place; it is kept");
	return r;
}

int keep_others(struct apply *apply)
{
	_cleanup_fd_ int kept = -1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < apply->step_count; i++)
		r = keep_one(apply, &kept, i);
	if (kept < 0)
		return r;
	(void)fputs("kept files are in ", apply->diff.notes);
	report_directory(apply->diff.notes, kept);
	(void)fputs(": move them to where they belong\n", apply->diff.notes);
	return r == 0 && syncfs(kept) < 0 ? -errno : r;
}
