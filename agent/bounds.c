/* SPDX-License-Identifier: Apache-2.0 */
/* See bounds.h. */
#include "agent/bounds.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "agent/sandbox_words.h"
#include "base/beneath.h"
#include "base/net_rule_parse.h"
#include "base/own_place.h"
#include "base/units_parse.h"

/* Bytes of the hash. A short one is enough: only the user could construct a collision. */
#define LABEL_HASH 8

static const char *const whose[] = {"own", "all", NULL};

static const struct field share_fields[] = {
	{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 4095, "A directory or file, absolute"},
	{"mode", FIELD_CHOICE, FIELD_NULLABLE, .choices = sandbox_words_modes, .fallback = "\"ro\"",
         .description = "The widest mode that is allowed: rw includes cow and ro, cow includes ro"},
	{0},
};

const struct field bounds_fields[] = {
	{"shares", FIELD_OBJECTS, FIELD_NULLABLE, 0, SANDBOX_WORDS_SHARES_MAX,
         "Paths that may be shared, with all below them. Default: the current directory, copy-on-write",
         .fields = share_fields},
	{"profiles", FIELD_TEXTS, FIELD_NULLABLE, 0, 64,
         "The profiles that requests may name. Default: those of light and strong"},
	{"network", FIELD_CHOICE, FIELD_NULLABLE, .choices = sandbox_words_networks,
         .description = "The widest network that is allowed", .fallback = "\"none\""},
	{"allow", FIELD_TEXTS, FIELD_NULLABLE, 0, 256,
         "Rules that requests may use with network limited: each of these, or a part of one"},
	{"memory_bytes", FIELD_NUMBER, FIELD_NULLABLE, 1, INT64_MAX,
         "The most memory that a sandbox may have, and the default"},
	{"cpus", FIELD_REAL, FIELD_NULLABLE, .description = "Processors, likewise"},
	{"pids", FIELD_NUMBER, FIELD_NULLABLE, 1, 4194304, "Processes and threads, likewise"},
	{"sandboxes", FIELD_CHOICE, FIELD_NULLABLE, .choices = whose,
         .description =
                 "own: requests see and use only sandboxes of agents that were started in the same directory with the same bounds; all: all of the user's",
         .fallback = "\"own\""},
	{0},
};

static int bounds_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "no memory for what may be asked for");
}

/* --- options ---------------------------------------------------------------------------------- */

/* Appends to a list in the object; creates the list if it is missing. */
static int bounds_append(json_t *given, const char *list, json_t *value)
{
	if (!json_object_get(given, list) && json_object_set_new(given, list, json_array()) < 0)
		return -ENOMEM;
	return json_array_append_new(json_object_get(given, list), value) < 0 ? -ENOMEM : 0;
}

static int take_share(json_t *given, const char *mode, const char *path)
{
	char resolved[PATH_MAX];

	/*
	 * Keep the name as given, so that requests may use the same name. A relative path is
	 * replaced by its real path.
	 */
	if (path[0] != '/') {
		if (!realpath(path, resolved))
			return -errno;
		path = resolved;
	}
	if (!field_is_text(path, strlen(path)))
		return -EILSEQ;
	return bounds_append(given, "shares", json_pack("{s:s, s:s}", "path", path, "mode", mode));
}

static int bounds_take_number(json_t *given, const char *name, const char *value)
{
	uint64_t number = 0;
	int r = strcmp(name, "memory") == 0 ? units_parse_size(value, &number)
	        : strcmp(name, "cpus") == 0 ? units_parse_cpus(value, &number)
	                                    : units_parse_number(value, &number);

	if (r < 0 || number == 0 || number > INT64_MAX)
		return -EINVAL;
	if (strcmp(name, "cpus") == 0)
		return json_object_set_new(given, "cpus", json_real((double)number / 1000)) < 0
		               ? -ENOMEM
		               : 0;
	return json_object_set_new(given, strcmp(name, "memory") == 0 ? "memory_bytes" : name,
	                           json_integer((json_int_t)number)) < 0
	               ? -ENOMEM
	               : 0;
}

