/*
 * SELinux: the contexts that a sandbox runs and writes under. selinux/yett.te says what they may
 * do.
 *
 * Without libselinux: all it would do here is write one file of /proc, and it brings a regular
 * expression engine and the parsing of five configuration files into a program that runs as root.
 */
#pragma once

#include <stdint.h>

#define SELINUX_CONTEXT_MAX 192

/* How it is with a profile's type, looked at when its template is built. */
enum selinux_state {
	SELINUX_ABSENT,     /* the kernel does not use SELinux */
	SELINUX_UNNAMED,    /* it does, and the profile names no type */
	SELINUX_UNKNOWN,    /* the loaded policy does not know the type */
	SELINUX_PERMISSIVE, /* labelled, and everything is allowed */
	SELINUX_ENFORCING,
};

/* Asks the kernel. In no namespace but the helper's own. */
enum selinux_state selinux_look(const char *type);

/*
 * Contexts of the sandbox whose private range holds `id`: of init and commands, and of what lies on
 * its own file systems. Two categories tell sandboxes apart: s0:cA,cB is had by no other range of
 * ids. Pure.
 */
void selinux_process_context(const char *type, uint32_t id, char context[SELINUX_CONTEXT_MAX]);
void selinux_file_context(uint32_t id, char context[SELINUX_CONTEXT_MAX]);
