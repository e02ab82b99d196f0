/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said to yett-reader and by it.
 *
 * yett-reader reads as the user what the helper must not read: files below the user's home, and
 * answers of the host's name services. main.c and own_keys.c beside this header are linked into
 * yett-reader only (and into yett-explain, which reports to its caller what the caller itself can
 * read).
 *
 * The monitor starts yett-reader and sends the first packet, a struct peer: the user to become. The
 * decider has the socket only after that, so that it cannot choose the user. yett-reader answers
 * the first packet with the names, and each further packet, which is the line of a key
 * (KEY_LINE_LENGTH bytes), with whether the user has enrolled that key.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/key_line.h"

struct reader_answer {
	struct peer_names names;
	/* 1: the user has enrolled no key yet. */
	uint8_t is_first;
	/* Code 0: the key is enrolled, or is_first, or nothing was asked. */
	struct yett_error error;
};
