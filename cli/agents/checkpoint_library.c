/* SPDX-License-Identifier: Apache-2.0 */
/* See checkpoint_library.h. */
#include "cli/agents/checkpoint_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define LIBRARY "libyett-checkpoint.so.0"

/*
 * If this program is DIR/cli/yett of a build tree, loads the library that was built with it, from
 * DIR/checkpoint/. libyett finds its helper in the same way. Never in set-user-id mode (AT_SECURE).
 */
static void *load_from_build_tree(void)
{
	static const char program[] = "/cli/yett";
	char path[PATH_MAX];
	ssize_t n = getauxval(AT_SECURE) ? -1 : readlink("/proc/self/exe", path, sizeof path - 1);
	size_t length = n < 0 ? 0 : (size_t)n, tail = strlen(program);

	if (length <= tail || memcmp(path + length - tail, program, tail) != 0)
		return NULL;
	length -= tail;
	if ((size_t)snprintf(path + length, sizeof path - length, "/checkpoint/" LIBRARY) >=
	    sizeof path - length)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

int checkpoint_library_load(struct checkpoint_library *library, struct yett_error *error)
{
	void *loaded = load_from_build_tree();
	bool is_whole;

	if (!loaded)
		loaded = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	is_whole = loaded;
#define X(function) \
	is_whole = is_whole && (*(void **)&library->function = dlsym(loaded, #function));
	CHECKPOINT_FUNCTIONS(X)
#undef X
	if (is_whole)
		return 0;
	(void)error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
	                "checkpoints need libyett-checkpoint, which cannot be loaded: %s",
	                dlerror());
	error_mend(error, "install the package libyett-checkpoint0");
	return YETT_E_UNSUPPORTED;
}
