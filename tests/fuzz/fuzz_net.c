/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of networks. Any text: it is refused with what would do, or its canonical text is the same
 * rule. Any bytes as a list: they are refused, or each record is a rule that a text has too, and
 * decisions by the list can be asked for.
 *
 * Of a list the header is put right, since chance does not find it; the first byte says which of
 * the two it is.
 */
#include <stdint.h>
#include <string.h>

#include "base/net_match.h"
#include "base/net_rule_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct net_rule *rule)
{
	char text[NET_RULE_TEXT_SIZE], text_again[NET_RULE_TEXT_SIZE];
	struct yett_error error = {0};
	struct net_rule again;

	if (!net_rule_is_valid(rule) ||
	    net_rule_parse(net_rule_print(rule, text), &again, &error) != 0 ||
	    memcmp(rule, &again, sizeof again) != 0 ||
	    strcmp(net_rule_print(&again, text_again), text) != 0 || !net_rule_covers(rule, rule))
		__builtin_trap();
}

static void try_text(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	struct yett_error error = {0};
	struct net_rule rule;
	int r;

	memcpy(text, data, size);
	text[size] = '\0';
	r = net_rule_parse(text, &rule, &error);
	if (r == 0)
		check_rule(&rule);
	else if (r != YETT_E_INVALID_REQUEST || error.message[0] != '\'' || !error.mend[0])
		__builtin_trap();
}

/* One question about each rule: one that its name and network fit. */
static void ask(const struct net_match *match, const struct net_record *record)
{
	const struct net_address *network = net_list_network(record);
	struct net_question question = {.name = *net_list_name(record) ? net_list_name(record)
	                                                               : NULL,
	                                .port = record->port_first};
	const struct net_record *found;
	enum net_verdict verdict;

	if (network)
		question.address = *network;
	verdict = net_match_decide(match, &question, &found);
	if ((verdict == NET_VERDICT_ALLOWED || verdict == NET_VERDICT_DENIED_BY_RULE) && !found)
		__builtin_trap();
	if (record->kind == NET_RULE_NAME && record->list == NET_LIST_ALLOW &&
	    (verdict == NET_VERDICT_NO_RULE ||
	     net_match_name(match, question.name, 0, NET_LIST_ALLOW, &found) ==
	             NET_VERDICT_NO_RULE))
		__builtin_trap();
}

static void try_list(const uint8_t *data, size_t size)
{
	_cleanup_(net_match_freep) struct net_match *match = NULL;
	_cleanup_free_ struct net_list *list = malloc(sizeof *list + size);
	const struct net_record *record = NULL;

	*list = (struct net_list){.size = (uint32_t)(sizeof *list + size)};
	memcpy(list + 1, data, size);
	/* How many of each list there are is what the records say of themselves, as far as they go.
	 */
	for (size_t at = 0; at + sizeof *record <= size;) {
		struct net_record one;

		memcpy(&one, data + at, sizeof one);
		if (one.list >= NET_LISTS || one.size == 0)
			break;
		list->count[one.list]++;
		at += one.size;
	}
	if (!net_list_check(list, list->size))
		return;
	if (net_match_new(list, &match) != 0)
		__builtin_trap();
	while ((record = net_list_next(list, record))) {
		struct net_rule rule;

		net_list_rule(record, &rule);
		check_rule(&rule);
		ask(match, record);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2)
		try_text(data + 1, size - 1);
	else
		try_list(data + 1, size - 1);
	return 0;
}
