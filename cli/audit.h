/*
 * yett audit: the records of who was given which sandbox, shown, verified, handed on; their key;
 * and what is removed of them.
 *
 * Runs as the caller, who has to be root for whatever yett-audit wrote. It asks no helper.
 */
#pragma once

#include "cli/options.h"

extern const struct option audit_options[];

int audit_main(const struct subcommand *self, int argc, char **argv);
