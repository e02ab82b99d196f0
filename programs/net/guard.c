/* SPDX-License-Identifier: Apache-2.0 */
/* See guard.h. */
#include "programs/net/guard.h"
#include "base/filter_head.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))

/*
 * Allows the commands of fcntl(2) that flow.c and ruleset.c use, and the harmless F_GETFD and
 * F_DUPFD_CLOEXEC.
 */
const struct sock_filter guard_checks[GUARD_CHECKS] = {
	IF(SYS_fcntl, 2, 0),
	IF(SYS_sendto, 9, 0),
	IF(SYS_sendmsg, 10, 13),
	FILTER_LOAD_ARGUMENT(1),
	IF(F_SETFL, 4, 0),
	IF(F_GETFL, 10, 0),
	IF(F_DUPFD_CLOEXEC, 9, 0),
	IF(F_GET_SEALS, 8, 0),
	IF(F_GETFD, 7, 6),
	FILTER_LOAD_ARGUMENT(2),
	HAS(O_ASYNC, 4, 5),
	FILTER_LOAD_ARGUMENT(3), /* the flags of sendto(2) */
	BPF_STMT(BPF_JMP | BPF_JA, 1),
	FILTER_LOAD_ARGUMENT(2), /* the flags of sendmsg(2) */
	HAS(MSG_FASTOPEN, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	FILTER_LOAD_NUMBER,
};
