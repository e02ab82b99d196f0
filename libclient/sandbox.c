/* See sandbox.h, and "sandbox" in yett.h: asking for one, and ending it. */
#include "libclient/discard.h"
#include "libclient/sandbox.h"
#include "libclient/container.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "libclient/keyfile.h"
#include "libclient/memory.h"
#include "libclient/options.h"
#include "libclient/refusal.h"
#include "libclient/signer.h"
#include "protocol/codec.h"

#define PLAN_MAX	     (size_t)(1024 * 1024)
#define WHY_ENDED_TIMEOUT_MS 1000

/* The descriptors of a create, in the order of its shares. */
struct share_fds {
	int fds[MESSAGE_SHARES_MAX];
	bool opened[MESSAGE_SHARES_MAX]; /* by us, so ours to close */
	const char *targets[MESSAGE_SHARES_MAX]; /* where each is to be inside; not owned */
	size_t count;
	const char *first_directory; /* where it is to be inside; NULL: none is one */
};

static void share_fds_close(struct share_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		if (fds->opened[i])
			fd_close(fds->fds[i]);
}

/* That there is one source: a share that is all zeros is none, not descriptor 0. */
static int check_source(const struct yett_share *share, const char *name, struct yett_error *error)
{
	bool has_fd = share->flags & YETT_SHARE_FD;

	if (share->flags & ~(uint32_t)(YETT_SHARE_WRITABLE | YETT_SHARE_FD))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "the flags of share %s are not all known: %#x", name, share->flags);
	if (!share->path && !has_fd)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "share %s has no source: neither a path nor a descriptor with YETT_SHARE_FD", name);
	if (share->path && has_fd)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "share %s has two sources: a path, and a descriptor with YETT_SHARE_FD", name);
	if (has_fd && share->fd < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "share %s has %d for a descriptor: did the call fail that was to open it?",
				 name, share->fd);
	return 0;
}

static int cannot_share(const char *name, struct yett_error *error)
{
	int number = errno;

	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot share %s: %m", name);
	(void)error_cause(error, NULL, number);
	return YETT_E_FILE_OPERATION_FAILED;
}

/* Opens what is to be shared, as the caller: the helper resolves no path of ours. */
static int add_share(struct channel *channel, const struct yett_share *share, struct share_fds *fds,
		     struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	const char *target = share->target ? share->target : share->path;
	const char *name = share->path ? share->path : target ? target : "?";
	struct message_share *entry = &create->shares[create->shares_count];
	struct stat st;
	int fd, r = check_source(share, name, error);

	if (r)
		return r;
	fd = share->path ? open(share->path, O_PATH | O_CLOEXEC) : share->fd;
	if (fd < 0)
		return cannot_share(name, error);
	fds->opened[fds->count] = share->path != NULL;
	fds->targets[fds->count] = target;
	fds->fds[fds->count++] = fd;
	if (fstat(fd, &st) < 0)
		return cannot_share(name, error);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				 "cannot share %s: it is neither a directory nor a regular file", name);
	if (!target || target[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				 "the place of %s inside is not an absolute path", name);
	entry->fd = create->shares_count++;
	entry->mode = share->flags & YETT_SHARE_WRITABLE ? SHARE_RW : SHARE_RO;
	if (S_ISDIR(st.st_mode) && !fds->first_directory)
		fds->first_directory = target;
	return channel_put_text(channel, target, MESSAGE_PATH_MAX, "the target of a share", &entry->target, error);
}

#define NAME_RULE "a-z, 0-9, '.', '_' and '-' only, and a letter or digit first"

bool sandbox_is_name(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")] && !strchr("._-", *text);
}

