/* See keys.h. */
#include "helper/monitor/keys.h"
#include "helper/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_LINE_PREFIX "ed25519 "
#define KEY_LINE_SIZE   (sizeof KEY_LINE_PREFIX - 1 + 44) /* with the base64 of 32 bytes */

bool keys_in_text(const char *text, size_t length, const uint8_t key[ENVELOPE_KEY_SIZE])
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

/* NAME of "NAME.pub", if it is one that a grant can list. */
static bool principal_of(const char *file, char name[static MESSAGE_NAME_MAX + 1])
{
	size_t length = strlen(file);

	if (length <= 4 || length - 4 > MESSAGE_NAME_MAX || strcmp(file + length - 4, ".pub") != 0 || strchr("._-", file[0]))
		return false;
	memcpy(name, file, length - 4);
	name[length - 4] = '\0';
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length - 4;
}

static bool is_administrators(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & 022) && (st.st_mode & S_IFMT) == type;
}

static bool is_in_file(int directory, const char *file, const uint8_t key[ENVELOPE_KEY_SIZE])
{
	_cleanup_fd_ int fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[KEYS_FILE_MAX];
	ssize_t n;

	if (fd < 0 || !is_administrators(fd, S_IFREG)) {
		log_line(LOG_LEVEL_WARNING, "key %s left out: not a regular file of the administrator's alone", file);
		return false;
	}
	n = read(fd, text, sizeof text);
	return n > 0 && keys_in_text(text, (size_t)n, key);
}

int keys_find(const char *directory, const uint8_t key[ENVELOPE_KEY_SIZE], char ret_principal[MESSAGE_NAME_MAX + 1],
	      struct yett_error *error)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = -ENOENT;
	char principal[MESSAGE_NAME_MAX + 1];
	DIR *entries;

	if (fd < 0)
		return -errno;
	if (!is_administrators(fd, S_IFDIR)) {
		log_line(LOG_LEVEL_WARNING, "keys in %s do not count: others can write the directory", directory);
		return fd_close(fd), -ENOENT;
	}
	entries = fdopendir(fd);
	if (!entries)
		return fd_close(fd), -ENOMEM;
	for (struct dirent *entry = readdir(entries); r <= 0 && entry; entry = readdir(entries)) {
		if (!principal_of(entry->d_name, principal) || !is_in_file(dirfd(entries), entry->d_name, key))
			continue;
		r = r ? 0 : error_set(error, YETT_E_BAD_SIGNATURE, 0, "the key is enrolled under two names, '%s' and '%s': one has to go",
				      ret_principal, principal);
		memcpy(ret_principal, principal, sizeof principal);
	}
	(void)closedir(entries);
	return r;
}

static int check_owner(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_uid != uid && st.st_uid != 0))
		return KEYS_OWNER;
	return st.st_mode & 022 ? KEYS_MODE : 0;
}

int keys_read_own(const char *home, uid_t uid, char text[static KEYS_FILE_MAX], uint32_t *ret_length)
{
	char path[MESSAGE_PATH_MAX + 32];
	_cleanup_fd_ int dir = -1, fd = -1;
	struct stat st;
	ssize_t n;
	int r;

	*ret_length = 0;
	(void)snprintf(path, sizeof path, "%s/.config/yett", home);
	dir = open(path, O_DIRECTORY | O_PATH | O_CLOEXEC);
	fd = dir < 0 ? -1 : openat(dir, "authorized_keys", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : KEYS_CLOSED; /* none is enrolled only where none can be */
	r = check_owner(dir, uid) ?: check_owner(fd, uid);
	if (r == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		r = KEYS_KIND;
	if (r == 0 && st.st_size > KEYS_FILE_MAX)
		r = KEYS_SIZE;
	n = r == 0 ? read(fd, text, KEYS_FILE_MAX) : 0;
	*ret_length = n > 0 ? (uint32_t)n : 0;
	return n < 0 ? KEYS_CLOSED : r;
}

int keys_refuse_own(enum keys_refusal why, struct yett_error *error)
{
	static const char *const refusals[] = {
		[KEYS_OWNER] = "it, or its directory, belongs to somebody else",
		[KEYS_MODE] = "others can write it or its directory",
		[KEYS_SIZE] = "it is larger than 16 KiB",
		[KEYS_KIND] = "it is not a regular file",
		[KEYS_CLOSED] = "it, or its directory, cannot be opened or read",
	};

	return error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY, "~/.config/yett/authorized_keys does not count: %s", refusals[why]);
}
