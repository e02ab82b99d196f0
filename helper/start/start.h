/*
 * What yett-helper and yett-rootless do each in its own way: main.c, which both are made of, calls
 * it. start_root.c is linked into the one, start_own.c into the other.
 */
#pragma once

#include "base/error.h"

#include <limits.h>

struct monitor;

#define START_NO_FD UINT64_MAX

struct start_options {
	char **argv;        /* of the process */
	const char *policy; /* NULL: the installed one, or in personal mode the built-in one */
	const char *libexec, *listen; /* listen: where a socket is to be made */
	uint64_t idle_exit_s, fd;     /* fd: START_NO_FD, or the connected socket */
	bool personal, quiet, help, version;
	char folder[PATH_MAX]; /* that this program lies in */
};

/* The program's name, and what its help says of how it is started. */
extern const char start_name[], start_help[];

/*
 * First of all, with whatever privilege the kernel gave to this process. True where it goes on as
 * any program does, with the privilege of its caller; else it is done, and `ret_status` is what the
 * process ends with.
 */
bool start_begin(int argc, char **argv, int *ret_status);

/*
 * Once it is to serve, and before it looks at any socket: whether this is the program for its user.
 * The yett-helper of an ordinary user, or of a root that lacks what building takes, becomes
 * yett-rootless here, with the same arguments; that one refuses any other root. 0 or a code.
 */
_must_check_ int start_check_user(const struct start_options *options, struct yett_error *error);

/* Serves a listening socket until its end; with options->listen the one that it makes there. 0,
 * -errno or a code. */
_must_check_ int start_listening(const struct start_options *options, int socket,
                                 struct yett_error *error);

/* Serves one connected socket (consumed) until its end: what systemd accepted, or what libyett
 * made. 0, -errno or a code. */
_must_check_ int start_connected(const struct start_options *options, int socket,
                                 struct yett_error *error);

/*
 * The last of it for both: serves with a monitor that has what it can have. Where that failed
 * (`r`), or fails here, the client is told why if `is_its_own`; a client of the service learns
 * nothing of the policy's text.
 */
_must_check_ int start_serve(struct monitor *monitor, const char *libexec, int socket, int r,
                             bool is_its_own, struct yett_error *error);

/* Says on standard error why it ended. The exit status. */
int start_tell(int r, const struct yett_error *error);
