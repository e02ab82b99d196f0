/* SPDX-License-Identifier: Apache-2.0 */
/* See audit_show.h. */
#include "cli/admin/audit_show.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units_parse.h"
#include "cli/output.h"
#include "libclient/yett.h"
#include "programs/audit/field.h"

#define TEXT_SIZE  1100
#define AGO_MAX_MS (100000ULL * 24 * 3600 * 1000)

struct line {
	const char *text;
	size_t length;
};

/* The text for each "action" of an "act" record. */
static const char *const done[][2] = {
	{"attach", "was let into"},
	{"detach", "left"},
	{"pause", "paused"},
	{"resume", "resumed"},
	{"kill", "killed commands of"},
	{"destroy", "ended"},
	{"network", "changed the network of"},
	{"mount", "mounted something in"},
};

static int wrong_time(const char *option, const char *value, struct yett_error *error)
{
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"--%s %s: expected YYYY-MM-DD, \"YYYY-MM-DD HH:MM[:SS]\", or how long ago: 30m, 2h, 7d",
		option, value);
}

static bool parse_date(const char *value, time_t *ret_time)
{
	static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
	                                      "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(value, formats[i], &tm);

		if (end && *end == '\0') {
			tm.tm_isdst = -1;
			*ret_time = mktime(&tm);
			return true;
		}
	}
	return false;
}

int audit_show_time(const char *option, const char *value, char out[static 32],
                    struct yett_error *error)
{
	time_t at = time(NULL);
	uint64_t ago;
	struct tm tm;

	/* a number without a unit is no duration: parse_date() then refuses it */
	if (value[strspn(value, "0123456789")] && units_parse_duration(value, &ago) == 0 &&
	    ago <= AGO_MAX_MS) {
		at -= (time_t)(ago / 1000);
	} else if (!parse_date(value, &at)) {
		return wrong_time(option, value, error);
	}
	(void)gmtime_r(&at, &tm);
	(void)strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	return 0;
}

int audit_show_prepare(struct audit_filter *filter, struct yett_error *error)
{
	const struct passwd *entry;
	uint64_t number;

	if (!filter->user)
		return 0;
	if (units_parse_number(filter->user, &number) < 0) {
		entry = getpwnam(filter->user);
		if (!entry)
			return error_set(
				error, YETT_E_NOT_FOUND, YETT_R_NONE,
				"--user %s: there is no such user; a number is taken as well",
				filter->user);
		number = entry->pw_uid;
	}
	(void)snprintf(filter->uid, sizeof filter->uid, "%u", (unsigned)number);
	return 0;
}

static bool text_of(const struct line *line, const char *path, char out[TEXT_SIZE])
{
	*out = '\0';
	return field_text(line->text, line->length, path, out, TEXT_SIZE);
}

static bool has_text(const struct line *line, const char *path, const char *wanted)
{
	char text[TEXT_SIZE];

	return text_of(line, path, text) && strstr(text, wanted);
}

static bool audit_show_is_text(const struct line *line, const char *path, const char *wanted)
{
	return field_is(line->text, line->length, path, wanted);
}

/*
 * Whether `rule` occurs in a policy key, file, "file:line" or detail of a refusal, or in the place
 * of the grant or profile that was used.
 */
