/*
 * How the filters of system calls begin, so that init can put more between the head and the rest of
 * its own.
 *
 * Other calling conventions of the processor have other numbers; the head refuses them, and leaves
 * the number loaded. Pure. seccomp(2).
 */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_HEAD 4

/* The lower half of an argument, which is all that the kernel takes of an int; little-endian, as
 * all that FILTER_ARCH knows. */
#define FILTER_LOAD_ARGUMENT(n) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define FILTER_LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* The one that we are built for. */
#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "the architecture's AUDIT_ARCH is not known here"
#endif

/* `arch` is an AUDIT_ARCH_*, `otherwise` the action for all others. */
static inline void filter_head(struct sock_filter head[FILTER_HEAD], uint32_t arch,
                               uint32_t otherwise)
{
	head[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                       offsetof(struct seccomp_data, arch));
	head[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
	head[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	head[3] = (struct sock_filter)FILTER_LOAD_NUMBER;
}
