/* See book.h. Collects records and writes them. */
#include "programs/audit/book.h"
#include "base/reached.h"
#include "programs/audit/copy.h"
#include "programs/audit/torn.h"

#include <string.h>
#include <time.h>

#define SEGMENT_BYTES_MIN (64 << 10)
/* room for the records that begin a batch: segment, torn, lost, pruned */
#define OWN_LINES_MAX (16 << 10)

uint64_t book_segment_bytes(uint64_t max_bytes)
{
	uint64_t part = max_bytes / 8 > SEGMENT_BYTES_MIN ? max_bytes / 8 : SEGMENT_BYTES_MIN;

	return max_bytes && part < CHAIN_SEGMENT_BYTES ? part : CHAIN_SEGMENT_BYTES;
}

int book_begin(struct book *book, uint64_t max_bytes)
{
	*book = (struct book){.max_bytes = max_bytes,
	                      .segment_bytes = book_segment_bytes(max_bytes),
	                      .files = {-1, -1, -1},
	                      .error = -EAGAIN};
	book->text = malloc(CHAIN_LINE_MAX);
	book->batch = malloc(BOOK_BATCH_BYTES);
	book->to = book->text ? fmemopen(book->text, CHAIN_LINE_MAX, "w") : NULL;
	return book->batch && book->to ? 0 : -ENOMEM;
}

static void put_head(struct book *book, const char *event)
{
	struct timespec now;
	struct tm tm;
	char text[40];
	size_t length;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + length, sizeof text - length, ".%06ldZ", now.tv_nsec / 1000);
	json_open(&book->json, NULL, '{');
	json_number(&book->json, "seq", book->chain.number + 1);
	json_number(&book->json, "epoch", book->chain.epoch);
	json_text(&book->json, "time", text);
	json_number(&book->json, "boot_ms", book_now_ms());
	json_text(&book->json, "event", event);
}

/* Bytes of all records, without those that were removed meanwhile. */
static uint64_t used_bytes(const struct book *book)
{
	uint64_t all = book->files.bytes + book->written + book->collected,
		 gone = book->pruned.bytes - book->pruned_before;

	return all > gone ? all - gone : 0;
}

static bool is_full(const struct book *book, size_t length, bool is_own)
{
	uint64_t own = book->max_bytes / 8 < BOOK_OWN_BYTES ? book->max_bytes / 8 : BOOK_OWN_BYTES;

	return book->end + book->collected + length > CHAIN_SEGMENT_MAX ||
	       (book->max_bytes > 0 &&
	        used_bytes(book) + length + (is_own ? 0 : own) > book->max_bytes);
}

static void start_line(struct book *book, const char *event)
{
	rewind(book->to);
	book->json = (struct json){.to = book->to};
	put_head(book, event);
}

static int end_line(struct book *book, bool is_own)
{
	long length = fflush(book->to) == 0 ? ftell(book->to) : -1;

	clearerr(book->to);
	/* A full fmemopen(3) stream discards further output and need not report an error. */
	if (length < 0 || length >= (long)(CHAIN_LINE_MAX - CHAIN_TAIL_SIZE - 1))
		return -EMSGSIZE;
	if (is_full(book, (size_t)length + CHAIN_TAIL_SIZE, is_own))
		return -EFBIG;
	book->last = book->collected;
	book->before_last = book->chain;
	memcpy(book->batch + book->last, book->text, (size_t)length);
	book->collected += chain_append(&book->chain, book->batch + book->last, (size_t)length);
	return 0;
}

static void put_hex(struct json *json, const char *name, const uint8_t *bytes, size_t size)
{
	char hex[CHAIN_HEX_SIZE];

	json_text(json, name, chain_hex(bytes, size, hex));
}

/*
 * Collects the first record of a segment. Except for the key, the record holds everything that
 * verification needs to begin with this segment.
 */
static int add_segment(struct book *book)
{
	const struct slots_state *state = &book->state;
	struct json *json = &book->json;

	if (book->end > 0)
		book->batch[book->collected++] = '\n';
	start_line(book, TORN_SEGMENT);
	json_number(json, "offset", 0);
	json_number(json, "bytes", book->end);
	json_number(json, "segment", state->segment);
	put_hex(json, "chain", book->chain.id, sizeof book->chain.id);
	json_bool(json, "sealed", state->is_sealed);
	put_hex(json, "seal", book->chain.seal, sizeof book->chain.seal);
	put_hex(json, "host", book->host, sizeof book->host);
	if (state->before_segment == 0) {
		json_null(json, "before");
		return end_line(book, true);
	}
	json_open(json, "before", '{');
	json_number(json, "segment", state->before_segment);
	json_number(json, "bytes", state->before_bytes);
	put_hex(json, "chain", state->before.id, sizeof state->before.id);
	json_number(json, "epoch", state->before.epoch);
	put_hex(json, "seal", state->before.seal, sizeof state->before.seal);
	put_hex(json, "mac", state->before.mac, sizeof state->before.mac);
	json_number(json, "seq", state->before.number);
	json_close(json);
	return end_line(book, true);
}

static int add_torn(struct book *book)
{
	book->batch[book->collected++] = '\n';
	start_line(book, TORN_EVENT);
	json_number(&book->json, "offset", book->size);
	json_number(&book->json, "bytes", book->end - book->size);
	return end_line(book, true);
}

