/* SPDX-License-Identifier: Apache-2.0 */
/* See shares.h. */
#include "libclient/shares.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "libclient/share_check.h"

void shares_close(struct share_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		if (fds->opened[i])
			fd_close(fds->fds[i]);
	if (fds->works)
		fds->workspace->drop(&fds->works);
}

void shares_keep(struct share_fds *fds, const char *sandbox, const char *name)
{
	if (fds->works)
		fds->workspace->keep(&fds->works, sandbox, name);
}

/* Refuses a share that needs a store if the program passed no functions for stores. */
static int check_workspace(const struct share_fds *fds, const char *name, struct yett_error *error)
{
	if (fds->workspace)
		return 0;
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"cannot share %s copy-on-write: the connection was made without a workspace", name);
	error_mend(
		error,
		"link libyett-workspace and set yett_connect_options.workspace to yett_workspace(); or set memory_bytes of the share, to lose the changes with the sandbox");
	return YETT_E_INVALID_REQUEST;
}

/*
 * Checks that the options fit together and that the share has one source. Descriptor 0 needs
 * YETT_SHARE_FD, so a share that is all zeros has no source.
 */
static int check_source(const struct yett_share *share, const char *name, struct yett_error *error)
{
	bool has_fd = share->flags & YETT_SHARE_FD;

	if (share->flags &
	    ~(uint32_t)(YETT_SHARE_WRITABLE | YETT_SHARE_FD | YETT_SHARE_SOCKET | YETT_SHARE_COW))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the flags of share %s are not all known: %#x", name,
		                 share->flags);
	if ((share->flags & YETT_SHARE_WRITABLE) && (share->flags & YETT_SHARE_SOCKET))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"share %s is a socket, and cannot be writable: commands connect to sockets",
			name);
	if ((share->flags & YETT_SHARE_COW) &&
	    (share->flags & (YETT_SHARE_WRITABLE | YETT_SHARE_SOCKET)))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"share %s is copy-on-write, and so can be neither writable nor a socket",
			name);
	if (share->store && (!(share->flags & YETT_SHARE_COW) || share->memory_bytes))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"share %s has a store, and so must be copy-on-write, and not in memory",
			name);
	if (share->hide &&
	    (!(share->flags & YETT_SHARE_COW) || share->memory_bytes || share->store)) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"nothing can be hidden in share %s: it is not copy-on-write with a new store",
			name);
		error_mend(
			error,
			"--cow PATH makes a new store; --tmpfs covers a directory of any share; an existing store hides the same names as before");
		return YETT_E_INVALID_REQUEST;
	}
	if (share->memory_bytes && !(share->flags & YETT_SHARE_COW))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "share %s has a size of memory, and is not copy-on-write", name);
	if (!share->path && !has_fd)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"share %s has no source: neither a path nor a descriptor with YETT_SHARE_FD",
			name);
	if (share->path && has_fd)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"share %s has two sources: a path, and a descriptor with YETT_SHARE_FD",
			name);
	if (has_fd && share->fd < 0)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"share %s has %d for a descriptor: did the call fail that was to open it?",
			name, share->fd);
	return 0;
}

int shares_cannot(const char *name, struct yett_error *error)
{
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot share %s: %m", name);
}

static int put_share(struct channel *channel, enum share_mode mode, const char *target,
                     struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	struct message_share *entry = &create->shares[create->shares_count];

	entry->fd = create->shares_count++;
	entry->mode = mode;
	return channel_put_text(channel, target, MESSAGE_PATH_MAX, "the target of a share",
	                        &entry->target, error);
}

/*
 * Adds the place for the changes of a copy-on-write share: a store, or memory, which is a tmpfs
 * with the same target.
 */
