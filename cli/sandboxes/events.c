/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. */
#include "cli/sandboxes/events.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "cli/network/blocked.h"
#include "cli/output.h"

struct follower {
	struct yett_events *events;
	char name[YETT_NAME_SIZE]; /* the name of the sandbox in the output */
	events_print_fn print;
	bool has_ended;
};

void events_print_time(uint64_t ms)
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

/* The reason why a connection could not be made: a static text, or written to text[0 … size). */
static const char *unreachable_text(int error, char *text, size_t size)
{
	if (error < YETT_EVENT_OF_PROXY)
		return blocked_error_text(error);
	error -= YETT_EVENT_OF_PROXY;
	if (error == 0)
		return "the proxy has no address";
	(void)(error < 300 ? snprintf(text, size, "the proxy: %s", strerror(error))
	                   : snprintf(text, size, "the proxy answered %d", error));
	return text;
}

/* Prints the peer, for example "pypi.org:443 (151.101.0.223)", and the details of the event. */
static void print_peer(const struct yett_event *e)
{
	const struct yett_peer *peer = e->peer;
	char text[BLOCKED_TEXT_SIZE];

	(void)printf(" %s", blocked_print_peer(peer, text));
	if (*peer->name && *peer->address)
		(void)printf(" (%s)", ESCAPE(peer->address));
	if (e->kind == YETT_EVENT_DISCONNECTED)
		(void)printf(" sent %llu received %llu", (unsigned long long)peer->sent_bytes,
		             (unsigned long long)peer->received_bytes);
	if (e->kind == YETT_EVENT_UNREACHABLE)
		(void)printf(": %s", unreachable_text(e->os_error, text, sizeof text));
	if (e->kind == YETT_EVENT_BLOCKED)
		(void)printf(": %s", yett_blocked_text(peer->why));
	if (*peer->rule)
		(void)printf(", rule '%s'", ESCAPE(peer->rule));
	if (*peer->place)
		(void)printf(" (%s)", ESCAPE(peer->place));
	if (e->count > 1)
		(void)printf(", %llu times", (unsigned long long)e->count);
}

static void cli_events_print_line(const char *name, const struct yett_event *e)
{
	events_print_time(e->time_ms);
	if (e->lost)
		(void)printf(" %s lost %llu events\n%*s", name, (unsigned long long)e->lost, 12,
		             "");
	(void)printf(" %s %s", name, yett_event_name(e->kind));
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
	case YETT_EVENT_CONNECTED:
	case YETT_EVENT_DISCONNECTED:
	case YETT_EVENT_UNREACHABLE:
	case YETT_EVENT_BLOCKED:
	case YETT_EVENT_FULL:
	case YETT_EVENT_ASKED:
		print_peer(e);
		break;
	case YETT_EVENT_NETWORK_LOST:
		(void)printf(", %s", e->count ? "started again" : "and not started again");
		break;
	case YETT_EVENT_TIMEOUT:
	case YETT_EVENT_PAUSED:
	case YETT_EVENT_RESUMED:
	case YETT_EVENT_UNRECORDED:
		break;
	}
	(void)putchar('\n');
}

static void json_peer(struct json *json, const struct yett_event *e)
{
	const struct yett_peer *peer = e->peer;

	if (!peer) {
		json_null(json, "peer");
		return;
	}
	json_open(json, "peer", '{');
	json_text_or_null(json, "name", peer->name);
	json_text_or_null(json, "address", peer->address);
	json_number_or_null(json, "port", peer->port);
	json_text(json, "why", e->kind == YETT_EVENT_BLOCKED ? yett_blocked_text(peer->why) : NULL);
	json_number(json, "sent_bytes", peer->sent_bytes);
	json_number(json, "received_bytes", peer->received_bytes);
	json_number(json, "open", peer->open);
	json_text_or_null(json, "rule", peer->rule);
	json_text_or_null(json, "place", peer->place);
	json_close(json);
}

void events_print_json(struct json *json, const char *id, const struct yett_event *e)
{
	bool is_denied = e->kind == YETT_EVENT_DENIED;
	char text[128];

	json_text(json, "sandbox", id);
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
	if (e->kind == YETT_EVENT_UNREACHABLE)
		json_text(json, "error", unreachable_text(e->os_error, text, sizeof text));
	else
		json_text(json, "error", e->os_error ? strerror(e->os_error) : NULL);
	json_number_or_null(json, "errno", (uint64_t)e->os_error);
	json_number_or_null(json, "count", e->count);
	json_text(json, "call", is_denied ? yett_call_name(e->call) : NULL);
	if (is_denied)
		json_number(json, "call_number", e->call);
	else
		json_null(json, "call_number");
	json_text(json, "ended", e->kind == YETT_EVENT_ENDED ? yett_ended_name(e->ended) : NULL);
	json_peer(json, e);
	output_json_line();
}

