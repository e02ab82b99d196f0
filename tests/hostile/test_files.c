/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox that lies about its files, against libyett as an ordinary user: what runs inside as
 * yett-files is fake_files.c. Started by tests/support/yett.py. Archives are first given to tar(1),
 * which does what they say.
 */
#include "tests/support/library.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	char fake[256], real[256];
	char folder[48];
};

static size_t descriptors(void)
{
	DIR *entries = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

static void shell(const struct fixture *f, const char *format, ...)
{
	char script[1024], command[1200];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(script, sizeof script, format, args);
	va_end(args);
	(void)snprintf(command, sizeof command, "cd %s && { %s; }", f->folder, script);
	if (system(command) != 0)
		fail_msg("%s", script);
}

static int set_up(void **state)
{
	static struct fixture fixture;
	const char *real = getenv("YETT_FILES");

	fixture = (struct fixture){0};
	(void)snprintf(fixture.real, sizeof fixture.real, "%s", real);
	(void)snprintf(fixture.fake, sizeof fixture.fake, "%.*s/tests/hostile/fake-files",
	               (int)(strstr(real, "/helper/") - real), real);
	assert_done(yett_connect(NULL, &fixture.connection, &error));
	assert_done(yett_sandbox_create(fixture.connection, NULL, &fixture.sandbox, &error));
	(void)snprintf(fixture.folder, sizeof fixture.folder, "%s/files-XXXXXX", getenv("HOME"));
	assert_non_null(mkdtemp(fixture.folder));
	setenv("YETT_FILES", fixture.fake, 1);
	*state = &fixture;
	return 0;
}

/* Whatever was said inside: nothing is left open here, and the sandbox goes on. */
static int tear_down(void **state)
{
	struct fixture *f = *state;
	const struct yett_command_options options = {.size = sizeof options,
	                                             .argv = (const char *const[]){"true", NULL}};
	struct yett_output *output = NULL;

	setenv("YETT_FILES", f->real, 1);
	assert_done(yett_run(f->sandbox, &options, 10, &output, &error));
	yett_free(output);
	assert_done(yett_sandbox_end(f->sandbox, &error));
	yett_sandbox_close(f->sandbox);
	yett_connection_close(f->connection);
	shell(f, "cd / && rm -rf %s /tmp/yett-test-victim", f->folder);
	return 0;
}

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *f, set_up, tear_down)

WITH_FIXTURE(only_a_file_open_as_asked_is_handed_out)
{
	static const char *const lies[] = {"fifo",    "pipe",   "device", "directory",  "path",
	                                   "symlink", "socket", "proc",   "write-only", "append"};
	char path[64];
	size_t before;
	int fd = -1;

	assert_refused(yett_file_open(f->sandbox, "/tmp/none", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_PROTOCOL, "");
	before = descriptors();
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		(void)snprintf(path, sizeof path, "/tmp/%s", lies[i]);
		assert_refused(yett_file_open(f->sandbox, path, YETT_OPEN_READ, 0, &fd, &error),
		               YETT_E_SECURITY_VIOLATION, "");
	}
	assert_refused(yett_file_open(f->sandbox, "/tmp/two", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_PROTOCOL, "2 descriptors");
	assert_int_equal(fd, -1);
	/* What should not have come is closed by a thread of its own. */
	for (int waited_ms = 0; waited_ms < waiting_deadline_ms() && descriptors() != before;
	     waited_ms += 10)
		(void)poll(NULL, 0, 10);
	assert_int_equal(descriptors(), before);
}

WITH_FIXTURE(only_a_unix_socket_that_listens_is_accepted_from)
{
	static const char *const lies[] = {"fifo", "pipe",   "device",      "directory",
	                                   "path", "socket", "listens-tcp", "listens-packets"};
	char path[64];
	int fd = -1;

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		(void)snprintf(path, sizeof path, "/tmp/%s", lies[i]);
		assert_refused(yett_socket_listen(f->sandbox, path, 0600, &fd, &error),
		               YETT_E_SECURITY_VIOLATION, "something else");
	}
	assert_refused(yett_socket_listen(f->sandbox, "/tmp/two", 0600, &fd, &error),
	               YETT_E_PROTOCOL, "2 descriptors");
	assert_refused(yett_socket_listen(f->sandbox, "/tmp/gone", 0600, &fd, &error),
	               YETT_E_FILE_OPERATION_FAILED, "without an answer");
	assert_int_equal(fd, -1);
}

