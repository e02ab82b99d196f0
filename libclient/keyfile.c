/* SPDX-License-Identifier: Apache-2.0 */
/* See keyfile.h, and "keys" in yett.h. */
#include "base/failure.h"
#include "base/home.h"
#include "libclient/keyfile.h"

#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define KEYFILE_MAX      4096
#define KEYFILE_LINE_MAX 512
#define BASE64_SIZE      45 /* 32 bytes in base64, and a NUL */

/*
 * A key file that is being written. `made` is true from the creation of the file until all key
 * files are complete, so that a failure in between removes the file.
 */
struct unfinished {
	const char *path;
	bool made;
};

static void unfinished_remove(struct unfinished *file)
{
	if (file->made)
		(void)unlink(file->path);
}

static int keyfile_failed(struct yett_error *error, const char *what, const char *path)
{
	enum yett_code code = errno == ENOENT   ? YETT_E_NOT_FOUND
	                      : errno == EEXIST ? YETT_E_ALREADY_EXISTS
	                                        : YETT_E_FILE_OPERATION_FAILED;

	return failure_set(error, code, NULL, "cannot %s %s: %m", what, path);
}

/* Opens a regular file of at most KEYFILE_MAX bytes and reads all of it. `private`: only its owner
 * may read it. */
static int keyfile_read_file(const char *path, bool private, char out[KEYFILE_MAX + 1],
                             struct yett_error *error)
{
	/* O_NONBLOCK: open(2) must not block if the path is a FIFO. */
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return keyfile_failed(error, "open", path);
	if (fstat(fd, &st) < 0)
		return keyfile_failed(error, "look at", path);
	if (!S_ISREG(st.st_mode) || st.st_size > KEYFILE_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is no key file of Yett: yett keygen makes one", path);
	if (private && st.st_uid != geteuid())
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the key %s belongs to another user, so it is not used", path);
	if (private && (st.st_mode & 077)) {
		(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                "the key %s can be read or written by others, so it is not used",
		                path);
		error_detail(error, "its mode is %03o; chmod 600 %s", (unsigned)st.st_mode & 0777,
		             path);
		return YETT_E_SECURITY_VIOLATION;
	}
	n = read(fd, out, KEYFILE_MAX);
	if (n < 0)
		return keyfile_failed(error, "read", path);
	out[n] = '\0';
	if (strlen(out) != (size_t)n)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is no key file of Yett: yett keygen makes one", path);
	return 0;
}

/* Decodes text[0 … length), which must be the base64 of exactly 32 bytes. */
static bool decode_key(const char *text, size_t length, uint8_t out[32])
{
	size_t bytes;
	const char *end;

	return sodium_base642bin(out, 32, text, length, NULL, &bytes, &end,
	                         sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       bytes == 32 && end == text + length;
}

int keyfile_read_seed(const char *path, uint8_t ret_seed[KEY_SEED_SIZE], struct yett_error *error)
{
	char text[KEYFILE_MAX + 1] = {0};
	size_t prefix = strlen(KEY_PRIVATE_PREFIX), line;
	int r = keyfile_read_file(path, true, text, error);

	if (r == 0) {
		line = strcspn(text, "\n");
		if (strncmp(text, KEY_PRIVATE_PREFIX, prefix) != 0 ||
		    (text[line] && text[line + 1]) ||
		    !decode_key(text + prefix, line - prefix, ret_seed))
			r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			              "%s is no private key of Yett: yett keygen makes one", path);
	}
	sodium_memzero(text, sizeof text);
	return r;
}

int yett_key_read_public(const char *path, uint8_t ret_key[YETT_KEY_SIZE], char *line, size_t size,
                         struct yett_error *error)
{
	char text[KEYFILE_MAX + 1];
	size_t prefix = strlen(KEY_PUBLIC_PREFIX), end, key;
	uint8_t bytes[YETT_KEY_SIZE];
	int r = keyfile_read_file(path, false, text, error);

	if (r)
		return r;
	end = strcspn(text, "\n");
	if (text[end] && text[end + 1])
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is no public key of Yett, which is one line", path);
	text[end] = '\0';
	key = strncmp(text, KEY_PUBLIC_PREFIX, prefix) == 0 ? strcspn(text + prefix, " ") : 0;
	if (!key || !decode_key(text + prefix, key, bytes))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"%s is no public key of Yett: it lies beside the private one, and ends in .pub",
			path);
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
			*at = '?';
	(void)snprintf(line, size, "%s", text);
	memcpy(ret_key, bytes, sizeof bytes);
	return 0;
}

static int keyfile_join(char *out, size_t size, const char *a, const char *b,
                        struct yett_error *error)
{
	if ((size_t)snprintf(out, size, "%s%s", a, b) >= size)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path is too long: %s", a);
	return 0;
}

static int keyfile_default_directory(char out[HOME_PATH_SIZE], struct yett_error *error)
{
	char home[HOME_PATH_SIZE];
	int r = home_find(home, sizeof home, error);

	return r ? r : keyfile_join(out, HOME_PATH_SIZE, home, "/.config/yett", error);
}

int yett_key_path(char *path, size_t size, struct yett_error *error)
{
	char directory[HOME_PATH_SIZE];
	int r = keyfile_default_directory(directory, error);

	return r ? r : keyfile_join(path, size, directory, "/id_ed25519", error);
}

/* Makes ~/.config and ~/.config/yett for their owner alone, if they do not exist. */
static int make_default_directory(char directory[HOME_PATH_SIZE], struct yett_error *error)
{
	char *last = strrchr(directory, '/');

	*last = '\0';
	(void)mkdir(directory, 0700);
	*last = '/';
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return keyfile_failed(error, "make the directory", directory);
	return 0;
}

