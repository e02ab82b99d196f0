/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripts of a program that stands in the place of one of ours and misbehaves as a test says.
 * Such a program defines its scripts, finds out which of them the test wants, and runs that one:
 *
 *     SCRIPT(closes_its_socket)
 *     {
 *             return close(STDIN_FILENO);
 *     }
 *
 * A test names this script "closes-its-socket": most requests are host names, which have no '_'.
 * All of it is in this header, because the programs are linked with two C libraries.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The program that runs a script gives its return value a meaning. */
#define SCRIPT(name)                                                       \
	static int name(void);                                             \
	__attribute__((constructor)) static void scripted_add_##name(void) \
	{                                                                  \
		scripted_add(&(struct script){#name, name, __LINE__});     \
	}                                                                  \
	static int name(void)

/* A script that is one expression, whose value it returns. */
#define SCRIPT_RETURN(name, ...)    \
	SCRIPT(name)                \
	{                           \
		return __VA_ARGS__; \
	}

/* The same for one whose value does not matter. It returns 0. */
#define SCRIPT_DO(name, ...) SCRIPT_RETURN(name, ((void)(__VA_ARGS__), 0))

struct script {
	const char *name;
	int (*run)(void);
	int line;
};

/* The request of a test: "hostile-MODE" or "hostile-MODE-at-ARGUMENT". */
struct script_wish {
	char mode[64]; /* with '_' for '-'; empty: nothing */
	char argument[64];
};

static struct script scripts[128]; /* as they stand in the file */
static size_t scripts_count;

static inline void scripted_add(const struct script *script)
{
	size_t at = scripts_count++;

	assert(at < sizeof scripts / sizeof *scripts);
	for (; at > 0 && scripts[at - 1].line > script->line; at--)
		scripts[at] = scripts[at - 1];
	scripts[at] = *script;
}

/* NULL: there is none of that name. */
static inline const struct script *script_find(const char *name)
{
	for (size_t i = 0; i < scripts_count; i++)
		if (strcmp(scripts[i].name, name) == 0)
			return &scripts[i];
	return NULL;
}

/* Reads the request in a host name, or in a domain name up to its first '.'. */
static inline struct script_wish script_wish(const char *name)
{
	static const char mark[] = "hostile-", at[] = "-at-";
	struct script_wish wish = {0};
	size_t length = strcspn(name, ".");
	const char *argument;

	if (strncmp(name, mark, sizeof mark - 1) != 0 || length >= sizeof wish.mode)
		return wish;
	(void)snprintf(wish.mode, sizeof wish.mode, "%.*s", (int)(length - (sizeof mark - 1)),
	               name + sizeof mark - 1);
	argument = strstr(wish.mode, at);
	if (argument) {
		(void)strcpy(wish.argument, argument + sizeof at - 1);
		wish.mode[argument - wish.mode] = '\0';
	}
	for (char *c = wish.mode; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return wish;
}
