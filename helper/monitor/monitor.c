/* SPDX-License-Identifier: Apache-2.0 */
/* See monitor.h. */
#include "helper/monitor/monitor.h"
#include "base/clock.h"
#include "base/closing.h"
#include "base/kernel.h"
#include "base/log.h"
#include "helper/monitor/keys.h"
#include "helper/monitor/program_end.h"
#include "helper/plan/admit.h"
#include "helper/privilege/privilege.h"
#include "helper/setup/audit.h"
#include "protocol/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>

#define FORGET_AFTER_MS 200
/* After an ACT_KEY: two ACT_RECORDS, and the act that was requested. */
#define ACTS_OF_REQUEST 3
/* After so long without another sandbox, a client has no supervisor kept for it. */
#define SPARES_MS 10000
#define RULES_MAX (3 << 20) /* EGRESS_RULES_SIZE_MAX */
/* Longer than any close takes that is not delayed on purpose. */
#define DROP_MS 1000

/*
 * yett-decider starts as root, drops all privilege, and starts yett-decoder. Both run with this id.
 */
static int start_decider(struct monitor *m)
{
	const int memory = m->policy ? m->policy->memory : -1;
	char id[16], policy[16];
	/*
	 * Without a host nothing made the empty directory, and root may lack the capabilities to
	 * change to another uid.
	 */
	char *argv[] = {
		(char *)"yett-decider", id,  m->host ? m->policy->runtime_dir : (char *)"", policy,
		(char *)m->libexec,     NULL};
	uint32_t number = 0;

	if (m->host) {
		m->decider_id = reserve_decider(&m->host->reserve, &number);
		if (m->decider_id < 0)
			return m->decider_id;
	}
	(void)snprintf(id, sizeof id, "%u",
	               (m->policy ? m->policy->ids_first : POLICY_IDS_FIRST_DEFAULT) +
	                       IDMAP_ROLES_OF_DECIDERS + number);
	(void)snprintf(policy, sizeof policy, "%d", memory);
	return program_start(m->libexec, argv, &memory, memory >= 0, &m->decider);
}

static int start_reader(struct monitor *m)
{
	char *argv[] = {(char *)"yett-reader", NULL};

	return program_start(m->libexec, argv, NULL, 0, &m->reader);
}

/*
 * Makes yett-reader become the peer. Whoever sends this packet chooses the user, so the decider
 * gets only a socket on which it was sent.
 */
static int name_peer(struct monitor *m)
{
	int r = program_ask(&m->reader, &(struct iovec){&m->peer, sizeof m->peer}, 1);

	if (r < 0)
		program_end(&m->reader);
	m->named_reader = steal_fd(&m->reader.socket);
	return r;
}

int monitor_prepare(struct monitor *m, const char *libexec)
{
	m->libexec = libexec;
	return start_decider(m) ?: start_reader(m);
}

void monitor_free(struct monitor *m)
{
	program_end(&m->decider);
	m->decider_id = fd_close(m->decider_id);
	fd_close(m->rules);
	program_end(&m->reader);
	m->listener = fd_close(m->listener);
}

bool monitor_may_see(const struct monitor *m, const struct record *record)
{
	/*
	 * A confined peer could escape its confinement through a sandbox in the host's network: see
	 * admit_check().
	 */
	return (record->uid == m->peer.uid &&
	        !(m->peer.confined && record->network.mode == PLAN_NETWORK_HOST)) ||
	       admit_is_administrator(&m->peer);
}

/*
 * --- acts: carry out the decider's request `m->ask`, whose length was checked. Return 0, -errno or
 * a code, and fill in the answer with its descriptors.
 */

struct reply {
	struct decider_answer answer;
	/* Sent with the answer, then closed; -1: none. */
	int fds[2];
};

/*
 * Counts one more request or creation against the lowest limit per minute of the grants and
 * ceilings for the peer, over all connections of the user. Done here, because a compromised decider
 * would not count. Returns 0, RESOURCE_LIMIT or -errno.
 */
