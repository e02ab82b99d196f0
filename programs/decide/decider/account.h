/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer's account, as yett-reader reports it: names, and keys that the user enrolled.
 *
 * In the decider, without privilege. yett-reader runs as the user, so that its answers are claims
 * of the user: no text in them needs to end with a NUL, and no number needs to be valid.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/key_line.h"

struct account {
	/*
	 * Socket to a yett-reader that has become the peer; -1: none, so that the next question
	 * takes another one from the monitor.
	 */
	int reader;
	/* yett-reader has not sent the names yet, which come first. */
	bool is_new;
};

/*
 * Fills in the names, unless the peer has some. Returns 0, a code of the monitor, which may refuse
 * another yett-reader, or -errno if yett-reader did not answer well and cannot be asked again.
 */
_must_check_ int account_name(struct account *account, struct peer *peer, struct yett_error *error);

/*
 * Asks whether the user has enrolled the key of this line, after account_name(). Returns 0 if so,
 * or with `ret_is_first` if the user has enrolled no key yet; BAD_SIGNATURE or another code of
 * yett-reader or the monitor; or -errno like account_name().
 */
_must_check_ int account_find_key(struct account *account, struct peer *peer,
                                  const char line[KEY_LINE_LENGTH], bool *ret_is_first,
                                  struct yett_error *error);
