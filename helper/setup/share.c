/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks, clones and id-maps what a client wants to share. See making.h.
 *
 * Runs with full privilege, in a process that can be killed: the client's descriptors are open only
 * here, and then in init. Clones are made in the helper's own mount namespace, so that open_tree(2)
 * refuses a descriptor from another one, where paths may be forged. Root must resolve no path of a
 * client: it clones the client's descriptors, and init attaches the clones.
 */
#include "helper/setup/making.h"

#include <linux/magic.h>
#include <sys/vfs.h>

struct sharing {
	struct setup *setup;
	const struct plan *plan;
	struct frame *frame; /* the client's packet */
	struct share_protected *protected_paths;
	int to; /* socket to init */
};

static bool is_shared(const struct plan_step *step)
{
	return step->kind == PLAN_SHARE || step->kind == PLAN_HOST;
}

static enum setup_map map_of(const struct plan_step *step)
{
	return step->layer ? SETUP_MAP_LAYERS : SETUP_MAP_SHARES;
}

/* File systems that are interfaces to the kernel, not places for files. */
static const struct {
	long magic;
	const char *name;
} pseudo_file_systems[] = {
	{PROC_SUPER_MAGIC, "proc"},
	{SYSFS_MAGIC, "sysfs"},
	{CGROUP_SUPER_MAGIC, "cgroup"},
	{CGROUP2_SUPER_MAGIC, "cgroup2"},
	{NSFS_MAGIC, "nsfs"},
	{DEBUGFS_MAGIC, "debugfs"},
	{TRACEFS_MAGIC, "tracefs"},
	{SECURITYFS_MAGIC, "securityfs"},
	{SELINUX_MAGIC, "selinuxfs"},
	{SMACK_MAGIC, "smackfs"},
	{BPF_FS_MAGIC, "bpf"},
	{DEVPTS_SUPER_MAGIC, "devpts"},
	{PIPEFS_MAGIC, "pipefs"},
	{SOCKFS_MAGIC, "sockfs"},
	{ANON_INODE_FS_MAGIC, "anon_inodefs"},
	{BINDERFS_SUPER_MAGIC, "binder"},
	{EFIVARFS_MAGIC, "efivarfs"},
	{AUTOFS_SUPER_MAGIC, "autofs"},
	{0x62656570, "configfs"},
	{0x6165676C, "pstore"},
	{0x65735543, "fusectl"},
	{0x19800202, "mqueue"},
};

static const char *pseudo_name(int fd)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) < 0)
		return "unknown";
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_file_systems); i++)
		if ((long)sfs.f_type == pseudo_file_systems[i].magic)
			return pseudo_file_systems[i].name;
	return NULL;
}

/*
 * Returns whether `rules`, the step's source, allow to share `fd`. `rules` lists directories,
 * separated by newlines; "*" allows anything. For a socket, `rules` lists paths. They are compared
 * with the path that the kernel reports for `fd`, since root must look up no name where users can
 * create names. In another mount namespace that path could be forged; open_tree(2) refuses such a
 * descriptor later. A user who may create files in the socket's directory decides which socket is
 * at the path; no sandbox may create files there (check_path() of the policy).
 */
static bool share_is_allowed(int fd, const struct stat *st, const char *rules)
{
	char rule[PATH_MAX], link[32], path[PATH_MAX];
	struct stat wanted;
	ssize_t n;

	FORMAT(link, "/proc/self/fd/%d", fd);
	n = S_ISSOCK(st->st_mode) ? readlink(link, path, sizeof path) : 0;
	for (const char *at = rules; *at;) {
		size_t length = strcspn(at, "\n");

		if (length == 1 && *at == '*')
			return true;
		if (n > 0 && length == (size_t)n && memcmp(at, path, length) == 0)
			return true;
		if (length < sizeof rule && S_ISDIR(st->st_mode)) {
			memcpy(rule, at, length);
			rule[length] = '\0';
			if (stat(rule, &wanted) == 0 && fd_is_in(fd, &wanted))
				return true;
		}
		at += length + (at[length] == '\n');
	}
	return false;
}

