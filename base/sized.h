/*
 * Structs that programs fill in and that begin with their size: read as the version of them that
 * the program was compiled with, as clone3(2) reads its arguments. With the caller's privilege.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* What is known of a struct of options. */
struct sized_kind {
	const char *name; /* "yett_share" */
	size_t size;      /* of it as this library knows it */
	size_t first;     /* of its first version */
};

/* The end of the last member of the first version: what was there from the beginning has to be
 * there. */
#define SIZED_END_OF(type, member) \
	(offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* Of a struct the last member of its first version, which stays as it is, and its last one now,
 * behind which no unset byte may lie. */
#define SIZED_KIND(variable, type, first_last, last)                            \
	const struct sized_kind variable = {#type, sizeof(struct type),         \
	                                    SIZED_END_OF(type, first_last)};    \
	_Static_assert(sizeof(struct type) == SIZED_END_OF(type, last),         \
	               "padding at the end would be taken for a later member"); \
	_Static_assert(offsetof(struct type, size) == 0, "the size is where every version has it")

/*
 * Copies the options of a program, whose version of the struct may be shorter or longer than ours,
 * to *ret_options, which has the size of `kind`: what it does not have is zero. All zero for
 * `options` NULL. YETT_E_INVALID_REQUEST: the size is missing, or smaller than that of the first
 * version; YETT_E_UNSUPPORTED: there is something in what this library does not know.
 */
_must_check_ int sized_take(const struct sized_kind *kind, const void *options, void *ret_options,
                            struct yett_error *error);

/* The same of element `i` of an array, whose elements are as long as the first one says. */
_must_check_ int sized_take_element(const struct sized_kind *kind, const void *array, size_t i,
                                    void *ret_options, struct yett_error *error);
