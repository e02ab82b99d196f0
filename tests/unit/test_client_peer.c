/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of the library, and asking for a sandbox, against a helper played here. */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sodium.h>

#include "tests/support/testing.h"
#include "tests/support/waiting.h"
#include "base/net_rule.h"
#include "protocol/codec.h"
#include "tests/unit/client_peer.h"
#include "workspace/yett-workspace.h"

#define WITH_PEER(test) TEST_OF(test, struct peer *peer, peer_make, peer_free)

WITH_PEER(a_helper_of_another_version_is_refused)
{
	int fd = peer_pair(peer);

	say_hello(peer, 2, 9);
	assert_int_equal(peer_take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_VERSION);
}

WITH_PEER(a_helper_that_says_nothing_is_given_up)
{
	int fd = peer_pair(peer);

	assert_int_equal(peer_take(peer, fd), YETT_E_TIMEOUT);
	assert_true(yett_error_retryable(&peer->error));
}

WITH_PEER(a_helper_that_hangs_up_is_unavailable)
{
	int fd = peer_pair(peer);

	peer->helper = fd_close(peer->helper);
	assert_int_equal(peer_take(peer, fd), YETT_E_HELPER_UNAVAILABLE);
}

WITH_PEER(garbage_for_a_hello_is_a_breach_of_protocol)
{
	int fd = peer_pair(peer);

	assert_int_equal(send(peer->helper, "GET / HTTP/1.0\r\n\r\n....", 22, 0), 22);
	assert_int_equal(peer_take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_MAGIC);
}

WITH_PEER(another_message_for_a_hello_is_a_breach_of_protocol)
{
	int fd = peer_pair(peer);

	say_ended(peer, 0, ENDED_CLOSED);
	assert_int_equal(peer_take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_KIND);
}

WITH_PEER(a_refusal_for_a_hello_is_handed_on)
{
	int fd = peer_pair(peer);

	say_error(peer, peer->helper, 0, YETT_E_RESOURCE_LIMIT, "too many connections");
	assert_int_equal(peer_take(peer, fd), YETT_E_RESOURCE_LIMIT);
	assert_string_equal(peer->error.message, "no?[2J");
	assert_string_equal(peer->error.detail, "too many connections");
}

WITH_PEER(a_hello_with_descriptors_is_a_breach_of_protocol)
{
	struct message_hello *hello = &prepare(peer, MESSAGE_HELLO)->body.hello;
	int fd = peer_pair(peer), probe[2];
	char byte;

	assert_int_equal(pipe2(probe, O_CLOEXEC), 0);
	hello->version_min = hello->version_max = 1;
	say(peer, peer->helper, 0, &probe[1], 1);
	fd_close(probe[1]);
	assert_int_equal(peer_take(peer, fd), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_FD_COUNT);
	/* what it sent was closed: no writer is left */
	assert_int_equal(read(probe[0], &byte, 1), 0);
	fd_close(probe[0]);
}

WITH_PEER(a_service_that_is_not_root_is_refused)
{
	char directory[] = "/tmp/yett-peer-XXXXXX";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct yett_connect_options options = {
		.size = sizeof options, .start = YETT_START_SERVICE, .timeout_ms = SHORT_MS};
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
	assert_int_equal(yett_connect(&options, &peer->connection, &peer->error),
	                 YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(peer->error.message, "not to root"));
	fd_close(listener);
	(void)unlink(address.sun_path);
	(void)rmdir(directory);
}

/* What a client of the uid `own` makes of a helper whose end `maker` has made. unix(7), SO_PEERCRED
 */
static int take_from(struct peer *peer, uid_t maker, uid_t own, enum yett_start start)
{
	const struct yett_connect_options options = {
		.size = sizeof options, .signer = peer->signer, .timeout_ms = SHORT_MS};
	int fd, r;

	assert_int_equal(seteuid(maker), 0);
	fd = peer_pair(peer);
	assert_int_equal(seteuid(getuid()), 0);
	say_hello(peer, 1, 1);
	assert_int_equal(seteuid(own), 0);
	r = connection_take(fd, &options, start, &peer->connection, &peer->error);
	assert_int_equal(seteuid(getuid()), 0);
	peer->helper = fd_close(peer->helper);
	yett_connection_close(peer->connection);
	peer->connection = NULL;
	return r;
}

WITH_PEER(the_helper_is_root_s_or_one_s_own_and_nobody_else_s)
{
	const uid_t alice = 12345, bob = 12346, own = getuid();

	assert_int_equal(take_from(peer, own, own, YETT_START_PERSONAL), 0);
	if (own != 0) {
		print_message("not root: nobody else can make an end\n");
		assert_int_equal(take_from(peer, own, own, YETT_START_SERVICE),
		                 YETT_E_SECURITY_VIOLATION);
		return;
	}
	for (enum yett_start start = YETT_START_SERVICE; start <= YETT_START_SETUID; start++) {
		assert_int_equal(take_from(peer, 0, alice, start), 0);
		assert_int_equal(take_from(peer, bob, alice, start), YETT_E_SECURITY_VIOLATION);
		assert_non_null(strstr(peer->error.message, "belongs to uid 12346, not to root"));
		assert_int_equal(take_from(peer, bob, 0, start), YETT_E_SECURITY_VIOLATION);
	}
	assert_int_equal(take_from(peer, alice, alice, YETT_START_PERSONAL), 0);
	/* A program of the user's own could stand where the service should, and be told what is for
	 * root's. */
	assert_int_equal(take_from(peer, alice, alice, YETT_START_SERVICE),
	                 YETT_E_SECURITY_VIOLATION);
}

