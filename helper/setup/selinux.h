/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SELinux: the contexts of a sandbox's processes and files. selinux/yett.te says what they may do.
 * Runs as root; must write to no file but /proc/self/attr/exec.
 *
 * libselinux is not linked. For the one write to /proc that is needed here, it would bring a
 * regular expression engine and the parsers of five configuration files into a program that runs as
 * root.
 */
#pragma once

#include <stdint.h>

#define SELINUX_CONTEXT_MAX 192

/* State of a profile's type, found out when its template is built. */
enum selinux_state {
	SELINUX_ABSENT,     /* the kernel does not use SELinux */
	SELINUX_UNNAMED,    /* SELinux is in use, and the profile names no type */
	SELINUX_UNKNOWN,    /* the loaded policy does not know the type */
	SELINUX_PERMISSIVE, /* processes are labelled, but nothing is denied */
	SELINUX_ENFORCING,
};

/* Asks the kernel for the state. Call only in the helper's own namespaces. */
enum selinux_state selinux_look(const char *type);

/*
 * Write the contexts of the sandbox whose private range contains `id`: of init and commands, and of
 * files on the sandbox's own file systems. No other range has the same pair of categories s0:cA,cB,
 * so sandboxes cannot use each other's files. Pure.
 */
void selinux_process_context(const char *type, uint32_t id, char context[SELINUX_CONTEXT_MAX]);
void selinux_file_context(uint32_t id, char context[SELINUX_CONTEXT_MAX]);
