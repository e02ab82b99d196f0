/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decider's interface to yett-decoder: starts the decoder, sends it questions, and distrusts
 * its answers.
 *
 * On the helper's side only the decoder parses bytes of a client and prints plans. decoder_client.c
 * has no parser and no printer; the decoder's main.c is linked into yett-decoder alone. The decider
 * calls decoder_start() while it is still root. It must leave SIGCHLD at its default: program.h.
 */
#pragma once

#include "base/error.h"
#include "helper/plan/plan.h"
#include "helper/privilege/program.h"
#include "protocol/message.h"

#include <sys/types.h>

#define DECODER_TIMEOUT_MS 5000       /* the decider's deadline for a task */
#define DECODER_PRINT      UINT32_MAX /* not a kind of message */

/* Decider → decoder: one packet, followed by the bytes of a message or the used part of a plan. */
struct decoder_question {
	uint64_t task; /* the kind of a signed message, or DECODER_PRINT */
};

/*
 * Decoder → decider: one packet when the decoder has dropped all privilege; then one for each
 * message, followed by its body and arena.
 */
struct decoder_answer {
	uint32_t refused;        /* 1: `error` says why, and nothing follows */
	uint32_t arena_used;     /* how much of the arena follows */
	struct yett_error error; /* its code, reason, message and detail */
};

/* Decoder → decider: the printed text, in as many packets as needed, of each the used part. */
struct decoder_part {
	uint32_t is_last;
	char bytes[4096];
};

#define DECODER_INPUT_MAX   MESSAGE_PACKET_MAX
#define DECODER_PRINTED_MAX (1024 * 1024) /* the limit in PROTOCOL.md */

struct decoder {
	struct program program;
	bool is_ready;
};
#define DECODER_NONE ((struct decoder){.program = PROGRAM_NONE})

struct decoder_task {
	uint32_t kind; /* of a signed message */
	const void *bytes;
	size_t length;
	int timeout_ms; /* from the call on: for readiness, question and answer together */
};

/*
 * Starts the yett-decoder of the folder `libexec`, as user and group `id` (never 0) with empty_dir
 * as its root directory. Does not wait until the decoder is ready. If the caller is not root, or if
 * empty_dir is "" (root without the needed capabilities), the decoder keeps the ids and the root
 * directory of the caller. Returns 0 or -errno.
 */
_must_check_ int decoder_start(const char *libexec, uint32_t id, const char *empty_dir,
                               struct decoder *ret_decoder);

/*
 * Waits at most timeout_ms until the decoder has dropped all privilege. Returns 0; -ETIMEDOUT;
 * -EPIPE when the decoder ended or could not drop its privilege, with the failed stage in `error`
 * (may be NULL); -EPROTO. After a failure call only decoder_end().
 */
_must_check_ int decoder_wait_ready(struct decoder *decoder, int timeout_ms,
                                    struct yett_error *error);

/*
 * Has the decoder decode one task; first waits until the decoder is ready. Returns 0:
 * `ret_message` has the decoder's reading of the bytes, within the bounds of the tables but not
 * proven (message_compare() with the body proves the reading). Positive: the decoder refused the
 * bytes, with the reason in `error`. Negative: the decoder died (-EPIPE), hung (-ETIMEDOUT) or
 * sent an invalid answer (-EPROTO); `error` has YETT_E_HELPER_UNAVAILABLE, and the decoder is not
 * asked again. -EMSGSIZE: more than DECODER_INPUT_MAX bytes. Writes only the body of the kind and
 * the used part of the arena of `ret_message`.
 */
_must_check_ int decoder_run(struct decoder *decoder, const struct decoder_task *task,
                             struct message *ret_message, struct yett_error *error);

/*
 * Has the decoder print the plan, for people and for programs, into a new sealed memfd; first waits
 * until the decoder is ready. Returns 0; a negative number of decoder_run() when the decoder
 * failed; -EFBIG, also a failure of the decoder, for more than DECODER_PRINTED_MAX bytes; -errno
 * when the memfd cannot be made.
 *
 * A compromised decoder can only lie to its own client about a plan that this client may see. The
 * text goes to the client that asked and nowhere else. Nothing is decided from the text, no sandbox
 * is built from it, and the decoder cannot change the plan.
 */
_must_check_ int decoder_print(struct decoder *decoder, const struct plan *plan, int timeout_ms,
                               int *ret_memfd, struct yett_error *error);

/*
 * Closes the decoder's socket, on which the decoder ends, and waits up to 100 ms for its end. Does
 * not reap the decoder. Accepts DECODER_NONE.
 */
void decoder_end(struct decoder *decoder);
