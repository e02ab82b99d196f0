/* See book.h. Handles segments and the state, and recovers after a crash at any point. */
#include "base/reached.h"
#include "programs/audit/book.h"
#include "programs/audit/copy.h"
#include "programs/audit/torn.h"

#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t book_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Writes `next` as the state, and resets the chain to the one in it. */
static int store(struct book *book, struct slots_state *next)
{
	struct timespec now;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	next->written_s = (uint64_t)now.tv_sec;
	next->generation = book->state.generation;
	r = slots_store(book->files.state, next);
	if (r < 0)
		return r;
	book->state = *next;
	book->chain = book->durable = next->chain;
	sodium_memzero(&book->before_last, sizeof book->before_last);
	return 0;
}

/*
 * Writes a state in which the empty segment is the current one, with the chain of `next`, and in
 * which the previous segment ended as `ended`.
 */
static int begin_segment(struct book *book, struct slots_state *next, const struct chain *ended)
{
	int r;

	if (book->files.next < 0)
		return -ENFILE;
	/* A segment without records is not mentioned as the previous one. */
	if (book->size > 0) {
		next->before = *ended;
		sodium_memzero(next->before.key, sizeof next->before.key);
		next->before_segment = book->state.segment;
		next->before_bytes = book->size;
	}
	next->segment = book->files.next_number;
	next->size = 0;
	r = reached_step("audit", "segment");
	if (r == 0)
		r = store(book, next);
	if (r < 0)
		return r;
	(void)fd_close(book->files.segment);
	book->files.segment = steal_fd(&book->files.next);
	book->size = book->end = 0;
	return 0;
}

int book_roll(struct book *book)
{
	struct slots_state next = book->state;
	int r;

	next.chain = book->durable;
	r = begin_segment(book, &next, &book->durable);
	sodium_memzero(&next, sizeof next);
	return r;
}

/*
 * Replaces the chain by the waiting one, if there is one, and begins a segment. Returns 1 if it
 * did, or if it only emptied the slot of a chain that is in use already; 0 if no chain waits or it
 * must wait longer; or -errno.
 */
static int take_up(struct book *book)
{
	struct slots_state next = book->state;
	struct chain ended = book->durable;
	struct slots_next waiting;
	int r;

	/* The record about a truncated piece must come first, in the piece's own segment. */
	if (book->end > book->size)
		return 0;
	r = slots_read_next(book->files.state, &waiting);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	/*
	 * If the ids are equal, the chain is in use already: an earlier attempt took it up, but
	 * failed or died before it wiped the slot.
	 */
	if (memcmp(waiting.id, book->state.chain.id, sizeof waiting.id) != 0) {
		chain_begin(&next.chain, waiting.id, waiting.key);
		chain_advance(&next.chain);
		chain_advance(&ended);
		next.is_sealed = 1;
		r = begin_segment(book, &next, &ended);
	}
	sodium_memzero(&next, sizeof next);
	sodium_memzero(&waiting, sizeof waiting);
	sodium_memzero(&ended, sizeof ended);
	if (r == -ENFILE) {
		book->wants_end = true; /* the next process opens an empty segment */
		return 0;
	}
	if (r == 0)
		r = slots_wipe_next(book->files.state);
	return r < 0 ? r : 1;
}

/* Ends the minute: takes up a waiting chain, or else replaces the key by the next one. */
static int seal(struct book *book)
{
	struct slots_state next;
	int r = take_up(book);

	if (r != 0)
		return r < 0 ? r : 0;
	next = book->state;
	next.chain = book->durable;
	next.size = book->size;
	chain_advance(&next.chain);
	r = store(book, &next);
	sodium_memzero(&next, sizeof next);
	return r;
}

/* Returns the end of the record at offset `at`, if it is the next one of the chain; else 0. */
static size_t accept(struct chain *chain, const char *bytes, size_t size, size_t at)
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
static size_t follow(struct chain *chain, uint64_t base, const char *bytes, size_t size)
{
	static struct torn_list torn;
	size_t at = 0, end;

	torn_find(bytes, size, &torn);
	do {
		size_t from = torn.count, after;

		end = 0;
		while (!end && (after = torn_after(&torn, base, at, &from)) > 0)
			end = accept(chain, bytes, size, after);
		if (!end)
			end = accept(chain, bytes, size, at);
		at = end ? end : at;
	} while (end);
	return at;
}

