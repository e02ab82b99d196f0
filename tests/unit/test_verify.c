/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asked is proven: each way in which a request is not what a key signed for this place on this
 * connection has its own refusal.
 *
 * Signatures, keys and files are real, and so is the monitor that is asked about keys: a child,
 * which serves this process as its decider. Decoder and reader are children of the test's, so that
 * they can lie.
 */
#include "tests/support/folder.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"
#include "tests/unit/decide.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "helper/monitor/monitor.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/verify.h"
#include "programs/decide/reader/own_keys.h"
#include "programs/decide/reader/reader.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"

#define GRANT     "grant \"g\" { users = {\"*\"} keys = {\"laptop\"} profiles = {\"*\"} }\n"
#define GRANT_OWN "grant \"g\" { users = {\"*\"} user_keys = true profiles = {\"*\"} }\n"

struct fixture {
	struct decide decide;
	char directory[40];
	uint8_t public[ENVELOPE_KEY_SIZE], secret[crypto_sign_SECRETKEYBYTES];
	uint8_t packet[MESSAGE_PACKET_MAX], body[1024];
	size_t length, fd_count; /* of the packet */
	struct verify_context context;
	struct decoder decoder;
	struct account account;
	pid_t monitor;
	int client;             /* its end, by which the monitor knows that it is there */
	int reader_ended;       /* a pipe's, whose other end the reader alone has */
	struct message message; /* as the decoder says */
	struct verified verified;
	struct yett_error error;
	uint64_t sequence;
};

/* --- the decoder --- */

enum lie { HONEST, WRONG_PLAN, WRONG_PROFILE, REFUSES };

static void answer(int socket, enum lie lie)
{
	static struct message message;
	static uint8_t packet[sizeof(struct decoder_question) + MESSAGE_PACKET_MAX];
	struct decoder_question question;
	ssize_t n;

	while ((n = recv(socket, packet, sizeof packet, 0)) >= (ssize_t)sizeof question) {
		struct decoder_answer head = {
			.error = {.code = YETT_E_PROTOCOL, .reason = YETT_R_MALFORMED}};
		size_t length = (size_t)n - sizeof question, body_size;
		uint32_t kind;

		memcpy(&question, packet, sizeof question);
		kind = (uint32_t)question.task;
		head.refused = lie == REFUSES || message_decode(kind, packet + sizeof question,
		                                                length, &message, &head.error) != 0;
		if (lie == WRONG_PLAN)
			message.body.create.plan_only = !message.body.create.plan_only;
		if (lie == WRONG_PROFILE)
			message.arena[message.body.create.profile.offset]++;
		head.arena_used = head.refused ? 0 : message.arena_used;
		body_size = head.refused ? 0 : message_body_size(kind);
		(void)sendmsg(socket,
		              &(struct msghdr){
				      .msg_iov = (struct iovec[]){{&head, sizeof head},
		                                                  {&message.body, body_size},
		                                                  {message.arena, head.arena_used}},
				      .msg_iovlen = 3},
		              MSG_NOSIGNAL);
	}
}

static void end(pid_t pid)
{
	if (pid > 0 && (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) != pid))
		fail_msg("a child could not be ended");
}

static void end_decoder(struct fixture *f)
{
	pid_t pid = f->decoder.program.pid;

	fd_close(f->decoder.program.socket);
	f->decoder = DECODER_NONE;
	end(pid);
}

static void start_decoder(struct fixture *f, enum lie lie)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	end_decoder(f);
	f->decoder =
		(struct decoder){.program = {.pid = fork(), .socket = pair[0]}, .is_ready = true};
	if (f->decoder.program.pid == 0) {
		(void)close(pair[0]);
		answer(pair[1], lie);
		_exit(0);
	}
	(void)close(pair[1]);
}

/* --- the monitor, and what it asks --- */

/*
 * Each monitor finds itself idle before its first request: it must not end a reader that the
 * decider has not asked yet, however long that takes.
 */
static bool is_idle_first;

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec given = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	if (is_idle_first && count > 1) { /* of its loop: by one descriptor it waits elsewhere */
		is_idle_first = false;
		return 0;
	}
	return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &given, NULL, 0);
}

enum reading {
	READS_HONESTLY,
	READS_TOO_LITTLE,
	READS_WITH_NO_CODE_THAT_IS,
	READS_A_MESSAGE_WITHOUT_END,
	READS_NAMES_WITHOUT_END,
	READS_NAMES_ONCE /* and answers nothing that is asked after that */
};

