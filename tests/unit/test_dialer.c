/* SPDX-License-Identifier: Apache-2.0 */
/* The dialer's parts as far as they need no host: what the front may say, what is merged of what is
 * told, names in flight, its filter. */
#include <string.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/filter_head.h"
#include "programs/filters/filters.h"
#include "programs/net/connect.h"
#include "programs/net/connector.h"
#include "programs/net/route.h"
#include "tests/support/testing.h"

static struct egress_ask ask_for(uint32_t kind, const char *name, uint16_t port)
{
	struct egress_ask ask = {.kind = kind, .id = 1, .port = port};

	memcpy(ask.name, name, strlen(name));
	return ask;
}

static void expect_sound(struct egress_ask ask, bool expected)
{
	assert_int_equal(asks_is_sound(&ask), expected);
}

TEST(what_the_front_says_is_of_one_form)
{
	struct egress_ask ask;

	expect_sound(ask_for(EGRESS_ASK_CONNECT, "a.example.org", 443), true);
	expect_sound(ask_for(EGRESS_ASK_FULL, "a.example.org", 443), true);
	expect_sound(ask_for(EGRESS_ASK_UNKNOWN, "a.example.org", 0), true);
	expect_sound(ask_for(EGRESS_ASK_CONNECT, "", 443), true); /* to an address, which :: is */
	expect_sound(ask_for(EGRESS_ASK_CONNECT, "a.example.org", 0), false);
	expect_sound(ask_for(EGRESS_ASK_UNKNOWN, "a.example.org", 443), false);
	expect_sound(ask_for(EGRESS_ASK_UNKNOWN, "", 0), false);
	expect_sound(ask_for(0, "a.example.org", 443), false);
	expect_sound(ask_for(4, "a.example.org", 443), false);
	expect_sound(ask_for(EGRESS_ASK_CONNECT, "A.example.org", 443), false);
	expect_sound(ask_for(EGRESS_ASK_CONNECT, "a.example.org.", 443), false);
	expect_sound(ask_for(EGRESS_ASK_CONNECT, "1.2.3.4", 443), false);
	ask = ask_for(EGRESS_ASK_CONNECT, "a.example.org", 443);
	ask.address.bytes[15] = 1;
	expect_sound(ask, false);
	ask = ask_for(EGRESS_ASK_CONNECT, "a.example.org", 443);
	ask.name[NET_NAME_SIZE - 1] = 'x'; /* after the end */
	expect_sound(ask, false);
	memset(ask.name, 'x', sizeof ask.name);
	expect_sound(ask, false);
	ask = ask_for(EGRESS_ASK_CONNECT, "", 443);
	ask.name[1] = 'x';
	expect_sound(ask, false);
}

static struct egress_report one(uint32_t kind, const char *name)
{
	struct egress_report reports = {.kind = kind, .port = 443};

	memcpy(reports.name, name, strlen(name));
	return reports;
}

static void add(struct reports *reports, uint32_t kind, const char *name, uint64_t now_ms)
{
	const struct egress_report added = one(kind, name);

	reports_add(reports, &added, now_ms);
}

/* Takes what is due, and expects that to be as many of this name; 0: nothing is. */
static void expect_due(struct reports *reports, uint64_t now_ms, const char *name, uint32_t count)
{
	struct egress_report due;
	bool is_due = reports_due(reports, now_ms, &due);

	assert_int_equal(is_due, count > 0);
	if (!is_due)
		return;
	assert_string_equal(due.name, name);
	assert_int_equal(due.count, count);
	reports_sent(reports, now_ms);
}

TEST(the_first_is_told_at_once_and_the_rest_of_a_second_as_one)
{
	static struct reports reports;

	assert_true(reports_next_ms(&reports) == UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++) {
		add(&reports, EGRESS_REPORT_DENIED, "a", 100 + i / 2);
		expect_due(&reports, 100 + i / 2, "a", i == 0);
	}
	assert_int_equal(reports_next_ms(&reports), 1100);
	expect_due(&reports, 1099, "a", 0);
	expect_due(&reports, 1100, "a", 999);
	/* As long as more come, one a second. */
	add(&reports, EGRESS_REPORT_DENIED, "a", 1200);
	expect_due(&reports, 2099, "a", 0);
	expect_due(&reports, 2100, "a", 1);
	assert_true(reports_next_ms(&reports) == UINT64_MAX);
	add(&reports, EGRESS_REPORT_DENIED, "a", 3100);
	expect_due(&reports, 3100, "a", 1);
}

