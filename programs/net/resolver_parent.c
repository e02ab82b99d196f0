/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See resolver_parent.h. Runs as the caller, without capabilities. Must not read the questions,
 * only peek at them.
 */
#include "programs/net/resolver_parent.h"
#include "helper/privilege/lockdown.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

static void become_resolver(int program, int socket)
{
	char *argv[] = {(char *)"yett-resolver", NULL}, *environment[] = {NULL};

	if (dup2(socket, STDIN_FILENO) == STDIN_FILENO && fcntl(program, F_SETFD, FD_CLOEXEC) == 0)
		(void)fexecve(program, argv, environment);
	_exit(1);
}

/*
 * Waits for a question on one socket after the other, and becomes the resolver on the socket where
 * one arrives. A child waits on the next socket. All these processes end with the connector, whose
 * ends of the sockets are closed then. A resolver cannot end the process that waits on the next
 * socket.
 */
_Noreturn static void resolver_parent_keep(int program, const int sockets[LOOKUP_RESOLVERS])
{
	int kept[LOOKUP_RESOLVERS + 1] = {program};
	char byte;

	memcpy(kept + 1, sockets, LOOKUP_RESOLVERS * sizeof *sockets);
	fd_close_except(kept, ARRAY_SIZE(kept));
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++) {
		if (recv(sockets[i], &byte, sizeof byte, MSG_PEEK) <= 0)
			_exit(0);
		/* If fork(2) fails, there is no second resolver: execve(2) closes its socket. */
		if (i + 1 == LOOKUP_RESOLVERS || fork() != 0)
			become_resolver(program, sockets[i]);
		(void)close(sockets[i]);
	}
	_exit(0);
}

int resolver_parent_start(int resolver, int ret_sockets[LOOKUP_RESOLVERS])
{
	int pairs[LOOKUP_RESOLVERS][2], theirs[LOOKUP_RESOLVERS];
	pid_t pid;

	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) < 0)
			return -errno;
		theirs[i] = pairs[i][1];
	}
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		resolver_parent_keep(resolver, theirs);
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++) {
		(void)close(theirs[i]);
		ret_sockets[i] = pairs[i][0];
	}
	return 0;
}
