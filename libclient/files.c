/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "files" in yett.h. Operations on single files and directories; a worker inside the sandbox
 * carries out each of them (worker.h).
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "libclient/discard.h"
#include "base/failure.h"
#include "libclient/mounted.h"
#include "libclient/operation.h"
#include "libclient/relay.h"

#define READ_FIRST 65536 /* first size of the buffer, which is doubled as needed */

_Static_assert((int)YETT_OPEN_READ == FILE_READ && (int)YETT_OPEN_WRITE == FILE_WRITE &&
                       (int)YETT_OPEN_CREATE == FILE_CREATE &&
                       (int)YETT_OPEN_EXCLUSIVE == FILE_EXCLUSIVE &&
                       (int)YETT_OPEN_APPEND == FILE_APPEND &&
                       (int)YETT_OPEN_TRUNCATE == FILE_TRUNCATE &&
                       (int)YETT_FILE_REGULAR == FILE_REGULAR &&
                       (int)YETT_FILE_DIRECTORY == FILE_DIRECTORY &&
                       (int)YETT_FILE_SYMLINK == FILE_SYMLINK && (int)YETT_FILE_FIFO == FILE_FIFO &&
                       (int)YETT_FILE_SOCKET == FILE_SOCKET &&
                       (int)YETT_FILE_CHARACTER_DEVICE == FILE_CHARACTER_DEVICE &&
                       (int)YETT_FILE_BLOCK_DEVICE == FILE_BLOCK_DEVICE,
               "the public names are those of the wire");

static int libclient_files_check_path(const char *path, struct yett_error *error)
{
	if (!path || path[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a path inside is not absolute: %s",
		                 path ? path : "none is given");
	if (strlen(path) > MESSAGE_PATH_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path is longer than %d bytes", MESSAGE_PATH_MAX);
	return 0;
}

/* An operation on a file, in progress. */
struct file_call {
	struct yett_operation base; /* must be the first member */
	struct worker worker;
	enum message_kind last; /* of the message that ends the operation with success */
	char *path;             /* owned */
	unsigned flags;         /* FILE_OPEN: enum yett_open_flag */
	bool listens;           /* FILE_LISTEN: the descriptor is a listening socket */
	size_t reported, max;   /* FILE_LIST: entries reported so far, and at most */
	yett_file_fn each;
	void *data;
};

static int libclient_files_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "no memory for the file operation");
}

static int libclient_files_step(struct yett_operation *base, struct yett_error *error);

static void libclient_files_wait_for(struct yett_operation *base, deadline_ms deadline)
{
	struct worker *worker = &((struct file_call *)base)->worker;

	worker_wait(&worker, 1, deadline);
}

static void libclient_files_end(struct yett_operation *base)
{
	struct file_call *call = (struct file_call *)base;

	worker_end(&call->worker);
	free(call->path);
	call->path = NULL;
}

static const struct operation_kind kind = {libclient_files_step, libclient_files_wait_for,
                                           libclient_files_end};

/* Starts a worker and prepares its request, which the caller completes and passes to send_it(). */
static int libclient_files_begin(struct yett_sandbox *sandbox, enum file_operation wanted,
                                 const char *path, struct file_call **ret_call,
                                 struct message_file **ret_request, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *base = NULL;
	struct file_call *call;
	int r = libclient_files_check_path(path, error);

	if (r)
		return r;
	call = operation_new(&kind, sizeof *call);
	base = (struct yett_operation *)call;
	if (!call || !(call->path = strdup(path)))
		return libclient_files_no_memory(error);
	r = worker_start_inside(sandbox, &call->worker, error);
	if (r == 0)
		r = worker_prepare(&call->worker, wanted, path, error);
	if (r)
		return r;
	call->last = MESSAGE_FILE_DONE;
	*ret_request = &call->worker.channel->message.body.file;
	*ret_call = call;
	base = NULL;
	return 0;
}

/*
 * Sends the request. From then on the operation proceeds whenever the sandbox is dispatched.
 * Consumes the call, also on failure.
 */
static int send_it(struct yett_sandbox *sandbox, struct file_call *call,
                   struct yett_operation **ret_operation, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *base = &call->base;
	int r = worker_watch(&call->worker, error);

	if (r == 0)
		r = worker_send(&call->worker, NULL, 0, error);
	if (r)
		return r;
	base->deadline = channel_deadline(WORKER_TIMEOUT_MS);
	operation_add(base, &sandbox->operations);
	*ret_operation = steal_ptr(&base);
	return 0;
}

