/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a command as init reports them to the supervisor for the audit log. The client
 * chose these bytes: readers must not trust them.
 */
#pragma once

#include "helper/plan/order.h"

struct argv {
	uint32_t size; /* bytes of `text` in use */
	/*
	 * Each argument is followed by its NUL. Arguments that do not fit are cut, and "…" is then
	 * added as a last argument.
	 */
	char text[INIT_ARGV_SIZE - sizeof(uint32_t)];
};

_Static_assert(sizeof(struct argv) == INIT_ARGV_SIZE, "as long as root's program passes on");
