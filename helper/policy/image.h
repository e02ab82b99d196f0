/*
 * The image: a whole policy as bytes, in which yett-policy hands it to the helper.
 *
 * A struct image, then everything that its pointers lead to, in the order of the tables in image.c
 * and each at the next multiple of 8. A pointer holds the offset of what it leads to; the `file` of
 * a place holds 1 + the index of a name (0: NULL). So there is one valid position for every part,
 * and no two can overlap. No privilege, no I/O but mmap(2).
 */
#pragma once

#include "helper/policy/policy.h"

#define IMAGE_SIZE_MAX (32u << 20)
#define IMAGE_ALIGN    8

struct image {
	int32_t r; /* 0: the policy follows. Else only the error counts: -ENOMEM, or its code */
	struct yett_error error;
	struct policy policy;
};

enum image_kind {
	IMAGE_TEXT,   /* char *, never NULL; `problem` says what is wrong with it */
	IMAGE_PLACE,  /* const char *, one of policy->files */
	IMAGE_ARRAY,  /* pointer to at most `max` of type `of`; their number, a size_t, is at
	                 `count_at` */
	IMAGE_INSIDE, /* `max` structs of type `of` themselves */
	IMAGE_BOOL,
	IMAGE_NUMBER, /* uint32_t from min to max */
};

struct image_field {
	enum image_kind kind;
	size_t at;
	const struct image_type *of;
	size_t count_at;
	uint32_t min, max;
	const char *(*problem)(const char *);
};

/* What is not named in `fields` is a number of which every value is allowed. */
struct image_type {
	size_t size;
	const struct image_field *fields;
	size_t count;
};

extern const struct image_type *const image_policy;

/*
 * Seals the memfd, and makes a policy of the image in it, which is believed in nothing: a private
 * copy, checked, then read-only. 0, -errno, the error that the image holds, or
 * YETT_E_HELPER_UNAVAILABLE.
 */
_must_check_ int image_load(int fd, struct policy **ret_policy, struct yett_error *error);