static int monitor_count(const struct monitor *m, bool is_creation, struct yett_error *error)
{
	const struct policy_grant *least = NULL;
	uint32_t most = 0, bound;
	int r;

	for (const struct policy_grant *grant = NULL;
	     m->host && (grant = admit_next(m->policy, &m->peer, grant));) {
		bound = is_creation ? grant->creations_max : grant->requests_max;
		least = bound && (!least || bound < most) ? grant : least;
		most = least == grant ? bound : most;
	}
	r = least ? registry_count(&m->host->reserve, m->peer.uid, is_creation, most,
	                           clock_now_ms())
	          : 0;
	if (r <= 0)
		return r;
	error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
	          "the user has asked for as many %s as are allowed in a minute; wait %d s",
	          is_creation ? "sandboxes" : "things", r);
	return error_key(error, is_creation ? "max_creations" : "max_requests",
	                 (uint32_t)(least - m->policy->grants));
}

static int monitor_find_key(struct monitor *m, struct reply *reply)
{
	const struct decider_key *asked = &m->ask->key;
	struct decider_answer_key *key = &reply->answer.key;
	struct yett_error *error = &reply->answer.error;
	char line[KEY_LINE_LENGTH + 1];
	int r = supervisors_check_policy(m, error);

	memcpy(line, asked->line, KEY_LINE_LENGTH);
	line[KEY_LINE_LENGTH] = '\0';
	if (r == 0)
		r = keys_find(m->policy, line, key->principal, error);
	if (r != 0 && r != -ENOENT)
		return r;
	m->is_reader_done = r == 0;
	key->source = r == 0              ? DECIDER_KEY_ENROLLED
	              : asked->may_be_own ? DECIDER_KEY_OWN
	                                  : DECIDER_KEY_UNKNOWN;
	if (key->source == DECIDER_KEY_UNKNOWN)
		return 0;
	memcpy(m->asker.program, asked->program, sizeof asked->program);
	memcpy(m->asker.key, line, sizeof line);
	memcpy(m->asker.principal, key->principal, sizeof key->principal);
	return 0;
}

static int monitor_give_reader(struct monitor *m, struct reply *reply)
{
	int r;

	program_end(&m->reader);
	m->is_reader_done = false;
	r = start_reader(m) ?: name_peer(m);
	reply->answer.count = (uint32_t)-r;
	reply->fds[0] = steal_fd(&m->named_reader);
	return 0;
}

/* The decider must not choose the id: it could choose that of another sandbox. */
static int monitor_make_id(char id[static PLAN_ID_SIZE])
{
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return -EIO;
	(void)snprintf(id, PLAN_ID_SIZE, "%016" PRIx64, number);
	return 0;
}

static int monitor_admit(struct monitor *m, struct reply *reply)
{
	struct plan *plan = &m->ask->plan;
	int r = admit_unpack(plan, m->ask->length);

	if (r == 0 && plan->profile >= m->policy->profiles_count)
		r = -EPROTO;
	plan->asker = m->asker;
	/* the policy whose image the decider has */
	plan->policy_generation = m->policy->generation;
	/*
	 * Without root the helper has no privilege that its client does not have, so any plan is
	 * allowed.
	 */
	return r < 0 || m->means ? r : admit_check(m->policy, &m->peer, plan, &reply->answer.error);
}

static int monitor_create(struct monitor *m, struct reply *reply)
{
	int r = monitor_admit(m, reply);

	if (r == 0 && !m->ask->plan.is_dry)
		r = monitor_count(m, true, &reply->answer.error);
	if (r == 0)
		r = monitor_make_id(m->ask->plan.id);
	memcpy(reply->answer.id, m->ask->plan.id, sizeof reply->answer.id);
	return r == 0 ? supervisors_begin(m, &reply->fds[0], &reply->answer.error) : r;
}

static int monitor_mount_shares(struct monitor *m, struct reply *reply)
{
	int r = monitor_admit(m, reply);

	m->ask->plan.id[PLAN_ID_SIZE - 1] = '\0';
	return r == 0 ? supervisors_mount(m, &reply->fds[0], &reply->answer.error) : r;
}

static int monitor_ask(struct monitor *m, struct reply *reply)
{
	m->ask->request.id[PLAN_ID_SIZE - 1] = '\0';
	m->ask->request.asker = m->asker;
	return supervisors_ask(m, &reply->fds[0], &reply->fds[1], &reply->answer.error);
}

