/* SPDX-License-Identifier: Apache-2.0 */
/* See selinux.h. As root; writes only to its own /proc/self/attr. */
#include "helper/setup/selinux.h"
#include "helper/policy/policy.h"
#include "base/kernel.h"

/* One category of c0 … c63 and one of c512 … c1023: 32768 pairs, one for each range below 2^31. */
#define FIRST_CATEGORIES  64
#define SECOND_CATEGORIES 512
_Static_assert(FIRST_CATEGORIES *SECOND_CATEGORIES >= POLICY_IDS_END_MAX / POLICY_IDS_STEP,
               "a pair for every range");

static void write_context(const char *role, const char *type, const char *level, uint32_t id,
                          char *context)
{
	uint32_t range = id / POLICY_IDS_STEP;

	(void)snprintf(context, SELINUX_CONTEXT_MAX, "system_u:%s:%s:%s:c%" PRIu32 ",c%" PRIu32,
	               role, type, level, range / SECOND_CATEGORIES,
	               SECOND_CATEGORIES + range % SECOND_CATEGORIES);
}

void selinux_process_context(const char *type, uint32_t id, char context[SELINUX_CONTEXT_MAX])
{
	/*
	 * The low level is s0: files made in a share get the low level, which is that of
	 * everybody's files. mcs(8)
	 */
	write_context("system_r", type, "s0-s0", id, context);
}

void selinux_file_context(uint32_t id, char context[SELINUX_CONTEXT_MAX])
{
	write_context("object_r", "yett_sandbox_file_t", "s0", id, context);
}

enum selinux_state selinux_look(const char *type)
{
	char context[SELINUX_CONTEXT_MAX], enforce[16];
	int r;

	/* selinuxfs is mounted where SELinux is in use, and only there. */
	if (kernel_read_file(AT_FDCWD, "/sys/fs/selinux/enforce", enforce, sizeof enforce) <= 0)
		return SELINUX_ABSENT;
	if (!*type)
		return SELINUX_UNNAMED;
	selinux_process_context(type, 0, context);
	r = kernel_write_file(AT_FDCWD, "/proc/self/attr/exec", context);
	/*
	 * Written only to test whether the kernel accepts it. An empty context restores the
	 * default, so that the next exec of this process is not affected.
	 */
	if (r < 0 || kernel_write_file(AT_FDCWD, "/proc/self/attr/exec", "\n") < 0)
		return SELINUX_UNKNOWN;
	return enforce[0] == '1' ? SELINUX_ENFORCING : SELINUX_PERMISSIVE;
}
