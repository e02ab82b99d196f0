/*
 * What a program wrote, as much of it as is kept: the first KEPT_MAX bytes, and the last ones.
 *
 * With the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"

#define KEPT_MAX  (8 << 20)
#define KEPT_TAIL (64 << 10)

struct kept {
	char *head; /* the first `head_length` bytes */
	size_t head_length, head_room;
	bool is_full; /* the head is as long as it gets: the rest goes to the tail */
	char *tail;   /* a ring of the last KEPT_TAIL, once the head is full */
	size_t tail_at, tail_length;
	uint64_t total; /* that were written */
};

/* What there is no memory for is counted, and dropped. */
void kept_add(struct kept *kept, const char *bytes, size_t length);

/* Whether it is long already, and needs more memory for so many more bytes. */
bool kept_grows(const struct kept *kept, size_t length);

/* From now on only the last bytes are kept. */
void kept_fill(struct kept *kept);

/*
 * It all, or, of what is longer than `max` bytes, its first and last part with a line between that
 * tells how much is left out and where it can be read: `name` (NULL: nowhere). *ret_truncated tells
 * which. NULL: no memory.
 */
json_t *kept_json(const struct kept *kept, size_t max, const char *name, bool *ret_truncated);

/* Bytes from `offset` on, as far as they are kept; the caller's to free. -ENODATA: these are not
 * kept. -ENOMEM */
_must_check_ int kept_read(const struct kept *kept, uint64_t offset, size_t max, char **ret_bytes,
                           size_t *ret_length);

/* Memory that it takes. */
size_t kept_size(const struct kept *kept);

void kept_free(struct kept *kept);
