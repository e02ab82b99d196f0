/*
 * yett audit verify: whether records are whole; and the form in which they go to another machine.
 *
 * An export is a line {"export":1,"segment":N,"bytes":B} before the B bytes of each segment, and
 * one at the end that says where the chain stood, by a MAC that tells nobody its key. Runs as the
 * caller.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "programs/audit/slots.h"

struct audit_check {
	const char *key;       /* a file of keys; NULL: none */
	const char *directory; /* NULL: files are given */
	bool is_pruned;
};

/* 0: whole; 1: something is wrong; 2: it cannot be checked. Errors are told. */
int audit_check_run(const struct audit_check *check, int count, char **files);

void audit_check_export_segment(FILE *to, uint32_t number, const char *bytes, size_t size);
void audit_check_export_state(FILE *to, const struct slots_state *state);
