/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a sandbox: what is written is read again, and nothing else is. */
#include <string.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "helper/setup/registry.h"
#include "programs/decide/decider/plan_add.h"
#include "programs/decide/decider/report.h"
#include "protocol/codec.h"
#include "protocol/encode.h"
#include "tests/support/testing.h"

static struct plan plan;
static struct message reports, decoded;

static struct plan_text text(const char *string)
{
	struct plan_text added;

	assert_int_equal(plan_add_text(&plan, string, &added), 0);
	return added;
}

#define LABEL_LENGTH                          \
	(PLAN_LABELS_SIZE / PLAN_LABELS_MAX - \
	 1) /* with their NULs, as many as a monitor lets pass */

/* With `count` labels of `length` bytes. */
static size_t make(struct record *record, uint32_t count, size_t length)
{
	char label[MESSAGE_KEY_VALUE_MAX + 2] = "k=";

	memset(&plan, 0, offsetof(struct plan, arena));
	memcpy(plan.id, "00112233445566ff", PLAN_ID_SIZE);
	plan.name = text("box");
	plan.profile_name = text("default");
	plan.principal = text("laptop");
	plan.life = (struct plan_life){
		.linger = true, .idle_ms = 7, .idle_pauses = true, .linger_ms = 9};
	plan.limits = (struct plan_limits){
		.memory_bytes = 1, .cpu_millis = 2, .cpu_weight = 3, .pids = 4, .files = 5};
	memset(label + 2, 'v', length - 2);
	for (plan.labels_count = 0; plan.labels_count < count; plan.labels_count++)
		plan.labels[plan.labels_count] = text(label);
	record_init(record, 1000, "s0");
	record_plan(record, &plan);
	record->state = SANDBOX_RUNNING;
	record->started_ms = 12;
	return record_seal(record);
}

/* What a client makes of it. */
static const struct message_sandbox *decode(const struct record *record)
{
	static uint8_t bytes[MESSAGE_PACKET_MAX];
	struct yett_error error;
	size_t length;

	assert_int_equal(report_sandbox(record, &reports), 0);
	assert_int_equal(message_encode(&reports, bytes, sizeof bytes, &length), 0);
	assert_int_equal(message_decode(MESSAGE_SANDBOX, bytes, length, &decoded, &error), 0);
	return &decoded.body.sandbox;
}

TEST(what_was_written_is_read)
{
	struct record record, again;
	size_t length = make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);

	assert_true(record_open(&record, length, &again));
	assert_string_equal(again.id, "00112233445566ff");
	assert_string_equal(again.name, "box");
	assert_string_equal(again.profile, "default");
	assert_string_equal(again.principal, "laptop");
	assert_string_equal(again.cgroup, "s0");
	assert_int_equal(again.uid, 1000);
	assert_int_equal(again.state, SANDBOX_RUNNING);
	assert_int_equal(again.started_ms, 12);
	length = make(&record, 0, 2);
	assert_true(record_open(&record, length, &again));
	record_init(&record, 0, "s1");
	assert_true(record_open(&record, record_seal(&record), &again));
	assert_int_equal(again.state, SANDBOX_DESTROYED);
}

TEST(a_client_is_told_what_the_plan_says)
{
	const struct message_sandbox *body;
	struct record record;

	(void)make(&record, 3, 10);
	body = decode(&record);
	assert_string_equal(message_text(&decoded, body->id), "00112233445566ff");
	assert_string_equal(message_text(&decoded, body->name), "box");
	assert_string_equal(message_text(&decoded, body->profile), "default");
	assert_string_equal(message_text(&decoded, body->principal), "laptop");
	assert_int_equal(body->uid, 1000);
	assert_int_equal(body->state, SANDBOX_RUNNING);
	assert_true(body->life.linger);
	assert_int_equal(body->life.idle_ms, 7);
	assert_int_equal(body->life.idle_action, IDLE_PAUSE);
	assert_int_equal(body->linger_ms, 9);
	assert_int_equal(body->limits.memory_bytes, 1);
	assert_int_equal(body->limits.cpu_millis, 2);
	assert_int_equal(body->limits.pids, 4);
	assert_int_equal(body->limits.files, 5);
	assert_int_equal(body->labels_count, 3);
	assert_string_equal(message_text(&decoded, body->labels[2]), "k=vvvvvvvv");
}

