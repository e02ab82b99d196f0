/* SPDX-License-Identifier: Apache-2.0 */
/* See setuid.h. The comment of each step says which attack of the caller the step prevents. */
#include "helper/start/setuid.h"
#include "base/kernel.h"
#include "base/reached.h"
#include "helper/start/activation.h"

#include <cap-ng.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>

#define TIMER_SLACK_NS 50000UL /* the kernel's default */
#define MIB            (1ULL << 20)

/* include/linux/proc_ns.h of the kernel: PROC_USER_INIT_INO, PROC_PID_INIT_INO */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDU
#define FIRST_PID_NAMESPACE  0xEFFFFFFCU

bool setuid_is_asked(int argc, char *const argv[])
{
	return argc == 2 && strcmp(argv[1], SETUID_ARGUMENT) == 0;
}

/* Whether real, effective and saved ids are these. */
static bool has_ids(uid_t uid, gid_t gid)
{
	uid_t uids[3];
	gid_t gids[3];

	return getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	       getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == uid && uids[1] == uid &&
	       uids[2] == uid && gids[0] == gid && gids[1] == gid && gids[2] == gid;
}

int setuid_give_up(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (!getauxval(AT_SECURE) && geteuid() == uid && getegid() == gid)
		return 0;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* in case this file has capabilities, which it should not have */
	capng_clear(CAPNG_SELECT_ALL);
	if (uid != 0 &&
	    (capng_apply(CAPNG_SELECT_CAPS) < 0 || setresuid((uid_t)-1, 0, (uid_t)-1) == 0))
		return -EPERM;
	return has_ids(uid, gid) ? 0 : -EPERM;
}

int setuid_check_socket(struct yett_error *error)
{
	if (activation_is_pair(SETUID_SOCKET))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, 0,
	                 "descriptor %d is no end of a socketpair of AF_UNIX, SOCK_SEQPACKET",
	                 SETUID_SOCKET);
}

/*
 * Checks that this process has root's effective uid, which every further step needs. For each of
 * the reasons below, the kernel leaves the caller's ids to the program.
 */
static int check_effect(struct yett_error *error)
{
	if (geteuid() == 0)
		return 0;
	(void)error_set(error, YETT_E_UNSUPPORTED, 0,
	                "yett-helper is not set-user-id root here, or that has no effect");
	error_detail(
		error, "%s",
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
			? "its caller has set no_new_privs, with which no program gains privilege"
			: "it must belong to root with mode 4750 on a file system without nosuid; its caller must not be traced, nor share "
			  "its working directory with another process (CLONE_FS), nor be in a user namespace without root");
	return YETT_E_UNSUPPORTED;
}

static int read_caller(struct peer *caller, struct yett_error *error)
{
	int count = getgroups(PLAN_GROUPS_MAX, caller->groups);

	if (count < 0 && errno == EINVAL)
		return error_set(error, YETT_E_UNSUPPORTED, 0,
		                 "a user with more than %d groups is not served", PLAN_GROUPS_MAX);
	if (count < 0)
		return -errno;
	caller->groups_count = (size_t)count;
	caller->uid = getuid();
	caller->gid = getgid();
	/* for display only: the process of libyett, if libyett started us */
	caller->pid = getppid();
	return 0;
}

/*
 * If the real uid stayed the caller's, the caller's processes could signal us. The exec has already
 * cleared the other things that depend on ids: the parent-death signal, and the caller's right to
 * trace us.
 */
static int take_ids(_unused_ struct yett_error *error)
{
	if (setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0 || setgroups(0, NULL) < 0)
		return -errno;
	/* Verify the ids: a filter of the caller could have answered in the kernel's place. */
	return has_ids(0, 0) && getgroups(0, NULL) == 0 ? 0 : -EPERM;
}

/*
 * Returns whether the process has a controlling terminal, or whether that cannot be read. The
 * terminal is the fifth field after the name, which may contain spaces and parentheses; 0: none.
 * proc_pid_stat(5)
 */
static bool has_terminal(void)
{
	char text[1024], *at;
	ssize_t n = kernel_read_file(AT_FDCWD, "/proc/self/stat", text, sizeof text);
	int terminal = -1;

	at = n > 0 ? strrchr(text, ')') : NULL;
	return !at || sscanf(at, ") %*c %*d %*d %*d %d", &terminal) != 1 || terminal != 0;
}

/*
 * A terminal sends signals to all processes of its session, whatever their ids. Within a session
 * SIGCONT needs no permission.
 */
