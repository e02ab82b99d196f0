/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label of commands, which init takes when everything is built. See build.h.
 *
 * init takes the label before no_new_privs is set, after which the kernel changes no label by
 * itself. apparmor.d(5), aa_change_profile(2), proc_pid_attr_current(5). Both attr files are init's
 * own.
 */
#include "base/kernel.h"
#include "programs/inside/init/build/build.h"

#include <stdio.h>

/*
 * Returns the label that init takes if the plan names none and the helper was confined while
 * building: commands must not keep the builder's label. apparmor/yett-helper
 */
static const char *label_after_building(const char *file)
{
	char own[64];

	return kernel_read_file(AT_FDCWD, file, own, sizeof own) > 0 &&
	                       strncmp(own, "yett-build ", 11) == 0
	               ? "yett-sandbox"
	               : "";
}

static int take_apparmor(struct build *b)
{
	static const char file[] = "/proc/self/attr/apparmor/current";
	const char *name = plan_text(b->plan, b->plan->label);
	char text[PLAN_LABEL_MAX + 16];
	int r;

	if (!*name && b->plan->label_required)
		return error_set(
			&b->error, YETT_E_UNSUPPORTED, 0,
			"the SELinux type '%s' is required, and this host does not use SELinux",
			plan_text(b->plan, b->plan->selinux_type));
	if (!*name)
		name = label_after_building(file);
	if (!*name)
		return 0;
	(void)snprintf(text, sizeof text, "changeprofile %s", name);
	r = kernel_write_file(AT_FDCWD, file, text);
	if (r == 0)
		return 0;
	/* Without root the caller may be confined already. */
	if (!b->plan->label_required && (r == -EPERM || r == -EACCES) && b->order.is_rootless)
		return 0;
	if (r != -ENOENT && r != -EINVAL)
		return r;
	if (!b->plan->label_required)
		return 0;
	if (r == -ENOENT && access(file, F_OK) == 0)
		return error_set(&b->error, YETT_E_UNSUPPORTED, 0,
		                 "the AppArmor profile '%s' is required and not loaded", name);
	return error_set(
		&b->error, YETT_E_UNSUPPORTED, 0,
		"the AppArmor profile '%s' is required, and this host does not use AppArmor", name);
}

/*
 * SELinux, where the host uses it and the profile names a type; otherwise AppArmor. No kernel
 * before 6.17 has both in force.
 */
int label_take(struct build *b, const struct plan_step *step)
{
	(void)step;
	if (!b->order.uses_selinux)
		return take_apparmor(b);
	return b->order.process_label[0] ? kernel_write_file(AT_FDCWD, "/proc/self/attr/current",
	                                                     b->order.process_label)
	                                 : 0;
}