/* In the place of yett-reader, whose user has the test's folder as home. */
static void read_as(const struct fixture *f, enum reading how, int socket)
{
	char line[KEY_LINE_LENGTH + 1] = "";
	struct reader_answer answer;
	struct peer peer;

	if (recv(socket, &peer, sizeof peer, 0) != sizeof peer)
		return;
	do {
		bool is_first = false;

		memset(&answer, 0, sizeof answer);
		if (*line)
			(void)!own_keys_find(f->directory, peer.uid, line, &is_first,
			                     &answer.error);
		answer.is_first = is_first;
		if (how == READS_WITH_NO_CODE_THAT_IS)
			answer.error.code = (enum yett_code)(YETT_CODES_COUNT + 1);
		if (how == READS_A_MESSAGE_WITHOUT_END) {
			answer.error.code = YETT_E_BAD_SIGNATURE;
			memset(answer.error.message, 'x', sizeof answer.error.message);
		}
		memset(&answer.names, how >= READS_NAMES_WITHOUT_END ? 'x' : 0,
		       sizeof answer.names);
		(void)!send(socket, &answer, sizeof answer - (how == READS_TOO_LITTLE), 0);
		while (how == READS_NAMES_ONCE)
			(void)pause();
	} while (recv(socket, line, KEY_LINE_LENGTH, 0) == KEY_LINE_LENGTH);
}

static struct program start_reader(const struct fixture *f, enum reading how)
{
	struct program program;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(1);
	program = (struct program){.pid = fork(), .socket = pair[0]};
	if (program.pid == 0) {
		(void)close(pair[0]);
		(void)close(STDIN_FILENO);
		read_as(f, how, pair[1]);
		_exit(0);
	}
	(void)close(pair[1]);
	return program;
}

static void end_monitor(struct fixture *f)
{
	f->client = fd_close(f->client);
	/* As a decider does that has seen the end; the number stays taken. */
	assert_int_equal(dup2(STDERR_FILENO, STDIN_FILENO),
	                 STDIN_FILENO); /* by which it ends its reader, and itself */
	if (f->monitor > 0)
		assert_int_equal(waitpid(f->monitor, NULL, 0), f->monitor);
	f->monitor = 0;
	f->reader_ended = fd_close(f->reader_ended);
}

static void start_monitor(struct fixture *f, enum reading how)
{
	int asks[2], client[2], alive[2];
	struct ask_fds fds;

	end_monitor(f);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, client), 0);
	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	f->monitor = fork();
	if (f->monitor == 0) {
		struct monitor monitor = {MONITOR_NONE, .policy = f->decide.policy,
		                          .caller = &f->decide.peer, .listener = -1};

		(void)close(asks[1]);
		(void)close(client[1]);
		(void)close(alive[0]);
		monitor.decider.socket = asks[0];
		is_idle_first = true;
		/* no other one can be started */
		monitor.libexec = "/no/such/folder";
		monitor.reader = start_reader(f, how);
		(void)close(alive[1]);
		(void)!monitor_serve(&monitor, client[0]);
		monitor_free(&monitor);
		_exit(0);
	}
	(void)close(asks[0]);
	(void)close(client[0]);
	(void)close(alive[1]);
	f->client = client[1];
	f->reader_ended = alive[0];
	assert_int_equal(dup2(asks[1], STDIN_FILENO), STDIN_FILENO);
	(void)close(asks[1]);
	free(ask_begin(&fds));
	(void)close(fds.first);
	fd_close(f->account.reader);
	f->account = (struct account){.reader = fds.second, .is_new = true};
}

static bool has_reader_ended(const struct fixture *f)
{
	return poll(&(struct pollfd){.fd = f->reader_ended}, 1, waiting_deadline_ms()) == 1;
}

/* --- requests --- */

static void sign(struct fixture *f, struct envelope *envelope, const uint8_t *body)
{
	static uint8_t bytes[ENVELOPE_SIGNED_MAX];
	size_t length = envelope_signed_bytes(envelope, f->context.challenge, body,
	                                      envelope->body_length, bytes);

	memcpy(envelope->tag, f->context.challenge, sizeof envelope->tag);
	memcpy(envelope->key, f->public, sizeof envelope->key);
	assert_int_equal(crypto_sign_detached(envelope->signature, NULL, bytes, length, f->secret),
	                 0);
}

