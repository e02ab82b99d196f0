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

/* The limits that ended the command, or that it ran into, by name, in one line. */
static void report_limits(const struct run *run)
{
	const struct yett_result *result = &run->result;
	const struct yett_limits *limits = &run->info.limits;
	char line[256] = "", value[64] = "";

	if (result->out_of_memory) {
		if (limits->memory_bytes)
			output_size(value, sizeof value, limits->memory_bytes);
		add_limit(line, sizeof line, "memory", value);
	}
	if (result->limits_hit & YETT_LIMIT_PIDS)
		add_limit(line, sizeof line, "process", "");
	if (result->limits_hit & YETT_LIMIT_CPU_TIME)
		add_limit(line, sizeof line, "processor time", "");
	if (result->timed_out) {
		output_duration(value, sizeof value, run->options.timeout_ms);
		add_limit(line, sizeof line, "time", value);
	}
	if (line[0])
		output_note("%s", line);
}

static int result_code(const struct yett_result *result)
{
	return result->timed_out ? RUN_TIMED_OUT : result->signaled ? RUN_SIGNALED + result->status : result->status;
}

static int exit_code(const struct run *run)
{
	int code = run->has_result ? result_code(&run->result) : 0;

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
	int code = exit_code(run);

	if (run->error.code)
		output_error(&run->error);
	if (run->has_result)
		report_limits(run);
	if (run->json) {
		write_json(run, code);
		if (fclose(run->json) != 0) {
			output_note("cannot write %s: %m", run->options.json);
			code = code ? code : RUN_FAILED;
		}
	}
	return code;
}
