/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See start.h. The order of the stages matters: the death signal is set before the control socket
 * is checked, so that one of the two notices a supervisor that dies in between. The filter comes
 * last.
 */
#include "programs/inside/init/start.h"
#include "base/filter_head.h"
#include "programs/inside/init/landlock.h"
#include "programs/inside/init/layer.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

int start_check_config(const struct init_config *config, size_t length)
{
	size_t used, filters;

	if (length < offsetof(struct init_config, data) || config->data_used > INIT_DATA_MAX ||
	    length != offsetof(struct init_config, data) + config->data_used)
		return -EBADMSG;
	if (config->groups_count > INIT_GROUPS_MAX || config->env_count > INIT_ENV_MAX ||
	    config->paths_count > INIT_PATHS_MAX || config->init_filter_count > INIT_FILTER_MAX ||
	    config->command_filter_count > INIT_FILTER_MAX ||
	    config->fds_present >> (INIT_FD_END - INIT_FD_CONTROL))
		return -EBADMSG;
	filters = (size_t)config->init_filter_count + config->command_filter_count;
	used = filters * sizeof(struct sock_filter);
	for (uint32_t i = 0;
	     i < config->env_count + config->paths_count && used <= config->data_used; i++) {
		const uint8_t *text = config->data + used,
			      *end = memchr(text, '\0', config->data_used - used);

		if (!end || (i >= config->env_count && (end - text < 2 || text[1] != '/')))
			return -EBADMSG;
		used = (size_t)(end - config->data) + 1;
	}
	return used == config->data_used ? 0 : -EBADMSG;
}

