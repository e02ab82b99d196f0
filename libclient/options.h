/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option structs that programs fill in, as base/sized.h reads them. With the caller's
 * privilege.
 */
#pragma once

#include "base/sized.h"
#include "libclient/yett.h"

extern const struct sized_kind options_connect, options_share, options_tmpfs, options_sandbox,
	options_command, options_follow, options_copy;
