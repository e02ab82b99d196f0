/*
 * The text of a rule, as people write it: for programs that hear people. What decides about
 * connections does not.
 *
 * HOST[:PORT[-PORT]], where HOST is a name, *.NAME, **.NAME, * for any, an address or
 * ADDRESS/PREFIX; without a port, all of them. An address of IPv6 with a port stands in brackets:
 * [2001:db8::/32]:443. NAME[:PORT]@NETWORK binds a name. Pure, with the privilege of the caller,
 * which none should have.
 */
#pragma once

#include "base/error.h"
#include "base/net_rule.h"

/*
 * 0, or YETT_E_INVALID_REQUEST with a message that quotes the text, escaped, and says what is wrong
 * with it; the mend of `error` (may be NULL) says what would do. Nothing is guessed: host bits
 * beside a prefix, a number with leading zeros, a URL or a half of a range are refused. A name
 * outside ASCII has to be xn--… by now.
 */
_must_check_ int net_rule_parse(const char *text, struct net_rule *ret_rule,
                                struct yett_error *error);
