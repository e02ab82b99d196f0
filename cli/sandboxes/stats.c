/* SPDX-License-Identifier: Apache-2.0 */
/* See stats.h. */
#include "cli/sandboxes/stats.h"

#include <poll.h>
#include <string.h>

#include "cli/output.h"

#define INTERVAL_MS 1000

struct reading {
	struct yett_usage *list;
	size_t count;
};

void stats_size(char out[STATS_TEXT_SIZE], bool known, uint64_t bytes)
{
	static const char units[] = " KMGTP";
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit + 2 < sizeof units; unit++)
		value /= 1024;
	if (!known)
		(void)snprintf(out, STATS_TEXT_SIZE, "-");
	else if (unit == 0)
		(void)snprintf(out, STATS_TEXT_SIZE, "%.0f", value);
	else
		(void)snprintf(out, STATS_TEXT_SIZE, value < 9.95 ? "%.1f%c" : "%.0f%c", value,
		               units[unit]);
}

void stats_time(char out[STATS_TEXT_SIZE], bool known, uint64_t ms)
{
	unsigned long long seconds = ms / 1000;

	if (!known)
		(void)snprintf(out, STATS_TEXT_SIZE, "-");
	else if (seconds < 60)
		(void)snprintf(out, STATS_TEXT_SIZE, "%.2fs", (double)ms / 1000);
	else if (seconds < 3600)
		(void)snprintf(out, STATS_TEXT_SIZE, "%llum%02llus", seconds / 60, seconds % 60);
	else if (seconds < 86400)
		(void)snprintf(out, STATS_TEXT_SIZE, "%lluh%02llum", seconds / 3600,
		               seconds / 60 % 60);
	else
		(void)snprintf(out, STATS_TEXT_SIZE, "%llud%02lluh", seconds / 86400 % 1000000,
		               seconds / 3600 % 24);
}

double stats_cpu_percent(const struct yett_usage *before, const struct yett_usage *now)
{
	if (before)
		return yett_usage_cpu_percent(before, now);
	if (!(now->known & YETT_USAGE_CPU) || now->uptime_ms == 0)
		return -1;
	return (double)now->cpu_us / 10 / (double)now->uptime_ms;
}

double stats_memory_percent(const struct yett_usage *usage)
{
	if (!(usage->known & YETT_USAGE_MEMORY) || usage->memory_limit_bytes == 0)
		return -1;
	return 100.0 * (double)usage->memory_bytes / (double)usage->memory_limit_bytes;
}

const struct yett_usage *stats_find(const struct yett_usage *list, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].id, id) == 0)
			return &list[i];
	return NULL;
}

static void print_percent(double percent)
{
	if (percent < 0)
		(void)printf("%6s ", "-");
	else
		(void)printf("%6.1f ", percent);
}

static void print_count(bool is_known, uint64_t count)
{
	if (is_known)
		(void)printf("%5llu ", (unsigned long long)count);
	else
		(void)printf("%5s ", "-");
}

static void stats_print_row(const struct yett_usage *before, const struct yett_usage *u)
{
	char cpu[STATS_TEXT_SIZE], memory[STATS_TEXT_SIZE], peak[STATS_TEXT_SIZE],
		up[STATS_TEXT_SIZE];
	char read_bytes[STATS_TEXT_SIZE], written[STATS_TEXT_SIZE], sent[STATS_TEXT_SIZE],
		received[STATS_TEXT_SIZE];

	stats_time(cpu, u->known & YETT_USAGE_CPU, u->cpu_us / 1000);
	stats_size(memory, u->known & YETT_USAGE_MEMORY, u->memory_bytes);
	stats_size(peak, u->known & YETT_USAGE_MEMORY_PEAK, u->memory_peak_bytes);
	stats_size(read_bytes, u->known & YETT_USAGE_READ_BYTES, u->read_bytes);
	stats_size(written, u->known & YETT_USAGE_WRITTEN_BYTES, u->written_bytes);
	stats_size(sent, u->known & YETT_USAGE_SENT_BYTES, u->sent_bytes);
	stats_size(received, u->known & YETT_USAGE_RECEIVED_BYTES, u->received_bytes);
	stats_time(up, true, u->uptime_ms);
	(void)printf("%-16.16s ", *u->name ? u->name : u->id);
	print_percent(stats_cpu_percent(before, u));
	(void)printf("%8s %7s %7s ", cpu, memory, peak);
	print_percent(stats_memory_percent(u));
	print_count(u->known & YETT_USAGE_PROCESSES, u->processes);
	print_count(u->known & YETT_USAGE_THREADS, u->threads);
	print_count(u->known & YETT_USAGE_OPEN_FILES, u->open_files);
	(void)printf("%6s %6s ", read_bytes, written);
	print_count(u->known & YETT_USAGE_CONNECTIONS, u->connections);
	(void)printf("%6s %6s %8s%s\n", sent, received, up,
	             u->state == YETT_STATE_PAUSED ? " paused" : "");
}

