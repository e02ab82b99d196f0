/*
 * The other layer_is_on(): what the layer tests' init links instead of programs/init/layer.c.
 *
 * What is to be left out stands in the environment of the profile, so that a test says it in its policy:
 * YETT_TEST_LAYERS_OFF=landlock,system-call-filter
 */
#include "programs/init/layer.h"

#include <string.h>

#define VARIABLE "YETT_TEST_LAYERS_OFF="

bool layer_is_on(const struct init_config *config, const char *name)
{
	const char *text = init_config_texts(config);

	for (uint32_t i = 0; i < config->env_count; i++, text += strlen(text) + 1) {
		if (strncmp(text, VARIABLE, strlen(VARIABLE)) != 0)
			continue;
		for (const char *at = text + strlen(VARIABLE); *at; at += *at == ',') {
			size_t length = strcspn(at, ",");

			if (length == strlen(name) && strncmp(at, name, length) == 0)
				return false;
			at += length;
		}
	}
	return true;
}