/* --- asking for a sandbox --- */

WITH_PEER(a_request_is_signed_over_the_challenge_and_carries_its_shares)
{
	const struct yett_share shares[] = {SHARE(.path = "/etc/passwd", .target = "/p"),
	                                    SHARE(.path = "/usr", .flags = YETT_SHARE_WRITABLE)};
	const struct yett_tmpfs tmpfs[] = {
		{.size = sizeof(struct yett_tmpfs), .target = "/scratch", .size_bytes = 4096}};
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .profile = "build",
	                                             .hostname = "box",
	                                             .shares = shares,
	                                             .shares_count = 2,
	                                             .tmpfs = tmpfs,
	                                             .tmpfs_count = 1,
	                                             .pids = 9};
	const struct message_create *create = &peer->message.body.create;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE], *text = malloc(ENVELOPE_SIGNED_MAX);
	size_t length;

	peer_connect(peer);
	memset(challenge, 0x5a, sizeof challenge);
	say_created(peer, 1);
	assert_int_equal(
		yett_sandbox_create(peer->connection, &options, &peer->sandbox, &peer->error), 0);
	assert_string_equal(yett_sandbox_get_info(peer->sandbox)->id, ID);
	assert_int_equal(yett_sandbox_get_info(peer->sandbox)->memory_bytes, 1 << 26);
	hear(peer, peer->helper);
	assert_int_equal(peer->envelope.sequence, 1);
	assert_int_equal(peer->envelope.fd_count, 2);
	assert_memory_equal(peer->envelope.key, yett_signer_public_key(peer->signer),
	                    YETT_KEY_SIZE);
	assert_memory_equal(peer->envelope.tag, challenge, sizeof peer->envelope.tag);
	length = envelope_signed_bytes(&peer->envelope, challenge,
	                               peer->frame.bytes + envelope_size(MESSAGE_CREATE),
	                               peer->envelope.body_length, text);
	assert_int_equal(crypto_sign_verify_detached(peer->envelope.signature, text, length,
	                                             peer->envelope.key),
	                 0);
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

WITH_PEER(a_refusal_leaves_the_connection_usable)
{
	peer_connect(peer);
	say_error(peer, peer->helper, 1, YETT_E_PERMISSION_DENIED, "yett.conf:7");
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 YETT_E_PERMISSION_DENIED);
	assert_string_equal(peer->error.detail, "yett.conf:7");
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 0);
}

WITH_PEER(what_cannot_be_asked_is_refused_before_it_is_sent)
{
	static struct yett_share many[126];
	static struct yett_tmpfs tmpfs[33];
	static const struct yett_share fifo = SHARE(.path = "/dev/null", .target = "/x"),
				       none = SHARE(.path = "/nonexistent"),
				       relative = SHARE(.path = "/usr", .target = "usr");
	static const struct yett_sandbox_options wrong[] = {
		SANDBOX(.shares = many, .shares_count = 126),
		SANDBOX(.tmpfs = tmpfs, .tmpfs_count = 33),
		SANDBOX(.shares = &fifo, .shares_count = 1),
		SANDBOX(.shares = &none, .shares_count = 1),
		SANDBOX(.shares = &relative, .shares_count = 1),
		SANDBOX(.profile = "UPPER"),
		SANDBOX(.hostname = "a b"),
		SANDBOX(.pids = UINT64_MAX),
	};

	peer_connect(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int r = yett_sandbox_create(peer->connection, &wrong[i], &peer->sandbox,
		                            &peer->error);

		assert_true(r == YETT_E_INVALID_REQUEST || r == YETT_E_FILE_OPERATION_FAILED);
		assert_int_equal(peer->error.os_error,
		                 r == YETT_E_FILE_OPERATION_FAILED ? ENOENT : 0);
	}
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
}

