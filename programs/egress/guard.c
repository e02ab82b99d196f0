/* See guard.h. */
#include "programs/egress/guard.h"
#include "base/filter_head.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The lower half, which is all that the kernel takes of an int; little-endian, as all that FILTER_ARCH knows. */
#define LOAD(n)            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))

bool guard_enter(void)
{
	/* The commands of fcntl(2) that are used here: frame.c, dialer.c, ruleset.c */
	struct sock_filter program[] = {
		[FILTER_HEAD] = IF(SYS_fcntl, 2, 0),
		IF(SYS_sendto, 9, 0),
		IF(SYS_sendmsg, 10, 12),
		LOAD(1),
		IF(F_SETFL, 4, 0),
		IF(F_GETFL, 9, 0),
		IF(F_DUPFD_CLOEXEC, 8, 0),
		IF(F_GET_SEALS, 7, 0),
		IF(F_GETFD, 6, 7),
		LOAD(2),
		HAS(O_ASYNC, 5, 4),
		LOAD(3), /* the flags of sendto(2) */
		BPF_STMT(BPF_JMP | BPF_JA, 1),
		LOAD(2), /* those of sendmsg(2) */
		HAS(MSG_FASTOPEN, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {.len = ARRAY_SIZE(program), .filter = program};

	filter_head(program, FILTER_ARCH, SECCOMP_RET_KILL_PROCESS);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}
