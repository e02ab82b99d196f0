/* See keys.h. */
#include "helper/monitor/keys.h"
#include "helper/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define KEY_FILE_MAX 16384
#define KEYS_TIMEOUT_MS 2000
#define KEY_LINE_PREFIX "ed25519 "
#define KEY_LINE_SIZE   (sizeof KEY_LINE_PREFIX - 1 + 44) /* with the base64 of 32 bytes */

/* NAME of "NAME.pub", if it is one that a grant can list. */
static bool principal_of(const char *file, char name[static MESSAGE_NAME_MAX + 1])
{
	size_t length = strlen(file);

	if (length <= 4 || length - 4 > MESSAGE_NAME_MAX || strcmp(file + length - 4, ".pub") != 0 || file[0] == '.')
		return false;
	memcpy(name, file, length - 4);
	name[length - 4] = '\0';
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length - 4;
}

static bool is_administrators(int fd, bool regular)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) && S_ISREG(st.st_mode) == regular;
}

/*
 * Whether the one line that stands for `key` is in the text: what a request's re-encoding is to a body. A captured
 * decoder can then leave keys out, but add none.
 */
static bool is_in_text(const char *text, size_t length, const uint8_t key[ENVELOPE_KEY_SIZE])
{
	char line[KEY_LINE_SIZE + 1] = KEY_LINE_PREFIX;
	const char *end = text + length;

	(void)sodium_bin2base64(line + strlen(KEY_LINE_PREFIX), sizeof line - strlen(KEY_LINE_PREFIX), key, ENVELOPE_KEY_SIZE,
				sodium_base64_VARIANT_ORIGINAL);
	for (const char *at = text; at && (size_t)(end - at) >= KEY_LINE_SIZE;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (memcmp(at, line, KEY_LINE_SIZE) == 0 && (at + KEY_LINE_SIZE == end || at[KEY_LINE_SIZE] == '\n' || at[KEY_LINE_SIZE] == ' '))
			return true;
		at = next ? next + 1 : NULL;
	}
	return false;
}

static int add(struct keys *keys, const uint8_t key[ENVELOPE_KEY_SIZE], const char *principal, const struct timespec *changed)
{
	struct enrolled_key *items;

	if (keys->count == KEYS_ENROLLED_MAX)
		return -E2BIG;
	items = reallocarray(keys->items, keys->count + 1, sizeof *items);
	if (!items)
		return -ENOMEM;
	keys->items = items;
	memcpy(items[keys->count].key, key, ENVELOPE_KEY_SIZE);
	memcpy(items[keys->count].principal, principal, strlen(principal) + 1);
	items[keys->count].changed = *changed;
	keys->count++;
	return 0;
}

