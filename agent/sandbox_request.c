/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox_request.h. */
#include "agent/sandbox_request.h"

#include <string.h>

const struct field sandbox_request_share_fields[] = {
	{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 4095, "A directory or file of the host, absolute"},
	{"target", FIELD_TEXT, FIELD_NULLABLE, 1, 4095,
         "The path inside the sandbox; default: the same path"},
	{"mode", FIELD_CHOICE, FIELD_NULLABLE, .choices = sandbox_words_modes, .fallback = "\"ro\"",
         .description =
                 "ro: read-only; rw: writes change the host's files; cow: copy-on-write, reviewed and applied later"},
	{0},
};

static const char *choose_profile(const struct agent *agent, const json_t *asked)
{
	const char *profile = field_text(asked, "profile"), *tier = field_text(asked, "tier");

	if (profile)
		return profile;
	return tier && strcmp(tier, "strong") == 0 ? agent->settings.strong : agent->settings.light;
}

static void sandbox_request_read_share(const json_t *asked, struct yett_share *share)
{
	*share = (struct yett_share){.size = sizeof *share,
	                             .path = field_text(asked, "path"),
	                             .target = field_text(asked, "target"),
	                             .flags = sandbox_words_share_flags(field_text(asked, "mode")),
	                             .fd = -1};
}

static int sandbox_request_read_rules(const json_t *list, char ***texts,
                                      const char *const **ret_rules, size_t *ret_count)
{
	if (!list)
		return 0;
	*texts = field_strings(list);
	*ret_rules = (const char *const *)*texts;
	*ret_count = json_array_size(list);
	return *texts ? 0 : -ENOMEM;
}

int sandbox_request_read(struct request *request, const struct agent *agent, const json_t *asked,
                         const char *name, struct yett_error *error)
{
	struct yett_sandbox_options *options = &request->options;
	const char *network = field_text(asked, "network");
	const json_t *shares = field_get(asked, "shares"), *cpus = field_get(asked, "cpus");
	double processors = cpus ? json_number_value(cpus) : 0;
	int r;

	if (cpus && !sandbox_words_is_cpus(processors))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 SANDBOX_WORDS_CPUS_WANTED);
	if (field_text(asked, "profile") && field_text(asked, "tier"))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "profile and tier exclude each other: give only one of them");
	*request = (struct request){
		.labels = {agent->bounds.label, NULL},
		.options = {.size = sizeof *options,
	                    .profile = choose_profile(agent, asked),
	                    .name = name,
	                    .flags = name ? YETT_SANDBOX_LINGER : 0,
	                    .labels = request->labels,
	                    .shares = request->shares,
	                    .shares_count = json_array_size(shares),
	                    .memory_bytes = (uint64_t)field_number(asked, "memory_bytes", 0),
	                    .cpu_millis = (uint64_t)(processors * 1000 + 0.5),
	                    .pids = (uint64_t)field_number(asked, "pids", 0)}};
	for (size_t i = 0; i < options->shares_count; i++)
		sandbox_request_read_share(json_array_get(shares, i), &request->shares[i]);
	if (network)
		options->network = sandbox_words_network(network);
	if (sandbox_request_read_rules(field_get(asked, "allow"), &request->allow, &options->allow,
	                               &options->allow_count) < 0 ||
	    sandbox_request_read_rules(field_get(asked, "deny"), &request->deny, &options->deny,
	                               &options->deny_count) < 0) {
		sandbox_request_free(request);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the rules");
	}
	r = bounds_apply(&agent->bounds, options, request->shares, error);
	if (r != 0)
		sandbox_request_free(request);
	return r;
}

void sandbox_request_free(struct request *request)
{
	for (size_t i = 0; i < request->options.shares_count; i++)
		if (request->shares[i].flags & YETT_SHARE_FD)
			fd_close(request->shares[i].fd);
	request->options.shares_count = 0;
	free(request->allow);
	free(request->deny);
	request->allow = request->deny = NULL;
}

bool sandbox_request_is_any(const json_t *asked)
{
	static const struct field fields[] = {SANDBOX_REQUEST_FIELDS, {0}};

	for (const struct field *field = fields; field->name; field++)
		if (field_get(asked, field->name))
			return true;
	return false;
}

int sandbox_request_plan(struct agent *agent, const json_t *asked, json_t **ret_plan,
                         struct yett_error *error)
{
	struct yett_connection *connection;
	struct yett_error reason;
	char *text = NULL;
	struct request request;
	unsigned tries = 0;
	json_t *plan;
	int r = sandbox_request_read(&request, agent, asked, NULL, error);

	if (r != 0)
		return r;
	do {
		r = agent_connect(agent, &connection, &reason);
		if (r == 0)
			r = yett_sandbox_plan_json(connection, &request.options, &text, &reason);
	} while (agent_is_to_repeat(agent, r, &reason, &tries));
	sandbox_request_free(&request);
	if (r != 0) {
		*error = reason;
		return r;
	}
	plan = json_loads(text, 0, NULL);
	yett_free(text);
	if (!plan)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's plan is no JSON");
	*ret_plan = plan;
	return 0;
}
