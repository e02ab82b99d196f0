/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a file or a tree into a pax archive on the stream. See files.h. libarchive writes the
 * archive, because it handles the corner cases of the format. archive_write(3)
 *
 * Other processes may change the files meanwhile. Each directory is walked through its descriptor,
 * and no link is followed. The archive has exactly as many bytes of a file as its header announces:
 * a file that became shorter is filled up with zeros, and bytes beyond that size are not packed.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

#include "programs/inside/files/files.h"

#define READ_SIZE (1024 * 1024)

struct packer {
	struct job *job;
	struct archive *archive;
	struct archive_entry *entry;
	char path[PATH_MAX];  /* in the archive, of the current entry */
	void *links;          /* tsearch(3) tree of files with several names, by device and inode */
	uint8_t *buffer;      /* of READ_SIZE */
	const uint8_t *zeros; /* of READ_SIZE */
	int stream_error;
};

struct known_link {
	dev_t device;
	ino_t inode;
	char path[];
};

static int compare_links(const void *a, const void *b)
{
	const struct known_link *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/*
 * Returns the path under which the file is in the archive already. NULL: it is not, and its path is
 * recorded.
 */
static const char *first_name(struct packer *p, const struct stat *st)
{
	size_t size = strlen(p->path) + 1;
	struct known_link *link = malloc(sizeof *link + size), **found;

	if (!link)
		return NULL; /* pack a second copy instead */
	link->device = st->st_dev;
	link->inode = st->st_ino;
	memcpy(link->path, p->path, size);
	found = tsearch(link, &p->links, compare_links);
	if (!found || *found == link)
		return NULL;
	free(link);
	return (*found)->path;
}

/* Reports the current entry as skipped, by the path that the caller knows. */
static int skip(struct packer *p, const char *why)
{
	char shown[2 * PATH_MAX];

	(void)snprintf(shown, sizeof shown, "%s%s", p->job->path, p->path + strlen(ARCHIVE_ROOT));
	return answer_skipped(p->job, shown, why);
}

static ssize_t write_stream(struct archive *archive, void *data, const void *bytes, size_t size)
{
	struct packer *p = data;

	p->stream_error = stream_write(p->job, bytes, size);
	if (p->stream_error == 0)
		return (ssize_t)size;
	archive_set_error(archive, -p->stream_error, "the other side does not take it");
	return -1;
}

/* Returns -errno of a failure in libarchive. All its failures concern the stream or memory. */
static int pack_archive_failure(struct packer *p)
{
	int error = archive_errno(p->archive);

	return p->stream_error ? p->stream_error : error > 0 ? -error : -EIO;
}

static int write_header(struct packer *p, const struct stat *st)
{
	struct archive_entry *entry = p->entry;
	int r;

	archive_entry_set_pathname(entry, p->path);
	archive_entry_set_mode(entry, st->st_mode & (S_IFMT | 01777)); /* no set-id bits */
	archive_entry_set_uid(entry, st->st_uid);
	archive_entry_set_gid(entry, st->st_gid);
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	r = archive_write_header(p->archive, entry);
	if (r < ARCHIVE_WARN)
		return pack_archive_failure(p);
	p->job->entries++;
	return 0;
}

static int write_bytes(struct packer *p, const uint8_t *bytes, size_t size)
{
	return archive_write_data(p->archive, bytes, size) == (la_ssize_t)size
	               ? 0
	               : pack_archive_failure(p);
}

/* Writes zeros for a hole. libarchive does not store them, so the file need not be read there. */
static int write_zeros(struct packer *p, off_t count)
{
	int r = 0;

	for (; r == 0 && count > 0; count -= READ_SIZE)
		r = write_bytes(p, p->zeros, count < READ_SIZE ? (size_t)count : READ_SIZE);
	return r;
}

static int write_range(struct packer *p, int fd, off_t from, off_t to, bool *ret_changed)
{
	while (from < to) {
		size_t wanted = to - from < READ_SIZE ? (size_t)(to - from) : READ_SIZE;
		ssize_t n = pread(fd, p->buffer, wanted, from);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*ret_changed = true;
			return write_zeros(p, to - from);
		}
		r = write_bytes(p, p->buffer, (size_t)n);
		if (r < 0)
			return r;
		p->job->bytes += (uint64_t)n;
		from += n;
	}
	return 0;
}

/*
 * Adds the data ranges of a file that has holes to the entry. False: the file is data throughout,
 * or its holes cannot be found. lseek(2), SEEK_DATA
 */
