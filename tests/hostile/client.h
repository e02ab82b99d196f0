/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the client that lies: each file hands out its tests, and test_client.c runs
 * them as one group.
 */
#pragma once

#include "tests/hostile/wire.h"

struct CMUnitTest;

const struct CMUnitTest *client_shares(size_t *ret_count);
const struct CMUnitTest *client_peers(size_t *ret_count);
