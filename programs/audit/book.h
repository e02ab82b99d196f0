/*
 * The book: segments of lines that are only ever appended to, and the state of their chain.
 *
 * yett-audit's, without privilege, over files that are open (open.h). Lines are collected, written
 * by one call and made durable by one more; until then the chain can go back. What cannot be
 * written is answered for with an errno, and what it left in the file is told by the next record
 * (torn.h). It maps no memory, changes no size and knows no path.
 */
#pragma once

#include "base/json.h"
#include "programs/audit/open.h"
#include "programs/audit/slots.h"

#ifndef BOOK_EPOCH_MS
#define BOOK_EPOCH_MS 60000 /* tests have shorter minutes */
#endif

#define BOOK_BATCH_BYTES (1 << 20)
/* of what all records may come to, left for those of the book itself */
#define BOOK_OWN_BYTES (64 << 10)

struct book {
	uint64_t max_bytes, segment_bytes;
	uint8_t host[CHAIN_ID_SIZE];
	struct open_files files; /* state -1: they could not be opened, as `error` says */
	bool is_open;
	bool wants_end;           /* a process with an empty segment is to go on */
	struct slots_state state; /* as it is on disk */
	struct chain durable;     /* after the records that are on disk */
	struct chain chain;       /* after those that are collected */
	struct chain before_last; /* without the last of them */
	uint64_t size; /* of the segment, as far as it holds records, and what they say is torn */
	uint64_t end;  /* of the segment; what lies between is torn, and not told yet */
	uint64_t written; /* by this process */
	uint64_t epoch_ends_ms, retry_ms;
	int error;     /* with which the last attempt failed; nothing is tried before retry_ms */
	bool has_lost; /* the segment before this one is not there any more, or not all of it */
	uint64_t lost_bytes;
	struct slots_pruned pruned; /* what is gone */
	uint64_t pruned_before;     /* of that, before `files` were counted */
	char *text, *batch;         /* the line that is being made; what is collected */
	size_t collected, last;     /* bytes of the batch, and where its last line begins */
	struct json json;           /* into the text */
	FILE *to;
};

/* How long a segment gets where all records may come to so much. */
uint64_t book_segment_bytes(uint64_t max_bytes);

/* Sets it up, as long as there is memory to be had; `files` and `error` are the caller's to fill
 * in. -ENOMEM. */
_must_check_ int book_begin(struct book *book, uint64_t max_bytes);

/* Goes on where it was left, if it did not yet. 0 or -errno: nothing can be written now, but
 * perhaps in a second. */
_must_check_ int book_open(struct book *book);

/*
 * Begins a record, once the book is open; its members go into `ret_json`, and book_end() ends it
 * and collects it. 0; -ENOBUFS: so much is collected that book_commit() comes first; -errno:
 * nothing can be written.
 */
_must_check_ int book_start(struct book *book, const char *event, struct json **ret_json);

/* 0; -EFBIG: all records may come to no more; -EMSGSIZE: it is too long for a line. Then it is not
 * collected. */
_must_check_ int book_end(struct book *book);

/* Takes the record back that was collected last, before anything else is done. */
void book_take_back(struct book *book);

/* The record that was collected last, with its line end. */
const char *book_last(const struct book *book, size_t *ret_length);

/* Writes what is collected. 0, or -errno: none of it counts. */
_must_check_ int book_commit(struct book *book);

/* Tells of what is torn, if there is anything, and nothing is collected. */
void book_settle(struct book *book);

/* Seals the minute, if it is over and nothing is collected. */
void book_tick(struct book *book);

/* How long nothing has to be done. */
int book_timeout_ms(const struct book *book);

/* CLOCK_BOOTTIME, which goes on while the machine sleeps and is set by nobody. */
uint64_t book_now_ms(void);

/* For book.c, which knows when: the empty segment, which a new record begins. -ENFILE: there is
 * none any more; or -errno. */
_must_check_ int book_roll(struct book *book);
