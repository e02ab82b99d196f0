/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h: finds, locks and removes sessions. session_form.c reads and writes the file. */
#include "cli/sandboxes/session.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/failure.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sandboxes/session_form.h"

#define LOCK_TRIES 500 /* of one millisecond each; most programs hold the lock only briefly */
#define OPEN_TRIES 10
#define KEPT_S     (7 * 24 * 60 * 60)

static const char *const files[] = {SESSION_FILE, SESSION_FILE ".new", SESSION_HISTORY,
                                    SESSION_HISTORY ".new", SESSION_HISTORY ".lock"};

/* Reports the current errno. */
static int cli_session_cannot(const char *what, const char *path, struct yett_error *error)
{
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot %s %s: %m", what,
	                   path);
}

/* Returns $XDG_STATE_HOME or ~/.local/state, as home_find_state() does to find the stores. */
static int find_all(char path[static 4096], struct yett_error *error)
{
	const char *home = secure_getenv("XDG_STATE_HOME"), *below = "";
	const struct passwd *entry;

	if (!home || home[0] != '/') {
		below = "/.local/state";
		entry = getpwuid(geteuid());
		home = entry ? entry->pw_dir : NULL;
	}
	if (!home || home[0] != '/')
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "this user has no home directory to keep sessions in");
	return snprintf(path, 4096 - 128, "%s%s/yett/sessions", home, below) < 4096 - 128
	               ? 0
	               : error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
	                           "XDG_STATE_HOME is longer than a path can be");
}

static int check_own(int fd, const char *path, struct yett_error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cli_session_cannot("look at", path, error);
	if (st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                 "%s is another user's, or others may use it: chmod 700 %s", path, path);
}

/*
 * Opens the directory of all sessions. Returns 0 with *ret_all -1 if the directory does not exist
 * and `make` is false.
 */
static int cli_session_open_all(bool make, int *ret_all, char path[static 4096],
                                struct yett_error *error)
{
	_cleanup_fd_ int all = -1;
	int r = find_all(path, error);

	*ret_all = -1;
	if (r)
		return r;
	for (char *slash = path; make && slash; slash = strchr(slash + 1, '/')) {
		char *end = strchr(slash + 1, '/');

		if (end)
			*end = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return cli_session_cannot("make the directory", path, error);
		if (end)
			*end = '/';
	}
	all = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (all < 0 && !make && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (all < 0)
		return cli_session_cannot("use the directory", path, error);
	r = check_own(all, path, error);
	if (r == 0)
		*ret_all = steal_fd(&all);
	return r;
}

/*
 * The helper's rules for names of sandboxes. A name has no slash and is not "." or "..", so it
 * cannot resolve to another place.
 */
static bool cli_session_is_name(const char *name)
{
	return strlen(name) < YETT_NAME_SIZE &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0' && *name &&
	       !strchr("._-", *name);
}

static int no_name(const char *name, struct yett_error *error)
{
	return error_set(
		error, YETT_E_NOT_FOUND, YETT_R_NONE,
		"%.80s is no name of a sandbox: small letters, digits, '.', '_' and '-', not one of these three first, and %d at most",
		ESCAPE(name), YETT_NAME_SIZE - 1);
}

static int cli_session_not_found(const char *name, struct yett_error *error)
{
	return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                 "there is no session of a sandbox %.80s", ESCAPE(name));
}

static int others(const char *name, struct yett_error *error)
{
	return error_set(
		error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		"the sandbox %s is just being made, suspended, resumed or ended by somebody else",
		name);
}

static int cli_session_take_lock(int directory, const char *name, unsigned tries,
                                 struct yett_error *error)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (unsigned i = 0; flock(directory, LOCK_EX | LOCK_NB) < 0; i++) {
		if (i + 1 >= tries)
			return others(name, error);
		(void)nanosleep(&moment, NULL);
	}
	return 0;
}

