/* SPDX-License-Identifier: Apache-2.0 */
/*
 * with_layer LAYER PROGRAM [ARGUMENT…]: runs the program with exactly one of a sandbox's layers of
 * defence around it, as root and on the host: nothing else is between it and the machine.
 *
 * seccomp, landlock and capabilities are init's own steps (programs/inside/init/start.c and
 * launch.c), on a configuration made of the shipped policy; which of them are on is for
 * layer_is_on() to say, whose place below is taken by one of ours. The two labels come with exec,
 * as the helper has init get them. The layer of namespaces and ids is none of this program's: it is
 * a real sandbox whose profile leaves the others out. Exit status 77: this machine does not have
 * the layer.
 */
#include "programs/inside/init/launch.h"
#include "programs/inside/init/layer.h"
#include "programs/inside/init/start.h"
#include "programs/decide/policy/compile.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOT_HERE 77
#define BROKEN   78

/* The label of the shipped profile "default", and that of its commands. Any two categories will do.
 */
#define APPARMOR_LABEL "exec yett-sandbox"
#define SELINUX_LABEL  "unconfined_u:unconfined_r:yett_sandbox_t:s0-s0:c1,c600"

extern char **environ;

/* init's steps that do the layer's work, or the label. */
static const struct layer {
	const char *name, *steps[3];
	const char *label_file, *label;
} layers[] = {
	{"seccomp", {"system-call-filter"}, NULL, NULL},
	{"landlock", {"landlock"}, NULL, NULL},
	/* Without the other, the capabilities would be back with the next program: it is root that
           executes it. */
	{"capabilities", {"capabilities", "no-new-privileges"}, NULL, NULL},
	{"apparmor", {NULL}, "/proc/self/attr/apparmor/exec", APPARMOR_LABEL},
	{"selinux", {NULL}, "/proc/self/attr/exec", SELINUX_LABEL},
};

/* Steps that start a program and are no defence. */
static const char *const neutral[] = {"descriptors",       "session",   "memory",
                                      "request",           "arguments", "stdio",
                                      "working-directory", "execute"};

static const struct layer *chosen;