static int start_read_config(struct init_config *config)
{
	ssize_t n;

	do {
		n = recv(INIT_FD_CONTROL, config, sizeof *config, MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n > sizeof *config ? -EBADMSG : start_check_config(config, (size_t)n);
}

/* Sets the groups of all commands once: start_guard() blocks the call from then on. */
static int start_groups(struct init_config *config)
{
	if (config->keeps_groups)
		return 0;
	return setgroups(config->groups_count, config->groups) < 0 ? -errno : 0;
}

/*
 * Descriptors 0 to 2 must be open, or a client's descriptor would take one of these numbers. All
 * others must be closed in commands.
 */
static int start_descriptors(struct init_config *config)
{
	for (int fd = 0; fd < INIT_FD_END; fd++)
		if ((fd < INIT_FD_CONTROL || config->fds_present & 1U << (fd - INIT_FD_CONTROL)) &&
		    fcntl(fd, F_GETFD) < 0)
			return -errno;
	return syscall(SYS_close_range, (unsigned)INIT_FD_CONTROL, ~0u, CLOSE_RANGE_CLOEXEC) < 0
	               ? -errno
	               : 0;
}

static int start_death_signal(struct init_config *config)
{
	(void)config;
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

/* The supervisor may have died before the death signal was set. */
static int start_control_socket(struct init_config *config)
{
	struct pollfd control = {.fd = INIT_FD_CONTROL};

	(void)config;
	if (poll(&control, 1, 0) < 0)
		return -errno;
	return control.revents & (POLLHUP | POLLERR | POLLNVAL) ? -EPIPE : 0;
}

/*
 * No command may trace init, or read its memory or that of a child that has not become its command
 * yet.
 */
static int start_undumpable(struct init_config *config)
{
	(void)config;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int start_no_new_privileges(struct init_config *config)
{
	(void)config;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/*
 * This stage and the next come before the death signal is set: they change the file system ids,
 * which clears the death signal. prctl(2)
 */
static int start_read_only_mounts(struct init_config *config)
{
	return landlock_check_mounts(config);
}

static int start_landlock(struct init_config *config)
{
	return landlock_restrict(config, &config->landlock_abi);
}

/*
 * Keeps CAP_SETUID and CAP_SETGID (launch_identity), CAP_KILL (command_kill, commands_signal) and
 * the capabilities that commands get. Only the latter are inheritable. The bounding set prevents
 * anyone from adding to the inheritable set later.
 */
static int start_capabilities(struct init_config *config)
{
	uint64_t keep = config->capabilities;
	uint64_t own = keep | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)own, (uint32_t)own, (uint32_t)keep},
		{(uint32_t)(own >> 32), (uint32_t)(own >> 32), (uint32_t)(keep >> 32)}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/*
 * Records a limit for commands, cut to the hard limit that init inherited: the helper may lack
 * CAP_SYS_RESOURCE to raise it. Limits of the plan are never cut here, because derive_config() has
 * refused those that are too high. The bounds that are the same for every sandbox may be lower.
 */
static int start_limit(struct init_config *config, uint32_t resource, uint64_t soft, uint64_t hard)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (hard > limit.rlim_max)
		hard = limit.rlim_max;
	if (soft > hard)
		soft = hard;
	config->rlimits[config->rlimits_count++] = (struct init_rlimit){resource, soft, hard};
	return 0;
}

/* init's own limit of open files, since it holds the pipes of many captured outputs. */
#define START_FILES 8192

/*
 * Raises init's own limit of open files as far as possible. Commands get the limit that they would
 * have had otherwise.
 */
static int start_own_files(struct init_config *config)
{
	struct rlimit limit;
	int r = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	if (config->limits.files == 0)
		r = start_limit(config, RLIMIT_NOFILE, limit.rlim_cur, limit.rlim_max);
	if (r < 0 || limit.rlim_cur >= START_FILES)
		return r;
	limit.rlim_cur = limit.rlim_max < START_FILES ? limit.rlim_max : START_FILES;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

/*
 * Sets the core file limit of init and of all commands; the filter prevents commands from changing
 * it. Where the host's core_pattern is a pipe, the kernel ignores a limit of 0 and runs a host
 * program as root on the memory of a crashed command. Only a limit of 1 prevents that. core(5)
 *
 * Where commands have core files, derive_config() has checked that the kernel writes them inside
 * the sandbox, and launch_core_files() checks that again for every command. init itself is
 * undumpable at this point.
 */
static int start_own_cores(const struct init_config *config)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return -errno;
	if (config->limits.core_bytes == 0)
		limit.rlim_max = 1;
	else if (limit.rlim_max > config->limits.core_bytes)
		limit.rlim_max = config->limits.core_bytes;
	limit.rlim_cur = limit.rlim_max;
	/*
	 * EPERM: the hard limit was 0 and cannot be raised. The supervisor has already reported
	 * that.
	 */
	return setrlimit(RLIMIT_CORE, &limit) < 0 && errno != EPERM ? -errno : 0;
}

/* Compilers raise their soft stack limit, because deeply nested sources need more stack. */
static uint64_t start_stack_max(const struct init_limits *limits)
{
	if (limits->stack_max_bytes == 0)
		return RLIM_INFINITY;
	return limits->stack_max_bytes > limits->stack_bytes ? limits->stack_max_bytes
	                                                     : limits->stack_bytes;
}

static int start_limits(struct init_config *config)
{
	const struct init_limits *limits = &config->limits;
	/*
	 * RLIMIT_MEMLOCK also bounds the buffers of performance events for each process, which no
	 * cgroup counts. perf_event_open(2)
	 */
	const uint64_t locked_bytes = config->perf_events ? 64 << 10 : 8 << 20;
	const struct {
		uint32_t resource;
		bool is_set;
		uint64_t soft, hard;
	} wanted[] = {
		{RLIMIT_NOFILE, limits->files != 0, limits->files, limits->files},
		{RLIMIT_FSIZE, limits->file_bytes != 0, limits->file_bytes, limits->file_bytes},
		/*
	         * SIGXCPU at the soft limit identifies the cause. SIGKILL follows a second later if
	         * the process ignores SIGXCPU.
	         */
		{RLIMIT_CPU, limits->cpu_seconds != 0, limits->cpu_seconds,
	         limits->cpu_seconds + 1},
		/*
	         * Counted for the id within the sandbox's user namespace. The additional one is
	         * init.
	         */
		{RLIMIT_NPROC, limits->processes != 0, limits->processes + 1,
	         limits->processes + 1},
		{RLIMIT_STACK, limits->stack_bytes != 0, limits->stack_bytes,
	         start_stack_max(limits)},
		/*
	         * Locked memory is kernel memory that not every cgroup counts, and programs need
	         * only a little.
	         */
		{RLIMIT_MEMLOCK, true, locked_bytes, locked_bytes},
		{RLIMIT_MSGQUEUE, true, 819200, 819200}, /* MQ_BYTES_MAX, the kernel's default */
		{RLIMIT_SIGPENDING, true, 8192, 8192},   /* POSIX timers count as well */
	};
	int r = 0;

	config->rlimits_count = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(wanted); i++)
		if (wanted[i].is_set)
			r = start_limit(config, wanted[i].resource, wanted[i].soft, wanted[i].hard);
	if (r == 0)
		r = start_own_cores(config);
	return r == 0 ? start_own_files(config) : r;
}

void start_reset_signals(void)
{
	/*
	 * An all-zero struct sigaction means SIG_DFL. The system call is used directly because the
	 * C library rejects the two signals that it reserves, and posix_spawn(3) leaves those
	 * ignored.
	 */
	static const uint64_t initial[8];

	for (int signal = 1; signal < NSIG; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, signal, initial, NULL, sizeof(uint64_t));
}

/*
 * Blocks all signals: SIGCHLD is read from a signalfd. The child unblocks them before it executes
 * the program.
 */
static int start_signals(struct init_config *config)
{
	sigset_t all;

	(void)config;
	(void)sigfillset(&all);
	return sigprocmask(SIG_SETMASK, &all, NULL) < 0 ? -errno : 0;
}

/*
 * System calls that change ids. Each is allowed only with the ids of commands or -1 (unchanged). A
 * call with 0 in `ids` is always refused.
 */
static const struct {
	uint32_t number, ids;
	bool is_group;
} start_guarded[] = {
	{SYS_setuid, 1, false},   {SYS_setgid, 1, true},     {SYS_setreuid, 2, false},
	{SYS_setregid, 2, true},  {SYS_setresuid, 3, false}, {SYS_setresgid, 3, true},
	{SYS_setfsuid, 1, false}, {SYS_setfsgid, 1, true},   {SYS_setgroups, 0, true},
};

/*
 * Indexes of the parts of the guard. The guard is written here and not by libseccomp at build time
 * as in programs/filters/, because only init knows the ids.
 */
enum {
	GUARD_CALLS = 2,
	GUARD_USERS = GUARD_CALLS + ARRAY_SIZE(start_guarded) + 1,
	GUARD_ID = 3, /* instructions for one id */
	GUARD_GROUPS = GUARD_USERS + 3 * GUARD_ID + 1,
	GUARD_REFUSE = GUARD_GROUPS + 3 * GUARD_ID + 1,
	GUARD_RELOAD,
	GUARD_END,
};
_Static_assert(GUARD_END == START_GUARD_LENGTH, "the guard is as long as is said");

static void start_load(struct sock_filter *filter, size_t at, size_t offset)
{
	filter[at] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void start_jump(struct sock_filter *filter, size_t at, uint16_t comparison, uint32_t k,
                       size_t yes, size_t no)
{
	filter[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, k,
	                                          (uint8_t)(yes - at - 1), (uint8_t)(no - at - 1));
}

/*
 * Checks the third id of a call, then the second, then the first. A call with fewer ids jumps in
 * later.
 */
static void start_guard_ids(struct sock_filter *filter, size_t at, uint32_t id)
{
	for (size_t i = 3; i-- > 0; at += GUARD_ID) {
		/*
		 * Only the lower half: both supported architectures are little-endian, and the
		 * kernel uses 32 bits of an id.
		 */
		start_load(filter, at, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t));
		start_jump(filter, at + 1, BPF_JEQ, id, at + GUARD_ID, at + 2);
		start_jump(filter, at + 2, BPF_JEQ, UINT32_MAX, at + GUARD_ID, GUARD_REFUSE);
	}
	filter[at] =
		(struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(GUARD_RELOAD - at - 1));
}

void start_guard(const struct init_config *config, struct sock_filter filter[START_GUARD_LENGTH])
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(start_guarded); i++) {
		size_t ids = start_guarded[i].ids,
		       at = start_guarded[i].is_group ? GUARD_GROUPS : GUARD_USERS;

		start_jump(filter, GUARD_CALLS + i, BPF_JEQ, start_guarded[i].number,
		           ids ? at + (3 - ids) * GUARD_ID : GUARD_REFUSE, GUARD_CALLS + i + 1);
		least = start_guarded[i].number < least ? start_guarded[i].number : least;
		most = start_guarded[i].number > most ? start_guarded[i].number : most;
	}
	filter[GUARD_USERS - 1] =
		(struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, GUARD_END - GUARD_USERS);
	/* Most calls are unrelated and leave after the first two comparisons. */
	start_jump(filter, 0, BPF_JGT, most, GUARD_END, 1);
	start_jump(filter, 1, BPF_JGE, least, GUARD_CALLS, GUARD_END);
	start_guard_ids(filter, GUARD_USERS, config->uid);
	start_guard_ids(filter, GUARD_GROUPS, config->gid);
	filter[GUARD_REFUSE] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	start_load(filter, GUARD_RELOAD, offsetof(struct seccomp_data, nr));
}

