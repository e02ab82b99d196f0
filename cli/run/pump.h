/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the caller's standard streams to a command: passes a descriptor on if a sandbox may hold
 * it, otherwise bridges it with a pipe. Refuses a socket that no pipe can replace. Runs as the
 * caller.
 *
 * The sandbox never gets the caller's terminal, only its bytes. Read the terminal only in the
 * foreground, and not while a pager reads it. Signals go to the command; with a terminal, signals
 * that end programs end the run, since a shell would ignore them. SIGTERM ends every run after
 * PUMP_TERM_GRACE_MS. Never block where signals are not read.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/network/blocked.h"
#include "cli/network/relays.h"
#include "cli/run/job.h"
#include "cli/terminal.h"
#include "libclient/yett.h"

#define PUMP_BUFFER_SIZE   65536
#define PUMP_TERM_GRACE_MS 10000

/* Bytes on their way from one descriptor to another; at most one buffer. */
struct pump_bridge {
	int from, to;     /* -1: closed, or no bridge */
	bool is_terminal; /* the caller's end is a terminal */
	bool is_datagram; /* output goes to a datagram socket of the caller */
	size_t start, end;
	char buffer[PUMP_BUFFER_SIZE];
};

struct pump {
	int stdio[3]; /* for the command's options; owned where `made` */
	bool made[3];
	int signals;   /* signalfd(2); -1 until pump_catch_signals() */
	sigset_t mask; /* the signal mask before pump_catch_signals() */
	struct job job;
	struct pump_bridge in, out, err;
	/*
	 * The copy of the caller's stdin in memory; shares the open file description with the
	 * command's. -1: none.
	 */
	int copy;
	/* The caller's terminal, borrowed, if the command has one; otherwise NULL. */
	struct terminal *terminal;
	bool attached; /* `terminal` is connected to the command's */
	bool is_shown; /* stdout is a terminal */
	int ended_by;  /* the signal that ended the run, or that describes its end; 0: none */
	/*
	 * The errno of the first failed write of output; 0: none. A reader that closed its end does
	 * not count.
	 */
	int lost;
	/* Collects blocked connections. Borrowed; polled and read by pump_run(). NULL: none. */
	struct blocked *blocked;
	struct relays *relays; /* borrowed; polled and served by pump_run(); NULL: none */
	uint64_t term_by_ms; /* when the grace period after SIGTERM ends; UINT64_MAX: no SIGTERM */
};

/*
 * Chooses how to connect each of descriptors 0, 1 and 2, and makes the pipes. With `no_input` the
 * command's stdin is /dev/null. Returns 0, or a code with the error set.
 */
int pump_open(struct pump *pump, bool no_input, struct yett_error *error);

/* For a command that gets none of the caller's streams. */
void pump_open_nothing(struct pump *pump);

/*
 * For a command with a terminal: passes no streams, and bridges `terminal` once the command has
 * started.
 */
void pump_open_terminal(struct pump *pump, struct terminal *terminal);

/*
 * From now on pump_run() reads the signals and sends them to the command; they do not end this
 * process. Ignored signals stay ignored.
 */
int pump_catch_signals(struct pump *pump, struct yett_error *error);

/*
 * From now on signals end or stop this process again. If an ending signal arrived too late for the
 * command, raises it at once.
 */
void pump_release_signals(struct pump *pump);

/*
 * Closes our copies of the command's ends, so that end of file is seen. The command must have them
 * already.
 */
void pump_close_passed(struct pump *pump);

/*
 * Pumps until the command ends, at most `timeout_ms` (0: no limit). Result and errors are those of
 * yett_command_wait(). YETT_E_TIMEOUT: the time is over, or pump->ended_by says why the wait ended.
 */
int pump_run(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command,
             uint64_t timeout_ms, struct yett_result *ret_result, struct yett_error *error);

/* Writes out what the pipes still hold, after the sandbox has ended. */
void pump_drain(struct pump *pump);

void pump_close(struct pump *pump);
