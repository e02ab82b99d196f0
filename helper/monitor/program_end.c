/* See program_end.h. */
#include "helper/monitor/program_end.h"
#include "helper/privilege/privilege.h"
#include "protocol/frame.h"

#include <signal.h>
#include <sys/wait.h>

void program_end(struct program *program)
{
	/* A captured one may have sent descriptors: then it is our own end that closes them. */
	(void)frame_close_socket(program->socket);
	if (program->pid > 0) {
		/* Of another id than ours, and perhaps stuck in a file system of a client's. Its
		 * pid is its own: it is not reaped yet. */
		int raised = privilege_raise();

		(void)kill(program->pid, SIGKILL);
		if (raised == 0)
			(void)!privilege_lower();
		while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*program = PROGRAM_NONE;
}