static void json_percent(struct json *json, const char *name, double percent)
{
	if (percent < 0)
		json_null(json, name);
	else
		json_real(json, name, percent);
}

static void json_usage(struct json *json, const struct yett_usage *before,
                       const struct yett_usage *u)
{
	const struct {
		const char *name;
		uint32_t bit;
		uint64_t value;
	} counts[] = {
		{"cpu_us", YETT_USAGE_CPU, u->cpu_us},
		{"user_us", YETT_USAGE_USER, u->user_us},
		{"system_us", YETT_USAGE_SYSTEM, u->system_us},
		{"memory_bytes", YETT_USAGE_MEMORY, u->memory_bytes},
		{"memory_peak_bytes", YETT_USAGE_MEMORY_PEAK, u->memory_peak_bytes},
		{"read_bytes", YETT_USAGE_READ_BYTES, u->read_bytes},
		{"written_bytes", YETT_USAGE_WRITTEN_BYTES, u->written_bytes},
		{"reads", YETT_USAGE_READS, u->reads},
		{"writes", YETT_USAGE_WRITES, u->writes},
		{"processes", YETT_USAGE_PROCESSES, u->processes},
		{"threads", YETT_USAGE_THREADS, u->threads},
		{"open_files", YETT_USAGE_OPEN_FILES, u->open_files},
		{"oom_kills", YETT_USAGE_OOM_KILLS, u->oom_kills},
		{"forks_refused", YETT_USAGE_FORKS_REFUSED, u->forks_refused},
		{"connections", YETT_USAGE_CONNECTIONS, u->connections},
		{"connected", YETT_USAGE_CONNECTED, u->connected},
		{"blocked", YETT_USAGE_BLOCKED, u->blocked},
		{"sent_bytes", YETT_USAGE_SENT_BYTES, u->sent_bytes},
		{"received_bytes", YETT_USAGE_RECEIVED_BYTES, u->received_bytes},
	};

	json_open(json, NULL, '{');
	json_text(json, "id", u->id);
	json_text_or_null(json, "name", u->name);
	json_text(json, "state", yett_state_name(u->state));
	json_number(json, "taken_us", u->taken_us);
	json_number(json, "uptime_ms", u->uptime_ms);
	json_number(json, "memory_limit_bytes", u->memory_limit_bytes);
	json_number(json, "pids_limit", u->pids_limit);
	json_percent(json, "cpu_percent", stats_cpu_percent(before, u));
	json_percent(json, "memory_percent", stats_memory_percent(u));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (u->known & counts[i].bit)
			json_number(json, counts[i].name, counts[i].value);
		else
			json_null(json, counts[i].name);
	}
	json_close(json);
}

static int stats_older(const void *a, const void *b)
{
	const struct yett_usage *x = a, *y = b;

	return x->uptime_ms != y->uptime_ms ? (x->uptime_ms > y->uptime_ms ? -1 : 1)
	                                    : strcmp(x->id, y->id);
}

static void print_reading(const struct reading *before, const struct reading *now)
{
	struct json *json = output_json();

	if (json)
		json_open(json, "sandboxes", '[');
	else
		(void)printf("%-16s %6s %8s %7s %7s %6s %5s %5s %5s %6s %6s %5s %6s %6s %8s\n",
		             "SANDBOX", "CPU%", "CPU", "MEMORY", "PEAK", "MEM%", "PROCS", "THRDS",
		             "FILES", "READ", "WRITE", "CONNS", "SENT", "RECV", "UP");
	for (size_t i = 0; i < now->count; i++) {
		const struct yett_usage *u = &now->list[i],
					*last = stats_find(before->list, before->count, u->id);

		if (json)
			json_usage(json, last, u);
		else
			stats_print_row(last, u);
	}
	if (json)
		json_close(json);
}

