/* SPDX-License-Identifier: Apache-2.0 */
/* See listener.h. */
#include "helper/listener/listener.h"
#include "base/clock.h"
#include "base/closing.h"
#include "base/kernel.h"
#include "base/log.h"
#include "helper/listener/admission.h"
#include "helper/listener/audit_program.h"
#include "helper/listener/notify.h"
#include "helper/monitor/monitor.h"
#include "helper/privilege/privilege.h"
#include "protocol/frame.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/*
 * Accept at most CONNECTIONS_AT_ONCE connections in a row, then handle other events. If there is
 * nothing to pre-start after that, pause, so that a flood of connections cannot occupy a processor.
 */
#define CONNECTIONS_AT_ONCE  8
#define CONNECTIONS_PAUSE_MS 1
#define MONITORS_READY       8
/* How often to check which monitors may begin, while monitors wait for their turn. */
#define TURN_MS 4
/*
 * The listener pre-starts processes only after this much time without any event, because forking
 * takes time from clients that are being served. While is_short(), the listener does not wait.
 */
#define REFILL_AFTER_MS  8
#define MONITOR_RETRY_MS 1000
#define USERS_MAX        64 /* users that have pre-started supervisors */
#define USER_IDLE_MS     300000
/*
 * While less than 1/MEMORY_PART of the host's memory is available, no sandbox is pre-started, and
 * pre-started sandboxes are dropped.
 */
#define MEMORY_PART 16

/* Indexes into `poll`, before the workers. */
enum poll_index { POLL_SOCKET, POLL_SIGNALS, POLL_POOL, POLL_AUDIT, POLL_FIXED };

/* A user served lately, with the supervisors that are pre-started for it. */
struct user {
	uid_t uid;
	gid_t gid;
	/* In this order: those that have not served a sandbox yet, then the others. */
	struct spare {
		int socket; /* of the supervisor, which exits when this is closed */
		uint32_t profile;
	} spares[POLICY_SPARES_MAX];
	size_t spares_count;
	uint32_t profile; /* of the last request */
	/*
	 * Set when at most half of policy->spares supervisors are left, cleared when there are
	 * policy->spares again. So several supervisors are started in a row, and the kernel lets
	 * them wait for the same RCU grace period instead of one each.
	 */
	bool is_filling;
	uint64_t last_used_ms;
};

/* Shared with all monitors. */
struct shared {
	_Atomic uint64_t generation; /* of the policy in force */
	bool are_proven[CONNECTIONS_MAX + MONITORS_READY];
};

struct listener {
	const struct listener_options *options;
	struct policy *policy;
	struct setup_host *host;
	int signals;
	struct worker workers[CONNECTIONS_MAX + MONITORS_READY];
	size_t workers_count, ready_count;
	/* Pre-start no monitor before this time: one died before it served a client. */
	uint64_t ready_after_ms;
	struct user users[USERS_MAX];
	size_t users_count;
	/*
	 * A supervisor that can take another sandbox announces itself on pool[1]; the listener
	 * reads pool[0].
	 */
	int pool[2];
	struct pollfd poll[POLL_FIXED + CONNECTIONS_MAX + MONITORS_READY];
	struct notify notify;
	/* The cgroup and namespaces that monitors and supervisors are forked into. */
	struct place place;
	struct closer closer;
	struct audit_program audit;
	struct admission admission;
	uint64_t alive_ms; /* when "WATCHDOG=1" was last sent */
	uint64_t busy_ms;  /* when there last was a connection */
	uint64_t swept_ms;
	struct shared *shared;
	bool is_over;
};

/*
 * Loads the policy and builds the templates of its profiles. Needs raised privilege, and reads only
 * files that the administrator wrote. Keeps the old policy on failure.
 */
