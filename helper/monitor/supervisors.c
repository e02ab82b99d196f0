/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisors of a connection: finds or starts them, and passes their sockets on. See
 * monitor.h.
 */
#include "helper/monitor/monitor.h"
#include "helper/privilege/privilege.h"
#include "protocol/frame.h"

#include <sys/wait.h>

/* The listener answers no request while it loads a policy. */
#define WISH_DEADLINE_MS 5000
/* Longer than a supervisor waits until init is made and reports that it is ready. */
#define TAKER_DEADLINE_MS 60000

/*
 * Requests a pre-started supervisor from the listener. Returns 0; -ENOENT if there is none; or
 * -ESTALE if the listener is gone, does not answer, or has another policy by now: then every
 * further request of this connection is refused.
 */
static int supervisors_need(struct monitor *m, int *ret_socket)
{
	struct monitor_need need = {m->peer.uid, m->peer.gid, m->ask->plan.profile};
	char word;

	if (m->listener < 0)
		return m->spares ? m->spares->take(m, ret_socket) : -ENOENT;
	*ret_socket = -1;
	m->is_outdated =
		send(m->listener, &need, sizeof need, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
		fd_poll(m->listener, POLLIN, WISH_DEADLINE_MS) <= 0 ||
		frame_receive_fd(m->listener, &word, sizeof word, ret_socket, MSG_DONTWAIT) < 0 ||
		*m->generation != m->policy->generation;
	if (!m->is_outdated)
		return *ret_socket >= 0 ? 0 : -ENOENT;
	*ret_socket = fd_close(*ret_socket);
	return -ESTALE;
}

int supervisors_check_policy(const struct monitor *m, struct yett_error *error)
{
	if (m->listener < 0)
		return 0;
	if (*m->generation != m->policy->generation)
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
		                 "the policy was loaded anew; connect again");
	/*
	 * With no events requested, poll(2) still reports POLLHUP if the listener closed its end.
	 */
	if (!m->is_outdated && fd_poll(m->listener, 0, 0) == 0)
		return 0;
	return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
	                 "the service started anew, or had to make room for others; connect again");
}

bool supervisors_are_lasting(const struct plan *plan)
{
	return plan->life.linger || plan->life.cleanup_ms;
}

/* If memory is short, the child stays a zombie until the monitor exits. */
void supervisors_remember(struct monitor *m, pid_t pid, bool is_awaited)
{
	struct monitor_child *children =
		pid > 0 ? reallocarray(m->children, m->children_count + 1, sizeof *children) : NULL;

	if (!children)
		return;
	m->children = children;
	m->children[m->children_count++] = (struct monitor_child){pid, is_awaited};
}

static int start_supervisor(struct monitor *m, int *ret_socket)
{
	const struct plan *plan = &m->ask->plan;
	bool is_lasting = supervisors_are_lasting(plan);
	pid_t pid =
		supervisor_start(m->host, is_lasting ? &m->lasting : &PLACE_HERE, NULL, ret_socket);

	supervisors_remember(m, pid, !is_lasting);
	return pid < 0 ? pid : 0;
}

static int supervisors_give_order(const struct monitor *m, const struct supervisor_request *request,
                                  int supervisor)
{
	const struct plan *plan = &m->ask->plan;

	return supervisor_order(supervisor, request, plan,
	                        plan_network_has_rules(plan->network) ? m->rules : -1,
	                        plan->share_fds ? m->socket : -1);
}

/*
 * A listener has built all templates. A helper for one connection builds a template when the first
 * request needs it.
 */
static int ready_profile(const struct monitor *m, struct yett_error *error)
{
	uint32_t profile = m->ask->plan.profile;
	int r, lowered;

	if (m->host->templates[profile].mount_ns >= 0)
		return 0;
	r = privilege_raise(); /* for mounts, and a namespace for them */
	if (r == 0)
		r = setup_host_profile(m->host, profile, error);
	lowered = privilege_lower();
	return r == 0 ? lowered : r;
}

/*
 * The supervisor receives the client's next packet. Nobody else reads from the connection until the
 * supervisor has answered.
 */
static void lend_connection(struct monitor *m, int socket)
{
	if (!m->ask->plan.share_fds)
		return;
	/* A compromised decider may not have sent ACT_TAKEN for the previous one. */
	fd_close(m->taker);
	m->taker = fcntl(socket, F_DUPFD_CLOEXEC, 0);
}

int supervisors_begin(struct monitor *m, int *ret_socket, struct yett_error *error)
{
	_cleanup_fd_ int socket = -1;
	int r = ready_profile(m, error);

	if (r > 0)
		return r;
	if (r == 0) {
		do { /* until one has not died meanwhile */
			socket = fd_close(socket);
			r = supervisors_need(m, &socket);
			if (r == 0)
				r = supervisors_give_order(m, NULL, socket);
		} while (r == -EPIPE);
	}
	if (r == -ESTALE)
		return supervisors_check_policy(m, error);
	if (r == -ENOENT) {
		r = start_supervisor(m, &socket);
		if (r == 0)
			r = supervisors_give_order(m, NULL, socket);
	}
	if (r < 0) {
		/* The supervisor may be receiving the client's packet. */
		m->is_over = socket >= 0;
		return error_set(error, YETT_E_INIT_FAILED, 0,
		                 socket < 0 ? "no supervisor could be started: %s"
		                            : "the supervisor did not take the plan: %s",
		                 strerror(-r));
	}
	lend_connection(m, socket);
	*ret_socket = steal_fd(&socket);
	return 0;
}

