/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-init alone, for tests: the real program in a user and a pid namespace, started as its
 * builder starts it, with the test as both supervisor and client. Needs root. A helper that fails
 * ends the test that called it.
 */
#pragma once

#include "programs/inside/init/config.h"
#include "protocol/message.h"

#include "base/error.h"

#include <sys/types.h>

#define COMMAND_ID 1000

struct sandbox {
	pid_t pid;
	int control, channel;
	uint64_t sequence;
	char cgroup[128]; /* empty: without */
	struct init_report report;
};

extern struct init_config
	config; /* of the next sandbox; prepare() sets it to that of an ordinary profile */
extern uint64_t init_capabilities; /* that the next init starts with; reset by prepare() */
extern int counters[4];  /* descriptors INIT_FD_MEMORY_EVENTS and on, or -1; reset by prepare() */
extern bool with_cgroup; /* which of the two rounds this is */
extern struct message message; /* to send from, and the last one received */
extern int last_terminal;      /* the master that came last, or -1 */
extern int terminals_due;      /* asked for, and not come */
extern int outputs[2];         /* the descriptors that came with the last MESSAGE_COMMANDS */
extern size_t outputs_count;

extern int more_memory; /* what goes with an EXEC that has more_bytes */

#define ARGV(...)  ((char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV("/bin/sh", "-c", script)

/* Runs the tests without a cgroup v2 tree and then with one. The exit status of the program; 77: it
 * cannot run here. */
int run_rounds(int (*run)(const char *name));

void prepare(void);
void add_env(const char *entry);
void add_path(enum init_path access,
              const char *path); /* after all variables; none: anything is allowed */

/* A sandbox with the prepared configuration, cut to `length` bytes if that is not 0; `report` is
 * what init said. */
struct sandbox *start_cut(size_t length);

/* The same, and it must have worked; start() prepares first. */
struct sandbox *start_prepared(void);
struct sandbox *start(void);

/* Whether init ends within the deadline; it stays to be reaped by finish(). */
bool ended(const struct sandbox *sandbox);

/* Closes the channel, waits for the end, and removes what a supervisor would. */
void finish(struct sandbox *sandbox);

/* The set-up and tear-down of a test, for TEST_OF(). */
int set_up_sandbox(void **state);
int tear_down_sandbox(void **state);

#define WITH_SANDBOX(test) TEST_OF(test, struct sandbox *sandbox, set_up_sandbox, tear_down_sandbox)

size_t count_fds(pid_t pid);

/* Of init, while nothing happens and a child is ready for the next command, as after any two: its
 * descriptors; its children. */
size_t fds_at_rest(struct sandbox *sandbox);
size_t count_children_at_rest(struct sandbox *sandbox);

/* An EXEC from what clear_exec() and the test put into `message`; fds: -1 for /dev/null. Returns
 * its sequence. */
void clear_exec(void);
uint64_t send_exec(struct sandbox *sandbox, char *const *argv, const int fds[3],
                   uint64_t timeout_ms);
uint64_t exec_fds(struct sandbox *sandbox, char *const *argv, const int fds[3],
                  uint64_t timeout_ms);
uint64_t exec_command(struct sandbox *sandbox, char *const *argv);

/* The same with stdout and stderr kept by init, each up to `bytes`; or in one place. */
uint64_t exec_captured(struct sandbox *sandbox, char *const *argv, uint64_t bytes, bool in_one);

/* A further channel to the same sandbox, as an attached client has it; has nothing but its channel.
 */
struct sandbox *attach(const struct sandbox *sandbox);
void detach(struct sandbox *attached);

/* A QUERY; returns its sequence. */
uint64_t query(struct sandbox *sandbox, enum query_action action, uint64_t command);

/* The same with a terminal of 24 rows and 80 columns. */
uint64_t exec_terminal(struct sandbox *sandbox, char *const *argv, uint64_t timeout_ms);

/* The next message, into `message`; its kind. */
uint32_t receive(struct sandbox *sandbox, uint64_t *ret_sequence);

/* The next messages must be these. */
void expect(struct sandbox *sandbox, uint32_t kind, uint64_t sequence);
const struct message_exited *expect_end(struct sandbox *sandbox, uint64_t sequence);
void expect_status(struct sandbox *sandbox, uint64_t sequence, unsigned status);
void expect_error(struct sandbox *sandbox, uint64_t sequence, enum yett_code code,
                  enum yett_reason reason);

/* Another command works. */
void expect_serving(struct sandbox *sandbox);

/* All that a pipe holds until its last writer is gone; closes it. */
const char *read_all(int fd);

/* What a command writes to its output; valid until the next call. */
const char *output_of_prepared(struct sandbox *sandbox, char *const *argv);
const char *output_of(struct sandbox *sandbox, char *const *argv);

void contains(const char *text, const char *part);
