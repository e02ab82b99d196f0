/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names and texts of error codes, the version of the library, and yett_free(): the group
 * without a name in yett.h. Runs with the caller's privilege.
 */
#include "libclient/yett.h"

#include "base/error.h"
#include "base/error_text.h"
#include "base/memory.h"

const char *yett_version(void)
{
	return YETT_VERSION;
}

int yett_check_version(uint32_t number, struct yett_error *error)
{
	const uint32_t major = number / 1000000, minor = number / 1000 % 1000,
		       patch = number % 1000;
	bool is_same = major == YETT_VERSION_MAJOR && (major > 0 || minor == YETT_VERSION_MINOR);

	if (is_same && number <= YETT_VERSION_NUMBER)
		return 0;
	return error_set(
		error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		"the program was made for libyett %u.%u.%u, and the library that is loaded is %s",
		major, minor, patch, yett_version());
}

const char *yett_error_code_text(enum yett_code code)
{
	return error_code_text(code);
}

const char *yett_error_reason_name(enum yett_reason reason)
{
	return error_reason_short_name(reason);
}

bool yett_error_retryable(const struct yett_error *error)
{
	/*
	 * An errno means that a system call could not reach the helper. This stays so until
	 * somebody fixes the cause, so trying again does not help.
	 */
	return error && error_code_retryable(error->code) &&
	       !(error->code == YETT_E_HELPER_UNAVAILABLE && error->os_error);
}

const char *yett_error_code_name(enum yett_code code)
{
	switch (code) {
	case YETT_OK:
		return "ok";
	case YETT_E_NOT_FOUND:
		return "not-found";
	case YETT_E_ALREADY_EXISTS:
		return "already-exists";
	case YETT_E_NOT_RUNNING:
		return "not-running";
	case YETT_E_INIT_FAILED:
		return "init-failed";
	case YETT_E_COMMAND_FAILED:
		return "command-failed";
	case YETT_E_RESOURCE_LIMIT:
		return "resource-limit";
	case YETT_E_SECURITY_VIOLATION:
		return "security-violation";
	case YETT_E_FILE_OPERATION_FAILED:
		return "file-operation-failed";
	case YETT_E_NETWORK_DENIED:
		return "network-denied";
	case YETT_E_TIMEOUT:
		return "timeout";
	case YETT_E_INVALID_REQUEST:
		return "invalid-request";
	case YETT_E_PERMISSION_DENIED:
		return "permission-denied";
	case YETT_E_BAD_SIGNATURE:
		return "bad-signature";
	case YETT_E_UNSUPPORTED:
		return "unsupported";
	case YETT_E_HELPER_UNAVAILABLE:
		return "helper-unavailable";
	case YETT_E_PROTOCOL:
		return "protocol";
	case YETT_E_OUT_OF_MEMORY:
		return "out-of-memory";
	}
	return "unknown";
}

void yett_free(void *memory)
{
	memory_free(memory);
}