/* The names of the wire, so that a bad one is told by name and not as a request out of bounds. */
static int check_names(const struct yett_sandbox_options *options, struct yett_error *error)
{
	static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	const char *profile = options->profile, *hostname = options->hostname, *name = options->name;

	if (profile && !sandbox_is_name(profile))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%.100s cannot be the name of a profile: " NAME_RULE, profile);
	if (hostname && (hostname[strspn(hostname, host)] || (*hostname && strchr(".-", *hostname))))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
				 "%.100s cannot be a host name: letters, digits, '.' and '-' only, and a letter or digit first", hostname);
	if (name && !sandbox_is_name(name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%.100s cannot be the name of a sandbox: " NAME_RULE, name);
	if (options->flags & ~(uint32_t)YETT_SANDBOX_LINGER)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "the flags of the sandbox are not all known: %#x", options->flags);
	if (options->directory && options->directory[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "the directory of a sandbox is an absolute path: %.100s", options->directory);
	return 0;
}

/* Annotations are the labels that nobody looks sandboxes up by: '#' before their key keeps them apart. */
static int put_labels(struct channel *channel, const char *const *labels, bool are_annotations, struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	const char *what = are_annotations ? "an annotation" : "a label";
	int r = 0;

	for (; r == 0 && labels && *labels; labels++) {
		char text[MESSAGE_KEY_VALUE_MAX + 1];

		if (create->labels_count == MESSAGE_LABELS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "more than %d labels and annotations",
					 MESSAGE_LABELS_MAX);
		if (!strchr(*labels, '=') || **labels == '=' || **labels == MESSAGE_ANNOTATION)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%s is not KEY=VALUE: %s", what, *labels);
		if (snprintf(text, sizeof text, "%s%s", are_annotations ? (char[]){MESSAGE_ANNOTATION, '\0'} : "", *labels) >= (int)sizeof text)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "%s is longer than %d bytes", what,
					 MESSAGE_KEY_VALUE_MAX - are_annotations);
		r = channel_put_text(channel, text, MESSAGE_KEY_VALUE_MAX, what, &create->labels[create->labels_count++], error);
	}
	return r;
}

/* What it is called and how long it may live. */
static int put_identity(struct channel *channel, const struct yett_sandbox_options *options, struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	int r = channel_put_text(channel, options->name, MESSAGE_NAME_MAX, "the name", &create->name, error);

	if (r == 0)
		r = put_labels(channel, options->labels, false, error);
	if (r == 0)
		r = put_labels(channel, options->annotations, true, error);
	create->life = (struct message_life){.linger = options->flags & YETT_SANDBOX_LINGER,
					     .wall_ms = options->wall_time_ms,
					     .cpu_ms = options->cpu_time_ms,
					     .idle_ms = options->idle_time_ms,
					     .idle_action = (uint32_t)options->idle_action,
					     .cleanup_ms = options->cleanup_ms};
	return r;
}

static int fill_create(struct channel *channel, const struct yett_sandbox_options *options, struct share_fds *fds,
		       struct yett_error *error)
{
	struct message_create *create = &channel_prepare(channel, MESSAGE_CREATE)->body.create;
	const char *first_directory;
	int r;

	if (options->shares_count + (options->memory_dir != NULL) > MESSAGE_SHARES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
				 "%zu shares are more than the %d allowed", options->shares_count + (options->memory_dir != NULL),
				 MESSAGE_SHARES_MAX);
	if (options->tmpfs_count > MESSAGE_TMPFS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
				 "%zu tmpfs are more than the %d allowed", options->tmpfs_count, MESSAGE_TMPFS_MAX);
	r = check_names(options, error);
	if (r)
		return r;
	r = put_identity(channel, options, error);
	if (r)
		return r;
	r = channel_put_text(channel, options->profile ? options->profile : "default", MESSAGE_NAME_MAX,
			     "the name of the profile", &create->profile, error);
	if (r == 0)
		r = channel_put_text(channel, options->hostname, MESSAGE_HOSTNAME_MAX, "the host name",
				     &create->hostname, error);
	for (size_t i = 0; r == 0 && i < options->shares_count; i++) {
		struct yett_share share;

		r = options_take_element(&options_share, options->shares, i, &share, error);
		if (r == 0)
			r = add_share(channel, &share, fds, error);
	}
	first_directory = fds->first_directory;
	if (r == 0 && options->memory_dir)
		r = add_share(channel, &(struct yett_share){.size = sizeof(struct yett_share), .path = options->memory_dir, .flags = YETT_SHARE_WRITABLE, .target = "/mnt/memory"}, fds, error);
	fds->first_directory = first_directory; /* what is kept is not what is worked on */
	for (size_t i = 0; r == 0 && i < options->tmpfs_count; i++) {
		struct yett_tmpfs tmpfs;

		r = options_take_element(&options_tmpfs, options->tmpfs, i, &tmpfs, error);
		if (r)
			break;
		create->tmpfs[i].size_bytes = tmpfs.size_bytes;
		r = channel_put_text(channel, tmpfs.target, MESSAGE_PATH_MAX, "the target of a tmpfs", &create->tmpfs[i].target, error);
		create->tmpfs_count++;
	}
	create->limits = (struct message_limits){
		.memory_bytes = options->memory_bytes,
		.cpu_millis = options->cpu_millis,
		.pids = options->pids,
		.files = options->open_files,
	};
	return r;
}

