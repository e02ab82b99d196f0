/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies sockets by what a process that receives one could reach with it besides its peer.
 *
 * A socket stays in the network namespace in which it was made, wherever it is passed. A sandbox
 * that holds one could connect it to another address of that namespace, or send to any address
 * there. unix(7), ip(7), connect(2)
 *
 * Runs with the privilege of the caller, and needs none.
 */
#pragma once

enum socket_kind {
	/*
	 * AF_UNIX, SOCK_STREAM or SOCK_SEQPACKET, connected: the kernel never connects it to
	 * another peer. What the peer accepts from it is the peer's responsibility. A sandbox that
	 * holds it can also get a pidfd of the peer (SO_PEERPIDFD), good only for waiting.
	 */
	SOCKET_PEER,
	/*
	 * Any other connected socket, and a stream that does not listen. Its holder can connect it
	 * to another peer, so relay its data instead of passing the socket on.
	 */
	SOCKET_CONNECTED,
	/*
	 * The socket listens, or is an unconnected datagram socket, which can send to any address,
	 * or has another family, such as netlink, where the peer is the kernel.
	 */
	SOCKET_OTHER,
};

/* Classifies the socket `fd`, and does not change it. */
enum socket_kind socket_kind(int fd);

/*
 * Binds an unnamed AF_UNIX socket to a name of the kernel's choice. A socket can be bound only
 * once, so a sandbox that receives it cannot bind it to a name to which other programs connect.
 * Returns 0 or -errno; 0 also if `fd` is no socket, of another family, or named already. unix(7),
 * "Autobind feature"
 */
int socket_name_once(int fd);
