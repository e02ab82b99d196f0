/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of enrolled keys: the content of the keys directory, so that the helper need not read
 * all files at each request. Part of yett-policy; reads the files without privilege.
 *
 * The table enrolls nobody. The monitor itself checks the file that the table names
 * (helper/monitor/keys.h), and without a table it checks all files.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Fills the policy's table of keys, and records the directory's inode and change time. Leaves the
 * table empty if a file cannot be read, if there are too many keys, if a key is in two files, or if
 * the directory is still being changed.
 */
void enrolled_read(struct policy *policy);

void enrolled_free(struct policy *policy);
