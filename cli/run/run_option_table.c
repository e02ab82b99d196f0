/* SPDX-License-Identifier: Apache-2.0 */
/* See run_option_table.h. */
#include "cli/run/run_option_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units_parse.h"
#include "cli/parse.h"
#include "cli/run/run_options.h"
#include "cli/run/run_shares.h"

#define OUTPUTS "/mnt/session/outputs"

/*
 * The largest number of processes and of open files that a request can contain (PROTOCOL.md); the
 * former is the kernel's maximum of process ids.
 */
#define PIDS_MOST       4194304
#define FILES_MOST      1048576
#define DURATION_MAX_MS (30ULL * 24 * 3600 * 1000)

static int run_option_table_invalid(struct yett_error *error, const char *option, const char *value,
                                    const char *expected)
{
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s %s: expected %s", option,
	                 value, expected);
}

static int set_tmpfs(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;
	struct yett_tmpfs *entry = &options->tmpfs[options->tmpfs_count];
	char *target;

	if (options->tmpfs_count == RUN_TMPFS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d tmpfs",
		                 RUN_TMPFS_MAX);
	entry->size = sizeof *entry;
	if (parse_tmpfs(value, &target, &entry->size_bytes) < 0)
		return run_option_table_invalid(error, "tmpfs", value,
		                                "an absolute path, and a size like :64M or none");
	entry->target = target;
	options->tmpfs_count++;
	return 0;
}

static int set_network(void *into, const char *value, struct yett_error *error)
{
	static const struct {
		const char *word;
		enum yett_network network;
		bool ask;
	} words[] = {{"none", YETT_NETWORK_NONE, false},
	             {"limited", YETT_NETWORK_LIMITED, false},
	             {"ask", YETT_NETWORK_LIMITED, true},
	             {"open", YETT_NETWORK_OPEN, false},
	             {"host", YETT_NETWORK_HOST, false}};
	struct run_options *options = into;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(value, words[i].word) == 0) {
			options->network = words[i].network;
			options->ask = words[i].ask;
			return 0;
		}
	return run_option_table_invalid(error, "net", value, "none, limited, ask, open or host");
}

static int run_option_table_add_rule(struct run_options *options, const char *option,
                                     const char *value, struct yett_error *error)
{
	bool is_deny = strcmp(option, "--deny") == 0;
	_cleanup_free_ char *text = NULL;
	int r = parse_rule(option, value, &text, error);

	if (r)
		return r;
	if (options->allow_count + options->deny_count == RUN_RULES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "more than %d of --allow and --deny together", RUN_RULES_MAX);
	if (is_deny)
		options->deny[options->deny_count++] = steal_ptr(&text);
	else
		options->allow[options->allow_count++] = steal_ptr(&text);
	return 0;
}

OPTION_FLAG(set_allow_private, struct run_options, allow_private)

static int set_allow(void *into, const char *value, struct yett_error *error)
{
	return run_option_table_add_rule(into, "--allow", value, error);
}

static int set_deny(void *into, const char *value, struct yett_error *error)
{
	return run_option_table_add_rule(into, "--deny", value, error);
}

static int set_publish(void *into, const char *value, struct yett_error *error)
{
	return relays_add_port(&((struct run_options *)into)->relays, "--publish", value, error);
}

static int set_relay_socket(void *into, const char *value, struct yett_error *error)
{
	return relays_add_socket(&((struct run_options *)into)->relays, "--relay-socket", value,
	                         error);
}

/* Parses FROM:TO. The path inside is absolute and has no colon. */
static int add_copy(struct run_copy *copies, size_t *count, const char *option, const char *value,
                    struct yett_error *error)
{
	bool is_in = strcmp(option, "copy-in") == 0;
	const char *colon = is_in ? strrchr(value, ':') : strchr(value, ':');
	char *copy;

	if (!colon || colon == value || !colon[1] || (is_in ? colon[1] : value[0]) != '/')
		return run_option_table_invalid(error, option, value,
		                                is_in ? "PATH:INSIDE" : "INSIDE:PATH");
	if (*count == RUN_COPIES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d copies",
		                 RUN_COPIES_MAX);
	copy = strdup(value);
	if (!copy)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "no memory for --%s",
		                 option);
	copy[colon - value] = '\0';
	copies[(*count)++] = (struct run_copy){.from = copy, .to = copy + (colon - value) + 1};
	return 0;
}

static int set_copy_in(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_copy(options->copies_in, &options->copies_in_count, "copy-in", value, error);
}

static int set_copy_out(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_copy(options->copies_out, &options->copies_out_count, "copy-out", value, error);
}

