/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a pax archive from the stream into a file or a tree. See files.h.
 *
 * Outside, the archive comes from a sandbox and is hostile. libarchive reads nothing but
 * uncompressed tar. Every path is "root", or "root/…" with plain names. Each directory on the
 * way to an entry is opened without following links. A file that exists already is never opened. No
 * device is made, no set-id bit and no owner is taken over, and the totals are limited.
 */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "programs/inside/files/files.h"

struct unpacker {
	struct job *job;
	struct archive *archive;
	uint8_t *block; /* of ARCHIVE_BLOCK_SIZE */
	int base;       /* the directory in which the root is made, as `name` */
	char name[256];
	int parent; /* cached: the directory of the last entry, at parent_path */
	char parent_path[PATH_MAX];
	struct late_directory *late; /* the newest first */
	unsigned temporaries;
	uint64_t apparent; /* sizes of all files so far, holes included */
	int stream_error;
};

/*
 * The mode and times of a directory, set at the end: a mode could lock us out, and creating files
 * in the directory would change its times.
 */
struct late_directory {
	struct late_directory *next;
	mode_t mode;
	struct timespec times[2];
	char path[];
};

/* The target of an entry, at `parent`/`leaf`. */
struct place {
	const char *path; /* in the archive */
	int parent;
	char leaf[256];
	/*
	 * If `leaf` exists, the name of the new file until unpack_settle() renames that file to
	 * `leaf`; otherwise empty.
	 */
	char temporary[32];
};

static la_ssize_t unpack_read_stream(struct archive *archive, void *data, const void **ret_block)
{
	struct unpacker *u = data;
	ssize_t n = stream_read(u->job, u->block, ARCHIVE_BLOCK_SIZE);

	*ret_block = u->block;
	if (n >= 0)
		return n;
	u->stream_error = (int)n;
	archive_set_error(archive, (int)-n, "%s", strerror((int)-n));
	return -1;
}

/*
 * Whether the path is "root", or "root/…" of plain names: no empty one, no ".", no "..". Strips a
 * final '/', by which tar marks directories.
 */
static bool unpack_is_plain(char *path)
{
	size_t length = strlen(path);

	if (length > 0 && path[length - 1] == '/')
		path[--length] = '\0';
	if (length >= PATH_MAX || strncmp(path, ARCHIVE_ROOT, strlen(ARCHIVE_ROOT)) != 0)
		return false;
	for (const char *at = path + strlen(ARCHIVE_ROOT); *at;) {
		size_t size;

		if (*at++ != '/')
			return false;
		size = strcspn(at, "/");
		if (size == 0 || size > NAME_MAX || (size <= 2 && strncmp(at, "..", size) == 0))
			return false;
		at += size;
	}
	return true;
}

/*
 * Opens the directory with this path in the archive, component by component from the base, without
 * following links. Returns a descriptor or -errno.
 */
static int open_directory(const struct unpacker *u, const char *path)
{
	const char *at = path + strlen(ARCHIVE_ROOT);
	int fd = openat(u->base, u->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0 && *at == '/') {
		char leaf[NAME_MAX + 1];
		size_t size = strcspn(++at, "/");
		int next;

		memcpy(leaf, at, size);
		leaf[size] = '\0';
		next = openat(fd, leaf, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close(fd);
		fd = next;
		at += size;
	}
	return fd < 0 ? -errno : fd;
}

/*
 * Finds the target of `path`. The parent's descriptor belongs to the unpacker, which keeps it open
 * for the next entry. Returns 0 or -errno.
 */
static int find_place(struct unpacker *u, const char *path, struct place *place)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	*place = (struct place){.path = path, .parent = u->base};
	(void)snprintf(place->leaf, sizeof place->leaf, "%s", slash ? slash + 1 : u->name);
	if (!slash)
		return 0;
	if (u->parent < 0 || strlen(u->parent_path) != length ||
	    memcmp(u->parent_path, path, length) != 0) {
		u->parent = fd_close(u->parent);
		memcpy(u->parent_path, path, length);
		u->parent_path[length] = '\0';
		u->parent = open_directory(u, u->parent_path);
		if (u->parent < 0)
			return u->parent;
	}
	place->parent = u->parent;
	return 0;
}

