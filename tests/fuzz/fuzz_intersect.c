/* SPDX-License-Identifier: Apache-2.0 */
/* What is in force of request, grant, profile and ceilings: what a second implementation says, and
 * never more for less. */
#include "tests/support/intersecting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[INTERSECTING_BYTES] = {0};

	memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
	if (intersecting_judge(bytes))
		__builtin_trap();
	return 0;
}
