/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The refused messages of protocol/vectors, for sending them to the real helper.
 *
 * In test programs, as an ordinary user. PROTOCOL.md, "Vectors"; tests/unit checks the files
 * themselves.
 */
#pragma once

#include "base/error.h"

struct vector {
	char name[80];
	char field[64];
	bool is_packet, is_create; /* a whole packet, or the body of a create */
	enum yett_reason reason;
	size_t fd_count;
	uint8_t *content;
	size_t length;
};

/* All of them that a helper can be sent; they stay until the program ends. */
size_t vectors_read(const char *directory, struct vector **ret_vectors);