int bounds_take_option(json_t *given, const char *name, const char *value, struct yett_error *error)
{
	int r;

	if (strcmp(name, "allow") == 0)
		r = bounds_append(given, "allow", json_string(value));
	else if (strcmp(name, "profile") == 0)
		r = bounds_append(given, "profiles", json_string(value));
	else if (strcmp(name, "net") == 0 || strcmp(name, "sandboxes") == 0)
		r = json_object_set_new(given, strcmp(name, "net") == 0 ? "network" : name,
		                        json_string(value)) < 0
		            ? -EINVAL
		            : 0;
	else if (strcmp(name, "ro") == 0 || strcmp(name, "rw") == 0 || strcmp(name, "cow") == 0)
		r = take_share(given, name, value);
	else
		r = bounds_take_number(given, name, value);
	return r < 0 ? error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s %.200s: %s",
	                         name, value, strerror(-r))
	             : 0;
}

/* --- making the bounds ------------------------------------------------------------------------ */

static int bounds_add_share(struct bounds *bounds, const char *path, const char *mode,
                            struct yett_error *error)
{
	struct bounds_share *share = &bounds->shares[bounds->shares_count];
	char *real;

	if (path[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "cannot share %.200s: expected an absolute path", path);
	*share = (struct bounds_share){.path = strdup(path), .fd = open(path, O_PATH | O_CLOEXEC)};
	bounds->shares_count++;
	if (share->fd < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "%.200s may not be shared: %m", path);
	real = realpath(path, NULL);
	if (!share->path || !real) {
		free(real);
		return bounds_no_memory(error);
	}
	/* "/home/ann/" is "/home/ann" */
	for (size_t length = strlen(share->path); length > 1 && share->path[length - 1] == '/';)
		share->path[--length] = '\0';
	share->real = real;
	share->flags = sandbox_words_share_flags(mode);
	if (share->flags & YETT_SHARE_WRITABLE)
		share->flags |= YETT_SHARE_COW;
	return 0;
}

/*
 * False for the home directory, the system's directories, and directories above them: a user who
 * starts the agent there did not mean to share all of that.
 */
static bool is_work(const char *directory)
{
	const struct passwd *user = getpwuid(getuid());
	const char *named = secure_getenv("HOME");
	_cleanup_free_ char *of_user = user ? realpath(user->pw_dir, NULL) : NULL,
			    *of_environment = named ? realpath(named, NULL) : NULL;

	return own_place_of(directory, of_user) == OWN_PLACE_WORK &&
	       own_place_of(directory, of_environment) == OWN_PLACE_WORK;
}

static int make_shares(struct bounds *bounds, const json_t *list, struct yett_error *error)
{
	_cleanup_free_ char *here = list ? NULL : realpath(".", NULL);
	size_t count = list ? json_array_size(list) : 1, i;
	json_t *one;
	int r = 0;

	bounds->shares = calloc(count + 1, sizeof *bounds->shares);
	if (!bounds->shares)
		return bounds_no_memory(error);
	if (!list && here && is_work(here))
		return bounds_add_share(bounds, here, "cow", error);
	json_array_foreach(list, i, one)
	{
		r = bounds_add_share(bounds, field_text(one, "path"), field_text(one, "mode"),
		                     error);
		if (r != 0)
			break;
	}
	return r;
}

static int make_network(struct bounds *bounds, const json_t *given, struct yett_error *error)
{
	const json_t *list = field_get(given, "allow");
	const char *network = field_text(given, "network");
	json_t *one;
	size_t i;
	int r = 0;

	bounds->network = list ? YETT_NETWORK_LIMITED : YETT_NETWORK_NONE;
	if (network)
		bounds->network = sandbox_words_network(network);
	if (list && bounds->network == YETT_NETWORK_NONE)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "allow has rules, but the network is none: leave out either");
	bounds->allow = calloc(json_array_size(list) + 1, sizeof *bounds->allow);
	if (!bounds->allow)
		return bounds_no_memory(error);
	json_array_foreach(list, i, one)
	{
		r = net_rule_parse(json_string_value(one), &bounds->allow[i], error);
		if (r != 0)
			break;
		bounds->allow_count++;
	}
	return r;
}

static int make_profiles(struct bounds *bounds, const json_t *list, const char *const tiers[2])
{
	json_t *of_tiers = list ? NULL : json_pack("[s, s]", tiers[0], tiers[1]);

	bounds->profiles = field_strings(list ? list : of_tiers);
	json_decref(of_tiers);
	return bounds->profiles ? 0 : -ENOMEM;
}

/*
 * Computes the label. Agents that were started with the same bounds in the same directory get the
 * same label. See crypto_generichash(3).
 */
