/*
 * See start.h. The order matters: the death signal is set before the control socket is looked at, so that a supervisor
 * that dies in between is seen by one or the other; the filter comes last.
 */
#include "helper/init/start.h"

#include <fcntl.h>
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
	if (config->groups_count > INIT_GROUPS_MAX || config->rlimits_count > INIT_RLIMITS_MAX ||
	    config->env_count > INIT_ENV_MAX || config->init_filter_count > INIT_FILTER_MAX ||
	    config->command_filter_count > INIT_FILTER_MAX || config->fds_present >> (INIT_FD_END - INIT_FD_CONTROL))
		return -EBADMSG;
	filters = (size_t)config->init_filter_count + config->command_filter_count;
	used = filters * sizeof(struct sock_filter);
	for (uint32_t i = 0; i < config->env_count && used <= config->data_used; i++) {
		const uint8_t *end = memchr(config->data + used, '\0', config->data_used - used);

		if (!end)
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

/* Descriptors 0 to 2 must be taken, or a client's would land there; the others must not reach a command. */
static int start_descriptors(struct init_config *config)
{
	for (int fd = 0; fd < INIT_FD_END; fd++)
		if ((fd < INIT_FD_CONTROL || config->fds_present & 1U << (fd - INIT_FD_CONTROL)) &&
		    fcntl(fd, F_GETFD) < 0)
			return -errno;
	return close_range(INIT_FD_CONTROL, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
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

/* No command may trace init or look into it, nor into a child of its that is not yet the command. */
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
 * Keeps CAP_SETUID and CAP_SETGID (launch_identity), CAP_KILL (commands_kill, commands_signal) and what commands are to
 * have; of that alone the inheritable set, which an empty bounding set lets nobody raise later.
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

/* A limit above the hard one that init was born with could not be set: its maker may lack CAP_SYS_RESOURCE. */
static int start_limits(struct init_config *config)
{
	for (uint32_t i = 0; i < config->rlimits_count; i++) {
		struct init_rlimit *wanted = &config->rlimits[i];
		struct rlimit limit;

		if (getrlimit(wanted->resource, &limit) < 0)
			return -errno;
		if (wanted->hard > limit.rlim_max)
			wanted->hard = limit.rlim_max;
		if (wanted->soft > wanted->hard)
			wanted->soft = wanted->hard;
	}
	return 0;
}

/* Ignored signals would stay ignored in commands; blocked ones are taken from a descriptor, and restored in the child.
 */
static int start_signals(struct init_config *config)
{
	struct sigaction initial = {.sa_handler = SIG_DFL};
	sigset_t all;

	(void)config;
	(void)sigfillset(&all);
	for (int signal = 1; signal < NSIG; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			(void)sigaction(signal, &initial, NULL); /* the C library keeps two for itself */
	return sigprocmask(SIG_SETMASK, &all, NULL) < 0 ? -errno : 0;
}

static int start_filter(struct init_config *config)
{
	struct sock_fprog program = {.len = (unsigned short)config->init_filter_count,
				     .filter = (struct sock_filter *)config->data};

	if (program.len == 0)
		return 0;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static const struct {
	const char *name;
	int (*run)(struct init_config *config);
} start_stages[] = {
	{"read-configuration", start_read_config},
	{"descriptors", start_descriptors},
	{"death-signal", start_death_signal},
	{"control-socket", start_control_socket},
	{"undumpable", start_undumpable},
	{"no-new-privileges", start_no_new_privileges},
	{"capabilities", start_capabilities},
	{"limits", start_limits},
	{"signals", start_signals},
	{"system-call-filter", start_filter}, /* last: what comes before may need more */
};

int start_run(struct init_config *config, const char **ret_step)
{
	for (size_t i = 0; i < ARRAY_SIZE(start_stages); i++) {
		int r = start_stages[i].run(config);

		*ret_step = start_stages[i].name;
		if (r < 0)
			return r;
	}
	return 0;
}
