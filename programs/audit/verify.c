/* SPDX-License-Identifier: Apache-2.0 */
/* See verify.h. */
#include "programs/audit/verify.h"
#include "programs/audit/field.h"
#include "programs/audit/truncated.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MINUTES_MAX UINT64_C(53000000) /* a hundred years */

static void _printf_(3, 4)
	report_finding(struct verify *v, enum verify_kind kind, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	v->wrong += kind == VERIFY_WRONG;
	v->unchecked += kind == VERIFY_UNCHECKED;
	v->report(v->userdata, kind, v->file, v->line, text);
}

void verify_begin(struct verify *verify, verify_report *report, void *userdata)
{
	*verify = (struct verify){
		.report = report, .userdata = userdata, .minutes_left = MINUTES_MAX};
}

static bool audit_verify_is_same(const uint8_t *a, const uint8_t *b, size_t size)
{
	return sodium_memcmp(a, b, size) == 0;
}

/*
 * Whether the chain may be advanced to that minute: false if it is already past it, or minutes_left
 * is used up. A forged record can claim any minute, and each step costs time, so there is one
 * budget for the whole verification.
 */
static bool may_advance(struct verify *v, const struct chain *chain, uint64_t epoch)
{
	if (epoch < chain->epoch || epoch - chain->epoch > v->minutes_left)
		return false;
	v->minutes_left -= epoch - chain->epoch;
	return true;
}

static bool advance_to(struct verify *v, struct chain *chain, uint64_t epoch)
{
	if (!may_advance(v, chain, epoch))
		return false;
	while (chain->epoch < epoch)
		chain_advance(chain);
	return true;
}

/* Advances only the key. The seal and the last MAC are not known. */
static bool skip_to(struct verify *v, struct chain *chain, uint64_t epoch)
{
	if (!may_advance(v, chain, epoch))
		return false;
	for (; chain->epoch < epoch; chain->epoch++)
		chain_next_key(chain->key);
	return true;
}

static bool read_before(const char *line, size_t length, struct verify_segment *segment)
{
	struct chain *before = &segment->before;

	return field_number(line, length, "before.segment", &segment->before_segment) &&
	       field_number(line, length, "before.bytes", &segment->before_bytes) &&
	       field_number(line, length, "before.epoch", &before->epoch) &&
	       field_number(line, length, "before.seq", &before->number) &&
	       field_bytes(line, length, "before.chain", before->id, sizeof before->id) &&
	       field_bytes(line, length, "before.seal", before->seal, sizeof before->seal) &&
	       field_bytes(line, length, "before.mac", before->mac, sizeof before->mac);
}

static bool read_segment(const char *line, size_t length, struct verify_segment *ret)
{
	struct field before;

	*ret = (struct verify_segment){0};
	if (!field_is(line, length, "event", "segment") ||
	    !field_number(line, length, "segment", &ret->number) ||
	    !field_number(line, length, "epoch", &ret->epoch) ||
	    !field_number(line, length, "seq", &ret->seq) ||
	    !field_bytes(line, length, "chain", ret->id, sizeof ret->id) ||
	    !field_bytes(line, length, "seal", ret->seal, sizeof ret->seal) ||
	    !field_bytes(line, length, "host", ret->host, sizeof ret->host) ||
	    !field_find(line, length, "before", &before))
		return false;
	ret->is_sealed = field_is(line, length, "sealed", "true");
	ret->has_before = *before.value == '{';
	return !ret->has_before || read_before(line, length, ret);
}

/* Finds the first key of the chain: one of those given, or the public one. */
static bool audit_verify_find_key(struct verify *v, const struct verify_segment *segment,
                                  uint8_t ret_key[CHAIN_HASH_SIZE])
{
	for (size_t i = 0; i < v->keys_count; i++) {
		if (audit_verify_is_same(v->keys[i].id, segment->id, CHAIN_ID_SIZE)) {
			memcpy(ret_key, v->keys[i].key, CHAIN_HASH_SIZE);
			v->keys[i].is_used = true;
			return true;
		}
	}
	if (segment->is_sealed)
		return false;
	chain_open_key(segment->id, ret_key);
	return true;
}

/*
 * Prepares *ret_chain to verify the first record of a segment of another chain: the first segment
 * of that chain, or one whose predecessors are not given. Returns whether that is possible.
 */
static bool prepare_begin(struct verify *v, const struct verify_segment *segment,
                          struct chain *ret_chain)
{
	uint8_t key[CHAIN_HASH_SIZE];
	bool is_begin = segment->seq == 1, is_known;

