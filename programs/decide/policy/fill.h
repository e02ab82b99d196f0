/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the text of a section into the fields of a struct, as the tables of settings.h say. Part
 * of yett-policy; pure except for memory, without privilege.
 */
#pragma once

#include "programs/decide/policy/settings.h"

/*
 * Sets the fields of `object` (a struct compiled, settings_profile or settings_grant) from the keys
 * in `section`. A list that is not set, or is appended to with +=, keeps its items. The file name
 * in the places of the section must outlive the object. Returns 0, -ENOMEM, or
 * YETT_E_INVALID_REQUEST with "FILE:LINE: what".
 */
_must_check_ int fill_section(enum settings_section_index index, cfg_t *section, void *object,
                              struct yett_error *error);

void fill_clear_list(struct policy_list *list);

/* Frees the texts and lists of `object`. */
void fill_clear(enum settings_section_index index, void *object);
