/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox.h, and "sandbox" in yett.h: requests about existing sandboxes. */
#include "libclient/sandbox.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/sandbox_name.h"
#include "protocol/codec.h"

#define LISTING_MAX (size_t)(64 * 1024 * 1024)

static const char *const states[] = {"creating", "starting", "running", "paused",
                                     "stopping", "stopped",  "failed",  "destroyed"};
static const char *const ends[] = {"alive",     "closed",    "init-died", "out-of-memory", "helper",
                                   "destroyed", "wall-time", "cpu-time",  "idle"};

const char *yett_state_name(enum yett_state state)
{
	return (size_t)state < ARRAY_SIZE(states) ? states[state] : "unknown";
}

const char *yett_ended_name(enum yett_ended ended)
{
	return (size_t)ended < ARRAY_SIZE(ends) ? ends[ended] : "unknown";
}

int manage_put(struct yett_connection *connection, const struct message_manage *asked,
               const char *id_or_name, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	struct message_manage *body;

	if (channel->failure.code) {
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	if (id_or_name && !sandbox_name_is_valid(id_or_name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%.100s cannot be the id or name of a sandbox: yett ps lists both",
		                 id_or_name);
	body = &channel_prepare(channel, MESSAGE_MANAGE)->body.manage;
	*body = *asked;
	return channel_put_text(channel, id_or_name, MESSAGE_NAME_MAX, "the name", &body->sandbox,
	                        error);
}

/* Composes a request with manage_put(), sends it and waits for the answer. Needs the lock. */
static int manage(struct yett_connection *connection, const struct message_manage *asked,
                  const char *id_or_name, struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = manage_put(connection, asked, id_or_name, error);

	return r ? r : sandbox_request(connection, NULL, 0, sandbox, error);
}

static int libclient_manage_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a request");
}

int manage_done(struct yett_connection *connection, enum manage_action action,
                const char *id_or_name, struct yett_error *error)
{
	const struct message_manage asked = {.action = action};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_DONE);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r != 0)
		return r;
	sandbox_forget(sandbox);
	/*
	 * The helper also reports the new state, but the report may arrive later. Update the
	 * handles of this sandbox now.
	 */
	for (struct connection_request *at = connection->requests; at; at = at->next)
		if ((action == MANAGE_PAUSE || action == MANAGE_RESUME) &&
		    strcmp(at->info.id, sandbox->request.info.id) == 0)
			at->sandbox_state =
				action == MANAGE_PAUSE ? YETT_STATE_PAUSED : YETT_STATE_RUNNING;
	return 0;
}

void manage_let_go(struct yett_connection *connection, const char *id)
{
	const struct message_manage asked = {.action = MANAGE_DETACH};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_DONE);
	CONNECTION_LOCKED(connection);

	/*
	 * If the request cannot be sent, the connection is over, and its attachments have ended
	 * with it.
	 */
	if (sandbox && manage_put(connection, &asked, id, NULL) == 0 &&
	    sandbox_send(connection, NULL, 0, sandbox, NULL) == 0)
		sandbox_forget(sandbox); /* nobody waits: connection_step() drops the answer */
}

int manage_totals(struct yett_connection *connection, struct message_totals *ret_totals,
                  struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_TOTALS};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_TOTALS);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, NULL, sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	*ret_totals = sandbox->request.totals;
	return 0;
}

int manage_stream(struct yett_connection *connection, const char *id_or_name, int *ret_fd,
                  char ret_id[YETT_ID_SIZE], struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_FOLLOW};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_STREAM);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	if (!sandbox_is_channel(sandbox->request.fd))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's descriptor is no event stream");
	memcpy(ret_id, sandbox->request.info.id, YETT_ID_SIZE);
	*ret_fd = steal_fd(&sandbox->request.fd);
	return 0;
}

int yett_sandbox_pause(struct yett_connection *connection, const char *id_or_name,
                       struct yett_error *error)
{
	return manage_done(connection, MANAGE_PAUSE, id_or_name, error);
}

int yett_sandbox_resume(struct yett_connection *connection, const char *id_or_name,
                        struct yett_error *error)
{
	return manage_done(connection, MANAGE_RESUME, id_or_name, error);
}

int yett_sandbox_kill(struct yett_connection *connection, const char *id_or_name,
                      struct yett_error *error)
{
	return manage_done(connection, MANAGE_KILL, id_or_name, error);
}

int yett_sandbox_end_by_id(struct yett_connection *connection, const char *id_or_name,
                           struct yett_error *error)
{
	return manage_done(connection, MANAGE_DESTROY, id_or_name, error);
}

