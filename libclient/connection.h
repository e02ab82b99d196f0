/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the helper, and the requests that wait for answers on it.
 *
 * Shared by the files of libclient; runs with the caller's privilege. `lock` protects everything
 * here, each struct connection_request included, so that sandboxes of one connection can belong to
 * different threads. No thread holds the lock while it waits for an answer. One of the waiting
 * threads polls the socket and distributes what arrives; the others wait for that thread.
 */
#pragma once

#include <limits.h>
#include <pthread.h>

#include "libclient/channel.h"
#include "libclient/yett.h"

#define CONNECTION_TIMEOUT_MS 30000

struct yett_connection {
	pthread_mutex_t lock;
	pthread_cond_t turned; /* something was handled, or no thread polls the socket any more */
	/* A thread polls the socket without holding the lock; no other thread may read from it. */
	bool has_waiter;
	struct channel *channel;
	enum yett_start start;
	int helper_pidfd; /* of the helper that this process started; -1: none */
	int timeout_ms;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	const struct yett_signer *signer; /* borrowed, or own_signer */
	struct yett_signer *own_signer;
	const struct yett_workspace *workspace; /* borrowed; NULL: none */
	bool is_agent;                          /* YETT_CONNECT_AGENT was set */
	/* `signer` is a throwaway key, used because the caller has none: see need_signer(). */
	bool is_passing_signer;
	struct connection_request *requests;
};

/* The kind of answer that a request expects. */
enum connection_wanted {
	CONNECTION_SANDBOX,
	CONNECTION_PLAN,
	CONNECTION_LISTING,
	CONNECTION_DONE,
	CONNECTION_STREAM,
	CONNECTION_TOTALS,
	CONNECTION_ALLOWED
};

/* The progress of a request. It stays CONNECTION_ASKED until the answer arrives. */
enum connection_state {
	CONNECTION_ASKED,
	CONNECTION_ANSWERED,
	CONNECTION_REFUSED,
	CONNECTION_ENDED
};

/*
 * A request, and what the connection hears about the sandbox that it made or attached to. A member
 * of struct yett_sandbox; the connection writes it, under its lock.
 */
struct connection_request {
	struct yett_connection *connection; /* NULL once the connection was closed */
	struct connection_request *next;    /* in the connection's list */
	uint64_t sequence;
	enum connection_state state;
	enum connection_wanted wanted;
	int fd; /* CONNECTION_ANSWERED: the exec channel, plan, listing or event stream; owned */
	/*
	 * CONNECTION_ANSWERED, for a sandbox. After CONNECTION_DONE and CONNECTION_STREAM only the
	 * id is set.
	 */
	struct yett_sandbox_info info;
	struct message_totals totals;   /* CONNECTION_ANSWERED, for totals */
	struct message_listing listing; /* CONNECTION_ANSWERED, for a listing */
	enum yett_state sandbox_state;  /* as the helper reported last */
	struct yett_error error;        /* CONNECTION_REFUSED: the reason */
	enum yett_ended ended;          /* CONNECTION_ENDED: why the sandbox ended */
};

/*
 * Makes a connection of `fd`, which it owns or closes in any case: checks the peer's uid (0, or the
 * caller's on a socketpair, which the library itself made), receives the hello and agrees on the
 * version. The signer of the options is borrowed. Errors as for yett_connect().
 */
_must_check_ int connection_take(int fd, const struct yett_connect_options *options,
                                 enum yett_start start, struct yett_connection **ret_connection,
                                 struct yett_error *error);

/*
 * Handles one packet from the helper, for whatever request it is. If there is none, waits for the
 * socket, or for the thread that polls it, and returns 0: the caller must call again. The lock must
 * be held; it is released while waiting, so the caller must then check again what it waits for.
 * Returns 0; -EAGAIN at the deadline; or a positive code when the connection is over, which also
 * fails every waiting request.
 */
_must_check_ int connection_step(struct yett_connection *connection, deadline_ms deadline,
                                 struct yett_error *error);

/*
 * Does the same for all packets that have arrived, without waiting. If another thread polls the
 * socket, leaves the packets to that thread. Returns 0 or a positive code as above.
 */
_must_check_ int connection_look(struct yett_connection *connection, struct yett_error *error);

/*
 * Sets the members of `info` that follow from its network. `network` has the value of a
 * MESSAGE_CREATED.
 */
void connection_fill_network(struct yett_sandbox_info *info, uint32_t network);

/* The value of yett_sandbox_info.backend for this connection. */
const char *connection_backend(const struct yett_connection *connection);

/* Sets the members of `info` that are the same for all sandboxes of a connection. */
void connection_fill_kind(const struct yett_connection *connection, struct yett_sandbox_info *info);

/* The public value of an enum ended_reason. */
enum yett_ended connection_ended_of(uint32_t reason);

/*
 * The path of the helper that would be executed, unchecked: `helper_path` or YETT_HELPER if set,
 * else the helper of the build tree that contains the calling program, else the installed helper.
 * For a caller who is not root and gets no set-user-id helper, that is yett-rootless beside it. The
 * result may point into `buffer`.
 */
const char *start_helper_name(const char *helper_path, char buffer[static PATH_MAX]);

static inline void connection_unlock(struct yett_connection **connection)
{
	(void)pthread_mutex_unlock(&(*connection)->lock);
}

static inline struct yett_connection *connection_lock(struct yett_connection *connection)
{
	(void)pthread_mutex_lock(&connection->lock);
	return connection;
}

/* Holds the lock of `connection` until the end of the block. */
#define CONNECTION_LOCKED(connection)                                                          \
	_cleanup_(connection_unlock) __attribute__((unused)) struct yett_connection *locked_ = \
		connection_lock(connection)

static inline void connection_freep(struct yett_connection **connection)
{
	yett_connection_close(*connection);
}