/* The previous owner of the lock may have removed the directory while we waited for it. */
static int open_locked(int all, struct session *session, unsigned flags, struct yett_error *error)
{
	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		_cleanup_fd_ int directory = -1;
		struct stat st, named;
		int r;

		if ((flags & SESSION_MAKE) && mkdirat(all, session->name, 0700) < 0 &&
		    errno != EEXIST)
			return cli_session_cannot("make the directory", session->path, error);
		directory =
			openat(all, session->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (directory < 0 && errno == ENOENT && (flags & SESSION_MAKE))
			continue;
		if (directory < 0 && errno == ENOENT)
			return cli_session_not_found(session->name, error);
		if (directory < 0)
			return cli_session_cannot("use the directory", session->path, error);
		r = check_own(directory, session->path, error);
		if (r == 0 && !(flags & SESSION_UNLOCKED))
			r = cli_session_take_lock(directory, session->name,
			                          flags & SESSION_AT_ONCE ? 1 : LOCK_TRIES, error);
		if (r)
			return r;
		if (fstat(directory, &st) == 0 &&
		    fstatat(all, session->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    fd_same_file(&st, &named)) {
			session->directory = steal_fd(&directory);
			session->is_locked = !(flags & SESSION_UNLOCKED);
			return 0;
		}
	}
	return flags & SESSION_MAKE ? others(session->name, error)
	                            : cli_session_not_found(session->name, error);
}

int session_open(const char *name, unsigned flags, struct session *ret_session,
                 struct yett_error *error)
{
	_cleanup_fd_ int all = -1;
	char path[4096];
	int r;

	*ret_session = (struct session){.directory = -1};
	if (!cli_session_is_name(name))
		return flags & SESSION_MAKE ? no_name(name, error)
		                            : cli_session_not_found(name, error);
	r = cli_session_open_all(flags & SESSION_MAKE, &all, path, error);
	if (r)
		return r;
	(void)snprintf(ret_session->name, sizeof ret_session->name, "%s", name);
	(void)snprintf(ret_session->path, sizeof ret_session->path, "%.*s/%s", 4096 - 128, path,
	               name);
	if (all < 0)
		return cli_session_not_found(name, error);
	r = open_locked(all, ret_session, flags, error);
	if (r == 0)
		r = session_form_read(ret_session, error);
	if (r == YETT_E_NOT_FOUND && (flags & SESSION_MAKE) && ret_session->directory >= 0)
		return 0;
	return r == YETT_E_FILE_OPERATION_FAILED && ret_session->directory >= 0 &&
	                       (flags & SESSION_EVEN_BROKEN)
	               ? 0
	               : r;
}

void session_close(struct session *session)
{
	struct stat st;

	if (session->is_locked && !session->is_removed &&
	    fstatat(session->directory, SESSION_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		(void)!session_remove(session, NULL);
	session_form_free(session);
	session->directory = fd_close(session->directory);
	session->is_locked = false;
}

void session_forget_history(const struct session *session)
{
	(void)unlinkat(session->directory, SESSION_HISTORY, 0);
}

/* Removes the session file first: the other files are no session without it. */
int session_remove(struct session *session, struct yett_error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (unlinkat(session->directory, files[i], 0) < 0 && errno != ENOENT)
			return cli_session_cannot("remove a file of", session->path, error);
	if (rmdir(session->path) < 0 && errno != ENOENT && errno != ENOTEMPTY)
		return cli_session_cannot("remove the directory", session->path, error);
	session->is_removed = true;
	return 0;
}

/* Calls `each` with the name of each session until it returns true. Returns whether it did. */
static bool each_name(bool (*each)(const char *name, void *data), void *data)
{
	_cleanup_(fd_entries_close) DIR *entries = NULL;
	_cleanup_fd_ int all = -1;
	const struct dirent *entry;
	char path[4096];

	if (cli_session_open_all(false, &all, path, NULL) != 0 || all < 0)
		return false;
	entries = fd_entries(all);
	while (entries && (entry = readdir(entries)))
		if (cli_session_is_name(entry->d_name) && each(entry->d_name, data))
			return true;
	return false;
}

struct search {
	const char *id;
	char *name;
};

static bool is_searched(const char *name, void *data)
{
	struct search *search = data;
	struct session session;
	bool is_found = session_open(name, SESSION_UNLOCKED, &session, NULL) == 0 &&
	                strcmp(session.sandbox, search->id) == 0;

	if (is_found)
		(void)snprintf(search->name, YETT_NAME_SIZE, "%s", name);
	session_close(&session);
	return is_found;
}

bool session_find(const char *id_or_name, char ret_name[static YETT_NAME_SIZE])
{
	struct search search = {id_or_name, ret_name};
	_cleanup_fd_ int all = -1;
	struct yett_error why = {0};
	char path[4096];
	struct stat st;
	int r = cli_session_open_all(false, &all, path, &why);

	if (r && r != YETT_E_NOT_FOUND)
		output_note("sessions cannot be looked for: %s", why.message);
	if (r || all < 0 || !cli_session_is_name(id_or_name))
		return false;
	if (fstatat(all, id_or_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)snprintf(ret_name, YETT_NAME_SIZE, "%s", id_or_name);
		return true;
	}
	return session_form_is_id(id_or_name) && each_name(is_searched, &search);
}

bool session_find_of(const char *id_or_name, const char *id, char ret_name[static YETT_NAME_SIZE])
{
	struct search search = {id, ret_name};

	return (cli_session_is_name(id_or_name) && is_searched(id_or_name, &search)) ||
	       each_name(is_searched, &search);
}

struct listing {
	void (*each)(const struct session *session, void *data);
	void *data;
	size_t broken;
};

static bool list_one(const char *name, void *data)
{
	struct listing *listing = data;
	struct session session;
	int r = session_open(name, SESSION_UNLOCKED, &session, NULL);

	if (r == 0)
		listing->each(&session, listing->data);
	listing->broken += r != 0 && r != YETT_E_NOT_FOUND;
	session_close(&session);
	return false;
}

size_t session_each(void (*each)(const struct session *session, void *data), void *data)
{
	struct listing listing = {each, data, 0};
	_cleanup_fd_ int all = -1;
	struct yett_error why = {0};
	char path[4096];
	int r = cli_session_open_all(false, &all, path, &why);

	if (r && r != YETT_E_NOT_FOUND)
		output_note("sessions cannot be looked for: %s", why.message);
	(void)each_name(list_one, &listing);
	return listing.broken;
}

bool session_is_suspended(const struct session *session)
{
	return session->suspended_ms || session->is_idle_suspended;
}

bool session_is_of(const struct session *session, const struct yett_sandbox_status *status)
{
	if (!session->is_read)
		return false;
	if (strcmp(session->sandbox, status->info->id) == 0)
		return true;
	/* A process recreated the sandbox, and was killed before it could write the new id. */
	return session->making_ms && strcmp(session->name, status->name) == 0 &&
	       status->created_ms >= session->making_ms;
}

/* Returns the value of an option of the session. NULL: the session has no such option. */
static const char *find_value(const struct session *session, const char *option)
{
	size_t length = strlen(option);
	const char *value = NULL;

	for (const char **word = session->words; *word; word++)
		if (strncmp(*word, option, length) == 0 && (*word)[length] == '=')
			value = *word + length + 1;
	return value;
}

/*
 * Returns the path that an option names, relative to the directory in which the sandbox was
 * created.
 */
static const char *cli_session_find_path(const struct session *session, const char *option,
                                         char path[static 8192])
{
	const char *value = find_value(session, option);

	if (!value || value[0] == '/')
		return value;
	(void)snprintf(path, 8192, "%s/%s", session->directory_path, value);
	return path;
}

/* Looks for the sandbox by its id and, while it is being recreated, by its name. */
static enum session_there look_through(const struct session *session,
                                       struct yett_connection *connection, struct yett_error *why)
{
	const char *const called[] = {session->sandbox, session->name};

	for (size_t i = 0; i < (session->making_ms ? 2 : 1); i++) {
		struct yett_sandbox_status *status = NULL;
		int r = yett_sandbox_inspect(connection, called[i], &status, why);
		bool is_there = r == 0 && session_is_of(session, status) &&
		                status->state < YETT_STATE_STOPPING;

		yett_free(status);
		if (is_there)
			return SESSION_THERE;
		if (r && r != YETT_E_NOT_FOUND)
			return SESSION_UNKNOWN;
	}
	return SESSION_GONE;
}

enum session_there session_look(const struct session *session, struct yett_connection *connection,
                                struct yett_error *why)
{
	char socket[8192], key[8192];
	const struct connect_choice choice = {cli_session_find_path(session, "--socket", socket),
	                                      cli_session_find_path(session, "--key", key)};
	struct yett_connection *own = NULL;
	enum session_there there;

	if (!choice.key_path &&
	    (!choice.socket_path || connect_is_to(connection, choice.socket_path))) {
		there = look_through(session, connection, why);
		/*
		 * SESSION_GONE is not certain if a service says so: this connection may use another
		 * key than the default key. Ask again with the default key.
		 */
		if (there != SESSION_GONE ||
		    yett_connection_start(connection) != YETT_START_SERVICE)
			return there;
	}
	if (connect_without_key(&choice, &own, why) != 0)
		return SESSION_UNKNOWN;
	there = look_through(session, own, why);
	yett_connection_close(own);
	return there;
}

void session_mend_options(const struct session *session, struct yett_error *error)
{
	const char *socket = find_value(session, "--socket"), *key = find_value(session, "--key");

	if (socket || key)
		error_mend(error, "use the options of its creation:%s%s%s%s",
		           socket ? " --socket " : "", ESCAPE(socket), key ? " --key " : "",
		           ESCAPE(key));
}

int session_check_gone(const struct session *session, struct yett_connection *connection,
                       struct yett_error *error)
{
	struct yett_error why = {0};

	switch (session_look(session, connection, &why)) {
	case SESSION_GONE:
		return 0;
	case SESSION_THERE:
		(void)error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                "a sandbox named '%s' is there already: %s", session->name,
		                session->sandbox);
		session_mend_options(session, error);
		return YETT_E_ALREADY_EXISTS;
	case SESSION_UNKNOWN:
	default:
		(void)error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                "cannot find out whether the sandbox %s still exists: %.140s",
		                session->name, why.message);
		error_mend(
			error,
			"make that socket or key available again, or have its session forgotten: yett destroy %s",
			session->name);
		return YETT_E_ALREADY_EXISTS;
	}
}

/* Returns when one of the session's files last changed. */
static time_t changed_at(const struct session *session)
{
	time_t last = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fstatat(session->directory, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime > last)
			last = st.st_mtime;
	return last;
}

struct pruning {
	struct yett_connection *connection;
	struct yett_sandbox_list *list; /* listed once a session may have to be pruned */
};

static bool is_listed(const struct pruning *pruning, const struct session *session)
{
	for (size_t i = 0; i < yett_sandbox_list_count(pruning->list); i++)
		if (session_is_of(session, yett_sandbox_list_get(pruning->list, i)))
			return true;
	return false;
}

static bool is_old(const struct session *session)
{
	return !session_is_suspended(session) &&
	       changed_at(session) + KEPT_S < (time_t)(clock_wall_ms() / 1000);
}

/*
 * Checks the age without the lock first, because others may need the lock. session_close() removes
 * a directory in which no session was completed.
 */
static bool prune_one(const char *name, void *data)
{
	struct pruning *pruning = data;
	struct session session;
	int r = session_open(name, SESSION_UNLOCKED, &session, NULL);
	bool is_candidate = r == YETT_E_NOT_FOUND || (r == 0 && is_old(&session));

	session_close(&session);
	if (!is_candidate)
		return false;
	if (session_open(name, SESSION_AT_ONCE, &session, NULL) == 0 && is_old(&session) &&
	    (pruning->list ||
	     yett_sandboxes_list(pruning->connection, 0, &pruning->list, NULL) == 0) &&
	    !is_listed(pruning, &session) &&
	    session_look(&session, pruning->connection, NULL) == SESSION_GONE)
		(void)!session_remove(&session, NULL);
	session_close(&session);
	return false;
}

void session_prune(struct yett_connection *connection)
{
	struct pruning pruning = {connection, NULL};

	(void)each_name(prune_one, &pruning);
	yett_free(pruning.list);
}
