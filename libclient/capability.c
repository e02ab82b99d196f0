/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "sandbox" in yett.h. Finds out by trials which capabilities this caller can have on this
 * machine. Uses the public functions of yett.h, and internal ones only for memory, the home
 * directory, the name of the connection's backend and the LSM and cgroups of the machine.
 *
 * Runs with the caller's privilege. Every trial removes what it made.
 */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "libclient/connection.h"
#include "base/failure.h"
#include "base/home.h"
#include "base/memory.h"

#define TRIED_MEMORY_BYTES  (UINT64_C(64) << 20)
#define TRIED_CPU_MILLIS    1000
#define TRIED_PIDS          64
#define TRIED_CHANGES_BYTES (UINT64_C(1) << 20)
#define TRIED_IDLE_MS       60000
#define TRIED_TARGET        "/mnt/yett-tried"

/* A capability that is tried by requesting a plan with `wants`. */
struct trial {
	const char *name;
	const char *controller; /* cgroup controller, if this is a limit; else NULL */
	struct yett_sandbox_options wants;
	bool is_cow;
	uint64_t changes_bytes; /* memory for the changes of the share; 0: they go to a store */
};

static const struct trial trials[] = {
	{.name = "sandbox"},
	{.name = "network-none", .wants = {.network = YETT_NETWORK_NONE}},
	{.name = "network-limited", .wants = {.network = YETT_NETWORK_LIMITED}},
	{.name = "network-open", .wants = {.network = YETT_NETWORK_OPEN}},
	{.name = "network-host", .wants = {.network = YETT_NETWORK_HOST}},
	{.name = "limit-memory",
         .controller = "memory",
         .wants = {.memory_bytes = TRIED_MEMORY_BYTES}},
	{.name = "limit-cpu", .controller = "cpu", .wants = {.cpu_millis = TRIED_CPU_MILLIS}},
	{.name = "limit-pids", .controller = "pids", .wants = {.pids = TRIED_PIDS}},
	{.name = "linger", .wants = {.flags = YETT_SANDBOX_LINGER}},
	{.name = "suspend-on-idle",
         .wants = {.idle_time_ms = TRIED_IDLE_MS, .idle_action = YETT_IDLE_PAUSE}},
	{.name = "copy-on-write", .is_cow = true},
	{.name = "copy-on-write-memory", .is_cow = true, .changes_bytes = TRIED_CHANGES_BYTES},
};

/* `name` is supported exactly if `of` is. */
static const struct {
	const char *name, *of;
} followers[] = {{"snapshot", "copy-on-write"}, {"resume", "linger"}};

/* The type that yett.h declares as opaque. */
struct yett_capability_list {
	struct list list;
};

struct examination {
	struct yett_connection *connection;
	const char *profile;
	char directory[HOME_PATH_SIZE]; /* to be shared; empty: not made, see no_directory */
	struct yett_error no_directory;
	struct yett_capability_list *found;
};

static int capability_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list");
}

static int capability_add(struct examination *e, const char *name, const char *how,
                          const struct yett_error *why, struct yett_error *error)
{
	struct yett_capability *to = memory_new(sizeof *to);

	if (!to)
		return capability_no_memory(error);
	*to = (struct yett_capability){
		.size = sizeof *to,
		.name = memory_add_text(to, name),
		.is_supported = why->code == YETT_OK,
		.how = memory_add_text(to, why->code == YETT_OK ? how : ""),
		.code = why->code,
		.reason = memory_add_text(to, why->message),
		.mend = memory_add_text(to, why->mend[0] ? why->mend : why->detail)};
	if (!to->name || !to->how || !to->reason || !to->mend) {
		yett_free(to);
		return capability_no_memory(error);
	}
	return list_add(&e->found->list, to) ? 0 : capability_no_memory(error);
}

/*
 * Returns whether an error means that the capability is not available. Any other error means that
 * the trial could not find out.
 */
