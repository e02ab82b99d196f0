/* SPDX-License-Identifier: Apache-2.0 */
/* The operation sandboxes: makes, inspects and ends sandboxes, and lists executions. */
#include <string.h>

#include "agent/event_log.h"
#include "agent/op.h"
#include "agent/own.h"
#include "agent/description.h"
#include "agent/stores.h"
#include "agent/sandbox_request.h"

/*
 * Each row: name; the action needs a sandbox; the action takes SANDBOX_REQUEST_FIELDS; the action
 * checks itself that the sandbox is the agent's; the function that asks the helper, or else the
 * function that begins the action.
 */
#define ACTIONS(ROW)                                                  \
	ROW(list, false, false, false, ask_list, NULL)                \
	ROW(make, false, true, false, NULL, op_sandboxes_make)        \
	ROW(info, true, false, true, ask_info, NULL)                  \
	ROW(stats, false, false, false, ask_stats, NULL)              \
	ROW(end, true, false, false, op_sandboxes_ask_end, NULL)      \
	ROW(pause, true, false, false, ask_pause, NULL)               \
	ROW(resume, true, false, false, ask_resume, NULL)             \
	ROW(kill, true, false, false, ask_kill, NULL)                 \
	ROW(plan, false, true, false, NULL, op_sandboxes_plan)        \
	ROW(rules, true, false, false, ask_rules, NULL)               \
	ROW(allow, true, true, false, ask_allow, NULL)                \
	ROW(deny, true, true, false, ask_deny, NULL)                  \
	ROW(executions, false, false, false, NULL, report_executions) \
	ROW(clean_up, false, false, false, NULL, clean_up)            \
	ROW(mounts, true, false, true, NULL, mounts)                  \
	ROW(capabilities, false, true, false, ask_capabilities, NULL)

#define NAME_OF(name, needs_sandbox, takes_request, looks_itself, ask, begin) #name,
static const char *const action_names[] = {ACTIONS(NAME_OF) NULL};

const struct field op_sandboxes_asked[] = {
	{"action", FIELD_CHOICE, FIELD_REQUIRED, .choices = action_names,
         .description =
                 "list; make: a sandbox that stays; info, stats, end, pause, resume, kill (its commands); plan: ask the policy about a sandbox "
                 "without making it; rules, allow, deny: list or change network rules; executions: list them; clean_up: drop records of ended ones; mounts: list mounts, and how full "
                 "its memory is; capabilities: which features of a profile this machine and the policy allow"},
	{"sandbox", FIELD_TEXT, FIELD_NULLABLE, 1, 64, "The sandbox, by its id or name"},
	{"name", FIELD_TEXT, FIELD_NULLABLE, 1, 64,
         "A name for the new sandbox. A sandbox with a name outlives this program; one without a name ends with this program"},
	SANDBOX_REQUEST_FIELDS,
	{0},
};

static const struct field count_fields[] = {
	{"runs", FIELD_NUMBER, FIELD_REQUIRED},
	{"failures", FIELD_NUMBER, FIELD_REQUIRED, .description = "Timeouts among them"},
	{"timeouts", FIELD_NUMBER, FIELD_REQUIRED},
	{"of", FIELD_TEXT, FIELD_REQUIRED, .description = "A language, command, or all"},
	{0},
};

const struct field op_sandboxes_answered[] = {
	{"sandbox", FIELD_OBJECT, 0, .description = "For make and info",
         .fields = description_fields},
	{"sandboxes", FIELD_OBJECTS, 0, .description = "For list", .fields = description_fields},
	{"stats", FIELD_OBJECTS, 0, .description = "For stats: one sandbox, or all running",
         .fields = description_usage_fields},
	{"done", FIELD_BOOL, 0, .description = "For end, pause, resume, kill"},
	{"plan", FIELD_ANY, 0, .description = "For plan: the steps that would make the sandbox"},
	{"rules", FIELD_OBJECTS, 0, .description = "For rules, allow, deny",
         .fields = description_rule_fields},
	{"executions", FIELD_OBJECTS, 0, .description = "The latest first",
         .fields = execution_line_fields},
	{"statistics", FIELD_OBJECTS, 0, .description = "For executions: totals by language",
         .fields = count_fields},
	{"forgotten", FIELD_NUMBER, 0, .description = "For clean_up"},
	{"mounts", FIELD_OBJECTS, 0, .description = "For mounts",
         .fields = description_mount_fields},
	{"capabilities", FIELD_OBJECTS, 0, .description = "For capabilities: each was tested",
         .fields = description_capability_fields},
	PROBLEM_FIELD,
	{0},
};