/*
 * Makes the directory if it does not exist, and returns its path without symbolic links. Returns
 * NULL with the error set.
 */
static char *run_option_table_make_directory(const char *path, struct yett_error *error)
{
	char *real;

	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot make the directory %s: %m", path);
	else if (!(real = realpath(path, NULL)))
		(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot use the directory %s: %m", path);
	else
		return real;
	return NULL;
}

static int set_memory_dir(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	free(options->memory_dir);
	options->memory_dir = run_option_table_make_directory(value, error);
	return options->memory_dir ? 0 : YETT_E_FILE_OPERATION_FAILED;
}

/* Mounts an empty tmpfs inside, whose contents are copied out at the end. */
static int set_outputs(void *into, const char *value, struct yett_error *error)
{
	_cleanup_free_ char *directory = run_option_table_make_directory(value, error),
			    *copy = NULL;
	int r;

	if (!directory)
		return YETT_E_FILE_OPERATION_FAILED;
	if (asprintf(&copy, OUTPUTS "/.:%s", directory) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "no memory for --outputs");
	r = set_tmpfs(into, OUTPUTS, error);
	return r ? r : set_copy_out(into, copy, error);
}

static int set_env(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	if (!strchr(value, '=') || *value == '=')
		return run_option_table_invalid(error, "env", value, "NAME=VALUE");
	if (options->env_count == RUN_ENV_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "more than %d environment variables", RUN_ENV_MAX);
	options->env[options->env_count++] = value;
	return 0;
}

static int run_option_table_set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return run_option_table_invalid(error, "directory", value,
		                                "an absolute path inside");
	((struct run_options *)into)->directory = value;
	return 0;
}

static int set_memory(void *into, const char *value, struct yett_error *error)
{
	uint64_t bytes;

	if (units_parse_size(value, &bytes) < 0 || bytes == 0)
		return run_option_table_invalid(error, "memory", value, "a size like 64M or 2G");
	((struct run_options *)into)->limits.memory_bytes = bytes;
	return 0;
}

static int set_cpus(void *into, const char *value, struct yett_error *error)
{
	uint64_t millis;

	if (units_parse_cpus(value, &millis) < 0 || millis == 0)
		return run_option_table_invalid(error, "cpus", value,
		                                "a number of processors like 2 or 1.5");
	((struct run_options *)into)->limits.cpu_millis = millis;
	return 0;
}

/* `max` is the largest value that a request can contain. */
static int set_count(const char *name, const char *value, uint64_t max, uint64_t *ret_count,
                     struct yett_error *error)
{
	uint64_t count;
	char expected[48];

	if (units_parse_number(value, &count) < 0 || count == 0 || count > max) {
		(void)snprintf(expected, sizeof expected, "a number from 1 to %llu",
		               (unsigned long long)max);
		return run_option_table_invalid(error, name, value, expected);
	}
	*ret_count = count;
	return 0;
}

static int set_pids(void *into, const char *value, struct yett_error *error)
{
	return set_count("pids", value, PIDS_MOST, &((struct run_options *)into)->limits.pids,
	                 error);
}

static int set_files(void *into, const char *value, struct yett_error *error)
{
	return set_count("files", value, FILES_MOST, &((struct run_options *)into)->limits.files,
	                 error);
}

static int set_file_size(void *into, const char *value, struct yett_error *error)
{
	uint64_t bytes;

	if (units_parse_size(value, &bytes) < 0 || bytes == 0)
		return run_option_table_invalid(error, "file-size", value, "a size like 64M or 2G");
	((struct run_options *)into)->limits.file_bytes = bytes;
	return 0;
}

static int set_core(void *into, const char *value, struct yett_error *error)
{
	uint64_t bytes;

	if (units_parse_core(value, &bytes) < 0)
		return run_option_table_invalid(error, "core", value,
		                                "none, or a size of at least 4K like 64M or 2G");
	((struct run_options *)into)->limits.core_bytes = bytes;
	return 0;
}

static int set_duration(const char *name, const char *value, uint64_t *ret_ms,
                        struct yett_error *error)
{
	uint64_t ms;

	if (units_parse_duration(value, &ms) < 0 || ms == 0 || ms > DURATION_MAX_MS)
		return run_option_table_invalid(
			error, name, value,
			"a time like 300ms, 2s, 1.5m or 1h30m, of at most 30 days");
	*ret_ms = ms;
	return 0;
}

static int set_timeout(void *into, const char *value, struct yett_error *error)
{
	return set_duration("timeout", value, &((struct run_options *)into)->timeout_ms, error);
}