WITH_FIXTURE(what_is_no_answer_is_refused)
{
	int fd = -1;

	assert_refused(yett_file_open(f->sandbox, "/tmp/bytes", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_PROTOCOL, "");
	assert_refused(
		yett_file_open(f->sandbox, "/tmp/other-kind", YETT_OPEN_READ, 0, &fd, &error),
		YETT_E_PROTOCOL, "not asked");
	assert_refused(
		yett_file_open(f->sandbox, "/tmp/done-and-more", YETT_OPEN_READ, 0, &fd, &error),
		YETT_E_FILE_OPERATION_FAILED,
		"without an answer"); /* it could not say so: pid 0 is none */
	assert_refused(yett_file_open(f->sandbox, "/tmp/gone", YETT_OPEN_READ, 0, &fd, &error),
	               YETT_E_FILE_OPERATION_FAILED, "without an answer");
}

static int count(const struct yett_file_info *info, void *data)
{
	assert_null(strchr(info->name, '/'));
	(*(size_t *)data)++;
	return 0;
}

WITH_FIXTURE(a_list_that_lies_or_never_ends_is_ended)
{
	size_t told = 0;

	assert_refused(yett_file_list(f->sandbox, "/tmp/endless", 100000, count, &told, &error),
	               YETT_E_RESOURCE_LIMIT, "more than 100000");
	assert_int_equal(told, 100000);
	told = 0;
	assert_refused(yett_file_list(f->sandbox, "/tmp/dots", 10, count, &told, &error),
	               YETT_E_PROTOCOL, "no name");
	assert_refused(yett_file_list(f->sandbox, "/tmp/slash", 10, count, &told, &error),
	               YETT_E_PROTOCOL, "no name");
	assert_int_equal(told, 0);
}

/* outside/victim and what is in the folder itself: what the archive is not to reach. */
static void lay_out(struct fixture *f, const char *name)
{
	shell(f,
	      "rm -rf %s && mkdir -p %s/outside %s/in && echo precious > %s/outside/victim && rm -f /tmp/yett-test-victim",
	      name, name, name, name);
}

static bool is_reached(struct fixture *f, const char *name)
{
	char command[512];

	(void)snprintf(
		command, sizeof command,
		"cd %s/%s && test \"$(cat outside/victim)\" = precious && test $(stat -c %%h outside/victim) = 1 &&"
		"test $(ls -A outside | wc -l) = 1 && test $(stat -c %%a outside) = 755 && ! test -e /tmp/yett-test-victim &&"
		"test \"$(ls -A | grep -vx in)\" = outside && ! test -e in/other",
		f->folder, name);
	return system(command) != 0;
}

/* What tar(1) makes of it, without its own care: -P. */
static void tar_does_it(struct fixture *f, const char *archive)
{
	lay_out(f, "tar");
	shell(f,
	      "cd tar/in && %s archive %s | tar -xPf - --keep-directory-symlink 2>/dev/null || true",
	      f->fake, archive);
}

WITH_FIXTURE(nothing_is_written_outside_of_where_a_copy_goes)
{
	/* whether the copy as a whole is refused, or only the one entry */
	static const struct {
		const char *archive;
		int code;
	} attacks[] = {
		{"root-link", YETT_E_FILE_OPERATION_FAILED},
		{"climb", YETT_E_PROTOCOL},
		{"absolute", YETT_E_PROTOCOL},
		{"elsewhere", YETT_E_PROTOCOL},
		{"through-link", YETT_E_FILE_OPERATION_FAILED},
		{"directory-over-link", YETT_E_FILE_OPERATION_FAILED},
		{"hard-link", YETT_E_PROTOCOL},
		{"hard-link-through-link", YETT_E_FILE_OPERATION_FAILED},
	};
	char path[64], to[128];

	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
		int r;

		tar_does_it(f, attacks[i].archive);
		if (!is_reached(f, "tar"))
			fail_msg("%s does no harm to anybody", attacks[i].archive);
		lay_out(f, "here");
		(void)snprintf(path, sizeof path, "/tmp/%s", attacks[i].archive);
		(void)snprintf(to, sizeof to, "%s/here/in/root", f->folder);
		r = yett_copy_out(f->sandbox, path, to, NULL, NULL, &error);
		if (r != attacks[i].code)
			fail_msg("%s: %d %s; %s", attacks[i].archive, r, error.message,
			         error.detail);
		if (is_reached(f, "here"))
			fail_msg("%s reached what is outside", attacks[i].archive);
	}
	/* what came after an entry that was refused is there */
	shell(f, "test \"$(cat here/in/root/after)\" = hostile");
	/* not even what stays below that place, where nothing but following no link is between the
	 * two */
	tar_does_it(f, "through-link-within");
	shell(f, "test -e tar/in/root/d/victim");
	lay_out(f, "here");
	assert_refused(
		yett_copy_out(f->sandbox, "/tmp/through-link-within", to, NULL, NULL, &error),
		YETT_E_FILE_OPERATION_FAILED, "");
	shell(f,
	      "test -d here/in/root/d && ! test -e here/in/root/d/victim && test -e here/in/root/after");
	/* a link that gives way is replaced itself */
	lay_out(f, "here");
	assert_done(yett_copy_out(f->sandbox, "/tmp/over-link", to, NULL, NULL, &error));
	assert_false(is_reached(f, "here"));
	shell(f, "test -f here/in/root/a && ! test -L here/in/root/a");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/hard-link-absolute", to, NULL, NULL, &error),
	               YETT_E_PROTOCOL, "no archive");
}

