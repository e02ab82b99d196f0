/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox.h, and "sandbox" in yett.h. Requests a sandbox, or the plan of one. */
#include "libclient/container.h"
#include "libclient/sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/home.h"
#include "base/sandbox_name.h"
#include "libclient/guard.h"
#include "libclient/operation.h"
#include "libclient/options.h"
#include "libclient/refusal.h"
#include "libclient/shares.h"
#include "protocol/codec.h"

#define PLAN_MAX      (size_t)(1024 * 1024)
#define MEMORY_TARGET "/mnt/memory"

#define NAME_RULE "a-z, 0-9, '.', '_' and '-' only, and a letter or digit first"

/*
 * Checks names by the rules of the protocol. The check of the whole message would refuse a bad name
 * too, but would not say which one it is.
 */
static int create_check_names(const struct yett_sandbox_options *options, struct yett_error *error)
{
	static const char host[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	const char *profile = options->profile, *hostname = options->hostname,
		   *name = options->name;

	if (profile && !sandbox_name_is_valid(profile))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%.100s cannot be the name of a profile: " NAME_RULE, profile);
	if (hostname &&
	    (hostname[strspn(hostname, host)] || (*hostname && strchr(".-", *hostname))))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"%.100s cannot be a host name: letters, digits, '.' and '-' only, and a letter or digit first",
			hostname);
	if (name && !sandbox_name_is_valid(name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%.100s cannot be the name of a sandbox: " NAME_RULE, name);
	if (options->flags &
	    ~(uint32_t)(YETT_SANDBOX_LINGER | YETT_SANDBOX_ASK | YETT_SANDBOX_PRIVATE))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the flags of the sandbox are not all known: %#x", options->flags);
	if (options->directory && options->directory[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the directory of a sandbox is an absolute path: %.100s",
		                 options->directory);
	return 0;
}

/*
 * Puts labels or annotations into the message. An annotation is sent as a label whose key begins
 * with '#' (MESSAGE_ANNOTATION); sandboxes cannot be looked up by annotations.
 */
static int create_put_labels(struct channel *channel, const char *const *labels,
                             bool are_annotations, struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	const char *what = are_annotations ? "an annotation" : "a label";
	int r = 0;

	for (; r == 0 && labels && *labels; labels++) {
		char text[MESSAGE_KEY_VALUE_MAX + 1];

		if (create->labels_count == MESSAGE_LABELS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "more than %d labels and annotations", MESSAGE_LABELS_MAX);
		if (!strchr(*labels, '=') || **labels == '=' || **labels == MESSAGE_ANNOTATION)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "%s is not KEY=VALUE: %s", what, *labels);
		if (snprintf(text, sizeof text, "%s%s",
		             are_annotations ? (char[]){MESSAGE_ANNOTATION, '\0'} : "",
		             *labels) >= (int)sizeof text)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "%s is longer than %d bytes", what,
			                 MESSAGE_KEY_VALUE_MAX - are_annotations);
		r = channel_put_text(channel, text, MESSAGE_KEY_VALUE_MAX, what,
		                     &create->labels[create->labels_count++], error);
	}
	return r;
}

/* Puts the name, the labels, the annotations and the limits of lifetime into the message. */
static int put_identity(struct channel *channel, const struct yett_sandbox_options *options,
                        struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	int r = channel_put_text(channel, options->name, MESSAGE_NAME_MAX, "the name",
	                         &create->name, error);

	if (r == 0)
		r = create_put_labels(channel, options->labels, false, error);
	if (r == 0)
		r = create_put_labels(channel, options->annotations, true, error);
	create->life = (struct message_life){.linger = options->flags & YETT_SANDBOX_LINGER,
	                                     .wall_ms = options->wall_time_ms,
	                                     .cpu_ms = options->cpu_time_ms,
	                                     .idle_ms = options->idle_time_ms,
	                                     .idle_action = (uint32_t)options->idle_action,
	                                     .cleanup_ms = options->cleanup_ms};
	return r;
}

static int fill_create(struct channel *channel, const struct yett_sandbox_options *options,
                       struct share_fds *fds, struct yett_error *error)
{
	struct message_create *create = &channel_prepare(channel, MESSAGE_CREATE)->body.create;
	const char *first_directory;
	int r;

	if (options->shares_count + (options->memory_dir != NULL) > MESSAGE_SHARES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "%zu shares are more than the %d allowed",
		                 options->shares_count + (options->memory_dir != NULL),
		                 MESSAGE_SHARES_MAX);
	if (options->tmpfs_count > MESSAGE_TMPFS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "%zu tmpfs are more than the %d allowed", options->tmpfs_count,
		                 MESSAGE_TMPFS_MAX);
	r = create_check_names(options, error);
	if (r)
		return r;
	r = put_identity(channel, options, error);
	if (r == 0)
		r = reach_put(channel, options, error);
	if (r)
		return r;
	r = channel_put_text(channel, options->profile ? options->profile : "default",
	                     MESSAGE_NAME_MAX, "the name of the profile", &create->profile, error);
	if (r == 0)
		r = channel_put_text(channel, options->hostname, MESSAGE_HOSTNAME_MAX,
		                     "the host name", &create->hostname, error);
	for (size_t i = 0; r == 0 && i < options->shares_count; i++) {
		struct yett_share share;

		r = sized_take_element(&options_share, options->shares, i, &share, error);
		if (r == 0)
			r = shares_add(channel, &share, fds, error);
	}
	first_directory = fds->first_directory;
	if (r == 0 && options->memory_dir)
		r = shares_add(channel,
		               &(struct yett_share){.size = sizeof(struct yett_share),
		                                    .path = options->memory_dir,
		                                    .flags = YETT_SHARE_WRITABLE,
		                                    .target = MEMORY_TARGET},
		               fds, error);
	fds->has_memory = options->memory_dir != NULL;
	/* Commands start in the first directory shared, but never by default in memory_dir. */
	fds->first_directory = first_directory;
	for (size_t i = 0; r == 0 && i < options->tmpfs_count; i++) {
		struct yett_tmpfs tmpfs;

		r = sized_take_element(&options_tmpfs, options->tmpfs, i, &tmpfs, error);
		if (r)
			break;
		if (create->tmpfs_count == MESSAGE_TMPFS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "more than %d tmpfs and memory of shares",
			                 MESSAGE_TMPFS_MAX);
		create->tmpfs[create->tmpfs_count].size_bytes = tmpfs.size_bytes;
		r = channel_put_text(channel, tmpfs.target, MESSAGE_PATH_MAX,
		                     "the target of a tmpfs",
		                     &create->tmpfs[create->tmpfs_count++].target, error);
	}
	if (r == 0)
		r = guard_put(channel, fds, error);
	create->limits = (struct message_limits){
		.memory_bytes = options->memory_bytes,
		.cpu_millis = options->cpu_millis,
		.pids = options->pids,
		.files = options->open_files,
		.file_bytes = options->file_bytes,
		.core_bytes = options->core_bytes,
	};
	return r;
}

/* Sets the directory in which commands start. NULL means "/", which is init's default. */
static int choose_directory(struct yett_sandbox *sandbox, const char *directory,
                            struct yett_error *error)
{
	if (!directory || strcmp(directory, "/") == 0)
		return 0;
	sandbox->directory = strdup(directory);
	return sandbox->directory ? 0
	                          : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                                      "no memory for a sandbox");
}

