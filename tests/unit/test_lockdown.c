/* SPDX-License-Identifier: Apache-2.0 */
/* How a process gives up its privilege, as far as it shows without any: what a filter lets through,
 * and what its process is killed for. */
#include <string.h>

#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/privilege/lockdown.h"
#include "programs/filters/table.h"
#include "tests/support/testing.h"

#define KILLED (-SIGSYS)

static void get_parent(void)
{
	(void)syscall(SYS_getppid);
}

static void write_nothing(void)
{
	(void)syscall(SYS_write, -1, "", 0);
}

static void open_a_path(void)
{
	(void)syscall(SYS_openat, -1, "/", 0);
}

static void make_a_socket(void)
{
	(void)syscall(SYS_socket, -1, 0, 0);
}

static void do_nothing(void)
{
}

/* A call of another number, as a program of 32 bits or one with another calling convention has it.
 */
static void call_beyond_the_last(void)
{
	(void)syscall(0x40000000 | SYS_getppid);
}

#ifdef __x86_64__
static void call_as_32_bits(void)
{
	long number = 64; /* getppid there; write here */

	__asm__ volatile("int $0x80" : "+a"(number) : : "memory", "rcx", "r11");
}
#endif

/*
 * How a process ended that entered the filter of this row and did that: its exit status, or the
 * negative number of a signal.
 */
static int do_below(const struct filters_call *calls, size_t count, void (*what)(void))
{
	struct filters_program row = {
		"test", SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_PROCESS, {{0}}};
	struct sock_filter *code;
	size_t length;
	int status;
	pid_t pid;

	memcpy(row.calls, calls, count * sizeof *calls);
	assert_int_equal(filters_make(&row, seccomp_arch_native(), FILTERS_MUSL, &code, &length),
	                 0);
	pid = fork();
	if (pid == 0) {
		const struct sock_fprog filter = {(unsigned short)length, code};

		if (!lockdown_no_new_privs() || !lockdown_filter(&filter))
			_exit(1);
		what();
		_exit(42);
	}
	free(code);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(a_process_lives_with_what_is_listed_and_is_killed_for_anything_else)
{
	static const struct filters_call calls[] = {{"getppid"}, {"write"}, {"exit_group"}};
	static const struct {
		void (*what)(void);
		int end;
	} rows[] = {{do_nothing, 42},         {get_parent, 42},
	            {write_nothing, 42},      {open_a_path, KILLED},
	            {make_a_socket, KILLED},  {call_beyond_the_last, KILLED},
#ifdef __x86_64__
	            {call_as_32_bits, KILLED}
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(do_below(calls, ARRAY_SIZE(calls), rows[i].what), rows[i].end);
	assert_int_equal(do_below(calls + 1, 2, get_parent), KILLED);
	assert_int_equal(do_below(calls, 2, do_nothing), KILLED); /* not even to its end */
	assert_int_equal(do_below(calls, 0, do_nothing), KILLED);
}

static void ask_for_priority(int who)
{
	(void)syscall(SYS_getpriority, PRIO_PROCESS, who);
}
static void ask_for_own_priority(void)
{
	ask_for_priority(0);
}
static void ask_for_inits_priority(void)
{
	ask_for_priority(1);
}

TEST(a_call_may_have_certain_arguments_only)
{
	static const struct filters_call any[] = {{"getpriority exit_group"}},
					 own[] = {{"getpriority", 1, {{1, UINT32_MAX, 0}}},
	                                          {"exit_group"}};

	assert_int_equal(do_below(own, ARRAY_SIZE(own), ask_for_own_priority), 42);
	assert_int_equal(do_below(own, ARRAY_SIZE(own), ask_for_inits_priority), KILLED);
	assert_int_equal(do_below(own + 1, 1, ask_for_own_priority), KILLED);
	assert_int_equal(do_below(own, ARRAY_SIZE(own), get_parent), KILLED);
	assert_int_equal(do_below(any, ARRAY_SIZE(any), ask_for_inits_priority), 42);
}

TEST(an_id_is_a_number_and_never_roots)
{
	static const char *const wrong[] = {"",
	                                    "0",
	                                    "-1",
	                                    "+1",
	                                    " 1",
	                                    "1 ",
	                                    "1x",
	                                    "x",
	                                    "4294967295",
	                                    "4294967296",
	                                    "99999999999999999999"};
	uint32_t id = 7;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(lockdown_parse_id(wrong[i], &id));
	assert_int_equal(id, 7);
	assert_true(lockdown_parse_id("4294967294", &id));
	assert_true(id == UINT32_MAX - 1);
}

TEST_MAIN(NULL, NULL)
