/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the real yett-reader (in $YETT_LIBEXEC) reports of users to the decider: those of
 * /etc/passwd, and one whom only a name service knows. For that one the test is in a mount
 * namespace of its own, where nss-systemd(8) finds the account in /run/userdb. The test takes the
 * place of the monitor, which starts yett-reader and says who it becomes.
 */
#include <string.h>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/monitor/program_end.h"
#include "helper/privilege/privilege.h"
#include "programs/decide/decider/account.h"
#include "programs/decide/decider/ask.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#define ID     41711
#define HOME   "/run/home"
#define FOLDER "/run/libexec"
#define LINE   "ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define MODULE "libnss_systemd.so.2"

struct fixture {
	const char *libexec;
	struct program program;
	struct peer peer;
	struct account account;
};

static struct fixture fixture;

static int start(void **state)
{
	fixture = (struct fixture){.libexec = getenv("YETT_LIBEXEC"),
	                           .program = PROGRAM_NONE,
	                           .peer = {.uid = geteuid(), .gid = getegid()},
	                           .account = {.reader = -1}};
	*state = &fixture;
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;

	f->account.reader = fd_close(f->account.reader);
	program_end(&f->program);
	return 0;
}

/* As the monitor's act: the only one of the account. */
int ask(enum decider_act act, const struct iovec *parts, unsigned count,
        struct decider_answer *ret_answer, struct ask_fds *ret_fds, struct yett_error *error)
{
	char *argv[] = {(char *)"yett-reader", NULL};

	(void)parts, (void)count, (void)ret_answer, (void)error;
	assert_int_equal(act, ACT_READER);
	program_end(&fixture.program);
	(void)!privilege_raise(); /* program_end() has lowered it */
	assert_int_equal(program_start(fixture.libexec, argv, NULL, 0, &fixture.program), 0);
	assert_int_equal(program_ask(&fixture.program,
	                             &(struct iovec){&fixture.peer, sizeof fixture.peer}, 1),
	                 0);
	*ret_fds = (struct ask_fds){steal_fd(&fixture.program.socket), -1};
	return 0;
}

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *f, start, stop)

WITH_FIXTURE(the_names_of_a_user_are_those_of_the_account)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group = getgrgid(getegid());
	const struct peer_names *names = &f->peer.names;
	struct yett_error error = {0};

	assert_non_null(user);
	assert_non_null(group);
	assert_int_equal(account_name(&f->account, &f->peer, &error), 0);
	assert_string_equal(names->user, user->pw_name);
	assert_string_equal(names->home, user->pw_dir);
	assert_string_equal(names->shell, user->pw_shell);
	assert_string_equal(names->group, group->gr_name);
}

WITH_FIXTURE(one_that_was_killed_is_followed_by_another)
{
	struct yett_error error = {0};
	bool is_first;
	pid_t pid;

	assert_int_equal(account_name(&f->account, &f->peer, &error), 0);
	pid = f->program.pid;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	f->program = PROGRAM_NONE;
	f->peer.names.user[0] = '\0';
	assert_true(account_find_key(&f->account, &f->peer, LINE, &is_first, &error) >= 0);
	assert_int_not_equal(f->program.pid, 0);
	assert_int_not_equal(f->peer.names.user[0], '\0');
}

static void put(const char *path, const char *text, mode_t mode)
{
	folder_write(path, text, mode);
	assert_int_equal(chown(path, ID, ID), 0);
}

static void make_directory(const char *path, mode_t mode)
{
	assert_int_equal(mkdir(path, mode), 0);
	assert_int_equal(chown(path, ID, ID), 0);
}

/*
 * An account that /etc/passwd does not have, with a home that nobody else may enter. The reader is
 * bound to a folder that every user can enter: as that user it executes yett-reader-nss, which a
 * checkout in somebody's private folder would forbid.
 */
