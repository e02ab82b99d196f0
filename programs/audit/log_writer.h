/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log writer: appends records (lines) to segments and keeps the state of their chain. Part of
 * yett-audit; runs without privilege, on files that are already open (open.h).
 *
 * Records are collected, written by one write(2), and made durable by one fdatasync(2). Until then
 * the chain can be put back. A record that cannot be written is answered with an errno, and the
 * next record describes what the failed write left in the file (truncated.h). The log writer maps
 * no memory, truncates no file and opens no path.
 */
#pragma once

#include "base/json.h"
#include "programs/audit/open.h"
#include "programs/audit/slots.h"

#ifndef WRITER_EPOCH_MS
#define WRITER_EPOCH_MS 60000 /* tests use shorter minutes */
#endif

#define WRITER_BATCH_BYTES (1 << 20)
/* Bytes of max_bytes that are reserved for the log writer's own records. */
#define WRITER_OWN_BYTES (64 << 10)

struct writer {
	uint64_t max_bytes, segment_bytes;
	uint8_t host[CHAIN_ID_SIZE];
	struct open_files files; /* state -1: opening failed, for the reason in `error` */
	bool is_open;
	bool wants_end;           /* no empty segment is left: a new process must take over */
	struct slots_state state; /* as on disk */
	struct chain durable;     /* after the records on disk */
	struct chain chain;       /* after the collected records */
	struct chain before_last; /* before the last collected record */
	/*
	 * bytes of the segment up to the end of its last record, including truncated pieces that a
	 * record describes
	 */
	uint64_t size;
	/*
	 * bytes of the file; those from `size` on are a truncated piece that no record describes
	 * yet
	 */
	uint64_t end;
	uint64_t written; /* bytes that this process wrote */
	uint64_t epoch_ends_ms, retry_ms;
	int error;     /* -errno of the last attempt; no further attempt before retry_ms */
	bool has_lost; /* the previous segment was removed or cut */
	uint64_t lost_bytes;
	struct slots_pruned pruned; /* what was removed */
	/* the part of `pruned` that was removed before `files.bytes` was measured */
	uint64_t pruned_before;
	char *text, *batch;     /* the line that is being made; the collected lines */
	size_t collected, last; /* bytes in `batch`; offset of its last line */
	struct json json;       /* writes to `text` */
	FILE *to;
};

/* The segment size to use if all records together may have `max_bytes`. */
uint64_t writer_segment_bytes(uint64_t max_bytes);

/*
 * Initializes the struct, except for `files` and `error`, which the caller sets. Allocates all
 * memory. Returns 0 or -ENOMEM.
 */
_must_check_ int writer_begin(struct writer *writer, uint64_t max_bytes);

/*
 * Resumes at the end of the existing records, if that is not done yet. Returns 0, or -errno if
 * nothing can be written now. The caller may try again after COPY_RETRY_MS.
 */
_must_check_ int writer_open(struct writer *writer);

/*
 * Begins a record. The log must be open. The caller adds members to *ret_json and calls
 * writer_end(). Returns 0; -ENOBUFS: call writer_commit() first, since the batch is full; or
 * -errno: nothing can be written.
 */
_must_check_ int writer_start(struct writer *writer, const char *event, struct json **ret_json);

/*
 * Ends and collects the record. Returns 0; -EFBIG: the limit for all records is reached; -EMSGSIZE:
 * the record is too long for a line. On error the record is dropped.
 */
_must_check_ int writer_end(struct writer *writer);

/*
 * Drops the record that the last writer_end() collected, and no earlier one. Call it before any
 * function that begins, collects or writes a record.
 */
void writer_take_back(struct writer *writer);

/* Returns the last collected record, with its newline. */
const char *writer_last(const struct writer *writer, size_t *ret_length);

/*
 * Writes the collected records and waits for the disk. Returns 0, or -errno: none of them counts as
 * written.
 */
_must_check_ int writer_commit(struct writer *writer);

/* Writes a record about a truncated piece, if there is one and nothing is collected. */
void writer_settle(struct writer *writer);

/* Seals the minute if it is over and nothing is collected. */
void writer_tick(struct writer *writer);

/* Milliseconds until writer_tick() or writer_open() must be called again. */
int writer_timeout_ms(const struct writer *writer);

/* CLOCK_BOOTTIME in ms. That clock continues while the machine sleeps, and nobody can set it. */
uint64_t writer_now_ms(void);

/*
 * For log_writer.c only. Switches to the empty segment, which must then begin with a new segment
 * record. Returns 0; -ENFILE: there is no empty segment; or -errno.
 */
_must_check_ int writer_roll(struct writer *writer);
