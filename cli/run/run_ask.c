/* SPDX-License-Identifier: Apache-2.0 */
/* See run_parts.h: requests the sandbox in which the command runs. */
#include "cli/connect.h"
#include "cli/run/run_parts.h"

#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/net_rule_parse.h"
#include "base/own_place.h"
#include "base/units_parse.h"
#include "cli/changes/work.h"
#include "cli/output.h"
#include "cli/run/run_shares.h"
#include "cli/run/set_id.h"
#include "cli/run/workdir.h"

void run_ask_find_home(struct run *run, const char *user)
{
	uint64_t number = geteuid();
	bool is_number = !user || (units_parse_number(user, &number) == 0 && number < UINT32_MAX);
	const struct passwd *entry = is_number ? getpwuid((uid_t)number) : getpwnam(user);
	const char *home = entry ? entry->pw_dir : user ? NULL : getenv("HOME");
	_cleanup_free_ char *real = home && home[0] == '/' ? realpath(home, NULL) : NULL;

	(void)snprintf(run->home, sizeof run->home, "%s", real ? real : "");
}

int run_ask_choose_share(struct run *run)
{
	struct run_options *o = &run->options;
	const char *here = o->current_directory, *home = run->home[0] ? run->home : NULL;
	enum workdir decision =
		here ? workdir_decide(here, home, o->shares, o->shares_count) : WORKDIR_GONE;
	int r = run_shares_hide(o, &run->error);

	if (r)
		return r;
	for (size_t i = 0; home && i < o->shares_count; i++)
		if ((o->shares[i].flags & YETT_SHARE_WRITABLE) &&
		    own_place_is_below(home, o->shares[i].path)) {
			output_note(
				"%s is writable and contains your home: start files that do not exist yet can be created there; share a smaller directory",
				ESCAPE(o->shares[i].path));
			break;
		}
	for (size_t i = 0; here && i < o->tmpfs_count; i++)
		if (own_place_is_below(here, o->tmpfs[i].target))
			decision = WORKDIR_IS_SHARED;
	if (decision != WORKDIR_SHARE) {
		if (*workdir_why(decision) && o->shares_count == 0)
			output_note("%s", workdir_why(decision));
		return 0;
	}
	run->has_default_share = true;
	return run_shares_add(o, strdup(here), strdup(here), 0, &run->error);
}

static struct yett_sandbox_options sandbox_options(const struct run_options *o)
{
	return (struct yett_sandbox_options){
		.size = sizeof(struct yett_sandbox_options),
		.profile = o->profile,
		.hostname = o->hostname,
		.directory = "/", /* each command gets its own directory */
		.shares = o->shares,
		.shares_count = o->shares_count,
		.tmpfs = o->tmpfs,
		.tmpfs_count = o->tmpfs_count,
		.memory_dir = o->memory_dir,
		.memory_bytes = o->limits.memory_bytes,
		.cpu_millis = o->limits.cpu_millis,
		.pids = o->limits.pids,
		.open_files = o->limits.files,
		.file_bytes = o->limits.file_bytes,
		.core_bytes = o->limits.core_bytes,
		.network = o->network,
		.allow = (const char *const *)o->allow,
		.allow_count = o->allow_count,
		.deny = (const char *const *)o->deny,
		.deny_count = o->deny_count,
		.name = o->name,
		.labels = o->labels,
		.annotations = o->annotations,
		.flags = (o->life.linger ? YETT_SANDBOX_LINGER : 0U) |
	                 (o->ask ? YETT_SANDBOX_ASK : 0U) |
	                 (o->allow_private ? YETT_SANDBOX_PRIVATE : 0U),
		.idle_action = o->life.idle_action,
		.wall_time_ms = o->life.wall_ms,
		.cpu_time_ms = o->life.cpu_ms,
		.idle_time_ms = o->life.idle_ms,
		.cleanup_ms = o->life.cleanup_ms,
	};
}

static int ask_once(struct run *run, char **ret_plan)
{
	struct yett_sandbox_options options = sandbox_options(&run->options);

	if (ret_plan)
		return (output_json() ? yett_sandbox_plan_json : yett_sandbox_plan)(
			run->connection, &options, ret_plan, &run->error);
	return yett_sandbox_create(run->connection, &options, &run->sandbox, &run->error);
}

