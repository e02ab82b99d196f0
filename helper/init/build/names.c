/* What the sandbox is called, and its loopback: see build.h. In its uts and network namespaces. */
#include "base/kernel.h"
#include "helper/init/build/build.h"

#include <linux/keyctl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The helper's keys are not ours to show; the payload gets no key ring call at all. */
int names_keyring(struct build *b, const struct plan_step *step)
{
	(void)b, (void)step;
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 && errno != ENOSYS ? -errno : 0;
}

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