/*
 * Where there is no key yet, a plan is asked for with one that nobody keeps: it makes nothing, and the helper tells it to whoever may
 * enroll a key.
 */
static int need_signer(struct yett_connection *connection, struct yett_error *error)
{
	const struct message *message = &connection->channel->message;
	bool is_plan = message->kind == MESSAGE_CREATE && message->body.create.plan_only;
	int r;

	if (connection->signer && !connection->is_passing_signer)
		return 0;
	yett_signer_free(connection->own_signer);
	connection->own_signer = NULL;
	connection->signer = NULL;
	r = yett_signer_load(NULL, &connection->own_signer, error);
	connection->is_passing_signer = r == YETT_E_NOT_FOUND && is_plan;
	if (connection->is_passing_signer)
		r = signer_new_passing(&connection->own_signer, error);
	if (r == 0)
		connection->signer = connection->own_signer;
	else if (r == YETT_E_NOT_FOUND)
		error_detail(error, "`yett keygen` makes a key, and so does the first `yett run`");
	return r;
}

/* Signs channel->message over this connection's challenge and sends it with the next sequence number. */
static int send_signed(struct yett_connection *connection, const int *fds, size_t fd_count, struct yett_error *error)
{
	struct channel *channel = connection->channel;
	struct envelope envelope = {
		.kind = (uint16_t)channel->message.kind,
		.fd_count = (uint8_t)fd_count,
		.sequence = channel->sequence + 1,
		.is_signed = true,
	};
	size_t head = envelope_size(envelope.kind), length, signed_length;
	uint8_t *packet = channel->frame.bytes; /* nothing is being received */
	_cleanup_free_ uint8_t *to_sign = malloc(ENVELOPE_SIGNED_MAX);
	int r;

	if (!to_sign)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for the request");
	if (message_encode(&channel->message, packet + head, MESSAGE_PACKET_MAX - head, &length) < 0)
		return channel_explain(channel, error);
	envelope.body_length = (uint32_t)length;
	memcpy(envelope.tag, connection->challenge, sizeof envelope.tag);
	memcpy(envelope.key, connection->signer->public_key, sizeof envelope.key);
	signed_length = envelope_signed_bytes(&envelope, connection->challenge, packet + head, length, to_sign);
	r = signer_sign(connection->signer, to_sign, signed_length, envelope.signature, error);
	if (r)
		return r;
	envelope_write(&envelope, packet);
	r = channel_send_packet(channel, packet, head + length, fds, fd_count,
				channel_deadline(connection->timeout_ms), error);
	if (r != YETT_E_NOT_RUNNING)
		return r;
	/* it may have said why before it closed */
	do
		r = connection_step(connection, channel_deadline(WHY_ENDED_TIMEOUT_MS), error);
	while (r == 0);
	return r > 0 ? r : error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE, "the helper does not listen");
}

void sandbox_forget(struct yett_sandbox *sandbox)
{
	struct yett_sandbox **at = &sandbox->connection->sandboxes;

	while (*at && *at != sandbox)
		at = &(*at)->next;
	if (*at)
		*at = sandbox->next;
	sandbox->next = NULL;
}

int sandbox_send(struct yett_connection *connection, const int *fds, size_t fd_count, struct yett_sandbox *sandbox,
		 struct yett_error *error)
{
	int r = need_signer(connection, error);

	if (r == 0)
		r = send_signed(connection, fds, fd_count, error);
	if (r)
		return r;
	sandbox->request.sequence = connection->channel->sequence;
	sandbox->request.sandbox_state = YETT_STATE_RUNNING;
	sandbox->connection = connection;
	sandbox->next = connection->sandboxes;
	connection->sandboxes = sandbox;
	return 0;
}

/* Waits for the answer; once it is there, or will not come, what it says. */
static int finish_request(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	int r = 0;

	while (r == 0 && sandbox->request.state == CONNECTION_ASKED)
		r = connection_step(sandbox->connection, deadline, error);
	if (sandbox->request.state == CONNECTION_ANSWERED)
		return 0;
	sandbox_forget(sandbox);
	if (r == -EAGAIN)
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the helper does not answer");
	if (r)
		return r;
	if (sandbox->request.state == CONNECTION_ENDED)
		return error_set(error, YETT_E_INIT_FAILED, YETT_R_NONE, "the sandbox ended before it was ready");
	refusal_mend_key(&sandbox->request.error);
	if (error)
		*error = sandbox->request.error;
	return (int)sandbox->request.error.code;
}

