/*
 * The library against a helper and an init that are played here: packets queue in a socket pair, so an answer can be
 * put there before it is asked for, and no thread is needed.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <sodium.h>

#include "libclient/sandbox.h"
#include "libclient/signer.h"
#include "protocol/codec.h"

#define ID "0123456789abcdef"
#define SHORT_MS 50

/* The other side of everything: the helper's end of the connection, init's end of the channel. */
struct peer {
	int helper, init;
	struct yett_signer *signer;
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_error error;
	struct message message;
	struct frame frame;
	struct envelope envelope;
};

static struct message *prepare(struct peer *peer, enum message_kind kind)
{
	memset(&peer->message, 0, offsetof(struct message, arena));
	peer->message.kind = kind;
	return &peer->message;
}

static struct text put(struct peer *peer, const char *string)
{
	struct text text;

	assert_int_equal(message_add_text(&peer->message, string, &text), 0);
	return text;
}

static void say(struct peer *peer, int fd, uint64_t sequence, const int *fds, size_t count)
{
	assert_int_equal(frame_send_message(fd, &peer->message, sequence, fds, count, MSG_DONTWAIT), 0);
}

static void say_hello(struct peer *peer, uint32_t low, uint32_t high)
{
	struct message_hello *hello = &prepare(peer, MESSAGE_HELLO)->body.hello;

	hello->version_min = low;
	hello->version_max = high;
	memset(hello->challenge, 0x5a, sizeof hello->challenge);
	say(peer, peer->helper, 0, NULL, 0);
}

static void say_created_with(struct peer *peer, uint64_t sequence, int fd)
{
	struct message_created *created = &prepare(peer, MESSAGE_CREATED)->body.created;

	created->id = put(peer, ID);
	created->profile = put(peer, "default");
	created->private_uid = 1879048192;
	created->limits.memory_bytes = 1 << 26;
	say(peer, peer->helper, sequence, &fd, 1);
}

static void say_created(struct peer *peer, uint64_t sequence)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	say_created_with(peer, sequence, pair[0]);
	fd_close(pair[0]);
	fd_close(peer->init);
	peer->init = pair[1];
}

static void say_error(struct peer *peer, int fd, uint64_t sequence, enum yett_code code, const char *detail)
{
	struct message_error *e = &prepare(peer, MESSAGE_ERROR)->body.error;

	e->code = code;
	e->message = put(peer, "no\033[2J");
	e->detail = put(peer, detail);
	say(peer, fd, sequence, NULL, 0);
}

static void say_ended(struct peer *peer, uint64_t sequence, enum ended_reason reason)
{
	prepare(peer, MESSAGE_ENDED)->body.ended.reason = reason;
	say(peer, peer->helper, sequence, NULL, 0);
}

static void say_started(struct peer *peer, uint64_t sequence)
{
	prepare(peer, MESSAGE_STARTED)->body.started.pid = 7;
	say(peer, peer->init, sequence, NULL, 0);
}

static void say_exited(struct peer *peer, uint64_t sequence, uint32_t status)
{
	struct message_exited *exited = &prepare(peer, MESSAGE_EXITED)->body.exited;

	exited->status = status;
	exited->limits_hit = LIMIT_PIDS;
	exited->wall_us = 1234;
	say(peer, peer->init, sequence, NULL, 0);
}

/* What the library has sent. */
static void hear(struct peer *peer, int fd)
{
	struct yett_error error;

	frame_close_fds(&peer->frame);
	assert_int_equal(frame_receive(fd, &peer->frame, MSG_DONTWAIT), 1);
	assert_int_equal(envelope_read(peer->frame.bytes, peer->frame.length, peer->frame.fd_count, &peer->envelope, &error), 0);
	assert_int_equal(message_decode(peer->envelope.kind, peer->frame.bytes + envelope_size(peer->envelope.kind),
					peer->envelope.body_length, &peer->message, &error), 0);
}

