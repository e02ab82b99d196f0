/* See sandbox.h, and "sandbox" in yett.h: what is asked about sandboxes that are there. */
#include "libclient/sandbox.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "protocol/codec.h"

#define LISTING_MAX (size_t)(64 * 1024 * 1024)

static const char *const states[] = {"creating", "starting", "running", "paused", "stopping", "stopped", "failed", "destroyed"};
static const char *const ends[] = {"alive",	"closed",    "init-died", "out-of-memory", "helper",
				   "destroyed", "wall-time", "cpu-time",  "idle"};

const char *yett_state_name(enum yett_state state)
{
	return (size_t)state < ARRAY_SIZE(states) ? states[state] : "unknown";
}

const char *yett_ended_name(enum yett_ended ended)
{
	return (size_t)ended < ARRAY_SIZE(ends) ? ends[ended] : "unknown";
}

/* Puts a manage together and has it answered, with the lock held. */
static int manage(struct yett_connection *connection, const struct message_manage *asked, const char *id_or_name,
		  struct yett_sandbox *sandbox, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	struct message_manage *body;
	int r;

	if (channel->failure.code) {
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	if (id_or_name && !sandbox_is_name(id_or_name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%.100s cannot be the id or name of a sandbox: yett ps lists both", id_or_name);
	body = &channel_prepare(channel, MESSAGE_MANAGE)->body.manage;
	*body = *asked;
	r = channel_put_text(channel, id_or_name, MESSAGE_NAME_MAX, "the name", &body->sandbox, error);
	return r ? r : sandbox_request(connection, NULL, 0, sandbox, error);
}

static int no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a request");
}

int manage_done(struct yett_connection *connection, enum manage_action action, const char *id_or_name, struct yett_error *error)
{
	const struct message_manage asked = {.action = action};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_DONE);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error) : no_memory(error);

	if (r != 0)
		return r;
	sandbox_forget(sandbox);
	/* Handles of the same sandbox learn of it too, and perhaps later. */
	for (struct yett_sandbox *s = connection->sandboxes; s; s = s->next)
		if ((action == MANAGE_PAUSE || action == MANAGE_RESUME) && strcmp(s->info.id, sandbox->request.info.id) == 0)
			s->request.sandbox_state = action == MANAGE_PAUSE ? YETT_STATE_PAUSED : YETT_STATE_RUNNING;
	return 0;
}

int manage_totals(struct yett_connection *connection, struct message_totals *ret_totals, struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_TOTALS};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_TOTALS);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, NULL, sandbox, error) : no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	*ret_totals = sandbox->request.totals;
	return 0;
}

int manage_stream(struct yett_connection *connection, const char *id_or_name, int *ret_fd, char ret_id[YETT_ID_SIZE],
		  struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_FOLLOW};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_STREAM);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error) : no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	if (!sandbox_is_channel(sandbox->request.fd))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's descriptor is no event stream");
	memcpy(ret_id, sandbox->request.info.id, YETT_ID_SIZE);
	*ret_fd = steal_fd(&sandbox->request.fd);
	return 0;
}

int yett_sandbox_pause(struct yett_connection *connection, const char *id_or_name, struct yett_error *error)
{
	return manage_done(connection, MANAGE_PAUSE, id_or_name, error);
}

int yett_sandbox_resume(struct yett_connection *connection, const char *id_or_name, struct yett_error *error)
{
	return manage_done(connection, MANAGE_RESUME, id_or_name, error);
}

int yett_sandbox_kill(struct yett_connection *connection, const char *id_or_name, struct yett_error *error)
{
	return manage_done(connection, MANAGE_KILL, id_or_name, error);
}

int yett_sandbox_end(struct yett_connection *connection, const char *id_or_name, struct yett_error *error)
{
	return manage_done(connection, MANAGE_DESTROY, id_or_name, error);
}

int yett_sandbox_attach(struct yett_connection *connection, const char *id_or_name, struct yett_sandbox **ret_sandbox,
			struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_ATTACH};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_SANDBOX);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name, sandbox, error) : no_memory(error);

	if (r)
		return r;
	sandbox->outlives = true;
	return sandbox_take(steal_ptr(&sandbox), ret_sandbox, error);
}

