/* SPDX-License-Identifier: Apache-2.0 */
/* See admission.h. */
#include "helper/listener/admission.h"
#include "base/clock.h"

#include <linux/nsfs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>

/* Only CONNECTIONS_MAX limits root's connections: root can do everything without this service. */
#define CONNECTIONS_PER_UID_MAX 256
/* Limits for connections that were granted nothing yet: each costs three processes. */
#define UNPROVEN_MAX          128
#define UNPROVEN_PER_USER_MAX 16
/* From this age on, such a connection is ended to make room for a new one. */
#define UNPROVEN_OLD_MS 1000
/* Cost of a connection that ends without a grant: a user can afford 50 of them a second. */
#define UNPROVEN_COST_MS     20
#define UNPROVEN_DEBT_MAX_MS 2000
/*
 * A new connection takes one of its user's turns for BEGINNING_MS, or only for GRANTED_MS if it was
 * granted something: a sandbox's own work is accounted to its user.
 */
#define BEGINNING_MS 250
#define GRANTED_MS   50
#define LATELY_MS    10000
/* For each processor, if at most one user was granted anything lately. */
#define TURNS_ALONE 4
/*
 * Length of the accept queue: a client that connects in a loop has at most so many connections
 * ahead of other clients.
 */
#define BACKLOG 8

static size_t slot_of(const struct admission *a, uid_t uid)
{
	return (uid * a->debts_key) >> 54 & (DEBTS - 1);
}

static uint64_t *debt_of(struct admission *a, uid_t uid)
{
	return &a->debts_ms[slot_of(a, uid)];
}

static bool owes_too_much(struct admission *a, uid_t uid)
{
	return uid != 0 && *debt_of(a, uid) > clock_now_ms() + UNPROVEN_DEBT_MAX_MS;
}

void admission_settle(struct admission *a, struct worker *worker)
{
	if (!worker->is_serving || !*worker->is_proven || worker->is_settled)
		return;
	*debt_of(a, worker->uid) -= UNPROVEN_COST_MS;
	a->granted_ms[slot_of(a, worker->uid)] = clock_now_ms();
	worker->is_settled = true;
}

/*
 * Asks the monitor to end if its connection is old enough. Returns whether it is old enough. The
 * monitor may still run for a moment after that.
 */
static bool admission_give_way(struct worker *worker, uint64_t now)
{
	if (!worker || now - worker->since_ms < UNPROVEN_OLD_MS)
		return false;
	worker->gives_way = shutdown(worker->control, SHUT_WR) == 0;
	return true;
}

static struct worker *admission_older(struct worker *a, struct worker *b)
{
	return a && a->since_ms <= b->since_ms ? a : b;
}

/* Checks the numbers of connections and the user's debt. Returns 0, or why it refuses. */
static enum closer_reason admission_admit(struct admission *a, struct worker *workers, size_t count,
                                          uid_t uid)
{
	uint64_t now = clock_now_ms(), *debt = debt_of(a, uid);
	size_t all = 0, of_user = 0, unproven = 0, unproven_of_user = 0;
	struct worker *oldest = NULL, *oldest_of_user = NULL;

	for (size_t i = 0; i < count; i++) {
		struct worker *worker = &workers[i];
		bool is_unproven = !*worker->is_proven && !worker->gives_way,
		     is_users = worker->uid == uid;

		if (!worker->is_serving)
			continue;
		all++;
		of_user += is_users;
		unproven += is_unproven;
		unproven_of_user += is_users && is_unproven;
		if (is_unproven)
			oldest = admission_older(oldest, worker);
		if (is_users && is_unproven)
			oldest_of_user = admission_older(oldest_of_user, worker);
		if (is_users)
			admission_settle(a, worker);
	}
	if (all >= CONNECTIONS_MAX)
		return CLOSER_FULL;
	if (uid == 0) /* Root owes nothing. */
		return 0;
	if (of_user >= CONNECTIONS_PER_UID_MAX)
		return CLOSER_USER_FULL;
	if (owes_too_much(a, uid))
		return CLOSER_TOO_OFTEN;
	/*
	 * If the user's own limit is reached, ending one of that user's connections also makes room
	 * under the limit for all users.
	 */
	if (unproven_of_user >= UNPROVEN_PER_USER_MAX
	            ? !admission_give_way(oldest_of_user, now)
	            : unproven >= UNPROVEN_MAX && !admission_give_way(oldest, now))
		return unproven_of_user >= UNPROVEN_PER_USER_MAX ? CLOSER_TOO_OFTEN : CLOSER_FULL;
	*debt = (*debt > now ? *debt : now) + UNPROVEN_COST_MS;
	return 0;
}

