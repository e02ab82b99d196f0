/* SPDX-License-Identifier: Apache-2.0 */
/* A library that an attacker has loaded into programs: it leaves a mark where the environment says.
 * With their privilege. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void __attribute__((constructor)) leave_mark(void)
{
	const char *path = getenv("YETT_TEST_MARK");

	if (path)
		(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}
