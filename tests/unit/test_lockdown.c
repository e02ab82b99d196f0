/* SPDX-License-Identifier: Apache-2.0 */
/* How a process gives up its privilege, as far as it shows without any: what a filter lets through,
 * and what its process is killed for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/filter_head.h"
#include "helper/privilege/lockdown.h"

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

/* How a process ended that may do only what is listed, and does that: its exit status, or the
 * negative number of a signal. */
static int do_checked(const struct sock_filter *checks, size_t checks_count, const int *calls,
                      size_t count, void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!lockdown_no_new_privs() ||
		    !lockdown_filter_with(checks, checks_count, calls, count))
			_exit(1);
		what();
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int do_below(const int *calls, size_t count, void (*what)(void))
{
	return do_checked(NULL, 0, calls, count, what);
}

static void a_process_lives_with_what_is_listed_and_is_killed_for_anything_else(void **state)
{
	static const int calls[] = {SYS_getppid, SYS_write, SYS_exit_group};
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(do_below(calls, ARRAY_SIZE(calls), rows[i].what), rows[i].end);
	assert_int_equal(do_below(calls + 1, 2, get_parent), KILLED);
	assert_int_equal(do_below(calls, 2, do_nothing), KILLED); /* not even to its end */
	assert_int_equal(do_below(calls, 0, do_nothing), KILLED);
}

/* As many as there may be, the last of which counts, too; beyond that nothing is entered. */
static void as_many_calls_are_listed_as_there_is_room_for(void **state)
{
	int calls[LOCKDOWN_CALLS_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		calls[i] = SYS_exit_group;
	calls[LOCKDOWN_CALLS_MAX - 1] = SYS_getppid;
	assert_int_equal(do_below(calls, LOCKDOWN_CALLS_MAX, get_parent), 42);
	assert_int_equal(do_below(calls, LOCKDOWN_CALLS_MAX - 1, get_parent), KILLED);
	assert_int_equal(do_below(calls, LOCKDOWN_CALLS_MAX + 1, get_parent), 1);
}

/* Numbers that are no call's: a filter takes them as any, and the kernel does nothing. */
#define NONE_FIRST 600

static unsigned number_to_call;

static void call_the_number(void)
{
	(void)syscall((long)number_to_call);
}

/* However many there are, in whatever order they are listed: each is found, and none between them
 * is. */
static void of_any_list_every_call_is_found_and_no_other(void **state)
{
	static const size_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, LOCKDOWN_CALLS_MAX - 1};
	int calls[LOCKDOWN_CALLS_MAX];

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		size_t count = counts[n];

		calls[count] = SYS_exit_group;
		for (size_t i = 0; i < count; i++)
			calls[i] = NONE_FIRST + 2 * (int)(i * 5 % (count % 5 ? count : count + 1));
		for (number_to_call = NONE_FIRST - 1; number_to_call <= NONE_FIRST + 2 * count + 1;
		     number_to_call++) {
			bool is_listed = false;

			for (size_t i = 0; i < count; i++)
				is_listed |= calls[i] == (int)number_to_call;
			assert_int_equal(do_below(calls, count + 1, call_the_number),
			                 is_listed ? 42 : KILLED);
		}
	}
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

/* A check refuses; what it lets pass has to be listed all the same. */
static void what_passes_a_check_is_looked_for_in_the_list(void **state)
{
	static const struct sock_filter checks[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 4),
		FILTER_LOAD_ARGUMENT(1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		FILTER_LOAD_NUMBER,
	};
	static const int calls[] = {SYS_exit_group, SYS_getpriority};

	(void)state;
	assert_int_equal(do_checked(checks, ARRAY_SIZE(checks), calls, 2, ask_for_own_priority),
	                 42);
	assert_int_equal(do_checked(checks, ARRAY_SIZE(checks), calls, 2, ask_for_inits_priority),
	                 KILLED);
	assert_int_equal(do_checked(checks, ARRAY_SIZE(checks), calls, 1, ask_for_own_priority),
	                 KILLED);
	assert_int_equal(do_checked(checks, ARRAY_SIZE(checks), calls, 2, get_parent), KILLED);
	assert_int_equal(do_checked(checks, 0, calls, 2, ask_for_inits_priority), 42);
	assert_int_equal(do_checked(checks, LOCKDOWN_CHECKS_MAX + 1, calls, 2, do_nothing), 1);
}

static void an_id_is_a_number_and_never_roots(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(lockdown_parse_id(wrong[i], &id));
	assert_int_equal(id, 7);
	assert_true(lockdown_parse_id("4294967294", &id));
	assert_true(id == UINT32_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_process_lives_with_what_is_listed_and_is_killed_for_anything_else),
		cmocka_unit_test(as_many_calls_are_listed_as_there_is_room_for),
		cmocka_unit_test(of_any_list_every_call_is_found_and_no_other),
		cmocka_unit_test(what_passes_a_check_is_looked_for_in_the_list),
		cmocka_unit_test(an_id_is_a_number_and_never_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
