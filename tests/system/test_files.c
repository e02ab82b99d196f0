/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a real sandbox through libyett, as an ordinary user: started by tests/support/yett.py.
 */
#include "tests/support/library.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL "/full" /* a tmpfs of 1 MiB */

struct fixture {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	char folder[48]; /* the caller's own, outside */
};

/* For the next result, in the place of the last one. */
static struct yett_copy_result **taken(struct yett_copy_result **result)
{
	yett_free(*result);
	*result = NULL;
	return result;
}

static void clear_outside(const char *folder)
{
	char command[160];

	(void)snprintf(command, sizeof command, "chmod -R u+rwX %s && rm -rf %s", folder, folder);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct yett_tmpfs full = {.size = sizeof full, .target = FULL, .size_bytes = 1 << 20};
	const struct yett_sandbox_options options = {
		.size = sizeof options, .tmpfs = &full, .tmpfs_count = 1};

	fixture = (struct fixture){0};
	assert_done(yett_connect(NULL, &fixture.connection, &error));
	assert_done(yett_sandbox_create(fixture.connection, &options, &fixture.sandbox, &error));
	(void)snprintf(fixture.folder, sizeof fixture.folder, "%s/files-XXXXXX", getenv("HOME"));
	assert_non_null(mkdtemp(fixture.folder));
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	assert_done(yett_sandbox_end(fixture->sandbox, &error));
	yett_sandbox_close(fixture->sandbox);
	yett_connection_close(fixture->connection);
	clear_outside(fixture->folder);
	return 0;
}

/* What a command writes that succeeds. Lives until the next call. */
static const char *inside(struct fixture *fixture, const char *script)
{
	static char text[65536];
	const struct yett_command_options options = {.size = sizeof options, .argv = SH(script)};
	struct yett_output *output = NULL;

	assert_done(yett_run(fixture->sandbox, &options, sizeof text - 1, &output, &error));
	if (output->result->signaled || output->result->status != 0)
		fail_msg("%s: %d\n%s%s", script, output->result->status, output->out, output->err);
	(void)snprintf(text, sizeof text, "%s", output->out);
	yett_free(output);
	return text;
}

/* The same outside, in the fixture's folder. */
static const char *outside(const struct fixture *fixture, const char *script)
{
	static char text[65536];
	char command[4096];
	size_t length;
	FILE *pipe;

	(void)snprintf(command, sizeof command, "cd %s && (%s)", fixture->folder, script);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(text, 1, sizeof text - 1, pipe);
	text[length] = '\0';
	if (pclose(pipe) != 0)
		fail_msg("%s\n%s", script, text);
	return text;
}

static const char *at(const struct fixture *fixture, const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof paths[0], "%s/%s", fixture->folder, name);
	return path;
}

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *f, set_up, tear_down)

WITH_FIXTURE(what_is_written_is_read)
{
	static char large[3000001];
	size_t written = 0, length = 0;
	char *bytes = NULL;

	memset(large, 'x', sizeof large);
	large[12345] = '\0';
	assert_done(
		yett_file_write(f->sandbox, "/tmp/a", large, sizeof large, 0640, &written, &error));
	assert_int_equal(written, sizeof large);
	assert_string_equal(inside(f, "stat -c '%s %a' /tmp/a"), "3000001 640\n");
	assert_done(yett_file_read(f->sandbox, "/tmp/a", sizeof large, &bytes, &length, &error));
	assert_int_equal(length, sizeof large);
	assert_memory_equal(bytes, large, length);
	yett_free(bytes);
	assert_refused(
		yett_file_read(f->sandbox, "/tmp/a", sizeof large - 1, &bytes, &length, &error),
		YETT_E_RESOURCE_LIMIT, "3000000 bytes");
	/* shorter, and nothing of what was there before */
	assert_done(yett_file_write(f->sandbox, "/tmp/a", "b", 1, 0600, NULL, &error));
	assert_string_equal(inside(f, "cat /tmp/a; stat -c ' %s %a' /tmp/a"), "b 1 640\n");
}