static int take(struct peer *peer, int fd)
{
	const struct yett_connect_options options = {.signer = peer->signer, .timeout_ms = SHORT_MS};

	return connection_take(fd, &options, YETT_START_PERSONAL, &peer->connection, &peer->error);
}

static int make_peer(void **state)
{
	static const uint8_t seed[KEY_SEED_SIZE] = {1, 2, 3};
	struct peer *peer = calloc(1, sizeof *peer);

	peer->helper = peer->init = -1;
	assert_int_equal(signer_from_seed(seed, &peer->signer, &peer->error), 0);
	*state = peer;
	return 0;
}

/* Ours goes to `ret_fd`. */
static void make_pair(struct peer *peer, int *ret_fd)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	peer->helper = pair[0];
	*ret_fd = pair[1];
}

static void connected(struct peer *peer)
{
	int fd;

	make_pair(peer, &fd);
	say_hello(peer, 1, 1);
	assert_int_equal(take(peer, fd), 0);
}

static void with_sandbox(struct peer *peer)
{
	connected(peer);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), 0);
	hear(peer, peer->helper);
}

static int free_peer(void **state)
{
	struct peer *peer = *state;

	fd_close(peer->helper);
	fd_close(peer->init);
	(void)yett_sandbox_destroy(peer->sandbox, NULL);
	yett_connection_close(peer->connection);
	yett_signer_free(peer->signer);
	frame_close_fds(&peer->frame);
	free(peer);
	return 0;
}

static int start(struct peer *peer, const char *name, struct yett_command **ret_command)
{
	const char *const argv[] = {name, "argument", NULL}, *const env[] = {"A=1", NULL};
	const struct yett_command_options options = {.argv = argv, .env = env, .cwd = "/work", .timeout_ms = 5};

	return yett_sandbox_exec(peer->sandbox, &options, ret_command, &peer->error);
}

/* --- the connection --- */

static void a_helper_of_another_version_is_refused(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	say_hello(peer, 2, 9);
	assert_int_equal(take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_VERSION);
}

static void a_helper_that_says_nothing_is_given_up(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	assert_int_equal(take(peer, fd), YETT_E_TIMEOUT);
	assert_true(yett_error_retryable(&peer->error));
}

static void a_helper_that_hangs_up_is_unavailable(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	peer->helper = fd_close(peer->helper);
	assert_int_equal(take(peer, fd), YETT_E_HELPER_UNAVAILABLE);
}

static void garbage_for_a_hello_is_a_breach_of_protocol(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	assert_int_equal(send(peer->helper, "GET / HTTP/1.0\r\n\r\n....", 22, 0), 22);
	assert_int_equal(take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_MAGIC);
}

static void another_message_for_a_hello_is_a_breach_of_protocol(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	say_ended(peer, 0, ENDED_CLOSED);
	assert_int_equal(take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_KIND);
}

static void a_refusal_for_a_hello_is_handed_on(void **state)
{
	struct peer *peer = *state;
	int fd;

	make_pair(peer, &fd);
	say_error(peer, peer->helper, 0, YETT_E_RESOURCE_LIMIT, "too many connections");
	assert_int_equal(take(peer, fd), YETT_E_RESOURCE_LIMIT);
	assert_string_equal(peer->error.message, "no?[2J");
	assert_string_equal(peer->error.detail, "too many connections");
}

static void a_hello_with_descriptors_is_a_breach_of_protocol(void **state)
{
	struct peer *peer = *state;
	struct message_hello *hello = &prepare(peer, MESSAGE_HELLO)->body.hello;
	int fd, probe[2];
	char byte;

	make_pair(peer, &fd);
	assert_int_equal(pipe2(probe, O_CLOEXEC), 0);
	hello->version_min = hello->version_max = 1;
	say(peer, peer->helper, 0, &probe[1], 1);
	fd_close(probe[1]);
	assert_int_equal(take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_FD_COUNT);
	/* what it sent was closed: no writer is left */
	assert_int_equal(read(probe[0], &byte, 1), 0);
	fd_close(probe[0]);
}

