/*
 * What a helper without root cannot give: a plan is fitted to what it can.
 *
 * Pure: no I/O, no privilege. What was asked for, or what the profile insists on, is refused with the reason; a default of the
 * profile is left out of the plan, and said in plan->weaker.
 */
#pragma once

#include "helper/plan/authorize.h"
#include "helper/setup/idmap.h"

struct means {
	bool has_cgroup;      /* a control group that was delegated to the user */
	unsigned controllers; /* of it: enum means_controller bits */
	bool misses_label;    /* the host uses SELinux, whose labels take root */
	bool leaves_cores;    /* the hard limit of core files is 0, with which the host's handler of crashes is run. core(5) */
};

/* As enum cgroup_controller has them, of which this part knows nothing. */
enum means_controller { MEANS_MEMORY = 1, MEANS_CPU = 2, MEANS_PIDS = 4 };

/* 0, or UNSUPPORTED with the mend in the detail. */
_must_check_ int means_fit(const struct means *means, const struct decision *decision, struct plan *plan, struct yett_error *error);

/*
 * The map of a helper without privilege: the caller's user and group onto themselves, as the kernel lets anybody
 * have it, and nobody else's. init has the caller's ids, too. Pure.
 */
void means_make_map(const struct idmap_subject *subject, struct idmap *ret_map);
