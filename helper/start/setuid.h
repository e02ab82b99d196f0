/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-helper as a set-user-id program: removes everything that the caller left in the process,
 * before anything else.
 *
 * The kernel and the loader have made the process root, with a session, signals, timers, limits,
 * descriptors, an environment and control groups that the caller chose. It serves the user that
 * executed it, by the real ids and groups at that moment. The caller decides nothing else: policy,
 * programs and runtime directory are those that are compiled in. execve(2), credentials(7).
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/setup/setup.h"

/* The only arguments with which a set-user-id helper serves as root: "yett-helper --serve=3". */
#define SETUID_ARGUMENT "--serve=3"
#define SETUID_SOCKET   3

#define SETUID_HELPERS_MAX 64 /* of one user at once */

/* Returns whether the arguments are SETUID_ARGUMENT and nothing else. */
bool setuid_is_asked(int argc, char *const argv[]);

/*
 * For any other arguments: if this is a set-id program, becomes the caller for good, as a program
 * without set-id is. Returns 0 or -errno.
 */
_must_check_ int setuid_give_up(void);

/*
 * Checks that descriptor SETUID_SOCKET is one end of a connected AF_UNIX SOCK_SEQPACKET socketpair,
 * so that a refusal can be sent there. On any other socket, such as a connection to a service, the
 * receiver could treat a packet from root as more than a refusal. Returns 0 or a code.
 */
_must_check_ int setuid_check_socket(struct yett_error *error);

/*
 * Checks that the programs in YETT_LIBEXEC_DIR belong to root and that nobody else can write them.
 * Returns 0 or a code. The last step of setuid_cleanse().
 */
_must_check_ int setuid_check_programs(struct yett_error *error);

/*
 * Carries out all steps, in the order of the table in setuid.c. `ret_caller` gets the user that
 * executed this program. Returns 0, or -errno or a code with the failed step in the error. Then the
 * process can only report the error and exit.
 */
_must_check_ int setuid_cleanse(struct peer *ret_caller, struct yett_error *error);

/*
 * Call this once the policy is known. Takes one of the caller's slots (`ret_place`, held until the
 * process ends), then leaves all of the caller's control groups, whose owner could freeze or kill
 * the processes in them. Until here no lock was taken that others wait for. Returns 0, -errno or a
 * code.
 */
_must_check_ int setuid_settle(const struct setup_host *host, const struct peer *caller,
                               struct reservation *ret_place, struct yett_error *error);
