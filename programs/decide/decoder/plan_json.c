/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_print.h. The plan as JSON, for programs. */
#include "programs/decide/decoder/plan_fields.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decoder/plan_print.h"

#include <string.h>

static void plan_json_add_text(struct json *json, const char *name, const struct plan *plan,
                               struct plan_text text)
{
	json_text_or_null(json, name, plan_text(plan, text));
}

static void add_identity(struct json *json, const struct plan *plan)
{
	plan_fields_put_identity(json, plan);
	if (plan->umask == PLAN_UMASK_CALLER)
		json_null(json, "umask");
	else
		json_number(json, "umask", plan->umask);
	json_signed(json, "nice", plan->nice);
	plan_fields_put_privileges(json, plan);
	plan_fields_put_limits(json, "limits", &plan->limits, PLAN_FIELDS_PROCESS);
}

static void add_texts(struct json *json, const char *name, const struct plan *plan,
                      const struct plan_text *texts, uint32_t count)
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < count; i++)
		json_text(json, NULL, plan_text(plan, texts[i]));
	json_close(json);
}

/* Adds an array of the lines in `lines`. */
static void add_lines(struct json *json, const char *name, const char *lines)
{
	json_open(json, name, '[');
	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		char line[4096];

		(void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
		json_text(json, NULL, line);
	}
	json_close(json);
}

/* Adds an array of the directories from which a share may come; null: any directory. */
static void plan_json_add_rules(struct json *json, const char *rules)
{
	if (strcmp(rules, "*") == 0)
		json_null(json, "allowed_below");
	else
		add_lines(json, "allowed_below", rules);
}

static void add_namespaces(struct json *json, const struct plan *plan)
{
	static const char *const names[] = {"mount", "pid", "network", "ipc", "uts", "cgroup"};

	json_open(json, "namespaces", '[');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (plan->network != PLAN_NETWORK_HOST || strcmp(names[i], "network") != 0)
			json_text(json, NULL, names[i]);
	json_close(json);
}

static void plan_json_add_share(struct json *json, const struct plan *plan,
                                const struct plan_step *step)
{
	plan_json_add_text(json, "target", plan, step->target);
	json_number(json, "descriptor", step->fd);
	json_bool(json, "writable", step->writable);
	json_bool(json, "socket", step->is_socket);
	if (step->layer) {
		json_text(json, "layer", step->layer == PLAN_LAYER_SOURCE ? "source" : "store");
		json_number(json, "memory_bytes", step->size_bytes);
	}
	plan_json_add_rules(json, plan_text(plan, step->source));
}