static int load_here(struct listener *l, struct yett_error *error)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(setup_host_closep) struct setup_host *host = NULL;
	_cleanup_fd_ int helpers = -1;
	const struct policy_source source = {l->options->libexec, l->options->policy_path, true, 0};
	int r = policy_load(&source, &policy, error);

	if (r == 0) {
		policy->generation = l->shared->generation + 1;
		l->closer.id = policy->ids_first + IDMAP_ROLE_CLOSER;
		r = setup_host_open(policy, l->options->libexec, NULL, &host, error);
	}
	if (r == 0) {
		helpers = cgroup_host_make_helpers(&host->cgroups);
		r = helpers < 0 ? helpers : 0;
	}
	for (size_t i = 0; r == 0 && i < policy->profiles_count; i++)
		r = setup_host_profile(host, i, error);
	if (r != 0)
		return r;
	for (size_t i = 0; i < policy->grants_count; i++)
		if (*policy->grants[i].notice)
			log_line(LOG_LEVEL_WARNING, "%s", policy->grants[i].notice);
	setup_host_close(l->host);
	policy_free(l->policy);
	fd_close(l->place.cgroup);
	l->place.cgroup = steal_fd(&helpers);
	l->host = steal_ptr(&host);
	l->policy = steal_ptr(&policy);
	/*
	 * From here on, monitors of existing connections see that their policy is outdated, and
	 * refuse.
	 */
	l->shared->generation = l->policy->generation;
	audit_program_start(&l->audit, l->host);
	return 0;
}

/*
 * Loads in the mount namespace of process 1, where paths mean what they mean on the host: the
 * service manager may have put the listener into another one.
 */
static int listener_load(struct listener *l, struct yett_error *error)
{
	int r = place_enter(l->place.mount_ns, CLONE_NEWNS);

	if (r == 0)
		r = load_here(l, error);
	/*
	 * Monitors and supervisors are forks: give back the memory that loading used, so that no
	 * fork copies it.
	 */
	(void)malloc_trim(0);
	return place_enter(l->place.own_mount_ns, CLONE_NEWNS) < 0 ? -EPERM : r;
}

static void drop_spares(struct user *user)
{
	for (size_t i = 0; i < user->spares_count; i++)
		fd_close(user->spares[i].socket);
	user->spares_count = 0;
}

static void listener_add_spare(struct user *user, size_t at, struct spare spare)
{
	memmove(&user->spares[at + 1], &user->spares[at],
	        (user->spares_count++ - at) * sizeof spare);
	user->spares[at] = spare;
}

static int remove_spare(struct user *user, size_t at)
{
	int socket = user->spares[at].socket;

	memmove(&user->spares[at], &user->spares[at + 1],
	        (--user->spares_count - at) * sizeof *user->spares);
	return socket;
}

/* The forked monitor: prepares itself, waits for a connection and serves it. */
static void __attribute__((noreturn)) be_monitor(struct listener *l, int control)
{
	struct monitor monitor = {MONITOR_NONE,
	                          .host = l->host,
	                          .policy = l->policy,
	                          .listener = control,
	                          .generation = &l->shared->generation,
	                          .is_proven = l->workers[l->workers_count].is_proven};
	char byte;
	int socket, r;

	setup_host_keep_only(l->host, (const int[]){control, l->policy->memory}, 2);
	r = privilege_lower() ?: monitor_prepare(&monitor, l->options->libexec);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "a monitor cannot get ready: %s", strerror(-r));
	if (r == 0 && frame_receive_fd(control, &byte, sizeof byte, &socket, 0) == 0 &&
	    socket >= 0) {
		/* Wait for the monitor's turn: see listener_hand_over(). */
		(void)!recv(control, &byte, sizeof byte, 0);
		r = monitor_serve(&monitor, socket);
	}
	monitor_free(&monitor);
	_exit(r < 0);
}

static int start_worker(struct listener *l)
{
	struct worker *worker = &l->workers[l->workers_count];
	int control;
	pid_t pid;

	if (l->workers_count == ARRAY_SIZE(l->workers))
		return -EMFILE;
	*worker->is_proven = false;
	pid = place_fork(&l->place, &control);
	if (pid == 0)
		be_monitor(l, control);
	if (pid < 0)
		return pid;
	*worker = (struct worker){.control = control, .is_proven = worker->is_proven};
	l->workers_count++;
	l->ready_count++;
	return 0;
}

