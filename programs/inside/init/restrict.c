/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See restrict.h.
 *
 * Every restriction also creates a Landlock domain, even if the restriction is not about files: a
 * process in its own domain can neither trace other commands nor read their memory, which would
 * bypass the restriction.
 */
#include "programs/inside/init/restrict.h"
#include "programs/inside/init/landlock.h"

#include "base/filter_head.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * The bit that marks x32 system calls, a second numbering on x86-64 that a list of numbers does not
 * match. syscall(2), "x32"
 */
#define RESTRICT_X32 0x40000000U

/*
 * For rules that apply where paths are restricted and the kernel's Landlock does not cover
 * truncate(2). Never part of a message.
 */
#define RESTRICT_TRUNCATE 8U

int restrict_check(const struct init_config *config, const struct message *message,
                   struct yett_error *error)
{
	const struct message_exec *exec = &message->body.exec;

	if (exec->paths_count > 0 && !(exec->restrictions & RESTRICT_PATHS))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "paths are only for a command restricted to paths");
	if (exec->user != 0 && !exec->has_user)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a user id is given, but not requested");
	for (uint32_t i = 0; i < exec->paths_count; i++)
		if (*message_text(message, exec->paths[i]) != '/')
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                 "a path that a command is restricted to is not absolute");
	/* init can take no other id: start_guard(). */
	if (exec->has_user && exec->user != config->uid && config->capabilities == 0)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"commands of this sandbox can only be user %u: its profile gives them no capabilities",
			config->uid);
	if (exec->has_user && exec->user == (uint32_t)getuid() && exec->user != config->uid)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "user %u is the sandbox's init", exec->user);
	if (exec->restrictions != 0 && config->nested_userns)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"a command cannot be restricted here: those of this sandbox may make user namespaces (nested_userns)");
	if (exec->restrictions != 0 && config->landlock_abi == 0)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"a command cannot be restricted here: the kernel has no Landlock, or not enough of it");
	return 0;
}

int restrict_files(const struct init_config *config, const struct message *message,
                   const char **ret_refused)
{
	return message->body.exec.restrictions != 0
	               ? landlock_restrict_command(message, config->landlock_abi, ret_refused)
	               : 0;
}

enum restrict_when { RESTRICT_ALWAYS, RESTRICT_EQUAL, RESTRICT_UNEQUAL, RESTRICT_NOT_NULL };

/*
 * A system call that is refused to commands with one of these restrictions. If `when` examines an
 * argument, the comparison uses its lower half.
 */
struct restrict_rule {
	uint32_t restrictions, number, error;
	enum restrict_when when;
	uint32_t argument, mask, value;
};

#define WRITING RESTRICT_WRITE
/*
 * Calls with a path argument, which could name any file. A call with a descriptor reaches only
 * files that Landlock let the command open.
 */
#define BY_PATH (RESTRICT_WRITE | RESTRICT_PATHS)
#define ALL     (RESTRICT_WRITE | RESTRICT_PATHS | RESTRICT_NETWORK)

#define CALL(set, name)                                            \
	{                                                          \
		(set), SYS_##name, EPERM, RESTRICT_ALWAYS, 0, 0, 0 \
	}
#define ABSENT(set, number)                                       \
	{                                                         \
		(set), (number), ENOSYS, RESTRICT_ALWAYS, 0, 0, 0 \
	}
#define EQUAL(set, name, which, bits, wanted)                                       \
	{                                                                           \
		(set), SYS_##name, EPERM, RESTRICT_EQUAL, (which), (bits), (wanted) \
	}
/*
 * Opening with O_TRUNC but without write access truncates the file, and Landlock checks only the
 * access mode of the open. musl's O_ACCMODE includes O_PATH, hence the mask 3.
 */
#define CUT(name, flags)                                   \
	EQUAL(WRITING, name, flags, 3 | O_TRUNC, O_TRUNC), \
		EQUAL(WRITING, name, flags, 3 | O_TRUNC, 3 | O_TRUNC)
#define SOCKET(name)                                                                         \
	{                                                                                    \
		RESTRICT_NETWORK, SYS_##name, EAFNOSUPPORT, RESTRICT_UNEQUAL, 0, UINT32_MAX, \
			AF_UNIX                                                              \
	}