/*
 * System calls that change owners, sorted by number, and which argument is the user; the group is
 * the next argument.
 */
static const struct {
	uint32_t number, user;
} start_owner_calls[] = {
#ifdef SYS_chown
	{SYS_chown, 1},
	{SYS_lchown, 1},
#endif
#ifdef __x86_64__
	{SYS_fchown, 1},
	{SYS_fchownat, 2},
#else /* the other order */
	{SYS_fchownat, 2},
	{SYS_fchown, 1},
#endif
};
_Static_assert(ARRAY_SIZE(start_owner_calls) == START_OWNER_CALLS,
               "the table is as long as is said");

/*
 * Indexes of the parts: a comparison for each call, then the checks of the two ids from argument 1
 * on, then of those from argument 2 on.
 */
enum {
	OWNERS_CALLS = 1,
	OWNERS_IDS = OWNERS_CALLS + START_OWNER_CALLS + 1,
	OWNERS_ONE = 6, /* instructions for two ids */
	OWNERS_REFUSE = OWNERS_IDS + 2 * OWNERS_ONE,
	OWNERS_RELOAD,
	OWNERS_END,
};
_Static_assert(OWNERS_END == START_OWNERS_LENGTH, "it is as long as is said");

static void start_owners_ids(struct sock_filter *filter, size_t at, size_t argument, uint32_t id,
                             size_t next)
{
	start_load(filter, at, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
	start_jump(filter, at + 1, BPF_JEQ, id, next, at + 2);
	start_jump(filter, at + 2, BPF_JEQ, UINT32_MAX, next, OWNERS_REFUSE);
}

void start_owners(const struct init_config *config, struct sock_filter filter[START_OWNERS_LENGTH])
{
	start_jump(filter, 0, BPF_JGE, start_owner_calls[0].number, OWNERS_CALLS, OWNERS_END);
	for (size_t i = 0; i < ARRAY_SIZE(start_owner_calls); i++)
		start_jump(filter, OWNERS_CALLS + i, BPF_JEQ, start_owner_calls[i].number,
		           OWNERS_IDS + (start_owner_calls[i].user - 1) * OWNERS_ONE,
		           OWNERS_CALLS + i + 1);
	filter[OWNERS_IDS - 1] =
		(struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, OWNERS_END - OWNERS_IDS);
	for (size_t user = 1; user <= 2; user++) {
		size_t at = OWNERS_IDS + (user - 1) * OWNERS_ONE;

		start_owners_ids(filter, at, user, config->uid, at + OWNERS_ONE / 2);
		start_owners_ids(filter, at + OWNERS_ONE / 2, user + 1, config->gid, OWNERS_RELOAD);
	}
	filter[OWNERS_REFUSE] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	start_load(filter, OWNERS_RELOAD, offsetof(struct seccomp_data, nr));
}

/*
 * Whether init's filter begins with the standard head, so that the guard can be inserted behind it.
 */
static bool start_has_head(const struct init_config *config)
{
	const struct sock_filter *program = (const struct sock_filter *)config->data;
	struct sock_filter head[FILTER_HEAD];

	if (config->init_filter_count < FILTER_HEAD)
		return false;
	filter_head(head, FILTER_ARCH, program[2].k);
	return memcmp(head, program, sizeof head) == 0;
}

/*
 * Loads the filter with a listener, which the supervisor gets before init reads a byte from a
 * client. If the kernel does not support listeners, or an outer filter already has one, forbidden
 * calls fail with EPERM and nothing is reported.
 */
static int start_load_filter(const struct sock_fprog *program, int32_t *ret_listener)
{
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
	                 program);

	*ret_listener = r > 0 ? (int32_t)r : 0;
	if (r >= 0 || (errno != EINVAL && errno != EBUSY))
		return r < 0 ? -errno : 0;
	for (size_t i = 0; i < program->len; i++)
		if (program->filter[i].code == (BPF_RET | BPF_K) &&
		    program->filter[i].k == SECCOMP_RET_USER_NOTIF)
			program->filter[i].k = SECCOMP_RET_ERRNO | EPERM;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) < 0 ? -errno : 0;
}

