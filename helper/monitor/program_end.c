/* SPDX-License-Identifier: Apache-2.0 */
/* See program_end.h. */
#include "helper/monitor/program_end.h"
#include "helper/privilege/privilege.h"
#include "protocol/frame.h"

#include <signal.h>
#include <sys/wait.h>

void program_end(struct program *program)
{
	/*
	 * A compromised program may have sent descriptors, whose closing may block. Then the socket
	 * stays open, and our exit closes it.
	 */
	(void)frame_close_socket(program->socket);
	if (program->pid > 0) {
		/*
		 * The program has another uid than ours, so that kill(2) takes privilege. It may
		 * hang in a file system of the client. Its pid cannot have been reused, because it
		 * is not reaped yet.
		 */
		int raised = privilege_raise();

		(void)kill(program->pid, SIGKILL);
		if (raised == 0)
			(void)!privilege_lower();
		while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*program = PROGRAM_NONE;
}