static int add_store(struct channel *channel, const struct yett_share *share, int source,
                     const char *target, struct share_fds *fds, struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	int store, r;

	if (share->memory_bytes) {
		if (create->tmpfs_count == MESSAGE_TMPFS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "more than %d tmpfs and memory of shares",
			                 MESSAGE_TMPFS_MAX);
		create->tmpfs[create->tmpfs_count].size_bytes = share->memory_bytes;
		return channel_put_text(channel, target, MESSAGE_PATH_MAX, "the target of a share",
		                        &create->tmpfs[create->tmpfs_count++].target, error);
	}
	if (create->shares_count == MESSAGE_SHARES_MAX)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"more than the %d shares allowed: one that is copy-on-write counts twice",
			MESSAGE_SHARES_MAX);
	r = fds->workspace->prepare(
		&(struct workspace_share){.size = sizeof(struct workspace_share),
	                                  .source = source,
	                                  .name = share->path ? share->path : target,
	                                  .target = target,
	                                  .is_found = share->store != NULL,
	                                  .hide = share->hide,
	                                  .no_hide = share->no_hide},
		&fds->works, &store, error);
	if (r)
		return r;
	fds->targets[fds->count] = target;
	fds->opened[fds->count] = false; /* belongs to the store in `works` */
	fds->fds[fds->count++] = store;
	return put_share(channel, SHARE_STORE, target, error);
}

/* Opens the source as the caller: the helper resolves no path of the client. */
static int shares_add_share(struct channel *channel, const struct yett_share *share,
                            struct share_fds *fds, struct yett_error *error)
{
	const char *target = share->target ? share->target : share->path;
	const char *name = share->path ? share->path : target ? target : "?";
	bool is_socket = share->flags & YETT_SHARE_SOCKET, is_cow = share->flags & YETT_SHARE_COW;
	struct stat st;
	int fd, r = check_source(share, name, error);

	if (r == 0 && is_cow && !share->memory_bytes)
		r = check_workspace(fds, name, error);
	if (r)
		return r;
	if (channel->message.body.create.shares_count == MESSAGE_SHARES_MAX)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"more than the %d shares allowed: one that is copy-on-write counts twice",
			MESSAGE_SHARES_MAX);
	fd = share->path ? open(share->path, O_PATH | O_CLOEXEC) : share->fd;
	if (fd < 0)
		return shares_cannot(name, error);
	fds->opened[fds->count] = share->path != NULL;
	fds->targets[fds->count] = target;
	fds->fds[fds->count++] = fd;
	if (fstat(fd, &st) < 0)
		return shares_cannot(name, error);
	if (is_socket ? !S_ISSOCK(st.st_mode) : !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "cannot share %s: it is %s",
			name, is_socket ? "no socket" : "neither a directory nor a regular file");
	if (!target || target[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the place of %s inside is not an absolute path", name);
	r = is_socket ? 0
	    : is_cow  ? share_check_cow(fds->state, fd, name, share->memory_bytes != 0, error)
	             : share_check(fds->state, fd, share->flags & YETT_SHARE_WRITABLE, name, error);
	if (r)
		return r;
	if (S_ISDIR(st.st_mode) && !fds->first_directory)
		fds->first_directory = target;
	r = put_share(channel,
	              is_socket                            ? SHARE_SOCKET
	              : is_cow                             ? SHARE_COW
	              : share->flags & YETT_SHARE_WRITABLE ? SHARE_RW
	                                                   : SHARE_RO,
	              target, error);
	return r == 0 && is_cow ? add_store(channel, share, fd, target, fds, error) : r;
}

/* Takes source and target from the store if the share does not name them. */
static int add_stored(struct channel *channel, const struct yett_share *share,
                      struct share_fds *fds, struct yett_error *error)
{
	struct yett_share known = *share;
	const char *source, *target;
	int r = check_workspace(fds, share->path ? share->path : share->store, error);

	if (r == 0)
		r = fds->workspace->find(share->store, &fds->works, &source, &target, error);
	if (r)
		return r;
	if (!known.path && !(known.flags & YETT_SHARE_FD))
		known.path = source;
	if (!known.target)
		known.target = target;
	return shares_add_share(channel, &known, fds, error);
}

int shares_add(struct channel *channel, const struct yett_share *share, struct share_fds *fds,
               struct yett_error *error)
{
	return share->store && (share->flags & YETT_SHARE_COW)
	               ? add_stored(channel, share, fds, error)
	               : shares_add_share(channel, share, fds, error);
}