static int add_lost(struct book *book)
{
	start_line(book, "lost");
	json_number(&book->json, "segment", book->state.before_segment);
	json_number(&book->json, "bytes", book->lost_bytes);
	return end_line(book, true);
}

static int add_pruned(struct book *book)
{
	start_line(book, "pruned");
	json_number(&book->json, "first", book->pruned.first);
	json_number(&book->json, "bytes", book->pruned.bytes);
	return end_line(book, true);
}

/*
 * Reads from the state file which segments `yett audit prune` has removed: their bytes no longer
 * count against max_bytes. Ignores an impossible total: fewer removed bytes than when this process
 * began, or more bytes removed since then than there were.
 */
static void look_at_pruned(struct book *book)
{
	struct slots_pruned pruned;

	if (slots_read_pruned(book->files.state, &pruned) == 0 &&
	    pruned.bytes >= book->pruned_before &&
	    pruned.bytes - book->pruned_before <= book->files.bytes + book->written)
		book->pruned = pruned;
}

/* If no empty segment is left, only a new process can open one: see book_files.c and open.c. */
static int roll(struct book *book)
{
	int r = book_roll(book);

	book->wants_end = book->wants_end || r == -ENFILE;
	return r;
}

/*
 * Checks that the file is still as this process left it. Bytes that somebody appended become a
 * truncated piece. If the file was removed or cut, its records are lost and a new segment begins.
 */
static int look_at_segment(struct book *book)
{
	struct stat st;

	if (fstat(book->files.segment, &st) < 0)
		return -errno;
	if (st.st_nlink == 0 || (uint64_t)st.st_size < book->end) {
		book->has_lost = true;
		book->lost_bytes = book->end;
		copy_say(COPY_WARNING, "segment %u was removed or cut while it was written",
		         book->state.segment);
		return roll(book);
	}
	book->end = (uint64_t)st.st_size;
	return 0;
}

/* Begins a batch with the records of the log writer itself. */
static int begin_batch(struct book *book)
{
	int r = look_at_segment(book);

	/*
	 * If no new segment can be begun, continues with the full one until it has no room for a
	 * batch.
	 */
	if (r == 0 && book->end >= book->segment_bytes && book->end == book->size &&
	    roll(book) < 0 && book->end >= CHAIN_SEGMENT_MAX - BOOK_BATCH_BYTES)
		r = -EFBIG;
	if (r < 0)
		return r;
	look_at_pruned(book);
	if (book->size == 0)
		r = add_segment(book);
	else if (book->end > book->size)
		r = add_torn(book);
	if (r == 0 && book->has_lost)
		r = add_lost(book);
	if (r == 0 && book->pruned.first != book->state.pruned_first)
		r = add_pruned(book);
	return r;
}

/* Discards the collected records and puts the chain back. Returns `r`. */
static int give_up(struct book *book, int r)
{
	struct stat st;

	book->chain = book->durable;
	book->collected = 0;
	book->error = r;
	book->retry_ms = book_now_ms() + COPY_RETRY_MS;
	/* A failed write may have appended a part of the batch. The file can only have grown. */
	if (fstat(book->files.segment, &st) == 0 && (uint64_t)st.st_size > book->end) {
		book->written += (uint64_t)st.st_size - book->end;
		book->end = (uint64_t)st.st_size;
	}
	return r;
}

int book_start(struct book *book, const char *event, struct json **ret_json)
{
	int r = 0;

	if (BOOK_BATCH_BYTES - book->collected < CHAIN_LINE_MAX + OWN_LINES_MAX)
		return -ENOBUFS;
	if (book->collected == 0) {
		if (book_now_ms() < book->retry_ms)
			return book->error;
		r = begin_batch(book);
	}
	if (r < 0)
		return give_up(book, r);
	start_line(book, event);
	*ret_json = &book->json;
	return 0;
}

int book_end(struct book *book)
{
	return end_line(book, false);
}

void book_take_back(struct book *book)
{
	book->chain = book->before_last;
	book->collected = book->last;
}

const char *book_last(const struct book *book, size_t *ret_length)
{
	*ret_length = book->collected - book->last;
	return book->batch + book->last;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

int book_commit(struct book *book)
{
	int r;

	if (book->collected == 0)
		return 0;
	r = reached_step("audit", "write");
	if (r == 0)
		r = write_all(book->files.segment, book->batch, book->collected);
	if (r == 0)
		r = reached_step("audit", "written");
	if (r == 0 && fdatasync(book->files.segment) < 0)
		r = -errno;
	if (r == 0)
		r = reached_step("audit", "durable");
	if (r < 0) {
		copy_say(COPY_ERROR, "records could not be written: %s", strerror(-r));
		return give_up(book, r);
	}
	book->end += book->collected;
	book->written += book->collected;
	book->size = book->end;
	book->durable = book->chain;
	book->collected = 0;
	book->has_lost = false;
	book->state.pruned_first = book->pruned.first;
	return 0;
}

void book_settle(struct book *book)
{
	int r;

	if (!book->is_open || book->collected > 0 || book->end == book->size ||
	    book_now_ms() < book->retry_ms)
		return;
	r = begin_batch(book);
	if (r < 0)
		(void)give_up(book, r);
	else
		(void)!book_commit(book);
}
