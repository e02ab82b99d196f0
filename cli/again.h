/*
 * Sandboxes that can be made again: what `yett create --name` keeps of one as its session, and
 * making one by that.
 *
 * Runs as the caller. What is shared again is what was shared then: who could write a directory
 * meanwhile may have put a link, or another directory, in the place of one below it.
 */
#pragma once

#include "cli/run_parts.h"
#include "cli/session.h"

#define AGAIN_WORDS_MAX 16384

/*
 * Before the sandbox of a name is asked for: has the session of that name, for nobody else to make
 * one. Refused where a suspended sandbox has it, or one that is not known to be gone. Where none
 * can be kept that is told, and *ret_session is none.
 */
_must_check_ int again_prepare(struct run *run, struct session *ret_session);

/*
 * Afterwards: keeps it. It is a refusal only where the sandbox is to be suspended by itself. The
 * words may get one more, of AGAIN_WORDS_MAX that there is room for; as the others it is to be
 * freed.
 */
_must_check_ int again_keep(struct run *run, char **words, struct session *session);

/* Makes it again, and says so in the session, whose lock is held: the id. Where that fails the
 * session is as before. */
_must_check_ int again_make(struct session *session, struct yett_connection *connection,
                            char ret_id[static YETT_ID_SIZE], struct yett_error *error);

/* Whether what init says that commands begin with is that: a sandbox may have got hold of init. */
bool again_is_sound(const struct yett_session *now);

/* What commands of a sandbox begin with was changed. */
void again_note_environment(struct yett_sandbox *sandbox, const char *id_or_name);
