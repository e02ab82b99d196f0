/* SPDX-License-Identifier: Apache-2.0 */
/* See spares.h. */
#include "programs/rootless/spares.h"
#include "protocol/frame.h"

#include <sys/socket.h>

/* Longer than a supervisor waits until its sandbox is gone. */
#define BUSY_DEADLINE_MS 60000

static struct spares *spares_of(const struct monitor *m)
{
	return (struct spares *)m->spares;
}

static bool take_idle(const struct spares *spares, struct supervisor_ready *ready, int *ret_socket)
{
	return spares->pool[0] >= 0 && frame_receive_fd(spares->pool[0], ready, sizeof *ready,
	                                                ret_socket, MSG_DONTWAIT) == 0;
}

static int start_kept(struct monitor *m, int *ret_socket)
{
	const struct supervisor_ahead ahead = {spares_of(m)->pool[1], m->ask->plan.profile,
	                                       m->peer.uid, m->peer.gid};
	pid_t pid = supervisor_start(m->host, &PLACE_HERE, &ahead, ret_socket);

	if (pid < 0)
		return -ENOENT;
	supervisors_remember(m, pid, false);
	spares_of(m)->kept++;
	return 0;
}

/*
 * An idle supervisor has only the templates that were built before it was forked; only the template
 * of its own profile is certain to be among them. So idle supervisors of other profiles are ended.
 */
static int spares_take(struct monitor *m, int *ret_socket)
{
	struct spares *spares = spares_of(m);
	bool is_first = !spares->is_used;
	struct supervisor_ready ready;

	spares->is_used = true;
	while (take_idle(spares, &ready, ret_socket)) {
		if (*ret_socket >= 0 && ready.profile == m->ask->plan.profile)
			return 0;
		*ret_socket = fd_close(*ret_socket); /* ends the supervisor */
		spares->kept--;
	}
	if (is_first || spares->kept >= m->policy->spares ||
	    supervisors_are_lasting(&m->ask->plan) ||
	    (spares->pool[0] < 0 && fd_pair(spares->pool) < 0))
		return -ENOENT;
	return start_kept(m, ret_socket);
}

static void spares_end(struct monitor *m, bool is_last)
{
	struct spares *spares = spares_of(m);
	struct supervisor_ready ready;
	int socket;

	/* pool[0] reports end of file when no supervisor has its other end any more. */
	if (is_last)
		spares->pool[1] = fd_close(spares->pool[1]);
	while (spares->pool[0] >= 0 &&
	       fd_poll(spares->pool[0], POLLIN, is_last ? BUSY_DEADLINE_MS : 0) > 0 &&
	       take_idle(spares, &ready, &socket)) {
		fd_close(socket);
		spares->kept--;
	}
	if (is_last)
		spares->pool[0] = fd_close(spares->pool[0]);
}

const struct spares spares_none = {.calls = {spares_take, spares_end}, .pool = {-1, -1}};
