/*
 * What a socket can reach in the hands of somebody who is not to reach more than its peer. A socket
 * belongs to the network namespace in which it was made, wherever it is passed: who holds one may
 * connect it elsewhere there, or send to anybody. unix(7), ip(7), connect(2)
 */
#pragma once

enum socket_kind {
	SOCKET_PEER, /* AF_UNIX, stream or seqpacket, connected: the kernel connects it to nobody
	                else. What its peer takes from it is its own */
	SOCKET_CONNECTED, /* it has, or had, one peer, but who holds it can give it another one:
	                     only its data may go further */
	SOCKET_OTHER, /* it listens, or sends to whom it likes, or its peer is the kernel (netlink)
	               */
};

/* Of `fd`, which is a socket. Only looks. */
enum socket_kind socket_kind(int fd);

/*
 * Gives a socket of AF_UNIX that has no name one of the kernel's choice: a socket has one name at
 * most, so that nobody can have it take a name that others look for. 0, also for anything else, or
 * -errno. unix(7), "Autobind feature"
 */
int socket_name_once(int fd);
