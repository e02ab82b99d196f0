/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "base/machine.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

bool machine_read(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return false;
	n = fread(out, 1, size - 1, file);
	(void)fclose(file);
	out[n] = '\0';
	return true;
}

bool machine_has_word(const char *text, const char *word)
{
	static const char separators[] = " ,\t\n";
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || strchr(separators, at[-1])) &&
		    (!at[length] || strchr(separators, at[length])))
			return true;
	return false;
}

/* Hosts mount the cgroup v2 tree at one of two places. */
static const char *find_cgroup2(void)
{
	static const char *const trees[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs fs;

	for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
		if (statfs(trees[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return trees[i];
	return NULL;
}

bool machine_has_cgroup2(void)
{
	return find_cgroup2() != NULL;
}

int machine_controller(const char *name)
{
	const char *tree = find_cgroup2();
	char path[64], text[512];
	struct statfs fs;

	if (tree) {
		(void)snprintf(path, sizeof path, "%s/cgroup.controllers", tree);
		if (machine_read(path, text, sizeof text) && machine_has_word(text, name))
			return 2;
	}
	(void)snprintf(path, sizeof path, "/sys/fs/cgroup/%s", name);
	return statfs(path, &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC ? 1 : 0;
}

enum machine_lsm machine_lsm(bool *ret_enforces)
{
	char text[8] = "";

	*ret_enforces = true;
	if (machine_read("/sys/module/apparmor/parameters/enabled", text, sizeof text) &&
	    text[0] == 'Y')
		return MACHINE_LSM_APPARMOR;
	if (!machine_read("/sys/fs/selinux/enforce", text, sizeof text))
		return MACHINE_LSM_NONE;
	*ret_enforces = text[0] == '1';
	return MACHINE_LSM_SELINUX;
}