/*
 * Checks the descriptor that the worker inside sent: a regular file, open as requested, and not on
 * a pseudo file system. A compromised sandbox could send any descriptor instead.
 */
static int check_descriptor(int fd, unsigned asked, struct yett_error *error)
{
	int flags = fcntl(fd, F_GETFL), mode = asked & YETT_OPEN_WRITE ? O_WRONLY : O_RDONLY;
	struct stat st;

	if ((asked & YETT_OPEN_READ) && (asked & YETT_OPEN_WRITE))
		mode = O_RDWR;
	if (flags < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the sandbox answered with something else than a regular file");
	if (yett_stdio_check(fd, NULL))
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"only ordinary files can be opened from outside: a command inside can read this file (yett exec)");
	if ((flags & O_ACCMODE) != mode || !(flags & O_APPEND) != !(asked & YETT_OPEN_APPEND) ||
	    flags & (O_ASYNC | O_DIRECT | O_NONBLOCK))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the sandbox answered with a file that is not open as asked");
	return 0;
}

int yett_file_open_begin(struct yett_sandbox *sandbox, const char *path, unsigned flags,
                         unsigned mode, struct yett_operation **ret_operation,
                         struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r;

	if (flags & ~63U || !(flags & (YETT_OPEN_READ | YETT_OPEN_WRITE)) || mode > 0777 ||
	    ((flags & YETT_OPEN_EXCLUSIVE) && !(flags & YETT_OPEN_CREATE)) ||
	    ((flags & (YETT_OPEN_APPEND | YETT_OPEN_TRUNCATE)) && !(flags & YETT_OPEN_WRITE)))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "invalid flags or mode for open");
	r = libclient_files_begin(sandbox, FILE_OPEN, path, &call, &request, error);
	if (r)
		return r;
	request->flags = call->flags = flags;
	request->mode = mode;
	call->last = MESSAGE_FILE_OPENED;
	return send_it(sandbox, call, ret_operation, error);
}

int yett_file_open(struct yett_sandbox *sandbox, const char *path, unsigned flags, unsigned mode,
                   int *ret_fd, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;
	int r = operation_run(yett_file_open_begin(sandbox, path, flags, mode, &operation, error),
	                      &operation, error);

	if (r == 0)
		*ret_fd = yett_operation_take_fd(operation);
	return r;
}

int yett_socket_listen(struct yett_sandbox *sandbox, const char *path, unsigned mode, int *ret_fd,
                       struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;
	struct message_file *request;
	struct file_call *call;
	int r;

	if (mode > 0777)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%o is no mode of a socket", mode);
	r = libclient_files_begin(sandbox, FILE_LISTEN, path, &call, &request, error);
	if (r)
		return r;
	request->mode = mode;
	call->listens = true;
	call->last = MESSAGE_FILE_OPENED;
	r = operation_run(send_it(sandbox, call, &operation, error), &operation, error);
	if (r == 0)
		*ret_fd = yett_operation_take_fd(operation);
	return r;
}

static int io_failed(const char *what, const char *path, struct yett_error *error)
{
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot %s %.150s: %m", what,
	                   path);
}

int yett_file_read(struct yett_sandbox *sandbox, const char *path, size_t max, char **ret_bytes,
                   size_t *ret_length, struct yett_error *error)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_(memory_freep) char *bytes = NULL;
	size_t length = 0, size = 0;
	int r = yett_file_open(sandbox, path, YETT_OPEN_READ, 0, &fd, error);

	while (r == 0) {
		ssize_t n;

		if (length + 1 >= size) {
			char *grown;

			size = size == 0 ? READ_FIRST : size * 2;
			grown = memory_resize(bytes, size);
			if (!grown)
				return libclient_files_no_memory(error);
			bytes = grown;
		}
		n = pread(fd, bytes + length, size - length - 1, (off_t)length);
		if (n < 0 && errno != EINTR)
			return io_failed("read", path, error);
		if (n == 0)
			break;
		length += n > 0 ? (size_t)n : 0;
		if (length > max)
			return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
			                 "the file has more than %zu bytes", max);
	}
	if (r)
		return r;
	bytes[length] = '\0';
	*ret_bytes = steal_ptr(&bytes);
	*ret_length = length;
	return 0;
}