static bool is_of_rule(const struct line *line, const char *rule)
{
	static const char *const paths[] = {"error.rule", "error.file", "error.detail",
	                                    "grant.place", "profile.place"};
	char place[TEXT_SIZE + 16], file[TEXT_SIZE], number[TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (has_text(line, paths[i], rule))
			return true;
	(void)text_of(line, "error.file", file);
	(void)text_of(line, "error.line", number);
	(void)snprintf(place, sizeof place, "%.900s:%.12s", file, number);
	return strstr(place, rule);
}

static bool is_of_kind(const struct line *line, const struct audit_filter *filter)
{
	if (!filter->commands && !filter->connections && !filter->denied)
		return true;
	return (filter->commands && audit_show_is_text(line, "event", "command")) ||
	       (filter->connections && audit_show_is_text(line, "event", "connection")) ||
	       (filter->denied && audit_show_is_text(line, "event", "denied"));
}

bool audit_show_is_wanted(const struct audit_filter *filter, const char *text, size_t length)
{
	const struct line line = {text, length};
	char time[TEXT_SIZE];

	if (!is_of_kind(&line, filter) ||
	    (*filter->uid && !audit_show_is_text(&line, "user.uid", filter->uid)) ||
	    (filter->sandbox && !audit_show_is_text(&line, "sandbox", filter->sandbox) &&
	     !audit_show_is_text(&line, "name", filter->sandbox)) ||
	    (filter->event && !audit_show_is_text(&line, "event", filter->event)) ||
	    (filter->grant && !audit_show_is_text(&line, "grant.name", filter->grant)) ||
	    (filter->rule && !is_of_rule(&line, filter->rule)))
		return false;
	return (!*filter->since && !*filter->until) ||
	       (text_of(&line, "time", time) &&
	        strncmp(time, filter->since, strlen(filter->since)) >= 0 &&
	        (!*filter->until || strncmp(time, filter->until, strlen(filter->until)) <= 0));
}

/* Prints the text at `path` between `before` and `after`; nothing if it is missing or empty. */
static void audit_show_put(const struct line *line, const char *before, const char *path,
                           const char *after)
{
	char text[TEXT_SIZE];

	if (!text_of(line, path, text) || !*text)
		return;
	(void)fputs(before, stdout);
	output_text(stdout, text, false);
	(void)fputs(after, stdout);
}

/* Prints the time of the record in the local time zone. */
static void put_time(const struct line *line)
{
	char text[TEXT_SIZE];
	struct tm tm = {0};
	const char *end =
		text_of(line, "time", text) ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	time_t at;

	if (!end) {
		(void)fputs("(no time) ", stdout);
		return;
	}
	at = timegm(&tm);
	(void)localtime_r(&at, &tm);
	(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S ", &tm);
	(void)fputs(text, stdout);
}

static void audit_show_put_user(const struct line *line)
{
	const struct passwd *entry;
	uint64_t uid;

	if (!field_number(line->text, line->length, "user.uid", &uid) || uid > UINT32_MAX)
		return;
	entry = getpwuid((uid_t)uid);
	if (entry)
		output_text(stdout, entry->pw_name, false);
	(void)printf(entry ? "(%u)" : "user %u", (unsigned)uid);
}

static void audit_show_put_create(const struct line *line)
{
	(void)fputs(audit_show_is_text(line, "is_dry", "true") ? " was asked about" : " was given",
	            stdout);
	audit_show_put(line, " sandbox ", "sandbox", "");
	audit_show_put(line, " (", "name", ")");
	audit_show_put(line, " of profile ", "profile.name", "");
	audit_show_put(line, " by grant ", "grant.name", "");
	audit_show_put(line, " (", "grant.place", ")");
}

static void put_who(const struct line *line)
{
	audit_show_put(line, ", key ", "user.key", "");
	audit_show_put(line, ", principal ", "user.principal", "");
	audit_show_put(line, ", process ", "user.pid", "");
	/* Print the program last: the user chooses its name, and text after it could be forged. */
	audit_show_put(line, ": ", "user.program", "");
}

static void audit_show_put_error(const struct line *line)
{
	audit_show_put(line, ": ", "error.message", "");
	audit_show_put(line, "; ", "error.rule", "");
	audit_show_put(line, " (", "error.file", "");
	audit_show_put(line, ":", "error.line", "");
	if (has_text(line, "error.file", ""))
		(void)putchar(')');
}

static void put_act(const struct line *line)
{
	const char *text = "did something to";

	for (size_t i = 0; i < ARRAY_SIZE(done); i++)
		if (audit_show_is_text(line, "action", done[i][0]))
			text = done[i][1];
	(void)printf(" %s", text);
	audit_show_put(line, " sandbox ", "sandbox", "");
	audit_show_put_error(line);
}

static void put_where(const struct line *line)
{
	audit_show_put(line, ": sandbox ", "sandbox", "");
	audit_show_put(line, " (", "name", ")");
}

static void audit_show_put_ended(const struct line *line)
{
	put_where(line);
	audit_show_put(line, " has ended: ", "ended", "");
	audit_show_put(line, ", ", "usage.cpu_us", " µs of processors");
	audit_show_put(line, ", at most ", "usage.memory_peak_bytes", " bytes of memory");
}

static void put_failed(const struct line *line)
{
	audit_show_put(line, " was not given sandbox ", "sandbox", "");
	audit_show_put_error(line);
}

static void put_refused(const struct line *line)
{
	(void)fputs(" was refused", stdout);
	audit_show_put(line, " something of sandbox ", "sandbox", "");
	audit_show_put_error(line);
}

static void put_merged(const struct line *line)
{
	if (audit_show_is_text(line, "of", "happened"))
		audit_show_put(
			line, ": ", "count",
			" events of sandboxes were not recorded: the daily limit is reached");
	else
		audit_show_put(line, " was refused ", "count", " times more in that minute");
}

/*
 * Prints the JSON array at `path` as it is in the record, cut to TEXT_SIZE; its strings are escaped
 * there.
 */
static void audit_show_put_list(const struct line *line, const char *before, const char *path)
{
	struct field field;
	char text[TEXT_SIZE];
	bool fits;

	if (!field_find(line->text, line->length, path, &field))
		return;
	fits = field.length < TEXT_SIZE - 4;
	(void)snprintf(text, sizeof text, "%.*s%s", fits ? (int)field.length : TEXT_SIZE - 4,
	               field.value, fits ? "" : "…");
	(void)fputs(before, stdout);
	output_text(stdout, text, false);
}

static void put_lost_before(const struct line *line)
{
	audit_show_put(line, "; ", "lost", " events before this one were not recorded");
}

static void put_error_number(const struct line *line)
{
	uint64_t number;

	if (!field_number(line->text, line->length, "errno", &number))
		return;
	if (number >= YETT_EVENT_OF_PROXY)
		(void)printf(": the proxy says %llu",
		             (unsigned long long)(number - YETT_EVENT_OF_PROXY));
	else
		(void)printf(": %s", number ? strerror((int)number) : "there is no address");
}

static void audit_show_put_command(const struct line *line)
{
	put_where(line);
	(void)printf(": %s", audit_show_is_text(line, "is_file_operation", "true")
	                             ? "file operation"
	                             : "command");
	audit_show_put(line, " ", "command", "");
	audit_show_put(line, " ", "happened", "");
	audit_show_put_list(line, ": ", "argv");
	put_error_number(line);
	audit_show_put(line,
	               audit_show_is_text(line, "result.signaled", "true") ? " by signal "
	                                                                   : " with status ",
	               "result.status", "");
	if (audit_show_is_text(line, "result.timed_out", "true"))
		(void)fputs(", its time was over", stdout);
	audit_show_put(line, " after ", "result.wall_us", " µs");
	put_lost_before(line);
}

static void audit_show_put_peer(const struct line *line)
{
	bool has_name = has_text(line, "peer.name", "");

	audit_show_put(line, " ", has_name ? "peer.name" : "peer.address", "");
	audit_show_put(line, " port ", "peer.port", "");
	if (has_name)
		audit_show_put(line, " at ", "peer.address", "");
	audit_show_put(line, ", sent ", "peer.sent_bytes", "");
	audit_show_put(line, " received ", "peer.received_bytes", "");
	audit_show_put(line, ", rule ", "peer.rule", "");
	audit_show_put(line, " (", "peer.why", ")");
}

static void put_count(const struct line *line)
{
	if (!audit_show_is_text(line, "count", "1") && !audit_show_is_text(line, "count", "0"))
		audit_show_put(line, ", ", "count", " times");
}

static void put_connection(const struct line *line)
{
	put_where(line);
	audit_show_put(line, ": ", "happened", "");
	audit_show_put_peer(line);
	put_error_number(line);
	put_count(line);
	put_lost_before(line);
}

static void audit_show_put_denied(const struct line *line)
{
	const char *name = NULL;
	uint64_t call;

	put_where(line);
	if (field_number(line->text, line->length, "call", &call)) {
		name = call <= UINT32_MAX ? yett_call_name((uint32_t)call) : NULL;
		(void)printf(": denied system call %s%s", name ? name : "", name ? "" : "number");
		if (!name)
			(void)printf(" %llu", (unsigned long long)call);
		audit_show_put(line, " of process ", "pid", "");
	} else {
		(void)fputs(": denied", stdout);
		audit_show_put_peer(line);
	}
	put_count(line);
	put_lost_before(line);
}

static void put_followed(const struct line *line)
{
	put_where(line);
	audit_show_put(line, ": recording resumed after event ", "number", "");
	put_lost_before(line);
}

static void put_policy(const struct line *line)
{
	audit_show_put(line, "a policy is in force; its image is ", "image", "");
}

static void put_segment(const struct line *line)
{
	audit_show_put(line, "segment ", "segment", " begins");
	(void)fputs(audit_show_is_text(line, "sealed", "true") ? ", sealed"
	                                                       : ", not sealed: nobody keeps a key",
	            stdout);
}

static void put_torn(const struct line *line)
{
	audit_show_put(line, "", "bytes",
	               " bytes before this are a truncated record, which was never acknowledged");
}

static void put_lost(const struct line *line)
{
	audit_show_put(line, "segment ", "segment", " was removed or cut while it was written to");
}

static void put_pruned(const struct line *line)
{
	audit_show_put(line, "segments before ", "first", " were removed by yett audit prune");
}

static const struct {
	const char *event;
	void (*put)(const struct line *line);
	bool has_who;
} events[] = {
	{"create", audit_show_put_create, true},
	{"failed", put_failed, true},
	{"act", put_act, true},
	{"refused", put_refused, true},
	{"merged", put_merged, false},
	{"ended", audit_show_put_ended, false},
	{"policy", put_policy, false},
	{"segment", put_segment, false},
	{"command", audit_show_put_command, false},
	{"followed", put_followed, false},
	{"connection", put_connection, false},
	{"denied", audit_show_put_denied, false},
	{"torn", put_torn, false},
	{"lost", put_lost, false},
	{"pruned", put_pruned, false},
};

void audit_show_print(const char *text, size_t length)
{
	const struct line line = {text, length};
	size_t i = 0;

	put_time(&line);
	audit_show_put_user(&line);
	while (i < ARRAY_SIZE(events) && !audit_show_is_text(&line, "event", events[i].event))
		i++;
	if (i == ARRAY_SIZE(events)) {
		(void)fputs(" (no event that is known)", stdout);
	} else {
		events[i].put(&line);
		if (events[i].has_who)
			put_who(&line);
	}
	(void)putchar('\n');
}