/*
 * Builds the CREATE message, for a sandbox or for its plan as sandbox->request.wanted says. The
 * caller holds the lock of the connection.
 */
static int create_put_create(struct yett_connection *connection,
                             const struct yett_sandbox_options *options, struct share_fds *fds,
                             struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r;

	if (connection->channel->failure.code) {
		if (error)
			*error = connection->channel->failure;
		return (int)connection->channel->failure.code;
	}
	fds->workspace = connection->workspace;
	r = fill_create(connection->channel, options, fds, error);
	if (r == 0)
		r = choose_directory(sandbox,
		                     options->directory ? options->directory : fds->first_directory,
		                     error);
	if (r)
		return r;
	connection->channel->message.body.create.plan_only =
		sandbox->request.wanted == CONNECTION_PLAN;
	sandbox->outlives = options->flags & YETT_SANDBOX_LINGER;
	(void)snprintf(fds->name, sizeof fds->name, "%s", options->name ? options->name : "");
	return 0;
}

/*
 * Adds to a refusal what only the client knows: which directory of the host was refused, and
 * whether a container is the reason why a helper without root failed. Returns the code.
 */
static int create_explain(const struct yett_connection *connection, const struct share_fds *fds,
                          int r, struct yett_error *error)
{
	if (r && error)
		refusal_name_share(fds->targets, fds->fds, fds->count, error);
	return connection->start == YETT_START_PERSONAL && geteuid() != 0
	               ? container_explain(r, error)
	               : r;
}

