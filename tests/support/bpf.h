/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a system call filter on made-up calls, so that a test can ask it what no process could try.
 *
 * Classic BPF as far as filters use it; anything else fails the test.
 */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/testing.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

struct bpf {
	struct sock_filter *code;
	size_t count;
};

static inline bool bpf_jump_taken(const struct sock_filter *insn, uint32_t value)
{
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return value == insn->k;
	case BPF_JGT:
		return value > insn->k;
	case BPF_JGE:
		return value >= insn->k;
	case BPF_JSET:
		return value & insn->k;
	default:
		fail_msg("jump %#x", insn->code);
		return false;
	}
}

/* The filter's answer: SECCOMP_RET_*. Adds the instructions that were run to *steps. */
static inline uint32_t bpf_run_counted(const struct bpf *filter, const struct seccomp_data *data,
                                       size_t *steps)
{
	uint32_t value = 0;

	for (size_t pc = 0; pc < filter->count; pc++) {
		const struct sock_filter *insn = &filter->code[pc];

		++*steps;
		switch (BPF_CLASS(insn->code)) {
		case BPF_LD:
			assert_true(insn->k + 4 <= sizeof *data);
			memcpy(&value, (const uint8_t *)data + insn->k, 4);
			break;
		case BPF_ALU:
			assert_int_equal(BPF_OP(insn->code), BPF_AND);
			value &= insn->k;
			break;
		case BPF_JMP:
			if (BPF_OP(insn->code) == BPF_JA)
				pc += insn->k;
			else
				pc += bpf_jump_taken(insn, value) ? insn->jt : insn->jf;
			break;
		case BPF_RET:
			return insn->k;
		default:
			fail_msg("instruction %#x", insn->code);
		}
	}
	fail_msg("the program runs off its end");
	return 0;
}

static inline uint32_t bpf_run(const struct bpf *filter, const struct seccomp_data *data)
{
	size_t steps = 0;

	return bpf_run_counted(filter, data, &steps);
}
