/* SPDX-License-Identifier: Apache-2.0 */
/* See own_place.h. */
#include "base/own_place.h"

#include "base/fd.h"

#include <string.h>

/* System directories: everything below them belongs to the system, too. */
static const char *const system_trees[] = {"/bin",   "/boot",  "/dev",    "/etc",  "/lib",
                                           "/lib32", "/lib64", "/libx32", "/proc", "/run",
                                           "/sbin",  "/sys",   "/usr"};

/* System directories below which users may have directories for their work. */
static const char *const system_directories[] = {"/",    "/home",    "/media",   "/mnt",
                                                 "/opt", "/root",    "/srv",     "/tmp",
                                                 "/var", "/var/tmp", "/var/lib", "/var/log"};

bool own_place_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 1)
		return path[0] == '/';
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

enum own_place own_place_of(const char *directory, const char *home)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_directories); i++)
		if (strcmp(directory, system_directories[i]) == 0)
			return home && strcmp(directory, home) == 0 ? OWN_PLACE_HOME
			                                            : OWN_PLACE_SYSTEM;
	for (size_t i = 0; i < ARRAY_SIZE(system_trees); i++)
		if (own_place_is_below(directory, system_trees[i]))
			return OWN_PLACE_SYSTEM;
	return home && own_place_is_below(home, directory) ? OWN_PLACE_HOME : OWN_PLACE_WORK;
}
