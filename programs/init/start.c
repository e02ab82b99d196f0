/*
 * See start.h. The order matters: the death signal is set before the control socket is looked at,
 * so that a supervisor that dies in between is seen by one or the other; the filter comes last.
 */
#include "programs/init/start.h"
#include "base/filter_head.h"
#include "programs/init/landlock.h"
#include "programs/init/layer.h"

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

/* The groups of every command, taken once: start_guard() refuses the call from then on. */
static int start_groups(struct init_config *config)
{
	if (config->keeps_groups)
		return 0;
	return setgroups(config->groups_count, config->groups) < 0 ? -errno : 0;
}

/* Descriptors 0 to 2 must be taken, or a client's would land there; the others must not reach a
 * command. */
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

/* No command may trace init or look into it, nor into a child of its that is not yet the command.
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

/* These two before the death signal is set: they change the id that files are opened as, which
 * clears it. prctl(2) */
static int start_read_only_mounts(struct init_config *config)
{
	return landlock_check_mounts(config);
}

static int start_landlock(struct init_config *config)
{
	return landlock_restrict(config, &config->landlock_abi);
}

/*
 * Keeps CAP_SETUID and CAP_SETGID (launch_identity), CAP_KILL (commands_kill, commands_signal) and
 * what commands are to have; of that alone the inheritable set, which an empty bounding set lets
 * nobody raise later.
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
 * A limit above the hard one that init was born with could not be set: its maker may lack
 * CAP_SYS_RESOURCE. What a plan says is not, then (derive_config()); what is the same for every
 * sandbox is a bound that may be lower.
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

/* Of init itself, which keeps the outputs of many commands: as many as it may have. */
#define START_FILES 8192

/* Raises init's own limit of descriptors; commands have the one that they would have had. */
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
 * Of init and all commands, which the filter keeps from changing it. Where the host's core_pattern
 * is a pipe, a limit of 0 is none: a program of the host's runs as root on what a command left in
 * its memory. Only for a limit of 1 does the kernel run none. core(5)
 *
 * Where core files are given, it has been seen that the kernel writes them into the sandbox
 * (derive_config()), and is seen again whenever a command is started (launch_core_files()). Init
 * itself is undumpable by now.
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
	/* Where the hard limit was 0 and cannot be raised, our maker has said so. */
	return setrlimit(RLIMIT_CORE, &limit) < 0 && errno != EPERM ? -errno : 0;
}

/* Compilers raise theirs: deeply nested sources need more than others. */
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
	/* For buffers of performance events it is the bound of each process, and no control group
	 * counts them. perf_event_open(2) */
	const uint64_t locked_bytes = config->perf_events ? 64 << 10 : 8 << 20;
	const struct {
		uint32_t resource;
		bool is_set;
		uint64_t soft, hard;
	} wanted[] = {
		{RLIMIT_NOFILE, limits->files != 0, limits->files, limits->files},
		{RLIMIT_FSIZE, limits->file_bytes != 0, limits->file_bytes, limits->file_bytes},
		/* SIGXCPU at the limit, which names it, and SIGKILL a second later for who ignores
	           that. */
		{RLIMIT_CPU, limits->cpu_seconds != 0, limits->cpu_seconds,
	         limits->cpu_seconds + 1},
		/* Counted for the id within its user namespace, which is the sandbox's; one more:
	           init. */
		{RLIMIT_NPROC, limits->processes != 0, limits->processes + 1,
	         limits->processes + 1},
		{RLIMIT_STACK, limits->stack_bytes != 0, limits->stack_bytes,
	         start_stack_max(limits)},
		/* The kernel's memory, which not every cgroup counts; nobody needs more than a
	           little. */
		{RLIMIT_MEMLOCK, true, locked_bytes, locked_bytes},
		{RLIMIT_MSGQUEUE, true, 819200,
	         819200}, /* as the kernel has it for everybody: MQ_BYTES_MAX */
		{RLIMIT_SIGPENDING, true, 8192, 8192}, /* timers count as well */
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
	/* A kernel's struct sigaction of zeros: SIG_DFL. The C library would refuse the two signals
	 * that it keeps for itself, and posix_spawn(3) leaves them ignored. */
	static const uint64_t initial[8];

	for (int signal = 1; signal < NSIG; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, signal, initial, NULL, sizeof(uint64_t));
}