/* Decodes `text` into a message that the caller unmaps. */
static int decode(struct decoder *decoder, const char *text, size_t length, struct message **ret_message, struct yett_error *error)
{
	struct decoder_task task = {MESSAGE_KEYS, text, length, KEYS_TIMEOUT_MS};
	struct message *message = mmap(NULL, sizeof *message, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (message == MAP_FAILED)
		return -ENOMEM;
	r = decoder_run(decoder, &task, message, error);
	if (r == 0 && message->body.keys.keys_count > MESSAGE_KEYS_MAX)
		r = -EPROTO;
	for (uint32_t i = 0; r == 0 && i < message->body.keys.keys_count; i++)
		if (!is_in_text(text, length, message->body.keys.keys[i].key))
			r = -EPROTO;
	if (r == 0)
		*ret_message = message;
	else
		(void)munmap(message, sizeof *message);
	return r;
}

static int read_file(struct keys *keys, int dir, const char *file, const char *principal, struct decoder *decoder)
{
	_cleanup_fd_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct yett_error error = {0};
	struct message *message;
	char text[KEY_FILE_MAX];
	struct stat st;
	ssize_t n;
	int r;

	if (fd < 0 || !is_administrators(fd, true) || fstat(fd, &st) < 0) {
		log_line(LOG_LEVEL_WARNING, "key %s left out: not a regular file of the administrator's alone", file);
		return 0;
	}
	n = read(fd, text, sizeof text);
	r = n < 0 ? -errno : decode(decoder, text, (size_t)n, &message, &error);
	if (r > 0)
		log_line(LOG_LEVEL_WARNING, "key %s left out: %s %s", file, error.message, error.detail);
	if (r != 0)
		return r > 0 ? 0 : r;
	for (uint32_t i = 0; r == 0 && i < message->body.keys.keys_count; i++)
		r = add(keys, message->body.keys.keys[i].key, principal, &st.st_ctim);
	(void)munmap(message, sizeof *message);
	return r;
}

int keys_refresh(struct keys *keys, const char *directory, struct decoder *decoder)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = 0;
	char principal[MESSAGE_NAME_MAX + 1];
	struct stat st;
	DIR *entries;

	if (fd < 0 || fstat(fd, &st) < 0) {
		keys_free(keys);
		return errno == ENOENT ? 0 : -errno;
	}
	if (st.st_mtim.tv_sec == keys->changed.tv_sec && st.st_mtim.tv_nsec == keys->changed.tv_nsec) {
		(void)close(fd);
		return 0;
	}
	keys_free(keys);
	if (!is_administrators(fd, false)) {
		log_line(LOG_LEVEL_WARNING, "keys in %s do not count: others can write the directory", directory);
		(void)close(fd);
		return 0;
	}
	entries = fdopendir(fd);
	if (!entries)
		return fd_close(fd), -ENOMEM;
	for (struct dirent *entry = readdir(entries); r == 0 && entry; entry = readdir(entries))
		if (principal_of(entry->d_name, principal))
			r = read_file(keys, dirfd(entries), entry->d_name, principal, decoder);
	(void)closedir(entries);
	if (r == 0)
		keys->changed = st.st_mtim;
	return r;
}

/* A file edited in place leaves its directory as it was: a key that was taken out of it must not count any longer. */
static bool is_unchanged(const struct enrolled_key *item, const char *directory)
{
	char path[4096];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/%s.pub", directory, item->principal);
	return lstat(path, &st) == 0 && st.st_ctim.tv_sec == item->changed.tv_sec && st.st_ctim.tv_nsec == item->changed.tv_nsec;
}

static const struct enrolled_key *find(const struct keys *keys, const uint8_t key[ENVELOPE_KEY_SIZE])
{
	for (size_t i = 0; i < keys->count; i++)
		if (memcmp(keys->items[i].key, key, ENVELOPE_KEY_SIZE) == 0)
			return &keys->items[i];
	return NULL;
}

int keys_find(struct keys *keys, const char *directory, struct decoder *decoder, const uint8_t key[ENVELOPE_KEY_SIZE],
	      const char **ret_principal)
{
	int r = keys_refresh(keys, directory, decoder);
	const struct enrolled_key *item = r == 0 ? find(keys, key) : NULL;

	if (item && !is_unchanged(item, directory)) {
		keys_free(keys);
		r = keys_refresh(keys, directory, decoder);
		item = r == 0 ? find(keys, key) : NULL;
	}
	if (r == 0)
		*ret_principal = item ? item->principal : NULL;
	return r;
}

int keys_in_text(struct decoder *decoder, const char *text, size_t length, const uint8_t key[ENVELOPE_KEY_SIZE], bool *ret_found,
		 struct yett_error *error)
{
	struct message *message;
	bool found = false;
	int r = decode(decoder, text, length, &message, error);

	if (r != 0)
		return r;
	for (uint32_t i = 0; i < message->body.keys.keys_count; i++)
		found = found || memcmp(message->body.keys.keys[i].key, key, ENVELOPE_KEY_SIZE) == 0;
	(void)munmap(message, sizeof *message);
	*ret_found = found;
	return 0;
}

void keys_free(struct keys *keys)
{
	free(keys->items);
	*keys = (struct keys){0};
}