/* The largest of everything has room: what did not would be in no list. */
TEST(the_longest_is_told_whole)
{
	const struct message_sandbox *body;
	struct record record, again;

	(void)make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);
	record.uid = record.private_uid = UINT32_MAX - 1;
	record.state = SANDBOX_FAILED;
	record.ended = ENDED_IDLE;
	record.attached = UINT32_MAX;
	record.layers.landlock_abi = MESSAGE_LANDLOCK_ABI_MAX;
	record.limits = (struct plan_limits){.memory_bytes = UINT64_C(1) << 50,
	                                     .cpu_millis = 1024000,
	                                     .pids = 4194304,
	                                     .files = 1048576};
	record.life = (struct plan_life){2592000000,        2592000000, 2592000000, 2592000000,
	                                 UINT64_C(1) << 50, true,       true};
	record.created_ms = record.started_ms = record.ended_ms = UINT64_C(1) << 50;
	memset(record.layers.label, 'x', MESSAGE_LABEL_MAX);
	memset(record.name, 'x', MESSAGE_NAME_MAX);
	memset(record.profile, 'x', MESSAGE_NAME_MAX);
	memset(record.principal, 'x', MESSAGE_NAME_MAX);
	assert_true(record_open(&record, record_seal(&record), &again));
	body = decode(&again);
	assert_int_equal(body->labels_count, MESSAGE_LABELS_MAX);
	assert_int_equal(strlen(message_text(&decoded, body->label)), MESSAGE_LABEL_MAX);
	assert_int_equal(strlen(message_text(&decoded, body->name)), MESSAGE_NAME_MAX);
}

/* No plan has more, but what a plan says is not believed. */
TEST(labels_that_do_not_fit_are_left_out)
{
	struct record record, again;

	(void)make(&record, MESSAGE_LABELS_MAX, MESSAGE_KEY_VALUE_MAX);
	assert_true(record_open(&record, record_seal(&record), &again));
	assert_string_equal(again.name, "box");
	assert_int_equal(decode(&again)->labels_count,
	                 PLAN_LABELS_SIZE / (MESSAGE_KEY_VALUE_MAX + 1));
}

TEST(a_changed_byte_of_a_record_is_noticed)
{
	struct record record, again;
	size_t length = make(&record, 3, 10);

	for (size_t at = 0; at < length; at++) {
		((uint8_t *)&record)[at] ^= 1;
		assert_false(record_open(&record, length, &again));
		((uint8_t *)&record)[at] ^= 1;
	}
	for (size_t cut = 0; cut < length; cut++)
		assert_false(record_open(&record, cut, &again));
	assert_true(record_open(&record, length, &again));
}

/* The halves of two writes are no record, wherever the first one ends. */
TEST(a_torn_record_is_noticed)
{
	struct record before, after, torn, again;
	size_t length = make(&before, 3, 10), whole = 0;

	after = before;
	after.state = SANDBOX_PAUSED;
	after.started_ms = 12345;
	memset(after.labels, 5, after.labels_size);
	assert_int_equal(record_seal(&after), length);
	for (size_t cut = 0; cut <= length; cut++) {
		memcpy(&torn, &before, length);
		memcpy(&torn, &after, cut);
		if (!record_open(&torn, length, &again))
			continue;
		whole++;
		assert_true(memcmp(&again, &before, length) == 0 ||
		            memcmp(&again, &after, length) == 0);
	}
	assert_in_range(whole, 2, length / 2);
}

