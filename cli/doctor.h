/*
 * `yett doctor`: what this machine supports, which way the helper would be started, and the mend
 * for what is missing.
 *
 * Runs as the caller and only looks, but for a sandbox it makes to try whether it works.
 */
#pragma once

#include "cli/options.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_WEAKER,  /* it works without, with less protection or comfort */
	DOCTOR_MISSING, /* `yett run` cannot work */
};

struct doctor_finding {
	enum doctor_state state;
	char found[400];
	char mend[200]; /* a command, or what to do; empty when nothing is needed */
};

extern const struct option doctor_options[];

/* 0 when `yett run` will work, else 1. */
int doctor_main(const struct subcommand *self, int argc, char **argv);

/* Fills a finding; `mend` NULL: none is needed. The rest is its text. */
void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *mend,
                  const char *format, ...) _printf_(4, 5);

/* One check of the machine: what is looked at, and why it matters. */
struct doctor_check {
	const char *name;
	void (*look)(struct doctor_finding *finding);
};

extern const struct doctor_check doctor_machine[]; /* ends with a nameless one */

/* Whether the caller can have a user namespace, and be root of mounts there; else, in `mend`, what
 * keeps it from that. Tries it, in a child. */
bool doctor_has_user_namespace(const char **ret_mend);

/* Whether sandboxes can have a network, as the helper would be started. */
void doctor_look_network(bool is_rootless, struct doctor_finding *finding);

/* Adds whether they can have that of the host: without root SELinux labels nothing. */
void doctor_add_host_network(bool is_rootless, struct doctor_finding *finding);

/* Whether a table as in /proc/net/route has a way to 198.18.0.0/15 or to a part of it, and by which
 * interface. proc_pid_net(5) */
bool doctor_routes_fakes(const char *routes, char ret_interface[16]);

/* Whether a kernel release like "5.19.0-1-amd64" is at least major.minor. */
bool doctor_kernel_is(const char *release, unsigned major, unsigned minor);
