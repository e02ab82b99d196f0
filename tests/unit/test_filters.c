/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed filters of our own programs: what libseccomp made of each row of the table, for all
 * numbers and the arguments that matter, against the row itself; and what some rows must not allow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "programs/filters/filters.h"
#include "programs/filters/table.h"
#include "tests/support/bpf.h"
#include "tests/support/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define KILL       SECCOMP_RET_KILL_PROCESS
#define ALLOW      SECCOMP_RET_ALLOW
#define ERROR(e)   (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define NUMBERS    1024 /* higher than any system call number */
#define X32        0x40000000u
#define HIGH       0x100000000ULL /* a bit that the kernel ignores in an int argument */
#define VALUES_MAX 160
#define LOOKED_AT  4 /* no row is about a later argument */

#if defined(__SANITIZE_ADDRESS__)
#define BUILT_VARIANT FILTERS_SANITIZER
#else
#define BUILT_VARIANT FILTERS_MUSL
#endif

static const uint32_t arches[] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64};

/* A row, an architecture and a variant, with the program that was made of them. */
struct made {
	const struct filters_program *row;
	uint32_t arch;
	enum filters_variant variant;
	struct bpf program;
};

static struct made make(const struct filters_program *row, uint32_t arch,
                        enum filters_variant variant)
{
	struct made made = {row, arch, variant, {0}};

	assert_int_equal(filters_make(row, arch, variant, &made.program.code, &made.program.count),
	                 0);
	return made;
}

