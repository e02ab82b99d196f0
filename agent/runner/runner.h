/*
 * Runs code: a sandbox of its own or one that is named, its files written, compiled where the language is, run, and ended.
 *
 * With the caller's privilege; in the loop of its thread.
 */
#pragma once

#include "agent/call.h"

/* The fields and the beginning of the operation run_code. */
extern const struct field runner_asked[], runner_answered[];
void runner_begin(struct call *call);
