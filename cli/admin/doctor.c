/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See doctor.h: checks the helper, the policy and the key, tries a sandbox, and prints the
 * findings.
 */
#include "cli/admin/doctor.h"

#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/admin/policy_ask.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libclient/yett.h"

#define CONNECT_TIMEOUT_MS 10000

struct doctor_run_options {
	struct connect_choice connect;
	const char *policy, *profile;
	bool capabilities;
};

OPTION_TEXT(set_socket, struct doctor_run_options, connect.socket_path)
OPTION_TEXT(set_key, struct doctor_run_options, connect.key_path)
OPTION_TEXT(set_policy, struct doctor_run_options, policy)
OPTION_TEXT(doctor_set_profile, struct doctor_run_options, profile)
OPTION_FLAG(doctor_set_capabilities, struct doctor_run_options, capabilities)

const struct option doctor_options[] = {
	CONNECT_OPTIONS,
	{0, "policy", "FILE", "check this policy of the service (" YETT_POLICY_PATH ")",
         set_policy},
	{0, "capabilities", NULL, "list instead which capabilities your sandboxes can have",
         doctor_set_capabilities},
	{'p', "profile", "PROFILE", "list them for this profile (default)", doctor_set_profile},
	{0},
};

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *mend,
                  const char *format, ...)
{
	va_list args;

	finding->state = state;
	(void)snprintf(finding->mend, sizeof finding->mend, "%s", mend ? mend : "");
	va_start(args, format);
	(void)vsnprintf(finding->found, sizeof finding->found, format, args);
	va_end(args);
}

static const char *const state_words[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_WEAKER] = "weaker", [DOCTOR_MISSING] = "missing"};

static void print_finding(const char *name, const struct doctor_finding *finding)
{
	(void)printf("%-8s %-16s ", state_words[finding->state], name);
	output_text(stdout, finding->found, false);
	(void)fputc('\n', stdout);
	if (finding->mend[0]) {
		(void)printf("%-8s %-16s hint: ", "", "");
		output_text(stdout, finding->mend, false);
		(void)fputc('\n', stdout);
	}
}

static void json_finding(struct json *json, const char *name, const struct doctor_finding *finding)
{
	json_open(json, NULL, '{');
	json_text(json, "check", name);
	json_text(json, "state", state_words[finding->state]);
	json_text(json, "found", finding->found);
	json_text_or_null(json, "mend", finding->mend);
	json_close(json);
}

/*
 * Reports on the helper that the library executed. Whether somebody else could have changed its
 * file is not checked here: the library refuses to execute such a helper.
 */
static void look_own(enum yett_start start, struct doctor_finding *finding)
{
	char path[PATH_MAX], closed[PATH_MAX], of[CONNECT_GROUP_SIZE], mend[2 * PATH_MAX + 64];
	const char *obstacle;
	struct yett_error error = {0};
	struct group *group;
	struct stat st;

	if (yett_helper_path(NULL, path, sizeof path, &error) || stat(path, &st) < 0) {
		doctor_found(finding, DOCTOR_MISSING, NULL, "%s", error.message);
		return;
	}
	if (start == YETT_START_PERSONAL && geteuid() != 0 &&
	    !doctor_has_user_namespace(&obstacle)) {
		(void)snprintf(
			mend, sizeof mend,
			"have the administrator start the service, as docs/admin.md says; or, as root: %s",
			obstacle);
		doctor_found(
			finding, DOCTOR_MISSING, mend,
			"personal, and you can have no user namespace, so it can plan (--dry-run) but not build: %s",
			path);
		return;
	}
	if (start == YETT_START_PERSONAL && connect_find_closed(closed, of)) {
		(void)snprintf(mend, sizeof mend,
		               "have the administrator put you into the group %s", of);
		doctor_found(
			finding, DOCTOR_WEAKER, mend,
			"personal, in a user namespace of your own: %s is for the group %s, and you are not in it",
			closed, of);
		return;
	}
	if (start == YETT_START_PERSONAL) {
		doctor_found(
			finding, geteuid() == 0 ? DOCTOR_OK : DOCTOR_WEAKER,
			geteuid() == 0
				? NULL
				: "have the administrator start the service, or make the helper set-user-id, as docs/admin.md says",
			"personal, %s: %s",
			geteuid() == 0 ? "as root" : "in a user namespace of your own", path);
		return;
	}
	group = getgrgid(st.st_gid);
	(void)snprintf(mend, sizeof mend, "chown root:yett %s && chmod 4750 %s", path, path);
	doctor_found(finding, (st.st_mode & 07777) == 04750 ? DOCTOR_OK : DOCTOR_WEAKER,
	             (st.st_mode & 07777) == 04750 ? NULL : mend,
	             "set-user-id: %s, root:%s, mode %04o%s", path,
	             group ? group->gr_name : "(no name)", (unsigned)st.st_mode & 07777,
	             st.st_mode & S_IXOTH ? ", so that anybody may execute it" : "");
}

