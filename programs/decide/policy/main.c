/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-policy: compiles policy files into one image for the helper, in the memfd that is descriptor
 * 0. Arguments: "FD:NAME" for each file; none means the built-in policy.
 *
 * The text is root's own, but libConfuse, libseccomp and NSS modules are too much code to run as
 * root. So the process drops all privilege in numbered stages before it reads anything. It keeps
 * the file system, which NSS needs, and with which it reads the enrolled keys as any user could.
 * The helper checks every offset and count in the image, but relies on this program for what the
 * policy says. Starts as root, or as an unprivileged caller. The exit status is the number of the
 * stage that failed.
 */
#include "base/escape.h"
#include "helper/privilege/lockdown.h"
#include "programs/decide/policy/compile.h"
#include "programs/decide/policy/enrolled.h"
#include "programs/decide/policy/write.h"

#include <stdio.h>
#include <string.h>

#define FILE_SIZE_MAX (1u << 20)

enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_LIMITS,
	STAGE_BOUNDING_SET,
	STAGE_IDS,
	STAGE_CAPABILITIES,
	STAGE_UNDUMPABLE,
	STAGE_NO_NEW_PRIVS,
	STAGE_DEATH_SIGNAL,
	STAGE_IMAGE,
};

struct input {
	size_t count;
	int fds[POLICY_FILES_MAX];
	struct compile_text texts[POLICY_FILES_MAX];
};

static void policy_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool policy_read_arguments(int argc, char **argv, struct input *input)
{
	for (int i = 1; i < argc && input->count < ARRAY_SIZE(input->fds); i++) {
		char *end;
		long fd = strtol(argv[i], &end, 10);

		if (end == argv[i] || *end != ':' || fd < 0 || fd > INT32_MAX)
			return false;
		input->fds[input->count] = (int)fd;
		input->texts[input->count++].name = end + 1;
	}
	return argc > 0 && input->count == (size_t)argc - 1;
}

static bool policy_is_input(const struct input *input, int fd)
{
	for (size_t i = 0; i < input->count; i++)
		if (input->fds[i] == fd)
			return true;
	return false;
}

static void close_others(const struct input *input)
{
	for (int fd = 1; fd < 3; fd++)
		if (!policy_is_input(input, fd))
			(void)close(fd);
	fd_close_except(input->fds, input->count);
}

/*
 * Forbids child processes, core dumps, and files longer than the image. With RLIMIT_CORE 1, unlike
 * with 0, the kernel does not run the host's core_pattern program either (core(5)). NSS modules may
 * map large caches, so descriptors and memory have high limits.
 */
static bool policy_policy_limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, IMAGE_SIZE_MAX},
		{RLIMIT_NOFILE, 2 * POLICY_FILES_MAX},
		{RLIMIT_CPU, 10},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(1u << 30)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

static void policy_lock_down(int argc, char **argv, struct input *input)
{
	policy_need(policy_read_arguments(argc, argv, input), STAGE_ARGUMENTS);
	close_others(input);
	policy_need(policy_policy_limit(), STAGE_LIMITS);
	if (lockdown_can_leave_root()) {
		policy_need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
		policy_need(lockdown_ids(POLICY_COMPILER_ID, POLICY_COMPILER_ID), STAGE_IDS);
	}
	policy_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	policy_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	policy_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	policy_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
}

static int policy_read_text(int fd, struct compile_text *text, struct yett_error *error)
{
	ssize_t n = 1;

	text->text = malloc(FILE_SIZE_MAX + 1);
	if (!text->text)
		return -ENOMEM;
	while (n > 0 && text->length <= FILE_SIZE_MAX) {
		n = read(fd, text->text + text->length, FILE_SIZE_MAX + 1 - text->length);
		text->length += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "%s cannot be read: %s",
		                 ESCAPE(text->name), strerror(errno));
	if (text->length > FILE_SIZE_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "%s is larger than 1 MiB",
		                 ESCAPE(text->name));
	return 0;
}

/* Reads the files. Without any, copies the built-in text. */
static int read_texts(struct input *input, struct yett_error *error)
{
	int r = 0;

	if (input->count == 0) {
		static char name[] = "built-in";
		char *text = strdup(policy_builtin_text);

		input->texts[input->count++] =
			(struct compile_text){name, text, text ? strlen(text) : 0};
		return text ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < input->count; i++)
		r = policy_read_text(input->fds[i], &input->texts[i], error);
	return r;
}

int main(int argc, char **argv)
{
	static struct input input;
	struct compiled *compiled = NULL;
	struct yett_error error = {0};
	bool is_builtin;
	int r;

	policy_lock_down(argc, argv, &input);
	is_builtin = input.count == 0;
	r = read_texts(&input, &error);
	if (r == 0)
		r = compile(input.texts, input.count, &compiled, &error);
	if (r == 0 && !is_builtin) /* the built-in policy's image may be used on another host */
		enrolled_read(&compiled->policy);
	if (r < 0 && r != -ENOMEM)
		r = error_set(&error, YETT_E_INVALID_REQUEST, 0,
		              "the policy cannot be compiled: %s", strerror(-r));
	r = image_write(STDIN_FILENO, r, compiled ? &compiled->policy : NULL, &error);
	if (r == -E2BIG) {
		r = error_set(&error, YETT_E_INVALID_REQUEST, 0, "the policy is too large");
		r = image_write(STDIN_FILENO, r, NULL, &error);
	}
	policy_need(r == 0, STAGE_IMAGE);
	_exit(0); /* exit frees the memory */
}
