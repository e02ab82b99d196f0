/* See manage.h. */
#include "helper/monitor/manage.h"
#include "base/clock.h"
#include "base/escape.h"
#include "helper/privilege.h"
#include "protocol/encode.h"
#include "protocol/frame.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

struct finding {
	const struct policy *policy;
	const struct verified *verified;
	const char *wanted; /* NULL: all */
	bool all;           /* of all users */
	const struct cgroup_host *cgroups; /* NULL: it is not their usage that is asked */
	bool rests;         /* the one that is wanted does not run */
	struct record *record;
	/* of a list */
	struct message *message;
	uint8_t *buffer;
	int memfd;
	uint32_t count;
};

/* Whether the record is one that the request is about. */
static bool fits(const struct finding *finding, const struct record *record)
{
	uid_t uid = finding->verified->peer->uid;

	if (!authorize_manage(finding->policy, finding->verified, record->uid, record->principal, record->profile))
		return false;
	if (!finding->wanted)
		return finding->all || record->uid == uid;
	if (strcmp(record->id, finding->wanted) == 0)
		return true;
	/* Until it starts, its name may be that of another one, for which it will be refused. */
	return record->state != SANDBOX_CREATING && record->uid == uid && strcmp(record->name, finding->wanted) == 0;
}

static int take_first(void *userdata, const struct record *record)
{
	struct finding *finding = userdata;

	if (!fits(finding, record))
		return 0;
	*finding->record = *record;
	return 1;
}

static int not_found(const char *wanted, struct yett_error *error)
{
	return error_set(error, YETT_E_NOT_FOUND, 0, "there is no sandbox '%s'", ESCAPE(wanted));
}

/* 0 with what the request names, or NULL for all. */
static int read_wanted(const struct verified *verified, const char **ret_wanted, struct yett_error *error)
{
	const struct message_manage *manage = &verified->request->body.manage;
	const char *wanted = message_text(verified->request, manage->sandbox);
	bool is_list = manage->action == MANAGE_LIST || manage->action == MANAGE_TOTALS, of_all = wanted && !*wanted;

	if (!wanted || (manage->action != MANAGE_USAGE && is_list != of_all) || (manage->all && !of_all))
		return error_set(error, YETT_E_INVALID_REQUEST, 0, is_list ? "what is asked of all names no sandbox" : "one sandbox is to be named");
	*ret_wanted = of_all ? NULL : wanted;
	return 0;
}

int manage_find(const struct setup_host *host, const struct verified *verified, struct record *ret_record, struct yett_error *error)
{
	struct finding finding = {.policy = host->policy, .verified = verified, .record = ret_record};
	int r = read_wanted(verified, &finding.wanted, error);

	if (r == 0 && registry_each(&host->reserve, take_first, &finding) == 0)
		r = not_found(finding.wanted, error);
	return r;
}

static int fill(const struct record *record, struct message *message)
{
	struct message_sandbox *body = &message_begin(message, MESSAGE_SANDBOX)->sandbox;
	const struct {
		const char *from;
		struct text *to;
	} texts[] = {{record->id, &body->id}, {record->name, &body->name}, {record->profile, &body->profile},
		     {record->principal, &body->principal}, {record->label, &body->label}};
	const char *label = record->labels;
	int r = 0;

	*body = (struct message_sandbox){
		.state = record->state,
		.ended = record->ended,
		.uid = record->uid,
		.private_uid = record->private_uid,
		.landlock_abi = record->landlock_abi,
		.limits = {record->limits.memory_bytes, record->limits.cpu_millis, record->limits.pids, record->limits.files},
		.life = {.linger = record->life.linger,
			 .wall_ms = record->life.wall_ms,
			 .cpu_ms = record->life.cpu_ms,
			 .idle_ms = record->life.idle_ms,
			 .idle_action = record->life.idle_pauses ? IDLE_PAUSE : IDLE_END,
			 .cleanup_ms = record->life.cleanup_ms},
		.linger_ms = record->life.linger_ms,
		.created_ms = record->created_ms,
		.started_ms = record->started_ms,
		.ended_ms = record->ended_ms,
		.attached = record->attached,
		.labels_count = record->labels_count,
	};
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = message_add_text(message, texts[i].from, texts[i].to);
	for (uint32_t i = 0; r == 0 && i < record->labels_count; i++, label += strlen(label) + 1)
		r = message_add_text(message, label, &body->labels[i]);
	return r;
}

