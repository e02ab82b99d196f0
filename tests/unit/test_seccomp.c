/* SPDX-License-Identifier: Apache-2.0 */
/* The filters: what they say to each call, by interpreting them, and what a process under one
 * really sees. */
#include <string.h>

#include "programs/decide/policy/filter.h"
#include "programs/decide/policy/seccomp.h"
#include "programs/decide/policy/seccomp_table.h"
#include "tests/support/bpf.h"
#include "tests/support/testing.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ALLOWED   SECCOMP_RET_ALLOW
#define ERROR(e)  (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define FORBIDDEN SECCOMP_FORBIDDEN /* EPERM, from who listens */
#define HIGH      0x100000000ULL    /* a bit that the kernel ignores in an int argument */

/* What a command is under: the program of building, of init, and that of commands on top. */
struct filters {
	struct bpf build, init, command;
};

static struct filters compile(const struct seccomp_spec *spec)
{
	struct yett_error error = {0};
	struct filters filter = {0};

	if (seccomp_compile(spec, SECCOMP_BUILD, &filter.build.code, &filter.build.count, &error) !=
	            0 ||
	    seccomp_compile(spec, SECCOMP_INIT, &filter.init.code, &filter.init.count, &error) !=
	            0 ||
	    seccomp_compile(spec, SECCOMP_COMMAND, &filter.command.code, &filter.command.count,
	                    &error) != 0)
		fail_msg("%s", error.message);
	return filter;
}

static void filter_free(struct filters *filter)
{
	free(filter->build.code);
	free(filter->init.code);
	free(filter->command.code);
}

/* Of several filters the stricter answer counts: the lower one, since no filter here kills.
 * seccomp(2). */
static uint32_t stricter(uint32_t a, uint32_t b)
{
	return (a & SECCOMP_RET_ACTION_FULL) <= (b & SECCOMP_RET_ACTION_FULL) ? a : b;
}

static uint32_t stacked(const struct filters *filter, const struct seccomp_data *data)
{
	return stricter(bpf_run(&filter->command, data),
	                stricter(bpf_run(&filter->init, data), bpf_run(&filter->build, data)));
}

static uint32_t answer(const struct filters *filter, long number, uint64_t a, uint64_t b,
                       uint64_t c, uint64_t d)
{
	struct seccomp_data data = {.nr = (int)number, .arch = NATIVE_ARCH, .args = {a, b, c, d}};

	return stacked(filter, &data);
}

static uint32_t answer_name(const struct filters *filter, const char *name)
{
	return answer(filter, seccomp_syscall_resolve_name(name), 0, 0, 0, 0);
}

/* Compares the verdict on a call. Arguments that are left out are 0. */
#define assert_answer(filter, verdict, ...) \
	assert_int_equal(answer_call(filter, (const uint64_t[5]){__VA_ARGS__}), verdict)

static uint32_t answer_call(const struct filters *filter, const uint64_t call[5])
{
	return answer(filter, (long)call[0], call[1], call[2], call[3], call[4]);
}

/* Compares the verdicts on calls without arguments; one space separates their names. Skips calls
 * that this architecture lacks. */
static void assert_answers(const struct filters *filter, uint32_t verdict, const char *names)
{
	char copy[1024], *rest = copy;

	assert_true(strlen(names) < sizeof copy);
	strcpy(copy, names);
	for (char *name; (name = strsep(&rest, " "));) {
		int number = seccomp_syscall_resolve_name(name);

		if (number == __NR_SCMP_ERROR ||
		    (number >= 0 && answer(filter, number, 0, 0, 0, 0) != verdict))
			fail_msg("%s: %#x", name, answer(filter, number, 0, 0, 0, 0));
	}
}

static struct seccomp_names names(const char *const *list, size_t count)
{
	return (struct seccomp_names){(char *const *)(uintptr_t)list, count, "yett.conf", 12};
}

/* --- the tables --- */

static bool known(const char *name)
{
	for (size_t i = 0; i < seccomp_newer_count; i++)
		if (strcmp(seccomp_newer[i].name, name) == 0)
			return true;
	return seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR;
}

static size_t check_list(const char *list)
{
	char copy[4096], *rest = copy;
	size_t count = 0;

	assert_true(strlen(list) < sizeof copy);
	strcpy(copy, list);
	for (char *name; (name = strsep(&rest, " ")); count++)
		if (!known(name) || seccomp_syscall_resolve_name(name) >= FILTER_NUMBERS)
			fail_msg("\"%s\" is not a system call", name);
	return count;
}

static bool in_list(const char *list, const char *name)
{
	const char *found = strstr(list, name);
	size_t length = strlen(name);

	while (found && ((found != list && found[-1] != ' ') ||
	                 (found[length] != ' ' && found[length] != '\0')))
		found = strstr(found + 1, name);
	return found;
}

TEST(every_name_of_the_tables_is_a_system_call)
{
	size_t count = 0;

	for (size_t i = 0; i < seccomp_groups_count; i++)
		count += check_list(seccomp_groups[i].calls);
	for (size_t i = 0; i < seccomp_rules_count; i++)
		count += check_list(seccomp_rules[i].calls);
	assert_true(count > 300);
	check_list(seccomp_init_calls);
}

