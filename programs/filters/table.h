/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the fixed system call filters, and the function that makes a BPF program of a row.
 *
 * Only for the build and for tests: no program that is installed links this.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#define FILTERS_CALLS_MAX 24

/* The C library that the program is linked with. Each variant allows the calls of those before. */
enum filters_variant { FILTERS_MUSL, FILTERS_GLIBC, FILTERS_SANITIZER };

/*
 * Matches if (argument & mask) == value. Only the low 32 bits count, which is all that the kernel
 * reads of an int.
 */
struct filters_argument {
	unsigned index;
	uint32_t mask, value;
};

/*
 * Allowed calls: names, separated by single spaces. With arguments, a call is allowed if all of
 * them match. A call with several rows is allowed if one of the rows matches. Names that an
 * architecture lacks are skipped.
 */
struct filters_call {
	const char *names;
	unsigned arguments_count;
	struct filters_argument arguments[3];
	enum filters_variant variant; /* the first one that needs the calls */
};

struct filters_program {
	const char *name;
	/* SECCOMP_RET_* for all other calls, and for those of other ABIs of the processor */
	uint32_t otherwise, foreign;
	struct filters_call calls[FILTERS_CALLS_MAX]; /* the unused ones have no names */
};

extern const struct filters_program filters_programs[];
extern const size_t filters_programs_count;

/*
 * Makes the program for an architecture: SCMP_ARCH_*, which may be another one than this process
 * has. The caller frees the code. Returns 0 or -errno; -EINVAL: a name is no system call.
 */
int filters_make(const struct filters_program *program, uint32_t arch, enum filters_variant variant,
                 struct sock_filter **ret_code, size_t *ret_count);