	chain_begin(ret_chain, segment->id, (audit_verify_find_key(v, segment, key), key));
	sodium_memzero(key, sizeof key);
	if (is_begin)
		return advance_to(v, ret_chain, segment->epoch);
	is_known = segment->has_before &&
	           audit_verify_is_same(segment->before.id, segment->id, CHAIN_ID_SIZE) &&
	           skip_to(v, ret_chain, segment->epoch);
	memcpy(ret_chain->seal, segment->seal, sizeof ret_chain->seal);
	memcpy(ret_chain->mac, segment->before.mac, sizeof ret_chain->mac);
	ret_chain->number = segment->seq - 1;
	return is_known;
}

/*
 * Prepares *ret_chain for a further segment of the current chain: from the verified state, or if
 * that was lost, from what the segment's record claims.
 */
static bool prepare_further(struct verify *v, const struct verify_segment *segment,
                            struct chain *ret_chain)
{
	*ret_chain = v->chain;
	if (v->sync == VERIFY_IN_STEP)
		return advance_to(v, ret_chain, segment->epoch);
	if (!segment->has_before || !skip_to(v, ret_chain, segment->epoch))
		return false;
	memcpy(ret_chain->seal, segment->seal, sizeof ret_chain->seal);
	memcpy(ret_chain->mac, segment->before.mac, sizeof ret_chain->mac);
	ret_chain->number = segment->seq - 1;
	return true;
}

/* Reports segments that are missing between this one and the previous one. */
static void check_neighbours(struct verify *v, const struct verify_segment *segment)
{
	uint64_t before = segment->has_before ? segment->before_segment : 0;
	bool is_first = v->segments == 0;

	if (is_first && before > 0 && !v->may_begin_later)
		report_finding(
			v, VERIFY_WRONG,
			"segments up to %llu are not here: they were removed, by yett audit prune or by somebody else (--pruned)",
			(unsigned long long)before);
	else if (is_first && before > 0)
		report_finding(v, VERIFY_NOTE, "segments up to %llu are not here",
		               (unsigned long long)before);
	else if (!is_first && before != v->last_segment)
		report_finding(v, VERIFY_WRONG,
		               "it follows segment %llu, and the one before it here is %llu",
		               (unsigned long long)before, (unsigned long long)v->last_segment);
	else if (!is_first && v->last_bytes != VERIFY_BYTES_UNKNOWN &&
	         segment->before_bytes != v->last_bytes)
		report_finding(v, VERIFY_WRONG,
		               "segment %llu had %llu bytes of records when it ended, and has %llu",
		               (unsigned long long)before,
		               (unsigned long long)segment->before_bytes,
		               (unsigned long long)v->last_bytes);
	if (v->has_host && !audit_verify_is_same(v->host, segment->host, sizeof v->host))
		report_finding(
			v, VERIFY_NOTE,
			"it is of another host than this one, or than the segment before it");
	memcpy(v->host, segment->host, sizeof v->host);
	v->has_host = true;
}

/* Another chain begins: checks that the previous one ended as the new one says. */
static void check_former(struct verify *v, const struct verify_segment *segment)
{
	struct chain *former = &v->chain;

	if (v->sync != VERIFY_NOTHING && v->is_sealed && !segment->is_sealed)
		report_finding(
			v, VERIFY_WRONG,
			"a chain with a key is followed by one without: yett-audit does not do that");
	if (v->last_segment > 0 && v->sync == VERIFY_NOTHING && segment->has_before &&
	    (!audit_verify_is_same(v->unchecked_id, segment->before.id, sizeof v->unchecked_id) ||
	     !audit_verify_is_same(v->unchecked_mac, segment->before.mac, sizeof v->unchecked_mac)))
		report_finding(
			v, VERIFY_WRONG,
			"the previous chain is not the one named here, or ended differently");
	if (v->sync != VERIFY_IN_STEP || !segment->has_before)
		return;
	if (!audit_verify_is_same(former->id, segment->before.id, sizeof former->id) ||
	    !advance_to(v, former, segment->before.epoch) ||
	    !audit_verify_is_same(former->seal, segment->before.seal, sizeof former->seal) ||
	    !audit_verify_is_same(former->mac, segment->before.mac, sizeof former->mac))
		report_finding(
			v, VERIFY_WRONG,
			"the previous chain did not end as recorded here: its last records are missing");
}

static void note_kind(struct verify *v, const struct verify_segment *segment)
{
	v->is_sealed = segment->is_sealed;
	v->has_sealed = v->has_sealed || segment->is_sealed;
	v->has_open = v->has_open || !segment->is_sealed;
}

