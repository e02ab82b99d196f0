/* SPDX-License-Identifier: Apache-2.0 */
/* See net_rule_parse.h. No privilege, no allocation. */
#include "base/net_rule_parse.h"
#include "base/escape.h"
#include "base/units_parse.h"

#include <ctype.h>
#include <string.h>

#define QUOTED_SIZE 96 /* small enough that the description of the problem fits as well */

/* The text that is parsed, and the error (may be NULL) to fill in. */
struct reading {
	const char *text;
	struct yett_error *error;
};

static int net_rule_parse_refuse(const struct reading *reading, const char *wrong)
{
	char quoted[QUOTED_SIZE];

	return error_set(reading->error, YETT_E_INVALID_REQUEST, 0, "'%s' %s",
	                 escape_text(reading->text, quoted, sizeof quoted), wrong);
}

static int refuse_with(const struct reading *reading, const char *wrong, const char *mend)
{
	int r = net_rule_parse_refuse(reading, wrong);

	error_mend(reading->error, "%s", mend);
	return r;
}

/* The schemes of URLs that people paste in place of a rule, and their default ports. */
static const struct scheme {
	const char *name, *port;
} schemes[] = {
	{"https", ":443"}, {"http", ":80"},  {"wss", ":443"},         {"ws", ":80"},
	{"ssh", ":22"},    {"git", ":9418"}, {"postgresql", ":5432"},
};

/* The port to suggest: "" if `host` has one already, ":PORT" if the scheme is unknown. */
static const char *port_of_scheme(const char *scheme, size_t scheme_length, const char *host)
{
	const char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');

	if (colon && (!bracket || colon > bracket))
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strlen(schemes[i].name) == scheme_length &&
		    strncasecmp(schemes[i].name, scheme, scheme_length) == 0)
			return schemes[i].port;
	return ":PORT";
}

/* `separator` points to the "://" in the text. */
static int refuse_url(const struct reading *reading, const char *separator)
{
	const char *after = separator + strlen("://");
	size_t length = strcspn(after, "/?#");
	const char *user = memrchr(after, '@', length);
	char host[QUOTED_SIZE] = "", quoted[QUOTED_SIZE];
	int r = net_rule_parse_refuse(reading, "is a URL, and a rule is only its host and port");

	if (user) {
		length -= (size_t)(user + 1 - after);
		after = user + 1;
	}
	if (length < sizeof host)
		memcpy(host, after, length);
	error_mend(reading->error, "write %s%s",
	           *host ? escape_text(host, quoted, sizeof quoted) : "HOST",
	           port_of_scheme(reading->text, (size_t)(separator - reading->text), host));
	return r;
}

/* Parses a number without leading zeros that is at most `most`. */
static bool net_rule_parse_parse_number(const char *text, uint64_t most, uint64_t *ret_number)
{
	uint64_t number;

	if ((text[0] == '0' && text[1]) || units_parse_number(text, &number) < 0 || number > most)
		return false;
	*ret_number = number;
	return true;
}

/* Parses "443" or "8000-8010". NULL means all ports. Modifies `ports`. */
static int parse_ports(const struct reading *reading, char *ports, struct net_rule *rule)
{
	char *dash = ports ? strchr(ports, '-') : NULL;
	uint64_t first = 1, last = NET_RULE_PORT_MAX;

	if (ports && isalpha((unsigned char)*ports))
		return refuse_with(reading, "has a word for a port",
		                   "write the port as a number, like :443 for https");
	if (dash)
		*dash = '\0';
	if (ports &&
	    (!net_rule_parse_parse_number(ports, NET_RULE_PORT_MAX, &first) ||
	     !net_rule_parse_parse_number(dash ? dash + 1 : ports, NET_RULE_PORT_MAX, &last) ||
	     first == 0 || last == 0))
		return refuse_with(
			reading, "has no port that there is",
			"write :PORT or :FIRST-LAST with numbers from 1 to 65535, or nothing for all ports");
	if (first > last) {
		int r = net_rule_parse_refuse(reading, "has ports that end before they begin");

		error_mend(reading->error, "write :%s-%s", dash + 1, ports);
		return r;
	}
	rule->port_first = (uint16_t)first;
	rule->port_last = (uint16_t)last;
	return 0;
}

