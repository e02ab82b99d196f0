/* See serve.h. */
#include "programs/audit/serve.h"
#include "programs/audit/book.h"
#include "programs/audit/copy.h"
#include "programs/audit/entry.h"
#include "programs/audit/follow.h"
#include "programs/audit/tally.h"
#include "programs/decider/refuse_plan.h"
#include "protocol/frame.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define LEAVE_MS 1000
#define REST_MS  20 /* quiet time after which records that no client waits for are written, too */

struct connection {
	int fd;     /* -1: unused */
	bool waits; /* its record is collected; the answer follows the commit */
	int32_t answer;
};

static struct {
	struct book book;
	struct tally tally;
	struct connection connections[SERVE_CONNECTIONS_MAX];
	struct follows followed;
	struct entry entry;
	struct plan plan;
	union {
		struct egress_rules rules;
		uint8_t room[EGRESS_RULES_SIZE_MAX];
	} rules;
	struct frame frame;
	uint64_t minute_ends_ms;
	/* a client waits until a collected record is on disk before it goes on */
	bool is_awaited;
	/*
	 * other records are collected; they wait for the next commit, because each commit costs
	 * time
	 */
	bool has_more;
	uint64_t more_ms; /* when the first of those was collected */
	uid_t own_uid;
} serve;

int serve_begin(const struct serve_options *options)
{
	int r;

	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		serve.connections[i].fd = -1;
	if (book_begin(&serve.book, options->max_bytes) < 0)
		return -ENOMEM;
	r = open_files(options->directory, serve.book.segment_bytes, &serve.book.files);
	if (r < 0) {
		copy_say(COPY_ERROR, "the files in %s cannot be opened: %s", options->directory,
		         strerror(-r));
		serve.book.error = r;
	}
	return 0;
}

/* Sends the answer and closes the connection. The client may be gone. */
static void answer(struct connection *connection, int32_t error)
{
	(void)!send(connection->fd, &error, sizeof error, MSG_DONTWAIT | MSG_NOSIGNAL);
	connection->fd = fd_close(connection->fd);
	connection->waits = false;
}

static int commit(void)
{
	int r = book_commit(&serve.book);

	follow_settle(&serve.followed, r == 0);
	serve.is_awaited = serve.has_more = false;
	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].waits)
			answer(&serve.connections[i], serve.connections[i].answer ?: -r);
	return r;
}

static void note_more(void)
{
	if (!serve.has_more)
		serve.more_ms = book_now_ms();
	serve.has_more = true;
}

/* Begins a record. Commits first if the batch is full. */
static int start(const char *event, struct json **ret_json)
{
	int r = book_open(&serve.book);

	if (r == 0)
		r = book_start(&serve.book, event, ret_json);
	if (r == -ENOBUFS) {
		r = commit();
		if (r == 0)
			r = book_start(&serve.book, event, ret_json);
	}
	return r;
}

static void copy_last(void)
{
	size_t length;
	const char *line = book_last(&serve.book, &length);

	copy_line(line, length);
}

/*
 * Records how many refusals or events of a user got no record of their own, and resets the counter.
 * Does nothing if it is 0.
 */
static int add_count(const struct tally_row *row, const char *of, uint64_t *count)
{
	struct json *json;
	int r = *count > 0 ? start("merged", &json) : 0;

	if (r < 0 || *count == 0)
		return r;
	json_open(json, "user", '{');
	json_number(json, "uid", row->uid);
	json_close(json);
	json_text(json, "of", of);
	json_number(json, "count", *count);
	if (count == &row->merged) {
		json_number(json, "first_boot_ms", row->first_ms);
		json_number(json, "last_boot_ms", row->last_ms);
	}
	r = book_end(&serve.book);
	if (r == 0) {
		copy_last();
		*count = 0;
	}
	return r;
}

static int add_merged(struct tally_row *row)
{
	int r = add_count(row, "refused", &row->merged);

	return r == 0 ? add_count(row, "happened", &row->dropped) : r;
}

/* Counters that cannot be recorded now stay for the next minute. */
static void end_minute(void)
{
	struct tally_row *row = NULL;

	while ((row = tally_merged(&serve.tally, row ? (size_t)(row - serve.tally.rows) + 1 : 0)))
		(void)!add_merged(row);
	(void)!commit();
	tally_minute(&serve.tally);
	if (serve.book.files.state >= 0)
		(void)!slots_keep(serve.book.files.state, &serve.tally, tally_size(&serve.tally));
}

