/*
 * The HTTP interface of the execution manager that Yett replaces, by its paths, fields, statuses
 * and texts.
 *
 * docs/agents.md has them in a table. Durations are nanoseconds in answers and texts in the
 * configuration; refusals are a line of plain text. With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

/* POST /execute: runs code (language, code) or a command, and answers when it is over, or at once
 * with "async". */
void older_execute(struct exchange *exchange);

/* GET /status/ID, POST /kill/ID, GET /info */
void older_status(struct exchange *exchange);
void older_kill(struct exchange *exchange);
void older_info(struct exchange *exchange);

/* GET and PUT /config: the settings, which are changed until the server's end. */
void older_config(struct exchange *exchange);
void older_configure(struct exchange *exchange);
