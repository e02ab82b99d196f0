/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps three states of a thread of work, and goes back to the first one. Usage: go_back [STORE] */
#include <stdio.h>
#include <string.h>

#include <yett-checkpoint.h>

static int work(struct yett_checkpoint_store *store, struct yett_error *error)
{
	static const char *const states[] = {"a plan", "a draft", "a mistake"};
	struct yett_checkpoint *first = NULL, *found;
	uint64_t removed;
	int r = 0;

	for (int64_t i = 0; r == 0 && i < 3; i++) {
		const struct yett_checkpoint_put_options options = {.size = sizeof options,
		                                                    .thread = "essay",
		                                                    .state = states[i],
		                                                    .state_size = strlen(states[i]),
		                                                    .step = i};

		r = yett_checkpoint_put(store, &options, i == 0 ? &first : NULL, NULL, error);
	}
	if (r == 0)
		r = yett_checkpoint_rollback(store, "essay", first->id, &found, &removed, error);
	yett_checkpoint_free(first);
	if (r)
		return r;
	printf("went back by %d checkpoints, to: %.*s\n", (int)removed, (int)found->state_size,
	       (const char *)found->state);
	yett_checkpoint_free(found);
	return 0;
}

int main(int argc, char **argv)
{
	const struct yett_checkpoint_store_options options = {.size = sizeof options,
	                                                      .path = argc > 1 ? argv[1] : NULL};
	struct yett_checkpoint_store *store = NULL;
	struct yett_error error;
	int r = yett_checkpoint_store_open(&options, &store, &error);

	if (r == 0)
		r = work(store, &error);
	if (r)
		fprintf(stderr, "%s\n", error.message);
	yett_checkpoint_store_close(store);
	return r ? 1 : 0;
}
