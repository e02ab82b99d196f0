/* SPDX-License-Identifier: Apache-2.0 */
/* See registry.h. */
#include "helper/setup/registry.h"

#include <ctype.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * More than there are monitors and supervisors; each has at most one report to yett-audit under
 * way.
 */
#define CONNECTIONS_WAITING 4096
#define READ_ATTEMPTS       20
#define MINUTE_MS           60000

static uint64_t sum_of(const struct record *record, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)record;
	uint64_t sum = UINT64_C(0xcbf29ce484222325), word;

	/*
	 * FNV-1a by words. The sum only detects a torn read: no process but root's can write a
	 * record.
	 */
	for (size_t at = sizeof record->sum; at < length; at += sizeof word) {
		word = 0;
		memcpy(&word, bytes + at, length - at < sizeof word ? length - at : sizeof word);
		sum = (sum ^ word) * UINT64_C(0x100000001b3);
	}
	return sum;
}

void record_init(struct record *record, uid_t uid, const char *cgroup)
{
	memset(record, 0, sizeof *record);
	record->magic = RECORD_MAGIC;
	record->uid = uid;
	record->state = SANDBOX_DESTROYED;
	FORMAT(record->cgroup, "%s", cgroup);
}

void record_plan(struct record *record, const struct plan *plan)
{
	record->limits = plan->limits;
	record->life = plan->life;
	record->network = (struct record_network){.mode = plan->network};
	FORMAT(record->id, "%s", plan->id);
	FORMAT(record->name, "%s", plan_text(plan, plan->name));
	FORMAT(record->profile, "%s", plan_text(plan, plan->profile_name));
	FORMAT(record->principal, "%s", plan_text(plan, plan->principal));
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == PLAN_HOSTNAME)
			FORMAT(record->hostname, "%s", plan_text(plan, plan->steps[i].source));
	for (uint32_t i = 0; i < plan->labels_count; i++) {
		const char *label = plan_text(plan, plan->labels[i]);
		size_t size = strlen(label) + 1;

		if (size > sizeof record->labels - record->labels_size)
			break; /* no decider makes such a plan */
		memcpy(record->labels + record->labels_size, label, size);
		record->labels_size += (uint32_t)size;
	}
}

size_t record_seal(struct record *record)
{
	size_t length = offsetof(struct record, labels) + record->labels_size;

	record->sum = sum_of(record, length);
	return length;
}

bool record_open(const void *bytes, size_t length, struct record *ret_record)
{
	struct record *r = ret_record;

	if (length < offsetof(struct record, labels) || length > sizeof *r)
		return false;
	memcpy(r, bytes, length);
	/* nothing of an earlier record may remain in *ret_record */
	memset((uint8_t *)r + length, 0, sizeof *r - length);
	/* A longer record that was there before may have left its end in the file. */
	return r->magic == RECORD_MAGIC &&
	       r->labels_size <= length - offsetof(struct record, labels) &&
	       r->sum == sum_of(r, offsetof(struct record, labels) + r->labels_size);
}

int registry_write(int fd, struct record *record)
{
	size_t length = record_seal(record);

	return pwrite(fd, record, length, 0) == (ssize_t)length ? 0 : -EIO;
}

/* Returns whether a living process holds the lock of a reservation. */
static bool has_owner(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static bool read_record(int fd, struct record *ret_record)
{
	struct record bytes;

	for (int i = 0; i < READ_ATTEMPTS; i++) {
		ssize_t n = pread(fd, &bytes, sizeof bytes, 0);

		if (n > 0 && record_open(&bytes, (size_t)n, ret_record))
			return true;
		/* The writer was interrupted in the middle of a write: give it processor time. */
		if (i > 2)
			(void)poll(NULL, 0, 1);
	}
	return false;
}

bool registry_next(DIR *entries, struct record *ret_record)
{
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		_cleanup_fd_ int fd = -1;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && read_record(fd, ret_record) &&
		    ret_record->state != SANDBOX_DESTROYED && has_owner(fd))
			return true;
	}
	return false;
}

void registry_read_totals(const struct reserve_host *host, struct message_totals *ret_totals)
{
	_cleanup_fd_ int fd = reserve_open_file(host, "totals");

	if (pread(fd, ret_totals, sizeof *ret_totals, 0) != (ssize_t)sizeof *ret_totals)
		*ret_totals = (struct message_totals){0};
}

void registry_add_totals(const struct reserve_host *host, const struct message_totals *more)
{
	_cleanup_fd_ int fd = reserve_open_file(host, "totals");
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct message_totals totals = {0};

	/*
	 * The lock is held for these three calls, and only root's processes can take it. fcntl(2),
	 * open file description locks
	 */
	if (fcntl(fd, F_OFD_SETLKW, &whole) < 0 || pread(fd, &totals, sizeof totals, 0) < 0)
		return;
	/* the struct has no other members */
	for (size_t i = 0; i < sizeof totals / sizeof(uint64_t); i++)
		((uint64_t *)&totals)[i] += ((const uint64_t *)more)[i];
	(void)!pwrite(fd, &totals, sizeof totals, 0);
}

int registry_count(const struct reserve_host *host, uid_t uid, bool is_creation, uint32_t most,
                   uint64_t now_ms)
{
	_cleanup_fd_ int fd = reserve_open_file(host, "rates");
	/*
	 * start of the user's minute, requests, creations; each uid has its place in a sparse file
	 */
	uint64_t user[3] = {0};
	const off_t size = sizeof user, at = (off_t)uid * size;
	struct flock own = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = size};

	if (fcntl(fd, F_OFD_SETLKW, &own) < 0 || pread(fd, user, sizeof user, at) < 0)
		return -errno;
	/* A time from before a reboot is later than now; the unsigned difference is then large. */
	if (now_ms - user[0] >= MINUTE_MS) {
		memset(user, 0, sizeof user);
		user[0] = now_ms;
	}
	if (user[1 + is_creation]++ >= most)
		return (int)((user[0] + MINUTE_MS - now_ms + 999) / 1000);
	return pwrite(fd, user, sizeof user, at) == size ? 0 : -EIO;
}

/* The path goes through the descriptor, so a mount over the directory's path has no effect. */
static int registry_open_socket(const struct reserve_host *host, const char *cgroup, bool listens)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	FORMAT(address.sun_path, "/proc/self/fd/%d/%s", host->dirs[RESERVE_CONTROL], cgroup);
	if (fd < 0 ||
	    (listens ? bind : connect)(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    (listens && listen(fd, CONNECTIONS_WAITING) < 0))
		return -errno;
	return steal_fd(&fd);
}

int registry_listen(const struct reserve_host *host, const char *cgroup)
{
	return registry_open_socket(host, cgroup, true);
}

void registry_unlisten(const struct reserve_host *host, const char *cgroup)
{
	(void)unlinkat(host->dirs[RESERVE_CONTROL], cgroup, 0);
}

int registry_connect(const struct reserve_host *host, const char *cgroup)
{
	return registry_open_socket(host, cgroup, false);
}

int registry_accept(int listening)
{
	_cleanup_fd_ int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	return peer.uid == 0 || peer.uid == geteuid() ? steal_fd(&fd) : -EPERM;
}
