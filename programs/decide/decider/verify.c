/* SPDX-License-Identifier: Apache-2.0 */
/* See verify.h. */
#include "programs/decide/decider/verify.h"
#include "base/error_text.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/key_text.h"
#include "protocol/asker.h"
#include "protocol/encode.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

static int decider_verify_refuse(struct yett_error *error, enum yett_code code,
                                 enum yett_reason reason)
{
	return error_set(error, code, reason, "%s", error_reason_text(reason));
}

/*
 * Distinguishes replayed, reordered and stray requests before any cryptography, for a precise
 * error. A forger learns nothing useful from that error.
 */
static int check_order(struct verify_context *context, const struct envelope *envelope,
                       struct yett_error *error)
{
	int r = 0;

	if (sodium_memcmp(envelope->tag, context->challenge, sizeof envelope->tag) != 0)
		return decider_verify_refuse(error, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	if (envelope->sequence < context->next_sequence)
		r = decider_verify_refuse(error, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	else if (envelope->sequence > context->next_sequence)
		r = decider_verify_refuse(error, YETT_E_BAD_SIGNATURE, YETT_R_OUT_OF_ORDER);
	if (r != 0)
		error_detail(error, "sequence %" PRIu64 ", expected %" PRIu64, envelope->sequence,
		             context->next_sequence);
	return r;
}

static int check_signature(const struct verify_context *context, const struct envelope *envelope,
                           const uint8_t *body, struct yett_error *error)
{
	/* Static: to map this much memory for each request would take longer than the copy. */
	static uint8_t bytes[ENVELOPE_SIGNED_MAX];
	size_t length = envelope_signed_bytes(envelope, context->challenge, body,
	                                      envelope->body_length, bytes);
	if (crypto_sign_verify_detached(envelope->signature, bytes, length, envelope->key) != 0)
		return decider_verify_refuse(error, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	return 0;
}

/* yett-reader could not be asked. `r` is what account_name() or account_find_key() returned. */
static int refuse_account(enum key_source source, int r, struct yett_error *error)
{
	return source == KEY_ENROLLED
	               ? error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
	                           "the user's account cannot be looked up: %s", strerror(-r))
	               : error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY,
	                           "the user's own keys cannot be read: %s", strerror(-r));
}

/* Asks whose key this is, after check_signature(). Fills in the peer's names, too. */
static int decider_verify_find_key(struct verify_context *context,
                                   const uint8_t key[ENVELOPE_KEY_SIZE], struct verified *verified,
                                   struct yett_error *error)
{
	struct decider_key wanted = {.may_be_own =
	                                     authorize_user_keys(context->policy, context->peer)};
	char line[KEY_LINE_LENGTH + 1];
	struct decider_answer answer;
	/* First, because the monitor records the program. */
	int named = account_name(context->account, context->peer, error), r;

	if (named > 0)
		return named;
	key_text(key, line);
	memcpy(wanted.line, line, sizeof wanted.line);
	memcpy(wanted.program, context->peer->names.program, sizeof wanted.program);
	r = ask(ACT_KEY, &(struct iovec){&wanted, sizeof wanted}, 1, &answer, NULL, error);
	if (r != 0)
		return r;
	verified->key_source =
		answer.key.source == DECIDER_KEY_ENROLLED ? KEY_ENROLLED : KEY_OF_USER;
	/* authorize_manager() may know why no key of the user would be granted anything. */
	if (answer.key.source == DECIDER_KEY_UNKNOWN)
		return authorize_manager(context->policy, verified, error)
		               ?: decider_verify_refuse(error, YETT_E_BAD_SIGNATURE,
		                                        YETT_R_UNKNOWN_KEY);
	if (verified->key_source == KEY_ENROLLED)
		memcpy(verified->principal, answer.key.principal, sizeof verified->principal);
	else if (named == 0)
		named = account_find_key(context->account, context->peer, line,
		                         &verified->is_first_key, error);
	return named < 0 ? refuse_account(verified->key_source, named, error) : named;
}

int verify_request(struct verify_context *context, const uint8_t *packet, size_t length,
                   size_t fd_count, struct message *message, uint64_t *ret_sequence,
                   struct verified *ret_verified, struct yett_error *error)
{
	struct verified verified = {
		.peer = context->peer, .request = message, .fd_count = fd_count};
	struct envelope envelope;
	struct decoder_task task = {.timeout_ms = DECODER_TIMEOUT_MS};
	const uint8_t *body;
	int r = envelope_read(packet, length, fd_count, &envelope, error);

	if (r != 0)
		return r;
	*ret_sequence = envelope.sequence;
	if (!envelope.is_signed)
		return decider_verify_refuse(error, YETT_E_PROTOCOL, YETT_R_KIND);
	if (envelope.kind != MESSAGE_CREATE && envelope.kind != MESSAGE_MOUNT && fd_count > 0)
		return decider_verify_refuse(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	r = check_order(context, &envelope, error);
	if (r != 0)
		return r;
	context->next_sequence++;
	body = packet + envelope_size(envelope.kind);
	r = check_signature(context, &envelope, body, error);
	if (r == 0)
		r = decider_verify_find_key(context, envelope.key, &verified, error);
	if (r != 0)
		return r;
	/*
	 * The decoder only gets bytes that an enrolled key has signed, or that come from a user who
	 * may enroll any key.
	 */
	task.kind = envelope.kind;
	task.bytes = body;
	task.length = envelope.body_length;
	r = decoder_run(context->decoder, &task, message, error);
	if (r != 0)
		return r;
	r = message_compare(message, body, envelope.body_length);
	if (r != 0)
		return r > 0 ? r
		             : error_set(error, YETT_E_PROTOCOL, YETT_R_NOT_CANONICAL,
		                         "the decoded message is not the signed message");
	if (verified.is_first_key &&
	    (message->kind != MESSAGE_CREATE || !message->body.create.plan_only))
		return decider_verify_refuse(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	verified.is_agents = *message_agent(message);
	*ret_verified = verified;
	return 0;
}
