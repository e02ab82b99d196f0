/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-files NUMBER: serves the one request that arrives on socket NUMBER, and exits. See files.h.
 *
 * Inside, it runs under the same uid as the sandbox's commands, so that any command can kill it;
 * that ends one operation only. It is not dumpable, so that no command can inspect it with
 * ptrace(2) or make it do what was not requested.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "programs/inside/files/files.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

#define OUTSIDE_MEMORY_MAX (512UL << 20)

static int (*const operations[])(struct job *job) = {
	[FILE_OPEN] = operations_open,
	[FILE_STAT] = operations_stat,
	[FILE_LIST] = operations_list,
	[FILE_MKDIR] = operations_mkdir,
	[FILE_RENAME] = operations_rename,
	[FILE_REMOVE] = operations_remove,
	[FILE_PACK] = pack_run,
	[FILE_UNPACK] = unpack_run,
	[FILE_LISTEN] = operations_listen,
	[FILE_MOUNTS] = operations_mounts,
};

ssize_t stream_read(const struct job *job, void *bytes, size_t size)
{
	struct pollfd entry = {.fd = job->stream, .events = POLLIN};
	ssize_t n;

	for (;;) {
		n = read(job->stream, bytes, size);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n < 0 ? -errno : n;
		if (poll(&entry, 1, STREAM_TIMEOUT_MS) == 0)
			return -ETIMEDOUT;
	}
}

int stream_write(const struct job *job, const void *bytes, size_t size)
{
	struct pollfd entry = {.fd = job->stream, .events = POLLOUT};
	const uint8_t *at = bytes;

	while (size > 0) {
		ssize_t n = write(job->stream, at, size);

		if (n >= 0) {
			at += n;
			size -= (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			return -errno;
		} else if (poll(&entry, 1, STREAM_TIMEOUT_MS) == 0) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

/*
 * Closes every inherited descriptor except the socket, since none is of use. Standard streams other
 * than the socket become /dev/null. Also makes the process undumpable.
 */
static int files_keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (fd != socket && fd != null)
			(void)dup2(null, fd);
	fd_close_except(&socket, 1);
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/*
 * Outside, our parent is the process that requested the copy, and its call lasts as long as we do:
 * when the parent is killed, the kernel kills us too. Inside, our parent is init; there the pipe
 * ends instead. PR_SET_PDEATHSIG(2const)
 */
static int go_with_asker(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

/* The client may have been killed before go_with_asker(), while its request waits in the socket. */
static bool is_asker_gone(int socket)
{
	struct pollfd entry = {.fd = socket};

	return poll(&entry, 1, 0) > 0 && (entry.revents & POLLHUP);
}

/*
 * Receives the client's packet. Refuses descriptors other than the stream and the directory of a
 * copy. Returns 0, -errno, or a positive value with *error filled.
 */
static int files_receive(int socket, struct frame *frame, struct message *message, struct job *job,
                         struct yett_error *error)
{
	struct envelope envelope;
	size_t head;
	bool copies;
	int r = frame_receive(socket, frame, 0);

	if (r <= 0)
		return r < 0 ? r : -EPIPE;
	r = envelope_read(frame->bytes, frame->length, frame->fd_count, &envelope, error);
	if (r != 0)
		return r;
	job->sequence = envelope.sequence;
	if (envelope.kind != MESSAGE_FILE)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_KIND,
		                 "yett-files is asked for files only");
	head = envelope_size(envelope.kind);
	r = message_decode(envelope.kind, frame->bytes + head, envelope.body_length, message,
	                   error);
	if (r != 0)
		return r;
	copies = message->body.file.operation == FILE_PACK ||
	         message->body.file.operation == FILE_UNPACK;
	if (frame->fd_count != 0 && !copies)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "this operation takes no descriptor");
	if (copies && (frame->fd_count < 1 || frame->fd_count > 2))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "a copy takes a pipe, and a directory");
	if (frame->fd_count > 0)
		job->stream = steal_fd(&frame->fds[0]);
	if (frame->fd_count > 1)
		job->directory = steal_fd(&frame->fds[1]);
	job->request = message;
	job->path = message_text(message, message->body.file.path);
	job->target = message_text(message, message->body.file.target);
	return 0;
}

/*
 * Outside: makes the pipe non-blocking, limits memory (an archive may contain a list of holes of
 * any length), and confines the process to one directory.
 */
static int restrict_outside(const struct job *job)
{
	const struct rlimit memory = {OUTSIDE_MEMORY_MAX, OUTSIDE_MEMORY_MAX};

	/*
	 * Where core_pattern pipes to a program, which runs as root, the kernel runs it even if the
	 * limit is 0, but not if the limit is 1. Here the memory to dump would contain a hostile
	 * archive. core(5)
	 */
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
	if (fcntl(job->stream, F_SETFL, O_NONBLOCK) < 0 || setrlimit(RLIMIT_AS, &memory) < 0)
		return -errno;
	return confine(job->directory, job->request->body.file.operation == FILE_UNPACK);
}

static int files_serve(struct job *job, struct frame *frame, struct message *request)
{
	struct yett_error error = {0};
	int r = files_receive(job->socket, frame, request, job, &error);

	frame_close_fds(frame);
	if (is_asker_gone(job->socket))
		return -EPIPE;
	if (r > 0)
		return answer_error(job, &error);
	if (r < 0)
		return r;
	if (job_is_outside(job)) {
		r = restrict_outside(job);
		if (r < 0)
			return answer_failure(job, "be confined to the directory of", job->path,
			                      -r);
	}
	return operations[request->body.file.operation](job);
}

int main(int argc, char *argv[])
{
	struct job job = {
		.socket = argc == 2 ? argv[1][0] - '0' : -1, .stream = -1, .directory = -1};
	_cleanup_free_ struct message *request = malloc(sizeof *request),
				      *answer = malloc(sizeof *answer);
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	int r;

	if (job.socket < 0 || job.socket > 9 || !request || !answer || !frame ||
	    go_with_asker() < 0 || files_keep_only(job.socket) < 0)
		return 2;
	(void)prctl(PR_SET_NAME, "yett-files", 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* report EFBIG instead of dying */
	(void)umask(0);                 /* create files with the modes that were requested */
	job.answer = answer;
	answer->kind = 0;
	r = files_serve(&job, frame, request);
	fd_close(job.stream);
	fd_close(job.directory);
	return r < 0;
}
