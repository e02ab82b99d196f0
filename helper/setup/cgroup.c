/* See cgroup.h. What differs between v1 and v2 is in cgroup1.c and cgroup2.c, behind struct cgroup_ops. */
#include "helper/setup/cgroup_ops.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/kernel.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

static const struct cgroup_ops *ops_of(const struct cgroup_tree *tree)
{
	return tree->version == 2 ? &cgroup2_ops : &cgroup1_ops;
}

/* Makes each component of `path` below `root` that is not there, and returns a descriptor of the last one. */
static int make_path(const struct cgroup_tree *tree, int root, const char *path)
{
	_cleanup_fd_ int at = dup(root);
	char component[NAME_MAX + 1];

	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		int next;

		if (length == 0) {
			path++;
			continue;
		}
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(component, path, length);
		component[length] = '\0';
		path += length;
		ops_of(tree)->enable_children(at, tree->controllers);
		if (mkdirat(at, component, 0755) < 0 && errno != EEXIST)
			return -errno;
		next = openat(at, component, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		fd_close(at);
		at = next;
	}
	if (at < 0)
		return -errno;
	ops_of(tree)->enable_children(at, tree->controllers);
	return steal_fd(&at);
}

int cgroup_find_mount(const char *type, const char *controller)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	int fd = -ENOENT;

	if (!file)
		return -errno;
	/* proc_pid_mountinfo(5): id parent major:minor root mountpoint options … - type source super-options */
	while (fd == -ENOENT && fgets(line, sizeof line, file)) {
		char *tail = strstr(line, " - "), *root, *path, *rest = line, *options;

		if (!tail)
			continue;
		*tail = '\0';
		tail += 3;
		for (int i = 0; i < 3; i++)
			(void)strsep(&rest, " ");
		root = strsep(&rest, " ");
		path = strsep(&rest, " ");
		if (!path || strcmp(root, "/") != 0 || strcmp(strsep(&tail, " "), type) != 0)
			continue;
		(void)strsep(&tail, " ");
		options = tail ? tail : (char[]){""};
		for (char *option; controller && (option = strsep(&options, ",\n"));)
			if (strcmp(option, controller) == 0)
				controller = NULL;
		if (controller)
			continue;
		fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	(void)fclose(file);
	return fd;
}

int cgroup_host_open(const char *parent, struct cgroup_host *ret_host, struct yett_error *error)
{
	_cleanup_(cgroup_host_close) struct cgroup_host host = {0};
	int r = cgroup2_discover(&host);

	if (r < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "this host has no cgroup v2 tree: %s", strerror(-r));
	r = cgroup1_discover(&host);
	if (r < 0)
		return r;
	for (size_t i = 0; i < host.count; i++) {
		int fd = make_path(&host.trees[i], host.trees[i].parent, parent);

		if (fd < 0) {
			error_set(error, YETT_E_UNSUPPORTED, 0, "cgroup %s (v%d) cannot be made: %s", parent,
				  host.trees[i].version, strerror(-fd));
			return fd;
		}
		fd_close(host.trees[i].parent);
		host.trees[i].parent = fd;
		host.controllers |= host.trees[i].controllers;
		host.has_v1 = host.has_v1 || host.trees[i].version == 1;
	}
	*ret_host = host;
	host = (struct cgroup_host){0};
	return 0;
}

int cgroup_host_open_delegated(int group, const char *parent, struct cgroup_host *ret_host)
{
	struct cgroup_host host = {.trees = {{.version = 2}}, .count = 1};

	host.trees[0].controllers = CGROUP_MEMORY | CGROUP_CPU | CGROUP_PIDS | CGROUP_IO;
	host.trees[0].parent = make_path(&host.trees[0], group, parent);
	if (host.trees[0].parent < 0)
		return host.trees[0].parent;
	cgroup2_read_controllers(&host.trees[0]); /* those that came along, and could be enabled on the way */
	host.controllers = host.trees[0].controllers;
	*ret_host = host;
	return 0;
}

