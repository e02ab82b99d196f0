/*
 * yett-decider: hears one client, decides what it may have, and asks its monitor for it.
 *
 * Theory of operation: all that is judged is judged here, and nothing here has privilege. The
 * client's packets come to this process alone; what of them takes parsing yett-decoder does, which
 * it starts, and what is read is compared with what was signed. What takes privilege it asks its
 * monitor for, over the socket on descriptor 0 (ask.h). Starts as root (or as the caller, in
 * personal mode), and has given that up, in the stages of lock_down(), before it hears of a client.
 */
#include "helper/policy/image.h"
#include "helper/privilege/lockdown.h"
#include "programs/decider/ask.h"
#include "programs/decider/connection.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Exit statuses: the number of the stage that failed, by which the log tells it. */
enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_DESCRIPTORS,
	STAGE_DECODER,
	STAGE_LIBRARY,
	STAGE_ROOT,
	STAGE_IDS,
	STAGE_LIMITS,
	STAGE_CAPABILITIES,
	STAGE_DEATH_SIGNAL,
	STAGE_POLICY,
	STAGE_FILTER,
};

/* sockets of so many sandboxes as a connection holds, and what there is besides */
#define SANDBOXES_FILES 4352

struct arguments {
	uint32_t id;
	const char *empty_dir, *libexec;
	int policy;
};

/* Each stage is done, or the process ends, which its monitor writes to the log. */
static void need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool read_arguments(int argc, char **argv, struct arguments *ret)
{
	uint32_t policy = 0;

	if (argc != 5 || !lockdown_parse_id(argv[1], &ret->id) ||
	    (*argv[3] && !lockdown_parse_id(argv[3], &policy)))
		return false;
	ret->empty_dir = argv[2];
	ret->policy = *argv[3] ? (int)policy : -1;
	ret->libexec = argv[4];
	return true;
}

/*
 * No process inside can have more than the helper, whose limits this process begins with: raising a
 * hard limit takes CAP_SYS_RESOURCE. 0: no bound.
 */
static struct plan_limits limits_given(void)
{
	static const struct {
		uint32_t resource;
		size_t offset;
	} rows[] = {{RLIMIT_NOFILE, offsetof(struct plan_limits, files)},
	            {RLIMIT_FSIZE, offsetof(struct plan_limits, file_bytes)},
	            {RLIMIT_CPU, offsetof(struct plan_limits, cpu_seconds)},
	            {RLIMIT_STACK, offsetof(struct plan_limits, stack_bytes)}};
	struct plan_limits given = {0};
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (getrlimit(rows[i].resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
			*(uint64_t *)((char *)&given + rows[i].offset) = limit.rlim_max;
	return given;
}

/* No file system but memory that it shares, no process, no core (1: core(5)). */
static bool set_limits(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NOFILE, SANDBOXES_FILES},
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 64u << 20},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(256u << 20)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/*
 * What hearing a client, asking the monitor and the decoder, and memory take. No path is opened, no
 * process made, no signal sent, and no socket made or connected.
 */
static bool enter_filter(void)
{
	static const int calls[] = {
		/* packets: of the client, the monitor, the decoder and supervisors */
		SYS_read,
		SYS_write,
		SYS_recvmsg,
		SYS_recvfrom,
		SYS_sendmsg,
		SYS_sendto,
		SYS_close,
		SYS_ioctl /* connection_check_unread */,
		/* waiting */
		SYS_ppoll,
		SYS_epoll_pwait,
		SYS_epoll_create1,
		SYS_epoll_ctl,
		SYS_clock_gettime,
		SYS_restart_syscall,
#ifdef SYS_poll
		SYS_poll,
		SYS_epoll_wait,
#endif
		SYS_socketpair /* streams_add */,
		/* memory; qsort_r(3) asks how much there is */
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mremap,
		SYS_madvise,
		SYS_sysinfo,
		/* lists and printed plans, in memory that is handed over; id and challenge */
		SYS_memfd_create,
		SYS_pread64,
		SYS_fcntl /* fd_seal, has_room */,
		SYS_newfstatat,
		SYS_getrandom,
		/* how the decoder ended: explain_end */
		SYS_pidfd_open,
		SYS_waitid,
		LOCKDOWN_END,
	};

	return lockdown_filter(calls, ARRAY_SIZE(calls));
}

static void lock_down(int argc, char **argv, struct decoder *decoder, struct policy **ret_policy)
{
	struct arguments arguments;
	struct yett_error error;

	need(read_arguments(argc, argv, &arguments), STAGE_ARGUMENTS);
	fd_close_except(&arguments.policy, 1);
	need(close(STDOUT_FILENO) == 0 || errno == EBADF, STAGE_DESCRIPTORS);
	need(close(STDERR_FILENO) == 0 || errno == EBADF, STAGE_DESCRIPTORS);
	/* Not for the decoder, which would have to close it. */
	need(arguments.policy < 0 || fcntl(arguments.policy, F_SETFD, FD_CLOEXEC) == 0,
	     STAGE_DESCRIPTORS);
	need(decoder_start(arguments.libexec, arguments.id, arguments.empty_dir, decoder) == 0,
	     STAGE_DECODER);
	need(sodium_init() >= 0, STAGE_LIBRARY); /* it looks at where random bytes come from */
	if (geteuid() == 0 && *arguments.empty_dir) {
		/* CAP_SYS_CHROOT. Safe because the directory is root's and empty, and this process
		 * can make nothing in it. */
		need(chroot(arguments.empty_dir) == 0 && chdir("/") == 0, STAGE_ROOT);
		need(lockdown_bounding_set() && lockdown_ids(arguments.id, arguments.id),
		     STAGE_IDS);
	}
	need(set_limits(), STAGE_LIMITS);
	need(lockdown_capabilities() && lockdown_undumpable() && lockdown_no_new_privs(),
	     STAGE_CAPABILITIES);
	/* Had the monitor died before, the first packet would be the end of file. */
	need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	/* Without a policy it has but one thing to say: why nobody is served. */
	need(arguments.policy < 0 || image_load(arguments.policy, ret_policy, &error) == 0,
	     STAGE_POLICY);
	need(enter_filter(), STAGE_FILTER);
}

int main(int argc, char **argv)
{
	struct decoder decoder = DECODER_NONE;
	struct policy *policy = NULL;
	const struct decider_begin *begin;
	const struct plan_limits given = limits_given();
	int socket;

	lock_down(argc, argv, &decoder, &policy);
	begin = ask_begin(&socket);
	connection_serve(begin, &given, policy, &decoder, socket);
	/* An orphan that a signal ends would pass for a supervisor that was killed: it ends by
	 * itself, unless it is stuck. */
	decoder_end(&decoder);
	/* Without what a program does at its end: the filter knows no such calls. */
	_exit(0);
}
