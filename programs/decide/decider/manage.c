/* SPDX-License-Identifier: Apache-2.0 */
/* See manage.h. */
#include "programs/decide/decider/manage.h"
#include "base/asker_label.h"
#include "base/escape.h"
#include "helper/plan/admit.h"
#include "programs/decide/decider/ask.h"
#include "programs/decide/decider/fit.h"
#include "programs/decide/decider/rules.h"
#include "programs/decide/decider/report.h"
#include "protocol/encode.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

struct manage_asked {
	struct connection *connection;
	const struct verified *verified;
	const struct manage_row *row;
	uint64_t sequence;
	enum manage_action action;
	enum manage_scope scope;
	const char *wanted; /* SCOPE_ONE: an id or a name */
};

/* Buffers to encode an item of a listing: the connection's own message still has the request. */
struct reports {
	struct message message;
	size_t length;
	uint8_t bytes[MESSAGE_PACKET_MAX];
};

struct listing {
	const struct manage_asked *asked;
	struct reports *reports;
	int memfd;
	uint32_t count;
	bool of_usage;
	bool rests; /* usage: the last sandbox that fits does not run */
};

static bool is_made_by_agent(const struct record *record)
{
	for (uint32_t at = 0; at < record->labels_size;
	     at += (uint32_t)strlen(record->labels + at) + 1)
		if (strncmp(record->labels + at, ASKER_LABEL "=", strlen(ASKER_LABEL "=")) == 0)
			return true;
	return false;
}

/* Whether the client may manage the sandbox, and the request is about it. */
static bool decider_manage_fits(const struct manage_asked *asked, const struct record *record)
{
	uid_t uid = asked->verified->peer->uid;

	if (!authorize_manage(asked->connection->policy, asked->verified, record->uid,
	                      record->principal, record->profile))
		return false;
	/* A sandbox that a person made may have more than a grant for agents gives. */
	if (authorize_is_bound(asked->connection->policy, asked->verified) &&
	    !is_made_by_agent(record))
		return false;
	if (asked->scope != SCOPE_ONE)
		return asked->scope == SCOPE_EVERYBODY || record->uid == uid;
	if (strcmp(record->id, asked->wanted) == 0)
		return true;
	/*
	 * The name of a sandbox in creation may be a duplicate, for which the creation fails later.
	 * So a name never finds such a sandbox.
	 */
	return record->state != SANDBOX_CREATING && record->uid == uid &&
	       strcmp(record->name, asked->wanted) == 0;
}

/*
 * Calls `look` for each record that the monitor sends, until `look` returns a nonzero value.
 * Returns that value, 0, -EIO, or the code with which the monitor refused.
 */
static int each_record(const struct decider_records *wanted,
                       int (*look)(void *userdata, const struct decider_record *reports),
                       void *userdata, struct yett_error *error)
{
	struct decider_answer answer;
	struct decider_record reports;
	struct ask_fds fds = {-1, -1};
	int r = ask(ACT_RECORDS, &(struct iovec){(void *)(uintptr_t)wanted, sizeof *wanted}, 1,
	            &answer, &fds, error);

	for (uint32_t i = 0; r == 0 && i < answer.count; i++)
		r = pread(fds.first, &reports, sizeof reports, (off_t)(i * sizeof reports)) ==
		                    sizeof reports
		            ? look(userdata, &reports)
		            : -EIO;
	fd_close(fds.first);
	return r;
}

static int decider_manage_not_found(const struct manage_asked *asked, struct yett_error *error)
{
	return error_set(error, YETT_E_NOT_FOUND, 0, "there is no sandbox '%s'",
	                 ESCAPE(asked->wanted));
}

struct finding {
	const struct manage_asked *asked;
	bool is_found;
	struct record record;
};

static int take_first(void *userdata, const struct decider_record *reports)
{
	struct finding *finding = userdata;

	finding->is_found = decider_manage_fits(finding->asked, &reports->record);
	if (finding->is_found)
		finding->record = reports->record;
	return finding->is_found;
}