void share_find_protected(const struct policy *policy, struct share_protected *ret_paths)
{
	const char *directories[SHARE_PROTECTED] = {POLICY_RUNTIME_DIRS, POLICY_RUNTIME_X11,
	                                            policy->runtime_dir};

	*ret_paths = (struct share_protected){0};
	for (size_t i = 0; i < SHARE_PROTECTED; i++) {
		_cleanup_fd_ int at = open(directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stat here;

		if (at < 0 || fstat(at, &here) < 0)
			/* a directory that does not exist contains nothing */
			continue;
		ret_paths->at[ret_paths->count++] = here;
		do
			if (ret_paths->above_count < ARRAY_SIZE(ret_paths->above))
				ret_paths->above[ret_paths->above_count++] = here;
		while (fd_climb(&at, &here));
	}
}

/* Returns whether the directory is a protected one, or is inside or above one. */
static bool share_is_protected(int fd, const struct stat *st,
                               struct share_protected *protected_paths)
{
	/* a file has no ".." */
	_cleanup_fd_ int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat above;

	if (!S_ISDIR(st->st_mode))
		return false;
	for (size_t i = 0; i < protected_paths->above_count; i++)
		if (fd_same_file(st, &protected_paths->above[i]))
			return true;
	/* there may be more directories above */
	if (protected_paths->above_count == ARRAY_SIZE(protected_paths->above))
		return true;
	if (parent < 0 || fstat(parent, &above) < 0)
		return false;
	if (fd_find_above(parent, protected_paths->at,
	                  protected_paths->count + protected_paths->has_clear) <
	    protected_paths->count)
		return true;
	protected_paths->at[protected_paths->count] = above;
	protected_paths->has_clear = true;
	return false;
}

int share_check(struct share_protected *protected_paths, const struct plan *plan, int fd,
                const struct plan_step *step, struct stat *ret_stat, struct yett_error *error)
{
	const char *target = plan_text(plan, step->target), *rules = plan_text(plan, step->source);
	bool writes = step->writable && !step->layer;
	static const char *const kinds[] = {"file", "directory", "socket"}, *const keys[] = {
										    "share_ro",
										    "share_rw",
										    "sockets"};
	const char *pseudo = pseudo_name(fd);

	if (fstat(fd, ret_stat) < 0)
		return -errno;
	if (step->layer && (!S_ISDIR(ret_stat->st_mode) || ret_stat->st_uid != plan->caller_uid))
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the %s for %s is no directory that belongs to the caller",
		                 step->layer == PLAN_LAYER_STORE ? "store" : "source", target);
	if (step->is_socket ? !S_ISSOCK(ret_stat->st_mode)
	                    : !S_ISDIR(ret_stat->st_mode) && !S_ISREG(ret_stat->st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the share for %s is %s", target,
		                 step->is_socket ? "no socket"
		                                 : "neither a directory nor a regular file");
	if (pseudo)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
		                 "the share for %s is on a %s file system", target, pseudo);
	if (share_is_protected(fd, ret_stat, protected_paths))
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, 0,
			"the share for %s is, or contains, a runtime directory: its sockets reach the host",
			target);
	if (share_is_allowed(fd, ret_stat, rules))
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, 0,
	                "the policy does not let this user share that %s %s",
	                kinds[step->is_socket ? 2 : S_ISDIR(ret_stat->st_mode)],
	                writes ? "read-write" : "read-only");
	return error_key(error, keys[step->is_socket ? 2 : writes], (uint32_t)(step - plan->steps));
}

/*
 * MS_PRIVATE, because mounts would propagate between the sandbox and the host if the clone stayed
 * in a peer group. Recursive, because a clone of the top mount alone would uncover what is mounted
 * over.
 */
static int restrict_tree(const struct sharing *sharing, int tree, const struct plan_step *step,
                         struct yett_error *error)
{
	bool is_rootless = sharing->setup->host->rootless,
	     writable = step->writable && step->layer != PLAN_LAYER_SOURCE;
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	                    (writable ? 0 : MOUNT_ATTR_RDONLY) |
	                    (is_rootless ? 0 : MOUNT_ATTR_IDMAP),
		.propagation = MS_PRIVATE,
		.userns_fd = is_rootless ? 0 : (uint64_t)sharing->setup->maps[map_of(step)],
	};

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) ==
	    0)
		return 0;
	if (!is_rootless && (errno == EINVAL || errno == EPERM))
		return error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"the directory to share at %s, or a mount below that directory, is on a file system without id-mapped mounts",
			plan_text(sharing->plan, step->target));
	return -errno;
}