static bool capability_is_answer(const struct yett_error *why)
{
	return why->code == YETT_E_PERMISSION_DENIED || why->code == YETT_E_UNSUPPORTED ||
	       why->code == YETT_E_INVALID_REQUEST || why->code == YETT_E_INIT_FAILED ||
	       why->code == YETT_E_FILE_OPERATION_FAILED || why->code == YETT_E_NOT_RUNNING;
}

/*
 * Adds the capability `name`: supported if `why` is no error, else unsupported for the reason
 * `why`. If `why` is an error that answers nothing, copies it to `error` and returns its code.
 */
static int capability_judge(struct examination *e, const char *name, const char *how,
                            const struct yett_error *why, struct yett_error *error)
{
	if (why->code == YETT_OK || capability_is_answer(why))
		return capability_add(e, name, how, why, error);
	if (error)
		*error = *why;
	return (int)why->code;
}

static const char *how_of(const struct examination *e, const struct trial *trial)
{
	const struct yett_capability *memory;

	if (trial->controller) {
		memory = yett_capability_list_find(e->found, "limit-memory");
		/*
		 * Without root and without a delegated cgroup, init limits processes with
		 * RLIMIT_NPROC and no controller is used. limit-memory is unsupported then.
		 */
		if (memory && !memory->is_supported)
			return "";
		return (const char *[]){"", "cgroup v1",
		                        "cgroup v2"}[machine_controller(trial->controller)];
	}
	return strcmp(trial->name, "sandbox") == 0 ? connection_backend(e->connection) : "";
}

static int try_plan(struct examination *e, const struct trial *trial, struct yett_error *error)
{
	struct yett_share share = {.size = sizeof share,
	                           .path = e->directory,
	                           .target = TRIED_TARGET,
	                           .flags = YETT_SHARE_COW,
	                           .memory_bytes = trial->changes_bytes};
	struct yett_sandbox_options options = trial->wants;
	_cleanup_(memory_freep) char *plan = NULL;
	struct yett_error why = {0};

	options.size = sizeof options;
	options.profile = e->profile;
	if (trial->is_cow) {
		options.shares = &share;
		options.shares_count = 1;
	}
	if (trial->is_cow && !*e->directory)
		why = e->no_directory;
	else if (yett_sandbox_plan(e->connection, &options, &plan, &why) == 0)
		why.code = YETT_OK;
	return capability_judge(e, trial->name, how_of(e, trial), &why, error);
}

/* Fills `why` with the reason why commands have no LSM label. */
static void explain_label(const struct examination *e, struct yett_error *why)
{
	bool enforces, is_own = yett_connection_start(e->connection) == YETT_START_PERSONAL;
	enum machine_lsm lsm = machine_lsm(&enforces);

	if (lsm == MACHINE_LSM_NONE)
		(void)error_set(why, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "the machine uses neither AppArmor nor SELinux");
	else if (lsm == MACHINE_LSM_SELINUX && is_own)
		(void)error_set(why, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "without root, SELinux labels nothing");
	else
		(void)error_set(why, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "the policy names no %s of %s, or it is not loaded",
		                lsm == MACHINE_LSM_SELINUX ? "type" : "profile",
		                lsm == MACHINE_LSM_SELINUX ? "SELinux" : "AppArmor");
}

static int look_at_info(struct examination *e, const struct yett_sandbox_info *info,
                        struct yett_error *error)
{
	struct yett_error no_label = {0}, no_landlock = {0};
	char version[32];
	int r;

	(void)snprintf(version, sizeof version, "version %u", info->landlock_abi);
	if (!*info->label)
		explain_label(e, &no_label);
	if (!info->landlock_abi)
		(void)error_set(
			&no_landlock, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"the kernel has none of version 2 (Linux 5.19), or the profile has none");
	r = capability_judge(e, "label", info->label, &no_label, error);
	return r ? r : capability_judge(e, "landlock", version, &no_landlock, error);
}

