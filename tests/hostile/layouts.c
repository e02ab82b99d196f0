/* SPDX-License-Identifier: Apache-2.0 */
/* See layouts.h. As root, in the test's process. */
#include "tests/hostile/layouts.h"
#include "helper/plan/plan.h"
#include "helper/setup/registry.h"
#include "helper/supervisor/supervisor.h"
#include "programs/decide/decider/plan_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* --- faults.h --- */

void *faults_open(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	void *faults = fd < 0 || ftruncate(fd, sizeof(struct faults)) < 0
	                       ? MAP_FAILED
	                       : mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE,
	                              MAP_SHARED, fd, 0);

	return faults == MAP_FAILED ? NULL : faults;
}

/* `armed` comes last, since a helper may be running. */
void faults_set(struct faults *faults, const char *name, uint32_t action, int32_t error,
                bool is_recording)
{
	atomic_store(&faults->armed, 0);
	atomic_store(&faults->reached, 0);
	atomic_store(&faults->go, 0);
	atomic_store(&faults->log_count, 0);
	memset(faults->name, 0, sizeof faults->name);
	(void)snprintf(faults->name, sizeof faults->name, "%s", name);
	faults->action = action;
	faults->error = error;
	faults->pid = 0;
	faults->is_recording = is_recording;
	atomic_store(&faults->armed, action != ACTION_NONE);
}

unsigned faults_reached(const struct faults *faults)
{
	return atomic_load(&faults->reached);
}

/* No /proc tells init's pid: it holds a lock. fcntl_locking(2) */
int faults_holder(const struct faults *faults, const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
	_cleanup_fd_ int fd = faults->pid ? -1 : open(path, O_RDWR | O_CLOEXEC);

	if (faults->pid)
		return faults->pid;
	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

void faults_go(struct faults *faults)
{
	atomic_store(&faults->go, 1);
}

const char *faults_logged(const struct faults *faults, unsigned i)
{
	return i < atomic_load(&faults->log_count) && i < FAULTS_LOG_SIZE ? faults->log[i] : NULL;
}

/* --- of the helper --- */

const char *step_name(unsigned kind)
{
	return kind < PLAN_STEP_KINDS ? plan_name_step((enum plan_step_kind)kind) : NULL;
}

int64_t record_uid(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct record record;

	return fd >= 0 && pread(fd, &record, sizeof record, 0) >=
	                               (ssize_t)offsetof(struct record, cgroup)
	               ? (int64_t)record.uid
	               : -1;
}

size_t supervisor_request(const char *id, uint32_t action, unsigned char *bytes, size_t size)
{
	struct supervisor_request request = {.action = action, .states = UINT32_MAX};

	(void)snprintf(request.id, sizeof request.id, "%s", id);
	if (size < sizeof request)
		return 0;
	memcpy(bytes, &request, sizeof request);
	return sizeof request;
}
