/* SPDX-License-Identifier: Apache-2.0 */
/* See again.h. */
#include "cli/sandboxes/again.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/fd_path.h"
#include "base/lines.h"
#include "cli/changes/work.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/run/run_option_table.h"
#include "cli/run/run_shares.h"

#define MEMORY_TARGET "/mnt/memory"
#define END_TRIES     5000 /* two milliseconds each: a killed sandbox releases its stores late */

static const struct subcommand create = {
	.name = "create", .operands = "", .summary = "", .options = create_options};

int again_prepare(struct run *run, struct session *ret_session)
{
	const struct run_options *o = &run->options;
	struct yett_error why = {0};
	int r;

	*ret_session = (struct session){.directory = -1};
	if (!o->name)
		return 0;
	r = session_open(o->name, SESSION_MAKE, ret_session, &why);
	if (r == 0 && ret_session->is_read)
		r = session_check_gone(ret_session, run->connection, &why);
	if (r == 0 && ret_session->is_read && session_is_suspended(ret_session)) {
		r = error_set(&why, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		              "the sandbox %s is suspended", o->name);
		error_mend(&why, "yett resume %s makes it again; yett destroy %s forgets it",
		           o->name, o->name);
	}
	if (r == YETT_E_NOT_FOUND && o->life.idle_suspend)
		why.code = r = YETT_E_INVALID_REQUEST;
	/*
	 * Stop if the session must not be overwritten: another process holds its lock, its file is
	 * broken, or its sandbox is suspended or may still run.
	 */
	if (r && (ret_session->directory >= 0 || why.code == YETT_E_RESOURCE_LIMIT ||
	          o->life.idle_suspend)) {
		run->error = why;
		return r;
	}
	if (r &&
	    r != YETT_E_NOT_FOUND) /* NOT_FOUND: the name is invalid, which the helper reports */
		output_note("the sandbox cannot be suspended: %s", why.message);
	return 0;
}

/*
 * Records the path of a share and, for a directory, its device and inode, by which
 * again_check_place() recognizes it. For a file they are not recorded: an editor may replace a file
 * by a new one.
 */
static void report_place(const char *path, struct session_share *share)
{
	struct stat st;

	share->path = path;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		share->device = st.st_dev;
		share->inode = st.st_ino;
	}
}

/*
 * Returns the id of the copy-on-write store that the sandbox uses for its share at `target`. NULL:
 * the list has no such store.
 */
static const char *again_find_store(const struct yett_work_list *list, const char *sandbox,
                                    const char *target)
{
	for (size_t i = 0; list && i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (strcmp(work->sandbox, sandbox) == 0 && strcmp(work->target, target) == 0)
			return work->id;
	}
	return NULL;
}

static int report_shares(const struct run *run, const struct yett_work_list *list,
                         struct session *session)
{
	const struct run_options *o = &run->options;

	session->shares = calloc(o->shares_count + 1, sizeof *session->shares);
	if (!session->shares)
		return -ENOMEM;
	for (size_t i = 0; i < o->shares_count; i++) {
		const struct yett_share *from = &o->shares[i];
		struct session_share *share = &session->shares[session->shares_count++];

		share->flags = from->flags;
		share->target = from->target ? from->target : from->path;
		report_place(from->path, share);
		if (!(from->flags & YETT_SHARE_COW) || from->memory_bytes)
			continue;
		share->store = from->store ? from->store
		                           : again_find_store(list, run->info.id, share->target);
		if (!share->store)
			return -ENOENT;
	}
	if (o->memory_dir) {
		struct session_share *share = &session->shares[session->shares_count++];

		share->flags = YETT_SHARE_WRITABLE;
		share->target = MEMORY_TARGET;
		report_place(o->memory_dir, share);
	}
	return 0;
}

