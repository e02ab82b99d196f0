/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a command: KEY=VALUE texts that a client attaches to a command and that init
 * returns to clients that ask about it. Only clients interpret them.
 *
 * Pure. The library checks them before it sends an exec, and init checks them when it receives one.
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

/*
 * Checks that each key occurs once and that the metadata of an exec have at most
 * MESSAGE_METADATA_MAX bytes together, each with its NUL. Returns 0 or YETT_E_INVALID_REQUEST.
 */
_must_check_ int metadata_check(const struct message *exec, struct yett_error *error);
