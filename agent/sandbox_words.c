/* SPDX-License-Identifier: Apache-2.0 */
/* See sandbox_words.h. */
#include "agent/sandbox_words.h"

#include <string.h>

const char *const sandbox_words_modes[] = {"ro", "rw", "cow", NULL};
const char *const sandbox_words_tiers[] = {"light", "strong", NULL};
/* Starts with YETT_NETWORK_NONE. */
const char *const sandbox_words_networks[] = {"none", "limited", "open", "host", NULL};

const char *sandbox_words_network_name(enum yett_network network)
{
	return network >= YETT_NETWORK_NONE && network <= YETT_NETWORK_HOST
	               ? sandbox_words_networks[network - YETT_NETWORK_NONE]
	               : sandbox_words_networks[0];
}

enum yett_network sandbox_words_network(const char *name)
{
	int i = YETT_NETWORK_NONE;

	while (i < YETT_NETWORK_HOST &&
	       strcmp(sandbox_words_networks[i - YETT_NETWORK_NONE], name) != 0)
		i++;
	return (enum yett_network)i;
}

uint32_t sandbox_words_share_flags(const char *mode)
{
	if (mode && strcmp(mode, "rw") == 0)
		return YETT_SHARE_WRITABLE;
	return mode && strcmp(mode, "cow") == 0 ? YETT_SHARE_COW : 0;
}

bool sandbox_words_is_cpus(double processors)
{
	return processors >= 0.001 && processors <= 100000;
}
