/* SPDX-License-Identifier: Apache-2.0 */
/* See manager.h. */
#include "agent/manager.h"

#include <stdio.h>
#include <string.h>

#include "agent/execution.h"
#include "agent/sandbox_request.h"
#include "base/clock.h"

#define KNOWN_MS 60000u

const struct executor executors[] = {
	{"light-sandbox", "light", MANAGER_SANDBOX},
	{"light-process", "light", MANAGER_PROCESS},
	{"strong-sandbox", "strong", MANAGER_SANDBOX},
	{"strong-process", "strong", MANAGER_PROCESS},
	{"image", "strong", MANAGER_IMAGE},
	{0},
};

static const char *const how_names[] = {
	[MANAGER_PROCESS] = "process", [MANAGER_SANDBOX] = "sandbox", [MANAGER_IMAGE] = "image"};

enum { EXECUTORS = ARRAY_SIZE(executors) - 1 };

struct known {
	uint64_t until_ms; /* 0: not checked yet */
	struct yett_error error;
};

struct kept_handle {
	char id[YETT_ID_SIZE]; /* empty: none */
	char profile[YETT_NAME_SIZE];
};

struct noted {
	char id[EXECUTION_ID_SIZE];
	uint8_t executor;
};

struct manager {
	struct agent *agent;
	struct known known[EXECUTORS];
	struct kept_handle kept[EXECUTORS];
	struct noted noted[EXECUTIONS_MAX]; /* ring buffer */
	size_t noted_count;
};

struct manager *manager_new(struct agent *agent)
{
	struct manager *manager = calloc(1, sizeof *manager);

	if (manager)
		manager->agent = agent;
	return manager;
}

void manager_free(struct manager *manager)
{
	free(manager);
}

const char *manager_how_name(enum manager_how how)
{
	return how_names[how];
}

static int manager_ask(struct manager *manager, const struct executor *executor,
                       struct yett_error *error)
{
	json_t *asked, *plan = NULL;
	int r;

	if (executor->how == MANAGER_IMAGE)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"Yett has no images yet: sandboxes have the programs of the host, and what is shared with them");
	if (!(asked = json_pack("{s:s}", "tier", executor->tier)))
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory");
	r = sandbox_request_plan(manager->agent, asked, &plan, error);
	json_decref(asked);
	json_decref(plan);
	return r;
}

int manager_support(struct manager *manager, const struct executor *executor,
                    struct yett_error *error)
{
	struct known *known = &manager->known[executor - executors];
	uint64_t now = clock_now_ms();

	if (now >= known->until_ms) {
		known->error = (struct yett_error){0};
		/* The cached result is in known->error. */
		(void)manager_ask(manager, executor, &known->error);
		known->until_ms = now + KNOWN_MS;
	}
	*error = known->error;
	return (int)error->code;
}

void manager_forget(struct manager *manager)
{
	for (size_t i = 0; i < EXECUTORS; i++)
		manager->known[i].until_ms = 0;
}

static bool manager_fits(const struct executor *executor, const struct manager_need *need)
{
	if (need->executor)
		return strcmp(need->executor, executor->name) == 0;
	if (need->tier && strcmp(need->tier, executor->tier) != 0)
		return false;
	if (need->image)
		return executor->how == MANAGER_IMAGE;
	return executor->how == (need->is_kept ? MANAGER_PROCESS : MANAGER_SANDBOX);
}

int manager_choose(struct manager *manager, const struct manager_need *need,
                   const struct executor **ret_executor, struct yett_error *error)
{
	bool is_any = false;

	for (const struct executor *executor = executors; executor->name; executor++) {
		if (!manager_fits(executor, need))
			continue;
		is_any = true;
		if (manager_support(manager, executor, error) != 0)
			continue;
		*ret_executor = executor;
		return 0;
	}
	if (is_any)
		return (int)error->code; /* the error of the last matching executor */
	if (need->executor)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE, "executor not found: %.64s",
		                 need->executor);
	return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                 "no executor of tier %.64s fits the request",
	                 need->tier ? need->tier : "light");
}

static const char *profile_of(const struct manager *manager, const struct executor *executor)
{
	return strcmp(executor->tier, "strong") == 0 ? manager->agent->settings.strong
	                                             : manager->agent->settings.light;
}

static void end_handle(struct manager *manager, struct kept_handle *kept)
{
	struct yett_connection *connection;

	/*
	 * Without a connection there is nothing to end: a sandbox without a name ends with its
	 * connection.
	 */
	if (agent_connect(manager->agent, &connection, NULL) == 0)
		(void)!yett_sandbox_end_by_id(connection, kept->id, NULL);
	*kept->id = '\0';
}

const char *manager_kept(struct manager *manager, const struct executor *executor)
{
	struct kept_handle *kept = &manager->kept[executor - executors];

	if (*kept->id && strcmp(kept->profile, profile_of(manager, executor)) != 0)
		end_handle(manager, kept);
	return *kept->id ? kept->id : NULL;
}

void manager_keep(struct manager *manager, const struct executor *executor, const char *sandbox)
{
	struct kept_handle *kept = &manager->kept[executor - executors];

	(void)snprintf(kept->id, sizeof kept->id, "%s", sandbox ? sandbox : "");
	(void)snprintf(kept->profile, sizeof kept->profile, "%s", profile_of(manager, executor));
}

void manager_note(struct manager *manager, const char *id, const struct executor *executor)
{
	struct noted *noted = &manager->noted[manager->noted_count++ % EXECUTIONS_MAX];

	(void)snprintf(noted->id, sizeof noted->id, "%s", id);
	noted->executor = (uint8_t)(executor - executors);
}

const struct executor *manager_noted(const struct manager *manager, const char *id)
{
	for (size_t i = 0; i < EXECUTIONS_MAX; i++)
		if (strcmp(manager->noted[i].id, id) == 0)
			return &executors[manager->noted[i].executor];
	return NULL;
}
