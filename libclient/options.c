/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "libclient/options.h"

SIZED_KIND(options_connect, yett_connect_options, helper_arguments, workspace);
SIZED_KIND(options_share, yett_share, fd, no_hide);
SIZED_KIND(options_tmpfs, yett_tmpfs, size_bytes, size_bytes);
SIZED_KIND(options_sandbox, yett_sandbox_options, annotations, deny_count);
SIZED_KIND(options_command, yett_command_options, data, metadata);
SIZED_KIND(options_follow, yett_follow_options, data, data);
SIZED_KIND(options_copy, yett_copy_options, data, data);
