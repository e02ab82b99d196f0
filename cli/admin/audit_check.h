/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett audit verify`: checks that records are complete and unchanged. Also writes the form in
 * which records are exported to another machine.
 *
 * An export has a line {"export":1,"segment":N,"bytes":B} before the B bytes of each segment. Its
 * last line is the state of the chain, authenticated by a MAC that does not reveal the key. Runs as
 * the caller.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "programs/audit/slots.h"

struct audit_check {
	const char *key;       /* a file with keys, "-": stdin; NULL: no keys */
	const char *directory; /* NULL: check the files that are named */
	bool is_pruned;
};

/*
 * Prints findings and errors. Returns 0 if the records are complete and unchanged, 1 if something
 * is wrong, 2 if they could not be checked.
 */
int audit_check_run(const struct audit_check *check, int count, char **files);

void audit_check_export_segment(FILE *to, uint32_t number, const char *bytes, size_t size);
void audit_check_export_state(FILE *to, const struct slots_state *state);
