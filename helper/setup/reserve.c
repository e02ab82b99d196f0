/* SPDX-License-Identifier: Apache-2.0 */
/* See reserve.h. */
#include "helper/setup/reserve.h"
#include "helper/setup/idmap.h"
#include "base/kernel.h"
#include "helper/setup/registry.h"

#include <ctype.h>

static int reserve_make_directory(int at, const char *name, mode_t mode, int *ret_fd)
{
	struct stat st;
	_cleanup_fd_ int fd = -1;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return -errno;
	fd = fd_open_directory(at, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int reserve_host_open(const char *runtime_dir, uint32_t ids_first, uint32_t ids_ranges,
                      struct reserve_host *ret_host, struct yett_error *error)
{
	static const char *const names[RESERVE_DIRS] = {[RESERVE_RANGES] = "ids",
	                                                [RESERVE_SLOTS] = "users",
	                                                [RESERVE_NAMES] = "names",
	                                                [RESERVE_CONTROL] = "control"};
	_cleanup_(reserve_host_close) struct reserve_host host = RESERVE_HOST_NONE;
	_cleanup_fd_ int empty = -1; /* root directory of deciders and decoders */
	int r = reserve_make_directory(AT_FDCWD, runtime_dir, 0755, &host.dirs[RESERVE_RUNTIME]);

	host.ids_first = ids_first;
	host.ids_ranges = ids_ranges;
	for (size_t i = RESERVE_RUNTIME + 1; r == 0 && i < RESERVE_DIRS; i++)
		r = reserve_make_directory(host.dirs[RESERVE_RUNTIME], names[i], 0700,
		                           &host.dirs[i]);
	if (r == 0)
		r = reserve_make_directory(host.dirs[RESERVE_RUNTIME], "empty", 0555, &empty);
	if (r < 0) {
		bool is_foreign = r == -EPERM || r == -ENOTDIR;

		error_set(error, is_foreign ? YETT_E_UNSUPPORTED : YETT_E_INIT_FAILED, 0,
		          "the runtime directory %s cannot be used: %s", runtime_dir,
		          is_foreign ? "others can write to it, or have made it" : strerror(-r));
		return r;
	}
	*ret_host = host;
	host = RESERVE_HOST_NONE;
	return 0;
}

void reserve_host_close(struct reserve_host *host)
{
	for (size_t i = 0; i < RESERVE_DIRS; i++)
		host->dirs[i] = fd_close(host->dirs[i]);
}

int reserve_open_file(const struct reserve_host *host, const char *name)
{
	return openat(host->dirs[RESERVE_RUNTIME], name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	              0600);
}

static int reserve_lock(int fd, short type)
{
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &whole) < 0 ? -errno : 0;
}

/*
 * Makes a locked file with bytes[0 … length) that has no name yet. The file gets a name afterwards,
 * so no process ever sees an unlocked file whose owner lives. One file serves for all names that
 * are tried, since most may be taken.
 */
static int make_unnamed(int dir, const void *bytes, size_t length)
{
	_cleanup_fd_ int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = reserve_lock(fd, F_WRLCK);
	if (r < 0)
		return r;
	if (length && write(fd, bytes, length) != (ssize_t)length)
		return errno ? -errno : -EIO;
	return steal_fd(&fd);
}

/*
 * Links the file to dir/name and moves it to `ret_reservation`. Returns 0 or -errno; -EEXIST if the
 * name is taken. After a failure the file is still the caller's.
 */
static int reserve_take(int dir, int *fd, const char *name, struct reservation *ret_reservation)
{
	char path[64];

	FORMAT(path, "/proc/self/fd/%d", *fd);
	if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	*ret_reservation = (struct reservation){.fd = steal_fd(fd), .dir = dir};
	FORMAT(ret_reservation->name, "%s", name);
	return 0;
}

/*
 * Reads the number at which a search begins or, if `next` is not 0, stores it. For ranges it is the
 * one after the last one handed out, so that ids are not used again soon; for slots the last one
 * handed out, so that a free one is found at once. The file is only a hint, is written in place and
 * always has the same length: a process that dies here leaves nothing to sweep. Two processes that
 * read the same number are kept apart by link(2).
 */
static uint32_t hint(const struct reserve_host *host, const char *file, uint32_t next)
{
	_cleanup_fd_ int fd = reserve_open_file(host, file);
	char text[32] = "";

	if (next) {
		FORMAT(text, "%010" PRIu32 "\n", next);
		(void)!pwrite(fd, text, strlen(text), 0);
	} else if (fd >= 0 && pread(fd, text, sizeof text - 1, 0) > 0) {
		next = (uint32_t)strtoul(text, NULL, 10);
	}
	return next;
}

int reserve_range(const struct reserve_host *host, uid_t uid, const char *cgroup_name,
                  struct reservation *ret_reservation, uint32_t *ret_index,
                  struct yett_error *error)
{
	uint32_t next = hint(host, "next-range", 0),
		 start = next == 0 || next >= host->ids_ranges ? 1 : next;
	char name[16];
	struct record record;
	_cleanup_fd_ int fd = -1;

	record_init(&record, uid, cgroup_name);
	fd = make_unnamed(host->dirs[RESERVE_RANGES], &record, record_seal(&record));
	if (fd < 0)
		return fd;
	for (uint32_t i = 0; i + 1 < host->ids_ranges; i++) {
		uint32_t index = 1 + (start - 1 + i) % (host->ids_ranges - 1);
		int r;

		/*
		 * The name is the host id, so that a policy with another first id sees the same
		 * reservation.
		 */
		FORMAT(name, "%" PRIu32, host->ids_first + index * IDMAP_RANGE);
		r = reserve_take(host->dirs[RESERVE_RANGES], &fd, name, ret_reservation);
		if (r == 0) {
			*ret_index = index;
			next = hint(host, "next-range", 0);
			/*
			 * Store index + 1, not start + 1: the ranges between them are in use. Do
			 * not store it if other processes have advanced the hint meanwhile.
			 */
			if (next <= index || next - index > host->ids_ranges / 2)
				(void)hint(host, "next-range", index + 1);
		}
		if (r != -EEXIST)
			return r;
	}
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                 "all %" PRIu32 " private id ranges are in use", host->ids_ranges - 1);
}