static bool has_name(const struct filters_call *call, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(call->names, name); at; at = strstr(at + 1, name))
		if ((at == call->names || at[-1] == ' ') &&
		    (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static bool fits(const struct filters_call *call, const uint64_t arguments[6])
{
	for (unsigned i = 0; i < call->arguments_count; i++)
		if (((uint32_t)arguments[call->arguments[i].index] & call->arguments[i].mask) !=
		    call->arguments[i].value)
			return false;
	return true;
}

/* The rows of a call: pointers, and how many. */
struct rows {
	const struct filters_call *calls[FILTERS_CALLS_MAX];
	size_t count;
};

static struct rows find_rows(const struct made *made, const char *name)
{
	struct rows rows = {0};

	for (size_t i = 0; name && i < FILTERS_CALLS_MAX && made->row->calls[i].names; i++)
		if (made->row->calls[i].variant <= made->variant &&
		    has_name(&made->row->calls[i], name))
			rows.calls[rows.count++] = &made->row->calls[i];
	return rows;
}

static void check(const struct made *made, const struct rows *rows, const struct seccomp_data *data)
{
	uint32_t want = made->row->otherwise, got = bpf_run(&made->program, data);

	for (size_t i = 0; i < rows->count; i++)
		if (fits(rows->calls[i], (const uint64_t *)data->args))
			want = ALLOW;
	if (got != want)
		fail_msg("%s: number %d (%#llx, %#llx, %#llx, %#llx): %#x, not %#x",
		         made->row->name, data->nr, data->args[0], data->args[1], data->args[2],
		         data->args[3], got, want);
}

/* Values about which a program might be wrong; of an argument that no row is about, two. */
static size_t find_values(const struct rows *rows, unsigned index, uint64_t values[VALUES_MAX])
{
	size_t count = 0;

	values[count++] = 0;
	values[count++] = UINT64_MAX;
	for (size_t i = 0; i < rows->count; i++)
		for (unsigned j = 0; j < rows->calls[i]->arguments_count; j++) {
			const struct filters_argument *argument = &rows->calls[i]->arguments[j];

			if (argument->index != index)
				continue;
			assert_true(count + 8 <= VALUES_MAX);
			values[count++] = argument->value;
			values[count++] = argument->value | HIGH;
			values[count++] = argument->value | 1ULL << 63;
			values[count++] = (uint32_t)(argument->value | ~argument->mask);
			values[count++] = argument->value + 1;
			values[count++] = (uint32_t)argument->value - 1;
			values[count++] = argument->mask & (argument->value ^ argument->mask);
			if (i > 0 && rows->calls[i - 1]->arguments[j].mask == argument->mask)
				continue;
			for (uint64_t bit = 1; bit < HIGH; bit <<= 1) {
				assert_true(count < VALUES_MAX);
				values[count++] = argument->value ^ bit;
			}
		}
	return count;
}

static void check_arguments(const struct made *made, const struct rows *rows, uint32_t number)
{
	static uint64_t values[LOOKED_AT][VALUES_MAX];
	size_t counts[LOOKED_AT], all = 1;

	for (unsigned i = 0; i < LOOKED_AT; i++)
		all *= counts[i] = find_values(rows, i, values[i]);
	for (size_t i = 0; i < all; i++) {
		struct seccomp_data data = {.nr = (int)number, .arch = made->arch};
		size_t rest = i;

		for (unsigned j = 0; j < LOOKED_AT; rest /= counts[j++])
			data.args[j] = values[j][rest % counts[j]];
		check(made, rows, &data);
	}
}

static void check_other_numbers(const struct made *made, uint32_t number)
{
	const uint32_t numbers[] = {X32 - 1 - number, 0x7fffffffu - number, 0x80000000u + number,
	                            UINT32_MAX - number, X32 + number};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct seccomp_data data = {.nr = (int)numbers[i], .arch = made->arch};
		uint32_t got = bpf_run(&made->program, &data);

		/* x32 is another ABI of x86-64; nothing is called by the number -1. */
		assert_int_equal(got, made->arch == SCMP_ARCH_X86_64 && numbers[i] >= X32 &&
		                                      numbers[i] != UINT32_MAX
		                              ? made->row->foreign
		                              : made->row->otherwise);
	}
}

static void check_other_arches(const struct made *made, uint32_t number)
{
	static const uint32_t others[] = {
		AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0,
		UINT32_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct seccomp_data data = {.nr = (int)number, .arch = others[i]};

		if (others[i] != made->arch)
			assert_int_equal(bpf_run(&made->program, &data), made->row->foreign);
	}
}

static void check_all(const struct made *made)
{
	for (uint32_t number = 0; number < NUMBERS; number++) {
		char *name = seccomp_syscall_resolve_num_arch(made->arch, (int)number);
		struct rows rows = find_rows(made, name);

		check_arguments(made, &rows, number);
		check_other_numbers(made, number);
		check_other_arches(made, number);
		free(name);
	}
}

TEST(each_filter_says_what_its_row_says)
{
	for (size_t i = 0; i < filters_programs_count; i++)
		for (size_t arch = 0; arch < ARRAY_SIZE(arches); arch++)
			for (int variant = FILTERS_MUSL; variant <= FILTERS_SANITIZER; variant++) {
				struct made made = make(&filters_programs[i], arches[arch],
				                        (enum filters_variant)variant);

				check_all(&made);
				free(made.program.code);
			}
}

static const struct {
	const char *name;
	const struct sock_fprog *filter;
} built[] = {
	{"apply", &filters_apply},         {"audit", &filters_audit},
	{"connector", &filters_connector}, {"decider", &filters_decider},
	{"decoder", &filters_decoder},     {"diff", &filters_diff},
	{"files", &filters_files},         {"proxy", &filters_proxy},
};

static const struct filters_program *row_of(const char *name)
{
	for (size_t i = 0; i < filters_programs_count; i++)
		if (strcmp(filters_programs[i].name, name) == 0)
			return &filters_programs[i];
	fail_msg("the table has no row %s", name);
	return NULL;
}

static struct bpf built_program(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(built); i++)
		if (strcmp(built[i].name, name) == 0)
			return (struct bpf){built[i].filter->filter, built[i].filter->len};
	fail_msg("no filter %s", name);
	return (struct bpf){0};
}

