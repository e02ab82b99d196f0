/* See run_parts.h: what the caller is told of it, as text, as JSON and by the exit code. */
#include "cli/run_parts.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "cli/output.h"
#include "cli/run.h"

int run_exit_code_of_error(const struct yett_error *error)
{
	if (error->code != YETT_E_COMMAND_FAILED || *error->step || !error->error_number)
		return RUN_FAILED;
	return error->error_number == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

int run_report_open(struct run *run)
{
	int fd;

	if (!run->options.json)
		return 0;
	fd = strcmp(run->options.json, "-") == 0
		     ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
		     : open(run->options.json, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	run->json = fd < 0 ? NULL : fdopen(fd, "w");
	if (run->json)
		return 0;
	(void)error_set(&run->error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write %s: %m",
			run->options.json);
	fd_close(fd);
	return (int)run->error.code;
}

static void add_limit(char *line, size_t size, const char *name, const char *value)
{
	size_t used = strlen(line);

	(void)snprintf(line + used, size - used, "%s%s limit reached%s%s%s", used ? "; " : "", name, *value ? " (" : "",
		       value, *value ? ")" : "");
}

static void add_time(char *line, size_t size, const char *name, uint64_t ms)
{
	char value[64] = "";

	if (ms)
		output_duration(value, sizeof value, ms);
	add_limit(line, size, name, value);
}

void run_report_limits(const struct yett_result *result, const struct run_limits *limits)
{
	bool is_cpu_time = result->limits_hit & YETT_LIMIT_CPU_TIME;
	char line[256] = "", value[64] = "";

	if (result->out_of_memory) {
		if (limits->memory_bytes)
			output_size(value, sizeof value, limits->memory_bytes);
		add_limit(line, sizeof line, "memory", value);
	}
	if (result->limits_hit & YETT_LIMIT_PIDS)
		add_limit(line, sizeof line, "process", "");
	if (is_cpu_time)
		add_time(line, sizeof line, limits->is_sandboxs ? "the sandbox's processor time" : "processor time", limits->cpu_ms);
	else if (result->timed_out)
		add_time(line, sizeof line, limits->is_sandboxs ? "the sandbox's time" : "time", limits->time_ms);
	if (line[0])
		output_note("%s", line);
}

bool run_result_of_end(enum yett_ended ended, struct yett_result *ret_result)
{
	if (ended != YETT_ENDED_WALL_TIME && ended != YETT_ENDED_CPU_TIME)
		return false;
	*ret_result = (struct yett_result){.signaled = true, .status = SIGKILL, .timed_out = true,
					   .limits_hit = ended == YETT_ENDED_CPU_TIME ? YETT_LIMIT_CPU_TIME : 0};
	return true;
}

int run_exit_code_of_result(const struct yett_result *result)
{
	if (result->timed_out)
		return RUN_TIMED_OUT;
	return result->signaled ? RUN_SIGNALED + result->status : result->status;
}

static struct run_limits limits_of(const struct run *run)
{
	const struct run_options *o = &run->options;

	if (run->is_ended_by_time)
		return (struct run_limits){.time_ms = o->life.wall_ms, .cpu_ms = o->life.cpu_ms, .is_sandboxs = true};
	return (struct run_limits){.memory_bytes = o->own.memory_bytes ? o->own.memory_bytes : run->info.limits.memory_bytes,
				   .time_ms = o->timeout_ms};
}

static int exit_code(const struct run *run)
{
	int code = run->has_result ? run_exit_code_of_result(&run->result) : 0;

	/* what failed first counts; the broken pipe that a command meets whose output we cannot write is ours */
	if (run->is_output_lost && run->has_result && code != 0 && code != RUN_SIGNALED + SIGPIPE)
		return code;
	/* there may be both: a command that ended, and a copy that could not be made afterwards */
	return run->error.code ? run_exit_code_of_error(&run->error) : code;
}

/* null for what there was not. */
static void write_json(const struct run *run, int code)
{
	const struct yett_limits *l = &run->info.limits;
	FILE *to = run->json;

	(void)fprintf(to, "{\"exit_code\":%d,\"sandbox\":", code);
	if (run->info.id[0]) {
		(void)fputs("{\"id\":", to);
		output_json_string(to, run->info.id);
		(void)fputs(",\"profile\":", to);
		output_json_string(to, run->info.profile);
		(void)fputs(",\"label\":", to);
		if (run->info.label[0])
			output_json_string(to, run->info.label);
		else
			(void)fputs("null", to);
		(void)fputs(",\"weaker\":", to);
		if (run->info.weaker[0])
			output_json_string(to, run->info.weaker);
		else
			(void)fputs("null", to);
		(void)fprintf(to,
			      ",\"private_uid\":%u,\"landlock_abi\":%u,\"limits\":{\"memory_bytes\":%llu,\"cpu_millis\":%llu,"
			      "\"pids\":%llu,\"files\":%llu}}",
			      run->info.private_uid, run->info.landlock_abi, (unsigned long long)l->memory_bytes,
			      (unsigned long long)l->cpu_millis, (unsigned long long)l->pids,
			      (unsigned long long)l->files);
	} else {
		(void)fputs("null", to);
	}
	if (run->command_id)
		(void)fprintf(to, ",\"command\":%llu", (unsigned long long)run->command_id);
	else
		(void)fputs(",\"command\":null", to);
	(void)fputs(",\"result\":", to);
	if (run->has_result) {
		(void)fputc('{', to);
		output_json_result(to, &run->result);
		(void)fputc('}', to);
	} else {
		(void)fputs("null", to);
	}
	(void)fputs(",\"error\":", to);
	output_json_error(to, &run->error);
	(void)fputs("}\n", to);
}

int run_report(struct run *run)
{
	struct run_limits limits;
	int code = exit_code(run);

	if (run->error.code)
		output_error(&run->error);
	if (run->has_result) {
		limits = limits_of(run);
		run_report_limits(&run->result, &limits);
	}
	if (run->json) {
		write_json(run, code);
		if (fclose(run->json) != 0) {
			output_note("cannot write %s: %m", run->options.json);
			code = code ? code : RUN_FAILED;
		}
	}
	return code;
}
