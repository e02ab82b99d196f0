/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy, a peer and a request for the tests of authorizing and planning.
 *
 * The policy is parsed from text by the real loader; nothing here is faked but the peer.
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/net_rule.h"
#include "programs/decide/decider/planning.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#define DECIDE_ID "00112233445566ff"

struct decide {
	struct policy *policy;
	struct peer peer;
	struct message request;
	struct verified verified;
	struct plan_limits given;
	struct decision decision;
	struct plan plan;
	struct yett_error error;
};

/* Replaces the policy. */
static inline void decide_policy(struct decide *d, const char *text)
{
	char directory[] = "/tmp/yett-decide-XXXXXX", path[64];
	int r;

	policy_free(d->policy);
	d->policy = NULL;
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof path, "%s/c", directory);
	folder_write(path, text, 0600);
	r = policy_load(&(struct policy_source){getenv("YETT_LIBEXEC"), path, false, getuid()},
	                &d->policy, &d->error);
	if (r)
		fail_msg("%s", d->error.message);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static inline struct text decide_text(struct decide *d, const char *string)
{
	struct text text;

	assert_int_equal(message_add_text(&d->request, string, &text), 0);
	return text;
}

static inline void decide_share(struct decide *d, uint32_t fd, enum share_mode mode,
                                const char *target)
{
	struct message_create *create = &d->request.body.create;

	create->shares[create->shares_count++] =
		(struct message_share){fd, mode, decide_text(d, target)};
	d->verified.fd_count = create->shares_count;
}

static inline void decide_tmpfs(struct decide *d, const char *target, uint64_t size_bytes)
{
	struct message_create *create = &d->request.body.create;

	create->tmpfs[create->tmpfs_count++] =
		(struct message_tmpfs){decide_text(d, target), size_bytes};
}

/* Any kind, as it is; of a text see net_rule_parse(). */
static inline void decide_rule(struct decide *d, const struct net_rule *rule, bool is_deny)
{
	struct message_create *create = &d->request.body.create;
	struct message_rule *into = &create->rules[create->rules_count++];

	*into = (struct message_rule){.deny = is_deny,
	                              .kind = rule->kind,
	                              .bound = rule->is_bound,
	                              .prefix = rule->prefix,
	                              .port_first = rule->port_first,
	                              .port_last = rule->port_last,
	                              .name = decide_text(d, rule->name)};
	memcpy(into->address, &rule->address, sizeof into->address);
}

/* An empty request of alice, uid 1000, in groups 27 and 100, whose key is enrolled as "laptop". */
static inline void decide_reset(struct decide *d)
{
	memset(&d->request, 0, offsetof(struct message, arena));
	d->request.kind = MESSAGE_CREATE;
	memset(&d->peer, 0, sizeof d->peer);
	d->peer.uid = d->peer.gid = 1000;
	d->peer.groups[0] = 27;
	d->peer.groups[1] = 100;
	d->peer.groups_count = 2;
	strcpy(d->peer.names.user, "alice");
	strcpy(d->peer.names.group, "staff");
	strcpy(d->peer.names.home, "/home/alice");
	strcpy(d->peer.names.shell, "/bin/bash");
	d->verified = (struct verified){.peer = &d->peer,
	                                .request = &d->request,
	                                .key_source = KEY_ENROLLED,
	                                .principal = "laptop"};
	memset(&d->error, 0, sizeof d->error);
}

static inline int decide_authorize(struct decide *d)
{
	return authorize(d->policy, &d->verified, &d->given, &d->decision, &d->error);
}

/* Authorizes, which must succeed, and plans. */
static inline int decide_plan(struct decide *d)
{
	int r = decide_authorize(d);

	if (r)
		fail_msg("not authorized: %s (%s)", d->error.message, d->error.detail);
	return planning_make(d->policy, &d->decision, DECIDE_ID, &d->plan, &d->error);
}

static inline int decide_setup(void **state)
{
	struct decide *d = calloc(1, sizeof *d);

	decide_reset(d);
	*state = d;
	return 0;
}

static inline int decide_teardown(void **state)
{
	struct decide *d = *state;

	policy_free(d->policy);
	free(d);
	return 0;
}

#define WITH_DECIDE(test) TEST_OF(test, struct decide *d, decide_setup, decide_teardown)
