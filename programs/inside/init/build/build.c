/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the set-up steps, and the supervisor's orders. See build.h.
 *
 * INIT_BUILD_CAPABILITIES of helper/plan/order.h lists the capabilities of this stage and the
 * functions that need them.
 */
#include "programs/inside/init/build/build.h"
#include "base/kernel.h"
#include "base/reached.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/inside/init/start.h"
#include "protocol/frame.h"

#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/*
 * AHEAD needs no plan. READY is what the profile decides, and runs ahead of a request that is
 * expected. OWN is what the request adds on the sandbox's own file systems. OTHERS is what the
 * client brought, and what is located inside that. LAST ends the building stage permanently.
 */
enum build_stage { STAGE_AHEAD, STAGE_READY, STAGE_OWN, STAGE_OTHERS, STAGE_LAST, STAGES };

static const build_step steps[PLAN_STEP_KINDS][STAGES] = {
	[PLAN_ROOT] = {[STAGE_READY] = root_make},
	[PLAN_PROC] = {[STAGE_AHEAD] = root_prepare_proc, [STAGE_READY] = root_proc},
	[PLAN_DEVPTS] = {[STAGE_READY] = root_devpts},
	[PLAN_SYS] = {[STAGE_READY] = root_sys, [STAGE_OWN] = root_processors},
	[PLAN_ETC] = {[STAGE_READY] = etc_prepare, [STAGE_OWN] = etc_make},
	[PLAN_UNMOUNT] = {[STAGE_OTHERS] = attach_unmount},
	[PLAN_REFRESH] = {[STAGE_OTHERS] = overlay_refresh},
	[PLAN_TMPFS] = {[STAGE_OWN] = attach_prepare, [STAGE_OTHERS] = attach_mount},
	[PLAN_SHARE] = {[STAGE_OWN] = attach_prepare, [STAGE_OTHERS] = attach_mount},
	[PLAN_HOST] = {[STAGE_OWN] = attach_prepare, [STAGE_OTHERS] = attach_mount},
	[PLAN_PIN] = {[STAGE_OTHERS] = attach_cover},
	[PLAN_READ_ONLY] = {[STAGE_READY] = attach_cover,
                            [STAGE_OWN] = attach_cover,
                            [STAGE_OTHERS] = attach_cover},
	[PLAN_MASK] = {[STAGE_READY] = attach_cover,
                       [STAGE_OWN] = attach_cover,
                       [STAGE_OTHERS] = attach_cover},
	[PLAN_LOOPBACK] = {[STAGE_AHEAD] = names_loopback},
	[PLAN_NETWORK] = {[STAGE_AHEAD] = network_prepare, [STAGE_OWN] = network_make},
	[PLAN_HOSTNAME] = {[STAGE_OWN] = names_host},
	[PLAN_IDENTITY] = {[STAGE_AHEAD] = lower_make, [STAGE_LAST] = lower_enter},
	[PLAN_INIT] = {[STAGE_OWN] = about_make, [STAGE_LAST] = label_take},
};

/*
 * Covers inside a share are made in STAGE_OTHERS, with the ids of commands: a share can have paths
 * that commands can reach and init cannot.
 */
static enum build_stage stage_of_cover(const struct build *b, const struct plan_step *step)
{
	if (build_covers_proc(b->plan, step))
		return STAGE_READY;
	return attach_lies_in_others(b, step) ? STAGE_OTHERS : STAGE_OWN;
}

static int run_step(struct build *b, const struct plan_step *step, enum build_stage stage,
                    const char **ret_step)
{
	static const char *const names[] = {"init ahead", "init", "init own", "init", "init"};
	const char *name = plan_name_step(step->kind),
		   *target = stage == STAGE_AHEAD ? "" : plan_text(b->plan, step->target);
	int r;

	/*
	 * In a running sandbox, attach_mount() covers the paths of a share before it attaches the
	 * share.
	 */
	if (!steps[step->kind][stage] ||
	    (build_is_cover(step) && (b->enters || stage != stage_of_cover(b, step))))
		return 0;
	*ret_step = name;
	r = reached_step(names[stage], name);
	if (r == 0)
		r = steps[step->kind][stage](b, step);
	if (r < 0)
		(void)error_set(&b->error, YETT_E_INIT_FAILED, 0, "set-up step %s%s%s failed: %s",
		                name, *target ? " " : "", target, strerror(-r));
	return r == 0 ? 0 : error_cause(&b->error, name, r < 0 ? -r : b->error.os_error);
}

