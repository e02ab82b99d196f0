/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing what yett-audit takes of a sandbox's stream: events of whatever bytes, as a captured
 * init, dialer or supervisor could have sent them, and of what length they like. libFuzzer. What is
 * written of each is one object of JSON in one line, which nothing in it leaves.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "programs/audit/entry.h"
#include "programs/audit/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line, and its length without its end; to be freed. */
static char *write_line(const struct follow *follow, const struct live_event *live_event,
                        size_t *ret_length)
{
	char *line = NULL;
	struct json json = {.to = open_memstream(&line, ret_length)};

	assert(json.to);
	json_open(&json, NULL, '{');
	entry_put_happened(&json, follow, live_event);
	json_text(&json, "last", "end");
	json_close(&json);
	assert(json.depth == 0 && fclose(json.to) == 0);
	return line;
}

static void check_line(const char *line, size_t length)
{
	char text[8];

	for (size_t i = 0; i < length; i++)
		assert((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
	assert(field_is_object(line, length));
	assert(field_text(line, length, "last", text, sizeof text) && strcmp(text, "end") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct live_event live_event;
	struct follow follow = {.recorded = UINT32_MAX, .id = "0123456789abcdef", .name = "name"};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	follow.fd = pair[1];
	while (size > 2) { /* each has its length in front */
		size_t length = (size_t)(data[0] | data[1] << 8), left = size - 2;

		length = length < left ? length : left;
		if (send(pair[0], data + 2, length, MSG_DONTWAIT) < 0)
			break;
		data += 2 + length;
		size = left - length;
	}
	(void)close(pair[0]);
	while (follow.fd >= 0 && follow_receive(&follow, &live_event)) {
		char *line;
		size_t length;

		if (!follow_kind(live_event.event.kind))
			continue;
		assert(entry_happened_event(live_event.event.kind));
		line = write_line(&follow, &live_event, &length);
		check_line(line, length);
		free(line);
	}
	assert(follow.fd == -1); /* nothing that was sent keeps the stream open */
	return 0;
}
