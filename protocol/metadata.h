/*
 * What a command is asked for with, as a note for whoever asks about it: KEY=VALUE, which mean
 * something to clients alone.
 *
 * Pure. The library checks it before it sends it, and init what came.
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

/* That the metadata of an exec have each key once and are of MESSAGE_METADATA_MAX bytes together. 0
 * or YETT_E_INVALID_REQUEST. */
_must_check_ int metadata_check(const struct message *exec, struct yett_error *error);
