/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of grants by user and group, so that a decision looks only at grants that apply to the
 * client. Part of yett-policy; pure except for memory, without privilege. admit_next() reads the
 * index.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Replaces the policy's index by one of its current grants. The caller frees policy->namings.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int namings_make(struct policy *policy);
