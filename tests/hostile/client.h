/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the client that lies: each file has its tests in an array, and test_client.c runs
 * them as one group.
 */
#pragma once

#include "tests/hostile/wire.h"

struct CMUnitTest;

extern const struct CMUnitTest client_shares[], client_peers[];
extern const size_t client_shares_count, client_peers_count;
