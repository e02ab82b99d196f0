/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. Shows each change and asks the user whether to apply it; a text is shown hunk by
 * hunk. Control characters are escaped, so that nothing shown acts on the terminal. libgit2 makes
 * the hunks against the source's present content. The shown content is kept in memory and is
 * exactly what is applied, because a sandbox may be changing the layer meanwhile.
 */
#include "workspace/apply/apply.h"

#include <git2.h>
#include <string.h>

#include "base/json.h"

#define ANSWER_MAX 256
/* Limits all chosen contents together, to a quarter of MEMORY_MAX in main.c. */
#define KEPT_MAX ((size_t)256 << 20)

static const char not_chosen[] = "was not chosen";

enum answer { ANSWER_YES, ANSWER_NO, ANSWER_QUIT, ANSWER_ALL, ANSWER_NONE };

/* A change that the user is asked about. */
struct asked {
	struct item *item;
	char *old, *new;
	size_t old_size, new_size;
	git_patch *patch;     /* NULL: not a text; asked about as a whole */
	bool is_all, is_none; /* the answer for the remaining hunks */
};

bool hunks_is_not_chosen(const struct item *item)
{
	return item->left == not_chosen;
}

static void hunks_write_all(int fd, const char *bytes, size_t size)
{
	for (size_t used = 0; used < size;) {
		ssize_t n = write(fd, bytes + used, size - used);

		if (n < 0 && errno != EINTR)
			return;
		used += n > 0 ? (size_t)n : 0;
	}
}

/* Escapes characters that could act on the terminal, except newlines and tabs. */
static void put_harmless(FILE *to, const char *bytes, size_t size)
{
	for (size_t at = 0, n; at < size; at += n) {
		uint32_t point;

		n = json_utf8_next(bytes + at, size - at, &point);
		if (n > 0 &&
		    (point == '\n' || point == '\t' || (point >= ' ' && !json_is_harmful(point)))) {
			(void)fwrite(bytes + at, 1, n, to);
			continue;
		}
		n = n ? n : 1;
		for (size_t i = 0; i < n; i++)
			(void)fprintf(to, "\\x%02x", (unsigned char)bytes[at + i]);
	}
}

static bool is_shown(uint32_t mode, uint64_t size)
{
	return !mode || (S_ISREG(mode) && size <= DIFF_SHOWN_MAX);
}

static bool hunks_is_text(const char *bytes, size_t size)
{
	return !size || !memchr(bytes, '\0', size);
}

/* Loads the new content and, for a text, the present one. -EAGAIN: a file has changed. */
static int load_both(struct apply *apply, struct asked *asked)
{
	const struct item *item = asked->item;
	const struct side old = {item->old.mode, item->old.size}, *new = &item->change->new;
	struct ident now;
	int r = 0;

	if (plan_has_content(item))
		r = read_content(apply->diff.layers[item->change->layer], item->path, new,
		                 &asked->new, &asked->new_size);
	if (r == 0 && S_ISREG(old.mode) && is_shown(old.mode, old.size) &&
	    is_shown(new->mode, new->size))
		r = read_content(apply->source, item->path, &old, &asked->old, &asked->old_size);
	if (r == 0)
		r = look_at(apply->source, item->path, &now);
	return r < 0 ? r : plan_is_same(&now, &item->old) ? 0 : -EAGAIN;
}

/*
 * Computes the hunks if each side is a text or missing. -EAGAIN: a file is not as the walk found
 * it, or is changing.
 */