static void a_service_that_is_not_root_is_refused(void **state)
{
	char directory[] = "/tmp/yett-peer-XXXXXX";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct yett_connect_options options = {.start = YETT_START_SERVICE, .timeout_ms = SHORT_MS};
	struct peer *peer = *state;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_non_null(mkdtemp(directory));
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	/* the credentials a client sees are those of the moment of listen(2) */
	if (geteuid() == 0)
		assert_int_equal(seteuid(12345), 0);
	assert_int_equal(listen(listener, 1), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	options.socket_path = address.sun_path;
	assert_int_equal(yett_connect(&options, &peer->connection, &peer->error), YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(peer->error.message, "not to root"));
	fd_close(listener);
	(void)unlink(address.sun_path);
	(void)rmdir(directory);
}

/* --- asking for a sandbox --- */

static void a_request_is_signed_over_the_challenge_and_carries_its_shares(void **state)
{
	struct peer *peer = *state;
	const struct yett_share shares[] = {{.path = "/etc/passwd", .target = "/p"}, {.path = "/usr", .writable = true}};
	const struct yett_tmpfs tmpfs[] = {{.target = "/scratch", .size_bytes = 4096}};
	const struct yett_sandbox_options options = {.profile = "build", .hostname = "box", .shares = shares,
		.shares_count = 2, .tmpfs = tmpfs, .tmpfs_count = 1, .limits = {.pids = 9}};
	const struct message_create *create = &peer->message.body.create;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE], *text = malloc(ENVELOPE_SIGNED_MAX);
	size_t length;

	connected(peer);
	memset(challenge, 0x5a, sizeof challenge);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_create(peer->connection, &options, &peer->sandbox, &peer->error), 0);
	assert_string_equal(yett_sandbox_get_info(peer->sandbox)->id, ID);
	assert_int_equal(yett_sandbox_get_info(peer->sandbox)->limits.memory_bytes, 1 << 26);
	hear(peer, peer->helper);
	assert_int_equal(peer->envelope.sequence, 1);
	assert_int_equal(peer->envelope.fd_count, 2);
	assert_memory_equal(peer->envelope.key, yett_signer_public_key(peer->signer), YETT_KEY_SIZE);
	assert_memory_equal(peer->envelope.tag, challenge, sizeof peer->envelope.tag);
	length = envelope_signed_bytes(&peer->envelope, challenge, peer->frame.bytes + envelope_size(MESSAGE_CREATE),
				       peer->envelope.body_length, text);
	assert_int_equal(crypto_sign_verify_detached(peer->envelope.signature, text, length, peer->envelope.key), 0);
	assert_int_equal(create->shares_count, 2);
	assert_string_equal(message_text(&peer->message, create->shares[0].target), "/p");
	assert_string_equal(message_text(&peer->message, create->shares[1].target), "/usr");
	assert_int_equal(create->shares[1].mode, SHARE_RW);
	assert_int_equal(create->shares[1].fd, 1);
	assert_int_equal(create->tmpfs[0].size_bytes, 4096);
	assert_int_equal(create->limits.pids, 9);
	assert_string_equal(message_text(&peer->message, create->profile), "build");
	free(text);
}

static void a_refusal_leaves_the_connection_usable(void **state)
{
	struct peer *peer = *state;

	connected(peer);
	say_error(peer, peer->helper, 1, YETT_E_PERMISSION_DENIED, "yett.conf:7");
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), YETT_E_PERMISSION_DENIED);
	assert_string_equal(peer->error.detail, "yett.conf:7");
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), 0);
}

