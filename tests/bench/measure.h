/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements share: time, medians of ours and of a peer, a line of the table, and one of
 * the JSON list. */
#pragma once

#include <stdio.h>
#include <yett.h>

_Noreturn void fail(const char *what, const struct yett_error *error);

double now_ms(void);

/* Of the time that `function` takes, after so long a rest. */
double timed(void (*function)(void), long idle_ms);

double median(double *values, int count);

/* Executes it with /dev/null for its standard streams, and fails when it does. */
void spawn_and_wait(const char *const *argv);

/* /bin/true in the sandbox, from start to end. */
void exec_true(struct yett_sandbox *sandbox);

/*
 * A line of the table and one of the JSON list each. `how` names the mode and the circumstances;
 * with `name`, in the list, the case. `wanted` is the ratio that is the goal; 0: there is none.
 */
void report(FILE *json, const char *name, const char *how, double ours_ms, const char *peer,
            double peer_ms, double wanted);

/* Of medians that were taken in one of two ways. */
struct ratio {
	double ours_ms, peer_ms;
};

/* What the columns of the next one are. */
void report_heading(void);

/* Of two ways the one with the worse ratio counts. */
void report_worse(FILE *json, const char *name, const char *how, struct ratio alone,
                  const char *peer, struct ratio pairs, double wanted);

/* Of so many a second, where more is better. */
void report_rate(FILE *json, const char *name, const char *how, double ours, const char *peer,
                 double peers, double wanted);