static int cli_again_keep(struct run *run, const char **words, struct session *session,
                          struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct run_options *o = &run->options;
	const char *const none[] = {NULL};
	char boot[LINES_BOOT_SIZE];
	struct session_share here = {0};
	struct session kept = {.directory = session->directory,
	                       .directory_path = o->current_directory ? o->current_directory : "",
	                       .sandbox = run->info.id,
	                       .profile = run->info.profile,
	                       .boot = boot,
	                       .words = words,
	                       .labels = (const char **)(uintptr_t)o->labels,
	                       .cwd = "",
	                       .env = (const char **)(uintptr_t)none,
	                       .created_ms = clock_wall_ms(),
	                       .is_idle_suspended = o->life.idle_suspend};
	int r = yett_works_list(&list, error);

	if (r)
		return r;
	(void)snprintf(kept.path, sizeof kept.path, "%s", session->path);
	lines_read_boot(boot);
	if (o->current_directory)
		report_place(o->current_directory, &here);
	kept.device = here.device;
	kept.inode = here.inode;
	r = report_shares(run, list, &kept);
	if (r < 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              r == -ENOENT ? "a store of the sandbox %s cannot be found"
		                           : "there is not enough memory for sandbox %s",
		              run->info.id);
	else
		r = session_form_write(&kept, false, error);
	free(kept.shares);
	return r;
}

/*
 * Appends --socket with the path of the service that has the sandbox, if no option names it:
 * $YETT_SOCKET or the default path may belong to another service when the sandbox is made again.
 */
static int add_socket(const struct run *run, char **words, struct yett_error *error)
{
	const char *variable = secure_getenv("YETT_SOCKET"), *here = run->options.current_directory;
	const char *path = variable ? variable : YETT_SOCKET_PATH;
	size_t count = 0;

	if (run->options.connect.socket_path ||
	    yett_connection_start(run->connection) != YETT_START_SERVICE)
		return 0;
	while (words[count])
		count++;
	if (count + 2 > AGAIN_WORDS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "there are more than %d options", AGAIN_WORDS_MAX - 2);
	if (asprintf(&words[count], "--socket=%s%s%s", *path != '/' && here ? here : "",
	             *path != '/' && here ? "/" : "", path) < 0) {
		words[count] = NULL;
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the options");
	}
	words[count + 1] = NULL;
	return 0;
}

int again_keep(struct run *run, char **words, struct session *session)
{
	struct yett_error why = {0};
	int r;

	if (session->directory < 0)
		return 0;
	r = add_socket(run, words, &why);
	if (r == 0) {
		/* An earlier sandbox of this name may have left its history. */
		session_forget_history(session);
		r = cli_again_keep(run, (const char **)words, session, &why);
	}
	if (r && run->options.life.idle_suspend) {
		run->error = why;
		return r;
	}
	if (r)
		output_note("the sandbox cannot be suspended: %s", why.message);
	session_prune(run->connection);
	return 0;
}

static int changed(const char *path, const char *how, struct yett_error *error)
{
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%.180s %s", ESCAPE(path), how);
	error_mend(
		error,
		"restore that path as it was; the sandbox's copy-on-write changes stay in its stores in any case (yett work list)");
	return YETT_E_INVALID_REQUEST;
}

/*
 * Checks that `path` still is the recorded directory, by device and inode, or still is no directory
 * (`inode` 0). Device numbers are compared only within one boot, since they can change with the
 * next.
 */
static int again_check_place(const char *path, uint64_t device, uint64_t inode, bool is_same_boot,
                             struct yett_error *error)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct stat st;

	if (!real || stat(path, &st) < 0)
		return changed(path, strerror(errno), error);
	if (strcmp(real, path) != 0)
		return changed(
			path,
			"is reached through a symbolic link now, and was not when the sandbox was made",
			error);
	if (!inode && S_ISDIR(st.st_mode))
		return changed(path, "is a directory now, and was none when the sandbox was made",
		               error);
	if (inode &&
	    (!S_ISDIR(st.st_mode) || st.st_ino != inode || (is_same_boot && st.st_dev != device)))
		return changed(
			path,
			"is another directory than the one there was when the sandbox was made",
			error);
	return 0;
}

