/* SPDX-License-Identifier: Apache-2.0 */
/* See freeze.h. */
#include "cli/changes/freeze.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/output.h"

#define LOCK "copying" /* in the directory of the stores, whose names are ids */

/*
 * Locks one byte of a common file for each sandbox, at an offset that is the sandbox's id. Separate
 * lock files would be left over when their sandboxes are gone. fcntl(2), "Open file description
 * locks"
 */
static int freeze_take_lock(const char *works, const char *sandbox, int *ret_lock,
                            struct yett_error *error)
{
	struct flock byte = {.l_type = F_WRLCK,
	                     .l_whence = SEEK_SET,
	                     .l_start = (off_t)(strtoull(sandbox, NULL, 16) & INT64_MAX),
	                     .l_len = 1};
	_cleanup_fd_ int lock = -1;
	char path[4096 + sizeof LOCK];

	(void)snprintf(path, sizeof path, "%s/" LOCK, works);
	lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (lock >= 0 && fcntl(lock, F_OFD_SETLK, &byte) == 0) {
		*ret_lock = steal_fd(&lock);
		return 0;
	}
	if (lock >= 0 && (errno == EAGAIN || errno == EACCES)) {
		output_note("waiting: the sandbox %s is being copied", sandbox);
		if (fcntl(lock, F_OFD_SETLKW, &byte) == 0) {
			*ret_lock = steal_fd(&lock);
			return 0;
		}
	}
	return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot lock %s: %m",
	                 path);
}

/* YETT_E_NOT_FOUND: the sandbox has ended. */
static int is_paused(const struct freeze *still, bool *ret_is_paused, struct yett_error *error)
{
	struct yett_sandbox_status *status = NULL;
	int r = yett_sandbox_inspect(still->connection, still->sandbox, &status, error);

	*ret_is_paused = r == 0 && status->state == YETT_STATE_PAUSED;
	yett_free(status);
	return r;
}

int freeze_begin(struct yett_connection *connection, const char *works, const char *sandbox,
                 struct freeze *ret_still, struct yett_error *error)
{
	struct freeze still = {.connection = connection, .sandbox = sandbox};
	_cleanup_fd_ int lock = -1;
	int r = freeze_take_lock(works, sandbox, &lock, error);

	if (r == 0)
		r = is_paused(&still, &still.was_paused, error);
	if (r == 0 && !still.was_paused)
		r = yett_sandbox_pause(connection, sandbox, error);
	if (r)
		return r;
	still.lock = steal_fd(&lock);
	*ret_still = still;
	return 0;
}

static int went_on(const struct freeze *still, struct yett_error *error)
{
	(void)error_set(
		error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		"the sandbox %s was resumed (yett resume) or ended while it was copied: the copy would be inconsistent",
		still->sandbox);
	error_mend(error, "try again, and leave the sandbox paused until then");
	return YETT_E_NOT_RUNNING;
}

/*
 * Thaws the sandbox. Called even if the state of the sandbox is unknown: for a running sandbox, the
 * request fails and changes nothing.
 */
static int freeze_go_on(const struct freeze *still, struct yett_error *error)
{
	int r = yett_sandbox_resume(still->connection, still->sandbox, error);

	if (r && error->code != YETT_E_NOT_RUNNING)
		error_mend(error, "the sandbox may still be paused: yett resume %s",
		           still->sandbox);
	return r;
}

int freeze_end(struct freeze *still, bool *ret_is_whole, struct yett_error *error)
{
	struct yett_error why = {0};
	int r = is_paused(still, ret_is_whole, &why), late = 0;

	if (!still->was_paused && (*ret_is_whole || (r && r != YETT_E_NOT_FOUND)))
		late = freeze_go_on(still, error);
	still->lock = fd_close(still->lock);
	if (late == YETT_E_NOT_RUNNING && !*ret_is_whole)
		return went_on(still, error);
	if (late || *ret_is_whole)
		return late;
	if (r == 0 || r == YETT_E_NOT_FOUND)
		return went_on(still, error);
	*error = why;
	return r;
}
