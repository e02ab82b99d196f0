/* See parse.h. */
#include "cli/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define DURATION_MAX_MS (30ULL * 24 * 3600 * 1000)

int parse_duration(const char *text, uint64_t *ret_ms)
{
	uint64_t ms;
	int r = units_parse_duration(text, &ms);

	if (r < 0)
		return r;
	if (ms == 0 || ms > DURATION_MAX_MS)
		return -ERANGE;
	*ret_ms = ms;
	return 0;
}

int parse_path(const char *directory, const char *path, char **ret_path)
{
	_cleanup_free_ char *joined = NULL, *out = NULL;
	size_t used = 0;

	if (!*path)
		return -EINVAL;
	if (asprintf(&joined, "%s/%s", *path == '/' ? "" : directory, path) < 0) {
		joined = NULL;
		return -ENOMEM;
	}
	out = malloc(strlen(joined) + 2);
	if (!out)
		return -ENOMEM;
	for (const char *at = joined; *at;) {
		size_t length = strcspn(at, "/");

		if (length == 2 && at[0] == '.' && at[1] == '.') {
			while (used > 0 && out[--used] != '/')
				;
		} else if (length > 0 && !(length == 1 && at[0] == '.')) {
			out[used++] = '/';
			memcpy(out + used, at, length);
			used += length;
		}
		at += length + (at[length] == '/');
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	*ret_path = steal_ptr(&out);
	return 0;
}

int parse_share(const char *directory, const char *text, char **ret_path, char **ret_target)
{
	const char *split = NULL;
	_cleanup_free_ char *path = NULL, *target = NULL;
	int r;

	for (const char *at = text; (at = strstr(at, ":/")); at++)
		split = at;
	path = split ? strndup(text, (size_t)(split - text)) : strdup(text);
	if (!path)
		return -ENOMEM;
	if (!*path)
		return -EINVAL;
	if (split) {
		/* as it was written: what is wrong about it is for the helper to say */
		target = strdup(split + 1);
		r = target ? 0 : -ENOMEM;
	} else {
		r = parse_path(directory, path, &target);
	}
	if (r < 0)
		return r;
	*ret_path = steal_ptr(&path);
	*ret_target = steal_ptr(&target);
	return 0;
}

int parse_tmpfs(const char *text, char **ret_target, uint64_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	uint64_t bytes = 0;
	char *target;
	int r;

	if (text[0] != '/')
		return -EINVAL;
	if (colon) {
		r = units_parse_size(colon + 1, &bytes);
		if (r < 0)
			return r;
		if (bytes == 0)
			return -ERANGE;
	}
	target = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
	if (!target)
		return -ENOMEM;
	*ret_target = target;
	*ret_bytes = bytes;
	return 0;
}
