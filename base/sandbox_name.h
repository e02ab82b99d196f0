/* SPDX-License-Identifier: Apache-2.0 */
/* The form of the names that the protocol allows, and of ids. Pure functions on texts. */
#pragma once

#include <stdbool.h>

#define SANDBOX_NAME_ID_LENGTH 16 /* hexadecimal digits */

/*
 * Returns whether the text has the form of a name of a sandbox, profile or snapshot. The length is
 * not checked.
 */
bool sandbox_name_is_valid(const char *text);

/* Returns whether the text has the form of an id, of a sandbox or of a store. */
bool sandbox_name_is_id(const char *text);