/*
 * Returns whether the store is inside a source. The kernel would allow an overlay over the
 * directory that its upper layer is in, and show that layer inside itself.
 */
static bool lies_in_source(const struct sharing *sharing, int store)
{
	struct stat source;
	bool lies = false;

	for (uint32_t i = 0; i < sharing->plan->steps_count; i++)
		lies = lies ||
		       (sharing->plan->steps[i].layer == PLAN_LAYER_SOURCE &&
		        fstat(sharing->frame->fds[sharing->plan->steps[i].fd], &source) == 0 &&
		        fd_is_in(store, &source));
	return lies;
}

static int clone_share(const struct sharing *sharing, const struct plan_step *step, int *ret_tree,
                       struct yett_error *error)
{
	const struct setup_host *host = sharing->setup->host;
	const char *target = plan_text(sharing->plan, step->target);
	int fd = sharing->frame->fds[step->fd], r;
	struct stat asked, cloned;
	_cleanup_fd_ int tree = -1, own = host->rootless ? host->rootless->reopen(fd) : -1;

	if (host->rootless && own < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0,
		                 "the share for %s cannot be found by its path: %s", target,
		                 strerror(-own));
	fd = own < 0 ? fd : own;
	r = share_check(sharing->protected_paths, sharing->plan, fd, step, &asked, error);
	if (r == 0 && step->layer == PLAN_LAYER_STORE && lies_in_source(sharing, fd))
		r = error_set(error, YETT_E_INVALID_REQUEST, 0,
		              "the store for %s is inside its copy-on-write share", target);
	if (r != 0)
		return r;
	tree = open_tree(fd, "",
	                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 && errno == EINVAL)
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
		                 "the share for %s is of another mount namespace than the helper's",
		                 target);
	if (tree < 0 || fstat(tree, &cloned) < 0)
		return -errno;
	if (!fd_same_file(&asked, &cloned))
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
		                 "the share for %s changed while it was looked at", target);
	*ret_tree = steal_fd(&tree);
	return 0;
}

/* Clones a path of the policy. *ret_tree is -1 if the path does not exist and is optional. */
static int clone_host(const struct sharing *sharing, const struct plan_step *step, int *ret_tree,
                      _unused_ struct yett_error *error)
{
	*ret_tree = open_tree(AT_FDCWD, plan_text(sharing->plan, step->source),
	                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	return *ret_tree < 0 && !(errno == ENOENT && step->optional) ? -errno : 0;
}

/* Receives the client's packet. The decider has peeked at it, so it is in the queue. */
static int take_packet(struct sharing *sharing, int connection, struct yett_error *error)
{
	int r = frame_receive(connection, sharing->frame, MSG_DONTWAIT);

	if (r == -EMSGSIZE || (r > 0 && sharing->frame->fd_count != sharing->plan->share_fds))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "the number of descriptors is not the number stated");
	return r > 0 ? 0 : r < 0 ? r : -ECONNRESET;
}

/*
 * Only the caller's ids appear in shares as ids of the sandbox, because init can take any id of the
 * sandbox while it builds, and then has capabilities over the files that this id owns. If commands
 * have id 0 inside or keep capabilities, only the caller's uid and primary gid are mapped, and the
 * files of the caller's other groups appear as nobody's.
 *
 * In an overlay's layer, all ids but the caller's are left unmapped. A copy-up keeps owner and
 * mode. Otherwise a sandbox could rename a set-uid file of root's, and so make one in the caller's
 * directory; or copy a file that only root may read.
 */
static int open_map(const struct setup *setup, const struct plan *plan, enum setup_map map)
{
	const struct idmap *of = &setup->map;
	const struct idmap_subject subject = setup_subject(plan);

	if (of->shares_need_own_map || plan->capabilities != 0)
		return idmap_open_single(plan->caller_uid, idmap_host(&of->uids, of->payload_uid),
		                         plan->caller_gid, idmap_host(&of->gids, of->payload_gid));
	return idmap_open_shares(of, &subject, map == SETUP_MAP_LAYERS);
}