static void what_cannot_be_asked_is_refused_before_it_is_sent(void **state)
{
	static struct yett_share many[126];
	static struct yett_tmpfs tmpfs[33];
	static const struct yett_share fifo = {.path = "/dev/null", .target = "/x"}, none = {.path = "/nonexistent"},
				       relative = {.path = "/usr", .target = "usr"};
	static const struct yett_sandbox_options wrong[] = {
		{.shares = many, .shares_count = 126}, {.tmpfs = tmpfs, .tmpfs_count = 33},  {.shares = &fifo, .shares_count = 1},
		{.shares = &none, .shares_count = 1},  {.shares = &relative, .shares_count = 1}, {.profile = "UPPER"},
		{.hostname = "a b"},		       {.limits = {.pids = UINT64_MAX}},
	};
	struct peer *peer = *state;

	connected(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int r = yett_sandbox_create(peer->connection, &wrong[i], &peer->sandbox, &peer->error);

		assert_true(r == YETT_E_INVALID_REQUEST || r == YETT_E_FILE_OPERATION_FAILED);
	}
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
}

static void an_answer_to_no_request_ends_the_connection(void **state)
{
	struct peer *peer = *state;

	connected(peer);
	say_created(peer, 5);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_OUT_OF_ORDER);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), YETT_E_PROTOCOL);
}

static void a_late_answer_is_dropped_and_its_descriptor_closed(void **state)
{
	struct peer *peer = *state;
	char byte;
	int first;

	connected(peer);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), YETT_E_TIMEOUT);
	say_created(peer, 1);
	first = dup(peer->init);
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), 0);
	assert_int_equal(recv(first, &byte, 1, 0), 0);
	fd_close(first);
}

static void a_descriptor_that_is_no_channel_is_refused(void **state)
{
	struct peer *peer = *state;
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	connected(peer);
	say_created_with(peer, 1, directory);
	fd_close(directory);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), YETT_E_PROTOCOL);
}

static void a_plan_is_read_only_from_sealed_memory(void **state)
{
	struct peer *peer = *state;
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *text = NULL;

	connected(peer);
	assert_int_equal(write(fd, "slot\nroot\n", 10), 10);
	prepare(peer, MESSAGE_PLAN);
	say(peer, peer->helper, 1, &fd, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	prepare(peer, MESSAGE_PLAN);
	say(peer, peer->helper, 2, &fd, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error), 0);
	assert_string_equal(text, "slot\nroot\n");
	hear(peer, peer->helper);
	assert_true(peer->message.body.create.plan_only);
	free(text);
	fd_close(fd);
}

static void a_sandbox_where_a_plan_was_asked_is_a_breach_of_protocol(void **state)
{
	struct peer *peer = *state;
	char *text = NULL;

	connected(peer);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_KIND);
}

static void a_helper_that_dies_takes_its_sandboxes_with_it(void **state)
{
	struct peer *peer = *state;

	with_sandbox(peer);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_NOT);
	peer->helper = fd_close(peer->helper);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), YETT_E_HELPER_UNAVAILABLE);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_HELPER);
}

static void destroying_closes_the_channel_and_waits_for_the_end(void **state)
{
	struct peer *peer = *state;
	char byte;

	with_sandbox(peer);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_destroy(peer->sandbox, &peer->error), 0);
	peer->sandbox = NULL;
	assert_int_equal(recv(peer->init, &byte, 1, 0), 0);
}

static void destroying_does_not_wait_for_ever(void **state)
{
	struct peer *peer = *state;

	with_sandbox(peer);
	assert_int_equal(yett_sandbox_destroy(peer->sandbox, &peer->error), YETT_E_TIMEOUT);
	peer->sandbox = NULL;
	/* and an end that is told later finds nobody, which is no breach */
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
}

static void a_sandbox_outlives_its_closed_connection_as_a_handle(void **state)
{
	struct peer *peer = *state;

	with_sandbox(peer);
	yett_connection_close(peer->connection);
	peer->connection = NULL;
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_CLOSED);
	assert_int_equal(yett_sandbox_destroy(peer->sandbox, &peer->error), 0);
	peer->sandbox = NULL;
}

/* --- commands --- */