static int set_idle_timeout(void *into, const char *value, struct yett_error *error)
{
	return set_duration("idle-timeout", value, &((struct run_options *)into)->life.idle_ms,
	                    error);
}

static int set_wall_time(void *into, const char *value, struct yett_error *error)
{
	return set_duration("wall-time", value, &((struct run_options *)into)->life.wall_ms, error);
}

static int set_cpu_time(void *into, const char *value, struct yett_error *error)
{
	return set_duration("cpu-time", value, &((struct run_options *)into)->life.cpu_ms, error);
}

static int set_cleanup(void *into, const char *value, struct yett_error *error)
{
	return set_duration("cleanup-delay", value, &((struct run_options *)into)->life.cleanup_ms,
	                    error);
}

static int set_idle_action(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	if (strcmp(value, "end") != 0 && strcmp(value, "pause") != 0 &&
	    strcmp(value, "suspend") != 0)
		return run_option_table_invalid(error, "idle-action", value,
		                                "end, pause or suspend");
	options->life.idle_suspend = *value == 's';
	options->life.idle_action = *value == 'p' ? YETT_IDLE_PAUSE : YETT_IDLE_END;
	return 0;
}

static int add_label(const char **labels, size_t *count, const char *option, const char *value,
                     struct yett_error *error)
{
	if (!strchr(value, '=') || *value == '=' || *value == '#')
		return run_option_table_invalid(error, option, value, "KEY=VALUE");
	if (*count == RUN_LABELS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d of --%s",
		                 RUN_LABELS_MAX, option);
	labels[(*count)++] = value;
	return 0;
}

static int set_label(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_label(options->labels, &options->labels_count, "label", value, error);
}

static int set_annotation(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_label(options->annotations, &options->annotations_count, "annotation", value,
	                 error);
}

static int set_metadata(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	if (!strchr(value, '=') || *value == '=')
		return run_option_table_invalid(error, "metadata", value, "KEY=VALUE");
	if (options->metadata_count == RUN_METADATA_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "more than %d of --metadata", RUN_METADATA_MAX);
	options->metadata[options->metadata_count++] = value;
	return 0;
}

static int set_only(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	if (value[0] != '/')
		return run_option_table_invalid(error, "only", value, "an absolute path inside");
	if (options->only_paths_count == RUN_PATHS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d paths",
		                 RUN_PATHS_MAX);
	options->only_paths[options->only_paths_count++] = value;
	return 0;
}

static int run_option_table_set_user(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;
	uint64_t id;

	if (units_parse_number(value, &id) < 0 || id >= UINT32_MAX)
		return run_option_table_invalid(error, "user", value,
		                                "the number of a user inside");
	options->other_user = true;
	options->user = (uint32_t)id;
	return 0;
}

static int set_own_memory(void *into, const char *value, struct yett_error *error)
{
	uint64_t bytes;

	if (units_parse_size(value, &bytes) < 0 || bytes == 0)
		return run_option_table_invalid(error, "command-memory", value,
		                                "a size like 64M or 2G");
	((struct run_options *)into)->own.memory_bytes = bytes;
	return 0;
}

static int set_own_pids(void *into, const char *value, struct yett_error *error)
{
	return set_count("command-pids", value, PIDS_MOST, &((struct run_options *)into)->own.pids,
	                 error);
}

static int set_capture(void *into, const char *value, struct yett_error *error)
{
	uint64_t bytes;

	if (units_parse_size(value, &bytes) < 0 || bytes > YETT_CAPTURE_MAX)
		return run_option_table_invalid(error, "capture", value,
		                                "a size like 64K or 2M, of at most 16M");
	((struct run_options *)into)->capture_bytes = bytes;
	((struct run_options *)into)->capture = true;
	return 0;
}

OPTION_FLAG(set_rm, struct run_options, rm)
OPTION_FLAG(set_linger, struct run_options, life.linger)
OPTION_FLAG(set_tty, struct run_options, tty)
OPTION_FLAG(set_no_stdin, struct run_options, no_stdin)
OPTION_FLAG(set_read_only, struct run_options, deny_write)
OPTION_FLAG(set_no_network, struct run_options, deny_network)
OPTION_FLAG(set_background, struct run_options, background)
OPTION_FLAG(set_input, struct run_options, input_later)
OPTION_FLAG(set_dry_run, struct run_options, dry_run)
OPTION_TEXT(run_option_table_set_profile, struct run_options, profile)
OPTION_TEXT(set_name, struct run_options, name)
OPTION_TEXT(set_hostname, struct run_options, hostname)
OPTION_TEXT(set_socket, struct run_options, connect.socket_path)
OPTION_TEXT(set_key, struct run_options, connect.key_path)

