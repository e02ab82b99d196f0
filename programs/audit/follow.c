/* SPDX-License-Identifier: Apache-2.0 */
/* See follow.h. */
#include "programs/audit/follow.h"
#include "base/fd.h"

#include <string.h>
#include <sys/socket.h>

static size_t follow_count_of(const struct follows *follows, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < follows->end; i++)
		count += follows->table[i].fd >= 0 && follows->table[i].uid == uid;
	return count;
}

struct follow *follow_add(struct follows *follows, const struct audit_record *record, int *fd)
{
	struct follow *follow;
	size_t i = 0;

	while (i < follows->end && follows->table[i].fd >= 0)
		i++;
	if (i == FOLLOW_MAX || follow_count_of(follows, record->sandbox.uid) >= FOLLOW_USER_MAX)
		return NULL;
	if (i == follows->end)
		follows->end++;
	follow = &follows->table[i];
	*follow = (struct follow){.fd = steal_fd(fd),
	                          .uid = record->sandbox.uid,
	                          .recorded = record->sandbox.recorded,
	                          .number = record->action};
	memcpy(follow->id, record->id, sizeof follow->id);
	memcpy(follow->name, record->sandbox.name, sizeof follow->name);
	return follow;
}

struct follow *follow_find(struct follows *follows, const char *id)
{
	for (size_t i = 0; i < follows->end; i++)
		if (follows->table[i].fd >= 0 && strcmp(follows->table[i].id, id) == 0)
			return &follows->table[i];
	return NULL;
}

size_t follow_poll(struct follows *follows, struct pollfd *fds)
{
	size_t count = 0;

	while (follows->end > 0 && follows->table[follows->end - 1].fd < 0)
		follows->end--;
	for (size_t i = 0; i < follows->end; i++)
		if (follows->table[i].fd >= 0)
			fds[count++] = (struct pollfd){follows->table[i].fd, POLLIN, 0};
	return count;
}

bool follow_receive(struct follow *follow, struct live_event *ret_live_event)
{
	struct iovec parts[] = {{&ret_live_event->event, sizeof ret_live_event->event},
	                        {&ret_live_event->more, sizeof ret_live_event->more}};
	struct msghdr header = {
		/* No control buffer: a peer's descriptors are discarded by the kernel. */
		.msg_iov = parts,
		.msg_iovlen = ARRAY_SIZE(parts)};
	ssize_t n = recvmsg(follow->fd, &header, MSG_DONTWAIT);
	size_t more;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < (ssize_t)sizeof ret_live_event->event) {
		follow->fd = fd_close(follow->fd);
		return false;
	}
	more = (size_t)n - sizeof ret_live_event->event;
	ret_live_event->has_network = more == sizeof ret_live_event->more.network &&
	                              ret_live_event->event.kind >= EVENT_CONNECTED;
	ret_live_event->has_argv =
		more == sizeof ret_live_event->more.argv &&
		ret_live_event->more.argv.size <= sizeof ret_live_event->more.argv.text;
	if (ret_live_event->event.number > follow->number)
		follow->lost += ret_live_event->event.number - follow->number - 1;
	follow->number = ret_live_event->event.number;
	return true;
}

void follow_shut(struct follows *follows)
{
	for (size_t i = 0; i < follows->end; i++)
		if (follows->table[i].fd >= 0)
			(void)shutdown(follows->table[i].fd, SHUT_RD);
}

void follow_settle(struct follows *follows, bool is_on_disk)
{
	for (size_t i = 0; i < follows->end; i++) {
		follows->table[i].lost += is_on_disk ? 0 : follows->table[i].collected;
		follows->table[i].collected = 0;
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