static int decider_manage_look_up(const struct manage_asked *asked, struct finding *ret_finding,
                                  struct yett_error *error)
{
	const struct decider_records wanted = {.of_all = true};
	int r;

	*ret_finding = (struct finding){.asked = asked};
	error->code = YETT_OK;
	r = each_record(&wanted, take_first, ret_finding, error);
	if (r < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the records cannot be read: %s",
		                 strerror(-r));
	if (error->code != YETT_OK)
		return (int)error->code;
	return ret_finding->is_found ? 0 : decider_manage_not_found(asked, error);
}

static int decider_manage_find(const struct manage_asked *asked, struct finding *ret_finding,
                               struct yett_error *error)
{
	int r = decider_manage_look_up(asked, ret_finding, error);

	if (r == 0)
		ask_log(LOG_LEVEL_NOTICE, "sandbox=%s asks for %s", ret_finding->record.id,
		        asked->row->name);
	return r;
}

static int write_item(int memfd, const struct reports *reports)
{
	uint32_t head = htole32((uint32_t)reports->length);

	return write(memfd, &head, sizeof head) == sizeof head &&
	                       write(memfd, reports->bytes, reports->length) ==
	                               (ssize_t)reports->length
	               ? 0
	               : -EIO;
}

static int encode(const struct listing *listing, const struct decider_record *from)
{
	struct reports *reports = listing->reports;
	int r = listing->of_usage ? report_usage(from, &reports->message)
	                          : report_sandbox(&from->record, &reports->message);

	return r == 0 ? message_encode(&reports->message, reports->bytes, sizeof reports->bytes,
	                               &reports->length)
	              : r;
}

/*
 * If a record cannot be encoded, retries without the values of its plan. A compromised decider must
 * not be able to hide its sandbox, or those behind it in the list, by what it puts into a plan.
 */
static int decider_manage_add(void *userdata, const struct decider_record *from)
{
	struct listing *listing = userdata;
	const struct record *record = &from->record;
	const struct reports *reports = listing->reports;

	if (!decider_manage_fits(listing->asked, record))
		return 0;
	listing->rests = listing->of_usage && record->state != SANDBOX_RUNNING &&
	                 record->state != SANDBOX_PAUSED;
	if (listing->rests)
		return 0;
	if (encode(listing, from) < 0) {
		struct decider_record known = *from;

		report_without_plan(&known.record);
		if (encode(listing, &known) < 0)
			return 0;
	}
	listing->count++;
	return write_item(listing->memfd, reports);
}

/* Answers with all records that fit the request, in the format of PROTOCOL.md, "listing". */
static int decider_manage_list(const struct manage_asked *asked, struct yett_error *error)
{
	struct connection *c = asked->connection;
	bool of_usage = asked->action == MANAGE_USAGE;
	_cleanup_free_ struct reports *reports = malloc(sizeof *reports);
	_cleanup_fd_ int memfd = memfd_create("yett-listing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct listing listing = {
		.asked = asked, .reports = reports, .memfd = memfd, .of_usage = of_usage};
	struct decider_records wanted = {.of_all = asked->scope != SCOPE_OWN,
	                                 .with_usage = of_usage};
	struct finding found;
	int r = memfd < 0 || !reports ? -ENOMEM : 0;

	/* Have the monitor read the control groups of the requested sandbox only. */
	if (r == 0 && of_usage && asked->scope == SCOPE_ONE) {
		r = decider_manage_look_up(asked, &found, error);
		if (r == 0)
			memcpy(wanted.id, found.record.id, sizeof wanted.id);
	}
	if (r == 0)
		r = each_record(&wanted, decider_manage_add, &listing, error);
	if (r == 0 && asked->scope == SCOPE_ONE && listing.count == 0)
		return listing.rests
		               ? error_set(error, YETT_E_NOT_RUNNING, 0, "the sandbox does not run")
		               : decider_manage_not_found(asked, error);
	if (r == 0)
		r = fd_seal(memfd);
	if (r > 0)
		return r;
	if (r < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the list cannot be made: %s",
		                 strerror(-r));
	message_begin(c->message, MESSAGE_LISTING)->listing.count = listing.count;
	connection_answer(c, asked->sequence, memfd);
	return 0;
}

