/* SPDX-License-Identifier: Apache-2.0 */
/* See check.h. */
#include "programs/decide/policy/check.h"
#include "base/date.h"
#include "base/net_list.h"
#include "base/units_parse.h"
#include "programs/decide/policy/settings.h"
#include "programs/decide/policy/target.h"

#include <cap-ng.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Mounts of one profile. A plan has PLAN_STEPS_MAX steps, and the request needs some of them. */
#define MOUNTS_MAX 256

/*
 * Whether errno means that the account does not exist. Other values mean that a name service
 * failed: getpwnam(3).
 */
static bool is_unknown(int error)
{
	return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/*
 * Finds the id of a user or group by number or name. A number need not belong to an account.
 * Returns 0, -ENOENT if there is no such account, or -errno if the name service failed.
 */
static int find_id(const char *text, bool is_group, uint32_t *ret_id)
{
	const struct passwd *user = NULL;
	const struct group *group = NULL;
	uint64_t number;

	if (units_parse_number(text, &number) == 0) {
		*ret_id = (uint32_t)number;
		return number < UINT32_MAX ? 0 : -ENOENT; /* (uid_t)-1 is never an id */
	}
	errno = 0;
	if (is_group)
		group = getgrnam(text);
	else
		user = getpwnam(text);
	if (!user && !group)
		return is_unknown(errno) ? -ENOENT : -errno;
	*ret_id = user ? user->pw_uid : group->gr_gid;
	return 0;
}

static int set_notice(struct policy_grant *grant, struct policy_place place, const char *name,
                      bool is_group)
{
	struct yett_error notice = {0};
	char problem[96];

	(void)snprintf(problem, sizeof problem, "is not a %s of this host: %s",
	               is_group ? "group" : "user",
	               grant->is_ceiling ? "the ceiling does not bound it" : "the grant is void");
	(void)policy_refuse(place, name, problem, &notice);
	free(grant->notice);
	grant->notice = strdup(notice.message);
	return grant->notice ? 0 : -ENOMEM;
}

/*
 * Resolves the names of a grant or ceiling. An unknown name makes only this grant void, so that
 * removing an account does not break the service for others. If a name service fails, the whole
 * policy is refused and the current one stays in force: a grant that is void for a moment could
 * give its users a looser grant instead. A ceiling only restricts, so it still applies to the names
 * that are known, and is void only if there are none.
 */
static int resolve(struct policy_grant *grant, const struct policy_list *list, bool is_group,
                   uint32_t **ret_ids, size_t *ret_count, struct yett_error *error)
{
	_cleanup_free_ uint32_t *ids = calloc(list->count + 1, sizeof *ids);
	size_t count = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		bool is_everyone = !is_group && strcmp(list->items[i], "*") == 0;
		int r = is_everyone ? 0 : find_id(list->items[i], is_group, &ids[count]);

		if (r < 0 && r != -ENOENT) {
			(void)policy_refuse(
				list->places[i], list->items[i],
				"cannot be looked up now: a name service of this host fails",
				error);
			error_detail(error, "%s", strerror(-r));
			return (int)error->code;
		}
		grant->everyone = grant->everyone || is_everyone;
		count += r == 0 && !is_everyone;
		if (r == 0 || *grant->notice)
			continue;
		if (set_notice(grant, list->places[i], list->items[i], is_group) < 0)
			return -ENOMEM;
	}
	*ret_ids = steal_ptr(&ids);
	*ret_count = count;
	return 0;
}

static uint64_t capability_mask(const struct policy_list *names)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < names->count; i++)
		mask |= (uint64_t)1 << capng_name_to_capability(names->items[i]);
	return mask;
}

/*
 * Adds the mounts of a list to the profile. Each target must be a valid mount point in this
 * profile.
 */
static int policy_check_add_mounts(struct policy_profile *profile, const struct policy_list *list,
                                   bool is_tmpfs, bool writable, struct yett_error *error)
{
	for (size_t i = 0; i < list->count; i++) {
		struct policy_mount *mounts =
			reallocarray(profile->mounts, profile->mounts_count + 1, sizeof *mounts);
		_cleanup_free_ char *head = NULL, *tail = NULL;
		struct policy_mount mount = {.writable = writable, .place = list->places[i]};
		const char *problem;

		profile->mounts = mounts ? mounts : profile->mounts;
		if (!mounts || settings_split(list->items[i], &head, &tail) < 0)
			return -ENOMEM;
		problem = policy_target_problem(profile, is_tmpfs || !tail ? head : tail);
		if (problem)
			return policy_refuse(list->places[i], list->items[i], problem, error);
		if (is_tmpfs && tail && units_parse_size(tail, &mount.size_bytes) < 0)
			return -EINVAL; /* settings.c refused it already */
		mount.source = strdup(is_tmpfs ? "" : head);
		mount.target = strdup(is_tmpfs || !tail ? head : tail);
		profile->mounts[profile->mounts_count++] = mount;
		if (!mount.source || !mount.target)
			return -ENOMEM;
	}
	return 0;
}

