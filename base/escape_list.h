/* Lists of somebody else's texts, made fit to be shown as escape.h has it. Pure functions with the
 * privilege of the caller. */
#pragma once

#include "base/escape.h"

/* As escape_text(), with ", " between the items; "nothing" when there is none. */
char *escape_list(char *const *items, size_t count, char *out, size_t size);
