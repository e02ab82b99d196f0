/*
 * From a plan to what init is told. In the supervisor; root's own data only, read by init before any client's.
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int append(struct init_config *config, const void *bytes, size_t size)
{
	if (size > INIT_DATA_MAX - config->data_used)
		return -E2BIG;
	memcpy(config->data + config->data_used, bytes, size);
	config->data_used += (uint32_t)size;
	return 0;
}

static void add_soft_rlimit(struct init_config *config, uint32_t resource, uint64_t soft, uint64_t hard)
{
	config->rlimits[config->rlimits_count++] = (struct init_rlimit){resource, soft, hard};
}

static void add_rlimit(struct init_config *config, uint32_t resource, uint64_t value)
{
	add_soft_rlimit(config, resource, value, value);
}

static void add_rlimits(struct init_config *config, const struct plan_limits *limits)
{
	if (limits->files)
		add_rlimit(config, RLIMIT_NOFILE, limits->files);
	if (limits->file_bytes)
		add_rlimit(config, RLIMIT_FSIZE, limits->file_bytes);
	if (limits->cpu_seconds)
		/* SIGXCPU at the limit, which names it, and SIGKILL a second later for who ignores that. setrlimit(2) */
		add_soft_rlimit(config, RLIMIT_CPU, limits->cpu_seconds, limits->cpu_seconds + 1);
	if (limits->stack_bytes)
		add_rlimit(config, RLIMIT_STACK, limits->stack_bytes);
	add_rlimit(config, RLIMIT_CORE, limits->core_bytes);
	/* Locked memory and message queues are the kernel's, not the cgroup's, to count; nobody needs more than a little. */
	add_rlimit(config, RLIMIT_MEMLOCK, 8 << 20);
}

static int fill(const struct setup *setup, struct init_config *config)
{
	const struct plan *plan = setup->plan;
	const struct setup_filters *filters = &setup->host->filters[plan->profile];
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
	add_rlimits(config, &plan->limits);
	config->fds_present = 7;
	for (size_t i = 0; i < ARRAY_SIZE(setup->counters); i++)
		if (setup->counters[i] >= 0)
			config->fds_present |= 8u << i;
	config->init_filter_count = (uint32_t)filters->init_count;
	config->command_filter_count = (uint32_t)filters->command_count;
	r = append(config, filters->init, filters->init_count * sizeof *filters->init);
	if (r == 0)
		r = append(config, filters->command, filters->command_count * sizeof *filters->command);
	for (uint32_t i = 0; r == 0 && i < plan->env_count; i++, config->env_count++) {
		const char *text = plan_text(plan, plan->env[i]);

		r = append(config, text, strlen(text) + 1);
	}
	return r;
}

int config_send(const struct setup *setup, int control)
{
	_cleanup_free_ struct init_config *config = calloc(1, sizeof *config);
	int r = config ? fill(setup, config) : -ENOMEM;

	if (r < 0)
		return r;
	return send(control, config, offsetof(struct init_config, data) + config->data_used, MSG_NOSIGNAL) < 0 ? -errno : 0;
}
