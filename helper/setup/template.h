/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: the mounts that all sandboxes of a profile share, made once in a mount namespace.
 *
 * A child with full privilege builds a template and exits; the helper keeps a descriptor of its
 * mount namespace. Every file system in a template must be read-only. They are the host's, not
 * copies. In trees of programs, root's files appear as owned by the face id; in all others (always
 * in /etc), all files appear as nobody's. The paths come from the policy, which only root can
 * write. mount_setattr(2), open_tree(2).
 */
#pragma once

#include "helper/plan/order.h"
#include "helper/policy/policy.h"
#include "helper/setup/selinux.h"

/* A directory tree or symbolic link, at the same path in the template and in each sandbox. */
struct template_entry {
	const char *path;    /* such as "/usr"; borrowed from the policy */
	char link[PATH_MAX]; /* target of the link; empty for a directory */
};

struct template
{
	enum selinux_state selinux; /* state of the profile's SELinux type */
	int mount_ns;               /* -1: not built */
	int profile;                /* sealed memory: struct init_profile. -1: not built */
	/*
	 * only while it is built: its entries; the child; and the socket on which the child sends
	 * its result
	 */
	struct template_entry *entries;
	size_t entries_count;
	pid_t maker;
	int go;
};

#define TEMPLATE_NONE ((struct template){.mount_ns = -1, .profile = -1, .go = -1})

/*
 * Starts a child that builds the template of `profile`. `profile` must not move. `runtime_dir` must
 * exist and be root's. `face` is UINT32_MAX without root: then no ids are mapped, and the six
 * device nodes are the host's own. Returns 0 or a positive code.
 */
_must_check_ int template_start(const struct policy_profile *profile, const char *runtime_dir,
                                uint32_t face, struct template *ret_template,
                                struct yett_error *error);

/*
 * Waits for the child. Returns 0 or a positive code; UNSUPPORTED if a path of the policy cannot be
 * shared, with the path in the error. After a failure the template is as if it had not been
 * started.
 */
_must_check_ int template_finish(const struct policy_profile *profile, struct template *template,
                                 struct yett_error *error);

void template_close(struct template *template);
