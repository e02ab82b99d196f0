/*
 * So many connections of an ordinary user, each a process that asks for a profile that it may not have, without end: refused COUNT.
 * For crowd.py, which ends it.
 */
#include "libclient/yett.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static void __attribute__((noreturn)) ask_without_end(void)
{
	static const struct yett_sandbox_options options = {.profile = "no-such-profile"};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		struct yett_connection *connection = NULL;
		struct yett_sandbox *sandbox;
		struct yett_error error;

		if (yett_connect(NULL, &connection, &error) != 0)
			continue;
		while (yett_sandbox_create(connection, &options, &sandbox, &error) == YETT_E_PERMISSION_DENIED)
			;
		yett_connection_close(connection);
	}
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;

	for (int i = 0; i < count; i++)
		if (fork() == 0)
			ask_without_end();
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}
