/*
 * What a request for a sandbox asks for, in words, for the audit: what the policy makes of it the
 * plan says.
 *
 * Pure; no privilege. The texts are the client's: who shows this escapes it.
 */
#pragma once

#include "protocol/message.h"

#define ASKED_SIZE 1024

/* As "memory=1G network=limited allow=pypi.org:443 rw=/work"; what it leaves to the profile is not
 * in it, and what does not fit is "…". */
char *asked_describe(const struct message *request, char out[ASKED_SIZE]);
