/*
 * The end of a program of the monitor's: yett-decider, yett-reader. Kills as root, which takes its
 * privilege up for that.
 */
#pragma once

#include "helper/privilege/program.h"

/* Kills and reaps it, whatever it is held up by, and closes the socket, however it was used. Takes
 * PROGRAM_NONE. */
void program_end(struct program *program);