TEST(what_differs_is_told_apart)
{
	static struct reports reports;
	struct egress_report other = one(EGRESS_REPORT_DENIED, "a");

	add(&reports, EGRESS_REPORT_DENIED, "a", 0);
	add(&reports, EGRESS_REPORT_FULL, "a", 0);
	other.port = 80;
	reports_add(&reports, &other, 0);
	for (unsigned i = 0; i < 3; i++)
		expect_due(&reports, 0, "a", 1);
	expect_due(&reports, 0, "a", 0);
}

static void add_many(struct reports *reports, uint32_t kind, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const char name[] = {(char)('a' + i / 26), (char)('a' + i % 26), 0};

		add(reports, kind, name, 0);
	}
}

static unsigned take_all(struct reports *reports, uint64_t now_ms, struct egress_report *ret_last)
{
	unsigned count = 0;

	for (; reports_due(reports, now_ms, ret_last); count++) {
		assert_int_equal(ret_last->lost, count == 0 ? ret_last->lost : 0);
		reports_sent(reports, now_ms);
	}
	return count;
}

TEST(refusals_leave_room_for_connections)
{
	static struct reports reports;
	struct egress_report last;

	add_many(&reports, EGRESS_REPORT_DENIED, 100);
	add_many(&reports, EGRESS_REPORT_CONNECTED, REPORTED_MAX - REPORTED_REFUSED_MAX);
	assert_true(reports_due(&reports, 0, &last));
	assert_int_equal(last.lost, 100 - REPORTED_REFUSED_MAX);
	assert_int_equal(take_all(&reports, 0, &last), REPORTED_MAX);
	/* Within the second there is no room for others, though all were told. */
	add(&reports, EGRESS_REPORT_DENIED, "more", 999);
	expect_due(&reports, 999, "more", 0);
	add(&reports, EGRESS_REPORT_DENIED, "more", 1000);
	assert_true(reports_due(&reports, 1000, &last));
	assert_int_equal(last.lost, 1);
}

TEST(bytes_are_told_even_where_the_connection_is_not)
{
	static struct reports reports;
	struct egress_report closed = one(EGRESS_REPORT_CLOSED, "last"), last;

	add_many(&reports, EGRESS_REPORT_CONNECTED, REPORTED_MAX);
	closed.sent_bytes = 5;
	closed.received_bytes = 7;
	reports_add(&reports, &closed, 0);
	reports_add(&reports, &closed, 10);
	assert_int_equal(take_all(&reports, 0, &last), REPORTED_MAX);
	assert_int_equal(reports_next_ms(&reports), REPORTED_ALIKE_MS);
	assert_int_equal(take_all(&reports, REPORTED_ALIKE_MS, &last), 1);
	assert_int_equal(last.kind, EGRESS_REPORT_CLOSED);
	assert_int_equal(last.count, 2);
	assert_int_equal(last.sent_bytes, 10);
	assert_int_equal(last.received_bytes, 14);
	assert_int_equal(last.lost, 0);
	assert_string_equal(last.name, "");
}

TEST(what_was_not_sent_stays_due)
{
	static struct reports reports;
	struct egress_report due;

	add(&reports, EGRESS_REPORT_DENIED, "a", 0);
	assert_true(reports_due(&reports, 0, &due));
	add(&reports, EGRESS_REPORT_DENIED, "a", 500);
	expect_due(&reports, 600, "a", 2);
}

/* Two resolvers that the test plays. */
struct resolvers {
	struct lookup lookup;
	int ends[LOOKUP_RESOLVERS];
};

static struct resolvers *make_resolvers(void)
{
	static struct resolvers made;

	made = (struct resolvers){0};
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		made.lookup.sockets[i] = pair[0];
		made.ends[i] = pair[1];
	}
	return &made;
}

static void end_resolvers(struct resolvers *resolvers)
{
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++) {
		fd_close(resolvers->ends[i]);
		fd_close(resolvers->lookup.sockets[i]);
	}
}

static int begin(struct lookup *lookup, const char *text, uint64_t now_ms)
{
	char name[NET_NAME_SIZE] = {0};

	memcpy(name, text, strlen(text));
	return lookup_begin(lookup, name, now_ms);
}

/* The next question to a resolver, which has this name; its id. 0: there is none. */
static uint32_t expect_question(int end, const char *name)
{
	struct resolver_question question;

	if (recv(end, &question, sizeof question, MSG_DONTWAIT) != sizeof question) {
		assert_null(name);
		return 0;
	}
	assert_string_equal(question.name, name);
	return question.id;
}

static void answer(int end, struct resolver_answer answer)
{
	assert_int_equal(send(end, &answer, sizeof answer, 0), sizeof answer);
}

