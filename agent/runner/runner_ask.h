/*
 * What run_code may be asked for, and whether that can be.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/op.h"
#include "agent/runner/parcel.h"

enum runner_mode {
	RUNNER_FRESH = 0,  /* a program of its own */
	RUNNER_KEPT = 1,   /* in the namespace that its sandbox keeps for the language */
	RUNNER_ENSURE = 2, /* nothing is run but what tells the language's version */
};

/* What is asked for; its texts are those of `asked`, of which it is a reference. */
struct runner_ask {
	json_t *asked;
	enum runner_mode mode;
	struct parcel parcel; /* without its directory */
	uint64_t timeout_ms;
	json_t *warnings; /* of the validator; NULL: none */
};

/* YETT_E_INVALID_REQUEST, YETT_E_PERMISSION_DENIED (by the settings), YETT_E_UNSUPPORTED. */
_must_check_ int runner_ask_read(const struct call *call, struct runner_ask *ret_ask,
                                 struct yett_error *error);

/* What it holds. */
void runner_ask_clear(struct runner_ask *ask);
