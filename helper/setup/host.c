/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares what all requests need, once and before any of them: see setup.h. With full privilege;
 * reads only the policy and the installed programs.
 */
#include "helper/setup/audit.h"
#include "helper/setup/setup.h"

/*
 * Opens the programs, so that an upgrade does not change what is executed later. yett-init is
 * copied into a sealed memfd: process 1 of a sandbox is then no file of the host, and nobody can
 * change it between two sandboxes.
 */
static int open_programs(struct setup_host *host, struct yett_error *error)
{
	static const char *const names[] = {"yett-init", "yett-front", "yett-dialer",
	                                    "yett-resolver"};
	_cleanup_fd_ int init = -1;
	char path[PATH_MAX];

	for (size_t i = 0; i < SETUP_PROGRAMS; i++) {
		FORMAT(path, "%s/%s", host->libexec, names[i]);
		host->programs[i] = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (host->programs[i] < 0)
			return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
			                 "%s cannot be read: %s", path, strerror(errno));
	}
	init = host->programs[SETUP_INIT];
	host->programs[SETUP_INIT] = fd_copy_program(names[SETUP_INIT], init);
	return host->programs[SETUP_INIT] < 0 ? host->programs[SETUP_INIT] : 0;
}

int setup_host_open(const struct policy *policy, const char *libexec,
                    const struct setup_rootless *rootless, struct setup_host **ret_host,
                    struct yett_error *error)
{
	_cleanup_(setup_host_closep) struct setup_host *host = calloc(1, sizeof *host);
	int r;

	if (!host)
		return -ENOMEM;
	host->policy = policy;
	host->libexec = libexec;
	host->rootless = rootless;
	host->by_port = rootless || !port_listener_is_possible();
	host->face = rootless ? UINT32_MAX : policy->ids_first + IDMAP_ROLE_FACE;
	if (access("/proc/thread-self/children", F_OK) < 0) /* for setup_is_busy() */
		return error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"/proc does not list the children of a process: this kernel lacks CONFIG_PROC_CHILDREN");
	memset(host->programs, -1, sizeof host->programs);
	host->reserve = RESERVE_HOST_NONE;
	host->templates = calloc(policy->profiles_count, sizeof *host->templates);
	if (!host->templates)
		return -ENOMEM;
	for (size_t i = 0; i < policy->profiles_count; i++)
		host->templates[i] = TEMPLATE_NONE;
	r = reserve_host_open(policy->runtime_dir, policy->ids_first, policy->ids_ranges,
	                      &host->reserve, error);
	if (r == 0 && rootless)
		rootless->expect(host);
	if (r == 0)
		r = open_programs(host, error);
	if (r == 0 && (!rootless || rootless->cgroup >= 0))
		r = cgroup_host_open(rootless ? rootless->cgroup : -1, policy->cgroup,
		                     &host->cgroups, error);
	if (r == 0)
		*ret_host = steal_ptr(&host);
	return r;
}

int setup_host_profile(struct setup_host *host, size_t profile, struct yett_error *error)
{
	const struct policy_profile *p = &host->policy->profiles[profile];
	struct template *template = &host->templates[profile];
	int r = 0;

	if (template->mount_ns >= 0)
		return 0;
	for (size_t i = 0; i < host->policy->profiles_count; i++)
		if (i != profile && host->templates[i].maker > 0)
			/* this profile was expected, and is not wanted */
			template_close(&host->templates[i]);
	if (template->maker == 0)
		r = template_start(p, host->policy->runtime_dir, host->face, template, error);
	return r == 0 ? template_finish(p, template, error) : r;
}

void setup_host_close(struct setup_host *host)
{
	if (!host)
		return;
	for (size_t i = 0; host->templates && i < host->policy->profiles_count; i++)
		template_close(&host->templates[i]);
	free(host->templates);
	for (size_t i = 0; i < SETUP_PROGRAMS; i++)
		fd_close(host->programs[i]);
	reserve_host_close(&host->reserve);
	cgroup_host_close(&host->cgroups);
	free(host);
}

void setup_host_keep_only(const struct setup_host *host, const int *keep, size_t count)
{
	size_t profiles = host->policy->profiles_count, n = 0;
	_cleanup_free_ int *fds =
		calloc(count + 2 * profiles + CGROUP_TREES_MAX + RESERVE_DIRS + SETUP_PROGRAMS,
	               sizeof *fds);

	/* exit rather than keep the sockets and locks of other processes open */
	if (!fds)
		_exit(1);
	for (size_t i = 0; i < SETUP_PROGRAMS; i++)
		fds[n++] = host->programs[i];
	for (size_t i = 0; i < RESERVE_DIRS; i++)
		fds[n++] = host->reserve.dirs[i];
	for (size_t i = 0; i < count; i++)
		fds[n++] = keep[i];
	for (size_t i = 0; i < profiles; i++) {
		fds[n++] = host->templates[i].mount_ns;
		fds[n++] = host->templates[i].profile;
	}
	for (size_t i = 0; i < host->cgroups.count; i++)
		fds[n++] = host->cgroups.trees[i].parent;
	fd_close_except(fds, n);
}

struct sweep {
	const struct setup_host *host;
	/* a report failed: send no further one in this sweep, as each would wait in vain */
	bool is_mute;
};

/*
 * Removes what a dead supervisor left. Reports the end of its sandbox to yett-audit if that was not
 * done: the supervisor was killed, or yett-audit did not run.
 */
static int sweep_one(void *userdata, const struct record *record)
{
	struct sweep *sweep = userdata;
	const struct setup_host *host = sweep->host;
	struct audit_record ended = {.kind = AUDIT_ENDED, .sandbox = *record};
	struct yett_error unused;
	struct cgroup cgroup;
	int r;

	if (record->state < SANDBOX_STOPPING || !record->started_ms)
		ended.sandbox.ended = ENDED_HELPER;
	registry_unlisten(&host->reserve, record->cgroup);
	cgroup_find(&host->cgroups, record->uid, record->cgroup, &cgroup);
	r = cgroup_destroy(&cgroup);
	cgroup_close(&cgroup);
	memcpy(ended.id, record->id, sizeof ended.id);
	if (r < 0 || !record->is_audited)
		return r;
	sweep->is_mute = sweep->is_mute ||
	                 audit_await(host, audit_report(host, &ended, NULL, 0), &unused) != 0;
	return sweep->is_mute ? -EAGAIN : 0;
}

void setup_sweep(const struct setup_host *host)
{
	(void)reserve_sweep(&host->reserve, sweep_one, &(struct sweep){.host = host});
}
