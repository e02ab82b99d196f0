/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See files.h. The operations that need only one or two system calls. Paths resolve as they do for
 * any command of the sandbox.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "programs/inside/files/files.h"

#define LISTEN_BACKLOG 64
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

int path_open_parent(const struct job *job, const char *path, int *ret_directory, char name[256])
{
	size_t length = strlen(path), start;
	char parent[PATH_MAX];
	int fd;

	while (length > 1 && path[length - 1] == '/')
		length--;
	for (start = length; start > 0 && path[start - 1] != '/';)
		start--;
	if (length - start > NAME_MAX || length >= sizeof parent)
		return -ENAMETOOLONG;
	memcpy(parent, path, start);
	parent[start] = '\0';
	memcpy(name, path + start, length - start);
	name[length - start] = '\0';
	/* "/", "." and "..": open the directory itself. */
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		memcpy(parent, path, length);
		parent[length] = '\0';
		(void)snprintf(name, 256, ".");
	}
	fd = openat(job->directory >= 0 ? job->directory : AT_FDCWD, *parent ? parent : ".",
	            O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_directory = fd;
	return 0;
}

static int open_flags(uint32_t asked)
{
	int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* do not block on a FIFO */

	if ((asked & (FILE_READ | FILE_WRITE)) == (FILE_READ | FILE_WRITE))
		flags |= O_RDWR;
	else
		flags |= asked & FILE_WRITE ? O_WRONLY : O_RDONLY;
	flags |= asked & FILE_CREATE ? O_CREAT : 0;
	flags |= asked & FILE_EXCLUSIVE ? O_EXCL : 0;
	flags |= asked & FILE_APPEND ? O_APPEND : 0;
	flags |= asked & FILE_TRUNCATE ? O_TRUNC : 0;
	return flags;
}