static bool is_asked_for(const struct monitor *m, const struct decider_records *asked,
                         const struct record *record)
{
	return monitor_may_see(m, record) &&
	       (asked->of_all || *asked->id || record->uid == m->peer.uid) &&
	       (!*asked->id || strcmp(asked->id, record->id) == 0);
}

static int report_records(struct monitor *m, struct reply *reply)
{
	_cleanup_(fd_entries_close) DIR *entries =
		fd_entries(m->host->reserve.dirs[RESERVE_RANGES]);
	int memfd = memfd_create("yett-records", MFD_CLOEXEC), r = memfd < 0 ? -errno : 0;
	struct decider_record reports = {0};
	struct cgroup cgroup;

	m->ask->records.id[PLAN_ID_SIZE - 1] = '\0';
	reply->fds[0] = memfd;
	while (r == 0 && registry_next(entries, &reports.record)) {
		if (!is_asked_for(m, &m->ask->records, &reports.record))
			continue;
		if (m->ask->records.with_usage) {
			cgroup_find(&m->host->cgroups, reports.record.uid, reports.record.cgroup,
			            &cgroup);
			cgroup_read_usage(&cgroup, UINT32_MAX, &reports.usage);
			cgroup_count_processes(&cgroup, &reports.usage);
			cgroup_usage_since(&reports.record.before, &reports.usage);
			cgroup_close(&cgroup);
		}
		reply->answer.count++;
		r = write(memfd, &reports, sizeof reports) == sizeof reports ? 0 : -EIO;
	}
	return r;
}

static int monitor_report_totals(struct monitor *m, struct reply *reply)
{
	if (!admit_is_administrator(&m->peer))
		return -EPERM;
	registry_read_totals(&m->host->reserve, &reply->answer.totals);
	return 0;
}

/* The supervisor has closed the client's connection. */
static int monitor_taken(struct monitor *m, _unused_ struct reply *reply)
{
	m->taker = fd_close(m->taker);
	return 0;
}

static int streams_stay(struct monitor *m, _unused_ struct reply *reply)
{
	m->has_streams = true;
	return 0;
}

/*
 * Discards the client's next packet in a child process, because closing descriptors that a client
 * made may block for as long as the client chose. See frame_drop().
 */
static int monitor_drop(struct monitor *m, struct reply *reply)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		/* The child must hold no descriptor whose closing reports the monitor's end. */
		fd_close_except(&m->socket, 1);
		frame_drop(m->socket);
		_exit(0);
	}
	if (pid > 0 && kernel_wait_end(pid, DROP_MS) && waitpid(pid, NULL, WNOHANG) == pid)
		return 0;
	reply->answer.is_over = true;
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		/*
		 * Reap the child here: to the listener, an orphan that was killed looks like a
		 * killed supervisor.
		 */
		(void)!kernel_wait_end(pid, DROP_MS);
		(void)waitpid(pid, NULL, WNOHANG);
	}
	return 0;
}

static int monitor_sweep(struct monitor *m, _unused_ struct reply *reply)
{
	/* Wait, so that a decider that sends ACT_LOST in a loop runs one sweep at a time. */
	(void)!kernel_wait_end(supervisors_sweep(m), DROP_MS);
	return 0;
}

/* The decider supplies only the text; the monitor says which client the line is about. */
static int write_log(struct monitor *m, _unused_ struct reply *reply)
{
	enum log_level level =
		m->ask->log.level == LOG_LEVEL_NOTICE ? LOG_LEVEL_NOTICE : LOG_LEVEL_INFO;

	m->ask->log.text[sizeof m->ask->log.text - 1] = '\0';
	log_line(level, "uid=%u pid=%d %s", m->peer.uid, m->peer.pid, m->ask->log.text);
	return 0;
}

static void log_refusal(const struct monitor *m, const struct yett_error *error)
{
	log_line(LOG_LEVEL_INFO, "uid=%u pid=%d refused: %s%s%s", m->peer.uid, m->peer.pid,
	         error->message, error->detail[0] ? "; " : "", error->detail);
}