/* Drops a directory that is inside another system directory of the list. */
static void drop_nested(struct policy_list *system)
{
	size_t kept = 0;

	for (size_t i = 0; i < system->count; i++) {
		bool is_nested = false;

		for (size_t j = 0; j < system->count; j++)
			is_nested = is_nested ||
			            (j != i && system->items[j] &&
			             policy_path_is_in(system->items[i], system->items[j]));
		if (is_nested) {
			free(system->items[i]);
			system->items[i] = NULL;
		}
	}
	for (size_t i = 0; i < system->count; i++)
		if (system->items[i]) {
			system->places[kept] = system->places[i];
			system->items[kept++] = system->items[i];
		}
	system->count = kept;
}

/*
 * On the host's network, rules and bandwidth limits have no effect. Refuse them even where they are
 * inherited, since otherwise nobody would notice.
 */
static int check_host_network(const struct settings_profile *written, struct yett_error *error)
{
	const struct policy_profile *profile = &written->profile;
	const struct policy_place *place =
		profile->network_place.file ? &profile->network_place : &profile->place;
	const struct {
		bool is_set;
		const char *key, *without, *why;
	} keys[] = {{written->allow.list && written->allow.list->count[NET_LIST_ALLOW], "allow",
	             "{}", "has no meaning"},
	            {written->deny.list && written->deny.list->count[NET_LIST_DENY], "deny", "{}",
	             "has no meaning"},
	            {profile->allow_private, "allow_private", "false", "has no meaning"},
	            {profile->bandwidth_in_bytes, "bandwidth_in", "unlimited", "has no meaning"},
	            {profile->bandwidth_out_bytes, "bandwidth_out", "unlimited", "has no meaning"},
	            {profile->connections < POLICY_CONNECTIONS_MAX, "connections", "256",
	             "has no meaning"},
	            {profile->nested_userns, "nested_userns", "false", "is not possible"}};

	for (size_t i = 0; profile->network == PLAN_NETWORK_HOST && i < ARRAY_SIZE(keys); i++) {
		if (!keys[i].is_set)
			continue;
		(void)error_set(error, YETT_E_INVALID_REQUEST, 0,
		                "%s:%u: the profile '%s' has the network host, in which '%s' %s",
		                place->file, place->line, profile->name, keys[i].key, keys[i].why);
		error_mend(error, "write %s = %s in profile '%s', or network = open", keys[i].key,
		           keys[i].without, profile->name);
		return YETT_E_INVALID_REQUEST;
	}
	return 0;
}

static int policy_check_check_profile(struct settings_profile *written, struct yett_error *error)
{
	struct policy_profile *profile = &written->profile;
	size_t mounts = written->share_ro.count + written->share_rw.count + written->tmpfs.count +
	                profile->read_only.count + profile->mask.count;
	int r = policy_check_add_mounts(profile, &written->share_ro, false, false, error);

	if (r == 0)
		r = policy_check_add_mounts(profile, &written->share_rw, false, true, error);
	if (r == 0)
		r = policy_check_add_mounts(profile, &written->tmpfs, true, false, error);
	if (r)
		return r;
	drop_nested(&profile->system);
	if (mounts > MOUNTS_MAX)
		return policy_refuse(profile->place, profile->name,
		                     "has more than 256 shares, tmpfs, masks and read-only paths",
		                     error);
	if (profile->environment.count + 4 > PLAN_ENV_MAX)
		return policy_refuse(profile->environment.place, profile->name,
		                     "has too long an environment", error);
	if (profile->label == POLICY_LABEL_REQUIRED && !*profile->apparmor_profile &&
	    !*profile->selinux_type)
		return policy_refuse(
			profile->place, profile->name,
			"requires a label and names none (apparmor_profile, selinux_type)", error);
	if (profile->limits.stack_max_bytes &&
	    profile->limits.stack_max_bytes < profile->limits.stack_bytes)
		return policy_refuse(profile->place, profile->name,
		                     "has a stack that is more than stack_max", error);
	if (profile->command_max_ms && profile->command_ms > profile->command_max_ms)
		return policy_refuse(profile->command_places[0].file ? profile->command_places[0]
		                                                     : profile->place,
		                     profile->name,
		                     "has a command_timeout that is more than max_command_timeout",
		                     error);
	profile->capabilities_mask = capability_mask(&profile->capabilities);
	return check_host_network(written, error);
}

static bool policy_check_has_expired(const struct policy_grant *grant)
{
	return !*grant->notice && grant->expires && grant->expires <= (uint64_t)time(NULL);
}

static int set_expired(struct policy_grant *grant)
{
	char *notice, date[DATE_TEXT_SIZE];

	if (asprintf(&notice, "%s:%u: the grant '%s' has expired: %s", grant->place.file,
	             grant->place.line, grant->name, date_format(grant->expires, date)) < 0)
		return -ENOMEM;
	free(grant->notice);
	grant->notice = notice;
	return 0;
}

