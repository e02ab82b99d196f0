/* SPDX-License-Identifier: Apache-2.0 */
/* See lookup.h. No privilege. */
#include "programs/net/lookup.h"

#include <string.h>
#include <sys/socket.h>

int lookup_socket(const struct lookup *lookup)
{
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++)
		if (lookup->sockets[i] >= 0)
			return lookup->sockets[i];
	return -1;
}

bool lookup_is_waiting(const struct lookup *lookup)
{
	for (size_t i = 0; i < lookup->names_end; i++)
		if (lookup->names[i].state == LOOKUP_WAITING)
			return true;
	return false;
}

/*
 * Finds a slot that nobody needs: free or expired, or, if the cache or all slots are full, the
 * cached name that expires first.
 */
static struct lookup_name *lookup_find_room(struct lookup *lookup, uint64_t now_ms)
{
	struct lookup_name *room = NULL, *oldest = NULL;
	size_t cached = 0;

	for (size_t i = 0; i < lookup->names_end; i++) {
		struct lookup_name *name = &lookup->names[i];

		if (name->state == LOOKUP_KNOWN && name->known_until_ms <= now_ms)
			name->state = LOOKUP_FREE;
		if (name->state == LOOKUP_FREE)
			room = room ? room : name;
		if (name->state != LOOKUP_KNOWN)
			continue;
		cached++;
		if (!oldest || name->known_until_ms < oldest->known_until_ms)
			oldest = name;
	}
	if (oldest && cached >= LOOKUP_CACHED_MAX)
		return oldest;
	if (!room && lookup->names_end < LOOKUP_NAMES_MAX)
		room = &lookup->names[lookup->names_end++];
	return room ? room : oldest;
}

static void learn(struct lookup_name *name, const struct resolver_answer *answer, uint64_t now_ms)
{
	name->answer = *answer;
	name->state = LOOKUP_KNOWN;
	name->known_until_ms = now_ms + (answer->count > 0 ? LOOKUP_CACHED_MS : LOOKUP_FAILED_MS);
}

static void lookup_fail(struct lookup_name *name, uint64_t now_ms)
{
	learn(name, &(struct resolver_answer){.id = name->answer.id, .error = EIO}, now_ms);
}

int lookup_begin(struct lookup *lookup, const char *name, uint64_t now_ms)
{
	struct lookup_name *room;

	for (size_t i = 0; i < lookup->names_end; i++) {
		const struct lookup_name *other = &lookup->names[i];

		if (other->state != LOOKUP_FREE &&
		    (other->state != LOOKUP_KNOWN || other->known_until_ms > now_ms) &&
		    strcmp(other->name, name) == 0)
			return (int)i;
	}
	room = lookup_find_room(lookup, now_ms);
	if (!room)
		return -EAGAIN;
	room->state = LOOKUP_WAITING;
	memcpy(room->name, name, sizeof room->name);
	room->answer.id = ++lookup->last_id;
	lookup_send(lookup, now_ms);
	return (int)(room - lookup->names);
}

static int send_one(int socket, const struct lookup_name *name)
{
	struct resolver_question question = {.id = name->answer.id};

	memcpy(question.name, name->name, sizeof question.name);
	return send(socket, &question, sizeof question, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	                       sizeof question
	               ? 0
	               : -errno;
}

void lookup_send(struct lookup *lookup, uint64_t now_ms)
{
	for (size_t i = 0; i < lookup->names_end; i++) {
		struct lookup_name *name = &lookup->names[i];
		int socket = lookup_socket(lookup), r;

		if (name->state != LOOKUP_WAITING)
			continue;
		if (socket < 0) {
			lookup_fail(name, now_ms);
			continue;
		}
		r = send_one(socket, name);
		/* After an error: retry when there is room. lookup_receive() notices the end. */
		if (r == 0)
			name->state = LOOKUP_ASKED;
		else
			return;
	}
}

/* Closes the resolver's socket, and sends its open questions to the next resolver. */
static void restart(struct lookup *lookup, uint64_t now_ms)
{
	for (size_t i = 0; i < LOOKUP_RESOLVERS; i++)
		if (lookup->sockets[i] >= 0) {
			lookup->sockets[i] = fd_close(lookup->sockets[i]);
			break;
		}
	for (size_t i = 0; i < lookup->names_end; i++)
		if (lookup->names[i].state == LOOKUP_ASKED)
			lookup->names[i].state = LOOKUP_WAITING;
	lookup_send(lookup, now_ms);
}

static bool lookup_is_sound(const struct resolver_answer *answer)
{
	return answer->error >= 0 && (answer->error == 0) == (answer->count > 0) &&
	       answer->count <= RESOLVER_ADDRESSES_MAX;
}

static int find_asked(const struct lookup *lookup, uint32_t id)
{
	for (size_t i = 0; i < lookup->names_end; i++)
		if (lookup->names[i].state == LOOKUP_ASKED && lookup->names[i].answer.id == id)
			return (int)i;
	return -ENOENT;
}

void lookup_receive(struct lookup *lookup, uint64_t now_ms)
{
	struct resolver_answer answer;
	ssize_t n = recv(lookup_socket(lookup), &answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC);
	int i = -ENOENT;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == sizeof answer && lookup_is_sound(&answer))
		i = find_asked(lookup, answer.id);
	if (i >= 0)
		learn(&lookup->names[i], &answer, now_ms);
	else
		restart(lookup, now_ms);
}
