/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a public key as a line of a key file. Pure; no privilege. */
#pragma once

#include "helper/policy/key_line.h"
#include "protocol/envelope.h"

/* Writes the line of `key` and a NUL byte. */
void key_text(const uint8_t key[ENVELOPE_KEY_SIZE], char line[KEY_LINE_LENGTH + 1]);
