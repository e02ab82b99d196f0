/*
 * A sandbox and its commands, as libclient's files share them.
 *
 * With the caller's privilege. What comes from init is hostile: only channel.c's checked messages are used.
 */
#pragma once

#include "libclient/connection.h"

struct yett_sandbox {
	struct yett_connection *connection; /* NULL once that was closed */
	struct yett_sandbox *next;	    /* in the connection's list, under its lock */
	struct connection_request request;  /* under the connection's lock */
	struct channel *channel;	    /* to init */
	struct yett_sandbox_info info;
	struct yett_command *commands;
	int files_program; /* sealed memfd with yett-files; -1 until it is needed */
};

enum command_state { COMMAND_ASKED, COMMAND_STARTED, COMMAND_EXITED, COMMAND_FAILED };

struct yett_command {
	struct yett_sandbox *sandbox; /* NULL once that was destroyed */
	struct yett_command *next;
	uint64_t sequence;
	enum command_state state;
	bool told; /* on_exit was called */
	uint32_t pid;
	struct yett_result result; /* COMMAND_EXITED */
	struct yett_error error;   /* COMMAND_FAILED */
	void (*on_exit)(struct yett_command *command, void *data);
	void *data;
};

/* Ends every command that has no result yet with `why`. Calls on_exit. */
void command_fail_all(struct yett_sandbox *sandbox, const struct yett_error *why);

/* Waits until the helper has said why the sandbox ended, but not for long; fills `error` and returns its code. */
int sandbox_why_ended(struct yett_sandbox *sandbox, struct yett_error *error);
