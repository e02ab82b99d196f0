/* SPDX-License-Identifier: Apache-2.0 */
/* See audit_program.h. */
#include "helper/listener/audit_program.h"
#include "base/clock.h"
#include "base/log.h"
#include "helper/privilege/program.h"
#include "helper/setup/audit.h"

#include <inttypes.h>
#include <stdio.h>

static int listener_audit_program_start(const struct setup_host *host, int listening,
                                        struct program *ret_program)
{
	const struct policy *policy = host->policy;
	char id[16], fd[16], most[24], user[24];
	char *argv[] = {(char *)"yett-audit", id, fd, most, user, policy->audit_dir, NULL};

	(void)snprintf(id, sizeof id, "%u", policy->ids_first + IDMAP_ROLE_AUDIT);
	(void)snprintf(fd, sizeof fd, "%d", listening);
	(void)snprintf(most, sizeof most, "%" PRIu64, policy->audit_max_bytes);
	(void)snprintf(user, sizeof user, "%" PRIu64, policy->audit_user_bytes);
	/* The listener reaps it like all its children. */
	return program_start(host->libexec, argv, &listening, 1, ret_program);
}

void audit_program_start(struct audit_program *audit, const struct setup_host *host)
{
	bool is_early = audit->socket < 0 && clock_now_ms() - audit->started_ms < AUDIT_RETRY_MS,
	     is_wanted = host->policy->audit != POLICY_AUDIT_OFF;
	struct program program = PROGRAM_NONE;
	int r = 0;

	audit->socket = fd_close(audit->socket);
	if (is_early || !is_wanted || audit->listening < 0) {
		audit->listening = fd_close(audit->listening);
		/* Also removes the socket of a listener that was killed. */
		registry_unlisten(&host->reserve, AUDIT_SOCKET);
	}
	if (is_early || !is_wanted)
		return;
	audit->started_ms = clock_now_ms();
	if (audit->listening < 0)
		r = audit->listening = registry_listen(&host->reserve, AUDIT_SOCKET);
	if (r >= 0)
		r = listener_audit_program_start(host, audit->listening, &program);
	audit->socket = program.socket;
	if (r >= 0)
		fd_close(audit_report(host, &(struct audit_record){.kind = AUDIT_POLICY},
		                      &host->policy->memory, 1));
	else if (!audit->has_failed)
		log_line(LOG_LEVEL_ERROR, "yett-audit cannot be started: %s", strerror(-r));
	audit->has_failed = r < 0;
}
