/*
 * Reading the text of an authorized_keys file, which is a client's own bytes.
 *
 * Linked by yett-decoder only, and runs there after the lock-down: no allocation, no system call.
 */
#pragma once

#include "base/error.h"
#include "protocol/message.h"

/*
 * Lines of `ed25519 KEY` or `ed25519 KEY COMMENT`, KEY being 44 characters of base64 (RFC 4648, section 4) for 32
 * bytes, with one space between; empty lines and lines that begin with '#' say nothing. Fills a MESSAGE_KEYS. 0, or
 * YETT_E_INVALID_REQUEST with the reason, and the line's number in the message.
 */
_must_check_ int keys_parse(const char *text, size_t length, struct message *ret_message, struct yett_error *error);
