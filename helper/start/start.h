/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that yett-helper and yett-rootless implement differently. main.c, which is part of
 * both, calls them. start_root.c is linked into yett-helper, and programs/rootless/start_own.c into
 * yett-rootless.
 */
#pragma once

#include "base/error.h"

#include <limits.h>

struct monitor;

#define START_NO_FD UINT64_MAX

struct start_options {
	char **argv;        /* of the process */
	const char *policy; /* NULL: the installed policy, or in personal mode the built-in one */
	const char *libexec, *listen; /* listen: path at which to make a socket */
	uint64_t idle_exit_s, fd;     /* fd: the connected socket, or START_NO_FD */
	bool personal, quiet, help, version;
	char folder[PATH_MAX]; /* the directory of this program */
};

/* The name of the program, and the part of its help about how it is started. */
extern const char start_name[], start_help[];

/*
 * Call this first, with whatever privilege the kernel gave to this process. Returns true if the
 * program goes on as an ordinary one, with the privilege of its caller. Otherwise its work is done,
 * and `ret_status` is its exit status.
 */
bool start_begin(int argc, char **argv, int *ret_status);

/*
 * Checks that this is the right program for its user, before it looks at any socket. The
 * yett-helper of an ordinary user, or of a root that lacks what building needs, executes
 * yett-rootless with the same arguments. yett-rootless refuses to run for any other root. Returns 0
 * or a code.
 */
_must_check_ int start_check_user(const struct start_options *options, struct yett_error *error);

/*
 * Serves the listening socket until the listener ends. If options->listen is set, makes a socket at
 * that path and serves it instead. Returns 0, -errno or a code.
 */
_must_check_ int start_listening(const struct start_options *options, int socket,
                                 struct yett_error *error);

/*
 * Serves one connected socket (consumed) until its end: one that systemd accepted, or that libyett
 * made. Returns 0, -errno or a code.
 */
_must_check_ int start_connected(const struct start_options *options, int socket,
                                 struct yett_error *error);

/*
 * The last step of both programs: prepares the monitor and serves `socket` with it. `r` is the
 * result of the earlier steps. If these or the preparation failed, sends the error to the client,
 * but only if `is_its_own`: the client started this helper for itself (personal mode or
 * set-user-ID). Clients of the service get no error, because its text may quote the policy.
 * Consumes `socket` and frees `monitor`. Returns 0, -errno or a code.
 */
_must_check_ int start_serve(struct monitor *monitor, const char *libexec, int socket, int r,
                             bool is_its_own, struct yett_error *error);

/* Logs why the program ended, to standard error. Returns the exit status. */
int start_report(int r, const struct yett_error *error);
