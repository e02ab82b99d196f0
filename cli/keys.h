/*
 * `yett keygen` and `yett enroll`: making a key, and the administrator's naming of one.
 *
 * Run as the caller; to enroll, that is who owns the keys folder.
 */
#pragma once

#include "cli/options.h"

extern const struct option enroll_options[];

int keygen_main(const struct subcommand *self, int argc, char **argv);
int enroll_main(const struct subcommand *self, int argc, char **argv);

/* Whether a principal may have this name: [a-z0-9][a-z0-9._-]*, at most 64 bytes. */
bool keys_name_is_valid(const char *name);

/*
 * Writes directory/NAME.pub with the key of the file `public_path`, mode 0644, never over another
 * one. `directory` is made where it is missing. 0, or a code with the reason.
 */
_must_check_ int keys_enroll(const char *directory, const char *name, const char *public_path,
                             struct yett_error *error);

/* Takes directory/NAME.pub away. YETT_E_NOT_FOUND: there is none. */
_must_check_ int keys_remove(const char *directory, const char *name, struct yett_error *error);
