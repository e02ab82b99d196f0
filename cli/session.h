/*
 * Sessions: what it takes to make a sandbox again, kept in $XDG_STATE_HOME/yett/sessions/NAME:
 * "session", which says it, and "history".
 *
 * Runs as the caller, on files of the caller's. They may have been edited, or be torn: what is read
 * is checked. Who changes a session holds its lock, on the directory NAME; it is written as a new
 * file that takes the name when it is whole.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"
#include "libclient/yett.h"

/* Something that was shared, as it was. */
struct session_share {
	uint64_t device, inode;
	uint32_t flags;     /* enum yett_share_flag */
	const char *store;  /* its id; NULL: it has none */
	const char *path;   /* without symbolic links */
	const char *target; /* inside */
};

struct session {
	int directory; /* its own; -1: none is open */
	bool is_locked;
	bool is_removed; /* by who had the lock: what has the name by now is somebody else's */
	char name[YETT_NAME_SIZE];
	char path[4096];     /* of that directory */
	bool is_read;        /* there was one, and what follows is its */
	char *text, **lists; /* what the texts lie in; owned */
	const char
		*directory_path; /* where `yett create` was called; empty: it could not be told */
	uint64_t device, inode;  /* of it */
	const char *sandbox, *profile, *boot;
	const char **words; /* the options of `yett create`, as --NAME or --NAME=VALUE; this and the
	                       lists below end with NULL */
	const char **labels;
	const char *cwd, **env; /* what commands begin with: yett_session_get() */
	struct session_share *shares;
	size_t shares_count;
	uint64_t created_ms, suspended_ms; /* since 1970; 0: it is not suspended */
	uint64_t making_ms;     /* when making it again began; 0: that is not under way */
	bool is_idle_suspended; /* an end because it was idle is a suspension */
};

/*
 * Opens the session of a name and takes its lock; with SESSION_MAKE also where there is none yet.
 * What is there has been read then. YETT_E_NOT_FOUND; YETT_E_RESOURCE_LIMIT: somebody else has the
 * lock; YETT_E_SECURITY_VIOLATION: it is not the caller's alone; YETT_E_FILE_OPERATION_FAILED. With
 * SESSION_EVEN_BROKEN one whose file cannot be read is as none; with SESSION_AT_ONCE a lock is not
 * waited for. 0: it has a directory. To be closed in every case.
 */
enum session_flag {
	SESSION_MAKE = 1,
	SESSION_EVEN_BROKEN = 2,
	SESSION_UNLOCKED = 4,
	SESSION_AT_ONCE = 8
};
_must_check_ int session_open(const char *name, unsigned flags, struct session *ret_session,
                              struct yett_error *error);

/* Whether there is one of that name, or of that sandbox: its name. */
bool session_find(const char *id_or_name, char ret_name[static YETT_NAME_SIZE]);

/* Whether there is one of the sandbox `id`, which was called `id_or_name`: its name. */
bool session_find_of(const char *id_or_name, const char *id, char ret_name[static YETT_NAME_SIZE]);

/* Lets go of it. A directory in which there is no session goes, if the lock was taken. */
void session_close(struct session *session);

/* Writes it; `is_lasting`: so that a power cut leaves this or what was there. */
_must_check_ int session_write(const struct session *session, bool is_lasting,
                               struct yett_error *error);

/* What ran in a sandbox that it will tell of no more. Its lock is held. */
void session_forget_history(const struct session *session);

/* Removes it with its history. 0 or a code. */
_must_check_ int session_remove(struct session *session, struct yett_error *error);

/* Calls `each` with every session that can be read, without locks. Returns how many cannot. */
size_t session_each(void (*each)(const struct session *session, void *data), void *data);

/* Whether it waits to be made again, where its sandbox is gone. */
bool session_is_suspended(const struct session *session);

/* Whether a sandbox that is there is the one that it tells of. */
bool session_is_of(const struct session *session, const struct yett_sandbox_status *status);

/*
 * Whether its sandbox runs or stands still. `connection` may not see one that was made with another
 * key, or through another socket: where the options name such, one is made with them. Unknown, and
 * `why`: it cannot be asked, as when that key or socket is gone. Nothing that takes the sandbox for
 * gone is done then.
 */
enum session_there { SESSION_GONE, SESSION_THERE, SESSION_UNKNOWN };
enum session_there session_look(const struct session *session, struct yett_connection *connection,
                                struct yett_error *why);

/* That it is gone: 0; else YETT_E_ALREADY_EXISTS with what helps. */
_must_check_ int session_check_gone(const struct session *session,
                                    struct yett_connection *connection, struct yett_error *error);

/* Adds to an error which options its sandbox is asked for with, if it has any. */
void session_mend_options(const struct session *session, struct yett_error *error);

/* Removes those that nobody suspended, whose sandboxes have been gone and whose files unchanged for
 * seven days. */
void session_prune(struct yett_connection *connection);
