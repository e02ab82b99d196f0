/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code: gets a new sandbox or the named one, writes the files, compiles and runs the code, and
 * ends the execution.
 *
 * Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include "agent/call.h"

/* The begin function of the operation run_code, which answers with execution_fields. */
void runner_begin(struct call *call);