static int start_filter(struct init_config *config)
{
	/* Static because it is large. Used once. */
	static struct sock_filter
		filter[START_GUARD_LENGTH + START_OWNERS_LENGTH + INIT_FILTER_MAX];
	struct sock_fprog program = {.filter = filter};
	const struct sock_filter *own = (const struct sock_filter *)config->data;
	size_t head = 0, guard = 0, count = config->init_filter_count;

	if (count == 0)
		return 0;
	/*
	 * Where commands have capabilities they may change ids, and the guard is left out. Their
	 * shared directories then use a different id mapping (open_map() of setup/share.c).
	 */
	if (config->capabilities == 0) {
		if (!start_has_head(config))
			return -EBADMSG;
		head = FILTER_HEAD;
		guard = START_GUARD_LENGTH;
		memcpy(filter, own, head * sizeof *filter);
		start_guard(config, filter + head);
		/* In user namespaces that commands create, other ids are valid. */
		if (config->keeps_groups && !config->nested_userns) {
			start_owners(config, filter + head + guard);
			guard += START_OWNERS_LENGTH;
		}
	}
	if (guard + count > BPF_MAXINSNS)
		return -E2BIG;
	memcpy(filter + head + guard, own + head, (count - head) * sizeof *filter);
	program.len = (unsigned short)(guard + count);
	return start_load_filter(&program, &config->listener);
}

static const struct {
	const char *name;
	int (*run)(struct init_config *config);
} start_stages[] = {
	{"read-configuration", start_read_config},
	{"descriptors", start_descriptors},
	{"groups", start_groups},
	{"no-new-privileges", start_no_new_privileges},
	{"read-only-mounts", start_read_only_mounts},
	{"landlock", start_landlock},
	{"death-signal", start_death_signal},
	{"control-socket", start_control_socket},
	{"undumpable", start_undumpable},
	{"capabilities", start_capabilities},
	{"limits", start_limits},
	{"signals", start_signals},
	/* Last, because earlier stages may need calls that it forbids. */
	{"system-call-filter", start_filter},
};

int start_run(struct init_config *config, bool has_config, const char **ret_step)
{
	for (size_t i = has_config ? 1 : 0; i < ARRAY_SIZE(start_stages); i++) {
		/* The first stage reads the configuration, which layer_is_on() needs. */
		int r = i == 0 || layer_is_on(config, start_stages[i].name)
		                ? start_stages[i].run(config)
		                : 0;

		*ret_step = start_stages[i].name;
		if (r < 0)
			return r;
	}
	return 0;
}
