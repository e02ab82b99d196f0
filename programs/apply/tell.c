/* See apply.h. */
#include "programs/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"

const char *tell_name(const struct item *item)
{
	return !item->old.mode ? "added" : !item->new_mode ? "removed" : item->same_content ? "mode" : "changed";
}

static void put_text(struct apply *apply, const struct item *item)
{
	(void)fprintf(apply->diff.out, "%-8s ", tell_name(item));
	quote_path(apply->diff.out, "", item->path);
	(void)fputs(S_ISDIR(item->new_mode ? item->new_mode : item->old.mode) ? "/\n" : "\n", apply->diff.out);
}

static void put_left(struct json *json, const struct item *item)
{
	json_open(json, NULL, '{');
	json_bytes(json, "path", item->path, strlen(item->path));
	json_text(json, "reason", item->left);
	json_bool(json, "conflict", item->is_conflict);
	json_bool(json, "protected", item->is_protected);
	json_close(json);
}

static void put_json(struct apply *apply, bool is_done)
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
		json_text(&json, "change", tell_name(item));
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

static void note_left(struct apply *apply, bool is_conflict)
{
	for (size_t i = 0; i < apply->item_count; i++) {
		const struct item *item = &apply->items[i];

		if (item->left && item->is_conflict == is_conflict && !hunks_is_not_chosen(item))
			note(&apply->diff, item->path, item->left);
	}
}

void tell(struct apply *apply, bool is_done)
{
	if (apply->is_json) {
		put_json(apply, is_done);
	} else {
		for (size_t i = 0; is_done && i < apply->item_count; i++)
			if (!apply->items[i].left)
				put_text(apply, &apply->items[i]);
	}
	note_left(apply, true); /* of many only the first are shown */
	note_left(apply, false);
	(void)fflush(apply->diff.out);
}

/* By the kernel: only it has the names that led to a descriptor. proc_pid_fd(5) */
void tell_directory(FILE *to, int fd)
{
	char name[32], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	n = readlinkat(AT_FDCWD, name, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	quote_path(to, "", path);
}

void tell_resumed(struct apply *apply, const char *what)
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
