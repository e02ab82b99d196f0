/*
 * Structs that programs fill in and that begin with their size: read as the version of them that the program was compiled
 * with, as clone3(2) reads its arguments. With the caller's privilege.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

/* What is known of a struct of options. */
struct options_kind {
	const char *name; /* "yett_share" */
	size_t size;      /* of it as this library knows it */
	size_t first;     /* of its first version */
};

extern const struct options_kind options_connect, options_share, options_tmpfs, options_sandbox, options_command, options_follow,
	options_copy;

/*
 * Copies the options of a program, whose version of the struct may be shorter or longer than ours, to *ret_options, which has the size of
 * `kind`: what it does not have is zero. All zero for `options` NULL. YETT_E_INVALID_REQUEST: the size is missing, or smaller than that of
 * the first version; YETT_E_UNSUPPORTED: there is something in what this library does not know.
 */
_must_check_ int options_take(const struct options_kind *kind, const void *options, void *ret_options, struct yett_error *error);

/* The same of element `i` of an array, whose elements are as long as the first one says. */
_must_check_ int options_take_element(const struct options_kind *kind, const void *array, size_t i, void *ret_options,
                                      struct yett_error *error);
