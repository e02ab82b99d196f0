/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of a user and of a sandbox: see cgroup.h. */
#include "helper/setup/cgroup.h"
#include "base/clock.h"
#include "base/kernel.h"

#define FREEZE_DEADLINE_MS 1000
#define END_DEADLINE_MS    5000
#define FILE_PATH_SIZE     (sizeof((struct cgroup *)0)->path + 40)

static void cgroup_init(const struct cgroup_host *host, uid_t uid, const char *name,
                        struct cgroup *cgroup)
{
	*cgroup = CGROUP_NONE;
	cgroup->host = host;
	FORMAT(cgroup->user, "user-%" PRIu32, (uint32_t)uid);
	FORMAT(cgroup->path, "%s/%.23s", cgroup->user, name);
}

static int write_file(const struct cgroup_tree *tree, const char *group, const char *name,
                      const char *text)
{
	char path[FILE_PATH_SIZE];

	FORMAT(path, "%s/%s", group, name);
	return kernel_write_file(tree->parent, path, text);
}

/*
 * The end of another sandbox may remove the user's group after it is made here and before the
 * sandbox's group is made in it. Then make both again.
 */
static int create_in_tree(const struct cgroup *cgroup, const struct cgroup_tree *tree)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		_cleanup_fd_ int user = cgroup_make(tree->parent, cgroup->user);

		if (user < 0 && user != -ENOENT)
			return user;
		if (user >= 0)
			cgroup_set_children(tree, user, '+');
		if (user >= 0 && mkdirat(tree->parent, cgroup->path, 0755) == 0)
			return 0;
		if (user >= 0 && errno != ENOENT && errno != ENODEV)
			return -errno;
	}
	return -ENOENT;
}

int cgroup_create(const struct cgroup_host *host, uid_t uid, const char *name,
                  struct cgroup *ret_cgroup)
{
	struct cgroup cgroup;
	int r = 0;

	cgroup_init(host, uid, name, &cgroup);
	for (size_t i = 0; r == 0 && i < host->count; i++)
		r = create_in_tree(&cgroup, &host->trees[i]);
	if (r == 0 && host->count > 0) {
		cgroup.group = fd_open_directory(host->trees[0].parent, cgroup.path);
		r = cgroup.group < 0 ? -errno : 0;
	}
	if (r < 0) {
		if (r != -EEXIST)
			(void)cgroup_destroy(&cgroup);
		return r;
	}
	/*
	 * A compromised init must not fill the kernel with groups, nor nest groups so deep that
	 * remove_group() would not find them. The limit has room for init's leaf and one for each
	 * command (programs/inside/init/commands.h).
	 */
	(void)kernel_write_file(cgroup.group, "cgroup.max.depth", "1");
	(void)kernel_write_file(cgroup.group, "cgroup.max.descendants", "1088");
	*ret_cgroup = cgroup;
	return 0;
}

int cgroup_enter(const struct cgroup *cgroup)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < cgroup->host->count; i++)
		r = write_file(&cgroup->host->trees[i], cgroup->path, "cgroup.procs", "0");
	return r;
}

enum missing { MUST, MAY_BE_ABSENT, MAY_FAIL };

/*
 * How a limit is written: as VALUE * times / by + more (`by` of 0: 1), or as `none` for 0, since a
 * group is used again. For block devices, `none` is the text before the value. The order matters:
 * v1 refuses a limit of memory above that of memory and swap. The latter is written before the
 * former, which works if it is raised, and again after it, which works if it is lowered.
 */