/* Each macro has rows that several subcommands share, in the order of the help. */
#define TTY                                                                                    \
	OPTION('t', "tty", NULL, "run the command in a new terminal", set_tty),                \
		OPTION_RARE('n', "no-stdin", NULL, "give the command an empty standard input", \
	                    set_no_stdin)
#define BACKGROUND                                                                          \
	OPTION_RARE('b', "background", NULL, "start the command, print its id, and return", \
	            set_background),                                                        \
		OPTION_RARE(0, "capture", "SIZE",                                           \
	                    "keep up to SIZE of each output for yett logs and wait (1M)",   \
	                    set_capture),                                                   \
		OPTION_RARE(0, "input", NULL, "keep standard input open for yett input",    \
	                    set_input)
#define SHARED_PATHS                                                                            \
	OPTION(0, "ro", "PATH[:TARGET]", "share a file or directory, read-only; repeatable",    \
	       run_shares_set_ro),                                                              \
		OPTION(0, "rw", "PATH[:TARGET]",                                                \
	               "share a file or directory, writable; repeatable", run_shares_set_rw),   \
		OPTION(0, "cow", "PATH[:TARGET][:memory=SIZE]",                                 \
	               "share a directory copy-on-write: changes are kept apart; repeatable",   \
	               run_shares_set_cow),                                                     \
		OPTION_RARE(                                                                    \
			0, "store", "SANDBOX|STORE[:TARGET]",                                   \
			"share a directory with the changes of an earlier sandbox; repeatable", \
			run_shares_set_store),                                                  \
		OPTION_RARE(0, "hide", "GLOB",                                                  \
	                    "hide files of this name in --cow shares; repeatable",              \
	                    run_shares_set_hide),                                               \
		OPTION_RARE(0, "no-hide", "GLOB", "do not hide files of this name; repeatable", \
	                    run_shares_set_no_hide),                                            \
		OPTION_RARE(0, "share-socket", "PATH[:TARGET]",                                 \
	                    "share a Unix socket that the policy names; repeatable",            \
	                    run_shares_set_socket)
#define SHARES                                                                             \
	OPTION('p', "profile", "PROFILE", "use this profile of the policy (default)",      \
	       run_option_table_set_profile),                                              \
		SHARED_PATHS,                                                              \
		OPTION_RARE(0, "tmpfs", "TARGET[:SIZE]",                                   \
	                    "mount an empty directory in memory; repeatable", set_tmpfs),  \
		OPTION_RARE(0, "memory-dir", "DIR", "share DIR, writable, at /mnt/memory", \
	                    set_memory_dir)
#define NETWORK                                                                                 \
	OPTION(0, "net", "MODE", "network mode: none, limited (by rules), ask, open, or host",  \
	       set_network),                                                                    \
		OPTION(0, "allow", "HOST[:PORT]", "allow connections to this host; repeatable", \
	               set_allow),                                                              \
		OPTION(0, "deny", "HOST[:PORT]",                                                \
	               "deny connections to this host, whatever allows them; repeatable",       \
	               set_deny),                                                               \
		OPTION_RARE(0, "allow-private", NULL,                                           \
	                    "let allowed names resolve to private addresses", set_allow_private)
#define RELAYS                                                                                \
	OPTION(0, "publish", "[ADDR:]HOSTPORT:PORT",                                          \
	       "forward a port of the host to a port inside; repeatable", set_publish),       \
		OPTION_RARE(0, "relay-socket", "PATH[:TARGET]",                               \
	                    "forward a Unix socket of the host into the sandbox; repeatable", \
	                    set_relay_socket)
#define COPIES                                                                                 \
	OPTION_RARE(0, "copy-in", "PATH:INSIDE",                                               \
	            "copy a file or directory in before the command starts; repeatable",       \
	            set_copy_in),                                                              \
		OPTION_RARE(0, "copy-out", "INSIDE:PATH",                                      \
	                    "copy a file or directory out after the command ends; repeatable", \
	                    set_copy_out),                                                     \
		OPTION_RARE(0, "outputs", "DIR",                                               \
	                    "copy the contents of " OUTPUTS " to DIR at the end", set_outputs)
#define SURROUNDINGS                                                                             \
	OPTION('C', "directory", "DIR", "start the command in this directory inside",            \
	       run_option_table_set_directory),                                                  \
		OPTION('e', "env", "NAME=VALUE", "set an environment variable; repeatable",      \
	               set_env),                                                                 \
		OPTION_RARE(0, "metadata", "KEY=VALUE",                                          \
	                    "attach a note to the command, shown by yett ps --json; repeatable", \
	                    set_metadata)
