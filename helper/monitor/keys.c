/* See keys.h. */
#include "helper/monitor/keys.h"
#include "base/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX 16384

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

static bool is_in_file(int directory, const char *file, const char *line)
{
	_cleanup_fd_ int fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[FILE_MAX];
	ssize_t n;

	if (fd < 0 || !is_administrators(fd, S_IFREG)) {
		log_line(LOG_LEVEL_WARNING, "key %s left out: not a regular file of the administrator's alone", file);
		return false;
	}
	n = read(fd, text, sizeof text);
	return n > 0 && key_line_is_in(text, (size_t)n, line);
}

int keys_find(const char *directory, const char *line, char ret_principal[MESSAGE_NAME_MAX + 1], struct yett_error *error)
{
	_cleanup_(fd_entries_close) DIR *entries = NULL;
	_cleanup_fd_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	char principal[MESSAGE_NAME_MAX + 1];
	int r = -ENOENT;

	if (fd < 0)
		return -errno;
	if (!is_administrators(fd, S_IFDIR)) {
		log_line(LOG_LEVEL_WARNING, "keys in %s do not count: others can write the directory", directory);
		return -ENOENT;
	}
	entries = fd_entries(fd);
	if (!entries)
		return -ENOMEM;
	for (struct dirent *entry; r <= 0 && (entry = readdir(entries));) {
		if (!principal_of(entry->d_name, principal) || !is_in_file(fd, entry->d_name, line))
			continue;
		r = r ? 0
		      : error_set(error, YETT_E_BAD_SIGNATURE, 0, "the key is enrolled under two names, '%s' and '%s': one has to go",
		                  ret_principal, principal);
		memcpy(ret_principal, principal, sizeof principal);
	}
	return r;
}