int operations_open(struct job *job)
{
	const struct message_file *request = &job->request->body.file;
	_cleanup_fd_ int fd = open(job->path, open_flags(request->flags), (mode_t)request->mode);
	struct stat st;
	int flags;

	if (fd < 0 || fstat(fd, &st) < 0)
		return answer_failure(job, "open", job->path, errno == ENXIO ? EINVAL : errno);
	if (!S_ISREG(st.st_mode))
		return answer_failure(job, "open", job->path,
		                      S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return answer_failure(job, "open", job->path, errno);
	return answer_opened(job, fd, (uint64_t)st.st_size);
}

/*
 * Sends one entry, with the target if it is a symbolic link (empty if that cannot be read). Returns
 * 0 also if the entry is gone meanwhile; -errno.
 */
static int report_entry(struct job *job, int directory, const char *name, const char *shown,
                        int flags)
{
	char link[MESSAGE_PATH_MAX + 1] = "";
	struct stat st;
	ssize_t n;

	if (fstatat(directory, name, &st, flags) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(directory, name, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
	}
	job->entries++;
	return answer_entry(job, shown, &st, link);
}

int operations_stat(struct job *job)
{
	int flags = job->request->body.file.flags & FILE_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW;
	_cleanup_fd_ int directory = -1;
	char name[256];
	int r = path_open_parent(job, job->path, &directory, name);

	if (r == 0)
		r = report_entry(job, directory, name, name, flags);
	if (r < 0)
		return answer_failure(job, "look at", job->path, -r);
	if (job->entries == 0)
		return answer_failure(job, "look at", job->path, ENOENT);
	r = answer_flush(job);
	return r < 0 ? r : answer_done(job);
}

int operations_list(struct job *job)
{
	uint64_t max = job->request->body.file.entries_max;
	int fd = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries) {
		r = errno;
		fd_close(fd);
		return answer_failure(job, "list", job->path, r);
	}
	errno = 0;
	for (struct dirent *entry; r == 0 && (entry = readdir(entries)) != NULL; errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		/*
		 * An additional entry, beyond those requested, tells the client that there are
		 * more.
		 */
		if (max != 0 && job->entries > max)
			break;
		r = report_entry(job, fd, entry->d_name, entry->d_name, AT_SYMLINK_NOFOLLOW);
	}
	if (r == 0)
		r = -errno;
	(void)closedir(entries);
	if (r == 0)
		r = answer_flush(job);
	return r < 0 ? answer_failure(job, "list", job->path, -r) : answer_done(job);
}

/* Makes each missing parent directory, as mkdir -p does. Existing ones stay as they are. */
static int files_operations_make_parents(const char *path)
{
	char copy[MESSAGE_PATH_MAX + 1];

	(void)snprintf(copy, sizeof copy, "%s", path);
	for (char *slash = copy; (slash = strchr(slash + 1, '/')) != NULL;) {
		*slash = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int operations_mkdir(struct job *job)
{
	const struct message_file *request = &job->request->body.file;
	struct stat st;
	int r = request->flags & FILE_RECURSIVE ? files_operations_make_parents(job->path) : 0;

	if (r == 0 && mkdir(job->path, (mode_t)request->mode) < 0)
		r = -errno;
	if (r == -EEXIST && request->flags & FILE_RECURSIVE && stat(job->path, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		r = 0;
	return r < 0 ? answer_failure(job, "make the directory", job->path, -r) : answer_done(job);
}

int operations_rename(struct job *job)
{
	unsigned flags = job->request->body.file.flags & FILE_REPLACE ? 0 : RENAME_NOREPLACE;

	if (syscall(SYS_renameat2, AT_FDCWD, job->path, AT_FDCWD, job->target, flags) < 0)
		return answer_failure(job, "rename", errno == EEXIST ? job->target : job->path,
		                      errno);
	return answer_done(job);
}

/*
 * Removes `name` and all below it through descriptors, never through a link: if somebody replaces a
 * directory by a link meanwhile, the link is removed, not its target. Continues after a failure,
 * and returns the first one.
 */
static int remove_tree(struct job *job, int directory, const char *name)
{
	int fd, first = 0, r;
	DIR *entries;

	if (unlinkat(directory, name, 0) == 0) {
		job->entries++;
		return 0;
	}
	if (errno != EISDIR)
		return -errno;
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && unlinkat(directory, name, AT_REMOVEDIR) == 0)
		return 0; /* empty, but not readable */
	entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		r = -errno;
		fd_close(fd);
		return r;
	}
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = remove_tree(job, fd, entry->d_name);
		if (r < 0 && r != -ENOENT && first == 0)
			first = r;
	}
	(void)closedir(entries);
	if (first == 0 && unlinkat(directory, name, AT_REMOVEDIR) < 0)
		first = -errno;
	job->entries += first == 0;
	return first;
}

int operations_remove(struct job *job)
{
	_cleanup_fd_ int directory = -1;
	char name[256];
	int r = path_open_parent(job, job->path, &directory, name);

	if (r == 0 && job->request->body.file.flags & FILE_RECURSIVE)
		r = remove_tree(job, directory, name);
	else if (r == 0 && unlinkat(directory, name, 0) < 0) {
		r = -errno;
		if (r == -EISDIR)
			r = unlinkat(directory, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	}
	return r < 0 ? answer_failure(job, "remove", job->path, -r) : answer_done(job);
}

/*
 * Whether nobody listens at the socket any more: the process that made the socket is gone and has
 * left the file behind.
 */
static bool is_left_behind(const struct sockaddr_un *address)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	/* connect(2) fails with ECONNREFUSED also for a file that is no socket */
	return fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
	       errno == ECONNREFUSED;
}

/*
 * Listens at a path inside for the client, which accepts the connections and relays them; no
 * process inside accepts any. Where the kernel has SO_PASSRIGHTS (Linux 6.16), it fails a peer's
 * attempt to send descriptors; elsewhere the client drops them.
 */
int operations_listen(struct job *job)
{
	const int off = 0;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = -1;
	int r;

	if (job_is_outside(job))
		return answer_failure(job, "listen at", job->path, EINVAL);
	if (strlen(job->path) >= sizeof address.sun_path)
		return answer_failure(job, "listen at", job->path, ENAMETOOLONG);
	memcpy(address.sun_path, job->path, strlen(job->path));
	r = files_operations_make_parents(job->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r < 0 || fd < 0)
		return answer_failure(job, "listen at", job->path, r < 0 ? -r : errno);
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
	/* bind(2) gives the file this mode */
	(void)fchmod(fd, (mode_t)job->request->body.file.mode);
	r = bind(fd, (const struct sockaddr *)&address, sizeof address);
	if (r < 0 && errno == EADDRINUSE && is_left_behind(&address) && unlink(job->path) == 0)
		r = bind(fd, (const struct sockaddr *)&address, sizeof address);
	if (r < 0 || listen(fd, LISTEN_BACKLOG) < 0)
		return answer_failure(job, "listen at", job->path, errno);
	return answer_opened(job, fd, 0);
}
