/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process that reads data of others gives up its privilege: the stages that the programs
 * without privilege share.
 *
 * Each stage is one call, which verifies its effect where the kernel can report it, and returns
 * false when it failed. A program is started as root, or in personal mode as the caller, and has no
 * privilege afterwards. Links no library.
 */
#pragma once

#include "base/fd.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* A sanitizer's shadow memory alone takes terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__)
#define LOCKDOWN_ADDRESS_SPACE(bytes) RLIM_INFINITY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKDOWN_ADDRESS_SPACE(bytes) RLIM_INFINITY
#endif
#endif
#ifndef LOCKDOWN_ADDRESS_SPACE
#define LOCKDOWN_ADDRESS_SPACE(bytes) (bytes)
#endif

struct lockdown_limit {
	int resource;
	rlim_t most;
};

/* Parses a program's argument as an id. Refuses 0, which is root. */
bool lockdown_parse_id(const char *text, uint32_t *ret_id);

/*
 * Lowers hard limits to at most `most`, never raises one, and sets the soft limits to the hard
 * ones.
 */
bool lockdown_limits(const struct lockdown_limit *limits, size_t count);

/*
 * Returns whether this process is a root that can change its ids: it has CAP_SETUID, CAP_SETGID and
 * CAP_SETPCAP. The root of a container may lack them; yett-rootless then serves it, and only it.
 */
bool lockdown_can_leave_root(void);

/* Empties the bounding set. Needs CAP_SETPCAP. */
bool lockdown_bounding_set(void);

/* Sets all uids and gids, and drops the supplementary groups. Needs CAP_SETGID and CAP_SETUID. */
bool lockdown_ids(uid_t uid, gid_t gid);

/* Empty all other capability sets; set no_new_privs; become undumpable. */
bool lockdown_capabilities(void);
bool lockdown_no_new_privs(void);
bool lockdown_undumpable(void);

/*
 * Lets the kernel kill this process when its parent dies. Call this after lockdown_ids(), which
 * clears the setting. If the parent is dead already, no signal is sent.
 */
bool lockdown_death_signal(void);

/*
 * Enters a filter of programs/filters/filters.h. Call this after lockdown_no_new_privs().
 * seccomp(2)
 */
bool lockdown_filter(const struct sock_fprog *filter);
