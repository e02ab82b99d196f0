/*
 * The caller's three streams while a command runs: passed on as they are where a sandbox may hold
 * them, else bridged. A socket that no pipe can stand for is refused.
 *
 * Runs as the caller. A terminal is never given to the sandbox: its bytes are pumped through pipes,
 * or to and from the master of the command's own, and no output is lost. It is read only while it
 * is ours: not in the background, nor while a program that our output goes to reads it key by key.
 * Signals that arrive meanwhile are passed on to the command; where it has a terminal, those that
 * end programs end the run, since a shell would not heed them. SIGTERM ends every run: who does not
 * heed it has PUMP_TERM_GRACE_MS. Nothing here waits where a signal would not be read.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/blocked.h"
#include "cli/job.h"
#include "cli/relays.h"
#include "cli/terminal.h"
#include "libclient/yett.h"

#define PUMP_BUFFER_SIZE   65536
#define PUMP_TERM_GRACE_MS 10000

/* Bytes on their way from one descriptor to another; at most one buffer full. */
struct pump_bridge {
	int from, to;     /* -1: closed, or no bridge */
	bool is_terminal; /* the caller's end of it */
	bool is_datagram; /* likewise, where output goes to it */
	size_t start, end;
	char buffer[PUMP_BUFFER_SIZE];
};

struct pump {
	int stdio[3]; /* for the command's options; owned where `made` */
	bool made[3];
	int signals;   /* signalfd(2); -1 until pump_catch_signals() */
	sigset_t mask; /* of signals, before that */
	struct job job;
	struct pump_bridge in, out, err;
	int copy; /* of a file that is the caller's stdin, in memory, by the description that the
	             command has; -1: none */
	struct terminal
		*terminal; /* the caller's, borrowed, where the command has one; else NULL */
	bool attached;     /* to the command's */
	bool is_shown;     /* output goes to a terminal */
	int ended_by;      /* the signal that ended the run, or says why; 0: none */
	int lost; /* errno of the first write of output that failed; 0: none. A reader that went
	             away is none */
	struct blocked *blocked; /* read meanwhile, borrowed; NULL: none */
	struct relays *relays;   /* served meanwhile, borrowed; NULL: none */
	uint64_t term_by_ms; /* when a command that got SIGTERM has had its time; UINT64_MAX: none
	                        did */
};

/* Decides for each of 0, 1, 2 and makes the pipes it takes; with `no_input` the command has nothing
 * to read. 0, or a code with the reason.
 */
int pump_open(struct pump *pump, bool no_input, struct yett_error *error);

/* For a command that has nothing of the caller's. */
void pump_open_nothing(struct pump *pump);

/* The same for a command that has a terminal: it takes no streams, and `terminal` is bridged once
 * it has started. */
void pump_open_terminal(struct pump *pump, struct terminal *terminal);

/* From now on signals are read by pump_run(), and reach the command instead of this process; those
 * that are ignored stay so. */
int pump_catch_signals(struct pump *pump, struct yett_error *error);

/* And from now on they end or stop this process again, one that came too late for the command at
 * once. */
void pump_release_signals(struct pump *pump);

/* Closes the command's ends, which it has by now, so that end of file comes through. */
void pump_close_passed(struct pump *pump);

/*
 * Pumps until the command is over, at most `timeout_ms` (0: without bound; then YETT_E_TIMEOUT). As
 * yett_command_wait(); YETT_E_TIMEOUT also when pump->ended_by says why no more is waited for.
 */
int pump_run(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command,
             uint64_t timeout_ms, struct yett_result *ret_result, struct yett_error *error);

/* Writes out what the pipes still hold, after the sandbox is gone. */
void pump_drain(struct pump *pump);

void pump_close(struct pump *pump);
