/* SPDX-License-Identifier: Apache-2.0 */
/* See log_writer.h. Collects records and writes them. */
#include "programs/audit/log_writer.h"
#include "base/reached.h"
#include "programs/audit/copy.h"
#include "programs/audit/truncated.h"

#include <string.h>
#include <time.h>

#define SEGMENT_BYTES_MIN (64 << 10)
/* room for the records that begin a batch: segment, torn, lost, pruned */
#define OWN_LINES_MAX (16 << 10)

uint64_t writer_segment_bytes(uint64_t max_bytes)
{
	uint64_t part = max_bytes / 8 > SEGMENT_BYTES_MIN ? max_bytes / 8 : SEGMENT_BYTES_MIN;

	return max_bytes && part < CHAIN_SEGMENT_BYTES ? part : CHAIN_SEGMENT_BYTES;
}

int writer_begin(struct writer *writer, uint64_t max_bytes)
{
	*writer = (struct writer){.max_bytes = max_bytes,
	                          .segment_bytes = writer_segment_bytes(max_bytes),
	                          .files = {-1, -1, -1},
	                          .error = -EAGAIN};
	writer->text = malloc(CHAIN_LINE_MAX);
	writer->batch = malloc(WRITER_BATCH_BYTES);
	writer->to = writer->text ? fmemopen(writer->text, CHAIN_LINE_MAX, "w") : NULL;
	return writer->batch && writer->to ? 0 : -ENOMEM;
}

static void log_writer_put_head(struct writer *writer, const char *event)
{
	struct timespec now;
	struct tm tm;
	char text[40];
	size_t length;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + length, sizeof text - length, ".%06ldZ", now.tv_nsec / 1000);
	json_open(&writer->json, NULL, '{');
	json_number(&writer->json, "seq", writer->chain.number + 1);
	json_number(&writer->json, "epoch", writer->chain.epoch);
	json_text(&writer->json, "time", text);
	json_number(&writer->json, "boot_ms", writer_now_ms());
	json_text(&writer->json, "event", event);
}

/* Bytes of all records, without those that were removed meanwhile. */
static uint64_t used_bytes(const struct writer *writer)
{
	uint64_t all = writer->files.bytes + writer->written + writer->collected,
		 gone = writer->pruned.bytes - writer->pruned_before;

	return all > gone ? all - gone : 0;
}

static bool log_writer_is_full(const struct writer *writer, size_t length, bool is_own)
{
	uint64_t own =
		writer->max_bytes / 8 < WRITER_OWN_BYTES ? writer->max_bytes / 8 : WRITER_OWN_BYTES;

	return writer->end + writer->collected + length > CHAIN_SEGMENT_MAX ||
	       (writer->max_bytes > 0 &&
	        used_bytes(writer) + length + (is_own ? 0 : own) > writer->max_bytes);
}

static void start_line(struct writer *writer, const char *event)
{
	rewind(writer->to);
	writer->json = (struct json){.to = writer->to};
	log_writer_put_head(writer, event);
}

static int end_line(struct writer *writer, bool is_own)
{
	long length = fflush(writer->to) == 0 ? ftell(writer->to) : -1;

	clearerr(writer->to);
	/* A full fmemopen(3) stream discards further output and need not report an error. */
	if (length < 0 || length >= (long)(CHAIN_LINE_MAX - CHAIN_TAIL_SIZE - 1))
		return -EMSGSIZE;
	if (log_writer_is_full(writer, (size_t)length + CHAIN_TAIL_SIZE, is_own))
		return -EFBIG;
	writer->last = writer->collected;
	writer->before_last = writer->chain;
	memcpy(writer->batch + writer->last, writer->text, (size_t)length);
	writer->collected +=
		chain_append(&writer->chain, writer->batch + writer->last, (size_t)length);
	return 0;
}

