/* Named steps of making a sandbox, at which test builds wait, die or fail. */
#pragma once

/* 0. Test builds replace this function (tests/support/faults.c) to wait, die or fail (-errno) here.
 */
int reached_step(const char *process, const char *step);