static int hunks_load(struct apply *apply, struct asked *asked)
{
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	const struct item *item = asked->item;
	int r = item->same_content && !plan_has_content(item) ? 0 : load_both(apply, asked);

	if (r < 0)
		return r;
	if (item->same_content) /* only the mode is shown */
		return !asked->new || (asked->old && asked->new_size == asked->old_size &&
		                       memcmp(asked->new, asked->old, asked->old_size) == 0)
		               ? 0
		               : -EAGAIN;
	if (!is_shown(item->old.mode, item->old.size) ||
	    !is_shown(item->change->new.mode, item->change->new.size) ||
	    !hunks_is_text(asked->old, asked->old_size) ||
	    !hunks_is_text(asked->new, asked->new_size))
		return 0;
	options.flags = GIT_DIFF_FORCE_TEXT;
	if (git_patch_from_buffers(&asked->patch, asked->old, asked->old_size, "a", asked->new,
	                           asked->new_size, "a", &options) < 0)
		asked->patch = NULL;
	return 0;
}

static void hunks_unload(struct asked *asked)
{
	git_patch_free(asked->patch);
	free(asked->old);
	free(asked->new);
}

/* Writes what no hunk shows: the new mode, and the target of a link. */
static void put_facts(FILE *to, const struct asked *asked)
{
	const struct item *item = asked->item;
	uint32_t old = item->old.mode, new = plan_mode(old, item->new_mode);
	bool is_reported =
		(old & S_IFMT) == (new &S_IFMT) ? old != new : S_ISREG(new) && (new & 0111);

	if (S_ISLNK(new) && asked->new) {
		_cleanup_free_ char *target = strndup(asked->new, asked->new_size);

		(void)fputs("to ", to);
		quote_path(to, "", target ? target : "?");
		(void)fputc('\n', to);
	} else if (new && !S_ISLNK(new) && is_reported) {
		(void)fprintf(to, "mode %o\n", new & 07777);
	}
}

static void hunks_put_head(FILE *to, const struct asked *asked)
{
	const struct item *item = asked->item;

	(void)fprintf(to, "\n%s ", report_name(item));
	quote_path(to, "", item->path);
	(void)fputs(S_ISDIR(item->new_mode ? item->new_mode : item->old.mode) ? "/\n" : "\n", to);
	if (item->guard.why) {
		ways_report_guard(to, item->path, &item->guard);
		(void)fputc('\n', to);
	}
	put_facts(to, asked);
}

static void hunks_put_hunk(FILE *to, const struct asked *asked, size_t i)
{
	const git_diff_hunk *hunk;
	const git_diff_line *line;
	size_t lines;

	if (git_patch_get_hunk(&hunk, &lines, asked->patch, i) < 0)
		return;
	put_harmless(to, hunk->header, hunk->header_len);
	for (size_t j = 0; j < lines && git_patch_get_line_in_hunk(&line, asked->patch, i, j) == 0;
	     j++) {
		if (line->origin == ' ' || line->origin == '+' || line->origin == '-')
			(void)fputc(line->origin, to);
		put_harmless(to, line->content, line->content_len);
	}
}

static char read_letter(int terminal)
{
	char answer[ANSWER_MAX];
	ssize_t n;

	do
		n = read(terminal, answer, sizeof answer);
	while (n < 0 && errno == EINTR);
	return n > 0 ? answer[0] : 'q';
}

/*
 * Asks until there is a valid answer. For a protected name, "a" is not offered: the user answers
 * for each hunk.
 */
static enum answer apply_hunks_ask(const struct apply *apply, const struct item *item,
                                   const char *what)
{
	static const char letters[] = {[ANSWER_YES] = 'y',
	                               [ANSWER_NO] = 'n',
	                               [ANSWER_QUIT] = 'q',
	                               [ANSWER_ALL] = 'a',
	                               [ANSWER_NONE] = 'd'};

	for (;;) {
		char text[600], letter;
		const char *found;
		int length = snprintf(text, sizeof text, "Apply %s [%s]? ", what,
		                      item->guard.why ? "y,n,q,d,?" : "y,n,q,a,d,?");

		hunks_write_all(apply->terminal, text, (size_t)length);
		letter = read_letter(apply->terminal);
		found = memchr(letters, letter, sizeof letters);
		if (found && !(item->guard.why && letter == 'a'))
			return (enum answer)(found - letters);
		length = snprintf(
			text, sizeof text,
			"y: apply this\nn: skip this\nq: skip this and all that follows; apply the chosen changes\n%sd: skip this, and "
			"what follows in this file\n",
			item->guard.why ? ""
					: "a: apply this, and all that follows in this file\n");
		hunks_write_all(apply->terminal, text, (size_t)length);
	}
}