static void remove_worker(struct listener *l, size_t i)
{
	bool *is_proven = l->workers[i].is_proven;

	if (!l->workers[i].is_serving) {
		l->ready_count--;
		l->ready_after_ms = clock_now_ms() + MONITOR_RETRY_MS;
	}
	admission_settle(&l->admission, &l->workers[i]);
	fd_close(l->workers[i].control);
	l->workers[i] = l->workers[--l->workers_count];
	l->workers[l->workers_count].is_proven = is_proven;
}

/*
 * Sends the connection to an idle monitor; `socket` is consumed unless the result is false. The
 * monitor waits for another byte, which admission_give_turns() sends when it is the monitor's turn.
 * Until then the monitor neither serves nor closes the connection, so that the listener cannot be
 * the last to close it: see closer.h.
 */
static bool listener_hand_over(struct listener *l, int socket, uid_t uid)
{
	for (size_t i = l->workers_count; i > 0; i--) {
		struct worker *worker = &l->workers[i - 1];

		if (worker->is_serving)
			continue;
		if (frame_send(worker->control, "", 1, &socket, 1, MSG_DONTWAIT) < 0) {
			remove_worker(l, i - 1); /* The monitor has died. */
			continue;
		}
		(void)close(socket);
		worker->is_serving = worker->is_waiting = true;
		worker->since_ms = clock_now_ms();
		worker->uid = uid;
		worker->is_settled = uid == 0;
		l->ready_count--;
		return true;
	}
	return false;
}

static bool allows_confined(const struct policy *policy)
{
	bool allows = false;

	for (size_t i = 0; i < policy->grants_count; i++)
		allows = allows || policy->grants[i].confined_clients;
	return allows;
}

/*
 * Accepts one connection; returns whether there was one. Raises privilege to look at the peer's
 * user namespace (CAP_SYS_PTRACE) and to send descriptors however many are in flight
 * (CAP_SYS_ADMIN; unix(7), ETOOMANYREFS). While a client's connection is open here, forks nothing
 * but yett-closer.
 */
static bool handle_connection(struct listener *l)
{
	int r = l->ready_count ? 0 : start_worker(l),
	    socket = accept4(l->options->socket, NULL, NULL, SOCK_CLOEXEC);
	enum closer_reason reason;
	struct ucred peer;
	uid_t uid;

	if (socket < 0)
		return false;
	reason = r < 0 ? CLOSER_NO_PROCESS : admission_glance(&l->admission, socket, &peer);
	if (!reason) {
		reason = privilege_raise() < 0
		                 ? CLOSER_NO_PROCESS
		                 : admission_examine(&l->admission, &peer,
		                                     allows_confined(l->policy), l->workers,
		                                     l->workers_count, &uid);
		if (!reason && !listener_hand_over(l, socket, uid))
			reason = CLOSER_NO_PROCESS;
		if (privilege_lower() < 0)
			l->is_over = true;
	}
	if (reason && closer_take(&l->closer, socket, reason) < 0)
		l->is_over = true;
	return true;
}

static struct user *listener_find_user(struct listener *l, uid_t uid, gid_t gid)
{
	size_t oldest = 0;

	for (size_t i = 0; i < l->users_count; i++) {
		if (l->users[i].uid == uid)
			return &l->users[i];
		if (l->users[i].last_used_ms < l->users[oldest].last_used_ms)
			oldest = i;
	}
	if (l->users_count < USERS_MAX)
		oldest = l->users_count++;
	else
		drop_spares(&l->users[oldest]);
	l->users[oldest] = (struct user){.uid = uid, .gid = gid};
	return &l->users[oldest];
}

/*
 * Takes a pre-started supervisor of the user, preferably one of the profile and, among those, one
 * that has already served a sandbox: it has the next sandbox pre-started, while a supervisor that
 * the listener forked may still be starting its first one. Returns its socket, or -1 if there is
 * none. Skips supervisors that have died: their end of the socket is closed.
 */
static int listener_take_spare(struct user *user, uint32_t profile)
{
	while (user->spares_count) {
		size_t i = user->spares_count;
		int socket;

		while (i > 0 && user->spares[i - 1].profile != profile)
			i--;
		socket = remove_spare(user, (i > 0 ? i : user->spares_count) - 1);
		if (fd_poll(socket, 0, 0) == 0)
			return socket;
		fd_close(socket);
	}
	return -1;
}

