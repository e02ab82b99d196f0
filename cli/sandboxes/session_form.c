/* SPDX-License-Identifier: Apache-2.0 */
/* See session_form.h. */
#include "cli/sandboxes/session_form.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/units_parse.h"

#define HEAD  "yett-session 1\n"
#define FLAGS (uint32_t)(YETT_SHARE_WRITABLE | YETT_SHARE_SOCKET | YETT_SHARE_COW)

bool session_form_is_id(const char *text)
{
	return strlen(text) == YETT_ID_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == YETT_ID_SIZE - 1;
}

static int broken(const struct session *session, const char *what, struct yett_error *error)
{
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                "the session %s/%s cannot be used: %.200s", session->path, SESSION_FILE,
	                what);
	error_mend(
		error,
		"fix the file, or remove the session: yett destroy %s, which leaves stores unchanged",
		session->name);
	return YETT_E_FILE_OPERATION_FAILED;
}

static int session_form_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "there is not enough memory for a session");
}

/* Reads the file into session->text, and returns the text between the head and the last line. */
static int session_form_read_all(struct session *session, char **ret_rest, struct yett_error *error)
{
	_cleanup_fd_ int fd = openat(session->directory, SESSION_FILE,
	                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	static const char end[] = "\nend\n";
	size_t used = 0;
	struct stat st;
	ssize_t n = 1;

	if (fd < 0 && errno == ENOENT)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "there is no session of a sandbox %s", session->name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return broken(session, strerror(errno), error);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return broken(session, "it is no file of yours, or others may write it", error);
	if ((uint64_t)st.st_size > SESSION_MAX)
		return broken(session, "it is too long", error);
	session->text = malloc((size_t)st.st_size + 1);
	if (!session->text)
		return session_form_no_memory(error);
	while (used < (size_t)st.st_size &&
	       (n = read(fd, session->text + used, (size_t)st.st_size - used)) > 0)
		used += (size_t)n;
	session->text[used] = '\0';
	if (n < 0 || strlen(session->text) != used ||
	    strncmp(session->text, HEAD, strlen(HEAD)) != 0)
		return broken(session, "it is none that this version writes", error);
	if (used < strlen(HEAD) + sizeof end ||
	    strcmp(session->text + used - strlen(end), end) != 0)
		return broken(session, "its end is missing: it is torn, or was edited", error);
	session->text[used - strlen(end)] = '\0';
	*ret_rest = session->text + strlen(HEAD);
	return 0;
}

/* Allocates in each list as many entries as there are lines. */
static bool make_lists(struct session *session, const char *rest)
{
	size_t lines = 2;

	for (; *rest; rest++)
		lines += *rest == '\n';
	session->lists = calloc(3 * lines, sizeof *session->lists);
	session->shares = calloc(lines, sizeof *session->shares);
	if (!session->lists || !session->shares)
		return false;
	session->words = (const char **)session->lists;
	session->labels = (const char **)session->lists + lines;
	session->env = (const char **)session->lists + 2 * lines;
	return true;
}

/* Parses FLAGS DEVICE INODE STORE. The path and the target follow on lines of their own. */
static bool session_form_read_share(char *value, struct session *session)
{
	struct session_share *share = &session->shares[session->shares_count];
	char *words[4] = {0};
	uint64_t flags;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = strsep(&value, " ");
	if (!words[3] || value || units_parse_number(words[0], &flags) < 0 ||
	    (flags & ~(uint64_t)FLAGS) || units_parse_number(words[1], &share->device) < 0 ||
	    units_parse_number(words[2], &share->inode) < 0)
		return false;
	share->flags = (uint32_t)flags;
	share->store = strcmp(words[3], "-") == 0 ? NULL : words[3];
	session->shares_count++;
	return !share->store || (session_form_is_id(share->store) && (flags & YETT_SHARE_COW));
}

/* How many entries each list has so far. */
struct counts {
	size_t words, labels, env;
};

/* Parses one line. Ignores unknown keys. */
static bool session_form_read_line(char *line, struct session *session, struct counts *counts)
{
	struct session_share *share =
		session->shares_count ? &session->shares[session->shares_count - 1] : NULL;
	const struct {
		const char *key;
		const char **text;
	} texts[] = {{"directory", &session->directory_path},
	             {"sandbox", &session->sandbox},
	             {"profile", &session->profile},
	             {"boot", &session->boot},
	             {"cwd", &session->cwd},
	             {"word", &session->words[counts->words]},
	             {"label", &session->labels[counts->labels]},
	             {"env", &session->env[counts->env]},
	             {"path", share ? &share->path : NULL},
	             {"target", share ? &share->target : NULL}};
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {{"device", &session->device},
	               {"inode", &session->inode},
	               {"created", &session->created_ms},
	               {"suspended", &session->suspended_ms},
	               {"making", &session->making_ms}};
	char *value = strchr(line, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (strcmp(line, "share") == 0)
		return session_form_read_share(value, session);
	if (strcmp(line, "idle") == 0)
		session->is_idle_suspended = strcmp(value, "suspend") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (strcmp(line, numbers[i].key) == 0 &&
		    units_parse_number(value, numbers[i].number) < 0)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(line, texts[i].key) != 0)
			continue;
		if (!texts[i].text || !lines_read_text(value))
			return false;
		*texts[i].text = value;
	}
	counts->words += strcmp(line, "word") == 0;
	counts->labels += strcmp(line, "label") == 0;
	counts->env += strcmp(line, "env") == 0;
	return true;
}