bool share_needs_map(const struct plan *plan, enum setup_map map)
{
	bool needs = false;

	for (uint32_t i = 0; i < plan->steps_count; i++)
		needs = needs || (is_shared(&plan->steps[i]) && map_of(&plan->steps[i]) == map);
	return needs;
}

int share_open_maps(struct setup *setup, const struct plan *plan)
{
	for (enum setup_map map = 0; map < SETUP_MAPS; map++) {
		if (setup->host->rootless || setup->maps[map] >= 0 || !share_needs_map(plan, map))
			continue;
		setup->maps[map] = open_map(setup, plan, map);
		if (setup->maps[map] < 0)
			return setup->maps[map];
	}
	return 0;
}

void share_close_maps(struct setup *setup)
{
	for (enum setup_map map = 0; map < SETUP_MAPS; map++)
		setup->maps[map] = fd_close(setup->maps[map]);
}

static int clone_step(const struct sharing *sharing, const struct plan_step *step, int *ret_tree,
                      struct yett_error *error)
{
	const char *name = step->kind == PLAN_SHARE ? "share" : "host",
		   *target = plan_text(sharing->plan, step->target);
	int r = reached_step("sharer", name);

	if (r == 0)
		r = (step->kind == PLAN_SHARE ? clone_share : clone_host)(sharing, step, ret_tree,
		                                                          error);
	if (r == 0 && *ret_tree >= 0)
		r = restrict_tree(sharing, *ret_tree, step, error);
	if (r < 0)
		error_set(error, YETT_E_INIT_FAILED, 0, "set-up step %s %s failed: %s", name,
		          target, strerror(-r));
	return r == 0 ? 0 : error_cause(error, name, r < 0 ? -r : error->os_error);
}

/*
 * Clones all steps; trees[i] is -1 if step i needs no clone. After a failure, the clones made so
 * far are closed when this process exits.
 */
static int clone_all(const struct sharing *sharing, int trees[static PLAN_STEPS_MAX],
                     struct yett_error *error)
{
	int r = 0;

	for (uint32_t i = 0; i < PLAN_STEPS_MAX; i++) {
		const struct plan_step *step = &sharing->plan->steps[i];

		trees[i] = -1;
		if (r == 0 && i < sharing->plan->steps_count && is_shared(step))
			r = clone_step(sharing, step, &trees[i], error);
	}
	return r;
}

/*
 * Has the kernel lock the restrictions of the clones (read-only, nosuid, nodev). init has power
 * over its mounts while it builds, and could clear the restrictions of a mount that it attaches.
 * The kernel locks them when it copies mounts into a mount namespace that another user namespace
 * owns: mount_namespaces(7). So the clones are attached in a copy of the template's mounts, that
 * copy is copied for the sandbox's upper user namespace, and the trees are cloned from there. Both
 * mount namespaces must last as long as this process, and no longer: the kernel would make it wait
 * for the end of one.
 */
