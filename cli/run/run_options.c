/* SPDX-License-Identifier: Apache-2.0 */
/* See run_options.h. */
#include "cli/run/run_options.h"

#include <stdlib.h>
#include <unistd.h>

void run_options_init(struct run_options *options)
{
	*options = (struct run_options){.current_directory = getcwd(NULL, 0),
	                                .capture_bytes = RUN_CAPTURE_BYTES};
}

void run_options_free(struct run_options *options)
{
	for (size_t i = 0; i < options->shares_count; i++) {
		free((char *)options->shares[i].path);
		free((char *)options->shares[i].target);
		free((char *)options->shares[i].store);
	}
	for (size_t i = 0; i < options->tmpfs_count; i++)
		free((char *)options->tmpfs[i].target);
	for (size_t i = 0; i < options->copies_in_count; i++)
		free(options->copies_in[i].from);
	for (size_t i = 0; i < options->copies_out_count; i++)
		free(options->copies_out[i].from);
	for (size_t i = 0; i < options->allow_count; i++)
		free(options->allow[i]);
	for (size_t i = 0; i < options->deny_count; i++)
		free(options->deny[i]);
	relays_free(&options->relays);
	yett_workspace_free((void *)options->hide_listed);
	free(options->memory_dir);
	free(options->current_directory);
}