static void log_writer_put_hex(struct json *json, const char *name, const uint8_t *bytes,
                               size_t size)
{
	char hex[CHAIN_HEX_SIZE];

	json_text(json, name, chain_hex(bytes, size, hex));
}

/*
 * Collects the first record of a segment. Except for the key, the record holds everything that
 * verification needs to begin with this segment.
 */
static int add_segment(struct writer *writer)
{
	const struct slots_state *state = &writer->state;
	struct json *json = &writer->json;

	if (writer->end > 0)
		writer->batch[writer->collected++] = '\n';
	start_line(writer, TRUNCATED_SEGMENT);
	json_number(json, "offset", 0);
	json_number(json, "bytes", writer->end);
	json_number(json, "segment", state->segment);
	log_writer_put_hex(json, "chain", writer->chain.id, sizeof writer->chain.id);
	json_bool(json, "sealed", state->is_sealed);
	log_writer_put_hex(json, "seal", writer->chain.seal, sizeof writer->chain.seal);
	log_writer_put_hex(json, "host", writer->host, sizeof writer->host);
	if (state->before_segment == 0) {
		json_null(json, "before");
		return end_line(writer, true);
	}
	json_open(json, "before", '{');
	json_number(json, "segment", state->before_segment);
	json_number(json, "bytes", state->before_bytes);
	log_writer_put_hex(json, "chain", state->before.id, sizeof state->before.id);
	json_number(json, "epoch", state->before.epoch);
	log_writer_put_hex(json, "seal", state->before.seal, sizeof state->before.seal);
	log_writer_put_hex(json, "mac", state->before.mac, sizeof state->before.mac);
	json_number(json, "seq", state->before.number);
	json_close(json);
	return end_line(writer, true);
}

static int add_truncated(struct writer *writer)
{
	writer->batch[writer->collected++] = '\n';
	start_line(writer, TRUNCATED_EVENT);
	json_number(&writer->json, "offset", writer->size);
	json_number(&writer->json, "bytes", writer->end - writer->size);
	return end_line(writer, true);
}

static int add_lost(struct writer *writer)
{
	start_line(writer, "lost");
	json_number(&writer->json, "segment", writer->state.before_segment);
	json_number(&writer->json, "bytes", writer->lost_bytes);
	return end_line(writer, true);
}

static int add_pruned(struct writer *writer)
{
	start_line(writer, "pruned");
	json_number(&writer->json, "first", writer->pruned.first);
	json_number(&writer->json, "bytes", writer->pruned.bytes);
	return end_line(writer, true);
}

/*
 * Reads from the state file which segments `yett audit prune` has removed: their bytes no longer
 * count against max_bytes. Ignores an impossible total: fewer removed bytes than when this process
 * began, or more bytes removed since then than there were.
 */
static void look_at_pruned(struct writer *writer)
{
	struct slots_pruned pruned;

	if (slots_read_pruned(writer->files.state, &pruned) == 0 &&
	    pruned.bytes >= writer->pruned_before &&
	    pruned.bytes - writer->pruned_before <= writer->files.bytes + writer->written)
		writer->pruned = pruned;
}

/* If no empty segment is left, only a new process can open one: see log_files.c and open.c. */
static int roll(struct writer *writer)
{
	int r = writer_roll(writer);

	writer->wants_end = writer->wants_end || r == -ENFILE;
	return r;
}

/*
 * Checks that the file is still as this process left it. Bytes that somebody appended become a
 * truncated piece. If the file was removed or cut, its records are lost and a new segment begins.
 */
static int look_at_segment(struct writer *writer)
{
	struct stat st;

	if (fstat(writer->files.segment, &st) < 0)
		return -errno;
	if (st.st_nlink == 0 || (uint64_t)st.st_size < writer->end) {
		writer->has_lost = true;
		writer->lost_bytes = writer->end;
		copy_say(COPY_WARNING, "segment %u was removed or cut while it was written",
		         writer->state.segment);
		return roll(writer);
	}
	writer->end = (uint64_t)st.st_size;
	return 0;
}

