/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From building to serving: drops capabilities, and makes the user namespace of commands. See
 * build.h.
 *
 * The sandbox's namespaces are owned by the upper user namespace, in which only init is, and only
 * while it builds. Commands, and init from then on, are in the lower one, which has the same ids.
 * No capability in the lower namespace is valid in the upper one.
 */
#include "base/kernel.h"
#include "programs/inside/init/build/build.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

#define MAP_SIZE 4096 /* the kernel accepts a map in a single write of less than a page */

#define CAP_MASK(cap) (UINT64_C(1) << (cap))

/*
 * init needs these to set the ids of commands and to signal them. Where init and commands have the
 * same id, these capabilities also protect init: the kernel does not let a process act on another
 * one with the same id that has more capabilities, except for signals and limits.
 */
#define INIT_CAPABILITIES (CAP_MASK(CAP_SETUID) | CAP_MASK(CAP_SETGID) | CAP_MASK(CAP_KILL))

/*
 * The capabilities that override file modes and owners. Effective only on the sandbox's own file
 * systems, and so held only while no others are mounted.
 */
#define FILE_CAPABILITIES (CAP_MASK(CAP_CHOWN) | CAP_MASK(CAP_DAC_OVERRIDE) | CAP_MASK(CAP_FOWNER))

/*
 * overlayfs writes to directories of mode 0, and to attributes of files of mode 0444; it has
 * created both itself.
 */
#define MOUNTER_CAPABILITIES (CAP_MASK(CAP_SYS_ADMIN) | CAP_MASK(CAP_DAC_OVERRIDE))

struct sets {
	uint64_t effective, permitted;
};

static int read_sets(struct sets *ret_sets)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret_sets =
		(struct sets){.effective = data[0].effective | (uint64_t)data[1].effective << 32,
	                      .permitted = data[0].permitted | (uint64_t)data[1].permitted << 32};
	return 0;
}

