/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. */
#include "cli/admin/keys.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/entries.h"
#include "cli/output.h"
#include "libclient/yett.h"

#define KEYS_DIR "/etc/yett/keys.d"

#define KEY_FILE_MAX 16384 /* the helper reads no more of a file */
#define KEY_BEGIN    "ed25519 "
#define KEY_TEXT_MAX 44 /* the base64 of 32 bytes */

struct enroll_options {
	const char *directory, *remove;
	bool list;
};

static int cli_keys_set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--keys-dir %s: expected an absolute path", value);
	((struct enroll_options *)into)->directory = value;
	return 0;
}

OPTION_FLAG(cli_keys_set_list, struct enroll_options, list)
OPTION_TEXT(set_remove, struct enroll_options, remove)

const struct option enroll_options[] = {
	{'l', "list", NULL, "print the enrolled keys and their names", cli_keys_set_list},
	{0, "remove", "PRINCIPAL", "remove the keys enrolled under this name", set_remove},
	{0, "keys-dir", "DIR", "use this directory of enrolled keys (" KEYS_DIR ")",
         cli_keys_set_directory},
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
		            : error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                        "the path is too long");
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

	return length >= 1 && length <= 64 && strspn(name, rest) == length &&
	       !strchr("._-", name[0]);
}

/* Creates the directory and its parent if they are missing, mode 0755. */
static void cli_keys_make_directories(const char *directory)
{
	char above[PATH_MAX];
	char *last;

	if ((size_t)snprintf(above, sizeof above, "%s", directory) >= sizeof above ||
	    !(last = strrchr(above, '/')))
		return;
	*last = '\0';
	(void)mkdir(above, 0755);
	(void)mkdir(directory, 0755);
}

/*
 * Creates the file with its whole content: a process that reads the directory at the same time
 * never sees a file that is not complete.
 */
static int write_key(const char *directory, const char *path, const char *line,
                     struct yett_error *error)
{
	_cleanup_fd_ int fd = -1;
	size_t length = strlen(line);
	char made[PATH_MAX];
	int r = 0;

	if ((size_t)snprintf(made, sizeof made, "%s/.key.XXXXXX", directory) >= sizeof made)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the path of the keys folder is too long");
	fd = mkostemp(made, O_CLOEXEC);
	if (fd < 0) {
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot make %s: %m", path);
		if (errno == EACCES || errno == EROFS)
			error_detail(error, "enrolling a key is for the administrator");
		return YETT_E_FILE_OPERATION_FAILED;
	}
	if (fchmod(fd, 0644) < 0 || write(fd, line, length) != (ssize_t)length || fsync(fd) < 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              "cannot write %s: %m", path);
	else if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE) < 0)
		r = errno == EEXIST ? error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                                "%s is there already: that name is taken", path)
		                    : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                                "cannot make %s: %m", path);
	if (r)
		(void)unlink(made);
	return r;
}

/*
 * Reads a file like the helper. If that fails, `text` is empty: the helper finds no key there
 * either.
 */
static void read_key_file(int directory, const char *file, char text[static KEY_FILE_MAX + 1])
{
	_cleanup_fd_ int fd =
		openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, KEY_FILE_MAX);

	text[n < 0 ? 0 : n] = '\0';
}

static bool cli_keys_is_in_file(int directory, const char *file, const char *line)
{
	size_t length = strcspn(line, " ") + 1; /* "ed25519 KEY", without the comment */
	char text[KEY_FILE_MAX + 1];

	length += strcspn(line + length, " \n");
	read_key_file(directory, file, text);
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, line, length) == 0 && strchr(" \n", at[length]))
			return true;
	return false;
}

/* Gets NAME of "NAME.pub". False if a principal cannot have that name. */
static bool name_of_file(const char *file, char name[static NAME_MAX + 1])
{
	size_t length = strlen(file);

	if (length <= 4 || strcmp(file + length - 4, ".pub") != 0)
		return false;
	(void)snprintf(name, NAME_MAX + 1, "%.*s", (int)(length - 4), file);
	return keys_name_is_valid(name);
}

/*
 * Refuses a key that is already enrolled under another name: the helper accepts neither of two
 * names.
 */
static int check_other_names(const char *directory, const char *name, const char *line,
                             struct yett_error *error)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && entries && (r = entries_next(entries, &entry)) == 0 && entry) {
		char other[NAME_MAX + 1];

		if (name_of_file(entry->d_name, other) && strcmp(other, name) != 0 &&
		    cli_keys_is_in_file(dirfd(entries), entry->d_name, line))
			r = error_set(
				error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
				"the key is enrolled as %s already (%s/%s): it cannot have another name besides",
				other, directory, entry->d_name);
	}
	if (r < 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              "cannot list %s: %s", directory, strerror(-r));
	if (entries)
		(void)closedir(entries);
	return r;
}

