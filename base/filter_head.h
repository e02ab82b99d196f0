/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first instructions of the system call filters (seccomp(2)) of sandboxes. All of these share
 * this head, so that yett-init can insert further checks between the head and the rest of its own
 * filter. The filters of our own programs are made by libseccomp: programs/filters/.
 *
 * The head rejects system calls of any other AUDIT_ARCH, since other ABIs of the processor number
 * system calls differently. Then the head loads the system call number into the accumulator. Pure;
 * needs no privilege.
 */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_HEAD 4

#define FILTER_LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* The architecture that this build runs on. */
#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "the architecture's AUDIT_ARCH is not known here"
#endif

/*
 * `arch` is the AUDIT_ARCH_* that passes, `otherwise` the SECCOMP_RET_* action for calls of any
 * other.
 */
static inline void filter_head(struct sock_filter head[FILTER_HEAD], uint32_t arch,
                               uint32_t otherwise)
{
	head[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                       offsetof(struct seccomp_data, arch));
	head[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
	head[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	head[3] = (struct sock_filter)FILTER_LOAD_NUMBER;
}
