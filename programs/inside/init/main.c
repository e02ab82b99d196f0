/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-init: PID 1 of a sandbox. Builds the sandbox (build/build.h), drops privileges (start.c),
 * runs the commands that clients request on exec channels, and reaps processes. One thread polls
 * the supervisor's socket (end of file ends the sandbox), the channels (the end of the first one
 * ends the sandbox too, unless it lingers), child exits, the sockets of children that have not
 * executed their program, and the pipes of captured outputs. The thread blocks elsewhere only for a
 * child that it has just killed, and in a recorded sandbox until the supervisor takes an event.
 *
 * Runs under a private id with CAP_SETUID, CAP_SETGID and CAP_KILL in the payload's user namespace.
 * While it serves it must open no path outside its cgroup and run no command's code itself.
 */
#include "base/clock_us.h"
#include "programs/inside/init/build/build.h"
#include "programs/inside/init/channel.h"
#include "programs/inside/init/leaf.h"
#include "programs/inside/init/start.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/*
 * After this time without a command, memory is returned to the kernel, so that an idle sandbox
 * costs little.
 */
#define MAIN_IDLE_US 200000

/*
 * MAIN_PREPARE_US is how long a command must have run, and MAIN_AFTER_US how long ago the last one
 * must have ended, before the child for the next command is forked. A command that starts within
 * MAIN_ROW_US of the previous command's end belongs to a row of commands.
 */
#define MAIN_PREPARE_US 3000
#define MAIN_AFTER_US   20
#define MAIN_ROW_US     300

#define ADVICE_POPULATE 23 /* MADV_POPULATE_WRITE, since Linux 5.14; musl's headers lack it */

/* Indexes into init.polled. The open channels follow, then the descriptors of commands. */
enum main_poll { MAIN_CONTROL, MAIN_CHILDREN, MAIN_CHANNELS };

/*
 * Mapped, not allocated: most of it is never touched, and pages that were touched can be given
 * back.
 */
struct init {
	struct init_config config;
	struct commands commands;
	struct pollfd polled[MAIN_CHANNELS + CHANNELS_MAX + COMMANDS_POLLED_MAX];
	const struct pollfd *commands_polled; /* where the entries of commands begin */
	struct channels channels;
	struct channel like; /* template for a new channel */
	/*
	 * Working memory in whole pages, up to `end`. Its contents are not needed beyond one turn
	 * of the loop.
	 */
	struct frame frame __attribute__((aligned(4096)));
	union {
		struct message message __attribute__((aligned(4096)));
		struct plan plan; /* only while the sandbox is built */
	};
	struct message_token tokens[MESSAGE_TOKENS_MAX];
	uint8_t end __attribute__((aligned(4096)));
};

/*
 * Reads "PROFILE (MODE)" or "unconfined" of AppArmor, or else the context of SELinux. Empty where
 * the kernel uses neither. apparmor(7)
 */
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

/*
 * Finds out which layers confine the sandbox besides its plan, and writes them to sandbox.json,
 * which commands can read.
 */
static int main_find_layers(const struct init_config *config, struct build_about about,
                            struct init_layers *ret_layers)
{
	*ret_layers = (struct init_layers){.landlock_abi = (uint8_t)config->landlock_abi};
	main_read_label(ret_layers->label);
	return about.file.bytes ? about_finish(about, ret_layers, config->init_filter_count > 0)
	                        : 0;
}