static int take_session(struct yett_error *error)
{
	/*
	 * setsid(2) fails for the leader of a process group. libyett starts us as the leader of a
	 * session, which is enough.
	 */
	if (setsid() >= 0 || (getsid(0) == getpid() && !has_terminal()))
		return 0;
	return error_set(
		error, YETT_E_UNSUPPORTED, 0,
		"the helper must be started in a session without a terminal, or not lead a process group");
}

/*
 * Blocks all signals; setuid_settle() unblocks them when the caller's control groups are left. Sets
 * each to SIG_IGN once, which discards pending signals, and then to SIG_DFL.
 */
static int setuid_take_signals(_unused_ struct yett_error *error)
{
	sigset_t all;

	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -errno;
	for (int number = 1; number < NSIG; number++) {
		/* EINVAL for SIGKILL, SIGSTOP and the signals of the C library */
		(void)signal(number, SIG_IGN);
		(void)signal(number, SIG_DFL);
	}
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0;
}

/* Timers of setitimer(2) and alarm(2) survive an exec; those of timer_create(2) do not. */
static int take_timers(_unused_ struct yett_error *error)
{
	static const struct itimerval none;

	return setitimer(ITIMER_REAL, &none, NULL) < 0 ||
	                       setitimer(ITIMER_VIRTUAL, &none, NULL) < 0 ||
	                       setitimer(ITIMER_PROF, &none, NULL) < 0
	               ? -errno
	               : 0;
}

/*
 * Resets what the caller may have set before the exec: attributes of prctl(2), the personality(2)
 * and the session keyring. Refuses securebits that separate capabilities from root's uid
 * (capabilities(7)).
 */
static int take_attributes(struct yett_error *error)
{
	static const struct {
		int option;
		unsigned long value;
		bool is_optional; /* only in newer kernels, or on one architecture */
	} attributes[] = {
		{PR_SET_DUMPABLE, 0, false},        /* no other process can trace us */
		{PR_SET_PDEATHSIG, 0, false},       /* no signal when the parent dies */
		{PR_SET_CHILD_SUBREAPER, 0, false}, /* no orphans of other processes */
		{PR_SET_TIMERSLACK, TIMER_SLACK_NS, false},
		{PR_SET_THP_DISABLE, 0, true},
		/* otherwise reading the clock could raise SIGSEGV */
		{PR_SET_TSC, PR_TSC_ENABLE, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (prctl(attributes[i].option, attributes[i].value, 0, 0, 0) < 0 &&
		    !attributes[i].is_optional)
			return -errno;
	/* until now it is the name of the link that was executed */
	(void)prctl(PR_SET_NAME, "yett-helper", 0, 0, 0);
	if (personality(PER_LINUX) < 0)
		return -errno;
	/*
	 * With these bits root's uid and its capabilities are independent. The bits above
	 * SECBIT_KEEP_CAPS only concern ambient capabilities and scripts.
	 */
	if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) &
	    (SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP | SECBIT_KEEP_CAPS))
		return error_set(error, YETT_E_UNSUPPORTED, 0,
		                 "its caller has securebits set, by which root has no privilege");
	/*
	 * Otherwise we would have the caller's session keyring. A container's filter may refuse the
	 * call; then there is no keyring to use either.
	 */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 &&
	    errno != ENOSYS && errno != EPERM)
		return -errno;
	return 0;
}

/*
 * A process that reaches a limit ends or fails, at a moment that the caller could choose. Raise the
 * limits where CAP_SYS_RESOURCE allows; the helper must work without it. Refuse to start where a
 * hard limit is too low and cannot be raised.
 */
