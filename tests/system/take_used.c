/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a snapshot of a store that is used: take_used ID NAME. That nothing changes in it meanwhile
 * is up to who calls. */
#include <stdio.h>

#include "workspace/yett-workspace.h"

int main(int argc, char **argv)
{
	struct yett_error error = {0};

	if (argc != 3)
		return 2;
	if (yett_snapshot_take_used(argv[1], argv[2], NULL, &error) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n%s\n", error.message, error.mend);
	return 1;
}