static int make_label(struct bounds *bounds, const json_t *given)
{
	_cleanup_free_ char *here = realpath(".", NULL),
			    *text = json_dumps(given, JSON_COMPACT | JSON_SORT_KEYS);
	unsigned char hash[crypto_generichash_BYTES_MIN];
	crypto_generichash_state state;
	size_t used;

	if (!text || sodium_init() < 0)
		return -ENOMEM;
	(void)crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES_MIN);
	(void)crypto_generichash_update(&state, (const unsigned char *)(here ? here : ""),
	                                here ? strlen(here) + 1 : 1);
	(void)crypto_generichash_update(&state, (const unsigned char *)text, strlen(text) + 1);
	/* Without given profiles, these are the profiles of the tiers, which the settings name. */
	for (char **at = bounds->profiles; *at; at++)
		(void)crypto_generichash_update(&state, (const unsigned char *)*at,
		                                strlen(*at) + 1);
	(void)crypto_generichash_final(&state, hash, sizeof hash);
	used = (size_t)snprintf(bounds->label, sizeof bounds->label, "%s", BOUNDS_LABEL "=");
	(void)sodium_bin2hex(bounds->label + used, sizeof bounds->label - used, hash, LABEL_HASH);
	return 0;
}

int bounds_make(struct bounds *bounds, const json_t *given, const char *const tiers[2],
                struct yett_error *error)
{
	const json_t *cpus = field_get(given, "cpus");
	int r = fields_check(bounds_fields, given, error);

	*bounds = (struct bounds){0};
	if (r == 0)
		r = make_shares(bounds, field_get(given, "shares"), error);
	if (r == 0)
		r = make_network(bounds, given, error);
	if (r == 0 && make_profiles(bounds, field_get(given, "profiles"), tiers) < 0)
		r = bounds_no_memory(error);
	if (r == 0 && cpus && !sandbox_words_is_cpus(json_number_value(cpus)))
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		              SANDBOX_WORDS_CPUS_WANTED);
	if (r == 0) {
		bounds->memory_bytes = (uint64_t)field_number(given, "memory_bytes", 0);
		bounds->cpu_millis = (uint64_t)((cpus ? json_number_value(cpus) : 0) * 1000 + 0.5);
		bounds->pids = (uint64_t)field_number(given, "pids", 0);
		bounds->has_all_sandboxes = field_text(given, "sandboxes") &&
		                            strcmp(field_text(given, "sandboxes"), "all") == 0;
		r = make_label(bounds, given) < 0 ? bounds_no_memory(error) : 0;
	}
	if (r != 0)
		bounds_free(bounds);
	return r;
}

void bounds_free(struct bounds *bounds)
{
	for (size_t i = 0; i < bounds->shares_count; i++) {
		free(bounds->shares[i].path);
		free(bounds->shares[i].real);
		fd_close(bounds->shares[i].fd);
	}
	free(bounds->shares);
	free(bounds->allow);
	free(bounds->profiles);
	*bounds = (struct bounds){0};
}

/* --- requests --------------------------------------------------------------------------------- */

/*
 * Returns the part of `path` below the share, without leading slashes. NULL: `path` is outside the
 * share.
 */
static const char *below(const struct bounds_share *share, const char *path)
{
	const char *above = own_place_is_below(path, share->path)   ? share->path
	                    : own_place_is_below(path, share->real) ? share->real
	                                                            : NULL;

	if (!above)
		return NULL;
	path += strlen(above);
	return path + strspn(path, "/");
}

/*
 * Opens the file that is there now. A sandbox that can write to the share may have put a symbolic
 * link there or into the path; RESOLVE_BENEATH keeps links from leading out of the share.
 * openat2(2)
 */
