/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the current directory is shared by default, and where a command starts. */
#include <string.h>

#include "cli/run/workdir.h"
#include "tests/support/testing.h"

#define HOME "/home/u"

TEST(work_is_shared)
{
	assert_int_equal(workdir_decide("/home/u/project", HOME, NULL, 0), WORKDIR_SHARE);
	assert_int_equal(workdir_decide("/tmp/build", HOME, NULL, 0), WORKDIR_SHARE);
	assert_int_equal(workdir_decide("/srv/site", NULL, NULL, 0), WORKDIR_SHARE);
	assert_int_equal(workdir_decide("/usrlocal", HOME, NULL, 0), WORKDIR_SHARE);
	assert_int_equal(workdir_decide("/home/u2", HOME, NULL, 0), WORKDIR_SHARE);
}

TEST(home_and_what_holds_it_are_not_shared)
{
	assert_int_equal(workdir_decide(HOME, HOME, NULL, 0), WORKDIR_HOME);
	assert_int_equal(workdir_decide("/data", "/data/homes/u", NULL, 0), WORKDIR_HOME);
	assert_int_equal(workdir_decide("/root", "/root", NULL, 0), WORKDIR_HOME);
}

TEST(the_system_is_not_shared)
{
	static const char *const paths[] = {
		"/",    "/home",    "/root",          "/tmp",       "/var",
		"/etc", "/etc/ssl", "/usr",           "/usr/src/x", "/proc/1",
		"/sys", "/dev/shm", "/run/user/1000", "/boot",      "/lib64"};

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		assert_int_equal(workdir_decide(paths[i], HOME, NULL, 0), WORKDIR_SYSTEM);
}

TEST(a_share_that_was_asked_for_replaces_the_default)
{
	const struct yett_share shares[] = {{.path = "/home/u/p", .target = "/work"},
	                                    {.path = "/data", .target = "/home/u/q"}};

	assert_int_equal(workdir_decide("/home/u/p", HOME, shares, 2), WORKDIR_IS_SHARED);
	assert_int_equal(workdir_decide("/home/u/p/sub", HOME, shares, 2), WORKDIR_IS_SHARED);
	assert_int_equal(workdir_decide("/home/u/q", HOME, shares, 2), WORKDIR_IS_SHARED);
	assert_int_equal(workdir_decide("/home/u/pq", HOME, shares, 2), WORKDIR_SHARE);
	assert_int_equal(workdir_decide("/home/u", HOME, shares, 2), WORKDIR_HOME);
}

TEST(the_directory_is_found_inside_through_its_share)
{
	const struct yett_share shares[] = {{.path = "/home/u", .target = "/h"},
	                                    {.path = "/home/u/p", .target = "/work"},
	                                    {.path = "/data", .target = "/q"}};
	const struct yett_share all[] = {{.path = "/", .target = "/host"}};
	char inside[64];

	assert_true(workdir_inside("/home/u/p/sub", shares, 3, inside, sizeof inside));
	assert_string_equal(inside, "/work/sub");
	assert_true(workdir_inside("/home/u/x", shares, 3, inside, sizeof inside));
	assert_string_equal(inside, "/h/x");
	assert_true(workdir_inside("/q", shares, 3, inside, sizeof inside));
	assert_string_equal(inside, "/q");
	assert_false(workdir_inside("/elsewhere", shares, 3, inside, sizeof inside));
	assert_true(workdir_inside("/srv/x", all, 1, inside, sizeof inside));
	assert_string_equal(inside, "/host/srv/x");
	assert_false(workdir_inside("/home/u/p", shares, 3, inside, 3));
}

TEST(a_template_shows_usr_and_the_like)
{
	assert_true(workdir_in_template("/usr/share/doc"));
	assert_false(workdir_in_template("/etc"));
}

TEST_MAIN(NULL, NULL)
