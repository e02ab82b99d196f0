/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Account look-ups that find nobody.
 *
 * We link one object of libcap-ng that also contains capng_change_id(3), which nothing calls. The
 * look-ups that it refers to would link NSS, which in a static program loads modules of the host.
 * These functions replace them.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>

struct passwd *getpwuid(uid_t uid)
{
	(void)uid;
	errno = ENOSYS;
	return NULL;
}

int initgroups(const char *user, gid_t group)
{
	(void)user, (void)group;
	errno = ENOSYS;
	return -1;
}
