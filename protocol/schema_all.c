/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of programs that talk to init or yett-files, or are one of these. */
#include "protocol/schema.h"

const struct schema_set *const schema_sets[] = {&schema_helper, &schema_command, &schema_file,
                                                NULL};