/* A request to the helper, which results in the answer. */
struct asking {
	struct agent *agent;
	struct yett_connection *connection;
	const json_t *asked;
};
typedef int (*ask_fn)(const struct asking *asking, json_t **ret_answer, struct yett_error *error);

static int ask_list(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	struct yett_sandbox_list *list;
	json_t *sandboxes;
	int r = yett_sandboxes_list(asking->connection, geteuid() == 0 ? YETT_LIST_ALL : 0, &list,
	                            error);

	if (r != 0)
		return r;
	sandboxes = json_array();
	for (size_t i = 0; i < yett_sandbox_list_count(list); i++)
		if (own_is(asking->agent, yett_sandbox_list_get(list, i)))
			(void)json_array_append_new(
				sandboxes, description_json(yett_sandbox_list_get(list, i)));
	yett_free(list);
	*ret_answer = json_pack("{s:o}", "sandboxes", sandboxes);
	return 0;
}

static int ask_info(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	struct yett_sandbox_status *status;
	int r = yett_sandbox_inspect(asking->connection, field_text(asking->asked, "sandbox"),
	                             &status, error);

	if (r != 0)
		return r;
	r = own_check(asking->agent, status, error);
	if (r == 0)
		*ret_answer = json_pack("{s:o}", "sandbox", description_json(status));
	yett_free(status);
	return r;
}

static int ask_stats_of_one(const struct asking *asking, json_t *stats, struct yett_error *error)
{
	struct yett_usage *usage;
	int r = yett_sandbox_usage(asking->connection, field_text(asking->asked, "sandbox"), &usage,
	                           error);

	if (r != 0)
		return r;
	(void)json_array_append_new(stats, description_usage_json(usage));
	yett_free(usage);
	return 0;
}

/* A usage has no labels, a list entry has. `list` NULL: the agent may see all sandboxes. */
static bool is_own_by_list(const struct asking *asking, const struct yett_sandbox_list *list,
                           const char *id)
{
	for (size_t i = 0; list && i < yett_sandbox_list_count(list); i++)
		if (strcmp(yett_sandbox_list_get(list, i)->info->id, id) == 0)
			return own_is(asking->agent, yett_sandbox_list_get(list, i));
	return !list;
}

static int ask_stats_of_all(const struct asking *asking, json_t *stats, struct yett_error *error)
{
	uint32_t whose = geteuid() == 0 ? YETT_LIST_ALL : 0;
	struct yett_sandbox_list *list = NULL;
	struct yett_usage_list *usages = NULL;
	int r = asking->agent->bounds.has_all_sandboxes
	                ? 0
	                : yett_sandboxes_list(asking->connection, whose, &list, error);

	if (r == 0)
		r = yett_sandboxes_usage(asking->connection, whose, &usages, error);
	for (size_t i = 0; r == 0 && i < yett_usage_list_count(usages); i++)
		if (is_own_by_list(asking, list, yett_usage_list_get(usages, i)->id))
			(void)json_array_append_new(
				stats, description_usage_json(yett_usage_list_get(usages, i)));
	yett_free(usages);
	yett_free(list);
	return r;
}

static int ask_stats(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	json_t *stats = json_array();
	int r = field_get(asking->asked, "sandbox") ? ask_stats_of_one(asking, stats, error)
	                                            : ask_stats_of_all(asking, stats, error);

	if (r == 0)
		*ret_answer = json_pack("{s:O}", "stats", stats);
	json_decref(stats);
	return r;
}

static int ask_done(int (*ask)(struct yett_connection *, const char *, struct yett_error *),
                    const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	int r = ask(asking->connection, field_text(asking->asked, "sandbox"), error);

	if (r == 0)
		*ret_answer = json_pack("{s:b}", "done", 1);
	return r;
}

static int op_sandboxes_ask_end(const struct asking *asking, json_t **ret_answer,
                                struct yett_error *error)
{
	int r = ask_done(yett_sandbox_end_by_id, asking, ret_answer, error);

	if (r == 0)
		stores_expect(asking->agent, field_text(asking->asked, "sandbox"));
	return r;
}

static int ask_pause(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	return ask_done(yett_sandbox_pause, asking, ret_answer, error);
}

static int ask_resume(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	return ask_done(yett_sandbox_resume, asking, ret_answer, error);
}

static int ask_kill(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	return ask_done(yett_sandbox_kill, asking, ret_answer, error);
}

static int ask_rules(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	struct yett_rules *rules;
	int r = yett_network_rules(asking->connection, field_text(asking->asked, "sandbox"), &rules,
	                           error);

	if (r != 0)
		return r;
	*ret_answer = json_pack("{s:o}", "rules", description_rules_json(rules));
	yett_free(rules);
	return 0;
}