static const struct {
	const char *name;
	size_t at; /* offset in struct plan_limits */
	unsigned controller;
	int version;
	const char *file, *none;
	uint64_t times, by, more;
	enum missing missing;
} limits[] = {
#define LIMIT(name, field, controller) name, offsetof(struct plan_limits, field), controller
#define MEMORY                         LIMIT("memory", memory_bytes, CGROUP_MEMORY)
#define CPU                            LIMIT("cpu", cpu_millis, CGROUP_CPU)
#define WEIGHT                         LIMIT("cpu weight", cpu_weight, CGROUP_CPU)
#define READS                          LIMIT("read rate", io_read_bytes, CGROUP_IO)
#define WRITES                         LIMIT("write rate", io_write_bytes, CGROUP_IO)
#define PROCESS                        LIMIT("process", pids, CGROUP_PIDS)
	{MEMORY, 1, "memory.memsw.limit_in_bytes", "-1", 1, .missing = MAY_FAIL},
	{MEMORY, 1, "memory.limit_in_bytes", "-1", 1},
	/* absent where swap accounting is off */
	{MEMORY, 1, "memory.memsw.limit_in_bytes", "-1", 1, .missing = MAY_BE_ABSENT},
	/* without this, TCP data that is never read is charged to the host */
	{MEMORY, 1, "memory.kmem.tcp.limit_in_bytes", "-1", 1, .missing = MAY_BE_ABSENT},
	/* otherwise the sandbox would use the host's swap beyond its limit */
	{MEMORY, 2, "memory.swap.max", "max", 0, .missing = MAY_BE_ABSENT},
	{MEMORY, 2, "memory.max", "max", 1},
	/* in a period of 100 ms, the default */
	{CPU, 1, "cpu.cfs_quota_us", "-1", 100},
	{CPU, 2, "cpu.max", "max", 100},
	{WEIGHT, 1, "cpu.shares", "1024", 1024, .by = 100},
	{WEIGHT, 2, "cpu.weight", "100", 1},
	/* one more for the cgroup forker, which stays for the next sandbox */
	{PROCESS, 1, "pids.max", "max", 1, .more = 1},
	{PROCESS, 2, "pids.max", "max", 1},
	/* one line for each disk */
	{READS, 1, "blkio.throttle.read_bps_device", "", 1},
	{WRITES, 1, "blkio.throttle.write_bps_device", "", 1},
	{READS, 2, "io.max", "rbps=", 1},
	{WRITES, 2, "io.max", "wbps=", 1},
};

static uint64_t limit_value(const struct plan_limits *values, size_t row)
{
	return *(const uint64_t *)((const char *)values + limits[row].at);
}

/*
 * Limits the disks that the kernel drives as a device. Block devices stacked on these are covered;
 * all others are in memory. sysfs(5)
 */
static int limit_disks(const struct cgroup_tree *tree, const char *group, size_t row,
                       uint64_t value)
{
	_cleanup_(fd_entries_close) DIR *disks = opendir("/sys/block");
	char path[NAME_MAX + 8], number[32], text[64];
	int r = disks ? 0 : -errno;

	for (struct dirent *disk; r == 0 && (disk = readdir(disks));) {
		FORMAT(path, "%s/device", disk->d_name);
		if (disk->d_name[0] == '.' || faccessat(dirfd(disks), path, F_OK, 0) < 0)
			continue;
		FORMAT(path, "%s/dev", disk->d_name);
		r = kernel_read_file(dirfd(disks), path, number, sizeof number) < 0 ? -ENODEV : 0;
		FORMAT(text, "%.*s %s%" PRIu64, (int)strcspn(number, "\n"), number,
		       limits[row].none, value);
		r = r < 0 ? r : write_file(tree, group, limits[row].file, text);
		r = r == -ENODEV ? 0 : r; /* the disk is gone, or has no medium */
	}
	return r;
}

/*
 * `had` are the values written before. A disk limit that was never set is not written as unlimited,
 * which would be one write for each disk.
 */
static int limit_group(const struct cgroup_tree *tree, const char *group,
                       const struct plan_limits *values, const struct plan_limits *had,
                       struct yett_error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		uint64_t value = limit_value(values, i);
		char text[32];
		int r;

		if (limits[i].version != tree->version ||
		    !(limits[i].controller & tree->controllers))
			continue;
		FORMAT(text, "%" PRIu64,
		       value * limits[i].times / (limits[i].by ?: 1) + limits[i].more);
		if (limits[i].controller != CGROUP_IO)
			r = write_file(tree, group, limits[i].file, value ? text : limits[i].none);
		else
			r = value || limit_value(had, i)
			            ? limit_disks(tree, group, i, value ? value : UINT64_MAX)
			            : 0;
		if (r < 0 && limits[i].missing != MAY_FAIL &&
		    !(limits[i].missing == MAY_BE_ABSENT && r == -ENOENT)) {
			error_set(error, YETT_E_INIT_FAILED, 0, "the %s limit cannot be set: %s",
			          limits[i].name, strerror(-r));
			return r;
		}
	}
	return 0;
}