/* Taken from a descriptor, and restored in the child. */
static int start_signals(struct init_config *config)
{
	sigset_t all;

	(void)config;
	(void)sigfillset(&all);
	return sigprocmask(SIG_SETMASK, &all, NULL) < 0 ? -errno : 0;
}

/* Calls that change ids: only to those of commands, or to none (-1). One without ids here is not
 * made at all. */
static const struct {
	uint32_t number, ids;
	bool is_group;
} start_guarded[] = {
	{SYS_setuid, 1, false},   {SYS_setgid, 1, true},     {SYS_setreuid, 2, false},
	{SYS_setregid, 2, true},  {SYS_setresuid, 3, false}, {SYS_setresgid, 3, true},
	{SYS_setfsuid, 1, false}, {SYS_setfsgid, 1, true},   {SYS_setgroups, 0, true},
};

/* Where the parts of the guard begin. */
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

/* The third id of a call, the second and the first: a call with fewer enters later. */
static void start_guard_ids(struct sock_filter *filter, size_t at, uint32_t id)
{
	for (size_t i = 3; i-- > 0; at += GUARD_ID) {
		/* The lower half: both architectures are little-endian, and the kernel takes 32
		 * bits of an id. */
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
	/* Most calls are not concerned, and leave by the first two comparisons. */
	start_jump(filter, 0, BPF_JGT, most, GUARD_END, 1);
	start_jump(filter, 1, BPF_JGE, least, GUARD_CALLS, GUARD_END);
	start_guard_ids(filter, GUARD_USERS, config->uid);
	start_guard_ids(filter, GUARD_GROUPS, config->gid);
	filter[GUARD_REFUSE] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	start_load(filter, GUARD_RELOAD, offsetof(struct seccomp_data, nr));
}

/* Calls that change owners, the lowest number first, and which argument is the user; the next one
 * is the group. */
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
#else /* in the other order */
	{SYS_fchownat, 2},
	{SYS_fchown, 1},
#endif
};
_Static_assert(ARRAY_SIZE(start_owner_calls) == START_OWNER_CALLS,
               "the table is as long as is said");

/* Where the parts begin: a comparison for each call, then those of two ids that begin at argument
 * 1, then at 2. */
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

/* Whether the guard can stand behind the first instructions of init's filter. */
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
 * With a listener, which the supervisor gets before a byte of a client's is read. Where the kernel
 * has none to give, or an older filter around all of us has one already, forbidden calls fail as
 * they do otherwise, and nobody is told.
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
	/* Static: large, and used once. */
	static struct sock_filter
		filter[START_GUARD_LENGTH + START_OWNERS_LENGTH + INIT_FILTER_MAX];
	struct sock_fprog program = {.filter = filter};
	const struct sock_filter *own = (const struct sock_filter *)config->data;
	size_t head = 0, guard = 0, count = config->init_filter_count;

	if (count == 0)
		return 0;
	/* Commands with capabilities may change ids; their shared directories have a map of their
	 * own (open_map() of setup/share.c). */
	if (config->capabilities == 0) {
		if (!start_has_head(config))
			return -EBADMSG;
		head = FILTER_HEAD;
		guard = START_GUARD_LENGTH;
		memcpy(filter, own, head * sizeof *filter);
		start_guard(config, filter + head);
		/* In user namespaces that commands make, ids are others. */
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
	{"system-call-filter", start_filter}, /* last: what comes before may need more */
};

int start_run(struct init_config *config, bool has_config, const char **ret_step)
{
	for (size_t i = has_config ? 1 : 0; i < ARRAY_SIZE(start_stages); i++) {
		/* The configuration comes first of all, so there is one to ask. */
		int r = i == 0 || layer_is_on(config, start_stages[i].name)
		                ? start_stages[i].run(config)
		                : 0;

		*ret_step = start_stages[i].name;
		if (r < 0)
			return r;
	}
	return 0;
}
