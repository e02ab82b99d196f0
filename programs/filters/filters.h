/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters of the programs that have a fixed one, ready for seccomp(2).
 *
 * The build makes each from its row in table.c, in a C file of its own. A program links only its
 * own filter.
 */
#pragma once

#include <linux/filter.h>

extern const struct sock_fprog filters_apply, filters_audit, filters_connector, filters_decider,
	filters_decoder, filters_diff, filters_files, filters_proxy;
