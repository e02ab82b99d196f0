/*
 * The arguments of a command, as init tells them for the audit. The client chose these bytes:
 * readers must not trust them.
 */
#pragma once

#include "helper/plan/order.h"

struct argv {
	uint32_t size;                                /* of the text, as far as it is used */
	char text[INIT_ARGV_SIZE - sizeof(uint32_t)]; /* each with its NUL, as far as they fit; then
	                                                 "…" as another */
};

_Static_assert(sizeof(struct argv) == INIT_ARGV_SIZE, "as long as root's program passes on");
