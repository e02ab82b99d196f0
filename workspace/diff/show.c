/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See diff.h. Anything that a patch cannot express becomes a line that begins with "#", which git
 * apply ignores.
 */
#include "workspace/diff/diff.h"
#include "workspace/diff/ways.h"

#include <git2.h>
#include <string.h>

#include "base/json.h"

#define LINES_MAX ((size_t)400000) /* of one file; bounds libgit2's memory */

/* A change with its loaded contents and their differences. */
struct shown {
	const struct change *change;
	char *old, *new;
	size_t old_size, new_size;
	git_patch *patch; /* NULL: no content to show */
	size_t added, deleted;
	bool is_binary;
};

static bool is_content(uint32_t mode)
{
	return S_ISREG(mode) || S_ISLNK(mode);
}

static const char *type_name(uint32_t mode)
{
	return S_ISREG(mode)    ? "file"
	       : S_ISDIR(mode)  ? "directory"
	       : S_ISLNK(mode)  ? "link"
	       : S_ISFIFO(mode) ? "fifo"
	       : S_ISSOCK(mode) ? "socket"
	                        : "device";
}

static const char *change_name(const struct change *change)
{
	return change->from        ? "renamed"
	       : !change->old.mode ? "added"
	       : !change->new.mode ? "deleted"
	                           : "modified";
}

static const char *git_mode(uint32_t mode)
{
	return S_ISLNK(mode) ? "120000" : mode & 0100 ? "100755" : "100644";
}

static bool show_is_text(const char *bytes, size_t size)
{
	size_t lines = 0;

	if (size && memchr(bytes, '\0', size < 8000 ? size : 8000))
		return false;
	for (const char *at = bytes; size && (at = memchr(at, '\n', size - (size_t)(at - bytes)));
	     at++)
		lines++;
	return lines <= LINES_MAX;
}

static const char *old_path(const struct change *change)
{
	return change->from ? change->from : change->path;
}

static void load_side(struct diff *diff, int directory, const char *path, const struct side *side,
                      char **bytes, size_t *size, bool *is_binary)
{
	int r;

	if (!is_content(side->mode))
		return;
	if (side->size > DIFF_SHOWN_MAX) {
		*is_binary = true;
		return;
	}
	r = read_content(directory, path, side, bytes, size);
	if (r < 0)
		note(diff, path, r == -EAGAIN ? "changed while it was read" : strerror(-r));
	*is_binary = *is_binary || r < 0 || !show_is_text(*bytes, *size);
}

static void show_load(struct diff *diff, const struct change *change, struct shown *shown)
{
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	size_t context;

	*shown = (struct shown){.change = change};
	if (change->same_content ||
	    (!is_content(change->old.mode) && !is_content(change->new.mode)))
		return;
	load_side(diff, diff->source, old_path(change), &change->old, &shown->old, &shown->old_size,
	          &shown->is_binary);
	load_side(diff, diff->layers[change->layer], change->path, &change->new, &shown->new,
	          &shown->new_size, &shown->is_binary);
	if (shown->is_binary)
		return;
	options.flags = GIT_DIFF_FORCE_TEXT;
	if (git_patch_from_buffers(&shown->patch, shown->old, shown->old_size, "a", shown->new,
	                           shown->new_size, "a", &options) < 0 ||
	    git_patch_line_stats(&context, &shown->added, &shown->deleted, shown->patch) < 0) {
		note(diff, change->path, "its contents could not be compared");
		shown->is_binary = true;
	}
}

static void show_unload(struct shown *shown)
{
	git_patch_free(shown->patch);
	free(shown->old);
	free(shown->new);
}

static void begin_line(struct diff *diff, char mark)
{
	if (diff->marked)
		(void)fputc(mark, diff->out);
}

/* libgit2's message about a missing newline at the end of a file begins with that newline. */
static int show_put_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
                         const git_diff_line *line, void *of)
{
	struct diff *diff = of;
	bool is_content = line->origin == GIT_DIFF_LINE_CONTEXT ||
	                  line->origin == GIT_DIFF_LINE_ADDITION ||
	                  line->origin == GIT_DIFF_LINE_DELETION;
	size_t ended = !is_content && line->content_len && *line->content == '\n';

	(void)delta;
	(void)hunk;
	if (line->origin == GIT_DIFF_LINE_FILE_HDR || line->origin == GIT_DIFF_LINE_BINARY)
		return 0;
	if (ended)
		(void)fputc('\n', diff->out);
	begin_line(diff, is_content                               ? line->origin
	                 : line->origin == GIT_DIFF_LINE_HUNK_HDR ? SHOW_HUNK
	                                                          : SHOW_PLAIN);
	if (is_content)
		(void)fputc(line->origin, diff->out);
	(void)fwrite(line->content + ended, 1, line->content_len - ended, diff->out);
	return 0;
}