static int go_there(struct session *session, bool is_same_boot, struct yett_error *error)
{
	const char *path = session->directory_path;
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int r;

	if (!*path)
		return 0;
	r = again_check_place(path, session->device, session->inode, is_same_boot, error);
	if (r)
		return r;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || fchdir(fd) < 0)
		return changed(path, strerror(errno), error);
	if (st.st_ino != session->inode)
		return changed(
			path,
			"is another directory than the one there was when the sandbox was made",
			error);
	session->device = st.st_dev;
	return 0;
}

static int parse(struct session *session, struct run_options *options, struct yett_error *error)
{
	size_t count = 0;
	_cleanup_free_ char **words = NULL;
	bool is_help = false;
	int first, r;

	while (session->words[count])
		count++;
	words = calloc(count + 1, sizeof *words);
	if (!words)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the options");
	memcpy(words, session->words, count * sizeof *words);
	r = options_parse(&create, (int)count, words, options, &is_help, &first, error);
	if (r == 0 && is_help)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "the session of %s asks for help", session->name);
	options->name = session->name;
	options->life.linger = true;
	return r;
}

static int use_store(struct yett_share *share, const char *id, struct yett_error *error)
{
	_cleanup_free_ char *source = NULL, *target = NULL;
	char found[YETT_ID_SIZE];
	int r = work_find_places(id, found, &source, &target, error);

	if (r)
		return r;
	share->store = strdup(found);
	return share->store ? 0
	                    : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                                "there is not enough memory for the share");
}

/*
 * Checks that the options share exactly what the session records, in the same order. The current
 * directory, which is shared without an option, is added to the options first.
 */
static int fit_shares(const struct session *session, struct run_options *o,
                      struct yett_error *error)
{
	size_t count = session->shares_count - (session->shares_count && o->memory_dir ? 1 : 0);
	const char *here = o->current_directory;
	bool is_edited = o->memory_dir && !session->shares_count;
	int r = 0;

	if (!is_edited && here && o->shares_count + 1 == count &&
	    strcmp(session->shares[count - 1].path, here) == 0)
		r = run_shares_add(o, strdup(here), strdup(here), session->shares[count - 1].flags,
		                   error);
	if (r)
		return r;
	if (is_edited || o->shares_count != count ||
	    (o->memory_dir && strcmp(session->shares[count].path, o->memory_dir) != 0))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"the session of %s was edited: its options and its list of shares differ",
			session->name);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct session_share *was = &session->shares[i];
		struct yett_share *share = &o->shares[i];
		char *target = strdup(was->target);

		bool needs_store = (share->flags & YETT_SHARE_COW) && !share->memory_bytes;

		if (!target || !share->path || strcmp(share->path, was->path) != 0 ||
		    needs_store != (was->store != NULL) || share->flags != was->flags ||
		    (share->store && (!was->store || strcmp(share->store, was->store) != 0))) {
			free(target);
			return changed(was->path,
			               "differs from the share in the options of the session",
			               error);
		}
		free((char *)(uintptr_t)share->target);
		share->target = target;
		if (was->store && !share->store)
			r = use_store(share, was->store, error);
	}
	o->hide_count = o->no_hide_count = 0; /* the stores already record what is hidden */
	return r;
}

/*
 * Whether the former sandbox still uses one of its stores. A store that another sandbox uses is
 * reported when that store is opened.
 */
static bool is_held(const struct session *session)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;

	if (yett_works_list(&list, NULL) != 0)
		return false;
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (work->is_used && strcmp(work->sandbox, session->sandbox) == 0)
			return true;
	}
	return false;
}

static void wait_for_stores(const struct session *session)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	for (unsigned i = 0; i < END_TRIES && is_held(session); i++)
		(void)nanosleep(&moment, NULL);
}