/* Where commands start; "/" is where init starts them by itself. */
static int choose_directory(struct yett_sandbox *sandbox, const char *directory, struct yett_error *error)
{
	if (!directory || strcmp(directory, "/") == 0)
		return 0;
	sandbox->directory = strdup(directory);
	return sandbox->directory ? 0 : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a sandbox");
}

int sandbox_request(struct yett_connection *connection, const int *fds, size_t fd_count, struct yett_sandbox *sandbox,
		    struct yett_error *error)
{
	int r = sandbox_send(connection, fds, fd_count, sandbox, error);

	return r ? r : finish_request(sandbox, channel_deadline(connection->timeout_ms), error);
}

/* Asks for a sandbox or its plan, with the lock held; sandbox->request says what it was. */
static int ask(struct yett_connection *connection, const struct yett_sandbox_options *options,
	       struct yett_sandbox *sandbox, struct yett_error *error)
{
	_cleanup_(share_fds_close) struct share_fds fds = {.count = 0};
	int r;

	if (connection->channel->failure.code) {
		if (error)
			*error = connection->channel->failure;
		return (int)connection->channel->failure.code;
	}
	r = fill_create(connection->channel, options, &fds, error);
	if (r)
		return r;
	connection->channel->message.body.create.plan_only = sandbox->request.wanted == CONNECTION_PLAN;
	r = choose_directory(sandbox, options->directory ? options->directory : fds.first_directory, error);
	if (r)
		return r;
	sandbox->outlives = options->flags & YETT_SANDBOX_LINGER;
	r = sandbox_request(connection, fds.fds, fds.count, sandbox, error);
	if (r && error)
		refusal_name_share(fds.targets, fds.fds, fds.count, error);
	return connection->start == YETT_START_PERSONAL && geteuid() != 0 ? container_explain(r, error) : r;
}

void sandbox_free(struct yett_sandbox *sandbox)
{
	channel_free(sandbox->channel);
	fd_close(sandbox->request.fd);
	fd_close(sandbox->files_program);
	fd_close(sandbox->events);
	free(sandbox->directory);
	free(sandbox);
}

bool sandbox_is_channel(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
		return false;
	size = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX && type == SOCK_SEQPACKET;
}

int sandbox_take(struct yett_sandbox *sandbox, struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	_cleanup_(sandbox_freep) struct yett_sandbox *owned = sandbox;
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (!sandbox_is_channel(sandbox->request.fd)) {
		sandbox_forget(sandbox);
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's descriptor is no exec channel");
	}
	sandbox->info = sandbox->request.info;
	sandbox->channel = channel_take(steal_fd(&sandbox->request.fd), "the sandbox");
	if (!sandbox->channel) {
		sandbox_forget(sandbox);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a sandbox");
	}
	sandbox->events = epoll_create1(EPOLL_CLOEXEC);
	if (sandbox->events < 0 || epoll_ctl(sandbox->events, EPOLL_CTL_ADD, sandbox->channel->fd, &event) < 0) {
		sandbox_forget(sandbox);
		return error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE, "cannot wait for a sandbox: %m");
	}
	r = query_send_directory(sandbox, error);
	if (r) {
		sandbox_forget(sandbox);
		return r;
	}
	*ret_sandbox = steal_ptr(&owned);
	return 0;
}

struct yett_sandbox *sandbox_new(enum connection_wanted wanted)
{
	struct yett_sandbox *sandbox = calloc(1, sizeof *sandbox);

	if (sandbox) {
		sandbox->request = (struct connection_request){.wanted = wanted, .fd = -1};
		sandbox->files_program = sandbox->events = -1;
	}
	return sandbox;
}