#define MEMORY_SPARE_MIB 16 /* more than one sandbox takes without any command */

/*
 * Sets an error that says how much memory, in MiB, the policy would have to allow for the user's
 * sandboxes, this one included. Only v1 refuses a limit below the present usage.
 */
static int refuse_memory(const struct cgroup_tree *tree, const char *user, struct yett_error *error)
{
	char text[32], path[FILE_PATH_SIZE];
	uint64_t used;

	FORMAT(path, "%s/memory.usage_in_bytes", user);
	used = kernel_read_file(tree->parent, path, text, sizeof text) < 0
	               ? 0
	               : strtoull(text, NULL, 10);
	(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                "the user's sandboxes already use more memory than the policy allows them");
	return error_key(error, "user_memory", (uint32_t)(used >> 20) + MEMORY_SPARE_MIB);
}

int cgroup_limit(struct cgroup *cgroup, const struct plan_limits *values,
                 const struct plan_limits *user_values, struct yett_error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if ((limit_value(values, i) || limit_value(user_values, i)) &&
		    !(cgroup->host->controllers & limits[i].controller))
			return error_set(error, YETT_E_UNSUPPORTED, 0,
			                 "no cgroup controller of this host enforces the %s limit",
			                 limits[i].name);
	for (size_t i = 0; i < cgroup->host->count; i++) {
		const struct cgroup_tree *tree = &cgroup->host->trees[i];
		int r = limit_group(tree, cgroup->user, user_values, user_values, error);

		if (r == -EBUSY)
			return refuse_memory(tree, cgroup->user, error);
		if (r == 0 &&
		    !(cgroup->is_limited && memcmp(&cgroup->limits, values, sizeof *values) == 0))
			r = limit_group(tree, cgroup->path, values, &cgroup->limits, error);
		if (r == -EBUSY)
			return error_set(
				error, YETT_E_INVALID_REQUEST, 0,
				"a sandbox takes more memory by itself than the %llu KiB asked for",
				(unsigned long long)values->memory_bytes / 1024);
		if (r != 0)
			return r;
	}
	cgroup->limits = *values;
	cgroup->is_limited = true;
	return 0;
}

int cgroup_make_leaf(const struct cgroup *cgroup)
{
	return mkdirat(cgroup->group, "init", 0755) < 0 ? -errno : 0;
}

