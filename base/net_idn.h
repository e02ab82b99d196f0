/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts internationalized host names in rules to ASCII, before net_rule_parse().
 *
 * Only for programs that read user input. They must run without privilege, since the conversion
 * uses libidn2 and its Unicode tables. The library is loaded when the first such name is converted.
 */
#pragma once

#include "base/error.h"

/*
 * Copies the text of a rule and converts its host name to the form of DNS (xn--…; RFC 5891, UTS 46
 * nontransitional, that is without the mappings of IDNA2003). A name that is ASCII is copied
 * unchanged and not checked. The caller frees `*ret_text`. Returns 0, -ENOMEM, or
 * YETT_E_INVALID_REQUEST with a message that quotes the escaped text.
 */
_must_check_ int net_idn_rule(const char *text, char **ret_text, struct yett_error *error);
