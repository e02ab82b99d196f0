/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text of a rule that a person wrote. Only for programs that read user input, which must
 * run without privilege. Programs that decide about connections must not use this file. Pure.
 *
 * The syntax is HOST[:PORT[-PORT]], where HOST is NAME, *.NAME, **.NAME, * for any host, ADDRESS or
 * ADDRESS/PREFIX. Without a port, the rule has all ports. An IPv6 address with a port must be in
 * brackets: [2001:db8::/32]:443. NAME[:PORT[-PORT]]@NETWORK binds a name to a network.
 */
#pragma once

#include "base/error.h"
#include "base/net_rule.h"

/*
 * Returns 0, or YETT_E_INVALID_REQUEST. The message of `error` (may be NULL) quotes the escaped
 * text and says what is wrong with it; the hint (`mend`) says what to write. The parser guesses
 * nothing: it refuses host bits next to a prefix, a number with leading zeros, a URL, and half a
 * range. A non-ASCII name must have been converted to xn--… before (net_idn_rule()).
 */
_must_check_ int net_rule_parse(const char *text, struct net_rule *ret_rule,
                                struct yett_error *error);
