/* See manage.h. */
#include "helper/monitor/manage.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
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
	const char *wanted; /* of SCOPE_ONE: an id or a name */
};

/* Where what one uses is told: the connection's own message is the request. */
struct usage_body {
	struct message message;
	size_t length;
	uint8_t bytes[MESSAGE_PACKET_MAX];
};

/* A list in the making. */
struct listing {
	const struct manage_asked *asked;
	struct usage_body *usage; /* NULL: it is not their usage that is listed, but what their records tell */
	int memfd;
	uint32_t count;
	bool rests; /* what is asked about does not run */
};

/* Whether the record is one that the request is about. */
static bool fits(const struct manage_asked *asked, const struct record *record)
{
	uid_t uid = asked->verified->peer->uid;

	if (!authorize_manage(asked->connection->monitor->policy, asked->verified, record->uid, record->principal, record->profile))
		return false;
	if (asked->scope != SCOPE_ONE)
		return asked->scope == SCOPE_EVERYBODY || record->uid == uid;
	if (strcmp(record->id, asked->wanted) == 0)
		return true;
	/* Until it starts, its name may be that of another one, for which it will be refused. */
	return record->state != SANDBOX_CREATING && record->uid == uid && strcmp(record->name, asked->wanted) == 0;
}

static int each_record(const struct manage_asked *asked, int (*look)(void *userdata, const struct record *record), void *userdata)
{
	return registry_each(&asked->connection->monitor->host->reserve, look, userdata);
}

static int not_found(const struct manage_asked *asked, struct yett_error *error)
{
	return error_set(error, YETT_E_NOT_FOUND, 0, "there is no sandbox '%s'", ESCAPE(asked->wanted));
}

struct finding {
	const struct manage_asked *asked;
	struct record record;
};

static int take_first(void *userdata, const struct record *record)
{
	struct finding *finding = userdata;

	if (!fits(finding->asked, record))
		return 0;
	finding->record = *record;
	return 1;
}

static int find(const struct manage_asked *asked, struct finding *ret_finding, struct yett_error *error)
{
	const struct connection *c = asked->connection;

	ret_finding->asked = asked;
	if (each_record(asked, take_first, ret_finding) == 0)
		return not_found(asked, error);
	log_line(LOG_LEVEL_NOTICE, "uid=%" PRIu32 " pid=%d sandbox=%s asks for %s", (uint32_t)c->peer.uid, c->peer.pid,
	         ret_finding->record.id, asked->row->name);
	return 0;
}

static int tell_usage(const struct cgroup_host *cgroups, const struct record *record, struct usage_body *usage)
{
	struct message_usage *body = &message_begin(&usage->message, MESSAGE_USAGE)->usage;
	uint64_t now_ms = clock_wall_ms();
	struct cgroup_usage used;
	struct cgroup cgroup;
	int r;

	cgroup_find(cgroups, record->uid, record->cgroup, &cgroup);
	cgroup_read_usage(&cgroup, UINT32_MAX, &used);
	cgroup_count_processes(&cgroup, &used);
	cgroup_usage_since(&record->before, &used);
	cgroup_close(&cgroup);
	*body = (struct message_usage){.state = record->state,
	                               .taken_us = clock_now_us(),
	                               .uptime_ms = now_ms > record->started_ms ? now_ms - record->started_ms : 0,
	                               .memory_limit_bytes = record->limits.memory_bytes,
	                               .pids_limit = record->limits.pids,
	                               .known = used.known,
#define X(name, field) .field = used.counts[USAGE_##name],
	                               USAGE_COUNTS(X)
#undef X
	};
	r = message_add_text(&usage->message, record->id, &body->id);
	if (r == 0)
		r = message_add_text(&usage->message, record->name, &body->name);
	return r == 0 ? message_encode(&usage->message, usage->bytes, sizeof usage->bytes, &usage->length) : r;
}

/* One that cannot be told of hides no other. */
static int add(void *userdata, const struct record *record)
{
	struct listing *listing = userdata;
	struct usage_body *usage = listing->usage;
	const void *body = usage ? usage->bytes : record->told;
	size_t length = record->told_length;
	uint32_t head;

	if (!fits(listing->asked, record))
		return 0;
	listing->rests = usage && record->state != SANDBOX_RUNNING && record->state != SANDBOX_PAUSED;
	if (listing->rests || (usage && tell_usage(&listing->asked->connection->monitor->host->cgroups, record, usage) < 0))
		return 0;
	length = usage ? usage->length : length;
	if (length == 0)
		return 0;
	head = htole32((uint32_t)length);
	listing->count++;
	return write(listing->memfd, &head, sizeof head) == sizeof head && write(listing->memfd, body, length) == (ssize_t)length ? 0
	                                                                                                                          : -EIO;
}

