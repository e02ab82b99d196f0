/*
 * Enrolled keys: NAME.pub files in the keys directory, which only the administrator can write.
 *
 * In the monitor. The files are opened and checked here (owner, mode) and read by the decoder, so that there is one
 * parser of key files and it runs without privilege. It is not believed: a key counts if the line that it makes is in the file.
 */
#pragma once

#include "helper/decoder/decoder.h"
#include "protocol/envelope.h"

#include <time.h>

#define KEYS_ENROLLED_MAX 4096

struct enrolled_key {
	uint8_t key[ENVELOPE_KEY_SIZE];
	struct timespec changed; /* of its file (ctime), when it was read */
	char principal[MESSAGE_NAME_MAX + 1];
};

struct keys {
	struct enrolled_key *items;
	size_t count;
	struct timespec changed; /* of the directory, when it was read */
};

/*
 * Reads the directory anew if it changed since the last time. A missing directory is one without keys; a file that does not count is left
 * out, with a line in the log. 0 or -errno.
 */
_must_check_ int keys_refresh(struct keys *keys, const char *directory, struct decoder *decoder);

/* The principal that the key is enrolled for now, borrowed from `keys`; NULL if it is not. 0 or -errno. */
_must_check_ int keys_find(struct keys *keys, const char *directory, struct decoder *decoder, const uint8_t key[ENVELOPE_KEY_SIZE],
			   const char **ret_principal);

/* Whether `key` stands in the text of an authorized_keys file. 0, positive when the file is refused, or -errno. */
_must_check_ int keys_in_text(struct decoder *decoder, const char *text, size_t length, const uint8_t key[ENVELOPE_KEY_SIZE],
			      bool *ret_found, struct yett_error *error);

void keys_free(struct keys *keys);