#define RESTRICTIONS                                                                              \
	OPTION_RARE(0, "read-only", NULL, "do not let the command change files", set_read_only),  \
		OPTION_RARE(0, "no-network", NULL,                                                \
	                    "do not let the command open sockets other than Unix sockets",        \
	                    set_no_network),                                                      \
		OPTION_RARE(0, "only", "PATH",                                                    \
	                    "let the command access only this path and system files; repeatable", \
	                    set_only),                                                            \
		OPTION_RARE('u', "user", "UID", "run the command as this uid inside",             \
	                    run_option_table_set_user),                                           \
		OPTION_RARE(0, "command-memory", "SIZE", "limit the memory of this command",      \
	                    set_own_memory),                                                      \
		OPTION_RARE(0, "command-pids", "N", "limit the processes of this command",        \
	                    set_own_pids)
#define LIMITS                                                                                     \
	OPTION_RARE(0, "hostname", "NAME", "set the host name inside", set_hostname),              \
		OPTION(0, "memory", "SIZE", "limit memory, such as 64M or 2G", set_memory),        \
		OPTION(0, "cpus", "N", "limit processor time to N processors, such as 1.5",        \
	               set_cpus),                                                                  \
		OPTION(0, "pids", "N", "limit the number of processes and threads", set_pids),     \
		OPTION_RARE(0, "files", "N", "limit the number of open files of each process",     \
	                    set_files),                                                            \
		OPTION_RARE(0, "file-size", "SIZE", "limit the size of each file that is written", \
	                    set_file_size),                                                        \
		OPTION_RARE(0, "core", "SIZE", "write core files of at most this size on a crash", \
	                    set_core)
#define TIMEOUT                     \
	OPTION(0, "timeout", "DUR", \
	       "kill the command after this time, such as 300ms, 2s or 1h30m", set_timeout)
#define NAMES                                                                            \
	OPTION(0, "name", "NAME", "name the sandbox", set_name),                         \
		OPTION_RARE(0, "label", "KEY=VALUE",                                     \
	                    "add a label, to list sandboxes by; repeatable", set_label), \
		OPTION_RARE(0, "annotation", "KEY=VALUE",                                \
	                    "add a note, shown by yett inspect; repeatable", set_annotation)
#define LINGER                                                                             \
	OPTION(0, "rm", NULL, "discard the changes in --cow shares when the command ends", \
	       set_rm),                                                                    \
		OPTION_RARE(0, "linger", NULL, "keep the sandbox when the command ends",   \
	                    set_linger)
#define LIFE                                                                                    \
	OPTION_RARE(0, "idle-timeout", "DUR",                                                   \
	            "end the sandbox after this time without a running command",                \
	            set_idle_timeout),                                                          \
		OPTION_RARE(0, "idle-action", "ACTION",                                         \
	                    "what --idle-timeout does: end, pause, or suspend (create --name)", \
	                    set_idle_action),                                                   \
		OPTION_RARE(0, "wall-time", "DUR", "end the sandbox this time after its start", \
	                    set_wall_time),                                                     \
		OPTION_RARE(0, "cpu-time", "DUR",                                               \
	                    "end the sandbox after this much processor time", set_cpu_time),    \
		OPTION_RARE(0, "cleanup-delay", "DUR",                                          \
	                    "keep listing the sandbox for this time after its end", set_cleanup)
#define DRY_RUN                                                                                    \
	OPTION(0, "dry-run", NULL, "print the steps that would make the sandbox, and run nothing", \
	       set_dry_run)
#define ALL_BUT_TTY                                                                          \
	SHARES, NETWORK, RELAYS, COPIES, SURROUNDINGS, RESTRICTIONS, LIMITS, TIMEOUT, NAMES, \
		LINGER, LIFE, DRY_RUN, CONNECT_OPTIONS

const struct option run_options[] = {TTY, BACKGROUND, ALL_BUT_TTY, {0}};
const struct option shell_options[] = {ALL_BUT_TTY, {0}}; /* it always has a terminal */
const struct option create_options[] = {SHARES, NETWORK, LIMITS, NAMES, LIFE, CONNECT_OPTIONS, {0}};
const struct option exec_options[] = {TTY,          BACKGROUND, RELAYS,          SURROUNDINGS,
                                      RESTRICTIONS, TIMEOUT,    CONNECT_OPTIONS, {0}};
const struct option mount_options[] = {SHARED_PATHS, CONNECT_OPTIONS, {0}};
