/* SPDX-License-Identifier: Apache-2.0 */
/* See policy_ask.h. */
#include "cli/admin/policy_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect.h"
#include "cli/run/run_option_table.h"
#include "cli/run/run_parts.h"
#include "cli/run/run_shares.h"

const struct subcommand policy_ask_as_run = {
	"run",
	"[--] [COMMAND [ARG…]]",
	"Explain how the policy would answer yett run with these options",
	run_options,
	0,
	-1,
	NULL,
	true};

void policy_ask_add(struct policy_arguments *arguments, const char *word, const char *value)
{
	if (!word || (value && !*value))
		return;
	arguments->words[arguments->count++] = word;
	if (value)
		arguments->words[arguments->count++] = value;
}

/* `key` names an enrolled key, unless it can only be a file: it has a slash or ends with ".pub". */
static const char *key_word(const char *key, char path[static PATH_MAX])
{
	size_t length = strlen(key);

	if (strchr(key, '/') || length <= 4 || strcmp(key + length - 4, ".pub") != 0)
		return key;
	(void)snprintf(path, PATH_MAX, "./%s", key);
	return path;
}

void policy_ask_add_choice(struct policy_arguments *arguments, const struct policy_choice *choice)
{
	if (choice->user)
		policy_ask_add(arguments, "--user", choice->user);
	if (choice->key)
		policy_ask_add(arguments, "--key", key_word(choice->key, arguments->key));
	if (choice->file)
		policy_ask_add(arguments, "--policy", choice->file);
	if (choice->groups)
		policy_ask_add(arguments, "--groups", choice->groups);
	if (choice->at)
		policy_ask_add(arguments, "--at", choice->at);
	if (choice->is_agents)
		policy_ask_add(arguments, "--agent", NULL);
	if (choice->is_own_key && !choice->key)
		policy_ask_add(arguments, "--own-key", NULL);
}

#define EXPLAIN "/yett-explain"

/*
 * Finds yett-explain in `folder`. libyett checks that the program may be executed, as it checks a
 * helper.
 */
static int find_explain_in(const char *folder, int length, char path[static PATH_MAX],
                           struct yett_error *error)
{
	char explain[PATH_MAX + sizeof EXPLAIN];

	(void)snprintf(explain, sizeof explain, "%.*s" EXPLAIN, length, folder);
	return yett_helper_path(explain, path, PATH_MAX, error);
}

/*
 * If this program is DIR/bin/yett in an unpacked tree that is not installed, stores
 * DIR/libexec/yett.
 */
static bool name_own_folder(char folder[static PATH_MAX])
{
	static const char program[] = "/bin/yett", programs[] = "/libexec/yett";
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - sizeof programs);
	size_t length = n < 0 ? 0 : (size_t)n, tail = strlen(program);

	folder[length] = '\0';
	if (length <= tail || strcmp(folder + length - tail, program) != 0)
		return false;
	(void)strcpy(folder + length - tail, programs);
	return true;
}

/*
 * Finds yett-explain beside the helper that libyett finds. No helper needs to be installed: only
 * yett-explain and yett-policy read a policy.
 */
static int find_explain(char path[static PATH_MAX], struct yett_error *error)
{
	char folder[PATH_MAX];
	int r = yett_helper_path(NULL, folder, sizeof folder, error);

	if (r == 0)
		return find_explain_in(folder, (int)(strrchr(folder, '/') - folder), path, error);
	if (r != YETT_E_NOT_FOUND)
		return r;
	if (name_own_folder(folder) &&
	    find_explain_in(folder, (int)strlen(folder), path, error) == 0)
		return 0;
	return find_explain_in(YETT_LIBEXEC_DIR, (int)strlen(YETT_LIBEXEC_DIR), path, error);
}

int policy_ask_connect(const struct policy_arguments *arguments, const char *signing_key,
                       struct yett_connection **ret_connection, struct yett_error *error)
{
	char path[PATH_MAX];
	struct yett_connect_options options = {.size = sizeof options,
	                                       .start = YETT_START_PERSONAL,
	                                       .helper_path = path,
	                                       .key_path = signing_key,
	                                       .helper_arguments = arguments->words,
	                                       .workspace = yett_workspace()};
	int r = find_explain(path, error);

	return r ? r : yett_connect(&options, ret_connection, error);
}

bool policy_ask_is_refusal(const struct yett_error *error)
{
	return error->code != YETT_E_HELPER_UNAVAILABLE && error->code != YETT_E_PROTOCOL &&
	       error->code != YETT_E_TIMEOUT && error->code != YETT_E_FILE_OPERATION_FAILED;
}

int policy_ask_text(const struct policy_arguments *arguments, bool as_json, char **ret_text,
                    struct yett_error *error)
{
	struct yett_connection *connection = NULL;
	int r = policy_ask_connect(arguments, NULL, &connection, error);

	if (r == 0)
		r = (as_json ? yett_sandbox_plan_json : yett_sandbox_plan)(connection, NULL,
		                                                           ret_text, error);
	yett_connection_close(connection);
	return r;
}

int policy_ask_check(const char *file, char **ret_text, bool *ret_is_read, struct yett_error *error)
{
	struct policy_arguments arguments = {.words = {"--check"}, .count = 1};
	char path[PATH_MAX];
	int r = find_explain(path, error);

	*ret_is_read = false;
	if (r)
		return r;
	policy_ask_add_choice(&arguments, &(struct policy_choice){.file = file});
	r = policy_ask_text(&arguments, false, ret_text, error);
	*ret_is_read = r == 0 || (r != YETT_E_PERMISSION_DENIED && policy_ask_is_refusal(error));
	return r;
}

int policy_ask_words(const struct policy_choice *choice, int count, char **words, char **ret_text,
                     bool *ret_is_reported, struct yett_error *error)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	struct policy_arguments arguments = {.count = 0};
	bool help = false;
	int r, first;

	*ret_is_reported = false;
	if (!run)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "there is no memory left");
	run_options_init(&run->options);
	policy_ask_add_choice(&arguments, choice);
	run_ask_find_home(run, choice->user);
	r = options_parse(&policy_ask_as_run, count, words, &run->options, &help, &first,
	                  &run->error);
	if (r == 0)
		r = run_shares_hide(&run->options, &run->error);
	if (r == 0)
		r = policy_ask_connect(&arguments, run->options.connect.key_path, &run->connection,
		                       &run->error);
	if (r == 0) {
		r = run_ask_text(run, ret_text);
		*ret_is_reported = r == 0 || policy_ask_is_refusal(&run->error);
	}
	*error = run->error;
	yett_connection_close(run->connection);
	run_options_free(&run->options);
	return r;
}
