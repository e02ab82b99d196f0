/* SPDX-License-Identifier: Apache-2.0 */
/* See notify.h. */
#include "helper/listener/notify.h"

#include <stddef.h>
#include <sys/socket.h>

static uint64_t watchdog_ms(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *interval = getenv("WATCHDOG_USEC");

	if (!interval || (pid && atoi(pid) != getpid()))
		return 0;
	/* Half of the interval, as sd_watchdog_enabled(3) advises. */
	return strtoull(interval, NULL, 10) / 2000;
}

void notify_open(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;

	*notify = (struct notify){
		.socket = -1, .watchdog_ms = watchdog_ms(), .address = {.sun_family = AF_UNIX}};
	if (length > 1 && length < sizeof notify->address.sun_path &&
	    (path[0] == '/' || path[0] == '@')) {
		memcpy(notify->address.sun_path, path, length);
		if (path[0] == '@')
			notify->address.sun_path[0] = '\0'; /* an abstract name */
		notify->address_length =
			(unsigned)(offsetof(struct sockaddr_un, sun_path) + length);
		notify->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	}
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_PID");
	(void)unsetenv("WATCHDOG_USEC");
}

void notify_send(const struct notify *notify, const char *state)
{
	if (notify->socket >= 0)
		(void)!sendto(notify->socket, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		              (const struct sockaddr *)&notify->address, notify->address_length);
}
