/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration packet of init, the guard before its filter, and how failures to start are
 * worded. */
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/filter_head.h"
#include "programs/inside/init/cores.h"
#include "programs/inside/init/launch.h"
#include "programs/inside/init/start.h"
#include "programs/inside/init/terminal.h"
#include "tests/support/bpf.h"
#include "tests/support/testing.h"

#include <sys/syscall.h>

static struct init_config config;

static size_t length(void)
{
	return offsetof(struct init_config, data) + config.data_used;
}

static void add(const void *data, size_t size)
{
	memcpy(config.data + config.data_used, data, size);
	config.data_used += (uint32_t)size;
}

/* Two instructions for init, one for commands, two variables, two paths. */
static int fill(void **state)
{
	static const struct sock_filter filter[3];

	(void)state;
	memset(&config, 0, sizeof config);
	add(filter, sizeof filter);
	add("A=1\0B=2\0r/usr\0w/tmp/a", 22);
	config.init_filter_count = 2;
	config.command_filter_count = 1;
	config.env_count = 2;
	config.paths_count = 2;
	return 0;
}

TEST_WITH(a_complete_configuration_is_taken, fill, NULL)
{
	assert_int_equal(start_check_config(&config, length()), 0);
	memset(&config, 0, sizeof config);
	assert_int_equal(start_check_config(&config, length()), 0); /* no filter, no environment */
}

TEST_WITH(a_cut_or_extended_configuration_is_refused, fill, NULL)
{
	assert_int_equal(start_check_config(&config, 0), -EBADMSG);
	assert_int_equal(start_check_config(&config, offsetof(struct init_config, data) - 1),
	                 -EBADMSG);
	assert_int_equal(start_check_config(&config, length() - 1), -EBADMSG);
	assert_int_equal(start_check_config(&config, length() + 1), -EBADMSG);
	config.data_used = INIT_DATA_MAX + 1;
	assert_int_equal(start_check_config(&config, length()), -EBADMSG);
}

TEST(every_count_is_bounded)
{
	uint32_t *const counts[] = {&config.groups_count,         &config.env_count,
	                            &config.paths_count,          &config.init_filter_count,
	                            &config.command_filter_count, &config.fds_present};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		(void)fill(NULL);
		*counts[i] = UINT32_MAX;
		assert_int_equal(start_check_config(&config, length()), -EBADMSG);
	}
}

TEST(counts_that_do_not_match_the_data_are_refused)
{
	uint32_t *const counts[] = {&config.env_count, &config.paths_count,
	                            &config.init_filter_count, &config.command_filter_count};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		for (int change = -1; change <= 1; change += 2) {
			(void)fill(NULL);
			*counts[i] += (uint32_t)change;
			assert_int_equal(start_check_config(&config, length()), -EBADMSG);
		}
}

TEST_WITH(a_variable_without_its_end_is_refused, fill, NULL)
{
	config.data[config.data_used - 1] = 'x';
	assert_int_equal(start_check_config(&config, length()), -EBADMSG);
}

/* --- the guard --- */

#define PASSED 0x12345678u /* what a filter behind the guard says when the number is loaded */
#define OTHER  0x87654321u /* what the head says to other conventions */

static uint32_t guard(uint32_t arch, uint32_t number, uint64_t a, uint64_t b, uint64_t c)
{
	const struct seccomp_data data = {.nr = (int)number, .arch = arch, .args = {a, b, c}};
	static struct sock_filter code[FILTER_HEAD + START_GUARD_LENGTH + 3];
	const struct bpf program = {code, ARRAY_SIZE(code)};

	config.uid = 1000;
	config.gid = 2000;
	filter_head(code, NATIVE_ARCH, OTHER);
	start_guard(&config, code + FILTER_HEAD);
	code[FILTER_HEAD + START_GUARD_LENGTH] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	code[FILTER_HEAD + START_GUARD_LENGTH + 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, PASSED);
	code[FILTER_HEAD + START_GUARD_LENGTH + 2] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return bpf_run(&program, &data);
}

