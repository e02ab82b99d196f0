/* SPDX-License-Identifier: Apache-2.0 */
/* See apply.h. Runs an apply from its beginning to its end, or resumes an interrupted one. */
#include "workspace/apply/apply.h"

#include "base/reached.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>

static int apply_run_say(struct apply *apply, const char *what, int r)
{
	(void)fprintf(apply->diff.notes, "%s: %s\n", what, strerror(-r));
	return r;
}

static int say_too_many(struct apply *apply)
{
	(void)fprintf(
		apply->diff.notes,
		"nothing was applied: the limit is %zu changes, with %zu MiB of paths, or less if these are not ASCII: name paths to apply the changes in parts\n",
		DIFF_CHANGES_MAX, DIFF_PATHS_MAX >> 20);
	return -E2BIG;
}

/* Notes why a step failed. */
static void note_step(struct apply *apply, size_t i, int r)
{
	apply->is_missing = apply->is_missing || r == -EBADMSG;
	note(&apply->diff, apply->steps[i].path,
	     r == -ESTALE    ? "was changed by others meanwhile, and is as they left it"
	     : r == -EBADMSG ? "is not in the stage as the journal says"
	                     : strerror(-r));
}

/* Whether the user wants files skipped that others have changed. */
static bool is_passed_over(const struct apply *apply, int r)
{
	return apply->is_passing_over && (r == -ESTALE || r == -EBADMSG);
}

static int take_steps(struct apply *apply)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < apply->step_count; i++) {
		r = reached_step("apply", "step");
		if (r == 0)
			r = step_do(apply, i);
		if (r < 0)
			note_step(apply, i, r);
		if (is_passed_over(apply, r))
			r = 0;
	}
	return r == 0 && syncfs(apply->source) < 0 ? -errno : r;
}

/* Undoes every step that can be undone, also after one that cannot. Returns the first failure. */
static int apply_run_take_back(struct apply *apply)
{
	int failed = 0;

	for (size_t i = apply->step_count; i-- > 0;) {
		int r = reached_step("apply", "back");

		if (r == 0)
			r = step_undo(apply, i);
		if (r < 0)
			note_step(apply, i, r);
		if (r < 0 && !is_passed_over(apply, r) && failed == 0)
			failed = r;
	}
	return failed == 0 && syncfs(apply->source) < 0 ? -errno : failed;
}

/*
 * The stage is emptied last, when nothing depends on it. Leftovers there are reported, and do no
 * harm.
 */
static int apply_run_finish(struct apply *apply)
{
	int r = keep_others(apply);

	if (r < 0)
		return apply_run_say(apply, "files of others in the stage could not be kept", r);
	r = reached_step("apply", "record");
	if (r == 0)
		r = record_write_owns(apply);
	if (r < 0)
		(void)apply_run_say(
			apply,
			"the list of new files could not be written, so the next apply treats them as changed outside",
			r);
	r = reached_step("apply", "close");
	if (r == 0)
		r = journal_close(apply);
	if (r < 0)
		return r;
	r = reached_step("apply", "closed");
	if (r == 0)
		r = stage_empty(apply);
	if (r == 0)
		r = reached_step("apply", "empty");
	if (r == 0)
		r = journal_remove(apply);
	if (r < 0)
		(void)apply_run_say(apply, "what is not needed any more could not all be removed",
		                    r);
	return 0;
}

static int restore(struct apply *apply)
{
	int r = apply_run_take_back(apply);

	apply->is_restored = r == 0;
	return r == 0 ? apply_run_finish(apply) : r;
}

/* Removes the stage of an apply that was completed or not begun. */
static int apply_run_clear(struct apply *apply)
{
	for (int i = 0; i < 2; i++) {
		apply->is_stage_in_source = i == 1;
		if (stage_open(apply, false) == 0) {
			int r = stage_empty(apply);

			if (r < 0)
				return apply_run_say(
					apply,
					"what an earlier apply has left in its stage could not be removed",
					r);
		}
		apply->stage = fd_close(apply->stage);
	}
	return journal_remove(apply);
}

/*
 * Compares the device too, since the top directories of most file systems have the same inode
 * number. Device numbers can change with each boot, so they are compared only within one.
 */
static bool is_source(const struct apply *apply)
{
	const struct origin *origin = &apply->origin;
	bool is_same_boot = *apply->boot && strcmp(origin->used_boot, apply->boot) == 0;

	return origin->inode == apply->source_inode &&
	       (!is_same_boot || origin->device == apply->source_device);
}

/*
 * Reports where the files are that an unreadable journal's apply took out. The stage has the only
 * copy, and the next apply without a journal empties it.
 */
static int say_unread(struct apply *apply, int r)
{
	FILE *to = apply->diff.notes;

	if (r == -EXDEV)
		return apply_run_say(apply,
		                     "an apply that ended half-way was about another directory", r);
	(void)apply_run_say(apply, "the journal of an apply that ended half-way cannot be read", r);
	for (int i = 0; i < 2; i++) {
		apply->is_stage_in_source = i == 1;
		if (stage_open(apply, false) == 0) {
			(void)fputs("the files taken out of the directory are in ", to);
			report_directory(to, apply->stage);
			(void)fputs(
				": move them elsewhere first, since the next apply deletes them\n",
				to);
		}
		apply->stage = fd_close(apply->stage);
	}
	(void)fputs("then remove \"journal\" and \"journal.closed\" in ", to);
	report_directory(to, apply->room);
	(void)fputs(", if they exist\n", to);
	return r;
}

