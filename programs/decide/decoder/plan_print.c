/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_print.h. The plan as text, for people. */
#include "programs/decide/decoder/plan_print.h"
#include "base/escape.h"
#include "base/units_format.h"
#include "programs/decide/decoder/plan_fields.h"
#include "programs/decide/decider/plan_name.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_SIZE (4 * PLAN_LABEL_MAX + 1) /* no escaped label is cut */

static void print_identity(FILE *out, const struct plan *plan)
{
	static const char *const identities[] = {"the caller's ids inside, private ones outside",
	                                         "0 inside, a private id outside",
	                                         "the caller's ids inside and outside"};

	char mask[16] = "of the caller";

	if (plan->umask != PLAN_UMASK_CALLER)
		(void)snprintf(mask, sizeof mask, "%04o", plan->umask);
	fprintf(out, "%s, umask %s, nice %d, capabilities %#" PRIx64 ", %s%s",
	        plan->identity < ARRAY_SIZE(identities) ? identities[plan->identity] : "unknown",
	        mask, plan->nice, plan->capabilities,
	        plan->nested_userns ? "user namespaces of their own, " : "",
	        plan->perf_events ? "performance events, " : "");
}

static void print_environment(FILE *out, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->env_count && i < PLAN_ENV_MAX; i++)
		fprintf(out, "%s%s", i ? " " : "", ESCAPE(plan_text(plan, plan->env[i])));
}

/* Prints the directories of a SHARE step, one in each line of `rules`. */
static void plan_print_print_rules(FILE *out, const char *rules)
{
	if (strcmp(rules, "*") == 0)
		return;
	fprintf(out, ", from");
	for (const char *at = rules; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		char rule[ESCAPE_SIZE];

		(void)snprintf(rule, sizeof rule, "%.*s", (int)strcspn(at, "\n"), at);
		fprintf(out, " %s", ESCAPE(rule));
	}
}

/*
 * Prints the rules and settings of a NETWORK step, one in each line of `lines`. The buffers have
 * room for the longest rule and the file and line that the rule comes from.
 */
static void print_lines(FILE *out, const char *lines)
{
	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		char line[640], escaped[700];

		(void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
		fprintf(out, ", %s", escape_text(line, escaped, sizeof escaped));
	}
}

static void print_label(FILE *out, const struct plan *plan, const char *kind, struct plan_text name)
{
	if (*plan_text(plan, name))
		fprintf(out, "%s %s (%s), ", kind, ESCAPE(plan_text(plan, name)),
		        plan->label_required ? "required" : "if available");
}