int yett_file_write(struct yett_sandbox *sandbox, const char *path, const void *bytes,
                    size_t length, unsigned mode, size_t *ret_written, struct yett_error *error)
{
	_cleanup_fd_ int fd = -1;
	size_t written = 0;
	int r = yett_file_open(sandbox, path,
	                       YETT_OPEN_WRITE | YETT_OPEN_CREATE | YETT_OPEN_TRUNCATE, mode, &fd,
	                       error);

	while (r == 0 && written < length) {
		ssize_t n =
			pwrite(fd, (const char *)bytes + written, length - written, (off_t)written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			r = io_failed("write all of", path, error);
		else
			written += (size_t)n;
	}
	if (ret_written)
		*ret_written = written;
	return r;
}

static void write_permissions(const struct message_file_entry *entry, char out[11])
{
	static const char kinds[] = {'?', '-', 'd', 'l', 'p', 's', 'c', 'b'};

	out[0] = kinds[entry->kind];
	for (int i = 0; i < 9; i++)
		out[1 + i] = entry->mode & 0400U >> i ? "rwxrwxrwx"[i] : '-';
	if (entry->mode & 04000)
		out[3] = entry->mode & 0100 ? 's' : 'S';
	if (entry->mode & 02000)
		out[6] = entry->mode & 0010 ? 's' : 'S';
	if (entry->mode & 01000)
		out[9] = entry->mode & 0001 ? 't' : 'T';
	out[10] = '\0';
}

/*
 * Copies an entry to `ret_info`. Returns false if the name contains '/': appended to a path, it
 * would name a file in another directory.
 */
static bool get_info(const struct message *message, const struct message_file_entry *entry,
                     struct yett_file_info *ret_info)
{
	const char *name = message_text(message, entry->name);

	if (strchr(name, '/'))
		return false;
	ret_info->size = sizeof *ret_info;
	(void)snprintf(ret_info->name, sizeof ret_info->name, "%s", name);
	(void)snprintf(ret_info->owner, sizeof ret_info->owner, "%s",
	               message_text(message, entry->owner));
	(void)snprintf(ret_info->group, sizeof ret_info->group, "%s",
	               message_text(message, entry->group));
	(void)snprintf(ret_info->link, sizeof ret_info->link, "%s",
	               message_text(message, entry->link));
	write_permissions(entry, ret_info->permissions);
	ret_info->kind = (enum yett_file_kind)entry->kind;
	ret_info->size_bytes = entry->size_bytes;
	ret_info->mode = entry->mode;
	ret_info->uid = entry->uid;
	ret_info->gid = entry->gid;
	ret_info->mtime_s = (int64_t)entry->mtime_s;
	ret_info->mtime_ns = entry->mtime_ns;
	return true;
}

/* Converts the only flag that a function takes, `known`, to the protocol's flag `wire`. */
static int take_flag(unsigned flags, enum yett_file_flag known, uint32_t wire, uint32_t *ret_wire,
                     struct yett_error *error)
{
	if (flags & ~(unsigned)known)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the flags of the file operation are not all its own: %#x", flags);
	*ret_wire = flags ? wire : 0;
	return 0;
}

/* Does the same as libclient_files_begin(), for an operation that takes one flag. */
static int begin_with(struct yett_sandbox *sandbox, enum file_operation wanted, const char *path,
                      unsigned flags, enum yett_file_flag known, uint32_t wire,
                      struct file_call **ret_call, struct message_file **ret_request,
                      struct yett_error *error)
{
	uint32_t wire_flags;
	int r = take_flag(flags, known, wire, &wire_flags, error);

	if (r == 0)
		r = libclient_files_begin(sandbox, wanted, path, ret_call, ret_request, error);
	if (r == 0)
		(*ret_request)->flags = wire_flags;
	return r;
}

int yett_file_stat_begin(struct yett_sandbox *sandbox, const char *path, unsigned flags,
                         struct yett_operation **ret_operation, struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r = begin_with(sandbox, FILE_STAT, path, flags, YETT_FILE_FOLLOW, FILE_FOLLOW, &call,
	                   &request, error);

	if (r)
		return r;
	call->last = MESSAGE_FILE_ENTRIES;
	return send_it(sandbox, call, ret_operation, error);
}

int yett_file_stat(struct yett_sandbox *sandbox, const char *path, unsigned flags,
                   struct yett_file_info **ret_info, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;
	int r = operation_run(yett_file_stat_begin(sandbox, path, flags, &operation, error),
	                      &operation, error);

	if (r == 0)
		*ret_info = steal_ptr(&operation->info);
	return r;
}

static int take_stat(struct file_call *call, struct yett_error *error)
{
	const struct message *message = &call->worker.channel->message;
	_cleanup_(memory_freep) struct yett_file_info *info = memory_new(sizeof *info);

	if (!info)
		return libclient_files_no_memory(error);
	if (message->body.file_entries.entries_count != 1 ||
	    !get_info(message, message->body.file_entries.entries, info))
		return channel_violation(call->worker.channel, YETT_R_RANGE, error,
		                         "yett-files reported another file");
	(void)snprintf(info->path, sizeof info->path, "%s", call->path);
	call->base.info = steal_ptr(&info);
	return 0;
}

/*
 * Passes the entries of one message to `each`. Returns -EAGAIN to wait for the next message, 0 if
 * `each` stopped the listing, or a code.
 */
static int report_entries(struct file_call *call, struct yett_error *error)
{
	const struct message *message = &call->worker.channel->message;
	const struct message_file_entries *body = &message->body.file_entries;
	_cleanup_(memory_freep) struct yett_file_info *info = memory_new(sizeof *info);
	bool has_slash = call->path[strlen(call->path) - 1] == '/';

	if (!info)
		return libclient_files_no_memory(error);
	for (uint32_t i = 0; i < body->entries_count; i++) {
		const char *name = message_text(message, body->entries[i].name);

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    !get_info(message, &body->entries[i], info))
			return channel_violation(call->worker.channel, YETT_R_RANGE, error,
			                         "yett-files listed what is no name of a file");
		if (call->reported == call->max)
			return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
			                 "the directory has more than %zu entries", call->max);
		call->reported++;
		(void)snprintf(info->path, sizeof info->path, "%s%s%s", call->path,
		               has_slash ? "" : "/", name);
		if (call->each(info, call->data) != 0)
			return 0;
	}
	return -EAGAIN;
}