static int refused(struct monitor *m, _unused_ struct reply *reply)
{
	const struct yett_error *error = &m->ask->refused;

	if (!error_is_sound(error))
		return -EPROTO;
	log_refusal(m, error);
	if (m->host)
		audit_leave(audit_report(m->host,
		                         &(struct audit_record){.kind = AUDIT_REFUSED,
		                                                .asker = m->asker,
		                                                .error = *error},
		                         NULL, 0));
	return 0;
}

/*
 * Appends to the memfd of the rules. The monitor does not look at them: the programs that apply the
 * rules check them.
 */
static int monitor_take_rules(struct monitor *m, _unused_ struct reply *reply)
{
	if (m->rules < 0)
		m->rules = memfd_create("yett-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->rules < 0 || lseek(m->rules, 0, SEEK_CUR) + (off_t)m->ask->length > RULES_MAX ||
	    write(m->rules, m->ask->rules, m->ask->length) != (ssize_t)m->ask->length)
		return -ENOSPC;
	return 0;
}

static const struct act {
	int (*act)(struct monitor *m, struct reply *reply);
	/* size of the request; 0: it varies */
	size_t size;
	/* The decider expects no answer. */
	bool is_reported;
	/* It needs `m->host`: without one, nothing can be built. */
	bool takes_host;
	/* It is refused if the policy of the connection is not in force any more. */
	bool is_of_policy;
	/* It uses the rules from ACT_RULES, which are dropped after it. */
	bool uses_rules;
} acts[ACTS] = {
	[ACT_KEY] = {monitor_find_key, sizeof(struct decider_key)},
	[ACT_CREATE] = {monitor_create, 0, false, true, true, true},
	[ACT_ASK] = {monitor_ask, sizeof(struct supervisor_request), false, true, true, true},
	[ACT_RECORDS] = {report_records, sizeof(struct decider_records), false, true, true},
	[ACT_TOTALS] = {monitor_report_totals, 0, false, true, true},
	[ACT_TAKEN] = {monitor_taken, 0, true},
	[ACT_STREAMS] = {streams_stay, 0, true},
	[ACT_DROP] = {monitor_drop},
	[ACT_LOST] = {monitor_sweep, 0, false, true},
	[ACT_LOG] = {write_log, 0, true},
	[ACT_RULES] = {monitor_take_rules, 0, true, true, true},
	[ACT_MOUNT] = {monitor_mount_shares, 0, false, true, true},
	[ACT_REFUSED] = {refused, sizeof(struct yett_error), true},
	[ACT_READER] = {monitor_give_reader},
};

/*
 * Handles one request of the decider. Returns 0, or -errno if the request is malformed or the
 * decider is gone: then the connection is over.
 */
static int monitor_monitor_serve(struct monitor *m)
{
	struct iovec parts[] = {{&m->ask->act, sizeof m->ask->act},
	                        {&m->ask->key, sizeof *m->ask - offsetof(struct decider_ask, key)}};
	struct reply reply = {.answer.is_over = m->shut_ms, .fds = {-1, -1}};
	/* The decider has no descriptors to send, and closing any could block. */
	int r = frame_peek_fds(m->decider.socket) ? -EPROTO : 0;
	ssize_t n = r < 0 ? r : program_hear(&m->decider, parts, ARRAY_SIZE(parts), 0);
	uint32_t act = m->ask->act;
	const struct act *row = &acts[act < ACTS ? act : 0];

	if (n < 0)
		return (int)n;
	m->peer.now = (uint64_t)time(NULL);
	m->ask->length = (size_t)n - sizeof act;
	if ((size_t)n < sizeof act || !row->act || (row->size && m->ask->length != row->size) ||
	    (row->takes_host && !m->host))
		return -EPROTO;
	if (row->is_of_policy)
		r = m->shut_ms ? error_set(&reply.answer.error, YETT_E_HELPER_UNAVAILABLE, 0,
		                           "the connection has ended")
		               : supervisors_check_policy(m, &reply.answer.error);
	if (r == 0 && (act == ACT_KEY || act == ACT_READER ||
	               (row->is_of_policy && !row->is_reported && m->acts_left-- == 0))) {
		r = monitor_count(m, false, &reply.answer.error);
		m->acts_left = r == 0 ? ACTS_OF_REQUEST : 0;
	}
	if (r == 0)
		r = row->act(m, &reply);
	if (r < 0)
		error_set(&reply.answer.error, YETT_E_HELPER_UNAVAILABLE, 0,
		          "the helper cannot do what is asked: %s", strerror(-r));
	if (r == 0 && row->is_of_policy && m->is_proven)
		*m->is_proven = true;
	if (row->uses_rules)
		m->rules = fd_close(m->rules);
	r = row->is_reported ? r < 0 ? r : 0
	                     : privilege_send(m->decider.socket, &reply.answer, sizeof reply.answer,
	                                      reply.fds, (reply.fds[0] >= 0) + (reply.fds[1] >= 0));
	/* Closing may block: the decider may have closed its copies already. */
	closing_fd(reply.fds[0]);
	closing_fd(reply.fds[1]);
	return r;
}

