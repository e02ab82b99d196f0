/* SPDX-License-Identifier: Apache-2.0 */
/* See rtnetlink.h. */
#include "base/rtnetlink.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

int rtnetlink_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

struct rtattr *rtnetlink_add(struct rtnetlink_ask *ask, uint16_t type, const void *bytes,
                             size_t size)
{
	struct rtattr attribute = {.rta_len = (uint16_t)RTA_LENGTH(size), .rta_type = type};
	uint8_t *at = (uint8_t *)&ask->header + ask->header.nlmsg_len;

	assert(ask->header.nlmsg_len + RTA_SPACE(size) <= sizeof *ask);
	memcpy(at, &attribute, sizeof attribute);
	if (size > 0)
		memcpy(at + RTA_LENGTH(0), bytes, size);
	ask->header.nlmsg_len += (uint32_t)RTA_SPACE(size);
	return (struct rtattr *)(void *)at;
}

void rtnetlink_end(const struct rtnetlink_ask *ask, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)((const uint8_t *)&ask->header + ask->header.nlmsg_len -
	                           (const uint8_t *)nest);
}

int rtnetlink_send(int fd, struct rtnetlink_ask *ask, uint16_t type)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		uint8_t rest[256];
	} answer;
	ssize_t n;

	ask->header.nlmsg_type = type;
	ask->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	if (send(fd, ask, ask->header.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, &answer, sizeof answer, 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof answer.error) ||
	    answer.header.nlmsg_type != NLMSG_ERROR)
		return n < 0 ? -errno : -EBADMSG;
	return answer.error.error;
}