static void look_start(const struct connect_choice *choice, struct yett_connection **ret_connection,
                       struct doctor_finding *finding)
{
	struct yett_connect_options options = {.size = sizeof options,
	                                       .socket_path = choice->socket_path,
	                                       .key_path = choice->key_path,
	                                       .timeout_ms = CONNECT_TIMEOUT_MS,
	                                       .workspace = yett_workspace()};
	struct yett_error error = {0};

	if (yett_connect(&options, ret_connection, &error)) {
		doctor_found(
			finding, DOCTOR_MISSING,
			error.mend[0]                                              ? error.mend
			: error.code != YETT_E_HELPER_UNAVAILABLE && *error.detail ? error.detail
			: geteuid() == 0
				? "start the service as docs/admin.md says, or set YETT_HELPER to a yett-helper"
				: "have the administrator start the service, as docs/admin.md says",
			"%s", error.message);
		return;
	}
	if (yett_connection_start(*ret_connection) == YETT_START_SERVICE)
		doctor_found(finding, DOCTOR_OK, NULL, "the service answers");
	else
		look_own(yett_connection_start(*ret_connection), finding);
}

/* Whether there is a key to try. A missing key is no fault: the first run makes one. */
static bool look_key(const char *chosen, struct doctor_finding *finding)
{
	struct yett_signer *signer;
	struct yett_error error = {0};
	char path[PATH_MAX];
	int r = chosen ? 0 : yett_key_path(path, sizeof path, &error);

	if (chosen)
		(void)snprintf(path, sizeof path, "%s", chosen);
	if (r == 0)
		r = yett_signer_load(path, &signer, &error);
	if (r == YETT_E_NOT_FOUND && !chosen) {
		doctor_found(finding, DOCTOR_OK, NULL, "none yet: the first yett run makes one");
		return false;
	}
	if (r) {
		doctor_found(finding, DOCTOR_MISSING, error.detail, "%s", error.message);
		return false;
	}
	yett_signer_free(signer);
	doctor_found(finding, DOCTOR_OK, NULL, "%s", path);
	return true;
}

/*
 * Reports the notes of policy_ask_check(), whose text is a line for each note and a last line that
 * is none: the first note, and how many more there are.
 */
static void report_notes(const char *text, struct doctor_finding *finding)
{
	size_t count = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	if (count < 2)
		doctor_found(finding, DOCTOR_OK, NULL, "%.*s", (int)strcspn(text, "\n"), text);
	else if (count == 2)
		doctor_found(
			finding, DOCTOR_WEAKER,
			"change that grant, or take it out, as the administrator; then: systemctl reload yett",
			"%.*s", (int)strcspn(text, "\n"), text);
	else
		doctor_found(finding, DOCTOR_WEAKER, "yett policy check tells all of it",
		             "%.*s (and %zu more)", (int)strcspn(text, "\n"), text, count - 2);
}

/* Checks the policy as the service would read it, if the caller may read the file. */
static void look_policy(const char *path, struct doctor_finding *finding)
{
	_cleanup_(connect_freep) char *text = NULL;
	struct yett_error error = {0};
	bool is_read;
	int r;

	if (!path && access(YETT_POLICY_PATH, F_OK) < 0 && errno == ENOENT) {
		doctor_found(finding, DOCTOR_OK, NULL,
		             "no %s: the built-in policy, in personal mode", YETT_POLICY_PATH);
		return;
	}
	r = policy_ask_check(path, &text, &is_read, &error);
	if (r == 0)
		report_notes(text, finding);
	else if (r == YETT_E_PERMISSION_DENIED)
		doctor_found(finding, DOCTOR_OK, NULL, "%s is for root to read, and to check",
		             path ? path : YETT_POLICY_PATH);
	else if (!is_read)
		doctor_found(
			finding, DOCTOR_WEAKER,
			"yett-explain and yett-policy must be in the helper's directory, writable by nobody else: reinstall yett",
			"the policy cannot be checked: %s", error.message);
	else
		doctor_found(
			finding, DOCTOR_MISSING,
			"have the administrator fix the policy until yett policy check finds nothing; then: systemctl reload yett, or where it does "
			"not run: systemctl restart yett.socket",
			"%s", error.message);
}