static int decider_manage_report_totals(const struct manage_asked *asked, struct yett_error *error)
{
	struct connection *c = asked->connection;
	struct decider_answer answer;
	int r = ask(ACT_TOTALS, NULL, 0, &answer, NULL, error);

	if (r != 0)
		return r;
	message_begin(c->message, MESSAGE_TOTALS)->totals = answer.totals;
	connection_answer(c, asked->sequence, -1);
	return 0;
}

static int detach(const struct manage_asked *asked, struct yett_error *error)
{
	struct finding found;
	int r = decider_manage_find(asked, &found, error);

	return r == 0 ? sandboxes_detach(asked->connection, asked->sequence, found.record.id, error)
	              : r;
}

static int ask_supervisor(const struct manage_asked *asked, struct yett_error *error)
{
	struct supervisor_request request = {.action = asked->action, .states = asked->row->states};
	struct finding found;
	int r = decider_manage_find(asked, &found, error);

	return r == 0 ? sandboxes_ask(asked->connection, &found.record, request, asked->sequence,
	                              error)
	              : r;
}

/* --- network rules of a sandbox --------------------------------------------------------------- */

static int decider_manage_read_rules(int memory, struct egress_rules **ret_rules)
{
	_cleanup_free_ struct egress_rules *rules = malloc(EGRESS_RULES_SIZE_MAX);
	ssize_t size = rules ? pread(memory, rules, EGRESS_RULES_SIZE_MAX, 0) : -1;

	if (size < 0)
		return rules ? -errno : -ENOMEM;
	if (size < (ssize_t)sizeof *rules || rules->list_size != (size_t)size - sizeof *rules ||
	    !net_list_check(rules->list, rules->list_size))
		return -EBADMSG;
	*ret_rules = steal_ptr(&rules);
	return 0;
}

/*
 * `policy` is the policy from which the rule was taken, for the file and line of the rule; NULL:
 * that policy is no longer in force.
 */
static int report_rule(struct message *message, const struct net_record *record,
                       const struct policy *policy)
{
	struct message_reach *reach = &message_begin(message, MESSAGE_REACH)->reach;
	struct policy_place place = policy ? rules_place(policy, record) : (struct policy_place){0};
	char text[NET_RULE_TEXT_SIZE];
	struct net_rule rule;
	int r;

	net_list_rule(record, &rule);
	*reach = (struct message_reach){.list = record->list,
	                                .asked = record->origin & RULES_OF_REQUEST,
	                                .line = place.line};
	r = message_add_text(message, net_rule_print(&rule, text), &reach->rule);
	return r == 0 ? message_add_text(message, !reach->asked && place.file ? place.file : "",
	                                 &reach->file)
	              : r;
}

static int decider_manage_list_rules(const struct egress_rules *rules, const struct policy *policy,
                                     int memfd, uint32_t *ret_count)
{
	const struct net_list *list = (const struct net_list *)rules->list;
	const struct net_record *record = NULL;
	_cleanup_free_ struct reports *reports = malloc(sizeof *reports);
	int r = reports ? 0 : -ENOMEM;

	for (*ret_count = 0; r == 0 && (record = net_list_next(list, record));) {
		/* Rules about a proxy say how to connect, not what may be reached. */
		if (record->list > NET_LIST_ASK)
			continue;
		++*ret_count;
		r = report_rule(&reports->message, record,
		                rules->generation == policy->generation ? policy : NULL);
		if (r == 0)
			r = message_encode(&reports->message, reports->bytes, sizeof reports->bytes,
			                   &reports->length);
		if (r == 0)
			r = write_item(memfd, reports);
	}
	return r < 0 ? r : fd_seal(memfd);
}

