/* SPDX-License-Identifier: Apache-2.0 */
/* See agent.h. */
#include "agent/agent.h"
#include "workspace/yett-workspace.h"

int agent_watch_signals(struct agent *agent, sigset_t *ret_signals,
                        sd_event_signal_handler_t on_signal, void *data)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t signals;
	int r = 0;

	(void)sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		(void)sigaddset(&signals, numbers[i]);
	/* sd_event_add_signal(3) requires blocked signals. */
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r >= 0; i++)
		r = sd_event_add_signal(agent->loop, NULL, numbers[i], on_signal, data);
	if (r >= 0)
		*ret_signals = signals;
	return r < 0 ? r : 0;
}

static int agent_on_connection(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct agent_link *link = agent_link_ref(data);

	(void)fd;
	(void)events;
	if (yett_connection_dispatch(link->connection, NULL) != 0) {
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
		if (link->agent->link == link)
			link->agent->link = agent_link_unref(link);
	}
	link->agent->on_read(link->agent->handles);
	(void)agent_link_unref(link);
	return 0;
}

/* Creates the caller's default key where it is missing, unless options chose another key. */
static int connect_with_key(struct agent *agent, struct yett_connection **ret_connection,
                            struct yett_error *error)
{
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .start = agent->start,
	                                             .socket_path = agent->socket_path,
	                                             .key_path = agent->key_path,
	                                             .flags = YETT_CONNECT_AGENT,
	                                             .workspace = yett_workspace()};
	bool is_new;
	int r = agent->key_path ? 0 : yett_key_ensure(NULL, &is_new, error);

	if (r == 0)
		r = yett_connect(&options, ret_connection, error);
	if (r == 0)
		agent->start = yett_connection_start(*ret_connection);
	return r;
}

int agent_connect(struct agent *agent, struct yett_connection **ret_connection,
                  struct yett_error *error)
{
	struct agent_link *link;
	int r;

	if (agent->link) {
		*ret_connection = agent->link->connection;
		return 0;
	}
	link = calloc(1, sizeof *link);
	if (!link)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a connection");
	link->agent = agent;
	link->references = 1;
	r = connect_with_key(agent, &link->connection, error);
	if (r == 0 &&
	    sd_event_add_io(agent->loop, &link->source, yett_connection_fd(link->connection),
	                    EPOLLIN, agent_on_connection, link) < 0)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		              "no memory for a connection");
	if (r != 0) {
		(void)agent_link_unref(link);
		return r;
	}
	agent->link = link;
	*ret_connection = link->connection;
	return 0;
}

bool agent_is_to_repeat(struct agent *agent, int r, const struct yett_error *error, unsigned *tries)
{
	if (r != YETT_E_HELPER_UNAVAILABLE || error->os_error || *tries > 0)
		return false;
	++*tries;
	agent->link = agent_link_unref(agent->link);
	return true;
}

struct agent_link *agent_link_ref(struct agent_link *link)
{
	link->references++;
	return link;
}

struct agent_link *agent_link_unref(struct agent_link *link)
{
	if (!link || --link->references > 0)
		return NULL;
	(void)sd_event_source_disable_unref(link->source);
	yett_connection_close(link->connection);
	free(link);
	return NULL;
}