static void put_side(FILE *to, const char *prefix, const char *path, uint32_t mode)
{
	if (mode)
		quote_path(to, prefix, path);
	else
		(void)fputs("/dev/null", to);
}

/* Adds a tab where git needs one to find the end of the name. */
static void show_put_name(struct diff *diff, const char *prefix, const char *path, uint32_t mode)
{
	begin_line(diff, SHOW_HEAD);
	(void)fputs(*prefix == 'a' ? "--- " : "+++ ", diff->out);
	put_side(diff->out, prefix, path, mode);
	(void)fputs(mode && strchr(path, ' ') && !quote_is_needed(path) ? "\t\n" : "\n", diff->out);
}

/*
 * Whether git apply would lose something: directories, special files, and modes except whether a
 * file is executable.
 */
static bool is_rest(uint32_t old, uint32_t new)
{
	if (!is_content(old ? old : new))
		return true;
	if (!S_ISREG(new))
		return false;
	if (!old)
		return (new & 07777) != 0644 && (new & 07777) != 0755;
	return ((old ^ new) & 07777) != 0 && ((old ^ new) & 07777) != 0111;
}

static void put_rest(struct diff *diff, const struct change *change)
{
	uint32_t old = change->old.mode, new = change->new.mode;

	if (!is_rest(old, new))
		return;
	begin_line(diff, SHOW_HEAD);
	(void)fprintf(diff->out, "# %s %s ", change_name(change), type_name(old ? old : new));
	quote_path(diff->out, "", change->path);
	if (old && new)
		(void)fprintf(diff->out, ": mode %04o to %04o\n", old & 07777, new & 07777);
	else
		(void)fprintf(diff->out, ": mode %04o\n", (old ? old : new) & 07777);
}

/* Writes "diff --git …" and the lines of git's extended header that apply. git-diff(1) */
static void show_put_head(struct diff *diff, const struct change *change)
{
	const char *old = git_mode(change->old.mode), *new = git_mode(change->new.mode);
	bool is_one_sided = !change->old.mode || !change->new.mode;
	const struct {
		const char *text, *value;
	} lines[] = {
		{"deleted file mode ", change->new.mode ? NULL : old},
		{"new file mode ", change->old.mode ? NULL : new},
		{"old mode ", is_one_sided || strcmp(old, new) == 0 ? NULL : old},
		{"new mode ", is_one_sided || strcmp(old, new) == 0 ? NULL : new},
		{"rename from ", change->from},
		{"rename to ", change->from ? change->path : NULL},
	};

	begin_line(diff, SHOW_HEAD);
	(void)fputs("diff --git ", diff->out);
	quote_path(diff->out, "a/", old_path(change));
	(void)fputc(' ', diff->out);
	quote_path(diff->out, "b/", change->path);
	(void)fputc('\n', diff->out);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i].value)
			continue;
		if (lines[i].value == change->from) {
			begin_line(diff, SHOW_HEAD);
			(void)fprintf(diff->out, "similarity index %u%%\n", change->similarity);
		}
		begin_line(diff, SHOW_HEAD);
		(void)fputs(lines[i].text, diff->out);
		quote_path(diff->out, "", lines[i].value);
		(void)fputc('\n', diff->out);
	}
}

static void put_patch(struct diff *diff, struct shown *shown)
{
	const struct change *change = shown->change;
	uint32_t old = change->old.mode, new = change->new.mode;

	put_rest(diff, change);
	if (!is_content(old ? old : new) ||
	    (!change->from && change->same_content && strcmp(git_mode(old), git_mode(new)) == 0))
		return;
	show_put_head(diff, change);
	if (shown->is_binary) {
		begin_line(diff, SHOW_PLAIN);
		(void)fputs("Binary files ", diff->out);
		put_side(diff->out, "a/", old_path(change), old);
		(void)fputs(" and ", diff->out);
		put_side(diff->out, "b/", change->path, new);
		(void)fputs(" differ\n", diff->out);
	} else if (shown->patch && git_patch_num_hunks(shown->patch) > 0) {
		show_put_name(diff, "a/", old_path(change), old);
		show_put_name(diff, "b/", change->path, new);
		(void)git_patch_print(shown->patch, show_put_line, diff);
	}
}

/* Writes what follows the name if there are no lines to count. */
static void put_stat_rest(FILE *to, const struct shown *shown)
{
	const struct side *old = &shown->change->old, *new = &shown->change->new;

	if (shown->is_binary)
		(void)fprintf(to, "Bin %llu -> %llu bytes", (unsigned long long)old->size,
		              (unsigned long long)new->size);
	else if (old->mode && new->mode && old->mode != new->mode)
		(void)fprintf(to, "mode %04o -> %04o", old->mode & 07777, new->mode & 07777);
	else if (shown->change->from)
		(void)fputc('0', to);
	else
		(void)fprintf(to, "%s %s", change_name(shown->change),
		              type_name(old->mode ? old->mode : new->mode));
}

