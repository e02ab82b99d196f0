/*
 * yett-decoder, seen from the decider: starting it, asking it, and believing none of its answers.
 *
 * The decoder is the only process of the privileged side that parses bytes of a client, and that
 * prints plans; decoder_client.c holds no parser and no printer, and main.c is linked by
 * yett-decoder alone. The caller runs as root and must leave SIGCHLD at its default: program.h.
 */
#pragma once

#include "base/error.h"
#include "helper/plan/plan.h"
#include "helper/privilege/program.h"
#include "protocol/message.h"

#include <sys/types.h>

#define DECODER_TIMEOUT_MS 5000       /* what a decider gives it for a task */
#define DECODER_PRINT      UINT32_MAX /* no kind of a message */

/* Decider → decoder, one packet with the bytes of a message, or of a plan as far as it is used. */
struct decoder_question {
	uint64_t task; /* the kind of a signed message, or DECODER_PRINT */
};

/* Decoder → decider, one packet: first of all, when it has dropped everything, and then for each
 * message, followed by its body and arena.
 */
struct decoder_answer {
	uint32_t refused;        /* 1: `error` says why, and nothing follows */
	uint32_t arena_used;     /* how much of the arena follows */
	struct yett_error error; /* its code, reason, message and detail */
};

/* Decoder → decider, of what was printed: as many packets as it takes, each only as far as it is
 * used. */
struct decoder_part {
	uint32_t is_last;
	char bytes[4096];
};

#define DECODER_INPUT_MAX   MESSAGE_PACKET_MAX
#define DECODER_PRINTED_MAX (1024 * 1024) /* as PROTOCOL.md has it */

struct decoder {
	struct program program;
	bool is_ready;
};
#define DECODER_NONE ((struct decoder){.program = PROGRAM_NONE})

/* One thing to decode. */
struct decoder_task {
	uint32_t kind; /* of a signed message */
	const void *bytes;
	size_t length;
	int timeout_ms; /* from now on, for question and answer together, and for becoming ready if
	                   it is not yet */
};

/*
 * Starts the decoder in the folder `libexec`, to run as user and group `id` (never 0) with
 * empty_dir as its root. It is not waited for. If the caller is not root, or empty_dir is empty (a
 * root that lacks what this takes), the decoder stays the caller and keeps the file system's view.
 * 0 or -errno.
 */
_must_check_ int decoder_start(const char *libexec, uint32_t id, const char *empty_dir,
                               struct decoder *ret_decoder);

/*
 * Waits at most timeout_ms for the decoder to have dropped everything. 0; -ETIMEDOUT; -EPIPE when
 * it ended instead, then `error` (may be NULL) names the stage that failed; -EPROTO. After a
 * failure only decoder_end() is of use.
 */
_must_check_ int decoder_wait_ready(struct decoder *decoder, int timeout_ms,
                                    struct yett_error *error);

/*
 * Has one task decoded; waits for readiness first if need be. 0: `ret_message` holds what the
 * decoder says the bytes mean: within the bounds of the tables, but not proven; message_compare()
 * with the body proves it. Positive: the decoder refused the bytes, `error` says why. Negative: it
 * died (-EPIPE), hung (-ETIMEDOUT) or lied (-EPROTO); `error` says so with
 * YETT_E_HELPER_UNAVAILABLE, and it is not asked again. -EMSGSIZE: more than DECODER_INPUT_MAX
 * bytes. Only the body for its kind and the used part of the arena of `ret_message` are written.
 */
_must_check_ int decoder_run(struct decoder *decoder, const struct decoder_task *task,
                             struct message *ret_message, struct yett_error *error);

/*
 * Has the plan printed, for people and for programs, into a new sealed memfd; waits for readiness
 * first if need be. 0, or what decoder_run() returns of a decoder that failed; -EFBIG, as one of
 * these, for more than DECODER_PRINTED_MAX; -errno where no memory can be had.
 *
 * What a captured decoder can do with that: tell its own client untruths about a plan, which that
 * client may be told of anyway. What is printed goes to the client that asked and nowhere else;
 * nothing is decided by it, and no sandbox is built of it. The plan itself is of a decider's
 * making, and stays as it is.
 */
_must_check_ int decoder_print(struct decoder *decoder, const struct plan *plan, int timeout_ms,
                               int *ret_memfd, struct yett_error *error);

/* Has the decoder end, and waits a moment for that; it is reaped elsewhere. Takes DECODER_NONE. */
void decoder_end(struct decoder *decoder);