int cgroup_delegate(const struct cgroup *cgroup, uid_t owner)
{
	/*
	 * The files that a delegatee needs in the group that is its root, and the leaf's
	 * cgroup.procs, so that init can be born in it. Limits stay root's. cgroup-v2,
	 * "Delegation".
	 */
	static const char *const files[] = {"cgroup.procs", "cgroup.threads",
	                                    "cgroup.subtree_control", "init/cgroup.procs"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fchownat(cgroup->group, files[i], owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	return fchown(cgroup->group, owner, owner) < 0 ? -errno : 0;
}

void cgroup_enable_leaves(const struct cgroup *cgroup)
{
	if (cgroup->host->count)
		cgroup_set_children(&cgroup->host->trees[0], cgroup->group, '+');
}

/*
 * Waits until cgroup.events of the v2 group contains `event`; the file signals changes with
 * POLLPRI. Returns whether it does, or the group is gone.
 */
static bool wait_event(int group, const char *event, uint64_t deadline_ms)
{
	_cleanup_fd_ int events = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[128];

	for (uint64_t now; events >= 0 && (now = clock_now_ms()) < deadline_ms;) {
		ssize_t n = pread(events, text, sizeof text - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || strstr(text, event))
			return true;
		(void)fd_poll(events, POLLPRI, (int)(deadline_ms - now) + 1);
	}
	return events < 0;
}

int cgroup_freeze(const struct cgroup *cgroup, bool freeze)
{
	int r = cgroup->group < 0
	                ? -EOPNOTSUPP
	                : kernel_write_file(cgroup->group, "cgroup.freeze", freeze ? "1" : "0");

	if (r < 0)
		return r;
	return wait_event(cgroup->group, freeze ? "frozen 1" : "frozen 0",
	                  clock_now_ms() + FREEZE_DEADLINE_MS)
	               ? 0
	               : -ETIMEDOUT;
}

void cgroup_each(int group, void (*look)(int group, const char *name, void *userdata),
                 void *userdata)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(group);

	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			look(group, entry->d_name, userdata);
}

/*
 * Removes a group and the groups in it. Those have none inside (cgroup_create()). Usually no
 * process is left. After a crash, or in a leaf, processes may be: cgroup.kill ends all of them at
 * once. If they died one by one, init could still report to its client how a command in another
 * leaf ended.
 */
static int remove_group(int parent, const char *name, uint64_t deadline_ms);

static void remove_leaf(int group, const char *name, void *deadline_ms)
{
	(void)remove_group(group, name, *(uint64_t *)deadline_ms);
}

static int remove_group(int parent, const char *name, uint64_t deadline_ms)
{
	_cleanup_fd_ int group = -1;

	while (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if (errno != EBUSY || clock_now_ms() > deadline_ms)
			return -errno;
		if (group < 0)
			group = fd_open_directory(parent, name);
		if (kernel_write_file(group, "cgroup.kill", "1") == 0) {
			(void)wait_event(group, "populated 0", deadline_ms);
			cgroup_each(group, remove_leaf, &deadline_ms);
		} else {
			/*
			 * A v1 group has no event for "empty". The remaining processes are exiting:
			 * look again.
			 */
			(void)poll(NULL, 0, 1);
		}
	}
	return 0;
}

int cgroup_empty(const struct cgroup *cgroup)
{
	uint64_t deadline_ms = clock_now_ms() + END_DEADLINE_MS;
	int r;

	if (cgroup->host->count == 0)
		return 0;
	/*
	 * v2's memory.peak can be reset as well (Linux 6.12), but only for reads through the
	 * descriptor that wrote. All others read the peak of the group's lifetime.
	 */
	for (size_t i = 0; i < cgroup->host->count; i++)
		if (cgroup->host->trees[i].version == 1 &&
		    (cgroup->host->trees[i].controllers & CGROUP_MEMORY))
			(void)write_file(&cgroup->host->trees[i], cgroup->path,
			                 "memory.max_usage_in_bytes", "0");
	cgroup_each(cgroup->group, remove_leaf, &deadline_ms);
	/*
	 * A group that gives its children controllers takes no process, but the process that makes
	 * the next init is born in this group. So disable the controllers.
	 */
	cgroup_set_children(&cgroup->host->trees[0], cgroup->group, '-');
	r = cgroup_make_leaf(cgroup);
	return r == -EEXIST ? -EBUSY : r;
}

int cgroup_destroy(struct cgroup *cgroup)
{
	uint64_t deadline_ms = clock_now_ms() + END_DEADLINE_MS;
	int result = 0;

	for (size_t i = 0; i < cgroup->host->count; i++) {
		int parent = cgroup->host->trees[i].parent,
		    r = remove_group(parent, cgroup->path, deadline_ms);

		result = r < 0 ? r : result;
		(void)unlinkat(parent, cgroup->user, AT_REMOVEDIR);
	}
	return result;
}

void cgroup_find(const struct cgroup_host *host, uid_t uid, const char *name,
                 struct cgroup *ret_cgroup)
{
	cgroup_init(host, uid, name, ret_cgroup);
	if (host->count)
		ret_cgroup->group = fd_open_directory(host->trees[0].parent, ret_cgroup->path);
}

void cgroup_close(struct cgroup *cgroup)
{
	cgroup->group = fd_close(cgroup->group);
	for (size_t i = 0; i < CGROUP_FILES; i++)
		cgroup->files[i] = fd_close(cgroup->files[i]);
}
