/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other layer_is_on(): what the layer tests' init links instead of
 * programs/inside/init/layer.c.
 *
 * What is to be left out stands in the environment of the profile, so that a test says it in its
 * policy: YETT_TEST_LAYERS_OFF=landlock,system-call-filter With YETT_TEST_LAYERS_CLAIM behind it
 * init says that Landlock is there all the same: what root would otherwise not go on without.
 */
#include "programs/inside/init/layer.h"

#include <string.h>

#define VARIABLE "YETT_TEST_LAYERS_OFF="
#define CLAIM    "YETT_TEST_LAYERS_CLAIM="
#define CLAIMED  9

bool layer_is_on(const struct init_config *config, const char *name)
{
	const char *text = init_config_texts(config);
	bool is_on = true;

	for (uint32_t i = 0; i < config->env_count; i++, text += strlen(text) + 1) {
		if (strncmp(text, CLAIM, strlen(CLAIM)) == 0 && strcmp(name, "landlock") == 0)
			((struct init_config *)(uintptr_t)config)->landlock_abi = CLAIMED;
		if (strncmp(text, VARIABLE, strlen(VARIABLE)) != 0)
			continue;
		for (const char *at = text + strlen(VARIABLE); *at; at += *at == ',') {
			size_t length = strcspn(at, ",");

			if (length == strlen(name) && strncmp(at, name, length) == 0)
				is_on = false;
			at += length;
		}
	}
	return is_on;
}