/* Begins a batch. Its first records are those that the log writer itself adds, if any. */
static int begin_batch(struct writer *writer)
{
	int r = look_at_segment(writer);

	/*
	 * If no new segment can be begun, continues with the full one until it has no room for a
	 * batch.
	 */
	if (r == 0 && writer->end >= writer->segment_bytes && writer->end == writer->size &&
	    roll(writer) < 0 && writer->end >= CHAIN_SEGMENT_MAX - WRITER_BATCH_BYTES)
		r = -EFBIG;
	if (r < 0)
		return r;
	look_at_pruned(writer);
	if (writer->size == 0)
		r = add_segment(writer);
	else if (writer->end > writer->size)
		r = add_truncated(writer);
	if (r == 0 && writer->has_lost)
		r = add_lost(writer);
	if (r == 0 && writer->pruned.first != writer->state.pruned_first)
		r = add_pruned(writer);
	return r;
}

/* Discards the collected records and puts the chain back. Returns `r`. */
static int log_writer_give_up(struct writer *writer, int r)
{
	struct stat st;

	writer->chain = writer->durable;
	writer->collected = 0;
	writer->error = r;
	writer->retry_ms = writer_now_ms() + COPY_RETRY_MS;
	/* A failed write may have appended a part of the batch. The file can only have grown. */
	if (fstat(writer->files.segment, &st) == 0 && (uint64_t)st.st_size > writer->end) {
		writer->written += (uint64_t)st.st_size - writer->end;
		writer->end = (uint64_t)st.st_size;
	}
	return r;
}

int writer_start(struct writer *writer, const char *event, struct json **ret_json)
{
	int r = 0;

	if (WRITER_BATCH_BYTES - writer->collected < CHAIN_LINE_MAX + OWN_LINES_MAX)
		return -ENOBUFS;
	if (writer->collected == 0) {
		if (writer_now_ms() < writer->retry_ms)
			return writer->error;
		r = begin_batch(writer);
	}
	if (r < 0)
		return log_writer_give_up(writer, r);
	start_line(writer, event);
	*ret_json = &writer->json;
	return 0;
}

int writer_end(struct writer *writer)
{
	return end_line(writer, false);
}

void writer_take_back(struct writer *writer)
{
	writer->chain = writer->before_last;
	writer->collected = writer->last;
}

const char *writer_last(const struct writer *writer, size_t *ret_length)
{
	*ret_length = writer->collected - writer->last;
	return writer->batch + writer->last;
}

static int log_writer_write_all(int fd, const char *bytes, size_t length)
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

int writer_commit(struct writer *writer)
{
	int r;

	if (writer->collected == 0)
		return 0;
	r = reached_step("audit", "write");
	if (r == 0)
		r = log_writer_write_all(writer->files.segment, writer->batch, writer->collected);
	if (r == 0)
		r = reached_step("audit", "written");
	if (r == 0 && fdatasync(writer->files.segment) < 0)
		r = -errno;
	if (r == 0)
		r = reached_step("audit", "durable");
	if (r < 0) {
		copy_say(COPY_ERROR, "records could not be written: %s", strerror(-r));
		return log_writer_give_up(writer, r);
	}
	writer->end += writer->collected;
	writer->written += writer->collected;
	writer->size = writer->end;
	writer->durable = writer->chain;
	writer->collected = 0;
	writer->has_lost = false;
	writer->state.pruned_first = writer->pruned.first;
	return 0;
}

void writer_settle(struct writer *writer)
{
	int r;

	if (!writer->is_open || writer->collected > 0 || writer->end == writer->size ||
	    writer_now_ms() < writer->retry_ms)
		return;
	r = begin_batch(writer);
	if (r < 0)
		(void)log_writer_give_up(writer, r);
	else
		(void)!writer_commit(writer);
}
