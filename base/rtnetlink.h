/*
 * Asking the kernel to change interfaces, addresses and routes, one thing at a time. rtnetlink(7)
 *
 * With CAP_NET_ADMIN over the network namespace that the socket is of.
 */
#pragma once

#include "base/fd.h"

#include <linux/rtnetlink.h>
#include <stdint.h>

#define RTNETLINK_LO 1 /* the first interface of every network namespace */

/* A header, a body, and attributes. */
struct rtnetlink_ask {
	struct nlmsghdr header; /* its length: as far as all of this is used */
	union {
		struct ifaddrmsg address;
		struct ifinfomsg link;
		struct rtmsg route;
	} body;
	uint8_t attributes[160];
};

/* To be closed; or -errno. */
_must_check_ int rtnetlink_open(void);

/* Adds an attribute, for which there must be room, and returns it. One that others are nested in is
 * ended after them. */
struct rtattr *rtnetlink_add(struct rtnetlink_ask *ask, uint16_t type, const void *bytes,
                             size_t size);
void rtnetlink_end(const struct rtnetlink_ask *ask, struct rtattr *nest);

/* RTM_NEWADDR and its like, with NLM_F_CREATE. 0 or -errno, by what the kernel has answered. */
_must_check_ int rtnetlink_send(int fd, struct rtnetlink_ask *ask, uint16_t type);
