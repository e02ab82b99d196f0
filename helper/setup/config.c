/*
 * From a plan to what init is told. In the supervisor; root's own data only, read by init before any client's.
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"

#include <stddef.h>
#include <sys/socket.h>

static int append(struct init_config *config, const void *bytes, size_t size)
{
	if (size > INIT_DATA_MAX - config->data_used)
		return -E2BIG;
	memcpy(config->data + config->data_used, bytes, size);
	config->data_used += (uint32_t)size;
	return 0;
}

static int add_path(struct init_config *config, bool is_writable, const char *path)
{
	char access = is_writable ? INIT_PATH_WRITE : INIT_PATH_READ;
	int r = append(config, &access, 1);

	config->paths_count++;
	return r == 0 ? append(config, path, strlen(path) + 1) : r;
}

/* What this sandbox shows besides what every one does; init knows the rest (landlock.c). */
static int add_paths(const struct setup *setup, struct init_config *config)
{
	const struct template *template = &setup->host->templates[setup->plan->profile];
	const struct plan *plan = setup->plan;
	const char *home = plan_text(plan, plan->home);
	int r = home[0] && home[1] ? add_path(config, true, home) : 0;

	for (size_t i = 0; r == 0 && i < template->entries_count; i++)
		if (!template->entries[i].link)
			r = add_path(config, false, template->entries[i].path);
	for (uint32_t i = 0; r == 0 && i < plan->steps_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind == PLAN_TMPFS || step->kind == PLAN_SHARE || step->kind == PLAN_HOST)
			r = add_path(config, step->kind == PLAN_TMPFS || step->writable, plan_text(plan, step->target));
	}
	return r;
}

static int fill(const struct setup *setup, struct init_config *config)
{
	const struct plan *plan = setup->plan;
	const struct policy_profile *profile = &setup->host->policy->profiles[plan->profile];
	bool root = plan->identity == PLAN_IDENTITY_ROOT;
	int r;

	config->uid = setup->map->payload_uid;
	config->gid = setup->map->payload_gid;
	/* For a payload that is 0 inside, the caller's groups are not mapped: it is somebody else there. */
	config->groups_count = root ? 0 : plan->groups_count;
	for (uint32_t i = 0; i < config->groups_count; i++)
		config->groups[i] = plan->groups[i];
	config->capabilities = plan->capabilities;
	config->umask = plan->umask;
	config->nice = plan->nice;
	config->linger = plan->life.linger;
	config->is_watched = plan->life.idle_ms || plan->life.linger_ms;
	config->memory_bytes = plan->limits.memory_bytes;
	config->keeps_groups = setup->host->is_rootless;
	config->limits = (struct init_limits){.files = plan->limits.files,
					      .processes = setup_limits_pids_by_user(setup->host) ? plan->limits.pids : 0,
					      .file_bytes = plan->limits.file_bytes,
					      .cpu_seconds = plan->limits.cpu_seconds,
					      .stack_bytes = plan->limits.stack_bytes};
	config->fds_present = setup->cgroup.sandbox[0] < 0 ? 3 : 7;
	for (size_t i = 0; i < ARRAY_SIZE(setup->counters); i++)
		if (setup->counters[i] >= 0)
			config->fds_present |= 8u << i;
	config->init_filter_count = (uint32_t)profile->init_filter_count;
	config->command_filter_count = (uint32_t)profile->command_filter_count;
	r = append(config, profile->init_filter, profile->init_filter_count * sizeof *profile->init_filter);
	if (r == 0)
		r = append(config, profile->command_filter, profile->command_filter_count * sizeof *profile->command_filter);
	for (uint32_t i = 0; r == 0 && i < plan->env_count; i++, config->env_count++) {
		const char *text = plan_text(plan, plan->env[i]);

		r = append(config, text, strlen(text) + 1);
	}
	return r == 0 ? add_paths(setup, config) : r;
}

int config_send(const struct setup *setup, int control)
{
	_cleanup_free_ struct init_config *config = calloc(1, sizeof *config);
	int r = config ? fill(setup, config) : -ENOMEM;

	if (r < 0)
		return r;
	return send(control, config, offsetof(struct init_config, data) + config->data_used, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
