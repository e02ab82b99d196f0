/*
 * Runs code: a sandbox of its own or one that is named, its files written, compiled where the
 * language is, run, and ended.
 *
 * With the caller's privilege; in the loop of its thread.
 */
#pragma once

#include "agent/call.h"

/* The fields and the beginning of the operation run_code, which answers execution_fields. */
extern const struct field runner_asked[];
void runner_begin(struct call *call);

/* For documents: the languages, [{"name", "aliases", "package", "image", "file", "compiled",
 * "kept"}], and what is warned of in code,
 * [{"language", "rule", "severity", "text", "example"}]. The caller's. */
json_t *runner_list_languages(void);
json_t *runner_list_findings(void);
