/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#include "agent/http/server.h"

#include "base/clock.h"

void server_set_timer(struct server *server, uint64_t at_ms)
{
	server->timer_ms = at_ms;
	(void)sd_event_source_set_time(server->timer, at_ms * 1000);
	(void)sd_event_source_set_enabled(server->timer, at_ms ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* Only ever moves the timer to an earlier time: acceptor.c finds the next deadline. */
void server_bound(struct visitor *visitor, uint64_t ms)
{
	struct server *server = visitor->server;

	visitor->deadline_ms = ms ? clock_now_ms() + ms : 0;
	if (ms && (!server->timer_ms || visitor->deadline_ms < server->timer_ms))
		server_set_timer(server, visitor->deadline_ms);
}

struct agent *server_agent(const struct server *server)
{
	return server->agent;
}

struct access *server_access(struct server *server)
{
	return server->access;
}

struct manager *server_manager(const struct server *server)
{
	return server->options.manager;
}

struct mcp *server_mcp(const struct server *server)
{
	return server->options.mcp;
}

uint64_t server_request_ms(const struct server *server)
{
	return server->options.request_ms;
}

void server_go_on(struct server *server)
{
	(void)sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
}

uint64_t server_started_ms(const struct server *server)
{
	return server->started_ms;
}