static void show_asked(const struct apply *apply, const struct asked *asked, bool has_head,
                       bool has_hunk, size_t hunk)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	if (has_head)
		hunks_put_head(to, asked);
	if (has_hunk)
		hunks_put_hunk(to, asked, hunk);
	if (fclose(to) == 0)
		hunks_write_all(apply->terminal, text, size);
	free(text);
}

/* Returns the offset after `lines` lines from `at`. */
static size_t hunks_skip_lines(const char *bytes, size_t size, size_t at, size_t lines)
{
	for (; lines > 0 && at < size; lines--) {
		const char *end = memchr(bytes + at, '\n', size - at);

		at = end ? (size_t)(end - bytes) + 1 : size;
	}
	return at;
}

/* Stores the source's content with the chosen hunks applied in item->content. */
static int put_together(struct asked *asked, const bool *chosen, size_t count)
{
	struct item *item = asked->item;
	FILE *to = open_memstream(&item->content, &item->content_size);
	size_t at = 0, lines_before = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const git_diff_hunk *hunk;
		const git_diff_line *line;
		size_t lines, first, end;

		if (!chosen[i] || git_patch_get_hunk(&hunk, &lines, asked->patch, i) < 0)
			continue;
		first = hunk->old_lines ? (size_t)hunk->old_start - 1 : (size_t)hunk->old_start;
		end = hunks_skip_lines(asked->old, asked->old_size, at, first - lines_before);
		(void)fwrite(asked->old + at, 1, end - at, to);
		for (size_t j = 0;
		     j < lines && git_patch_get_line_in_hunk(&line, asked->patch, i, j) == 0; j++)
			if (line->origin == ' ' || line->origin == '+')
				(void)fwrite(line->content, 1, line->content_len, to);
		at = hunks_skip_lines(asked->old, asked->old_size, end, (size_t)hunk->old_lines);
		lines_before = first + (size_t)hunk->old_lines;
	}
	(void)fwrite(asked->old + at, 1, asked->old_size - at, to);
	return fclose(to) == 0 ? 0 : -ENOMEM;
}

/* Asks about each hunk of a text. Returns 1 if the user quits; 0 or -errno. */
static int ask_hunks(struct apply *apply, struct asked *asked)
{
	size_t count = git_patch_num_hunks(asked->patch), taken = 0;
	_cleanup_free_ bool *chosen = calloc(count + 1, sizeof *chosen);
	bool has_quit = false;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < count && !has_quit; i++) {
		enum answer answer = asked->is_all ? ANSWER_YES : ANSWER_NO;

		if (!asked->is_all && !asked->is_none) {
			show_asked(apply, asked, i == 0, true, i);
			answer = apply_hunks_ask(apply, asked->item, "this hunk");
		}
		has_quit = answer == ANSWER_QUIT;
		asked->is_all = asked->is_all || answer == ANSWER_ALL;
		asked->is_none = asked->is_none || answer == ANSWER_NONE;
		chosen[i] = answer == ANSWER_YES || answer == ANSWER_ALL;
		taken += chosen[i];
	}
	if (taken == 0) {
		asked->item->left = not_chosen;
	} else if (taken < count) {
		int r = put_together(asked, chosen, count);

		if (r < 0)
			return r;
		asked->item->new_mode = asked->item->old.mode; /* a mode is not part of a hunk */
	}
	return has_quit;
}

/*
 * Asks about an added or removed file, or one that is not a text, and shows its content if
 * possible.
 */