/*
 * The actions "allow" and "deny": each adds the rules that the request lists in the field with the
 * action's name. A request that has the other field is refused.
 */
static int op_sandboxes_change(const struct asking *asking, bool allows, json_t **ret_answer,
                               struct yett_error *error)
{
	const char *own = allows ? "allow" : "deny", *other = allows ? "deny" : "allow";
	const json_t *rules = field_get(asking->asked, own);
	_cleanup_free_ char **texts = field_strings(rules);
	size_t count = json_array_size(rules);
	int r;

	if (!rules || field_get(asking->asked, other))
		return error_set(error, YETT_E_INVALID_REQUEST,
		                 rules ? YETT_R_UNKNOWN_FIELD : YETT_R_MISSING_FIELD,
		                 "%s: the action %s needs rules in this list, and takes none in %s",
		                 own, own, other);
	if (!texts)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the rules");
	r = allows ? bounds_check_rules(&asking->agent->bounds, (const char *const *)texts, count,
	                                error)
	           : 0;
	if (r != 0)
		return r;
	r = yett_network_change(asking->connection, field_text(asking->asked, "sandbox"),
	                        allows ? (const char *const *)texts : NULL, allows ? count : 0,
	                        allows ? NULL : (const char *const *)texts, allows ? 0 : count,
	                        error);
	return r == 0 ? ask_rules(asking, ret_answer, error) : r;
}

static int ask_allow(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	return op_sandboxes_change(asking, true, ret_answer, error);
}

static int ask_deny(const struct asking *asking, json_t **ret_answer, struct yett_error *error)
{
	return op_sandboxes_change(asking, false, ret_answer, error);
}

static int ask_capabilities(const struct asking *asking, json_t **ret_answer,
                            struct yett_error *error)
{
	struct yett_capability_list *list;
	int r = yett_capabilities(asking->connection, field_text(asking->asked, "profile"), &list,
	                          error);

	if (r != 0)
		return r;
	*ret_answer = json_pack("{s:o}", "capabilities", description_capabilities_json(list));
	yett_free(list);
	return 0;
}

/* --- actions inside the sandbox --------------------------------------------------------------- */

struct mounting {
	struct call *call;
	struct handle *handle;
	struct handle_operation *operation;
};

static void stop_mounting(void *work)
{
	struct mounting *mounting = work;

	handle_operation_free(mounting->operation);
	(void)handle_unref(mounting->handle);
	free(mounting);
}

static void mounted(struct yett_operation *operation, void *data)
{
	struct mounting *mounting = data;
	struct yett_mount_list *list;
	struct yett_error error;

	if (yett_operation_finish(operation, 0, &error) != 0) {
		call_fail(mounting->call, &error);
	} else {
		list = yett_operation_take_mounts(operation);
		call_succeed(mounting->call,
		             json_pack("{s:o}", "mounts", description_mounts_json(list)));
		yett_free(list);
	}
	(void)handle_unref(mounting->handle);
	free(mounting);
}

static void mounts(struct call *call)
{
	struct mounting *mounting = calloc(1, sizeof *mounting);
	struct yett_operation *operation;
	struct yett_error error;
	int r = mounting ? handle_find(call_agent(call), field_text(call_asked(call), "sandbox"),
	                               &mounting->handle, &error)
	                 : error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                             "no memory for a call");

	if (r == 0)
		r = execution_check_handle(mounting->handle, &error);
	if (r == 0)
		r = handle_check_operations(mounting->handle, &error);
	if (r == 0)
		r = yett_sandbox_mounts_begin(mounting->handle->sandbox, &operation, &error);
	if (r == 0) {
		mounting->call = call;
		mounting->operation =
			handle_operate(mounting->handle, operation, mounted, mounting);
		if (mounting->operation) {
			call_set_work(call, mounting, stop_mounting);
			return;
		}
		(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
	}
	if (mounting)
		(void)handle_unref(mounting->handle);
	free(mounting);
	call_fail(call, &error);
}

/* --- actions without the helper --------------------------------------------------------------- */

static void op_sandboxes_put_line(struct execution *execution, void *data)
{
	(void)json_array_append_new(data, execution_line_json(execution));
}

static void report_executions(struct call *call)
{
	json_t *lines = json_array(), *counts = executions_statistics(call_agent(call)),
	       *statistics = json_array(), *one;
	const char *name;

	executions_each(call_agent(call), op_sandboxes_put_line, lines);
	json_object_foreach(counts, name, one)
	{
		(void)json_object_set_new(one, "of", json_string(name));
		(void)json_array_append(statistics, one);
	}
	json_decref(counts);
	call_succeed(call, json_pack("{s:o, s:o}", "executions", lines, "statistics", statistics));
}

