/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts checkpoints, and says so of each when it is put; or looks at all that a store has.
 *
 *   checkpoints put STORE THREAD COUNT SIZE [lazy]    prints the id of each
 *   checkpoints check STORE                           prints the id of each, the first one first;
 * status 1 where one is not what was put
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yett-checkpoint.h>

#include "tests/support/waiting.h"

static int failed(const struct yett_error *error)
{
	(void)fprintf(stderr, "%d %d %s\n", (int)error->code, error->os_error, error->message);
	return 1;
}

static struct yett_checkpoint_store *open_store(const char *path, uint32_t flags,
                                                struct yett_error *error)
{
	const struct yett_checkpoint_store_options options = {
		.size = sizeof options,
		.path = path,
		.flags = flags,
		.timeout_ms = (uint32_t)waiting_deadline_ms(),
		.thread_max = YETT_CHECKPOINT_UNLIMITED,
		.total_max = YETT_CHECKPOINT_UNLIMITED,
		.bytes_max = YETT_CHECKPOINT_UNLIMITED,
	};
	struct yett_checkpoint_store *store = NULL;

	return yett_checkpoint_store_open(&options, &store, error) == 0 ? store : NULL;
}

/* The bytes of a state follow from its step and its size. */
static unsigned char byte_of(int64_t step, size_t i)
{
	return (unsigned char)((size_t)step * 31 + i * 7);
}

static int put(char **argv)
{
	struct yett_error error = {0};
	struct yett_checkpoint_store *store =
		open_store(argv[0], argv[4] ? YETT_CHECKPOINT_LAZY : 0, &error);
	struct yett_checkpoint_put_options options = {.size = sizeof options,
	                                              .thread = argv[1],
	                                              .state_size = strtoul(argv[3], NULL, 10)};
	unsigned char *state = malloc(options.state_size + 1);
	int64_t count = atoll(argv[2]);
	int r = 0;

	options.state = state;
	for (; store && r == 0 && options.step < count; options.step++) {
		struct yett_checkpoint *checkpoint;
		char line[YETT_CHECKPOINT_ID_SIZE + 1];

		for (size_t i = 0; i < options.state_size; i++)
			state[i] = byte_of(options.step, i);
		r = yett_checkpoint_put(store, &options, &checkpoint, NULL, &error);
		if (r)
			break;
		(void)snprintf(line, sizeof line, "%s\n", checkpoint->id);
		r = write(STDOUT_FILENO, line, strlen(line)) < 0;
		yett_checkpoint_free(checkpoint);
	}
	yett_checkpoint_store_close(store);
	free(state);
	return store && r == 0 ? 0 : failed(&error);
}

static int check_one(struct yett_checkpoint_store *store, const char *id, struct yett_error *error)
{
	struct yett_checkpoint *checkpoint;
	int r = yett_checkpoint_get(store, id, &checkpoint, error);

	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < checkpoint->state_size; i++)
		r = ((const unsigned char *)checkpoint->state)[i] != byte_of(checkpoint->step, i);
	if (r)
		(void)fprintf(stderr, "%s has another state than was put\n", id);
	yett_checkpoint_free(checkpoint);
	return r;
}

static int check(const char *path)
{
	const struct yett_checkpoint_list_options options = {.size = sizeof options,
	                                                     .limit = UINT64_MAX};
	struct yett_error error = {0};
	struct yett_checkpoint_store *store = open_store(path, YETT_CHECKPOINT_EXISTING, &error);
	struct yett_checkpoint_list *list = NULL;
	int r = store ? yett_checkpoints_list(store, &options, &list, &error) : 1;

	for (size_t i = r == 0 ? yett_checkpoint_list_count(list) : 0; r == 0 && i-- > 0;) {
		r = check_one(store, yett_checkpoint_list_get(list, i)->id, &error);
		(void)puts(yett_checkpoint_list_get(list, i)->id);
	}
	yett_checkpoint_list_free(list);
	yett_checkpoint_store_close(store);
	return r == 0 ? 0 : failed(&error);
}

int main(int argc, char **argv)
{
	if (argc >= 6 && strcmp(argv[1], "put") == 0)
		return put(argv + 2);
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check(argv[2]);
	return 2;
}