/*
 * A monitor asks for a supervisor, or has ended. The monitor is trusted: it read the uid from the
 * kernel.
 */
static void handle_worker(struct listener *l, size_t i)
{
	struct monitor_need need;
	struct user *user;
	int socket;
	ssize_t n = recv(l->workers[i].control, &need, sizeof need, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n != sizeof need) {
		remove_worker(l, i);
		return;
	}
	user = listener_find_user(l, need.uid, need.gid);
	user->last_used_ms = clock_now_ms();
	/*
	 * A monitor of the previous policy may send an index into that policy's table. That monitor
	 * sees from the generation that its policy is outdated.
	 */
	user->profile = need.profile < l->policy->profiles_count ? need.profile : 0;
	socket = listener_take_spare(user, need.profile);
	(void)!privilege_send(l->workers[i].control, "", 1, &socket, socket >= 0);
	fd_close(socket);
}

/*
 * A supervisor has finished with a sandbox and can take another: keeps its socket. If its user has
 * policy->spares supervisors already, ends another one, if possible one that has not served a
 * sandbox yet. If the user is not known any more, or if the policy was replaced, closes the socket
 * instead, and the supervisor exits.
 */
static void handle_ready(struct listener *l)
{
	struct supervisor_ready ready;
	int socket;

	if (frame_receive_fd(l->pool[0], &ready, sizeof ready, &socket, MSG_DONTWAIT) < 0)
		return;
	for (size_t i = 0; i < l->users_count; i++) {
		struct user *user = &l->users[i];

		if (user->uid != ready.uid || ready.generation != l->policy->generation ||
		    l->policy->spares == 0)
			continue;
		if (user->spares_count >= l->policy->spares)
			fd_close(remove_spare(user, 0));
		listener_add_spare(user, user->spares_count,
		                   (struct spare){steal_fd(&socket), ready.profile});
	}
	fd_close(socket);
}

/*
 * Returns whether the host has memory for pre-started processes; true if that cannot be read.
 * proc_meminfo(5)
 */
static bool has_memory(void)
{
	unsigned long long total = 0, available = 0;
	char text[256];

	return kernel_read_file(AT_FDCWD, "/proc/meminfo", text, sizeof text) < 0 ||
	       sscanf(text, "MemTotal: %llu kB MemFree: %*u kB MemAvailable: %llu", &total,
	              &available) != 2 ||
	       available >= total / MEMORY_PART;
}

/*
 * Starts one monitor or supervisor, or drops the supervisors of one idle user. If memory is short,
 * drops all pre-started supervisors and starts a monitor only if there is none. Returns whether
 * there may be more to do.
 */
static bool refill(struct listener *l)
{
	uint64_t now = clock_now_ms();

	if (!has_memory()) {
		for (size_t i = 0; i < l->users_count; i++)
			drop_spares(&l->users[i]);
		return l->ready_count == 0 && now >= l->ready_after_ms && start_worker(l) == 0;
	}
	if (l->ready_count < MONITORS_READY && now >= l->ready_after_ms)
		return start_worker(l) == 0;
	for (size_t i = 0; i < l->users_count; i++) {
		struct user *user = &l->users[i];
		struct supervisor_ahead ahead = {l->pool[1], user->profile, user->uid, user->gid};
		int socket;

		if (now - user->last_used_ms > USER_IDLE_MS) {
			drop_spares(user);
			*user = l->users[--l->users_count];
			return true;
		}
		if (user->spares_count >= l->policy->spares)
			user->is_filling = false;
		else if (user->spares_count * 2 <= l->policy->spares)
			user->is_filling = true;
		if (!user->is_filling)
			continue;
		if (supervisor_start(l->host, &l->place, &ahead, &socket) < 0)
			return false;
		listener_add_spare(user, 0, (struct spare){socket, user->profile});
		return true;
	}
	return false;
}

