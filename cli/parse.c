/* See parse.h. */
#include "cli/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/net_idn.h"
#include "base/net_rule_parse.h"

#define DURATION_MAX_MS (30ULL * 24 * 3600 * 1000)

/* Digits, and thousandths behind a point. Numbers that no unit makes sensible are -ERANGE. */
static int parse_thousandths(const char **at, uint64_t *ret_thousandths)
{
	uint64_t number = 0, digit = 100;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(**at - '0'), &number))
			return -ERANGE;
	if (__builtin_mul_overflow(number, (uint64_t)1000, &number))
		return -ERANGE;
	if (**at == '.') {
		if ((*at)[1] < '0' || (*at)[1] > '9')
			return -EINVAL;
		for (++*at; **at >= '0' && **at <= '9'; ++*at, digit /= 10)
			number += digit * (uint64_t)(**at - '0');
	}
	*ret_thousandths = number;
	return 0;
}

/* Times `unit`, of which `thousandths` are given. */
static int add_units(uint64_t *sum, uint64_t thousandths, uint64_t unit)
{
	uint64_t whole;

	if (__builtin_mul_overflow(thousandths / 1000, unit, &whole) || __builtin_add_overflow(*sum, whole, sum) ||
	    __builtin_add_overflow(*sum, thousandths % 1000 * unit / 1000, sum))
		return -ERANGE;
	return 0;
}

static int parse_time_unit(const char **at, uint64_t *ret_ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].unit) == length && strncmp(*at, units[i].unit, length) == 0) {
			*at += length;
			*ret_ms = units[i].ms;
			return 0;
		}
	return -EINVAL;
}

int parse_duration(const char *text, uint64_t *ret_ms)
{
	uint64_t sum = 0, thousandths, unit = 1000;
	const char *at = text;

	do {
		bool is_alone = at == text;
		int r = parse_thousandths(&at, &thousandths);

		/* a number alone is seconds, as for timeout(1) */
		if (r == 0 && (*at || !is_alone))
			r = parse_time_unit(&at, &unit);
		if (r == 0)
			r = add_units(&sum, thousandths, unit);
		if (r < 0)
			return r;
	} while (*at);
	if (sum == 0 || sum > DURATION_MAX_MS)
		return -ERANGE;
	*ret_ms = sum;
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "KMGT";
	uint64_t bytes = 0, thousandths, unit = 1;
	const char *at = text, *letter;
	int r = parse_thousandths(&at, &thousandths);

	if (r < 0)
		return r;
	letter = *at ? strchr(letters, toupper((unsigned char)*at)) : NULL;
	if (letter) {
		unit = (uint64_t)1 << (10 * (letter - letters + 1));
		at++;
		at += *at == 'i';
	}
	at += *at == 'B' || *at == 'b';
	if (*at || (unit == 1 && thousandths % 1000))
		return -EINVAL;
	r = add_units(&bytes, thousandths, unit);
	if (r == 0)
		*ret_bytes = bytes;
	return r;
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

int parse_cow(const char *directory, const char *text, char **ret_path, char **ret_target, uint64_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	bool has_size = colon && strncmp(colon, ":memory=", strlen(":memory=")) == 0;
	_cleanup_free_ char *share = has_size ? strndup(text, (size_t)(colon - text)) : strdup(text);
	int r = has_size ? parse_size(colon + strlen(":memory="), ret_bytes) : 0;

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
		r = parse_size(colon + 1, &bytes);
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
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "no memory for %s", option);
	if (r == 0) {
		*ret_text = steal_ptr(&canonical);
		return 0;
	}
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s %s", option, why.message);
	error_mend(error, "%s", why.mend);
	return r;
}
