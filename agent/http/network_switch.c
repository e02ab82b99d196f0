/* SPDX-License-Identifier: Apache-2.0 */
/* See network_switch.h. */
#include "agent/http/network_switch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/event_log.h"
#include "agent/home.h"
#include "agent/http/reply.h"
#include "agent/own.h"
#include "agent/description.h"
#include "base/failure.h"

#define STATE_MAX (32 << 20) /* bytes of the state file */
/* Sandboxes in the state file; from this number on, ended sandboxes are removed. */
#define REMEMBERED_MAX 256

/*
 * The rule that matches every destination except private addresses: what an open network allows
 * without rules.
 */
#define ALL "*"

/* A sandbox whose network is inspected or switched. */
struct switched {
	const struct agent *agent;
	struct yett_connection *connection;
	char id[YETT_ID_SIZE];
	bool is_open; /* an open network: allows connections without a rule */
	char *path;
	json_t *state; /* content of the state file */
};

static const struct field asked_fields[] = {
	{"enabled", FIELD_BOOL, FIELD_REQUIRED,
         .description = "Whether its network rules apply; false: none"},
	{0},
};

/* --- state file ------------------------------------------------------------------------------- */

/*
 * Returns the content of the file, which the caller frees. NULL: not a readable regular file, or
 * too long. Never blocks: the path may name a FIFO.
 */
static char *network_switch_read_state(const char *path, size_t *ret_length)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat file;
	ssize_t n;

	if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_size > STATE_MAX)
		return NULL;
	text = malloc((size_t)file.st_size + 1);
	/* A file that is truncated meanwhile is not valid JSON. */
	n = text ? read(fd, text, (size_t)file.st_size) : -1;
	if (n < 0)
		return NULL;
	*ret_length = (size_t)n;
	return steal_ptr(&text);
}

static bool are_texts(const json_t *list)
{
	json_t *text;
	size_t i;

	json_array_foreach(list, i, text)
	{
		if (!json_is_string(text))
			return false;
	}
	return json_is_array(list);
}

/*
 * Returns {ID: [RULE, …]}, owned by the caller. A missing or malformed file counts as empty;
 * malformed members are left out.
 */
static json_t *network_switch_load(const char *path)
{
	size_t length = 0;
	_cleanup_free_ char *text = network_switch_read_state(path, &length);
	json_t *state = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL,
	       *rules;
	const char *id;
	void *next;

	if (!json_is_object(state)) {
		json_decref(state);
		return json_object();
	}
	json_object_foreach_safe(state, next, id, rules)
	{
		if (!are_texts(rules))
			(void)json_object_del(state, id);
	}
	return state;
}

static void network_switch_make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		/* On failure, opening the file reports the error. */
		(void)mkdir(path, 0700);
		*slash = '/';
	}
}

static int save(const struct switched *switched, struct yett_error *error)
{
	_cleanup_free_ char *making = NULL, *text = json_dumps(switched->state, JSON_COMPACT);
	_cleanup_fd_ int fd = -1;
	char *path = switched->path;

	if (!text || asprintf(&making, "%s.new", path) < 0) {
		making = NULL;
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for %.200s",
		                 path);
	}
	network_switch_make_directories(path);
	/* Remove a file that a killed program left, or that another program put there. */
	(void)unlink(making);
	fd = open(making, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || dprintf(fd, "%s\n", text) < 0 || fsync(fd) < 0 || rename(making, path) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "%.200s cannot be written: %m", path);
	return 0;
}

static void forget_gone(const struct switched *switched)
{
	struct yett_sandbox_status *status;
	const char *id;
	json_t *rules;
	void *next;
	int r;

	if (json_object_size(switched->state) < REMEMBERED_MAX)
		return;
	json_object_foreach_safe(switched->state, next, id, rules)
	{
		r = yett_sandbox_inspect(switched->connection, id, &status, NULL);
		if (r == 0)
			yett_free(status);
		else if (r == YETT_E_NOT_FOUND)
			(void)json_object_del(switched->state, id);
	}
}

/* --- rules ------------------------------------------------------------------------------------ */

/* The allow rules as a list of strings, owned by the caller. */
static json_t *allowed(const struct switched *switched, const struct yett_rules *rules)
{
	json_t *texts = switched->is_open ? json_pack("[s]", ALL) : json_array();

	for (size_t i = 0; i < yett_rules_count(rules); i++) {
		const struct yett_rule *rule = yett_rules_get(rules, i);

		if (rule->list == YETT_RULES_ALLOW &&
		    !(switched->is_open && strcmp(rule->text, ALL) == 0))
			(void)json_array_append_new(texts, json_string(rule->text));
	}
	return texts;
}

static int network_switch_change(const struct switched *switched, const json_t *texts,
                                 bool is_allowed, struct yett_error *error)
{
	_cleanup_free_ char **list = field_strings(texts);
	size_t count = json_array_size(texts);

	if (!list)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the rules");
	if (count == 0)
		return 0;
	return yett_network_change(
		switched->connection, switched->id, is_allowed ? (const char *const *)list : NULL,
		is_allowed ? count : 0, is_allowed ? NULL : (const char *const *)list,
		is_allowed ? 0 : count, error);
}

/*
 * Saves the allowed rules before denying them: if switching off is interrupted, they can still be
 * restored.
 */