static int fill_usage(const struct cgroup_host *cgroups, const struct record *record, struct message *message)
{
	struct message_usage *body = &message_begin(message, MESSAGE_USAGE)->usage;
	uint64_t now_ms = clock_wall_ms();
	struct cgroup_usage usage;
	struct cgroup cgroup;
	int r;

	cgroup_find(cgroups, record->uid, record->cgroup, &cgroup);
	cgroup_read_usage(&cgroup, &usage);
	cgroup_usage_since(&record->before, &usage);
	cgroup_close(&cgroup);
	*body = (struct message_usage){
		.state = record->state,
		.taken_us = clock_now_us(),
		.uptime_ms = now_ms > record->started_ms ? now_ms - record->started_ms : 0,
		.memory_limit_bytes = record->limits.memory_bytes,
		.pids_limit = record->limits.pids,
		.known = usage.known,
#define X(name, field) .field = usage.counts[USAGE_##name],
		USAGE_COUNTS(X)
#undef X
	};
	r = message_add_text(message, record->id, &body->id);
	return r == 0 ? message_add_text(message, record->name, &body->name) : r;
}

static int add(void *userdata, const struct record *record)
{
	struct finding *finding = userdata;
	uint32_t head;
	size_t length;
	int r;

	if (!fits(finding, record))
		return 0;
	if (finding->cgroups && record->state != SANDBOX_RUNNING && record->state != SANDBOX_PAUSED) {
		finding->rests = true;
		return 0;
	}
	r = finding->cgroups ? fill_usage(finding->cgroups, record, finding->message) : fill(record, finding->message);
	if (r == 0)
		r = message_encode(finding->message, finding->buffer + sizeof head, MESSAGE_PACKET_MAX - sizeof head, &length);
	if (r < 0)
		return 0; /* one that cannot be told of hides no other */
	head = htole32((uint32_t)length);
	memcpy(finding->buffer, &head, sizeof head);
	length += sizeof head;
	finding->count++;
	return write(finding->memfd, finding->buffer, length) == (ssize_t)length ? 0 : -EIO;
}

int manage_list(const struct setup_host *host, const struct verified *verified, int *ret_memfd, uint32_t *ret_count,
		struct yett_error *error)
{
	_cleanup_free_ struct message *message = malloc(sizeof *message);
	_cleanup_free_ uint8_t *buffer = malloc(MESSAGE_PACKET_MAX);
	_cleanup_fd_ int memfd = memfd_create("yett-listing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct finding finding = {.policy = host->policy,
				  .verified = verified,
				  .all = verified->request->body.manage.all && authorize_is_administrator(verified->peer),
				  .cgroups = verified->request->body.manage.action == MANAGE_USAGE ? &host->cgroups : NULL,
				  .message = message,
				  .buffer = buffer,
				  .memfd = memfd};
	int r = memfd < 0 || !message || !buffer ? -ENOMEM : read_wanted(verified, &finding.wanted, error);

	if (r == 0 && verified->request->body.manage.all && !finding.all)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "only root may list the sandboxes of all users");
	if (r == 0)
		r = registry_each(&host->reserve, add, &finding);
	if (r == 0 && finding.wanted && finding.count == 0 && finding.rests)
		return error_set(error, YETT_E_NOT_RUNNING, 0, "the sandbox does not run");
	if (r == 0 && finding.wanted && finding.count == 0)
		return not_found(finding.wanted, error);
	if (r == 0)
		r = fd_seal(memfd);
	if (r != 0)
		return r;
	*ret_memfd = steal_fd(&memfd);
	*ret_count = finding.count;
	return 0;
}

int manage_totals(const struct setup_host *host, const struct verified *verified, struct message_totals *ret_totals, struct yett_error *error)
{
	const char *wanted;
	int r = read_wanted(verified, &wanted, error);

	if (r == 0 && !authorize_is_administrator(verified->peer))
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "only root may see what the helper has done for all users");
	if (r == 0)
		registry_read_totals(&host->reserve, ret_totals);
	return r;
}

int manage_ask(const struct setup_host *host, const struct record *record, enum manage_action action, int channel)
{
	_cleanup_fd_ int socket = registry_connect(&host->reserve, record->cgroup);
	struct supervisor_request request = {.action = action};
	int r;

	if (socket < 0)
		return socket;
	memcpy(request.id, record->id, sizeof request.id);
	r = privilege_raise(); /* as connection_answer() does, for the descriptor */
	if (r == 0)
		r = frame_send(socket, &request, sizeof request, &channel, channel >= 0 ? 1 : 0, MSG_DONTWAIT);
	if (privilege_lower() < 0)
		return -EPERM;
	return r < 0 ? r : steal_fd(&socket);
}