static int create_ask(struct yett_connection *connection,
                      const struct yett_sandbox_options *options, struct yett_sandbox *sandbox,
                      struct yett_error *error)
{
	_cleanup_(shares_close) struct share_fds fds = {.count = 0};
	int r = create_put_create(connection, options, &fds, sandbox, error);

	if (r == 0)
		r = sandbox_send(connection, fds.fds, fds.count, sandbox, error);
	if (r == 0)
		r = sandbox_finish(sandbox, channel_deadline(connection->timeout_ms), error);
	if (r == 0 && sandbox->request.wanted == CONNECTION_SANDBOX)
		shares_keep(&fds, sandbox->request.info.id, fds.name);
	return create_explain(connection, &fds, r, error);
}

/*
 * Makes ~/.local/state/yett/memory and its parents, for the user alone, where they do not exist.
 * The user's sandboxes keep there what later sandboxes shall find.
 */
static int create_make_memory(char path[HOME_PATH_SIZE], struct yett_error *error)
{
	static const char *const parts[] = {"/.local", "/state", "/yett", "/memory"};
	size_t used;
	int r = home_find(path, HOME_PATH_SIZE - 64, error);

	if (r)
		return r;
	used = strlen(path);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		used += (size_t)snprintf(path + used, HOME_PATH_SIZE - used, "%s", parts[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
			                   "cannot make the directory %s: %m", path);
	}
	return 0;
}

/*
 * Requests a sandbox or a plan. If the profile requires a directory at /mnt/memory, requests it
 * again with one.
 */
static int create_ask_for(struct yett_connection *connection,
                          const struct yett_sandbox_options *options, enum connection_wanted wanted,
                          struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	struct yett_sandbox_options with;
	struct yett_error why = {0};
	char memory[HOME_PATH_SIZE];
	int r = sized_take(&options_sandbox, options, &with, error);

	if (r)
		return r;
	for (;;) {
		_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(wanted);

		r = sandbox ? create_ask(connection, &with, sandbox, &why)
		            : error_set(&why, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                        "no memory for a sandbox");
		if (r == 0) {
			*ret_sandbox = steal_ptr(&sandbox);
			return 0;
		}
		if (why.reason != YETT_R_WANTED_MOUNT || with.memory_dir)
			break;
		r = create_make_memory(memory, &why);
		if (r)
			break;
		with.memory_dir = memory;
	}
	if (error)
		*error = why;
	return r;
}

int yett_sandbox_create(struct yett_connection *connection,
                        const struct yett_sandbox_options *options,
                        struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	CONNECTION_LOCKED(connection);
	struct yett_sandbox *sandbox;
	int r = create_ask_for(connection, options, CONNECTION_SANDBOX, &sandbox, error);

	return r ? r : sandbox_take(sandbox, ret_sandbox, error);
}

/* The operation of yett_sandbox_create_begin(). */
struct creation {
	struct yett_operation base; /* must be the first member */
	struct yett_sandbox *asked; /* owned */
	struct share_fds fds;
	uint8_t *body; /* the encoded request, for ask_again() and explain_kept(); owned */
	size_t body_length;
};

static int create_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a sandbox");
}

/*
 * Keeps the request after yett_sandbox_create_begin() has returned. The caller's descriptors are
 * only borrowed until then, so they are duplicated.
 */