/* Where a user's sandboxes keep what is to be there for the next one: made, with what is above it, for the user alone. */
static int make_memory(char path[KEYFILE_PATH_SIZE], struct yett_error *error)
{
	static const char *const parts[] = {"/.local", "/state", "/yett", "/memory"};
	size_t used;
	int r = keyfile_home(path, KEYFILE_PATH_SIZE - 64, error);

	if (r)
		return r;
	used = strlen(path);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		used += (size_t)snprintf(path + used, KEYFILE_PATH_SIZE - used, "%s", parts[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot make the directory %s: %m", path);
	}
	return 0;
}

/* Asks for a sandbox or a plan; once more with a directory at /mnt/memory, where that was what the profile wanted. */
static int ask_for(struct yett_connection *connection, const struct yett_sandbox_options *options, enum connection_wanted wanted,
		   struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	struct yett_sandbox_options with;
	struct yett_error why = {0};
	char memory[KEYFILE_PATH_SIZE];
	int r = options_take(&options_sandbox, options, &with, error);

	if (r)
		return r;
	for (;;) {
		_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(wanted);

		r = sandbox ? ask(connection, &with, sandbox, &why)
			    : error_set(&why, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a sandbox");
		if (r == 0) {
			*ret_sandbox = steal_ptr(&sandbox);
			return 0;
		}
		if (why.reason != YETT_R_WANTED_MOUNT || with.memory_dir)
			break;
		r = make_memory(memory, &why);
		if (r)
			break;
		with.memory_dir = memory;
	}
	if (error)
		*error = why;
	return r;
}

int yett_sandbox_create(struct yett_connection *connection, const struct yett_sandbox_options *options,
			struct yett_sandbox **ret_sandbox, struct yett_error *error)
{
	CONNECTION_LOCKED(connection);
	struct yett_sandbox *sandbox;
	int r = ask_for(connection, options, CONNECTION_SANDBOX, &sandbox, error);

	return r ? r : sandbox_take(sandbox, ret_sandbox, error);
}

/* memfd_create(2), fcntl(2) F_GET_SEALS */
int sealed_read(int fd, size_t max, char **ret_bytes, size_t *ret_length, const char *what, struct yett_error *error)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	_cleanup_(memory_freep) char *bytes = NULL;
	size_t size, used = 0;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & needed) != needed || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > max)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's %s is no sealed memory of at most %zu MiB",
				 what, max >> 20);
	size = (size_t)st.st_size;
	bytes = memory_new(size + 1);
	while (bytes && used < size) {
		ssize_t n = pread(fd, bytes + used, size - used, (off_t)used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (!bytes || used < size)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's %s cannot be read", what);
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
	if (!split || split + 1 == text + length || memchr(split + 1, '\0', length - (size_t)(split + 1 - text)))
		return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE, "the helper's plan is not text and JSON");
	if (as_json)
		memmove(text, split + 1, strlen(split + 1) + 1);
	*ret_text = steal_ptr(&text);
	return 0;
}

static int plan(struct yett_connection *connection, const struct yett_sandbox_options *options, bool as_json, char **ret_text,
		struct yett_error *error)
{
	CONNECTION_LOCKED(connection);
	_cleanup_(sandbox_freep) struct yett_sandbox *asked = NULL;
	int r = ask_for(connection, options, CONNECTION_PLAN, &asked, error);

	if (r)
		return r;
	sandbox_forget(asked);
	return sandbox_read_plan(asked->request.fd, as_json, ret_text, error);
}

int yett_sandbox_plan(struct yett_connection *connection, const struct yett_sandbox_options *options, char **ret_text,
		      struct yett_error *error)
{
	return plan(connection, options, false, ret_text, error);
}

int yett_sandbox_plan_json(struct yett_connection *connection, const struct yett_sandbox_options *options, char **ret_json,
			   struct yett_error *error)
{
	return plan(connection, options, true, ret_json, error);
}

const struct yett_sandbox_info *yett_sandbox_get_info(const struct yett_sandbox *sandbox)
{
	return &sandbox->info;
}

/* Handles what the helper sends until this sandbox has ended or the deadline is there. */
static int wait_ended(struct yett_sandbox *sandbox, deadline_ms deadline, struct yett_error *error)
{
	CONNECTION_LOCKED(sandbox->connection);
	int r = 0;

	while (r == 0 && sandbox->request.state != CONNECTION_ENDED)
		r = connection_step(sandbox->connection, deadline, error);
	return sandbox->request.state == CONNECTION_ENDED ? 0 : r;
}

enum yett_ended yett_sandbox_ended(struct yett_sandbox *sandbox)
{
	if (sandbox->connection)
		(void)wait_ended(sandbox, channel_deadline(0), NULL);
	return sandbox->request.ended;
}

