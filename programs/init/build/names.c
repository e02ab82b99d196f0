/* What the sandbox is called, and its loopback: see build.h. In its uts and network namespaces. */
#include "base/kernel.h"
#include "programs/init/build/build.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int names_loopback(struct build *b, const struct plan_step *step)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)b, (void)step;
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

int names_host(struct build *b, const struct plan_step *step)
{
	const char *name = plan_text(b->plan, step->source);

	return sethostname(name, strlen(name)) < 0 ? -errno : 0;
}