TEST(ids_change_only_to_those_of_commands)
{
	static const struct {
		long number;
		unsigned ids;
		uint32_t own;
	} calls[] = {{SYS_setuid, 1, 1000},    {SYS_setfsuid, 1, 1000}, {SYS_setreuid, 2, 1000},
	             {SYS_setresuid, 3, 1000}, {SYS_setgid, 1, 2000},   {SYS_setfsgid, 1, 2000},
	             {SYS_setregid, 2, 2000},  {SYS_setresgid, 3, 2000}};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const uint64_t values[] = {calls[i].own,
		                           UINT32_MAX,
		                           UINT64_MAX,
		                           1ULL << 32 | calls[i].own, /* good ones */
		                           0,
		                           1,
		                           999,
		                           1001,
		                           3000 - calls[i].own,
		                           65534,
		                           UINT32_MAX - 1,
		                           1ULL << 32};
		const size_t good = 4, n = ARRAY_SIZE(values);

		for (size_t k = 0; k < n * n * n; k++) {
			const size_t chosen[] = {k % n, k / n % n, k / n / n};
			bool is_good = true;

			for (unsigned j = 0; j < calls[i].ids; j++)
				is_good = is_good && chosen[j] < good;
			assert_int_equal(guard(NATIVE_ARCH, (uint32_t)calls[i].number,
			                       values[chosen[0]], values[chosen[1]],
			                       values[chosen[2]]),
			                 is_good ? PASSED : SECCOMP_RET_ERRNO | EPERM);
		}
	}
}

/* --- owners --- */