static int bounds_open_below(const struct bounds_share *share, const char *rest)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                             .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd;

	if (*rest)
		return beneath_open(share->fd, rest, &how);
	fd = fcntl(share->fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

static const char *bounds_mode_of(uint32_t flags)
{
	return flags & YETT_SHARE_WRITABLE ? "rw" : flags & YETT_SHARE_COW ? "cow" : "ro";
}

/* Finds the innermost share that contains the path and allows the mode. */
static const struct bounds_share *find_share(const struct bounds *bounds,
                                             const struct yett_share *share, const char **ret_rest)
{
	const struct bounds_share *found = NULL;
	const char *rest;

	for (size_t i = 0; i < bounds->shares_count; i++) {
		if (share->flags & ~bounds->shares[i].flags)
			continue;
		rest = below(&bounds->shares[i], share->path);
		if (rest && (!found || strlen(rest) < strlen(*ret_rest))) {
			found = &bounds->shares[i];
			*ret_rest = rest;
		}
	}
	return found;
}

/*
 * Shares a protected path only if an option names that path itself, not merely a directory above
 * it.
 */
static int check_guard(const struct bounds_share *given, int fd, const struct yett_share *share,
                       struct yett_error *error)
{
	bool is_written = share->flags & YETT_SHARE_WRITABLE;
	enum yett_guard guard, named;
	const char *why, *unused;
	int r = yett_guard_of(given->fd, fd, &guard, &why, error);

	if (r != 0 || guard == YETT_GUARD_NONE || (guard == YETT_GUARD_READ_ONLY && !is_written))
		return r;
	r = yett_guard_of(given->fd, given->fd, &named, &unused, error);
	if (r != 0 || guard <= named)
		return r;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "%.200s may not be shared%s unless an option names that path: %s",
	                share->path, guard == YETT_GUARD_READ_ONLY ? " writable" : "", why);
	error_mend(error, "--%s %.200s " BOUNDS_WHERE, bounds_mode_of(share->flags), share->path);
	return YETT_E_PERMISSION_DENIED;
}

static int apply_share(const struct bounds *bounds, struct yett_share *share,
                       struct yett_error *error)
{
	const char *rest = NULL;
	const struct bounds_share *found = find_share(bounds, share, &rest);
	int fd, r;

	fd = found ? bounds_open_below(found, rest) : -EPERM;
	if (fd == -EPERM || fd == -EXDEV || fd == -ELOOP) {
		if (found)
			(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
			                "%.200s resolves outside what may be shared", share->path);
		else
			(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
			                "%.200s may not be shared %s", share->path,
			                share->flags & YETT_SHARE_WRITABLE ? "writable"
			                : share->flags & YETT_SHARE_COW    ? "copy-on-write"
			                                                   : "read-only");
		error_mend(error, "--%s %.200s " BOUNDS_WHERE, bounds_mode_of(share->flags),
		           share->path);
		return YETT_E_PERMISSION_DENIED;
	}
	if (fd < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot share %.200s: %s", share->path, strerror(-fd));
	r = check_guard(found, fd, share, error);
	if (r != 0) {
		fd_close(fd);
		return r;
	}
	if (!share->target)
		share->target = share->path;
	share->path = NULL;
	share->fd = fd;
	share->flags |= YETT_SHARE_FD;
	return 0;
}

int bounds_check_rules(const struct bounds *bounds, const char *const *rules, size_t count,
                       struct yett_error *error)
{
	const struct net_rule any = {
		.kind = NET_RULE_ANY, .port_first = 1, .port_last = NET_RULE_PORT_MAX};
	struct net_rule rule;
	bool is_covered;
	int r;

	for (size_t i = 0; i < count; i++) {
		r = net_rule_parse(rules[i], &rule, error);
		if (r != 0)
			return r;
		/*
		 * As for an open network without rules: private addresses and this host's addresses
		 * need a rule of their own.
		 */
		is_covered = bounds->network == YETT_NETWORK_HOST ||
		             (bounds->network == YETT_NETWORK_OPEN && net_rule_covers(&any, &rule));
		for (size_t j = 0; j < bounds->allow_count && !is_covered; j++)
			is_covered = net_rule_covers(&bounds->allow[j], &rule);
		if (is_covered)
			continue;
		(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
		                "connecting to %.200s is not allowed", rules[i]);
		error_mend(error, "--allow %.200s " BOUNDS_WHERE, rules[i]);
		return YETT_E_PERMISSION_DENIED;
	}
	return 0;
}

static int apply_network(const struct bounds *bounds, struct yett_sandbox_options *options,
                         struct yett_error *error)
{
	if (options->network == YETT_NETWORK_PROFILE && options->allow_count)
		options->network = YETT_NETWORK_LIMITED;
	if (options->network == YETT_NETWORK_PROFILE && bounds->network == YETT_NETWORK_NONE)
		options->network = YETT_NETWORK_NONE;
	if (options->network > bounds->network) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
		                "network %s is more than the %s that requests may have",
		                sandbox_words_network_name(options->network),
		                sandbox_words_network_name(bounds->network));
		error_mend(error, "--%s %.200s " BOUNDS_WHERE,
		           options->allow_count ? "allow" : "net",
		           options->allow_count ? options->allow[0]
		                                : sandbox_words_network_name(options->network));
		return YETT_E_PERMISSION_DENIED;
	}
	return bounds_check_rules(bounds, options->allow, options->allow_count, error);
}

