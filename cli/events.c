/* See events.h. */
#include "cli/events.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"

struct follower {
	struct yett_events *events;
	char name[YETT_NAME_SIZE]; /* as it is called in the lines */
	bool has_ended;
};

static void print_time(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char text[32] = "";
	struct tm parts;

	if (localtime_r(&seconds, &parts))
		(void)strftime(text, sizeof text, "%H:%M:%S", &parts);
	(void)printf("%s.%03u", text, (unsigned)(ms % 1000));
}

static void print_result(const struct yett_result *result)
{
	(void)printf(result->signaled ? " signal %d" : " status %d", result->status);
	if (result->timed_out)
		(void)fputs(", its time was over", stdout);
	if (result->out_of_memory)
		(void)fputs(", memory ran out", stdout);
	(void)printf(", %.3fs", (double)result->wall_us / 1e6);
}

static void print_call(const struct yett_event *e)
{
	const char *name = yett_call_name(e->call);

	if (name)
		(void)printf(" %s", name);
	else
		(void)printf(" call %u", e->call);
	if (e->pid)
		(void)printf(" pid %u", e->pid);
	if (e->count > 1)
		(void)printf(", %llu times", (unsigned long long)e->count);
}

static void print_line(const struct follower *follower, const struct yett_event *e)
{
	print_time(e->time_ms);
	if (e->lost)
		(void)printf(" %s lost %llu events\n%*s", follower->name, (unsigned long long)e->lost, 12, "");
	(void)printf(" %s %s", follower->name, yett_event_name(e->kind));
	if (e->command)
		(void)printf(" %llu", (unsigned long long)e->command);
	switch (e->kind) {
	case YETT_EVENT_FOLLOWED:
		(void)printf(" %s", yett_state_name(e->state));
		break;
	case YETT_EVENT_STARTED:
		(void)printf(" pid %u", e->pid);
		break;
	case YETT_EVENT_EXITED:
		print_result(e->result);
		break;
	case YETT_EVENT_FAILED:
		(void)printf(" %s", strerror(e->os_error));
		break;
	case YETT_EVENT_OOM:
	case YETT_EVENT_FORKS_REFUSED:
		if (e->count)
			(void)printf(" %llu", (unsigned long long)e->count);
		break;
	case YETT_EVENT_DENIED:
		print_call(e);
		break;
	case YETT_EVENT_ENDED:
		(void)printf(" %s", yett_ended_name(e->ended));
		break;
	case YETT_EVENT_TIMEOUT:
	case YETT_EVENT_PAUSED:
	case YETT_EVENT_RESUMED:
		break;
	}
	(void)putchar('\n');
}

/* What an event says nothing of is null. */
static void print_json(struct json *json, const struct follower *follower, const struct yett_event *e)
{
	bool is_denied = e->kind == YETT_EVENT_DENIED;

	json_text(json, "sandbox", yett_events_id(follower->events));
	json_number(json, "number", e->number);
	json_number(json, "lost", e->lost);
	json_number(json, "time_ms", e->time_ms);
	json_text(json, "event", yett_event_name(e->kind));
	json_text(json, "state", yett_state_name(e->state));
	json_number_or_null(json, "command", e->command);
	json_number_or_null(json, "pid", e->pid);
	if (e->kind == YETT_EVENT_EXITED)
		output_json_result(json, "result", e->result);
	else
		json_null(json, "result");
	json_text(json, "error", e->kind == YETT_EVENT_FAILED ? strerror(e->os_error) : NULL);
	json_number_or_null(json, "errno", e->kind == YETT_EVENT_FAILED ? (uint64_t)e->os_error : 0);
	json_number_or_null(json, "count", e->count);
	json_text(json, "call", is_denied ? yett_call_name(e->call) : NULL);
	if (is_denied)
		json_number(json, "call_number", e->call);
	else
		json_null(json, "call_number");
	json_text(json, "ended", e->kind == YETT_EVENT_ENDED ? yett_ended_name(e->ended) : NULL);
	output_json_line();
}

