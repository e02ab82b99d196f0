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

static struct plan plan;

static struct plan_text text(const char *string)
{
	struct plan_text added;

	assert_int_equal(plan_add_text(&plan, string, &added), 0);
	return added;
}

#define LABEL_LENGTH (PLAN_LABELS_SIZE / PLAN_LABELS_MAX - 1) /* as many as there may be fill the record */

/* With `count` labels of `length` bytes. */
static size_t make(struct record *record, uint32_t count, size_t length)
{
	char label[MESSAGE_KEY_VALUE_MAX + 2] = "k=";

	memset(&plan, 0, offsetof(struct plan, arena));
	memcpy(plan.id, "00112233445566ff", PLAN_ID_SIZE);
	plan.name = text("box");
	plan.profile_name = text("default");
	plan.principal = text("laptop");
	plan.life = (struct plan_life){.linger = true, .idle_ms = 7};
	memset(label + 2, 'v', length - 2);
	for (plan.labels_count = 0; plan.labels_count < count; plan.labels_count++)
		plan.labels[plan.labels_count] = text(label);
	record_init(record, 1000, "s0");
	assert_int_equal(record_plan(record, &plan), 0);
	record->state = SANDBOX_RUNNING;
	return record_seal(record);
}

static void what_was_written_is_read(void **state)
{
	struct record record, again;
	size_t length = make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);

	(void)state;
	assert_int_equal(length, sizeof record);
	assert_true(record_open(&record, length, &again));
	assert_string_equal(again.id, "00112233445566ff");
	assert_string_equal(again.name, "box");
	assert_string_equal(again.principal, "laptop");
	assert_string_equal(again.cgroup, "s0");
	assert_int_equal(again.uid, 1000);
	assert_true(again.life.linger);
	assert_int_equal(again.labels_count, MESSAGE_LABELS_MAX);
	length = make(&record, 0, 2);
	assert_true(record_open(&record, length, &again));
	record_init(&record, 0, "s1");
	assert_true(record_open(&record, record_seal(&record), &again));
	assert_int_equal(again.state, SANDBOX_DESTROYED);
}

static void labels_that_do_not_fit_are_refused(void **state)
{
	struct record record;

	(void)state;
	(void)make(&record, MESSAGE_LABELS_MAX, LABEL_LENGTH);
	assert_int_equal(record_plan(&record, &plan), -E2BIG);
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
	after.attached = 5;
	after.ended_ms = 12345;
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
static void numbers_and_texts_out_of_bounds_are_refused(void **state)
{
	struct record record, again;
	size_t length = make(&record, 2, 10);

	(void)state;
	record.labels_count = MESSAGE_LABELS_MAX + 1;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.labels_count = 1;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.labels_count = 2;
	record.state = SANDBOX_DESTROYED + 1;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.state = SANDBOX_RUNNING;
	memset(record.name, 'x', sizeof record.name);
	assert_false(record_open(&record, record_seal(&record), &again));
	record.name[0] = '\0';
	record.magic++;
	assert_false(record_open(&record, record_seal(&record), &again));
	record.magic--;
	record.labels[record.labels_used - 1] = 'x';
	assert_false(record_open(&record, record_seal(&record), &again));
	record.labels[record.labels_used - 1] = '\0';
	assert_int_equal(record_seal(&record), length);
	assert_true(record_open(&record, length, &again));
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
		racing->record.attached++;
		racing->record.ended_ms = racing->record.attached;
		assert_int_equal(registry_write(racing->fd, &racing->record), 0);
	}
	return NULL;
}

static int look(void *userdata, const struct record *record)
{
	assert_int_equal(record->attached, record->ended_ms);
	assert_string_equal(record->name, "box");
	++*(unsigned *)userdata;
	return 0;
}

static void a_reader_beside_a_writer_sees_whole_records_only(void **state)
{
	char directory[] = "/tmp/yett-registry-XXXXXX";
	struct reserve_host host = {.runtime = -1, .slots = -1, .names = -1, .control = -1};
	struct racing racing = {.is_over = false};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	unsigned seen = 0;
	pthread_t writer;
	pid_t owner;
	int pair[2], status;

	(void)state;
	assert_non_null(mkdtemp(directory));
	host.ranges = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	racing.fd = openat(host.ranges, "65536", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)make(&racing.record, 3, 10);
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
	assert_int_equal(unlinkat(host.ranges, "65536", 0), 0);
	(void)close(racing.fd);
	(void)close(host.ranges);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(labels_that_do_not_fit_are_refused),
		cmocka_unit_test(a_changed_byte_of_a_record_is_noticed),
		cmocka_unit_test(a_torn_record_is_noticed),
		cmocka_unit_test(numbers_and_texts_out_of_bounds_are_refused),
		cmocka_unit_test(a_reader_beside_a_writer_sees_whole_records_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