/* The packet of the request, signed for that place on this connection. */
static void write_packet(struct fixture *f, uint64_t sequence, size_t fd_count)
{
	struct envelope envelope = {.kind = (uint16_t)f->decide.request.kind,
	                            .fd_count = (uint8_t)fd_count,
	                            .sequence = sequence,
	                            .is_signed = true};
	size_t length;

	assert_int_equal(message_encode(&f->decide.request, f->body, sizeof f->body, &length), 0);
	envelope.body_length = (uint32_t)length;
	sign(f, &envelope, f->body);
	envelope_write(&envelope, f->packet);
	memcpy(f->packet + envelope_size(envelope.kind), f->body, length);
	f->length = envelope_size(envelope.kind) + length;
	f->fd_count = fd_count;
}

static int verify(struct fixture *f)
{
	memset(&f->error, 0, sizeof f->error);
	f->sequence = 0;
	memset(&f->verified, 0, sizeof f->verified);
	return verify_request(&f->context, f->packet, f->length, f->fd_count, &f->message,
	                      &f->sequence, &f->verified, &f->error);
}

static void accepted(struct fixture *f)
{
	int r = verify(f);

	if (r != 0)
		fail_msg("%d: %s (%s)", r, f->error.message, f->error.detail);
	assert_ptr_equal(f->verified.request, &f->message);
	assert_ptr_equal(f->verified.peer, &f->decide.peer);
	assert_int_equal(f->verified.fd_count, f->fd_count);
}

/* Nothing of what was written for a verified request is there either. */
static void refused(struct fixture *f, enum yett_code code, enum yett_reason reason)
{
	static const struct verified nothing;
	int r = verify(f);

	if (r != (int)code || f->error.code != code || f->error.reason != reason)
		fail_msg("%d, reason %d: %s (%s)", r, f->error.reason, f->error.message,
		         f->error.detail);
	assert_memory_equal(&f->verified, &nothing, sizeof nothing);
}

/* --- who may --- */

static void write_key(const char *path, const uint8_t key[ENVELOPE_KEY_SIZE], mode_t mode)
{
	char line[128] = "ed25519 ";

	(void)sodium_bin2base64(line + 8, sizeof line - 8, key, ENVELOPE_KEY_SIZE,
	                        sodium_base64_VARIANT_ORIGINAL);
	folder_write(path, strcat(line, " me@home\n"), mode);
}

static void enroll(struct fixture *f, const char *name)
{
	char path[80];

	(void)snprintf(path, sizeof path, "%s/keys/%s.pub", f->directory, name);
	write_key(path, f->public, 0644);
}

static void set_policy(struct fixture *f, const char *grants)
{
	char text[512];

	(void)snprintf(text, sizeof text,
	               "helper { keys_dir = \"%s/keys\" }\nprofile \"default\" { }\n%s",
	               f->directory, grants);
	decide_policy(&f->decide, text);
	f->context.policy = f->decide.policy;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	char path[80];

	*state = f;
	decide_reset(&f->decide);
	strcpy(f->directory, "/tmp/yett-verify-XXXXXX");
	if (sodium_init() < 0 || !mkdtemp(f->directory) ||
	    crypto_sign_keypair(f->public, f->secret) < 0)
		return -1;
	(void)snprintf(path, sizeof path, "%s/keys", f->directory);
	if (mkdir(path, 0755) < 0)
		return -1;
	f->decoder = DECODER_NONE;
	f->client = f->reader_ended = f->account.reader = -1;
	f->context = (struct verify_context){.peer = &f->decide.peer,
	                                     .account = &f->account,
	                                     .decoder = &f->decoder,
	                                     .next_sequence = 1};
	memset(f->context.challenge, 'c', sizeof f->context.challenge);
	f->decide.request.body.create.profile = decide_text(&f->decide, "default");
	set_policy(f, GRANT);
	enroll(f, "laptop");
	start_decoder(f, HONEST);
	start_monitor(f, READS_HONESTLY);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	int r;

	end_decoder(f);
	end_monitor(f);
	policy_free(f->decide.policy);
	r = folder_remove(f->directory);
	free(f);
	return r;
}

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *f, set_up, tear_down)

WITH_FIXTURE(a_request_that_an_enrolled_key_signed_is_verified)
{
	decide_share(&f->decide, 0, SHARE_RO, "/work");
	write_packet(f, 1, 1);
	accepted(f);
	assert_int_equal(f->sequence, 1);
	assert_int_equal(f->verified.key_source, KEY_ENROLLED);
	assert_string_equal(f->verified.principal, "laptop");
	assert_false(f->verified.is_first_key);
	assert_string_equal(message_text(&f->message, f->message.body.create.shares[0].target),
	                    "/work");
	f->decide.request.kind = MESSAGE_MANAGE;
	f->decide.request.body.manage = (struct message_manage){.action = MANAGE_LIST};
	write_packet(f, 2, 0);
	accepted(f);
	assert_int_equal(f->context.next_sequence, 3);
}