static uint32_t owners(uint32_t arch, uint32_t number, uint64_t a, uint64_t b, uint64_t c,
                       uint64_t d)
{
	const struct seccomp_data data = {.nr = (int)number, .arch = arch, .args = {a, b, c, d}};
	static struct sock_filter code[FILTER_HEAD + START_GUARD_LENGTH + START_OWNERS_LENGTH + 3];
	const struct bpf program = {code, ARRAY_SIZE(code)};
	struct sock_filter *end = code + ARRAY_SIZE(code) - 3;

	config.uid = 1000;
	config.gid = 2000;
	filter_head(code, NATIVE_ARCH, OTHER);
	start_guard(&config, code + FILTER_HEAD);
	start_owners(&config, code + FILTER_HEAD + START_GUARD_LENGTH);
	end[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	end[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, PASSED);
	end[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return bpf_run(&program, &data);
}

/* What else stands in an argument is a path, a descriptor or a flag, and as large as it likes. */
TEST(where_there_is_one_id_files_are_given_to_nobody_else)
{
	static const uint64_t users[] = {1000, UINT32_MAX, UINT64_MAX, 0x100000000ULL | 1000,
	                                 0,    2000,       999,        65534},
			      groups[] = {2000, UINT32_MAX, UINT64_MAX, 0x100000000ULL | 2000,
	                                  0,    1000,       2001,       65534};

	for (size_t u = 0; u < ARRAY_SIZE(users); u++)
		for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
			uint32_t expected = u < 4 && g < 4 ? PASSED : SECCOMP_RET_ERRNO | EPERM;

			assert_int_equal(
				owners(NATIVE_ARCH, SYS_fchown, 77, users[u], groups[g], 77),
				expected);
			assert_int_equal(
				owners(NATIVE_ARCH, SYS_fchownat, 77, 77, users[u], groups[g]),
				expected);
#ifdef SYS_chown
			assert_int_equal(
				owners(NATIVE_ARCH, SYS_chown, 77, users[u], groups[g], 77),
				expected);
			assert_int_equal(
				owners(NATIVE_ARCH, SYS_lchown, 77, users[u], groups[g], 77),
				expected);
#endif
		}
	for (uint32_t number = 0; number < 1024; number++) {
		bool is_of_owners = number == SYS_fchown || number == SYS_fchownat;

#ifdef SYS_chown
		is_of_owners = is_of_owners || number == SYS_chown || number == SYS_lchown;
#endif
		assert_int_equal(owners(NATIVE_ARCH, number, 5, 5, 5, 5),
		                 is_of_owners ? SECCOMP_RET_ERRNO | EPERM
		                              : guard(NATIVE_ARCH, number, 5, 5, 5));
		assert_int_equal(owners(AUDIT_ARCH_I386, number, 5, 5, 5, 5), OTHER);
		assert_int_equal(owners(NATIVE_ARCH, 0x40000000 | number, 5, 5, 5, 5), PASSED);
	}
}

TEST(other_calls_pass_the_guard)
{
	static const long guarded[] = {SYS_setuid,    SYS_setfsuid,  SYS_setreuid,
	                               SYS_setresuid, SYS_setgid,    SYS_setfsgid,
	                               SYS_setregid,  SYS_setresgid, SYS_setgroups};

	for (uint32_t number = 0; number < 1024; number++) {
		bool is_guarded = false;

		for (size_t i = 0; i < ARRAY_SIZE(guarded); i++)
			is_guarded = is_guarded || number == (uint32_t)guarded[i];
		assert_int_equal(guard(NATIVE_ARCH, number, 0, 0, 0),
		                 is_guarded ? SECCOMP_RET_ERRNO | EPERM : PASSED);
		assert_int_equal(guard(AUDIT_ARCH_I386, number, 0, 0, 0), OTHER);
		assert_int_equal(guard(NATIVE_ARCH, UINT32_MAX - number, 0, 0, 0), PASSED);
		assert_int_equal(guard(NATIVE_ARCH, 0x40000000 | number, 0, 0, 0), PASSED);
	}
	assert_int_equal(guard(NATIVE_ARCH, SYS_setgroups, 1000, 2000, 0),
	                 SECCOMP_RET_ERRNO | EPERM);
}

TEST(a_failure_to_execute_can_be_mapped_by_a_shell)
{
	struct yett_error error;

	launch_describe(&(struct launch_failure){.step = 16, .error = ENOENT}, &error);
	assert_int_equal(error.code, YETT_E_COMMAND_FAILED);
	assert_string_equal(error.message, "the command was not found");
	assert_string_equal(error.detail, "No such file or directory");
	assert_int_equal(error.os_error, ENOENT);
	assert_string_equal(error.step, "");
	launch_describe(&(struct launch_failure){.step = 16, .error = EISDIR}, &error);
	assert_string_equal(error.message, "the command is a directory");
	launch_describe(&(struct launch_failure){.step = 16, .error = EIO}, &error);
	assert_string_equal(error.message, "the command could not be executed");
}

TEST(a_failure_before_that_names_the_step)
{
	struct yett_error error;

	launch_describe(&(struct launch_failure){.step = 11, .error = ENOENT}, &error);
	assert_string_equal(error.message, "the working-directory of the command could not be set");
	assert_string_equal(error.step, "working-directory");
	assert_int_equal(error.os_error, ENOENT);
	launch_describe(&(struct launch_failure){.step = 13, .error = ENOENT, .path = "/none"},
	                &error);
	assert_string_equal(
		error.message,
		"the command cannot be restricted to /none: there is no such path in the sandbox");
	assert_string_equal(error.step, "restriction-of-files");
	launch_describe(
		&(struct launch_failure){.step = launch_without_terminal().step, .error = ENOSPC},
		&error);
	assert_string_equal(error.message, "the terminal of the command could not be set");
}

TEST(core_files_are_for_where_the_kernel_writes_them_into_the_sandbox)
{
	static const char *const others[] = {"",
	                                     "|/usr/lib/handler %P",
	                                     "|",
	                                     "@/run/socket",
	                                     "@@/run/socket",
	                                     "/var/core",
	                                     "%Z/core",
	                                     "cores/core",
	                                     "../core.%p"};
	char pattern[CORES_PATTERN_SIZE];
	struct yett_error error;

	assert_true(cores_are_files("core"));
	assert_true(cores_are_files("%e.core.%p"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(cores_are_files(others[i]));
		assert_int_equal(cores_refuse(others[i], YETT_E_UNSUPPORTED, &error),
		                 YETT_E_UNSUPPORTED);
		assert_non_null(strstr(error.message, others[i]));
		assert_non_null(strstr(error.detail, "sysctl kernel.core_pattern=core"));
	}
	assert_int_equal(cores_read(pattern), 0);
	assert_null(strchr(pattern, '\n'));
	launch_describe(&(struct launch_failure){.step = 7, .error = EPERM, .path = "|/handler"},
	                &error);
	assert_int_equal(error.code, YETT_E_COMMAND_FAILED);
	assert_string_equal(
		error.message,
		"there can be no core files inside: kernel.core_pattern is '|/handler'");
	assert_string_equal(error.step, "core-files");
	launch_describe(&(struct launch_failure){.step = 7, .error = ENOENT}, &error);
	assert_string_equal(error.message, "the core-files of the command could not be set");
}

/* A socket to a child that reports as launch.c's does. */
TEST(the_master_comes_before_the_end_or_the_command_has_failed)
{
	struct launch_failure failure = {0}, sent = {.step = 1, .error = EIO};
	struct iovec part = {.iov_base = "T", .iov_len = 1};
	struct {
		struct cmsghdr head;
		int fd;
	} rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
	                     .cmsg_level = SOL_SOCKET,
	                     .cmsg_type = SCM_RIGHTS},
	            .fd = STDERR_FILENO};
	struct msghdr header = {.msg_iov = &part,
	                        .msg_iovlen = 1,
	                        .msg_control = &rights,
	                        .msg_controllen = CMSG_LEN(sizeof(int))};
	int terminal, ends[2];

	for (int i = 0; i < 4; i++) {
		terminal = -1;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		assert_int_equal(launch_read(ends[0], &failure, true, &terminal), -EAGAIN);
		if (i & 1)
			assert_int_equal(sendmsg(ends[1], &header, 0), 1);
		if (i & 1)
			assert_int_equal(launch_read(ends[0], &failure, true, &terminal), -EAGAIN);
		assert_int_equal(terminal >= 0, i & 1);
		if (i & 2)
			assert_int_equal(write(ends[1], &sent, sizeof sent), sizeof sent);
		fd_close(ends[1]);
		assert_int_equal(launch_read(ends[0], &failure, true, &terminal), 0);
		assert_int_equal(failure.error, i == 0 ? ENOTTY : i == 1 ? 0 : EIO);
		fd_close(terminal);
		fd_close(ends[0]);
	}
}