WITH_FIXTURE(set_id_bits_and_devices_stay_behind)
{
	char to[128];

	shell(f,
	      "%s archive set-id | tar -xpf - && test -u root/set-id && test -g root/d && rm -rf root",
	      f->fake);
	(void)snprintf(to, sizeof to, "%s/root", f->folder);
	assert_done(yett_copy_out(f->sandbox, "/tmp/set-id", to, NULL, NULL, &error));
	shell(f,
	      "test $(stat -c %%a root/set-id) = 755 && test $(stat -c %%a root/d) = 755 && test $(stat -c %%u root/set-id) = $(id -u)");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/device", to, NULL, NULL, &error),
	               YETT_E_FILE_OPERATION_FAILED, "3 entries were passed over");
	shell(f,
	      "test \"$(cat root/after)\" = hostile && ! test -e root/null && ! test -e root/disk && ! test -e root/fifo");
}

WITH_FIXTURE(a_copy_that_never_ends_is_ended)
{
	const struct yett_copy_options few = {.size = sizeof few, .entries_max = 2000},
				       small = {.size = sizeof small, .bytes_max = 10000000},
				       soon = {.size = sizeof soon, .timeout_ms = 500};
	char to[128];

	(void)snprintf(to, sizeof to, "%s/root", f->folder);
	assert_refused(yett_copy_out(f->sandbox, "/tmp/endless-entries", to, &few, NULL, &error),
	               YETT_E_RESOURCE_LIMIT, "larger");
	shell(f, "test $(find root | wc -l) = 2000; rm -rf root");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/endless-data", to, &small, NULL, &error),
	               YETT_E_RESOURCE_LIMIT, "larger");
	shell(f, "! test -e root"); /* what is not whole is not left */
	/* here libarchive gives up on its process, when that has all the memory that it may have */
	assert_refused(yett_copy_out(f->sandbox, "/tmp/endless-holes", to, &small, NULL, &error),
	               YETT_E_FILE_OPERATION_FAILED, "without an answer");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/endless-skipped", to, &few, NULL, &error),
	               YETT_E_RESOURCE_LIMIT, "passed over");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/silent", to, &soon, NULL, &error),
	               YETT_E_TIMEOUT, "not finished in time");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/gone", to, NULL, NULL, &error),
	               YETT_E_FILE_OPERATION_FAILED, "without an answer");
}

WITH_FIXTURE(what_is_no_archive_is_refused)
{
	size_t before;
	char to[128];

	(void)snprintf(to, sizeof to, "%s/root", f->folder);
	assert_refused(yett_copy_out(f->sandbox, "/tmp/twice", to, NULL, NULL, &error),
	               YETT_E_PROTOCOL, "no archive");
	before = descriptors();
	assert_refused(yett_copy_out(f->sandbox, "/tmp/garbage", to, NULL, NULL, &error),
	               YETT_E_PROTOCOL, "no archive");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/cut", to, NULL, NULL, &error),
	               YETT_E_PROTOCOL, "no archive");
	assert_refused(yett_copy_out(f->sandbox, "/tmp/empty", to, NULL, NULL, &error),
	               YETT_E_PROTOCOL, "no archive");
	assert_int_equal(descriptors(), before);
	shell(f, "! test -e root/a");
}

/* --- the real yett-files, and commands of the same id beside it --- */

static struct yett_command *start(struct fixture *f, const char *script)
{
	const struct yett_command_options options = {
		.size = sizeof options, .argv = (const char *const[]){"sh", "-c", script, NULL}};
	struct yett_command *command = NULL;

	setenv("YETT_FILES", f->real, 1);
	assert_done(yett_sandbox_exec(f->sandbox, &options, &command, &error));
	while (yett_command_pid(command) == 0)
		assert_done(yett_sandbox_dispatch(f->sandbox, &error));
	return command;
}

