/* SPDX-License-Identifier: Apache-2.0 */
/* See sized.h. No privilege, no allocation. */
#include "base/sized.h"

#include <string.h>

#define SIZE_MAX_ASKED 4096 /* a larger size was never set. clone3(2) has the same limit: E2BIG */

int sized_take(const struct sized_kind *kind, const void *options, void *ret_options,
               struct yett_error *error)
{
	const unsigned char *bytes = options;
	size_t size;

	memset(ret_options, 0, kind->size);
	if (!options)
		return 0;
	memcpy(&size, options, sizeof size);
	if (size == 0 || size > SIZE_MAX_ASKED)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
			"struct %s has no size: set all of it to zero, and its member size to sizeof(struct %s)",
			kind->name, kind->name);
	if (size < kind->first)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT,
			"struct %s was never as small as %zu bytes: its first version has %zu",
			kind->name, size, kind->first);
	for (size_t i = kind->size; i < size; i++)
		if (bytes[i])
			return error_set(
				error, YETT_E_UNSUPPORTED, YETT_R_UNKNOWN_FIELD,
				"something is set in struct %s, at byte %zu, that this library (%s) does not know: the program was made for a later one",
				kind->name, i, YETT_VERSION);
	memcpy(ret_options, options, size < kind->size ? size : kind->size);
	return 0;
}

int sized_take_element(const struct sized_kind *kind, const void *array, size_t i,
                       void *ret_options, struct yett_error *error)
{
	size_t stride, size;
	int r = sized_take(kind, array, ret_options, error);

	if (r || i == 0)
		return r;
	memcpy(&stride, array, sizeof stride);
	memcpy(&size, (const char *)array + i * stride, sizeof size);
	if (size != stride)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"element %zu of an array of struct %s has the size %zu, and the first one %zu",
			i, kind->name, size, stride);
	return sized_take(kind, (const char *)array + i * stride, ret_options, error);
}