WITH_PEER(rules_go_as_numbers_and_names_and_what_is_wrong_with_one_is_told_by_its_place)
{
	static const char *const allow[] = {"*.Example.org:443", "db.example.org:1-2@10.1.0.0/16"};
	static const char *const deny[] = {"10.0.0.0/8"}, *const bad[] = {"a.org", "a..b"},
				 *const null[] = {NULL};
	static char names[256][256];
	static const char *many[256];
	static const struct {
		struct yett_sandbox_options options;
		const char *said;
	} wrong[] = {
		{SANDBOX(.allow = bad, .allow_count = 2), "allow[1]: 'a..b' has an empty label"},
		{SANDBOX(.deny = bad + 1, .deny_count = 1), "deny[0]: 'a..b' has an empty label"},
		{SANDBOX(.deny = null, .deny_count = 1), "deny[0]: it is NULL"},
		{SANDBOX(.allow_count = 1), "allow is NULL, and has a count"},
		{SANDBOX(.allow = many, .allow_count = 256, .deny = deny, .deny_count = 1),
	         "256 rules in allow and 1 in deny are more than the 256 allowed"},
		{SANDBOX(.allow = many, .allow_count = SIZE_MAX, .deny = deny, .deny_count = 2),
	         "are more than the 256 allowed"},
		{SANDBOX(.network = (enum yett_network)5), "none that is known: 5"},
		{SANDBOX(.network = (enum yett_network) - 1), "none that is known: -1"},
		{SANDBOX(.allow = many, .allow_count = 256),
	         "the request is larger than 64 KiB"}, /* 256 of the longest names */
	};
	const struct yett_sandbox_options right =
		SANDBOX(.network = YETT_NETWORK_OPEN, .allow = allow, .allow_count = 2,
	                .deny = deny, .deny_count = 1);
	const struct message_create *create = &peer->message.body.create;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		memset(names[i], 'a', 253);
		for (size_t dot = 50; dot < 253; dot += 50)
			names[i][dot] = '.';
		many[i] = names[i];
	}
	peer_connect(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(yett_sandbox_create(peer->connection, &wrong[i].options,
		                                     &peer->sandbox, &peer->error),
		                 YETT_E_INVALID_REQUEST);
		if (!strstr(peer->error.message, wrong[i].said))
			fail_msg("%zu: %s", i, peer->error.message);
	}
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	say_created(peer, 1);
	assert_int_equal(
		yett_sandbox_create(peer->connection, &right, &peer->sandbox, &peer->error), 0);
	hear(peer, peer->helper);
	assert_int_equal(create->network, NETWORK_OPEN);
	assert_int_equal(create->rules_count, 3);
	assert_int_equal(create->rules[0].kind, NET_RULE_BELOW_ONE);
	assert_string_equal(message_text(&peer->message, create->rules[0].name), "example.org");
	assert_int_equal(create->rules[0].port_first, 443);
	assert_true(create->rules[1].bound);
	assert_int_equal(create->rules[1].prefix, 112);
	assert_int_equal(create->rules[1].port_last, 2);
	assert_memory_equal(create->rules[1].address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\0\0",
	                    16);
	assert_false(create->rules[1].deny);
	assert_true(create->rules[2].deny);
	assert_int_equal(create->rules[2].kind, NET_RULE_ADDRESS);
}

TEST_WITH(a_share_has_one_source, peer_make, peer_free)
{
	static const struct {
		struct yett_share share;
		const char *said;
	} wrong[] = {
		{SHARE(.path = NULL), "no source"}, /* and not descriptor 0 */
		{SHARE(.target = "/x"), "share /x has no source"},
		{SHARE(.path = "/usr", .flags = YETT_SHARE_FD), "share /usr has two sources"},
		{SHARE(.target = "/x", .flags = YETT_SHARE_FD, .fd = -1),
	         "share /x has -1 for a descriptor"},
		{SHARE(.path = "/usr", .flags = 16), "not all known: 0x10"},
		{SHARE(.path = "/usr", .flags = YETT_SHARE_COW | YETT_SHARE_WRITABLE),
	         "share /usr is copy-on-write, and so can be neither writable nor a socket"},
		{SHARE(.path = "/usr", .flags = YETT_SHARE_COW | YETT_SHARE_SOCKET),
	         "share /usr is copy-on-write, and so can be neither writable nor a socket"},
		{SHARE(.path = "/usr", .memory_bytes = 1),
	         "share /usr has a size of memory, and is not copy-on-write"},
		{SHARE(.path = "/etc/passwd", .flags = YETT_SHARE_COW),
	         "cannot share /etc/passwd copy-on-write: it is no directory"},
		{SHARE(.path = "/usr", .flags = YETT_SHARE_SOCKET),
	         "cannot share /usr: it is no socket"},
		{SHARE(.path = "/usr", .flags = YETT_SHARE_SOCKET | YETT_SHARE_WRITABLE),
	         "share /usr is a socket, and cannot be writable"},
	};
	const struct message_create *create = &((struct peer *)*state)->message.body.create;
	struct peer *peer = *state;
	struct yett_share by_fd = {.size = sizeof by_fd,
	                           .target = "/x",
	                           .flags = YETT_SHARE_FD,
	                           .fd = open("/usr", O_PATH | O_CLOEXEC)};
	int stdin_before = dup(STDIN_FILENO), usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	peer_connect(peer);
	peer->connection->workspace = yett_workspace();
	assert_int_equal(dup2(usr, STDIN_FILENO), STDIN_FILENO); /* which could be shared */
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct yett_sandbox_options options = {
			.size = sizeof options, .shares = &wrong[i].share, .shares_count = 1};

		assert_int_equal(yett_sandbox_create(peer->connection, &options, &peer->sandbox,
		                                     &peer->error),
		                 YETT_E_INVALID_REQUEST);
		if (!strstr(peer->error.message, wrong[i].said))
			fail_msg("%zu: %s", i, peer->error.message);
	}
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_create(peer->connection,
	                                     &(struct yett_sandbox_options){
						     .size = sizeof(struct yett_sandbox_options),
						     .shares = &by_fd,
						     .shares_count = 1},
	                                     &peer->sandbox, &peer->error),
	                 0);
	hear(peer, peer->helper);
	assert_string_equal(message_text(&peer->message, create->shares[0].target), "/x");
	(void)dup2(stdin_before, STDIN_FILENO);
	fd_close(stdin_before);
	fd_close(by_fd.fd);
	fd_close(usr);
}

