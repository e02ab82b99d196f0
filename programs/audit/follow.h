/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxes whose events are recorded: one stream for each, from its supervisor. Part of
 * yett-audit; runs without privilege.
 *
 * A stream carries all events of a sandbox (helper/supervisor/events.h); the policy says which of
 * them are recorded. The events come from yett-init, the connector and the supervisor. A
 * compromised init or connector can report anything about its own sandbox, so names and rules are
 * checked and texts are escaped. Events are numbered, so that a missing one is noticed.
 */
#pragma once

#include "helper/policy/policy.h"
#include "helper/setup/audit.h"
#include "programs/net/egress.h"
#include "programs/inside/init/argv.h"

#include <poll.h>

#define FOLLOW_MAX      4096
#define FOLLOW_USER_MAX 512 /* of one user, so that others get room, too */
/* events read from one sandbox in a row, so that others get their turn */
#define FOLLOW_EACH_MAX 32

struct follow {
	int fd; /* -1: unused entry */
	uid_t uid;
	uint32_t recorded; /* enum policy_record */
	uint64_t number;   /* of the last event */
	/* events since the last record that never arrived, or could not be written */
	uint64_t lost;
	uint64_t collected; /* records that are collected but not on disk */
	char id[PLAN_ID_SIZE], name[MESSAGE_NAME_MAX + 1];
};

struct follows {
	size_t end; /* one past the last used entry */
	struct follow table[FOLLOW_MAX];
};

struct live_event {
	struct message_happened event;
	union {
		struct egress_report network;
		struct argv argv;
	} more;
	bool has_network, has_argv;
};

/*
 * Adds the stream `fd` of the sandbox in an AUDIT_FOLLOW record, and takes ownership of it. NULL:
 * the limit of all streams, or of this user's, is reached.
 */
struct follow *follow_add(struct follows *follows, const struct audit_record *record, int *fd);

/* The stream of a sandbox, or NULL. */
struct follow *follow_find(struct follows *follows, const char *id);

/* Adds all streams to fds[0 … FOLLOW_MAX). Returns their number. */
size_t follow_poll(struct follows *follows, struct pollfd *fds);

/*
 * Receives the next event. Returns false if there is none now. If the stream has ended, `fd` is -1
 * then.
 */
bool follow_receive(struct follow *follow, struct live_event *ret_live_event);

/*
 * Shuts the receiving side of all streams down: supervisors can send nothing more, and the events
 * that they already sent can be received, followed by end of file.
 */
void follow_shut(struct follows *follows);

/* Call after a commit: if it failed (is_on_disk false), the collected records count as lost. */
void follow_settle(struct follows *follows, bool is_on_disk);

/* The enum policy_record that an event belongs to. 0: it is not recorded. */
uint32_t follow_kind(uint32_t event);