static int ask_whole(struct apply *apply, struct asked *asked)
{
	enum answer answer;

	show_asked(apply, asked, true, asked->patch && git_patch_num_hunks(asked->patch) > 0, 0);
	answer = apply_hunks_ask(apply, asked->item, "this change");
	if (answer != ANSWER_YES && answer != ANSWER_ALL)
		asked->item->left = not_chosen;
	return answer == ANSWER_QUIT;
}

static const char *reason_not_to_keep(const struct apply *apply, const struct item *item)
{
	uint64_t size = plan_has_content(item) ? item->change->new.size : 0;

	if (size > DIFF_SHOWN_MAX)
		return "is too large to be asked for";
	return size > KEPT_MAX - apply->kept_bytes
	               ? "exceeds the memory for chosen changes: run yett apply again for it"
	               : NULL;
}

/*
 * Keeps the content that was shown. Call it after the last question: it moves asked->new, which the
 * hunks point into.
 */
static void hunks_keep(struct apply *apply, struct asked *asked)
{
	struct item *item = asked->item;

	if (item->left)
		return;
	if (!item->content && asked->new) {
		item->content = steal_ptr(&asked->new);
		item->content_size = asked->new_size;
	}
	apply->kept_bytes += item->content_size;
}

static int ask_item(struct apply *apply, struct item *item)
{
	struct asked asked = {.item = item};
	int r;

	item->left = reason_not_to_keep(apply, item);
	if (item->left)
		return 0;
	r = hunks_load(apply, &asked);
	if (r == -EAGAIN) {
		item->left = "changes right now";
		r = 0;
	} else if (r == 0) {
		bool has_hunks = asked.patch && item->old.mode && item->new_mode &&
		                 git_patch_num_hunks(asked.patch) > 0;

		r = has_hunks ? ask_hunks(apply, &asked) : ask_whole(apply, &asked);
		hunks_keep(apply, &asked);
	}
	hunks_unload(&asked);
	return r;
}

/* Whether an item lies below: a directory is added or removed together with its contents. */
static bool has_below(const struct apply *apply, size_t i)
{
	const char *path = apply->items[i].path;
	size_t length = strlen(path);

	for (size_t j = i + 1;
	     j < apply->item_count && strncmp(apply->items[j].path, path, length) == 0; j++)
		if (apply->items[j].path[length] == '/')
			return true;
	return false;
}

/* Whether an item below is chosen; with `not`, whether one is not chosen. */
static bool is_chosen_below(const struct apply *apply, size_t i, bool not )
{
	const char *path = apply->items[i].path;
	size_t length = strlen(path);

	for (size_t j = i + 1;
	     j < apply->item_count && strncmp(apply->items[j].path, path, length) == 0; j++)
		if (apply->items[j].path[length] == '/' &&
		    (not ? hunks_is_not_chosen(&apply->items[j]) : !apply->items[j].left))
			return true;
	return false;
}

static bool goes_with_others(const struct apply *apply, size_t i)
{
	const struct item *item = &apply->items[i];

	return S_ISDIR(item->old.mode ? item->old.mode : item->new_mode) &&
	       (!item->old.mode || !item->new_mode) && has_below(apply, i);
}

int hunks_ask(struct apply *apply)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < apply->item_count; i++) {
		struct item *item = &apply->items[i];

		if (item->left || goes_with_others(apply, i))
			continue;
		if (r == 1)
			item->left = not_chosen;
		else
			r = ask_item(apply, item);
	}
	for (size_t i = apply->item_count; r >= 0 && i-- > 0;) {
		struct item *item = &apply->items[i];

		if (!item->left && goes_with_others(apply, i) &&
		    is_chosen_below(apply, i, !item->new_mode) == !item->new_mode)
			item->left = not_chosen;
	}
	plan_leave(apply->items, apply->item_count);
	return r < 0 ? r : 0;
}
