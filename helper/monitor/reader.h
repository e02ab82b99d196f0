/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor's side of yett-reader: starts it, asks it, and treats its answers as claims of the
 * user.
 *
 * yett-reader reads as the user what the helper must not read: files below the user's home, and
 * answers of the host's name services. reader_client.c must not contain code that reads these.
 * main.c and own_keys.c of programs/decide/reader/ are linked into yett-reader only (and into
 * yett-explain, which reports to its caller what the caller itself can read).
 */
#pragma once

#include "helper/policy/key_line.h"
#include "helper/plan/peer.h"
#include "helper/privilege/program.h"

/* Monitor → reader. */
struct reader_question {
	/* The user to become; only that of the first question counts. */
	struct peer peer;
	bool wants_key;
	char line[KEY_LINE_LENGTH]; /* the line of the key, if wants_key */
};

/* Reader → monitor. */
struct reader_answer {
	struct peer_names names;
	/* 1: the user has enrolled no key yet. */
	uint8_t is_first;
	/* Code 0: the key is enrolled, or is_first, or the question was about no key. */
	struct yett_error error;
};

struct reader {
	const char *libexec; /* directory of yett-reader */
	struct program program;
	/* A question for the names was sent, and its answer not received yet. */
	bool is_asked;
	/* It was asked for a key, and will be again: keep it while the connection is idle. */
	bool is_kept;
};
#define READER_NONE ((struct reader){.program = PROGRAM_NONE})

/*
 * Starts yett-reader before there is a connection, because starting takes longer than all its other
 * work. Returns 0 or -errno.
 */
_must_check_ int reader_start(const char *libexec, struct reader *ret_reader);

/*
 * Makes yett-reader become the peer and look up the names, while the client prepares its request.
 * reader_ask() reports a failure.
 */
void reader_begin(struct reader *reader, const struct peer *peer);

/*
 * Fills in the peer's names, if they are not known yet. Unless `line` is NULL, has yett-reader look
 * for the line in the peer's present ~/.config/yett/authorized_keys. Returns 0; -errno, after
 * ending yett-reader, which the next question starts again; or BAD_SIGNATURE if the file does not
 * have the key, or does not count.
 */
_must_check_ int reader_ask(struct reader *reader, struct peer *peer, const char *line,
                            bool *ret_is_first, struct yett_error *error);

/* Ends and reaps yett-reader. Takes READER_NONE. */
void reader_free(struct reader *reader);