static void take_status(const struct message *message, void *ret_item)
{
	const struct message_sandbox *from = &message->body.sandbox;
	struct yett_sandbox_status *to = ret_item;

	memset(to, 0, sizeof *to);
	channel_copy_text(message, from->id, to->info.id, sizeof to->info.id);
	channel_copy_text(message, from->profile, to->info.profile, sizeof to->info.profile);
	channel_copy_text(message, from->label, to->info.label, sizeof to->info.label);
	channel_copy_text(message, from->name, to->name, sizeof to->name);
	channel_copy_text(message, from->principal, to->principal, sizeof to->principal);
	to->info.private_uid = from->private_uid;
	to->info.landlock_abi = from->landlock_abi;
	to->info.limits = (struct yett_limits){from->limits.memory_bytes, from->limits.cpu_millis, from->limits.pids,
					       from->limits.files};
	to->state = (enum yett_state)from->state;
	to->ended = from->state < SANDBOX_STOPPING ? YETT_ENDED_NOT : connection_ended_of(from->ended);
	to->uid = from->uid;
	to->life = (struct yett_life){.linger = from->life.linger,
				      .wall_ms = from->life.wall_ms,
				      .cpu_ms = from->life.cpu_ms,
				      .idle_ms = from->life.idle_ms,
				      .idle_action = (enum yett_idle_action)from->life.idle_action,
				      .cleanup_ms = from->life.cleanup_ms};
	to->linger_ms = from->linger_ms;
	to->created_ms = from->created_ms;
	to->started_ms = from->started_ms;
	to->ended_ms = from->ended_ms;
	to->attached = from->attached;
	for (uint32_t i = 0; i < from->labels_count; i++) {
		const char *label = message_text(message, from->labels[i]);

		if (label && *label == MESSAGE_ANNOTATION)
			(void)snprintf(to->annotations[to->annotations_count++], sizeof to->annotations[0], "%s", label + 1);
		else
			channel_copy_text(message, from->labels[i], to->labels[to->labels_count++], sizeof to->labels[0]);
	}
}

/* The items of a listing, which is as hostile as a packet: each must be what the protocol says, and nothing be left over. */
static int read_listing(const char *bytes, size_t length, const struct manage_items *items, void **ret_list, size_t *ret_count,
			struct yett_error *error)
{
	_cleanup_free_ char *list = NULL;
	_cleanup_free_ struct message *message = malloc(sizeof *message);
	size_t count = 0, room = 0;
	uint32_t size;

	for (size_t at = 0; message && at < length; at += size) {
		if (length - at < sizeof size)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_TRUNCATED, "the helper's list ends too early");
		memcpy(&size, bytes + at, sizeof size);
		size = le32toh(size);
		at += sizeof size;
		if (size > MESSAGE_PACKET_MAX || size > length - at)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_TRUNCATED, "the helper's list ends too early");
		if (count == room) {
			char *grown = reallocarray(list, room = room ? room * 2 : 16, items->size);

			if (!grown)
				return no_memory(error);
			list = grown;
		}
		if (message_decode(items->kind, (const uint8_t *)bytes + at, size, message, error) != 0)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's list holds what was not asked for");
		items->take(message, list + items->size * count++);
	}
	if (!message)
		return no_memory(error);
	*ret_list = steal_ptr(&list);
	*ret_count = count;
	return 0;
}

int manage_listing(struct yett_connection *connection, const struct message_manage *asked, const char *id_or_name,
		   const struct manage_items *items, void **ret_list, size_t *ret_count, struct yett_error *error)
{
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_LISTING);
	_cleanup_free_ char *bytes = NULL;
	_cleanup_free_ void *list = NULL;
	CONNECTION_LOCKED(connection);
	size_t length, count = 0;
	int r = sandbox ? manage(connection, asked, id_or_name, sandbox, error) : no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	r = sealed_read(sandbox->request.fd, LISTING_MAX, &bytes, &length, "list", error);
	if (r == 0)
		r = read_listing(bytes, length, items, &list, &count, error);
	if (r == 0 && id_or_name && count != 1)
		r = error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's list has %zu sandboxes where one was asked", count);
	if (r)
		return r;
	*ret_list = steal_ptr(&list);
	*ret_count = count;
	return 0;
}

static const struct manage_items statuses = {MESSAGE_SANDBOX, sizeof(struct yett_sandbox_status), take_status};

int yett_sandboxes_list(struct yett_connection *connection, bool all, struct yett_sandbox_status **ret_list, size_t *ret_count,
			struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_LIST, .all = all};
	void *list;
	int r = manage_listing(connection, &asked, NULL, &statuses, &list, ret_count, error);

	if (r == 0)
		*ret_list = list;
	return r;
}

int yett_sandbox_inspect(struct yett_connection *connection, const char *id_or_name, struct yett_sandbox_status *ret_status,
			 struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_INSPECT};
	_cleanup_free_ void *list = NULL;
	size_t count;
	int r = manage_listing(connection, &asked, id_or_name ? id_or_name : "", &statuses, &list, &count, error);

	if (r == 0)
		memcpy(ret_status, list, sizeof *ret_status);
	return r;
}

static int inspect_plan(struct yett_connection *connection, const char *id_or_name, bool as_json, char **ret_text, struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_PLAN};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_PLAN);
	CONNECTION_LOCKED(connection);
	int r = sandbox ? manage(connection, &asked, id_or_name ? id_or_name : "", sandbox, error) : no_memory(error);

	if (r)
		return r;
	sandbox_forget(sandbox);
	return sandbox_read_plan(sandbox->request.fd, as_json, ret_text, error);
}

int yett_sandbox_inspect_plan(struct yett_connection *connection, const char *id_or_name, char **ret_text, struct yett_error *error)
{
	return inspect_plan(connection, id_or_name, false, ret_text, error);
}

int yett_sandbox_inspect_plan_json(struct yett_connection *connection, const char *id_or_name, char **ret_json, struct yett_error *error)
{
	return inspect_plan(connection, id_or_name, true, ret_json, error);
}
