/* The record of a sandbox: what is written is read again, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "helper/setup/registry.h"
#include "protocol/codec.h"

static struct plan plan;
static struct message told, decoded;

static struct plan_text text(const char *string)
{
	struct plan_text added;

	assert_int_equal(plan_add_text(&plan, string, &added), 0);
	return added;
}

#define LABEL_LENGTH (PLAN_LABELS_SIZE / PLAN_LABELS_MAX - 1) /* with their NULs, as many as a monitor lets pass */

/* With `count` labels of `length` bytes. */
static size_t make(struct record *record, uint32_t count, size_t length)
{
	char label[MESSAGE_KEY_VALUE_MAX + 2] = "k=";

	memset(&plan, 0, offsetof(struct plan, arena));
	memcpy(plan.id, "00112233445566ff", PLAN_ID_SIZE);
	plan.name = text("box");
	plan.profile_name = text("default");
	plan.principal = text("laptop");
	plan.life = (struct plan_life){.linger = true, .idle_ms = 7, .idle_pauses = true, .linger_ms = 9};
	plan.limits = (struct plan_limits){.memory_bytes = 1, .cpu_millis = 2, .cpu_weight = 3, .pids = 4, .files = 5};
	memset(label + 2, 'v', length - 2);
	for (plan.labels_count = 0; plan.labels_count < count; plan.labels_count++)
		plan.labels[plan.labels_count] = text(label);
	record_init(record, 1000, "s0");
	assert_int_equal(record_plan(record, &plan, &told), 0);
	told.body.sandbox.state = SANDBOX_RUNNING;
	told.body.sandbox.started_ms = 12;
	record_tell(record, &told);
	return record_seal(record);
}

/* What a client makes of it. */
static const struct message_sandbox *decode(const struct record *record)
{
	struct yett_error error;

	assert_int_equal(message_decode(MESSAGE_SANDBOX, record->told, record->told_length, &decoded, &error), 0);
	return &decoded.body.sandbox;
}

static void what_was_written_is_read(void **state)
{
	struct record record, again;
	size_t length = make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);

	(void)state;
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

static void a_client_is_told_what_the_plan_says(void **state)
{
	const struct message_sandbox *body;
	struct record record;

	(void)state;
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
static void the_longest_is_told_whole(void **state)
{
	char longest[MESSAGE_LABEL_MAX + 1] = "";
	struct message_sandbox *body = &told.body.sandbox;
	struct record record, again;

	(void)state;
	memset(longest, 'x', MESSAGE_LABEL_MAX);
	(void)make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);
	*body = (struct message_sandbox){
		.id = body->id,
		.state = SANDBOX_FAILED,
		.ended = ENDED_IDLE,
		.uid = UINT32_MAX - 1,
		.private_uid = UINT32_MAX - 1,
		.landlock_abi = MESSAGE_LANDLOCK_ABI_MAX,
		.limits = {UINT64_C(1) << 50, 1024000, 4194304, 1048576},
		.life = {true, UINT32_C(2592000000), UINT32_C(2592000000), UINT32_C(2592000000), IDLE_PAUSE, UINT32_C(2592000000)},
		.linger_ms = UINT64_C(1) << 50,
		.created_ms = UINT64_C(1) << 50,
		.started_ms = UINT64_C(1) << 50,
		.ended_ms = UINT64_C(1) << 50,
		.attached = UINT32_MAX,
		.labels_count = body->labels_count};
	for (uint32_t i = 0; i < MESSAGE_LABELS_MAX; i++)
		assert_int_equal(message_add_text(&told, plan_text(&plan, plan.labels[i]), &body->labels[i]), 0);
	assert_int_equal(message_add_text(&told, longest, &body->label), 0);
	longest[MESSAGE_NAME_MAX] = '\0';
	assert_int_equal(message_add_text(&told, longest, &body->name), 0);
	body->profile = body->principal = body->name;
	record_tell(&record, &told);
	assert_true(record_open(&record, record_seal(&record), &again));
	assert_int_equal(decode(&again)->labels_count, MESSAGE_LABELS_MAX);
}

/* It is there all the same: for who asks for it by its name, and for the sweep. */
static void what_cannot_be_told_leaves_the_record_as_good_as_it_was(void **state)
{
	struct record record, again;

	(void)state;
	(void)make(&record, 1, 10);
	told.body.sandbox.labels[0].offset = UINT32_MAX;
	record_tell(&record, &told);
	assert_int_equal(record.told_length, 0);
	assert_true(record_open(&record, record_seal(&record), &again));
	assert_string_equal(again.name, "box");
}