/* Which no command has to be told, as `yett run` tells its own. */
WITH_PEER(commands_start_in_the_first_directory_that_is_shared)
{
	static const struct yett_share shares[] = {SHARE(.path = "/etc/passwd", .target = "/p"),
	                                           SHARE(.path = "/usr", .target = "/work"),
	                                           SHARE(.path = "/etc")};
	static const struct {
		struct yett_sandbox_options options;
		const char *reported; /* to init; NULL: nothing */
	} rows[] = {
		{SANDBOX(.shares = shares, .shares_count = 3), "/work"},
		{SANDBOX(.shares = shares, .shares_count = 3, .directory = "/tmp"), "/tmp"},
		{SANDBOX(.shares = shares, .shares_count = 3, .directory = "/"), NULL},
		{SANDBOX(.shares = shares, .shares_count = 1), NULL},
		{SANDBOX(.memory_dir = "/usr"), NULL},
		{SANDBOX(.directory = "/tmp"), "/tmp"},
		{SANDBOX(.profile = NULL), NULL},
	};

	peer_connect(peer);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct yett_sandbox *sandbox;

		say_created(peer, i + 1);
		assert_int_equal(yett_sandbox_create(peer->connection, &rows[i].options, &sandbox,
		                                     &peer->error),
		                 0);
		if (rows[i].reported) {
			hear(peer, peer->init);
			assert_int_equal(peer->envelope.kind, MESSAGE_SESSION);
			assert_string_equal(
				message_text(&peer->message, peer->message.body.session.cwd),
				rows[i].reported);
		}
		assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
		say_ended(peer, i + 1, ENDED_CLOSED);
		assert_int_equal(yett_sandbox_end(sandbox, &peer->error), 0);
		yett_sandbox_close(sandbox);
	}
	assert_int_equal(yett_sandbox_create(peer->connection,
	                                     &(struct yett_sandbox_options){
						     .size = sizeof(struct yett_sandbox_options),
						     .directory = "tmp"},
	                                     &peer->sandbox, &peer->error),
	                 YETT_E_INVALID_REQUEST);
}

/* --- several threads on one connection --- */

struct creation {
	struct peer *peer;
	struct yett_sandbox *sandbox;
	struct yett_error error;
	int r;
	pthread_t thread;
};

static void *create_one(void *data)
{
	struct creation *creation = data;

	creation->r = yett_sandbox_create(creation->peer->connection, NULL, &creation->sandbox,
	                                  &creation->error);
	return NULL;
}

/* Begun in a thread of its own, and asked for already. */
static void begin_creation(struct peer *peer, struct creation *creation)
{
	struct pollfd asked = {.fd = peer->helper, .events = POLLIN};

	*creation = (struct creation){.peer = peer};
	assert_int_equal(pthread_create(&creation->thread, NULL, create_one, creation), 0);
	assert_int_equal(poll(&asked, 1, waiting_deadline_ms()), 1);
	hear(peer, peer->helper);
	assert_int_equal(peer->envelope.kind, MESSAGE_CREATE);
}

static void end_creation(struct creation *creation)
{
	assert_int_equal(pthread_join(creation->thread, NULL), 0);
	assert_int_equal(creation->r, 0);
	yett_sandbox_close(creation->sandbox);
}

WITH_PEER(nobody_waits_behind_the_create_of_another_thread)
{
	struct creation slow, fast;

	peer_create(peer);
	peer->connection->timeout_ms = waiting_deadline_ms();
	begin_creation(peer, &slow);
	/* all of these would wait for as long as the helper takes, had they to */
	assert_int_equal(yett_sandbox_state(peer->sandbox), YETT_STATE_RUNNING);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_NOT);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
	begin_creation(peer, &fast);
	say_created(peer, 3);
	end_creation(&fast);
	assert_int_equal(yett_sandbox_state(peer->sandbox), YETT_STATE_RUNNING);
	say_created(peer, 2);
	end_creation(&slow);
	assert_int_equal(peer->connection->has_waiter, false);
}

WITH_PEER(who_waits_is_told_when_the_connection_ends)
{
	struct creation one, other;

	peer_create(peer);
	peer->connection->timeout_ms = waiting_deadline_ms();
	begin_creation(peer, &one);
	begin_creation(peer, &other);
	peer->helper = fd_close(peer->helper);
	assert_int_equal(pthread_join(one.thread, NULL), 0);
	assert_int_equal(pthread_join(other.thread, NULL), 0);
	assert_int_equal(one.r, YETT_E_HELPER_UNAVAILABLE);
	assert_int_equal(other.r, YETT_E_HELPER_UNAVAILABLE);
}

/* --- giving a sandbox up --- */

WITH_PEER(a_create_that_was_begun_is_over_when_the_answer_is_there)
{
	struct yett_share share = SHARE(.target = "/x", .flags = YETT_SHARE_FD);
	const struct yett_sandbox_options options = SANDBOX(.shares = &share, .shares_count = 1);
	struct yett_operation *operation;

	peer_connect(peer);
	peer->connection->timeout_ms = waiting_deadline_ms();
	share.fd = open("/usr", O_PATH | O_CLOEXEC);
	assert_int_equal(
		yett_sandbox_create_begin(peer->connection, &options, &operation, &peer->error), 0);
	share.fd = fd_close(share.fd);
	hear(peer, peer->helper);
	assert_int_equal(peer->envelope.kind, MESSAGE_CREATE);
	assert_false(yett_operation_is_over(operation));
	assert_in_range(yett_operation_time_left(operation), 1, waiting_deadline_ms());
	assert_int_equal(yett_operation_finish(operation, 0, &peer->error), YETT_E_TIMEOUT);
	assert_null(yett_operation_take_sandbox(operation));
	say_created(peer, 1);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
	assert_true(yett_operation_is_over(operation));
	assert_int_equal(yett_operation_time_left(operation), -1);
	assert_int_equal(yett_operation_finish(operation, 0, &peer->error), 0);
	assert_int_equal(yett_operation_finish(operation, -1, &peer->error), 0);
	peer->sandbox = yett_operation_take_sandbox(operation);
	assert_string_equal(yett_sandbox_get_info(peer->sandbox)->id, ID);
	assert_null(yett_operation_take_sandbox(operation));
	assert_int_equal(yett_operation_take_fd(operation), -1);
	yett_operation_free(operation);
	hear(peer, peer->init); /* where commands start */
	assert_string_equal(message_text(&peer->message, peer->message.body.session.cwd), "/x");
}