static int refuse_host_bits(const struct reading *reading, const struct net_rule *rule)
{
	struct net_rule network = {.kind = NET_RULE_ADDRESS,
	                           .prefix = rule->prefix,
	                           .port_first = 1,
	                           .port_last = NET_RULE_PORT_MAX};
	char text[NET_RULE_TEXT_SIZE];
	int r = net_rule_parse_refuse(reading,
	                              "has an address inside the network, not the network's first");

	network.address = net_address_masked(&rule->address, rule->prefix);
	error_mend(reading->error, "write %s for the network, or the address alone",
	           net_rule_print(&network, text));
	return r;
}

/*
 * Parses "10.0.0.0/8", or an address alone. Modifies `text`. Returns 0, the code of a refusal, or 1
 * if the text is no address: then the error is not set.
 */
static int parse_network(const struct reading *reading, char *text, struct net_rule *rule)
{
	char *prefix = strchr(text, '/');
	uint64_t bits = NET_ADDRESS_PREFIX_MAX;
	struct net_address first;
	unsigned before;

	if (prefix)
		*prefix++ = '\0';
	if (net_address_parse(text, &rule->address) < 0)
		return prefix ? refuse_with(
					reading, "has a prefix, but no address before it",
					"write ADDRESS/PREFIX, like 10.1.0.0/16 or [2001:db8::/32]:443")
		              : 1;
	/* A prefix of 10.0.0.0 counts from bit 96, one of ::ffff:10.0.0.0 from bit 0. */
	before = strchr(text, ':') ? 0 : NET_ADDRESS_PREFIX_V4;
	if (prefix && !net_rule_parse_parse_number(prefix, NET_ADDRESS_PREFIX_MAX - before, &bits))
		return refuse_with(reading, "has a prefix that no such address has",
		                   before ? "write /0 to /32" : "write /0 to /128");
	rule->prefix = (uint8_t)(prefix ? bits + before : NET_ADDRESS_PREFIX_MAX);
	first = net_address_masked(&rule->address, rule->prefix);
	return net_address_compare(&first, &rule->address) == 0 ? 0
	                                                        : refuse_host_bits(reading, rule);
}

/* The kinds of rules by the text before the name, the longest text first. */
static const struct wildcard {
	const char *before;
	uint8_t kind;
} wildcards[] = {{"**.", NET_RULE_BELOW}, {"*.", NET_RULE_BELOW_ONE}, {"", NET_RULE_NAME}};

/* In a sandbox these names resolve to the sandbox itself, and no rule applies. RFC 6761 (6.3) */
static bool is_own_name(const char *name)
{
	return strcmp(name, "localhost") == 0 || net_name_is_below(name, "localhost");
}

static int parse_name(const struct reading *reading, const char *host, struct net_rule *rule)
{
	const struct wildcard *wildcard = wildcards;
	const struct net_name_problem *problem;

	if (strcmp(host, "*") == 0) {
		rule->kind = NET_RULE_ANY;
		return 0;
	}
	while (strncmp(host, wildcard->before, strlen(wildcard->before)) != 0)
		wildcard++;
	host += strlen(wildcard->before);
	if (strchr(host, '*'))
		return refuse_with(
			reading, "has a * in another place than the front",
			"write * for any host, *.NAME for one label before NAME, **.NAME for any number of them");
	problem = net_name_canonical(host, strlen(host), rule->name);
	rule->kind = wildcard->kind;
	if (problem)
		return refuse_with(reading, problem->wrong, problem->mend);
	return is_own_name(rule->name)
	               ? refuse_with(
				 reading,
				 "is the sandbox itself, to programs inside, and not this host",
				 "write NAME:PORT@127.0.0.1, with another name that resolves to it on this host")
	               : 0;
}

