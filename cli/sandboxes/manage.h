/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the subcommands about existing sandboxes: their options, the connection, the
 * filters, and how they report an error.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/connect.h"
#include "cli/options.h"
#include "libclient/yett.h"

#define MANAGE_FILTERS_MAX 32

/*
 * The tables of options below store into this struct; each table sets only some members. A table
 * with further options has this struct as the first member of its own.
 */
struct manage_run_options {
	struct connect_choice connect;
	const char *filters[MANAGE_FILTERS_MAX];
	size_t filters_count;
	bool all, quiet, watch, helper, mounts;
	/* The stores to list with the sandboxes. NULL: unknown. */
	const struct yett_work_list *works;
};

extern const struct option ps_options[], inspect_options[], stats_options[], events_options[],
	manage_options[];

/*
 * Reads the options into the struct that begins with *options, and connects. Returns -1 to
 * continue, otherwise the exit code.
 */
int manage_begin(const struct subcommand *self, int argc, char **argv,
                 struct manage_run_options *options, int *ret_first,
                 struct yett_connection **ret_connection);

/* Prints the error if `r` is not 0, and closes the connection. Returns the exit code. */
int manage_finish(struct yett_connection *connection, int r, const struct yett_error *error);

/*
 * Reports the result for one of several operands: prints the error, if any, and adds an item
 * {operand, error} to the JSON document. Returns whether the operand failed.
 */
bool manage_report(const char *operand, int r, struct yett_error *error);

/*
 * Does the same, with a member "id" for the id of a sandbox that was recreated; null if `id` is
 * empty. NULL: omits the member.
 */
bool manage_report_made(const char *operand, const char *id, int r, struct yett_error *error);

/*
 * Whether `filter` is valid for ps: label=KEY, label=KEY=VALUE, state=STATE, name=NAME or
 * profile=PROFILE. manage_fits() requires a valid filter.
 */
bool manage_is_filter(const char *filter);
bool manage_fits(const struct yett_sandbox_status *status, const char *filter);