TEST(a_name_is_asked_for_once_and_known_for_a_moment)
{
	struct resolvers *resolvers = make_resolvers();
	struct lookup *lookup = &resolvers->lookup;
	int i = begin(lookup, "a", 0);
	uint32_t id = expect_question(resolvers->ends[0], "a");

	assert_int_equal(begin(lookup, "a", 1), i);
	expect_question(resolvers->ends[0], NULL);
	assert_int_equal(lookup->names[i].state, LOOKUP_ASKED);
	answer(resolvers->ends[0], (struct resolver_answer){.id = id, .count = 1});
	lookup_receive(lookup, 10);
	assert_int_equal(lookup->names[i].state, LOOKUP_KNOWN);
	assert_int_equal(begin(lookup, "a", 10 + LOOKUP_CACHED_MS - 1), i);
	expect_question(resolvers->ends[0], NULL);
	i = begin(lookup, "a", 10 + LOOKUP_CACHED_MS);
	assert_int_equal(lookup->names[i].state, LOOKUP_ASKED);
	assert_int_not_equal(expect_question(resolvers->ends[0], "a"), id);
	end_resolvers(resolvers);
}

TEST(a_failure_is_forgotten_sooner)
{
	struct resolvers *resolvers = make_resolvers();
	int i = begin(&resolvers->lookup, "a", 0);

	answer(resolvers->ends[0],
	       (struct resolver_answer){.id = expect_question(resolvers->ends[0], "a"),
	                                .error = ENOENT});
	lookup_receive(&resolvers->lookup, 0);
	assert_int_equal(resolvers->lookup.names[i].state, LOOKUP_KNOWN);
	assert_true(begin(&resolvers->lookup, "a", LOOKUP_FAILED_MS) >= 0);
	expect_question(resolvers->ends[0], "a");
	end_resolvers(resolvers);
}

TEST(only_so_many_are_kept_and_the_oldest_goes_first)
{
	struct resolvers *resolvers = make_resolvers();

	for (unsigned i = 0; i < LOOKUP_CACHED_MAX + 1; i++) {
		const char name[] = {(char)('a' + i / 26), (char)('a' + i % 26), 0};

		(void)!begin(&resolvers->lookup, name, i);
		answer(resolvers->ends[0],
		       (struct resolver_answer){.id = expect_question(resolvers->ends[0], name),
		                                .count = 1});
		lookup_receive(&resolvers->lookup, i);
	}
	assert_int_equal(resolvers->lookup.names_end, LOOKUP_CACHED_MAX);
	(void)!begin(&resolvers->lookup, "ab", LOOKUP_CACHED_MAX);
	expect_question(resolvers->ends[0], NULL);
	(void)!begin(&resolvers->lookup, "aa", LOOKUP_CACHED_MAX);
	expect_question(resolvers->ends[0], "aa");
	end_resolvers(resolvers);
}

TEST(names_in_flight_are_bounded)
{
	struct resolvers *resolvers = make_resolvers();
	unsigned count = 0;

	for (char name[] = {'a', 'a', 0};
	     count <= LOOKUP_NAMES_MAX && begin(&resolvers->lookup, name, 0) >= 0; count++) {
		name[1] = name[1] == 'z' ? 'a' : (char)(name[1] + 1);
		name[0] = name[1] == 'a' ? (char)(name[0] + 1) : name[0];
	}
	assert_int_equal(count, LOOKUP_NAMES_MAX);
	assert_true(lookup_is_waiting(&resolvers->lookup)); /* the socket takes fewer */
	end_resolvers(resolvers);
}

/* Whatever a captured resolver says that is no answer, the other one is asked. */
static void expect_given_up(struct resolver_answer lie, size_t size)
{
	struct resolvers *resolvers = make_resolvers();
	int i = begin(&resolvers->lookup, "a", 0);
	uint32_t id = expect_question(resolvers->ends[0], "a");

	lie.id += id;
	assert_int_equal(send(resolvers->ends[0], &lie, size, 0), size);
	lookup_receive(&resolvers->lookup, 0);
	assert_int_equal(resolvers->lookup.sockets[0], -1);
	assert_int_equal(resolvers->lookup.names[i].state, LOOKUP_ASKED);
	assert_int_equal(expect_question(resolvers->ends[1], "a"), id);
	end_resolvers(resolvers);
}

TEST(a_resolver_that_lies_is_given_up)
{
	expect_given_up((struct resolver_answer){.id = 1, .count = 1},
	                sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.count = 17}, sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.count = UINT32_MAX},
	                sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.count = 0}, sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.count = 1, .error = ENOENT},
	                sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.error = -1}, sizeof(struct resolver_answer));
	expect_given_up((struct resolver_answer){.count = 1}, sizeof(struct resolver_answer) - 1);
	expect_given_up((struct resolver_answer){.count = 1}, 1);
}