/* Sends the connection to the decider, which sends a hello or the refusal. */
static int monitor_begin(const struct monitor *m, const struct yett_error *refused)
{
	const int fds[] = {m->socket, m->named_reader};
	struct decider_begin begin = {.refused = *refused,
	                              .peer = m->peer,
	                              .no_host = m->no_host,
	                              .is_rootless = m->means != NULL};

	begin.by_port = m->host ? m->host->by_port : begin.is_rootless;
	if (m->means)
		begin.means = *m->means;
	return privilege_send(m->decider.socket, &begin, sizeof begin, fds,
	                      1 + (m->named_reader >= 0));
}

/*
 * The decider may have been killed while the monitor was idle, for example by the OOM killer.
 * Starts another one then.
 */
static int begin_anew(struct monitor *m, const struct yett_error *refused)
{
	int r = monitor_begin(m, refused);

	if (r != -EPIPE)
		return r;
	log_line(LOG_LEVEL_INFO,
	         "uid=%u pid=%d yett-decider had ended before; another one is started", m->peer.uid,
	         m->peer.pid);
	program_end(&m->decider);
	m->decider_id = fd_close(m->decider_id);
	r = start_decider(m);
	return r < 0 ? r : monitor_begin(m, refused);
}

/*
 * Ends a connection that was granted nothing, because the listener wants to make room for others,
 * or has exited.
 */
