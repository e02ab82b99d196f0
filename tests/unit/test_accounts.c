/* SPDX-License-Identifier: Apache-2.0 */
/* Who a grant names, where a name service answers, and where it fails: getpwnam(3) and its like are
 * this test's own. */
#include <string.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "programs/decide/policy/compile.h"
#include "tests/support/testing.h"

/* What the name service says of everybody but alice and her group. */
static int failure;

struct passwd *getpwnam(const char *name)
{
	static struct passwd alice = {.pw_uid = 1234};

	errno = failure;
	return strcmp(name, "alice") == 0 ? &alice : NULL;
}

struct group *getgrnam(const char *name)
{
	static struct group alice = {.gr_gid = 4321};

	errno = failure;
	return strcmp(name, "alice") == 0 ? &alice : NULL;
}

struct passwd *getpwuid(uid_t uid)
{
	errno = uid == 1310720000 ? failure : 0; /* of the others nothing is asked here */
	return NULL;
}

static int compile_text(const char *text, struct compiled **ret_compiled, struct yett_error *error)
{
	char copy[512];
	struct compile_text texts[] = {{.name = (char *)"p.conf", .text = copy}};

	texts[0].length = (size_t)snprintf(copy, sizeof copy, "%s", text);
	*error = (struct yett_error){0};
	return compile(texts, 1, ret_compiled, error);
}

#define POLICY(who) "profile \"p\" { }\ngrant \"g\" {\n  " who "\n  profiles = {\"p\"}\n}\n"

TEST(a_name_that_nobody_has_makes_the_grant_void)
{
	static const int unknown[] = {0, ENOENT, ESRCH, EBADF, EPERM};
	static const char *const texts[] = {POLICY("users = {\"alice\", \"bob\"}"),
	                                    POLICY("groups = {\"bob\", \"alice\"}")};

	for (size_t i = 0; i < ARRAY_SIZE(unknown) * ARRAY_SIZE(texts); i++) {
		struct compiled *compiled = NULL;
		struct yett_error error;

		failure = unknown[i / ARRAY_SIZE(texts)];
		assert_int_equal(compile_text(texts[i % ARRAY_SIZE(texts)], &compiled, &error), 0);
		assert_true(compiled->policy.grants[0].is_void);
		assert_non_null(
			strstr(compiled->policy.grants[0].notice, "p.conf:3: 'bob' is not a "));
		assert_int_equal(compiled->policy.grants[0].uids_count +
		                         compiled->policy.grants[0].gids_count,
		                 1);
		compiled_free(compiled);
	}
}

/* What it takes from others must not come back because somebody's account was removed. */
TEST(a_ceiling_goes_on_to_bound_whom_it_names_besides)
{
	static const struct {
		const char *who;
		size_t known;
	} cases[] = {{"users = {\"alice\", \"bob\"}", 1},
	             {"groups = {\"bob\", \"alice\"}", 1},
	             {"users = {\"bob\", \"*\"}", 0},
	             {"users = {\"bob\"}", 0}};

	failure = ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compiled *compiled = NULL;
		const struct policy_grant *ceiling;
		struct yett_error error;
		char text[256];

		(void)snprintf(text, sizeof text, "ceiling \"c\" {\n\n  %s\n}\n", cases[i].who);
		assert_int_equal(compile_text(text, &compiled, &error), 0);
		ceiling = &compiled->policy.grants[0];
		assert_true(ceiling->is_ceiling);
		assert_int_equal(ceiling->uids_count + ceiling->gids_count, cases[i].known);
		assert_int_equal(ceiling->is_void, cases[i].known == 0 && !ceiling->everyone);
		assert_non_null(strstr(ceiling->notice, "p.conf:3: 'bob' is not a "));
		assert_non_null(
			strstr(ceiling->notice, " of this host: the ceiling does not bound it"));
		compiled_free(compiled);
	}
}

TEST(a_name_service_that_fails_makes_no_grant_void_but_refuses_the_policy)
{
	static const int failures[] = {EIO,       EMFILE, ENOMEM, ECONNREFUSED,
	                               ETIMEDOUT, EACCES, ERANGE, EAGAIN};
	static const char *const texts[] = {POLICY("users = {\"alice\", \"bob\"}"),
	                                    POLICY("groups = {\"bob\"}"),
	                                    "helper {\n  ids_first = 1310720000\n}\n"};

	for (size_t i = 0; i < ARRAY_SIZE(failures) * ARRAY_SIZE(texts); i++) {
		struct compiled *compiled = NULL;
		struct yett_error error;

		failure = failures[i / ARRAY_SIZE(texts)];
		assert_true(compile_text(texts[i % ARRAY_SIZE(texts)], &compiled, &error) > 0);
		assert_null(compiled);
		assert_non_null(
			strstr(error.message,
		               "cannot be looked up now: a name service of this host fails"));
		assert_string_equal(error.detail, strerror(failure));
	}
}

TEST_MAIN(NULL, NULL)
