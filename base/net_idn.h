/*
 * Names of hosts that are not ASCII, as people write them: for programs that hear people, before
 * net_rule_parse().
 *
 * With the privilege of the caller, which none should have: the tables of Unicode are libidn2's,
 * which is loaded when the first such name comes.
 */
#pragma once

#include "base/error.h"

/*
 * A copy of the text of a rule in which the name is written as DNS has it (xn--…; RFC 5891, UTS 46
 * without the mappings of IDNA2003), which the caller frees. What is ASCII is copied as it is,
 * right or wrong. 0, -ENOMEM, or YETT_E_INVALID_REQUEST with a message that quotes the text,
 * escaped.
 */
_must_check_ int net_idn_rule(const char *text, char **ret_text, struct yett_error *error);