/* Returns how to fix the error, or else its detail. */
static const char *mend_of(const struct yett_error *error)
{
	return error->mend[0] ? error->mend : error->detail;
}

/*
 * Without a key, only asks whether the policy gives a sandbox: the first run would make the key. If
 * there is a key that cannot be used, its error is reported a second time here.
 */
static void look_plan(struct yett_connection *connection, struct doctor_finding *finding)
{
	_cleanup_(connect_freep) char *plan = NULL;
	struct yett_error error = {0};

	if (yett_sandbox_plan(connection, NULL, &plan, &error))
		doctor_found(finding, DOCTOR_MISSING, mend_of(&error), "%s", error.message);
	else
		doctor_found(finding, DOCTOR_OK, NULL,
		             "not tried, as there is no key yet; the policy allows a sandbox");
}

/* The check that decides: makes a sandbox and runs true(1) in it. */
static void look_trial(struct yett_connection *connection, struct doctor_finding *finding)
{
	static const char mend[] =
		"have the administrator start the service; for limits alone: systemd-run --user --scope yett run ...";
	static const char *const argv[] = {"true", NULL};
	const struct yett_command_options command = {
		.size = sizeof command, .argv = argv, .timeout_ms = CONNECT_TIMEOUT_MS};
	struct yett_sandbox *sandbox = NULL;
	struct yett_output *output = NULL;
	struct yett_error error = {0};
	int r = yett_sandbox_create(connection, NULL, &sandbox, &error);

	if (r == 0)
		r = yett_run(sandbox, &command, 0, &output, &error);
	if (r)
		doctor_found(finding, DOCTOR_MISSING, mend_of(&error), "%s", error.message);
	else if (output->result->signaled || output->result->status)
		doctor_found(finding, DOCTOR_MISSING, NULL,
		             "true(1) in a sandbox did not end well");
	else if (*yett_sandbox_get_info(sandbox)->weaker)
		doctor_found(finding, DOCTOR_WEAKER, mend, "a command ran in a sandbox, weaker %s",
		             yett_sandbox_get_info(sandbox)->weaker);
	else
		doctor_found(finding, DOCTOR_OK, NULL, "a command ran in a sandbox");
	yett_free(output);
	(void)yett_sandbox_end(sandbox, NULL);
	yett_sandbox_close(sandbox);
}

/*
 * Reports if the service cannot catch connections at all ports, and returns whether that is so.
 * Only the service knows, so this asks for plans of networks that need it. Networks that the policy
 * does not give are skipped.
 */
static bool look_ports(struct yett_connection *connection, struct doctor_finding *finding)
{
	static const char *const name[] = {"name.example"};
	const struct yett_sandbox_options options[] = {
		{.size = sizeof options[0], .network = YETT_NETWORK_OPEN},
		{.size = sizeof options[0],
	         .network = YETT_NETWORK_LIMITED,
	         .allow = name,
	         .allow_count = 1}};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		_cleanup_(connect_freep) char *plan = NULL;
		struct yett_error error = {0};

		if (yett_sandbox_plan(connection, &options[i], &plan, &error) != YETT_E_UNSUPPORTED)
			continue;
		doctor_found(finding, DOCTOR_WEAKER, mend_of(&error), "%s", error.message);
		return true;
	}
	return false;
}

/*
 * Reports whether a sandbox with a network can be had without root, and what it lacks. A policy
 * that gives no network is no fault.
 */
static void look_network(struct yett_connection *connection, struct doctor_finding *finding)
{
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .network = YETT_NETWORK_LIMITED};
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int r = yett_sandbox_create(connection, &options, &sandbox, &error);

	if (r == YETT_E_PERMISSION_DENIED)
		doctor_found(finding, DOCTOR_OK, NULL, "none by the policy");
	else if (r)
		doctor_found(finding, DOCTOR_WEAKER, mend_of(&error), "%s", error.message);
	else
		doctor_found(
			finding, DOCTOR_WEAKER, "have the administrator start the service",
			"without root: one listener for each port that rules name, at most 256, and so no rule without a port");
	(void)yett_sandbox_end(sandbox, NULL);
	yett_sandbox_close(sandbox);
}

