/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares of a request: opens their sources, and makes the stores that keep the changes of
 * copy-on-write shares.
 *
 * Runs with the caller's privilege and opens everything as the caller. The helper resolves none of
 * the caller's paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/home.h"
#include "libclient/channel.h"
#include "libclient/workspace.h"
#include "libclient/yett.h"
#include "protocol/message.h"

/* The descriptors of a create message, in the order of its shares. */
struct share_fds {
	int fds[MESSAGE_SHARES_MAX];
	bool opened[MESSAGE_SHARES_MAX];         /* the library opened it, and closes it */
	const char *targets[MESSAGE_SHARES_MAX]; /* the path inside; not owned */
	size_t count;
	bool has_memory; /* the last share is memory_dir */
	/* The path inside of the first directory; NULL: there is no directory. */
	const char *first_directory;
	/* Makes and finds stores; borrowed from the connection. NULL: there can be no stores. */
	const struct yett_workspace *workspace;
	/* The stores of the request: new ones, and existing ones that it uses again. */
	struct work *works;
	char name[YETT_NAME_SIZE]; /* of the sandbox; may be empty */
	/* Where the caller keeps persistent state; empty until it was looked up: share_check.h. */
	char state[HOME_PATH_SIZE];
};

void shares_close(struct share_fds *fds);

/* The request made the sandbox `sandbox`, an id: its stores stay. `name` may be empty. */
void shares_keep(struct share_fds *fds, const char *sandbox, const char *name);

/* Opens the source of a share, and adds the share to the create message in `channel`. */
_must_check_ int shares_add(struct channel *channel, const struct yett_share *share,
                            struct share_fds *fds, struct yett_error *error);

/* Reports that `name` cannot be shared, with the reason in errno. */
int shares_cannot(const char *name, struct yett_error *error);