/* A chain without a given key cannot be verified. Reports that once for each chain. */
static void leave_unchecked(struct verify *v, uint32_t number, const struct verify_segment *segment)
{
	if (!audit_verify_is_same(v->unchecked_id, segment->id, sizeof v->unchecked_id))
		report_finding(v, VERIFY_UNCHECKED,
		               "no key was given of its chain, which is sealed");
	memcpy(v->unchecked_id, segment->id, sizeof v->unchecked_id);
	v->sync = VERIFY_NOTHING;
	v->segments++;
	v->last_segment = number;
	v->last_bytes = VERIFY_BYTES_UNKNOWN;
	note_kind(v, segment);
}

enum begun { NO_SEGMENT, SEGMENT_BEGUN, SEGMENT_UNCHECKED };

/* Verifies the first record of a segment with the key of its chain. */
static enum begun audit_verify_begin_segment(struct verify *v, uint32_t number, const char *line,
                                             size_t length)
{
	struct verify_segment segment;
	uint8_t key[CHAIN_HASH_SIZE];
	struct chain chain;
	bool is_other, is_prepared;

	if (!read_segment(line, length, &segment))
		return NO_SEGMENT;
	if (!audit_verify_find_key(v, &segment, key)) {
		leave_unchecked(v, number, &segment);
		return SEGMENT_UNCHECKED;
	}
	sodium_memzero(key, sizeof key);
	is_other = v->sync == VERIFY_NOTHING ||
	           !audit_verify_is_same(v->chain.id, segment.id, sizeof segment.id);
	is_prepared = is_other ? prepare_begin(v, &segment, &chain)
	                       : prepare_further(v, &segment, &chain);
	if (!is_prepared || !chain_accept(&chain, line, length)) {
		sodium_memzero(&chain, sizeof chain);
		return NO_SEGMENT;
	}
	if (segment.number != number)
		report_finding(v, VERIFY_WRONG, "it is segment %llu under another name",
		               (unsigned long long)segment.number);
	check_neighbours(v, &segment);
	if (is_other)
		check_former(v, &segment);
	v->chain = chain;
	v->sync = VERIFY_IN_STEP;
	v->segments++;
	v->records++;
	note_kind(v, &segment);
	sodium_memzero(&chain, sizeof chain);
	return SEGMENT_BEGUN;
}

/* Accepts the next record, in the same minute or a later one. */
static bool audit_verify_accept(struct verify *v, const struct chain *from, const char *line,
                                size_t length)
{
	struct chain chain = *from;
	uint64_t epoch;
	bool is_next = field_number(line, length, "epoch", &epoch) &&
	               advance_to(v, &chain, epoch) && chain_accept(&chain, line, length);

	if (is_next)
		v->chain = chain;
	sodium_memzero(&chain, sizeof chain);
	return is_next;
}

/* A run of lines that do not verify. */
struct trouble {
	size_t lines, first; /* number of lines; line number of the first */
	uint64_t seq;        /* sequence number that the first one claims */
	/* the chain after the last of them, if what that line claims were true */
	struct chain claimed;
	bool has_claimed;
};

static void report_trouble(struct verify *v, struct trouble *trouble, uint64_t expected)
{
	size_t line = v->line;

	v->line = trouble->first;
	if (trouble->seq > expected)
		report_finding(v, VERIFY_WRONG,
		               "records %llu to %llu are missing before this one, or were replaced",
		               (unsigned long long)expected,
		               (unsigned long long)(trouble->seq - 1));
	else if (trouble->lines == 1)
		report_finding(v, VERIFY_WRONG, "this line was changed (record %llu was expected)",
		               (unsigned long long)expected);
	else
		report_finding(
			v, VERIFY_WRONG,
			"this and the following lines, %zu in all, were changed (record %llu was expected)",
			trouble->lines, (unsigned long long)expected);
	v->line = line;
	*trouble = (struct trouble){0};
}

/*
 * Notes a line that does not verify. What it claims may still lead to the next record, if only the
 * rest of it was changed.
 */
static void note_trouble(struct verify *v, const char *line, size_t length, struct trouble *trouble)
{
	struct chain claimed = trouble->has_claimed ? trouble->claimed : v->chain;
	uint64_t epoch = 0;
	size_t body;

	if (trouble->lines++ == 0) {
		trouble->first = v->line;
		(void)field_number(line, length, "seq", &trouble->seq);
	}
	trouble->has_claimed = field_number(line, length, "epoch", &epoch) &&
	                       advance_to(v, &claimed, epoch) &&
	                       chain_split(line, length, &body, claimed.mac) &&
	                       field_number(line, length, "seq", &claimed.number);
	trouble->claimed = claimed;
	sodium_memzero(&claimed, sizeof claimed);
}