static const char *what_is_wrong(const struct session *session)
{
	if (!session_form_is_id(session->sandbox))
		return "it does not tell the id of its sandbox";
	if (!session->created_ms || (*session->directory_path && *session->directory_path != '/'))
		return "it does not tell when and where its sandbox was made";
	if (*session->cwd && *session->cwd != '/')
		return "where commands start is no absolute path";
	for (size_t i = 0; i < session->shares_count; i++)
		if (!session->shares[i].path || !session->shares[i].target ||
		    session->shares[i].path[0] != '/' || session->shares[i].target[0] != '/')
			return "it does not tell which directories were shared, and where";
	for (size_t i = 0; session->words[i]; i++)
		if (session->words[i][0] != '-' || session->words[i][1] != '-' ||
		    !session->words[i][2])
			return "a word is not an option";
	for (size_t i = 0; session->env[i]; i++)
		if (!strchr(session->env[i], '=') || session->env[i][0] == '=')
			return "a variable is malformed";
	return NULL;
}

int session_form_read(struct session *session, struct yett_error *error)
{
	struct counts counts = {0};
	const char *wrong = NULL;
	char *rest, *line;
	int r = session_form_read_all(session, &rest, error);

	session->directory_path = session->sandbox = session->profile = session->boot =
		session->cwd = "";
	if (r)
		return r;
	if (!make_lists(session, rest))
		return session_form_no_memory(error);
	while (!wrong && (line = strsep(&rest, "\n")))
		wrong = session_form_read_line(line, session, &counts)
		                ? NULL
		                : "it contains an unknown line";
	if (!wrong)
		wrong = what_is_wrong(session);
	session->is_read = !wrong;
	return wrong ? broken(session, wrong, error) : 0;
}

void session_form_free(struct session *session)
{
	free(session->text);
	free(session->lists);
	free(session->shares);
	session->text = NULL;
	session->lists = NULL;
	session->shares = NULL;
	session->is_read = false;
}

static void write_list(FILE *file, const char *key, const char *const *list)
{
	for (; list && *list; list++)
		lines_write_text(file, key, *list);
}

static void write_lines(const struct session *session, FILE *file)
{
	(void)fputs(HEAD, file);
	lines_write_text(file, "sandbox", session->sandbox);
	lines_write_text(file, "profile", session->profile);
	lines_write_text(file, "boot", session->boot);
	lines_write_text(file, "directory", session->directory_path);
	(void)fprintf(
		file,
		"device=%llu\ninode=%llu\ncreated=%llu\nsuspended=%llu\nmaking=%llu\nidle=%s\n",
		(unsigned long long)session->device, (unsigned long long)session->inode,
		(unsigned long long)session->created_ms, (unsigned long long)session->suspended_ms,
		(unsigned long long)session->making_ms,
		session->is_idle_suspended ? "suspend" : "other");
	write_list(file, "word", session->words);
	write_list(file, "label", session->labels);
	for (size_t i = 0; i < session->shares_count; i++) {
		const struct session_share *share = &session->shares[i];

		(void)fprintf(file, "share=%u %llu %llu %s\n", share->flags,
		              (unsigned long long)share->device, (unsigned long long)share->inode,
		              share->store ? share->store : "-");
		lines_write_text(file, "path", share->path);
		lines_write_text(file, "target", share->target);
	}
	lines_write_text(file, "cwd", session->cwd);
	write_list(file, "env", session->env);
	(void)fputs("end\n", file);
}

/*
 * Replaces the old session file only if everything was written, and if the new file is not too long
 * to be read. Returns 0 or -errno.
 */
static int end_file(const struct session *session, FILE *file, bool is_lasting)
{
	int r = fflush(file) != 0 ? -errno : ftello(file) > (off_t)SESSION_MAX ? -EFBIG : 0;

	if (r == 0 && is_lasting && fsync(fileno(file)) < 0)
		r = -errno;
	if (r < 0) {
		(void)fclose(file);
		(void)unlinkat(session->directory, SESSION_FILE ".new", 0);
		return r;
	}
	r = lines_end_file(file, session->directory, SESSION_FILE ".new", SESSION_FILE);
	return r == 0 && is_lasting && fsync(session->directory) < 0 ? -errno : r;
}

int session_form_write(const struct session *session, bool is_lasting, struct yett_error *error)
{
	FILE *file = lines_new_file(session->directory, SESSION_FILE ".new");
	int r = -errno;

	if (file) {
		write_lines(session, file);
		r = end_file(session, file, is_lasting);
	}
	errno = -r;
	return r == 0 ? 0
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "cannot write the session %s: %m", session->path);
}