/* The names are UID.n, or UID.helpern. */
int reserve_slot(const struct reserve_host *host, uid_t uid, enum reserve_slot_of of, uint32_t max,
                 struct reservation *ret_reservation, struct yett_error *error)
{
	_cleanup_fd_ int fd = max ? make_unnamed(host->dirs[RESERVE_SLOTS], NULL, 0) : -1;
	uint32_t first = max ? hint(host, "next-slot", 0) : 0, slot = 0;
	char name[40];
	int r = fd < 0 ? fd : -EEXIST;

	*ret_reservation = (struct reservation){.fd = -1, .dir = -1};
	if (max == 0)
		return 0;
	for (uint32_t i = 0; r == -EEXIST && i < max; i++) {
		slot = (first + i) % max;
		FORMAT(name, "%" PRIu32 ".%s%" PRIu32, (uint32_t)uid,
		       of == RESERVE_SLOT_OF_HELPER ? "helper" : "", slot);
		r = reserve_take(host->dirs[RESERVE_SLOTS], &fd, name, ret_reservation);
	}
	if (r == 0)
		/* not slot + 1: the newest often ends first, and those after it may all be taken */
		(void)hint(host, "next-slot", slot);
	return r != -EEXIST ? r
	                    : error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                                of == RESERVE_SLOT_OF_HELPER
	                                        ? "a user has at most %" PRIu32
	                                          " set-user-id helpers at once"
	                                        : "the policy allows this user %" PRIu32
	                                          " sandboxes at once",
	                                max);
}

int reserve_name(const struct reserve_host *host, uid_t uid, const char *name,
                 struct reservation *ret_reservation, struct yett_error *error)
{
	char file[sizeof ret_reservation->name];
	_cleanup_fd_ int fd = make_unnamed(host->dirs[RESERVE_NAMES], NULL, 0);
	int r;

	if (fd < 0)
		return fd;
	FORMAT(file, "%" PRIu32 ".%s", (uint32_t)uid, name);
	r = reserve_take(host->dirs[RESERVE_NAMES], &fd, file, ret_reservation);
	return r == -EEXIST ? error_set(error, YETT_E_ALREADY_EXISTS, 0,
	                                "a sandbox named '%s' is there already", name)
	                    : r;
}

void reserve_release(struct reservation *reservation)
{
	if (reservation->fd < 0)
		return;
	(void)unlinkat(reservation->dir, reservation->name, 0);
	reservation->fd = fd_close(reservation->fd);
}

/*
 * Opens a reservation whose owner is dead and takes its lock, so that no other process sweeps it
 * too. Returns a descriptor; -1 if the owner lives.
 */
static int open_orphan(int dir, const char *name)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || reserve_lock(fd, F_WRLCK) < 0)
		return -1;
	/*
	 * Between the open and the lock, the file may have been removed and the name taken again.
	 * Then there is nothing to sweep.
	 */
	return fstat(fd, &st) == 0 && st.st_nlink == 1 ? steal_fd(&fd) : -1;
}

static int sweep_range(int fd, int (*sweep)(void *, const struct record *), void *userdata)
{
	struct record record = {0}, whole;
	ssize_t n = pread(fd, &record, sizeof record, 0);

	record.is_audited = n > 0 && record_open(&record, (size_t)n, &whole) && record.is_audited;
	/* Any layout is accepted: the owner may have been a helper from before an upgrade. */
	return n >= (ssize_t)offsetof(struct record, state) &&
	                       (record.magic ^ RECORD_MAGIC) < RECORD_LAYOUTS &&
	                       memchr(record.cgroup, 0, sizeof record.cgroup)
	               ? sweep(userdata, &record)
	               : -EINVAL;
}

static int sweep_directory(int dir, int (*sweep)(void *, const struct record *), void *userdata)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(dir);
	int removed = 0;

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		_cleanup_fd_ int fd = isdigit((unsigned char)entry->d_name[0])
		                              ? open_orphan(dir, entry->d_name)
		                              : -1;

		if (fd >= 0 && (!sweep || sweep_range(fd, sweep, userdata) == 0) &&
		    unlinkat(dir, entry->d_name, 0) == 0)
			removed++;
	}
	return removed;
}

int reserve_sweep(const struct reserve_host *host, int (*sweep)(void *, const struct record *),
                  void *userdata)
{
	return sweep_directory(host->dirs[RESERVE_RANGES], sweep, userdata) +
	       sweep_directory(host->dirs[RESERVE_SLOTS], NULL, NULL) +
	       sweep_directory(host->dirs[RESERVE_NAMES], NULL, NULL);
}

/* Each decider's id is a locked byte of one file. fcntl(2), open file description locks */
int reserve_decider(const struct reserve_host *host, uint32_t *ret_number)
{
	_cleanup_fd_ int fd = reserve_open_file(host, "deciders");
	struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	uint32_t first = (uint32_t)getpid();

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; i < IDMAP_DECIDERS; i++) {
		byte.l_start = *ret_number = (first + i) % IDMAP_DECIDERS;
		if (fcntl(fd, F_OFD_SETLK, &byte) == 0)
			return steal_fd(&fd);
	}
	return -EAGAIN;
}
