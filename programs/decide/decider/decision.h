/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stages of a request: verified, when its signature is valid, and decided, when the policy
 * allows it. authorize.h makes a decision, planning.h makes a plan of it.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/policy.h"
#include "protocol/message.h"

/*
 * Inside the sandbox: the directory whose files are kept from one sandbox to the next, and the
 * directory where programs leave files for the client to collect.
 */
#define PLAN_MEMORY  "/mnt/memory"
#define PLAN_OUTPUTS "/mnt/session/outputs"

/* Where the public key of the signature is enrolled: by the administrator, or by the user. */
enum key_source { KEY_ENROLLED, KEY_OF_USER };

/* A request with a valid signature. Only verify.c makes one. */
struct verified {
	const struct peer *peer;
	/* A message of a signed kind. message_compare() has checked its texts by re-encoding. */
	const struct message *request;
	enum key_source key_source;
	bool is_agents; /* the request says that it comes from an agent */
	/*
	 * The user may enroll keys but has enrolled none. Such a request can only get a plan
	 * printed, and runs nothing.
	 */
	bool is_first_key;
	/* The name of the enrolled key; "" for KEY_OF_USER. */
	char principal[MESSAGE_NAME_MAX + 1];
	size_t fd_count;
};

/* The upper bound of one number, by the rule that intersect.h has for that number. */
struct bound {
	/* 0: unlimited. POLICY_KEY_LINGER: 0: none may linger; POLICY_LINGER_UNLIMITED. */
	uint64_t most;
	/* The grant or ceiling that sets the bound; NULL: the profile sets it, or nothing does. */
	const struct policy_grant *by;
};

/* The effective values of an allowed request. Only authorize() and authorize_rules() make one. */
struct decision {
	const struct verified *verified;
	const struct policy_profile *profile;
	const struct policy_grant *grant;
	/* Indexed by enum policy_key: for this sandbox, and for all of the peer's together. */
	struct bound bounds[POLICY_BOUNDS];
	struct plan_limits limits, user_limits;
	struct plan_life life;
	/* rules.h makes its rules from the request, the profile and the denials of the grant. */
	enum plan_network network;
	const struct message_rule *rules; /* of the request; the policy allows each of them */
	uint32_t rules_count;
	/*
	 * A connection that no rule allows waits for the client to add a rule, if the grant would
	 * let a request allow the connection.
	 */
	bool asks;
	/*
	 * Names may resolve to private addresses. asks_private: the request asks for that.
	 * allows_private: the request or the profile does.
	 */
	bool asks_private, allows_private;
};
