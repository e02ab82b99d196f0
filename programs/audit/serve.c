/* SPDX-License-Identifier: Apache-2.0 */
/* See serve.h. */
#include "programs/audit/serve.h"
#include "programs/audit/log_writer.h"
#include "programs/audit/copy.h"
#include "programs/audit/entry.h"
#include "programs/audit/follow.h"
#include "programs/audit/quota.h"
#include "programs/decide/decider/refuse_plan.h"
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
	struct writer writer;
	struct quota quota;
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
	if (writer_begin(&serve.writer, options->max_bytes) < 0)
		return -ENOMEM;
	r = open_files(options->directory, serve.writer.segment_bytes, &serve.writer.files);
	if (r < 0) {
		copy_say(COPY_ERROR, "the files in %s cannot be opened: %s", options->directory,
		         strerror(-r));
		serve.writer.error = r;
	}
	return 0;
}

/* Sends the answer and closes the connection. The client may be gone. */
static void audit_serve_answer(struct connection *connection, int32_t error)
{
	(void)!send(connection->fd, &error, sizeof error, MSG_DONTWAIT | MSG_NOSIGNAL);
	connection->fd = fd_close(connection->fd);
	connection->waits = false;
}

static int audit_serve_commit(void)
{
	int r = writer_commit(&serve.writer);

	follow_settle(&serve.followed, r == 0);
	serve.is_awaited = serve.has_more = false;
	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].waits)
			audit_serve_answer(&serve.connections[i],
			                   serve.connections[i].answer ?: -r);
	return r;
}

static void note_more(void)
{
	if (!serve.has_more)
		serve.more_ms = writer_now_ms();
	serve.has_more = true;
}

/* Begins a record. Commits first if the batch is full. */
static int audit_serve_start(const char *event, struct json **ret_json)
{
	int r = writer_open(&serve.writer);

	if (r == 0)
		r = writer_start(&serve.writer, event, ret_json);
	if (r == -ENOBUFS) {
		r = audit_serve_commit();
		if (r == 0)
			r = writer_start(&serve.writer, event, ret_json);
	}
	return r;
}

static void copy_last(void)
{
	size_t length;
	const char *line = writer_last(&serve.writer, &length);

	copy_line(line, length);
}

/*
 * Records how many refusals or events of a user got no record of their own, and resets the counter.
 * Does nothing if it is 0.
 */
static int add_count(const struct quota_row *row, const char *of, uint64_t *count)
{
	struct json *json;
	int r = *count > 0 ? audit_serve_start("merged", &json) : 0;

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
	r = writer_end(&serve.writer);
	if (r == 0) {
		copy_last();
		*count = 0;
	}
	return r;
}

static int add_merged(struct quota_row *row)
{
	int r = add_count(row, "refused", &row->merged);

	return r == 0 ? add_count(row, "happened", &row->dropped) : r;
}

/* Counters that cannot be recorded now stay for the next minute. */
static void end_minute(void)
{
	struct quota_row *row = NULL;

	while ((row = quota_merged(&serve.quota, row ? (size_t)(row - serve.quota.rows) + 1 : 0)))
		(void)!add_merged(row);
	(void)!audit_serve_commit();
	quota_minute(&serve.quota);
	if (serve.writer.files.state >= 0)
		(void)!slots_keep(serve.writer.files.state, &serve.quota, quota_size(&serve.quota));
}

/*
 * Restores the quota counters of the previous process: a process lasts for one or two segments, but
 * a user's day is longer.
 */
static void go_on_with_quota(uint64_t max_bytes)
{
	ssize_t n = serve.writer.files.state < 0 ? -ENOENT
	                                         : slots_kept(serve.writer.files.state,
	                                                      &serve.quota, sizeof serve.quota);

	quota_go_on(&serve.quota, n < 0 ? 0 : (size_t)n, max_bytes, writer_now_ms());
}

static struct quota_row *find_row(uid_t uid, uint64_t now_ms)
{
	struct quota_row *row = quota_find(&serve.quota, uid, now_ms), *merged;

	/* Every row that could be reused still has unrecorded counters: record those first. */
	while (!row && (merged = quota_merged(&serve.quota, 0)) && add_merged(merged) == 0)
		row = quota_find(&serve.quota, uid, now_ms);
	return row;
}

