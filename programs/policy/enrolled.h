/*
 * The table of enrolled keys: what the files of the keys directory hold, so that nobody has to read
 * them all at each request.
 *
 * In yett-policy, without privilege, which opens them as anybody can. It enrolls nobody: the
 * monitor looks itself into the file that the table names (helper/monitor/keys.h), and where there
 * is no table, into all of them.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Fills the table of the policy, and as what the directory was seen. There is none where something
 * of it cannot be read, where there is too much, where a key is in two files, or while the
 * directory is still being changed.
 */
void enrolled_read(struct policy *policy);

void enrolled_free(struct policy *policy);