/* All that the request may see, in the form of PROTOCOL.md, "listing". */
static int list(const struct manage_asked *asked, struct yett_error *error)
{
	struct connection *c = asked->connection;
	bool of_usage = asked->action == MANAGE_USAGE;
	_cleanup_free_ struct usage_body *usage = of_usage ? malloc(sizeof *usage) : NULL;
	_cleanup_fd_ int memfd = memfd_create("yett-listing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct listing listing = {.asked = asked, .usage = usage, .memfd = memfd};
	int r = memfd < 0 || (of_usage && !usage) ? -ENOMEM : each_record(asked, add, &listing);

	if (r == 0 && asked->scope == SCOPE_ONE && listing.count == 0)
		return listing.rests ? error_set(error, YETT_E_NOT_RUNNING, 0, "the sandbox does not run") : not_found(asked, error);
	if (r == 0)
		r = fd_seal(memfd);
	if (r < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, 0, "the list cannot be made: %s", strerror(-r));
	message_begin(c->message, MESSAGE_LISTING)->listing.count = listing.count;
	connection_answer(c, asked->sequence, memfd);
	return 0;
}

static int tell_totals(const struct manage_asked *asked, struct yett_error *error)
{
	struct connection *c = asked->connection;

	(void)error;
	registry_read_totals(&c->monitor->host->reserve, &message_begin(c->message, MESSAGE_TOTALS)->totals);
	connection_answer(c, asked->sequence, -1);
	return 0;
}

static int detach(const struct manage_asked *asked, struct yett_error *error)
{
	struct finding found;
	int r = find(asked, &found, error);

	return r == 0 ? sandboxes_detach(asked->connection, asked->sequence, found.record.id, error) : r;
}

static int ask_supervisor(const struct manage_asked *asked, struct yett_error *error)
{
	struct supervisor_request request = {.action = asked->action, .states = asked->row->states};
	struct finding found;
	int r = find(asked, &found, error);

	return r == 0 ? sandboxes_ask(asked->connection, &found.record, request, asked->row->takes_channel, asked->sequence, error) : r;
}

#define RUNNING (1U << SANDBOX_RUNNING)
#define PAUSED  (1U << SANDBOX_PAUSED)
#define ANY     (~0U)

static const struct manage_row rows[] = {
	/*                    name       who: of one that is named, of all of one's own, of all users'    memory channel states */
	[MANAGE_LIST] = {"list", {WHO_NOBODY, WHO_MANAGER, WHO_ADMINISTRATOR}, true, false, 0, list},
	[MANAGE_INSPECT] = {"inspect", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, true, false, 0, list},
	[MANAGE_ATTACH] = {"attach", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, true, RUNNING | PAUSED, ask_supervisor},
	[MANAGE_DETACH] = {"detach", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, false, 0, detach},
	[MANAGE_PAUSE] = {"pause", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, false, RUNNING, ask_supervisor},
	[MANAGE_RESUME] = {"resume", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, false, PAUSED, ask_supervisor},
	[MANAGE_KILL] = {"kill", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, false, RUNNING, ask_supervisor},
	[MANAGE_DESTROY] = {"destroy", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, false, ANY, ask_supervisor},
	[MANAGE_USAGE] = {"usage", {WHO_MANAGER, WHO_MANAGER, WHO_ADMINISTRATOR}, true, false, 0, list},
	[MANAGE_FOLLOW] = {"follow", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, false, true, RUNNING | PAUSED, ask_supervisor},
	[MANAGE_TOTALS] = {"totals", {WHO_NOBODY, WHO_ADMINISTRATOR, WHO_NOBODY}, false, false, 0, tell_totals},
	[MANAGE_PLAN] = {"plan", {WHO_MANAGER, WHO_NOBODY, WHO_NOBODY}, true, false, ANY, ask_supervisor},
};

const struct manage_row *manage_find_row(uint32_t action)
{
	static const struct manage_row none = {.name = "nothing"};

	return action < ARRAY_SIZE(rows) && rows[action].handle ? &rows[action] : &none;
}

int manage_decide(const struct manage_row *row, enum manage_scope scope, bool is_administrator, struct yett_error *error)
{
	if (row->who[scope] == WHO_MANAGER || (row->who[scope] == WHO_ADMINISTRATOR && is_administrator))
		return 0;
	if (row->who[scope] == WHO_ADMINISTRATOR)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "only root may see what is of all users");
	return error_set(error, YETT_E_INVALID_REQUEST, 0, "'%s' cannot be asked %s", row->name,
	                 scope == SCOPE_ONE ? "of one sandbox" : "of all sandboxes: one is to be named");
}

int manage_handle(struct connection *c, const struct verified *verified, uint64_t sequence, struct yett_error *error)
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
	int r = authorize_manager(c->monitor->policy, verified, error);

	if (r == 0 && (!wanted || (manage->all && *wanted)))
		r = error_set(error, YETT_E_INVALID_REQUEST, 0, "what is asked of all names no sandbox");
	if (r == 0)
		r = manage_decide(asked.row, asked.scope, authorize_is_administrator(verified->peer), error);
	if (r == 0)
		r = sandboxes_check(c, error);
	if (r == 0 && asked.row->sends_memory)
		r = connection_check_unread(c, error);
	return r == 0 ? asked.row->handle(&asked, error) : r;
}
