/*
 * The subcommands about sandboxes that are there: ps, inspect, attach, pause, suspend, resume,
 * destroy.
 *
 * Runs as the caller. What the helper tells is printed as output.h has it.
 */
#pragma once

#include "cli/connect.h"
#include "cli/options.h"
#include "cli/session.h"
#include "libclient/yett.h"

#define MANAGE_FILTERS_MAX 32

/* What the tables below are read into; each sets but a part. A table with more to read has it as
 * the first member of its struct. */
struct manage_run_options {
	struct connect_choice connect;
	const char *filters[MANAGE_FILTERS_MAX];
	size_t filters_count;
	bool all, quiet, watch, helper, mounts;
	const struct yett_work_list
		*works; /* to tell stores beside sandboxes; NULL: none is known */
};

extern const struct option ps_options[], inspect_options[], stats_options[], events_options[],
	manage_options[];

/* Reads options, into the struct that begins with *options, and connects. -1 to go on, else the
 * exit code. */
int manage_begin(const struct subcommand *self, int argc, char **argv,
                 struct manage_run_options *options, int *ret_first,
                 struct yett_connection **ret_connection);

/* Tells the error, if `r` says there is one, and closes the connection. The exit code. */
int manage_finish(struct yett_connection *connection, int r, const struct yett_error *error);

/* What became of one of several operands: the error, if there is one, and in JSON an item {operand,
 * error}. Whether it failed. */
bool manage_tell(const char *operand, int r, struct yett_error *error);

/* A filter of ps: label=KEY, label=KEY=VALUE, state=STATE, name=NAME or profile=PROFILE. */
bool manage_is_filter(const char *filter);
bool manage_fits(const struct yett_sandbox_status *status, const char *filter);

/* A row of ps, of one that is not there. */
void manage_print_suspended(const struct session *session, const char *state,
                            const struct manage_run_options *options);

int ps_main(const struct subcommand *self, int argc, char **argv);
int inspect_main(const struct subcommand *self, int argc, char **argv);
int attach_main(const struct subcommand *self, int argc, char **argv);

/* pause, suspend, resume and destroy, by the name of the subcommand. */
int manage_main(const struct subcommand *self, int argc, char **argv);