WITH_FIXTURE(each_request_counts_once_and_in_its_order)
{
	for (uint64_t wrong = 2; wrong != 0; wrong = wrong == 2 ? UINT64_MAX : 0) {
		write_packet(f, wrong, 0);
		refused(f, YETT_E_BAD_SIGNATURE, YETT_R_OUT_OF_ORDER);
		assert_true(f->sequence == wrong);
	}
	write_packet(f, 0, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	assert_int_equal(f->context.next_sequence,
	                 1); /* none of them took the place of the right one */
	write_packet(f, 1, 0);
	accepted(f);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	assert_non_null(strstr(f->error.detail, "sequence 1, expected 2"));
}

WITH_FIXTURE(a_request_for_another_connection_is_none_for_this_one)
{
	f->context.challenge[ENVELOPE_TAG_SIZE - 1] ^= 1;
	write_packet(f, 1, 0);
	f->context.challenge[ENVELOPE_TAG_SIZE - 1] ^= 1;
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	assert_int_equal(f->context.next_sequence, 1);
	/* Where the tag is the same by chance the signature tells. */
	f->context.challenge[MESSAGE_CHALLENGE_SIZE - 1] ^= 1;
	write_packet(f, 1, 0);
	f->context.challenge[MESSAGE_CHALLENGE_SIZE - 1] ^= 1;
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
}

/* Nor does any of them reach the decoder: there is none. */
WITH_FIXTURE(no_bit_of_a_request_can_be_changed)
{
	end_decoder(f);
	write_packet(f, 1, 0);
	for (size_t bit = 0; bit < 8 * f->length; bit++) {
		f->packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
		f->context.next_sequence = 1;
		if (verify(f) != YETT_E_BAD_SIGNATURE && f->error.code != YETT_E_PROTOCOL)
			fail_msg("bit %zu: %s", bit, f->error.message);
		f->packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	f->context.next_sequence = 1;
	assert_true(verify(f) < 0); /* as it was, it is for the decoder */
}

WITH_FIXTURE(descriptors_are_as_many_as_were_signed)
{
	decide_share(&f->decide, 0, SHARE_RO, "/work");
	for (size_t came = 0; came < 4; came += 2) {
		write_packet(f, 1, 1);
		f->fd_count = came;
		refused(f, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	}
	write_packet(f, 1, 1);
	f->packet[5] = 2; /* the envelope says what came, and the signature another number */
	f->fd_count = 2;
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
}

WITH_FIXTURE(no_descriptor_comes_with_what_needs_none)
{
	f->decide.request.kind = MESSAGE_MANAGE;
	f->decide.request.body.manage = (struct message_manage){.action = MANAGE_LIST};
	write_packet(f, 1, 1);
	refused(f, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	assert_int_equal(f->context.next_sequence, 1);
}

WITH_FIXTURE(other_kinds_of_messages_are_no_requests)
{
	for (uint16_t kind = 1; kind < MESSAGE_CREATE + 40; kind++) {
		struct envelope envelope = {.kind = kind, .sequence = 1};

		if (envelope_kind_is_signed(kind))
			continue;
		envelope_write(&envelope, f->packet);
		f->length = envelope_size(kind);
		refused(f, YETT_E_PROTOCOL, YETT_R_KIND);
	}
	f->length = 3;
	refused(f, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	assert_int_equal(f->sequence, 0); /* it could not be read */
}

WITH_FIXTURE(a_key_that_is_not_enrolled_proves_nothing)
{
	assert_int_equal(crypto_sign_keypair(f->public, f->secret), 0);
	write_packet(f, 1, 0);
	/* Where users' own keys count for nobody, the rule says so. */
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	assert_non_null(strstr(f->error.message, "accepts keys that users enrolled themselves"));
}

WITH_FIXTURE(a_key_under_two_names_proves_nothing)
{
	enroll(f, "desktop");
	write_packet(f, 1, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_NONE);
	assert_non_null(strstr(f->error.message, "two names"));
}

/* --- what the decoder says --- */

WITH_FIXTURE(what_the_decoder_says_counts_only_as_it_was_signed)
{
	for (enum lie lie = WRONG_PLAN; lie <= WRONG_PROFILE; lie++) {
		start_decoder(f, lie);
		write_packet(f, f->context.next_sequence, 0);
		refused(f, YETT_E_PROTOCOL, YETT_R_NOT_CANONICAL);
		assert_non_null(strstr(f->error.message, "is not the signed message"));
	}
	start_decoder(f, REFUSES);
	write_packet(f, f->context.next_sequence, 0);
	refused(f, YETT_E_PROTOCOL, YETT_R_MALFORMED);
}

WITH_FIXTURE(without_a_decoder_nothing_is_verified)
{
	assert_int_equal(kill(f->decoder.program.pid, SIGKILL), 0);
	write_packet(f, 1, 0);
	assert_true(verify(f) < 0);
	assert_int_equal(f->error.code, YETT_E_HELPER_UNAVAILABLE);
}

/* --- keys of the user's own --- */

/* The user that the test runs as, with a home of the test's. */
static void be_user(struct fixture *f, const uint8_t *key, mode_t mode)
{
	struct peer *peer = &f->decide.peer;
	char path[sizeof f->directory + 40];

	set_policy(f, GRANT_OWN);
	peer->uid = geteuid();
	peer->gid = getegid();
	peer->groups_count = 0;
	start_monitor(f, READS_HONESTLY);
	(void)snprintf(path, sizeof path, "rm -f '%s/keys/laptop.pub'", f->directory);
	assert_int_equal(system(path), 0);
	(void)snprintf(path, sizeof path, "%s/.config", f->directory);
	(void)mkdir(path, 0700);
	strcat(path, "/yett");
	(void)mkdir(path, 0700);
	strcat(path, "/authorized_keys");
	if (key)
		write_key(path, key, mode);
}

WITH_FIXTURE(a_key_of_the_users_own_counts_where_a_grant_says_so)
{
	be_user(f, f->public, 0600);
	write_packet(f, 1, 0);
	accepted(f);
	assert_int_equal(f->verified.key_source, KEY_OF_USER);
	assert_string_equal(f->verified.principal, "");
	assert_false(f->verified.is_first_key);
	set_policy(f, GRANT);
	write_packet(f, 2, 0);
	assert_true(verify(f) > 0);
}

WITH_FIXTURE(anothers_key_is_none_of_the_users)
{
	static const uint8_t other[ENVELOPE_KEY_SIZE] = {1};

	be_user(f, other, 0600);
	write_packet(f, 1, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	f->decide.request.body.create.plan_only =
		true; /* not even for a plan: some key is enrolled */
	write_packet(f, 2, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
}

WITH_FIXTURE(a_file_that_others_can_write_enrolls_nobody)
{
	be_user(f, f->public, 0620);
	write_packet(f, 1, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	assert_non_null(strstr(f->error.message, "others can write"));
}

WITH_FIXTURE(where_no_key_is_enrolled_one_is_good_for_a_plan_alone)
{
	be_user(f, NULL, 0);
	write_packet(f, 1, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	f->decide.request.body.create.plan_only = true;
	write_packet(f, 2, 0);
	accepted(f);
	assert_true(f->verified.is_first_key);
	f->decide.request.kind = MESSAGE_MANAGE;
	f->decide.request.body.manage = (struct message_manage){.action = MANAGE_LIST};
	write_packet(f, 3, 0);
	refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
}

WITH_FIXTURE(a_reader_that_lies_about_its_form_is_not_believed)
{
	uint64_t sequence = 1;

	be_user(f, f->public, 0600);
	for (enum reading how = READS_TOO_LITTLE; how < READS_NAMES_WITHOUT_END; how++) {
		start_monitor(f, how);
		write_packet(f, sequence++, 0);
		refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
		assert_non_null(strstr(f->error.message, "cannot be read"));
		/* The next one is asked, and there is none. */
		assert_true(has_reader_ended(f));
		write_packet(f, sequence++, 0);
		refused(f, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
		assert_non_null(strstr(f->error.message, strerror(ENOENT)));
	}
	start_monitor(f, READS_NAMES_WITHOUT_END);
	write_packet(f, sequence, 0);
	accepted(f);
	assert_int_equal(strlen(f->decide.peer.names.user), PEER_NAME_MAX);
	assert_int_equal(strlen(f->decide.peer.names.home), PEER_HOME_MAX);
	assert_int_equal(strlen(f->decide.peer.names.shell), sizeof f->decide.peer.names.shell - 1);
}

WITH_FIXTURE(names_that_were_asked_for_ahead_are_taken_with_the_first_request)
{
	start_monitor(f, READS_NAMES_ONCE);
	write_packet(f, 1, 0); /* by a key that the administrator enrolled */
	accepted(f);
	assert_int_equal(strlen(f->decide.peer.names.group), PEER_NAME_MAX);
	assert_true(has_reader_ended(f)); /* nothing more is wanted of it */
}

TEST_MAIN(NULL, NULL)