TEST(numbers_of_newer_calls_agree_with_the_library)
{
	for (size_t i = 0; i < seccomp_newer_count; i++) {
		int number = seccomp_syscall_resolve_name(seccomp_newer[i].name);

		if (number != __NR_SCMP_ERROR)
			assert_int_equal(number, seccomp_newer[i].number);
	}
}

TEST(every_filter_fits_into_the_kernel)
{
	for (int strict = 0; strict < 2; strict++) {
		struct filters filter = compile(&(struct seccomp_spec){.strict = strict});

		print_message("%s: %zu instructions for init, %zu more for commands\n",
		              strict ? "strict" : "default", filter.init.count,
		              filter.command.count);
		assert_true(filter.init.count < 280 &&
		            filter.command.count < 16); /* short, so that loading is cheap */
		filter_free(&filter);
	}
}

/* --- what the filters say --- */

TEST(unknown_calls_do_not_exist)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answer(&filter, ERROR(ENOSYS), 1023);
	assert_answers(&filter, ERROR(ENOSYS), "clone3 openat2 io_setup uselib _sysctl nfsservctl");
	filter_free(&filter);
}

TEST(other_calling_conventions_do_not_exist)
{
	struct filters filter = compile(&(struct seccomp_spec){0});
	struct seccomp_data i386 = {.nr = 4, .arch = AUDIT_ARCH_I386};

	assert_int_equal(stacked(&filter, &i386), ERROR(ENOSYS));
#if defined(__x86_64__)
	assert_answer(&filter, ERROR(ENOSYS), 0x40000000 | SYS_write); /* x32 */
#endif
	filter_free(&filter);
}

TEST(ordinary_programs_find_what_they_need)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answers(&filter, ALLOWED,
	               "read write execve execveat fork vfork clone wait4 waitid futex mmap statx "
	               "chown setgroups setuid setresuid mknod chmod memfd_create pidfd_open "
	               "copy_file_range shmget semop msgsnd mq_open bind listen accept4 rseq "
	               "membarrier landlock_create_ruleset sched_setaffinity ptrace seccomp prctl "
	               "getrandom inotify_init1 epoll_pwait2 timer_create close_range "
	               "set_robust_list prlimit64 utimensat chroot capset futex_waitv");
	assert_answer(&filter, ALLOWED, 451); /* cachestat, by number */
	filter_free(&filter);
}

TEST(privileged_calls_answer_as_to_any_user)
{
	struct filters filter = compile(&(struct seccomp_spec){0});
	static const char *const refused[] = {
		"mount",         "umount2",       "pivot_root",     "setns",
		"bpf",           "userfaultfd",   "io_uring_setup", "io_uring_enter",
		"kexec_load",    "init_module",   "finit_module",   "reboot",
		"swapon",        "quotactl_fd",   "acct",           "open_by_handle_at",
		"fanotify_init", "clock_settime", "settimeofday",   "move_mount",
		"fsopen",        "mount_setattr", "syslog"};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (answer_name(&filter, refused[i]) != FORBIDDEN)
			assert_int_equal(answer_name(&filter, refused[i]),
			                 ERROR(EPERM)); /* by the filter of building */
	assert_answers(&filter, FORBIDDEN, "mount");
	assert_answers(&filter, FORBIDDEN, "setns");
	assert_answers(&filter, ERROR(EACCES), "perf_event_open");
	assert_answers(&filter, ERROR(ENOTBLK), "quotactl");
	assert_answers(&filter, ERROR(ENOKEY), "request_key");
	filter_free(&filter);
}

