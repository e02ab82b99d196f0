/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the configuration of init and its commands from a plan and its profile. See build.h. */
#include "programs/inside/init/build/build.h"
#include "base/units_format.h"
#include "programs/inside/init/cores.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static size_t filters_size(const struct init_profile *profile)
{
	return ((size_t)profile->init_filter_count + profile->command_filter_count) *
	       sizeof(struct sock_filter);
}

const char *derive_next_name(const struct init_profile *profile, const char *name)
{
	const char *next = name ? name + strlen(name) + 1
	                        : (const char *)profile->data + filters_size(profile);

	return next < (const char *)profile->data + profile->data_used && *next != '/' ? next
	                                                                               : NULL;
}

bool derive_next_entry(const struct init_profile *profile, const char **at, const char **ret_path,
                       const char **ret_link)
{
	const char *end = (const char *)profile->data + profile->data_used;

	if (!*at)
		*at = (const char *)profile->data + filters_size(profile);
	while (*at < end && **at != '/') /* skip the names of /etc */
		*at += strlen(*at) + 1;
	if (*at >= end)
		return false;
	*ret_path = *at;
	*ret_link = *ret_path + strlen(*ret_path) + 1;
	*at = *ret_link + strlen(*ret_link) + 1;
	return true;
}

static int derive_append(struct init_config *config, const void *bytes, size_t size)
{
	if (size > INIT_DATA_MAX - config->data_used)
		return -E2BIG;
	memcpy(config->data + config->data_used, bytes, size);
	config->data_used += (uint32_t)size;
	return 0;
}

static int add_path(struct init_config *config, enum init_path kind, const char *path)
{
	char access = (char)kind;
	int r = derive_append(config, &access, 1);

	config->paths_count++;
	return r == 0 ? derive_append(config, path, strlen(path) + 1) : r;
}

static enum init_path path_kind(const struct plan_step *step)
{
	if (step->is_socket)
		return INIT_PATH_SOCKET;
	return step->kind == PLAN_TMPFS || step->writable ? INIT_PATH_WRITE : INIT_PATH_READ;
}

/*
 * Adds a rule for an overlay on the directory that contains it. A rule on the overlay itself would
 * disappear when another overlay is mounted in its place. For an overlay directly below "/", a rule
 * on "/" would cover everything, so that rule is on the overlay itself.
 */
static int derive_add_layer(struct init_config *config, const struct plan_step *step,
                            const char *target)
{
	const char *slash = strrchr(target, '/');
	char parent[PATH_MAX];

	if (step->layer == PLAN_LAYER_STORE)
		return 0;
	(void)units_append(parent, sizeof parent, "%.*s", slash ? (int)(slash - target) : 0,
	                   target);
	return add_path(config, INIT_PATH_WRITE, *parent ? parent : target);
}

/* Adds the paths that this sandbox has in addition to those of every sandbox (landlock.c). */
static int add_paths(const struct build *b, struct init_config *config)
{
	const struct plan *plan = b->plan;
	const char *home = plan_text(plan, plan->home), *at = NULL, *path, *link;
	int r = home[0] && home[1] ? add_path(config, INIT_PATH_WRITE, home) : 0;

	while (r == 0 && derive_next_entry(b->profile, &at, &path, &link))
		if (!*link)
			r = add_path(config, INIT_PATH_READ, path);
	for (uint32_t i = 0; r == 0 && i < plan->steps_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->layer)
			r = derive_add_layer(config, step, plan_text(plan, step->target));
		else if (step->kind == PLAN_TMPFS || step->kind == PLAN_SHARE ||
		         step->kind == PLAN_HOST)
			r = add_path(config, path_kind(step), plan_text(plan, step->target));
	}
	return r;
}

static int derive_refuse_limit(struct build *b, const char *name, const char *asked,
                               const char *allowed)
{
	(void)error_set(&b->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                "%s of %s is more than the helper's own limit of %s", name, asked, allowed);
	error_detail(
		&b->error,
		"asked=%s allowed=%s: the limit that the helper itself was started with (ulimit -H; LimitNOFILE= and its like in "
		"yett.service)",
		asked, allowed);
	return YETT_E_RESOURCE_LIMIT;
}

static bool has_cores(const struct plan_limits *limits)
{
	return limits->core_bytes != PLAN_CORE_NONE;
}

/*
 * Refuses core files that the kernel would write outside the sandbox or hand to a program of the
 * host. If the setting changes later, launch_core_files() refuses the command.
 */
static int check_cores(struct build *b)
{
	char pattern[CORES_PATTERN_SIZE];
	int r = has_cores(&b->plan->limits) ? cores_read(pattern) : 0;

	if (r < 0 || !has_cores(&b->plan->limits) || cores_are_files(pattern))
		return r;
	return cores_refuse(pattern, YETT_E_UNSUPPORTED, &b->error);
}