static void print_event(const struct yett_event *event, void *data)
{
	struct follower *follower = data;

	follower->has_ended = event->kind == YETT_EVENT_ENDED;
	if (output_json())
		print_json(output_json(), follower, event);
	else
		print_line(follower, event);
}

static int follow(struct yett_connection *connection, const char *sandbox, const char *name, struct follower *follower,
                  struct yett_error *error)
{
	*follower = (struct follower){0};
	(void)snprintf(follower->name, sizeof follower->name, "%s", name);
	return yett_sandbox_follow(connection, sandbox, print_event, follower, &follower->events, error);
}

static int no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "there is not enough memory to follow sandboxes");
}

/* All that are there now; one that ends meanwhile is none. */
static int follow_all(struct yett_connection *connection, bool all, struct follower **ret_followers, size_t *ret_count,
                      struct yett_error *error)
{
	struct yett_sandbox_list *list = NULL;
	int r = yett_sandboxes_list(connection, all ? YETT_LIST_ALL : 0, &list, error);
	size_t count = r == 0 ? yett_sandbox_list_count(list) : 0;

	*ret_followers = r == 0 ? calloc(count + 1, sizeof **ret_followers) : NULL;
	if (r == 0 && !*ret_followers)
		r = no_memory(error);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct yett_sandbox_status *status = yett_sandbox_list_get(list, i);
		const char *id = status->info->id;

		if (status->state != YETT_STATE_RUNNING && status->state != YETT_STATE_PAUSED)
			continue;
		r = follow(connection, id, *status->name ? status->name : id, &(*ret_followers)[*ret_count], error);
		if (r == 0)
			++*ret_count;
		else if (r == YETT_E_NOT_FOUND || r == YETT_E_NOT_RUNNING)
			r = 0;
	}
	yett_free(list);
	return r;
}

/* Until all have ended, or nobody reads what is printed. */
static int tell(struct follower *followers, size_t count, struct yett_error *error)
{
	_cleanup_free_ struct pollfd *wait = calloc(count + 1, sizeof *wait);
	size_t left = count;
	int result = 0;

	if (!wait)
		return no_memory(error);
	for (size_t i = 0; i < count; i++)
		wait[i] = (struct pollfd){.fd = yett_events_fd(followers[i].events), .events = POLLIN};
	/* Somebody who closed the pipe that we print to is noticed when nothing happens, too. */
	while (left && result != YETT_E_FILE_OPERATION_FAILED) {
		wait[count] = (struct pollfd){.fd = STDOUT_FILENO};
		if (poll(wait, count + 1, -1) < 0) {
			if (errno == EINTR)
				continue;
			return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "cannot wait for what happens in sandboxes: %m");
		}
		if (wait[count].revents & (POLLERR | POLLHUP))
			break;
		for (size_t i = 0; i < count; i++) {
			int r = wait[i].revents ? yett_events_dispatch(followers[i].events, error) : 0;

			if (r == 0)
				continue;
			wait[i].fd = -1;
			left--;
			if (!followers[i].has_ended)
				result = r;
		}
		result = output_flush("to standard output", error) ? YETT_E_FILE_OPERATION_FAILED : result;
	}
	return result;
}

int events_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct follower *followers = NULL;
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	size_t count = 0;
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	if (first == argc) {
		r = follow_all(connection, options.all, &followers, &count, &error);
	} else {
		followers = calloc((size_t)(argc - first), sizeof *followers);
		r = followers ? 0 : no_memory(&error);
		for (int at = first; r == 0 && at < argc; at++) {
			r = follow(connection, argv[at], argv[at], &followers[count], &error);
			count += r == 0;
		}
	}
	if (r == 0)
		r = tell(followers, count, &error);
	for (size_t i = 0; i < count; i++)
		yett_events_free(followers[i].events);
	return manage_finish(connection, r, &error);
}