/* Returns whether the next client would have to wait for something that should be pre-started. */
static bool is_short(const struct listener *l)
{
	bool is_short = l->ready_count == 0 && clock_now_ms() >= l->ready_after_ms;

	for (size_t i = 0; i < l->users_count; i++)
		is_short = is_short || (l->users[i].spares_count == 0 && l->policy->spares > 0);
	return is_short;
}

static void reload(struct listener *l)
{
	struct yett_error error = {0};
	int r;

	notify_send(&l->notify, "RELOADING=1");
	r = privilege_raise(); /* to build the new templates: mounts and namespaces */
	if (r == 0)
		r = listener_load(l, &error);
	notify_send(&l->notify, "READY=1");
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "the policy was not loaded anew: %s",
		         error.message[0] ? error.message : strerror(-r));
	if (privilege_lower() < 0 || r != 0)
		return;
	for (size_t i = 0; i < l->users_count; i++) {
		drop_spares(&l->users[i]);
		l->users[i].profile = 0; /* an index into the old table */
	}
	for (size_t i = l->workers_count; i > 0; i--)
		if (!l->workers[i - 1].is_serving)
			remove_worker(l, i - 1);
	l->ready_after_ms = 0; /* remove_worker() set it, but no monitor has died */
	log_line(LOG_LEVEL_INFO, "policy loaded anew");
}

/* The yett-audit that was running has exited. */
static void restart_audit(struct listener *l)
{
	l->audit.socket = fd_close(l->audit.socket);
	if (privilege_raise() == 0)
		audit_program_start(&l->audit, l->host);
	if (l->audit.socket >= 0)
		/* Retries the end records that could not be written meanwhile. */
		supervisor_start_sweep(l->host);
	l->is_over = privilege_lower() < 0 || l->is_over;
}

/*
 * Reaps children, and orphans of monitors that died. If one was killed, starts a sweep: a killed
 * supervisor leaves processes, cgroups and reservations behind.
 */
static void reap(struct listener *l)
{
	bool killed = false;
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		killed = killed || WIFSIGNALED(status);
	if (killed)
		supervisor_start_sweep(l->host);
}

static void handle_signal(struct listener *l)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof info) != sizeof info)
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(l);
	else if (info.ssi_signo == SIGHUP)
		reload(l);
	else
		l->is_over = true;
}

/*
 * Sends the watchdog message when it is due, restarts yett-audit if it has ended, has missing end
 * records written, and ends the listener after long enough without a connection. A client that
 * connects at that moment stays in the queue of the listening socket, which the service manager
 * owns, and so starts the next listener. Returns for how many milliseconds nothing needs to be
 * done.
 */
static int listener_watch(struct listener *l)
{
	uint64_t now = clock_now_ms(), wait_ms = AUDIT_SWEEP_MS,
		 idle_exit_ms = l->policy->record ? 0 : l->options->idle_exit_ms;

	if (l->notify.watchdog_ms && now - l->alive_ms >= l->notify.watchdog_ms) {
		notify_send(&l->notify, "WATCHDOG=1");
		l->alive_ms = now;
	}
	if (l->notify.watchdog_ms && l->notify.watchdog_ms < wait_ms)
		wait_ms = l->notify.watchdog_ms;
	if (l->workers_count > l->ready_count)
		l->busy_ms = now;
	if (idle_exit_ms && now - l->busy_ms >= idle_exit_ms)
		l->is_over = true;
	if (l->policy->audit && l->audit.socket < 0) {
		wait_ms = AUDIT_RETRY_MS;
		restart_audit(l);
	}
	/*
	 * Retries end records that could not be written before, for example because the disk was
	 * full or yett-audit was being restarted.
	 */
	if (l->policy->audit && now - l->swept_ms >= AUDIT_SWEEP_MS) {
		supervisor_start_sweep(l->host);
		l->swept_ms = now;
	}
	return (int)(idle_exit_ms && idle_exit_ms < wait_ms ? idle_exit_ms : wait_ms);
}

