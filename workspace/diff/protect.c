/* SPDX-License-Identifier: Apache-2.0 */
/* See protect.h. */
#include "workspace/diff/protect.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"

const char *const *protect_own;

int protect_take(int argc, char **argv, int first)
{
	int end = first;

	while (end < argc && *argv[end])
		end++;
	if (end >= argc)
		return 0;
	argv[end] = NULL;
	protect_own = (const char *const *)argv + first;
	return end + 1;
}

#define NAME_SIZE 1024 /* for 255 bytes: a character of two or more folds to at most three */

/* Characters that fold to ASCII, other than A to Z. Unicode's CaseFolding.txt */
static const struct {
	uint32_t point;
	const char *folded;
} folds[] = {
	{0xdf, "ss"},    {0x17f, "s"},   {0x1e9e, "ss"}, {0x212a, "k"},
	{0xfb00, "ff"},  {0xfb01, "fi"}, {0xfb02, "fl"}, {0xfb03, "ffi"},
	{0xfb04, "ffl"}, {0xfb05, "st"}, {0xfb06, "st"},
};

/*
 * Invisible characters, which file systems ignore when they fold names. Unicode's
 * Default_Ignorable_Code_Point
 */
static const struct {
	uint32_t first, last;
} ignored[] = {
	{0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
	{0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},   {0x202a, 0x202e},
	{0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
};

static bool is_ignored(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (point >= ignored[i].first && point <= ignored[i].last)
			return true;
	return false;
}

static const char *find_fold(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_SIZE(folds); i++)
		if (folds[i].point == point)
			return folds[i].folded;
	return NULL;
}

/*
 * A name as a file system that folds names may have it. The text still has what NTFS cuts off: a
 * stream's name, and dots and spaces at the end.
 */
struct folded {
	char text[NAME_SIZE];
	size_t whole, cut; /* length before and after NTFS cuts */
	bool is_short;     /* may be the short name that NTFS gives another: git~1, or gi7eba~1 */
};

/*
 * Returns the length of the first name of a path. A backslash ends a name too, as it does on NTFS.
 */
static size_t protect_next_name(const char *path)
{
	return strcspn(path, "/\\");
}

static char fold_letter(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/*
 * Whether it has the form of NTFS's short names: at most six letters, a tilde and a number, perhaps
 * with an extension.
 */
static bool is_short_name(const char *text)
{
	size_t tilde = strcspn(text, "~"),
	       digits = text[tilde] ? strspn(text + tilde + 1, "0123456789") : 0;
	char end = digits ? text[tilde + 1 + digits] : 'x';

	return tilde > 0 && tilde <= 6 && (!end || end == '.' || end == ' ' || end == ':');
}

static void fold(const char *path, struct folded *ret)
{
	size_t length = protect_next_name(path), used = 0;

	for (size_t at = 0, n; at < length && used + 8 < NAME_SIZE; at += n) {
		uint32_t point;
		const char *other;

		n = json_utf8_next(path + at, length - at, &point);
		if (n <= 1) {
			n = 1;
			ret->text[used++] = fold_letter(path[at]);
			continue;
		}
		other = find_fold(point);
		if (other)
			used += strlen(strcpy(ret->text + used, other));
		else if (!is_ignored(point))
			for (size_t i = 0; i < n; i++)
				ret->text[used++] = path[at + i];
	}
	ret->text[used] = '\0';
	ret->whole = used;
	ret->cut = strcspn(ret->text, ":");
	while (ret->cut > 0 && (ret->text[ret->cut - 1] == '.' || ret->text[ret->cut - 1] == ' '))
		ret->cut--;
	ret->is_short = is_short_name(ret->text);
}

/* Whether a folded text begins with `part`, which is ASCII, in any case. */
static bool protect_is_same(const char *folded, const char *part, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (folded[i] != fold_letter(part[i])) /* also ends at the NUL */
			return false;
	return true;
}

static bool has_inside(const struct folded *folded, const char *part, size_t length)
{
	for (size_t at = 0; at + length <= folded->whole; at++)
		if (protect_is_same(folded->text + at, part, length))
			return true;
	return false;
}

/* Compares one name of a path with one name of an entry. */
static bool protect_is_name(const struct folded *folded, const char *part, size_t length)
{
	bool is_open = length > 0 && part[length - 1] == '*';
	size_t rest = length - 1;

	if (*part == '*' && length > 1 && is_open)
		return has_inside(folded, part + 1, length - 2);
	if (*part == '*')
		return (folded->whole >= rest &&
		        protect_is_same(folded->text + folded->whole - rest, part + 1, rest)) ||
		       (folded->cut >= rest &&
		        protect_is_same(folded->text + folded->cut - rest, part + 1, rest));
	if (is_open)
		return protect_is_same(folded->text, part, rest);
	return (folded->whole == length || folded->cut == length) &&
	       protect_is_same(folded->text, part, length);
}

/*
 * Whether the path begins with the names of an entry; `first` is the path's first name, folded. If
 * the path ends before the entry and is not a directory, that is a match too: the path may be a
 * link to a directory with the protected name, which nobody has examined.
 */
static bool begins_with(const char *path, const struct folded *first, bool is_directory,
                        const char *entry)
{
	struct folded other;

	for (const struct folded *folded = first;; folded = &other) {
		size_t of_path, of_entry = strcspn(entry, "/");

		if (!protect_is_name(folded, entry, of_entry))
			return false;
		if (!entry[of_entry])
			return true;
		of_path = protect_next_name(path);
		if (!path[of_path])
			return !is_directory;
		path += of_path + 1;
		entry += of_entry + 1;
		fold(path, &other);
	}
}

static bool begins_with_one(const char *path, const struct folded *first, bool is_directory,
                            const char *const *entries)
{
	for (; *entries; entries++) {
		/* The first letter rules out most entries. */
		if (**entries != '*' && fold_letter(**entries) != *first->text)
			continue;
		if (begins_with(path, first, is_directory, *entries))
			return true;
	}
	return false;
}

static const char *why_unlisted(const char *path, const struct folded *first, bool is_file)
{
	if (first->is_short)
		return PROTECT_WHY_SHORT; /* possibly for a listed name */
	if (*first->text != '.')
		return NULL;
	for (size_t i = 0; is_file && protect_harmless[i]; i++)
		if (strcmp(path, protect_harmless[i]) == 0)
			return NULL;
	return PROTECT_WHY_DOT;
}

/* Finds the reason by the path's first name, and those after it. */
static const char *why_by_name(const char *path, const struct folded *first, bool is_top,
                               bool is_directory)
{
	bool is_file = !is_directory && !path[protect_next_name(path)];

	if (protect_own && begins_with_one(path, first, is_directory, protect_own))
		return PROTECT_WHY_LISTED;
	for (const struct protect_class *class = protect_classes; class->why; class ++)
		if ((is_top || class->where != PROTECT_AT_TOP) &&
		    (is_file || class->where != PROTECT_FILES) &&
		    begins_with_one(path, first, is_directory, class->names))
			return class->why;
	return why_unlisted(path, first, is_file);
}

/*
 * Whether the name makes its directory a repository, or is obeyed in one. objects and refs count
 * only themselves, not what is in them.
 */
static bool is_of_repository(const char *path, const struct folded *first)
{
	static const char *const makes[] = {"objects", "refs", NULL};
	bool is_last = !path[protect_next_name(path)];

	return begins_with(path, first, true, "HEAD") ||
	       begins_with_one(path, first, true, protect_in_repository) ||
	       (is_last && begins_with_one(path, first, true, makes));
}

size_t protect_find_git(const char *path)
{
	struct folded folded;

	for (const char *at = path; *at; at += *at != '\0') {
		fold(at, &folded);
		at += protect_next_name(at);
		if (protect_is_name(&folded, ".git", 4) ||
		    (folded.is_short && folded.text[0] == 'g' && folded.text[1] == 'i'))
			return (size_t)(at - path);
	}
	return 0;
}

unsigned protect_names_before(void)
{
	unsigned most = 0;

	for (const char *const *entry = protect_own; entry && *entry; entry++) {
		unsigned slashes = 0;

		for (const char *at = *entry; *at; at++)
			slashes += *at == '/';
		most = slashes > most ? slashes : most;
	}
	return most;
}

const char *protect(const char *path, bool is_directory, size_t *clean,
                    protect_is_repository is_repository, void *context)
{
	char directory[4097];

	for (const char *at = path + *clean; *at;) {
		size_t length = protect_next_name(at);
		bool is_last = !at[length];
		struct folded first;
		const char *why;

		fold(at, &first);
		why = why_by_name(at, &first, at == path, is_directory);
		*clean = (size_t)(at - path);
		if (why)
			return why;
		if (is_of_repository(at, &first)) {
			(void)snprintf(directory, sizeof directory, "%.*s",
			               (int)(at == path ? 0 : at - path - 1), path);
			if (is_repository(context, directory))
				return PROTECT_WHY_GIT;
		}
		if (is_last)
			return NULL;
		at += length + 1;
	}
	return NULL;
}