static size_t count_works(bool complete)
{
	struct yett_work_list *list;
	size_t count = 0;

	assert_int_equal(yett_works_list(&list, NULL), 0);
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		assert_int_equal(work->is_complete, complete);
		assert_false(work->is_used);
		if (complete)
			assert_string_equal(work->sandbox, ID);
		count++;
	}
	assert_null(yett_work_list_get(list, count));
	yett_workspace_free(list);
	return count;
}

/* Also where nobody waits for the answer. */
TEST_WITH(a_store_is_kept_with_its_sandbox_and_goes_with_a_request_that_comes_to_nothing, peer_make,
          peer_free)
{
	const struct message_create *create = &((struct peer *)*state)->message.body.create;
	char folder[] = "/tmp/yett-test-XXXXXX", source[64];
	const struct yett_share share = SHARE(.path = source, .flags = YETT_SHARE_COW);
	const struct yett_sandbox_options options = SANDBOX(.shares = &share, .shares_count = 1);
	struct yett_operation *kept, *left;
	struct yett_work_list *list;
	struct peer *peer = *state;

	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS)
		skip(); /* valgrind does not know it, by which a store is removed */
	assert_non_null(mkdtemp(folder));
	(void)snprintf(source, sizeof source, "%s/source", folder);
	assert_int_equal(mkdir(source, 0751), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
	assert_int_equal(count_works(true), 0);
	peer_connect(peer);
	peer->connection->workspace = yett_workspace();
	peer->connection->timeout_ms = waiting_deadline_ms();
	assert_int_equal(yett_sandbox_create_begin(peer->connection, &options, &kept, &peer->error),
	                 0);
	hear(peer, peer->helper);
	assert_int_equal(create->shares_count, 2);
	assert_int_equal(create->shares[0].mode, SHARE_COW);
	assert_int_equal(create->shares[1].mode, SHARE_STORE);
	assert_string_equal(message_text(&peer->message, create->shares[1].target), source);
	assert_int_equal(count_works(false), 1);
	say_created(peer, 1);
	assert_int_equal(yett_operation_finish(kept, -1, &peer->error), 0);
	peer->sandbox = yett_operation_take_sandbox(kept);
	yett_operation_free(kept);
	assert_int_equal(count_works(true), 1);
	assert_int_equal(yett_sandbox_create_begin(peer->connection, &options, &left, &peer->error),
	                 0);
	yett_operation_free(left);
	assert_int_equal(count_works(true), 1);
	assert_int_equal(yett_works_list(&list, NULL), 0);
	assert_int_equal(yett_work_discard(yett_work_list_get(list, 0)->id, &peer->error), 0);
	assert_int_equal(yett_work_discard(yett_work_list_get(list, 0)->id, &peer->error),
	                 YETT_E_NOT_FOUND);
	assert_int_equal(yett_work_discard("../source", &peer->error), YETT_E_NOT_FOUND);
	yett_workspace_free(list);
	(void)unsetenv("XDG_STATE_HOME");
	for (const char *const *name =
	             (const char *const[]){"yett/work", "yett", "source", "", NULL};
	     *name; name++) {
		(void)snprintf(source, sizeof source, "%s/%s", folder, *name);
		assert_int_equal(rmdir(source), 0);
	}
}

/* Only changes in memory need no store, and so no library for stores. */
TEST_WITH(without_a_workspace_changes_are_kept_in_memory_only, peer_make, peer_free)
{
	const struct message_create *create = &((struct peer *)*state)->message.body.create;
	char source[] = "/tmp/yett-test-XXXXXX";
	const struct yett_share shares[] = {
		SHARE(.path = source, .flags = YETT_SHARE_COW),
		SHARE(.path = source, .flags = YETT_SHARE_COW,
	              .hide = (const char *const[]){"x", NULL}),
		SHARE(.path = source, .flags = YETT_SHARE_COW, .store = ID),
		SHARE(.flags = YETT_SHARE_COW, .store = ID)};
	const struct yett_share in_memory =
		SHARE(.path = source, .flags = YETT_SHARE_COW, .memory_bytes = 4096);
	struct yett_sandbox_options options = SANDBOX(.shares = &in_memory, .shares_count = 1);
	struct peer *peer = *state;

	assert_non_null(mkdtemp(source));
	peer_connect(peer);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		options.shares = &shares[i];
		assert_int_equal(yett_sandbox_create(peer->connection, &options, &peer->sandbox,
		                                     &peer->error),
		                 YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(peer->error.message, i < 3 ? source : ID));
		assert_non_null(strstr(peer->error.mend, "libyett-workspace"));
		assert_non_null(strstr(peer->error.mend, "yett_connect_options.workspace"));
		assert_int_equal(
			yett_sandbox_mount(peer->connection, "name", &shares[i], 1, &peer->error),
			YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(peer->error.mend, "libyett-workspace"));
	}
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	say_created(peer, 1);
	options.shares = &in_memory;
	assert_int_equal(
		yett_sandbox_create(peer->connection, &options, &peer->sandbox, &peer->error), 0);
	hear(peer, peer->helper);
	assert_int_equal(create->shares_count, 1);
	assert_int_equal(create->shares[0].mode, SHARE_COW);
	assert_int_equal(create->tmpfs[0].size_bytes, 4096);
	assert_int_equal(rmdir(source), 0);
}

