/* SPDX-License-Identifier: Apache-2.0 */
/* See snapshot.h. */
#include "cli/changes/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/own_place.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sandboxes/session.h"
#include "cli/changes/freeze.h"
#include "cli/sandboxes/suspend.h"
#include "cli/changes/work.h"
#include "libclient/yett.h"

#define END_TRIES 5000 /* of two milliseconds each */

struct snapshot_choice {
	struct connect_choice connect;
	bool delete_later, yes, kill;
};

OPTION_TEXT(set_socket, struct snapshot_choice, connect.socket_path)
OPTION_TEXT(set_key, struct snapshot_choice, connect.key_path)
OPTION_FLAG(set_delete_later, struct snapshot_choice, delete_later)
OPTION_FLAG(cli_snapshot_set_kill, struct snapshot_choice, kill)
OPTION_FLAG(cli_snapshot_set_yes, struct snapshot_choice, yes)

const struct option snapshot_options[] = {
	{0, "delete-later", NULL, "rollback: also delete the later snapshots", set_delete_later},
	{0, "kill", NULL,
         "rollback: suspend the sandbox that uses the store, and resume it afterwards",
         cli_snapshot_set_kill},
	{'y', "yes", NULL, "rollback: do not ask for confirmation", cli_snapshot_set_yes},
	CONNECT_OPTIONS,
	{0},
};

/* An action on the store `id` and a snapshot (NULL: none was named). */
struct action {
	const char *word;
	bool takes_name, needs_name, is_back;
	int (*run)(const struct snapshot_choice *choice, const char *id, const char *name,
	           struct yett_error *error);
};

static void print_snapshot(const struct yett_snapshot *snapshot)
{
	time_t seconds = (time_t)(snapshot->created_ms / 1000);
	struct json *json = output_json();
	char when[32] = "-";
	struct tm local;

	if (json) {
		json_open(json, NULL, '{');
		json_text(json, "name", snapshot->name);
		json_number(json, "created_ms", snapshot->created_ms);
		json_number(json, "layers", snapshot->layers);
		json_bool(json, "earlier_boot", snapshot->is_earlier_boot);
		json_close(json);
		return;
	}
	if (localtime_r(&seconds, &local))
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
	(void)printf("%-19s  %s\n", when, snapshot->name);
}

/*
 * Warns about snapshots of an earlier boot, whose files may not have been written to disk before
 * the machine went down. `name` NULL: about all snapshots.
 */
static void note_torn(const struct yett_snapshot_list *list, const char *name)
{
	for (size_t i = 0; i < yett_snapshot_list_count(list); i++) {
		const struct yett_snapshot *snapshot = yett_snapshot_list_get(list, i);

		if (snapshot->is_earlier_boot && (!name || strcmp(name, snapshot->name) == 0))
			output_note(
				"the machine was rebooted after the snapshot %s was taken: after a crash, files in the snapshot may be incomplete",
				snapshot->name);
	}
}

static int run_list(const struct snapshot_choice *choice, const char *id, const char *name,
                    struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_snapshot_list *list = NULL;
	int r = yett_snapshots_list(id, &list, error);

	(void)choice;
	(void)name;
	if (r)
		return r;
	if (output_json())
		json_open(output_json(), "snapshots", '[');
	else
		(void)printf("%-19s  %s\n", "CREATED", "NAME");
	for (size_t i = 0; i < yett_snapshot_list_count(list); i++)
		print_snapshot(yett_snapshot_list_get(list, i));
	if (output_json())
		json_close(output_json());
	note_torn(list, NULL);
	return 0;
}

/* The sandbox that works on a store (empty: none), and the directory that contains the stores. */
struct user {
	char sandbox[YETT_ID_SIZE], works[4096];
};

static int cli_snapshot_find_user(const char *id, struct user *ret_user, struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	int r = yett_works_list(&list, error);

	*ret_user = (struct user){.sandbox = ""};
	for (size_t i = 0; r == 0 && i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (strcmp(work->id, id) != 0 || !work->is_used)
			continue;
		(void)snprintf(ret_user->sandbox, sizeof ret_user->sandbox, "%s", work->sandbox);
		(void)snprintf(ret_user->works, sizeof ret_user->works, "%.*s",
		               (int)(strrchr(work->store, '/') - work->store), work->store);
	}
	return r;
}

/* Rolls back, or with YETT_ROLLBACK_CHECK only checks whether a rollback would be refused. */
static int roll_back(const struct snapshot_choice *choice, const char *id, const char *name,
                     uint32_t flags, struct yett_error *error)
{
	return yett_snapshot_rollback(
		id, name, flags | (choice->delete_later ? YETT_ROLLBACK_DELETE_LATER : 0), error);
}

