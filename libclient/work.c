/* See work.h, and "work" in yett.h. */
#include "libclient/work.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/fd.h"
#include "libclient/failure.h"
#include "libclient/keyfile.h"
#include "libclient/memory.h"

#define INFO      "info"
#define INFO_NEW  "info.new"
#define INFO_HEAD "yett-work 1\n" /* the version of the form */
#define INFO_MAX  (size_t)65536

#define LOCK_TRIES 100 /* a millisecond each */

/* Not behind an overlay: what changes there without the kernel, or is one itself. statfs(2) */
static const struct {
	uint32_t magic;
	const char *name;
} no_layers[] = {
	{0x6969, "NFS"},     {0x65735546, "FUSE"}, {0x794c7630, "overlay"}, {0xff534d42, "CIFS"},  {0xfe534d42, "SMB"}, {0x01021997, "9p"},
	{0x5346414f, "AFS"}, {0x00c36400, "Ceph"}, {0x786f4256, "vboxsf"},  {0x2011bab0, "exFAT"}, {0x4d44, "FAT"},
};

static const char *no_layer(int fd)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) < 0)
		return "unknown";
	for (size_t i = 0; i < ARRAY_SIZE(no_layers); i++)
		if ((uint32_t)sfs.f_type == no_layers[i].magic)
			return no_layers[i].name;
	return NULL;
}

/* Where the caller keeps what is to last: the directory of the XDG specification, with "/yett/work" for us. */
static int find_works(char path[KEYFILE_PATH_SIZE], struct yett_error *error)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	int r = 0;

	if (!state || state[0] != '/')
		r = keyfile_home(path, KEYFILE_PATH_SIZE - 64, error);
	else if (snprintf(path, KEYFILE_PATH_SIZE - 64, "%s", state) >= KEYFILE_PATH_SIZE - 64)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "XDG_STATE_HOME is longer than a path can be");
	if (r == 0)
		(void)strcat(path, state && state[0] == '/' ? "/yett/work" : "/.local/state/yett/work");
	return r;
}

