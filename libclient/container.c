/* SPDX-License-Identifier: Apache-2.0 */
/* See container.h. */
#include "libclient/container.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/*
 * The kernel keeps these directories empty, as mount points only. A mount there hides nothing, and
 * the kernel still allows a new mount of /proc: mnt_already_visible() in fs/namespace.c.
 */
static const char *const harmless[] = {"/proc/fs/nfsd", "/proc/sys/fs/binfmt_misc", "/proc/xen"};

static bool hides(const char *path)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
		if (strcmp(path, harmless[i]) == 0)
			return false;
	return true;
}

/* Finds the first mount that covers a part of /proc, see proc_pid_mountinfo(5). */
static bool find_cover(char path[static 256])
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[1024];
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file))
		found = sscanf(line, "%*d %*d %*s %*s %255s", path) == 1 && hides(path);
	if (file)
		(void)fclose(file);
	return found;
}

int container_explain(int code, struct yett_error *error)
{
	char path[256];

	/*
	 * The helper's step "proc" mounts /proc. If nothing covers a part of /proc, the step failed
	 * for another reason, which the error already has.
	 */
	if (code != YETT_E_INIT_FAILED || !error || strcmp(error->step, "proc") != 0 ||
	    !find_cover(path))
		return code;
	(void)error_set(
		error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		"a sandbox needs a private /proc; without root, the kernel refuses one where a part of /proc is covered, as a container covers %.100s",
		path);
	error_detail(
		error,
		"leave /proc uncovered (docker run --security-opt systempaths=unconfined, podman run --security-opt unmask=ALL), "
		"or have the administrator start the service outside the container");
	return YETT_E_UNSUPPORTED;
}
