/* See tell.h. Unprivileged; sends on the control socket and nothing else. */
#include "helper/init/tell.h"

#include <sys/socket.h>

void tell_event(struct tell *tell, struct init_event event)
{
	if (!tell->is_wanted)
		return;
	event.lost = tell->lost;
	if (send(INIT_FD_CONTROL, &event, sizeof event, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof event)
		tell->lost = 0;
	else
		tell->lost++;
}
