/*
 * From the policy's files to a policy. Declared in policy.h.
 *
 * As root, before any client is served. Opens only files that `owner` alone can have written, never by a link in the
 * last component, and reads none of them: their descriptors go to yett-policy, which has no privilege (compiler/main.c)
 * and answers with an image. It must not open anything that a client names.
 */
#include "base/escape.h"
#include "base/spawn.h"
#include "helper/policy/check.h"
#include "helper/policy/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEADLINE_MS 10000 /* a directory service may be asked for accounts */

/* What yett-policy is given: the image that it shall fill, then the files. `words` are its arguments that name them. */
struct files {
	uid_t owner;
	struct yett_error *error;
	size_t count;
	int fds[1 + POLICY_FILES_MAX];
	char *words[1 + POLICY_FILES_MAX]; /* "FD:NAME" */
};

static void files_free(struct files **files)
{
	for (size_t i = 0; *files && i < (*files)->count; i++) {
		fd_close((*files)->fds[i]);
		free((*files)->words[i]);
	}
	free(*files);
}

/* Takes the descriptor. */
static int add_file(struct files *files, int fd, const char *name)
{
	char **word = &files->words[files->count];

	if (asprintf(word, "%d:%s", fd, name) < 0)
		return fd_close(fd), -ENOMEM;
	files->fds[files->count++] = fd;
	return 0;
}

/* Whether only `owner` can have put there what `fd` is. */
static int check_owner(const struct files *files, int fd, mode_t type, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type)
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0, "%s is not a %s", ESCAPE(name),
				 type == S_IFDIR ? "directory" : "regular file");
	if (st.st_uid != files->owner)
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0, "%s belongs to uid %u, not to uid %u",
				 ESCAPE(name), st.st_uid, files->owner);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(files->error, YETT_E_SECURITY_VIOLATION, 0, "%s can be written by others (mode %04o)",
				 ESCAPE(name), st.st_mode & 07777);
	return 0;
}

static int open_errno(const struct files *files, const char *name)
{
	int r = -errno;

	(void)error_set(files->error, YETT_E_INVALID_REQUEST, 0, "%s cannot be read: %s", ESCAPE(name), strerror(-r));
	return r;
}

/* `name` is opened in the directory; `path` is its whole path. */
static int open_file(struct files *files, int dir, const char *name, const char *path)
{
	/* O_NONBLOCK: a FIFO is refused, not waited for. */
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return open_errno(files, path);
	r = check_owner(files, fd, S_IFREG, path);
	return r ? r : add_file(files, steal_fd(&fd), path);
}

static int is_fragment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* by bytes, whatever the locale */
}

static int open_fragments(struct files *files, int parent, const char *path)
{
	_cleanup_fd_ int dir = openat(parent, "conf.d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **entries = NULL;
	int count, r;

	if (dir < 0)
		return errno == ENOENT ? 0 : open_errno(files, path);
	r = check_owner(files, dir, S_IFDIR, path);
	if (r)
		return r;
	count = scandirat(dir, ".", &entries, is_fragment, compare_names);
	if (count < 0)
		return open_errno(files, path);
	if (count >= POLICY_FILES_MAX)
		r = error_set(files->error, YETT_E_INVALID_REQUEST, 0, "%s holds too many files", ESCAPE(path));
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *file = NULL;

		if (r == 0)
			r = asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0 ? -ENOMEM : 0;
		if (r == 0)
			r = open_file(files, dir, entries[i]->d_name, file);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int open_files(struct files *files, const char *path, bool with_fragments)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	_cleanup_free_ char *fragments = NULL;
	_cleanup_fd_ int dir = -1;
	int r;

	if (!parent || asprintf(&fragments, "%s/conf.d", parent) < 0)
		return -ENOMEM;
	dir = open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return open_errno(files, parent);
	r = check_owner(files, dir, S_IFDIR, parent);
	if (r == 0)
		r = open_file(files, dir, slash ? slash + 1 : path, path);
	return r == 0 && with_fragments ? open_fragments(files, dir, fragments) : r;
}

/* Waits for a child whose end closes the other end of the pipe `alive`. Its status; it never outlives the deadline. */
static int wait_for(pid_t pid, int alive)
{
	struct pollfd p = {.fd = alive, .events = POLLIN};
	int status;

	while (poll(&p, 1, DEADLINE_MS) < 0 && errno == EINTR)
		;
	(void)kill(pid, SIGKILL); /* a child that exits keeps its status; it is not reaped before the next line */
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* Runs yett-policy on the files until it has written the image. */
static int run_compiler(const struct files *files, const char *libexec)
{
	_cleanup_free_ char *program = NULL;
	char *argv[3 + POLICY_FILES_MAX] = {(char *)"yett-policy"};
	_cleanup_fd_ int alive = -1;
	int pipe_fds[2], status, r;
	pid_t pid;

	if (asprintf(&program, "%s/yett-policy", libexec) < 0)
		return -ENOMEM;
	memcpy(argv + 1, files->words, files->count * sizeof *argv);
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	alive = pipe_fds[0];
	r = spawn(program, argv, pipe_fds[1], files->fds, files->count, &pid);
	fd_close(pipe_fds[1]);
	if (r < 0)
		return error_set(files->error, YETT_E_HELPER_UNAVAILABLE, 0, "%s cannot be executed: %s", program, strerror(-r));
	status = wait_for(pid, alive);
	if (status == 0)
		return 0;
	r = error_set(files->error, YETT_E_HELPER_UNAVAILABLE, 0, "yett-policy did not compile the policy");
	error_detail(files->error, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
		     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return r;
}

int policy_load(const struct policy_source *source, struct policy **ret_policy, struct yett_error *error)
{
	_cleanup_(files_free) struct files *files = calloc(1, sizeof *files);
	_cleanup_(policy_freep) struct policy *policy = NULL;
	int image = memfd_create("yett-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	if (!files || image < 0)
		return fd_close(image), -ENOMEM;
	files->owner = source->owner;
	files->error = error;
	r = add_file(files, image, "");
	if (r == 0 && source->path)
		r = open_files(files, source->path, source->with_fragments);
	if (r == 0)
		r = run_compiler(files, source->libexec);
	if (r == 0)
		r = image_load(image, &policy, error);
	if (r == 0)
		r = check_paths(policy, source->owner, error);
	if (r == 0)
		*ret_policy = steal_ptr(&policy);
	return r;
}
