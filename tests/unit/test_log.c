/* What one user can write into the log: so many lines in a minute, and then how many more there were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "helper/log.h"

static uint64_t minute_now(void)
{
	return clock_now_ms() / 60000;
}

/* What was written to standard error since the last call. */
static const char *written(int log)
{
	static char text[1 << 17];
	ssize_t n = read(log, text, sizeof text - 1);

	assert_return_code(n, errno);
	text[n] = '\0';
	return text;
}

static size_t count_lines(const char *text, const char *with)
{
	size_t count = 0;

	for (const char *at = strstr(text, with); at; at = strstr(at + 1, with))
		count++;
	return count;
}

/* Standard error is a file from then on; its other end is what is returned, at its end. */
static int take_log(void)
{
	char path[] = "/tmp/yett-log-XXXXXX";
	int log = mkstemp(path);

	assert_return_code(log, errno);
	assert_return_code(dup2(open(path, O_WRONLY | O_APPEND | O_CLOEXEC), STDERR_FILENO), errno);
	assert_return_code(unlink(path), errno);
	return log;
}

static void log_many(unsigned refused, unsigned done)
{
	for (unsigned i = 0; i < refused; i++)
		log_line(LOG_LEVEL_INFO, "a refusal");
	for (unsigned i = 0; i < done; i++)
		log_line(LOG_LEVEL_NOTICE, "a deed");
}

static void every_process_of_a_user_counts(void **state)
{
	struct log_count *counts = mmap(NULL, 2 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int log = take_log(), status;
	const char *text;

	(void)state;
	assert_true(counts != MAP_FAILED);
	/* The minute must not end in between: it is told to be one that is long past, or just begins. */
	for (uint64_t minute = 0; minute != minute_now();) {
		minute = minute_now();
		memset(counts, 0, 2 * sizeof *counts);
		(void)written(log);
		log_many(LOG_OTHER_MAX + 5, 0); /* whom nobody causes are not counted */
		for (int process = 0; process < 50; process++) {
			if (fork() == 0) {
				log_count_for(&counts[0], 1000);
				log_many(20, 20);
				_exit(0);
			}
		}
		while (wait(&status) > 0)
			;
		log_count_for(&counts[1], 1001);
		log_many(1, 1);
		log_count_for(NULL, 0);
	}
	text = written(log);
	assert_int_equal(count_lines(text, "a refusal\n"), LOG_OTHER_MAX + 5 + LOG_OTHER_MAX + 1);
	assert_int_equal(count_lines(text, "a deed\n"), LOG_DONE_MAX + 1);
	assert_int_equal(count_lines(text, "uid=1000: more than 20 lines about refusals"), 1);
	assert_int_equal(count_lines(text, "uid=1000: more than 600 lines about what was done"), 1);
	assert_int_equal(count_lines(text, "uid=1001"), 0);
	assert_int_equal((uint32_t)counts[0].other, 1000);
	assert_int_equal((uint32_t)counts[0].done, 1000);
}

static void what_was_left_out_is_told_later(void **state)
{
	struct log_count count = {.other = (minute_now() - 1) << 32 | (LOG_OTHER_MAX + 4221), .done = (minute_now() - 1) << 32 | LOG_DONE_MAX};
	int log = take_log();
	const char *text;

	(void)state;
	log_count_for(&count, 1000);
	log_many(2, 2);
	text = written(log);
	assert_int_equal(count_lines(text, "uid=1000: 4221 lines about refusals and the like of an earlier minute were left out\n"), 1);
	assert_int_equal(count_lines(text, "left out"), 1);
	assert_int_equal(count_lines(text, "a refusal\n"), 2);
	assert_int_equal(count_lines(text, "a deed\n"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_process_of_a_user_counts),
		cmocka_unit_test(what_was_left_out_is_told_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