int sandbox_why_ended(struct yett_sandbox *sandbox, struct yett_error *error)
{
	if (sandbox->connection)
		(void)wait_ended(sandbox, channel_deadline(WHY_ENDED_TIMEOUT_MS), NULL);
	switch (sandbox->request.ended) {
	case YETT_ENDED_OUT_OF_MEMORY:
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
				 "the sandbox ended because its memory ran out");
	case YETT_ENDED_INIT_DIED:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox ended because its first process, init, died");
	case YETT_ENDED_DESTROYED:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox was destroyed");
	case YETT_ENDED_WALL_TIME:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox ended because its time was over");
	case YETT_ENDED_CPU_TIME:
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "the sandbox ended because its processor time was used");
	case YETT_ENDED_IDLE:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox ended because it was idle");
	case YETT_ENDED_HELPER:
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox was ended by the helper");
	case YETT_ENDED_NOT:
	case YETT_ENDED_CLOSED:
		break;
	}
	return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox has ended");
}

int yett_sandbox_fd(const struct yett_sandbox *sandbox)
{
	return sandbox->events;
}

enum yett_state yett_sandbox_state(struct yett_sandbox *sandbox)
{
	/* what the helper said is handled meanwhile */
	if (yett_sandbox_ended(sandbox) != YETT_ENDED_NOT)
		return YETT_STATE_DESTROYED;
	return sandbox->request.sandbox_state;
}

bool sandbox_is_paused(struct yett_sandbox *sandbox)
{
	struct yett_connection *connection = sandbox->connection;
	bool is_paused;

	if (!connection || pthread_mutex_trylock(&connection->lock) != 0)
		return false;
	(void)!connection_look(connection, NULL);
	is_paused = sandbox->request.state == CONNECTION_ANSWERED && sandbox->request.sandbox_state == YETT_STATE_PAUSED;
	connection_unlock(&connection);
	return is_paused;
}

/* The end of the handle: nobody hears of its commands any more. */
static void let_go(struct yett_sandbox *sandbox, const char *why)
{
	struct yett_error closed;

	(void)error_set(&closed, YETT_E_NOT_RUNNING, YETT_R_NONE, "%s", why);
	if (!sandbox->channel->failure.code)
		sandbox->channel->failure = closed;
	command_fail_all(sandbox, &closed);
	for (struct yett_command *c = sandbox->commands, *next; c; c = next) {
		next = c->next;
		c->sandbox = NULL;
		c->next = NULL;
	}
	discard_socket(steal_fd(&sandbox->channel->fd));
}

/* Waits for the end that was caused. */
static int confirm_end(struct yett_sandbox *sandbox, struct yett_error *error)
{
	/* an init that broke the protocol need not heed the end of file: the connection's end will see to it */
	bool is_broken = sandbox->channel->failure.code == YETT_E_PROTOCOL;
	int r = wait_ended(sandbox, channel_deadline(is_broken ? WHY_ENDED_TIMEOUT_MS : sandbox->connection->timeout_ms), error);

	return r == -EAGAIN ? error_set(error, YETT_E_TIMEOUT, YETT_R_NONE, "the helper did not say that the sandbox ended") : r;
}

static void remove_handle(struct yett_sandbox *sandbox)
{
	if (sandbox->connection) {
		CONNECTION_LOCKED(sandbox->connection);
		sandbox_forget(sandbox);
	}
	sandbox_free(sandbox);
}

int yett_sandbox_end(struct yett_sandbox *sandbox, struct yett_error *error)
{
	int r = 0;

	if (!sandbox)
		return 0;
	/* end of file on the channel is what ends a sandbox, unless it outlives that */
	if (sandbox->outlives && sandbox->connection && yett_sandbox_ended(sandbox) == YETT_ENDED_NOT)
		r = manage_done(sandbox->connection, MANAGE_DESTROY, sandbox->info.id, error);
	let_go(sandbox, "the sandbox was ended before the command");
	/* it may have ended by itself in the same moment */
	if (sandbox->connection && (r == 0 || r == YETT_E_NOT_FOUND))
		r = confirm_end(sandbox, error);
	return r;
}

void yett_sandbox_close(struct yett_sandbox *sandbox)
{
	if (!sandbox)
		return;
	let_go(sandbox, "the sandbox was closed before the command ended");
	/* without that the connection would hold it for as long as it lasts */
	if (sandbox->outlives && sandbox->connection && yett_sandbox_ended(sandbox) == YETT_ENDED_NOT)
		manage_let_go(sandbox->connection, sandbox->info.id);
	remove_handle(sandbox);
}
