/*
 * yett-init: PID 1 of a sandbox. Runs what the client asks for through the exec channel, and reaps.
 *
 * Theory of operation: start.c gives up privilege in named stages; then one loop without threads
 * polls four kinds of descriptors: the supervisor's socket (end of file there ends the sandbox),
 * the channels of clients (as that of the first one does, unless the sandbox lingers), child exits,
 * and what comes from commands: through the socket of a child that has not executed its program
 * yet, and the pipes of outputs that are kept. The loop waits for nothing else, but for the end of
 * a child that it has killed before that had a command, and in a recorded sandbox until the
 * supervisor takes what it is told.
 *
 * Before that it builds its sandbox: build/build.h.
 *
 * Privilege: an inside id of its own in the payload's user namespace, with CAP_SETUID, CAP_SETGID
 * and CAP_KILL there. When it serves, it must never open a path but in its cgroup, nor run a
 * command's code: each is a child that has dropped all of that.
 */
#include "base/clock_us.h"
#include "programs/init/build/build.h"
#include "programs/init/channel.h"
#include "programs/init/leaf.h"
#include "programs/init/start.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/* Without a command for this long, memory goes back to the kernel: an idle sandbox costs little. */
#define MAIN_IDLE_US 200000

/* How long a command has run, or has been over, before the next one's child is made; how soon after
 * an end another one makes a row. */
#define MAIN_PREPARE_US 3000
#define MAIN_AFTER_US   20
#define MAIN_ROW_US     300

#define ADVICE_POPULATE 23 /* MADV_POPULATE_WRITE, Linux 5.14: younger than musl's headers */

/* The channels that there are, and then what comes from commands. */
enum main_poll { MAIN_CONTROL, MAIN_CHILDREN, MAIN_CHANNELS };

/* Mapped, not allocated: most of it is never touched, and what was touched can be given back. */
struct init {
	struct init_config config;
	struct commands commands;
	struct pollfd polled[MAIN_CHANNELS + CHANNELS_MAX + COMMANDS_POLLED_MAX];
	const struct pollfd *commands_polled; /* where those of commands begin */
	struct channels channels;
	struct channel like; /* what every channel works with */
	/* whole pages, between two marks: contents do not outlive a turn of the loop */
	struct frame frame __attribute__((aligned(4096)));
	union {
		struct message message __attribute__((aligned(4096)));
		struct plan plan; /* while the sandbox is built */
	};
	struct message_token tokens[MESSAGE_TOKENS_MAX];
	uint8_t end __attribute__((aligned(4096)));
};

/* "PROFILE (MODE)" or "unconfined" of AppArmor; else the context of SELinux; nothing where the
 * kernel uses neither. apparmor(7) */
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

/* What holds the sandbox besides its plan; commands can read it, too. */
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

/* Waits until something happens or `until_us` (0: for ever). False when nothing happened. */
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

/* The supervisor's word, or its end. What it does not say is skipped. */
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
	else if (frame->length == 1 && frame->bytes[0] == INIT_WORD_KEEP)
		frame->fd_count = 0; /* nothing closes it */
	else if (frame->length == 1 &&
	         (frame->bytes[0] == INIT_WORD_TELL || frame->bytes[0] == INIT_WORD_REST))
		init->commands.tell.is_wanted = frame->bytes[0] == INIT_WORD_TELL;
	frame_close_fds(frame);
	return false;
}

/* A channel is of no more use. Whether the sandbox ends with it. */
static bool main_lose(struct init *init, size_t i)
{
	bool is_first = init->channels.table[i].socket == INIT_FD_CHANNEL;

	channels_remove(&init->channels, i);
	return is_first && !init->config.linger;
}

/* One turn, after main_wait(). False when the sandbox is to end. */
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
	/* First: whoever was told that it follows learns of every end from then on. A channel that
	 * it adds was not polled yet. */
	if (init->polled[MAIN_CONTROL].revents && main_control_ended(init))
		return false;
	commands_advance(&init->commands, init->commands_polled);
	for (size_t i = 0; i < end; i++) {
		/* Of a channel that was closed, too: what was asked before is done, and its end is
		 * read after that. */
		short happened = init->polled[MAIN_CHANNELS + i].revents;
		bool is_lost = (happened & POLLIN) ? channel_receive(&init->channels.table[i]) != 0
		                                   : (happened & ~POLLOUT) != 0;

		if (is_lost && main_lose(init, i))
			return false;
	}
	return true;
}

/* False when the sandbox is to end. */
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

/* Working memory. No child has a copy of it: its pages are not shared, and so cost nothing more
 * when they are written to. */
static void main_advise(struct init *init, int advice)
{
	(void)madvise(&init->frame, (size_t)(&init->end - (uint8_t *)&init->frame), advice);
}

/* When the next command's child is to be made. */
struct main_preparing {
	uint64_t due_us;  /* 0: not before another command has begun */
	uint64_t idle_us; /* since when no command has run; 0: one does */
	bool is_row;      /* the one that runs followed another one at once */
};

/*
 * A child for the next command, but not while that would take the processor from a short command,
 * or from the client who has just heard of its end and is woken where we run. In a row of commands
 * nobody gains by waiting: the next one is there at once.
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
	bool resting = false; /* nothing to do, and working memory given back */

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
			if (init->config.is_watched ||
			    init->commands.records.last == 0) /* the first one may never come */
				commands_dismiss(&init->commands);
			resting = true;
			tell_totals(&init->commands.tell);
			continue;
		}
		resting = false;
		if (!main_turn(init, children))
			return;
	}
}

/* While the client learns that we are ready: the pages that its first request needs, and the first
 * command's group. */
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

/* Started with "build", to build its sandbox first; with "once", for an order in one that is there.
 * Tests start it in one that they have made. */
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
	init->commands.tell.is_recorded = init->config.is_recorded;
	init->like = (struct channel){.frame = &init->frame,
	                              .message = &init->message,
	                              .scratch = {init->tokens, MESSAGE_TOKENS_MAX},
	                              .commands = &init->commands};
	(void)channels_add(&init->channels, INIT_FD_CHANNEL, &init->like);
	main_report(0, "", &layers, NULL, &init->config.listener);
	main_warm(init);
	commands_prepare(&init->commands);
	main_serve(init, children);
	tell_totals(&init->commands.tell);
	return EXIT_SUCCESS;
}