TEST(a_tree_is_opened_but_not_cloned)
{
	struct filters filter = compile(&(struct seccomp_spec){0}),
		       strict = compile(&(struct seccomp_spec){.strict = true});

	assert_answer(&filter, ALLOWED, SYS_open_tree, AT_FDCWD, 0,
	              O_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	assert_answer(&strict, FORBIDDEN, SYS_open_tree, AT_FDCWD, 0, O_CLOEXEC);
	/* What is known, and what may come to be: 1 is OPEN_TREE_CLONE. */
	for (unsigned bit = 0; bit < 32; bit++)
		if (!(1u << bit &
		      (O_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)))
			assert_answer(&filter, FORBIDDEN, SYS_open_tree, AT_FDCWD, 0,
			              1u << bit | O_CLOEXEC);
	filter_free(&filter);
	filter_free(&strict);
}

#if defined(__x86_64__)
TEST(segments_are_read_but_not_written)
{
	struct filters filter = compile(&(struct seccomp_spec){0}),
		       strict = compile(&(struct seccomp_spec){.strict = true});

	assert_answer(&filter, ALLOWED, SYS_modify_ldt, 0, 0, 16);
	assert_answer(&filter, ALLOWED, SYS_modify_ldt, HIGH, 0, 16);
	assert_answer(&strict, ERROR(ENOSYS), SYS_modify_ldt, 0, 0, 16);
	for (unsigned function = 1; function < 0x20; function++)
		assert_answer(&filter, ERROR(ENOSYS), SYS_modify_ldt, function, 0, 16);
	filter_free(&filter);
	filter_free(&strict);
}
#endif

TEST(no_flag_makes_a_namespace)
{
	static const uint64_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
	                                 CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
	struct filters filter = compile(&(struct seccomp_spec){0});

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		for (uint64_t more = 0; more <= CLONE_VM; more += CLONE_VM) {
			assert_answer(&filter, FORBIDDEN, SYS_clone, flags[i] | more | SIGCHLD);
			assert_answer(&filter, FORBIDDEN, SYS_unshare, flags[i] | more);
			assert_answer(&filter, FORBIDDEN, SYS_unshare, flags[i] | HIGH);
		}
	assert_answer(&filter, FORBIDDEN, SYS_unshare, CLONE_NEWTIME);
	assert_answer(&filter, ALLOWED, SYS_unshare, CLONE_FILES | CLONE_FS);
	assert_answer(&filter, ALLOWED, SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD);
	assert_answer(&filter, ALLOWED, SYS_clone, 0x3d0f00); /* pthread_create(3) */
	filter_free(&filter);
}

/* Whose flags a filter cannot see stays closed, and so does all else that the table forbids. */
TEST(sandboxes_inside_are_made_with_calls_that_are_named)
{
	struct filters nested = compile(&(struct seccomp_spec){.nested = true}),
		       plain = compile(&(struct seccomp_spec){0});
	size_t opened = 0;

	for (long number = 0; number < FILTER_NUMBERS; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
		bool is_named = name && in_list(seccomp_nested_calls, name);

		assert_answer(&nested,
		              is_named ? ALLOWED : answer(&plain, number, CLONE_NEWUSER, 0, 0, 0),
		              number, CLONE_NEWUSER);
		opened += is_named;
		free(name);
	}
	assert_int_equal(opened, 15); /* of 16 names: this architecture has no umount */
	assert_int_not_equal(answer(&plain, SYS_unshare, CLONE_NEWUSER, 0, 0, 0), ALLOWED);
	assert_int_not_equal(answer_name(&nested, "clone3"), ALLOWED);
	filter_free(&nested);
	filter_free(&plain);
}

static uint32_t answer_perf(const struct filters *filter, uint64_t pid, uint64_t flags)
{
	struct seccomp_data data = {.nr = (int)SYS_perf_event_open,
	                            .arch = NATIVE_ARCH,
	                            .args = {0, pid, UINT64_MAX, UINT64_MAX, flags}};

	return stacked(filter, &data);
}

/* Of no processor and no control group, which would be of others, too: the kernel takes 32 bits of
 * a pid. */
TEST(performance_events_are_those_of_a_process_inside)
{
	for (int strict = 0; strict < 2; strict++) {
		struct filters perf =
			compile(&(struct seccomp_spec){.strict = strict, .perf = true});
		struct filters plain = compile(&(struct seccomp_spec){.strict = strict});

		for (long number = 0; number < FILTER_NUMBERS; number++)
			if (number != SYS_perf_event_open)
				assert_answer(&perf, answer(&plain, number, 0, 0, 0, 0), number);
		assert_int_equal(answer_perf(&perf, 0, 0), ALLOWED);
		assert_int_equal(
			answer_perf(&perf, 77, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP),
			ALLOWED);
		assert_int_equal(answer_perf(&perf, UINT64_MAX, 0), ERROR(EACCES));
		assert_int_equal(answer_perf(&perf, UINT32_MAX, 0), ERROR(EACCES));
		assert_int_equal(answer_perf(&perf, HIGH | UINT32_MAX, PERF_FLAG_FD_CLOEXEC),
		                 ERROR(EACCES));
		assert_int_equal(answer_perf(&perf, 5, PERF_FLAG_PID_CGROUP), ERROR(EACCES));
		assert_int_equal(
			answer_perf(&perf, 5, HIGH | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC),
			ERROR(EACCES));
		assert_int_equal(answer_perf(&plain, 0, 0), ERROR(EACCES));
		assert_int_equal(answer_perf(&plain, UINT64_MAX, 0), ERROR(EACCES));
		filter_free(&perf);
		filter_free(&plain);
	}
}

TEST(set_id_bits_are_seen_in_every_visible_mode)
{
	static const mode_t bad[] = {04755, 02755, 06777, 04000};
	struct filters filter = compile(&(struct seccomp_spec){0});

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_answer(&filter, FORBIDDEN, SYS_fchmod, 0, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_fchmod, 0, bad[i] | HIGH);
		assert_answer(&filter, FORBIDDEN, SYS_fchmodat, 0, 0, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_mknodat, 0, 0, S_IFREG | bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_openat, 0, 0, O_CREAT | O_WRONLY, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_openat, 0, 0, O_TMPFILE | O_RDWR, bad[i]);
		assert_answer(&filter, FORBIDDEN, 452, 0, 0, bad[i]); /* fchmodat2 */
		assert_answer(&filter, FORBIDDEN, SYS_mq_open, 0, O_CREAT | O_RDWR, bad[i]);
#if defined(__x86_64__)
		assert_answer(&filter, FORBIDDEN, SYS_open, 0, O_CREAT | O_EXCL, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_creat, 0, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_chmod, 0, bad[i]);
#endif
	}
	filter_free(&filter);
}

TEST(no_device_can_be_made_but_other_nodes_can)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answer(&filter, FORBIDDEN, SYS_mknodat, 0, 0, S_IFCHR | 0666, 0x103);
	assert_answer(&filter, FORBIDDEN, SYS_mknodat, 0, 0, S_IFBLK | HIGH, 0x700);
	assert_answer(&filter, ALLOWED, SYS_mknodat, 0, 0, S_IFIFO | 0666);
	assert_answer(&filter, ALLOWED, SYS_mknodat, 0, 0, S_IFSOCK | 0666);
	assert_answer(&filter, ALLOWED, SYS_mknodat, 0, 0, 0666);
