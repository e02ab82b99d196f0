/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected paths: secrets (keys, tokens, browser profiles) and files that the user's programs obey
 * (shell startup files, editor and agent settings, git hooks). A share that contains a secret hides
 * it; a writable share that contains a file of the second kind shows it read-only. docs/guide.md
 * lists both with reasons.
 *
 * Runs as the caller. A guard keeps the caller from sharing more than intended; the policy decides
 * what the caller may share at all.
 */
#pragma once

#include "libclient/channel.h"
#include "libclient/shares.h"

enum guard_kind {
	GUARD_HIDDEN,        /* names are relative to the home directory, or absolute */
	GUARD_READ_ONLY,     /* as GUARD_HIDDEN; in writable shares only */
	GUARD_READ_ONLY_TOP, /* names are relative to the top of a writable share */
	/* guard.c only: the unresolved path of a secret behind a symbolic link. */
	GUARD_LINK,
	GUARD_CLOSED, /* guard.c only: the caller cannot find out whether the path exists */
};

struct guard_class {
	enum guard_kind kind;
	const char *why;          /* NULL ends the table */
	const char *const *names; /* ends with NULL */
};
extern const struct guard_class guard_classes[];

/*
 * Reads the lists "secret" and "guard" of the administrator and of the caller (name_list.c). Each
 * list ends with NULL and is freed with one yett_free(). YETT_E_INVALID_REQUEST: a line is not a
 * path. YETT_E_FILE_OPERATION_FAILED.
 */
_must_check_ int guard_read_lists(const char *const **ret_hidden, const char *const **ret_read_only,
                                  struct yett_error *error);

/*
 * Adds the paths to hide and the read-only paths to the create message in `channel`. Call this
 * after all shares and tmpfs were added. Skips a protected path if another share or tmpfs of the
 * request is mounted at that path or above it: a path that the caller shares by name stays visible.
 */
_must_check_ int guard_put(struct channel *channel, const struct share_fds *fds,
                           struct yett_error *error);