static void cli_events_print_event(const char *name, const char *id, const struct yett_event *event)
{
	if (output_json())
		events_print_json(output_json(), id, event);
	else
		cli_events_print_line(name, event);
}

static void cli_events_take_event(const struct yett_event *event, void *data)
{
	struct follower *follower = data;

	follower->has_ended = event->kind == YETT_EVENT_ENDED;
	follower->print(follower->name, yett_events_id(follower->events), event);
}

static int cli_events_follow(struct yett_connection *connection, const char *sandbox,
                             const char *name, struct follower *follower, struct yett_error *error)
{
	*follower = (struct follower){.print = follower->print};
	(void)snprintf(follower->name, sizeof follower->name, "%s", name);
	return yett_sandbox_follow(connection, sandbox, cli_events_take_event, follower,
	                           &follower->events, error);
}

static int cli_events_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                 "there is not enough memory to follow sandboxes");
}

static struct follower *make_followers(size_t count, events_print_fn print)
{
	struct follower *followers = calloc(count + 1, sizeof *followers);

	for (size_t i = 0; followers && i < count; i++)
		followers[i].print = print;
	return followers;
}

/* Follows all sandboxes that exist now. A sandbox that ends meanwhile is skipped. */
static int follow_all(struct yett_connection *connection, bool all, events_print_fn print,
                      struct follower **ret_followers, size_t *ret_count, struct yett_error *error)
{
	struct yett_sandbox_list *list = NULL;
	int r = yett_sandboxes_list(connection, all ? YETT_LIST_ALL : 0, &list, error);
	size_t count = r == 0 ? yett_sandbox_list_count(list) : 0;

	*ret_followers = r == 0 ? make_followers(count, print) : NULL;
	if (r == 0 && !*ret_followers)
		r = cli_events_no_memory(error);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct yett_sandbox_status *status = yett_sandbox_list_get(list, i);
		const char *id = status->info->id;

		if (status->state != YETT_STATE_RUNNING && status->state != YETT_STATE_PAUSED)
			continue;
		r = cli_events_follow(connection, id, *status->name ? status->name : id,
		                      &(*ret_followers)[*ret_count], error);
		if (r == 0)
			++*ret_count;
		else if (r == YETT_E_NOT_FOUND || r == YETT_E_NOT_RUNNING)
			r = 0;
	}
	yett_free(list);
	return r;
}

/* Prints events until all sandboxes have ended, or nobody reads stdout any more. */
static int cli_events_report(struct follower *followers, size_t count, struct yett_error *error)
{
	_cleanup_free_ struct pollfd *wait = calloc(count + 1, sizeof *wait);
	size_t left = count;
	int result = 0;

	if (!wait)
		return cli_events_no_memory(error);
	for (size_t i = 0; i < count; i++)
		wait[i] = (struct pollfd){.fd = yett_events_fd(followers[i].events),
		                          .events = POLLIN};
	/* Poll stdout, too: its reader may close the pipe while no event comes. */
	while (left && result != YETT_E_FILE_OPERATION_FAILED) {
		wait[count] = (struct pollfd){.fd = STDOUT_FILENO};
		if (poll(wait, count + 1, -1) < 0) {
			if (errno == EINTR)
				continue;
			return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
			                 "cannot wait for what happens in sandboxes: %m");
		}
		if (wait[count].revents & (POLLERR | POLLHUP))
			break;
		for (size_t i = 0; i < count; i++) {
			int r = wait[i].revents ? yett_events_dispatch(followers[i].events, error)
			                        : 0;

			if (r == 0)
				continue;
			wait[i].fd = -1;
			left--;
			if (!followers[i].has_ended)
				result = r;
		}
		result = output_flush("to standard output", error) ? YETT_E_FILE_OPERATION_FAILED
		                                                   : result;
	}
	return result;
}

int events_report(struct yett_connection *connection, const struct events_wanted *wanted,
                  events_print_fn print, struct yett_error *error)
{
	_cleanup_free_ struct follower *followers = NULL;
	size_t count = 0;
	int r = 0;

	if (wanted->count == 0) {
		r = follow_all(connection, wanted->all, print, &followers, &count, error);
	} else {
		followers = make_followers(wanted->count, print);
		r = followers ? 0 : cli_events_no_memory(error);
		for (size_t i = 0; r == 0 && i < wanted->count; i++) {
			r = cli_events_follow(connection, wanted->names[i], wanted->names[i],
			                      &followers[count], error);
			count += r == 0;
		}
	}
	if (r == 0)
		r = cli_events_report(followers, count, error);
	for (size_t i = 0; i < count; i++)
		yett_events_free(followers[i].events);
	return r;
}

int events_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	r = events_report(
		connection,
		&(struct events_wanted){argv + first, (size_t)(argc - first), options.all},
		cli_events_print_event, &error);
	return manage_finish(connection, r, &error);
}
