/* A public key as the line that stands for it. Pure; no privilege. */
#pragma once

#include "helper/policy/key_line.h"
#include "protocol/envelope.h"

/* Writes the line of `key`, and a NUL. */
void key_text(const uint8_t key[ENVELOPE_KEY_SIZE], char line[KEY_LINE_LENGTH + 1]);