int manage_list_rules(struct connection *c, int memory, uint32_t changes, struct yett_error *error)
{
	_cleanup_fd_ int memfd = memfd_create("yett-listing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_free_ struct egress_rules *rules = NULL;
	uint32_t count;
	int r = memfd < 0 ? -errno : decider_manage_read_rules(memory, &rules);

	if (r == 0)
		r = decider_manage_list_rules(rules, c->policy, memfd, &count);
	if (r < 0) {
		error_set(error, YETT_E_HELPER_UNAVAILABLE, 0, "the rules cannot be listed: %s",
		          strerror(-r));
		return r;
	}
	message_begin(c->message, MESSAGE_LISTING)->listing =
		(struct message_listing){.count = count,
	                                 .changes = changes,
	                                 .by_port = c->begin->by_port,
	                                 .allow_private = rules->asked_private};
	return steal_fd(&memfd);
}

/*
 * Finds a sandbox whose network rules may be shown or changed. The sandbox must belong to the peer:
 * only the grants of its owner say which rules a sandbox may have.
 */
static int find_network(const struct manage_asked *asked, struct finding *ret_finding,
                        struct yett_error *error)
{
	const struct record *record = &ret_finding->record;
	int r = decider_manage_find(asked, ret_finding, error);

	if (r == 0 && record->uid != asked->verified->peer->uid)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "only the owner may control a sandbox's network: uid %" PRIu32,
		                 (uint32_t)record->uid);
	if (r == 0 && record->network.mode == PLAN_NETWORK_HOST) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, 0,
			"the sandbox is in the network of the host, which goes by no rules");
		error_mend(error, "make it with the network limited or open");
		return YETT_E_INVALID_REQUEST;
	}
	if (r == 0 &&
	    (record->network.mode == PLAN_NETWORK_NONE || record->network.mode >= PLAN_NETWORKS)) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, 0,
		                "the sandbox has no network, and cannot get one later");
		error_mend(error, "make it with a network");
		return YETT_E_INVALID_REQUEST;
	}
	return r;
}

static int show_rules(const struct manage_asked *asked, struct yett_error *error)
{
	struct supervisor_request request = {.action = asked->action, .states = asked->row->states};
	struct finding found;
	int r = find_network(asked, &found, error);

	return r == 0 ? sandboxes_ask(asked->connection, &found.record, request, asked->sequence,
	                              error)
	              : r;
}

static int change_rules(const struct manage_asked *asked, struct yett_error *error)
{
	struct connection *c = asked->connection;
	struct supervisor_request request = {.action = asked->action,
	                                     .states = asked->row->states,
	                                     .changes =
	                                             asked->verified->request->body.manage.changes};
	struct decision decision;
	struct finding found;
	int r = find_network(asked, &found, error);

	if (r == 0)
		r = authorize_rules(c->policy, asked->verified, found.record.profile,
		                    (enum plan_network)found.record.network.mode, &decision, error);
	if (r == 0 && c->begin->by_port)
		r = fit_network(c->policy, &decision, c->begin->is_rootless, error);
	if (r == 0)
		r = sandboxes_report_rules(c, &decision, error);
	if (r < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the rules cannot be made: %s",
		                 strerror(-r));
	return r == 0 ? sandboxes_ask(c, &found.record, request, asked->sequence, error) : r;
}

#define RUNNING (1U << SANDBOX_RUNNING)
#define PAUSED  (1U << SANDBOX_PAUSED)
#define ANY     (~0U)