/* Sums that are right over what cannot be. */
TEST(another_layout_and_another_length_are_refused)
{
	struct record record, again;
	size_t length = make(&record, 2, 10);

	assert_true(record_open(&record, length, &again));
	assert_false(record_open(&record, length - 1, &again));
	record.magic++;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.magic--;
	assert_int_equal(record_seal(&record), length);
	assert_true(record_open(&record, length, &again));
}

/* A sandbox without labels has a shorter one than that which was here before it. */
TEST(a_shorter_record_is_read_where_a_longer_one_was)
{
	char path[] = "/tmp/yett-record-XXXXXX";
	struct record record, again;
	uint8_t bytes[sizeof record];
	int fd = mkstemp(path);
	ssize_t n;

	(void)make(&record, 3, 10);
	assert_int_equal(registry_write(fd, &record), 0);
	(void)make(&record, 0, 10);
	record.state = SANDBOX_DESTROYED;
	assert_int_equal(registry_write(fd, &record), 0);
	n = pread(fd, bytes, sizeof bytes, 0);
	assert_true((size_t)n > record_seal(&record));
	assert_true(record_open(bytes, (size_t)n, &again));
	assert_int_equal(again.state, SANDBOX_DESTROYED);
	assert_string_equal(again.cgroup, "s0");
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
}

/* A writer that never rests. */
struct racing {
	int fd;
	struct record record;
	atomic_bool is_over;
};

static void *write_on(void *data)
{
	struct racing *racing = data;

	while (!racing->is_over) {
		racing->record.started_ms++;
		memcpy(racing->record.labels, &racing->record.started_ms,
		       sizeof racing->record.started_ms);
		assert_int_equal(registry_write(racing->fd, &racing->record), 0);
	}
	return NULL;
}

static unsigned look(const struct reserve_host *host)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(host->dirs[RESERVE_RANGES]);
	struct record record;
	unsigned seen = 0;

	for (; registry_next(entries, &record); seen++) {
		assert_memory_equal(record.labels, &record.started_ms, sizeof record.started_ms);
		assert_string_equal(record.name, "box");
	}
	return seen;
}

TEST(a_reader_beside_a_writer_sees_whole_records_only)
{
	char directory[] = "/tmp/yett-registry-XXXXXX";
	struct reserve_host host = RESERVE_HOST_NONE;
	struct racing racing = {.is_over = false};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	unsigned seen = 0;
	pthread_t writer;
	pid_t owner;
	int pair[2], status;

	assert_non_null(mkdtemp(directory));
	host.dirs[RESERVE_RANGES] = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	racing.fd = openat(host.dirs[RESERVE_RANGES], "65536", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)make(&racing.record, 3, 10);
	memcpy(racing.record.labels, &racing.record.started_ms, sizeof racing.record.started_ms);
	assert_int_equal(registry_write(racing.fd, &racing.record), 0);
	assert_int_equal(look(&host), 0); /* nobody has it locked */
	assert_int_equal(pipe(pair), 0);
	owner = fork();
	if (owner == 0) {
		char byte;
		int r = fcntl(racing.fd, F_SETLK, &whole);

		(void)close(pair[0]);
		(void)!write(pair[1], "", 1);
		for (;;) /* until it is killed */
			(void)pause();
		_exit(r < 0 || read(pair[0], &byte, 1) < 0);
	}
	assert_int_equal(read(pair[0], &(char){0}, 1), 1);
	assert_int_equal(pthread_create(&writer, NULL, write_on, &racing), 0);
	for (int i = 0; i < 20000; i++)
		seen += look(&host);
	racing.is_over = true;
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_in_range(seen, 19000,
	                20000); /* one that was always being written is missed, not misread */
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(unlinkat(host.dirs[RESERVE_RANGES], "65536", 0), 0);
	(void)close(racing.fd);
	(void)close(host.dirs[RESERVE_RANGES]);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(rmdir(directory), 0);
}

/* --- what users ask for in a minute ----------------------------------------------------------- */

#define BY_CHILD 50
#define CHILDREN 4

static struct reserve_host counting(char *directory)
{
	struct reserve_host host = RESERVE_HOST_NONE;