static int check_grant(struct settings_grant *written, struct yett_error *error)
{
	struct policy_grant *grant = &written->grant;
	int r = resolve(grant, &written->users, false, &grant->uids, &grant->uids_count, error);

	if (r == 0)
		r = resolve(grant, &written->groups, true, &grant->gids, &grant->gids_count, error);
	if (r)
		return r;
	if (written->users.count + written->groups.count == 0)
		return policy_refuse(grant->place, grant->name, "names neither users nor groups",
		                     error);
	grant->is_void =
		*grant->notice &&
		!(grant->is_ceiling && grant->uids_count + grant->gids_count + grant->everyone > 0);
	if (!grant->is_ceiling && grant->profiles.count == 0)
		return policy_refuse(grant->place, grant->name, "names no profiles", error);
	if (policy_check_has_expired(grant) && set_expired(grant) < 0)
		return -ENOMEM;
	grant->capabilities_mask = capability_mask(&grant->capabilities);
	if (grant->network == PLAN_NETWORK_HOST && written->deny.list &&
	    written->deny.list->count[NET_LIST_DENY]) {
		(void)policy_refuse(
			written->deny.places[0], grant->name,
			"denies this, and allows the network host, in which nothing is denied",
			error);
		error_mend(error, "write deny = {} or network = open in grant '%s'", grant->name);
		return YETT_E_INVALID_REQUEST;
	}
	return 0;
}

/* Parses NAME:FIRST:COUNT. Returns 1 if the ids overlap. */
int check_subid_line(const char *line, uint64_t first, uint64_t end)
{
	char start[UNITS_TEXT_SIZE], count[UNITS_TEXT_SIZE];
	const char *one = strchr(line, ':'), *two = one ? strchr(one + 1, ':') : NULL;
	uint64_t from, length;

	if (line[strspn(line, " \t")] == '\0' || *line == '#')
		return 0;
	if (!two || one == line || two - one > UNITS_TEXT_SIZE || strlen(two) > UNITS_TEXT_SIZE)
		return -EINVAL;
	(void)snprintf(start, sizeof start, "%.*s", (int)(two - one - 1), one + 1);
	(void)snprintf(count, sizeof count, "%s", two + 1);
	if (units_parse_number(start, &from) < 0 || units_parse_number(count, &length) < 0 ||
	    from > UINT32_MAX || length > UINT32_MAX)
		return -EINVAL;
	return length && from < end && first < from + length;
}

static int check_subids(const char *file, uint64_t first, uint64_t end, struct yett_error *error)
{
	FILE *stream = fopen(file, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	unsigned number = 0;
	int r = 0;

	if (!stream)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && getline(&line, &size, stream) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		number++;
		r = check_subid_line(line, first, end);
		if (r < 0)
			r = error_set(error, YETT_E_INVALID_REQUEST, 0,
			              "%s:%u: this line is not NAME:FIRST:COUNT", file, number);
		else if (r > 0)
			r = error_set(
				error, YETT_E_SECURITY_VIOLATION, 0,
				"%s:%u: these ids overlap the private ranges of the policy (ids_first, ids_ranges)",
				file, number);
	}
	(void)fclose(stream);
	return r;
}

/*
 * Two sandboxes, or a sandbox and an account, must never share an id. Looks up only the first id,
 * since NSS can be slow.
 */
static int check_ids(const struct policy *policy, struct yett_error *error)
{
	uint64_t first = policy->ids_first,
		 end = first + (uint64_t)policy->ids_ranges * POLICY_IDS_STEP;
	struct policy_place at = policy->ids_place.file
	                                 ? policy->ids_place
	                                 : (struct policy_place){policy->files[0], 1};
	int r;

	if (first % POLICY_IDS_STEP)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "%s:%u: ids_first is not a multiple of 65536", at.file, at.line);
	if (end > POLICY_IDS_END_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "%s:%u: ids_first and ids_ranges reach beyond id 2147483647",
		                 at.file, at.line);
	errno = 0;
	if (getpwuid((uid_t)first))
		return error_set(error, YETT_E_SECURITY_VIOLATION, 0,
		                 "%s:%u: ids_first is the id of an account of this host", at.file,
		                 at.line);
	if (!is_unknown(errno)) {
		r = errno;
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, 0,
			"%s:%u: whether ids_first is the id of an account cannot be looked up now: a name service of this host fails",
			at.file, at.line);
		error_detail(error, "%s", strerror(r));
		return (int)error->code;
	}
	r = check_subids("/etc/subuid", first, end, error);
	return r ? r : check_subids("/etc/subgid", first, end, error);
}

int check_compiled(struct compiled *compiled, struct yett_error *error)
{
	int r = check_ids(&compiled->policy, error);

	for (size_t i = 0; r == 0 && i < compiled->policy.profiles_count; i++)
		r = policy_check_check_profile(&compiled->profiles[i], error);
	for (size_t i = 0; r == 0 && i < compiled->policy.grants_count; i++)
		r = check_grant(&compiled->grants[i], error);
	return r;
}
