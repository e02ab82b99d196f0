/* SPDX-License-Identifier: Apache-2.0 */
/* See userns.h. */
#include "base/userns.h"

#include <fcntl.h>

#include "base/fd.h"

static const struct userns_rule rules[] = {
	{"/proc/sys/user/max_user_namespaces", '0', "user.max_user_namespaces is 0",
         "sysctl user.max_user_namespaces=15000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", '0', "kernel.unprivileged_userns_clone is 0",
         "sysctl kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
         "AppArmor keeps them from users (Ubuntu's rule)",
         "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
};

static char first_of(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = '\0';

	return fd >= 0 && read(fd, &c, 1) == 1 ? c : '\0';
}

const struct userns_rule *userns_find_rule(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (first_of(rules[i].path) == rules[i].forbids)
			return &rules[i];
	return NULL;
}