	assert_non_null(mkdtemp(directory));
	host.dirs[RESERVE_RUNTIME] = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(host.dirs[RESERVE_RUNTIME] >= 0);
	return host;
}

static void counted(struct reserve_host *host, char *directory)
{
	(void)unlinkat(host->dirs[RESERVE_RUNTIME], "rates", 0);
	(void)close(host->dirs[RESERVE_RUNTIME]);
	assert_int_equal(rmdir(directory), 0);
}

TEST(as_many_are_counted_in_a_minute_as_may_be)
{
	static const uid_t users[] = {0, 1, 1000, 1001, 65534, UINT32_MAX - 1};
	static const uint64_t begins[] = {0, 30000, 60000, 1000000007};
	char directory[] = "/tmp/yett-rates-XXXXXX";
	struct reserve_host host = counting(directory);

	for (size_t b = 0; b < ARRAY_SIZE(begins); b++) {
		const uint64_t begin = begins[b];

		(void)unlinkat(host.dirs[RESERVE_RUNTIME], "rates", 0);
		for (size_t u = 0; u < ARRAY_SIZE(users); u++)
			for (int kind = 0; kind < 2; kind++) {
				for (uint64_t i = 0; i < 3; i++)
					assert_int_equal(registry_count(&host, users[u], kind == 1,
					                                3, begin + i),
					                 0);
				/* The first minute of the clock began with it. */
				assert_int_equal(
					registry_count(&host, users[u], kind == 1, 3, begin + 3),
					begin < 60000 ? (60000 - begin - 3 + 999) / 1000 : 60);
			}
		for (size_t u = 0; u < ARRAY_SIZE(users) && begin >= 60000; u++) {
			assert_int_equal(registry_count(&host, users[u], false, 3, begin + 59000),
			                 1);
			assert_int_equal(registry_count(&host, users[u], false, 3, begin + 59999),
			                 1);
			assert_int_equal(registry_count(&host, users[u], false, 4, begin + 59999),
			                 0); /* a bound that was raised */
			assert_int_equal(registry_count(&host, users[u], false, 3, begin + 60000),
			                 0);
			assert_int_equal(registry_count(&host, users[u], true, 1, begin + 60000),
			                 0);
			assert_int_equal(registry_count(&host, users[u], true, 1, begin + 60001),
			                 60);
		}
	}
	/* What is not counted does not put the next minute off; and what is of a clock that went on
	 * from 0 again is over. */
	for (uint64_t i = 0; i < 100; i++)
		assert_true(registry_count(&host, 1000, true, 1, begins[3] + 60002 + i) > 0);
	assert_int_equal(registry_count(&host, 1000, true, 1, begins[3] + 120000), 0);
	assert_int_equal(registry_count(&host, 1000, true, 1, 5), 0);
	assert_int_equal(registry_count(&host, 1000, true, 1, 6), 60);
	counted(&host, directory);
}

TEST(processes_that_count_at_once_count_together)
{
	char directory[] = "/tmp/yett-rates-XXXXXX";
	struct reserve_host host = counting(directory);
	unsigned sum = 0;

	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0) {
			unsigned passed = 0;

			for (int n = 0; n < BY_CHILD; n++)
				passed += registry_count(&host, 1000, false,
				                         CHILDREN * BY_CHILD - 70, 100000) == 0;
			_exit((int)passed);
		}
	for (int i = 0; i < CHILDREN; i++) {
		int status;

		assert_true(wait(&status) > 0 && WIFEXITED(status));
		sum += (unsigned)WEXITSTATUS(status);
	}
	assert_int_equal(sum, CHILDREN * BY_CHILD - 70);
	counted(&host, directory);
}

/* Where it cannot be counted it is not allowed either. */
TEST(without_a_place_to_count_nothing_is_let_pass)
{
	struct reserve_host host = RESERVE_HOST_NONE;

	assert_true(registry_count(&host, 1000, false, 10, 100000) < 0);
}

TEST_MAIN(NULL, NULL)
