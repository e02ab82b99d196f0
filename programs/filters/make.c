/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See table.h. libseccomp writes the BPF.
 *
 * It searches for the number of the call in a binary tree. When a filter is loaded, the kernel runs
 * it once for each system call number, to find those that are always allowed. With a linear search
 * that takes longer than everything else.
 */
#include "programs/filters/table.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE   64
#define BINARY_TREE 2 /* a value of SCMP_FLTATR_CTL_OPTIMIZE: seccomp_attr_set(3) */
/*
 * The API level that has SECCOMP_RET_KILL_PROCESS: seccomp_api_set(3). If no level is set,
 * libseccomp accepts only what the kernel of this machine knows, which is the wrong one to ask.
 */
#define API_KILL_PROCESS 3

static int filters_add_name(scmp_filter_ctx context, const struct filters_call *call,
                            const char *name)
{
	struct scmp_arg_cmp arguments[3];
	/* libseccomp translates the number where the filter is for another architecture. */
	int number = seccomp_syscall_resolve_name(name);

	if (number == __NR_SCMP_ERROR)
		return -EINVAL;
	for (unsigned i = 0; i < call->arguments_count; i++)
		arguments[i] =
			(struct scmp_arg_cmp){call->arguments[i].index, SCMP_CMP_MASKED_EQ,
		                              call->arguments[i].mask, call->arguments[i].value};
	return seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, call->arguments_count,
	                              arguments);
}

static int filters_add_call(scmp_filter_ctx context, const struct filters_call *call)
{
	const char *names = call->names;
	char name[NAME_SIZE];
	int used;

	for (; sscanf(names, "%63s%n", name, &used) == 1; names += used) {
		int r = filters_add_name(context, call, name);

		if (r < 0)
			return r;
	}
	return 0;
}

static int filters_set_arch(scmp_filter_ctx context, uint32_t arch)
{
	int r;

	if (arch == seccomp_arch_native())
		return 0;
	r = seccomp_arch_remove(context, seccomp_arch_native());
	return r == 0 ? seccomp_arch_add(context, arch) : r;
}

static int filters_fill(scmp_filter_ctx context, const struct filters_program *program,
                        uint32_t arch, enum filters_variant variant)
{
	int r = filters_set_arch(context, arch);

	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, program->foreign);
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);
	for (size_t i = 0; r == 0 && i < FILTERS_CALLS_MAX && program->calls[i].names; i++)
		if (program->calls[i].variant <= variant)
			r = filters_add_call(context, &program->calls[i]);
	return r;
}

/* libseccomp writes to a descriptor only. */
static int filters_export(scmp_filter_ctx context, FILE *file, struct sock_filter **ret_code,
                          size_t *ret_count)
{
	struct sock_filter *code = calloc(BPF_MAXINSNS, sizeof *code);
	int r = code ? seccomp_export_bpf(context, fileno(file)) : -ENOMEM;

	if (r < 0) {
		free(code);
		return r;
	}
	rewind(file);
	*ret_count = fread(code, sizeof *code, BPF_MAXINSNS, file);
	if (ferror(file) || *ret_count == 0) {
		free(code);
		return -EIO;
	}
	*ret_code = code;
	return 0;
}

int filters_make(const struct filters_program *program, uint32_t arch, enum filters_variant variant,
                 struct sock_filter **ret_code, size_t *ret_count)
{
	scmp_filter_ctx context;
	FILE *file;
	int r = seccomp_api_set(API_KILL_PROCESS);

	if (r < 0)
		return r;
	context = seccomp_init(program->otherwise);
	file = tmpfile();
	r = context && file ? filters_fill(context, program, arch, variant) : -ENOMEM;
	if (r == 0)
		r = filters_export(context, file, ret_code, ret_count);
	if (context)
		seccomp_release(context);
	if (file)
		(void)fclose(file);
	return r;
}