static int keyfile_write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Makes `file`, which must not exist, and writes `text` through to the disk. */
static int keyfile_make_file(struct unfinished *file, mode_t mode, const char *text,
                             struct yett_error *error)
{
	_cleanup_fd_ int fd =
		open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int r;

	if (fd < 0)
		return keyfile_failed(error, "make", file->path);
	file->made = true;
	r = fchmod(fd, mode) < 0 ? -errno : keyfile_write_all(fd, text, strlen(text));
	if (r < 0) {
		errno = -r;
		return keyfile_failed(error, "write", file->path);
	}
	return 0;
}

/* Makes the comment of a public key, "user@host". Replaces unusual characters by '_'. */
static void make_comment(char *out, size_t size)
{
	char buffer[16384], host[65] = "";
	struct passwd entry, *found = NULL;

	(void)getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found);
	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(out, size, "%s@%s", found ? found->pw_name : "user", host);
	for (; *out; out++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-",
		            *out))
			*out = '_';
}

/* Appends a line to the file authorized_keys. Makes the file if it does not exist. */
static int append_line(const char *path, const char *line, struct yett_error *error)
{
	_cleanup_fd_ int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	char text[KEYFILE_LINE_MAX + 1], last = '\n';
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return keyfile_failed(error, "open", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "%s must be a file of its user's that others cannot write", path);
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return keyfile_failed(error, "read", path);
	(void)snprintf(text, sizeof text, "%s%s", last == '\n' ? "" : "\n", line);
	r = keyfile_write_all(fd, text, strlen(text));
	if (r < 0) {
		errno = -r;
		return keyfile_failed(error, "write", path);
	}
	return 0;
}

/*
 * Makes a key pair. The private key is written last: a crash before that leaves a public key that
 * nobody can sign with, never a private key whose public key was not enrolled.
 */
static int generate(const char *path, const char *authorized_keys, struct yett_error *error)
{
	char public_path[HOME_PATH_SIZE], comment[160], base64[BASE64_SIZE], line[KEYFILE_LINE_MAX];
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES],
		seed[KEY_SEED_SIZE];
	_cleanup_(unfinished_remove) struct unfinished public_file = {public_path, false},
						       private_file = {path, false};
	struct stat st;
	int r;

	r = keyfile_join(public_path, sizeof public_path, path, ".pub", error);
	if (r)
		return r;
	if (lstat(path, &st) == 0)
		return error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                 "%s is there already, and is left as it is", path);
	if (sodium_init() < 0)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                 "the kernel gives no random numbers for a key");
	(void)crypto_sign_keypair(public_key, secret);
	(void)crypto_sign_ed25519_sk_to_seed(seed, secret);
	make_comment(comment, sizeof comment);
	(void)sodium_bin2base64(base64, sizeof base64, public_key, sizeof public_key,
	                        sodium_base64_VARIANT_ORIGINAL);
	(void)snprintf(line, sizeof line, "%s%s %s\n", KEY_PUBLIC_PREFIX, base64, comment);
	r = keyfile_make_file(&public_file, 0644, line, error);
	if (r == 0 && authorized_keys)
		r = append_line(authorized_keys, line, error);
	if (r == 0) {
		(void)sodium_bin2base64(base64, sizeof base64, seed, sizeof seed,
		                        sodium_base64_VARIANT_ORIGINAL);
		(void)snprintf(line, sizeof line, "%s%s\n", KEY_PRIVATE_PREFIX, base64);
		r = keyfile_make_file(&private_file, 0600, line, error);
	}
	if (r == 0)
		public_file.made = private_file.made = false; /* keep both */
	sodium_memzero(secret, sizeof secret);
	sodium_memzero(seed, sizeof seed);
	sodium_memzero(base64, sizeof base64);
	sodium_memzero(line, sizeof line);
	return r;
}

int yett_key_generate(const char *path, struct yett_error *error)
{
	char directory[HOME_PATH_SIZE], default_path[HOME_PATH_SIZE];
	int r;

	if (!path) {
		r = keyfile_default_directory(directory, error);
		if (r == 0)
			r = make_default_directory(directory, error);
		if (r == 0)
			r = keyfile_join(default_path, sizeof default_path, directory,
			                 "/id_ed25519", error);
		if (r)
			return r;
		path = default_path;
	}
	return generate(path, NULL, error);
}

int yett_key_ensure(const char *directory, bool *ret_created, struct yett_error *error)
{
	char home_config[HOME_PATH_SIZE], path[HOME_PATH_SIZE], authorized_keys[HOME_PATH_SIZE];
	_cleanup_fd_ int lock = -1;
	bool is_default = !directory;
	struct stat st;
	int r = is_default ? keyfile_default_directory(home_config, error) : 0;

	if (is_default)
		directory = home_config;
	if (r == 0)
		r = keyfile_join(path, sizeof path, directory, "/id_ed25519", error);
	if (r == 0)
		r = keyfile_join(authorized_keys, sizeof authorized_keys, directory,
		                 "/authorized_keys", error);
	if (r == 0 && is_default && lstat(path, &st) < 0)
		r = make_default_directory(home_config, error);
	if (r)
		return r;
	/* If two first runs happen at once, the second one waits here and then finds the key. */
	if (lstat(path, &st) < 0) {
		lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (lock < 0 || flock(lock, LOCK_EX) < 0)
			return keyfile_failed(error, "lock", directory);
	}
	if (lstat(path, &st) == 0) {
		*ret_created = false;
		return 0;
	}
	r = generate(path, authorized_keys, error);
	if (r == 0)
		*ret_created = true;
	return r;
}