static int apply_run_begin(struct apply *apply)
{
	struct stat st;
	bool is_closed;
	int r;

	if (flock(apply->room, LOCK_EX | LOCK_NB) < 0 ||
	    flock(apply->source, LOCK_EX | LOCK_NB) < 0)
		return apply_run_say(
			apply, "another yett apply works on this store or this directory", -errno);
	if (fstat(apply->source, &st) < 0)
		return -errno;
	apply->source_inode = st.st_ino;
	apply->source_device = st.st_dev;
	r = record_read_origin(apply);
	if (r < 0)
		return apply_run_say(apply, "the origin that the store records could not be read",
		                     r);
	if (!is_source(apply))
		return apply_run_say(apply, "the store belongs to another directory than this one",
		                     -EXDEV);
	r = journal_read(apply, &is_closed);
	if (r < 0 && r != -ENOENT)
		return say_unread(apply, r);
	apply->is_begun = r == 0 && !is_closed;
	if (apply->is_begun || apply->is_dry)
		return 0;
	apply->step_count = 0;
	return apply_run_clear(apply);
}

static int select_items(struct apply *apply)
{
	int r = walk(&apply->diff);

	apply->is_incomplete = apply->diff.note_count > 0;
	if (r == 0)
		r = above_add(apply);
	if (r == 0)
		r = plan_items(&apply->diff, &apply->items, &apply->item_count);
	if (r == 0)
		r = record_read_owns(apply);
	return r == 0 ? look(apply) : r;
}

static size_t count_conflicts(struct apply *apply)
{
	size_t count = 0;

	for (size_t i = 0; i < apply->item_count; i++) {
		count += apply->items[i].is_conflict;
		apply->is_incomplete =
			apply->is_incomplete ||
			(apply->items[i].left && !hunks_is_not_chosen(&apply->items[i]));
	}
	return count;
}

/*
 * Fills the stage and writes the journal, without changing the source. After a failure there is
 * only the stage to remove.
 */
static int apply_run_prepare(struct apply *apply)
{
	int r = stage_open(apply, true);

	if (r == 0)
		r = stage_fill(apply);
	if (r == 0)
		r = reached_step("apply", "journal");
	if (r == 0)
		r = journal_write(apply);
	if (r < 0) {
		(void)apply_run_say(apply, "the changes could not be prepared", r);
		(void)!apply_run_clear(apply);
	}
	return r;
}

/* From here on, only SIGKILL interrupts the apply. */
static void hold_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

static int apply_run_commit(struct apply *apply)
{
	int r;

	hold_signals();
	r = apply_run_prepare(apply);
	if (r < 0)
		return APPLY_NOTHING;
	r = take_steps(apply);
	if (r == 0)
		r = apply_run_finish(apply);
	if (r == 0)
		return apply->is_incomplete ? APPLY_LEFT : APPLY_DONE;
	(void)apply_run_say(apply, "it could not be completed", r);
	return restore(apply) == 0 ? APPLY_NOTHING : APPLY_BROKEN;
}

int run_apply(struct apply *apply)
{
	int result, r = apply_run_begin(apply);

	if (r < 0)
		return APPLY_NOTHING;
	if (apply->is_begun) {
		(void)fputs(
			"an apply of this store ended half-way: complete it (--continue), or undo it (--abort)\n",
			apply->diff.notes);
		return APPLY_BROKEN;
	}
	r = select_items(apply);
	if (r == 0 && apply->is_asking)
		r = hunks_ask(apply);
	if (r < 0) {
		(void)(r == -E2BIG ? say_too_many(apply)
		                   : apply_run_say(apply, "the changes could not be listed", r));
		return APPLY_NOTHING;
	}
	if (count_conflicts(apply) > 0 && !apply->is_asking) {
		report(apply, false);
		(void)fputs(
			"nothing was applied: name only the paths without a conflict, or apply all of them with --force\n",
			apply->diff.notes);
		return APPLY_NOTHING;
	}
	if (plan_steps(apply->items, apply->item_count, &apply->steps, &apply->step_count) < 0)
		return APPLY_NOTHING;
	if (!journal_is_bounded(apply->steps, apply->step_count)) {
		(void)say_too_many(apply);
		return APPLY_NOTHING;
	}
	result = apply->is_dry || apply->step_count == 0
	                 ? (apply->is_incomplete ? APPLY_LEFT : APPLY_DONE)
	                 : apply_run_commit(apply);
	report(apply, result == APPLY_DONE || result == APPLY_LEFT);
	return result;
}

int run_resume(struct apply *apply, bool undo)
{
	int r = apply_run_begin(apply);

	if (r < 0)
		return APPLY_NOTHING;
	if (!apply->is_begun) {
		(void)fputs("no apply of this store ended half-way\n", apply->diff.notes);
		report_resumed(apply, "nothing");
		return APPLY_DONE;
	}
	apply->is_passing_over = apply->is_forced;
	apply->is_forced = apply->was_forced;
	hold_signals();
	if (record_read_owns(apply) < 0 || stage_open(apply, false) < 0) {
		(void)fputs("the stage of the apply that ended half-way is gone\n",
		            apply->diff.notes);
		return APPLY_BROKEN;
	}
	r = undo ? restore(apply) : take_steps(apply);
	if (r == 0 && !undo)
		r = apply_run_finish(apply);
	if (r < 0 && apply->is_missing)
		keep_report(apply);
	if (r < 0)
		(void)fputs(
			"the apply is still incomplete: repair those files, or leave them as they are with --force\n",
			apply->diff.notes);
	else
		report_resumed(apply, undo ? "taken back" : "completed");
	return r == 0 ? APPLY_DONE : APPLY_BROKEN;
}
