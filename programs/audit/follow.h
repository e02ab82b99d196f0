/*
 * The sandboxes of which it is written down what happens in them: a stream of each, from its
 * supervisor.
 *
 * yett-audit's, without privilege. A stream tells all that happens (helper/supervisor/events.h);
 * what of it is recorded the policy says. Init, the dialer and the supervisor fill it in. A
 * captured init or dialer can report what it likes of its own sandbox: names and rules are checked,
 * and texts are escaped. Events are numbered, so that a missing one shows.
 */
#pragma once

#include "helper/policy/policy.h"
#include "helper/setup/audit.h"
#include "programs/egress/egress.h"
#include "programs/init/argv.h"

#include <poll.h>

#define FOLLOW_MAX      4096
#define FOLLOW_USER_MAX 512 /* of one user: others are to have room, too */
#define FOLLOW_EACH_MAX 32  /* events of one at a time: others have their turn, too */

struct follow {
	int fd; /* -1: none */
	uid_t uid;
	uint32_t recorded; /* enum policy_record */
	uint64_t number;   /* of the last event */
	uint64_t lost; /* events since the last record that never came, or could not be written */
	uint64_t collected; /* records that are collected, and not on disk yet */
	char id[PLAN_ID_SIZE], name[MESSAGE_NAME_MAX + 1];
};

struct follows {
	size_t end; /* behind the last one that is used */
	struct follow table[FOLLOW_MAX];
};

struct happening {
	struct message_happened event;
	union {
		struct egress_told network;
		struct argv argv;
	} more;
	bool has_network, has_argv;
};

/* Takes `fd` over, of the sandbox of a FOLLOW. NULL: there are as many as there may be, of all or
 * of its user. */
struct follow *follow_add(struct follows *follows, const struct audit_record *record, int *fd);

/* That of a sandbox, or NULL. */
struct follow *follow_find(struct follows *follows, const char *id);

/* Adds all of them to fds[0 … FOLLOW_MAX); returns how many. */
size_t follow_poll(struct follows *follows, struct pollfd *fds);

/* The next event: true; false: there is none now, and where the stream has ended, `fd` is -1. */
bool follow_receive(struct follow *follow, struct happening *ret_happening);

/* Nothing more can be sent; what was is there to be received, and then the end. */
void follow_shut(struct follows *follows);

/* What was collected is on disk, or it is lost. */
void follow_settle(struct follows *follows, bool is_on_disk);

/* Which of enum policy_record an event is of; 0: of none. */
uint32_t follow_kind(uint32_t event);