static void end(struct yett_command *command)
{
	const struct yett_result *result = NULL;

	assert_done(yett_command_signal(command, 9, &error));
	assert_done(yett_command_wait(command, 60000, &result, &error));
	yett_command_free(command);
}

#define FOR_EACH_WORKER(what)                                                             \
	"for p in /proc/[0-9]*; do read c < $p/comm && test \"$c\" = yett-files && " what \
	"; done 2>/dev/null"

WITH_FIXTURE(a_command_that_ends_yett_files_ends_that_operation_only)
{
	struct yett_command *command =
		start(f, "while :; do " FOR_EACH_WORKER("kill -9 ${p#/proc/}") "; done");
	struct yett_copy_result *result = NULL;
	unsigned failed = 0;
	size_t before;
	char from[128];

	shell(f, "mkdir t && cd t && seq 3000 | xargs touch");
	(void)snprintf(from, sizeof from, "%s/t", f->folder);
	(void)!yett_file_mkdir(f->sandbox, "/tmp/x", 0700, YETT_FILE_PARENTS, &error);
	before = descriptors();
	for (int i = 0; i < 10; i++) {
		int r = yett_copy_in(f->sandbox, from, "/tmp/x", NULL, &result, &error);

		if (r && (r != YETT_E_FILE_OPERATION_FAILED || !strstr(error.message, "signal 9")))
			fail_msg("%d %s; %s", r, error.message, error.detail);
		failed += r != 0;
		yett_free(result);
		result = NULL;
	}
	assert_true(failed > 0);
	assert_int_equal(descriptors(), before);
	end(command);
	assert_done(yett_copy_in(f->sandbox, from, "/tmp/x", NULL, &result, &error));
	assert_int_equal(result->entries, 3001);
	yett_free(result);
}

static struct yett_output *looked;

/* While yett-files waits for us to take the rest of its list. */
static int look_into_it(const struct yett_file_info *info, void *data)
{
	const struct yett_command_options options = {
		.size = sizeof options,
		.argv = (const char *const[]){
			"sh", "-c",
			FOR_EACH_WORKER(
				"echo found && { cat $p/environ || echo closed; "
				"head -c1 $p/mem || echo closed; ls $p/fd/0 || echo closed; }"),
			NULL}};

	(void)info;
	assert_done(yett_run(data, &options, 1000, &looked, &error));
	return 1;
}

WITH_FIXTURE(no_command_can_look_into_yett_files)
{
	struct yett_command *command = start(
		f,
		"cd /tmp && mkdir l && cd l && n=$(head -c 240 /dev/zero | tr '\\0' n) && seq 3000 | sed s/^/$n/ | xargs touch");
	const struct yett_result *result = NULL;

	assert_done(yett_command_wait(command, 60000, &result, &error));
	yett_command_free(command);
	assert_done(yett_file_list(f->sandbox, "/tmp/l", 3000, look_into_it, f->sandbox, &error));
	assert_string_equal(looked->out, "found\nclosed\nclosed\nclosed\n");
	yett_free(looked);
}

WITH_FIXTURE(files_that_change_while_they_are_copied_harm_nobody)
{
	struct yett_command *command = start(
		f,
		"mkdir /tmp/s && cd /tmp/s && mkdir d && while :; do for i in 1 2 3 4; do"
		" rm -rf $i; ln -s /etc/passwd $i; rm $i; mkfifo $i; rm $i; mkdir -p $i/$i; rm -r $i;"
		" head -c 100000 /dev/zero > $i; : > $i; mv d e; ln -s /usr d; rm d; mv e d; done; done");
	struct stat st;
	char to[128];

	(void)snprintf(to, sizeof to, "%s/out", f->folder);
	/* it has not begun, or was a link just then */
	while (yett_copy_out(f->sandbox, "/tmp/s/d", to, NULL, NULL, &error) ||
	       lstat(to, &st) < 0 || !S_ISDIR(st.st_mode))
		(void)unlink(to);
	for (int i = 0; i < 30; i++) {
		int r = yett_copy_out(f->sandbox, "/tmp/s", to, NULL, NULL, &error);

		/* passed over by name, or not at all: what is there from before may be of another
		 * kind */
		if (r &&
		    (r != YETT_E_FILE_OPERATION_FAILED || !strstr(error.detail, "passed over")))
			fail_msg("%d %s; %s", r, error.message, error.detail);
		shell(f, "test $(find out -type p | wc -l) = 0 && test $(find out | wc -l) -lt 20");
	}
	end(command);
}

int main(void)
{
	umask(022);
	return testing_run("files", NULL, NULL);
}