static int make_helpers(const struct cgroup_tree *tree)
{
	int fd;

	if (mkdirat(tree->parent, "helpers", 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(tree->parent, "helpers", O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int cgroup_host_make_helpers(const struct cgroup_host *host)
{
	int fd = host->count ? make_helpers(&host->trees[0]) : -ENOENT;

	if (fd < 0)
		return fd;
	/* However many sandboxes compute, requests are served. Absent where the controller is on v1. */
	(void)kernel_write_file(fd, "cpu.weight", "1000");
	return fd;
}

int cgroup_host_enter_helpers(const struct cgroup_host *host)
{
	int r = cgroup1_leave_others();

	for (size_t i = 0; r == 0 && i < host->count; i++) {
		_cleanup_fd_ int fd = make_helpers(&host->trees[i]);

		r = fd < 0 ? fd : kernel_write_file(fd, "cgroup.procs", "0");
	}
	return r;
}

void cgroup_host_close(struct cgroup_host *host)
{
	for (size_t i = 0; i < host->count; i++)
		host->trees[i].parent = fd_close(host->trees[i].parent);
	host->count = 0;
}

#define FREEZE_DEADLINE_MS 1000

static void user_name(uid_t uid, char name[static 24])
{
	(void)snprintf(name, 24, "user-%" PRIu32, (uint32_t)uid);
}

static void cgroup_init(const struct cgroup_host *host, uid_t uid, const char *name, struct cgroup *cgroup)
{
	*cgroup = (struct cgroup){.host = host, .uid = uid};
	(void)snprintf(cgroup->name, sizeof cgroup->name, "%s", name);
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++)
		cgroup->user[i] = cgroup->sandbox[i] = -1;
}

/* Another sandbox's end may remove the user's group between our mkdir and open: then we make it again. */
static int create_in_tree(struct cgroup *cgroup, size_t i)
{
	const struct cgroup_tree *tree = &cgroup->host->trees[i];
	char user[24];

	user_name(cgroup->uid, user);
	for (int attempt = 0; attempt < 100; attempt++) {
		cgroup->user[i] = fd_close(cgroup->user[i]);
		if (mkdirat(tree->parent, user, 0755) < 0 && errno != EEXIST)
			return -errno;
		cgroup->user[i] = openat(tree->parent, user, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (cgroup->user[i] < 0 && errno == ENOENT)
			continue;
		if (cgroup->user[i] < 0)
			return -errno;
		ops_of(tree)->enable_children(cgroup->user[i], tree->controllers);
		if (mkdirat(cgroup->user[i], cgroup->name, 0755) == 0)
			break;
		if (errno != ENOENT && errno != ENODEV)
			return -errno;
	}
	cgroup->sandbox[i] = openat(cgroup->user[i], cgroup->name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (cgroup->sandbox[i] < 0)
		return -errno;
	ops_of(tree)->bound_children(cgroup->sandbox[i]);
	return 0;
}

int cgroup_create(const struct cgroup_host *host, uid_t uid, const char *name, struct cgroup *ret_cgroup)
{
	struct cgroup cgroup;

	cgroup_init(host, uid, name, &cgroup);
	for (size_t i = 0; i < host->count; i++) {
		int r = create_in_tree(&cgroup, i);

		if (r < 0) {
			if (r != -EEXIST)
				(void)cgroup_destroy(&cgroup);
			cgroup_close(&cgroup);
			return r;
		}
	}
	*ret_cgroup = cgroup;
	return 0;
}

int cgroup_enter(const struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->host->count; i++) {
		int r = kernel_write_file(cgroup->sandbox[i], "cgroup.procs", "0");

		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t limit_value(const struct plan_limits *limits, int limit)
{
	const uint64_t values[CGROUP_LIMITS] = {[CGROUP_LIMIT_MEMORY] = limits->memory_bytes,
						[CGROUP_LIMIT_CPU] = limits->cpu_millis,
						[CGROUP_LIMIT_WEIGHT] = limits->cpu_weight,
						[CGROUP_LIMIT_PIDS] = limits->pids};

	return values[limit];
}

static int limit_directory(const struct cgroup_tree *tree, int directory, const struct plan_limits *limits,
			   struct yett_error *error)
{
	for (int limit = 0; limit < CGROUP_LIMITS; limit++) {
		uint64_t value = limit_value(limits, limit);
		int r;

		if (!(tree->controllers & cgroup_limit_controller(limit)))
			continue;
		r = ops_of(tree)->set_limit(directory, limit, value);
		if (r < 0) {
			error_set(error, YETT_E_INIT_FAILED, 0, "the %s limit cannot be set: %s",
				  cgroup_limit_name(limit), strerror(-r));
			return r;
		}
	}
	return 0;
}

#define MEMORY_SPARE_MIB 16 /* what one more sandbox takes by itself, and more */

/* What would have to be allowed for the user's sandboxes to go on, and this one with them. */
static int refuse_memory(int user, struct error_rule *rule, struct yett_error *error)
{
	char text[UNITS_TEXT_SIZE] = "";
	uint64_t used = kernel_read_file(user, "memory.usage_in_bytes", text, sizeof text) < 0 ? 0 : strtoull(text, NULL, 10);

	rule->asked = units_format_size(((used >> 20) + MEMORY_SPARE_MIB) << 20, text);
	(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the user's sandboxes already use more memory than the policy allows them");
	error_rest(error, rule);
	return YETT_E_RESOURCE_LIMIT;
}

int cgroup_limit(struct cgroup *cgroup, const struct plan_limits *limits, const struct plan_limits *user_limits, struct error_rule *rule,
		 struct yett_error *error)
{
	for (int limit = 0; limit < CGROUP_LIMITS; limit++)
		if ((limit_value(limits, limit) || limit_value(user_limits, limit)) &&
		    !(cgroup->host->controllers & cgroup_limit_controller(limit)))
			return error_set(error, YETT_E_UNSUPPORTED, 0,
					 "no cgroup controller of this host enforces the %s limit", cgroup_limit_name(limit));
	for (size_t i = 0; i < cgroup->host->count; i++) {
		const struct cgroup_tree *tree = &cgroup->host->trees[i];
		int r = limit_directory(tree, cgroup->user[i], user_limits, error);

		if (r == -EBUSY)
			return refuse_memory(cgroup->user[i], rule, error);
		if (r == 0 && !(cgroup->is_limited && memcmp(&cgroup->limits, limits, sizeof *limits) == 0))
			r = limit_directory(tree, cgroup->sandbox[i], limits, error);
		if (r == -EBUSY)
			return error_set(error, YETT_E_INVALID_REQUEST, 0, "a sandbox takes more memory by itself than the %llu KiB asked for",
					 (unsigned long long)limits->memory_bytes / 1024);
		if (r != 0)
			return r;
	}
	cgroup->limits = *limits;
	cgroup->is_limited = true;
	return 0;
}

int cgroup_make_leaf(const struct cgroup *cgroup)
{
	return mkdirat(cgroup->sandbox[0], "init", 0755) < 0 ? -errno : 0;
}

int cgroup_delegate(const struct cgroup *cgroup, uid_t owner)
{
	/* What a delegatee needs of its root, and no more: limits stay root's; and to be born in the leaf. cgroup-v2, "Delegation". */
	static const char *const files[] = {"cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "init/cgroup.procs"};
	int sandbox = cgroup->sandbox[0];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fchownat(sandbox, files[i], owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	return fchown(sandbox, owner, owner) < 0 ? -errno : 0;
}

void cgroup_enable_leaves(const struct cgroup *cgroup)
{
	if (cgroup->host->count)
		ops_of(&cgroup->host->trees[0])->enable_children(cgroup->sandbox[0], cgroup->host->trees[0].controllers);
}

void cgroup_open_counters(const struct cgroup *cgroup, int ret_fds[4])
{
	for (int counter = 0; counter < CGROUP_COUNTERS; counter++) {
		ret_fds[counter] = -1;
		for (size_t i = 0; i < cgroup->host->count && ret_fds[counter] < 0; i++) {
			const struct cgroup_tree *tree = &cgroup->host->trees[i];

			if (tree->controllers & cgroup_counter_controller(counter))
				ret_fds[counter] = openat(cgroup->sandbox[i], ops_of(tree)->counter_files[counter],
							  O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		}
	}
}

/* Waits for cgroup.events of the v2 group to say so; the file signals changes by POLLPRI. Whether it did, or is gone. */
static bool wait_event(int sandbox, const char *event, uint64_t deadline_ms)
{
	_cleanup_fd_ int events = openat(sandbox, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[128];

	for (uint64_t now; events >= 0 && (now = clock_now_ms()) < deadline_ms;) {
		struct pollfd wait = {.fd = events, .events = POLLPRI};
		ssize_t n = pread(events, text, sizeof text - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || strstr(text, event))
			return true;
		(void)poll(&wait, 1, (int)(deadline_ms - now) + 1);
	}
	return events < 0;
}

int cgroup_freeze(const struct cgroup *cgroup, bool freeze)
{
	int r = cgroup->host->count ? kernel_write_file(cgroup->sandbox[0], "cgroup.freeze", freeze ? "1" : "0") : -EOPNOTSUPP;

	if (r < 0)
		return r;
	return wait_event(cgroup->sandbox[0], freeze ? "frozen 1" : "frozen 0", clock_now_ms() + FREEZE_DEADLINE_MS) ? 0 : -ETIMEDOUT;
}

/* Lines of cgroup.procs. A group that was made threaded has none to show: that is an error. */
static int count_in(int directory, const char *file)
{
	char text[512];
	ssize_t n = kernel_read_file(directory, file, text, sizeof text);
	int count = 0;

	for (ssize_t i = 0; i < n; i++)
		count += text[i] == '\n';
	return n < 0 ? (int)n : count;
}

int cgroup_count(const struct cgroup *cgroup)
{
	int copy = openat(cgroup->sandbox[0], ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	int count = count_in(cgroup->sandbox[0], "cgroup.procs");

	if (!entries) {
		fd_close(copy);
		return -EIO;
	}
	for (struct dirent *entry = readdir(entries); entry && count >= 0; entry = readdir(entries)) {
		char file[NAME_MAX + 16];
		int here;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof file, "%s/cgroup.procs", entry->d_name);
		here = count_in(cgroup->sandbox[0], file);
		count = here == -ENOENT ? count : here < 0 ? here : count + here; /* init has just removed it */
	}
	(void)closedir(entries);
	return count;
}

/* Kills who is left in one group and removes it. */
static void remove_group(int parent, const char *name, uint64_t deadline_ms)
{
	_cleanup_fd_ int group = -1;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
		return;
	group = openat(parent, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (group < 0)
		return;
	(void)kernel_write_file(group, "cgroup.kill", "1");
	(void)wait_event(group, "populated 0", deadline_ms);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes the groups inside `directory` (only v2 sandboxes have any; they are one level deep). */
static void remove_children(int directory, uint64_t deadline_ms)
{
	int copy = openat(directory, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);

	if (!entries) {
		fd_close(copy);
		return;
	}
	for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			remove_group(directory, entry->d_name, deadline_ms);
	(void)closedir(entries);
}

int cgroup_empty(const struct cgroup *cgroup)
{
	uint64_t deadline_ms = clock_now_ms() + 5000;
	int r;

	for (size_t i = 0; i < cgroup->host->count; i++)
		ops_of(&cgroup->host->trees[i])->forget_peak(cgroup->sandbox[i]);
	do {
		remove_children(cgroup->sandbox[0], deadline_ms);
		/* A group whose children have controllers takes no process of its own, and who makes the next init is to be born in it. */
		ops_of(&cgroup->host->trees[0])->disable_children(cgroup->sandbox[0], cgroup->host->trees[0].controllers);
		r = cgroup_make_leaf(cgroup);
	} while (r == -EEXIST && clock_now_ms() < deadline_ms);
	return r == -EEXIST ? -EBUSY : r;
}

int cgroup_destroy(struct cgroup *cgroup)
{
	uint64_t deadline_ms = clock_now_ms() + 5000;
	char user[24];
	int result = 0;

	user_name(cgroup->uid, user);
	for (size_t i = 0; i < cgroup->host->count; i++) {
		const struct cgroup_tree *tree = &cgroup->host->trees[i];

		if (cgroup->sandbox[i] < 0 || cgroup->user[i] < 0)
			continue;
		if (tree->version == 2)
			remove_children(cgroup->sandbox[i], deadline_ms);
		while (unlinkat(cgroup->user[i], cgroup->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
			if (errno != EBUSY || clock_now_ms() > deadline_ms) {
				result = -errno;
				break;
			}
			if (tree->version == 2) {
				/* Only after a crash is somebody still there, and then this is what ends them. */
				(void)kernel_write_file(cgroup->sandbox[i], "cgroup.kill", "1");
				(void)wait_event(cgroup->sandbox[i], "populated 0", deadline_ms);
				remove_children(cgroup->sandbox[i], deadline_ms);
			} else {
				/* A v1 group has no event for "empty": what is left there is exiting; look again. */
				(void)poll(NULL, 0, 1);
			}
		}
		(void)unlinkat(tree->parent, user, AT_REMOVEDIR);
	}
	return result;
}

void cgroup_find(const struct cgroup_host *host, uid_t uid, const char *name, struct cgroup *ret_cgroup)
{
	const int flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
	char user[24];

	cgroup_init(host, uid, name, ret_cgroup);
	user_name(uid, user);
	for (size_t i = 0; i < host->count; i++) {
		ret_cgroup->user[i] = openat(host->trees[i].parent, user, flags);
		if (ret_cgroup->user[i] >= 0)
			ret_cgroup->sandbox[i] = openat(ret_cgroup->user[i], name, flags);
	}
}

int cgroup_sweep(const struct cgroup_host *host, uid_t uid, const char *name)
{
	struct cgroup cgroup;
	int r;

	cgroup_find(host, uid, name, &cgroup);
	r = cgroup_destroy(&cgroup);
	cgroup_close(&cgroup);
	return r;
}

void cgroup_close(struct cgroup *cgroup)
{
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++) {
		cgroup->user[i] = fd_close(cgroup->user[i]);
		cgroup->sandbox[i] = fd_close(cgroup->sandbox[i]);
	}
}
