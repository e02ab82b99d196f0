/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of options of run, shell, create, exec and mount, which store into a struct
 * run_options.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option run_options[], shell_options[], create_options[], exec_options[],
	mount_options[];
