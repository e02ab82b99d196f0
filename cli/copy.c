/* See copy.h. */
#include "cli/copy.h"

#include "base/error.h"
#include "cli/output.h"

static void print_skipped(void *data, const char *path, const char *why)
{
	(void)data;
	output_note("%s: %s", path, why);
}

int copy_one(struct yett_sandbox *sandbox, copy_fn copy, const char *from, const char *to, struct yett_error *error)
{
	const struct yett_copy_options options = {.on_skipped = print_skipped};
	struct yett_copy_result result = {0};
	int r = copy(sandbox, from, to, &options, &result, error);

	if (r == 0 && result.skipped > 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "%llu entries of %.180s were not copied",
			      (unsigned long long)result.skipped, from);
	return r;
}

static int copy_all(struct yett_sandbox *sandbox, copy_fn copy, const struct run_copy *copies, size_t count,
		    struct yett_error *error)
{
	struct yett_error first = {0}, why = {0};

	for (size_t i = 0; i < count; i++)
		if (copy_one(sandbox, copy, copies[i].from, copies[i].to, &why) && !first.code)
			first = why;
	if (first.code)
		*error = first;
	return (int)first.code;
}

int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error)
{
	return copy_all(sandbox, yett_copy_in, options->copies_in, options->copies_in_count, error);
}

int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error)
{
	return copy_all(sandbox, yett_copy_out, options->copies_out, options->copies_out_count, error);
}