static void clean_up(struct call *call)
{
	call_succeed(call, json_pack("{s:I}", "forgotten",
	                             (json_int_t)executions_clean_up(call_agent(call))));
}

static void op_sandboxes_plan(struct call *call)
{
	struct yett_error error;
	json_t *steps;

	if (sandbox_request_plan(call_agent(call), call_asked(call), &steps, &error) != 0)
		call_fail(call, &error);
	else
		call_succeed(call, json_pack("{s:o}", "plan", steps));
}

/* Asks the helper. If the helper refuses the connection as outdated, asks again on a new one. */
static void op_sandboxes_ask(struct call *call, ask_fn how)
{
	struct yett_connection *connection;
	json_t *answer = NULL;
	struct yett_error error;
	unsigned tries = 0;
	int r;

	do {
		r = agent_connect(call_agent(call), &connection, &error);
		if (r == 0)
			r = how(&(const struct asking){call_agent(call), connection,
			                               call_asked(call)},
			        &answer, &error);
	} while (agent_is_to_repeat(call_agent(call), r, &error, &tries));
	if (r != 0)
		call_fail(call, &error);
	else
		call_succeed(call, answer);
}

/* A call that waits for a sandbox to be made. */
struct making {
	struct call *call;
	struct handle_making *making;
};

static void op_sandboxes_give_up(void *work)
{
	struct making *making = work;

	handle_give_up(making->making);
	free(making);
}

static void op_sandboxes_made(struct handle *handle, const struct yett_error *error, void *data)
{
	struct making *making = data;
	struct call *call = making->call;
	json_t *with_id;

	free(making);
	call_set_work(call, NULL, NULL);
	if (!handle) {
		call_fail(call, error);
		return;
	}
	with_id = json_pack("{s:s, s:s}", "action", "info", "sandbox", handle->id);
	(void)handle_unref(handle);
	call_replace_asked(call, with_id);
	op_sandboxes_ask(call, ask_info);
}

static void op_sandboxes_make(struct call *call)
{
	struct making *making = malloc(sizeof *making);
	struct yett_error error;

	if (!making) {
		(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
		call_fail(call, &error);
		return;
	}
	making->call = call;
	if (handle_make(call_agent(call), call_asked(call), field_text(call_asked(call), "name"),
	                true, op_sandboxes_made, making, &making->making, &error) != 0) {
		free(making);
		call_fail(call, &error);
		return;
	}
	call_set_work(call, making, op_sandboxes_give_up);
}

#define ACTION(name, needs_sandbox, takes_request, looks_itself, ask, begin) \
	{#name, needs_sandbox, takes_request, looks_itself, ask, begin},
static const struct {
	const char *name;
	bool needs_sandbox, takes_request, looks_itself;
	ask_fn ask; /* asks the helper; NULL: use `begin` */
	void (*begin)(struct call *call);
} actions[] = {ACTIONS(ACTION)};

/* Checks that the sandbox is the agent's, and replaces its name in the request by its id. */
static int name_by_id(struct call *call, struct yett_error *error)
{
	char id[YETT_ID_SIZE];
	int r = own_find(call_agent(call), field_text(call_asked(call), "sandbox"), id, error);
	json_t *asked = r == 0 ? json_copy((json_t *)call_asked(call)) : NULL;

	if (r != 0)
		return r;
	if (!asked)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
	(void)json_object_set_new(asked, "sandbox", json_string(id));
	call_replace_asked(call, asked);
	return 0;
}

void op_sandboxes(struct call *call)
{
	const char *name = field_text(call_asked(call), "action");
	struct yett_error error;

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, name) != 0)
			continue;
		if (actions[i].needs_sandbox && !field_get(call_asked(call), "sandbox")) {
			(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
			                "sandbox: missing; %s needs a sandbox", name);
			call_fail(call, &error);
		} else if (!actions[i].takes_request && sandbox_request_is_any(call_asked(call))) {
			(void)error_set(
				&error, YETT_E_INVALID_REQUEST, YETT_R_UNKNOWN_FIELD,
				"%s takes no profile, shares, network, rules or limits: these are for make and plan",
				name);
			call_fail(call, &error);
		} else if (!actions[i].looks_itself && field_get(call_asked(call), "sandbox") &&
		           name_by_id(call, &error) != 0) {
			call_fail(call, &error);
		} else if (actions[i].ask) {
			op_sandboxes_ask(call, actions[i].ask);
		} else {
			actions[i].begin(call);
		}
		return;
	}
}