static int stats_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "there is not enough memory for what sandboxes use");
}

int stats_read_all(struct yett_connection *connection, bool all, struct yett_usage **ret_list,
                   size_t *ret_count, struct yett_error *error)
{
	struct yett_usage_list *list;
	struct yett_usage *copy;
	size_t count;
	int r = yett_sandboxes_usage(connection, all ? YETT_LIST_ALL : 0, &list, error);

	if (r)
		return r;
	count = yett_usage_list_count(list);
	copy = calloc(count + 1, sizeof *copy);
	for (size_t i = 0; copy && i < count; i++)
		copy[i] = *yett_usage_list_get(list, i);
	yett_free(list);
	if (!copy)
		return stats_no_memory(error);
	*ret_list = copy;
	*ret_count = count;
	return 0;
}

/*
 * Reads the usage of the named sandboxes, or of all. After the first reading, skips sandboxes that
 * have ended.
 */
static int stats_take(struct yett_connection *connection, bool all, char **names, size_t count,
                      bool is_first, struct reading *ret_now, struct yett_error *error)
{
	int r = 0;

	*ret_now = (struct reading){0};
	if (count == 0) {
		r = stats_read_all(connection, all, &ret_now->list, &ret_now->count, error);
		if (r == 0 && ret_now->count)
			qsort(ret_now->list, ret_now->count, sizeof *ret_now->list, stats_older);
		return r;
	}
	ret_now->list = calloc(count, sizeof *ret_now->list);
	if (!ret_now->list)
		return stats_no_memory(error);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct yett_usage *usage = NULL;

		r = yett_sandbox_usage(connection, names[i], &usage, error);
		if (r == 0)
			ret_now->list[ret_now->count++] = *usage;
		else if (!is_first && (r == YETT_E_NOT_FOUND || r == YETT_E_NOT_RUNNING))
			r = 0;
		yett_free(usage);
	}
	return r;
}

static int print_totals(struct yett_connection *connection, struct yett_error *error)
{
	struct json *json = output_json();
	struct yett_totals *reported, t = {0};
	char duration[STATS_TEXT_SIZE];
	const int r = yett_helper_totals(connection, &reported, error);
	const struct {
		const char *name;
		const uint64_t *value;
	} counts[] = {{"sandboxes", &t.sandboxes},
	              {"executions", &t.executions},
	              {"successes", &t.successes},
	              {"failures", &t.failures},
	              {"timeouts", &t.timeouts}};

	if (r)
		return r;
	t = *reported;
	yett_free(reported);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (json)
			json_number(json, counts[i].name, *counts[i].value);
		else
			(void)printf("%-12s %llu\n", counts[i].name,
			             (unsigned long long)*counts[i].value);
	}
	stats_time(duration, true, t.duration_us / 1000);
	if (json)
		json_number(json, "duration_us", t.duration_us);
	else
		(void)printf("%-12s %s\n", "duration", duration);
	return 0;
}

int stats_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct reading before = {0}, now = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);
	size_t count;

	if (r >= 0)
		return r;
	count = (size_t)(argc - first);
	if (options.helper) {
		r = print_totals(connection, &error);
		return manage_finish(connection, r, &error);
	}
	for (bool is_first = true, goes_on = true; goes_on && r <= 0; is_first = false) {
		r = stats_take(connection, options.all, argv + first, count, is_first, &now,
		               &error);
		if (r)
			break;
		if (!output_json() && options.watch && isatty(STDOUT_FILENO))
			(void)fputs("\033[H\033[J", stdout);
		print_reading(&before, &now);
		free(before.list);
		before = now;
		now = (struct reading){0};
		goes_on = options.watch && (count == 0 || before.count > 0);
		if (goes_on && output_json())
			output_json_line();
		r = output_flush("to standard output", &error);
		goes_on = goes_on && r == 0;
		if (goes_on)
			(void)poll(NULL, 0, INTERVAL_MS);
	}
	free(before.list);
	free(now.list);
	return manage_finish(connection, r, &error);
}
