/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores of checkpoints: any bytes in the pages of one. It is told what is wrong, or everything can
 * be asked of it; what is read is sound.
 *
 * Each input changes a store that was made once: three bytes say where, and one what is there then.
 * Made by chance alone, nothing would be a database.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "checkpoint/yett-checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/yett-fuzz-XXXXXX", path[64];
static unsigned char *whole;
static size_t whole_size;

static struct yett_checkpoint_store *open_store(void)
{
	const struct yett_checkpoint_store_options options = {
		.size = sizeof options, .path = path, .flags = YETT_CHECKPOINT_LAZY};
	struct yett_checkpoint_store *store = NULL;
	struct yett_error error = {0};

	if (yett_checkpoint_store_open(&options, &store, &error) != 0 && !error.message[0])
		__builtin_trap();
	return store;
}

static int put(struct yett_checkpoint_store *store, size_t size, struct yett_error *error)
{
	static const char state[9000];
	const struct yett_checkpoint_put_options options = {
		.size = sizeof options,
		.thread = "t",
		.state = state,
		.state_size = size,
		.tags = (const char *const[]){"a", "b", NULL},
		.custom = "{\"a\":1}"};

	return yett_checkpoint_put(store, &options, NULL, NULL, error);
}

static void remove_all(void)
{
	static const char *const names[] = {"", "-wal", "-shm", "-journal"};
	char name[80];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, names[i]);
		(void)unlink(name);
	}
}

static void remove_directory(void)
{
	remove_all();
	(void)rmdir(directory);
}

static void make(void)
{
	struct yett_checkpoint_store *store;
	FILE *file;

	if (!mkdtemp(directory) || atexit(remove_directory) != 0)
		abort();
	(void)snprintf(path, sizeof path, "%s/store.db", directory);
	store = open_store();
	for (size_t i = 0; i < 6; i++)
		if (put(store, i * 1500, NULL) != 0)
			abort();
	yett_checkpoint_store_close(store);
	whole = malloc(1 << 20);
	file = fopen(path, "re");
	if (!whole || !file)
		abort();
	whole_size = fread(whole, 1, 1 << 20, file);
	(void)fclose(file);
}

static void write_changed(const uint8_t *data, size_t size)
{
	unsigned char *changed = malloc(whole_size);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memcpy(changed, whole, whole_size);
	for (; size >= 4; data += 4, size -= 4)
		changed[((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % whole_size] =
			data[3];
	if (fd < 0 || write(fd, changed, whole_size) != (ssize_t)whole_size)
		abort();
	(void)close(fd);
	free(changed);
}

static void look(const struct yett_checkpoint *checkpoint)
{
	if (strlen(checkpoint->id) != YETT_CHECKPOINT_ID_SIZE - 1 || !checkpoint->thread)
		__builtin_trap();
	for (const char *const *tag = checkpoint->tags; *tag; tag++)
		(void)strlen(*tag);
}

static void ask(struct yett_checkpoint_store *store)
{
	struct yett_checkpoint_list *list = NULL;
	struct yett_error error = {0};

	if (yett_checkpoints_list(store, NULL, &list, &error) != 0)
		return;
	for (size_t i = 0; i < yett_checkpoint_list_count(list); i++) {
		const struct yett_checkpoint *item = yett_checkpoint_list_get(list, i);
		struct yett_checkpoint_list *line = NULL;
		struct yett_checkpoint *found = NULL;

		look(item);
		if (yett_checkpoint_get(store, item->id, &found, &error) == 0)
			look(found);
		yett_checkpoint_free(found);
		if (yett_checkpoint_history(store, item->id, &line, &error) == 0)
			yett_checkpoint_list_free(line);
	}
	yett_checkpoint_list_free(list);
	(void)put(store, 5000, &error);
	(void)!yett_checkpoint_delete_thread(store, "t", NULL, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct yett_checkpoint_store *store;

	if (!whole)
		make();
	remove_all();
	write_changed(data, size);
	store = open_store();
	if (store)
		ask(store);
	yett_checkpoint_store_close(store);
	return 0;
}