/*
 * Connects to the supervisor of the sandbox with this id, if the peer may see that sandbox. Returns
 * a socket, or -errno.
 */
static int supervisors_find(const struct monitor *m, const char *id)
{
	_cleanup_(fd_entries_close) DIR *entries =
		fd_entries(m->host->reserve.dirs[RESERVE_RANGES]);
	struct record record;

	while (registry_next(entries, &record))
		if (strcmp(record.id, id) == 0 && monitor_may_see(m, &record))
			return registry_connect(&m->host->reserve, record.cgroup);
	return -ENOENT;
}

/* The request did not reach a supervisor. */
static int supervisors_refuse(int r, int *socket, struct yett_error *error)
{
	*socket = fd_close(*socket);
	if (r == -ENOENT || r == -ECONNREFUSED || r == -EPIPE)
		return error_set(error, YETT_E_NOT_FOUND, 0, "the sandbox has just gone");
	return error_set(error, YETT_E_RESOURCE_LIMIT, 0,
	                 "the supervisor of the sandbox cannot be asked now: %s", strerror(-r));
}

int supervisors_ask(const struct monitor *m, int *ret_socket, int *ret_channel,
                    struct yett_error *error)
{
	const struct supervisor_request *request = &m->ask->request;
	bool takes_channel = request->action == MANAGE_ATTACH || request->action == MANAGE_FOLLOW;
	int channel[2] = {-1, -1}, rules = request->action == MANAGE_NETWORK ? m->rules : -1, r;

	r = *ret_socket = supervisors_find(m, request->id);
	if (r >= 0 && takes_channel)
		r = fd_pair(channel);
	if (r >= 0 && rules >= 0)
		r = fd_seal(rules);
	if (r >= 0)
		r = privilege_send(*ret_socket, request, sizeof *request,
		                   takes_channel ? &channel[1] : &rules,
		                   takes_channel || rules >= 0);
	fd_close(channel[1]);
	*ret_channel = channel[0];
	if (r == 0)
		return 0;
	*ret_channel = fd_close(*ret_channel);
	return supervisors_refuse(r, ret_socket, error);
}

int supervisors_mount(struct monitor *m, int *ret_socket, struct yett_error *error)
{
	struct supervisor_request request = {
		.action = MANAGE_MOUNT, .states = 1U << SANDBOX_RUNNING, .asker = m->asker};
	int r;

	memcpy(request.id, m->ask->plan.id, sizeof request.id);
	r = *ret_socket = supervisors_find(m, request.id);
	if (r >= 0) {
		r = supervisors_give_order(m, &request, *ret_socket);
		/* The supervisor may be receiving the client's packet. */
		m->is_over = r < 0;
	}
	if (r < 0)
		return supervisors_refuse(r, ret_socket, error);
	lend_connection(m, *ret_socket);
	return 0;
}

pid_t supervisors_sweep(struct monitor *m)
{
	pid_t pid = supervisor_start_sweep(m->host);

	supervisors_remember(m, pid, false);
	return pid;
}

/*
 * Waits for each pid by itself, because the decider and the reader are reaped elsewhere. A child
 * that was killed leaves something behind for a sweep.
 */
void supervisors_reap(struct monitor *m)
{
	int status = 0;

	for (size_t i = m->children_count; i > 0; i--) {
		pid_t pid = waitpid(m->children[i - 1].pid, &status, WNOHANG);

		if (pid == 0)
			continue;
		m->children[i - 1] = m->children[--m->children_count];
		if (pid > 0 && WIFSIGNALED(status))
			supervisors_sweep(m);
	}
}

void supervisors_end(struct monitor *m)
{
	bool was_killed = false;
	int status;

	/*
	 * Wait until the supervisor that receives the client's packet has answered, and so has
	 * closed its copy of the connection. Until then, keep ours: the last close could block
	 * (SO_LINGER). See give_up() in supervisor.c.
	 */
	if (m->taker >= 0 && shutdown(m->taker, SHUT_WR) == 0)
		(void)fd_poll(m->taker, POLLIN, TAKER_DEADLINE_MS);
	m->taker = fd_close(m->taker);
	for (size_t i = 0; i < m->children_count; i++)
		if (m->children[i].is_awaited && waitpid(m->children[i].pid, &status, 0) > 0 &&
		    WIFSIGNALED(status))
			was_killed = true;
	if (m->spares)
		m->spares->end(m, true);
	if (was_killed)
		supervisors_sweep(m);
	free(m->children);
}