static int switch_off(const struct switched *switched, struct yett_error *error)
{
	struct yett_rules *rules;
	json_t *texts;
	int r = yett_network_rules(switched->connection, switched->id, &rules, error);

	if (r != 0)
		return r;
	texts = allowed(switched, rules);
	yett_free(rules);
	forget_gone(switched);
	(void)json_object_set(switched->state, switched->id, texts);
	if ((r = save(switched, error)) == 0 &&
	    (r = network_switch_change(switched, texts, false, error)) != 0) {
		(void)json_object_del(switched->state, switched->id);
		/* On failure, the network counts as off, and can be switched on again. */
		(void)!save(switched, NULL);
	}
	json_decref(texts);
	return r;
}

/* Whether the policy itself, not a request, allows this rule. */
static bool is_of_policy(const struct yett_rules *rules, const char *text)
{
	for (size_t i = 0; i < yett_rules_count(rules); i++) {
		const struct yett_rule *rule = yett_rules_get(rules, i);

		if (rule->list == YETT_RULES_ALLOW && !rule->is_asked &&
		    strcmp(rule->text, text) == 0)
			return true;
	}
	return false;
}

/*
 * Checks saved rules against the bounds: the bounds may have changed since, or the file may have
 * been edited.
 */
static int network_switch_check(const struct switched *switched, const json_t *texts,
                                struct yett_error *error)
{
	_cleanup_free_ char **list = field_strings(texts);
	struct yett_rules *rules;
	size_t count = 0;
	int r;

	if (!list)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the rules");
	if ((r = yett_network_rules(switched->connection, switched->id, &rules, error)) != 0)
		return r;
	for (char **at = list; *at; at++)
		if (!is_of_policy(rules, *at))
			list[count++] = *at;
	yett_free(rules);
	return bounds_check_rules(&switched->agent->bounds, (const char *const *)list, count,
	                          error);
}

static int switch_on(const struct switched *switched, struct yett_error *error)
{
	const json_t *texts = json_object_get(switched->state, switched->id);
	int r = network_switch_check(switched, texts, error);

	if (r == 0)
		r = network_switch_change(switched, texts, true, error);
	if (r != 0)
		return r;
	(void)json_object_del(switched->state, switched->id);
	return save(switched, error);
}

/* Finds the sandbox, checks that the agent may use it, and loads the state file. */
static int network_switch_look(struct switched *switched, const char *sandbox,
                               struct yett_error *error)
{
	struct yett_sandbox_status *status;
	int r = yett_sandbox_inspect(switched->connection, sandbox, &status, error);

	if (r != 0)
		return r;
	(void)strcpy(switched->id, status->info->id);
	switched->is_open = status->info->network == YETT_NETWORK_OPEN;
	r = own_check(switched->agent, status, error);
	yett_free(status);
	if (r != 0)
		return r;
	switched->state = network_switch_load(switched->path);
	return 0;
}

/* `enabled` 0: switch off; 1: switch on; -1: only report. */
static int network_switch_apply(const struct agent *agent, struct yett_connection *connection,
                                const char *sandbox, int enabled, json_t **ret_answer,
                                struct yett_error *error)
{
	_cleanup_free_ char *path =
		home_path("XDG_STATE_HOME", ".local/state", "yett/agent-network.json");
	struct switched switched = {.agent = agent, .connection = connection, .path = path};
	struct yett_rules *rules = NULL;
	bool is_off;
	int r;

	if (!path)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no home directory for the state file");
	if ((r = network_switch_look(&switched, sandbox, error)) != 0)
		return r;
	is_off = json_object_get(switched.state, switched.id);
	if (enabled == 0 && !is_off)
		r = switch_off(&switched, error);
	else if (enabled == 1 && is_off)
		r = switch_on(&switched, error);
	if (r == 0 && (r = yett_network_rules(connection, switched.id, &rules, error)) == 0)
		*ret_answer = json_pack("{s:s, s:b, s:o}", "sandbox", switched.id, "enabled",
		                        !json_object_get(switched.state, switched.id), "rules",
		                        description_rules_json(rules));
	yett_free(rules);
	json_decref(switched.state);
	return r;
}

static void network_switch_answer(struct exchange *exchange, int enabled)
{
	struct yett_connection *connection;
	struct yett_error error;
	json_t *json = NULL;
	unsigned tries = 0;
	int r;

	do {
		r = agent_connect(exchange->agent, &connection, &error);
		if (r == 0)
			r = network_switch_apply(exchange->agent, connection, exchange->rest,
			                         enabled, &json, &error);
	} while (agent_is_to_repeat(exchange->agent, r, &error, &tries));
	if (r == 0) {
		reply_json(exchange, MHD_HTTP_OK, json);
		return;
	}
	event_log_add_refusal(exchange->agent,
	                      enabled == 1 ? "switching a network on" : "a network", &error);
	reply_problem(exchange, reply_status((enum yett_code)r), &error);
}

void network_answer(struct exchange *exchange)
{
	network_switch_answer(exchange, -1);
}

void network_switch(struct exchange *exchange)
{
	json_t *asked = reply_parse(exchange, NULL);
	struct yett_error error;

	if (!asked)
		return;
	if (fields_check(asked_fields, asked, &error) != 0)
		reply_problem(exchange, MHD_HTTP_BAD_REQUEST, &error);
	else
		network_switch_answer(exchange, field_bool(asked, "enabled"));
	json_decref(asked);
}