static void audit_verify_take_line(struct verify *v, const char *line, size_t length,
                                   struct trouble *trouble)
{
	uint64_t expected = v->chain.number + 1;

	if (!audit_verify_accept(v, &v->chain, line, length) &&
	    !(trouble->has_claimed && audit_verify_accept(v, &trouble->claimed, line, length))) {
		note_trouble(v, line, length, trouble);
		return;
	}
	if (trouble->lines > 0)
		report_trouble(v, trouble, expected);
	v->records++;
}

static bool is_accepted(struct verify *v, const char *line, size_t length)
{
	struct chain chain = v->chain;
	uint64_t epoch;
	bool is = field_number(line, length, "epoch", &epoch) && advance_to(v, &chain, epoch) &&
	          chain_accept(&chain, line, length);

	sodium_memzero(&chain, sizeof chain);
	return is;
}

static size_t line_length(const char *bytes, size_t size, size_t at)
{
	const char *end = memchr(bytes + at, '\n', size - at);

	return end ? (size_t)(end + 1 - bytes) - at : 0;
}

static void note_truncated(struct verify *v, const char *bytes, size_t at, size_t after)
{
	report_finding(v, VERIFY_NOTE, "%zu bytes are a truncated record, as the next record says",
	               after - at - 1);
	for (; at < after; at++)
		v->line += bytes[at] == '\n';
}

/*
 * Returns the start of the next record: `at`, or the line after a truncated piece at `at`. A record
 * describes the truncated piece before it.
 */
static size_t pass_truncated(struct verify *v, const struct truncated_list *truncated,
                             const char *bytes, size_t size, size_t at)
{
	size_t from = truncated->count, after, length;

	while ((after = truncated_after(truncated, 0, at, &from)) > 0) {
		length = line_length(bytes, size, after);
		if (length > 0 && is_accepted(v, bytes + after, length)) {
			note_truncated(v, bytes, at, after);
			return after;
		}
	}
	return at;
}

/* Verifies the records after the first. Returns where they end. */
static size_t audit_verify_take_lines(struct verify *v, const struct truncated_list *truncated,
                                      const char *bytes, size_t size, size_t at)
{
	struct trouble trouble = {0};

	while (at < size) {
		size_t length;

		at = truncated->count ? pass_truncated(v, truncated, bytes, size, at) : at;
		length = line_length(bytes, size, at);
		if (length == 0)
			break;
		audit_verify_take_line(v, bytes + at, length, &trouble);
		at += length;
		v->line++;
	}
	if (trouble.lines > 0) {
		report_trouble(v, &trouble, v->chain.number + 1);
		v->sync = VERIFY_OUT_OF_IT;
	}
	sodium_memzero(&trouble, sizeof trouble);
	return at;
}

/*
 * The first record does not verify. In the last segment it may not be written yet; verify_end()
 * compares that with the state. Elsewhere somebody changed it.
 */
static void pass_over(struct verify *v, uint32_t number, bool is_last)
{
	if (is_last)
		v->empty = number;
	else
		report_finding(v, VERIFY_WRONG,
		               "this is not the first record of a segment, or was changed");
	if (v->sync == VERIFY_IN_STEP && !is_last)
		v->sync = VERIFY_OUT_OF_IT;
}

/*
 * Finds the first record: at the start, or after a truncated piece there. *ret_end: its end, if it
 * is one.
 */
static enum begun find_begin(struct verify *v, const struct truncated_list *truncated,
                             uint32_t number, const char *bytes, size_t size, size_t *ret_end)
{
	size_t from = truncated->count, after, length;
	enum begun begun = NO_SEGMENT;

	do {
		after = truncated_after(truncated, 0, 0, &from);
		length = line_length(bytes, size, after);
		if (length > 0)
			begun = audit_verify_begin_segment(v, number, bytes + after, length);
	} while (after > 0 && begun == NO_SEGMENT);
	if (begun == SEGMENT_BEGUN && after > 0)
		note_truncated(v, bytes, 0, after);
	*ret_end = after + length;
	v->line += begun == SEGMENT_BEGUN;
	return begun;
}