bool layer_is_on(const struct init_config *config, const char *name)
{
	(void)config;
	for (size_t i = 0; i < ARRAY_SIZE(neutral); i++)
		if (strcmp(name, neutral[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(chosen->steps) && chosen->steps[i]; i++)
		if (strcmp(name, chosen->steps[i]) == 0)
			return true;
	return false;
}

static _Noreturn void give_up(const char *what, int r)
{
	(void)fprintf(stderr, "with_layer %s: %s: %s\n", chosen->name, what,
	              strerror(r < 0 ? -r : r));
	_exit(BROKEN);
}

static void add(struct init_config *config, const void *data, size_t size)
{
	if (size > INIT_DATA_MAX - config->data_used)
		give_up("configuration", E2BIG);
	memcpy(config->data + config->data_used, data, size);
	config->data_used += (uint32_t)size;
}

static void add_path(struct init_config *config, enum init_path access, const char *path)
{
	const char first = (char)access;

	add(config, &first, 1);
	add(config, path, strlen(path) + 1);
	config->paths_count++;
}

/* What init/build/derive.c would say of a sandbox with the shipped policy's default profile, which
 * shares $ATTACK_DIR. */
static void fill(struct init_config *config, const struct policy_profile *profile,
                 const char *program)
{
	const char *share = getenv("ATTACK_DIR");
	struct stat st;

	if (!share || stat(share, &st) < 0)
		give_up("$ATTACK_DIR", ENOENT);
	config->uid = st.st_uid;
	config->gid = st.st_gid;
	config->fds_present = 1;
	/* There is no supervisor to forbid anything: the filter does, as where the kernel has no
	 * listeners. */
	for (size_t i = 0; i < profile->init_filter_count; i++)
		if (profile->init_filter[i].code == (BPF_RET | BPF_K) &&
		    profile->init_filter[i].k == SECCOMP_RET_USER_NOTIF)
			profile->init_filter[i].k = SECCOMP_RET_ERRNO | EPERM;
	config->init_filter_count = (uint32_t)profile->init_filter_count;
	config->command_filter_count = (uint32_t)profile->command_filter_count;
	add(config, profile->init_filter,
	    profile->init_filter_count * sizeof *profile->init_filter);
	add(config, profile->command_filter,
	    profile->command_filter_count * sizeof *profile->command_filter);
	for (size_t i = 0; i < profile->system.count; i++)
		if (lstat(profile->system.items[i], &st) == 0 && S_ISDIR(st.st_mode))
			add_path(config, INIT_PATH_READ, profile->system.items[i]);
	add_path(config, INIT_PATH_READ, program);
	add_path(config, INIT_PATH_WRITE, share);
}

static void compile_profile(struct init_config *config, const char *program)
{
	_cleanup_(compiled_freep) struct compiled *compiled = NULL;
	_cleanup_free_ char *text = strdup(policy_builtin_text);
	const struct compile_text part = {(char[]){"built-in"}, text, text ? strlen(text) : 0};
	const struct policy_profile *profile;
	struct yett_error error = {0};

	if (!text || compile(&part, 1, &compiled, &error) != 0)
		give_up(error.message, EINVAL);
	profile = &compiled->policy.profiles[0]; /* "default" */
	if (strcmp(profile->name, "default") != 0)
		give_up("the first profile of the shipped policy", EINVAL);
	fill(config, profile, program);
}

/* init reads its configuration from its control socket. */
static void send_config(const struct init_config *config)
{
	size_t length = offsetof(struct init_config, data) + config->data_used;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    send(ends[0], config, length, 0) < 0)
		give_up("control socket", errno);
	if (ends[1] != INIT_FD_CONTROL && dup2(ends[1], INIT_FD_CONTROL) < 0)
		give_up("control socket", errno);
}

static void make_message(struct message *message, char *const program[])
{
	struct message_exec *exec = &message->body.exec;
	int r = 0;

	message->kind = MESSAGE_EXEC;
	for (size_t i = 0; r == 0 && program[i]; i++)
		r = message_add_text(message, program[i], &exec->argv[exec->argv_count++]);
	for (char **entry = environ; r == 0 && *entry && exec->env_count < MESSAGE_ENV_MAX; entry++)
		r = message_add_text(message, *entry, &exec->env[exec->env_count++]);
	if (r == 0)
		r = message_add_text(message, "/", &exec->cwd);
	if (r < 0)
		give_up("message", r);
}

static int run_by_init(char *const program[])
{
	static struct init_config config;
	static struct message message;
	static struct session session;
	struct launch_child child;
	struct launch_failure failure = {0};
	struct yett_error error = {0};
	const char *step = "";
	int r, status;

	compile_profile(&config, program[0]);
	make_message(&message, program);
	send_config(&config);
	r = start_run(&config, false, &step);
	if (r < 0)
		give_up(step, r);
	if (strcmp(chosen->name, "landlock") == 0 && config.landlock_abi == 0)
		return NOT_HERE;
	r = launch_fork(&config, &session, -1, &child);
	if (r == 0)
		r = frame_send_message(child.socket, &message, 1, NULL, 0, 0);
	if (r < 0)
		give_up("launch", r);
	if (waitpid(child.pid, &status, 0) != child.pid)
		give_up("waitpid", errno);
	if (read(child.socket, &failure, sizeof failure) > 0) {
		launch_describe(&failure, &error);
		give_up(error.message, failure.error);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

static int run_with_label(char *const program[])
{
	_cleanup_fd_ int fd = open(chosen->label_file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return NOT_HERE;
	/* EINVAL: the kernel's LSM, if there is one, does not know the label. */
	if (write(fd, chosen->label, strlen(chosen->label)) < 0)
		return errno == EINVAL || errno == ENOENT ? NOT_HERE
		                                          : (give_up("label", errno), BROKEN);
	(void)execve(program[0], program, environ);
	give_up("execve", errno);
}

int main(int argc, char *argv[])
{
	for (size_t i = 0; argc >= 3 && i < ARRAY_SIZE(layers); i++)
		if (strcmp(argv[1], layers[i].name) == 0)
			chosen = &layers[i];
	if (!chosen) {
		(void)fprintf(stderr, "Usage: with_layer LAYER PROGRAM [ARGUMENT…]\n");
		return 2;
	}
	return chosen->label ? run_with_label(argv + 2) : run_by_init(argv + 2);
}