/*
 * Refuses an IPv6 address without brackets whose end could be a port: "2606:4700::34:443" is an
 * address, but most people who write that mean [2606:4700::34]:443. Returns 0 if the text is not
 * ambiguous in this way.
 */
static int check_readings(const struct reading *reading, const char *host)
{
	char before[NET_RULE_TEXT_SIZE];
	const char *colon = strrchr(host, ':');
	struct net_address address;
	uint64_t port;
	int r;

	if (!colon || (size_t)(colon - host) >= sizeof before ||
	    !net_rule_parse_parse_number(colon + 1, NET_RULE_PORT_MAX, &port) || port == 0)
		return 0;
	memcpy(before, host, (size_t)(colon - host));
	before[colon - host] = '\0';
	/* Cut off a prefix. After a prefix, the number behind the colon can only be a port. */
	before[strcspn(before, "/")] = '\0';
	if (!strchr(before, ':') || net_address_parse(before, &address) < 0)
		return 0;
	before[strlen(before)] = host[strlen(before)];
	before[colon - host] = '\0';
	r = net_rule_parse_refuse(
		reading, "has no brackets, so that it is not clear where the address of IPv6 ends");
	if (net_address_parse(host, &address) < 0)
		error_mend(reading->error, "write [%s]:%llu", before, (unsigned long long)port);
	else
		error_mend(
			reading->error,
			"write [%s]:%llu if %llu is the port, or [%s] if it belongs to the address",
			before, (unsigned long long)port, (unsigned long long)port, host);
	return r;
}

/* Parses the host: the text before the ports and the @, without the brackets. */
static int parse_host(const struct reading *reading, char *host, struct net_rule *rule)
{
	bool may_be_v6 = strchr(host, ':');
	int r = reading->text[0] == '[' ? 0 : check_readings(reading, host);

	if (r != 0)
		return r;
	if (!*host)
		return refuse_with(reading, "names no host",
		                   "write HOST:PORT, or *:PORT for any host");
	r = parse_network(reading, host, rule);
	if (r == 0)
		rule->kind = NET_RULE_ADDRESS;
	if (r != 1)
		return r;
	if (may_be_v6)
		return refuse_with(reading, "has more than one colon, but is no address of IPv6",
		                   "write HOST:PORT, or [ADDRESS]:PORT for an address of IPv6");
	return parse_name(reading, host, rule);
}

/*
 * Splits `text`, which has no @ any more, into host and ports (NULL: none), and ends each with a
 * NUL in `text`.
 */
static int net_rule_parse_split(const struct reading *reading, char *text, char **ret_host,
                                char **ret_ports)
{
	char *end = NULL, *colon = strchr(text, ':');

	*ret_host = text;
	*ret_ports = NULL;
	if (text[0] == '[') {
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':') || !memchr(text, ':', (size_t)(end - text)))
			return refuse_with(reading, "has brackets that hold no address of IPv6",
			                   "write [ADDRESS]:PORT or [ADDRESS/PREFIX]:PORT");
		*ret_host = text + 1;
		*ret_ports = end[1] ? end + 2 : NULL;
	} else if (colon && !strchr(colon + 1, ':')) {
		end = colon;
		*ret_ports = colon + 1;
	}
	if (end)
		*end = '\0';
	return 0;
}

static int parse_bound(const struct reading *reading, char *network, struct net_rule *rule)
{
	int r;

	if (rule->kind != NET_RULE_NAME)
		return refuse_with(reading, "binds something else than one name to a network",
		                   "write NAME:PORT@NETWORK, with a whole name");
	rule->is_bound = 1;
	r = parse_network(reading, network, rule);
	return r == 1 ? refuse_with(reading, "has no network after the @",
	                            "write NAME:PORT@NETWORK, like db.internal:5432@10.0.0.0/8")
	              : r;
}

