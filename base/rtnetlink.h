/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel to change interfaces, addresses and routes, one change per request. rtnetlink(7)
 *
 * Needs CAP_NET_ADMIN over the network namespace in which the socket was made.
 */
#pragma once

#include "base/fd.h"

#include <linux/rtnetlink.h>
#include <stdint.h>

#define RTNETLINK_LO 1 /* the first interface of every network namespace */

/* A request: header, body and attributes. */
struct rtnetlink_ask {
	struct nlmsghdr header; /* nlmsg_len: the size of the request, with all attributes so far */
	union {
		struct ifaddrmsg address;
		struct ifinfomsg link;
		struct rtmsg route;
	} body;
	uint8_t attributes[160];
};

/* Returns a socket, which the caller closes, or -errno. */
_must_check_ int rtnetlink_open(void);

/*
 * Appends an attribute and returns a pointer to it. `ask` must have room for it. To nest
 * attributes, add the outer one with size 0, then the inner ones, then pass the outer one to
 * rtnetlink_end().
 */
struct rtattr *rtnetlink_add(struct rtnetlink_ask *ask, uint16_t type, const void *bytes,
                             size_t size);
void rtnetlink_end(const struct rtnetlink_ask *ask, struct rtattr *nest);

/*
 * Sends the request with the type `type` (RTM_NEWADDR and the like) and NLM_F_CREATE, and waits for
 * the kernel's answer. Returns 0 or -errno as the kernel answered; -EBADMSG if the answer is no
 * acknowledgement.
 */
_must_check_ int rtnetlink_send(int fd, struct rtnetlink_ask *ask, uint16_t type);