WITH_PEER(a_create_that_was_begun_says_why_it_failed)
{
	struct yett_operation *refused, *late, *left;

	peer_connect(peer);
	assert_int_equal(yett_sandbox_create_begin(peer->connection, NULL, &refused, &peer->error),
	                 0);
	assert_int_equal(yett_sandbox_create_begin(peer->connection, NULL, &late, &peer->error), 0);
	peer->connection->timeout_ms = waiting_deadline_ms();
	assert_int_equal(yett_sandbox_create_begin(peer->connection, NULL, &left, &peer->error), 0);
	say_error(peer, peer->helper, 1, YETT_E_PERMISSION_DENIED, "yett.conf:7");
	for (int i = 0; i < 2; i++) { /* the same each time */
		assert_int_equal(yett_operation_finish(refused, -1, &peer->error),
		                 YETT_E_PERMISSION_DENIED);
		assert_string_equal(peer->error.detail, "yett.conf:7");
	}
	assert_int_equal(yett_operation_finish(late, -1, &peer->error), YETT_E_TIMEOUT);
	assert_true(yett_operation_is_over(late));
	yett_connection_close(peer->connection);
	peer->connection = NULL;
	assert_int_equal(yett_operation_finish(left, -1, &peer->error), YETT_E_NOT_RUNNING);
	yett_operation_free(refused);
	yett_operation_free(late);
	yett_operation_free(left);
	yett_operation_free(NULL);
}

WITH_PEER(a_sandbox_that_nobody_waits_for_any_more_ends)
{
	struct pollfd closed = {.events = POLLIN};
	struct yett_operation *operation;
	char byte;

	peer_connect(peer);
	assert_int_equal(
		yett_sandbox_create_begin(peer->connection, NULL, &operation, &peer->error), 0);
	yett_operation_free(operation);
	say_created(peer, 1);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
	closed.fd = peer->init; /* by a thread of its own */
	assert_int_equal(poll(&closed, 1, waiting_deadline_ms()), 1);
	assert_int_equal(recv(peer->init, &byte, 1, MSG_DONTWAIT), 0);
}

WITH_PEER(closing_a_handle_asks_and_waits_for_nothing)
{
	char byte;

	peer_create(peer);
	peer->connection->timeout_ms = -1; /* it would wait for ever */
	yett_sandbox_close(peer->sandbox);
	peer->sandbox = NULL;
	assert_int_equal(recv(peer->init, &byte, 1, MSG_DONTWAIT), 0); /* which is its end */
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	yett_sandbox_close(NULL);
}

WITH_PEER(closing_a_handle_that_was_attached_lets_go_of_the_sandbox)
{
	peer_connect(peer);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_attach(peer->connection, "box", &peer->sandbox, &peer->error),
	                 0);
	hear(peer, peer->helper);
	peer->connection->timeout_ms = -1;
	yett_sandbox_close(peer->sandbox);
	peer->sandbox = NULL;
	hear(peer, peer->helper);
	assert_int_equal(peer->message.body.manage.action, MANAGE_DETACH);
	/* the answer is nobody's, and no breach */
	prepare(peer, MESSAGE_DONE)->body.done.id = put(peer, ID);
	say(peer, peer->helper, 2, NULL, 0);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
}

WITH_PEER(a_sandbox_that_was_ended_still_has_its_handle)
{
	static const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = COMMAND(.argv = argv);
	struct yett_command *command;

	peer_create(peer);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), 0);
	assert_int_equal(yett_sandbox_state(peer->sandbox), YETT_STATE_DESTROYED);
	assert_string_equal(yett_sandbox_get_info(peer->sandbox)->id, ID);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
	                 YETT_E_NOT_RUNNING);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), YETT_E_NOT_RUNNING);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), 0);
}

WITH_PEER(an_answer_to_no_request_ends_the_connection)
{
	peer_connect(peer);
	say_created(peer, 5);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_OUT_OF_ORDER);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 YETT_E_PROTOCOL);
}

WITH_PEER(a_late_answer_is_dropped_and_its_descriptor_closed)
{
	char byte;
	int first;

	peer_connect(peer);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 YETT_E_TIMEOUT);
	say_created(peer, 1);
	first = dup(peer->init);
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 0);
	assert_int_equal(recv(first, &byte, 1, 0), 0);
	fd_close(first);
}

WITH_PEER(a_descriptor_that_is_no_channel_is_refused)
{
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	peer_connect(peer);
	say_created_with(peer, 1, directory);
	fd_close(directory);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 YETT_E_PROTOCOL);
}

