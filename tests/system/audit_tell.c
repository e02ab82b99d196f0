/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells yett-audit, as root's processes do. Arguments: the socket; then nothing, and each line of
 * standard input is a record, answered for on standard output by an errno; or CLIENTS and COUNT,
 * and so many tell of so many sandboxes each, at once.
 *
 * A line: KIND, and NAME=VALUE for what is not empty (names below); "times=N" tells the same N
 * times and prints only how often which answer came; "nowait=1" does not wait for the answer.
 */
#include "base/clock_us.h"
#include "base/net_list.h"
#include "helper/setup/audit.h"
#include "programs/decide/decider/plan_add.h"
#include "programs/net/egress.h"
#include "protocol/frame.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ARENA 2048

static const char *const kinds[] = {
	[AUDIT_CREATE] = "create", [AUDIT_FAILED] = "failed",   [AUDIT_ENDED] = "ended",
	[AUDIT_ACT] = "act",       [AUDIT_REFUSED] = "refused", [AUDIT_POLICY] = "policy"};

struct told {
	struct audit_record record;
	struct plan plan;
	bool has_wild, does_not_wait, has_rules, has_no_plan;
	unsigned times;
};

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static int memory(const void *bytes, size_t size)
{
	int fd = memfd_create("audit_tell", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	return fd;
}

static int rules_memory(void)
{
	static union {
		struct egress_rules rules;
		uint8_t room[65536];
	} memory_of = {.rules = {.mode = EGRESS_LIMITED, .connections_max = 64}};
	struct net_list *list = (struct net_list *)memory_of.rules.list;
	struct net_rule rule = {.kind = NET_RULE_NAME, .port_first = 443, .port_last = 443};
	size_t room = sizeof memory_of - sizeof memory_of.rules;

	net_list_begin(list);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(rule.name, sizeof rule.name, "n%d.example", i);
		assert(net_list_add(list, room, i % 2 ? NET_LIST_DENY : NET_LIST_ALLOW, &rule, 0) ==
		       0);
		memset(rule.name, 0, sizeof rule.name);
	}
	memory_of.rules.list_size = list->size;
	return memory(&memory_of, sizeof memory_of.rules + list->size);
}