static int write_sets(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable},
		{(uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
	         (uint32_t)(inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

int lower_begin(void)
{
	struct sets sets;
	int r = read_sets(&sets);

	if (r == 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		r = -errno;
	return r == 0 ? write_sets(sets.effective, sets.permitted, 0) : r;
}

int lower_shed(bool mounts_overlays)
{
	uint64_t kept = mounts_overlays ? MOUNTER_CAPABILITIES : 0;
	struct sets sets;
	int r = read_sets(&sets);

	for (unsigned long cap = 0; r == 0 && cap < 64; cap++)
		if ((FILE_CAPABILITIES & CAP_MASK(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			r = -errno;
	return r == 0 ? write_sets(sets.effective & ~FILE_CAPABILITIES,
	                           sets.permitted & ~(FILE_CAPABILITIES & ~kept), 0)
	              : r;
}

int lower_be_mounter(bool is_mounter)
{
	struct sets sets;
	int r = read_sets(&sets);

	return r == 0 ? write_sets(is_mounter ? MOUNTER_CAPABILITIES
	                                      : sets.permitted & ~FILE_CAPABILITIES,
	                           sets.permitted, 0)
	              : r;
}

int lower_be_command(const struct build *b)
{
	gid_t groups[PLAN_GROUPS_MAX];
	size_t count = 0;
	struct sets sets;
	int r = read_sets(&sets);

	if (r < 0)
		return r;
	for (uint32_t i = 0; b->plan->identity != PLAN_IDENTITY_ROOT && i < b->plan->groups_count;
	     i++)
		groups[count++] = b->plan->groups[i];
	/* Without root the groups are the caller's already. */
	if (!b->order.is_rootless && setgroups(count, groups) < 0)
		return -errno;
	(void)setfsgid(b->order.payload_gid);
	(void)setfsuid(b->order.payload_uid);
	/*
	 * setfsuid(2) and setfsgid(2) return the previous id, so these calls show what is in force.
	 */
	if ((uint32_t)setfsuid((uid_t)-1) != b->order.payload_uid ||
	    (uint32_t)setfsgid((gid_t)-1) != b->order.payload_gid)
		return -EPERM;
	return write_sets(sets.effective & ~FILE_CAPABILITIES, sets.permitted, 0);
}

static void use_files_as(uid_t uid, gid_t gid)
{
	struct sets sets;

	(void)setfsuid(uid);
	(void)setfsgid(gid);
	/*
	 * The kernel changes the effective set together with the file system uid. capabilities(7)
	 */
	if (read_sets(&sets) == 0)
		(void)write_sets(sets.permitted, sets.permitted, 0);
}

void lower_be_owner(const struct build *b)
{
	bool is_there = b->owner_uid != UINT32_MAX;

	use_files_as(is_there ? b->owner_uid : geteuid(), is_there ? b->owner_gid : getegid());
}

/*
 * Forbids user namespaces below the calling process's own. The sysctl belongs to that user
 * namespace and is not inherited. namespaces(7)
 */
static int close_door(int proc)
{
	return kernel_write_file(proc, "sys/user/max_user_namespaces", "0");
}

/*
 * Also forbids mount namespaces that the user namespace of commands owns. In a mount namespace
 * where nothing is mounted on a name, that name can be renamed, together with what other namespaces
 * have mounted there. The upper user namespace needs no such limit: only init can make mount
 * namespaces there, and it needs one for each detached mount.
 */
static int close_doors(int proc)
{
	int r = kernel_write_file(proc, "sys/user/max_mnt_namespaces", "0");

	return r < 0 ? r : close_door(proc);
}

/*
 * Allows namespaces for sandboxes inside the sandbox. The number of network namespaces is small,
 * because each one costs kernel memory that no limit of the sandbox counts.
 */
static int open_door(int proc)
{
	static const char *const most[][2] = {{"sys/user/max_net_namespaces", "64"},
	                                      {"sys/user/max_mnt_namespaces", "4096"},
	                                      {"sys/user/max_user_namespaces", "1024"}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(most); i++)
		r = kernel_write_file(proc, most[i][0], most[i][1]);
	return r;
}

/*
 * Maps each of our ids to itself. Uses the extents of our own map, because no extent may span two
 * of them. user_namespaces(7)
 */
static int copy_map(const struct build *b, const char *name, char copy[static MAP_SIZE])
{
	char *map;
	size_t used = 0;
	unsigned first, count;
	int n = 0, r = (int)build_read_file(b, b->proc, name, &map);

	for (const char *at = map; r > 0 && sscanf(at, "%u %*u %u%n", &first, &count, &n) == 2;
	     at += n) {
		int length =
			snprintf(copy + used, MAP_SIZE - used, "%u %u %u\n", first, first, count);

		if (length < 0 || (size_t)length >= MAP_SIZE - used)
			return -E2BIG;
		used += (size_t)length;
	}
	return r < 0 ? r : 0;
}

int lower_make(struct build *b, const struct plan_step *step)
{
	char uids[MAP_SIZE], gids[MAP_SIZE];
	int r = copy_map(b, "self/uid_map", uids);

	(void)step;
	if (r == 0)
		r = copy_map(b, "self/gid_map", gids);
	if (r < 0)
		return r;
	b->lower_ns = kernel_open_userns(b->proc, uids, gids, close_doors);
	/*
	 * The host may allow only its root to make user namespaces
	 * (kernel.unprivileged_userns_clone = 0): lower_stay().
	 */
	if (b->lower_ns == -EPERM)
		return close_door(b->proc);
	return b->lower_ns < 0 ? b->lower_ns : 0;
}

/*
 * Keeps the capabilities in the lower namespace that init and commands need; the bounding set keeps
 * only those of commands. The loop ends at the first capability that the kernel does not know. The
 * securebits stop an exec as id 0 inside from regaining capabilities, and a change of ids from
 * adding or removing any.
 */
static int lower_keep_only(uint64_t keep, uint64_t bounding)
{
	const unsigned long securebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	                                 SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED;

	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(bounding & CAP_MASK(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno != EINVAL || cap <= CAP_BLOCK_SUSPEND)
				return -errno;
			break;
		}
	if (prctl(PR_SET_SECUREBITS, securebits, 0, 0, 0) < 0)
		return -errno;
	return write_sets(keep, keep, bounding);
}

/*
 * Without a lower user namespace, commands stay where the sandbox was built. Staying there is
 * harmless if commands have no capabilities. A sandbox whose commands need capabilities or user
 * namespaces is refused.
 */
static int lower_stay(struct build *b)
{
	const char *wanted = b->plan->capabilities    ? "keep capabilities"
	                     : b->plan->nested_userns ? "make user namespaces"
	                                              : NULL;

	if (!wanted)
		return lower_keep_only(INIT_CAPABILITIES, 0);
	return error_set(
		&b->error, YETT_E_UNSUPPORTED, 0,
		"commands cannot %s on this host: it lets only root make user namespaces (kernel.unprivileged_userns_clone = 0)",
		wanted);
}

int lower_enter(struct build *b, const struct plan_step *step)
{
	_cleanup_fd_ int proc = -1;
	int r;

	(void)step;
	use_files_as(geteuid(), getegid());
	if (b->lower_ns < 0)
		return lower_stay(b);
	/* Cloned without the mounts inside it, because sys in it is read-only by now. */
	if (b->plan->nested_userns &&
	    (proc = open_tree(b->proc, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)) <
	            0)
		return -errno;
	if (setns(b->lower_ns, CLONE_NEWUSER) < 0)
		return -errno;
	b->lower_ns = fd_close(b->lower_ns);
	if (b->plan->nested_userns && (r = open_door(proc)) < 0)
		return r;
	return lower_keep_only(INIT_CAPABILITIES | b->plan->capabilities, b->plan->capabilities);
}