/*
 * Restores the quota counters of the previous process: a process lasts for one or two segments, but
 * a user's day is longer.
 */
static void go_on_with_tally(uint64_t max_bytes)
{
	ssize_t n = serve.book.files.state < 0
	                    ? -ENOENT
	                    : slots_kept(serve.book.files.state, &serve.tally, sizeof serve.tally);

	tally_go_on(&serve.tally, n < 0 ? 0 : (size_t)n, max_bytes, book_now_ms());
}

static struct tally_row *find_row(uid_t uid, uint64_t now_ms)
{
	struct tally_row *row = tally_find(&serve.tally, uid, now_ms), *merged;

	/* Every row that could be reused still has unrecorded counters: record those first. */
	while (!row && (merged = tally_merged(&serve.tally, 0)) && add_merged(merged) == 0)
		row = tally_find(&serve.tally, uid, now_ms);
	return row;
}

/*
 * Takes over root's descriptors, whose meaning depends on the record. Returns false if one is not
 * what it must be.
 */
static bool take_descriptors(struct entry *entry, struct frame *frame)
{
	const struct audit_record *record = &entry->record;
	bool has_plan = record->kind == AUDIT_CREATE ||
	                (record->kind == AUDIT_ACT && record->action == MANAGE_MOUNT);
	bool has_rules = record->kind == AUDIT_CREATE ||
	                 (record->kind == AUDIT_ACT && record->action == MANAGE_NETWORK);
	size_t next = 0;

	if (has_plan && next < frame->fd_count) {
		if (!entry_read_plan(frame->fds[next++], &serve.plan))
			return false;
		entry->plan = &serve.plan;
	}
	if (record->kind == AUDIT_FAILED && next < frame->fd_count) {
		if (!entry_read_plan(frame->fds[next++], &serve.plan))
			return false;
		refuse_plan_complete(&serve.plan, &entry->record.error);
	}
	if (has_rules && next < frame->fd_count) {
		if (!entry_read_rules(frame->fds[next++], &serve.rules.rules, sizeof serve.rules))
			return false;
		entry->rules = &serve.rules.rules;
	}
	if (record->kind == AUDIT_POLICY && next < frame->fd_count &&
	    !entry_hash_file(frame->fds[next++], entry->policy))
		return false;
	return next == frame->fd_count && (record->kind != AUDIT_CREATE || entry->plan);
}

/* Collects the record, in full or short. Returns 0 and its size, or -errno. */
static int collect_as(const struct entry *entry, bool is_short, size_t *ret_length)
{
	struct json *json;
	int r = start(entry_event(entry->record.kind), &json);

	if (r < 0)
		return r;
	entry_put(json, entry, is_short);
	r = book_end(&serve.book);
	if (r == 0)
		(void)book_last(&serve.book, ret_length);
	return r;
}

/*
 * Collects the record, in short form if it does not fit into a line. A creation is also recorded in
 * short form if the user's quota has no room for the full form, since the short form has a second
 * quota. Other kinds fail with -EDQUOT then.
 */
static int collect(const struct entry *entry, struct tally_row *row)
{
	enum audit_kind kind = entry->record.kind;
	size_t length;
	int r = collect_as(entry, false, &length);

	if (r == -EMSGSIZE)
		r = collect_as(entry, true, &length);
	/*
	 * Ends and failures are always recorded: there are no more of them than recorded creations.
	 */
	if (r < 0 || !row || tally_take(&serve.tally, row, length, false) || kind == AUDIT_ENDED ||
	    kind == AUDIT_FAILED) {
		if (r == 0)
			copy_last();
		return r;
	}
	book_take_back(&serve.book);
	if (kind != AUDIT_CREATE)
		return -EDQUOT;
	r = collect_as(entry, true, &length);
	if (r < 0)
		return r;
	if (!tally_take(&serve.tally, row, length, true)) {
		book_take_back(&serve.book);
		return -EDQUOT;
	}
	copy_last();
	return 0;
}

/*
 * Ends the record that was begun, which also reports the events lost before it. If it cannot be
 * written, counts its event as lost. If the user's quota is used up, counts both as dropped.
 */
static void collect_of(struct follow *follow, struct tally_row *row)
{
	size_t length;

	if (book_end(&serve.book) < 0) {
		follow->lost++;
		return;
	}
	(void)book_last(&serve.book, &length);
	note_more();
	if (tally_take_event(&serve.tally, row, length)) {
		follow->collected += 1 + follow->lost;
	} else {
		book_take_back(&serve.book);
		row->dropped += 1 + follow->lost;
	}
	follow->lost = 0;
}