/* Returns how many snapshots are later than `name`. A rollback deletes them. */
static size_t count_later(const char *id, const char *name)
{
	_cleanup_(connect_workspace_freep) struct yett_snapshot_list *list = NULL;
	size_t count, later = 0;
	uint32_t layers = UINT32_MAX;

	if (yett_snapshots_list(id, &list, NULL) != 0)
		return 0;
	count = yett_snapshot_list_count(list);
	for (size_t i = 0; i < count; i++)
		if (strcmp(yett_snapshot_list_get(list, i)->name, name) == 0)
			layers = yett_snapshot_list_get(list, i)->layers;
	for (size_t i = 0; i < count; i++)
		later += yett_snapshot_list_get(list, i)->layers > layers;
	return later;
}

static void cli_snapshot_ask(const char *id, const char *name, const char *sandbox)
{
	size_t later = count_later(id, name);

	(void)fputs("yett: the changes in ", stderr);
	output_text(stderr, id, false);
	(void)fputs(" since ", stderr);
	output_text(stderr, name, false);
	(void)fputs(" will be lost", stderr);
	if (later)
		(void)fprintf(stderr, ", with %zu later snapshot%s", later, later == 1 ? "" : "s");
	if (*sandbox)
		(void)fprintf(stderr, "; and the processes and /tmp of the sandbox %s", sandbox);
	(void)fputs(". Go back? [y/N] ", stderr);
	(void)fflush(stderr);
}

/*
 * Asks for confirmation at a terminal, if the rollback is possible. `sandbox` is suspended for the
 * rollback; empty: none. Returns 0 if the user agrees or cannot be asked.
 */
static int agree(const struct snapshot_choice *choice, const char *id, const char *name,
                 const char *sandbox, struct yett_error *error)
{
	char answer[16] = "";
	int r;

	if (choice->yes || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || output_json())
		return 0;
	r = roll_back(choice, id, name, YETT_ROLLBACK_CHECK, error);
	if (r)
		return r;
	cli_snapshot_ask(id, name, sandbox);
	if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "nothing was changed");
}

/* Waits until the suspended sandbox has released the store. */
static void wait_for_store(const char *id)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	struct user user;

	for (unsigned i = 0;
	     i < END_TRIES && cli_snapshot_find_user(id, &user, NULL) == 0 && user.sandbox[0]; i++)
		(void)nanosleep(&moment, NULL);
}

/*
 * Suspends the sandbox, rolls back, and recreates the sandbox even if the rollback failed. If it
 * cannot be recreated, its session stays suspended.
 */
static int go_back_under(struct yett_connection *connection, const struct snapshot_choice *choice,
                         const char *sandbox, const char *id, const char *name,
                         struct yett_error *error)
{
	char called[YETT_NAME_SIZE], made[YETT_ID_SIZE];
	struct yett_error late = {0};
	int r = suspend_check(sandbox, called, error), again;

	if (r == 0) /* check before the sandbox is ended */
		r = roll_back(choice, id, name, YETT_ROLLBACK_CHECK, error);
	if (r == 0)
		r = suspend_end(connection, sandbox, error);
	if (r)
		return r;
	wait_for_store(id);
	r = roll_back(choice, id, name, 0, error);
	again = suspend_resume(connection, called, made, &late);
	if (again && r == 0) {
		*error = late;
		output_note(
			"%s was rolled back to %s, and the sandbox %s is suspended: yett resume %s recreates it",
			id, name, called, called);
		return again;
	}
	if (again)
		output_note("the sandbox %s is suspended, and could not be made again: %s", called,
		            late.message);
	else if (output_json())
		json_text(output_json(), "sandbox", made);
	else
		output_note("the sandbox %s was made again: %s", called, made);
	return r;
}

static int roll_back_used(const struct snapshot_choice *choice, const char *sandbox, const char *id,
                          const char *name, struct yett_error *error)
{
	struct yett_connection *connection;
	int r;

	if (!choice->kill) {
		r = roll_back(choice, id, name, 0, error);
		if (r == YETT_E_INVALID_REQUEST)
			error_mend(
				error,
				"end it first: yett destroy %s; or with --kill it is suspended, and made again afterwards, if "
				"yett create --name made it",
				sandbox);
		return r;
	}
	r = agree(choice, id, name, sandbox, error);
	if (r == 0)
		r = connect_without_key(&choice->connect, &connection, error);
	if (r)
		return r;
	r = go_back_under(connection, choice, sandbox, id, name, error);
	yett_connection_close(connection);
	return r;
}

