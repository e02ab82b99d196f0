/* SPDX-License-Identifier: Apache-2.0 */
/* See account.h. */
#include "programs/decide/decider/account.h"
#include "base/clock.h"
#include "helper/privilege/program.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/reader/reader.h"
#include "protocol/frame.h"

#define DEADLINE_MS 10000 /* a home may be on a network file system */

/* Has the monitor start another yett-reader. Returns 0, the monitor's error code, or -errno. */
static int account_start(struct account *account, struct yett_error *error)
{
	struct decider_answer answer;
	struct ask_fds fds = {-1, -1};
	int r;

	if (account->reader >= 0)
		return 0;
	r = ask(ACT_READER, NULL, 0, &answer, &fds, error);
	if (r != 0)
		return r;
	account->reader = fds.first;
	account->is_new = true;
	return account->reader >= 0 ? 0 : -(int)(answer.count ?: EPROTO);
}

/*
 * Receives one answer, and the names that are in it. yett-reader has no descriptors to send, so
 * that a packet with some is not received.
 */
static int account_take_answer(const struct account *account, struct peer *peer,
                               struct reader_answer *answer)
{
	struct peer_names *names = &answer->names;
	struct program program = {.socket = account->reader};
	uint64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
	ssize_t n =
		fd_poll(account->reader, POLLIN, DEADLINE_MS) > 0 && frame_peek_fds(account->reader)
			? -EPROTO
			: program_hear(&program, &(struct iovec){answer, sizeof *answer}, 1,
	                               deadline_ms);

	if (n != sizeof *answer)
		return n < 0 ? (int)n : -EPROTO;
	names->user[PEER_NAME_MAX] = names->group[PEER_NAME_MAX] = names->home[PEER_HOME_MAX] =
		'\0';
	names->shell[sizeof names->shell - 1] = names->program[sizeof names->program - 1] = '\0';
	peer->names = *names;
	return answer->error.code == 0 || error_is_sound(&answer->error) ? 0 : -EPROTO;
}

/*
 * Sends the line, if there is one, and receives the answer. A yett-reader that was ended while it
 * was idle is followed by another.
 */
static int account_ask(struct account *account, struct peer *peer, const char *line,
                       struct reader_answer *answer, struct yett_error *error)
{
	const struct iovec question = {(void *)(uintptr_t)line, KEY_LINE_LENGTH};
	int r = -EPIPE;

	for (int attempt = 0; attempt < 2 && r == -EPIPE; attempt++) {
		r = account_start(account, error);
		if (r == 0 && account->is_new)
			r = account_take_answer(account, peer, answer);
		if (r == 0)
			account->is_new = false;
		if (r == 0 && line)
			r = program_ask(&(struct program){.socket = account->reader}, &question, 1);
		if (r == 0 && line)
			r = account_take_answer(account, peer, answer);
		/* Descriptors may take long to close, so a socket with some stays until our exit.
		 */
		if (r < 0)
			account->reader =
				frame_peek_fds(account->reader) ? -1 : fd_close(account->reader);
	}
	return r;
}

int account_name(struct account *account, struct peer *peer, struct yett_error *error)
{
	_cleanup_free_ struct reader_answer *answer = calloc(1, sizeof *answer);

	if (!account->is_new && *peer->names.user)
		return 0;
	return answer ? account_ask(account, peer, NULL, answer, error) : -ENOMEM;
}

int account_find_key(struct account *account, struct peer *peer, const char line[KEY_LINE_LENGTH],
                     bool *ret_is_first, struct yett_error *error)
{
	_cleanup_free_ struct reader_answer *answer = calloc(1, sizeof *answer);
	int r = answer ? account_ask(account, peer, line, answer, error) : -ENOMEM;

	if (r != 0)
		return r;
	*ret_is_first = answer->is_first == 1;
	if (answer->error.code)
		*error = answer->error;
	return (int)answer->error.code;
}