static int cli_keys_check_name(const char *name, struct yett_error *error)
{
	if (keys_name_is_valid(name))
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"the name %.80s must be of a-z, 0-9, '.', '_' and '-', begin with a letter or digit, and have at most 64",
		name);
}

int keys_enroll(const char *directory, const char *name, const char *public_path,
                struct yett_error *error)
{
	char path[PATH_MAX], line[512];
	uint8_t key[YETT_KEY_SIZE];
	int r = cli_keys_check_name(name, error);

	if (r)
		return r;
	r = yett_key_read_public(public_path, key, line, sizeof line - 1, error);
	if (r)
		return r;
	(void)strcat(line, "\n");
	if ((size_t)snprintf(path, sizeof path, "%s/%s.pub", directory, name) >= sizeof path)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the path of the keys folder is too long");
	cli_keys_make_directories(directory);
	r = check_other_names(directory, name, line, error);
	return r ? r : write_key(directory, path, line, error);
}

int keys_remove(const char *directory, const char *name, struct yett_error *error)
{
	char path[PATH_MAX];
	int r = cli_keys_check_name(name, error);

	if (r)
		return r;
	if ((size_t)snprintf(path, sizeof path, "%s/%s.pub", directory, name) >= sizeof path)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the path of the keys folder is too long");
	if (unlink(path) == 0)
		return 0;
	if (errno == ENOENT)
		return error_set(
			error, YETT_E_NOT_FOUND, YETT_R_NONE,
			"no key is enrolled as %s in %s: yett enroll --list shows the names", name,
			directory);
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot remove %s: %m",
	                path);
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		error_detail(error, "removing a key is for the administrator");
	return YETT_E_FILE_OPERATION_FAILED;
}

/* A key and its name. `key` is empty for a file that contains no key. */
struct enrolled {
	char name[NAME_MAX + 1], key[KEY_TEXT_MAX + 1], comment[160];
	bool counts;                 /* the helper does not skip its file */
	char why_void[2 * NAME_MAX]; /* empty: the key is valid */
};

struct enrolled_list {
	struct enrolled *items;
	size_t count;
};

static void enrolled_list_free(struct enrolled_list *list)
{
	free(list->items);
}

static struct enrolled *add_enrolled(struct enrolled_list *list, const char *name)
{
	struct enrolled *items = reallocarray(list->items, list->count + 1, sizeof *items);

	if (!items)
		return NULL;
	list->items = items;
	items[list->count] = (struct enrolled){0};
	(void)snprintf(items[list->count].name, sizeof items->name, "%s", name);
	return &items[list->count++];
}

/*
 * Writes to `why` the reason why the helper skips the file, or an empty text. A helper of the
 * service accepts only root as the administrator. A helper that a user starts also accepts that
 * user, who then owns the directory.
 */
static void judge_file(int directory, const char *file, uid_t directory_owner, char *why,
                       size_t size)
{
	struct stat st;

	why[0] = '\0';
	if (fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		(void)snprintf(why, size, "%s is no regular file", file);
	else if (st.st_uid != 0 && st.st_uid != directory_owner)
		(void)snprintf(why, size, "%s belongs neither to root nor to the folder's owner",
		               file);
	else if (st.st_mode & 022)
		(void)snprintf(why, size, "others can write %s: chmod go-w", file);
}

/* Adds the keys of one file. Returns 0 or -ENOMEM. */
static int list_file(int directory, const char *file, uid_t directory_owner,
                     struct enrolled_list *list)
{
	char name[NAME_MAX + 1], why[sizeof((struct enrolled *)0)->why_void],
		text[KEY_FILE_MAX + 1];
	size_t before = list->count;
	struct enrolled *item;

	if (!name_of_file(file, name))
		return 0;
	judge_file(directory, file, directory_owner, why, sizeof why);
	read_key_file(directory, file, text);
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *key = at + strlen(KEY_BEGIN);

		if (strncmp(at, KEY_BEGIN, strlen(KEY_BEGIN)) != 0 ||
		    strcspn(key, " \n") != KEY_TEXT_MAX)
			continue;
		item = add_enrolled(list, name);
		if (!item)
			return -ENOMEM;
		(void)snprintf(item->key, sizeof item->key, "%.*s", KEY_TEXT_MAX, key);
		key += KEY_TEXT_MAX + (key[KEY_TEXT_MAX] == ' ');
		(void)snprintf(item->comment, sizeof item->comment, "%.*s", (int)strcspn(key, "\n"),
		               key);
		item->counts = !*why;
		(void)snprintf(item->why_void, sizeof item->why_void, "%s", why);
	}
	if (list->count > before)
		return 0;
	item = add_enrolled(list, name);
	if (!item)
		return -ENOMEM;
	(void)snprintf(item->why_void, sizeof item->why_void, "%s%s", why,
	               *why ? "" : "there is no key in it that can be read");
	return 0;
}

/*
 * Marks keys with two names as void: they prove neither name. A copy in a file that the helper
 * skips does not count.
 */
