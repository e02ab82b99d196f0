/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code: gets a new sandbox or the named one, writes the files, compiles and runs the code, and
 * ends the execution.
 *
 * Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include "agent/call.h"

/*
 * The request fields and the begin function of the operation run_code, which answers with
 * execution_fields.
 */
extern const struct field runner_asked[];
void runner_begin(struct call *call);

/*
 * For documents: the languages, [{"name", "aliases", "package", "image", "file", "compiled",
 * "kept"}], and the findings of the validator, [{"language", "rule", "severity", "text",
 * "example"}]. The caller owns both.
 */
json_t *runner_list_languages(void);
json_t *runner_list_findings(void);