static int check_opened(const struct file_call *call, int fd, struct yett_error *error)
{
	if (!call->listens)
		return check_descriptor(fd, call->flags, error);
	if (sockets_is(fd, AF_UNIX, true))
		return 0;
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                 "the sandbox answered with something else than a socket that listens");
}

/*
 * Handles one message. Returns 0 when the operation is complete, -EAGAIN when more messages follow,
 * or a code.
 */
static int libclient_files_take(struct file_call *call, struct yett_error *error)
{
	struct worker *worker = &call->worker;
	uint32_t kind_of = worker->channel->message.kind;

	int r;

	if (call->each && kind_of == MESSAGE_FILE_ENTRIES)
		return report_entries(call, error);
	if (call->base.mounts && kind_of == MESSAGE_FILE_MOUNTS) {
		r = mounted_take(&worker->channel->message, call->base.mounts, error);
		return r ? r : -EAGAIN;
	}
	if (kind_of != (uint32_t)call->last) {
		worker->is_over = false;
		return channel_violation(worker->channel, YETT_R_KIND, error,
		                         "yett-files answered with what was not asked");
	}
	if (kind_of == MESSAGE_FILE_ENTRIES)
		return take_stat(call, error);
	if (kind_of == MESSAGE_FILE_OPENED) {
		int fd = steal_fd(&worker->channel->frame.fds[0]);

		r = check_opened(call, fd, error);
		if (r)
			discard_fd(fd); /* closing what the sandbox made may block */
		else
			call->base.fd = fd;
		return r;
	}
	return 0;
}

static int libclient_files_step(struct yett_operation *base, struct yett_error *error)
{
	struct file_call *call = (struct file_call *)base;
	int r;

	do {
		r = worker_take(&call->worker);
		if (r == -EAGAIN)
			break;
		if (r) {
			*error = call->worker.error;
			return r;
		}
		base->deadline = channel_deadline(WORKER_TIMEOUT_MS);
		r = libclient_files_take(call, error);
	} while (r == -EAGAIN);
	if (r == -EAGAIN && channel_time_left(base->deadline) == 0)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
		                 "the file operation was not finished in time and was ended");
	return r;
}

