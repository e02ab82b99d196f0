/* SPDX-License-Identifier: Apache-2.0 */
/* See parse.h. */
#include "cli/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/net_idn.h"
#include "base/net_rule_parse.h"
#include "base/units_parse.h"

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
		/* kept as written; the helper reports what is wrong with it */
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

int parse_cow(const char *directory, const char *text, char **ret_path, char **ret_target,
              uint64_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	bool has_size = colon && strncmp(colon, ":memory=", strlen(":memory=")) == 0;
	_cleanup_free_ char *share =
		has_size ? strndup(text, (size_t)(colon - text)) : strdup(text);
	int r = has_size ? units_parse_size(colon + strlen(":memory="), ret_bytes) : 0;

	if (!share || r < 0)
		return r < 0 ? r : -ENOMEM;
	if (has_size && *ret_bytes == 0)
		return -EINVAL;
	if (!has_size)
		*ret_bytes = 0;
	return parse_share(directory, share, ret_path, ret_target);
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

int parse_rule(const char *option, const char *text, char **ret_text, struct yett_error *error)
{
	_cleanup_free_ char *canonical = NULL;
	struct yett_error why = {0};
	struct net_rule rule;
	int r = net_idn_rule(text, &canonical, &why);

	if (r == 0)
		r = net_rule_parse(canonical, &rule, &why);
	if (r < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "no memory for %s",
		                 option);
	if (r == 0) {
		*ret_text = steal_ptr(&canonical);
		return 0;
	}
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s %s", option, why.message);
	error_mend(error, "%s", why.mend);
	return r;
}