/* Records that yett-audit follows the sandbox, or how many events were lost at its end. */
static void collect_followed(struct follow *follow)
{
	struct tally_row *row = find_row(follow->uid, book_now_ms());
	struct json *json;

	if (!row || start(entry_event(AUDIT_FOLLOW), &json) < 0)
		return;
	entry_put_followed(json, follow);
	collect_of(follow, row);
}

/*
 * Records an event of a sandbox. An event that cannot be written is counted, and the next record
 * reports the count.
 */
static void collect_happening(struct follow *follow, const struct happening *happening)
{
	struct tally_row *row;
	struct json *json;

	if (happening->event.kind == EVENT_ENDED && follow->lost > 0)
		collect_followed(follow);
	if (!(follow_kind(happening->event.kind) & follow->recorded))
		return;
	row = find_row(follow->uid, book_now_ms());
	if (!row || start(entry_happened_event(happening->event.kind), &json) < 0) {
		follow->lost++;
		return;
	}
	entry_put_happened(json, follow, happening);
	collect_of(follow, row);
}

/* Receives at most `most` events of a sandbox. Returns whether there were any. */
static bool receive_happenings(struct follow *follow, size_t most)
{
	static struct happening happening;
	size_t i = 0;

	for (; i < most && follow->fd >= 0 && follow_receive(follow, &happening); i++)
		collect_happening(follow, &happening);
	return i > 0;
}

/*
 * Handles AUDIT_FOLLOW. Returns 1, or -errno. If events happened before, a previous process may or
 * may not have recorded them, so record the number of the last event.
 */
static int hear_follow(struct frame *frame)
{
	struct follow *follow;

	if (frame->fd_count != 1)
		return -EBADMSG;
	follow = follow_add(&serve.followed, &serve.entry.record, &frame->fds[0]);
	if (!follow) {
		copy_say(COPY_WARNING,
		         "sandbox %s is not recorded: %d are already, or %d of its user",
		         serve.entry.record.id, FOLLOW_MAX, FOLLOW_USER_MAX);
		return -EUSERS;
	}
	if (follow->number > 0)
		collect_followed(follow);
	return 1;
}

/*
 * Handles a request. Returns 0: collected; 1: counted, and recorded later with others; or -errno.
 */
static int hear(struct frame *frame)
{
	struct entry *entry = &serve.entry;
	struct tally_row *row = NULL;
	struct follow *ended;
	uint64_t now_ms = book_now_ms();

	*entry = (struct entry){0};
	if (frame->length != sizeof entry->record)
		return -EBADMSG;
	memcpy(&entry->record, frame->bytes, sizeof entry->record);
	entry_sanitize(&entry->record);
	if (entry->record.kind == AUDIT_FOLLOW)
		return hear_follow(frame);
	/* Events before the end are recorded before the end. */
	if (entry->record.kind == AUDIT_ENDED &&
	    (ended = follow_find(&serve.followed, entry->record.sandbox.id)))
		(void)receive_happenings(ended, SIZE_MAX);
	if (!entry_event(entry->record.kind) || !take_descriptors(entry, frame))
		return -EBADMSG;
	if (entry_uid(&entry->record) != (uid_t)-1) {
		row = find_row(entry_uid(&entry->record), now_ms);
		if (!row)
			return -ENOSPC;
		if (entry->record.kind == AUDIT_REFUSED && !tally_refused(row, now_ms))
			return 1;
	}
	return collect(entry, row);
}

/* Receives what arrived on a connection. Returns false if nothing did. */
static bool receive(struct connection *connection)
{
	int r = frame_receive(connection->fd, &serve.frame, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return false;
	if (r <= 0) {
		if (r == 0)
			connection->fd = fd_close(connection->fd);
		else
			answer(connection, -r);
		return true;
	}
	r = hear(&serve.frame);
	frame_close_fds(&serve.frame);
	if (r > 0) {
		answer(connection, 0);
		return true;
	}
	if (r < 0 || serve.entry.record.kind == AUDIT_CREATE ||
	    serve.entry.record.kind == AUDIT_ACT)
		serve.is_awaited = true;
	else
		note_more();
	connection->answer = -r;
	/* even if no client waits for the disk: all answers are sent after the commit */
	connection->waits = true;
	return true;
}

/* Whether the peer is root, or the user that runs this program, as in tests. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == serve.own_uid);
}

/*
 * Accepts a connection. Returns whether there was one. If all places are taken by clients that send
 * nothing, others stay in the listen queue.
 */
static bool accept_one(int listening)
{
	size_t i = 0;
	int fd;

	while (i < SERVE_CONNECTIONS_MAX && serve.connections[i].fd >= 0)
		i++;
	if (i == SERVE_CONNECTIONS_MAX)
		return false;
	fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	if (!is_trusted(fd)) {
		(void)close(fd);
		return true;
	}
	serve.connections[i] = (struct connection){.fd = fd};
	(void)receive(&serve.connections[i]);
	return true;
}

static bool receive_all(void)
{
	bool took = false;

	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].fd >= 0 && !serve.connections[i].waits)
			took |= receive(&serve.connections[i]);
	return took;
}

