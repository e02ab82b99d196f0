/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett doctor`: reports what this machine supports, in which way the helper would be started, and
 * how to fix what is missing.
 *
 * Runs as the caller and changes nothing, except that it makes sandboxes to try whether they work,
 * and with --capabilities the caller's key if there is none.
 */
#pragma once

#include "cli/options.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WEAKER,  /* `yett run` works, with less protection or comfort */
	DOCTOR_MISSING, /* `yett run` cannot work */
};

struct doctor_finding {
	enum doctor_state state;
	char found[400];
	char mend[200]; /* a command, or what to do; empty: nothing needed */
};

extern const struct option doctor_options[];

/* Returns 0 if `yett run` will work, otherwise 1. */
int doctor_main(const struct subcommand *self, int argc, char **argv);

/*
 * Fills a finding. `mend` NULL: nothing needs to be done. `format` and its arguments give
 * finding->found.
 */
void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *mend,
                  const char *format, ...) _printf_(4, 5);

/* One check of the machine: its name in the output, and the function that makes it. */
struct doctor_check {
	const char *name;
	void (*look)(struct doctor_finding *finding);
};

extern const struct doctor_check doctor_machine[]; /* ends with a row whose name is NULL */

/*
 * Whether the caller can make a user namespace and change mounts in it: tries that in a child. If
 * not, *ret_mend is how to allow it.
 */
bool doctor_has_user_namespace(const char **ret_mend);

/*
 * Finds out whether sandboxes can have a network with a helper that runs without root
 * (`is_rootless`) or with it.
 */
void doctor_look_network(bool is_rootless, struct doctor_finding *finding);

/*
 * Appends to the finding whether sandboxes can have the host's network. Without root, the helper
 * cannot give a sandbox an SELinux label, so that only Landlock counts.
 */
void doctor_add_host_network(bool is_rootless, struct doctor_finding *finding);

/*
 * Whether a table in the format of /proc/net/route has a route to 198.18.0.0/15 or a part of it;
 * *ret_interface becomes its interface. proc_pid_net(5)
 */
bool doctor_routes_fakes(const char *routes, char ret_interface[16]);

/* Whether a kernel release like "5.19.0-1-amd64" is at least major.minor. */
bool doctor_kernel_is(const char *release, unsigned major, unsigned minor);
