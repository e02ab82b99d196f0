/*
 * yett-helper as a set-user-id program, executed by whoever may: what the caller left is taken away
 * before anything else.
 *
 * The kernel and the loader have made it root, with a session, signals, timers, limits,
 * descriptors, an environment and control groups that the caller chose. Whom it serves is who
 * executed it: real ids and groups at that moment, nothing else. Links to no decision: policy,
 * programs and runtime directory are those that are compiled in. execve(2), credentials(7).
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/setup/setup.h"

/* The one form in which it serves as root: "yett-helper --serve=3". */
#define SETUID_ARGUMENT "--serve=3"
#define SETUID_SOCKET   3

#define SETUID_HELPERS_MAX 64 /* of one user at once */

/* Whether the arguments are that form. */
bool setuid_is_asked(int argc, char *const argv[]);

/*
 * For any other arguments: becomes the caller for good, where this is a set-id program, so that it
 * is one like any other. 0 or -errno.
 */
_must_check_ int setuid_give_up(void);

/*
 * Whether descriptor SETUID_SOCKET is one end of a connected AF_UNIX SOCK_SEQPACKET socketpair, so
 * that a refusal can be sent there: anything else might take a packet that root sends for more than
 * it is. 0 or a code.
 */
_must_check_ int setuid_check_socket(struct yett_error *error);

/* Whether what lies in YETT_LIBEXEC_DIR is root's and nobody else's to write. 0 or a code; the last
 * step of setuid_cleanse(). */
_must_check_ int setuid_check_programs(struct yett_error *error);

/*
 * Carries out all steps, in the order of the table in setuid.c. `ret_caller` is who executed this
 * program. 0, or -errno or a code with the step that failed in the error: then the process can only
 * say so and end.
 */
_must_check_ int setuid_cleanse(struct peer *ret_caller, struct yett_error *error);

/*
 * With the policy known: takes one of the caller's places (`ret_place`, held until the process
 * ends), and then leaves all of the caller's control groups, whose owner could freeze or kill what
 * is in them. Until here no lock was taken that others wait for. 0, -errno or a code.
 */
_must_check_ int setuid_settle(const struct setup_host *host, const struct peer *caller,
                               struct reservation *ret_place, struct yett_error *error);
