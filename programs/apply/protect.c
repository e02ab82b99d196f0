/* See protect.h. */
#include "programs/apply/protect.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"

const char *const *protect_own;

#define NAME_SIZE 1024 /* of a name of 255 bytes; three characters come of one at most */

/* What folds to ASCII, besides A to Z. Unicode's CaseFolding.txt */
static const struct {
	uint32_t point;
	const char *folded;
} folds[] = {
	{0xdf, "ss"},   {0x17f, "s"},    {0x1e9e, "ss"},  {0x212a, "k"},  {0xfb00, "ff"}, {0xfb01, "fi"},
	{0xfb02, "fl"}, {0xfb03, "ffi"}, {0xfb04, "ffl"}, {0xfb05, "st"}, {0xfb06, "st"},
};

/* What does not show, and is passed over where names are folded. Unicode's Default_Ignorable_Code_Point */
static const struct {
	uint32_t first, last;
} ignored[] = {
	{0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
	{0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
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

/* A name as a file system that folds names may have it. What NTFS cuts off goes: a stream, and dots and spaces at the end. */
static void fold(const char *name, size_t length, char folded[static NAME_SIZE])
{
	size_t used = 0;

	for (size_t at = 0, n; at < length && used + 8 < NAME_SIZE; at += n) {
		uint32_t point;
		const char *other;

		n = json_utf8_next(name + at, length - at, &point);
		if (n == 0) {
			folded[used++] = name[at];
			n = 1;
			continue;
		}
		other = find_fold(point);
		if (other)
			used += strlen(strcpy(folded + used, other));
		else if (n == 1)
			folded[used++] = (char)(point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point);
		else if (!is_ignored(point))
			for (size_t i = 0; i < n; i++)
				folded[used++] = name[at + i];
	}
	folded[used] = '\0';
	folded[strcspn(folded, ":")] = '\0';
	used = strlen(folded);
	while (used > 0 && (folded[used - 1] == '.' || folded[used - 1] == ' '))
		folded[--used] = '\0';
}

/* Whether it may be the short name of NTFS for this one: git~1, and what the first two letters and four digits may be, gi7eba~1. */
static bool is_short_name(const char *folded, const char *name)
{
	const char *tilde = strchr(folded, '~');
	size_t length = tilde ? (size_t)(tilde - folded) : 0, same = 0;

	name += *name == '.';
	if (length == 0 || length > 6 || tilde[1] < '1' || tilde[1] > '9')
		return false;
	while (same < length && name[same] && name[same] != '.' && folded[same] == name[same])
		same++;
	if (same == length)
		return length == 6 || name[same] == '\0' || name[same] == '.';
	return length == 6 && same >= 2 && strspn(folded + 2, "0123456789abcdef") == 4;
}

/* Most are not, by their first letter: of short names alone that may be another one. What is in the tables is ASCII. */
static bool may_be_name(const char *folded, const char *part)
{
	char first = (char)(*part >= 'A' && *part <= 'Z' ? *part + ('a' - 'A') : *part);

	return first == '*' || first == *folded || strchr(folded, '~');
}

/* One part of an entry of the tables with one folded name. */
static bool is_name(const char *folded, const char *part, size_t length)
{
	char name[NAME_SIZE], plain[NAME_SIZE];
	size_t size;

	if (!may_be_name(folded, part))
		return false;
	(void)snprintf(plain, sizeof plain, "%.*s", (int)length, part);
	fold(plain, length, name);
	size = strlen(name);
	if (part[0] == '*')
		return strlen(folded) >= size - 1 && strcmp(folded + strlen(folded) - (size - 1), name + 1) == 0;
	if (size > 0 && name[size - 1] == '*') {
		name[size - 1] = '\0';
		return strncmp(folded, name, size - 1) == 0 || is_short_name(folded, name);
	}
	return strcmp(folded, name) == 0 || is_short_name(folded, name);
}

/* The length of the first name of a path. A backslash parts names as well: it does where NTFS is. */
static size_t next_name(const char *path)
{
	return strcspn(path, "/\\");
}

/* Whether the path begins with what an entry says; its first name is given folded. */
static bool begins_with_folded(const char *path, const char *first, const char *entry)
{
	char folded[NAME_SIZE];

	for (;;) {
		size_t of_path = next_name(path), of_entry = strcspn(entry, "/");

		if (!is_name(first, entry, of_entry))
			return false;
		if (!entry[of_entry])
			return true;
		if (!path[of_path])
			return false;
		path += of_path + 1;
		entry += of_entry + 1;
		fold(path, next_name(path), folded);
		first = folded;
	}
}

static bool begins_with(const char *path, const char *entry)
{
	char first[NAME_SIZE];

	fold(path, next_name(path), first);
	return begins_with_folded(path, first, entry);
}

static bool begins_with_one(const char *path, const char *const *entries)
{
	char first[NAME_SIZE];

	fold(path, next_name(path), first);
	for (; *entries; entries++)
		if (begins_with_folded(path, first, *entries))
			return true;
	return false;
}

/* Whether it is the first name of an entry that has more: what is no directory there leads to others, which nobody has looked at. */
static bool is_way_to_one(const char *path, const char *const *entries)
{
	char folded[NAME_SIZE];

	fold(path, next_name(path), folded);
	for (; *entries; entries++) {
		size_t length = strcspn(*entries, "/");

		if ((*entries)[length] && is_name(folded, *entries, length))
			return true;
	}
	return false;
}

/* What makes a repository of the directory that it comes to, or is obeyed in one; objects and refs only themselves. */
static bool is_of_repository(const char *path, bool is_last)
{
	return begins_with(path, "HEAD") || begins_with_one(path, protect_in_repository) ||
	       (is_last && (begins_with(path, "objects") || begins_with(path, "refs")));
}

bool protect(const char *path, bool is_directory, size_t *clean, protect_is_repository is_repository, void *context)
{
	char directory[4097];

	for (const char *at = path + *clean; *at;) {
		size_t length = next_name(at);
		bool is_last = !at[length], is_dot_git = begins_with(at, ".git");

		*clean = (size_t)(at - path);
		if (begins_with_one(at, protect_names) || (protect_own && begins_with_one(at, protect_own)))
			return true;
		if (is_last && !is_directory && (is_way_to_one(at, protect_names) || (protect_own && is_way_to_one(at, protect_own))))
			return true;
		/* a file or link of that name says where the repository is */
		if (is_dot_git && (is_last ? !is_directory : begins_with_one(at + length + 1, protect_in_repository)))
			return true;
		(void)snprintf(directory, sizeof directory, "%.*s", (int)(at == path ? 0 : at - path - 1), path);
		if (is_of_repository(at, is_last) && is_repository(context, directory) &&
		    !(at > path && begins_with(strrchr(directory, '/') ? strrchr(directory, '/') + 1 : directory, ".git")))
			return true;
		if (is_last)
			return false;
		at += length + 1;
	}
	return false;
}
