/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for paths and names that can be checked without the host. Declared in policy.h.
 *
 * Pure; no privilege. programs/decide/policy/target.c has the rules that root does not need.
 */
#include "helper/policy/policy.h"
#include "base/escape.h"

#define PATH_LENGTH_MAX 4095
#define COMPONENT_MAX   255

bool policy_path_is_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 1)
		return true; /* "/" */
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '/' || path[length] == '\0');
}

bool policy_path_has_programs(const char *path)
{
	static const char *const places[] = {"/usr",   "/bin",   "/sbin",  "/lib",
	                                     "/lib32", "/lib64", "/libx32"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (policy_path_is_in(path, places[i]))
			return true;
	return false;
}

const char *policy_path_problem(const char *path)
{
	if (path[0] != '/')
		return "is not an absolute path";
	if (strlen(path) > PATH_LENGTH_MAX)
		return "is too long";
	if (path[1] == '\0')
		return "is the root itself";
	for (const char *at = path; *at;) {
		size_t length = strcspn(++at, "/");

		if (length == 0)
			return "has an empty component (// or a / at its end)";
		if (at[0] == '.' && (length == 1 || (length == 2 && at[1] == '.')))
			return "has a component . or ..";
		if (length > COMPONENT_MAX)
			return "has a component that is too long";
		at += length;
	}
	for (const char *at = path; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return "holds a control character";
	return NULL;
}

const char *policy_label_problem(const char *name)
{
	size_t length = strlen(name);

	/*
	 * Refuse characters that have a meaning to the kernel: a blank, a stack of profiles (//&),
	 * a namespace (:NAME:).
	 */
	if (length > POLICY_LABEL_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
	            length)
		return "is not the name of an AppArmor profile or SELinux type (letters, digits, . _ and -, at most 100)";
	return NULL;
}

int policy_refuse(struct policy_place place, const char *text, const char *problem,
                  struct yett_error *error)
{
	return error_set(error, YETT_E_INVALID_REQUEST, 0, "%s:%u: '%s' %s", place.file, place.line,
	                 ESCAPE(text), problem);
}
