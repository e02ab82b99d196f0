/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a policy from its files. Declared in policy.h.
 *
 * Runs as root, before any client is served. Opens only files that `owner` alone can have written,
 * never through a symbolic link in the last component, and reads none of them. yett-policy, which
 * has no privilege (programs/decide/policy/main.c), gets the descriptors and answers with an image.
 * Root judges the files itself, because root opens them: the compiler decides what the policy says,
 * and must not even get a file that other users could have written. Must not open anything that a
 * client names.
 */
#include "base/escape.h"
#include "base/kernel.h"
#include "base/spawn.h"
#include "helper/policy/check.h"
#include "helper/policy/image.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define DEADLINE_MS 10000 /* yett-policy may have to ask a directory service for accounts */

/* The policy's files, opened for yett-policy, and the arguments that pass them to yett-policy. */
struct files {
	uid_t owner;
	struct yett_error *error;
	size_t count;
	int fds[POLICY_FILES_MAX];
	char *words[POLICY_FILES_MAX]; /* "FD:NAME" */
};

static void files_free(struct files **files)
{
	for (size_t i = 0; *files && i < (*files)->count; i++) {
		fd_close((*files)->fds[i]);
		free((*files)->words[i]);
	}
	free(*files);
}

/*
 * Opens `name` in the directory, if only the owner can have written it; `path` is its whole path,
 * for errors. Opens a directory with O_PATH only.
 */
static int open_owned(const struct files *files, int dir, const char *name, const char *path,
                      bool is_directory, int *ret_fd)
{
	/* O_NONBLOCK: do not wait for a FIFO, which is refused below. */
	int flags = is_directory ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
	_cleanup_fd_ int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		(void)error_set(files->error, YETT_E_INVALID_REQUEST, 0, "%s cannot be read: %s",
		                ESCAPE(path), strerror(-r));
		return r;
	}
	if (!is_directory && !S_ISREG(st.st_mode))
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0,
		                 "%s is not a regular file", ESCAPE(path));
	if (st.st_uid != files->owner)
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0,
		                 "%s belongs to uid %u, not to uid %u", ESCAPE(path), st.st_uid,
		                 files->owner);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0,
		                 "%s can be written by others (mode %04o)", ESCAPE(path),
		                 st.st_mode & 07777);
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int load_add_file(struct files *files, int dir, const char *name, const char *path)
{
	int r = open_owned(files, dir, name, path, false, &files->fds[files->count]);

	if (r == 0 &&
	    asprintf(&files->words[files->count], "%d:%s", files->fds[files->count], path) < 0)
		return fd_close(files->fds[files->count]), -ENOMEM;
	files->count += r == 0;
	return r;
}

static int is_fragment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int load_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* by bytes, whatever the locale */
}

static int add_fragments(struct files *files, int parent, const char *folder)
{
	_cleanup_fd_ int dir = -1;
	char path[PATH_MAX];
	struct dirent **entries = NULL;
	int count, r;

	if (faccessat(parent, "conf.d", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	FORMAT(path, "%s/conf.d", folder);
	r = open_owned(files, parent, "conf.d", path, true, &dir);
	count = r == 0 ? scandirat(dir, ".", &entries, is_fragment, load_compare_names) : 0;
	if (count < 0)
		r = error_set(files->error, YETT_E_INVALID_REQUEST, 0, "%s cannot be read: %s",
		              ESCAPE(path), strerror(errno));
	if (count >= POLICY_FILES_MAX)
		r = error_set(files->error, YETT_E_INVALID_REQUEST, 0, "%s holds too many files",
		              ESCAPE(path));
	for (int i = 0; i < count; i++) {
		FORMAT(path, "%s/conf.d/%s", folder, entries[i]->d_name);
		r = r == 0 ? load_add_file(files, dir, entries[i]->d_name, path) : r;
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load_add_files(struct files *files, const char *path, bool with_fragments)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	_cleanup_fd_ int dir = -1;
	int r = parent ? open_owned(files, AT_FDCWD, parent, parent, true, &dir) : -ENOMEM;

	if (r == 0)
		r = load_add_file(files, dir, slash ? slash + 1 : path, path);
	return r == 0 && with_fragments ? add_fragments(files, dir, parent) : r;
}

/*
 * Waits for the child to end, and kills it at the deadline. Returns its wait status. Where no pidfd
 * can be opened, only the child's own resource limits bound the wait.
 */
static int load_wait_for(pid_t pid)
{
	int status = -1;

	if (!kernel_wait_end(pid, DEADLINE_MS))
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Runs yett-policy on the files and waits until it has written the image. */
static int run_compiler(const struct files *files, const char *libexec, int image)
{
	char program[PATH_MAX];
	char *argv[2 + POLICY_FILES_MAX] = {(char *)"yett-policy"};
	int status, r;
	pid_t pid;

	FORMAT(program, "%s/yett-policy", libexec);
	memcpy(argv + 1, files->words, files->count * sizeof *argv);
	r = spawn(program, argv, image, files->fds, files->count, &pid);
	if (r < 0)
		return error_set(files->error, YETT_E_HELPER_UNAVAILABLE, 0,
		                 "%s cannot be executed: %s", program, strerror(-r));
	status = load_wait_for(pid);
	if (status == 0)
		return 0;
	r = error_set(files->error, YETT_E_HELPER_UNAVAILABLE, 0,
	              "yett-policy did not compile the policy");
	error_detail(files->error, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
	             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return r;
}

int policy_load(const struct policy_source *source, struct policy **ret_policy,
                struct yett_error *error)
{
	_cleanup_(files_free) struct files *files = calloc(1, sizeof *files);
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_fd_ int image = memfd_create("yett-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = files && image >= 0 ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	files->owner = source->owner;
	files->error = error;
	if (source->path)
		r = load_add_files(files, source->path, source->with_fragments);
	if (r == 0)
		r = run_compiler(files, source->libexec, image);
	if (r == 0)
		r = image_load(image, &policy, error);
	if (r == 0)
		r = check_paths(policy, source->owner, error);
	if (r == 0)
		*ret_policy = steal_ptr(&policy);
	return r;
}
