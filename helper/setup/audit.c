/* SPDX-License-Identifier: Apache-2.0 */
/* See audit.h. */
#include "helper/setup/audit.h"
#include "base/closing.h"
#include "base/log.h"
#include "helper/setup/setup.h"
#include "protocol/frame.h"

#define ANSWER_MS 10000 /* longer than a disk takes to write */
#define TAKEN_MS  1000

int audit_report(const struct setup_host *host, const struct audit_record *record, const int *fds,
                 size_t count)
{
	_cleanup_fd_ int fd = -1;
	int r;

	if (host->rootless || host->policy->audit == POLICY_AUDIT_OFF)
		return -ENOENT;
	fd = registry_connect(&host->reserve, AUDIT_SOCKET);
	if (fd < 0)
		return fd == -ENOENT ? -ECONNREFUSED : fd;
	r = frame_send(fd, record, sizeof *record, fds, count, MSG_DONTWAIT);
	return r < 0 ? r : steal_fd(&fd);
}

int audit_report_of(struct setup *setup, struct audit_record *record, const int *fds, size_t count)
{
	int r;

	memcpy(record->id, setup->record.id, sizeof record->id);
	record->sandbox = setup->record;
	cgroup_read_usage(&setup->cgroup,
	                  record->kind == AUDIT_ENDED && setup->host->policy->audit ? UINT32_MAX
	                                                                            : 0,
	                  &record->usage);
	cgroup_usage_since(&setup->record.before, &record->usage);
	r = audit_report(setup->host, record, fds, count);
	if (record->kind == AUDIT_CREATE)
		setup->record.is_audited = r >= 0;
	return r;
}

void audit_settle(struct setup *setup)
{
	struct yett_error unused;

	if (setup->audit >= 0 && audit_await(setup->host, setup->audit, &unused) == 0)
		setup->record.is_audited = false;
	setup->audit = -1;
}

int audit_await(const struct setup_host *host, int socket, struct yett_error *error)
{
	int32_t answer = ETIMEDOUT;

	if (socket == -ENOENT)
		return 0;
	if (socket < 0)
		answer = -socket;
	else if (fd_poll(socket, POLLIN, ANSWER_MS) > 0 &&
	         recv(socket, &answer, sizeof answer, MSG_DONTWAIT) != sizeof answer)
		answer = ECONNRESET;
	closing_fd(socket);
	if (answer == 0)
		return 0;
	log_line(LOG_LEVEL_WARNING, "no audit record of the request could be written: %s",
	         strerror(answer));
	if (host->policy->audit == POLICY_AUDIT_REQUIRED)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
		                 "the policy requires an audit record, which cannot be written: %s",
		                 strerror(answer));
	return -answer;
}

void audit_leave(int socket)
{
	(void)fd_poll(socket, POLLIN, socket < 0 ? 0 : TAKEN_MS);
	closing_fd(socket);
}
