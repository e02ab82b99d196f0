/*
 * The connection to the helper, and the requests that wait on it.
 *
 * Shared by the files of libclient; with the caller's privilege. `lock` guards everything here and
 * the `request` part of each sandbox, so that sandboxes of one connection can belong to different
 * threads. Nobody holds it while waiting for the helper: one of those who wait for answers waits
 * for the socket, and hands out what comes; the others wait for that one.
 */
#pragma once

#include <limits.h>
#include <pthread.h>

#include "libclient/channel.h"
#include "libclient/yett.h"

#define CONNECTION_TIMEOUT_MS 30000

struct yett_connection {
	pthread_mutex_t lock;
	pthread_cond_t turned; /* something was handled, or nobody waits for the socket any more */
	bool has_waiter; /* somebody waits for the socket, without the lock; nobody else reads from
	                    it then */
	struct channel *channel;
	enum yett_start start;
	int helper_pidfd; /* of our child, the helper; -1: none */
	int timeout_ms;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	const struct yett_signer *signer; /* borrowed, or own_signer */
	struct yett_signer *own_signer;
	bool is_agent;          /* YETT_CONNECT_AGENT */
	bool is_passing_signer; /* it stands for none, see need_signer() */
	struct yett_sandbox *sandboxes;
};

/* What is expected. */
enum connection_wanted {
	CONNECTION_SANDBOX,
	CONNECTION_PLAN,
	CONNECTION_LISTING,
	CONNECTION_DONE,
	CONNECTION_STREAM,
	CONNECTION_TOTALS,
	CONNECTION_ALLOWED
};

/* Where the answer to a request goes. CONNECTION_ASKED until it is there. */
enum connection_state {
	CONNECTION_ASKED,
	CONNECTION_ANSWERED,
	CONNECTION_REFUSED,
	CONNECTION_ENDED
};

/* The part of a sandbox that the connection writes, under its lock. */
struct connection_request {
	uint64_t sequence;
	enum connection_state state;
	enum connection_wanted wanted;
	int fd; /* CONNECTION_ANSWERED: the exec channel, plan, listing or event stream; owned */
	struct yett_sandbox_info info;  /* CONNECTION_ANSWERED, of a sandbox; only its id where it
	                                   was done, or is followed */
	struct message_totals totals;   /* CONNECTION_ANSWERED, of these */
	struct message_listing listing; /* CONNECTION_ANSWERED, of one */
	enum yett_state sandbox_state;  /* as the helper told last */
	struct yett_error error;        /* CONNECTION_REFUSED */
	enum yett_ended ended;          /* CONNECTION_ENDED */
};

/*
 * A connection on `fd`, which it takes in any case: checks the peer's uid (0, or on a socketpair,
 * which is our own, the caller's), receives the hello and agrees on the version. The signer of the
 * options is borrowed; errors as yett_connect().
 */
_must_check_ int connection_take(int fd, const struct yett_connect_options *options,
                                 enum yett_start start, struct yett_connection **ret_connection,
                                 struct yett_error *error);

/*
 * Handles what the helper has sent, whichever requests it is for, and where there was nothing waits
 * for more. Called with the lock held, which others have meanwhile: what was waited for is to be
 * looked at again. 0; -EAGAIN at the deadline; a positive code when the connection is over, which
 * every waiting request is told too.
 */
_must_check_ int connection_step(struct yett_connection *connection, deadline_ms deadline,
                                 struct yett_error *error);

/* The same for all that is there, without waiting; what somebody waits for is left to that one. 0,
 * or that code. */
_must_check_ int connection_look(struct yett_connection *connection, struct yett_error *error);

/* Fills in what a sandbox has with this network, which is as in a created. */
void connection_fill_network(struct yett_sandbox_info *info, uint32_t network);

/* How the helper was started, as programs are told. */
const char *connection_backend(const struct yett_connection *connection);

/* What is the same for all sandboxes that a connection tells of. */
void connection_fill_kind(const struct yett_connection *connection, struct yett_sandbox_info *info);

/* The public name of an enum ended_reason. */
enum yett_ended connection_ended_of(uint32_t reason);

/*
 * The helper that would be executed, unchecked: the one named, here or by YETT_HELPER, else that of
 * the build tree in which the calling program lies, else the installed one. `buffer` may hold it.
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
