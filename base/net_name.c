/* SPDX-License-Identifier: Apache-2.0 */
/* See net_name.h. No privilege, no allocation, no locale. */
#include "base/net_name.h"

#include <string.h>

static const struct net_name_problem
	empty = {"is empty", "write the name of a host, like api.example.org"},
	empty_label = {"has an empty label",
                       "write one dot between labels, and none before the first"},
	long_label = {"has a label of more than 63 characters",
                      "DNS has no such names: look for what was pasted"},
	long_name = {"is longer than 253 characters",
                     "DNS has no such names: look for what was pasted"},
	hyphen = {"has a label that begins or ends with a hyphen",
                  "write a hyphen only inside a label"},
	not_ascii = {"has a letter outside ASCII",
                     "write it as xn--..., the form that DNS has of it"},
	character = {"has a character that names of hosts do not have",
                     "write letters, digits, hyphens and dots"},
	underscore = {"has an underscore in its last label",
                      "write underscores only in labels before the last"},
	number = {"is no name, since its last label is a number",
                  "write an address as four decimal numbers without leading zeros, like 10.1.2.3"},
	reserved = {"is reserved for credentials that Yett will add by itself",
                    "use a name not in " NET_NAME_OF_US};

static char net_name_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool net_name_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_of_names(char c)
{
	return (c >= 'a' && c <= 'z') || net_name_is_digit(c) || c == '-' || c == '_';
}

static const struct net_name_problem *label_problem(const char *label, size_t length)
{
	if (length == 0)
		return &empty_label;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)label[i] > 0x7f)
			return &not_ascii;
		if (!is_of_names(net_name_lower(label[i])))
			return &character;
	}
	if (length > NET_LABEL_MAX)
		return &long_label;
	return label[0] == '-' || label[length - 1] == '-' ? &hyphen : NULL;
}

/*
 * Whether inet_aton(3) or a browser could parse the label as the last number of an IPv4 address:
 * digits only, or "0x" followed by anything.
 */
static bool net_name_is_number(const char *label)
{
	size_t digits = 0;

	while (net_name_is_digit(label[digits]))
		digits++;
	return label[digits] == '\0' || strncmp(label, "0x", 2) == 0;
}

static const struct net_name_problem *name_problem(const char *name)
{
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;

	if (net_name_is_number(last))
		return &number;
	if (strchr(last, '_'))
		return &underscore;
	return strcmp(name, NET_NAME_OF_US) == 0 || net_name_is_below(name, NET_NAME_OF_US)
	               ? &reserved
	               : NULL;
}

/* Checks a name that has no final dot. Accepts upper and lower case. */
static const struct net_name_problem *labels_problem(const char *text, size_t length)
{
	const struct net_name_problem *problem = NULL;

	if (length == 0)
		return &empty;
	for (size_t at = 0, end; !problem && at <= length; at = end + 1) {
		const char *dot = memchr(text + at, '.', length - at);

		end = dot ? (size_t)(dot - text) : length;
		problem = label_problem(text + at, end - at);
	}
	return !problem && length >= NET_NAME_SIZE ? &long_name : problem;
}

const struct net_name_problem *net_name_canonical(const char *text, size_t length,
                                                  char ret_name[NET_NAME_SIZE])
{
	char name[NET_NAME_SIZE] = {0};
	const struct net_name_problem *problem;

	if (length > 1 && text[length - 1] == '.')
		length--;
	problem = labels_problem(text, length);
	if (problem)
		return problem;
	for (size_t i = 0; i < length; i++)
		name[i] = net_name_lower(text[i]);
	problem = name_problem(name);
	if (!problem)
		memcpy(ret_name, name, sizeof name);
	return problem;
}

bool net_name_is_canonical(const char *name)
{
	if (labels_problem(name, strlen(name)) || name_problem(name))
		return false;
	while (*name && net_name_lower(*name) == *name)
		name++;
	return !*name;
}

bool net_name_is_below(const char *name, const char *above)
{
	size_t length = strlen(name), tail = strlen(above);

	return length > tail + 1 && name[length - tail - 1] == '.' &&
	       strcmp(name + length - tail, above) == 0;
}

const char *net_name_parent(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : NULL;
}