static int run_stage(struct build *b, enum build_stage stage, const char **ret_step)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < b->plan->steps_count; i++)
		r = run_step(b, &b->plan->steps[i], stage, ret_step);
	return r;
}

static int run_ahead(struct build *b, const char **ret_step)
{
	int r = 0;

	for (uint32_t kind = 0; r == 0 && kind < PLAN_STEP_KINDS; kind++)
		r = run_step(b, &(struct plan_step){.kind = kind}, STAGE_AHEAD, ret_step);
	return r;
}

ssize_t build_read_file(const struct build *b, int dir, const char *path, char **ret_text)
{
	ssize_t n;

	*ret_text = (char *)b->room.frame->bytes;
	n = kernel_read_file(dir, path, *ret_text, sizeof b->room.frame->bytes);
	if (n < 0)
		**ret_text = '\0';
	return n;
}

/*
 * Returns the host id that a map of our user namespace (the upper one) gives `id`; UINT32_MAX:
 * none.
 */
static uint32_t host_id(const char *map, uint32_t id)
{
	unsigned first, host, count;
	int n = 0;

	for (const char *at = map; sscanf(at, "%u %u %u%n", &first, &host, &count, &n) == 3;
	     at += n)
		if (id - first < count)
			return host + (id - first);
	return UINT32_MAX;
}

static bool build_has_id(const char *map, uint32_t id)
{
	return host_id(map, id) != UINT32_MAX;
}

static void resolve_ids(struct build *b)
{
	char *map;

	(void)build_read_file(b, b->proc, "self/uid_map", &map);
	b->owner_uid = build_has_id(map, 0) ? 0 : UINT32_MAX;
	b->host_uid = host_id(map, getuid());
	(void)build_read_file(b, b->proc, "self/gid_map", &map);
	b->owner_gid = build_has_id(map, 0) ? 0 : UINT32_MAX;
	/* 5 is "tty" on every distribution. */
	b->tty_gid = build_has_id(map, 5) ? 5 : b->order.payload_gid;
	lower_be_owner(b);
}

/* Checks that sealed memory has at least `least` bytes. Returns its size or -errno. */
static ssize_t look_at_sealed(int fd, size_t least, struct stat *ret_st)
{
	if (fstat(fd, ret_st) < 0 || ret_st->st_size < (off_t)least)
		return -EBADMSG;
	return ret_st->st_size;
}

/* Copies the plan into existing memory: mapping it takes longer, and unmapping it even longer. */
static int take_plan(struct build *b, int fd)
{
	struct stat st;
	ssize_t size = look_at_sealed(fd, offsetof(struct plan, arena), &st);

	if (size < 0 || size > (ssize_t)sizeof *b->room.plan ||
	    pread(fd, b->room.plan, (size_t)size, 0) != size)
		return -EBADMSG;
	b->plan = b->room.plan;
	return size == (ssize_t)(offsetof(struct plan, arena) + b->plan->arena_used) &&
	                       b->plan->steps_count <= PLAN_STEPS_MAX &&
	                       b->plan->groups_count <= PLAN_GROUPS_MAX &&
	                       b->plan->env_count <= PLAN_ENV_MAX
	               ? 0
	               : -EBADMSG;
}

static void unmap_profile(struct build *b)
{
	if (b->profile)
		(void)munmap((void *)(uintptr_t)b->profile,
		             sizeof *b->profile + b->profile->data_used);
	b->profile = NULL;
}

/* Maps the profile, unless it is the one of the previous order, which is the usual case. */
static int take_profile(struct build *b, int fd)
{
	struct stat st;
	ssize_t size = look_at_sealed(fd, sizeof *b->profile, &st);
	const struct init_profile *profile;

	if (size < 0 || (b->profile && b->profile_number == st.st_ino))
		return size < 0 ? (int)size : 0;
	unmap_profile(b);
	profile = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (profile == MAP_FAILED)
		return -errno;
	if ((size_t)size != sizeof *profile + profile->data_used)
		return -EBADMSG;
	b->profile_number = st.st_ino;
	b->profile = profile;
	return 0;
}

