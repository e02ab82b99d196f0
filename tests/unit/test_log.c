/* SPDX-License-Identifier: Apache-2.0 */
/* What one user can write into the log: so many lines in a minute, and then how many more there
 * were. */
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"
#include "tests/support/testing.h"

static uint64_t now_ms = 1000 * 60000;

/* In the place of the C library's: a minute ends when a test says so. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){(time_t)(now_ms / 1000), 0};
	return 0;
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

TEST(what_nobody_causes_is_not_bounded)
{
	int log = take_log();

	log_many(LOG_OTHER_MAX + 5, LOG_DONE_MAX + 5);
	assert_int_equal(count_lines(written(log), "\n"), LOG_OTHER_MAX + LOG_DONE_MAX + 10);
}

TEST(alone_a_process_counts_for_itself)
{
	int log = take_log();

	log_count_for(1000);
	log_many(LOG_OTHER_MAX + 5, 1);
	assert_int_equal(count_lines(written(log), "\n"), LOG_OTHER_MAX + 1 + 1);
}

/* So many processes, each of which is told of 20 refusals and does 20 things. */
static void fork_many(uint32_t uid, int count)
{
	int status;

	for (int process = 0; process < count; process++) {
		if (fork() == 0) {
			log_count_for(uid);
			log_many(20, 20);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		;
}

TEST(every_process_of_a_user_counts)
{
	int log = take_log();
	const char *text;

	assert_int_equal(log_share_counts(), 0);
	fork_many(1000, 50);
	fork_many(1001, 1);
	text = written(log);
	assert_int_equal(count_lines(text, "a refusal\n"), LOG_OTHER_MAX + 20);
	assert_int_equal(count_lines(text, "a deed\n"), LOG_DONE_MAX + 20);
	assert_int_equal(
		count_lines(
			text,
			"uid=1000: more than 20 lines about refusals and the like in a minute; the rest of them is left out\n"),
		1);
	assert_int_equal(
		count_lines(
			text,
			"uid=1000: more than 600 lines about what was done in a minute; the rest of them is left out\n"),
		1);
	assert_int_equal(count_lines(text, "uid=1001"), 0);
	/* What was left out is told with the first line of a later minute. */
	now_ms += 60000;
	fork_many(1000, 1);
	text = written(log);
	assert_int_equal(
		count_lines(
			text,
			"uid=1000: 980 lines about refusals and the like of an earlier minute were left out\n"),
		1);
	assert_int_equal(
		count_lines(
			text,
			"uid=1000: 400 lines about what was done of an earlier minute were left out\n"),
		1);
	assert_int_equal(count_lines(text, "\n"), 42);
	now_ms += 60000;
	fork_many(1000, 1);
	assert_int_equal(count_lines(written(log), "\n"), 40);
}

TEST_MAIN(NULL, NULL)