static const struct manage_row rows[] = {
	/* name; who: SCOPE_ONE, SCOPE_OWN, SCOPE_EVERYBODY; sends_memory; states; handle */
	[MANAGE_LIST] = {"list",
                         {WHO_NOBODY, WHO_MANAGER, WHO_ADMINISTRATOR},
                         true,
                         0,
                         decider_manage_list},
	[MANAGE_INSPECT] =
		{"inspect", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, true, 0, decider_manage_list},
	[MANAGE_ATTACH] = {"attach",
                           {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY},
                           false,
                           RUNNING | PAUSED,
                           ask_supervisor},
	[MANAGE_DETACH] = {"detach", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, 0, detach},
	[MANAGE_PAUSE] =
		{"pause", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, RUNNING, ask_supervisor},
	[MANAGE_RESUME] =
		{"resume", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, PAUSED, ask_supervisor},
	[MANAGE_KILL] =
		{"kill", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, RUNNING, ask_supervisor},
	[MANAGE_DESTROY] =
		{"destroy", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, ANY, ask_supervisor},
	[MANAGE_USAGE] = {"usage",
                          {WHO_MANAGER, WHO_MANAGER, WHO_ADMINISTRATOR},
                          true,
                          0,
                          decider_manage_list},
	[MANAGE_FOLLOW] = {"follow",
                           {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY},
                           false,
                           RUNNING | PAUSED,
                           ask_supervisor},
	[MANAGE_TOTALS] = {"totals",
                           {WHO_NOBODY, WHO_ADMINISTRATOR, WHO_NOBODY},
                           false,
                           0,
                           decider_manage_report_totals},
	[MANAGE_PLAN] = {"plan", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, true, ANY, ask_supervisor},
	[MANAGE_RULES] = {"rules",
                          {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY},
                          true,
                          RUNNING | PAUSED,
                          show_rules},
	[MANAGE_NETWORK] = {"network",
                            {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY},
                            false,
                            RUNNING | PAUSED,
                            change_rules},
};

const struct manage_row *manage_find_row(uint32_t action)
{
	static const struct manage_row none = {.name = "nothing"};

	return action < ARRAY_SIZE(rows) && rows[action].handle ? &rows[action] : &none;
}

int manage_decide(const struct manage_row *row, enum manage_scope scope, bool is_administrator,
                  struct yett_error *error)
{
	if (row->who[scope] == WHO_MANAGER ||
	    (row->who[scope] == WHO_ADMINISTRATOR && is_administrator))
		return 0;
	if (row->who[scope] == WHO_ADMINISTRATOR)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "only root may see what is of all users");
	return error_set(error, YETT_E_INVALID_REQUEST, 0, "'%s' cannot be asked %s", row->name,
	                 scope == SCOPE_ONE ? "of one sandbox"
	                                    : "of all sandboxes: one is to be named");
}

int manage_handle(struct connection *c, const struct verified *verified, uint64_t sequence,
                  struct yett_error *error)
{
	const struct message_manage *manage = &verified->request->body.manage;
	const char *wanted = message_text(verified->request, manage->sandbox);
	struct manage_asked asked = {.connection = c,
	                             .verified = verified,
	                             .row = manage_find_row(manage->action),
	                             .sequence = sequence,
	                             .action = (enum manage_action)manage->action,
	                             .scope = manage->all         ? SCOPE_EVERYBODY
	                                      : wanted && *wanted ? SCOPE_ONE
	                                                          : SCOPE_OWN,
	                             .wanted = wanted};
	int r = authorize_manager(c->policy, verified, error);

	if (r == 0 && (!wanted || (manage->all && *wanted)))
		r = error_set(error, YETT_E_INVALID_REQUEST, 0,
		              "a request for all must name no sandbox");
	if (r == 0)
		r = manage_decide(asked.row, asked.scope, admit_is_administrator(verified->peer),
		                  error);
	if (r == 0)
		r = sandboxes_check(c, error);
	if (r == 0 && asked.row->sends_memory)
		r = connection_check_unread(c, error);
	return r == 0 ? asked.row->handle(&asked, error) : r;
}

int manage_find_own(struct connection *c, const struct verified *verified, const char *wanted,
                    struct record *ret_record, struct yett_error *error)
{
	static const struct manage_row mounts = {.name = "mount"};
	const struct manage_asked asked = {.connection = c,
	                                   .verified = verified,
	                                   .row = &mounts,
	                                   .action = MANAGE_MOUNT,
	                                   .scope = SCOPE_ONE,
	                                   .wanted = wanted};
	struct finding found;
	int r = authorize_manager(c->policy, verified, error);

	if (r == 0)
		r = sandboxes_check(c, error);
	if (r == 0)
		r = decider_manage_find(&asked, &found, error);
	if (r != 0)
		return r;
	if (found.record.uid != verified->peer->uid)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "only the owner may change the mounts: uid %" PRIu32,
		                 (uint32_t)found.record.uid);
	*ret_record = found.record;
	return 0;
}
