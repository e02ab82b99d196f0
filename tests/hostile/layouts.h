/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is laid out in C, for tests in Python: no test repeats a struct. hostile.py calls these by
 * ctypes.
 */
#pragma once

#include "tests/support/faults.h"

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(default)

/* Makes the file and maps it, with nothing to happen; NULL, and errno. */
void *faults_open(const char *path);

/* From here on it is in force, for the next process that reaches the step `name`. ACTION_NONE:
 * nothing is to happen. */
void faults_set(struct faults *faults, const char *name, uint32_t action, int32_t error,
                bool is_recording);

/* 1: a process is at the step, 2: it went on. */
unsigned faults_reached(const struct faults *faults);

/* The process that waits at the step, or did; 0: none. */
int faults_holder(const struct faults *faults, const char *path);

/* Lets it go on. */
void faults_go(struct faults *faults);

/* The step that was reached as the i-th; NULL behind the last one. */
const char *faults_logged(const struct faults *faults, unsigned i);

/* How a plan prints a kind of step; NULL behind the last kind. */
const char *step_name(unsigned kind);

/* The user of the record in the file; -1 where there is none. */
int64_t record_uid(const char *path);

/* What a monitor says to a supervisor, into bytes[0 … size): how many bytes that is, 0 where they
 * do not fit. */
size_t supervisor_request(const char *id, uint32_t action, unsigned char *bytes, size_t size);

#pragma GCC visibility pop