/*
 * Changes to the directory of the session, checks what it shares, and fills run->options from it.
 */
static int set_up(struct session *session, struct run *run, struct yett_error *error)
{
	char boot[LINES_BOOT_SIZE];
	bool is_same_boot;
	int r;

	lines_read_boot(boot);
	is_same_boot = strcmp(boot, session->boot) == 0;
	r = go_there(session, is_same_boot, error);
	for (size_t i = 0; r == 0 && i < session->shares_count; i++)
		r = again_check_place(session->shares[i].path, session->shares[i].device,
		                      session->shares[i].inode, is_same_boot, error);
	if (r)
		return r;
	run_options_init(&run->options);
	r = parse(session, &run->options, error);
	return r ? r : fit_shares(session, &run->options, error);
}

/*
 * Opens a share and checks that the descriptor has the recorded path and is the recorded directory,
 * or is a file or socket as before. again_check_place() has checked the path, but somebody may have
 * put a symbolic link into it since.
 */
static int again_hold(struct session_share *was, bool is_same_boot, int *ret_fd,
                      struct yett_error *error)
{
	_cleanup_fd_ int fd = open(was->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[PATH_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (fd_path(fd, path) < 0 && !path[0]))
		return changed(was->path, strerror(errno), error);
	if (strcmp(path, was->path) != 0)
		return changed(
			was->path,
			"is reached through a symbolic link now, and was not when the sandbox was made",
			error);
	if (was->inode && (!S_ISDIR(st.st_mode) || st.st_ino != was->inode ||
	                   (is_same_boot && st.st_dev != was->device)))
		return changed(
			was->path,
			"is another directory than the one there was when the sandbox was made",
			error);
	if (!was->inode &&
	    (was->flags & YETT_SHARE_SOCKET ? !S_ISSOCK(st.st_mode) : !S_ISREG(st.st_mode)))
		return changed(was->path,
		               was->flags & YETT_SHARE_SOCKET
		                       ? "is no socket now, and was one when the sandbox was made"
		                       : "is no file now, and was one when the sandbox was made",
		               error);
	/* The inode is unchanged, but the device can have another number since the last boot. */
	if (was->inode)
		was->device = st.st_dev;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/*
 * Replaces each shared path in the options by a descriptor, so that later changes of the path have
 * no effect. The caller closes fds[0 … shares_count - 1], and must keep them open until the sandbox
 * is made.
 */
static int hold_places(struct session *session, struct run_options *o, int *fds,
                       struct yett_error *error)
{
	char boot[LINES_BOOT_SIZE];
	bool is_same_boot;

	lines_read_boot(boot);
	is_same_boot = strcmp(boot, session->boot) == 0;
	for (size_t i = 0; i < session->shares_count; i++) {
		struct session_share *was = &session->shares[i];
		struct yett_share *share = &o->shares[i];
		int r = again_hold(was, is_same_boot, &fds[i], error);

		if (r)
			return r;
		if (i < o->shares_count) {
			free((char *)(uintptr_t)share->path);
			share->path = NULL;
			share->fd = fds[i];
			share->flags |= YETT_SHARE_FD;
			continue;
		}
		free(o->memory_dir);
		if (asprintf(&o->memory_dir, "/proc/self/fd/%d", fds[i]) < 0) {
			o->memory_dir = NULL;
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "there is not enough memory for the share");
		}
	}
	return 0;
}

/*
 * Uses `connection`, unless the options name a key or another socket; then makes a connection with
 * those.
 */
static int ask_through(struct run *run, struct yett_connection *connection)
{
	const struct connect_choice *choice = &run->options.connect;
	int r = 0;

	if (choice->key_path ||
	    (choice->socket_path && !connect_is_to(connection, choice->socket_path)))
		r = connect_with_key(choice, true, &run->connection, &run->error);
	else
		run->connection = connection;
	return r ? r : run_ask_sandbox(run);
}

static int again_ask(struct session *session, struct run *run, struct yett_connection *connection)
{
	_cleanup_free_ int *fds = calloc(session->shares_count + 1, sizeof *fds);
	int r = 0;

	if (!fds)
		return error_set(&run->error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the shares");
	for (size_t i = 0; i < session->shares_count; i++)
		fds[i] = -1;
	r = hold_places(session, &run->options, fds, &run->error);
	if (r == 0)
		r = ask_through(run, connection);
	for (size_t i = 0; i < session->shares_count; i++)
		fd_close(fds[i]);
	return r;
}

/* Writes the session with the id, the profile and the boot of the new sandbox. */
static int again_report(const struct session *session, const struct run *run,
                        struct yett_error *error)
{
	struct session made = *session;
	char boot[LINES_BOOT_SIZE];

	lines_read_boot(boot);
	made.sandbox = run->info.id;
	made.profile = run->info.profile;
	made.boot = boot;
	made.suspended_ms = made.making_ms = 0;
	return session_form_write(&made, true, error);
}

/*
 * Makes the sandbox, sets the directory and environment that its commands start with, and writes
 * the session. If a later step fails, ends the sandbox.
 */
static int cli_again_make(struct session *session, struct run *run,
                          struct yett_connection *connection)
{
	int r = again_ask(session, run, connection);

	if (r)
		return r;
	run->info = *yett_sandbox_get_info(run->sandbox);
	if (*session->cwd || session->env[0])
		r = yett_session_change(run->sandbox, *session->cwd ? session->cwd : NULL,
		                        session->env, NULL, &run->error);
	if (r == 0)
		r = again_report(session, run, &run->error);
	if (r)
		(void)yett_sandbox_end(run->sandbox, NULL);
	yett_sandbox_close(run->sandbox);
	return r;
}

int again_make(struct session *session, struct yett_connection *connection,
               char ret_id[static YETT_ID_SIZE], struct yett_error *error)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	_cleanup_fd_ int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = run ? set_up(session, run, error)
	            : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                        "there is not enough memory for a sandbox");