/*
 * Takes over root's descriptors, whose meaning depends on the record. Returns false if one is not
 * what it must be.
 */
static bool audit_serve_take_descriptors(struct entry *entry, struct frame *frame)
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
	int r = audit_serve_start(entry_event(entry->record.kind), &json);

	if (r < 0)
		return r;
	entry_put(json, entry, is_short);
	r = writer_end(&serve.writer);
	if (r == 0)
		(void)writer_last(&serve.writer, ret_length);
	return r;
}

/*
 * Collects the record, in short form if it does not fit into a line. A creation is also recorded in
 * short form if the user's quota has no room for the full form, since the short form has a second
 * quota. Other kinds fail with -EDQUOT then.
 */
static int audit_serve_collect(const struct entry *entry, struct quota_row *row)
{
	enum audit_kind kind = entry->record.kind;
	size_t length;
	int r = collect_as(entry, false, &length);

	if (r == -EMSGSIZE)
		r = collect_as(entry, true, &length);
	/*
	 * Ends and failures are always recorded: there are no more of them than recorded creations.
	 */
	if (r < 0 || !row || quota_take(&serve.quota, row, length, false) || kind == AUDIT_ENDED ||
	    kind == AUDIT_FAILED) {
		if (r == 0)
			copy_last();
		return r;
	}
	writer_take_back(&serve.writer);
	if (kind != AUDIT_CREATE)
		return -EDQUOT;
	r = collect_as(entry, true, &length);
	if (r < 0)
		return r;
	if (!quota_take(&serve.quota, row, length, true)) {
		writer_take_back(&serve.writer);
		return -EDQUOT;
	}
	copy_last();
	return 0;
}

/*
 * Ends the record that was begun, which also reports the events lost before it. If it cannot be
 * written, counts its event as lost. If the user's quota is used up, counts both as dropped.
 */
static void collect_of(struct follow *follow, struct quota_row *row)
{
	size_t length;

	if (writer_end(&serve.writer) < 0) {
		follow->lost++;
		return;
	}
	(void)writer_last(&serve.writer, &length);
	note_more();
	if (quota_take_event(&serve.quota, row, length)) {
		follow->collected += 1 + follow->lost;
	} else {
		writer_take_back(&serve.writer);
		row->dropped += 1 + follow->lost;
	}
	follow->lost = 0;
}

/* Records that yett-audit follows the sandbox, or how many events were lost at its end. */
static void collect_followed(struct follow *follow)
{
	struct quota_row *row = find_row(follow->uid, writer_now_ms());
	struct json *json;

	if (!row || audit_serve_start(entry_event(AUDIT_FOLLOW), &json) < 0)
		return;
	entry_put_followed(json, follow);
	collect_of(follow, row);
}

/*
 * Records an event of a sandbox. An event that cannot be written is counted, and the next record
 * reports the count.
 */
static void collect_live_event(struct follow *follow, const struct live_event *live_event)
{
	struct quota_row *row;
	struct json *json;

	if (live_event->event.kind == EVENT_ENDED && follow->lost > 0)
		collect_followed(follow);
	if (!(follow_kind(live_event->event.kind) & follow->recorded))
		return;
	row = find_row(follow->uid, writer_now_ms());
	if (!row || audit_serve_start(entry_happened_event(live_event->event.kind), &json) < 0) {
		follow->lost++;
		return;
	}
	entry_put_happened(json, follow, live_event);
	collect_of(follow, row);
}