/* -1 and 0 where there is none, and none is to be made. */
static int open_works(bool make, int *ret_works, char path[KEYFILE_PATH_SIZE], struct yett_error *error)
{
	struct stat st;
	int r = find_works(path, error);

	*ret_works = -1;
	if (r)
		return r;
	for (char *slash = path; make && slash; slash = strchr(slash + 1, '/')) {
		char *end = strchr(slash + 1, '/');

		if (end)
			*end = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot make the directory %s: %m", path);
		if (end)
			*end = '/';
	}
	*ret_works = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_works < 0 && errno == ENOENT && !make)
		return 0;
	if (*ret_works < 0 || fstat(*ret_works, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot use the directory %s: %m", path);
	if (st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	*ret_works = fd_close(*ret_works);
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE, "%s is another user's, or others may use it: chmod 700 %s", path,
	                 path);
}

int work_check_share(int fd, const char *name, struct yett_error *error)
{
	_cleanup_fd_ int works = -1, above = -1;
	char path[KEYFILE_PATH_SIZE], link[32], file[PATH_MAX];
	struct stat st, kept;
	ssize_t n;

	works = find_works(path, NULL) == 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (works < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0; /* where there are none, none can be changed */
	if (works < 0 || fstat(fd, &st) < 0 || fstat(works, &kept) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot look at %s, which %s may hold: %m", path, name);
	if (S_ISDIR(st.st_mode)) {
		above = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else { /* where the kernel has it */
		(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, file, sizeof file - 1);
		file[n < 0 ? 0 : n] = '\0';
		if (strrchr(file, '/'))
			*strrchr(file, '/') = '\0';
		above = open(file, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (!fd_is_in(works, &st) && (above < 0 || !fd_is_in(above, &kept)))
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                "cannot share %s: it holds, or lies in, %s, where what copy-on-write sandboxes change is kept", name, path);
	error_mend(error, "share those directories below it that are needed; or keep that elsewhere: XDG_STATE_HOME=DIR");
	return YETT_E_SECURITY_VIOLATION;
}

/* The directory, or the first one above it that is there: in that it will be. */
static int open_nearest(const char *path, bool *ret_is_there)
{
	char copy[KEYFILE_PATH_SIZE];
	int fd;

	(void)snprintf(copy, sizeof copy, "%s", path);
	*ret_is_there = true;
	while ((fd = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 && errno == ENOENT && strrchr(copy, '/') != copy) {
		*strrchr(copy, '/') = '\0';
		*ret_is_there = false;
	}
	return fd;
}

int work_check_source(int source, const char *name, bool in_memory, struct yett_error *error)
{
	_cleanup_fd_ int near = -1;
	char path[KEYFILE_PATH_SIZE];
	const char *no = no_layer(source);
	bool is_there;
	struct stat st, kept;
	int r;

	if (fstat(source, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot share %s: %m", name);
	if (!S_ISDIR(st.st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "cannot share %s copy-on-write: it is no directory", name);
	if (st.st_uid != geteuid()) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
		                "cannot share %s copy-on-write: it belongs to another user (uid %u)", name, st.st_uid);
		error_mend(error, "share it read-only, or make a copy of your own: cp -r");
		return YETT_E_PERMISSION_DENIED;
	}
	if (no) {
		(void)error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "cannot share %s copy-on-write: its file system (%s) cannot be behind an overlay", name, no);
		error_mend(error, "copy it to a local file system, as ext4, xfs, btrfs or tmpfs");
		return YETT_E_UNSUPPORTED;
	}
	r = find_works(path, error);
	if (r)
		return r;
	near = open_nearest(path, &is_there);
	if (near < 0 || fstat(near, &kept) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot use the directory %s: %m", path);
	if ((is_there && fd_is_in(source, &kept)) || (!in_memory && fd_is_in(near, &st))) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "cannot share %s copy-on-write: what is changed would be kept in it or around it, in %s", name, path);
		error_mend(
			error,
			"share a directory below it; or have that kept elsewhere (XDG_STATE_HOME=DIR), or in memory: --cow PATH:memory=SIZE");
		return YETT_E_INVALID_REQUEST;
	}
	no = in_memory ? NULL : no_layer(near);
	if (!no)
		return 0;
	(void)error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
	                "what is changed cannot be kept in %s: its file system (%s) cannot be of an overlay", path, no);
	error_mend(error, "have it kept on a local file system (XDG_STATE_HOME=DIR), or in memory: --cow PATH:memory=SIZE");
	return YETT_E_UNSUPPORTED;
}

static void work_free(struct work *work)
{
	fd_close(work->store);
	free(work->source);
	free(work->target);
	free(work);
}

/* The directory that shows is "upper": it gets mode and group of what it lies over. */
static int fill_store(int store, const struct stat *source)
{
	if (mkdirat(store, "upper", 0700) < 0 || mkdirat(store, "work", 0700) < 0)
		return -errno;
	if (fchownat(store, "upper", (uid_t)-1, source->st_gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM)
		return -errno;
	return fchmodat(store, "upper", source->st_mode & 0777, 0) < 0 || fchmodat(store, "work", 0700, 0) < 0 ? -errno : 0;
}

int work_make(int source, const char *target, struct work **works, struct yett_error *error)
{
	struct work *work = calloc(1, sizeof *work);
	_cleanup_fd_ int root = -1;
	char path[KEYFILE_PATH_SIZE], link[32], real[PATH_MAX];
	uint32_t serial[2];
	struct stat st;
	ssize_t n;
	int r = work ? open_works(true, &root, path, error) : -ENOMEM;

	if (r) {
		free(work);
		return r > 0 ? r : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a store");
	}
	work->store = -1;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", source);
	n = readlink(link, real, sizeof real - 1);
	real[n < 0 ? 0 : n] = '\0';
	randombytes_buf(serial, sizeof serial);
	(void)snprintf(work->id, sizeof work->id, "%08x%08x", serial[0], serial[1]);
	work->source = strdup(real);
	work->target = strdup(target);
	work->created_ms = clock_wall_ms();
	work->stamp_ns = clock_ns(CLOCK_REALTIME_COARSE);
	work->uptime_ns = clock_ns(CLOCK_BOOTTIME);
	r = !work->source || !work->target ? -ENOMEM : fstat(source, &st) < 0 || mkdirat(root, work->id, 0700) < 0 ? -errno : 0;
	if (r == 0 && (work->store = openat(root, work->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = -errno;
	if (r == 0) {
		work->device = st.st_dev;
		work->inode = st.st_ino;
		work->next = *works;
		*works = work;
		r = fill_store(work->store, &st);
	} else {
		(void)unlinkat(root, work->id, AT_REMOVEDIR);
		work_free(work);
	}
	errno = -r;
	return r == 0 ? 0 : failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot make a store in %s: %m", path);
}

void work_drop(struct work **works)
{
	_cleanup_fd_ int root = -1;
	char path[KEYFILE_PATH_SIZE];

	if (*works && open_works(false, &root, path, NULL) != 0)
		root = -1;
	for (struct work *work = *works, *next; work; work = next) {
		next = work->next;
		if (root >= 0)
			(void)!work_remove(root, work->id, work->store); /* what is left is listed, and can be discarded */
		work_free(work);
	}
	*works = NULL;
}

static void write_text(FILE *file, const char *key, const char *text)
{
	(void)fprintf(file, "%s=", key);
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		(void)fprintf(file, *at > ' ' && *at < 0x7f && *at != '%' ? "%c" : "%%%02x", *at);
	(void)fputc('\n', file);
}

/* Which boot of the machine this is: times of another one may be of another clock. */
static void read_boot(char boot[static 64])
{
	_cleanup_fd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, 63);

	boot[n < 0 ? 0 : n] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
}

/* By a new file that takes the name when it is whole. */
static int write_info(const struct work *work, const char *sandbox)
{
	int fd = openat(work->store, INFO_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	char boot[64];
	bool is_written;

	if (!file)
		return fd_close(fd), -errno;
	read_boot(boot);
	(void)fputs(INFO_HEAD, file);
	write_text(file, "source", work->source);
	write_text(file, "target", work->target);
	write_text(file, "sandbox", sandbox);
	(void)fprintf(file, "created=%llu\nboot=%s\ndevice=%llu\ninode=%llu\n", (unsigned long long)work->created_ms, boot,
	              (unsigned long long)work->device, (unsigned long long)work->inode);
	(void)fprintf(file, "stamp_ns=%llu\nuptime_ns=%llu\n", (unsigned long long)work->stamp_ns, (unsigned long long)work->uptime_ns);
	is_written = !ferror(file);
	is_written = fclose(file) == 0 && is_written;
	return is_written && renameat(work->store, INFO_NEW, work->store, INFO) == 0 ? 0 : -EIO;
}

void work_keep(struct work **works, const char *sandbox)
{
	for (struct work *work = *works, *next; work; work = next) {
		next = work->next;
		(void)!write_info(work, sandbox); /* it is listed without, and what was changed is there */
		work_free(work);
	}
	*works = NULL;
}

static int from_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of a line, in place; false: it is none that we write. */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		int high = *text == '%' ? from_hex(text[1]) : 0, low = *text == '%' && high >= 0 ? from_hex(text[2]) : 0;

		if (high < 0 || low < 0 || (*text == '%' && high * 16 + low == 0))
			return false;
		*to = *text == '%' ? (char)(high * 16 + low) : *text;
		text += *text == '%' ? 3 : 1;
	}
	*to = '\0';
	return true;
}

static bool is_id(const char *name)
{
	return strlen(name) == YETT_ID_SIZE - 1 && strspn(name, "0123456789abcdef") == YETT_ID_SIZE - 1;
}

/* What a store says of itself; where it says nothing that we wrote, there is its id. False: no memory. */
static bool read_info(int store, struct yett_work *work)
{
	struct {
		const char *key;
		const char **value;
	} texts[] = {{"source=", &work->source}, {"target=", &work->target}, {"sandbox=", &work->sandbox}};
	_cleanup_fd_ int fd = openat(store, INFO, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = memory_add(work, INFO_MAX), *rest, *line;
	struct stat st;
	ssize_t n = text && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, INFO_MAX - 1) : 0;

	if (!text)
		return false;
	if (n <= 0 || memchr(text, '\0', (size_t)n) || strncmp(text, INFO_HEAD, strlen(INFO_HEAD)) != 0)
		return true;
	for (rest = text + strlen(INFO_HEAD); (line = strsep(&rest, "\n"));) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			if (strncmp(line, texts[i].key, strlen(texts[i].key)) == 0 && unescape(line + strlen(texts[i].key)))
				*texts[i].value = line + strlen(texts[i].key);
		if (strncmp(line, "created=", strlen("created=")) == 0)
			work->created_ms = strtoull(line + strlen("created="), NULL, 10);
	}
	if (!is_id(work->sandbox))
		work->sandbox = "";
	work->is_complete = *work->source && *work->target && *work->sandbox && work->created_ms;
	return true;
}

/* init holds the lock for as long as there is its sandbox: programs/init/build/workspace.c. */
static bool is_used(int store)
{
	return flock(store, LOCK_SH | LOCK_NB) < 0; /* others may ask at the same time */
}

/* From those who only ask, as is_used(), it is free in a moment. */
static bool take_lock(int store)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (flock(store, LOCK_EX | LOCK_NB) == 0)
			return true;
		(void)nanosleep(&moment, NULL);
	}
	return false;
}

/* One that tells nothing of itself is being made, or was left half-made: that it is not used is not tried, which takes its lock. */
static struct yett_work *read_work(int root, const char *works, const char *id)
{
	_cleanup_fd_ int store = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(memory_freep) struct yett_work *work = memory_new(sizeof *work);
	size_t size = strlen(works) + YETT_ID_SIZE + 1;
	char *path;

	if (!work)
		return NULL;
	*work = (struct yett_work){.size = sizeof *work, .source = "", .target = "", .sandbox = ""};
	(void)snprintf(work->id, sizeof work->id, "%s", id);
	path = memory_add(work, size);
	if (!path)
		return NULL;
	(void)snprintf(path, size, "%s/%s", works, id);
	work->store = path;
	if (store >= 0 && !read_info(store, work))
		return NULL;
	work->is_used = work->is_complete && is_used(store);
	return steal_ptr(&work);
}

int yett_works_list(struct yett_work_list **ret_list, struct yett_error *error)
{
	_cleanup_(memory_freep) struct list *list = memory_new(sizeof *list);
	_cleanup_fd_ int root = -1;
	_cleanup_(fd_entries_close) DIR *entries = NULL;
	char path[KEYFILE_PATH_SIZE];
	const struct dirent *entry;
	int r = open_works(false, &root, path, error);

	if (r)
		return r;
	entries = root < 0 ? NULL : fd_entries(root);
	while (list && entries && (entry = readdir(entries))) {
		struct yett_work *work = is_id(entry->d_name) ? read_work(root, path, entry->d_name) : NULL;

		if (is_id(entry->d_name) && (!work || !list_add(list, work)))
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list");
	}
	if (!list)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list");
	*ret_list = (struct yett_work_list *)steal_ptr(&list);
	return 0;
}

size_t yett_work_list_count(const struct yett_work_list *list)
{
	return ((const struct list *)list)->count;
}

const struct yett_work *yett_work_list_get(const struct yett_work_list *list, size_t i)
{
	const struct list *works = (const struct list *)list;

	return i < works->count ? works->items[i] : NULL;
}

int yett_work_discard(const char *id, struct yett_error *error)
{
	_cleanup_fd_ int root = -1, store = -1, lock = -1;
	char path[KEYFILE_PATH_SIZE];
	int r = open_works(false, &root, path, error);

	if (r)
		return r;
	if (root >= 0 && is_id(id))
		store = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (store < 0)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "there is no store %.40s in %s; yett work list tells which there are", ESCAPE(id), path);
	if (!take_lock(store)) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "a sandbox works on the store %s", id);
		error_mend(error, "end it first: yett work list tells which it is, yett destroy ends it");
		return YETT_E_INVALID_REQUEST;
	}
	r = work_hold_apply(store, id, &lock, error);
	if (r)
		return r;
	r = work_remove(root, id, store);
	errno = -r;
	return r == 0 ? 0 : failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot remove all of the store %s in %s: %m", id, path);
}
