/*
 * Which of init's layers of defence are on: in the program that is installed, all.
 *
 * A layer that others stand behind is never seen to hold. So the tests link another layer_is_on()
 * into a program of their own (tests/support/layers.c), which leaves out what they name. Layers are
 * named as the steps of start.c and launch.c are. Pure.
 */
#pragma once

#include "programs/init/config.h"

bool layer_is_on(const struct init_config *config, const char *name);
