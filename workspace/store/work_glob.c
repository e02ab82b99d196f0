/* SPDX-License-Identifier: Apache-2.0 */
/* See work_glob.h. */
#include "workspace/store/work_glob.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "base/escape.h"

#define MAGIC "*?[\\"

static bool is_any(const char *part, size_t length)
{
	return length == 2 && part[0] == '*' && part[1] == '*';
}

/* Whether the path stays below the top: relative, without empty components, "." and "..". */
static bool work_glob_is_sound(const char *text)
{
	if (!*text || *text == '/' || strlen(text) >= PATH_MAX)
		return false;
	for (size_t length; *text; text += length + (text[length] == '/')) {
		length = strcspn(text, "/");
		if (length == 0 || length > NAME_MAX ||
		    (text[0] == '.' && (length == 1 || (length == 2 && text[1] == '.'))))
			return false;
	}
	return true;
}

static int work_glob_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "no memory for what is to be hidden");
}

static int read_glob(const char *option, const char *given, struct work_glob *ret_glob,
                     struct yett_error *error)
{
	const char *text = strncmp(given, "./", 2) == 0 ? given + 2 : given;
	char *own;

	if (!work_glob_is_sound(text)) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"%s %s: expected a name, or a path below the directory that is shared, without . and ..",
			option, ESCAPE(given));
		error_mend(
			error,
			"names are found wherever they are, ./NAME only at the top; *, ? and [ ] match in a name, ** any directories");
		return YETT_E_INVALID_REQUEST;
	}
	own = strdup(text);
	if (!own)
		return work_glob_no_memory(error);
	own[strlen(own) - (own[strlen(own) - 1] == '/')] = '\0';
	*ret_glob = (struct work_glob){.text = own,
	                               .is_name = text == given && !strchr(own, '/'),
	                               .is_literal = !strpbrk(own, MAGIC)};
	return 0;
}

/* Puts literal names first, in order: work_globs_match() finds these with bsearch(3). */
static int work_glob_compare(const void *a, const void *b)
{
	const struct work_glob *x = a, *y = b;
	bool x_first = x->is_name && x->is_literal, y_first = y->is_name && y->is_literal;

	return x_first != y_first ? (x_first ? -1 : 1) : strcmp(x->text, y->text);
}

int work_globs_read(const char *option, const char *const *texts, struct work_globs *ret_globs,
                    struct yett_error *error)
{
	size_t count = 0;
	int r = 0;

	*ret_globs = (struct work_globs){0};
	while (texts && texts[count])
		count++;
	if (count > WORK_GLOBS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "more than %d of %s", WORK_GLOBS_MAX, option);
	ret_globs->globs = calloc(count + 1, sizeof *ret_globs->globs);
	if (!ret_globs->globs)
		return work_glob_no_memory(error);
	for (; r == 0 && ret_globs->count < count; ret_globs->count++) {
		struct work_glob *glob = &ret_globs->globs[ret_globs->count];

		r = read_glob(option, texts[ret_globs->count], glob, error);
		ret_globs->names_count += r == 0 && glob->is_name && glob->is_literal;
	}
	if (r == 0)
		qsort(ret_globs->globs, count, sizeof *ret_globs->globs, work_glob_compare);
	return r;
}

/* Matches one component of a path. fnmatch(3) needs terminated strings, hence the copies. */
static bool match_part(const char *glob, size_t glob_length, const char *part, size_t length)
{
	char pattern[NAME_MAX + 1], name[NAME_MAX + 1];

	if (glob_length > NAME_MAX || length > NAME_MAX)
		return false;
	memcpy(pattern, glob, glob_length);
	memcpy(name, part, length);
	pattern[glob_length] = name[length] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

static const char *work_glob_next_part(const char *at)
{
	size_t length = strcspn(at, "/");

	return at + length + (at[length] == '/');
}

/* Goes back only to the last "**": a later "**" can match whatever an earlier one can. */
static bool work_glob_match_path(const char *glob, const char *path)
{
	const char *again_glob = NULL, *again_path = NULL;

	while (*path) {
		size_t length = strcspn(glob, "/");

		if (is_any(glob, length) && !glob[length])
			return true; /* a final "**" matches everything below */
		if (is_any(glob, length)) {
			again_glob = glob = work_glob_next_part(glob);
			again_path = path;
		} else if (*glob && match_part(glob, length, path, strcspn(path, "/"))) {
			glob = work_glob_next_part(glob);
			path = work_glob_next_part(path);
		} else if (again_glob) {
			glob = again_glob;
			path = again_path = work_glob_next_part(again_path);
		} else {
			return false;
		}
	}
	return !*glob;
}

bool work_globs_match(const struct work_globs *globs, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const struct work_glob wanted = {.text = (char *)name, .is_name = true, .is_literal = true};

	if (bsearch(&wanted, globs->globs, globs->names_count, sizeof wanted, work_glob_compare))
		return true;
	for (size_t i = globs->names_count; i < globs->count; i++) {
		const struct work_glob *glob = &globs->globs[i];

		if (glob->is_name ? fnmatch(glob->text, name, 0) == 0
		                  : work_glob_match_path(glob->text, path))
			return true;
	}
	return false;
}

void work_globs_free(struct work_globs *globs)
{
	for (size_t i = 0; globs->globs && i < globs->count; i++)
		free(globs->globs[i].text);
	free(globs->globs);
	globs->globs = NULL;
}