static void main_report(int r, const char *step, const struct init_layers *layers,
                        const struct yett_error *refused, int *listener)
{
	struct init_report report = {.kind = INIT_ORDER_SANDBOX, .error = r < 0 ? -r : r};
	bool has_listener = listener && *listener > 0;

	if (layers)
		report.layers = *layers;
	(void)snprintf(report.step, sizeof report.step, "%s", step);
	if (refused)
		report.refused = *refused;
	(void)!frame_send(INIT_FD_CONTROL, &report, sizeof report, has_listener ? listener : NULL,
	                  has_listener, 0);
	if (has_listener)
		*listener = fd_close(*listener);
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

/*
 * Waits until an event occurs or until `until_us` (0: no limit). Returns false when no event
 * occurred.
 */
static bool main_wait(struct init *init, int children, uint64_t until_us)
{
	uint64_t now_us = clock_now_us(), left = until_us > now_us ? until_us - now_us : 0;
	struct timespec timeout = {.tv_sec = (time_t)(left / 1000000),
	                           .tv_nsec = (long)(left % 1000000) * 1000};
	size_t count = MAIN_CHANNELS + init->channels.end;

	init->polled[MAIN_CONTROL] = (struct pollfd){.fd = INIT_FD_CONTROL, .events = POLLIN};
	for (size_t i = 0; i < init->channels.end; i++) {
		const struct channel *channel = &init->channels.table[i];

		init->polled[MAIN_CHANNELS + i] =
			(struct pollfd){.fd = channel->socket, .events = channel_events(channel)};
	}
	init->polled[MAIN_CHILDREN] = (struct pollfd){.fd = children, .events = POLLIN};
	init->commands_polled = init->polled + count;
	count += commands_poll(&init->commands, init->polled + count);
	return ppoll(init->polled, count, until_us ? &timeout : NULL, NULL) > 0;
}

/*
 * Handles a message from the supervisor. Ignores unknown ones. Returns true at end of file or on an
 * error.
 */
static bool main_control_ended(struct init *init)
{
	struct frame *frame = &init->frame;
	int r;

	frame->fd_count = 0;
	r = frame_receive(INIT_FD_CONTROL, frame, MSG_DONTWAIT);
	if (r <= 0)
		return r != -EAGAIN && r != -EINTR && r != -EMSGSIZE;
	if (frame->length == 1 && frame->bytes[0] == INIT_WORD_CHANNEL && frame->fd_count == 1)
		(void)channels_add(&init->channels, steal_fd(&frame->fds[0]), &init->like);
	else if (frame->length == 1 && frame->bytes[0] == INIT_WORD_KILL)
		commands_kill_all(&init->commands);
	/*
	 * The descriptor stays open until init exits: the locks of stores are sent to this socket.
	 */
	else if (frame->length == 1 && frame->bytes[0] == INIT_WORD_KEEP)
		frame->fd_count = 0;
	else if (frame->length == 1 &&
	         (frame->bytes[0] == INIT_WORD_REPORT || frame->bytes[0] == INIT_WORD_REST))
		init->commands.report.is_wanted = frame->bytes[0] == INIT_WORD_REPORT;
	frame_close_fds(frame);
	return false;
}

/* Removes a channel that is no longer usable. Returns whether the sandbox must end. */
static bool main_lose(struct init *init, size_t i)
{
	bool is_first = init->channels.table[i].socket == INIT_FD_CHANNEL;

	channels_remove(&init->channels, i);
	return is_first && !init->config.linger;
}

/* Handles the events of one main_wait(). Returns false when the sandbox must end. */
static bool main_turn(struct init *init, int children)
{
	struct signalfd_siginfo info;
	size_t end = init->channels.end;

	if (init->polled[MAIN_CHILDREN].revents && read(children, &info, sizeof info) < 0 &&
	    errno != EAGAIN)
		return false;
	if (!init->config.linger && init->channels.table[0].socket == INIT_FD_CHANNEL &&
	    (init->polled[MAIN_CHANNELS].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return false;
	/*
	 * Before the commands: a client that has confirmation that it follows the event stream must
	 * get every end from then on. A channel that this call adds was not polled yet.
	 */
	if (init->polled[MAIN_CONTROL].revents && main_control_ended(init))
		return false;
	commands_advance(&init->commands, init->commands_polled);
	for (size_t i = 0; i < end; i++) {
		/*
		 * Receive even from a channel that the client has closed: requests that it sent
		 * before are carried out, and end of file is read after them.
		 */
		short happened = init->polled[MAIN_CHANNELS + i].revents;
		bool is_lost = (happened & POLLIN) ? channel_receive(&init->channels.table[i]) != 0
		                                   : (happened & ~POLLOUT) != 0;

		if (is_lost && main_lose(init, i))
			return false;
	}
	return true;
}

/* Sends due messages on all channels. Returns false when the sandbox must end. */
static bool main_send(struct init *init)
{
	for (size_t i = 0; i < init->channels.end; i++)
		if (init->channels.table[i].socket >= 0 &&
		    channel_send(&init->channels.table[i]) != 0 && main_lose(init, i))
			return false;
	return true;
}

static bool main_has_errors(const struct init *init)
{
	for (size_t i = 0; i < init->channels.end; i++)
		if (init->channels.table[i].socket >= 0 &&
		    init->channels.table[i].error.code != YETT_OK)
			return true;
	return false;
}

/*
 * Applies madvise(2) to the working memory. With MADV_DONTFORK no child gets a copy of it, so its
 * pages are never shared, and writing to them costs no copy-on-write fault.
 */
static void main_advise(struct init *init, int advice)
{
	(void)madvise(&init->frame, (size_t)(&init->end - (uint8_t *)&init->frame), advice);
}

/* When to fork the child for the next command. */
struct main_preparing {
	uint64_t due_us;  /* 0: not before another command has started */
	uint64_t idle_us; /* since when no command has run; 0: a command runs */
	bool is_row;      /* the running command started right after another one ended */
};

/*
 * Forks the child for the next command, but not at a time when that would take the processor from a
 * short command, or from the client that was just woken by the end of a command and may run on the
 * same processor. In a row of commands waiting gains nothing, because the next command arrives at
 * once.
 */
static void main_prepare(struct init *init, struct main_preparing *preparing)
{
	uint64_t now_us = clock_now_us(),
		 soon_us = now_us + (init->commands.end > 0 ? MAIN_PREPARE_US : MAIN_AFTER_US);

	if (init->commands.end == 0 && preparing->idle_us == 0)
		preparing->idle_us = now_us;
	if (init->commands.end > 0 && preparing->idle_us != 0) {
		preparing->is_row = now_us - preparing->idle_us < MAIN_ROW_US;
		preparing->idle_us = 0;
	}
	if (init->commands.has_launched && preparing->is_row)
		preparing->due_us = now_us;
	else if (preparing->due_us == 0 ? init->commands.has_launched : soon_us < preparing->due_us)
		preparing->due_us = soon_us;
	init->commands.has_launched = false;
	if (preparing->due_us == 0 || now_us < preparing->due_us)
		return;
	commands_prepare(&init->commands);
	preparing->due_us = 0;
}

static void main_serve(struct init *init, int children)
{
	struct main_preparing preparing = {0};
	bool resting = false; /* idle, and the working memory was given back */

	while (main_send(init)) {
		uint64_t next = commands_expire(&init->commands);
		bool idle = init->commands.end == 0 && !main_has_errors(init);

		main_prepare(init, &preparing);
		if (idle && !resting)
			next = clock_now_us() + MAIN_IDLE_US;
		if (preparing.due_us != 0 && (next == 0 || preparing.due_us < next))
			next = preparing.due_us;
		if (!main_wait(init, children, next) && idle && preparing.due_us == 0) {
			main_advise(init, MADV_DONTNEED);
			/*
			 * The waiting child would hide from the supervisor that the sandbox is
			 * idle, or may never be used because no first command comes.
			 */
			if (init->config.is_watched || init->commands.records.last == 0)
				commands_dismiss(&init->commands);
			resting = true;
			report_totals(&init->commands.report);
			continue;
		}
		resting = false;
		if (!main_turn(init, children))
			return;
	}
}

/*
 * Runs while the client learns that init is ready: touches the pages that the first request needs,
 * and creates the leaf for the first command.
 */
static void main_warm(struct init *init)
{
	int leaf;

	if ((init->config.fds_present & (1u << (INIT_FD_CGROUP - INIT_FD_CONTROL))) &&
	    leaf_open(0, &init->config, &leaf) == 0)
		(void)close(leaf);
	main_advise(init, MADV_DONTFORK);
	(void)madvise(&init->message, sizeof init->message.body.exec, ADVICE_POPULATE);
	init->frame.fd_count = 0;
	init->tokens[0].kind = 0;
}

/*
 * Arguments: "build" to build the sandbox first; "once" to carry out one order in an existing
 * sandbox. Without an argument init serves in a sandbox that tests have made.
 */
int main(int argc, char **argv)
{
	struct init *init = mmap(NULL, sizeof *init, PROT_READ | PROT_WRITE,
	                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const char *step = "memory";
	bool is_to_build = argc > 1;
	struct yett_error refused = {0};
	struct build_about about = {0};
	struct init_layers layers;
	int children, r;

	if (is_to_build && strcmp(argv[1], "once") == 0) {
		start_reset_signals();
		return build_once() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (init == MAP_FAILED) {
		main_report(-errno, step, NULL, NULL, NULL);
		return EXIT_FAILURE;
	}
	start_reset_signals();
	r = is_to_build ? build_run((struct build_room){&init->plan, &init->frame}, &init->config,
	                            &about, &step, &refused)
	                : 0;
	if (r == 0)
		r = start_run(&init->config, is_to_build, &step);
	if (r == 0)
		r = main_find_layers(&init->config, about, &layers);
	children = r == 0 ? main_open_children() : r;
	if (r != 0 || children < 0) {
		main_report(r != 0 ? r : children, step, NULL, &refused, NULL);
		return EXIT_FAILURE;
	}
	init->commands.config = &init->config;
	init->commands.report.is_recorded = init->config.is_recorded;
	init->like = (struct channel){.frame = &init->frame,
	                              .message = &init->message,
	                              .scratch = {init->tokens, MESSAGE_TOKENS_MAX},
	                              .commands = &init->commands};
	(void)channels_add(&init->channels, INIT_FD_CHANNEL, &init->like);
	main_report(0, "", &layers, NULL, &init->config.listener);
	main_warm(init);
	commands_prepare(&init->commands);
	main_serve(init, children);
	report_totals(&init->commands.report);
	return EXIT_SUCCESS;
}
