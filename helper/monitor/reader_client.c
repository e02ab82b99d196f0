/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See reader.h. The monitor's side: sends questions of one fixed size and receives answers of
 * another fixed size.
 *
 * Runs in the monitor, as root. Must never wait without a deadline, and must never trust that a
 * text in an answer ends with a NUL or that a number is valid.
 */
#include "base/clock.h"
#include "helper/monitor/program_end.h"
#include "helper/monitor/reader.h"
#include "protocol/frame.h"

#include <string.h>

#define DEADLINE_MS 10000 /* a home may be on a network file system */

int reader_start(const char *libexec, struct reader *ret_reader)
{
	char *argv[] = {(char *)"yett-reader", NULL};

	*ret_reader = (struct reader){.libexec = libexec};
	return program_start(libexec, argv, NULL, 0, &ret_reader->program);
}

void reader_free(struct reader *reader)
{
	program_end(&reader->program);
	*reader = (struct reader){.libexec = reader->libexec, .program = PROGRAM_NONE};
}

static int reader_client_send_question(struct reader *reader, const struct peer *peer,
                                       const char *line)
{
	struct reader_question question = {.peer = *peer, .wants_key = line};
	int r = reader->program.pid > 0 ? 0 : reader_start(reader->libexec, reader);

	if (line)
		memcpy(question.line, line, sizeof question.line);
	return r == 0 ? program_ask(&reader->program, &(struct iovec){&question, sizeof question},
	                            1)
	              : r;
}

static int reader_client_take_answer(const struct reader *reader, struct peer *peer,
                                     struct reader_answer *answer)
{
	struct peer_names *names = &answer->names;
	uint64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
	/*
	 * yett-reader has no descriptors to send. Closing any could block, so that such a packet is
	 * not received.
	 */
	ssize_t n = fd_poll(reader->program.socket, POLLIN, DEADLINE_MS) > 0 &&
	                            frame_peek_fds(reader->program.socket)
	                    ? -EPROTO
	                    : program_hear(&reader->program,
	                                   &(struct iovec){answer, sizeof *answer}, 1, deadline_ms);

	if (n != sizeof *answer)
		return n < 0 ? (int)n : -EPROTO;
	names->user[PEER_NAME_MAX] = names->group[PEER_NAME_MAX] = names->home[PEER_HOME_MAX] =
		'\0';
	names->shell[sizeof names->shell - 1] = names->program[sizeof names->program - 1] = '\0';
	peer->names = *names;
	return answer->error.code == 0 || error_is_sound(&answer->error) ? 0 : -EPROTO;
}

void reader_begin(struct reader *reader, const struct peer *peer)
{
	reader->is_asked = reader_client_send_question(reader, peer, NULL) == 0;
}

int reader_ask(struct reader *reader, struct peer *peer, const char *line, bool *ret_is_first,
               struct yett_error *error)
{
	_cleanup_free_ struct reader_answer *answer = calloc(1, sizeof *answer);
	bool is_reported = reader->is_asked;
	int r = answer ? 0 : -ENOMEM;

	if (r == 0 && is_reported)
		r = reader_client_take_answer(reader, peer, answer);
	reader->is_asked = false;
	if (r == 0 && (line || (!is_reported && !*peer->names.user))) {
		r = reader_client_send_question(reader, peer, line);
		r = r ? r : reader_client_take_answer(reader, peer, answer);
	}
	if (r < 0) {
		reader_free(reader);
		return r;
	}
	reader->is_kept = reader->is_kept || line;
	*ret_is_first = line && answer->is_first == 1;
	if (answer->error.code)
		*error = answer->error;
	return (int)answer->error.code;
}