WITH_PEER(a_plan_is_read_only_from_sealed_memory)
{
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *text = NULL;

	peer_connect(peer);
	assert_int_equal(write(fd, "slot\nroot\n\0{}", 13), 13);
	prepare(peer, MESSAGE_PLAN);
	say(peer, peer->helper, 1, &fd, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	prepare(peer, MESSAGE_PLAN);
	say(peer, peer->helper, 2, &fd, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error), 0);
	assert_string_equal(text, "slot\nroot\n");
	for (int i = 0; i < 2; i++) {
		hear(peer, peer->helper);
		assert_true(peer->message.body.create.plan_only);
	}
	yett_free(text);
	prepare(peer, MESSAGE_PLAN);
	say(peer, peer->helper, 3, &fd, 1);
	assert_int_equal(yett_sandbox_inspect_plan(peer->connection, "box", &text, &peer->error),
	                 0);
	assert_string_equal(text, "slot\nroot\n");
	hear(peer, peer->helper);
	assert_int_equal(peer->message.body.manage.action, MANAGE_PLAN);
	yett_free(text);
	fd_close(fd);
}

WITH_PEER(a_sandbox_where_a_plan_was_asked_is_a_breach_of_protocol)
{
	char *text = NULL;

	peer_connect(peer);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_plan(peer->connection, NULL, &text, &peer->error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_KIND);
}

/* Has the library list what such a memfd holds, whose seals are right. */
static int list_bytes(struct peer *peer, uint64_t sequence, const void *bytes, size_t length)
{
	const struct yett_sandbox_status *status;
	struct yett_sandbox_list *list = NULL;
	int fd = memfd_create("listing", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	prepare(peer, MESSAGE_LISTING)->body.listing.count = 1;
	say(peer, peer->helper, sequence, &fd, 1);
	fd_close(fd);
	r = yett_sandboxes_list(peer->connection, 0, &list, &peer->error);
	hear(peer, peer->helper);
	if (r == 0 && yett_sandbox_list_count(list) == 1) {
		status = yett_sandbox_list_get(list, 0);
		assert_int_equal(status->size, sizeof *status);
		assert_string_equal(status->info->id, ID);
		assert_string_equal(status->name, "box");
		assert_int_equal(status->state, YETT_STATE_STOPPED);
		assert_int_equal(status->ended, YETT_ENDED_IDLE);
		assert_string_equal(status->labels[0], "app=web");
		assert_null(status->labels[1]);
		assert_string_equal(status->annotations[0], "why=a note");
		assert_null(status->annotations[1]);
		assert_null(yett_sandbox_list_get(list, 1));
	}
	assert_true(r != 0 || yett_sandbox_list_count(list) <= 1);
	yett_free(list);
	return r;
}

TEST_WITH(a_list_is_believed_only_if_every_part_of_it_is_right, peer_make, peer_free)
{
	struct peer *peer = *state;
	struct message_sandbox *body = &prepare(peer, MESSAGE_SANDBOX)->body.sandbox;
	uint8_t bytes[2048];
	uint64_t sequence = 1;
	uint32_t size;
	size_t length;

	body->id = put(peer, ID);
	body->name = put(peer, "box");
	body->profile = put(peer, "default");
	body->state = SANDBOX_STOPPED;
	body->ended = ENDED_IDLE;
	body->labels[body->labels_count++] = put(peer, "#why=a note");
	body->labels[body->labels_count++] = put(peer, "app=web");
	assert_int_equal(message_encode(&peer->message, bytes + sizeof size,
	                                sizeof bytes - sizeof size, &length),
	                 0);
	size = htole32((uint32_t)length);
	memcpy(bytes, &size, sizeof size);
	length += sizeof size;
	peer_connect(peer);
	assert_int_equal(list_bytes(peer, sequence++, bytes, length), 0);
	assert_int_equal(list_bytes(peer, sequence++, bytes, 0), 0);
	for (size_t cut = 1; cut < length; cut++)
		assert_int_equal(list_bytes(peer, sequence++, bytes, cut), YETT_E_PROTOCOL);
	bytes[length] = 0;
	assert_int_equal(list_bytes(peer, sequence++, bytes, length + 1), YETT_E_PROTOCOL);
	bytes[3] = 0xff; /* four gigabytes */
	assert_int_equal(list_bytes(peer, sequence++, bytes, length), YETT_E_PROTOCOL);
	bytes[3] = 0;
	bytes[sizeof size] ^= 0xff; /* no map */
	assert_int_equal(list_bytes(peer, sequence++, bytes, length), YETT_E_PROTOCOL);
	bytes[sizeof size] ^= 0xff;
	assert_int_equal(list_bytes(peer, sequence, bytes, length), 0);
}

TEST_WITH(a_sandbox_that_is_paused_is_asked_for_nothing, peer_make, peer_free)
{
	static const char *const argv[] = {"true", NULL};
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct peer *peer = *state;
	struct yett_command *command = NULL;

	peer_connect(peer);
	prepare(peer, MESSAGE_STATE)->body.state.state = SANDBOX_PAUSED;
	say(peer, peer->helper, 1, NULL, 0);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_attach(peer->connection, "box", &peer->sandbox, &peer->error),
	                 0);
	hear(peer, peer->helper);
	assert_int_equal(peer->message.body.manage.action, MANAGE_ATTACH);
	assert_string_equal(message_text(&peer->message, peer->message.body.manage.sandbox), "box");
	assert_int_equal(yett_sandbox_state(peer->sandbox), YETT_STATE_PAUSED);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
	                 YETT_E_NOT_RUNNING);
	assert_string_equal(peer->error.message, "the sandbox is paused");
	prepare(peer, MESSAGE_STATE)->body.state.state = SANDBOX_RUNNING;
	say(peer, peer->helper, 1, NULL, 0);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	yett_command_free(command);
}

