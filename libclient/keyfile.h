/*
 * Key files: reading them with their owner and mode checked, making them without ever overwriting
 * one.
 *
 * With the caller's privilege, on files of the caller's. A secret is wiped from every buffer it
 * passed through.
 */
#pragma once

#include "base/error.h"
#include "libclient/signer.h"

#define KEYFILE_PATH_SIZE 4096

/* The home directory that the helper knows for this user, too. YETT_E_NOT_FOUND. */
_must_check_ int keyfile_home(char *out, size_t size, struct yett_error *error);

/*
 * The seed in a private key file, which must be a regular file of the effective user's that nobody
 * else can read or write. YETT_E_NOT_FOUND, YETT_E_SECURITY_VIOLATION,
 * YETT_E_FILE_OPERATION_FAILED, YETT_E_INVALID_REQUEST.
 */
_must_check_ int keyfile_read_seed(const char *path, uint8_t ret_seed[KEY_SEED_SIZE],
                                   struct yett_error *error);
