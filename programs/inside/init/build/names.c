/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's host name and loopback interface, in its uts and network namespaces. See build.h.
 */
#include "base/kernel.h"
#include "programs/inside/init/build/build.h"

#include <linux/nsfs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/*
 * The kernel returns the owner of the network namespace only if that is our user namespace or one
 * below. ioctl_ns(2)
 */
static int names_find_owner(struct build *b)
{
	_cleanup_fd_ int namespace = openat(b->proc, "self/ns/net", O_RDONLY | O_CLOEXEC),
			 owner = -1;

	if (namespace < 0)
		return -errno;
	owner = ioctl(namespace, NS_GET_USERNS);
	b->owns_network = owner >= 0;
	return owner < 0 && errno != EPERM ? -errno : 0;
}

int names_loopback(struct build *b, const struct plan_step *step)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = names_find_owner(b);

	(void)step;
	if (r < 0 || !b->owns_network)
		return r;
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

int names_host(struct build *b, const struct plan_step *step)
{
	const char *name = plan_text(b->plan, step->source);

	return sethostname(name, strlen(name)) < 0 ? -errno : 0;
}
