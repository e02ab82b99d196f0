/* See admission.h. */
#include "helper/listener/admission.h"
#include "base/clock.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#define CONNECTIONS_PER_UID_MAX 256 /* root is not counted: it can do without us */
/* connections to which nothing was granted yet: each costs three processes */
#define UNPROVEN_MAX          128
#define UNPROVEN_PER_USER_MAX 16
#define UNPROVEN_OLD_MS       1000 /* from this age on they give way to new ones */
#define UNPROVEN_COST_MS      20   /* one that ends so: as many in a second as fit */
#define UNPROVEN_DEBT_MAX_MS  2000
#define BEGINNING_MS          250 /* a connection takes its user's turn for so long, */
/* or if it was granted something: what goes on in a sandbox is its user's own */
#define GRANTED_MS  50
#define LATELY_MS   10000
#define TURNS_ALONE 4 /* for each processor, where no other user was granted anything lately */
/* whoever connects in a loop stands before everybody else in the queue, but not with more than that
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

/* Whether it is old enough to make room, and has been told. Its monitor may be serving for a moment
 * longer. */
static bool give_way(struct worker *worker, uint64_t now)
{
	if (!worker || now - worker->since_ms < UNPROVEN_OLD_MS)
		return false;
	worker->gives_way = shutdown(worker->control, SHUT_WR) == 0;
	return true;
}

static struct worker *older(struct worker *a, struct worker *b)
{
	return a && a->since_ms <= b->since_ms ? a : b;
}

/* By numbers: whether the user may have one connection more. 0, or why not. */
static enum closer_reason admit(struct admission *a, struct worker *workers, size_t count,
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
			oldest = older(oldest, worker);
		if (is_users && is_unproven)
			oldest_of_user = older(oldest_of_user, worker);
		if (is_users)
			admission_settle(a, worker);
	}
	if (all >= CONNECTIONS_MAX)
		return CLOSER_FULL;
	if (uid == 0) /* owes nothing */
		return 0;
	if (of_user >= CONNECTIONS_PER_UID_MAX)
		return CLOSER_USER_FULL;
	if (owes_too_much(a, uid))
		return CLOSER_TOO_OFTEN;
	/* One of the user's own that makes room has made it for everybody. */
	if (unproven_of_user >= UNPROVEN_PER_USER_MAX
	            ? !give_way(oldest_of_user, now)
	            : unproven >= UNPROVEN_MAX && !give_way(oldest, now))
		return unproven_of_user >= UNPROVEN_PER_USER_MAX ? CLOSER_TOO_OFTEN : CLOSER_FULL;
	*debt = (*debt > now ? *debt : now) + UNPROVEN_COST_MS;
	return 0;
}

/* How many connections a user may begin at once. */
static long turns_of_each(const struct admission *a, uint64_t now)
{
	long users = 0;

	for (size_t i = 0; i < DEBTS; i++)
		users += a->granted_ms[i] && now - a->granted_ms[i] < LATELY_MS;
	if (users <= 1)
		return TURNS_ALONE * a->processors;
	return users < a->processors ? a->processors / users : 1;
}

/* The oldest one whose turn it is; NULL: nobody's. `ret_waits`: somebody waits. */
static struct worker *find_next(const struct admission *a, struct worker *workers, size_t count,
                                const long begun[DEBTS], long most, bool *ret_waits)
{
	struct worker *next = NULL;

	*ret_waits = false;
	for (size_t i = 0; i < count; i++) {
		*ret_waits = *ret_waits || workers[i].is_waiting;
		if (workers[i].is_waiting &&
		    (workers[i].uid == 0 || begun[slot_of(a, workers[i].uid)] < most))
			next = next ? older(next, &workers[i]) : &workers[i];
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
			return true; /* it is said again */
		begun[slot_of(a, next->uid)]++;
		next->since_ms = now;
		next->is_waiting = false;
	}
	return waits;
}

/*
 * Whether the peer is in another user namespace than ours; then `uid` becomes that of whoever made
 * it, or the one around it that lies in ours: the ids in it are as many as somebody was given. One
 * that root made for others counts by the ids that it has. -errno when that cannot be told, as of a
 * process that is gone. ioctl_ns(2). With CAP_SYS_PTRACE.
 */
static int is_elsewhere(const struct admission *a, pid_t pid, uid_t *uid)
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
	elsewhere = is_elsewhere(a, peer->pid, ret_uid);
	return elsewhere < 0 || (elsewhere && !allows_confined)
	               ? CLOSER_CONFINED
	               : admit(a, workers, count, *ret_uid);
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
