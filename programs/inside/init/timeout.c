/* SPDX-License-Identifier: Apache-2.0 */
/* See timeout.h. */
#include "programs/inside/init/timeout.h"

#include "base/error_rule.h"
#include "base/units_format.h"

int timeout_check(const struct init_config *config, const struct message_exec *exec,
                  struct yett_error *error)
{
	char asked[UNITS_TEXT_SIZE], allowed[UNITS_TEXT_SIZE];

	if (!config->command_max_ms || exec->timeout_ms <= config->command_max_ms)
		return 0;
	(void)units_format_duration(exec->timeout_ms, asked);
	(void)units_format_duration(config->command_max_ms, allowed);
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "a timeout of %s is more than the %s allowed to commands", asked, allowed);
	error_rest(error, &(struct error_rule){.key = "max_command_timeout",
	                                       .section = config->command_section,
	                                       .name = config->command_name,
	                                       .file = config->command_place,
	                                       .asked = asked,
	                                       .allowed = allowed});
	return YETT_E_PERMISSION_DENIED;
}

uint64_t timeout_of(const struct init_config *config, const struct message_exec *exec)
{
	if (exec->timeout_ms)
		return exec->timeout_ms;
	return exec->file_operation ? config->command_max_ms : config->command_ms;
}
