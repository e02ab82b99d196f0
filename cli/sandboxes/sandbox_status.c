/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox_status.h. */
#include "cli/sandboxes/sandbox_status.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/changes/work.h"
#include "cli/output.h"

static const struct {
	enum yett_recorded what;
	const char *name;
} recorded[] = {{YETT_RECORDED_COMMANDS, "commands"},
                {YETT_RECORDED_CONNECTIONS, "connections"},
                {YETT_RECORDED_DENIALS, "denials"}};

static const char *ended_of(const struct yett_sandbox_status *status)
{
	return status->ended == YETT_ENDED_NOT ? "" : yett_ended_name(status->ended);
}

void sandbox_status_json(struct json *json, const char *name, const struct yett_sandbox_status *s,
                         const struct yett_work_list *works, const char *plan)
{
	json_open(json, name, '{');
	json_text(json, "id", s->info->id);
	json_text_or_null(json, "name", s->name);
	json_text(json, "profile", s->info->profile);
	json_text(json, "state", yett_state_name(s->state));
	json_text_or_null(json, "ended", ended_of(s));
	json_number(json, "uid", s->uid);
	json_text_or_null(json, "principal", s->principal);
	json_number(json, "private_uid", s->info->private_uid);
	json_text_or_null(json, "label", s->info->label);
	json_number(json, "landlock_abi", s->info->landlock_abi);
	output_json_network(json, s->info);
	output_json_limits(json, s->info);
	output_json_kind(json, s->info);
	json_bool(json, "linger", (s->flags & YETT_SANDBOX_LINGER));
	json_number(json, "linger_ms", s->linger_ms);
	json_number(json, "wall_ms", s->wall_time_ms);
	json_number(json, "cpu_ms", s->cpu_time_ms);
	json_number(json, "idle_ms", s->idle_time_ms);
	json_text(json, "idle_action", s->idle_action == YETT_IDLE_PAUSE ? "pause" : "end");
	json_number(json, "cleanup_ms", s->cleanup_ms);
	json_number(json, "created_ms", s->created_ms);
	json_number(json, "started_ms", s->started_ms);
	json_number(json, "ended_ms", s->ended_ms);
	json_number(json, "attached", s->attached);
	json_open(json, "recorded", '[');
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (s->recorded & recorded[i].what)
			json_text(json, NULL, recorded[i].name);
	json_close(json);
	output_json_pairs(json, "labels", s->labels);
	output_json_pairs(json, "annotations", s->annotations);
	work_report_stores(json, works, s->info->id);
	if (plan)
		json_raw(json, "plan", plan, strlen(plan));
	json_close(json);
}

static void age_of(uint64_t since_ms, char *out, size_t size)
{
	uint64_t now_ms = (uint64_t)time(NULL) * 1000,
		 seconds = now_ms > since_ms ? (now_ms - since_ms) / 1000 : 0;

	if (seconds < 120)
		(void)snprintf(out, size, "%us", (unsigned)seconds);
	else if (seconds < 7200)
		(void)snprintf(out, size, "%um", (unsigned)(seconds / 60));
	else
		(void)snprintf(out, size, "%lluh", (unsigned long long)(seconds / 3600));
}

static void print_labels(const char *const *labels)
{
	for (const char *const *label = labels; *label; label++) {
		(void)fputs(label > labels ? " " : "", stdout);
		output_text(stdout, *label, false);
	}
}

void sandbox_status_print_row(const struct yett_sandbox_status *status,
                              const struct yett_work_list *works, bool with_uid)
{
	char age[24], state[32], store[WORK_CELL_SIZE];

	age_of(status->created_ms, age, sizeof age);
	(void)snprintf(state, sizeof state, "%s%s%s", yett_state_name(status->state),
	               *ended_of(status) ? " " : "", ended_of(status));
	(void)printf("%s  %-16s  %-20s  %-10s  %6s  %8u  %-16s  ", status->info->id,
	             *status->name ? status->name : "-", state, status->info->profile, age,
	             status->attached, work_cell(works, status->info->id, store));
	if (with_uid)
		(void)printf("%10u  ", status->uid);
	print_labels(status->labels);
	(void)putchar('\n');
}

void sandbox_status_print_suspended(const struct session *session, const char *state,
                                    const struct yett_work_list *works, bool with_uid)
{
	char age[24], store[WORK_CELL_SIZE];
	size_t length = strlen(session->profile);

	age_of(session->created_ms, age, sizeof age);
	(void)printf("%-16s  %-16s  %-20s  ", "-", session->name, state);
	output_text(stdout, session->profile, false);
	(void)printf("%*s  %6s  %8s  %-16s  ", length < 10 ? (int)(10 - length) : 0, "", age, "-",
	             work_cell(works, session->sandbox, store));
	if (with_uid)
		(void)printf("%10u  ", geteuid());
	print_labels(session->labels);
	(void)putchar('\n');
}

