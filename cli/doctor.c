/* See doctor.h: the helper, the key, a trial, and the table that is printed. */
#include "cli/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "libclient/yett.h"

#define EXIT_USAGE	   2
#define CONNECT_TIMEOUT_MS 10000

struct doctor_run_options {
	const char *socket_path;
};

static int set_socket(void *into, const char *value, struct yett_error *error)
{
	(void)error;
	((struct doctor_run_options *)into)->socket_path = value;
	return 0;
}

const struct option doctor_options[] = {
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *mend, const char *format, ...)
{
	va_list args;

	finding->state = state;
	(void)snprintf(finding->mend, sizeof finding->mend, "%s", mend ? mend : "");
	va_start(args, format);
	(void)vsnprintf(finding->found, sizeof finding->found, format, args);
	va_end(args);
}

static void print_finding(const char *name, const struct doctor_finding *finding)
{
	static const char *const words[] = {
		[DOCTOR_OK] = "ok", [DOCTOR_WEAKER] = "weaker", [DOCTOR_MISSING] = "missing"};

	(void)printf("%-8s %-16s ", words[finding->state], name);
	output_text(stdout, finding->found, false);
	(void)fputc('\n', stdout);
	if (finding->mend[0]) {
		(void)printf("%-8s %-16s mend: ", "", "");
		output_text(stdout, finding->mend, false);
		(void)fputc('\n', stdout);
	}
}

static void look_start(const char *socket_path, struct yett_connection **ret_connection, struct doctor_finding *finding)
{
	struct yett_connect_options options = {.socket_path = socket_path, .timeout_ms = CONNECT_TIMEOUT_MS};
	struct yett_error error = {0};
	char path[PATH_MAX];

	if (yett_connect(&options, ret_connection, &error)) {
		doctor_found(finding, DOCTOR_MISSING,
			     geteuid() == 0 ? "start the service as README.md says, or set YETT_HELPER to a yett-helper"
					    : "have the administrator start the service, as README.md says",
			     "%s", error.message);
		return;
	}
	if (yett_connection_start(*ret_connection) == YETT_START_SERVICE)
		doctor_found(finding, DOCTOR_OK, NULL, "the service answers");
	else if (yett_helper_path(NULL, path, sizeof path, &error) == 0)
		doctor_found(finding, geteuid() == 0 ? DOCTOR_OK : DOCTOR_MISSING,
			     geteuid() == 0 ? NULL : "have the administrator start the service, as README.md says", "personal, %s: %s",
			     geteuid() == 0 ? "as root" : "not as root, so it can plan (--dry-run) but not build",
			     path);
}

/* Whether there is a key; that there is none yet is no fault, the first run makes it. */
static bool look_key(struct doctor_finding *finding)
{
	struct yett_signer *signer;
	struct yett_error error = {0};
	char path[PATH_MAX];
	int r = yett_key_path(path, sizeof path, &error);

	if (r == 0)
		r = yett_signer_load(path, &signer, &error);
	if (r == YETT_E_NOT_FOUND) {
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

static void look_policy(struct doctor_finding *finding)
{
	struct stat st;

	if (stat(YETT_POLICY_PATH, &st) == 0)
		doctor_found(finding, st.st_uid == 0 && !(st.st_mode & 022) ? DOCTOR_OK : DOCTOR_MISSING,
			     st.st_uid == 0 && !(st.st_mode & 022) ? NULL
								   : "chown root: " YETT_POLICY_PATH
								     " && chmod go-w " YETT_POLICY_PATH,
			     "%s", YETT_POLICY_PATH);
	else
		doctor_found(finding, DOCTOR_OK, NULL, "no %s: the built-in policy, in personal mode",
			     YETT_POLICY_PATH);
}

/* What decides: a sandbox, and true(1) in it. */
static void look_trial(struct yett_connection *connection, struct doctor_finding *finding)
{
	static const char *const argv[] = {"true", NULL};
	const struct yett_command_options command = {.argv = argv, .timeout_ms = CONNECT_TIMEOUT_MS};
	struct yett_sandbox *sandbox = NULL;
	struct yett_output output = {0};
	struct yett_error error = {0};
	int r = yett_sandbox_create(connection, NULL, &sandbox, &error);

	if (r == 0)
		r = yett_run(sandbox, &command, 0, &output, &error);
	if (r)
		doctor_found(finding, DOCTOR_MISSING, error.detail, "%s", error.message);
	else if (output.result.signaled || output.result.status)
		doctor_found(finding, DOCTOR_MISSING, NULL, "true(1) in a sandbox did not end well");
	else
		doctor_found(finding, DOCTOR_OK, NULL, "a command ran in a sandbox");
	yett_output_free(&output);
	(void)yett_sandbox_destroy(sandbox, NULL);
}

/* Prints it; what makes the trial fail is said by the trial, so a missing part of the machine is no verdict itself. */
static bool check(const char *name, const struct doctor_finding *finding)
{
	print_finding(name, finding);
	return finding->state != DOCTOR_MISSING;
}

int doctor_main(const struct subcommand *self, int argc, char **argv)
{
	struct doctor_run_options options = {0};
	struct yett_connection *connection = NULL;
	struct doctor_finding finding;
	bool works = true, has_key;
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	for (const struct doctor_check *c = doctor_machine; c->name; c++) {
		memset(&finding, 0, sizeof finding);
		c->look(&finding);
		works = check(c->name, &finding) && works;
	}
	memset(&finding, 0, sizeof finding);
	look_policy(&finding);
	works = check("policy", &finding) && works;
	has_key = look_key(&finding);
	works = check("key", &finding) && works;
	look_start(options.socket_path, &connection, &finding);
	works = check("start", &finding) && works;
	if (connection && has_key) {
		look_trial(connection, &finding);
		works = check("trial", &finding); /* it counts more than what was found before */
	}
	yett_connection_close(connection);
	(void)puts(works ? "yett run will work." : "yett run will not work.");
	return works ? EXIT_SUCCESS : EXIT_FAILURE;
}