static int try_live(struct examination *e, struct yett_sandbox *sandbox, struct yett_error *error)
{
	const struct yett_sandbox_info *info = yett_sandbox_get_info(sandbox);
	const struct yett_share share = {
		.size = sizeof share, .path = e->directory, .target = TRIED_TARGET};
	struct yett_error no_mounts = e->no_directory, no_pause = {0};
	int r;

	if (*e->directory &&
	    yett_sandbox_mount(e->connection, info->id, &share, 1, &no_mounts) == 0)
		no_mounts.code = YETT_OK;
	if (yett_sandbox_pause(e->connection, info->id, &no_pause) == 0 &&
	    yett_sandbox_resume(e->connection, info->id, &no_pause) == 0)
		no_pause.code = YETT_OK;
	r = capability_judge(e, "live-mounts", "", &no_mounts, error);
	if (r == 0)
		r = capability_judge(e, "pause", "", &no_pause, error);
	return r ? r : look_at_info(e, info, error);
}

/*
 * Examines the capabilities that need a running sandbox. If no sandbox can be made, all of them are
 * unsupported for that reason.
 */
static int examine_live(struct examination *e, struct yett_error *error)
{
	static const char *const names[] = {"live-mounts", "pause", "label", "landlock"};
	const struct yett_sandbox_options options = {.size = sizeof options, .profile = e->profile};
	struct yett_sandbox *sandbox = NULL;
	struct yett_error why = {0};
	int r = yett_sandbox_create(e->connection, &options, &sandbox, &why);

	if (r == 0) {
		r = try_live(e, sandbox, error);
		(void)yett_sandbox_end(sandbox, NULL);
		yett_sandbox_close(sandbox);
		return r;
	}
	r = 0;
	for (size_t i = 0; r == 0 && i < sizeof names / sizeof names[0]; i++)
		r = capability_judge(e, names[i], "", &why, error);
	return r;
}

/* Gives each follower the result of the capability that it depends on. */
static int examine_followers(struct examination *e, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof followers / sizeof followers[0]; i++) {
		const struct yett_capability *of =
			yett_capability_list_find(e->found, followers[i].of);
		struct yett_error why = {.code = of->code};

		(void)snprintf(why.message, sizeof why.message, "%s", of->reason);
		(void)snprintf(why.mend, sizeof why.mend, "%s", of->mend);
		r = capability_add(e, followers[i].name, "", &why, error);
	}
	return r;
}

static int capability_examine(struct examination *e, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof trials / sizeof trials[0]; i++)
		r = try_plan(e, &trials[i], error);
	if (r == 0)
		r = examine_live(e, error);
	return r ? r : examine_followers(e, error);
}

/*
 * Makes an empty directory of the caller's for the trials that share one. The directory is in the
 * caller's home, since policies have rules about what may be shared there.
 */
static void capability_make_directory(struct examination *e)
{
	static const char name[] = "/.yett-tried-XXXXXX";

	if (home_find(e->directory, sizeof e->directory - sizeof name, &e->no_directory) == 0) {
		(void)strcat(e->directory, name);
		if (mkdtemp(e->directory))
			return;
		(void)failure_set(&e->no_directory, YETT_E_FILE_OPERATION_FAILED, NULL,
		                  "there is no directory to try it with: %m");
	}
	e->directory[0] = '\0';
}

int yett_capabilities(struct yett_connection *connection, const char *profile,
                      struct yett_capability_list **ret_list, struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_capability_list *list = memory_new(sizeof *list);
	struct examination e = {.connection = connection, .profile = profile, .found = list};
	int r;

	if (!list)
		return capability_no_memory(error);
	capability_make_directory(&e);
	r = capability_examine(&e, error);
	if (*e.directory)
		(void)rmdir(e.directory);
	if (r == 0)
		*ret_list = steal_ptr(&list);
	return r;
}

size_t yett_capability_list_count(const struct yett_capability_list *list)
{
	return list->list.count;
}

const struct yett_capability *yett_capability_list_get(const struct yett_capability_list *list,
                                                       size_t i)
{
	return i < list->list.count ? list->list.items[i] : NULL;
}

const struct yett_capability *yett_capability_list_find(const struct yett_capability_list *list,
                                                        const char *name)
{
	for (size_t i = 0; i < list->list.count; i++) {
		const struct yett_capability *capability = list->list.items[i];

		if (strcmp(capability->name, name) == 0)
			return capability;
	}
	return NULL;
}