int yett_sandbox_attach(struct yett_connection *connection, const char *id_or_name,
                        struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_ATTACH};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_SANDBOX);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r)
		return r;
	sandbox->outlives = true;
	return sandbox_take(steal_ptr(&sandbox), ret_sandbox, error);
}

static struct yett_sandbox_info *take_info(const struct yett_connection *connection,
                                           const struct message *message, void *owner)
{
	const struct message_sandbox *from = &message->body.sandbox;
	struct yett_sandbox_info *to = memory_add(owner, sizeof *to);

	if (!to)
		return NULL;
	to->size = sizeof *to;
	channel_copy_text(message, from->id, to->id, sizeof to->id);
	channel_copy_text(message, from->profile, to->profile, sizeof to->profile);
	channel_copy_text(message, from->label, to->label, sizeof to->label);
	to->private_uid = from->private_uid;
	to->landlock_abi = from->landlock_abi;
	channel_copy_text(message, from->hostname, to->hostname, sizeof to->hostname);
	connection_fill_network(to, from->network);
	connection_fill_kind(connection, to);
	to->memory_bytes = from->limits.memory_bytes;
	to->cpu_millis = from->limits.cpu_millis;
	to->pids = from->limits.pids;
	to->open_files = from->limits.files;
	to->file_bytes = from->limits.file_bytes;
	to->core_bytes = from->limits.core_bytes;
	to->command_timeout_ms = from->command_ms;
	to->max_command_timeout_ms = from->command_max_ms;
	return to;
}

/*
 * Returns the labels or the annotations, which arrive in one list. An annotation begins with
 * MESSAGE_ANNOTATION, which is not part of the text. NULL: no memory.
 */
static const char *const *take_labels(const struct message *message, bool are_annotations,
                                      void *owner)
{
	const struct message_sandbox *from = &message->body.sandbox;
	const char *texts[MESSAGE_LABELS_MAX];
	size_t count = 0;

	for (uint32_t i = 0; i < from->labels_count; i++) {
		const char *text = message_text(message, from->labels[i]);

		if (text && (*text == MESSAGE_ANNOTATION) == are_annotations)
			texts[count++] = text + are_annotations;
	}
	return (const char *const *)memory_add_list(owner, texts, count);
}

static void *take_status(const struct yett_connection *connection, const struct message *message)
{
	const struct message_sandbox *from = &message->body.sandbox;
	_cleanup_(memory_freep) struct yett_sandbox_status *to = memory_new(sizeof *to);

	if (!to || !(to->info = take_info(connection, message, to)) ||
	    !(to->labels = take_labels(message, false, to)) ||
	    !(to->annotations = take_labels(message, true, to)))
		return NULL;
	to->size = sizeof *to;
	channel_copy_text(message, from->name, to->name, sizeof to->name);
	channel_copy_text(message, from->principal, to->principal, sizeof to->principal);
	to->state = (enum yett_state)from->state;
	to->ended =
		from->state < SANDBOX_STOPPING ? YETT_ENDED_NOT : connection_ended_of(from->ended);
	to->uid = from->uid;
	to->flags = from->life.linger ? YETT_SANDBOX_LINGER : 0;
	to->wall_time_ms = from->life.wall_ms;
	to->cpu_time_ms = from->life.cpu_ms;
	to->idle_time_ms = from->life.idle_ms;
	to->idle_action = (enum yett_idle_action)from->life.idle_action;
	to->cleanup_ms = from->life.cleanup_ms;
	to->linger_ms = from->linger_ms;
	to->created_ms = from->created_ms;
	to->started_ms = from->started_ms;
	to->ended_ms = from->ended_ms;
	to->attached = from->attached;
	to->recorded = from->recorded;
	return steal_ptr(&to);
}

/*
 * Decodes the items of a listing. A listing is as untrusted as a packet: each item must decode as
 * the expected kind, and no bytes may be left over.
 */
static int read_listing(const struct yett_connection *connection, const char *bytes, size_t length,
                        const struct manage_items *items, struct list **ret_list,
                        struct yett_error *error)
{
	_cleanup_(memory_freep) struct list *list = memory_new(sizeof *list);
	_cleanup_free_ struct message *message = malloc(sizeof *message);
	uint32_t size;

	for (size_t at = 0; list && message && at < length; at += size) {
		void *item;

		if (length - at < sizeof size)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_TRUNCATED,
			                 "the helper's list ends too early");
		memcpy(&size, bytes + at, sizeof size);
		size = le32toh(size);
		at += sizeof size;
		if (size > MESSAGE_PACKET_MAX || size > length - at)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_TRUNCATED,
			                 "the helper's list ends too early");
		if (message_decode(items->kind, (const uint8_t *)bytes + at, size, message,
		                   error) != 0)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
			                 "the helper's list holds what was not asked for");
		item = items->take(connection, message);
		if (!item || !list_add(list, item))
			return libclient_manage_no_memory(error);
	}
	if (!list || !message)
		return libclient_manage_no_memory(error);
	*ret_list = steal_ptr(&list);
	return 0;
}

