/* SPDX-License-Identifier: Apache-2.0 */
/* See agent_new.h. */
#include "agent/agent_new.h"

#include "agent/event_log.h"
#include "agent/execution.h"
#include "agent/handle.h"
#include "agent/runner/driver.h"
#include "agent/stores.h"

static int read_settings(struct agent *agent, const json_t *given, struct yett_error *error)
{
	json_t *may = NULL;
	int r = settings_load(&agent->settings, &may, error);

	if (r == 0 && given && json_object_update(may, (json_t *)given) < 0)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		              "no memory for the settings");
	if (r == 0)
		r = bounds_make(
			&agent->bounds, may,
			(const char *const[]){agent->settings.light, agent->settings.strong},
			error);
	json_decref(may);
	return r;
}

int agent_new(const json_t *given, struct agent **ret_agent, struct yett_error *error)
{
	struct agent *agent = calloc(1, sizeof *agent);
	int r;

	if (!agent)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory");
	r = read_settings(agent, given, error);
	if (r == 0 && sd_event_new(&agent->loop) < 0)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no event loop can be had");
	agent->handles = r == 0 ? handles_new() : NULL;
	agent->on_read = handles_look;
	agent->executions = r == 0 ? executions_new() : NULL;
	agent->event_log = r == 0 ? event_log_new(agent) : NULL;
	agent->drivers = r == 0 ? drivers_new() : NULL;
	agent->stores = r == 0 ? stores_new(agent) : NULL;
	if (r == 0 && (!agent->handles || !agent->executions || !agent->event_log ||
	               !agent->drivers || !agent->stores))
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory");
	if (r != 0) {
		agent_free(agent);
		return r;
	}
	*ret_agent = agent;
	return 0;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	executions_free(agent->executions);
	drivers_free(agent->drivers);
	event_log_free(agent->event_log);
	handles_free(agent->handles);
	agent->link = agent_link_unref(agent->link);
	/* The sandboxes of these stores have been asked to end by the lines above. */
	stores_free(agent->stores);
	(void)sd_event_unref(agent->loop);
	bounds_free(&agent->bounds);
	settings_free(&agent->settings);
	free(agent);
}