	if (r == 0) {
		wait_for_stores(session);
		session->making_ms = clock_wall_ms();
		r = session_form_write(session, true, error);
	}
	if (r == 0) {
		r = cli_again_make(session, run, connection);
		if (r)
			*error = run->error;
		else
			(void)snprintf(ret_id, YETT_ID_SIZE, "%s", run->info.id);
		session->making_ms = 0;
		if (r && session_form_write(session, false, NULL) != 0)
			output_note("the session %s still says that its sandbox is being made",
			            session->path);
	}
	if (run && run->connection && run->connection != connection)
		yett_connection_close(run->connection);
	if (run)
		run_options_free(&run->options);
	(void)!(back >= 0 && fchdir(back) == 0);
	return r;
}

bool again_is_sound(const struct yett_session *now)
{
	for (const char *const *entry = now->env; *entry; entry++)
		if (!strchr(*entry, '=') || **entry == '=')
			return false;
	return !*now->directory || *now->directory == '/';
}

void again_note_environment(struct yett_sandbox *sandbox, const char *id_or_name)
{
	const char *id = yett_sandbox_get_info(sandbox)->id;
	struct yett_session *now = NULL;
	char name[YETT_NAME_SIZE];
	struct yett_error why = {0};
	struct session session;
	int r;

	if (!session_find_of(id_or_name, id, name))
		return;
	r = session_open(name, 0, &session, &why);
	if (r == 0 && strcmp(session.sandbox, id) == 0) {
		r = yett_session_get(sandbox, &now, &why);
		if (r == 0 && again_is_sound(now)) {
			session.cwd = now->directory;
			session.env = (const char **)(uintptr_t)now->env;
			r = session_form_write(&session, false, &why);
		}
	}
	if (r && r != YETT_E_NOT_FOUND)
		output_note("yett suspend will not keep the new directory and variables: %s",
		            why.message);
	yett_free(now);
	session_close(&session);
}