/*
 * Chooses a temporary name because `leaf` exists. unpack_settle() replaces the existing file once
 * its successor is complete; a directory is never replaced (-EISDIR).
 */
static int use_temporary(struct unpacker *u, struct place *place)
{
	struct stat st;

	if (place->temporary[0] ||
	    fstatat(place->parent, place->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return place->temporary[0] ? -EEXIST : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	(void)snprintf(place->temporary, sizeof place->temporary, ".yett-%d-%u", (int)getpid(),
	               u->temporaries++);
	return 0;
}

static const char *made_as(const struct place *place)
{
	return place->temporary[0] ? place->temporary : place->leaf;
}

/* Renames a temporary file to its final name. If `r` is an error, removes the incomplete file. */
static int unpack_settle(const struct place *place, int r)
{
	if (r == 0 && place->temporary[0] &&
	    renameat(place->parent, place->temporary, place->parent, place->leaf) < 0)
		r = -errno;
	if (r != 0)
		(void)unlinkat(place->parent, made_as(place), 0);
	return r;
}

static void get_times(struct archive_entry *entry, struct timespec times[2])
{
	times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
	times[1] = (struct timespec){.tv_nsec = UTIME_OMIT};
	if (archive_entry_mtime_is_set(entry))
		times[1] = (struct timespec){archive_entry_mtime(entry),
		                             archive_entry_mtime_nsec(entry)};
}

/*
 * Inside, sets the owner, or at least the group, as far as the sandbox permits. Outside, every file
 * belongs to the caller.
 */
static void keep_owner(const struct unpacker *u, struct archive_entry *entry,
                       const struct place *place)
{
	uid_t uid = (uid_t)archive_entry_uid(entry);
	gid_t gid = (gid_t)archive_entry_gid(entry);

	if (job_is_outside(u->job) || (uid == geteuid() && gid == getegid()))
		return;
	if (fchownat(place->parent, made_as(place), uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		(void)!fchownat(place->parent, made_as(place), (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW);
}

/*
 * Adds the apparent size of a file to the total. Holes cost nothing here, but a later reader or
 * copy pays for them. -EDQUOT: the total exceeds the request's bytes_max.
 */
static int count_size(struct unpacker *u, la_int64_t size)
{
	uint64_t max = u->job->request->body.file.bytes_max;

	if (size < 0)
		return -EBADMSG;
	if (max != 0 && (uint64_t)size > max - u->apparent)
		return -EDQUOT;
	u->apparent += (uint64_t)size;
	return 0;
}

static int unpack_archive_failure(const struct unpacker *u)
{
	return u->stream_error ? u->stream_error : -EBADMSG;
}

static int unpack_write_all(int fd, const uint8_t *bytes, size_t size, off_t offset)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
		offset += n;
	}
	return 0;
}

static int unpack_write_content(struct unpacker *u, int fd, la_int64_t size)
{
	const void *bytes;
	la_int64_t offset, end = 0;
	size_t length;
	int r;

	for (;;) {
		r = archive_read_data_block(u->archive, &bytes, &length, &offset);
		if (r == ARCHIVE_EOF)
			break;
		if (r < ARCHIVE_WARN)
			return unpack_archive_failure(u);
		if (offset < end || offset > size || length > (size_t)(size - offset))
			return -EBADMSG;
		u->job->bytes += length;
		r = unpack_write_all(fd, bytes, length, offset);
		if (r < 0)
			return r;
		if (length > 0)
			end = offset + (la_int64_t)length;
	}
	/* a hole at the end */
	return end < size && ftruncate(fd, size) < 0 ? -errno : 0;
}

static int unpack_make_file(struct unpacker *u, struct archive_entry *entry, struct place *place)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	mode_t mode = archive_entry_perm(entry) & 0777;
	_cleanup_fd_ int fd = openat(place->parent, place->leaf, flags, mode);
	struct timespec times[2];
	int r;

	if (fd < 0 && errno == EEXIST) {
		r = use_temporary(u, place);
		if (r < 0)
			return r;
		fd = openat(place->parent, place->temporary, flags, mode);
	}
	if (fd < 0)
		return -errno;
	r = count_size(u, archive_entry_size(entry));
	if (r == 0)
		r = unpack_write_content(u, fd, archive_entry_size(entry));
	if (r == 0) {
		keep_owner(u, entry, place);
		get_times(entry, times);
		r = futimens(fd, times) < 0 ? -errno : 0;
	}
	return unpack_settle(place, r);
}

static int unpack_make_link(struct unpacker *u, struct archive_entry *entry, struct place *place)
{
	const char *link = archive_entry_symlink(entry);
	struct timespec times[2];
	int r = 0;

	if (!link || !*link)
		return -EBADMSG;
	if (symlinkat(link, place->parent, place->leaf) < 0) {
		if (errno != EEXIST)
			return -errno;
		r = use_temporary(u, place);
		if (r == 0 && symlinkat(link, place->parent, place->temporary) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	keep_owner(u, entry, place);
	get_times(entry, times);
	(void)utimensat(place->parent, made_as(place), times, AT_SYMLINK_NOFOLLOW);
	return unpack_settle(place, r);
}

/*
 * Makes another name for `target`, a regular file of the unpacked tree. Finds the file without
 * following links. linkat(2)
 */
static int make_hard_link(struct unpacker *u, const char *target, struct place *place)
{
	char path[PATH_MAX], *slash;
	_cleanup_fd_ int directory = -1;
	struct stat st;
	int r = 0;

	if (!target || strlen(target) >= sizeof path)
		return -EBADMSG;
	(void)snprintf(path, sizeof path, "%s", target);
	slash = unpack_is_plain(path) ? strrchr(path, '/') : NULL;
	if (!slash)
		return -EBADMSG;
	*slash = '\0';
	directory = open_directory(u, path);
	if (directory < 0)
		return directory;
	if (fstatat(directory, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	if (linkat(directory, slash + 1, place->parent, place->leaf, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	r = use_temporary(u, place);
	if (r == 0 && linkat(directory, slash + 1, place->parent, place->temporary, 0) < 0)
		r = -errno;
	return r < 0 ? r : unpack_settle(place, 0);
}

static int unpack_make_directory(struct unpacker *u, struct archive_entry *entry,
                                 struct place *place)
{
	size_t size = strlen(place->path) + 1;
	struct late_directory *late;
	struct stat st;

	if (mkdirat(place->parent, place->leaf, 0700) < 0) {
		if (errno != EEXIST ||
		    fstatat(place->parent, place->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR; /* leave it as it is */
	}
	keep_owner(u, entry, place);
	late = malloc(sizeof *late + size);
	if (!late)
		return -ENOMEM;
	late->next = u->late;
	late->mode = archive_entry_perm(entry) & 01777;
	get_times(entry, late->times);
	memcpy(late->path, place->path, size);
	u->late = late;
	return 0;
}

static int unpack_make(struct unpacker *u, struct archive_entry *entry, const char *path)
{
	struct place place;
	int r = find_place(u, path, &place);

	if (r < 0)
		return r;
	if (archive_entry_hardlink(entry))
		return make_hard_link(u, archive_entry_hardlink(entry), &place);
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return unpack_make_file(u, entry, &place);
	case AE_IFDIR:
		return unpack_make_directory(u, entry, &place);
	case AE_IFLNK:
		return unpack_make_link(u, entry, &place);
	default:
		return -EPERM;
	}
}

/*
 * Sets the modes and times of the directories in the reverse order of the archive, so that each
 * directory comes before its parent. Skips a directory that was replaced by a link meanwhile.
 */
static void finish_directories(struct unpacker *u)
{
	for (struct late_directory *late; (late = u->late) != NULL; free(late)) {
		struct place place;
		_cleanup_fd_ int fd = -1;

		u->late = late->next;
		if (find_place(u, late->path, &place) < 0)
			continue;
		fd = openat(place.parent, place.leaf,
		            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/*
		 * fchmod(2) fails if another user's directory is there by now, which stays as it
		 * is.
		 */
		if (fd >= 0 && fchmod(fd, late->mode) == 0)
			(void)futimens(fd, late->times);
	}
}

/* Whether an error ends the copy: continuing is of no use, or the root itself failed. */
static bool is_final(int r, const char *path)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS || r == -ENOMEM ||
	       r == -EBADMSG || r == -ETIMEDOUT || strcmp(path, ARCHIVE_ROOT) == 0;
}

static int report_skipped(struct unpacker *u, const char *path, int r)
{
	char shown[2 * PATH_MAX];

	(void)snprintf(shown, sizeof shown, "%s%s", u->job->path, path + strlen(ARCHIVE_ROOT));
	return answer_skipped(u->job, shown,
	                      r == -EPERM ? "it is neither a file, a directory nor a link"
	                                  : strerror(-r));
}

/*
 * Unpacks one entry. Returns 0, or the -errno that ends the copy, with the path of the entry in
 * `path`.
 */
static int unpack_entry(struct unpacker *u, struct archive_entry *entry, char path[PATH_MAX])
{
	const struct message_file *request = &u->job->request->body.file;
	const char *name = archive_entry_pathname(entry);
	int r;

	if (!name || snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX || !unpack_is_plain(path)) {
		(void)snprintf(path, PATH_MAX, "%s", ARCHIVE_ROOT);
		return -EBADMSG;
	}
	/* The first entry must be the root, and no other entry may be. */
	if ((u->job->entries == 0) != (strcmp(path, ARCHIVE_ROOT) == 0))
		return -EBADMSG;
	if (request->entries_max != 0 && u->job->entries + u->job->skipped >= request->entries_max)
		return -EDQUOT;
	r = unpack_make(u, entry, path);
	if (r == 0) {
		u->job->entries++;
		return 0;
	}
	return is_final(r, path) ? r : report_skipped(u, path, r);
}

static int unpack_archive(struct unpacker *u, char path[PATH_MAX])
{
	struct archive_entry *entry;
	int r = 0;

	u->archive = archive_read_new();
	u->block = malloc(ARCHIVE_BLOCK_SIZE);
	if (!u->archive || !u->block)
		return -ENOMEM;
	if (archive_read_support_format_tar(u->archive) != ARCHIVE_OK ||
	    archive_read_open(u->archive, u, NULL, unpack_read_stream, NULL) != ARCHIVE_OK)
		return unpack_archive_failure(u);
	while (r == 0) {
		r = archive_read_next_header(u->archive, &entry);
		if (r == ARCHIVE_EOF)
			return u->job->entries > 0 ? 0 : -EBADMSG;
		if (r < ARCHIVE_WARN)
			return unpack_archive_failure(u);
		r = unpack_entry(u, entry, path);
	}
	return r;
}

static int unpack_refuse(struct unpacker *u, const char *path, int r)
{
	struct job *job = u->job;
	char shown[2 * PATH_MAX];
	struct yett_error error;

	(void)snprintf(shown, sizeof shown, "%s%s", job->path, path + strlen(ARCHIVE_ROOT));
	if (r != -EDQUOT && r != -EBADMSG && r != -ETIMEDOUT)
		return answer_failure(job, "write", shown, -r);
	if (r == -EDQUOT)
		(void)error_set(&error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                "the copy is larger than it may be; holes count");
	else if (r == -ETIMEDOUT)
		(void)error_set(&error, YETT_E_TIMEOUT, YETT_R_NONE,
		                "the other side of the copy has stopped");
	else
		(void)error_set(&error, YETT_E_PROTOCOL, YETT_R_NONE,
		                "the other side sent what is no archive of a copy");
	error_detail(&error, "after %llu entries with %llu bytes", (unsigned long long)job->entries,
	             (unsigned long long)job->bytes);
	return answer_error(job, &error);
}

int unpack_run(struct job *job)
{
	_cleanup_free_ struct unpacker *u = calloc(1, sizeof *u);
	char path[PATH_MAX] = ARCHIVE_ROOT;
	int r;

	if (!u)
		return answer_failure(job, "write", job->path, ENOMEM);
	u->job = job;
	u->parent = u->base = -1;
	r = path_open_parent(job, job->path, &u->base, u->name);
	if (r == 0) {
		r = unpack_archive(u, path);
		finish_directories(u);
	}
	u->parent = fd_close(u->parent);
	u->base = fd_close(u->base);
	/*
	 * Free the archive before answering: a hostile archive can use up all memory, and the
	 * answer needs some.
	 */
	(void)archive_read_free(u->archive);
	/* Closing the pipe shows the other side that the copy has ended or failed. */
	job->stream = fd_close(job->stream);
	return r < 0 ? unpack_refuse(u, path, r) : answer_done(job);
}