/*
 * Commands get no more than init itself may have. A limit that is too high for that is refused, not
 * reduced.
 */
static int check_limits(struct build *b)
{
	const struct plan_limits *limits = &b->plan->limits;
	const struct {
		uint32_t resource;
		const char *name;
		uint64_t value;
		char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
	} rows[] = {
		{RLIMIT_NOFILE, "files", limits->files, units_format_number},
		{RLIMIT_FSIZE, "file_size", limits->file_bytes, units_format_size},
		{RLIMIT_CPU, "cpu_time", limits->cpu_seconds, units_format_number},
		{RLIMIT_STACK, "stack", limits->stack_bytes, units_format_size},
		{RLIMIT_CORE, "core", has_cores(limits) ? limits->core_bytes : 0,
	         units_format_size},
	};
	char text[2][UNITS_TEXT_SIZE];
	struct rlimit limit;
	int least;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (getrlimit(rows[i].resource, &limit) < 0)
			return -errno;
		if (rows[i].value > limit.rlim_max)
			return derive_refuse_limit(b, rows[i].name,
			                           rows[i].format(rows[i].value, text[0]),
			                           rows[i].format(limit.rlim_max, text[1]));
	}
	if (getrlimit(RLIMIT_NICE, &limit) < 0)
		return -errno;
	/* conversion of RLIMIT_NICE: setpriority(2) */
	least = limit.rlim_cur > 40 ? -20 : 20 - (int)limit.rlim_cur;
	least = least < getpriority(PRIO_PROCESS, 0) ? least : getpriority(PRIO_PROCESS, 0);
	if (b->plan->nice == 0 || b->plan->nice >= least) /* 0: leave it unchanged */
		return 0;
	return error_set(&b->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                 "nice of %d is less than the helper's own limit of %d", b->plan->nice,
	                 least);
}

static void derive_commands(const struct plan *plan, struct init_config *config)
{
	config->command_ms = plan->life.command_ms;
	config->command_max_ms = plan->life.command_max_ms;
	(void)snprintf(config->command_section, sizeof config->command_section, "%s",
	               plan_text(plan, plan->command_section));
	(void)snprintf(config->command_name, sizeof config->command_name, "%s",
	               plan_text(plan, plan->command_name));
	(void)snprintf(config->command_place, sizeof config->command_place, "%s",
	               plan_text(plan, plan->command_place));
}

int derive_config(struct build *b, struct init_config *config)
{
	const struct plan *plan = b->plan;
	bool root = plan->identity == PLAN_IDENTITY_ROOT;
	int r = check_limits(b);

	if (r == 0)
		r = check_cores(b);
	if (r != 0)
		return r;
	config->uid = b->order.payload_uid;
	config->gid = b->order.payload_gid;
	/*
	 * If commands are root inside, the caller's groups are not mapped: the payload is a
	 * different user there.
	 */
	config->groups_count = root ? 0 : plan->groups_count;
	for (uint32_t i = 0; i < config->groups_count; i++)
		config->groups[i] = plan->groups[i];
	config->capabilities = plan->capabilities;
	config->nested_userns = plan->nested_userns;
	config->perf_events = plan->perf_events;
	config->is_recorded = b->profile->is_recorded;
	config->umask = plan->umask;
	config->nice = plan->nice;
	config->linger = plan->life.linger;
	config->is_watched = plan->life.idle_ms || plan->life.linger_ms;
	config->memory_bytes = plan->limits.memory_bytes;
	config->cpu_millis = plan->limits.cpu_millis;
	derive_commands(plan, config);
	config->has_processors = b->has_processors;
	config->processors = b->processors;
	config->keeps_groups = b->order.is_rootless;
	config->limits = (struct init_limits){
		.files = plan->limits.files,
		.processes = b->order.limits_pids_by_user ? plan->limits.pids : 0,
		.file_bytes = plan->limits.file_bytes,
		.cpu_seconds = plan->limits.cpu_seconds,
		.stack_bytes = plan->limits.stack_bytes,
		.stack_max_bytes = plan->limits.stack_max_bytes,
		.core_bytes =
			has_cores(&plan->limits) ? plan->limits.core_bytes ?: RLIM_INFINITY : 0};
	config->fds_present = b->fds_present & ~BUILD_DEV_PRESENT;
	config->init_filter_count = b->profile->init_filter_count;
	config->command_filter_count = b->profile->command_filter_count;
	r = derive_append(config, b->profile->data, filters_size(b->profile));
	for (uint32_t i = 0; r == 0 && i < plan->env_count; i++, config->env_count++) {
		const char *text = plan_text(plan, plan->env[i]);

		r = derive_append(config, text, strlen(text) + 1);
	}
	return r == 0 ? add_paths(b, config) : r;
}
