/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett audit`: shows, verifies and exports the records of which user got which sandbox, makes the
 * key that seals them, and removes old ones.
 *
 * Runs as the caller, who must be root for records that yett-audit wrote. Contacts no helper.
 * Its verbs are show, export, keygen and prune.
 */
#include "cli/options.h"
#include "cli/subcommands.h"

#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/units_parse.h"
#include "cli/admin/audit_check.h"
#include "cli/admin/audit_files.h"
#include "cli/admin/audit_show.h"
#include "cli/output.h"
#include "programs/audit/field.h"

struct audit_options {
	const char *directory, *keep, *before, *since, *until;
	bool replaces;
	struct audit_check check;
	struct audit_filter filter;
};

OPTION_TEXT(cli_audit_set_directory, struct audit_options, directory)
OPTION_TEXT(set_key, struct audit_options, check.key)
OPTION_FLAG(set_pruned, struct audit_options, check.is_pruned)
OPTION_TEXT(set_keep, struct audit_options, keep)
OPTION_TEXT(cli_audit_set_before, struct audit_options, before)
OPTION_FLAG(set_replace, struct audit_options, replaces)
OPTION_TEXT(cli_audit_set_user, struct audit_options, filter.user)
OPTION_TEXT(cli_audit_set_sandbox, struct audit_options, filter.sandbox)
OPTION_TEXT(set_event, struct audit_options, filter.event)
OPTION_TEXT(set_rule, struct audit_options, filter.rule)
OPTION_TEXT(set_grant, struct audit_options, filter.grant)
OPTION_FLAG(set_commands, struct audit_options, filter.commands)
OPTION_FLAG(set_connections, struct audit_options, filter.connections)
OPTION_FLAG(set_denied, struct audit_options, filter.denied)
OPTION_TEXT(set_since, struct audit_options, since)
OPTION_TEXT(set_until, struct audit_options, until)

const struct option audit_options[] = {
	{0, "user", "USER", "show: entries about this user, by name or uid", cli_audit_set_user},
	{0, "sandbox", "SANDBOX", "show: entries about this sandbox, by id or name",
         cli_audit_set_sandbox},
	{0, "event", "EVENT",
         "show: create, failed, act, ended, refused, merged, policy, command, followed, connection, denied, segment, torn, lost or pruned",
         set_event},
	{0, "commands", NULL, "show: commands, where the profile records them", set_commands},
	{0, "connections", NULL, "show: connections, where the profile records them",
         set_connections},
	{0, "denied", NULL, "show: denied connections, names and system calls", set_denied},
	{0, "rule", "TEXT", "show: entries whose rule's key, file or line holds this text",
         set_rule},
	{0, "grant", "GRANT", "show: entries about what this grant gave", set_grant},
	{0, "since", "TIME",
         "show, export: from YYYY-MM-DD, \"YYYY-MM-DD HH:MM\", or a time ago (2h, 7d)", set_since},
	{0, "until", "TIME", "show, export: up to this time", set_until},
	{0, "key", "FILE", "verify: use the keys of yett audit keygen in this file (-: stdin)",
         set_key},
	{0, "pruned", NULL, "verify: accept that the first segments were removed", set_pruned},
	{0, "keep", "SIZE", "prune: remove the oldest segments beyond this size", set_keep},
	{0, "before", "TIME", "prune: remove segments that end before this time",
         cli_audit_set_before},
	{0, "replace", NULL, "keygen: replace a key that yett-audit has not yet taken up",
         set_replace},
	{0, "dir", "DIR", "use the records in this directory (" AUDIT_DIR ")",
         cli_audit_set_directory},
	{0},
};

static int read_times(struct audit_options *options, struct yett_error *error)
{
	int r = 0;

	if (options->since)
		r = audit_show_time("since", options->since, options->filter.since, error);
	if (r == 0 && options->until)
		r = audit_show_time("until", options->until, options->filter.until, error);
	return r;
}

/* --- show ------------------------------------------------------------------------------------- */

static void show_segment(const struct audit_filter *filter, const char *bytes, size_t size)
{
	const char *end;

	for (const char *at = bytes; size > 0 && (end = memchr(at, '\n', size));
	     size -= (size_t)(end + 1 - at), at = end + 1) {
		size_t length = (size_t)(end - at);

		if (!field_is_object(at, length) || !audit_show_is_wanted(filter, at, length))
			continue;
		if (output_json())
			json_raw(output_json(), NULL, at, length);
		else
			audit_show_print(at, length);
	}
}

static int cli_audit_show(const struct audit_options *options, struct audit_files *files,
                          struct yett_error *error)
{
	int r = 0;

	if (output_json())
		json_open(output_json(), "records", '[');
	for (size_t i = 0; i < files->count && r == 0; i++) {
		_cleanup_free_ char *bytes = NULL;
		char name[32];

		r = audit_files_read(files, i, name, &bytes, error);
		if (r == 0)
			show_segment(&options->filter, bytes, files->sizes[i]);
		if (r == 0 && !output_json())
			r = output_flush("to standard output", error);
	}
	if (output_json())
		json_close(output_json());
	return r;
}

/* --- export ----------------------------------------------------------------------------------- */

/* The time of the first record of a segment; empty if the segment has no record. */
static void first_time(const char *bytes, size_t size, char time[static 32])
{
	const char *end = memchr(bytes, '\n', size);

	*time = '\0';
	if (end)
		(void)field_text(bytes, (size_t)(end - bytes), "time", time, 32);
}

/*
 * Whether segment i + 1 begins before `time`, so that segment i has no record from that time or
 * later. False for the last segment.
 */
static int is_before(const struct audit_files *files, size_t i, const char *time, bool *ret_is,
                     struct yett_error *error)
{
	_cleanup_free_ char *bytes = NULL;
	char name[32], first[32];
	int r = 0;

	*ret_is = false;
	if (i + 1 >= files->count)
		return 0;
	r = audit_files_read(files, i + 1, name, &bytes, error);
	if (r)
		return r;
	first_time(bytes, files->sizes[i + 1], first);
	*ret_is = *first && strncmp(first, time, strlen(time)) < 0;
	return 0;
}

static int export_segment(const struct audit_options *options, const struct audit_files *files,
                          size_t i, bool *ret_goes_on, struct yett_error *error)
{
	_cleanup_free_ char *bytes = NULL;
	char name[32], first[32];
	int r = audit_files_read(files, i, name, &bytes, error);

	if (r)
		return r;
	first_time(bytes, files->sizes[i], first);
	*ret_goes_on = !*options->filter.until || !*first ||
	               strncmp(first, options->filter.until, strlen(options->filter.until)) <= 0;
	if (!*ret_goes_on)
		return 0;
	audit_check_export_segment(stdout, files->numbers[i], bytes, files->sizes[i]);
	return output_flush("to standard output", error);
}

/* Exports whole segments: a chain can be verified only from the beginning of a segment. */
static int export(const struct audit_options *options, struct audit_files *files,
                  struct yett_error *error)
{
	bool is_old = *options->filter.since != '\0', goes_on = true;
	int r = 0;

	if (output_json())
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "export writes records as they are: there is no --json of it");
	for (size_t i = 0; i < files->count && r == 0 && goes_on; i++) {
		if (is_old)
			r = is_before(files, i, options->filter.since, &is_old, error);
		if (r == 0 && !is_old)
			r = export_segment(options, files, i, &goes_on, error);
	}
	if (r == 0 && goes_on && files->has_state)
		audit_check_export_state(stdout, &files->state);
	return r ? r : output_flush("to standard output", error);
}

/* --- keygen ----------------------------------------------------------------------------------- */

/*
 * Empties the slot of the state file in which a new chain waits for yett-audit. A chain that waits
 * there is removed only with --replace. The removal is safe: until yett-audit takes a chain up,
 * nobody but root has seen the chain's key and no record depends on the chain.
 */
static int cli_audit_make_room(const struct audit_options *options, int state,
                               struct yett_error *error)
{
	struct slots_next waiting;
	int r = slots_read_next(state, &waiting);

	sodium_memzero(&waiting, sizeof waiting);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "the state cannot be read: %s", strerror(-r));
	if (!options->replaces)
		return error_set(
			error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
			"a new key is waiting already: yett-audit starts using it when the current minute of the log ends. If you have lost that key, use --replace");
	/* yett-audit, which holds the lock while it runs, may be taking the key up right now. */
	if (flock(state, LOCK_EX | LOCK_NB) < 0)
		return error_set(
			error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
			"yett-audit is running, and is about to use the new key; make another key after that");
	r = slots_wipe_next(state);
	return r == 0 ? 0
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "the state cannot be written: %s", strerror(-r));
}

static void cli_audit_print_key(const struct slots_next *next)
{
	char text[CHAIN_KEY_TEXT_SIZE], chain[CHAIN_HEX_SIZE];

	(void)chain_print_key(next->id, next->key, text);
	(void)chain_hex(next->id, sizeof next->id, chain);
	if (output_json()) {
		json_text(output_json(), "key", text);
		json_text(output_json(), "chain", chain);
	} else {
		(void)printf("%s\n", text);
	}
	output_note(
		"this key is stored nowhere else: keep it on another machine or on paper. yett-audit seals with it from the end of its minute, or from its "
		"next start");
	sodium_memzero(text, sizeof text);
}

static int keygen(const struct audit_options *options, struct audit_files *files,
                  struct yett_error *error)
{
	_cleanup_fd_ int state = audit_files_open_state(files, error);
	struct slots_next next;
	int r;

	if (state < 0)
		return (int)error->code;
	r = cli_audit_make_room(options, state, error);
	if (r)
		return r;
	randombytes_buf(next.id, sizeof next.id);
	randombytes_buf(next.key, sizeof next.key);
	r = slots_write_next(state, &next);
	if (r == 0)
		cli_audit_print_key(&next);
	sodium_memzero(&next, sizeof next);
	return r == 0 ? output_flush("the key", error)
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "the state cannot be written: %s", strerror(-r));
}

/* --- prune ------------------------------------------------------------------------------------ */

/*
 * Whether prune must remove segment i, the oldest that is left. `left` is the size of all segments
 * that are left, `keep` the limit of --keep, in bytes.
 */
static int cli_audit_is_to_go(const struct audit_options *options, const struct audit_files *files,
                              size_t i, uint64_t keep, uint64_t left, const char *before,
                              bool *ret_goes, struct yett_error *error)
{
	*ret_goes = options->keep && left > keep;
	return *ret_goes || !options->before ? 0 : is_before(files, i, before, ret_goes, error);
}

/*
 * Returns how many of the oldest segments may be removed: all before the one that yett-audit is
 * writing to, or, without a state, all before the last segment that is not empty.
 */
static size_t count_removable(const struct audit_files *files)
{
	size_t count = files->count;

	while (count > 0 && files->sizes[count - 1] == 0)
		count--;
	while (count > 0 && files->has_state && files->numbers[count - 1] >= files->state.segment)
		count--;
	return files->has_state || count == 0 ? count : count - 1;
}

/*
 * Writes into the state what was removed: yett-audit then subtracts it from the space used, and
 * records the removal in its next record.
 */
static int note_pruned(int state, uint32_t first, uint64_t bytes, struct yett_error *error)
{
	struct slots_pruned pruned = {0};
	int r = slots_read_pruned(state, &pruned);

	pruned.first = first;
	pruned.bytes += bytes;
	if (r == 0 || r == -ENOENT)
		r = slots_write_pruned(state, &pruned);
	return r == 0 ? 0
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "the state cannot be written: %s", strerror(-r));
}

static int cli_audit_prune(const struct audit_options *options, struct audit_files *files,
                           struct yett_error *error)
{
	uint64_t keep = 0, left = 0, gone = 0;
	char before[32] = "";
	size_t i = 0, count = count_removable(files);
	_cleanup_fd_ int state = -1;
	bool goes = true;
	int r = 0;

	if (!options->keep == !options->before)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "prune takes --keep SIZE or --before TIME");
	if (options->keep && units_parse_size(options->keep, &keep) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--keep %s: expected a size, as 500M", options->keep);
	if (options->before)
		r = audit_show_time("before", options->before, before, error);
	if (r == 0)
		r = (state = audit_files_open_state(files, error)) < 0 ? (int)error->code : 0;
	for (size_t j = 0; j < files->count; j++)
		left += files->sizes[j];
	for (; r == 0 && i < count; i++) {
		r = cli_audit_is_to_go(options, files, i, keep, left, before, &goes, error);
		if (r || !goes)
			break;
		r = audit_files_remove(files, i, error);
		if (r)
			break;
		left -= files->sizes[i];
		gone += files->sizes[i];
	}
	if (i > 0) {
		struct yett_error other;
		int noted = note_pruned(state, files->numbers[i - 1] + 1, gone, r ? &other : error);

		r = r ? r : noted;
	}
	if (output_json()) {
		json_number(output_json(), "removed", i);
		json_number(output_json(), "removed_bytes", gone);
		json_number(output_json(), "left_bytes", left);
	} else if (r == 0) {
		(void)printf("%zu segments removed, %llu bytes; %llu bytes are left\n", i,
		             (unsigned long long)gone, (unsigned long long)left);
	}
	return r;
}

/* --- the subcommand --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(const struct audit_options *options, struct audit_files *files,
	           struct yett_error *error);
} verbs[] = {{"show", cli_audit_show},
             {"export", export},
             {"keygen", keygen},
             {"prune", cli_audit_prune}};

static int run_verb(size_t verb, const struct audit_options *options, struct yett_error *error)
{
	const char *directory = options->directory ? options->directory : AUDIT_DIR;
	struct audit_files files = {.directory = -1};
	int r;

	/* A key can be made before yett-audit has created the directory. */
	if (verbs[verb].run == keygen && mkdir(directory, 0700) < 0 && errno != EEXIST)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "%s cannot be made: %s", directory, strerror(errno));
	r = audit_files_open(directory, &files, error);
	if (r == 0)
		r = verbs[verb].run(options, &files, error);
	audit_files_close(&files);
	return r;
}

int audit_main(const struct subcommand *self, int argc, char **argv)
{
	struct audit_options options = {0};
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);
	size_t verb = 0;
	bool verifies;

	if (r >= 0)
		return r;
	verifies = strcmp(argv[first], "verify") == 0;
	while (verb < ARRAY_SIZE(verbs) && strcmp(argv[first], verbs[verb].name) != 0)
		verb++;
	if (sodium_init() < 0)
		r = error_set(&error, YETT_E_UNSUPPORTED, YETT_R_NONE, "libsodium cannot be used");
	else if (verb == ARRAY_SIZE(verbs) && !verifies)
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "expected show, verify, export, keygen or prune, and not %.80s",
		              argv[first]);
	else if (first + 1 < argc && !verifies)
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "only verify takes files");
	else
		r = read_times(&options, &error);
	if (r == 0)
		r = audit_show_prepare(&options.filter, &error);
	if (r == 0 && verifies) {
		options.check.directory = options.directory  ? options.directory
		                          : first + 1 < argc ? NULL
		                                             : AUDIT_DIR;
		return audit_check_run(&options.check, argc - first - 1, argv + first + 1);
	}
	if (r == 0)
		r = run_verb(verb, &options, &error);
	if (r)
		output_error(&error);
	return r == 0 ? 0 : r == YETT_E_INVALID_REQUEST ? EXIT_USAGE : EXIT_FAILED;
}