static int run_rollback(const struct snapshot_choice *choice, const char *id, const char *name,
                        struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_snapshot_list *list = NULL;
	struct user user;
	int r = cli_snapshot_find_user(id, &user, error);

	if (r == 0 && user.sandbox[0]) {
		r = roll_back_used(choice, user.sandbox, id, name, error);
	} else if (r == 0) {
		r = agree(choice, id, name, "", error);
		if (r == 0)
			r = roll_back(choice, id, name, 0, error);
	}
	if (r)
		return r;
	if (yett_snapshots_list(id, &list, NULL) == 0)
		note_torn(list, name);
	if (output_json())
		json_text(output_json(), "name", name);
	else
		(void)printf("%s is as %s was\n", id, name);
	return 0;
}

/* An operation that copies from a store or within it, even while a sandbox works on the store. */
struct copying {
	const char *id, *name;
	char fork[YETT_ID_SIZE]; /* the id of the new store, if one was made */
	char *taken;             /* the name of the new snapshot, if one was made; owned */
	int (*run)(struct copying *copying, bool is_used, struct yett_error *error);
	int (*take_back)(struct copying *copying, struct yett_error *error);
};

/*
 * Refuses a store of another directory. The store's name comes from a checkpoint: programs write
 * the file with the checkpoints, and could name any store.
 */
static int check_here(const struct yett_work *work, struct yett_error *error)
{
	char here[PATH_MAX];

	if (realpath(".", here) && own_place_is_below(here, work->source))
		return 0;
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"the store %s has the changes of %s, which is neither the current directory nor one above it",
		work->id, ESCAPE(work->source));
	error_mend(
		error,
		"to roll that directory back, change to it first; yett snapshot list %s lists the snapshots",
		work->id);
	return YETT_E_INVALID_REQUEST;
}

/* Finds a store by its own id, or the only store of a sandbox by the sandbox's id or name. */
static int cli_snapshot_find_store(const char *of, char id[static YETT_ID_SIZE],
                                   struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *found = NULL;
	int r = yett_works_list(&list, error);
	char name[YETT_NAME_SIZE];
	size_t count = 0;

	for (size_t i = 0; r == 0 && i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);
		bool is_it = strcmp(work->id, of) == 0;

		if (!is_it && strcmp(work->sandbox, of) != 0 &&
		    !(session_find(work->sandbox, name) && strcmp(name, of) == 0))
			continue;
		found = work;
		count = is_it ? 1 : count + 1;
		if (is_it)
			break;
	}
	if (r)
		return r;
	if (count == 1) {
		(void)snprintf(id, YETT_ID_SIZE, "%s", found->id);
		return check_here(found, error);
	}
	(void)error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                count ? "%s has more than one store"
	                      : "there is no store %s, nor one of a sandbox of that id or name",
	                ESCAPE(of));
	error_mend(error, "yett work list tells which stores there are");
	return YETT_E_NOT_FOUND;
}

int snapshot_go_back(const char *of, const char *name, unsigned flags, struct yett_error *error)
{
	struct snapshot_choice choice = {
		.kill = flags & SNAPSHOT_KILL, .yes = flags & SNAPSHOT_YES, .delete_later = true};
	char id[YETT_ID_SIZE];
	int r = cli_snapshot_find_store(of, id, error);

	return r ? r : run_rollback(&choice, id, name, error);
}

static void cli_snapshot_take_back(struct copying *copying)
{
	struct yett_error error = {0};

	if (copying->take_back(copying, &error) != 0)
		output_note("the incomplete copy could not be removed: %s", error.message);
	yett_workspace_free(copying->taken);
	copying->taken = NULL;
	copying->fork[0] = '\0';
}

/*
 * Freezes the sandbox while copying. A sandbox that was paused before stays paused. If only thawing
 * fails, the copy is kept.
 */
static int copy_used(const struct snapshot_choice *choice, const struct user *user,
                     struct copying *copying, struct yett_error *error)
{
	struct yett_connection *connection;
	struct freeze still;
	struct yett_error late = {0};
	bool is_whole;
	int r = connect_without_key(&choice->connect, &connection, error), end;

	if (r)
		return r;
	r = freeze_begin(connection, user->works, user->sandbox, &still, error);
	if (r == 0) {
		r = copying->run(copying, true, error);
		end = freeze_end(&still, &is_whole, &late);
		if (r && end)
			output_note("%s%s%s", late.message, *late.mend ? ": " : "", late.mend);
		if (r == 0 && !is_whole)
			cli_snapshot_take_back(copying);
		if (r == 0 && end) {
			*error = late;
			r = end;
		}
		if (r == 0)
			output_note("the sandbox %s was frozen while it was copied", user->sandbox);
	}
	yett_connection_close(connection);
	return r;
}

