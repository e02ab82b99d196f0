/* See follow.h. */
#include "programs/audit/follow.h"
#include "base/fd.h"

#include <string.h>
#include <sys/socket.h>

void follow_begin(struct follow table[FOLLOW_MAX])
{
	for (size_t i = 0; i < FOLLOW_MAX; i++)
		table[i].fd = -1;
}

static size_t count_of(const struct follow table[FOLLOW_MAX], uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < FOLLOW_MAX; i++)
		count += table[i].fd >= 0 && table[i].uid == uid;
	return count;
}

struct follow *follow_add(struct follow table[FOLLOW_MAX], const struct audit_record *record, int *fd)
{
	if (count_of(table, record->sandbox.uid) >= FOLLOW_USER_MAX)
		return NULL;
	for (size_t i = 0; i < FOLLOW_MAX; i++) {
		struct follow *follow = &table[i];

		if (follow->fd >= 0)
			continue;
		*follow = (struct follow){
			.fd = steal_fd(fd), .uid = record->sandbox.uid, .recorded = record->sandbox.recorded, .number = record->action};
		memcpy(follow->id, record->id, sizeof follow->id);
		memcpy(follow->name, record->sandbox.name, sizeof follow->name);
		return follow;
	}
	return NULL;
}

struct follow *follow_find(struct follow table[FOLLOW_MAX], const char *id)
{
	for (size_t i = 0; i < FOLLOW_MAX; i++)
		if (table[i].fd >= 0 && strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}

size_t follow_poll(const struct follow table[FOLLOW_MAX], struct pollfd *fds)
{
	size_t count = 0;

	for (size_t i = 0; i < FOLLOW_MAX; i++)
		if (table[i].fd >= 0)
			fds[count++] = (struct pollfd){table[i].fd, POLLIN, 0};
	return count;
}

bool follow_receive(struct follow *follow, struct happening *ret_happening)
{
	struct iovec parts[] = {{&ret_happening->event, sizeof ret_happening->event}, {&ret_happening->more, sizeof ret_happening->more}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)}; /* no room for descriptors, which root has none of */
	ssize_t n = recvmsg(follow->fd, &header, MSG_DONTWAIT);
	size_t more;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < (ssize_t)sizeof ret_happening->event) {
		follow->fd = fd_close(follow->fd);
		return false;
	}
	more = (size_t)n - sizeof ret_happening->event;
	ret_happening->has_network = more == sizeof ret_happening->more.network && ret_happening->event.kind >= EVENT_CONNECTED;
	ret_happening->has_argv =
		more == sizeof ret_happening->more.argv && ret_happening->more.argv.size <= sizeof ret_happening->more.argv.text;
	if (ret_happening->event.number > follow->number)
		follow->lost += ret_happening->event.number - follow->number - 1;
	follow->number = ret_happening->event.number;
	return true;
}

void follow_shut(struct follow table[FOLLOW_MAX])
{
	for (size_t i = 0; i < FOLLOW_MAX; i++)
		if (table[i].fd >= 0)
			(void)shutdown(table[i].fd, SHUT_RD);
}

void follow_settle(struct follow table[FOLLOW_MAX], bool is_on_disk)
{
	for (size_t i = 0; i < FOLLOW_MAX; i++) {
		table[i].lost += is_on_disk ? 0 : table[i].collected;
		table[i].collected = 0;
	}
}

uint32_t follow_kind(uint32_t event)
{
	switch ((enum event_kind)event) {
	case EVENT_STARTED:
	case EVENT_EXITED:
	case EVENT_FAILED:
	case EVENT_TIMEOUT:
		return POLICY_RECORD_COMMANDS;
	case EVENT_CONNECTED:
	case EVENT_DISCONNECTED:
	case EVENT_UNREACHABLE:
	case EVENT_FULL:
	case EVENT_NETWORK_LOST:
	case EVENT_ASKED:
		return POLICY_RECORD_CONNECTIONS;
	case EVENT_DENIED:
	case EVENT_BLOCKED:
		return POLICY_RECORD_DENIALS;
	case EVENT_FOLLOWED:
	case EVENT_OOM:
	case EVENT_FORKS_REFUSED:
	case EVENT_PAUSED:
	case EVENT_RESUMED:
	case EVENT_ENDED:
	case EVENT_UNRECORDED:
		return 0;
	}
	return 0;
}
