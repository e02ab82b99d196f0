/*
 * What init tells its supervisor while somebody follows the sandbox.
 *
 * As init, unprivileged. Never waits: what does not go at once is counted as lost, and told with what goes next.
 */
#pragma once

#include "helper/init/config.h"

struct tell {
	bool is_wanted;
	uint32_t lost;
};

/* Sends it, if anybody wants to know; `lost` is filled in. */
void tell_event(struct tell *tell, struct init_event event);
