/* SPDX-License-Identifier: Apache-2.0 */
/* See start.h. */
#include "helper/start/start.h"
#include "base/log.h"
#include "helper/monitor/monitor.h"

int start_serve(struct monitor *monitor, const char *libexec, int socket, int r, bool is_its_own,
                struct yett_error *error)
{
	if (r == 0)
		r = monitor_prepare(monitor, libexec);
	if (r == 0) {
		r = monitor_serve(monitor, socket);
	} else {
		if (is_its_own)
			monitor_report(libexec, socket, r, error);
		fd_close(socket);
	}
	monitor_free(monitor);
	return r;
}

int start_report(int r, const struct yett_error *error)
{
	if (r == 0)
		return 0;
	log_line(LOG_LEVEL_ERROR, "%s%s%s", error->message[0] ? error->message : strerror(-r),
	         error->detail[0] ? "; " : "", error->detail);
	return 1;
}