WITH_FIXTURE(a_file_is_opened_as_asked)
{
	char buffer[16] = "";
	int fd = -1;

	assert_failed(yett_file_open(f->sandbox, "/tmp/o", YETT_OPEN_READ, 0, &fd, &error), ENOENT);
	assert_done(yett_file_open(f->sandbox, "/tmp/o",
	                           YETT_OPEN_WRITE | YETT_OPEN_CREATE | YETT_OPEN_EXCLUSIVE, 0604,
	                           &fd, &error));
	assert_int_equal(write(fd, "one", 3), 3);
	assert_int_equal(read(fd, buffer, 1), -1);
	close(fd);
	assert_failed(yett_file_open(f->sandbox, "/tmp/o",
	                             YETT_OPEN_WRITE | YETT_OPEN_CREATE | YETT_OPEN_EXCLUSIVE, 0600,
	                             &fd, &error),
	              EEXIST);
	assert_done(yett_file_open(f->sandbox, "/tmp/o", YETT_OPEN_WRITE | YETT_OPEN_APPEND, 0, &fd,
	                           &error));
	assert_int_equal(write(fd, "two", 3), 3);
	close(fd);
	assert_done(yett_file_open(f->sandbox, "/tmp/o", YETT_OPEN_READ | YETT_OPEN_WRITE, 0, &fd,
	                           &error));
	assert_int_equal(read(fd, buffer, sizeof buffer), 6);
	assert_string_equal(buffer, "onetwo");
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	assert_string_equal(inside(f, "stat -c '%a %U' /tmp/o | cut -d' ' -f1"), "604\n");
	assert_failed(yett_file_open(f->sandbox, "/tmp", YETT_OPEN_READ, 0, &fd, &error), EISDIR);
	(void)inside(f, "mkfifo /tmp/fifo");
	assert_failed(yett_file_open(f->sandbox, "/tmp/fifo", YETT_OPEN_READ, 0, &fd, &error),
	              EINVAL);
	assert_failed(yett_file_open(f->sandbox, "/dev/null", YETT_OPEN_READ, 0, &fd, &error),
	              EINVAL);
	assert_refused(yett_file_open(f->sandbox, "/proc/version", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_SECURITY_VIOLATION, "only ordinary files can be opened");
	assert_refused(yett_file_open(f->sandbox, "/etc/passwd", YETT_OPEN_WRITE, 0, &fd, &error),
	               YETT_E_FILE_OPERATION_FAILED, "cannot ");
}

WITH_FIXTURE(bad_requests_are_refused_with_a_reason)
{
	static char longest[5001], name[300];
	int fd = -1;

	memset(longest, 'd', 5000);
	longest[0] = '/';
	assert_refused(yett_file_open(f->sandbox, longest, YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_INVALID_REQUEST, "longer than 4095");
	assert_refused(yett_copy_in(f->sandbox, f->folder, longest, NULL, NULL, &error),
	               YETT_E_INVALID_REQUEST, "longer than 4095");
	assert_refused(yett_file_open(f->sandbox, "tmp/a", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_INVALID_REQUEST, "not absolute");
	assert_refused(yett_file_open(f->sandbox, "/tmp/a", YETT_OPEN_CREATE, 0, &fd, &error),
	               YETT_E_INVALID_REQUEST, "");
	assert_refused(yett_file_open(f->sandbox, "/tmp/a", YETT_OPEN_WRITE | YETT_OPEN_CREATE,
	                              04755, &fd, &error),
	               YETT_E_INVALID_REQUEST, "");
	memset(name, 'n', sizeof name - 1);
	memcpy(name, "/tmp/", 5);
	assert_failed(yett_file_open(f->sandbox, name, YETT_OPEN_WRITE | YETT_OPEN_CREATE, 0600,
	                             &fd, &error),
	              ENAMETOOLONG);
	/* and goes on */
	assert_done(yett_file_mkdir(f->sandbox, "/tmp/alive", 0700, 0, &error));
}

WITH_FIXTURE(a_full_file_system_tells_what_was_written)
{
	static char large[2 << 20];
	struct yett_copy_result *result = NULL;
	size_t written = 0;

	assert_failed(
		yett_file_write(f->sandbox, FULL "/a", large, sizeof large, 0600, &written, &error),
		ENOSPC);
	assert_true(written > 900000 && written <= 1 << 20);
	assert_int_equal(strtoul(inside(f, "stat -c %s " FULL "/a"), NULL, 10), written);
	assert_done(yett_file_remove(f->sandbox, FULL "/a", 0, &error));

	(void)outside(
		f,
		"mkdir t && head -c 300000 /dev/zero > t/1 && cp t/1 t/2 && cp t/1 t/3 && cp t/1 t/4 && cp t/1 t/5");
	(void)inside(f, "mkdir " FULL "/t && echo old > " FULL "/t/5 && echo old > " FULL "/t/4");
	assert_failed(yett_copy_in(f->sandbox, at(f, "t"), FULL "/t", NULL, taken(&result), &error),
	              ENOSPC);
	assert_non_null(strstr(error.detail, "after"));
	/* whole files only, and nothing that was there is lost */
	assert_string_equal(
		inside(f,
	               "cd " FULL
	               "/t; find . -type f ! -size 300000c ! -name 5 ! -name 4; ls -a | grep yett | cat;"
	               "for i in 4 5; do test $(head -c3 $i | tr -d '\\0')$(stat -c %s $i) = 300000 ||"
	               " test \"$(cat $i | tr -d '\\0')\" = old; done"),
		"");
	yett_free(result);
}

static int collect(const struct yett_file_info *info, void *data)
{
	struct yett_file_info *found = data;

	for (size_t i = 0; i < 8; i++)
		if (!found[i].name[0]) {
			found[i] = *info;
			return 0;
		}
	return 1;
}

static const struct yett_file_info *named(const struct yett_file_info *found, const char *name)
{
	for (size_t i = 0; i < 8; i++)
		if (strcmp(found[i].name, name) == 0)
			return &found[i];
	fail_msg("%s is not in the list", name);
	return NULL;
}

WITH_FIXTURE(a_list_tells_all_of_each_entry)
{
	static struct yett_file_info found[8];
	const struct yett_file_info *info;

	(void)inside(
		f,
		"mkdir /tmp/l && cd /tmp/l && printf 12345 > 'a b' && chmod 640 'a b' && touch -d @1234567890.5 'a b' &&"
		"ln -s '/nowhere at all' link && mkfifo fifo && mkdir -m 1777 d && printf x > \"$(printf 'new\\nline')\" &&"
		"printf x > \"$(printf 'caf\\351')\"");
	memset(found, 0, sizeof found);
	assert_done(yett_file_list(f->sandbox, "/tmp/l", 6, collect, found, &error));
	info = named(found, "a b");
	assert_string_equal(info->path, "/tmp/l/a b");
	assert_int_equal(info->kind, YETT_FILE_REGULAR);
	assert_int_equal(info->size_bytes, 5);
	assert_int_equal(info->mode, 0640);
	assert_string_equal(info->permissions, "-rw-r-----");
	assert_int_equal(info->uid, getuid());
	assert_int_equal(info->gid, getgid());
	assert_string_equal(info->owner, getenv("USER"));
	assert_string_equal(info->group, getenv("USER"));
	assert_int_equal(info->mtime_s, 1234567890);
	assert_int_equal(info->mtime_ns, 500000000);
	assert_string_equal(named(found, "link")->link, "/nowhere at all");
	assert_string_equal(named(found, "d")->permissions, "drwxrwxrwt");
	assert_int_equal(named(found, "fifo")->kind, YETT_FILE_FIFO);
	assert_int_equal(named(found, "new\nline")->size_bytes, 1);
	assert_int_equal(named(found, "caf\351")->size_bytes, 1);
	memset(found, 0, sizeof found);
	assert_refused(yett_file_list(f->sandbox, "/tmp/l", 5, collect, found, &error),
	               YETT_E_RESOURCE_LIMIT, "more than 5");
	assert_int_not_equal(found[4].name[0], 0);
	assert_int_equal(found[5].name[0], 0);
	assert_failed(yett_file_list(f->sandbox, "/tmp/l/link", 5, collect, found, &error), ENOENT);
	assert_failed(yett_file_list(f->sandbox, "/tmp/l/a b", 5, collect, found, &error), ENOTDIR);
}

static int count(const struct yett_file_info *info, void *data)
{
	(void)info;
	(*(size_t *)data)++;
	return 0;
}

WITH_FIXTURE(a_long_list_comes_whole)
{
	size_t told = 0;

	(void)inside(
		f,
		"mkdir /tmp/long && cd /tmp/long && n=$(head -c 200 /dev/zero | tr '\\0' n) && seq 5000 | sed s/^/$n/ | xargs touch");
	assert_done(yett_file_list(f->sandbox, "/tmp/long", 5000, count, &told, &error));
	assert_int_equal(told, 5000);
}

WITH_FIXTURE(stat_follows_links_only_when_asked)
{
	struct yett_file_info *info = NULL;

	(void)inside(f, "printf 123 > /tmp/target && ln -s target /tmp/to");
	assert_done(yett_file_stat(f->sandbox, "/tmp/to", 0, &info, &error));
	assert_int_equal(info->kind, YETT_FILE_SYMLINK);
	assert_string_equal(info->link, "target");
	yett_free(info);
	assert_done(yett_file_stat(f->sandbox, "/tmp/to", YETT_FILE_FOLLOW, &info, &error));
	assert_int_equal(info->kind, YETT_FILE_REGULAR);
	assert_int_equal(info->size_bytes, 3);
	assert_string_equal(info->path, "/tmp/to");
	yett_free(info);
	assert_done(yett_file_stat(f->sandbox, "/", 0, &info, &error));
	assert_int_equal(info->kind, YETT_FILE_DIRECTORY);
	yett_free(info);
	assert_int_equal(yett_file_stat(f->sandbox, "/", YETT_FILE_REPLACE, &info, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_failed(yett_file_stat(f->sandbox, "/tmp/none", 0, &info, &error), ENOENT);
}

WITH_FIXTURE(directories_are_made_renamed_and_removed)
{
	assert_failed(yett_file_mkdir(f->sandbox, "/tmp/x/y/z", 0750, 0, &error), ENOENT);
	assert_done(yett_file_mkdir(f->sandbox, "/tmp/x/y/z", 0750, YETT_FILE_PARENTS, &error));
	assert_done(yett_file_mkdir(f->sandbox, "/tmp/x/y/z", 0700, YETT_FILE_PARENTS, &error));
	assert_string_equal(inside(f, "stat -c %a /tmp/x/y /tmp/x/y/z"), "755\n750\n");
	assert_failed(yett_file_mkdir(f->sandbox, "/tmp/x", 0700, 0, &error), EEXIST);
	assert_failed(yett_file_remove(f->sandbox, "/tmp/x", 0, &error), ENOTEMPTY);
	(void)inside(
		f,
		"cd /tmp && echo 1 > x/1 && echo 2 > x/2 && mkdir keep && echo k > keep/k && ln -s ../keep x/link");
	assert_failed(yett_file_rename(f->sandbox, "/tmp/x/1", "/tmp/x/2", 0, &error), EEXIST);
	assert_done(
		yett_file_rename(f->sandbox, "/tmp/x/1", "/tmp/x/2", YETT_FILE_REPLACE, &error));
	assert_done(yett_file_rename(f->sandbox, "/tmp/x", "/tmp/w", 0, &error));
	assert_string_equal(inside(f, "cd /tmp/w && ls && cat 2"), "2\nlink\ny\n1\n");
	assert_done(yett_file_remove(f->sandbox, "/tmp/w", YETT_FILE_RECURSIVE, &error));
	assert_string_equal(inside(f, "cat /tmp/keep/k; ls -d /tmp/w || true"), "k\n");
	assert_failed(yett_file_remove(f->sandbox, "/tmp/w", YETT_FILE_RECURSIVE, &error), ENOENT);
	assert_refused(yett_file_remove(f->sandbox, "/usr/bin", YETT_FILE_RECURSIVE, &error),
	               YETT_E_FILE_OPERATION_FAILED, "cannot ");
	assert_done(yett_file_remove(f->sandbox, "/tmp/keep/k", 0, &error));
	assert_done(yett_file_remove(f->sandbox, "/tmp/keep", 0, &error));
}

/* Everything about a tree, one line for each thing in it, in the shell of either side. */
#define DESCRIBE                                                                                                               \
	"find . -mindepth 1 '(' -type d -printf '%p %y %m' -o -printf '%p %y %m %l %n %s' ')' -printf ' %TY-%Tm-%Td %TT\\n' |" \
	" LC_ALL=C sort; find . -type f ! -name 'large*' -exec cksum {} + | LC_ALL=C sort"

#define TREE                                                                                                                                         \
	"mkdir -p t/sub/empty 't/with space' && cd t && echo one > one && chmod 400 one && echo two > sub/two &&"                                    \
	"chmod 755 sub/two && ln one hard && ln -s one link && ln -s /etc/shadow absolute && ln -s ../../up up && : > nothing &&"                    \
	"printf n > \"$(printf 'new\\nline')\" && printf l > \"$(printf 'caf\\351')\" && printf u > 'caf\303\251' &&"                                \
	"printf x > $(head -c 255 /dev/zero | tr '\\0' n) && truncate -s 5000000000 large && printf end >> large &&"                                 \
	"printf mid | dd of=large bs=1 seek=2500000000 conv=notrunc status=none &&"                                                                  \
	"truncate -s 1099511627776 large-hole && head -c 3000000 /dev/urandom > data &&"                                                             \
	"touch -d '2001-02-03 04:05:06.123456789' one sub/two && touch -h -d '1999-01-01' link && chmod 1777 sub/empty && chmod 555 'with space' &&" \
	"touch -d '1960-01-01' nothing && touch -d '2010-10-10 10:10:10.1' sub 'with space' sub/empty"

WITH_FIXTURE(a_tree_is_the_same_in_both_directions)
{
	const struct yett_copy_options large = {.size = sizeof large,
	                                        .bytes_max = UINT64_C(2) << 40};
	struct yett_copy_result *result = NULL;
	char *first, *second;

	(void)outside(f, TREE);
	first = strdup(outside(f, "cd t && " DESCRIBE));
	assert_done(yett_copy_in(f->sandbox, at(f, "t"), "/tmp/t", &large, taken(&result), &error));
	assert_int_equal(result->entries, 18);
	assert_int_equal(result->skipped, 0);
	assert_true(result->bytes < 4000000);
	second = strdup(inside(f, "cd /tmp/t && " DESCRIBE));
	assert_string_equal(first, second);
	assert_string_equal(inside(f, "test /tmp/t/one -ef /tmp/t/hard && stat -c %u /tmp/t/one"),
	                    inside(f, "id -u"));
	/* holes are holes */
	assert_true(strtoul(inside(f, "du -sk /tmp/t | cut -f1"), NULL, 10) < 5000);
	free(second);
	assert_done(
		yett_copy_out(f->sandbox, "/tmp/t", at(f, "back"), &large, taken(&result), &error));
	assert_int_equal(result->entries, 18);
	second = strdup(outside(f, "cd back && " DESCRIBE));
	assert_string_equal(first, second);
	assert_true(strtoul(outside(f, "du -sk back | cut -f1"), NULL, 10) < 5000);
	free(first);
	free(second);
	yett_free(result);
}

WITH_FIXTURE(a_single_file_or_link_is_copied)
{
	(void)outside(f, "printf text > a && chmod 751 a && ln -s nowhere l");
	assert_done(yett_copy_in(f->sandbox, at(f, "a"), "/tmp/copied", NULL, NULL, &error));
	assert_done(yett_copy_in(f->sandbox, at(f, "l"), "/tmp/copied-link", NULL, NULL, &error));
	assert_string_equal(
		inside(f, "cat /tmp/copied; stat -c ' %a' /tmp/copied; readlink /tmp/copied-link"),
		"text 751\nnowhere\n");
	/* in the place of another, and of a link, which is not followed */
	(void)outside(f, "printf other > out && ln -s out out-link");
	assert_done(
		yett_copy_out(f->sandbox, "/tmp/copied", at(f, "out-link"), NULL, NULL, &error));
	assert_string_equal(outside(f, "cat out-link; cat out; stat -c ' %F' out-link; ls -A"),
	                    "textother regular file\na\nl\nout\nout-link\n");
}

WITH_FIXTURE(what_is_there_already_is_kept_or_replaced)
{
	(void)outside(f, "mkdir -p t/d && echo new > t/a && echo new > t/d/b && echo x > file");
	(void)inside(
		f,
		"mkdir -p /tmp/t/d && cd /tmp/t && echo old > a && echo kept > kept && echo kept > d/kept");
	assert_done(yett_copy_in(f->sandbox, at(f, "t"), "/tmp/t", NULL, NULL, &error));
	assert_string_equal(inside(f, "cd /tmp/t && cat a kept d/b d/kept"),
	                    "new\nkept\nnew\nkept\n");
	/* a directory onto a file, a file onto a directory, both ways */
	(void)inside(f, "echo precious > /tmp/file");
	assert_failed(yett_copy_in(f->sandbox, at(f, "t"), "/tmp/file", NULL, NULL, &error),
	              ENOTDIR);
	assert_failed(yett_copy_in(f->sandbox, at(f, "file"), "/tmp/t", NULL, NULL, &error),
	              EISDIR);
	assert_failed(yett_copy_out(f->sandbox, "/tmp/t", at(f, "file"), NULL, NULL, &error),
	              ENOTDIR);
	assert_failed(yett_copy_out(f->sandbox, "/tmp/file", at(f, "t"), NULL, NULL, &error),
	              EISDIR);
	assert_string_equal(inside(f, "cat /tmp/file /tmp/t/a"), "precious\nnew\n");
	assert_string_equal(outside(f, "cat file t/a"), "x\nnew\n");
	assert_failed(yett_copy_in(f->sandbox, at(f, "none"), "/tmp/n", NULL, NULL, &error),
	              ENOENT);
	assert_failed(yett_copy_out(f->sandbox, "/tmp/none", at(f, "n"), NULL, NULL, &error),
	              ENOENT);
}

struct skipped {
	char names[512];
	unsigned count;
};

static void note(const char *path, const char *why, void *data)
{
	struct skipped *skipped = data;
	size_t used = strlen(skipped->names);

	skipped->count++;
	(void)snprintf(skipped->names + used, sizeof skipped->names - used, "%s: %s\n", path, why);
}

WITH_FIXTURE(what_cannot_be_copied_is_named_and_the_rest_is_copied)
{
	struct skipped skipped = {0};
	const struct yett_copy_options options = {
		.size = sizeof options, .on_skipped = note, .data = &skipped};
	struct yett_copy_result *result = NULL;

	(void)outside(
		f,
		"mkdir t && cd t && echo a > a && mkfifo fifo && echo s > secret && chmod 0 secret && echo z > z &&"
		"mkdir closed && chmod 0 closed && mkdir u && echo m > u/mine && chmod 4755 a");
	assert_done(
		yett_copy_in(f->sandbox, at(f, "t"), "/tmp/t", &options, taken(&result), &error));
	assert_int_equal(result->skipped, 3);
	assert_int_equal(skipped.count, 3);
	assert_non_null(strstr(skipped.names, at(f, "t/fifo: a FIFO is not copied")));
	assert_non_null(strstr(skipped.names, at(f, "t/secret: Permission denied")));
	assert_non_null(strstr(skipped.names, at(f, "t/closed: Permission denied")));
	assert_string_equal(inside(f, "cd /tmp/t && ls && cat z u/mine && stat -c %a a"),
	                    "a\nu\nz\nz\nm\n755\n");
	assert_refused(
		yett_copy_in(f->sandbox, at(f, "t"), "/tmp/t2", NULL, taken(&result), &error),
		YETT_E_FILE_OPERATION_FAILED, "3 entries were passed over");
	assert_string_equal(inside(f, "cat /tmp/t2/z"), "z\n");
	/* device nodes: those that every sandbox has */
	memset(&skipped, 0, sizeof skipped);
	assert_done(
		yett_copy_out(f->sandbox, "/dev", at(f, "dev"), &options, taken(&result), &error));
	assert_non_null(strstr(skipped.names, "/dev/null: a device node is not copied"));
	assert_string_equal(outside(f, "readlink dev/stdin; find dev -type c -o -type b"),
	                    "/proc/self/fd/0\n");
	(void)outside(f, "chmod 700 t/closed");
	yett_free(result);
}

WITH_FIXTURE(a_copy_that_is_too_large_is_ended)
{
	const struct yett_copy_options few = {.size = sizeof few, .entries_max = 10},
				       small = {.size = sizeof small, .bytes_max = 100000},
				       as_many = {.size = sizeof as_many,
	                                          .bytes_max = UINT64_C(1) << 40},
				       at_once = {.size = sizeof at_once, .timeout_ms = 1};
	struct yett_copy_result *result = NULL;

	(void)inside(
		f,
		"mkdir /tmp/t && cd /tmp/t && for i in 1 2 3 4 5 6 7 8 9; do head -c 20000 /dev/zero > $i; done; mkdir /tmp/s && truncate -s 1T /tmp/s/h");
	assert_done(yett_copy_out(f->sandbox, "/tmp/t", at(f, "exactly"), &few, taken(&result),
	                          &error));
	assert_int_equal(result->entries, 10);
	(void)inside(f, "mkdir /tmp/t/more");
	assert_refused(
		yett_copy_out(f->sandbox, "/tmp/t", at(f, "few"), &few, taken(&result), &error),
		YETT_E_RESOURCE_LIMIT, "larger");
	assert_refused(
		yett_copy_out(f->sandbox, "/tmp/t", at(f, "small"), &small, taken(&result), &error),
		YETT_E_RESOURCE_LIMIT, "larger");
	/* holes cost nothing until somebody reads or copies them */
	assert_refused(
		yett_copy_out(f->sandbox, "/tmp/s", at(f, "holes"), NULL, taken(&result), &error),
		YETT_E_RESOURCE_LIMIT, "larger");
	assert_string_equal(outside(f, "ls -A holes"), "");
	assert_done(yett_copy_out(f->sandbox, "/tmp/s", at(f, "as-many"), &as_many, taken(&result),
	                          &error));
	assert_string_equal(outside(f, "stat -c %s as-many/h"), "1099511627776\n");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/s", at(f, "time"), &at_once, taken(&result),
	                             &error),
	               YETT_E_TIMEOUT, "not finished in time");
	assert_done(yett_file_mkdir(f->sandbox, "/tmp/alive", 0700, 0, &error));
	yett_free(result);
}

WITH_FIXTURE(fifty_thousand_files_are_copied)
{
	struct yett_copy_result *result = NULL;

	(void)outside(
		f,
		"mkdir t && cd t && for d in $(seq 100); do mkdir $d; (cd $d && seq 499 | xargs touch); done");
	assert_done(yett_copy_in(f->sandbox, at(f, "t"), "/tmp/t", NULL, taken(&result), &error));
	assert_int_equal(result->entries, 50001);
	assert_string_equal(inside(f, "find /tmp/t | wc -l"), "50001\n");
	assert_done(yett_copy_out(f->sandbox, "/tmp/t", at(f, "b"), NULL, taken(&result), &error));
	assert_int_equal(result->entries, 50001);
	assert_string_equal(outside(f, "find b | wc -l"), "50001\n");
	assert_done(yett_file_remove(f->sandbox, "/tmp/t", YETT_FILE_RECURSIVE, &error));
	assert_string_equal(inside(f, "ls -d /tmp/t 2>&1 || true"),
	                    "ls: cannot access '/tmp/t': No such file or directory\n");
	yett_free(result);
}

WITH_FIXTURE(operations_go_on_beside_commands)
{
	const struct yett_command_options options = {
		.size = sizeof options,
		.argv = SH("while ! test -e /tmp/stop; do :; done; exit 7")};
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	assert_done(yett_sandbox_exec(f->sandbox, &options, &command, &error));
	for (int i = 0; i < 50; i++)
		assert_done(yett_file_write(f->sandbox, "/tmp/a", "b", 1, 0600, NULL, &error));
	assert_done(yett_file_write(f->sandbox, "/tmp/stop", "", 0, 0600, NULL, &error));
	assert_done(yett_command_wait(command, waiting_deadline_ms(), &result, &error));
	assert_int_equal(result->status, 7);
	yett_command_free(command);
}

/* What an event loop does. */
static void dispatch_until_over(struct fixture *f, struct yett_operation *const *operations,
                                size_t number)
{
	for (size_t over = 0; over < number;) {
		struct pollfd wait = {.fd = yett_sandbox_fd(f->sandbox), .events = POLLIN};

		(void)poll(&wait, 1, yett_operation_time_left(operations[over]));
		assert_done(yett_sandbox_dispatch(f->sandbox, &error));
		while (over < number && yett_operation_is_over(operations[over]))
			over++;
	}
}

WITH_FIXTURE(operations_go_on_at_once_in_an_event_loop)
{
	enum { OPEN, STAT, LIST, MKDIR, RENAME, REMOVE, IN, OUT, NONE, COUNT };
	struct yett_operation *operations[COUNT];
	size_t told = 0;
	char byte;
	int fd;

	(void)inside(
		f,
		"cd /tmp && echo text > file && mkdir l && touch l/1 l/2 l/3 && echo a > from && echo b > gone && seq 100000 > out");
	(void)outside(f, "seq 100000 > in");
	assert_done(yett_file_open_begin(f->sandbox, "/tmp/file", YETT_OPEN_READ, 0,
	                                 &operations[OPEN], &error));
	assert_done(yett_file_stat_begin(f->sandbox, "/tmp/file", 0, &operations[STAT], &error));
	assert_done(yett_file_list_begin(f->sandbox, "/tmp/l", 10, count, &told, &operations[LIST],
	                                 &error));
	assert_done(yett_file_mkdir_begin(f->sandbox, "/tmp/d/d", 0700, YETT_FILE_PARENTS,
	                                  &operations[MKDIR], &error));
	assert_done(yett_file_rename_begin(f->sandbox, "/tmp/from", "/tmp/to", 0,
	                                   &operations[RENAME], &error));
	assert_done(
		yett_file_remove_begin(f->sandbox, "/tmp/gone", 0, &operations[REMOVE], &error));
	assert_done(yett_copy_in_begin(f->sandbox, at(f, "in"), "/tmp/in", NULL, &operations[IN],
	                               &error));
	assert_done(yett_copy_out_begin(f->sandbox, "/tmp/out", at(f, "out"), NULL,
	                                &operations[OUT], &error));
	assert_done(yett_file_stat_begin(f->sandbox, "/tmp/none", 0, &operations[NONE], &error));
	dispatch_until_over(f, operations, COUNT);
	for (int i = 0; i < NONE; i++)
		assert_done(yett_operation_finish(operations[i], 0, &error));
	assert_failed(yett_operation_finish(operations[NONE], 0, &error), ENOENT);
	assert_int_equal(told, 3);
	fd = yett_operation_take_fd(operations[OPEN]);
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	assert_int_equal(close(fd), 0);
	assert_int_equal(yett_operation_file_info(operations[STAT])->size_bytes, 5);
	assert_string_equal(yett_operation_file_info(operations[STAT])->path, "/tmp/file");
	assert_int_equal(yett_operation_copy_result(operations[IN])->entries, 1);
	assert_string_equal(
		inside(f,
	               "cd /tmp && cat to && test -d d/d && ! test -e gone && cmp in out && echo same"),
		"a\nsame\n");
	assert_string_equal(outside(f, "cmp in out && echo same"), "same\n");
	for (int i = 0; i < COUNT; i++)
		yett_operation_free(operations[i]);
}

WITH_FIXTURE(an_operation_ends_with_its_sandbox_or_when_it_is_given_up)
{
	struct yett_operation *given_up, *copy, *stat;
	size_t told = 0;

	(void)outside(f, "head -c 30000000 /dev/zero > large");
	assert_done(
		yett_file_list_begin(f->sandbox, "/usr", 1000, count, &told, &given_up, &error));
	yett_operation_free(given_up);
	assert_done(
		yett_copy_in_begin(f->sandbox, at(f, "large"), "/tmp/large", NULL, &copy, &error));
	assert_done(yett_file_stat_begin(f->sandbox, "/tmp", 0, &stat, &error));
	assert_int_equal(yett_operation_finish(copy, 0, &error), YETT_E_TIMEOUT);
	assert_done(yett_sandbox_end(f->sandbox, &error));
	assert_true(yett_operation_is_over(copy));
	assert_int_equal(yett_operation_finish(copy, -1, &error), YETT_E_NOT_RUNNING);
	assert_int_equal(yett_operation_finish(stat, -1, &error), YETT_E_NOT_RUNNING);
	yett_operation_free(copy);
	yett_operation_free(stat);
	assert_int_equal(yett_file_stat_begin(f->sandbox, "/tmp", 0, &stat, &error),
	                 YETT_E_NOT_RUNNING);
}

int main(void)
{
	umask(022);
	return testing_run("files", NULL, NULL);
}