int bounds_check_made(const struct bounds *bounds, const struct yett_sandbox_info *info,
                      struct yett_error *error)
{
	if (info->network <= bounds->network)
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "the profile's network %s is more than the %s that requests may have",
	                sandbox_words_network_name(info->network),
	                sandbox_words_network_name(bounds->network));
	error_mend(error, "\"network\": \"%s\" in the request",
	           sandbox_words_network_name(bounds->network));
	return YETT_E_PERMISSION_DENIED;
}

static int apply_limit(const char *option, uint64_t most, uint64_t *asked, struct yett_error *error)
{
	if (most == 0 || *asked == 0) {
		*asked = most ? most : *asked;
		return 0;
	}
	if (*asked <= most)
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "%s: more than requests may ask for", option);
	error_mend(error, "a larger --%s " BOUNDS_WHERE, option);
	return YETT_E_PERMISSION_DENIED;
}

static int bounds_check_profile(const struct bounds *bounds, const char *profile,
                                struct yett_error *error)
{
	for (char **at = bounds->profiles; *at; at++)
		if (strcmp(*at, profile) == 0)
			return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "requests may not name the profile %.64s", profile);
	error_mend(error, "--profile %.64s " BOUNDS_WHERE, profile);
	return YETT_E_PERMISSION_DENIED;
}

int bounds_apply(const struct bounds *bounds, struct yett_sandbox_options *options,
                 struct yett_share *shares, struct yett_error *error)
{
	int r = bounds_check_profile(bounds, options->profile, error);

	if (r == 0)
		r = apply_network(bounds, options, error);
	if (r == 0)
		r = apply_limit("memory", bounds->memory_bytes, &options->memory_bytes, error);
	if (r == 0)
		r = apply_limit("cpus", bounds->cpu_millis, &options->cpu_millis, error);
	if (r == 0)
		r = apply_limit("pids", bounds->pids, &options->pids, error);
	for (size_t i = 0; r == 0 && i < options->shares_count; i++)
		r = apply_share(bounds, &shares[i], error);
	return r;
}

/* --- description for a model ------------------------------------------------------------------ */

bool bounds_can_write(const struct bounds *bounds)
{
	for (size_t i = 0; i < bounds->shares_count; i++)
		if (bounds->shares[i].flags & YETT_SHARE_WRITABLE)
			return true;
	return false;
}

char *bounds_describe(const struct bounds *bounds)
{
	char *text = NULL, rule[NET_RULE_TEXT_SIZE];
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	(void)fprintf(to, "Paths of this computer that a sandbox can get, with \"shares\": ");
	for (size_t i = 0; i < bounds->shares_count; i++)
		(void)fprintf(to, "%s%s (%s)", i ? ", " : "", bounds->shares[i].path,
		              bounds->shares[i].flags & YETT_SHARE_WRITABLE ? "ro, cow or rw"
		              : bounds->shares[i].flags                     ? "ro or cow"
		                                                            : "ro");
	(void)fprintf(to, "%s. Network: ", bounds->shares_count ? "" : "nothing");
	if (bounds->network == YETT_NETWORK_LIMITED)
		(void)fprintf(to, "what the profile allows, and with \"allow\": ");
	for (size_t i = 0; bounds->network == YETT_NETWORK_LIMITED && i < bounds->allow_count; i++)
		(void)fprintf(to, "%s%s", i ? ", " : "", net_rule_print(&bounds->allow[i], rule));
	(void)fprintf(to, "%s. Profiles: ",
	              bounds->network == YETT_NETWORK_LIMITED
	                      ? bounds->allow_count ? "" : "what the profile has"
	                      : sandbox_words_network_name(bounds->network));
	for (char **at = bounds->profiles; *at; at++)
		(void)fprintf(to, "%s%s", at != bounds->profiles ? ", " : "", *at);
	(void)fputc('.', to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