static void cli_keys_judge_names(struct enrolled_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < list->count; j++) {
			struct enrolled *a = &list->items[i], *b = &list->items[j];

			if (a->counts && b->counts && !*a->why_void &&
			    strcmp(a->key, b->key) == 0 && strcmp(a->name, b->name) != 0)
				(void)snprintf(
					a->why_void, sizeof a->why_void,
					"the same key is enrolled as %.64s, too: remove one of them",
					b->name);
		}
}

/*
 * Notes why the helper, or only the service, ignores the whole directory; see keys_find() in
 * helper/monitor/keys.c.
 */
static void note_folder(const char *directory, const struct stat *st)
{
	struct stat link;

	if (lstat(directory, &link) == 0 && S_ISLNK(link.st_mode))
		output_note(
			"none of these keys is valid, since %s is a symbolic link, which the helper does not follow",
			directory);
	if (st->st_mode & 022)
		output_note("none of these keys counts, since others can write %s: chmod go-w",
		            directory);
	if (st->st_uid != 0)
		output_note(
			"the service ignores these keys, since %s belongs to uid %u and not to root; only a helper that uid %u starts uses them",
			directory, st->st_uid, st->st_uid);
}

static int list_keys(const char *directory, struct enrolled_list *list, struct yett_error *error)
{
	_cleanup_fd_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	struct stat st;
	int count, r = 0;

	if (fd < 0 && errno == ENOENT) {
		output_note("there is no folder %s: no key is enrolled", directory);
		return 0;
	}
	count = fd < 0 || fstat(fd, &st) < 0 ? -1 : scandirat(fd, ".", &entries, NULL, alphasort);
	if (count < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot list %s: %m", directory);
	note_folder(directory, &st);
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = list_file(fd, entries[i]->d_name, st.st_uid, list);
		free(entries[i]);
	}
	free(entries);
	cli_keys_judge_names(list);
	return r == 0 ? 0
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "there is not enough memory to list %s", directory);
}

static void print_keys(const struct enrolled_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct enrolled *item = &list->items[i];

		(void)printf("%s %s", item->name, *item->key ? item->key : "-");
		if (*item->comment) {
			(void)fputc(' ', stdout);
			output_text(stdout, item->comment, false);
		}
		if (*item->why_void) {
			(void)fputs(" (void: ", stdout);
			output_text(stdout, item->why_void, false);
			(void)fputc(')', stdout);
		}
		(void)fputc('\n', stdout);
	}
}

static void json_keys(struct json *json, const struct enrolled_list *list)
{
	json_open(json, "keys", '[');
	for (size_t i = 0; i < list->count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", list->items[i].name);
		json_text_or_null(json, "key", list->items[i].key);
		json_text_or_null(json, "comment", list->items[i].comment);
		json_text_or_null(json, "void", list->items[i].why_void);
		json_close(json);
	}
	json_close(json);
}

static int enroll_list(const char *directory, struct yett_error *error)
{
	_cleanup_(enrolled_list_free) struct enrolled_list list = {0};
	int r = list_keys(directory, &list, error);

	if (r == 0 && output_json())
		json_keys(output_json(), &list);
	else if (r == 0)
		print_keys(&list);
	return r;
}

/* Reports the enrolled or removed name. */
static void report_name(const char *name, bool was_removed, const char *directory)
{
	if (output_json()) {
		json_text(output_json(), "name", name);
		json_text(output_json(), "directory", directory);
	} else {
		(void)printf(was_removed ? "removed %s from %s\n" : "enrolled %s in %s\n", name,
		             directory);
	}
}

/* Checks that the arguments are one of the three forms: --list, --remove, or NAME and FILE. */
static int check_form(const struct enroll_options *options, int operands, struct yett_error *error)
{
	bool is_alone = options->list || options->remove;

	if (options->list && options->remove)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--list and --remove cannot be asked for at once");
	if (is_alone ? operands == 0 : operands == 2)
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 is_alone ? "enroll takes neither a name nor a file beside --%s"
	                          : "enroll needs a name and a file%s: yett enroll NAME FILE.pub",
	                 is_alone ? options->list ? "list" : "remove" : "");
}

int enroll_main(const struct subcommand *self, int argc, char **argv)
{
	struct enroll_options options = {.directory = KEYS_DIR};
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (check_form(&options, argc - first, &error)) {
		output_error(&error);
		return EXIT_USAGE;
	}
	if (options.list)
		r = enroll_list(options.directory, &error);
	else if (options.remove)
		r = keys_remove(options.directory, options.remove, &error);
	else
		r = keys_enroll(options.directory, argv[first], argv[first + 1], &error);
	if (r) {
		output_error(&error);
		return EXIT_FAILURE;
	}
	if (options.remove)
		report_name(options.remove, true, options.directory);
	else if (!options.list)
		report_name(argv[first], false, options.directory);
	return 0;
}