/*
 * Takes the plan and the profile of an order. Both come from root and are trusted. Sizes are
 * checked all the same, so that a bug ends in an error.
 */
static int take_order(struct build *b, struct frame *frame)
{
	int r;

	if (frame->fd_count < INIT_ORDER_TREES)
		return -EBADMSG;
	r = take_plan(b, frame->fds[INIT_ORDER_PLAN]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < b->plan->steps_count; i++)
		if (b->plan->steps[i].kind >= PLAN_STEP_KINDS)
			return -EBADMSG;
	/*
	 * The supervisor may have made a mistake: a sandbox must be in the host's network if and
	 * only if its plan says so.
	 */
	if (b->owns_network == (b->plan->network == PLAN_NETWORK_HOST))
		return -EBADMSG;
	b->order.resolvers[sizeof b->order.resolvers - 1] = '\0';
	if (frame->fd_count > INIT_ORDER_TREES)
		b->trees_socket = steal_fd(&frame->fds[INIT_ORDER_TREES]);
	return take_profile(b, frame->fds[INIT_ORDER_PROFILE]);
}

static int take_some_trees(struct build *b, struct frame *frame, bool *ret_is_last)
{
	struct init_trees trees;

	if (frame->length != sizeof trees)
		return -EBADMSG;
	memcpy(&trees, frame->bytes, sizeof trees);
	if (trees.count != frame->fd_count || trees.count > INIT_TREES_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < trees.count; i++) {
		if (trees.steps[i] >= b->plan->steps_count || b->trees[trees.steps[i]] >= 0)
			return -EBADMSG;
		b->trees[trees.steps[i]] = steal_fd(&frame->fds[i]);
	}
	*ret_is_last = trees.is_last;
	return 0;
}

static int build_receive(int socket, struct frame *frame)
{
	int r;

	frame_close_fds(frame);
	do {
		r = frame_receive(socket, frame, 0);
	} while (r == -EINTR);
	return r > 0 ? 0 : r == 0 ? -EPIPE : r;
}

static int build_receive_order(struct build *b, struct frame *frame)
{
	int r = build_receive(INIT_FD_CONTROL, frame);

	if (r == 0 && frame->length != sizeof b->order)
		r = -EBADMSG;
	if (r == 0)
		memcpy(&b->order, frame->bytes, sizeof b->order);
	return r;
}

/*
 * Explains a missing tree. If the socket ends early, the mount-clone child has reported the reason
 * to the supervisor, or was killed.
 */
static int say_missing(struct build *b, int r)
{
	return r == -EPIPE
	               ? error_set(&b->error, YETT_E_INIT_FAILED, 0, "the shares were not cloned")
	               : r;
}

static int take_kinds(struct build *b, struct frame *frame)
{
	int r = b->trees_socket < 0 ? 0 : build_receive(b->trees_socket, frame);

	if (r < 0 || b->trees_socket < 0)
		return say_missing(b, r);
	if (frame->length != b->plan->steps_count)
		return -EBADMSG;
	memcpy(b->kinds, frame->bytes, frame->length);
	return 0;
}

static int build_take_trees(struct build *b, struct frame *frame)
{
	bool is_last = b->trees_socket < 0;
	int r = 0;

	while (r == 0 && !is_last) {
		r = build_receive(b->trees_socket, frame);
		/*
		 * A security module has withheld a descriptor, which shows as MSG_CTRUNC:
		 * recvmsg(2).
		 */
		if (r == -EMSGSIZE)
			r = -EACCES;
		if (r == 0)
			r = take_some_trees(b, frame, &is_last);
	}
	b->trees_socket = fd_close(b->trees_socket);
	return say_missing(b, r);
}

static int build_ready(struct build *b, const char **ret_step)
{
	int r;

	if (b->is_ready)
		return 0;
	resolve_ids(b);
	r = run_stage(b, STAGE_READY, ret_step);
	b->is_ready = r == 0;
	return r;
}