int yett_file_list_begin(struct yett_sandbox *sandbox, const char *path, size_t max,
                         yett_file_fn each, void *data, struct yett_operation **ret_operation,
                         struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r = libclient_files_begin(sandbox, FILE_LIST, path, &call, &request, error);

	if (r)
		return r;
	request->entries_max = call->max = max;
	call->each = each;
	call->data = data;
	return send_it(sandbox, call, ret_operation, error);
}

int yett_file_list(struct yett_sandbox *sandbox, const char *path, size_t max, yett_file_fn each,
                   void *data, struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;

	return operation_run(
		yett_file_list_begin(sandbox, path, max, each, data, &operation, error), &operation,
		error);
}

int yett_file_mkdir_begin(struct yett_sandbox *sandbox, const char *path, unsigned mode,
                          unsigned flags, struct yett_operation **ret_operation,
                          struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r;

	if (mode > 0777)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%o is no mode of a directory", mode);
	r = begin_with(sandbox, FILE_MKDIR, path, flags, YETT_FILE_PARENTS, FILE_RECURSIVE, &call,
	               &request, error);
	if (r)
		return r;
	request->mode = mode;
	return send_it(sandbox, call, ret_operation, error);
}

int yett_file_mkdir(struct yett_sandbox *sandbox, const char *path, unsigned mode, unsigned flags,
                    struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;

	return operation_run(yett_file_mkdir_begin(sandbox, path, mode, flags, &operation, error),
	                     &operation, error);
}

int yett_file_rename_begin(struct yett_sandbox *sandbox, const char *from, const char *to,
                           unsigned flags, struct yett_operation **ret_operation,
                           struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r = libclient_files_check_path(to, error);

	if (r == 0)
		r = begin_with(sandbox, FILE_RENAME, from, flags, YETT_FILE_REPLACE, FILE_REPLACE,
		               &call, &request, error);
	if (r)
		return r;
	r = channel_put_text(call->worker.channel, to, MESSAGE_PATH_MAX, "the new path",
	                     &request->target, error);
	if (r) {
		yett_operation_free(&call->base);
		return r;
	}
	return send_it(sandbox, call, ret_operation, error);
}

int yett_file_rename(struct yett_sandbox *sandbox, const char *from, const char *to, unsigned flags,
                     struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;

	return operation_run(yett_file_rename_begin(sandbox, from, to, flags, &operation, error),
	                     &operation, error);
}

int yett_file_remove_begin(struct yett_sandbox *sandbox, const char *path, unsigned flags,
                           struct yett_operation **ret_operation, struct yett_error *error)
{
	struct message_file *request;
	struct file_call *call;
	int r = begin_with(sandbox, FILE_REMOVE, path, flags, YETT_FILE_RECURSIVE, FILE_RECURSIVE,
	                   &call, &request, error);

	return r ? r : send_it(sandbox, call, ret_operation, error);
}

int yett_file_remove(struct yett_sandbox *sandbox, const char *path, unsigned flags,
                     struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;

	return operation_run(yett_file_remove_begin(sandbox, path, flags, &operation, error),
	                     &operation, error);
}

int yett_sandbox_mounts_begin(struct yett_sandbox *sandbox, struct yett_operation **ret_operation,
                              struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_mount_list *list = mounted_new();
	struct message_file *request;
	struct file_call *call;
	int r = list ? libclient_files_begin(sandbox, FILE_MOUNTS, "/", &call, &request, error)
	             : libclient_files_no_memory(error);

	if (r)
		return r;
	call->base.mounts = steal_ptr(&list);
	return send_it(sandbox, call, ret_operation, error);
}

int yett_sandbox_mounts(struct yett_sandbox *sandbox, struct yett_mount_list **ret_list,
                        struct yett_error *error)
{
	_cleanup_(operation_freep) struct yett_operation *operation = NULL;
	int r = operation_run(yett_sandbox_mounts_begin(sandbox, &operation, error), &operation,
	                      error);

	if (r == 0)
		*ret_list = yett_operation_take_mounts(operation);
	return r;
}