/* Returns how many connections of one user may be starting at the same time. */
static long turns_of_each(const struct admission *a, uint64_t now)
{
	long users = 0;

	for (size_t i = 0; i < DEBTS; i++)
		users += a->granted_ms[i] && now - a->granted_ms[i] < LATELY_MS;
	if (users <= 1)
		return TURNS_ALONE * a->processors;
	return users < a->processors ? a->processors / users : 1;
}

/*
 * Returns the oldest worker whose turn has come, or NULL. Sets `ret_waits` to whether any worker
 * waits.
 */
static struct worker *find_next(const struct admission *a, struct worker *workers, size_t count,
                                const long begun[DEBTS], long most, bool *ret_waits)
{
	struct worker *next = NULL;

	*ret_waits = false;
	for (size_t i = 0; i < count; i++) {
		*ret_waits = *ret_waits || workers[i].is_waiting;
		if (workers[i].is_waiting &&
		    (workers[i].uid == 0 || begun[slot_of(a, workers[i].uid)] < most))
			next = admission_older(next, &workers[i]);
	}
	return next;
}

bool admission_give_turns(struct admission *a, struct worker *workers, size_t count)
{
	uint64_t now = clock_now_ms();
	long begun[DEBTS] = {0}, most;
	struct worker *next;
	bool waits;

	for (size_t i = 0; i < count; i++) {
		admission_settle(a, &workers[i]);
		if (workers[i].is_serving && !workers[i].is_waiting && workers[i].uid != 0)
			begun[slot_of(a, workers[i].uid)] +=
				now - workers[i].since_ms <
				(*workers[i].is_proven ? GRANTED_MS : BEGINNING_MS);
	}
	most = turns_of_each(a, now);
	while ((next = find_next(a, workers, count, begun, most, &waits))) {
		if (send(next->control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE &&
		    errno != ECONNRESET)
			return true; /* The next call tries again. */
		begun[slot_of(a, next->uid)]++;
		next->since_ms = now;
		next->is_waiting = false;
	}
	return waits;
}

/*
 * Returns 1 if the peer is in another user namespace than the listener, 0 if not, or -ESRCH if the
 * namespace cannot be opened, for example because the process is gone. In another namespace, `uid`
 * becomes the uid of the owner of the namespace, or of its outermost ancestor below the listener's.
 * The ids inside do not count, because one user may have been assigned many of them. If root owns
 * that namespace, as with one that root made for other users, `uid` stays as it is. Needs
 * CAP_SYS_PTRACE. See ioctl_ns(2).
 */
static int admission_is_elsewhere(const struct admission *a, pid_t pid, uid_t *uid)
{
	char path[32];
	struct stat st;
	uid_t owner = 0;
	int fd, is_elsewhere = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	for (; fd >= 0 && (fstat(fd, &st) < 0 || !fd_same_file(&st, &a->user_ns));
	     is_elsewhere = 1) {
		int around = ioctl(fd, NS_GET_PARENT);

		(void)ioctl(fd, NS_GET_OWNER_UID, &owner);
		fd_close(fd);
		fd = around;
	}
	fd_close(fd);
	if (owner != 0)
		*uid = owner;
	return is_elsewhere;
}

enum closer_reason admission_glance(struct admission *a, int socket, struct ucred *ret_peer)
{
	socklen_t size = sizeof *ret_peer;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) < 0)
		return CLOSER_NO_PROCESS;
	if (fd_poll(socket, 0, 0) > 0)
		return CLOSER_HUNG_UP;
	return owes_too_much(a, ret_peer->uid) ? CLOSER_TOO_OFTEN : 0;
}

enum closer_reason admission_examine(struct admission *a, const struct ucred *peer,
                                     bool allows_confined, struct worker *workers, size_t count,
                                     uid_t *ret_uid)
{
	int elsewhere;

	*ret_uid = peer->uid;
	elsewhere = admission_is_elsewhere(a, peer->pid, ret_uid);
	return elsewhere < 0 || (elsewhere && !allows_confined)
	               ? CLOSER_CONFINED
	               : admission_admit(a, workers, count, *ret_uid);
}

int admission_open(struct admission *a, int listening)
{
	int flags = fcntl(listening, F_GETFL);

	if (stat("/proc/self/ns/user", &a->user_ns) < 0 || listen(listening, BACKLOG) < 0 ||
	    flags < 0 || fcntl(listening, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    getrandom(&a->debts_key, sizeof a->debts_key, 0) < 0)
		return -errno;
	a->debts_key |= 1;
	a->processors = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
	return 0;
}
