/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See capture.h. Unprivileged: uses only the pipe and the memfd that it made, and splices dropped
 * data into descriptor 0, which is /dev/null in init.
 */
#include "programs/inside/init/capture.h"

#include "base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef F_SEAL_FUTURE_WRITE /* since Linux 5.1; some C libraries lack the constant */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static const struct capture capture_none = {.pipe = -1, .memory = -1};

static void capture_unmap(struct capture *capture)
{
	if (capture->bytes)
		(void)munmap(capture->bytes, capture->limit);
	capture->bytes = NULL;
}

void capture_close(struct capture *capture)
{
	if (capture->is_kept) {
		capture_unmap(capture);
		(void)fd_close(capture->pipe);
		(void)fd_close(capture->memory);
	}
	*capture = capture_none;
}

int capture_open(struct capture *capture, size_t limit, int *ret_write_end)
{
	int ends[2], r;

	*capture = capture_none;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/*
	 * The pipe belongs to init, and the command has another id. Without this mode the command
	 * could write to its stdout but not open /dev/stdout. The mode is safe because an unnamed
	 * pipe can be found only through a process that holds it. proc_pid_fd(5)
	 */
	if (fchmod(ends[1], 0622) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		r = -errno;
		(void)fd_close(ends[0]);
		(void)fd_close(ends[1]);
		return r;
	}
	capture->is_kept = true;
	capture->pipe = ends[0];
	capture->limit = limit;
	*ret_write_end = ends[1];
	return 0;
}

/*
 * Makes a memfd of `limit` bytes, which uses memory only for pages that are written, and the only
 * mapping that can write to it. MADV_DONTFORK keeps the mapping out of children, which have no use
 * for it.
 */
static bool capture_allocate(struct capture *capture)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
	_cleanup_fd_ int memory = memfd_create("yett-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *bytes;

	if (memory < 0 || ftruncate(memory, (off_t)capture->limit) < 0)
		return false;
	bytes = mmap(NULL, capture->limit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
	             memory, 0);
	if (bytes == MAP_FAILED)
		return false;
	if (madvise(bytes, capture->limit, MADV_DONTFORK) < 0 ||
	    fcntl(memory, F_ADD_SEALS, seals) < 0) {
		(void)munmap(bytes, capture->limit);
		return false;
	}
	capture->bytes = bytes;
	capture->memory = steal_fd(&memory);
	return true;
}

/* Stops keeping output. */
static void capture_truncate(struct capture *capture)
{
	capture_unmap(capture);
	capture->truncated = true;
}

size_t capture_available(const struct capture *capture, size_t *ret_wanted)
{
	size_t space = capture->truncated ? 0 : capture->limit - capture->length;
	int available = 0;

	if (capture->pipe >= 0 && ioctl(capture->pipe, FIONREAD, &available) < 0)
		available = 0;
	*ret_wanted = (size_t)available < space ? (size_t)available : space;
	return (size_t)available;
}

/*
 * Reads into the mapping, then drops the pages that were read from the mapping, so that init's
 * resident memory stays small. Their contents stay in the memfd.
 */
static ssize_t capture_keep(struct capture *capture, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = capture->length / page * page;
	ssize_t n = read(capture->pipe, capture->bytes + capture->length, size);

	if (n > 0) {
		capture->length += (size_t)n;
		(void)madvise(capture->bytes + from, capture->length - from, MADV_DONTNEED);
	}
	return n;
}

static ssize_t capture_drop(struct capture *capture, size_t size)
{
	ssize_t n = splice(capture->pipe, NULL, STDIN_FILENO, NULL, size, SPLICE_F_NONBLOCK);

	if (n > 0 && !capture->truncated)
		capture_truncate(capture);
	return n;
}

/* Returns 0 at end of file; -1 with EAGAIN while the pipe is empty. */
static ssize_t capture_step(struct capture *capture, size_t most, size_t *room)
{
	size_t space = capture->truncated ? 0 : capture->limit - capture->length;
	ssize_t n;

	if (space > *room)
		space = *room;
	if (space > 0 && !capture->bytes && !capture_allocate(capture)) {
		capture_truncate(capture);
		space = 0;
	}
	if (space == 0)
		return capture_drop(capture, most);
	n = capture_keep(capture, space < most ? space : most);
	if (n > 0)
		*room -= (size_t)n;
	/* The memfd cannot get another page of memory. */
	if (n < 0 && errno == EFAULT) {
		capture_truncate(capture);
		return capture_drop(capture, most);
	}
	return n;
}

/* Uses poll(2), not read(2): a byte may have arrived after capture_available() was called. */
static bool capture_is_at_end(const struct capture *capture)
{
	struct pollfd there = {.fd = capture->pipe, .events = POLLIN};

	return poll(&there, 1, 0) > 0 && !(there.revents & POLLIN);
}

void capture_read(struct capture *capture, size_t available, size_t room)
{
	if (available == 0 && capture->pipe >= 0 && capture_is_at_end(capture))
		capture->pipe = fd_close(capture->pipe);
	while (capture->pipe >= 0 && available > 0) {
		ssize_t n = capture_step(capture, available, &room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN)
				capture->pipe = fd_close(capture->pipe);
			return;
		}
		available -= (size_t)n;
	}
}

void capture_finish(struct capture *capture)
{
	if (!capture->is_kept)
		return;
	capture->pipe = fd_close(capture->pipe);
	capture_unmap(capture);
}
