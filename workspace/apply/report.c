/* SPDX-License-Identifier: Apache-2.0 */
/* See apply.h. */
#include "workspace/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/fd_path.h"
#include "base/json.h"

const char *report_name(const struct item *item)
{
	return !item->old.mode      ? "added"
	       : !item->new_mode    ? "removed"
	       : item->same_content ? "mode"
	                            : "changed";
}

static void apply_report_put_text(struct apply *apply, const struct item *item)
{
	(void)fprintf(apply->diff.out, "%-8s ", report_name(item));
	quote_path(apply->diff.out, "", item->path);
	(void)fputs(S_ISDIR(item->new_mode ? item->new_mode : item->old.mode) ? "/\n" : "\n",
	            apply->diff.out);
}

static void put_left(struct json *json, const struct item *item)
{
	json_open(json, NULL, '{');
	json_bytes(json, "path", item->path, strlen(item->path));
	json_text(json, "reason", item->left);
	json_bool(json, "conflict", item->is_conflict);
	json_text_or_null(json, "protected_because", item->guard.why);
	json_close(json);
}

static void apply_report_put_json(struct apply *apply, bool is_done)
{
	struct json json = {.to = apply->diff.out};

	json_open(&json, NULL, '{');
	json_open(&json, "applied", '[');
	for (size_t i = 0; is_done && i < apply->item_count; i++) {
		const struct item *item = &apply->items[i];

		if (item->left)
			continue;
		json_open(&json, NULL, '{');
		json_bytes(&json, "path", item->path, strlen(item->path));
		json_text(&json, "change", report_name(item));
		json_close(&json);
	}
	json_close(&json);
	json_open(&json, "left", '[');
	for (size_t i = 0; i < apply->item_count; i++)
		if (apply->items[i].left)
			put_left(&json, &apply->items[i]);
	json_close(&json);
	json_close(&json);
}

/*
 * Returns how many successive items from `first` on are left because of the same name: a directory
 * may have thousands.
 */
static size_t count_protected(const struct apply *apply, size_t first)
{
	const struct item *item = &apply->items[first];
	size_t count = 1;

	for (size_t i = first + 1; i < apply->item_count; i++, count++)
		if (apply->items[i].left != look_protected ||
		    !ways_is_same_guard(item->path, &item->guard, apply->items[i].path,
		                        &apply->items[i].guard))
			break;
	return count;
}

static void note_protected(struct apply *apply, const struct item *item, size_t count)
{
	FILE *to = apply->diff.notes;

	if (apply->diff.note_count++ >= DIFF_NOTES_MAX)
		return;
	ways_report_guard(to, item->path, &item->guard);
	if (item->guard.is_gits_own)
		(void)fprintf(
			to,
			", with %zu change%s of git's own files: fetch commits with yett git fetch, or name it with --include-protected\n",
			count, count == 1 ? "" : "s");
	else if (count == 1 && !item->path[item->guard.length])
		(void)fputs(": name it to have it applied\n", to);
	else
		(void)fprintf(
			to,
			", with %zu change%s: name what is to be applied, or take all with --include-protected\n",
			count, count == 1 ? "" : "s");
}

static void note_left(struct apply *apply, bool is_conflict)
{
	for (size_t i = 0; i < apply->item_count; i++) {
		const struct item *item = &apply->items[i];

		if (!item->left || item->is_conflict != is_conflict || hunks_is_not_chosen(item))
			continue;
		if (item->left == look_protected) {
			size_t count = count_protected(apply, i);

			note_protected(apply, item, count);
			i += count - 1;
		} else {
			note(&apply->diff, item->path, item->left);
		}
	}
}

void report(struct apply *apply, bool is_done)
{
	if (apply->is_json) {
		apply_report_put_json(apply, is_done);
	} else {
		for (size_t i = 0; is_done && i < apply->item_count; i++)
			if (!apply->items[i].left)
				apply_report_put_text(apply, &apply->items[i]);
	}
	note_left(apply, true); /* conflicts first: the notes are limited */
	note_left(apply, false);
	(void)fflush(apply->diff.out);
}

/* Asks the kernel, which alone knows the path of a descriptor. proc_pid_fd(5) */
void report_directory(FILE *to, int fd)
{
	char path[PATH_MAX];

	(void)fd_path(fd, path);
	quote_path(to, "", path);
}

void report_resumed(struct apply *apply, const char *what)
{
	struct json json = {.to = apply->diff.out};

	if (apply->is_json) {
		json_open(&json, NULL, '{');
		json_text(&json, "resumed", what);
		json_close(&json);
	} else {
		(void)fprintf(apply->diff.out, "%s\n", what);
	}
	(void)fflush(apply->diff.out);
}
