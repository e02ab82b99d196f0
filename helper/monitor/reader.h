/*
 * yett-reader, seen from the monitor: starting it, asking it, and taking what it says as said by
 * the user.
 *
 * It reads as the user what the helper must not: files below a home, and what the host's name
 * services say. reader_client.c holds no code that does; main.c and own_keys.c are linked by
 * yett-reader alone (and by yett-explain, which tells its caller what the caller can read).
 */
#pragma once

#include "helper/policy/key_line.h"
#include "helper/plan/peer.h"
#include "helper/privilege/program.h"

/* Monitor → reader. */
struct reader_question {
	struct peer peer; /* whom to become: of the first question */
	bool wants_key;
	char line[KEY_LINE_LENGTH]; /* then the key's */
};

/* Reader → monitor. */
struct reader_answer {
	struct peer_names names;
	uint8_t is_first; /* 1: the user has enrolled no key yet */
	struct yett_error
		error; /* code 0: is_first, or the key is enrolled; or none was asked about */
};

struct reader {
	const char *libexec; /* folder of yett-reader */
	struct program program;
	bool is_asked; /* for the names, which it has not been heard about */
	bool is_kept;  /* it was asked for keys, and will be again */
};
#define READER_NONE ((struct reader){.program = PROGRAM_NONE})

/* Starts it before there is a connection, since that takes longer than all else it does. 0 or
 * -errno. */
_must_check_ int reader_start(const char *libexec, struct reader *ret_reader);

/* Has it become the peer and look up the names, while the client prepares its request. That it
 * cannot is told by reader_ask(). */
void reader_begin(struct reader *reader, const struct peer *peer);

/*
 * Fills in the peer's names, if they are not known yet, and has it look for the line (NULL: none)
 * in the peer's
 * ~/.config/yett/authorized_keys as that is now. 0; -errno, and it is gone and will be started
 * anew; or BAD_SIGNATURE: the key is not there, or the file does not count.
 */
_must_check_ int reader_ask(struct reader *reader, struct peer *peer, const char *line,
                            bool *ret_is_first, struct yett_error *error);

/* Ends and reaps it. Takes READER_NONE. */
void reader_free(struct reader *reader);