/* Prints one line about weaker isolation. `yett doctor` prints the details. */
static void note_weaker(const struct run *run)
{
	const char *weaker = run->sandbox ? yett_sandbox_get_info(run->sandbox)->weaker : "";

	if (*weaker)
		output_note("weaker %s", weaker);
}

/*
 * Whether a share can be the reason for the error: because of the policy, the file system or the
 * path.
 */
static bool may_be_for_a_share(int r)
{
	static const int codes[] = {YETT_E_PERMISSION_DENIED,     YETT_E_UNSUPPORTED,
	                            YETT_E_SECURITY_VIOLATION,    YETT_E_INVALID_REQUEST,
	                            YETT_E_FILE_OPERATION_FAILED, YETT_E_INIT_FAILED};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (r == codes[i])
			return true;
	return false;
}

/*
 * Requests the sandbox. If the default share is refused, tries again with it as copy-on-write where
 * the policy wants that, then without it.
 */
static int run_ask_ask(struct run *run, char **ret_plan)
{
	int r = ask_once(run, ret_plan);
	struct run_options *o = &run->options;
	struct yett_error first = run->error;

	if (run->has_default_share && run->error.reason == YETT_R_WANTED_COW && r) {
		o->shares[o->shares_count - 1].flags = YETT_SHARE_COW;
		r = run_shares_hide(o, &run->error);
		if (r == 0)
			r = ask_once(run, ret_plan);
		first = run->error;
	}
	if (r == 0)
		note_weaker(run);
	if (!run->has_default_share || !may_be_for_a_share(r))
		return r;
	o->shares_count--;
	free((char *)o->shares[o->shares_count].path);
	free((char *)o->shares[o->shares_count].target);
	run->has_default_share = false;
	r = ask_once(run, ret_plan);
	/* Report the error of this attempt: it does not depend on the default share. */
	if (r == 0) {
		output_note("nothing is shared: %s", first.message);
		note_weaker(run);
	}
	return r;
}

/*
 * Warns about set-id files in writable shares. A command could write one through a mapping, and
 * others outside could then execute it as its owner.
 */
static void note_set_id(const struct run_options *o)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < o->shares_count; i++)
		if ((o->shares[i].flags & YETT_SHARE_WRITABLE) && o->shares[i].path &&
		    set_id_find(o->shares[i].path, path, sizeof path))
			output_note(
				"%s keeps its set-id bit when a command writes it through a mapping: take the bit away (chmod ug-s)",
				path);
}

/*
 * Warns about rules for loopback addresses. Such a rule applies to names that resolve to the
 * address, but the user may have meant a server of this host.
 */
static void note_loopback(const struct run_options *o)
{
	struct net_rule rule;

	for (size_t i = 0; i < o->allow_count; i++)
		if (net_rule_parse(o->allow[i], &rule, NULL) == 0 &&
		    rule.kind == NET_RULE_ADDRESS &&
		    net_address_network_kind(&rule.address, rule.prefix) == NET_ADDRESS_LOCAL)
			output_note(
				"--allow %s: inside, this is the sandbox itself; to reach a server of this host, allow a name that "
				"resolves to this host: --allow NAME:PORT@ADDRESS",
				o->allow[i]);
}

int run_ask_sandbox(struct run *run)
{
	bool is_hidden = false;
	int r;

	note_set_id(&run->options);
	note_loopback(&run->options);
	r = run_ask_ask(run, NULL);
	for (size_t i = 0; r == 0 && !is_hidden && i < run->options.shares_count; i++)
		is_hidden = run->options.shares[i].hide || run->options.shares[i].store;
	if (is_hidden)
		work_note_hidden(yett_sandbox_get_info(run->sandbox)->id);
	return r;
}

/* A plan contains no relays: the helper decides on each when it is opened. */
static void note_relays(const struct run *run)
{
	if (run->options.relays.count > 0)
		output_note(
			"this does not cover forwarded ports and sockets: the policy decides when each is opened");
}

int run_ask_text(struct run *run, char **ret_text)
{
	note_relays(run);
	return run_ask_ask(run, ret_text);
}

int run_ask_plan(struct run *run)
{
	_cleanup_(connect_freep) char *plan = NULL;
	int r = run_ask_ask(run, &plan);

	note_relays(run);
	if (r == 0 && output_json())
		json_raw(output_json(), "plan", plan, strlen(plan));
	else if (r == 0)
		output_text(stdout, plan, true);
	return r;
}
