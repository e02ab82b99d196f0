/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h, and "mounts" in yett.h: changes the mounts of an existing sandbox. Runs as the
 * caller.
 */
#include "base/sandbox_name.h"
#include "libclient/guard.h"
#include "libclient/options.h"
#include "libclient/refusal.h"
#include "libclient/sandbox.h"
#include "libclient/shares.h"

#include <string.h>

/*
 * Turns the create message that shares_add() and guard_put() have filled in into a mount message,
 * which is for an existing sandbox.
 */
static void become_mount(struct message *message)
{
	const struct message_create create = message->body.create;
	struct message_mount *mount = &message->body.mount;

	message->kind = MESSAGE_MOUNT;
	memset(mount, 0, sizeof *mount);
	memcpy(mount->shares, create.shares, sizeof mount->shares);
	mount->shares_count = create.shares_count;
	memcpy(mount->tmpfs, create.tmpfs, sizeof mount->tmpfs);
	mount->tmpfs_count = create.tmpfs_count;
	memcpy(mount->masks, create.masks, sizeof mount->masks);
	mount->masks_count = create.masks_count;
	memcpy(mount->read_only, create.read_only, sizeof mount->read_only);
	mount->read_only_count = create.read_only_count;
}

/* The requested changes. Members that are not used are zero. */
struct change {
	const struct yett_share *shares;
	const char *const *unmount, *const *refresh;
	size_t shares_count, unmount_count, refresh_count;
};

static int put_targets(struct channel *channel, const char *const *targets, size_t count,
                       const char *what, struct text *texts, uint32_t *ret_count,
                       struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = channel_put_text(channel, targets[i], MESSAGE_PATH_MAX, what,
		                     &texts[(*ret_count)++], error);
	return r;
}

static int libclient_mount_put(struct channel *channel, const char *id_or_name,
                               const struct change *change, struct share_fds *fds,
                               struct yett_error *error)
{
	struct message_mount *mount = &channel->message.body.mount;
	size_t count = change->shares_count + change->unmount_count + change->refresh_count;
	struct yett_share known;
	int r = 0;

	if (channel->failure.code) {
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	if (!sandbox_name_is_valid(id_or_name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%.100s cannot be the id or name of a sandbox: yett ps lists both",
		                 id_or_name);
	if (count == 0 || change->unmount_count > MESSAGE_SHARES_MAX ||
	    change->refresh_count > MESSAGE_SHARES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%zu mounts are to be changed: 1 to %d can be", count,
		                 MESSAGE_SHARES_MAX);
	(void)channel_prepare(channel, MESSAGE_CREATE);
	for (size_t i = 0; r == 0 && i < change->shares_count; i++) {
		r = sized_take_element(&options_share, change->shares, i, &known, error);
		if (r == 0)
			r = shares_add(channel, &known, fds, error);
	}
	if (r == 0)
		r = guard_put(channel, fds, error);
	if (r)
		return r;
	become_mount(&channel->message);
	r = put_targets(channel, change->unmount, change->unmount_count, "a place to unmount",
	                mount->unmount, &mount->unmount_count, error);
	if (r == 0)
		r = put_targets(channel, change->refresh, change->refresh_count,
		                "a place to refresh", mount->refresh, &mount->refresh_count, error);
	return r ? r
	         : channel_put_text(channel, id_or_name, MESSAGE_NAME_MAX, "the name",
	                            &mount->sandbox, error);
}

static int libclient_mount_ask(struct yett_connection *connection, const char *id_or_name,
                               const struct change *change, struct yett_error *error)
{
	_cleanup_(shares_close) struct share_fds fds = {.workspace = connection->workspace};
	_cleanup_(sandbox_freep) struct yett_sandbox *asked = sandbox_new(CONNECTION_DONE);
	CONNECTION_LOCKED(connection);
	int r = asked ? libclient_mount_put(connection->channel, id_or_name ? id_or_name : "",
	                                    change, &fds, error)
	              : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                          "no memory for a request");

	if (r == 0)
		r = sandbox_request(connection, fds.fds, fds.count, asked, error);
	if (r == 0) {
		shares_keep(&fds, asked->request.info.id,
		            id_or_name && !sandbox_name_is_id(id_or_name) ? id_or_name : "");
		sandbox_forget(asked);
	} else if (error) {
		refusal_name_share(fds.targets, fds.fds, fds.count, error);
	}
	return r;
}

int yett_sandbox_mount(struct yett_connection *connection, const char *id_or_name,
                       const struct yett_share *shares, size_t count, struct yett_error *error)
{
	return libclient_mount_ask(connection, id_or_name,
	                           &(struct change){.shares = shares, .shares_count = count},
	                           error);
}

int yett_sandbox_unmount(struct yett_connection *connection, const char *id_or_name,
                         const char *const *targets, size_t count, struct yett_error *error)
{
	return libclient_mount_ask(connection, id_or_name,
	                           &(struct change){.unmount = targets, .unmount_count = count},
	                           error);
}

int yett_sandbox_refresh(struct yett_connection *connection, const char *id_or_name,
                         const char *const *targets, size_t count, struct yett_error *error)
{
	static const char *const all[] = {"/"};

	return libclient_mount_ask(
		connection, id_or_name,
		&(struct change){.refresh = count ? targets : all,
	                         .refresh_count = count ? count : ARRAY_SIZE(all)},
		error);
}