#if defined(__x86_64__)
	assert_answer(&filter, FORBIDDEN, SYS_mknod, 0, S_IFBLK | 0600, 0x700);
	assert_answer(&filter, ALLOWED, SYS_mknod, 0, S_IFIFO | 0600);
#endif
	filter_free(&filter);
}

TEST(a_mode_that_is_not_used_does_not_matter)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answer(&filter, ALLOWED, SYS_openat, 0, 0, O_RDONLY, 07777);
	assert_answer(&filter, ALLOWED, SYS_openat, 0, 0, O_DIRECTORY, 06000);
	assert_answer(&filter, ALLOWED, SYS_openat, 0, 0, O_CREAT, 01777);
	assert_answer(&filter, ALLOWED, SYS_mkdirat, 0, 0, 02775); /* the kernel drops it */
	assert_answer(&filter, ALLOWED, SYS_fchmod, 0, 01777);
	filter_free(&filter);
}

TEST(terminal_injection_is_refused_whatever_the_high_bits)
{
	static const unsigned bad[] = {TIOCSTI, TIOCLINUX, TIOCSETD};
	struct filters filter = compile(&(struct seccomp_spec){0});

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_answer(&filter, FORBIDDEN, SYS_ioctl, 0, bad[i]);
		assert_answer(&filter, FORBIDDEN, SYS_ioctl, 0, bad[i] | HIGH);
	}
	assert_answer(&filter, ALLOWED, SYS_ioctl, 0, TCGETS);
	assert_answer(&filter, ALLOWED, SYS_ioctl, 0, TIOCGWINSZ);
	filter_free(&filter);
}

TEST(only_local_and_internet_sockets_are_made)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	for (uint64_t family = 0; family < 300; family++) {
		bool good = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		            family == AF_NETLINK;
		uint32_t expected = good                  ? ALLOWED
		                    : family == AF_PACKET ? FORBIDDEN
		                                          : ERROR(EAFNOSUPPORT);

		assert_answer(&filter, expected, SYS_socket, family, SOCK_STREAM);
		assert_answer(&filter, family == AF_UNIX ? ALLOWED : ERROR(EOPNOTSUPP),
		              SYS_socketpair, family, SOCK_STREAM);
		assert_answer(&filter, expected, SYS_socket, family | HIGH, SOCK_STREAM);
	}
	assert_answer(&filter, ERROR(EPROTONOSUPPORT), SYS_socket, AF_NETLINK, SOCK_RAW, 9);
	assert_answer(&filter, ALLOWED, SYS_socket, AF_INET, SOCK_STREAM, 6);
	assert_answer(&filter, ERROR(EPROTONOSUPPORT), SYS_socket, AF_INET, SOCK_STREAM, 132);
	assert_answer(&filter, ERROR(ESOCKTNOSUPPORT), SYS_socket, AF_INET,
	              SOCK_SEQPACKET | SOCK_CLOEXEC);
	assert_answer(&filter, ALLOWED, SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC);
	assert_answer(&filter, ERROR(ESOCKTNOSUPPORT), SYS_socket, AF_INET, SOCK_PACKET, 3);
	filter_free(&filter);
}

/* Those for which every kernel has what it takes: for others it would run modprobe, once for each
 * call. */
