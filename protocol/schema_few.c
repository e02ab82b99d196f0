/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of programs that use only the messages between client and helper: yett-decider,
 * yett-decoder and yett-closer.
 */
#include "protocol/schema.h"

const struct schema_set *const schema_sets[] = {&schema_helper, NULL};