static int lock_trees(const struct sharing *sharing, int trees[static PLAN_STEPS_MAX])
{
	const struct setup *setup = sharing->setup;
	_cleanup_fd_ int at = kernel_mount_new("tmpfs", NULL, "", 0),
			 self = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[16];
	struct stat st;

	if (at < 0 || self < 0)
		return at < 0 ? at : -ENOENT;
	/*
	 * The template has an empty directory "lower": template.c. The descriptor of the first copy
	 * stays open, so that this mount namespace does not end when the process leaves it.
	 */
	if (setns(setup->host->templates[setup->profile].mount_ns, CLONE_NEWNS) < 0 ||
	    unshare(CLONE_NEWNS) < 0 || openat(self, "mnt", O_RDONLY | O_CLOEXEC) < 0 ||
	    move_mount(at, "", AT_FDCWD, "lower", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    chdir("lower") < 0)
		return -errno;
	for (uint32_t i = 0; i < PLAN_STEPS_MAX; i++) {
		FORMAT(name, "%u", i);
		if (trees[i] >= 0 &&
		    (fstat(trees[i], &st) < 0 ||
		     (S_ISDIR(st.st_mode) ? mkdir(name, 0700) : mknod(name, S_IFREG, 0)) < 0 ||
		     move_mount(trees[i], "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH) < 0))
			return -errno;
	}
	if (setns(setup->user_ns, CLONE_NEWUSER) < 0 || unshare(CLONE_NEWNS) < 0)
		return -errno;
	for (uint32_t i = 0; i < PLAN_STEPS_MAX; i++) {
		if (trees[i] < 0)
			continue;
		FORMAT(name, "%u", i);
		fd_close(trees[i]);
		trees[i] = open_tree(AT_FDCWD, name,
		                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (trees[i] < 0)
			return -errno;
	}
	return 0;
}

static int send_kinds(const struct sharing *sharing, const int trees[static PLAN_STEPS_MAX])
{
	uint8_t kinds[PLAN_STEPS_MAX] = {0};
	struct stat st;

	for (uint32_t i = 0; i < sharing->plan->steps_count; i++) {
		if (trees[i] < 0)
			continue;
		if (fstat(trees[i], &st) < 0)
			return -errno;
		kinds[i] = S_ISDIR(st.st_mode) ? INIT_TREE_DIRECTORY : INIT_TREE_FILE;
	}
	return frame_send(sharing->to, kinds, sharing->plan->steps_count, NULL, 0, 0);
}

static int send_some(const struct sharing *sharing, struct init_trees *packet, const int *fds)
{
	int r = frame_send(sharing->to, packet, sizeof *packet, fds, packet->count, 0);

	packet->count = 0;
	return r;
}

/*
 * Sends the trees in packets as large as possible, and closes them. The last packet has no trees:
 * when init receives it, no other process has a descriptor of them, so the mounts are not busy.
 */
static int send_trees(const struct sharing *sharing, int trees[static PLAN_STEPS_MAX])
{
	struct init_trees packet = {0};
	int fds[INIT_TREES_MAX], r = 0;

	for (uint32_t i = 0; r == 0 && i < sharing->plan->steps_count; i++) {
		if (trees[i] < 0)
			continue;
		if (packet.count == INIT_TREES_MAX)
			r = send_some(sharing, &packet, fds);
		packet.steps[packet.count] = i;
		fds[packet.count++] = trees[i];
	}
	if (r == 0)
		r = send_some(sharing, &packet, fds);
	for (uint32_t i = 0; i < sharing->plan->steps_count; i++)
		trees[i] = fd_close(trees[i]);
	packet.is_last = true;
	return r == 0 ? send_some(sharing, &packet, fds) : r;
}

static void __attribute__((noreturn)) share_share(struct sharing *sharing, int connection)
{
	struct setup_shared *shared = sharing->setup->shared;
	struct share_protected protected_paths;
	int trees[PLAN_STEPS_MAX], r;

	kernel_die_with_parent();
	setup_host_keep_only(sharing->setup->host,
	                     (const int[]){connection, sharing->to, sharing->setup->user_ns,
	                                   sharing->setup->maps[SETUP_MAP_SHARES],
	                                   sharing->setup->maps[SETUP_MAP_LAYERS]},
	                     5);
	r = share_open_maps(sharing->setup, sharing->plan);
	if (r == 0 && connection >= 0) {
		share_find_protected(sharing->setup->host->policy,
		                     sharing->protected_paths = &protected_paths);
		r = take_packet(sharing, connection, &shared->error);
	}
	if (r == 0)
		r = clone_all(sharing, trees, &shared->error);
	if (r == 0 && !sharing->setup->host->rootless)
		r = lock_trees(sharing, trees);
	if (r == 0) {
		r = send_kinds(sharing, trees);
		r = r == 0 ? send_trees(sharing, trees) : r;
		/* -EPIPE and -ECONNRESET: init has given up, and reports why */
		if (r == 0 || r == -EPIPE || r == -ECONNRESET)
			_exit(0);
	}
	if (r < 0)
		r = error_set(&shared->error, YETT_E_INIT_FAILED, 0,
		              "the shares cannot be cloned: %s", strerror(-r));
	/* set before init sees the end of the socket */
	shared->result = r;
	_exit(1);
}

int share_start(struct setup *setup, const struct plan *plan, int connection, int to)
{
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	struct sharing sharing = {.setup = setup, .plan = plan, .frame = frame, .to = to};

	if (!frame)
		return -ENOMEM;
	setup->mount_clone_child = fork();
	if (setup->mount_clone_child == 0)
		share_share(&sharing, connection);
	return setup->mount_clone_child < 0 ? -errno : 0;
}