TEST(what_is_built_is_made_of_the_table)
{
	assert_int_equal(ARRAY_SIZE(built), filters_programs_count);
	for (size_t i = 0; i < ARRAY_SIZE(built); i++) {
		struct bpf program = built_program(built[i].name);
		struct made made =
			make(row_of(built[i].name), seccomp_arch_native(), BUILT_VARIANT);

		assert_int_equal(program.count, made.program.count);
		assert_memory_equal(program.code, made.program.code,
		                    program.count * sizeof *program.code);
		free(made.program.code);
	}
}

/*
 * The kernel runs a filter once for each number when it is loaded. As a list, the largest of these
 * would need 40 instructions a number.
 */
TEST(the_number_is_searched_for_in_a_tree)
{
	for (size_t i = 0; i < ARRAY_SIZE(built); i++) {
		struct bpf program = built_program(built[i].name);
		size_t steps = 0, numbers = 470;

		for (uint32_t number = 0; number < numbers; number++) {
			struct seccomp_data data = {.nr = (int)number, .arch = NATIVE_ARCH};

			(void)bpf_run_counted(&program, &data, &steps);
		}
		print_message("%s: %zu instructions, %zu run for each number\n", built[i].name,
		              program.count, steps / numbers);
		assert_true(steps / numbers < 18);
	}
}

/* However many calls a row has, in whatever order: each is found, and none between them is. */
TEST(of_any_list_every_call_is_found_and_no_other)
{
	static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 64, 100};

	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		char names[NUMBERS * 8] = "";
		struct filters_program row = {"test", KILL, ERROR(ENOSYS), {{names}}};
		struct made made;

		for (uint32_t i = 0; i < counts[n]; i++) {
			/* every second number, not in order; every number up to 334 has a name */
			uint32_t number = 2 * (i * 7 % (counts[n] % 7 ? counts[n] : counts[n] + 1));
			char *name =
				seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)number);

			assert_non_null(name);
			(void)strcat(strcat(names, " "), name);
			free(name);
		}
		made = make(&row, SCMP_ARCH_X86_64, FILTERS_MUSL);
		check_all(&made);
		free(made.program.code);
	}
}

TEST(a_name_that_is_no_call_stops_the_build)
{
	const struct filters_program row = {"test", KILL, KILL, {{"read wrote"}}};
	struct sock_filter *code = NULL;
	size_t count;

	assert_int_equal(filters_make(&row, seccomp_arch_native(), FILTERS_MUSL, &code, &count),
	                 -EINVAL);
	assert_null(code);
}

/* What a compromised program would want, by the names of calls: none of them may have it. */
TEST(none_may_start_reach_or_signal_another_process)
{
	static const long never[] = {SYS_execve, SYS_execveat,  SYS_clone,           SYS_clone3,
	                             SYS_kill,   SYS_tgkill,    SYS_ptrace,          SYS_bind,
	                             SYS_listen, SYS_setns,     SYS_unshare,         SYS_mount,
	                             SYS_prctl,  SYS_bpf,       SYS_io_uring_setup,  SYS_keyctl,
	                             SYS_setuid, SYS_setresuid, SYS_process_vm_readv};

	for (size_t i = 0; i < ARRAY_SIZE(built); i++)
		for (size_t j = 0; j < ARRAY_SIZE(never); j++) {
			struct bpf program = built_program(built[i].name);
			struct seccomp_data data = {.nr = (int)never[j], .arch = NATIVE_ARCH};

			assert_int_equal(bpf_run(&program, &data),
			                 row_of(built[i].name)->otherwise);
		}
}

