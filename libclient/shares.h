/*
 * What a request shares: the sources, opened as the caller, and the places where what is changed of
 * them is kept.
 *
 * With the caller's privilege; the helper resolves no path of ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libclient/channel.h"
#include "libclient/keyfile.h"
#include "libclient/yett.h"
#include "protocol/message.h"

struct work;

/* The descriptors of a create, in the order of its shares. */
struct share_fds {
	int fds[MESSAGE_SHARES_MAX];
	bool opened[MESSAGE_SHARES_MAX];         /* by us, so ours to close */
	const char *targets[MESSAGE_SHARES_MAX]; /* where each is to be inside; not owned */
	size_t count;
	bool has_memory;               /* the last one is what is kept */
	const char *first_directory;   /* where it is to be inside; NULL: none is one */
	struct work *works;            /* stores that were made for it */
	char name[YETT_NAME_SIZE];     /* of the sandbox; may be empty */
	char state[KEYFILE_PATH_SIZE]; /* where the caller keeps what is to last; empty until that
	                                  was looked up: work.h */
};

void shares_close(struct share_fds *fds);

/* Opens what is to be shared, and puts it to the create that `channel` is to send. */
_must_check_ int shares_add(struct channel *channel, const struct yett_share *share,
                            struct share_fds *fds, struct yett_error *error);

/* That `name` cannot be shared, for the reason that errno has. */
int shares_cannot(const char *name, struct yett_error *error);
