/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that can be made again: writes the session of a sandbox that `yett create --name`
 * makes, and later makes a sandbox from that session (`yett resume`).
 *
 * Runs as the caller. Never share anything else than the session records: whoever can write to a
 * directory may meanwhile have replaced an entry below it with a symbolic link or another
 * directory.
 */
#pragma once

#include "cli/run/run_parts.h"
#include "cli/sandboxes/session.h"

#define AGAIN_WORDS_MAX 16384

/*
 * Called before the sandbox is requested. Opens the session of the name and takes its lock, so that
 * nobody else makes that sandbox meanwhile. Returns an error if the sandbox of the session is
 * suspended, is not known to be gone, or another process holds the lock. If no session can be kept
 * for another reason, prints a note, returns 0 and leaves ret_session->directory at -1; with
 * --idle-action suspend that is an error, too.
 */
_must_check_ int again_prepare(struct run *run, struct session *ret_session);

/*
 * Called after the sandbox was made: writes its session. A failure is an error only if the sandbox
 * shall be suspended when it is idle; otherwise a note is printed. May append one word to `words`,
 * which must have room for AGAIN_WORDS_MAX entries; the caller frees that word like the others.
 */
_must_check_ int again_keep(struct run *run, char **words, struct session *session);

/*
 * Makes the sandbox of the session again and writes its new id into the session, whose lock the
 * caller holds, and into `ret_id`. If that fails, the session stays as it was.
 */
_must_check_ int again_make(struct session *session, struct yett_connection *connection,
                            char ret_id[static YETT_ID_SIZE], struct yett_error *error);

/*
 * Whether the directory and environment that init reports are well formed: a compromised init can
 * report anything.
 */
bool again_is_sound(const struct yett_session *now);

/*
 * Call after the directory or environment that new commands start with was changed: writes both
 * into the session of the sandbox, if there is one.
 */
void again_note_environment(struct yett_sandbox *sandbox, const char *id_or_name);
