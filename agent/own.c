/* SPDX-License-Identifier: Apache-2.0 */
/* See own.h. */
#include "agent/own.h"

#include <string.h>

bool own_is(const struct agent *agent, const struct yett_sandbox_status *status)
{
	if (agent->bounds.has_all_sandboxes)
		return true;
	/* Root sees the sandboxes of all users, and a label is not secret: any user may set it. */
	if (status->uid != geteuid() || status->info->network > agent->bounds.network)
		return false;
	for (const char *const *label = status->labels; *label; label++)
		if (strcmp(*label, agent->bounds.label) == 0)
			return true;
	return false;
}

int own_check(const struct agent *agent, const struct yett_sandbox_status *status,
              struct yett_error *error)
{
	if (own_is(agent, status))
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "the sandbox %.64s was not made by this agent",
	                *status->name ? status->name : status->info->id);
	error_mend(error, "--sandboxes all " BOUNDS_WHERE);
	return YETT_E_PERMISSION_DENIED;
}

int own_find(struct agent *agent, const char *id_or_name, char ret_id[YETT_ID_SIZE],
             struct yett_error *error)
{
	struct yett_connection *connection;
	struct yett_sandbox_status *status;
	struct yett_error reason;
	unsigned tries = 0;
	int r;

	do {
		r = agent_connect(agent, &connection, &reason);
		if (r == 0)
			r = yett_sandbox_inspect(connection, id_or_name, &status, &reason);
	} while (agent_is_to_repeat(agent, r, &reason, &tries));
	if (r != 0) {
		*error = reason;
		return r;
	}
	(void)strcpy(ret_id, status->info->id);
	r = own_check(agent, status, error);
	yett_free(status);
	return r;
}