static void make_account(struct fixture *f)
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"), 0);
	assert_int_equal(mkdir("/run/userdb", 0755), 0);
	put("/run/userdb/carol.user",
	    "{\"userName\":\"carol\",\"uid\":41711,\"gid\":41711,\"homeDirectory\":\"" HOME
	    "\",\"shell\":\"/bin/of-carol\"}",
	    0644);
	put("/run/userdb/carols.group", "{\"groupName\":\"carols\",\"gid\":41711}", 0644);
	assert_int_equal(symlink("carol.user", "/run/userdb/41711.user"), 0);
	assert_int_equal(symlink("carols.group", "/run/userdb/41711.group"), 0);
	put("/run/nsswitch.conf", "passwd: files systemd\ngroup: files systemd\n", 0644);
	assert_int_equal(mount("/run/nsswitch.conf", "/etc/nsswitch.conf", "none", MS_BIND, NULL),
	                 0);
	assert_int_equal(mkdir(FOLDER, 0755), 0);
	assert_int_equal(mount(f->libexec, FOLDER, "none", MS_BIND, NULL), 0);
	f->libexec = FOLDER;
	make_directory(HOME, 0700);
	make_directory(HOME "/.config", 0700);
	make_directory(HOME "/.config/yett", 0700);
}

/*
 * A process of the user's, as its client is one: of a limit of processes the kernel speaks on exec,
 * too. execve(2), EAGAIN. It ends with the last copy of the descriptor, so that no failed assertion
 * leaves it behind: a signal for the death of its parent would not do, since the kernel sends none
 * to a user whom a parent with lowered capabilities may not signal.
 */
static int start_client(pid_t *ret_pid)
{
	int ready[2], life[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(life, O_CLOEXEC), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)close(life[1]);
		if (setresuid(ID, ID, ID) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		(void)!read(life[0], &byte, 1);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)close(life[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return life[1];
}

WITH_FIXTURE(a_user_whom_only_a_name_service_knows_has_names_and_keys)
{
	const struct peer_names *names = &f->peer.names;
	struct yett_error error = {0};
	bool is_first;
	pid_t client;
	int life, status;

	if (geteuid() != 0 || (access("/lib/x86_64-linux-gnu/" MODULE, F_OK) < 0 &&
	                       access("/lib/aarch64-linux-gnu/" MODULE, F_OK) < 0)) {
		print_message("not root, or " MODULE
		              " is missing (Debian package libnss-systemd)\n");
		skip();
	}
	f->peer.uid = f->peer.gid = ID;
	assert_int_equal(privilege_raise(), 0); /* program_end() may have lowered it */
	make_account(f);
	life = start_client(&client);
	assert_int_equal(account_find_key(&f->account, &f->peer, LINE, &is_first, &error), 0);
	assert_true(is_first);
	assert_string_equal(names->user, "carol");
	assert_string_equal(names->group, "carols");
	assert_string_equal(names->home, HOME);
	assert_string_equal(names->shell, "/bin/of-carol");
	put(HOME "/.config/yett/authorized_keys", LINE " hers\n", 0600);
	assert_int_equal(account_find_key(&f->account, &f->peer, LINE, &is_first, &error), 0);
	assert_false(is_first);
	put(HOME "/.config/yett/authorized_keys", "# none\n", 0600);
	assert_int_equal(account_find_key(&f->account, &f->peer, LINE, &is_first, &error),
	                 YETT_E_BAD_SIGNATURE);
	assert_int_equal(error.reason, YETT_R_UNKNOWN_KEY);
	/* What is closed to the user is closed to who reads as the user. */
	assert_int_equal(chown(HOME "/.config", 0, 0), 0);
	assert_int_equal(account_find_key(&f->account, &f->peer, LINE, &is_first, &error),
	                 YETT_E_BAD_SIGNATURE);
	assert_non_null(strstr(error.message, "cannot be opened or read"));
	assert_int_equal(error.os_error, EACCES);
	(void)close(life);
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_int_equal(status, 0); /* it was there until now */
}

TEST_MAIN(NULL, NULL)
