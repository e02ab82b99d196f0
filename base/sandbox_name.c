/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox_name.h. */
#include "base/sandbox_name.h"

#include <string.h>

bool sandbox_name_is_valid(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")] &&
	       !strchr("._-", *text);
}

bool sandbox_name_is_id(const char *text)
{
	return strlen(text) == SANDBOX_NAME_ID_LENGTH &&
	       strspn(text, "0123456789abcdef") == SANDBOX_NAME_ID_LENGTH;
}