static bool find_holes(struct packer *p, int fd, const struct stat *st)
{
	off_t at = 0, end;
	bool any = false;

	if ((off_t)st->st_blocks * 512 >= st->st_size)
		return false;
	while (at < st->st_size) {
		off_t data = lseek(fd, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break; /* a hole to the end */
		end = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
		if (data < 0 || end < 0) {
			archive_entry_sparse_clear(p->entry);
			return false;
		}
		if (end > st->st_size)
			end = st->st_size;
		if (data >= end)
			break;
		archive_entry_sparse_add_entry(p->entry, data, end - data);
		any = true;
		at = end;
	}
	if (!any)
		archive_entry_sparse_add_entry(p->entry, 0, 0);
	/*
	 * archive_entry_sparse_count() frees a list whose only block covers the whole file. Call it
	 * before an iteration begins, which would then read freed memory.
	 */
	return archive_entry_sparse_count(p->entry) > 0;
}

static int pack_write_content(struct packer *p, int fd, const struct stat *st, bool has_holes,
                              bool *ret_changed)
{
	la_int64_t offset, length;
	off_t at = 0;
	int r = 0;

	if (!has_holes)
		return write_range(p, fd, 0, st->st_size, ret_changed);
	(void)archive_entry_sparse_reset(p->entry);
	while (r == 0 && archive_entry_sparse_next(p->entry, &offset, &length) == ARCHIVE_OK) {
		r = write_zeros(p, offset - at);
		if (r == 0)
			r = write_range(p, fd, offset, offset + length, ret_changed);
		at = offset + length;
	}
	return r == 0 ? write_zeros(p, st->st_size - at) : r;
}

static int pack_file(struct packer *p, int directory, const char *name, const struct stat *seen)
{
	_cleanup_fd_ int fd =
		openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const char *other = NULL;
	bool has_holes, changed = false;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return skip(p, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_ino != seen->st_ino)
		return skip(p, "it became something else meanwhile");
	if (st.st_nlink > 1)
		other = first_name(p, &st);
	if (other) {
		archive_entry_set_hardlink(p->entry, other);
		return write_header(p, &st);
	}
	archive_entry_set_size(p->entry, st.st_size);
	has_holes = find_holes(p, fd, &st);
	r = write_header(p, &st);
	if (r == 0)
		r = pack_write_content(p, fd, &st, has_holes, &changed);
	return r == 0 && changed
	               ? skip(p, "it became shorter while it was read; zeros are in its place")
	               : r;
}

static int pack_link(struct packer *p, int directory, const char *name, const struct stat *st)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(directory, name, link, sizeof link - 1);

	if (n < 0)
		return skip(p, strerror(errno));
	link[n] = '\0';
	archive_entry_set_symlink(p->entry, link);
	return write_header(p, st);
}

static int pack_any(struct packer *p, int directory, const char *name);

static int pack_directory(struct packer *p, int directory, const char *name, const struct stat *st)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	size_t length = strlen(p->path);

	if (!entries) {
		r = skip(p, strerror(errno));
		fd_close(fd);
		return r;
	}
	r = write_header(p, st);
	for (struct dirent *entry; r == 0 && (errno = 0, entry = readdir(entries)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(p->path + length, sizeof p->path - length, "/%s", entry->d_name) >=
		    (int)(sizeof p->path - length))
			r = skip(p, strerror(ENAMETOOLONG));
		else
			r = pack_any(p, fd, entry->d_name);
		p->path[length] = '\0';
	}
	if (r == 0 && errno != 0)
		r = skip(p, strerror(errno));
	(void)closedir(entries);
	return r;
}

static int pack_any(struct packer *p, int directory, const char *name)
{
	struct stat st;

	(void)archive_entry_clear(p->entry);
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return skip(p, strerror(errno));
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return pack_file(p, directory, name, &st);
	case S_IFDIR:
		return pack_directory(p, directory, name, &st);
	case S_IFLNK:
		return pack_link(p, directory, name, &st);
	case S_IFSOCK:
		return skip(p, "a socket is not copied");
	case S_IFIFO:
		return skip(p, "a FIFO is not copied");
	default:
		return skip(p, "a device node is not copied");
	}
}

static int pack_tree(struct packer *p, int directory, const char *name)
{
	struct stat st;
	int r;

	/* For the requested file itself, a failure is an error, not a skipped entry. */
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return -EINVAL;
	if (!S_ISLNK(st.st_mode) && faccessat(directory, name, R_OK, 0) < 0)
		return -errno;
	p->archive = archive_write_new();
	p->entry = archive_entry_new();
	p->buffer = malloc(READ_SIZE);
	p->zeros = calloc(1, READ_SIZE);
	if (!p->archive || !p->entry || !p->buffer || !p->zeros)
		return -ENOMEM;
	if (archive_write_set_format_pax(p->archive) != ARCHIVE_OK ||
	    /* names are bytes in any locale */
	    archive_write_set_format_option(p->archive, "pax", "hdrcharset", "BINARY") !=
	            ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(p->archive, ARCHIVE_BLOCK_SIZE) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(p->archive, 1) != ARCHIVE_OK ||
	    archive_write_open(p->archive, p, NULL, write_stream, NULL) != ARCHIVE_OK)
		return pack_archive_failure(p);
	(void)snprintf(p->path, sizeof p->path, "%s", ARCHIVE_ROOT);
	r = pack_any(p, directory, name);
	return r == 0 && archive_write_close(p->archive) != ARCHIVE_OK ? pack_archive_failure(p)
	                                                               : r;
}

int pack_run(struct job *job)
{
	_cleanup_free_ struct packer *p = calloc(1, sizeof *p);
	_cleanup_fd_ int directory = -1;
	char name[256];
	int r = p ? path_open_parent(job, job->path, &directory, name) : -ENOMEM;

	if (r == 0) {
		p->job = job;
		r = pack_tree(p, directory, name);
		/*
		 * Do not free the archive: libarchive would try to finish one that was cut off. The
		 * process exits anyway.
		 */
	}
	job->stream = fd_close(job->stream);
	return r < 0 ? answer_failure(job, "read", job->path, -r) : answer_done(job);
}