static void print_values(FILE *out, const struct plan *plan, const struct plan_step *step)
{
	const char *target = ESCAPE(plan_text(plan, step->target)),
		   *source = plan_text(plan, step->source);
	const char *access = step->is_socket ? "a socket"
	                     : step->layer == PLAN_LAYER_STORE
	                             ? "the store of what is changed there"
	                     : step->layer == PLAN_LAYER_SOURCE ? "copy-on-write"
	                     : step->writable                   ? "writable"
	                     : plan->overlay_ro ? "read-only, behind an overlay of its own"
	                                        : "read-only";
	char size[UNITS_TEXT_SIZE];

	(void)units_format_size(step->size_bytes, size);
	switch ((enum plan_step_kind)step->kind) {
	case PLAN_SLOT:
		fprintf(out, "sandboxes of this user at most %s",
		        plan->sandboxes_max ? units_format_number(plan->sandboxes_max, size)
		                            : "unlimited");
		break;
	case PLAN_DEVPTS:
		fprintf(out, "terminals %" PRIu32, plan->terminals_max);
		break;
	case PLAN_CGROUP:
		plan_fields_print_limits(out, &plan->limits, PLAN_FIELDS_CGROUP);
		fprintf(out, "; the user's together: ");
		plan_fields_print_limits(out, &plan->user_limits, PLAN_FIELDS_SUM);
		break;
	case PLAN_TEMPLATE:
		fprintf(out, "%s", ESCAPE(plan_text(plan, plan->profile_name)));
		break;
	case PLAN_NAMESPACES:
		fprintf(out, "mount pid %sipc uts cgroup",
		        plan->network == PLAN_NETWORK_HOST ? "" : "network ");
		break;
	case PLAN_ROOT:
		fprintf(out, "size %s, home %s%s", size, ESCAPE(plan_text(plan, plan->home)),
		        plan->overlay_ro ? ", system directories behind an overlay of its own"
		                         : "");
		break;
	case PLAN_ETC:
		fprintf(out, "user %s, group %s, shell %s",
		        ESCAPE(plan_text(plan, plan->user_name)),
		        ESCAPE(plan_text(plan, plan->group_name)),
		        ESCAPE(plan_text(plan, plan->shell)));
		break;
	case PLAN_UNMOUNT:
	case PLAN_REFRESH:
		fprintf(out, "%s", target);
		break;
	case PLAN_TMPFS:
		fprintf(out, "%s, size %s, mode %04o", target, size, step->mode);
		break;
	case PLAN_SHARE:
		fprintf(out, "%s, descriptor %u, %s", target, step->fd, access);
		if (step->size_bytes)
			fprintf(out, " in memory, size %s", size);
		plan_print_print_rules(out, source);
		break;
	case PLAN_HOST:
		fprintf(out, "%s, from %s, %s", target, ESCAPE(source), access);
		break;
	case PLAN_PIN:
	case PLAN_READ_ONLY:
	case PLAN_MASK:
		fprintf(out, "%s%s", target, step->optional ? ", where it exists" : "");
		break;
	case PLAN_NETWORK:
		fprintf(out, "%s", plan_name_network(plan->network));
		print_lines(out, source);
		break;
	case PLAN_HOSTNAME:
		fprintf(out, "%s", ESCAPE(source));
		break;
	case PLAN_IDENTITY:
		print_identity(out, plan);
		plan_fields_print_limits(out, &plan->limits, PLAN_FIELDS_PROCESS);
		break;
	case PLAN_INIT:
		print_label(out, plan, "AppArmor profile", plan->label);
		print_label(out, plan, "SELinux type", plan->selinux_type);
		print_environment(out, plan);
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

/* Whether values follow the step's name, which is then padded. */
static bool has_values(const struct plan_step *step)
{
	static const bool plain[PLAN_STEP_KINDS] = {
		[PLAN_IDS] = true,
		[PLAN_USER_NAMESPACE] = true,
		[PLAN_PROC] = true,
		[PLAN_LOOPBACK] = true,
	};

	return step->kind < PLAN_STEP_KINDS && !plain[step->kind];
}

static void plan_print_print_time(FILE *out, const char *name, uint64_t ms)
{
	char text[UNITS_TEXT_SIZE];

	if (ms)
		fprintf(out, " %s %s", name, units_format_duration(ms, text));
}

/*
 * Prints the requested name, labels and lifetime; nothing for a sandbox that ends with its
 * connection and has no name and no labels.
 */
static void print_life(FILE *out, const struct plan *plan)
{
	const struct plan_life *life = &plan->life;

	if (*plan_text(plan, plan->name))
		fprintf(out, "name %s\n", ESCAPE(plan_text(plan, plan->name)));
	for (uint32_t i = 0; i < plan->labels_count && i < PLAN_LABELS_MAX; i++) {
		const char *label = plan_text(plan, plan->labels[i]);
		bool is_annotation = *label == PLAN_ANNOTATION;

		fprintf(out, "%s %s\n", is_annotation ? "annotation" : "label",
		        escape_text(label + is_annotation, (char[LABEL_SIZE]){0}, LABEL_SIZE));
	}
	if (!life->linger && !life->wall_ms && !life->cpu_ms && !life->idle_ms &&
	    !life->cleanup_ms && !life->command_ms)
		return;
	fprintf(out, "life%s", life->linger ? " lingers" : "");
	plan_print_print_time(out, "unattended at rest at most", life->linger_ms);
	plan_print_print_time(out, "wall", life->wall_ms);
	plan_print_print_time(out, "cpu", life->cpu_ms);
	plan_print_print_time(out,
	                      life->idle_pauses ? "paused when idle for" : "ends when idle for",
	                      life->idle_ms);
	plan_print_print_time(out, "listed after its end for", life->cleanup_ms);
	plan_print_print_time(out, "commands for", life->command_ms);
	plan_print_print_time(out, "commands at most for", life->command_max_ms);
	fprintf(out, "\n");
}

static void print_all(FILE *out, const struct plan *plan)
{
	fprintf(out, "sandbox %.16s: profile %s (%s), grant %s (%s)\n", plan->id,
	        ESCAPE(plan_text(plan, plan->profile_name)),
	        ESCAPE(plan_text(plan, plan->profile_place)),
	        ESCAPE(plan_text(plan, plan->grant_name)),
	        ESCAPE(plan_text(plan, plan->grant_place)));
	fprintf(out, "caller uid %u, gid %u, groups", plan->caller_uid, plan->caller_gid);
	for (uint32_t i = 0; i < plan->groups_count && i < PLAN_GROUPS_MAX; i++)
		fprintf(out, " %u", plan->groups[i]);
	fprintf(out, "\n");
	if (*plan->weaker)
		fprintf(out, "weaker %.*s\n", PLAN_WEAKER_SIZE - 1, plan->weaker);
	print_life(out, plan);
	for (uint32_t i = 0; i < plan->steps_count && i < PLAN_STEPS_MAX; i++) {
		const struct plan_step *step = &plan->steps[i];
		const char *from = plan_text(plan, step->from);

		fprintf(out, has_values(step) || *from ? "%3u %-15s" : "%3u %s", i + 1,
		        plan_name_step(step->kind));
		print_values(out, plan, step);
		if (*from)
			fprintf(out, " (%s)", ESCAPE(from));
		fprintf(out, "\n");
	}
}

void plan_print(FILE *out, const struct plan *plan)
{
	print_all(out, plan);
	(void)fputc('\0', out);
	plan_print_json(out, plan);
}