static void listener_loop(struct listener *l)
{
	bool has_work = true;
	int taken;

	l->busy_ms = l->alive_ms = l->swept_ms = clock_now_ms();
	/*
	 * listener_watch() runs before each wait. A client that connects after the listener decided
	 * to end stays in the queue of the listening socket.
	 */
	for (int wait_ms = listener_watch(l), r; !l->is_over; wait_ms = listener_watch(l)) {
		size_t count = l->workers_count;
		bool waits = admission_give_turns(&l->admission, l->workers, count);
		const int fds[] = {[POLL_SOCKET] = l->options->socket,
		                   [POLL_SIGNALS] = l->signals,
		                   [POLL_AUDIT] = l->audit.socket,
		                   [POLL_POOL] = l->pool[0]};

		for (size_t i = 0; i < POLL_FIXED + count; i++)
			l->poll[i] = (struct pollfd){
				.fd = i < POLL_FIXED ? fds[i] : l->workers[i - POLL_FIXED].control,
				.events = POLLIN};
		r = poll(l->poll, count + POLL_FIXED,
		         has_work && is_short(l) ? 0
		         : waits                 ? TURN_MS
		         : has_work              ? REFILL_AFTER_MS
		                                 : wait_ms);
		if (r <= 0) {
			has_work = (waits && !is_short(l)) || refill(l);
			continue;
		}
		has_work = true;
		closing_bound(true);
		for (size_t i = count; i > 0; i--)
			if (l->poll[i - 1 + POLL_FIXED].revents)
				handle_worker(l, i - 1);
		if (l->poll[POLL_POOL].revents)
			handle_ready(l);
		if (l->poll[POLL_AUDIT].revents)
			restart_audit(l);
		taken = 0;
		while (l->poll[POLL_SOCKET].revents && taken < CONNECTIONS_AT_ONCE &&
		       handle_connection(l))
			taken++;
		(void)admission_give_turns(&l->admission, l->workers, l->workers_count);
		closing_bound(false);
		if (l->poll[POLL_SIGNALS].revents)
			handle_signal(l);
		if (taken == CONNECTIONS_AT_ONCE && !refill(l))
			(void)poll(NULL, 0, CONNECTIONS_PAUSE_MS);
	}
}

static int listener_take_signals(struct listener *l)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return -errno;
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? -errno : 0;
}

/*
 * One descriptor is needed for each connection and each pre-started supervisor. Service managers
 * set a soft limit of 1024.
 */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int listener_run(const struct listener_options *options, struct yett_error *error)
{
	_cleanup_free_ struct listener *l = calloc(1, sizeof *l);
	int r;

	if (!l)
		return -ENOMEM;
	l->options = options;
	notify_open(&l->notify);
	raise_descriptor_limit();
	/*
	 * Supervisors of a monitor that dies become children of the listener, which so notices when
	 * one was killed. prctl(2)
	 */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return -errno;
	l->place = PLACE_HERE;
	l->shared = mmap(NULL, sizeof *l->shared, PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->shared == MAP_FAILED || log_share_counts() < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(l->workers); i++)
		l->workers[i].is_proven = &l->shared->are_proven[i];
	l->closer = (struct closer){.socket = -1, .libexec = options->libexec};
	l->audit = AUDIT_PROGRAM_NONE;
	r = admission_open(&l->admission, options->socket);
	if (r < 0)
		return r;
	r = fd_pair(l->pool) ?: privilege_take(PRIVILEGE_BUILD);
	if (r == 0) {
		place_open(&l->place);
		r = listener_load(l, error);
	}
	if (r == 0)
		r = listener_take_signals(l);
	if (r == 0)
		r = privilege_take(PRIVILEGE_LISTENER);
	if (r != 0)
		return r;
	supervisor_start_sweep(l->host);
	log_line(LOG_LEVEL_INFO, "ready, %zu profiles%s", l->policy->profiles_count,
	         l->host->by_port
	                 ? "; BPF is not available, so networks can use only ports that rules name"
	                 : "");
	notify_send(&l->notify, "READY=1");
	listener_loop(l);
	notify_send(&l->notify, "STOPPING=1");
	/* The exit closes all sockets, by which monitors, supervisors and programs notice it. */
	setup_host_close(l->host);
	policy_free(l->policy);
	return 0;
}