static void sandbox_status_print_time(const char *name, uint64_t ms)
{
	char text[64] = "";
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;

	if (ms && localtime_r(&seconds, &parts))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts);
	if (ms)
		(void)printf("%-12s %s\n", name, text);
}

static void print_duration(const char *name, uint64_t ms, const char *more)
{
	char text[64];

	output_duration(text, sizeof text, ms);
	if (ms)
		(void)printf("%-12s %s%s\n", name, text, more);
}

static void sandbox_status_print_text(const char *name, const char *text)
{
	if (!*text)
		return;
	(void)printf("%-12s ", name);
	output_text(stdout, text, false);
	(void)putchar('\n');
}

static void print_recorded(unsigned what)
{
	const char *separator = "";

	if (!what)
		return;
	(void)printf("%-12s ", "recorded");
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (what & recorded[i].what) {
			(void)printf("%s%s", separator, recorded[i].name);
			separator = ", ";
		}
	(void)fputs(", for the administrator\n", stdout);
}

void sandbox_status_print(const struct yett_sandbox_status *s, const struct yett_work_list *works)
{
	const struct yett_sandbox_info *limits = s->info;
	char size[64] = "unlimited";

	sandbox_status_print_text("id", s->info->id);
	sandbox_status_print_text("name", s->name);
	sandbox_status_print_text("state", yett_state_name(s->state));
	sandbox_status_print_text("ended", ended_of(s));
	sandbox_status_print_text("profile", s->info->profile);
	sandbox_status_print_text("host name", s->info->hostname);
	(void)printf("%-12s %s, %s %s by %s\n", "kind", s->info->type, s->info->platform,
	             s->info->architecture, s->info->backend);
	(void)printf("%-12s %u\n", "user", s->uid);
	sandbox_status_print_text("key", *s->principal ? s->principal : "one of the user's own");
	(void)printf("%-12s %u\n", "private uid", s->info->private_uid);
	sandbox_status_print_text("label", s->info->label);
	(void)printf("%-12s %u\n", "landlock", s->info->landlock_abi);
	(void)printf("%-12s %s%s%s%s%s\n", "network", output_network_name(s->info->network),
	             *s->info->address4 ? ", " : "", s->info->address4,
	             *s->info->address6 ? ", " : "", s->info->address6);
	if (limits->memory_bytes)
		output_size(size, sizeof size, limits->memory_bytes);
	(void)printf("%-12s %s\n", "memory", size);
	if (limits->cpu_millis)
		(void)printf("%-12s %g\n", "cpus", (double)limits->cpu_millis / 1000);
	if (limits->pids)
		(void)printf("%-12s %llu\n", "pids", (unsigned long long)limits->pids);
	if (limits->open_files)
		(void)printf("%-12s %llu\n", "files", (unsigned long long)limits->open_files);
	if (limits->core_bytes > YETT_CORE_NONE) {
		output_size(size, sizeof size, limits->core_bytes);
		(void)printf("%-12s %s\n", "core files", size);
	}
	print_duration("command", limits->command_timeout_ms, " by default");
	print_duration("command max", limits->max_command_timeout_ms, "");
	sandbox_status_print_time("created", s->created_ms);
	sandbox_status_print_time("started", s->started_ms);
	sandbox_status_print_time("ended at", s->ended_ms);
	(void)printf("%-12s %s\n", "lingers", (s->flags & YETT_SANDBOX_LINGER) ? "yes" : "no");
	print_duration("unattended", s->linger_ms, " at rest at most");
	print_duration("wall time", s->wall_time_ms, "");
	print_duration("cpu time", s->cpu_time_ms, "");
	print_duration("idle", s->idle_time_ms,
	               s->idle_action == YETT_IDLE_PAUSE ? ", then paused" : ", then ended");
	print_duration("listed", s->cleanup_ms, " after its end");
	(void)printf("%-12s %u\n", "attached", s->attached);
	print_recorded(s->recorded);
	for (const char *const *label = s->labels; *label; label++)
		sandbox_status_print_text("has", *label);
	for (const char *const *annotation = s->annotations; *annotation; annotation++)
		sandbox_status_print_text("note", *annotation);
	work_print_stores("store", works, s->info->id);
}