TEST(without_a_resolver_names_fail)
{
	struct resolvers *resolvers = make_resolvers();
	int i = begin(&resolvers->lookup, "a", 0);

	for (size_t end = 0; end < LOOKUP_RESOLVERS; end++) {
		resolvers->ends[end] = fd_close(resolvers->ends[end]);
		lookup_receive(&resolvers->lookup, 0);
	}
	assert_int_equal(lookup_socket(&resolvers->lookup), -1);
	assert_int_equal(resolvers->lookup.names[i].state, LOOKUP_KNOWN);
	assert_int_equal(resolvers->lookup.names[i].answer.error, EIO);
	i = begin(&resolvers->lookup, "b", 0);
	assert_int_equal(resolvers->lookup.names[i].answer.error, EIO);
	end_resolvers(resolvers);
}

/* Only socket(2) is judged: valgrind makes system calls of its own, which no list of ours has. */
static bool enter_filter(void)
{
	struct sock_filter program[BPF_MAXINSNS] = {
		FILTER_LOAD_NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {(unsigned short)(3 + filters_connector.len), program};

	memcpy(program + 3, filters_connector.filter, filters_connector.len * sizeof *program);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

static int make_socket_below_the_filter(int family, int type, int protocol)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(enter_filter() && socket(family, type, protocol) >= 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(below_the_filter_there_are_sockets_of_tcp_only)
{
	const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

	assert_int_equal(make_socket_below_the_filter(AF_INET, SOCK_STREAM | flags, IPPROTO_TCP),
	                 0);
	assert_int_equal(make_socket_below_the_filter(AF_UNIX, SOCK_STREAM | flags, 0), -SIGSYS);
	assert_int_equal(make_socket_below_the_filter(AF_UNIX, SOCK_STREAM | flags, IPPROTO_TCP),
	                 -SIGSYS);
	assert_int_equal(make_socket_below_the_filter(AF_INET, SOCK_DGRAM | flags, IPPROTO_UDP),
	                 -SIGSYS);
	assert_int_equal(make_socket_below_the_filter(AF_INET, SOCK_STREAM | flags, 262),
	                 -SIGSYS); /* IPPROTO_MPTCP */
	assert_int_equal(make_socket_below_the_filter(AF_NETLINK, SOCK_RAW | flags, 0), -SIGSYS);
	assert_int_equal(make_socket_below_the_filter(AF_INET6, SOCK_RAW | flags, IPPROTO_TCP),
	                 -SIGSYS);
}

TEST(the_kernel_says_what_is_this_host)
{
	int netlink = route_open();
	struct net_address address;
	enum route route;

	assert_true(netlink >= 0);
	assert_int_equal(net_address_parse("127.0.0.1", &address), 0);
	assert_int_equal(route_ask(netlink, &address, &route), 0);
	assert_int_equal(route, ROUTE_LOCAL);
	assert_int_equal(net_address_parse("255.255.255.255", &address), 0);
	assert_true(route_ask(netlink, &address, &route) < 0 || route == ROUTE_GROUP);
	fd_close(netlink);
}

static struct ruleset load(const struct egress_rules *rules)
{
	struct ruleset loaded = {0};
	int fd = fd_new_sealed("rules", rules, sizeof *rules + rules->list_size);

	assert_true(fd >= 0);
	assert_int_equal(ruleset_change(&loaded, fd), 1);
	fd_close(fd);
	return loaded;
}

TEST(a_bare_address_or_name_is_decided_by_the_rules)
{
	static union {
		struct egress_rules rules;
		uint8_t bytes[4096];
	} memory = {.rules = {.mode = EGRESS_LIMITED, .connections_max = 1}};
	struct net_list *list = (struct net_list *)memory.rules.list;
	struct net_rule rule = {.kind = NET_RULE_NAME,
	                        .port_first = 443,
	                        .port_last = 443,
	                        .name = "a.example.org"};
	struct ruleset rules;

	net_list_begin(list);
	assert_int_equal(net_list_add(list, 1024, NET_LIST_ALLOW, &rule, 7), 0);
	memory.rules.list_size = list->size;
	rules = load(&memory.rules);
	assert_int_equal(connector_rules_name(&rules, "a.example.org", 443).verdict,
	                 NET_VERDICT_ALLOWED);
	assert_int_equal(connector_rules_name(&rules, "a.example.org", 443).origin, 7);
	assert_int_equal(connector_rules_name(&rules, "a.example.org", 80).verdict,
	                 NET_VERDICT_NO_RULE);
	assert_int_equal(connector_rules_name(&rules, "b.example.org", 443).verdict,
	                 NET_VERDICT_NO_RULE);
	ruleset_unmap(&rules);
	memory.rules.mode = EGRESS_OPEN;
	rules = load(&memory.rules);
	assert_int_equal(connector_rules_name(&rules, "b.example.org", 443).verdict,
	                 NET_VERDICT_ALLOWED);
	ruleset_unmap(&rules);
}

TEST_MAIN(NULL, NULL)