/* Receives at most `most` events of a sandbox. Returns whether there were any. */
static bool receive_live_event(struct follow *follow, size_t most)
{
	static struct live_event live_event;
	size_t i = 0;

	for (; i < most && follow->fd >= 0 && follow_receive(follow, &live_event); i++)
		collect_live_event(follow, &live_event);
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
static int audit_serve_hear(struct frame *frame)
{
	struct entry *entry = &serve.entry;
	struct quota_row *row = NULL;
	struct follow *ended;
	uint64_t now_ms = writer_now_ms();

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
		(void)receive_live_event(ended, SIZE_MAX);
	if (!entry_event(entry->record.kind) || !audit_serve_take_descriptors(entry, frame))
		return -EBADMSG;
	if (entry_uid(&entry->record) != (uid_t)-1) {
		row = find_row(entry_uid(&entry->record), now_ms);
		if (!row)
			return -ENOSPC;
		if (entry->record.kind == AUDIT_REFUSED && !quota_refused(row, now_ms))
			return 1;
	}
	return audit_serve_collect(entry, row);
}

/* Receives what arrived on a connection. Returns false if nothing did. */
static bool audit_serve_receive(struct connection *connection)
{
	int r = frame_receive(connection->fd, &serve.frame, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return false;
	if (r <= 0) {
		if (r == 0)
			connection->fd = fd_close(connection->fd);
		else
			audit_serve_answer(connection, -r);
		return true;
	}
	r = audit_serve_hear(&serve.frame);
	frame_close_fds(&serve.frame);
	if (r > 0) {
		audit_serve_answer(connection, 0);
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
static bool audit_serve_accept_one(int listening)
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
	(void)audit_serve_receive(&serve.connections[i]);
	return true;
}

static bool receive_all(void)
{
	bool took = false;

	for (size_t i = 0; i < SERVE_CONNECTIONS_MAX; i++)
		if (serve.connections[i].fd >= 0 && !serve.connections[i].waits)
			took |= audit_serve_receive(&serve.connections[i]);
	return took;
}

static bool receive_followed(size_t most)
{
	bool took = false;

	for (size_t i = 0; i < serve.followed.end; i++)
		if (serve.followed.table[i].fd >= 0)
			took |= receive_live_event(&serve.followed.table[i], most);
	return took;
}

/*
 * Receives everything that arrived, and commits when necessary. Returns whether anything arrived.
 */
static bool take_all(int listening)
{
	bool took = receive_all() | receive_followed(FOLLOW_EACH_MAX);

	while (audit_serve_accept_one(listening))
		took = true;
	if (serve.is_awaited || !took ||
	    (serve.has_more && writer_now_ms() - serve.more_ms >= REST_MS))
		(void)!audit_serve_commit();
	return took;
}

/* Waits until something arrives or the minute ends. Returns whether the listener has exited. */
static bool audit_serve_wait_for(const struct serve_options *options, bool accepts)
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
	                            : writer_timeout_ms(&serve.writer));
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
static void audit_serve_leave(const struct serve_options *options)
{
	uint64_t end_ms = writer_now_ms() + LEAVE_MS;

	while (has_connections() && writer_now_ms() < end_ms) {
		(void)audit_serve_wait_for(options, false);
		(void)receive_all();
		(void)audit_serve_commit();
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
	(void)audit_serve_commit();
}

/*
 * Waits a while before exiting, because the listener treats a process that exits at once as broken.
 */
static bool has_to_leave(uint64_t started_ms)
{
	uint64_t now_ms = writer_now_ms();

	return (serve.writer.wants_end && now_ms - started_ms >= LEAVE_MS) ||
	       (!serve.writer.is_open && now_ms - started_ms >= SERVE_TROUBLE_MS);
}

void serve_run(const struct serve_options *options)
{
	uint64_t started_ms = writer_now_ms();
	bool has_ended = false;

	memcpy(serve.writer.host, options->host, sizeof serve.writer.host);
	serve.own_uid = options->uid;
	go_on_with_quota(options->user_bytes);
	(void)!writer_open(&serve.writer);
	serve.minute_ends_ms = writer_now_ms() + WRITER_EPOCH_MS;
	while (!has_ended && !has_to_leave(started_ms)) {
		has_ended = audit_serve_wait_for(options, true);
		(void)take_all(options->listening);
		if (writer_now_ms() >= serve.minute_ends_ms) {
			end_minute();
			serve.minute_ends_ms = writer_now_ms() + WRITER_EPOCH_MS;
		}
		writer_settle(&serve.writer);
		writer_tick(&serve.writer);
		(void)!writer_open(&serve.writer);
	}
	if (!has_ended)
		audit_serve_leave(options);
	while (has_ended && take_all(options->listening))
		;
	end_followed();
	end_minute();
}