static void put_stat(struct diff *diff, struct shown *shown)
{
	const struct change *change = shown->change;
	size_t lines = shown->added + shown->deleted, most = lines > 40 ? 40 : lines;
	size_t plus = lines ? (shown->added * most + lines - 1) / lines : 0;

	begin_line(diff, SHOW_STAT);
	(void)fputc(' ', diff->out);
	if (change->from)
		quote_move(diff->out, change->from, change->path);
	else
		quote_path(diff->out, "", change->path);
	(void)fputs(S_ISDIR(change->old.mode ? change->old.mode : change->new.mode) ? "/ | "
	                                                                            : " | ",
	            diff->out);
	if (shown->patch)
		(void)fprintf(diff->out, "%zu%s", lines, lines ? " " : "");
	else
		put_stat_rest(diff->out, shown);
	for (size_t i = 0; i < most; i++)
		(void)fputc(i < plus ? '+' : '-', diff->out);
	(void)fputc('\n', diff->out);
}

static void json_side(struct json *json, const char *name, const struct side *side)
{
	char mode[8];

	if (!side->mode) {
		json_null(json, name);
		return;
	}
	(void)snprintf(mode, sizeof mode, "%04o", side->mode & 07777);
	json_open(json, name, '{');
	json_text(json, "type", type_name(side->mode));
	json_text(json, "mode", mode);
	json_number(json, "size", side->size);
	json_close(json);
}

static void show_put_json(struct json *json, struct shown *shown)
{
	json_open(json, NULL, '{');
	json_bytes(json, "path", shown->change->path, strlen(shown->change->path));
	json_text(json, "change", change_name(shown->change));
	if (shown->change->from)
		json_bytes(json, "old_path", shown->change->from, strlen(shown->change->from));
	else
		json_null(json, "old_path");
	if (shown->change->from)
		json_number(json, "similarity", shown->change->similarity);
	else
		json_null(json, "similarity");
	json_side(json, "old", &shown->change->old);
	json_side(json, "new", &shown->change->new);
	json_bool(json, "content_changed", !shown->change->same_content);
	json_bool(json, "binary", shown->is_binary);
	json_number(json, "lines_added", shown->added);
	json_number(json, "lines_deleted", shown->deleted);
	json_text_or_null(json, "protected_because", shown->change->guard.why);
	json_close(json);
}

static void put_name_only(struct diff *diff, const struct change *change)
{
	quote_path(diff->out, "", change->path);
	(void)fputs(S_ISDIR(change->old.mode ? change->old.mode : change->new.mode) ? "/\n" : "\n",
	            diff->out);
}

/* Notes what yett apply leaves out, once for successive changes that the same name protects. */
static void report_guards(const struct diff *diff)
{
	const struct change *last = NULL;
	size_t reported = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct change *change = &diff->changes[i];

		if (!change->guard.why || (last && ways_is_same_guard(change->path, &change->guard,
		                                                      last->path, &last->guard)))
			continue;
		last = change;
		if (reported++ >= DIFF_NOTES_MAX)
			continue;
		ways_report_guard(diff->notes, change->path, &change->guard);
		(void)fputs(": yett apply applies it only if you name it\n", diff->notes);
	}
	if (reported > DIFF_NOTES_MAX)
		(void)fprintf(diff->notes, "and %zu more names are protected\n",
		              reported - DIFF_NOTES_MAX);
}

int show(struct diff *diff, const char *form)
{
	bool is_json = strcmp(form, "json") == 0, is_stat = strncmp(form, "stat", 4) == 0,
	     is_names = strcmp(form, "names") == 0;
	struct json json = {.to = diff->out};
	size_t added = 0, deleted = 0;

	diff->marked = strstr(form, "-marked");
	if (is_json)
		json_open(&json, NULL, '[');
	for (size_t i = 0; i < diff->count && !ferror(diff->out); i++) {
		struct shown shown;

		if (is_names) {
			if (i == 0 || strcmp(diff->changes[i - 1].path, diff->changes[i].path) != 0)
				put_name_only(diff, &diff->changes[i]);
			continue;
		}
		show_load(diff, &diff->changes[i], &shown);
		added += shown.added;
		deleted += shown.deleted;
		if (is_json)
			show_put_json(&json, &shown);
		else if (is_stat)
			put_stat(diff, &shown);
		else
			put_patch(diff, &shown);
		show_unload(&shown);
	}
	if (is_json)
		json_close(&json);
	if (is_stat && diff->count) {
		begin_line(diff, SHOW_PLAIN);
		(void)fprintf(diff->out, " %zu changed, %zu insertions(+), %zu deletions(-)\n",
		              diff->count, added, deleted);
	}
	if (!is_json)
		report_guards(diff);
	return fflush(diff->out) == 0 && !ferror(diff->out) ? 0 : -EIO;
}
