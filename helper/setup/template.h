/*
 * Templates: what all sandboxes of a profile share, mounted once in a mount namespace of its own.
 *
 * Built with full privilege by a child that ends at once; what is kept is the descriptor of its
 * mount namespace. Every file system in it is read-only without exception. They are the host's own,
 * nothing is copied: those of programs show root's files as owned by the face id, the others (/etc
 * among them, in any case) as nobody's. The paths come from the policy, which only root can write.
 * mount_setattr(2), open_tree(2).
 */
#pragma once

#include "base/error.h"
#include "helper/plan/order.h"
#include "helper/policy/policy.h"
#include "helper/setup/selinux.h"

#include <limits.h>

/* A tree or symbolic link at the same path in the template and in each sandbox. */
struct template_entry {
	const char *path;    /* "/usr"; the policy's */
	char link[PATH_MAX]; /* where it points; empty for a directory */
};

struct template
{
	enum selinux_state selinux; /* how it is with the profile's type */
	int mount_ns;               /* -1: not built */
	int profile;                /* sealed memory: struct init_profile. -1: not built */
	/* while it is being built: what comes into it; the child, the pipe by which it says that it
	 * has done so, and what it has to say */
	struct template_entry *entries;
	size_t entries_count;
	pid_t maker;
	int go;
	struct template_result *result;
};

#define TEMPLATE_NONE ((struct template){.mount_ns = -1, .profile = -1, .go = -1})

/*
 * Has a child build the template of `profile`, which must not move. `runtime_dir` exists and is
 * root's. `face` UINT32_MAX: without root, so nothing is id-mapped and the six nodes are the host's
 * own. 0 or a code.
 */
_must_check_ int template_start(const struct policy_profile *profile, const char *runtime_dir,
                                uint32_t face, struct template *ret_template,
                                struct yett_error *error);

/* Waits for it. 0, or a code, UNSUPPORTED with the path in the detail among them; then it is as if
 * it had not been started. */
_must_check_ int template_finish(const struct policy_profile *profile, struct template *template,
                                 struct yett_error *error);

void template_close(struct template *template);
