/*
 * yett-init: PID 1 of a sandbox. Runs what the client asks for through the exec channel, and reaps.
 *
 * Theory of operation: start.c gives up privilege in named stages; then one loop without threads polls four kinds of
 * descriptors: the supervisor's socket and the client's channel (end of file on either ends the sandbox), child exits,
 * and the pipes of children that have not executed their program yet. Nothing in the loop waits for anything else.
 *
 * Privilege: an inside id of its own in the payload's user namespace, with CAP_SETUID, CAP_SETGID and CAP_KILL there.
 * It must never open a path but in its cgroup, nor run a command's code: each is a child that has dropped all of that.
 */
#include "helper/init/channel.h"
#include "helper/init/leaf.h"
#include "helper/init/start.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/* Without a command for this long, memory goes back to the kernel: an idle sandbox costs little. */
#define MAIN_IDLE_US 200000

enum main_poll { MAIN_CONTROL, MAIN_CHANNEL, MAIN_CHILDREN, MAIN_PIPES };

/* Mapped, not allocated: most of it is never touched, and what was touched can be given back. */
struct init {
	struct init_config config;
	struct launch_scratch launch;
	struct commands commands;
	struct pollfd polled[MAIN_PIPES + COMMANDS_MAX];
	struct channel channel;
	/* whole pages, between two marks: contents do not outlive a turn of the loop */
	struct frame frame __attribute__((aligned(4096)));
	struct message message;
	uint8_t end __attribute__((aligned(4096)));
};

/* "PROFILE (MODE)" or "unconfined" of AppArmor; else the context of SELinux; nothing where the kernel uses neither. apparmor(7) */
static void main_read_label(char label[INIT_LABEL_SIZE])
{
	_cleanup_fd_ int fd = open("/proc/self/attr/apparmor/current", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, label, INIT_LABEL_SIZE - 1);

	if (n <= 0) {
		(void)fd_close(fd);
		fd = open("/proc/self/attr/current", O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, label, INIT_LABEL_SIZE - 1);
	}
	label[n > 0 ? n : 0] = '\0';
	label[strcspn(label, "\n")] = '\0';
}

static void main_report(int r, const char *step, uint32_t landlock_abi)
{
	struct init_report report = {.error = -r, .layers.landlock_abi = (uint8_t)landlock_abi};

	main_read_label(report.layers.label);
	(void)snprintf(report.step, sizeof report.step, "%s", step);
	(void)send(INIT_FD_CONTROL, &report, sizeof report, MSG_NOSIGNAL);
}

static int main_open_children(void)
{
	sigset_t child;
	int fd;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Waits until something happens or `until_us` (0: for ever). False when nothing happened. */
static bool main_wait(struct init *init, int children, int64_t until_us)
{
	int64_t left = until_us - commands_now_us();
	struct timespec timeout = {.tv_sec = left > 0 ? left / 1000000 : 0,
				   .tv_nsec = left > 0 ? left % 1000000 * 1000 : 0};
	size_t pipes = commands_poll(&init->commands, init->polled + MAIN_PIPES, COMMANDS_MAX);
	int n;

	init->polled[MAIN_CONTROL] = (struct pollfd){.fd = INIT_FD_CONTROL, .events = POLLIN};
	init->polled[MAIN_CHANNEL] = (struct pollfd){.fd = INIT_FD_CHANNEL, .events = channel_events(&init->channel)};
	init->polled[MAIN_CHILDREN] = (struct pollfd){.fd = children, .events = POLLIN};
	n = ppoll(init->polled, MAIN_PIPES + pipes, until_us ? &timeout : NULL, NULL);
	return n > 0;
}

/* Anything the supervisor might send is skipped; only the end of its socket means something. */
static bool main_control_ended(void)
{
	uint8_t ignored[64];
	ssize_t n = recv(INIT_FD_CONTROL, ignored, sizeof ignored, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* One turn, after main_wait(). False when the sandbox is to end. */
static bool main_turn(struct init *init, int children)
{
	struct signalfd_siginfo info;

	if (init->polled[MAIN_CONTROL].revents && main_control_ended())
		return false;
	if (init->polled[MAIN_CHANNEL].revents & (POLLHUP | POLLERR | POLLNVAL))
		return false;
	if (init->polled[MAIN_CHILDREN].revents && read(children, &info, sizeof info) < 0 && errno != EAGAIN)
		return false;
	commands_advance(&init->commands);
	return !(init->polled[MAIN_CHANNEL].revents & POLLIN) || channel_receive(&init->channel) == 0;
}

static void main_serve(struct init *init, int children)
{
	bool resting = false; /* nothing to do, and working memory given back */

	while (channel_send(&init->channel) == 0) {
		int64_t next = commands_expire(&init->commands);
		bool idle = init->commands.end == 0 && init->channel.error.code == YETT_OK;

		if (idle && !resting)
			next = commands_now_us() + MAIN_IDLE_US;
		if (!main_wait(init, children, next) && idle) {
			(void)madvise(&init->frame, (size_t)(&init->end - (uint8_t *)&init->frame), MADV_DONTNEED);
			resting = true;
			continue;
		}
		resting = false;
		if (!main_turn(init, children))
			return;
	}
}

/* While the client learns that we are ready: the first command's group, and the pages that its request will need. */
static void main_warm(struct init *init)
{
	int leaf;

	if ((init->config.fds_present & (1u << (INIT_FD_CGROUP - INIT_FD_CONTROL))) && leaf_open(0, &leaf) == 0)
		(void)close(leaf);
	memset(&init->message.body.exec, 0, sizeof init->message.body.exec);
	init->frame.fd_count = 0;
}

int main(void)
{
	struct init *init =
		mmap(NULL, sizeof *init, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const char *step = "memory";
	int children, r;

	if (init == MAP_FAILED) {
		main_report(-errno, step, 0);
		return EXIT_FAILURE;
	}
	r = start_run(&init->config, &step);
	children = r == 0 ? main_open_children() : r;
	if (children < 0) {
		main_report(children, step, 0);
		return EXIT_FAILURE;
	}
	init->commands.config = &init->config;
	init->commands.scratch = &init->launch;
	init->channel = (struct channel){.socket = INIT_FD_CHANNEL,
					 .frame = &init->frame,
					 .message = &init->message,
					 .commands = &init->commands};
	main_report(0, "", init->config.landlock_abi);
	main_warm(init);
	main_serve(init, children);
	return EXIT_SUCCESS;
}
