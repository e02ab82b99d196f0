/* See monitor.h. */
#include "base/clock.h"
#include "base/log.h"
#include "helper/monitor/connection.h"
#include "helper/monitor/manage.h"
#include "helper/plan/planning.h"
#include "helper/privilege/privilege.h"
#include "protocol/envelope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define FIRST_REQUEST_DEADLINE_MS 60000 /* a connection without a sandbox costs two processes */
#define FORGET_AFTER_MS           20
#define SPARES_MS                 10000 /* whoever makes no further sandbox for so long has nothing kept ready */
#define DROP_MS                   1000  /* longer than any close takes that is not held up on purpose */
#define REFUSALS_AT_ONCE          4     /* after so many each costs its client a pause: whoever asks in a loop takes no time from others */
#define REFUSAL_PAUSE_MS          20
#define MEMORY_SENT_MAX           16 /* answers that carry memory, while the client has not read all that it was sent */

int monitor_prepare(struct monitor *monitor, const char *libexec)
{
	char empty[4096] = "";
	uint32_t id = monitor->policy->ids_first + IDMAP_ROLE_DECODER;
	int r;

	if (monitor->host) /* else nothing made the directory, and root may lack what becoming another takes */
		(void)snprintf(empty, sizeof empty, "%s/empty", monitor->policy->runtime_dir);
	r = decoder_start(libexec, id, empty, &monitor->decoder);
	return r == 0 ? reader_start(libexec, &monitor->reader) : r;
}

void monitor_free(struct monitor *monitor)
{
	decoder_free(&monitor->decoder);
	reader_free(&monitor->reader);
	monitor->listener = fd_close(monitor->listener);
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Gives the pages of the three large buffers back: an idle sandbox should cost little. */
static void forget_buffers(const struct connection *c)
{
	(void)madvise(c->frame, sizeof *c->frame, MADV_DONTNEED);
	(void)madvise(c->message, sizeof *c->message, MADV_DONTNEED);
	(void)madvise(c->plan, sizeof *c->plan, MADV_DONTNEED);
}

/*
 * Descriptors that were sent and not yet received count for the uid of the sender, which all monitors share, against
 * RLIMIT_NOFILE; clients that do not read would use that up for everybody. CAP_SYS_ADMIN lifts the bound (unix(7),
 * ETOOMANYREFS); safe because what is sent is our own.
 */
void connection_answer(struct connection *c, uint64_t sequence, int fd)
{
	int raised = fd >= 0 ? privilege_raise() : -1;

	if (frame_send_message(c->socket, c->message, sequence, &fd, fd >= 0 ? 1 : 0, MSG_DONTWAIT) < 0)
		c->is_over = true;
	if (raised == 0 && privilege_lower() < 0)
		c->is_over = true;
}

void connection_refuse(struct connection *c, uint64_t sequence, const struct yett_error *error)
{
	log_line(LOG_LEVEL_INFO, "uid=%" PRIu32 " pid=%d refused: %s%s%s", (uint32_t)c->peer.uid, c->peer.pid, error->message,
	         error->detail[0] ? "; " : "", error->detail);
	if (frame_send_error(c->socket, error, sequence, MSG_DONTWAIT) < 0)
		c->is_over = true;
	if (++c->refusals > REFUSALS_AT_ONCE)
		(void)poll(NULL, 0, REFUSAL_PAUSE_MS);
}

void connection_drop(struct connection *c)
{
	pid_t pid = fork();
	struct pollfd wait = {.events = POLLIN};
	bool is_done;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		fd_close_except(&c->socket, 1); /* what ends with us must not live on with it */
		frame_drop(c->socket);
		_exit(0);
	}
	wait.fd = pid < 0 ? -1 : pidfd_open(pid, 0);
	is_done = wait.fd >= 0 && poll(&wait, 1, DROP_MS) > 0;
	c->is_over = c->is_over || !is_done;
	if (pid > 0 && !is_done) {
		(void)kill(pid, SIGKILL);
		(void)poll(&wait, 1, DROP_MS); /* left to the listener, one that was killed would pass for a supervisor */
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, WNOHANG);
	fd_close(wait.fd);
}

void connection_take_back(struct connection *c)
{
	bool has_fds;

	c->taker = -1;
	if (frame_peek(c->socket, c->frame, &has_fds) > 0 && has_fds && memcmp(c->frame->bytes, c->head, sizeof c->head) == 0)
		connection_drop(c);
}