static void monitor_give_way(const struct monitor *m, bool is_over)
{
	struct yett_error error = {0};

	error_set(&error, is_over ? YETT_E_HELPER_UNAVAILABLE : YETT_E_RESOURCE_LIMIT, YETT_R_LATER,
	          "%s, and this connection was granted nothing: connect again",
	          is_over ? "the service has ended" : "others want to connect");
	log_refusal(m, &error);
	if (send(m->decider.socket, &error, sizeof error, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		(void)!kernel_wait_end(m->decider.pid, DROP_MS);
}

/* Serves the decider until the connection must end. Returns -errno if the decider caused that. */
static int monitor_loop(struct monitor *m)
{
	int r = 0, timeout_ms = FORGET_AFTER_MS;

	while (r == 0 && !m->is_over) {
		struct pollfd wait[] = {
			{.fd = m->decider.socket, .events = POLLIN},
			/* only POLLHUP: reported even if packets are queued before it */
			{.fd = m->shut_ms ? -1 : m->socket},
			{.fd = m->shut_ms ? -1 : m->process, .events = POLLIN},
			{.fd = m->is_proven && !*m->is_proven ? m->listener : -1,
		         .events = POLLIN}};
		bool is_ending = m->shut_ms && !m->has_streams;
		int ready = poll(wait, ARRAY_SIZE(wait), is_ending ? DROP_MS : timeout_ms);

		supervisors_reap(m);
		if ((ready < 0 && errno != EINTR) ||
		    (is_ending && clock_now_ms() - m->shut_ms >= DROP_MS))
			return 0;
		/*
		 * The client has hung up, or its process has exited. In the second case another
		 * process, for example a command that it started, may still have its socket. Nobody
		 * takes answers to what is still queued. The decider notices the end, too, and
		 * exits soon; or, if it sent ACT_STREAMS, when the last event stream of the
		 * connection ends.
		 */
		if (wait[1].revents || wait[2].revents) {
			/* Even if this fails, the decider has DROP_MS from now on to exit. */
			(void)shutdown(m->socket, SHUT_RDWR);
			m->shut_ms = clock_now_ms();
			/*
			 * This also shuts down the decider's copy of the socket. With ours open,
			 * closing that copy alone would not report the end to the supervisor.
			 */
			(void)shutdown(m->taker, SHUT_WR);
			continue;
		}
		if (wait[3].revents) {
			monitor_give_way(m, wait[3].revents & POLLHUP);
			return 0;
		}
		if (ready > 0 && wait[0].revents) {
			timeout_ms = FORGET_AFTER_MS;
			r = monitor_monitor_serve(m);
		} else if (ready == 0 && timeout_ms == FORGET_AFTER_MS) {
			/* Free memory: an idle sandbox should cost little. */
			timeout_ms = m->spares ? SPARES_MS : -1;
			(void)madvise(m->ask, sizeof *m->ask, MADV_DONTNEED);
			if (m->is_reader_done)
				program_end(&m->reader);
		} else if (ready == 0) {
			timeout_ms = -1;
			m->spares->end(m, false);
		}
	}
	return r;
}

void monitor_report(const char *libexec, int socket, int r, struct yett_error *error)
{
	struct monitor m = {MONITOR_NONE, .libexec = libexec, .listener = -1};

	if (r < 0 && error->message[0] == '\0')
		(void)error_set(error, YETT_E_INIT_FAILED, 0, "the helper cannot serve: %s",
		                strerror(-r));
	m.socket = socket;
	if (start_decider(&m) == 0 && monitor_begin(&m, error) == 0)
		(void)!kernel_wait_end(m.decider.pid, DROP_MS);
	program_end(&m.decider);
}

/* Logs how the decider ended, unless it exited in order after it had closed the connection. */
static void report_end(const struct monitor *m)
{
	siginfo_t info = {0};
	struct yett_error error = {0};

	if (kernel_wait_end(m->decider.pid, DROP_MS) &&
	    waitid(P_PID, (id_t)m->decider.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_code == CLD_EXITED && info.si_status == 0)
		return;
	error_set(&error, YETT_E_HELPER_UNAVAILABLE, 0,
	          "the request could not be looked at: yett-decider ended unexpectedly");
	error_detail(&error, info.si_code == CLD_EXITED ? "exit status %d" : "signal %d",
	             info.si_status);
	log_refusal(m, &error);
}

int monitor_serve(struct monitor *m, int socket)
{
	struct yett_error error = {0};
	int r;

	m->socket = socket;
	m->ask = mmap(NULL, sizeof *m->ask, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	              0);
	if (m->ask == MAP_FAILED)
		return -ENOMEM;
	if (m->caller)
		m->peer = *m->caller;
	r = m->caller ? 0 : peer_read(socket, &m->peer, &error);
	log_count_for(m->peer.uid);
	m->asker = (struct plan_asker){.uid = m->peer.uid, .gid = m->peer.gid, .pid = m->peer.pid};
	if (r >= 0)
		r = m->process = peer_open_process(socket, m->peer.pid);
	if (r >= 0 && error.code == 0) {
		(void)!name_peer(m);
		r = m->caller ? 0 : peer_examine(m->process, &m->peer);
		/* The policy may have been replaced while the connection waited for its turn. */
		if (r >= 0 && supervisors_check_policy(m, &error) != 0)
			/*
			 * libyett tries again by itself if it gets this reason instead of a hello.
			 */
			error.reason = YETT_R_LATER;
	}
	if (error.code)
		log_refusal(m, &error);
	r = r < 0 ? r : begin_anew(m, &error);
	m->named_reader = closing_fd(m->named_reader);
	if (r == 0 && monitor_loop(m) < 0)
		report_end(m);
	/*
	 * Not closed here: closing could block on what is queued (SO_LINGER). Our exit closes the
	 * socket without that.
	 */
	(void)shutdown(socket, SHUT_RDWR);
	program_end(&m->decider);
	supervisors_end(m);
	fd_close(m->process);
	return r < 0 ? r : 0;
}