TEST(a_terminal_goes_with_no_other_streams_and_a_window_with_a_terminal)
{
	static struct message_exec exec;
	struct yett_error error;

	assert_int_equal(terminal_check(&exec, &error), 0);
	exec.stdio[2] = STDIO_FD;
	assert_int_equal(terminal_check(&exec, &error), 0);
	exec.columns = 1;
	assert_int_equal(terminal_check(&exec, &error), YETT_E_INVALID_REQUEST);
	exec.terminal = true;
	assert_int_equal(terminal_check(&exec, &error), YETT_E_INVALID_REQUEST);
	exec.stdio[2] = STDIO_NULL;
	assert_int_equal(terminal_check(&exec, &error), 0);
}

/* The child writes the record, and the child is not trusted to be well: a killed one may have
 * written rubbish. */
TEST(a_record_of_rubbish_is_worded_all_the_same)
{
	struct yett_error error;

	launch_describe(&(struct launch_failure){.step = UINT32_MAX, .error = INT32_MAX}, &error);
	assert_int_equal(error.code, YETT_E_COMMAND_FAILED);
	launch_describe(&(struct launch_failure){.step = 0, .error = INT32_MIN}, &error);
	assert_int_equal(error.code, YETT_E_COMMAND_FAILED);
}

/* A command that may signal the child could stop it, and with it the one that is asked for next. */
TEST(no_child_waits_where_commands_could_stop_it)
{
	config.uid = getuid() + 1;
	config.capabilities = 0;
	assert_true(launch_may_wait(&config));
	config.capabilities = 1;
	assert_false(launch_may_wait(&config));
	config.capabilities = 0;
	config.uid = getuid();
	assert_false(launch_may_wait(&config));
}

TEST_MAIN(NULL, NULL)
