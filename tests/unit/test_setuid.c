/* SPDX-License-Identifier: Apache-2.0 */
/* What the set-user-id helper decides before it does anything: its arguments, its one descriptor.
 * Needs no privilege. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "helper/start/setuid.h"
#include "tests/support/testing.h"

static bool is_asked(char *const argv[])
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return setuid_is_asked(argc, argv);
}

TEST(one_form_of_arguments_is_known)
{
	assert_true(is_asked((char *[]){"yett-helper", "--serve=3", NULL}));
	assert_true(is_asked((char *[]){"", "--serve=3", NULL}));
	assert_false(is_asked((char *[]){NULL}));
	assert_false(is_asked((char *[]){"--serve=3", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", "--serve", "3", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", "--serve=4", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", "--serve=33", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", "--serve=3", "", NULL}));
	assert_false(is_asked((char *[]){"yett-helper", "--quiet", "--serve=3", NULL}));
}

/* The verdict on a descriptor (consumed), in the place that it is looked for. */
static int check(int fd)
{
	struct yett_error error = {0};

	if (fd != SETUID_SOCKET) {
		assert_int_equal(dup2(fd, SETUID_SOCKET), SETUID_SOCKET);
		(void)close(fd);
	}
	return setuid_check_socket(&error);
}

static int check_pair(int type)
{
	int pair[2], r;

	assert_int_equal(socketpair(AF_UNIX, type, 0, pair), 0);
	pair[1] = fcntl(pair[1], F_DUPFD, 10);
	r = check(pair[0]);
	(void)close(pair[1]);
	return r;
}

TEST(only_an_end_of_a_socketpair_is_served)
{
	assert_int_equal(check_pair(SOCK_SEQPACKET), 0);
	assert_int_equal(check_pair(SOCK_STREAM), YETT_E_INVALID_REQUEST);
	assert_int_equal(check_pair(SOCK_DGRAM), YETT_E_INVALID_REQUEST);
	assert_int_equal(check(open("/dev/null", O_RDWR)), YETT_E_INVALID_REQUEST);
	assert_int_equal(check(socket(AF_UNIX, SOCK_SEQPACKET, 0)), YETT_E_INVALID_REQUEST);
	(void)close(SETUID_SOCKET);
	assert_int_equal(setuid_check_socket(&(struct yett_error){0}), YETT_E_INVALID_REQUEST);
}

TEST(a_connection_with_a_name_is_not_served)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = sizeof address;
	int service = fcntl(socket(AF_UNIX, SOCK_SEQPACKET, 0), F_DUPFD, 10);
	int client = fcntl(socket(AF_UNIX, SOCK_SEQPACKET, 0), F_DUPFD, 10), accepted;

	/* The kernel chooses a name that is free: unix(7), autobind. */
	assert_int_equal(bind(service, (struct sockaddr *)&address, sizeof address.sun_family), 0);
	assert_int_equal(getsockname(service, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(listen(service, 1), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
	accepted = fcntl(accept(service, NULL, NULL), F_DUPFD, 10);
	assert_int_equal(check(client), YETT_E_INVALID_REQUEST);
	assert_int_equal(check(accepted), YETT_E_INVALID_REQUEST);
	assert_int_equal(check(service), YETT_E_INVALID_REQUEST);
}

TEST(a_program_that_is_not_set_user_id_has_nothing_to_give_up)
{
	assert_int_equal(setuid_give_up(), 0);
}

TEST_MAIN(NULL, NULL)
