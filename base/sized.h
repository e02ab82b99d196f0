/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads option structs of programs that were compiled with an older or newer version of the
 * library. Such a struct begins with its size, which tells its version, as in clone3(2).
 *
 * Runs with the privilege of the caller.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Describes a type of option struct. */
struct sized_kind {
	const char *name; /* "yett_share" */
	size_t size;      /* bytes of the version that this library knows */
	size_t first;     /* size of the struct in the first version of the library */
};

/* The offset of the end of `member`, in bytes. */
#define SIZED_END_OF(type, member) \
	(offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/*
 * Defines `variable`, the struct sized_kind of `struct type`. `first_last` is the last member of
 * the first version and never changes. `last` is the last member now. No padding may follow `last`,
 * since callers leave padding unset, and a later version would take it for a member.
 */
#define SIZED_KIND(variable, type, first_last, last)                            \
	const struct sized_kind variable = {#type, sizeof(struct type),         \
	                                    SIZED_END_OF(type, first_last)};    \
	_Static_assert(sizeof(struct type) == SIZED_END_OF(type, last),         \
	               "padding at the end would be taken for a later member"); \
	_Static_assert(offsetof(struct type, size) == 0, "the size is where every version has it")

/*
 * Copies `options`, whose version of the struct may be shorter or longer than this library's, to
 * `ret_options`, a buffer of kind->size bytes. Members that `options` lacks are zero; all are zero
 * if `options` is NULL. Returns 0; YETT_E_INVALID_REQUEST if the size is 0, above 4096 bytes, or
 * smaller than the first version; YETT_E_UNSUPPORTED if a byte that this library does not know is
 * not zero.
 */
_must_check_ int sized_take(const struct sized_kind *kind, const void *options, void *ret_options,
                            struct yett_error *error);

/*
 * As sized_take() for element `i` of an array. The size in the first element is the distance
 * between elements. YETT_E_INVALID_REQUEST also if the size in element `i` differs from it.
 */
_must_check_ int sized_take_element(const struct sized_kind *kind, const void *array, size_t i,
                                    void *ret_options, struct yett_error *error);
