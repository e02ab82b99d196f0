/*
 * yett-decider, seen from the monitor: what it is given, what it may ask for, and how it is
 * answered.
 *
 * It hears the client, verifies, authorizes and plans, and has no privilege. Whatever takes some it
 * asks its monitor for, one thing at a time: a row of the table in monitor.c for each, which says
 * what is taken of its word. A captured one can cause for its own client, who is known from the
 * kernel, what these rows let it; SECURITY.md says what that is.
 */
#pragma once

#include "helper/policy/key_line.h"
#include "helper/plan/peer.h"
#include "helper/setup/registry.h"
#include "helper/supervisor/supervisor.h"

/* What a helper without root can give. */
struct means {
	bool has_cgroup;      /* a control group that was delegated to the user */
	unsigned controllers; /* of it: enum cgroup_controller bits */
	bool misses_label;    /* the host uses SELinux, whose labels take root */
	bool leaves_cores;    /* the hard limit of core files is 0, with which the host's handler of
	                         crashes is run. core(5) */
};

/*
 * Monitor → decider, once, with the connection of the client. The policy's image it has had from
 * its start. A struct yett_error that comes later is why the connection is to end.
 */
struct decider_begin {
	struct yett_error refused; /* code 0: it is to be served; else that is all there is to tell
	                              the client, and nothing follows */
	struct peer peer;
	struct yett_error no_host; /* why nothing can be built; code 0: it can */
	struct means means;
	bool is_rootless; /* then these are all that there are */
	bool by_port;     /* struct setup_host */
};

/* Decider → monitor: a number, and what the table says. All but TAKEN, STREAMS, LOG, RULES and
 * REFUSED are answered. */
enum decider_act {
	ACT_KEY = 1, /* struct decider_key */
	ACT_CREATE,  /* struct plan, as far as it is used */
	ACT_ASK,     /* struct supervisor_request */
	ACT_RECORDS, /* struct decider_records */
	ACT_TOTALS,
	ACT_TAKEN,   /* the sandbox that was to take the client's packet has answered */
	ACT_STREAMS, /* the connection has ended, and event streams are all that is left of it */
	ACT_DROP,    /* the client's next packet, which has descriptors */
	ACT_LOST,    /* a supervisor has gone without a word */
	ACT_LOG,     /* a number of enum log_level and a text */
	ACT_RULES, /* bytes that follow those of the last one: struct egress_rules, for the network
	            * of what is created next, or asked about
	            */
	ACT_MOUNT, /* struct plan, as far as it is used: its steps, in the sandbox of its id */
	ACT_REFUSED, /* struct yett_error: what the client was told */
	ACTS
};

/* Whose key is that? The names of the peer are wanted in any case. */
struct decider_key {
	char line[KEY_LINE_LENGTH];
	bool may_be_own; /* one of the peer's own counts, too */
};

struct decider_records {
	bool of_all;           /* users */
	bool with_usage;       /* else that is left empty */
	char id[PLAN_ID_SIZE]; /* of the one that is wanted; empty: all */
};

struct decider_record {
	struct record record;
	struct cgroup_usage usage;
};

enum decider_key_source { DECIDER_KEY_UNKNOWN, DECIDER_KEY_ENROLLED, DECIDER_KEY_OWN };

/*
 * Monitor → decider. With a CREATE, an ASK and a MOUNT comes the supervisor's socket, which answers
 * with a supervisor_created and, later, notices; with an ASK for a channel the client's end of
 * that, too; with RECORDS memory that holds so many.
 */
struct decider_answer_key {
	uint32_t source; /* enum decider_key_source */
	bool is_first;   /* of DECIDER_KEY_OWN: the user has enrolled none yet */
	char principal[MESSAGE_NAME_MAX + 1];
	struct peer_names names;
};

struct decider_answer {
	struct yett_error error; /* code 0: done */
	bool is_over; /* the connection has ended; or is to, since a packet could not be dropped in
	                 time */
	union {
		struct decider_answer_key key;
		char id[PLAN_ID_SIZE]; /* of what is created */
		uint32_t count;        /* of records */
		struct message_totals totals;
	};
};
