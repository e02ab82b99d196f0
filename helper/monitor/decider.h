/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the monitor and yett-decider: what the decider gets, what it may request,
 * and the answers.
 *
 * yett-decider receives the client's requests, verifies and authorizes them and makes plans,
 * without privilege. For everything that takes privilege it sends the monitor one act at a time.
 * The table in monitor.c has a row for each act, which says what the monitor checks. A compromised
 * decider can do no more than these rows allow, and only for its own client, whose ids come from
 * the kernel. SECURITY.md describes what such a decider can do.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/key_line.h"
#include "helper/supervisor/supervisor.h"

/* The resources of a helper without root. */
struct means {
	bool has_cgroup;      /* a cgroup that was delegated to the user */
	unsigned controllers; /* of that cgroup: enum cgroup_controller bits */
	/* The host uses SELinux, whose labels only root can set. */
	bool misses_label;
	/*
	 * Crashes in the sandbox reach the host's core dump handler: only an RLIMIT_CORE of 1
	 * prevents that, and the hard limit is 0. core(5)
	 */
	bool leaves_cores;
};

/*
 * Monitor → decider, once, with the client's connection and, if yett-reader runs, the socket of
 * ACT_READER. The decider has had the policy's image since its start. Later the monitor may send a
 * struct yett_error that answers no request: the decider then sends this error to the client and
 * ends the connection.
 */
struct decider_begin {
	/*
	 * Code 0: serve the client. Otherwise the decider sends the client this error, and nothing
	 * follows.
	 */
	struct yett_error refused;
	struct peer peer;
	/* Why no sandbox can be built; code 0: sandboxes can be built. */
	struct yett_error no_host;
	struct means means;
	/* `means` is valid, and is all that the helper can provide. */
	bool is_rootless;
	bool by_port; /* as in struct setup_host */
};

/*
 * Decider → monitor: the number of the act, then the data named here. The monitor answers all of
 * them but TAKEN, STREAMS, LOG, RULES and REFUSED.
 */
enum decider_act {
	ACT_KEY = 1, /* struct decider_key */
	ACT_CREATE,  /* struct plan, only its used parts */
	ACT_ASK,     /* struct supervisor_request */
	ACT_RECORDS, /* struct decider_records */
	ACT_TOTALS,
	/* The supervisor that takes the client's packet has answered. */
	ACT_TAKEN,
	/* The connection has ended, but some of its event streams go on. */
	ACT_STREAMS,
	/* Discard the client's next packet, which has descriptors. */
	ACT_DROP,
	/* A supervisor exited without a notice. */
	ACT_LOST,
	ACT_LOG, /* a number of enum log_level and a text */
	/*
	 * Bytes to append to those of the last ACT_RULES: a struct egress_rules, for the network of
	 * the next CREATE or ASK.
	 */
	ACT_RULES,
	/* struct plan, only its used parts: carry out its steps in the sandbox with its id. */
	ACT_MOUNT,
	/* struct yett_error: the error that the client was sent. */
	ACT_REFUSED,
	ACT_READER, /* start yett-reader, or start it again */
	ACTS
};

/* Asks who enrolled the key. */
struct decider_key {
	char line[KEY_LINE_LENGTH];
	/*
	 * A key in the peer's own authorized_keys counts, too: then the decider asks yett-reader.
	 */
	bool may_be_own;
	/* As yett-reader reports it: for the audit. */
	char program[PLAN_PROGRAM_SIZE - 1];
};

struct decider_records {
	/* Include the sandboxes of other users. */
	bool of_all;
	/* Fill in `usage`; otherwise it stays empty. */
	bool with_usage;
	/* Only the sandbox with this id; empty: all. */
	char id[PLAN_ID_SIZE];
};

struct decider_record {
	struct record record;
	struct cgroup_usage usage;
};

enum decider_key_source { DECIDER_KEY_UNKNOWN, DECIDER_KEY_ENROLLED, DECIDER_KEY_OWN };

/*
 * Monitor → decider. With the answer to CREATE, ASK and MOUNT comes the supervisor's socket, on
 * which the supervisor sends a supervisor_created and, later, notices. If an ASK needs a channel,
 * the client's end of the channel comes, too. With the answer to RECORDS comes a memfd with `count`
 * records; with the answer to READER a socket to a yett-reader that has become the peer
 * (programs/decide/reader/reader.h), or no descriptor.
 */
struct decider_answer_key {
	uint32_t source;                      /* enum decider_key_source */
	char principal[MESSAGE_NAME_MAX + 1]; /* of DECIDER_KEY_ENROLLED */
};

struct decider_answer {
	struct yett_error error; /* code 0: done */
	/*
	 * The connection has ended; or it must end, because a packet could not be discarded in
	 * time.
	 */
	bool is_over;
	union {
		struct decider_answer_key key;
		char id[PLAN_ID_SIZE]; /* of the new sandbox */
		uint32_t count;        /* of records; of READER: why there is none, an errno */
		struct message_totals totals;
	};
};