int manage_listing_of(struct yett_connection *connection, const struct message_manage *asked,
                      const char *id_or_name, const struct manage_items *items,
                      struct list **ret_list, struct message_listing *ret_listing,
                      struct yett_error *error)
{
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_LISTING);
	_cleanup_(memory_freep) char *bytes = NULL;
	_cleanup_(memory_freep) struct list *list = NULL;
	CONNECTION_LOCKED(connection);
	size_t length;
	int r = sandbox ? manage(connection, asked, id_or_name, sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	r = sealed_read(sandbox->request.fd, LISTING_MAX, &bytes, &length, "list", error);
	if (r == 0)
		r = read_listing(connection, bytes, length, items, &list, error);
	if (r)
		return r;
	*ret_list = steal_ptr(&list);
	*ret_listing = sandbox->request.listing;
	return 0;
}

int manage_listing(struct yett_connection *connection, const struct message_manage *asked,
                   const char *id_or_name, const struct manage_items *items, struct list **ret_list,
                   struct yett_error *error)
{
	_cleanup_(memory_freep) struct list *list = NULL;
	struct message_listing unused;
	int r = manage_listing_of(connection, asked, id_or_name, items, &list, &unused, error);

	if (r == 0 && id_or_name && list->count != 1)
		r = error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		              "the helper's list has %zu sandboxes where one was asked",
		              list->count);
	if (r == 0)
		*ret_list = steal_ptr(&list);
	return r;
}

int manage_list_all(struct yett_connection *connection, enum manage_action action, unsigned flags,
                    const struct manage_items *items, struct list **ret_list,
                    struct yett_error *error)
{
	const struct message_manage asked = {.action = action, .all = flags & YETT_LIST_ALL};

	if (flags & ~(unsigned)YETT_LIST_ALL)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the flags of the list are not all known: %#x", flags);
	return manage_listing(connection, &asked, NULL, items, ret_list, error);
}

int manage_item(struct yett_connection *connection, enum manage_action action,
                const char *id_or_name, const struct manage_items *items, void **ret_item,
                struct yett_error *error)
{
	const struct message_manage asked = {.action = action};
	struct list *list;
	int r = manage_listing(connection, &asked, id_or_name ? id_or_name : "", items, &list,
	                       error);

	if (r == 0)
		*ret_item = memory_keep(list, list->items[0]);
	return r;
}

/* Opaque in yett.h. */
struct yett_sandbox_list {
	struct list list;
};

static const struct manage_items statuses = {MESSAGE_SANDBOX, take_status};

int yett_sandboxes_list(struct yett_connection *connection, unsigned flags,
                        struct yett_sandbox_list **ret_list, struct yett_error *error)
{
	return manage_list_all(connection, MANAGE_LIST, flags, &statuses, (struct list **)ret_list,
	                       error);
}

size_t yett_sandbox_list_count(const struct yett_sandbox_list *list)
{
	return list->list.count;
}

const struct yett_sandbox_status *yett_sandbox_list_get(const struct yett_sandbox_list *list,
                                                        size_t i)
{
	return i < list->list.count ? list->list.items[i] : NULL;
}

int yett_sandbox_inspect(struct yett_connection *connection, const char *id_or_name,
                         struct yett_sandbox_status **ret_status, struct yett_error *error)
{
	void *status;
	int r = manage_item(connection, MANAGE_INSPECT, id_or_name, &statuses, &status, error);

	if (r == 0)
		*ret_status = status;
	return r;
}

static int inspect_plan(struct yett_connection *connection, const char *id_or_name, bool as_json,
                        char **ret_text, struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_PLAN};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_PLAN);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name ? id_or_name : "", sandbox, error)
	                : libclient_manage_no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	return sandbox_read_plan(sandbox->request.fd, as_json, ret_text, error);
}

int yett_sandbox_inspect_plan(struct yett_connection *connection, const char *id_or_name,
                              char **ret_text, struct yett_error *error)
{
	return inspect_plan(connection, id_or_name, false, ret_text, error);
}

int yett_sandbox_inspect_plan_json(struct yett_connection *connection, const char *id_or_name,
                                   char **ret_json, struct yett_error *error)
{
	return inspect_plan(connection, id_or_name, true, ret_json, error);
}