static void a_command_goes_from_exec_to_its_result(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result = {0};
	const struct message_exec *exec = &peer->message.body.exec;

	with_sandbox(peer);
	assert_int_equal(start(peer, "program", &command), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->envelope.kind, MESSAGE_EXEC);
	assert_string_equal(message_text(&peer->message, exec->argv[0]), "program");
	assert_string_equal(message_text(&peer->message, exec->env[0]), "A=1");
	assert_string_equal(message_text(&peer->message, exec->cwd), "/work");
	assert_int_equal(exec->timeout_ms, 5);
	assert_int_equal(yett_command_wait(command, 0, &result, &peer->error), YETT_E_TIMEOUT);
	say_started(peer, 1);
	assert_int_equal(yett_command_wait(command, 0, &result, &peer->error), YETT_E_TIMEOUT);
	assert_int_equal(yett_command_pid(command), 7);
	assert_int_equal(yett_command_signal(command, 15, &peer->error), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->message.body.signal.command, 1);
	assert_int_equal(peer->message.body.signal.signal, 15);
	say_exited(peer, 1, 3);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), 0);
	assert_int_equal(result.status, 3);
	assert_int_equal(result.limits_hit, YETT_LIMIT_PIDS);
	assert_int_equal(result.wall_us, 1234);
	assert_int_equal(yett_command_signal(command, 15, &peer->error), YETT_E_NOT_RUNNING);
	yett_command_free(command);
}

static void commands_at_once_get_their_own_results(void **state)
{
	struct peer *peer = *state;
	struct yett_command *first = NULL, *second = NULL;
	struct yett_result result = {0};

	with_sandbox(peer);
	assert_int_equal(start(peer, "one", &first), 0);
	assert_int_equal(start(peer, "two", &second), 0);
	say_started(peer, 1);
	say_started(peer, 2);
	say_exited(peer, 2, 22);
	say_exited(peer, 1, 11);
	assert_int_equal(yett_command_wait(first, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result.status, 11);
	assert_int_equal(yett_command_wait(second, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result.status, 22);
	yett_command_free(first);
	yett_command_free(second);
}

static void free_on_exit(struct yett_command *command, void *data)
{
	(*(int *)data)++;
	yett_command_free(command);
}

static void dispatch_calls_on_exit_which_may_free_the_command(void **state)
{
	struct peer *peer = *state;
	const char *const argv[] = {"x", NULL};
	int called = 0;
	const struct yett_command_options options = {.argv = argv, .on_exit = free_on_exit, .data = &called};
	struct yett_command *command;

	with_sandbox(peer);
	for (int i = 0; i < 3; i++)
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	say_started(peer, 2);
	say_exited(peer, 2, 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "errno=2 x");
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), 0);
	assert_int_equal(called, 2);
	say_ended(peer, 1, ENDED_INIT_DIED);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), YETT_E_NOT_RUNNING);
	assert_int_equal(called, 3);
}

static void a_command_that_could_not_start_says_why(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	with_sandbox(peer);
	assert_int_equal(start(peer, "nothing", &command), 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "errno=2 not found");
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_COMMAND_FAILED);
	assert_string_equal(peer->error.detail, "errno=2 not found");
	yett_command_free(command);
}

static void a_sandbox_that_ran_out_of_memory_says_so_to_its_commands(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	with_sandbox(peer);
	assert_int_equal(start(peer, "hog", &command), 0);
	say_ended(peer, 1, ENDED_OOM);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_RESOURCE_LIMIT);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_OUT_OF_MEMORY);
	assert_int_equal(start(peer, "more", &(struct yett_command *){NULL}), YETT_E_RESOURCE_LIMIT);
	yett_command_free(command);
}

static void a_lying_init_ends_its_own_sandbox_only(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	with_sandbox(peer);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 9, 0);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_OUT_OF_ORDER);
	yett_command_free(command);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_destroy(peer->sandbox, &peer->error), 0);
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), 0);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 1, 0); /* before it started */
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	yett_command_free(command);
}

