/* See keys.h. */
#include "cli/keys.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "libclient/yett.h"

#define KEYS_DIR   "/etc/yett/keys.d"

struct enroll_options {
	const char *directory;
};

static int set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--keys-dir %s: expected an absolute path",
				 value);
	((struct enroll_options *)into)->directory = value;
	return 0;
}

const struct option enroll_options[] = {
	{0, "keys-dir", "DIR", "the folder of enrolled keys, as the policy names it (" KEYS_DIR ")", set_directory},
	{0},
};

int keygen_main(const struct subcommand *self, int argc, char **argv)
{
	struct yett_error error = {0};
	char path[PATH_MAX];
	int first, r = options_begin(self, argc, argv, NULL, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (first < argc)
		r = (size_t)snprintf(path, sizeof path, "%s", argv[first]) < sizeof path
			    ? 0
			    : error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "the path is too long");
	else
		r = yett_key_path(path, sizeof path, &error);
	if (r == 0)
		r = yett_key_generate(first < argc ? path : NULL, &error);
	if (r) {
		output_error(&error);
		return EXIT_FAILURE;
	}
	if (output_json()) {
		json_text(output_json(), "key", path);
		return 0;
	}
	(void)fputs("made ", stdout);
	output_text(stdout, path, false);
	(void)fputs(" (secret) and the public key beside it, which ends in .pub\n", stdout);
	return 0;
}

bool keys_name_is_valid(const char *name)
{
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t length = strlen(name);

	return length >= 1 && length <= 64 && strspn(name, rest) == length && !strchr("._-", name[0]);
}

/* The folder and the one above it: what is missing is made, for root to write and everybody to read. */
static void make_directories(const char *directory)
{
	char above[PATH_MAX];
	char *last;

	if ((size_t)snprintf(above, sizeof above, "%s", directory) >= sizeof above || !(last = strrchr(above, '/')))
		return;
	*last = '\0';
	(void)mkdir(above, 0755);
	(void)mkdir(directory, 0755);
}

static int write_key(const char *path, const char *line, struct yett_error *error)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t length = strlen(line);

	if (fd < 0 && errno == EEXIST)
		return error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE, "%s is there already: that name is taken",
				 path);
	if (fd < 0) {
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot make %s: %m", path);
		if (errno == EACCES || errno == EROFS)
			error_detail(error, "enrolling a key is for the administrator");
		return YETT_E_FILE_OPERATION_FAILED;
	}
	if (fchmod(fd, 0644) < 0 || write(fd, line, length) != (ssize_t)length || fsync(fd) < 0) {
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write %s: %m", path);
		(void)unlink(path);
		return YETT_E_FILE_OPERATION_FAILED;
	}
	return 0;
}

/* A file is read as the helper reads it: whole lines. One that cannot be read holds no key for the helper either. */
static bool is_in_file(int directory, const char *file, const char *line)
{
	_cleanup_fd_ int fd = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t length = strcspn(line, " ") + 1; /* "ed25519 KEY", without the comment */
	char text[16384 + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	length += strcspn(line + length, " \n");
	text[n < 0 ? 0 : n] = '\0';
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, line, length) == 0 && strchr(" \n", at[length]))
			return true;
	return false;
}

/* A key proves one name: the helper believes none of two. */
static int check_other_names(const char *directory, const char *name, const char *line, struct yett_error *error)
{
	DIR *entries = opendir(directory);
	int r = 0;

	for (struct dirent *entry; r == 0 && entries && (entry = readdir(entries));) {
		char other[NAME_MAX + 1];
		size_t length = strlen(entry->d_name);

		if (length <= 4 || strcmp(entry->d_name + length - 4, ".pub") != 0)
			continue;
		(void)snprintf(other, sizeof other, "%.*s", (int)(length - 4), entry->d_name);
		if (keys_name_is_valid(other) && strcmp(other, name) != 0 && is_in_file(dirfd(entries), entry->d_name, line))
			r = error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
				      "the key is enrolled as %s already (%s/%s): it cannot have another name besides", other, directory,
				      entry->d_name);
	}
	if (entries)
		(void)closedir(entries);
	return r;
}

int keys_enroll(const char *directory, const char *name, const char *public_path, struct yett_error *error)
{
	char path[PATH_MAX], line[512];
	uint8_t key[YETT_KEY_SIZE];
	int r;

	if (!keys_name_is_valid(name))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				 "the name %s must be of a-z, 0-9, '.', '_' and '-', begin with a letter or digit, and "
				 "have at most 64",
				 name);
	r = yett_key_read_public(public_path, key, line, sizeof line - 1, error);
	if (r)
		return r;
	(void)strcat(line, "\n");
	if ((size_t)snprintf(path, sizeof path, "%s/%s.pub", directory, name) >= sizeof path)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "the path of the keys folder is too long");
	make_directories(directory);
	r = check_other_names(directory, name, line, error);
	return r ? r : write_key(path, line, error);
}

int enroll_main(const struct subcommand *self, int argc, char **argv)
{
	struct enroll_options options = {.directory = KEYS_DIR};
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (keys_enroll(options.directory, argv[first], argv[first + 1], &error)) {
		output_error(&error);
		return EXIT_FAILURE;
	}
	(void)printf("enrolled %s in %s\n", argv[first], options.directory);
	return 0;
}