static int keep_request(struct creation *creation, const struct message *message,
                        struct yett_error *error)
{
	creation->body = malloc(MESSAGE_PACKET_MAX);
	if (!creation->body ||
	    message_encode(message, creation->body, MESSAGE_PACKET_MAX, &creation->body_length) < 0)
		return create_no_memory(error);
	for (size_t i = 0; i < creation->fds.count; i++) {
		int fd = creation->fds.opened[i] ? creation->fds.fds[i]
		                                 : fcntl(creation->fds.fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0)
			return shares_cannot("a descriptor", error);
		creation->fds.fds[i] = fd;
		creation->fds.opened[i] = true;
	}
	return 0;
}

/* Explains a refusal by the request that was kept: the caller's strings may be gone by now. */
static int explain_kept(struct creation *creation, int r, struct yett_error *error)
{
	_cleanup_free_ struct message *message = malloc(sizeof *message);
	struct yett_connection *connection = creation->asked->request.connection;

	if (!message || message_decode(MESSAGE_CREATE, creation->body, creation->body_length,
	                               message, NULL) != 0)
		return r;
	for (size_t i = 0; i < creation->fds.count; i++)
		creation->fds.targets[i] =
			i < message->body.create.shares_count
				? message_text(message, message->body.create.shares[i].target)
				: MEMORY_TARGET; /* added by ask_again() */
	r = create_explain(connection, &creation->fds, r, error);
	for (size_t i = 0; i < creation->fds.count; i++)
		creation->fds.targets[i] = NULL;
	return r;
}

/* Requests the sandbox again, with the directory at /mnt/memory that the profile requires. */
static int ask_again(struct creation *creation, struct yett_error *error)
{
	struct yett_connection *connection = creation->asked->request.connection;
	struct yett_sandbox *again = sandbox_new(CONNECTION_SANDBOX);
	char memory[HOME_PATH_SIZE];
	int r = create_make_memory(memory, error);

	if (!again)
		return create_no_memory(error);
	again->directory = steal_ptr(&creation->asked->directory);
	again->outlives = creation->asked->outlives;
	sandbox_free(creation->asked);
	creation->asked = again;
	creation->asked->request.connection = connection;
	if (r == 0 && message_decode(MESSAGE_CREATE, creation->body, creation->body_length,
	                             &connection->channel->message, NULL) != 0)
		r = create_no_memory(error);
	if (r == 0)
		r = shares_add(connection->channel,
		               &(struct yett_share){.path = memory,
		                                    .flags = YETT_SHARE_WRITABLE,
		                                    .target = MEMORY_TARGET},
		               &creation->fds, error);
	creation->fds.has_memory = true;
	return r ? r
	         : sandbox_send(connection, creation->fds.fds, creation->fds.count, creation->asked,
	                        error);
}

static int step_creation(struct yett_operation *base, struct yett_error *error)
{
	struct creation *creation = (struct creation *)base;
	struct yett_connection *connection = creation->asked->request.connection;
	int r;

	if (!connection)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "the connection was closed before the sandbox was there");
	CONNECTION_LOCKED(connection);
	(void)!connection_look(connection, NULL);
	if (creation->asked->request.state == CONNECTION_ASKED &&
	    channel_time_left(base->deadline) != 0)
		return -EAGAIN;
	r = sandbox_finish(creation->asked, channel_deadline(0), error);
	if (r == 0) {
		shares_keep(&creation->fds, creation->asked->request.info.id, creation->fds.name);
		return sandbox_take(steal_ptr(&creation->asked), &base->made, error);
	}
	r = explain_kept(creation, r, error);
	if (error->reason != YETT_R_WANTED_MOUNT || creation->fds.has_memory)
		return r;
	r = ask_again(creation, error);
	base->deadline = channel_deadline(connection->timeout_ms);
	return r ? r : -EAGAIN;
}

static void wait_for_creation(struct yett_operation *base, deadline_ms deadline)
{
	struct yett_connection *connection = ((struct creation *)base)->asked->request.connection;

	if (connection) {
		CONNECTION_LOCKED(connection);
		(void)!connection_step(connection, deadline, NULL);
	}
}