/* The answer, or a negative errno of ours. */
static int tell(const struct told *told)
{
	int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fds[2], r;
	size_t count = 0;
	int32_t answer = -1;

	r = connect(socket_fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
	if (told->record.kind == AUDIT_CREATE && !told->has_no_plan)
		fds[count++] = memory(&told->plan, told->has_wild ? sizeof told->plan
		                                                  : offsetof(struct plan, arena) +
		                                                            told->plan.arena_used);
	if (told->has_rules)
		fds[count++] = rules_memory();
	if (told->record.kind == AUDIT_POLICY)
		fds[count++] = memory("image", 5);
	if (r == 0)
		r = frame_send(socket_fd, &told->record, sizeof told->record, fds, count, 0);
	if (r == 0 && !told->does_not_wait)
		r = recv(socket_fd, &answer, sizeof answer, 0) == sizeof answer ? answer : -EPIPE;
	while (count > 0)
		(void)close(fds[--count]);
	(void)close(socket_fd);
	return r;
}

static void begin(struct told *told)
{
	memset(told, 0, sizeof *told);
	told->times = 1;
	told->plan.arena_used = 1;
	told->record.asker = (struct plan_asker){.uid = 1000, .gid = 1000, .pid = 4711};
	(void)strcpy(told->record.asker.program, "/usr/bin/yett");
	(void)strcpy(told->record.id, "0123456789abcdef");
	told->plan.limits = (struct plan_limits){.memory_bytes = 1 << 30, .pids = 100};
}

static void add(struct told *told, struct plan_text *text, const char *value)
{
	assert(plan_add_text(&told->plan, value, text) == 0);
}

/* \xNN, \n and \t of a value are the bytes; '_' stays. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned byte;

		if (text[0] == '\\' && text[1] == 'x' && sscanf(text + 2, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

#define COPY(member) ((void)snprintf(member, sizeof(member), "%s", value))

static void set(struct told *told, const char *name, char *value)
{
	struct audit_record *record = &told->record;
	uint32_t number = (uint32_t)strtoul(value, NULL, 10);

	unescape(value);
	if (strcmp(name, "uid") == 0)
		record->asker.uid = record->sandbox.uid = number;
	else if (strcmp(name, "id") == 0)
		COPY(record->id);
	else if (strcmp(name, "program") == 0)
		COPY(record->asker.program);
	else if (strcmp(name, "key") == 0)
		COPY(record->asker.key);
	else if (strcmp(name, "principal") == 0)
		COPY(record->asker.principal);
	else if (strcmp(name, "profile") == 0)
		add(told, &told->plan.profile_name, value);
	else if (strcmp(name, "grant") == 0)
		add(told, &told->plan.grant_name, value);
	else if (strcmp(name, "place") == 0)
		add(told, &told->plan.grant_place, value);
	else if (strcmp(name, "asked") == 0)
		add(told, &told->plan.asked, value);
	else if (strcmp(name, "share") == 0) {
		struct plan_step *step = plan_add_step(&told->plan, PLAN_SHARE);

		assert(step);
		add(told, &step->target, value);
	} else if (strcmp(name, "again") == 0) {
		for (uint32_t i = 0; i < number; i++) {
			struct plan_step *step = plan_add_step(&told->plan, PLAN_SHARE);

			assert(step);
			step->target = step->from = told->plan.steps[0].target;
		}
	} else if (strcmp(name, "code") == 0)
		record->error.code = (enum yett_code)number;
	else if (strcmp(name, "message") == 0)
		COPY(record->error.message);
	else if (strcmp(name, "rule") == 0)
		COPY(record->error.rule);
	else if (strcmp(name, "file") == 0)
		COPY(record->error.file);
	else if (strcmp(name, "action") == 0)
		record->action = number;
	else if (strcmp(name, "ended") == 0)
		record->sandbox.ended = number;
	else if (strcmp(name, "cpu") == 0) {
		record->usage.known |= 1U << USAGE_CPU;
		record->usage.counts[USAGE_CPU] = number;
	} else if (strcmp(name, "rules") == 0)
		told->has_rules = true;
	else if (strcmp(name, "noplan") == 0)
		told->has_no_plan = true;
	else if (strcmp(name, "nowait") == 0)
		told->does_not_wait = true;
	else if (strcmp(name, "times") == 0)
		told->times = number;
	else if (strcmp(name, "wild") == 0) {
		srandom(number);
		for (size_t i = 0; i < sizeof told->plan; i++)
			((uint8_t *)&told->plan)[i] = (uint8_t)random();
		told->plan.arena_used = PLAN_ARENA_MAX;
		told->has_wild = true;
		for (size_t i = 0; number % 2 && i < sizeof *record; i++)
			((uint8_t *)record)[i] = i < offsetof(struct audit_record, asker)
			                                 ? ((uint8_t *)record)[i]
			                                 : (uint8_t)random();
	} else
		assert(!"a name that is known");
}

static int tell_line(char *line)
{
	static struct told told;
	char *rest, *word = strtok_r(line, " \n", &rest);
	int counts[4096] = {0};

	if (!word)
		return 0;
	begin(&told);
	for (uint32_t kind = 1; kind < ARRAY_SIZE(kinds); kind++)
		if (strcmp(word, kinds[kind]) == 0)
			told.record.kind = kind;
	while ((word = strtok_r(NULL, " \n", &rest))) {
		char *value = strchr(word, '=');

		assert(value);
		*value = '\0';
		set(&told, word, value + 1);
	}
	if (told.times == 1) {
		(void)printf("%d\n", tell(&told));
		return fflush(stdout);
	}
	for (unsigned i = 0; i < told.times; i++) {
		int r = tell(&told);

		counts[r < 0 ? 4095 : r]++;
	}
	for (int i = 0; i < 4096; i++)
		if (counts[i])
			(void)printf("%d:%d ", i == 4095 ? -1 : i, counts[i]);
	(void)putchar('\n');
	return fflush(stdout);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Microseconds of each answer, in memory that all share. */
static void measure(unsigned clients, unsigned count)
{
	uint64_t *times = mmap(NULL, (size_t)clients * count * sizeof *times,
	                       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin_us = clock_now_us(), all;
	int failures = 0, status;

	assert(times != MAP_FAILED);
	for (unsigned i = 0; i < clients; i++) {
		static struct told told;

		if (fork() != 0)
			continue;
		begin(&told);
		told.record.kind = AUDIT_CREATE;
		add(&told, &told.plan.profile_name, "build");
		add(&told, &told.plan.grant_name, "students");
		for (unsigned j = 0; j < count; j++) {
			uint64_t at = clock_now_us();

			if (tell(&told) != 0)
				_exit(1);
			times[i * count + j] = clock_now_us() - at;
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		failures += status != 0;
	all = clock_now_us() - begin_us;
	qsort(times, (size_t)clients * count, sizeof *times, compare);
	(void)printf("%d %.0f %llu %llu\n", failures, (double)clients * count * 1e6 / (double)all,
	             (unsigned long long)times[clients * count / 2],
	             (unsigned long long)times[(size_t)clients * count * 99 / 100]);
}

int main(int argc, char **argv)
{
	char line[65536];

	assert(argc == 2 || argc == 4);
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
	if (argc == 4)
		measure((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
	while (argc == 2 && fgets(line, sizeof line, stdin))
		if (tell_line(line) != 0)
			return 1;
	return 0;
}