static const struct restrict_rule restrict_rules[] = {
	SOCKET(socket),
	SOCKET(socketpair),
	/* io_uring can open files and make sockets without a system call that the filter sees. */
	CALL(ALL, io_uring_setup),
	CALL(ALL, open_by_handle_at),
	/* The flags of openat2() are in memory, where the filter cannot read them. */
	ABSENT(ALL, SYS_openat2),
	ABSENT(BY_PATH, 452), /* fchmodat2 */
	CALL(BY_PATH, fchmodat),
	CALL(BY_PATH, fchownat),
	CALL(BY_PATH, setxattr),
	CALL(BY_PATH, lsetxattr),
	CALL(BY_PATH, removexattr),
	CALL(BY_PATH, lremovexattr),
	ABSENT(BY_PATH, 463), /* setxattrat */
	ABSENT(BY_PATH, 466), /* removexattrat */
	ABSENT(BY_PATH, 469), /* file_setattr */
	{RESTRICT_PATHS, SYS_utimensat, EPERM, RESTRICT_NOT_NULL, 1, UINT32_MAX, 0},
	CALL(WRITING, utimensat),
	CALL(WRITING | RESTRICT_TRUNCATE, truncate),
	CALL(WRITING, fchmod),
	CALL(WRITING, fchown),
	CALL(WRITING, fsetxattr),
	CALL(WRITING, fremovexattr),
	CUT(openat, 2),
#ifdef SYS_open
	CUT(open, 1),
	CALL(BY_PATH, chmod),
	CALL(BY_PATH, chown),
	CALL(BY_PATH, lchown),
	CALL(BY_PATH, utime),
	CALL(BY_PATH, utimes),
	CALL(BY_PATH, futimesat),
#endif
	/*
         * With a descriptor that is open for reading, ioctl(2) on file systems can change flags,
         * attributes and keys, and create subvolumes. Only request numbers of type 'T' are allowed,
         * which terminals use, and pipes and sockets for FIONREAD and similar requests.
         * ioctl_list(2)
         */
	{WRITING, SYS_ioctl, EPERM, RESTRICT_UNEQUAL, 1, 0xff00, 'T' << 8},
};

/*
 * The filter is written here and not by libseccomp at build time as in programs/filters/, because
 * the restrictions come with the request. It has inequalities too: for these, libseccomp has no
 * comparison of 32 bits, and would need a rule for each bit.
 */
#define RESTRICT_RULE_LENGTH 8 /* maximum number of instructions */

static void restrict_push(struct sock_fprog *program, struct sock_filter instruction)
{
	program->filter[program->len++] = instruction;
}

/*
 * Adds instructions that refuse the call or fall through to the next rule. The system call number
 * is loaded before and after them.
 */
static void restrict_add(struct sock_fprog *program, const struct restrict_rule *rule)
{
	const uint32_t low =
		(uint32_t)(offsetof(struct seccomp_data, args) + rule->argument * sizeof(uint64_t));
	const struct sock_filter refuse =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | rule->error);
	const struct sock_filter reload = FILTER_LOAD_NUMBER;

	switch (rule->when) {
	case RESTRICT_ALWAYS:
		restrict_push(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                                    rule->number, 0, 1));
		restrict_push(program, refuse);
		return;
	case RESTRICT_EQUAL:
	case RESTRICT_UNEQUAL:
		restrict_push(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                                    rule->number, 0, 5));
		restrict_push(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low));
		restrict_push(program,
		              (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask));
		restrict_push(program,
		              (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value,
		                                           rule->when == RESTRICT_EQUAL ? 0 : 1,
		                                           rule->when == RESTRICT_EQUAL ? 1 : 0));
		break;
	/* Compare both halves of the pointer. */
	case RESTRICT_NOT_NULL:
		restrict_push(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                                    rule->number, 0, 6));
		restrict_push(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low));
		restrict_push(program,
		              (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
		restrict_push(program,
		              (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low + 4));
		restrict_push(program,
		              (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
		break;
	}
	restrict_push(program, refuse);
	restrict_push(program, reload);
}

int restrict_calls(const struct init_config *config, const struct message *message)
{
	static struct sock_filter
		filter[FILTER_HEAD + 3 + ARRAY_SIZE(restrict_rules) * RESTRICT_RULE_LENGTH];
	struct sock_fprog program = {.filter = filter, .len = FILTER_HEAD};
	uint32_t restrictions = message->body.exec.restrictions;

	if (restrictions == 0)
		return 0;
	if (config->landlock_abi < 3 && restrictions & RESTRICT_PATHS)
		restrictions |= RESTRICT_TRUNCATE;
	filter_head(filter, FILTER_ARCH, SECCOMP_RET_ERRNO | ENOSYS);
#ifdef __x86_64__
	restrict_push(&program,
	              (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RESTRICT_X32, 0, 1));
	restrict_push(&program,
	              (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
#endif
	for (size_t i = 0; i < ARRAY_SIZE(restrict_rules); i++)
		if (restrict_rules[i].restrictions & restrictions)
			restrict_add(&program, &restrict_rules[i]);
	restrict_push(&program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