TEST(arguments_are_judged_by_the_half_that_the_kernel_reads)
{
	static const int tcp = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	const struct {
		const char *name;
		long number;
		uint64_t arguments[4];
		uint32_t want;
	} rows[] = {
		{"connector", SYS_socket, {AF_INET, (uint64_t)tcp, IPPROTO_TCP}, ALLOW},
		{"connector", SYS_socket, {AF_INET6, (uint64_t)tcp, IPPROTO_TCP}, ALLOW},
		{"connector", SYS_socket, {AF_INET, (uint64_t)tcp | HIGH, IPPROTO_TCP}, ALLOW},
		{"connector", SYS_socket, {AF_UNIX, (uint64_t)tcp, IPPROTO_TCP}, KILL},
		{"connector", SYS_socket, {AF_UNIX | HIGH, (uint64_t)tcp, 0}, KILL},
		{"connector", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}, KILL},
		{"connector", SYS_socket, {AF_INET, (uint64_t)tcp, 0}, KILL},
		{"connector", SYS_openat, {0}, KILL},
		{"proxy", SYS_socket, {AF_INET, (uint64_t)tcp, IPPROTO_TCP}, KILL},
		{"proxy", SYS_connect, {0}, KILL},
		{"proxy", SYS_openat, {0}, KILL},
		{"proxy", SYS_sendto, {0, 0, 0, MSG_NOSIGNAL}, ALLOW},
		{"proxy", SYS_sendto, {0, 0, 0, MSG_NOSIGNAL | MSG_FASTOPEN}, KILL},
		{"proxy", SYS_sendto, {0, 0, 0, MSG_FASTOPEN | HIGH}, KILL},
		{"proxy", SYS_sendmsg, {0, 0, MSG_FASTOPEN}, KILL},
		{"proxy", SYS_sendmsg, {0, 0, HIGH}, ALLOW},
		{"connector", SYS_sendmsg, {0, 0, MSG_FASTOPEN}, KILL},
		{"proxy", SYS_fcntl, {0, F_SETFL, O_NONBLOCK}, ALLOW},
		{"proxy", SYS_fcntl, {0, F_SETFL, O_NONBLOCK | O_ASYNC}, KILL},
		{"proxy", SYS_fcntl, {0, F_SETFL | HIGH, O_ASYNC}, KILL},
		{"proxy", SYS_fcntl, {0, F_SETOWN}, KILL},
		{"proxy", SYS_fcntl, {0, F_SETSIG}, KILL},
		{"proxy", SYS_fcntl, {0, F_SETOWN_EX}, KILL},
		{"proxy", SYS_fcntl, {0, F_GET_SEALS, O_ASYNC}, ALLOW},
		{"files", SYS_mprotect, {0, 0, PROT_READ | PROT_WRITE}, ALLOW},
		{"files", SYS_mprotect, {0, 0, PROT_READ | PROT_EXEC}, ERROR(EPERM)},
		{"files", SYS_mmap, {0, 0, PROT_EXEC | HIGH}, ERROR(EPERM)},
		{"files", SYS_fcntl, {0, F_SETFL}, ALLOW},
		{"files", SYS_fcntl, {0, F_DUPFD}, ALLOW},
		{"files", SYS_fcntl, {0, F_SETLK}, ERROR(EPERM)},
		{"files", SYS_fcntl, {0, F_SETOWN}, ERROR(EPERM)},
		{"files", SYS_fcntl, {0, F_DUPFD_CLOEXEC}, ERROR(EPERM)},
		{"decider", SYS_socket, {AF_UNIX, SOCK_STREAM}, KILL},
		{"decider", SYS_connect, {0}, KILL},
		{"decider", SYS_openat, {0}, KILL},
		{"decoder", SYS_mmap, {0}, KILL},
		{"audit", SYS_openat, {0}, KILL},
		{"audit", SYS_unlinkat, {0}, KILL},
		{"audit", SYS_ftruncate, {0}, KILL},
		{"diff", SYS_unlinkat, {0}, KILL},
		{"diff", SYS_ftruncate, {0}, KILL},
		{"apply", SYS_socket, {AF_UNIX, SOCK_STREAM}, KILL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bpf program = built_program(rows[i].name);
		struct seccomp_data data = {.nr = (int)rows[i].number, .arch = NATIVE_ARCH};

		memcpy(data.args, rows[i].arguments, sizeof rows[i].arguments);
		if (bpf_run(&program, &data) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

TEST_MAIN(NULL, NULL)
