/*
 * The index of the grants: by whom each names, so that a decision looks at those that are for who
 * asks, and at no others.
 *
 * In yett-policy, without privilege; pure but for memory. admit_next() reads it.
 */
#pragma once

#include "helper/policy/policy.h"

/* Makes it of the policy's grants, in the place of the one that there is. 0 or -ENOMEM; the caller
 * frees policy->namings. */
_must_check_ int namings_make(struct policy *policy);
