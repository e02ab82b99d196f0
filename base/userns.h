/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the setting with which this host denies user namespaces to unprivileged users.
 * user_namespaces(7)
 *
 * Reads world-readable files of /proc/sys, with the privilege of the caller.
 */
#pragma once

struct userns_rule {
	const char *path;
	char forbids; /* the first character of the file if the setting denies user namespaces */
	const char *what, *mend; /* the setting, and the command with which root changes it */
};

/*
 * The first such setting that is in force. NULL if there is none: if a user namespace cannot be
 * made nevertheless, something else denies it, such as a container around the process.
 */
const struct userns_rule *userns_find_rule(void);
