/*
 * The tables behind seccomp.c: which system calls a command may make, and with which arguments never.
 *
 * Data only, no privilege. A name that this architecture lacks is skipped; a unit test finds misspelt ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One subject of the allow-list. Lists of calls are texts, the names separated by single blanks. */
struct seccomp_group {
	const char *name;
	bool strict; /* in the strict set as well */
	const char *calls;
};

/* A call younger than some libseccomp in use; numbers from 424 on are the same on all architectures. */
struct seccomp_newer {
	const char *name;
	int number;
};

/* Fits when (argument & mask) == value; with mask 0, when all 64 bits of the argument are above value. */
struct seccomp_argument {
	unsigned index;
	uint32_t mask; /* of the low half, where the kernel takes an int */
	uint32_t value;
};

enum seccomp_set { SECCOMP_BOTH = 0, SECCOMP_DEFAULT, SECCOMP_STRICT };

/*
 * Calls that are refused with `error` if each of the arguments fits; with no arguments, always. For one call in one set
 * no refusal's arguments may be the beginning of another's: libseccomp 2.5 then drops one of them.
 */
struct seccomp_refusal {
	const char *calls;
	int error;
	unsigned arguments_count;
	struct seccomp_argument arguments[2];
	enum seccomp_set set;
};

/* The values of personality(2) that are let through; other calls are not bound to values. */
extern const uint32_t seccomp_personalities[];
extern const size_t seccomp_personalities_count;

extern const struct seccomp_group seccomp_groups[];
extern const size_t seccomp_groups_count;
extern const struct seccomp_refusal seccomp_refusals[];
extern const size_t seccomp_refusals_count;
extern const struct seccomp_newer seccomp_newer[];
extern const size_t seccomp_newer_count;
extern const char seccomp_init_calls[]; /* that yett-init makes and commands may not */