static int take_limits(struct yett_error *error)
{
	static const struct {
		__rlimit_resource_t resource;
		const char *name;
		rlim_t least, most;
	} limits[] = {
		{RLIMIT_CPU, "processor time", RLIM_INFINITY, RLIM_INFINITY},
		{RLIMIT_FSIZE, "the size of files", 64 * MIB, RLIM_INFINITY},
		{RLIMIT_DATA, "data", 256 * MIB, RLIM_INFINITY},
		{RLIMIT_AS, "address space", 1024 * MIB, RLIM_INFINITY},
		{RLIMIT_STACK, "the stack", 1 * MIB, 8 * MIB},
		{RLIMIT_NOFILE, "open files", 512, 1048576}, /* as many as a sandbox may ask for */
		{RLIMIT_NPROC, "processes", 64, RLIM_INFINITY},
		{RLIMIT_MEMLOCK, "locked memory", 0, 8 * MIB},
		/* with 0 the host's core_pattern program may get our core: core(5) */
		{RLIMIT_CORE, "core files", 1, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit limit, raised = {limits[i].most, limits[i].most};

		if (getrlimit(limits[i].resource, &limit) < 0)
			return -errno;
		if (limit.rlim_max < limits[i].most && setrlimit(limits[i].resource, &raised) == 0)
			continue;
		if (limit.rlim_max < limits[i].least) {
			(void)error_set(error, YETT_E_RESOURCE_LIMIT, 0,
			                "its caller's limit of %s is too low, and cannot be raised",
			                limits[i].name);
			error_detail(error, "it is %llu, and must be %s %llu",
			             (unsigned long long)limit.rlim_max,
			             limits[i].least == RLIM_INFINITY ? "unlimited:" : "at least",
			             (unsigned long long)limits[i].least);
			return YETT_E_RESOURCE_LIMIT;
		}
		limit.rlim_cur = limit.rlim_max < limits[i].most ? limit.rlim_max : limits[i].most;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Otherwise a caller could keep us from running while other processes run, or have the OOM killer
 * choose us first. Settings that cannot be undone without CAP_SYS_NICE or CAP_SYS_RESOURCE only
 * slow down this caller: no lock is held that others wait for.
 */
static int take_scheduling(_unused_ struct yett_error *error)
{
	static const struct sched_param normal = {0};
	cpu_set_t all;
	_cleanup_fd_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	memset(&all, 0xff, sizeof all);
	(void)sched_setscheduler(0, SCHED_OTHER, &normal);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	(void)sched_setaffinity(0, sizeof all, &all); /* only the processors of its cpuset */
	(void)syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 0);
	(void)syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0);
	(void)kernel_write_file(self, "oom_score_adj", "0");
	return 0;
}

/* Returns the number after `key` in a file of proc_pid_status(5); -1 if there is none. */
static int status_number(const char *path, const char *key)
{
	char text[4096], *found;
	ssize_t n = kernel_read_file(AT_FDCWD, path, text, sizeof text);

	found = n > 0 ? strstr(text, key) : NULL;
	return found ? atoi(found + strlen(key)) : -1;
}

static bool is_namespace(const char *path, ino_t number)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == number;
}

/*
 * Some virtual machines do not let even root read the namespaces of process 1. Then compare ours
 * with the inode numbers that every kernel gives its first namespaces.
 */
static bool is_confined(void)
{
	struct stat first;

	if (stat("/proc/1/ns/mnt", &first) < 0 && errno == EACCES)
		return !is_namespace("/proc/self/ns/user", FIRST_USER_NAMESPACE) ||
		       !is_namespace("/proc/self/ns/pid", FIRST_PID_NAMESPACE);
	return peer_is_confined(1);
}

/*
 * A confined process must not escape through the helper: monitors check this for other clients,
 * too. Here the client executed this program, which so has the client's namespaces, root directory
 * and seccomp filter. Compare them with those of process 1. A caller without privilege could also
 * enter its own user namespace, or set a filter or Landlock domain. Then the exec does not make
 * this process root at all: check_effect().
 */
static int check_confinement(struct yett_error *error)
{
	if (!is_confined() && status_number("/proc/self/status", "\nSeccomp:") ==
	                              status_number("/proc/1/status", "\nSeccomp:"))
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, 0,
	                "a confined process cannot start the helper as a set-user-id program");
	error_detail(
		error,
		"its namespaces, its root directory or its system call filter are not those of the host");
	return YETT_E_SECURITY_VIOLATION;
}

/*
 * Closes all descriptors except the socket, before anything else. Closing a file can take as long
 * as its maker chose (socket(7), SO_LINGER; FUSE). Until we have root's ids, this process counts
 * for the caller, and the caller can kill it.
 */
static int close_descriptors(_unused_ struct yett_error *error)
{
	for (int fd = 0; fd < SETUID_SOCKET; fd++)
		(void)close(fd);
	return close_range(SETUID_SOCKET + 1, ~0U, 0) < 0 ||
	                       fcntl(SETUID_SOCKET, F_SETFD, FD_CLOEXEC) < 0
	               ? -errno
	               : 0;
}

/*
 * Opens each of 0, 1 and 2, so that no file that is opened later gets a number to which messages
 * are written. Log messages go to the system log, where there is one.
 */
