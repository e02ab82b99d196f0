/*
 * Enrolled keys: whether the line that stands for a key is in a file.
 *
 * In the monitor, with its privilege. Nothing is parsed here, though a user's authorized_keys is a client's bytes: the
 * line is made from the key that a signature has proven, and whole lines are compared with it. Files of the keys
 * directory, which only the administrator can write, are opened here; a user's own file is read by peer.h, as that user.
 */
#pragma once

#include "protocol/envelope.h"
#include "protocol/message.h"

/*
 * Whether a line of the text is `ed25519 KEY` or `ed25519 KEY COMMENT`, KEY being the base64 of `key` (RFC 4648, section
 * 4). Other lines say nothing.
 */
bool keys_in_text(const char *text, size_t length, const uint8_t key[ENVELOPE_KEY_SIZE]);

/*
 * Looks for the key in the files NAME.pub of the directory as they are now. 0: it is enrolled, and `ret_principal` is
 * NAME; -ENOENT: it is not, or there is no such directory; -errno; BAD_SIGNATURE: it is there under two names, of which neither is
 * believed. A directory or file that others than root can write does not count, and a line in the log says so.
 */
_must_check_ int keys_find(const char *directory, const uint8_t key[ENVELOPE_KEY_SIZE], char ret_principal[MESSAGE_NAME_MAX + 1],
			   struct yett_error *error);

#define KEYS_FILE_MAX 16384

/* Why a user's own file does not count. */
enum keys_refusal { KEYS_OWNER = 1, KEYS_MODE, KEYS_SIZE, KEYS_KIND, KEYS_CLOSED };

/*
 * Reads ~/.config/yett/authorized_keys of the user, with the rights of whoever calls. 0, and `ret_length` is 0 where there is none, or
 * why it does not count; of KEYS_CLOSED errno tells more.
 */
_must_check_ int keys_read_own(const char *home, uid_t uid, char text[static KEYS_FILE_MAX], uint32_t *ret_length);

/* BAD_SIGNATURE, with that reason. */
int keys_refuse_own(enum keys_refusal why, struct yett_error *error);