static void end_creation(struct yett_operation *base)
{
	struct creation *creation = (struct creation *)base;

	if (creation->asked && creation->asked->request.connection) {
		CONNECTION_LOCKED(creation->asked->request.connection);
		sandbox_forget(creation->asked);
	}
	sandbox_freep(&creation->asked);
	creation->asked = NULL;
	shares_close(&creation->fds);
	free(creation->body);
	creation->body = NULL;
}

static const struct operation_kind creation_kind = {step_creation, wait_for_creation, end_creation};

int yett_sandbox_create_begin(struct yett_connection *connection,
                              const struct yett_sandbox_options *options,
                              struct yett_operation **ret_operation, struct yett_error *error)
{
	struct creation *creation = operation_new(&creation_kind, sizeof *creation);
	_cleanup_(operation_freep) struct yett_operation *base = (struct yett_operation *)creation;
	struct yett_sandbox_options known;
	int r = sized_take(&options_sandbox, options, &known, error);

	if (r)
		return r;
	if (!creation || !(creation->asked = sandbox_new(CONNECTION_SANDBOX)))
		return create_no_memory(error);
	{
		CONNECTION_LOCKED(connection);
		r = create_put_create(connection, &known, &creation->fds, creation->asked, error);
		if (r == 0)
			r = keep_request(creation, &connection->channel->message, error);
		if (r == 0)
			r = sandbox_send(connection, creation->fds.fds, creation->fds.count,
			                 creation->asked, error);
	}
	if (r)
		return r;
	base->deadline = channel_deadline(connection->timeout_ms);
	*ret_operation = steal_ptr(&base);
	return 0;
}

/* memfd_create(2), fcntl(2) F_GET_SEALS */
int sealed_read(int fd, size_t max, char **ret_bytes, size_t *ret_length, const char *what,
                struct yett_error *error)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	_cleanup_(memory_freep) char *bytes = NULL;
	size_t size, used = 0;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & needed) != needed || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > max)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's %s is no sealed memory of at most %zu MiB", what,
		                 max >> 20);
	size = (size_t)st.st_size;
	bytes = memory_new(size + 1);
	while (bytes && used < size) {
		ssize_t n = pread(fd, bytes + used, size - used, (off_t)used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (!bytes || used < size)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's %s cannot be read", what);
	bytes[size] = '\0';
	*ret_bytes = steal_ptr(&bytes);
	*ret_length = size;
	return 0;
}

int sandbox_read_plan(int fd, bool as_json, char **ret_text, struct yett_error *error)
{
	_cleanup_(memory_freep) char *text = NULL;
	char *split;
	size_t length;
	int r = sealed_read(fd, PLAN_MAX, &text, &length, "plan", error);

	if (r)
		return r;
	split = memchr(text, '\0', length);
	if (!split || split + 1 == text + length ||
	    memchr(split + 1, '\0', length - (size_t)(split + 1 - text)))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
		                 "the helper's plan is not text and JSON");
	if (as_json)
		memmove(text, split + 1, strlen(split + 1) + 1);
	*ret_text = steal_ptr(&text);
	return 0;
}

static int create_plan(struct yett_connection *connection,
                       const struct yett_sandbox_options *options, bool as_json, char **ret_text,
                       struct yett_error *error)
{
	CONNECTION_LOCKED(connection);
	_cleanup_(sandbox_freep) struct yett_sandbox *asked = NULL;
	int r = create_ask_for(connection, options, CONNECTION_PLAN, &asked, error);

	if (r)
		return r;
	sandbox_forget(asked);
	return sandbox_read_plan(asked->request.fd, as_json, ret_text, error);
}

int yett_sandbox_plan(struct yett_connection *connection,
                      const struct yett_sandbox_options *options, char **ret_text,
                      struct yett_error *error)
{
	return create_plan(connection, options, false, ret_text, error);
}

int yett_sandbox_plan_json(struct yett_connection *connection,
                           const struct yett_sandbox_options *options, char **ret_json,
                           struct yett_error *error)
{
	return create_plan(connection, options, true, ret_json, error);
}