/* Refuses bytes that no rule contains, before the text is parsed. Returns 0 if there are none. */
static int check_bytes(const struct reading *reading)
{
	for (const char *at = reading->text; *at; at++) {
		if ((unsigned char)*at > 0x7f)
			return refuse_with(reading, "has a letter outside ASCII",
			                   "write it as xn--..., the form that DNS has of it");
		if (*at <= ' ' || *at == 0x7f)
			return refuse_with(reading, "has a space or control character",
			                   "write one rule without spaces");
		if (*at == ',')
			return refuse_with(
				reading, "has a comma",
				"write one rule each: --allow A --allow B, or {\"A\", \"B\"} in a file");
	}
	return 0;
}

/*
 * Refuses a text with more than a host and its port, and suggests the host and the port at the
 * start of `host`. In ssh's syntax HOST:PATH the suggested port is 22.
 */
static int refuse_more(const struct reading *reading, const char *wrong, const char *host)
{
	size_t length = strcspn(host, ":/"),
	       digits = host[length] == ':' ? strspn(host + length + 1, "0123456789") : 0;
	const char *port = host[length] == ':' ? ":22" : "", *after = host + length + 1 + digits;
	char text[QUOTED_SIZE] = "", quoted[QUOTED_SIZE];
	int r = net_rule_parse_refuse(reading, wrong);

	if (digits > 0 && (*after == '\0' || *after == '/')) {
		length += 1 + digits;
		port = "";
	}
	if (length < sizeof text)
		memcpy(text, host, length);
	error_mend(reading->error, "write %s%s",
	           *text ? escape_text(text, quoted, sizeof quoted) : "HOST", port);
	return r;
}

/* Whether `length` bytes are an address, or look like an attempt to write an IPv6 address. */
static bool is_address(const char *text, size_t length)
{
	char part[NET_RULE_TEXT_SIZE] = "";
	struct net_address address;

	if (length < sizeof part)
		memcpy(part, text, length);
	return net_address_parse(part, &address) == 0 || *part == '[' ||
	       strchr(part, ':') != strrchr(part, ':');
}

/*
 * Refuses texts with more than a host and its port: user@host, git@host:path, host/path. Returns 0
 * if the text is none of them.
 */
static int check_more(const struct reading *reading)
{
	const char *text = reading->text, *at = strchr(text, '@'), *path = strchr(text, '/');

	if (at && at > text && at[1] && strcspn(text, ":*[/") > (size_t)(at - text) &&
	    !is_address(at + 1, strcspn(at + 1, "/")))
		return refuse_more(
			reading, "has a user before the host, and a rule is only its host and port",
			at + 1);
	if (!at && path && path > text && !isdigit((unsigned char)path[1]) && path[1] != '-' &&
	    !is_address(text, strcspn(text, "/")))
		return refuse_more(reading, "has a path, and a rule is only its host and port",
		                   text);
	return 0;
}

int net_rule_parse(const char *text, struct net_rule *ret_rule, struct yett_error *error)
{
	const struct reading reading = {text, error};
	char parts[2 * NET_RULE_TEXT_SIZE], *host, *ports, *network;
	const char *url = strstr(text, "://");
	struct net_rule rule = {0};
	int r = check_bytes(&reading);

	if (r == 0 && url)
		r = refuse_url(&reading, url);
	if (r == 0)
		r = check_more(&reading);
	if (r == 0 && strlen(text) >= sizeof parts)
		r = refuse_with(&reading, "is longer than any rule", "write HOST:PORT");
	if (r != 0)
		return r;
	memcpy(parts, text, strlen(text) + 1);
	network = strchr(parts, '@');
	if (network)
		*network++ = '\0';
	r = net_rule_parse_split(&reading, parts, &host, &ports);
	if (r == 0)
		r = parse_host(&reading, host, &rule);
	if (r == 0)
		r = parse_ports(&reading, ports, &rule);
	if (r == 0 && network)
		r = parse_bound(&reading, network, &rule);
	if (r == 0)
		*ret_rule = rule;
	return r;
}