struct doctor_report {
	bool works;
};

/* Prints a finding, and clears it for the next check. */
static void doctor_add(struct doctor_report *report, const char *name,
                       struct doctor_finding *finding)
{
	if (output_json())
		json_finding(output_json(), name, finding);
	else
		print_finding(name, finding);
	report->works = report->works && finding->state != DOCTOR_MISSING;
	memset(finding, 0, sizeof *finding);
}

static void json_capability(struct json *json, const struct yett_capability *c)
{
	json_open(json, NULL, '{');
	json_text(json, "name", c->name);
	json_bool(json, "supported", c->is_supported);
	json_text_or_null(json, "how", c->how);
	json_text(json, "code", c->is_supported ? NULL : yett_error_code_name(c->code));
	json_text_or_null(json, "reason", c->reason);
	json_text_or_null(json, "mend", c->mend);
	json_close(json);
}

static void print_capability(const struct yett_capability *c)
{
	(void)printf("%-3s %-20s ", c->is_supported ? "yes" : "no", c->name);
	output_text(stdout, c->is_supported ? c->how : c->reason, false);
	(void)fputc('\n', stdout);
	if (*c->mend) {
		(void)printf("%-3s %-20s hint: ", "", "");
		output_text(stdout, c->mend, false);
		(void)fputc('\n', stdout);
	}
}

static int report_capabilities(const struct doctor_run_options *options)
{
	struct yett_capability_list *list = NULL;
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};
	int r = connect_with_key(&options->connect, false, &connection, &error);

	if (r == 0)
		r = yett_capabilities(connection, options->profile, &list, &error);
	yett_connection_close(connection);
	if (r) {
		output_error(&error);
		return EXIT_FAILURE;
	}
	if (output_json())
		json_open(output_json(), "capabilities", '[');
	for (size_t i = 0; i < yett_capability_list_count(list); i++) {
		const struct yett_capability *capability = yett_capability_list_get(list, i);

		if (output_json())
			json_capability(output_json(), capability);
		else
			print_capability(capability);
	}
	if (output_json())
		json_close(output_json());
	yett_free(list);
	return EXIT_SUCCESS;
}

int doctor_main(const struct subcommand *self, int argc, char **argv)
{
	struct doctor_run_options options = {0};
	struct yett_connection *connection = NULL;
	struct doctor_finding finding = {0};
	struct doctor_report report = {.works = true};
	bool has_key, is_rootless;
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (options.capabilities)
		return report_capabilities(&options);
	if (output_json())
		json_open(output_json(), "checks", '[');
	for (const struct doctor_check *c = doctor_machine; c->name; c++) {
		c->look(&finding);
		doctor_add(&report, c->name, &finding);
	}
	look_policy(options.policy, &finding);
	doctor_add(&report, "policy", &finding);
	has_key = look_key(options.connect.key_path, &finding);
	doctor_add(&report, "key", &finding);
	look_start(&options.connect, &connection, &finding);
	doctor_add(&report, "start", &finding);
	is_rootless = connection && yett_connection_start(connection) == YETT_START_PERSONAL &&
	              geteuid() != 0;
	doctor_look_network(is_rootless, &finding);
	if (report.works)
		doctor_add_host_network(is_rootless, &finding);
	doctor_add(&report, "network", &finding);
	if (connection) {
		/* The result of a trial counts more than the earlier findings. */
		report.works = report.works || has_key;
		(has_key ? look_trial : look_plan)(connection, &finding);
		doctor_add(&report, "trial", &finding);
	}
	if (report.works && has_key && is_rootless) {
		look_network(connection, &finding);
		doctor_add(&report, "network", &finding);
	} else if (report.works && has_key && look_ports(connection, &finding)) {
		doctor_add(&report, "network", &finding);
	}
	yett_connection_close(connection);
	if (output_json()) {
		json_close(output_json());
		json_bool(output_json(), "works", report.works);
	} else {
		(void)puts(
			!report.works ? "yett run will not work."
			: has_key
				? "yett run will work."
				: "yett run will work, as far as was checked: no sandbox was tried, as there is no key yet.");
	}
	return report.works ? EXIT_SUCCESS : EXIT_FAILURE;
}