static void bad_commands_are_refused_before_they_are_sent(void **state)
{
	struct peer *peer = *state;
	const char *const none[] = {NULL}, *const empty[] = {"", NULL}, *const argv[] = {"x", NULL},
		   *const env[] = {"novalue", NULL}, *const latin1[] = {"\xe4", NULL};
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), stdio[] = {root, -1, -1};
	const struct yett_command_options wrong[] = {
		{.argv = NULL}, {.argv = none}, {.argv = empty}, {.argv = argv, .env = env}, {.argv = latin1}, {.argv = argv, .stdio = stdio},
	};
	struct yett_command *command = NULL;

	with_sandbox(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &wrong[i], &command, &peer->error),
				 i + 1 == ARRAY_SIZE(wrong) ? YETT_E_SECURITY_VIOLATION : YETT_E_INVALID_REQUEST);
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	fd_close(root);
}

/* An init in a process of its own, which writes to both streams of the first command. */
static pid_t play_init(struct peer *peer, const char *out, const char *err)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (frame_receive(peer->init, &peer->frame, 0) != 1 || peer->frame.fd_count != 2 ||
	    write(peer->frame.fds[0], out, strlen(out)) < 0 || write(peer->frame.fds[1], err, strlen(err)) < 0)
		_exit(1);
	say_started(peer, 1);
	say_exited(peer, 1, 4);
	_exit(0);
}

static void run_keeps_output_up_to_its_bound(void **state)
{
	struct peer *peer = *state;
	const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = {.argv = argv};
	struct yett_output output = {0};
	pid_t pid;

	with_sandbox(peer);
	pid = play_init(peer, "abcdef", "xyz");
	assert_int_equal(yett_run(peer->sandbox, &options, 3, &output, &peer->error), 0);
	assert_int_equal(output.result.status, 4);
	assert_string_equal(output.out, "abc");
	assert_int_equal(output.out_length, 3);
	assert_true(output.out_truncated);
	assert_string_equal(output.err, "xyz");
	assert_false(output.err_truncated);
	yett_output_free(&output);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_peer, free_peer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_helper_of_another_version_is_refused),
		TEST(a_helper_that_says_nothing_is_given_up),
		TEST(a_helper_that_hangs_up_is_unavailable),
		TEST(garbage_for_a_hello_is_a_breach_of_protocol),
		TEST(another_message_for_a_hello_is_a_breach_of_protocol),
		TEST(a_refusal_for_a_hello_is_handed_on),
		TEST(a_hello_with_descriptors_is_a_breach_of_protocol),
		TEST(a_service_that_is_not_root_is_refused),
		TEST(a_request_is_signed_over_the_challenge_and_carries_its_shares),
		TEST(a_refusal_leaves_the_connection_usable),
		TEST(what_cannot_be_asked_is_refused_before_it_is_sent),
		TEST(an_answer_to_no_request_ends_the_connection),
		TEST(a_late_answer_is_dropped_and_its_descriptor_closed),
		TEST(a_descriptor_that_is_no_channel_is_refused),
		TEST(a_plan_is_read_only_from_sealed_memory),
		TEST(a_sandbox_where_a_plan_was_asked_is_a_breach_of_protocol),
		TEST(a_helper_that_dies_takes_its_sandboxes_with_it),
		TEST(destroying_closes_the_channel_and_waits_for_the_end),
		TEST(destroying_does_not_wait_for_ever),
		TEST(a_sandbox_outlives_its_closed_connection_as_a_handle),
		TEST(a_command_goes_from_exec_to_its_result),
		TEST(commands_at_once_get_their_own_results),
		TEST(dispatch_calls_on_exit_which_may_free_the_command),
		TEST(a_command_that_could_not_start_says_why),
		TEST(a_sandbox_that_ran_out_of_memory_says_so_to_its_commands),
		TEST(a_lying_init_ends_its_own_sandbox_only),
		TEST(bad_commands_are_refused_before_they_are_sent),
		TEST(run_keeps_output_up_to_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
