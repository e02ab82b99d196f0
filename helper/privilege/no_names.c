/*
 * Of libcap-ng one object is linked, in which capng_change_id(3) is, too. Nothing calls that; but
 * what it looks names up with would bring NSS along, which in a static program loads modules of the
 * host's. Here it finds nobody.
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
