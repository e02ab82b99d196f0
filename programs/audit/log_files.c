/* SPDX-License-Identifier: Apache-2.0 */
/* See log_writer.h. Handles segments and the state, and recovers after a crash at any point. */
#include "base/reached.h"
#include "programs/audit/log_writer.h"
#include "programs/audit/copy.h"
#include "programs/audit/truncated.h"

#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t writer_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Writes `next` as the state, and resets the chain to the one in it. */
static int log_files_store(struct writer *writer, struct slots_state *next)
{
	struct timespec now;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	next->written_s = (uint64_t)now.tv_sec;
	next->generation = writer->state.generation;
	r = slots_store(writer->files.state, next);
	if (r < 0)
		return r;
	writer->state = *next;
	writer->chain = writer->durable = next->chain;
	sodium_memzero(&writer->before_last, sizeof writer->before_last);
	return 0;
}

/*
 * Writes a state in which the empty segment is the current one, with the chain of `next`, and in
 * which the previous segment ended as `ended`.
 */
static int log_files_begin_segment(struct writer *writer, struct slots_state *next,
                                   const struct chain *ended)
{
	int r;

	if (writer->files.next < 0)
		return -ENFILE;
	/* A segment without records is not mentioned as the previous one. */
	if (writer->size > 0) {
		next->before = *ended;
		sodium_memzero(next->before.key, sizeof next->before.key);
		next->before_segment = writer->state.segment;
		next->before_bytes = writer->size;
	}
	next->segment = writer->files.next_number;
	next->size = 0;
	r = reached_step("audit", "segment");
	if (r == 0)
		r = log_files_store(writer, next);
	if (r < 0)
		return r;
	(void)fd_close(writer->files.segment);
	writer->files.segment = steal_fd(&writer->files.next);
	writer->size = writer->end = 0;
	return 0;
}

int writer_roll(struct writer *writer)
{
	struct slots_state next = writer->state;
	int r;

	next.chain = writer->durable;
	r = log_files_begin_segment(writer, &next, &writer->durable);
	sodium_memzero(&next, sizeof next);
	return r;
}

/*
 * Replaces the chain by the waiting one, if there is one, and begins a segment. Returns 1 if it
 * did, or if it only emptied the slot of a chain that is in use already; 0 if no chain waits or it
 * must wait longer; or -errno.
 */
static int take_up(struct writer *writer)
{
	struct slots_state next = writer->state;
	struct chain ended = writer->durable;
	struct slots_next waiting;
	int r;

	/* The record about a truncated piece must come first, in the piece's own segment. */
	if (writer->end > writer->size)
		return 0;
	r = slots_read_next(writer->files.state, &waiting);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	/*
	 * If the ids are equal, the chain is in use already: an earlier attempt took it up, but
	 * failed or died before it wiped the slot.
	 */
	if (memcmp(waiting.id, writer->state.chain.id, sizeof waiting.id) != 0) {
		chain_begin(&next.chain, waiting.id, waiting.key);
		chain_advance(&next.chain);
		chain_advance(&ended);
		next.is_sealed = 1;
		r = log_files_begin_segment(writer, &next, &ended);
	}
	sodium_memzero(&next, sizeof next);
	sodium_memzero(&waiting, sizeof waiting);
	sodium_memzero(&ended, sizeof ended);
	if (r == -ENFILE) {
		writer->wants_end = true; /* the next process opens an empty segment */
		return 0;
	}
	if (r == 0)
		r = slots_wipe_next(writer->files.state);
	return r < 0 ? r : 1;
}

/* Ends the minute: takes up a waiting chain, or else replaces the key by the next one. */
static int seal(struct writer *writer)
{
	struct slots_state next;
	int r = take_up(writer);

	if (r != 0)
		return r < 0 ? r : 0;
	next = writer->state;
	next.chain = writer->durable;
	next.size = writer->size;
	chain_advance(&next.chain);
	r = log_files_store(writer, &next);
	sodium_memzero(&next, sizeof next);
	return r;
}

/* Returns the end of the record at offset `at`, if it is the next one of the chain; else 0. */
static size_t log_files_accept(struct chain *chain, const char *bytes, size_t size, size_t at)
{
	const char *end = memchr(bytes + at, '\n', size - at);

	return end && chain_accept(chain, bytes + at, (size_t)(end + 1 - bytes) - at)
	               ? (size_t)(end + 1 - bytes)
	               : 0;
}

/*
 * Follows the records after the state's position, all of which are of the state's minute, and the
 * truncated pieces that these records describe. Returns their length.
 */