static bool receive_followed(size_t most)
{
	bool took = false;

	for (size_t i = 0; i < serve.followed.end; i++)
		if (serve.followed.table[i].fd >= 0)
			took |= receive_happenings(&serve.followed.table[i], most);
	return took;
}

/*
 * Receives everything that arrived, and commits when necessary. Returns whether anything arrived.
 */
static bool take_all(int listening)
{
	bool took = receive_all() | receive_followed(FOLLOW_EACH_MAX);

	while (accept_one(listening))
		took = true;
	if (serve.is_awaited || !took ||
	    (serve.has_more && book_now_ms() - serve.more_ms >= REST_MS))
		(void)!commit();
	return took;
}

/* Waits until something arrives or the minute ends. Returns whether the listener has exited. */
static bool wait_for(const struct serve_options *options, bool accepts)
{
	static struct pollfd fds[2 + SERVE_CONNECTIONS_MAX + FOLLOW_MAX];
	nfds_t count = 2;

	fds[0] = (struct pollfd){options->listener, 0, 0};
	fds[1] = (struct pollfd){options->listening, POLLIN, 0};
	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].fd >= 0 && !serve.connections[i].waits)
			fds[count++] = (struct pollfd){serve.connections[i].fd, POLLIN, 0};
	if (!accepts || count == 2 + SERVE_CONNECTIONS_MAX)
		fds[1].fd = -1;
	if (accepts)
		count += follow_poll(&serve.followed, fds + count);
	(void)poll(fds, count,
	           !accepts         ? LEAVE_MS
	           : serve.has_more ? REST_MS
	                            : book_timeout_ms(&serve.book));
	return fds[0].revents & (POLLHUP | POLLERR);
}

static bool has_connections(void)
{
	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].fd >= 0)
			return true;
	return false;
}

/* Serves the existing connections to their end. New ones stay in the queue for the next process. */
static void leave(const struct serve_options *options)
{
	uint64_t end_ms = book_now_ms() + LEAVE_MS;

	while (has_connections() && book_now_ms() < end_ms) {
		(void)wait_for(options, false);
		(void)receive_all();
		(void)commit();
	}
}

/*
 * Receives the events that were already sent. Supervisors then connect to the next process, which
 * can tell by the numbers whether any are missing.
 */
static void end_followed(void)
{
	follow_shut(&serve.followed);
	(void)receive_followed(SIZE_MAX);
	(void)commit();
}

/*
 * Waits a while before exiting, because the listener treats a process that exits at once as broken.
 */
static bool has_to_leave(uint64_t started_ms)
{
	uint64_t now_ms = book_now_ms();

	return (serve.book.wants_end && now_ms - started_ms >= LEAVE_MS) ||
	       (!serve.book.is_open && now_ms - started_ms >= SERVE_TROUBLE_MS);
}

void serve_run(const struct serve_options *options)
{
	uint64_t started_ms = book_now_ms();
	bool has_ended = false;

	memcpy(serve.book.host, options->host, sizeof serve.book.host);
	serve.own_uid = options->uid;
	go_on_with_tally(options->user_bytes);
	(void)!book_open(&serve.book);
	serve.minute_ends_ms = book_now_ms() + BOOK_EPOCH_MS;
	while (!has_ended && !has_to_leave(started_ms)) {
		has_ended = wait_for(options, true);
		(void)take_all(options->listening);
		if (book_now_ms() >= serve.minute_ends_ms) {
			end_minute();
			serve.minute_ends_ms = book_now_ms() + BOOK_EPOCH_MS;
		}
		book_settle(&serve.book);
		book_tick(&serve.book);
		(void)!book_open(&serve.book);
	}
	if (!has_ended)
		leave(options);
	while (has_ended && take_all(options->listening))
		;
	end_followed();
	end_minute();
}
