/* See selinux.h. As root; writes only to its own /proc/self/attr. */
#include "helper/setup/selinux.h"
#include "helper/policy/policy.h"
#include "base/kernel.h"

#include <inttypes.h>
#include <stdio.h>

/* Categories: c0 … c63 and c512 … c1023, one of each, for 32768 ranges: as many as there are below
 * 2^31. */
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
	/* From s0: what is made in a share gets the low level, that of everybody's files. mcs(8) */
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
	/* Only to see whether the kernel takes it: what is executed next is no init. An empty
	 * context is the usual one. */
	if (r < 0 || kernel_write_file(AT_FDCWD, "/proc/self/attr/exec", "\n") < 0)
		return SELINUX_UNKNOWN;
	return enforce[0] == '1' ? SELINUX_ENFORCING : SELINUX_PERMISSIVE;
}
