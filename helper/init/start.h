/*
 * The start of yett-init: its configuration, and giving up what it does not need, before the first byte of a client.
 *
 * As init, in the payload's user namespace with CAP_SETUID, CAP_SETGID and CAP_KILL. Each stage is named; the first one
 * that fails is reported to the supervisor and ends init.
 */
#pragma once

#include "helper/init/config.h"

#include "base/error.h"

/* Checks every count and length of a configuration of `length` bytes. 0 or -EBADMSG. Pure. */
_must_check_ int start_check_config(const struct init_config *config, size_t length);

/* Reads the configuration and runs the stages. 0 or -errno, with the stage's name in `ret_step`. */
_must_check_ int start_run(struct init_config *config, const char **ret_step);
