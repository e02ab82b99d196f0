/* See options.h. */
#include "libclient/options.h"

#include <string.h>

#define SIZE_MAX_ASKED 4096 /* more is no size: it was not set. clone3(2): E2BIG */

/* The end of the last member of the first version: what was there from the beginning has to be there. */
#define END_OF(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* Of each struct the last member of its first version, which stays as it is, and its last one now, behind which no unset byte may lie. */
#define KIND(variable, type, first_last, last)                                                                             \
	const struct options_kind variable = {#type, sizeof(struct type), END_OF(type, first_last)};                       \
	_Static_assert(sizeof(struct type) == END_OF(type, last), "padding at the end would be taken for a later member"); \
	_Static_assert(offsetof(struct type, size) == 0, "the size is where every version has it")

KIND(options_connect, yett_connect_options, helper_arguments, helper_arguments);
KIND(options_share, yett_share, fd, fd);
KIND(options_tmpfs, yett_tmpfs, size_bytes, size_bytes);
KIND(options_sandbox, yett_sandbox_options, annotations, core_bytes);
KIND(options_command, yett_command_options, data, data);
KIND(options_follow, yett_follow_options, data, data);
KIND(options_copy, yett_copy_options, data, data);

int options_take(const struct options_kind *kind, const void *options, void *ret_options, struct yett_error *error)
{
	const unsigned char *bytes = options;
	size_t size;

	memset(ret_options, 0, kind->size);
	if (!options)
		return 0;
	memcpy(&size, options, sizeof size);
	if (size == 0 || size > SIZE_MAX_ASKED)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
		                 "struct %s has no size: set all of it to zero, and its member size to sizeof(struct %s)", kind->name,
		                 kind->name);
	if (size < kind->first)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT,
		                 "struct %s was never as small as %zu bytes: its first version has %zu", kind->name, size, kind->first);
	for (size_t i = kind->size; i < size; i++)
		if (bytes[i])
			return error_set(
				error, YETT_E_UNSUPPORTED, YETT_R_UNKNOWN_FIELD,
				"something is set in struct %s, at byte %zu, that this library (%s) does not know: the program was made for a later one",
				kind->name, i, yett_version());
	memcpy(ret_options, options, size < kind->size ? size : kind->size);
	return 0;
}

int options_take_element(const struct options_kind *kind, const void *array, size_t i, void *ret_options, struct yett_error *error)
{
	size_t stride, size;
	int r = options_take(kind, array, ret_options, error);

	if (r || i == 0)
		return r;
	memcpy(&stride, array, sizeof stride);
	memcpy(&size, (const char *)array + i * stride, sizeof size);
	if (size != stride)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "element %zu of an array of struct %s has the size %zu, and the first one %zu", i, kind->name, size,
		                 stride);
	return options_take(kind, (const char *)array + i * stride, ret_options, error);
}
