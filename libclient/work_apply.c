/* See work.h. What yett-apply (programs/apply/) keeps in a store: nothing is read of it but whether it is there. */
#include "libclient/work.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "libclient/failure.h"

int work_hold_apply(int store, const char *id, int *ret_lock, struct yett_error *error)
{
	_cleanup_fd_ int room = openat(store, "apply", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	*ret_lock = -1;
	if (room < 0)
		return 0; /* there was none, or what stands in its place is nothing of ours */
	if (flock(room, LOCK_EX | LOCK_NB) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "yett apply works on the store %s", id);
	if (fstatat(room, "journal", &st, AT_SYMLINK_NOFOLLOW) == 0 || fstatat(room, "journal.closed", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "an apply of the store %s ended half-way, and has still what it took out of the directory", id);
		error_mend(error, "complete it with yett apply --continue %s, or have it taken back with yett apply --abort %s", id, id);
		return YETT_E_INVALID_REQUEST;
	}
	*ret_lock = steal_fd(&room);
	return 0;
}