static int cli_snapshot_copy(const struct snapshot_choice *choice, struct copying *copying,
                             struct yett_error *error)
{
	struct user user;
	int r = cli_snapshot_find_user(copying->id, &user, error);

	if (r)
		return r;
	return user.sandbox[0] ? copy_used(choice, &user, copying, error)
	                       : copying->run(copying, false, error);
}

static int cli_snapshot_take(struct copying *copying, bool is_used, struct yett_error *error)
{
	return is_used ? yett_snapshot_take_used(copying->id, copying->name, &copying->taken, error)
	               : yett_snapshot_take(copying->id, copying->name, &copying->taken, error);
}

static int take_back_taken(struct copying *copying, struct yett_error *error)
{
	return yett_snapshot_delete(copying->id, copying->taken, error);
}

static int run_take(const struct snapshot_choice *choice, const char *id, const char *name,
                    struct yett_error *error)
{
	struct copying copying = {
		.id = id, .name = name, .run = cli_snapshot_take, .take_back = take_back_taken};
	int r = cli_snapshot_copy(choice, &copying, error);

	if (copying.taken && output_json())
		json_text(output_json(), "name", copying.taken);
	else if (copying.taken)
		(void)printf("%s\n", copying.taken);
	yett_workspace_free(copying.taken);
	return r;
}

static int fork_store(struct copying *copying, bool is_used, struct yett_error *error)
{
	return yett_snapshot_fork(copying->id, copying->name, is_used ? YETT_FORK_USED : 0,
	                          copying->fork, error);
}

static int take_back_fork(struct copying *copying, struct yett_error *error)
{
	return yett_work_discard(copying->fork, error);
}

static int run_fork(const struct snapshot_choice *choice, const char *id, const char *name,
                    struct yett_error *error)
{
	struct copying copying = {
		.id = id, .name = name, .run = fork_store, .take_back = take_back_fork};
	_cleanup_(connect_workspace_freep) struct yett_snapshot_list *list = NULL;
	int r = cli_snapshot_copy(choice, &copying, error);

	if (!copying.fork[0])
		return r;
	if (name && yett_snapshots_list(id, &list, NULL) == 0)
		note_torn(list, name);
	if (output_json())
		json_text(output_json(), "id", copying.fork);
	else
		(void)printf("%s\n", copying.fork);
	return r;
}

static int run_delete(const struct snapshot_choice *choice, const char *id, const char *name,
                      struct yett_error *error)
{
	int r = yett_snapshot_delete(id, name, error);

	(void)choice;
	if (r == 0 && output_json())
		json_text(output_json(), "name", name);
	else if (r == 0)
		(void)printf("deleted %s\n", name);
	return r;
}

static const struct action actions[] = {
	{"take", true, false, false, run_take},       {"list", false, false, false, run_list},
	{"rollback", true, true, true, run_rollback}, {"fork", true, false, false, run_fork},
	{"delete", true, true, false, run_delete},
};

static const struct action *
find_action(int count, char **words, const struct snapshot_choice *choice, struct yett_error *error)
{
	const struct action *action = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(words[0], actions[i].word) == 0)
			action = &actions[i];
	if (!action)
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "snapshot %.80s: expected take, list, rollback, fork or delete",
		                ESCAPE(words[0]));
	else if ((action->needs_name && count < 2) || count > (action->takes_name ? 3 : 2))
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "snapshot %s: expected a sandbox or store, or none%s", action->word,
		                action->needs_name   ? ", and the name of a snapshot"
		                : action->takes_name ? ", and the name of a snapshot or none"
		                                     : "");
	else if ((choice->delete_later || choice->yes || choice->kill) && !action->is_back)
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "snapshot %s: --delete-later, --kill and --yes are of rollback",
		                action->word);
	else
		return action;
	return NULL;
}

int snapshot_main(const struct subcommand *self, int argc, char **argv)
{
	struct snapshot_choice choice = {0};
	struct yett_error error = {0};
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work;
	const struct action *action;
	const char *name;
	bool is_alone;
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	action = find_action(argc - first, argv + first, &choice, &error);
	if (!action) {
		output_error(&error);
		return EXIT_USAGE;
	}
	/*
	 * A required name of a snapshot is the last operand, and the store before it is optional.
	 * Otherwise the store comes first.
	 */
	is_alone = argc - first == 2 && action->needs_name;
	name = argc - first > 2 ? argv[first + 2] : is_alone ? argv[first + 1] : NULL;
	r = work_choose(argc - first > 1 && !is_alone ? argv[first + 1] : NULL, &list, &work,
	                &error);
	if (r == 0)
		r = action->run(&choice, work->id, name, &error);
	if (r)
		output_error(&error);
	return r ? EXIT_FAILED : 0;
}
