/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which of init's layers of defence are on: all, in the installed program.
 *
 * Tests cannot observe a layer while other layers enforce the same. Tests therefore link another
 * layer_is_on() (tests/support/layers.c) that switches off the layers that they name. Layers have
 * the names of the steps of start.c and launch.c. Pure.
 */
#pragma once

#include "programs/inside/init/config.h"

bool layer_is_on(const struct init_config *config, const char *name);