static int hello(struct connection *c)
{
	struct message_hello *hello = &message_begin(c->message, MESSAGE_HELLO)->hello;

	hello->version_min = hello->version_max = ENVELOPE_VERSION;
	randombytes_buf(c->verify.challenge, sizeof c->verify.challenge);
	memcpy(hello->challenge, c->verify.challenge, sizeof hello->challenge);
	return frame_send_message(c->socket, c->message, 0, NULL, 0, MSG_DONTWAIT);
}

int connection_check_unread(struct connection *c, struct yett_error *error)
{
	int unread = 0;

	if (ioctl(c->socket, SIOCOUTQ, &unread) < 0 || unread == 0)
		c->memory_sent = 0;
	if (c->memory_sent == MEMORY_SENT_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "earlier answers wait to be read");
	c->memory_sent++;
	return 0;
}

int connection_send_plan(struct connection *c, uint64_t sequence, struct yett_error *error)
{
	_cleanup_fd_ int memfd = -1;
	int r = decoder_print(&c->monitor->decoder, c->plan, DECODER_TIMEOUT_MS, &memfd, error);

	if (r < 0)
		return r;
	(void)message_begin(c->message, MESSAGE_PLAN);
	connection_answer(c, sequence, memfd);
	return 0;
}

static void make_id(char id[static PLAN_ID_SIZE])
{
	uint8_t bytes[(PLAN_ID_SIZE - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	(void)sodium_bin2hex(id, PLAN_ID_SIZE, bytes, sizeof bytes);
}

/* No process inside can have more than we: raising a hard limit takes CAP_SYS_RESOURCE. */
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

/* The whole way of a request for a sandbox. */
static int handle_create(struct connection *c, const struct verified *verified, uint64_t sequence, struct yett_error *error)
{
	const struct plan_limits given = limits_given();
	struct decision decision;
	char id[PLAN_ID_SIZE];
	int r = authorize(c->monitor->policy, verified, &given, &decision, error);

	if (r == 0) {
		make_id(id);
		r = planning_make(c->monitor->policy, &decision, id, c->plan, error);
	}
	if (r == 0 && c->monitor->fit)
		r = c->monitor->fit(c->monitor->means, &decision, c->plan, error);
	if (r == 0 && c->plan->is_dry)
		r = connection_check_unread(c, error);
	if (r != 0)
		return r;
	/* Where nothing can be built, nothing but the policy is asked. */
	return c->plan->is_dry && !c->monitor->host ? connection_send_plan(c, sequence, error)
	                                            : sandboxes_begin(c, &decision, sequence, error);
}

/* The whole way of a request. */
static void handle_request(struct connection *c)
{
	const struct frame *frame = c->frame;
	/* Whoever takes them counts them. */
	size_t stated = envelope_stated_fds(frame->bytes, frame->length), fd_count = !c->has_fds ? 0 : stated ? stated : 1;
	struct yett_error error = {0};
	uint64_t sequence = 0;
	struct verified verified;
	int r;

	memcpy(c->head, frame->bytes, sizeof c->head);
	r = verify_request(&c->verify, frame->bytes, frame->length, fd_count, c->message, &sequence, &verified, &error);
	if (r == 0) {
		c->is_known = !verified.is_first_key;
		r = sandboxes_check_policy(c, &error);
	}
	if (r == 0 && c->message->kind == MESSAGE_MANAGE)
		r = manage_handle(c, &verified, sequence, &error);
	else if (r == 0)
		r = handle_create(c, &verified, sequence, &error);
	if (r == 0 && c->monitor->is_proven) /* not when a sandbox is made: on a busy machine that takes a while */
		*c->monitor->is_proven = true;
	if (r < 0) {
		/* The decoder died, hung or lied, or memory is short: this connection is over, and no other one is touched. */
		error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0, "the request could not be looked at: %s", strerror(-r));
		c->is_over = true;
	}
	if (r != 0)
		connection_refuse(c, sequence, &error);
}

/*
 * A packet that has descriptors is looked at where it lies: what a client made is never ours to close. The sandbox that it is for
 * takes it, else a process that nobody waits for.
 */
static void handle_client(struct connection *c)
{
	int r = frame_peek(c->socket, c->frame, &c->has_fds);

	if (r == -EAGAIN)
		return;
	if (r != -EMSGSIZE && r <= 0) {
		c->is_over = true;
		return;
	}
	if (!c->has_fds)
		frame_drop(c->socket);
	if (r > 0 && envelope_stated_fds(c->frame->bytes, c->frame->length) <= MESSAGE_FDS_MAX) {
		handle_request(c);
	} else {
		struct yett_error error = {0};

		error_set(&error, YETT_E_PROTOCOL, YETT_R_SIZE, "%s", error_reason_text(YETT_R_SIZE));
		connection_refuse(c, 0, &error);
	}
	if (c->has_fds && c->taker < 0)
		connection_drop(c);
}

/* Whoever has been granted nothing makes room for others when the listener says so. */
static void give_way(struct connection *c)
{
	struct yett_error error = {0};

	error_set(&error, YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
	          "others want to connect, and this connection was granted nothing: connect again");
	connection_refuse(c, 0, &error);
	c->is_over = true;
}

/* Whoever has not proven a key yet has so long for it, whatever else is sent. */
static int time_left(const struct connection *c)
{
	uint64_t passed_ms = clock_now_ms() - c->since_ms;

	if (c->is_known)
		return FORGET_AFTER_MS;
	return passed_ms < FIRST_REQUEST_DEADLINE_MS ? (int)(FIRST_REQUEST_DEADLINE_MS - passed_ms) : 0;
}

static void loop(struct connection *c)
{
	c->since_ms = clock_now_ms();
	while (!c->is_over) {
		bool is_listening = c->pending < SANDBOXES_PENDING_MAX && c->taker < 0;
		struct pollfd wait[] = {
			{.fd = c->socket, .events = is_listening ? POLLIN : 0},
			{.fd = c->supervisors, .events = POLLIN},
			{.fd = c->monitor->is_proven && !*c->monitor->is_proven ? c->monitor->listener : -1, .events = POLLIN},
			{.fd = c->process, .events = POLLIN}};
		int timeout_ms = time_left(c), r;

		sandboxes_reap_children(c);
		if (timeout_ms == 0)
			return;
		r = poll(wait, ARRAY_SIZE(wait), timeout_ms);
		if (r == 0 && !c->is_known)
			return;
		if (r == 0) {
			forget_buffers(c);
			if (!c->monitor->reader.is_kept)
				reader_free(&c->monitor->reader); /* a key that the administrator enrolled needs none */
			r = poll(wait, ARRAY_SIZE(wait), c->pool >= 0 && !c->is_resting ? SPARES_MS : -1);
			c->is_resting = r == 0;
			if (c->is_resting) {
				sandboxes_end_spares(c, 0);
				continue;
			}
		}
		if (r < 0 && errno != EINTR)
			return;
		if (wait[1].revents)
			sandboxes_handle(c);
		/* Nobody is there to take an answer to what may still be queued; or only whom the client has left its end to: a command,
		 * say. */
		if ((wait[0].revents & POLLHUP) || wait[3].revents)
			return;
		if (wait[2].revents) /* however much there is to read */
			give_way(c);
		else if (wait[0].revents)
			handle_client(c);
	}
}

void monitor_report(int socket, int r, struct yett_error *error)
{
	if (r < 0 && error->message[0] == '\0')
		(void)error_set(error, YETT_E_INIT_FAILED, 0, "the helper cannot serve: %s", strerror(-r));
	(void)!frame_send_error(socket, error, 0, MSG_DONTWAIT);
}

int monitor_serve(struct monitor *monitor, int socket)
{
	struct connection c = {.monitor = monitor,
	                       .socket = socket,
	                       .process = -1,
	                       .taker = -1,
	                       .pool = -1,
	                       .pool_end = -1,
	                       .supervisors = epoll_create1(EPOLL_CLOEXEC)};
	struct yett_error error = {0};
	int r;

	c.frame = map(sizeof *c.frame);
	c.message = map(sizeof *c.message);
	c.plan = map(sizeof *c.plan);
	if (!c.frame || !c.message || !c.plan || c.supervisors < 0)
		return -ENOMEM;
	c.verify = (struct verify_context){
		.policy = monitor->policy, .peer = &c.peer, .decoder = &monitor->decoder, .reader = &monitor->reader, .next_sequence = 1};
	if (monitor->caller)
		c.peer = *monitor->caller;
	r = monitor->caller ? 0 : peer_read(socket, &c.peer, &error);
	log_count_for(c.peer.uid);
	if (r > 0)
		connection_refuse(&c, 0, &error);
	if (r == 0)
		c.process = peer_open_process(socket, c.peer.pid);
	if (r == 0)
		r = c.process < 0 ? c.process : hello(&c);
	if (r == 0)
		reader_begin(&monitor->reader, &c.peer);
	if (r == 0 && !monitor->caller)
		r = peer_examine(c.process, &c.peer);
	if (r == 0)
		loop(&c);
	(void)shutdown(socket, SHUT_RDWR); /* closed by our end, which does not linger over what is still queued there */
	sandboxes_end(&c);
	fd_close(c.process);
	fd_close(c.supervisors);
	return r < 0 ? r : 0;
}