static int build_rest(struct build *b, struct frame *frame, const char **ret_step)
{
	int r = build_ready(b, ret_step);

	if (r == 0)
		*ret_step = "trees";
	if (r == 0)
		r = take_kinds(b, frame);
	if (r == 0)
		r = run_stage(b, STAGE_OWN, ret_step);
	if (r == 0)
		*ret_step = "trees";
	if (r == 0)
		r = lower_shed(plan_has_layers(b->plan));
	if (r == 0)
		r = lower_be_command(b);
	if (r == 0)
		r = build_take_trees(b, frame);
	if (r == 0)
		r = run_stage(b, STAGE_OTHERS, ret_step);
	if (r == 0 && plan_has_layers(b->plan))
		r = lower_shed(false);
	return r == 0 ? run_stage(b, STAGE_LAST, ret_step) : r;
}

/* Call before anything is opened. */
static void build_begin(struct build *b)
{
	for (int fd = INIT_FD_CONTROL; fd < INIT_FD_END; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			b->fds_present |= 1u << (fd - INIT_FD_CONTROL);
	b->trees_socket = b->proc = b->beneath = b->root = b->own = b->lower_ns = -1;
	for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
		b->trees[i] = b->targets[i] = -1;
}

/*
 * Mounts a private read-only tmpfs in a running sandbox. Its directory "lower" is a mount point for
 * trees from which other mounts are made. The directory "empty" is mounted over the root of the
 * tmpfs, so that commands cannot reach the tmpfs by any name.
 */
static int open_beneath(struct build *b)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	_cleanup_fd_ int place = -1, over = -1;

	place = (int)syscall(SYS_openat2, b->root, "run/yett/mounting", &how, sizeof how);
	if (place < 0)
		return -errno;
	b->beneath = attach_open_tmpfs(b, 0755, 65536);
	if (b->beneath < 0)
		return b->beneath;
	if (mkdirat(b->beneath, "lower", 0755) < 0 || mkdirat(b->beneath, "empty", 0755) < 0 ||
	    mount_setattr(b->beneath, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ||
	    move_mount(b->beneath, "", place, "",
	               MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	over = open_tree(b->beneath, "empty", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return over < 0 || move_mount(over, "", b->beneath, "",
	                              MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
	               ? -errno
	               : 0;
}

/* Unmounts the empty directory, then the tmpfs with everything that is still mounted in it. */
static void close_beneath(const struct build *b)
{
	for (int i = 0; i < 2; i++)
		if (fchdir(b->beneath) < 0 || umount2(".", MNT_DETACH) < 0)
			return;
}

/* Opens /proc and the root directory of a running sandbox, in which this process already is. */
static int build_enter(struct build *b)
{
	struct stat st;

	(void)umask(0);
	/*
	 * The plan of an order for a running sandbox always says PLAN_NETWORK_NONE, whatever
	 * network the sandbox has. take_order() accepts such a plan only if owns_network is set.
	 */
	b->enters = b->owns_network = true;
	b->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	b->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->proc < 0 || b->root < 0 || fstat(b->root, &st) < 0)
		return -errno;
	b->root_device = st.st_dev;
	return 0;
}

/*
 * The steps that a plan for a running sandbox may have. The supervisor, not init, carries out SLOT
 * and CGROUP, which limit the user.
 */
static const bool mounts_later[PLAN_STEP_KINDS] = {
	[PLAN_SLOT] = true,  [PLAN_CGROUP] = true, [PLAN_UNMOUNT] = true,   [PLAN_REFRESH] = true,
	[PLAN_SHARE] = true, [PLAN_PIN] = true,    [PLAN_READ_ONLY] = true, [PLAN_MASK] = true};

static bool changes_mounts(const struct plan *plan)
{
	bool changes = false;

	for (uint32_t i = 0; i < plan->steps_count; i++)
		changes |= plan->steps[i].kind == PLAN_SHARE || plan->steps[i].kind == PLAN_UNMOUNT;
	return changes;
}

static int build_mount_shares(struct build *b, struct frame *frame, const char **ret_step)
{
	int r, reported;

	resolve_ids(b);
	for (uint32_t i = 0; i < b->plan->steps_count; i++)
		if (!mounts_later[b->plan->steps[i].kind])
			return -EBADMSG;
	r = open_beneath(b);
	if (r == 0)
		r = take_kinds(b, frame);
	if (r == 0)
		r = run_stage(b, STAGE_OWN, ret_step);
	if (r == 0 && changes_mounts(b->plan))
		r = about_change(b);
	if (r == 0)
		r = lower_shed(plan_has_layers(b->plan));
	if (r == 0)
		r = lower_be_command(b);
	b->is_command = true;
	if (r == 0)
		r = build_take_trees(b, frame);
	if (r == 0)
		r = run_stage(b, STAGE_OTHERS, ret_step);
	reported = b->own < 0 ? 0 : about_end_change(b, r == 0);
	r = r == 0 ? reported : r;
	if (r != 0)
		attach_take_back(b);
	close_beneath(b);
	return r;
}

static int build_carry_out(struct build *b, struct frame *frame, const char **ret_step)
{
	int r = build_receive_order(b, frame);

	if (r < 0)
		return r;
	if (b->order.kind == INIT_ORDER_PORTS) {
		*ret_step = "network";
		/*
		 * This process is in no pid namespace whose end would kill its children, so it must
		 * not have any.
		 */
		if (setrlimit(RLIMIT_NPROC, &(const struct rlimit){0, 0}) < 0)
			return -errno;
		return frame->fd_count == 1 ? ports_serve(b, frame->fds[0]) : -EBADMSG;
	}
	r = build_enter(b);
	if (r == 0)
		r = take_order(b, frame);
	return r == 0 ? build_mount_shares(b, frame, ret_step) : r;
}

int build_once(void)
{
	static struct build build;
	static struct plan plan;
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	struct build *b = &build;
	struct init_report report = {0};
	const char *step = "order";
	int r = frame ? 0 : -ENOMEM;

	build_begin(b);
	b->room = (struct build_room){&plan, frame};
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = -errno;
	if (r == 0)
		r = lower_begin();
	if (r == 0)
		r = build_carry_out(b, frame, &step);
	report.kind = b->order.kind;
	report.error = r < 0 ? -r : r;
	report.refused = b->error;
	(void)snprintf(report.step, sizeof report.step, "%s", step);
	return frame_send(INIT_FD_CONTROL, &report, sizeof report, NULL, 0, 0);
}

static int answer_ready(void)
{
	struct init_report report = {.kind = INIT_ORDER_READY};

	return frame_send(INIT_FD_CONTROL, &report, sizeof report, NULL, 0, 0);
}

void build_end_text(struct build_text *text)
{
	if (text->out)
		(void)fclose(text->out);
	free(text->bytes);
	*text = (struct build_text){0};
}

/* Releases what is not needed any more. Nothing of the client's is left here. */
static void build_end(struct build *b)
{
	if (!b->about.file.bytes)
		build_end_text(&b->text);
	fd_close(b->proc);
	fd_close(b->beneath);
	fd_close(b->root);
	fd_close(b->own);
	if (b->fds_present & BUILD_DEV_PRESENT)
		(void)close(INIT_FD_DEV);
	unmap_profile(b);
}

int build_run(struct build_room room, struct init_config *config, struct build_about *ret_about,
              const char **ret_step, struct yett_error *ret_error)
{
	static struct build build;
	struct frame *frame = room.frame;
	struct build *b = &build;
	int r;

	build_begin(b);
	b->room = room;
	b->text.out = open_memstream(&b->text.bytes, &b->text.size);
	r = b->text.out ? lower_begin() : -ENOMEM;
	if (r == 0)
		r = run_ahead(b, ret_step);
	while (r == 0 && b->order.kind != INIT_ORDER_SANDBOX) {
		*ret_step = "order";
		r = build_receive_order(b, frame);
		if (r == 0)
			r = take_order(b, frame);
		if (r == 0 && b->order.kind == INIT_ORDER_READY) {
			r = build_ready(b, ret_step);
			if (r == 0)
				r = answer_ready();
		}
	}
	if (r == 0)
		r = build_rest(b, frame, ret_step);
	frame_close_fds(frame);
	if (r == 0)
		r = derive_config(b, config);
	if (r == 0)
		r = start_check_config(config,
		                       offsetof(struct init_config, data) + config->data_used);
	*ret_error = b->error;
	*ret_about = b->about;
	build_end(b);
	return r;
}