/* Adds only members that this kind of step uses, as the text for people does. */
static void add_values(struct json *json, const struct plan *plan, const struct plan_step *step)
{
	switch ((enum plan_step_kind)step->kind) {
	case PLAN_SLOT:
		json_number(json, "sandboxes_max", plan->sandboxes_max);
		break;
	case PLAN_DEVPTS:
		json_number(json, "terminals_max", plan->terminals_max);
		break;
	case PLAN_CGROUP:
		plan_fields_put_limits(json, "limits", &plan->limits, PLAN_FIELDS_SUM);
		json_number(json, "cpu_weight", plan->limits.cpu_weight);
		json_number_or_null(json, "io_read_bytes", plan->limits.io_read_bytes);
		json_number_or_null(json, "io_write_bytes", plan->limits.io_write_bytes);
		plan_fields_put_limits(json, "user_limits", &plan->user_limits, PLAN_FIELDS_SUM);
		break;
	case PLAN_TEMPLATE:
		plan_json_add_text(json, "profile", plan, plan->profile_name);
		break;
	case PLAN_NAMESPACES:
		add_namespaces(json, plan);
		break;
	case PLAN_ROOT:
		json_number(json, "size_bytes", step->size_bytes);
		plan_json_add_text(json, "home", plan, plan->home);
		break;
	case PLAN_ETC:
		plan_json_add_text(json, "user", plan, plan->user_name);
		plan_json_add_text(json, "group", plan, plan->group_name);
		plan_json_add_text(json, "shell", plan, plan->shell);
		break;
	case PLAN_UNMOUNT:
	case PLAN_REFRESH:
		plan_json_add_text(json, "target", plan, step->target);
		break;
	case PLAN_TMPFS:
		plan_json_add_text(json, "target", plan, step->target);
		json_number(json, "size_bytes", step->size_bytes);
		json_number(json, "mode", step->mode);
		break;
	case PLAN_SHARE:
		plan_json_add_share(json, plan, step);
		break;
	case PLAN_HOST:
		plan_json_add_text(json, "target", plan, step->target);
		plan_json_add_text(json, "source", plan, step->source);
		json_bool(json, "writable", step->writable);
		break;
	case PLAN_PIN:
	case PLAN_READ_ONLY:
	case PLAN_MASK:
		plan_json_add_text(json, "target", plan, step->target);
		json_bool(json, "optional", step->optional);
		break;
	case PLAN_NETWORK:
		json_text(json, "network", plan_name_network(plan->network));
		add_lines(json, "rules", plan_text(plan, step->source));
		break;
	case PLAN_HOSTNAME:
		plan_json_add_text(json, "hostname", plan, step->source);
		break;
	case PLAN_IDENTITY:
		add_identity(json, plan);
		break;
	case PLAN_INIT:
		plan_json_add_text(json, "apparmor_profile", plan, plan->label);
		plan_json_add_text(json, "selinux_type", plan, plan->selinux_type);
		json_bool(json, "label_required", plan->label_required);
		add_texts(json, "env", plan, plan->env,
		          plan->env_count < PLAN_ENV_MAX ? plan->env_count : PLAN_ENV_MAX);
		break;
	case PLAN_IDS:
	case PLAN_USER_NAMESPACE:
	case PLAN_PROC:
	case PLAN_SYS:
	case PLAN_LOOPBACK:
	case PLAN_STEP_KINDS:
		break;
	}
}

static void add_labels(struct json *json, const char *name, const struct plan *plan,
                       bool annotations)
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < plan->labels_count && i < PLAN_LABELS_MAX; i++) {
		const char *label = plan_text(plan, plan->labels[i]);

		if ((*label == PLAN_ANNOTATION) == annotations)
			json_text(json, NULL, label + annotations);
	}
	json_close(json);
}

static void add_section(struct json *json, const char *name, const struct plan *plan,
                        struct plan_text section, struct plan_text place)
{
	json_open(json, name, '{');
	plan_json_add_text(json, "name", plan, section);
	plan_json_add_text(json, "place", plan, place);
	json_close(json);
}

static void add_caller(struct json *json, const struct plan *plan)
{
	json_open(json, "caller", '{');
	json_number(json, "uid", plan->caller_uid);
	json_number(json, "gid", plan->caller_gid);
	json_open(json, "groups", '[');
	for (uint32_t i = 0; i < plan->groups_count && i < PLAN_GROUPS_MAX; i++)
		json_number(json, NULL, plan->groups[i]);
	json_close(json);
	json_close(json);
}

void plan_print_json(FILE *out, const struct plan *plan)
{
	struct json writer = {.to = out}, *json = &writer;
	char id[PLAN_ID_SIZE];

	json_open(json, NULL, '{');
	(void)snprintf(id, sizeof id, "%.*s", PLAN_ID_SIZE - 1, plan->id);
	json_text(json, "id", id);
	add_section(json, "profile", plan, plan->profile_name, plan->profile_place);
	add_section(json, "grant", plan, plan->grant_name, plan->grant_place);
	add_caller(json, plan);
	plan_fields_put_weaker(json, plan);
	plan_json_add_text(json, "name", plan, plan->name);
	add_labels(json, "labels", plan, false);
	add_labels(json, "annotations", plan, true);
	plan_fields_put_life(json, &plan->life);
	json_open(json, "steps", '[');
	for (uint32_t i = 0; i < plan->steps_count && i < PLAN_STEPS_MAX; i++) {
		json_open(json, NULL, '{');
		json_text(json, "step", plan_name_step(plan->steps[i].kind));
		plan_json_add_text(json, "place", plan, plan->steps[i].from);
		add_values(json, plan, &plan->steps[i]);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}
