/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the processes of a sandbox's network: see egress.h. With full privilege. */
#include "helper/setup/egress.h"
#include "helper/setup/making.h"

/* on a busy machine; nothing here depends on a client */
#define AWAIT_MS 20000

/*
 * Descriptors that the child gets to become the proxy. The connector's child gets as many: its end
 * of the socket to the proxy, the socket to the supervisor, and the plan.
 */
enum proxy_from { FROM_CONNECTOR, FROM_INIT, FROM_AWAITED, FROM_FDS };

/*
 * Indexes of the proxy's descriptors, in the order of enum proxy_fd (programs/net/egress.h). The
 * connector's descriptors fit into the same array.
 */
enum proxy_to {
	TO_CONNECTOR,
	TO_SOCKETS,
	TO_PORT_LISTENER = TO_SOCKETS + NET_LISTEN_SOCKETS,
	TO_END
};

/*
 * Enters the sandbox's network namespace, which has only the sandbox's own traffic, and makes the
 * sockets that the proxy listens on. If there is a port listener, the proxy gets a socket to it
 * instead. Returns the number of descriptors in `fds`, or -errno.
 */
static int listen_inside(const struct setup *setup, const int *from, int fds[static TO_END])
{
	_cleanup_fd_ int link = -1;
	/* ESRCH: init has ended and has reported why */
	int r = setns(from[FROM_INIT], CLONE_NEWNET) < 0 ? errno == ESRCH ? -EPIPE : -errno : 0;

	memset(fds, -1, TO_END * sizeof *fds);
	fds[TO_CONNECTOR] = from[FROM_CONNECTOR];
	fds[TO_PORT_LISTENER] = setup->host->by_port ? from[FROM_AWAITED] : -1;
	if (r < 0 || setup->host->by_port)
		return r < 0 ? r : TO_END;
	r = net_listen_open(fds + TO_SOCKETS);
	if (r == 0)
		r = link = port_listener_attach(fds + TO_SOCKETS);
	if (r >= 0)
		r = frame_send(from[FROM_AWAITED], "", 1, &link, 1, 0);
	return r < 0 ? r : TO_END;
}

int egress_become(const struct setup *setup, enum fork_kind child, const int *from)
{
	bool is_proxy = child == FORK_PROXY;
	int fds[TO_END] = {from[0], from[1], from[2], setup->host->programs[SETUP_RESOLVER]},
	    r = reached_step("egress", is_proxy ? "front" : "dialer");
	char id[16];
	char *const argv[] = {is_proxy ? "yett-front" : "yett-dialer", is_proxy ? id : NULL,
	                      setup->egress.starts > 1 ? "1" : "0", NULL};

	/* until the program sets its own */
	kernel_die_with_parent();
	FORMAT(id, "%" PRIu32, setup->egress.proxy_id);
	if (r == 0)
		r = is_proxy ? listen_inside(setup, from, fds) : FROM_FDS + 1;
	return r < 0 ? r
	             : identity_become(setup, is_proxy ? SETUP_PROXY : SETUP_CONNECTOR, argv, fds,
	                               r);
}

int egress_send_rules(const struct setup *setup, enum egress_order kind, int rules)
{
	const uint32_t order = kind;

	return frame_send(setup->egress.reports, &order, sizeof order, &rules, 1, MSG_DONTWAIT);
}

int egress_start(struct setup *setup, int plan, enum egress_order kind, int rules)
{
	const struct init_order order = {.kind = INIT_ORDER_PORTS,
	                                 .is_rootless = setup->host->rootless};
	struct egress *egress = &setup->egress;
	int inner[2] = {-1, -1}, reports[2] = {-1, -1}, awaited[2] = {-1, -1}, ports[2] = {-1, -1},
	    r;
	bool by_port = setup->host->by_port;

	egress_end(setup);
	egress->starts++;
	egress->proxy_id =
		setup->host->reserve.ids_first + IDMAP_ROLES_OF_FRONTS +
		(setup->first - setup->host->reserve.ids_first) / IDMAP_RANGE % IDMAP_FRONTS;
	r = fd_pair(inner) ?: fd_pair(reports) ?: fd_pair(awaited);
	if (r == 0 && by_port)
		r = fd_pair(ports);
	if (r == 0)
		r = egress->proxy = forker_fork(
			setup, FORK_PROXY,
			(const int[]){inner[0], setup->init_pidfd, by_port ? ports[0] : awaited[1]},
			FROM_FDS);
	if (r > 0)
		r = egress->connector = forker_fork(
			setup, FORK_CONNECTOR, (const int[]){inner[1], reports[1], plan}, FROM_FDS);
	/*
	 * The port listener listens at the ports of the rules, and sends these sockets to the
	 * proxy.
	 */
	if (r > 0 && by_port)
		r = egress->port_listener = forker_fork(
			setup, FORK_PORT_LISTENER,
			(const int[]){awaited[1], ports[1], setup->init_pidfd, setup->user_ns},
			MOUNT_FDS);
	/*
	 * Each set of rules that a stopped connector has not received is memory of ours. The small
	 * buffer keeps their number low.
	 */
	(void)setsockopt(reports[0], SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int));
	for (size_t i = 0; i < 6; i++)
		fd_close((const int[]){inner[0], inner[1], reports[1], awaited[1], ports[0],
		                       ports[1]}[i]);
	/*
	 * The port listener may be compromised. The listener does nothing before it has this order,
	 * and by now the supervisor holds no copy of the socket from it to the proxy.
	 */
	if (r > 0 && by_port)
		r = frame_send(awaited[0], &order, sizeof order, &rules, 1, 0);
	egress->reports = reports[0];
	egress->awaited = awaited[0];
	return r < 0 ? r : egress_send_rules(setup, kind, rules);
}

int egress_use(struct setup *setup, int plan, int rules)
{
	if (setup->egress.reports >= 0 && egress_send_rules(setup, EGRESS_ORDER_RULES, rules) == 0)
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
	if (setup->host->by_port) {
		r = mount_hear(setup, egress->awaited, AWAIT_MS);
		egress->is_tainted |= !forker_end_child_soon(egress->port_listener);
		egress->port_listener = 0;
		egress->is_tainted |= !frame_close_socket(egress->awaited);
		egress->awaited = -1;
		return r;
	}
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

	/*
	 * These processes may hold connected sockets, or descriptors from a compromised port
	 * listener. A process that exits closes them without waiting: socket(7), SO_LINGER.
	 */
	egress->is_tainted |= !forker_end_child_soon(egress->proxy);
	egress->is_tainted |= !forker_end_child_soon(egress->connector);
	egress->is_tainted |= !forker_end_child_soon(egress->port_listener);
	/*
	 * A compromised connector or port listener may have sent descriptors that take long to
	 * close. Then the socket stays open until this process exits, which is soon.
	 */
	egress->is_tainted |= !frame_close_socket(egress->reports);
	/* Without a port listener, only root's own code has sent on this socket. */
	egress->is_tainted |= !(setup->host->by_port ? frame_close_socket(egress->awaited)
	                                             : fd_close(egress->awaited) < 0);
	fd_close(egress->link);
	*egress = (struct egress){.reports = -1,
	                          .link = -1,
	                          .awaited = -1,
	                          .starts = egress->starts,
	                          .is_tainted = egress->is_tainted};
}