/* Takes the MAC of the last whole line of a segment that cannot be verified. */
static void find_last_mac(struct verify *v, const char *bytes, size_t size)
{
	const char *end = memrchr(bytes, '\n', size),
		   *begin = end > bytes ? memrchr(bytes, '\n', (size_t)(end - bytes)) : NULL;
	size_t body;

	if (!end || !begin ||
	    !chain_split(begin + 1, (size_t)(end - begin), &body, v->unchecked_mac))
		memset(v->unchecked_mac, 0, sizeof v->unchecked_mac);
}

void verify_segment(struct verify *verify, const char *file, uint32_t number, const char *bytes,
                    size_t size, bool is_last)
{
	static struct truncated_list truncated;
	enum begun begun;
	size_t end;

	verify->file = file;
	verify->line = 1;
	/* The last segment is still empty. */
	if (size == 0 && is_last)
		return;
	truncated_find(bytes, size, &truncated);
	begun = find_begin(verify, &truncated, number, bytes, size, &end);
	if (begun == NO_SEGMENT)
		pass_over(verify, number, is_last);
	if (begun == SEGMENT_UNCHECKED)
		find_last_mac(verify, bytes, size);
	if (begun != SEGMENT_BEGUN)
		return;
	verify->last_bytes = audit_verify_take_lines(verify, &truncated, bytes, size, end);
	verify->last_segment = number;
	if (verify->last_bytes < size)
		report_finding(verify, VERIFY_NOTE,
		               "it ends in the middle of a record, which was never acknowledged");
}

/* The state is of this chain: checks that the verified records lead to it. */
static void audit_verify_check_state(struct verify *v, const struct slots_state *state,
                                     const uint8_t *vouch)
{
	struct chain end = state->chain;
	uint8_t own[CHAIN_HASH_SIZE];
	bool is_right;

	if (state->segment > v->last_segment && state->size > 0)
		report_finding(v, VERIFY_WRONG,
		               "segment %u is missing, in which the last records are",
		               state->segment);
	else if (state->segment == v->last_segment && state->size > v->last_bytes)
		report_finding(v, VERIFY_WRONG, "segment %u is cut: it had %llu bytes",
		               state->segment, (unsigned long long)state->size);
	if (v->empty > 0 && v->empty == state->segment && state->size == 0)
		report_finding(
			v, VERIFY_NOTE,
			"segment %u holds no record yet, but a piece of one that was never acknowledged",
			state->segment);
	else if (v->empty > 0)
		report_finding(v, VERIFY_WRONG,
		               "segment %llu has no first record, or a changed one",
		               (unsigned long long)v->empty);
	if (v->sync != VERIFY_IN_STEP)
		return;
	if (!advance_to(v, &v->chain, state->chain.epoch) ||
	    !audit_verify_is_same(v->chain.seal, state->chain.seal, CHAIN_HASH_SIZE)) {
		report_finding(
			v, VERIFY_WRONG,
			"records are missing at the end, or the state is not the one that belongs to them");
		return;
	}
	if (vouch) {
		memcpy(end.key, v->chain.key, sizeof end.key);
		chain_vouch(&end, own);
		is_right = audit_verify_is_same(own, vouch, sizeof own);
	} else {
		is_right = audit_verify_is_same(v->chain.key, state->chain.key, CHAIN_HASH_SIZE);
	}
	if (!is_right)
		report_finding(v, VERIFY_WRONG,
		               "the state is of another key: it was made by somebody else");
	sodium_memzero(&end, sizeof end);
}

void verify_end(struct verify *verify, const struct slots_state *state,
                const uint8_t vouch[CHAIN_HASH_SIZE])
{
	verify->file = "state";
	verify->line = 0;
	if (!state && verify->empty > 0)
		report_finding(verify, VERIFY_WRONG,
		               "segment %llu has no first record, or a changed one",
		               (unsigned long long)verify->empty);
	if (!state)
		report_finding(
			verify, VERIFY_NOTE,
			"there is no state: whether records are missing at the end is not known");
	else if (verify->segments > 0 && verify->sync != VERIFY_NOTHING &&
	         !audit_verify_is_same(state->chain.id, verify->chain.id, CHAIN_ID_SIZE))
		report_finding(
			verify, VERIFY_WRONG,
			"the state is of another chain than the last segment: a segment is missing, or the state was replaced");
	else if (verify->sync != VERIFY_NOTHING || verify->empty > 0)
		audit_verify_check_state(verify, state, vouch);
	for (size_t i = 0; i < verify->keys_count; i++)
		if (!verify->keys[i].is_used)
			report_finding(verify, VERIFY_WRONG,
			               "a key was given of a chain of which no record is here");
	sodium_memzero(verify->keys, sizeof verify->keys);
	sodium_memzero(&verify->chain, sizeof verify->chain);
}
