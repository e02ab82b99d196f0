/* SPDX-License-Identifier: Apache-2.0 */
/* See net_idn.h. */
#include "base/net_idn.h"
#include "base/escape.h"

#include <dlfcn.h>
#include <idn2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Loaded with dlopen(3): few names need the library, and loading it takes longer than making a
 * sandbox.
 */
#define LIBRARY "libidn2.so.0"

static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text > 0x7f)
			return false;
	return true;
}

static int net_idn_refuse(const char *text, const char *wrong, const char *why,
                          struct yett_error *error)
{
	(void)error_set(error, YETT_E_INVALID_REQUEST, 0, "'%s' %s%s", ESCAPE(text), wrong, why);
	error_mend(error, "write its name as xn--..., the form that DNS has of it");
	return YETT_E_INVALID_REQUEST;
}

/*
 * Converts `name`, the host name within the rule `text`, to its ASCII form. libidn2 allocates with
 * malloc(3), so the caller frees `*ret_name` with free(3).
 */
static int convert(const char *text, const char *name, char **ret_name, struct yett_error *error)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	int (*to_ascii)(const char *, char **, int) = NULL;
	const char *(*strerror_of)(int) = NULL;
	_cleanup_free_ char *found = NULL;
	int r;

	if (library) {
		*(void **)&to_ascii = dlsym(library, "idn2_to_ascii_8z");
		*(void **)&strerror_of = dlsym(library, "idn2_strerror");
	}
	if (!to_ascii || !strerror_of)
		return net_idn_refuse(text,
		                      "is not ASCII, and " LIBRARY " is not there to write it so",
		                      "", error);
	r = to_ascii(name, &found, IDN2_NONTRANSITIONAL);
	if (r == IDN2_MALLOC)
		return -ENOMEM;
	if (r != IDN2_OK)
		return net_idn_refuse(text, "is no name that DNS can have: ", strerror_of(r),
		                      error);
	/*
	 * UTS 46 maps some characters to ASCII punctuation, which net_rule_parse() would take for
	 * the start of a port or a network.
	 */
	if (found[strspn(found, in_names)])
		return net_idn_refuse(text, "has a character that names of hosts do not have", "",
		                      error);
	*ret_name = steal_ptr(&found);
	return 0;
}

int net_idn_rule(const char *text, char **ret_text, struct yett_error *error)
{
	size_t before = strspn(text, "*."), length = strcspn(text + before, ":@/");
	_cleanup_free_ char *name = strndup(text + before, length), *ascii = NULL;
	int r;

	if (!name)
		return -ENOMEM;
	if (is_ascii(name)) {
		*ret_text = strdup(text);
		return *ret_text ? 0 : -ENOMEM;
	}
	r = convert(text, name, &ascii, error);
	if (r != 0)
		return r;
	return asprintf(ret_text, "%.*s%s%s", (int)before, text, ascii, text + before + length) < 0
	               ? -ENOMEM
	               : 0;
}
