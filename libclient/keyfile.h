/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key files: reads them after checking their owner and mode, and makes them without ever
 * overwriting a file.
 *
 * Runs with the caller's privilege, on files of the caller. Wipes a secret from every buffer that
 * held it.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

#define KEY_PRIVATE_PREFIX "yett-ed25519-private-v1 "
#define KEY_PUBLIC_PREFIX  "ed25519 "
#define KEY_SEED_SIZE      32

/*
 * Reads the seed from a private key file, which must be a regular file that belongs to the
 * effective user and that nobody else can read or write. YETT_E_NOT_FOUND.
 * YETT_E_SECURITY_VIOLATION: wrong owner or mode. YETT_E_FILE_OPERATION_FAILED.
 * YETT_E_INVALID_REQUEST: not a private key file.
 */
_must_check_ int keyfile_read_seed(const char *path, uint8_t ret_seed[KEY_SEED_SIZE],
                                   struct yett_error *error);