static void a_changed_byte_of_a_record_is_noticed(void **state)
{
	struct record record, again;
	size_t length = make(&record, 3, 10);

	(void)state;
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
static void a_torn_record_is_noticed(void **state)
{
	struct record before, after, torn, again;
	size_t length = make(&before, 3, 10), whole = 0;

	(void)state;
	after = before;
	after.state = SANDBOX_PAUSED;
	after.started_ms = 12345;
	memset(after.told, 5, after.told_length);
	assert_int_equal(record_seal(&after), length);
	for (size_t cut = 0; cut <= length; cut++) {
		memcpy(&torn, &before, length);
		memcpy(&torn, &after, cut);
		if (!record_open(&torn, length, &again))
			continue;
		whole++;
		assert_true(memcmp(&again, &before, length) == 0 || memcmp(&again, &after, length) == 0);
	}
	assert_in_range(whole, 2, length / 2);
}

/* Sums that are right over what cannot be. */
static void another_layout_and_another_length_are_refused(void **state)
{
	struct record record, again;
	size_t length = make(&record, 2, 10);

	(void)state;
	assert_true(record_open(&record, length, &again));
	assert_false(record_open(&record, length - 1, &again));
	record.magic++;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.magic--;
	assert_int_equal(record_seal(&record), length);
	assert_true(record_open(&record, length, &again));
}

/* What a sandbox that has ended leaves in its file is shorter than what was there while it ran. */
static void a_shorter_record_is_read_where_a_longer_one_was(void **state)
{
	char path[] = "/tmp/yett-record-XXXXXX";
	struct record record, again;
	uint8_t bytes[sizeof record];
	int fd = mkstemp(path);
	ssize_t n;

	(void)state;
	(void)make(&record, 3, 10);
	assert_int_equal(registry_write(fd, &record), 0);
	told.body.sandbox.state = SANDBOX_DESTROYED;
	record_tell(&record, &told);
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
		memcpy(racing->record.told, &racing->record.started_ms, sizeof racing->record.started_ms);
		assert_int_equal(registry_write(racing->fd, &racing->record), 0);
	}
	return NULL;
}

static int look(void *userdata, const struct record *record)
{
	assert_memory_equal(record->told, &record->started_ms, sizeof record->started_ms);
	assert_string_equal(record->name, "box");
	++*(unsigned *)userdata;
	return 0;
}

static void a_reader_beside_a_writer_sees_whole_records_only(void **state)
{
	char directory[] = "/tmp/yett-registry-XXXXXX";
	struct reserve_host host = RESERVE_HOST_NONE;
	struct racing racing = {.is_over = false};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	unsigned seen = 0;
	pthread_t writer;
	pid_t owner;
	int pair[2], status;

	(void)state;
	assert_non_null(mkdtemp(directory));
	host.dirs[RESERVE_RANGES] = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	racing.fd = openat(host.dirs[RESERVE_RANGES], "65536", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)make(&racing.record, 3, 10);
	memcpy(racing.record.told, &racing.record.started_ms, sizeof racing.record.started_ms);
	assert_int_equal(registry_write(racing.fd, &racing.record), 0);
	assert_int_equal(registry_each(&host, look, &seen), 0);
	assert_int_equal(seen, 0); /* nobody has it locked */
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
		assert_int_equal(registry_each(&host, look, &seen), 0);
	racing.is_over = true;
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_in_range(seen, 19000, 20000); /* one that was always being written is missed, not misread */
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(unlinkat(host.dirs[RESERVE_RANGES], "65536", 0), 0);
	(void)close(racing.fd);
	(void)close(host.dirs[RESERVE_RANGES]);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(a_client_is_told_what_the_plan_says),
		cmocka_unit_test(the_longest_is_told_whole),
		cmocka_unit_test(what_cannot_be_told_leaves_the_record_as_good_as_it_was),
		cmocka_unit_test(a_changed_byte_of_a_record_is_noticed),
		cmocka_unit_test(a_torn_record_is_noticed),
		cmocka_unit_test(another_layout_and_another_length_are_refused),
		cmocka_unit_test(a_shorter_record_is_read_where_a_longer_one_was),
		cmocka_unit_test(a_reader_beside_a_writer_sees_whole_records_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
