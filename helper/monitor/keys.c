/* See keys.h. */
#include "helper/monitor/keys.h"
#include "helper/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define KEY_FILE_MAX 16384
#define KEYS_TIMEOUT_MS 2000

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

static int add(struct keys *keys, const uint8_t key[ENVELOPE_KEY_SIZE], const char *principal)
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
	ssize_t n;
	int r;

	if (fd < 0 || !is_administrators(fd, true)) {
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
		r = add(keys, message->body.keys.keys[i].key, principal);
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

const char *keys_find(const struct keys *keys, const uint8_t key[ENVELOPE_KEY_SIZE])
{
	for (size_t i = 0; i < keys->count; i++)
		if (memcmp(keys->items[i].key, key, ENVELOPE_KEY_SIZE) == 0)
			return keys->items[i].principal;
	return NULL;
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
