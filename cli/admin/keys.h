/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett keygen` makes a key; with `yett enroll` the administrator gives a key a name.
 *
 * Run as the caller; to enroll, the caller must own the directory of enrolled keys.
 */
#pragma once

#include "cli/options.h"

extern const struct option enroll_options[];

int keygen_main(const struct subcommand *self, int argc, char **argv);
int enroll_main(const struct subcommand *self, int argc, char **argv);

/* Whether a principal may have this name: [a-z0-9][a-z0-9._-]*, at most 64 bytes. */
bool keys_name_is_valid(const char *name);

/*
 * Writes the key of the file `public_path` to directory/NAME.pub, mode 0644; never replaces an
 * existing file. Creates `directory` if it is missing. Returns 0 or an error code.
 */
_must_check_ int keys_enroll(const char *directory, const char *name, const char *public_path,
                             struct yett_error *error);

/* Removes directory/NAME.pub. YETT_E_NOT_FOUND: the file does not exist. */
_must_check_ int keys_remove(const char *directory, const char *name, struct yett_error *error);
