/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compatibility API: the HTTP interface of the execution manager that Yett replaces, with its
 * paths, fields, statuses and texts. docs/agents.md lists them.
 *
 * Durations are nanoseconds in answers, and texts in the configuration. Errors are one line of
 * plain text. Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

/*
 * POST /execute: runs code (language, code) or a command. Answers when it is over, or at once with
 * "async".
 */
void compat_execute(struct exchange *exchange);

/* GET /status/ID, POST /kill/ID, GET /info */
void compat_status(struct exchange *exchange);
void compat_kill(struct exchange *exchange);
void compat_info(struct exchange *exchange);

/* GET and PUT /config: the settings. Changes last until the server ends. */
void compat_config(struct exchange *exchange);
void compat_configure(struct exchange *exchange);