static bool is_built_in(int family, int type, int protocol)
{
	switch (type) {
	case SOCK_STREAM:
		return protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP;
	case SOCK_DGRAM:
		return protocol == 0 || protocol == IPPROTO_UDP ||
		       protocol == (family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	default:
		return type == SOCK_RAW; /* the kernel asks for the capability first */
	}
}

TEST(no_socket_has_the_kernel_load_a_module)
{
	static const int families[] = {AF_INET, AF_INET6},
			 loading[] = {0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a1};

	for (int strict = 0; strict < 2; strict++) {
		struct filters filter = compile(&(struct seccomp_spec){.strict = strict});

		for (size_t i = 0; i < 2 * 16 * 300; i++) {
			int family = families[i % 2], type = (int)(i / 2 % 16),
			    protocol = (int)(i / 32);
			uint32_t want = is_built_in(family, type, protocol)
			                        ? ALLOWED
			                        : ERROR(ESOCKTNOSUPPORT);

			if (want != ALLOWED && (type == SOCK_STREAM || type == SOCK_DGRAM))
				want = ERROR(EPROTONOSUPPORT);
			assert_answer(&filter, want, SYS_socket, family,
			              type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
			assert_answer(&filter, want, SYS_socket, family, type | HIGH,
			              protocol | HIGH);
			assert_answer(&filter, ERROR(EOPNOTSUPP), SYS_socketpair, family, type,
			              protocol);
		}
		for (size_t i = 0; i < ARRAY_SIZE(loading); i++)
			assert_answer(&filter, ERROR(ENOPKG), SYS_ioctl, 3, loading[i] | HIGH);
		assert_answer(&filter, ALLOWED, SYS_ioctl, 3, SIOCGIFCONF);
		assert_answer(&filter, ERROR(ENOPROTOOPT), SYS_setsockopt, 3, IPPROTO_TCP,
		              38); /* TCP_AO_ADD_KEY */
		filter_free(&filter);
	}
}

TEST(the_kernel_s_own_tls_and_delegations_are_out_of_reach)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answer(&filter, ERROR(ENOPROTOOPT), SYS_setsockopt, 3, IPPROTO_TCP | HIGH, TCP_ULP);
	assert_answer(&filter, ALLOWED, SYS_setsockopt, 3, IPPROTO_TCP, TCP_NODELAY);
	assert_answer(&filter, ALLOWED, SYS_setsockopt, 3, SOL_SOCKET,
	              TCP_ULP);                                           /* another option */
	assert_answer(&filter, ERROR(EACCES), SYS_fcntl, 3, 1040 | HIGH); /* F_SETDELEG */
	assert_answer(&filter, ERROR(EACCES), SYS_fcntl, 3, F_SETLEASE);
	assert_answer(&filter, ALLOWED, SYS_fcntl, 3, F_SETLK);
	filter_free(&filter);
}

TEST(what_the_machine_has_for_all_is_not_taken)
{
	static const int attaching[] = {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
	                                SO_ATTACH_REUSEPORT_EBPF};

	for (int strict = 0; strict < 2; strict++) {
		struct filters filter = compile(&(struct seccomp_spec){.strict = strict});

		for (size_t i = 0; i < ARRAY_SIZE(attaching); i++)
			assert_answer(&filter, ERROR(ENOPROTOOPT), SYS_setsockopt, 3,
			              SOL_SOCKET | HIGH, attaching[i] | HIGH);
		assert_answer(&filter, ALLOWED, SYS_setsockopt, 3, SOL_SOCKET, SO_DETACH_FILTER);
		assert_answer(&filter, ALLOWED, SYS_setsockopt, 3, SOL_SOCKET, SO_REUSEPORT);
		assert_answer(&filter, ERROR(ENOSYS), SYS_memfd_create, 0,
		              MFD_CLOEXEC | MFD_HUGETLB | HIGH);
		assert_answer(&filter, ALLOWED, SYS_memfd_create, 0, MFD_CLOEXEC);
		assert_answer(&filter, ERROR(strict ? ENOSYS : EINVAL), SYS_shmget, 0, 4096,
		              SHM_HUGETLB | IPC_CREAT);
		assert_answer(&filter, ERROR(EINVAL), SYS_prctl, 67, 1); /* PR_SET_MEMORY_MERGE */
		assert_answer(&filter, ERROR(EINVAL), SYS_prctl, 67, HIGH);
		assert_answer(&filter, ALLOWED, SYS_prctl, 67);
		assert_answer(&filter, ERROR(strict ? ENOSYS : EINVAL), SYS_process_madvise, 3, 0,
		              1, MADV_MERGEABLE);
		assert_answers(&filter, ERROR(ENOSYS), "mbind");
		filter_free(&filter);
	}
}

TEST(the_limit_of_core_files_seems_to_change_and_does_not)
{
	const uint32_t pretended = ERROR(0);

	for (int strict = 0; strict < 2; strict++) {
		struct filters filter = compile(&(struct seccomp_spec){.strict = strict});

		assert_answer(&filter, pretended, SYS_setrlimit, RLIMIT_CORE, 1);
		assert_answer(&filter, pretended, SYS_setrlimit, RLIMIT_CORE | HIGH, 1);
		assert_answer(&filter, ALLOWED, SYS_setrlimit, RLIMIT_STACK, 1);
		for (uint64_t pid = 0; pid < 4; pid += 2) {
			assert_answer(&filter, pretended, SYS_prlimit64, pid, RLIMIT_CORE, 1);
			assert_answer(&filter, pretended, SYS_prlimit64, pid, RLIMIT_CORE | HIGH,
			              HIGH);
			assert_answer(&filter, FORBIDDEN, SYS_prlimit64, pid, RLIMIT_CORE | HIGH,
			              HIGH, 1); /* asks, too */
			assert_answer(&filter, FORBIDDEN, SYS_prlimit64, pid, RLIMIT_CORE, 1, HIGH);
			assert_answer(&filter, ALLOWED, SYS_prlimit64, pid, RLIMIT_CORE, 0,
			              1); /* asks */
			assert_answer(&filter, ALLOWED, SYS_prlimit64, pid, RLIMIT_STACK, 1);
		}
		assert_answer(&filter, FORBIDDEN, SYS_prlimit64, 1, RLIMIT_CORE, 1); /* init's */
		assert_answer(&filter, ALLOWED, SYS_getrlimit, RLIMIT_CORE, 1);
		filter_free(&filter);
	}
}

TEST(only_common_personalities_are_taken)
{
	struct filters filter = compile(&(struct seccomp_spec){0});

	assert_answer(&filter, ALLOWED, SYS_personality);
	assert_answer(&filter, ALLOWED, SYS_personality, 0xffffffff);
	assert_answer(&filter, ALLOWED, SYS_personality, ADDR_NO_RANDOMIZE);
	assert_answer(&filter, ALLOWED, SYS_personality, UNAME26 | PER_LINUX32 | HIGH);
	assert_answer(&filter, ERROR(EINVAL), SYS_personality, PER_LINUX32_3GB);
	assert_answer(&filter, ERROR(EINVAL), SYS_personality, READ_IMPLIES_EXEC);
	filter_free(&filter);
}

TEST(the_strict_set_is_narrower)
{
	struct filters filter = compile(&(struct seccomp_spec){.strict = true});

	assert_answers(&filter, ERROR(ENOSYS),
	               "ptrace process_vm_readv shmget mq_open inotify_init1 personality vmsplice "
	               "chroot adjtimex move_pages");
	assert_answer(&filter, ERROR(EAFNOSUPPORT), SYS_socket, AF_NETLINK, SOCK_RAW);
	assert_answer(&filter, ALLOWED, SYS_socket, AF_UNIX, SOCK_STREAM);
	assert_answers(&filter, ALLOWED, "execve");
	filter_free(&filter);
}

TEST(the_lists_of_a_profile_change_the_set)
{
	static const char *const allow[] = {"keyctl", "unshare", "mount", "personality", "clone3"};
	static const char *const deny[] = {"ptrace", "socket", "ioctl", "mount"};
	static const char *const log[] = {"openat", "bpf", "getpid"};
	struct seccomp_spec spec = {.allow = names(allow, ARRAY_SIZE(allow)),
	                            .deny = names(deny, ARRAY_SIZE(deny)),
	                            .log = names(log, ARRAY_SIZE(log))};
	struct filters filter = compile(&spec);

	assert_answers(&filter, ALLOWED, "keyctl");
	assert_answers(&filter, ALLOWED, "clone3");
	assert_answer(&filter, ALLOWED, SYS_unshare, CLONE_NEWUSER);
	assert_answer(&filter, ALLOWED, SYS_personality, READ_IMPLIES_EXEC);
	assert_answers(&filter, FORBIDDEN, "ptrace");
	assert_answers(&filter, FORBIDDEN, "mount");                            /* deny wins */
	assert_answer(&filter, ERROR(EPERM), SYS_socket, AF_UNIX, SOCK_STREAM); /* init needs it */
	assert_answer(&filter, ERROR(EPERM), SYS_ioctl, 0, TCGETS);
	assert_answers(&filter, SECCOMP_RET_LOG, "getpid");
	assert_answer(&filter, SECCOMP_RET_LOG, SYS_openat, 0, 0, O_CREAT, 0644);
	filter_free(&filter);
}

TEST(logging_a_call_takes_no_refusal_away)
{
	static const char *const log[] = {"openat", "bpf", "personality", "clone", "clone3"};
	struct seccomp_spec spec = {.log = names(log, ARRAY_SIZE(log))};
	struct filters filter = compile(&spec);

	assert_answer(&filter, FORBIDDEN, SYS_openat, 0, 0, O_CREAT, 04755);
	assert_answers(&filter, ERROR(EPERM), "bpf");
	assert_answers(&filter, ERROR(ENOSYS), "clone3");
	assert_answer(&filter, FORBIDDEN, SYS_clone, CLONE_NEWUSER);
	assert_answer(&filter, ERROR(EINVAL), SYS_personality, READ_IMPLIES_EXEC);
	assert_answer(&filter, SECCOMP_RET_LOG, SYS_personality);
	filter_free(&filter);
}

TEST(init_may_make_the_calls_that_it_needs_itself)
{
	static const char *const deny[] = {"setgroups", "capset", "unlinkat"};
	struct filters filter = compile(
		&(struct seccomp_spec){.strict = true, .deny = names(deny, ARRAY_SIZE(deny))});
	struct seccomp_data data = {.arch = NATIVE_ARCH};

	for (size_t i = 0; i < ARRAY_SIZE(deny); i++) {
		data.nr = seccomp_syscall_resolve_name(deny[i]);
		assert_int_equal(bpf_run(&filter.init, &data), ALLOWED);
		assert_int_equal(stacked(&filter, &data), ERROR(EPERM));
	}
	data.nr = SYS_clone3;
	assert_int_equal(bpf_run(&filter.init, &data), ALLOWED);
	data.nr = SYS_bpf;
	assert_int_equal(bpf_run(&filter.init, &data), FORBIDDEN);
	filter_free(&filter);
}

/* An error of the other filter would win, and nobody would be told. */
TEST(what_is_forbidden_is_forbidden_by_one_filter)
{
	static const char *const deny[] = {"ptrace", "mq_open", "mount"};
	struct filters filter =
		compile(&(struct seccomp_spec){.deny = names(deny, ARRAY_SIZE(deny))});

	for (int number = 0; number < FILTER_NUMBERS; number++) {
		struct seccomp_data data = {.nr = number, .arch = NATIVE_ARCH};

		if (bpf_run(&filter.init, &data) == FORBIDDEN)
			assert_int_equal(bpf_run(&filter.command, &data), ALLOWED);
		assert_int_not_equal(bpf_run(&filter.command, &data), FORBIDDEN);
	}
	for (size_t i = 0; i < ARRAY_SIZE(deny); i++)
		assert_int_equal(answer_name(&filter, deny[i]), FORBIDDEN);
	filter_free(&filter);
}

TEST(a_misspelt_name_is_refused_with_its_place)
{
	static const char *const wrong[] = {"openatt"}, *const needed[] = {"execve"};
	struct seccomp_spec spec = {.allow = names(wrong, 1)};
	struct yett_error error = {0};
	struct bpf program = {0};

	assert_int_equal(
		seccomp_compile(&spec, SECCOMP_COMMAND, &program.code, &program.count, &error),
		YETT_E_INVALID_REQUEST);
	assert_string_equal(error.message, "yett.conf:12: no system call is called \"openatt\"");
	spec = (struct seccomp_spec){.deny = names(needed, 1)};
	assert_int_equal(
		seccomp_compile(&spec, SECCOMP_COMMAND, &program.code, &program.count, &error),
		YETT_E_INVALID_REQUEST);
	assert_null(program.code);
}

static bool fits(const struct seccomp_argument *argument, const uint64_t arguments[4])
{
	uint64_t value = arguments[argument->index];
	uint32_t low = (uint32_t)value & argument->mask;

	return argument->mask ? low >= argument->first && low <= argument->last
	                      : value > argument->last;
}

/* Whether the filter says what the first rule says that fits, or lets the call through when none
 * does. */
static void compare_with_table(const struct filters *filter, const char *name, bool strict,
                               const uint64_t arguments[4])
{
	uint32_t want = ALLOWED;
	uint32_t got = answer(filter, seccomp_syscall_resolve_name(name), arguments[0],
	                      arguments[1], arguments[2], arguments[3]);

	for (size_t i = seccomp_rules_count; i-- > 0;) {
		const struct seccomp_rule *rule = &seccomp_rules[i];
		bool all = rule->set != (strict ? SECCOMP_DEFAULT : SECCOMP_STRICT) &&
		           in_list(rule->calls, name);

		for (unsigned j = 0; j < rule->arguments_count; j++)
			all = all && fits(&rule->arguments[j], arguments);
		if (all)
			want = seccomp_rule_action(rule);
	}
	if (got != want)
		fail_msg("%s(%#lx, %#lx, %#lx, %#lx): %#x, not %#x", name, arguments[0],
		         arguments[1], arguments[2], arguments[3], got, want);
}

TEST(the_compiled_rules_are_those_of_the_table)
{
	static const char *const calls[] = {"clone",      "unshare",      "ioctl",     "open",
	                                    "openat",     "chmod",        "fchmod",    "fchmodat",
	                                    "creat",      "mknod",        "mknodat",   "socket",
	                                    "socketpair", "setsockopt",   "setrlimit", "prlimit64",
	                                    "fcntl",      "memfd_create", "prctl"};
	static const uint64_t values[] = {0,
	                                  1,
	                                  2,
	                                  3,
	                                  RLIMIT_CORE,
	                                  5,
	                                  6,
	                                  10,
	                                  15,
	                                  16,
	                                  17,
	                                  SO_ATTACH_FILTER,
	                                  TCP_ULP,
	                                  33,
	                                  39,
	                                  SO_ATTACH_BPF,
	                                  67, /* PR_SET_MEMORY_MERGE */
	                                  132,
	                                  256,
	                                  IPPROTO_MPTCP,
	                                  F_SETLEASE,
	                                  0x8982,
	                                  0644,
	                                  02000,
	                                  04000,
	                                  04755,
	                                  O_CREAT,
	                                  O_CREAT | O_EXCL,
	                                  O_TMPFILE | O_RDWR,
	                                  O_DIRECTORY,
	                                  TIOCSTI,
	                                  TIOCSETD,
	                                  TCGETS,
	                                  SOCK_SEQPACKET | SOCK_CLOEXEC,
	                                  CLONE_NEWUSER,
	                                  CLONE_NEWTIME,
	                                  CLONE_VM,
	                                  HIGH | 10,
	                                  HIGH | TIOCSTI,
	                                  HIGH | 04755,
	                                  UINT64_MAX};
	const size_t n = ARRAY_SIZE(values);

	for (int strict = 0; strict < 2; strict++) {
		struct filters filter = compile(&(struct seccomp_spec){.strict = strict});

		for (size_t i = 0; i < ARRAY_SIZE(calls) * n * n * n * n / 31; i++) {
			size_t k = i * 31 / ARRAY_SIZE(calls); /* a sample of the combinations */
			uint64_t arguments[4] = {values[k % n], values[k / n % n],
			                         values[k / n / n % n], values[k / n / n / n]};

			if (seccomp_syscall_resolve_name(calls[i % ARRAY_SIZE(calls)]) >= 0)
				compare_with_table(&filter, calls[i % ARRAY_SIZE(calls)], strict,
				                   arguments);
		}
		filter_free(&filter);
	}
}

/* --- a process under the filter --- */

/* Numbers of the attempts that did not end as they should; the child has no other way to tell. */
static void try_calls(unsigned *attempts, unsigned *failed)
{
	char path[] = "/tmp/yett-seccomp-XXXXXX";
	int made = mkstemp(path), pair[2], p[2];

#define EXPECT(call, wanted)                                             \
	do {                                                             \
		long got_ = (errno = 0, (long)(call));                   \
		*attempts += 1;                                          \
		if ((got_ < 0 ? errno : 0) != (wanted)) {                \
			*failed += 1;                                    \
			fprintf(stderr, "%s: errno %d\n", #call, errno); \
		}                                                        \
	} while (0)
	EXPECT(unshare(CLONE_NEWUSER), EPERM);
	EXPECT(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
	EXPECT(syscall(SYS_clone3, NULL, 0), ENOSYS);
	EXPECT(syscall(SYS_mount, 0, 0, 0, 0, 0), EPERM);
	EXPECT(fchmod(made, 04755), EPERM);
	EXPECT(fchmod(made, 0755), 0);
	EXPECT(openat(AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY, 04755), EPERM);
	EXPECT(openat(AT_FDCWD, path, O_RDONLY, 04755), 0);
	EXPECT(syscall(SYS_openat2, AT_FDCWD, path, 0, 0), ENOSYS);
	EXPECT(ioctl(made, TIOCSTI, ""), EPERM);
	EXPECT(syscall(SYS_ioctl, made, HIGH | TIOCSTI, ""), EPERM);
	EXPECT(ioctl(made, TCGETS, p), ENOTTY);
	EXPECT(socket(40, SOCK_STREAM, 0), EAFNOSUPPORT); /* AF_VSOCK */
	EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	EXPECT(syscall(1023), ENOSYS);
	EXPECT(syscall(SYS_keyctl, 0, 0), ENOKEY);
	EXPECT(pipe(p), 0);
	EXPECT(unlink(path), 0);
#undef EXPECT
}

/* Loads the filter with a listener, and has a process answer that is under the filter itself, but
 * calls nothing forbidden. */
static bool load_and_listen(const struct sock_fprog *program)
{
	struct seccomp_notif_resp refusal = {.error = -EPERM};
	struct seccomp_notif call;
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                            SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
	pid_t parent = getpid(), pid = listener < 0 ? -1 : fork();

	if (pid != 0) {
		close(listener);
		return pid > 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		memset(&call, 0, sizeof call);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
			continue;
		refusal.id = call.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &refusal);
	}
	_exit(0);
}

TEST(a_process_under_the_filter_meets_the_refusals)
{
	struct filters filter = compile(&(struct seccomp_spec){0});
	struct sock_fprog programs[] = {
		{(unsigned short)filter.init.count, filter.init.code},
		{(unsigned short)filter.command.count, filter.command.code}};
	unsigned *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	assert_true(shared != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !load_and_listen(&programs[0]) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &programs[1]) < 0)
			_exit(1);
		try_calls(&shared[0], &shared[1]);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(shared[0], 18);
	assert_int_equal(shared[1], 0);
	munmap(shared, 4096);
	filter_free(&filter);
}

/* It refuses for good, in the errors that commands get in any case, and nothing that the filters
 * above it would allow or tell of besides.
 */
TEST(building_has_a_filter_that_commands_do_not_notice)
{
	static const long needed[] = {
		SYS_fsopen,        SYS_fsconfig,  SYS_fsmount,     SYS_move_mount,
		SYS_mount_setattr, SYS_open_tree, SYS_openat2,     SYS_setns,
		SYS_umount2,       SYS_chroot,    SYS_sethostname, SYS_clone,
		SYS_clone3,        SYS_execveat,  SYS_seccomp,     SYS_mount};
	static const struct {
		long number;
		uint32_t error;
	} refused[] = {{SYS_io_uring_setup, EPERM},    {SYS_bpf, EPERM},
	               {SYS_open_by_handle_at, EPERM}, {SYS_perf_event_open, EACCES},
	               {SYS_userfaultfd, EPERM},       {SYS_init_module, EPERM},
	               {SYS_keyctl, ENOKEY},           {SYS_add_key, EACCES},
	               {FILTER_NUMBERS + 5, ENOSYS}};
	static char *const names[] = {"bpf", "ptrace"};
	static const struct seccomp_spec specs[] = {
		{0},
		{.strict = true},
		{.strict = true, .allow = {(char **)names, ARRAY_SIZE(names), "", 0}}};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct filters filter = compile(&specs[i]);
		struct seccomp_data data = {.arch = NATIVE_ARCH};

		for (data.nr = 0; data.nr < FILTER_NUMBERS + 10; data.nr++) {
			uint32_t building = bpf_run(&filter.build, &data),
				 above = stricter(bpf_run(&filter.init, &data),
			                          bpf_run(&filter.command, &data));

			if (building != ALLOWED && above != FORBIDDEN)
				assert_int_equal(building, above);
			if (building != ALLOWED && above == FORBIDDEN)
				assert_int_equal(building, ERROR(EPERM));
		}
		for (size_t j = 0; j < ARRAY_SIZE(needed); j++)
			assert_int_equal(
				bpf_run(&filter.build, &(struct seccomp_data){.nr = (int)needed[j],
			                                                      .arch = NATIVE_ARCH}),
				ALLOWED);
		for (size_t j = 0; j < ARRAY_SIZE(refused); j++)
			if (i != 2 || refused[j].number != SYS_bpf)
				assert_int_equal(
					bpf_run(&filter.build,
				                &(struct seccomp_data){.nr = (int)refused[j].number,
				                                       .arch = NATIVE_ARCH}),
					ERROR(refused[j].error));
		assert_int_equal(bpf_run(&filter.build,
		                         &(struct seccomp_data){.nr = 0, .arch = NATIVE_ARCH ^ 1}),
		                 ERROR(ENOSYS));
		filter_free(&filter);
	}
}

TEST_MAIN(NULL, NULL)
