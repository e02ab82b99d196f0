/* Starting and ending the two processes of a sandbox's network: see egress.h. With full privilege. */
#include "helper/setup/egress.h"
#include "base/reached.h"
#include "helper/setup/making.h"
#include "protocol/frame.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define AWAIT_MS 20000 /* with a busy machine; nothing here depends on a client */

enum front_from { FROM_DIALER, FROM_RULES, FROM_INIT, FROM_AWAITED, FRONT_FDS };
#define DIALER_FDS 3

/* Where descriptors are for both: egress.h of the programs. */
#define FIRST_FD 3
enum front_to { TO_DIALER, TO_SOCKETS, TO_PORTS = TO_SOCKETS + CATCH_SOCKETS, TO_END = TO_PORTS + CATCH_PORTS_MAX };

/*
 * In the sandbox's network namespace, where nothing is but what comes from it, makes what the front listens on. How many descriptors those
 * are, and it has.
 */
static int listen_inside(const struct setup *setup, const int *from, int fds[static TO_END])
{
	_cleanup_fd_ int link = -1;
	int r = setns(from[FROM_INIT], CLONE_NEWNET) < 0 ? -errno : 0, ports = 0;

	fds[TO_DIALER] = from[FROM_DIALER];
	if (r == 0 && setup->host->is_rootless)
		r = ports = setup->host->rootless->listen(setup, from[FROM_RULES], fds + TO_PORTS);
	if (r >= 0)
		r = catch_listen(fds + TO_SOCKETS);
	if (r == 0 && !setup->host->is_rootless)
		r = link = catch_attach(fds + TO_SOCKETS);
	if (r >= 0)
		r = frame_send(from[FROM_AWAITED], "", 1, &link, link >= 0, 0);
	return r < 0 ? r : TO_PORTS + ports;
}

int egress_become(const struct setup *setup, enum builder_child child, const int *from)
{
	bool is_front = child == BUILDER_FRONT;
	int fds[TO_END] = {from[0], from[1], from[2]}, r = reached_step("egress", is_front ? "front" : "dialer");
	char path[PATH_MAX], resolver[PATH_MAX], id[16];
	char *const front[] = {"yett-front", id, setup->egress.starts > 1 ? "1" : "0", NULL};
	char *const dialer[] = {"yett-dialer", resolver, NULL}, *const environment[] = {NULL};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* until it asks for it itself */
	(void)snprintf(id, sizeof id, "%" PRIu32, setup->egress.front_id);
	(void)snprintf(resolver, sizeof resolver, "%s/yett-resolver", setup->host->libexec);
	(void)snprintf(path, sizeof path, "%s/%s", setup->host->libexec, is_front ? front[0] : dialer[0]);
	if (r == 0)
		r = is_front ? listen_inside(setup, from, fds) : DIALER_FDS;
	if (r > 0)
		r = identity_place(fds, r, FIRST_FD);
	if (r == 0)
		(void)execve(path, is_front ? front : dialer, environment);
	return r < 0 ? r : -errno;
}

int egress_send_rules(const struct setup *setup, enum egress_order kind, int rules)
{
	const uint32_t order = kind;

	return frame_send(setup->egress.told, &order, sizeof order, &rules, 1, MSG_DONTWAIT);
}

int egress_start(struct setup *setup, int plan, enum egress_order kind, int rules)
{
	struct egress *egress = &setup->egress;
	int inner[2] = {-1, -1}, told[2] = {-1, -1}, awaited[2] = {-1, -1}, r = 0;
	pid_t pid;

	egress_end(setup);
	egress->starts++;
	egress->front_id = setup->host->reserve.ids_first + IDMAP_ROLES_OF_FRONTS +
	                   (setup->first - setup->host->reserve.ids_first) / IDMAP_RANGE % IDMAP_FRONTS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, inner) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, awaited) < 0)
		r = -errno;
	if (r == 0) {
		pid = builder_fork(setup, BUILDER_FRONT, (const int[]){inner[0], rules, setup->init_pidfd, awaited[1]}, FRONT_FDS);
		egress->front = pid > 0 ? pid : 0;
		r = pid < 0 ? pid : 0;
	}
	if (r == 0) {
		pid = builder_fork(setup, BUILDER_DIALER, (const int[]){inner[1], told[1], plan}, DIALER_FDS);
		egress->dialer = pid > 0 ? pid : 0;
		r = pid < 0 ? pid : 0;
	}
	/* Of rules that a dialer which stands still has not taken there are only a few: they are memory of ours. */
	(void)setsockopt(told[0], SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int));
	fd_close(inner[0]);
	fd_close(inner[1]);
	fd_close(told[1]);
	fd_close(awaited[1]);
	egress->told = told[0];
	egress->awaited = awaited[0];
	return r == 0 ? egress_send_rules(setup, kind, rules) : r;
}

int egress_use(struct setup *setup, int plan, int rules)
{
	if (setup->egress.told >= 0 && egress_send_rules(setup, EGRESS_ORDER_RULES, rules) == 0)
		return 0;
	setup->egress.starts = 0;
	return egress_start(setup, plan, EGRESS_ORDER_RULES, rules);
}

int egress_await(struct setup *setup)
{
	struct egress *egress = &setup->egress;
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	int r;

	if (egress->awaited < 0)
		return 0;
	if (!frame || fd_poll(egress->awaited, POLLIN, AWAIT_MS) <= 0)
		return frame ? -ETIMEDOUT : -ENOMEM;
	r = frame_receive(egress->awaited, frame, MSG_DONTWAIT);
	egress->awaited = fd_close(egress->awaited);
	if (r <= 0)
		return -ECHILD;
	egress->link = frame->fd_count > 0 ? steal_fd(&frame->fds[0]) : -1;
	frame_close_fds(frame);
	return 0;
}

void egress_end(struct setup *setup)
{
	struct egress *egress = &setup->egress;

	builder_end_child(egress->front);
	/* It may hold what it connected to, which does not linger when a process ends. socket(7) */
	builder_end_child(egress->dialer);
	egress->front = egress->dialer = 0;
	egress->awaited = fd_close(egress->awaited);
	/* A captured dialer may have sent descriptors: then it stays open until our end, which is near. */
	if (!frame_close_socket(egress->told))
		egress->is_spoilt = true;
	egress->told = -1;
	egress->link = fd_close(egress->link);
}