static size_t log_files_follow(struct chain *chain, uint64_t base, const char *bytes, size_t size)
{
	static struct truncated_list truncated;
	size_t at = 0, end;

	truncated_find(bytes, size, &truncated);
	do {
		size_t from = truncated.count, after;

		end = 0;
		while (!end && (after = truncated_after(&truncated, base, at, &from)) > 0)
			end = log_files_accept(chain, bytes, size, after);
		if (!end)
			end = log_files_accept(chain, bytes, size, at);
		at = end ? end : at;
	} while (end);
	return at;
}

/*
 * Reads the segment from the state's position on. Returns 0; -ENODATA: the segment is shorter than
 * the state says; or -errno.
 */
static int read_tail(struct writer *writer)
{
	static char tail[CHAIN_SEGMENT_MAX];
	uint64_t from = writer->state.size;
	size_t length = 0;
	struct stat st;

	if (fstat(writer->files.segment, &st) < 0)
		return -errno;
	writer->end = (uint64_t)st.st_size;
	if (writer->end < from)
		return -ENODATA;
	while (length < sizeof tail) {
		ssize_t n = pread(writer->files.segment, tail + length, sizeof tail - length,
		                  (off_t)(from + length));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	writer->size = from + log_files_follow(&writer->durable, from, tail, length);
	writer->chain = writer->durable;
	return 0;
}

/* Makes the first chain. Its key is public, so it proves nothing: see chain_open_key(). */
static int begin_state(struct writer *writer)
{
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];

	if (getrandom(id, sizeof id, 0) != sizeof id)
		return -errno;
	chain_open_key(id, key);
	writer->state = (struct slots_state){0};
	chain_begin(&writer->state.chain, id, key);
	return 0;
}

/*
 * Makes the segment that the state names the current one, and reads its end. Two segments are open:
 * the last one with records, and the empty one. If the named segment is missing or too short, its
 * records count as lost, with the size that the state has for it: no other size is known.
 */
static int find_segment(struct writer *writer)
{
	struct open_files *files = &writer->files;
	int r = 0;

	if (writer->state.segment == 0)
		return 0;
	if (writer->state.segment == files->next_number && files->next >= 0) {
		/*
		 * The previous process wrote the state that switches to the empty segment, and died
		 * before the first record.
		 */
		(void)fd_close(files->segment);
		files->segment = steal_fd(&files->next);
		files->segment_number = files->next_number;
	} else if (writer->state.segment != files->segment_number) {
		r = -ENOENT;
	} else if (files->segment < 0) {
		r = files->segment;
	}
	if (r == 0)
		r = read_tail(writer);
	if (r == 0)
		return 0;
	writer->has_lost = true;
	writer->lost_bytes = writer->size = writer->end = writer->state.size;
	copy_say(COPY_WARNING, "segment %u is missing or truncated: %s", writer->state.segment,
	         strerror(-r));
	files->segment = fd_close(files->segment);
	return 0;
}

static int log_files_go_on(struct writer *writer)
{
	int r = slots_load(writer->files.state, &writer->state);

	writer->size = writer->end = 0;
	if (r == -ENOENT)
		r = begin_state(writer);
	if (r < 0)
		return r;
	writer->durable = writer->chain = writer->state.chain;
	if (slots_read_pruned(writer->files.state, &writer->pruned) == 0)
		writer->pruned_before = writer->pruned.bytes;
	r = find_segment(writer);
	if (r == 0)
		r = seal(writer);
	/* No segment was begun yet, or it was lost. */
	if (r == 0 && (writer->state.segment == 0 || writer->files.segment < 0))
		r = writer_roll(writer);
	return r;
}

int writer_open(struct writer *writer)
{
	int r;

	if (writer->is_open)
		return 0;
	if (writer->files.state < 0 || writer_now_ms() < writer->retry_ms)
		return writer->error;
	r = log_files_go_on(writer);
	writer->epoch_ends_ms = writer_now_ms() + WRITER_EPOCH_MS;
	writer->is_open = r == 0;
	if (r < 0) {
		copy_say(COPY_ERROR, "the records cannot be written: %s", strerror(-r));
		writer->retry_ms = writer_now_ms() + COPY_RETRY_MS;
		writer->error = r;
	}
	return r;
}

void writer_tick(struct writer *writer)
{
	uint64_t now = writer_now_ms();
	int r;

	if (!writer->is_open || writer->collected > 0 || now < writer->epoch_ends_ms)
		return;
	r = seal(writer);
	if (r < 0)
		copy_say(COPY_ERROR, "a minute could not be sealed: %s", strerror(-r));
	writer->epoch_ends_ms = now + (r < 0 ? COPY_RETRY_MS : WRITER_EPOCH_MS);
}

int writer_timeout_ms(const struct writer *writer)
{
	uint64_t now = writer_now_ms(),
		 end = writer->is_open ? writer->epoch_ends_ms : now + COPY_RETRY_MS;

	return end <= now ? 0 : end - now > WRITER_EPOCH_MS ? WRITER_EPOCH_MS : (int)(end - now);
}