static int setuid_take_descriptors(_unused_ struct yett_error *error)
{
	static const struct sockaddr_un log_address = {.sun_family = AF_UNIX,
	                                               .sun_path = "/dev/log"};
	_cleanup_fd_ int null = -1, log = -1;
	struct stat st;

	null = open("/dev/null", O_RDWR | O_CLOEXEC); /* gets the number 0 */
	if (null < 0 || fstat(null, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return -ENODEV;
	for (int fd = 0; fd < SETUID_SOCKET; fd++)
		if (fd == null ? fcntl(fd, F_SETFD, 0) < 0 : dup2(null, fd) < 0)
			return -errno;
	(void)steal_fd(&null);
	log = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (log >= 0 &&
	    connect(log, (const struct sockaddr *)&log_address, sizeof log_address) == 0 &&
	    dup2(log, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

/*
 * Also erases the strings, including those that the loader has ignored: /proc/PID/environ would
 * show them, and forked processes would have copies. They are located between our two arguments and
 * the name of the executed file; execve(2), getauxval(3).
 */
static int take_environment(_unused_ struct yett_error *error)
{
	char *at = program_invocation_name, *end = (char *)(uintptr_t)getauxval(AT_EXECFN);

	at += strlen(at) + 1;
	at += strlen(at) + 1;
	if (at < end)
		explicit_bzero(at, (size_t)(end - at));
	return clearenv() == 0 ? 0 : -EINVAL;
}

static int take_folder(_unused_ struct yett_error *error)
{
	(void)umask(022);
	return chdir("/") < 0 ? -errno : 0;
}

/*
 * Programs beside a link to us are not ours. We execute only programs in the directory that is
 * compiled in, and only if they belong to root.
 */
int setuid_check_programs(struct yett_error *error)
{
	static const char *const names[] = {
		".",           "yett-decider",    "yett-decoder", "yett-init",   "yett-policy",
		"yett-reader", "yett-reader-nss", "yett-front",   "yett-dialer", "yett-resolver"};
	_cleanup_fd_ int folder =
		open(YETT_LIBEXEC_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (folder < 0 || fstatat(folder, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
			                 YETT_LIBEXEC_DIR "/%s cannot be found: %s", names[i],
			                 strerror(errno));
		if (st.st_uid != 0 || (st.st_mode & 022) ||
		    !(i == 0 ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
			return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
			                 YETT_LIBEXEC_DIR
			                 "/%s must belong to root and be writable by nobody else",
			                 names[i]);
	}
	return 0;
}

/*
 * In this order. A later step relies on the earlier ones: limits before descriptors, confinement
 * before any file is opened.
 */
static const struct {
	const char *name;
	int (*take)(struct yett_error *error);
} steps[] = {
	{"the caller's descriptors", close_descriptors},
	{"ids", take_ids},
	{"session", take_session},
	{"signals", setuid_take_signals},
	{"timers", take_timers},
	{"attributes", take_attributes},
	{"limits", take_limits},
	{"scheduling", take_scheduling},
	{"environment", take_environment},
	{"confinement", check_confinement},
	{"descriptors", setuid_take_descriptors},
	{"folder", take_folder},
	{"programs", setuid_check_programs},
};

static int setuid_failed(const char *step, int r, struct yett_error *error)
{
	if (r < 0)
		r = error_set(error, YETT_E_INIT_FAILED, 0,
		              "the set-user-id helper cannot start: %s: %s", step, strerror(-r));
	return r;
}

int setuid_cleanse(struct peer *ret_caller, struct yett_error *error)
{
	int r = check_effect(error);

	if (r == 0)
		r = setuid_failed("caller", read_caller(ret_caller, error), error);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++) {
		(void)reached_step("setuid", steps[i].name);
		r = setuid_failed(steps[i].name, steps[i].take(error), error);
	}
	return r;
}

int setuid_settle(const struct setup_host *host, const struct peer *caller,
                  struct reservation *ret_place, struct yett_error *error)
{
	sigset_t none;
	int r;

	(void)reached_step("setuid", "place");
	r = reserve_slot(&host->reserve, caller->uid, RESERVE_SLOT_OF_HELPER, SETUID_HELPERS_MAX,
	                 ret_place, error);
	if (r != 0)
		return setuid_failed("place", r, error);
	(void)reached_step("setuid", "groups");
	r = cgroup_host_enter_helpers(&host->cgroups);
	(void)sigemptyset(&none);
	if (r == 0 && sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		r = -errno;
	if (r == 0)
		(void)reached_step("setuid", "settled");
	return setuid_failed("control groups", r, error);
}