WITH_PEER(a_helper_that_dies_takes_its_sandboxes_with_it)
{
	peer_create(peer);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_NOT);
	peer->helper = fd_close(peer->helper);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error),
	                 YETT_E_HELPER_UNAVAILABLE);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_HELPER);
}

WITH_PEER(destroying_closes_the_channel_and_waits_for_the_end)
{
	char byte;

	peer_create(peer);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), 0);
	yett_sandbox_close(peer->sandbox);
	peer->sandbox = NULL;
	assert_int_equal(recv(peer->init, &byte, 1, 0), 0);
}

WITH_PEER(destroying_does_not_wait_for_ever)
{
	peer_create(peer);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), YETT_E_TIMEOUT);
	yett_sandbox_close(peer->sandbox);
	peer->sandbox = NULL;
	/* and an end that is told later finds nobody, which is no breach */
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_connection_dispatch(peer->connection, &peer->error), 0);
}

WITH_PEER(a_sandbox_outlives_its_closed_connection_as_a_handle)
{
	peer_create(peer);
	yett_connection_close(peer->connection);
	peer->connection = NULL;
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_CLOSED);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), 0);
	yett_sandbox_close(peer->sandbox);
	peer->sandbox = NULL;
}

static void count_event(const struct yett_event *event, void *data)
{
	uint64_t *seen = data;

	seen[0]++;
	seen[1] += event->lost;
	seen[2] = event->number;
}

static void say_event(struct peer *peer, int fd, uint64_t number, enum event_kind kind)
{
	struct message_event *event = &prepare(peer, MESSAGE_EVENT)->body.event;

	event->number = number;
	event->kind = kind;
	say(peer, fd, 0, NULL, 0);
}

/* The library's end of a stream whose other end is *ret_fd. */
static struct yett_events *follow(struct peer *peer, uint64_t sequence, uint64_t seen[3],
                                  int *ret_fd)
{
	struct yett_events *events = NULL;
	int pair[2];

	memset(seen, 0, 3 * sizeof *seen);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	prepare(peer, MESSAGE_FOLLOWING)->body.following.id = put(peer, ID);
	say(peer, peer->helper, sequence, &pair[1], 1);
	(void)close(pair[1]);
	assert_int_equal(yett_sandbox_follow(peer->connection, "box", count_event, seen, &events,
	                                     &peer->error),
	                 0);
	hear(peer, peer->helper);
	assert_string_equal(yett_events_id(events), ID);
	*ret_fd = pair[0];
	return events;
}

WITH_PEER(what_a_reader_lost_is_told_by_the_numbers)
{
	struct yett_events *events;
	uint64_t seen[3];
	int fd;

	peer_connect(peer);
	events = follow(peer, 1, seen, &fd);
	assert_int_equal(yett_events_dispatch(events, &peer->error), 0);
	say_event(peer, fd, 0, EVENT_FOLLOWED);
	say_event(peer, fd, 1, EVENT_STARTED);
	say_event(peer, fd, 5, EVENT_EXITED);
	assert_int_equal(yett_events_dispatch(events, &peer->error), 0);
	assert_int_equal(seen[0], 3);
	assert_int_equal(seen[1], 3);
	say_event(peer, fd, 10, EVENT_ENDED);
	(void)close(fd);
	assert_int_equal(yett_events_dispatch(events, &peer->error), YETT_E_NOT_RUNNING);
	assert_string_equal(peer->error.message, "the sandbox has ended");
	assert_int_equal(seen[1], 7);
	assert_int_equal(yett_events_dispatch(events, &peer->error), YETT_E_NOT_RUNNING);
	yett_events_free(events);
	events = follow(peer, 2, seen, &fd);
	(void)close(fd);
	assert_int_equal(yett_events_dispatch(events, &peer->error), YETT_E_NOT_RUNNING);
	assert_string_equal(peer->error.message, "the supervisor of the sandbox is gone");
	yett_events_free(events);
}

WITH_PEER(events_that_cannot_be_are_a_breach)
{
	static const struct {
		uint64_t number;
		enum event_kind kind;
	} rows[][3] = {
		{{1, EVENT_STARTED}},
		{{1, EVENT_FOLLOWED}, {2, EVENT_FOLLOWED}},
		{{1, EVENT_FOLLOWED}, {1, EVENT_STARTED}},
		{{9, EVENT_FOLLOWED}, {3, EVENT_STARTED}},
		{{1, EVENT_FOLLOWED}, {2, EVENT_ENDED}, {3, EVENT_STARTED}},
	};
	struct yett_events *events;
	uint64_t seen[3];
	int fd;

	peer_connect(peer);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		events = follow(peer, i + 1, seen, &fd);
		for (size_t j = 0; j < 3 && rows[i][j].number; j++)
			say_event(peer, fd, rows[i][j].number, rows[i][j].kind);
		assert_int_equal(yett_events_dispatch(events, &peer->error), YETT_E_PROTOCOL);
		assert_int_equal(yett_events_dispatch(events, &peer->error), YETT_E_PROTOCOL);
		yett_events_free(events);
		(void)close(fd);
	}
}

TEST_MAIN(NULL, NULL)
