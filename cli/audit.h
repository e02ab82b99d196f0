/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett audit`: shows, verifies and exports the records of which user got which sandbox, makes the
 * key that seals them, and removes old ones.
 *
 * Runs as the caller, who must be root for records that yett-audit wrote. Contacts no helper.
 */
#pragma once

#include "cli/options.h"

extern const struct option audit_options[];

int audit_main(const struct subcommand *self, int argc, char **argv);
