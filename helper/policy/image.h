/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image: a whole policy as bytes, the form in which yett-policy hands the policy to the helper.
 *
 * A struct image comes first, then everything that its pointers point to, in the order of the
 * tables in image.c, each part at the next multiple of 8. A pointer holds the offset of its part.
 * The `file` of a place holds 1 + the index of a file name (0: NULL). So each part has one valid
 * position, and parts cannot overlap. No privilege, no I/O but mmap(2).
 */
#pragma once

#include "helper/policy/policy.h"

#define IMAGE_SIZE_MAX (32u << 20)
#define IMAGE_ALIGN    8

struct image {
	/*
	 * 0: the policy follows. Otherwise -ENOMEM or the code of `error`, and there is no policy.
	 */
	int32_t r;
	struct yett_error error;
	struct policy policy;
};

enum image_kind {
	IMAGE_TEXT,  /* char *, never NULL; `problem` returns what is wrong with it */
	IMAGE_PLACE, /* const char *, one of policy->files */
	/* pointer to at most `max` items of type `of`; their number is a size_t at `count_at` */
	IMAGE_ARRAY,
	IMAGE_INSIDE, /* `max` structs of type `of`, in the object itself */
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

/* Members that `fields` does not name are numbers that may have any value. */
struct image_type {
	size_t size;
	const struct image_field *fields;
	size_t count;
};

extern const struct image_type *const image_policy;

/*
 * Seals the memfd and makes a policy of the image in it. Trusts nothing in the image: makes a
 * private copy, checks it, then makes it read-only. Returns 0, -errno, the error that the image
 * holds, or YETT_E_HELPER_UNAVAILABLE.
 */
_must_check_ int image_load(int fd, struct policy **ret_policy, struct yett_error *error);
