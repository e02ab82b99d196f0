/*
 * What is to be shared with a sandbox: opened as the caller, and put into the request. With the caller's privilege.
 */
#pragma once

#include "libclient/channel.h"
#include "libclient/work.h"

/* The descriptors of a request, in the order of its shares. */
struct share_fds {
	int fds[MESSAGE_SHARES_MAX];
	bool opened[MESSAGE_SHARES_MAX];         /* by us, so ours to close */
	const char *targets[MESSAGE_SHARES_MAX]; /* where each is to be inside; not owned */
	size_t count;
	bool has_memory;             /* the last one is what is kept */
	const char *first_directory; /* where it is to be inside; NULL: none is one */
	struct work *works;          /* stores that were made for it */
};

/*
 * Opens what is to be shared, as the caller (the helper resolves no path of ours), and puts it into the CREATE that is put together; with a
 * store, where what is changed needs one. What was opened so far is in `fds` also when it fails.
 */
_must_check_ int shares_add(struct channel *channel, const struct yett_share *share, struct share_fds *fds, struct yett_error *error);

/* A path or a descriptor that cannot be shared, by errno. */
int shares_cannot(const char *name, struct yett_error *error);

/* Closes what we have opened, and drops stores that no sandbox was made with. */
void shares_close(struct share_fds *fds);
