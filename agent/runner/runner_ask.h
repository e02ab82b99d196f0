/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks a request of run_code.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/op.h"
#include "agent/runner/bundle.h"

/* The request fields. */
extern const struct field runner_asked[];

enum runner_mode {
	RUNNER_FRESH = 0,  /* a new process */
	RUNNER_KEPT = 1,   /* in the driver that keeps the language's state in the sandbox */
	RUNNER_ENSURE = 2, /* only prints the language's version */
};

/* A request. Its strings belong to `asked`, to which it holds a reference. */
struct runner_ask {
	json_t *asked;
	enum runner_mode mode;
	struct bundle bundle; /* without its directory, which is chosen later */
	uint64_t timeout_ms;
	json_t *warnings; /* the validator's warnings about the code, as strings; NULL: none */
};

/*
 * Returns 0; YETT_E_INVALID_REQUEST; YETT_E_PERMISSION_DENIED: the settings refuse the request; or
 * YETT_E_UNSUPPORTED.
 */
_must_check_ int runner_ask_read(const struct call *call, struct runner_ask *ret_ask,
                                 struct yett_error *error);

/* Releases what the request holds. */
void runner_ask_clear(struct runner_ask *ask);

/*
 * For documents: the languages, [{"name", "aliases", "package", "image", "file", "compiled",
 * "kept"}], and the findings of the validator, [{"language", "rule", "severity", "text",
 * "example"}]. The caller owns both.
 */
json_t *runner_list_languages(void);
json_t *runner_list_findings(void);