/*
 * Reads the segment from the state's position on. Returns 0; -ENODATA: the segment is shorter than
 * the state says; or -errno.
 */
static int read_tail(struct book *book)
{
	static char tail[CHAIN_SEGMENT_MAX];
	uint64_t from = book->state.size;
	size_t length = 0;
	struct stat st;

	if (fstat(book->files.segment, &st) < 0)
		return -errno;
	book->end = (uint64_t)st.st_size;
	if (book->end < from)
		return -ENODATA;
	while (length < sizeof tail) {
		ssize_t n = pread(book->files.segment, tail + length, sizeof tail - length,
		                  (off_t)(from + length));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	book->size = from + follow(&book->durable, from, tail, length);
	book->chain = book->durable;
	return 0;
}

/* Makes the first chain. Its key is public, so it proves nothing: see chain_open_key(). */
static int begin_state(struct book *book)
{
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];

	if (getrandom(id, sizeof id, 0) != sizeof id)
		return -errno;
	chain_open_key(id, key);
	book->state = (struct slots_state){0};
	chain_begin(&book->state.chain, id, key);
	return 0;
}

/*
 * Makes the segment that the state names the current one, and reads its end. Two segments are open:
 * the last one with records, and the empty one. If the named segment is missing or too short, its
 * records count as lost, with the size that the state has for it: no other size is known.
 */
static int find_segment(struct book *book)
{
	struct open_files *files = &book->files;
	int r = 0;

	if (book->state.segment == 0)
		return 0;
	if (book->state.segment == files->next_number && files->next >= 0) {
		/*
		 * The previous process wrote the state that switches to the empty segment, and died
		 * before the first record.
		 */
		(void)fd_close(files->segment);
		files->segment = steal_fd(&files->next);
		files->segment_number = files->next_number;
	} else if (book->state.segment != files->segment_number) {
		r = -ENOENT;
	} else if (files->segment < 0) {
		r = files->segment;
	}
	if (r == 0)
		r = read_tail(book);
	if (r == 0)
		return 0;
	book->has_lost = true;
	book->lost_bytes = book->size = book->end = book->state.size;
	copy_say(COPY_WARNING, "segment %u is not there any more, or not all of it: %s",
	         book->state.segment, strerror(-r));
	files->segment = fd_close(files->segment);
	return 0;
}

static int go_on(struct book *book)
{
	int r = slots_load(book->files.state, &book->state);

	book->size = book->end = 0;
	if (r == -ENOENT)
		r = begin_state(book);
	if (r < 0)
		return r;
	book->durable = book->chain = book->state.chain;
	if (slots_read_pruned(book->files.state, &book->pruned) == 0)
		book->pruned_before = book->pruned.bytes;
	r = find_segment(book);
	if (r == 0)
		r = seal(book);
	/* No segment was begun yet, or it was lost. */
	if (r == 0 && (book->state.segment == 0 || book->files.segment < 0))
		r = book_roll(book);
	return r;
}

int book_open(struct book *book)
{
	int r;

	if (book->is_open)
		return 0;
	if (book->files.state < 0 || book_now_ms() < book->retry_ms)
		return book->error;
	r = go_on(book);
	book->epoch_ends_ms = book_now_ms() + BOOK_EPOCH_MS;
	book->is_open = r == 0;
	if (r < 0) {
		copy_say(COPY_ERROR, "the records cannot be written: %s", strerror(-r));
		book->retry_ms = book_now_ms() + COPY_RETRY_MS;
		book->error = r;
	}
	return r;
}

void book_tick(struct book *book)
{
	uint64_t now = book_now_ms();
	int r;

	if (!book->is_open || book->collected > 0 || now < book->epoch_ends_ms)
		return;
	r = seal(book);
	if (r < 0)
		copy_say(COPY_ERROR, "a minute could not be sealed: %s", strerror(-r));
	book->epoch_ends_ms = now + (r < 0 ? COPY_RETRY_MS : BOOK_EPOCH_MS);
}

int book_timeout_ms(const struct book *book)
{
	uint64_t now = book_now_ms(),
		 end = book->is_open ? book->epoch_ends_ms : now + COPY_RETRY_MS;

	return end <= now ? 0 : end - now > BOOK_EPOCH_MS ? BOOK_EPOCH_MS : (int)(end - now);
}
