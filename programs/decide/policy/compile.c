/* SPDX-License-Identifier: Apache-2.0 */
/* See compile.h. */
#include "programs/decide/policy/compile.h"
#include "base/net_list.h"
#include "programs/decide/policy/check.h"
#include "programs/decide/policy/enrolled.h"
#include "programs/decide/policy/fill.h"
#include "programs/decide/policy/namings.h"
#include "programs/decide/policy/parse.h"
#include "programs/decide/policy/seccomp.h"

#include <string.h>

/* The sections of all texts must live until the policy is complete. */
struct compiling {
	struct compiled *compiled;
	struct parse *parse;
	struct yett_error *error;
};

static void compiling_clear(struct compiling *compiling)
{
	parse_free(compiling->parse);
	compiled_free(compiling->compiled);
}

void compiled_free(struct compiled *compiled)
{
	struct policy *policy = compiled ? &compiled->policy : NULL;

	if (!compiled)
		return;
	for (size_t i = 0; i < policy->profiles_count; i++) {
		fill_clear(SETTINGS_PROFILE, &compiled->profiles[i]);
		for (size_t m = 0; m < compiled->profiles[i].profile.mounts_count; m++) {
			free(compiled->profiles[i].profile.mounts[m].source);
			free(compiled->profiles[i].profile.mounts[m].target);
		}
		free(compiled->profiles[i].profile.mounts);
		free(compiled->profiles[i].profile.name);
		free(compiled->profiles[i].profile.init_filter);
		free(compiled->profiles[i].profile.command_filter);
		free(compiled->profiles[i].profile.build_filter);
	}
	for (size_t i = 0; i < policy->grants_count; i++) {
		fill_clear(SETTINGS_GRANT, &compiled->grants[i]);
		free(compiled->grants[i].grant.name);
		free(compiled->grants[i].grant.notice);
		free(compiled->grants[i].grant.uids);
		free(compiled->grants[i].grant.gids);
	}
	fill_clear(SETTINGS_HELPER, compiled);
	fill_clear_list(&policy->origins);
	free(policy->namings);
	enrolled_free(policy);
	free(policy->rule_lines);
	free(policy->files);
	free(policy->profiles);
	free(policy->grants);
	free(compiled->profiles);
	free(compiled->grants);
	free(compiled);
}

/* Sets the defaults of all keys of the helper section. */
static int compiling_start(struct compiling *compiling)
{
	struct compiled *compiled = compiling->compiled = calloc(1, sizeof *compiled);
	struct policy *policy = &compiled->policy;

	compiling->parse = parse_new();
	if (!compiled || !compiling->parse)
		return -ENOMEM;
	policy->runtime_dir = strdup("/run/yett");
	policy->keys_dir = strdup("/etc/yett/keys.d");
	policy->cgroup = strdup("/yett");
	policy->files = calloc(POLICY_FILES_MAX, sizeof *policy->files);
	policy->ids_first = POLICY_IDS_FIRST_DEFAULT;
	policy->ids_ranges = 4096;
	policy->audit_dir = strdup("/var/log/yett");
	policy->audit_max_bytes = UINT64_C(1) << 30;
	policy->audit_user_bytes = UINT64_C(64) << 20;
	policy->spares = 2;
	policy->generation = 0xcbf29ce484222325; /* the offset basis of FNV-1a */
	return policy->runtime_dir && policy->keys_dir && policy->cgroup && policy->audit_dir &&
	                       policy->files
	               ? 0
	               : -ENOMEM;
}

static int profile_defaults(struct policy_profile *profile)
{
	profile->tmp_size_bytes = 256u << 20;
	profile->private_home = true;
	profile->limits.cpu_weight = 100;
	profile->limits.core_bytes = PLAN_CORE_NONE;
	profile->umask = PLAN_UMASK_CALLER;
	profile->shares = true;
	profile->connections = POLICY_CONNECTIONS_MAX;
	profile->hostname = strdup("sandbox");
	profile->apparmor_profile = strdup("");
	profile->selinux_type = strdup("yett_init_t");
	return profile->hostname && profile->apparmor_profile && profile->selinux_type ? 0
	                                                                               : -ENOMEM;
}

static int compile_add_text(struct compiling *compiling, const struct compile_text *text)
{
	struct policy *policy = &compiling->compiled->policy;

	policy->files[policy->files_count++] = text->name;
	for (size_t i = 0; i < text->length; i++)
		policy->generation =
			(policy->generation ^ (unsigned char)text->text[i]) * 0x100000001b3;
	return parse_text(compiling->parse, text->name, text->text, text->length, compiling->error);
}

/* Fills a profile from the profiles that it extends, starting with the most basic one. */
static int fill_profile(struct compiling *compiling, size_t index)
{
	struct compiled *compiled = compiling->compiled;
	size_t profiles = compiled->policy.profiles_count;
	_cleanup_free_ cfg_t **line = calloc(profiles, sizeof *line);
	const struct parse_value *extends;
	size_t length = 0;
	int r = line ? profile_defaults(&compiled->profiles[index].profile) : -ENOMEM;

	if (r < 0)
		return r;
	line[length++] = parse_section(compiling->parse, SETTINGS_PROFILE, index);
	for (; (extends = parse_value(line[length - 1], "extends", 0)); length++) {
		cfg_t *base = parse_find(compiling->parse, SETTINGS_PROFILE, extends->text);

		if (!base)
			return parse_refuse_title(compiling->parse, SETTINGS_PROFILE,
			                          extends->place, extends->text, compiling->error);
		if (length == profiles)
			return policy_refuse(extends->place, extends->text,
			                     "extends itself in the end", compiling->error);
		line[length] = base;
	}
	while (r == 0 && length > 0)
		r = fill_section(SETTINGS_PROFILE, line[--length], &compiled->profiles[index],
		                 compiling->error);
	return r;
}

/* Copies the name of a section. */
static int take_name(const struct compiling *compiling, cfg_t *section, char **ret_name)
{
	const char *problem = settings_check_name(cfg_title(section));

	if (problem)
		return policy_refuse(parse_place(section), cfg_title(section), problem,
		                     compiling->error);
	*ret_name = strdup(cfg_title(section));
	return *ret_name ? 0 : -ENOMEM;
}

static int add_profiles(struct compiling *compiling)
{
	struct compiled *compiled = compiling->compiled;
	size_t count = parse_count(compiling->parse, SETTINGS_PROFILE);
	int r = 0;

	compiled->profiles = calloc(count + 1, sizeof *compiled->profiles);
	if (!compiled->profiles)
		return -ENOMEM;
	compiled->policy.profiles_count = count;
	for (size_t i = 0; r == 0 && i < count; i++) {
		cfg_t *section = parse_section(compiling->parse, SETTINGS_PROFILE, i);

		compiled->profiles[i].profile.place = parse_place(section);
		r = take_name(compiling, section, &compiled->profiles[i].profile.name);
		if (r == 0)
			r = fill_profile(compiling, i);
	}
	return r;
}

static int add_grant(struct compiling *compiling, enum settings_section_index kind, cfg_t *section,
                     struct settings_grant *into)
{
	struct policy_grant *grant = &into->grant;
	int r;

	grant->is_ceiling = kind == SETTINGS_CEILING;
	grant->linger_max_ms = grant->is_ceiling ? POLICY_LINGER_UNLIMITED : 0;
	grant->place = parse_place(section);
	grant->notice = strdup("");
	if (!grant->notice)
		return -ENOMEM;
	r = take_name(compiling, section, &grant->name);
	if (r == 0)
		r = fill_section(kind, section, into, compiling->error);
	for (size_t i = 0; r == 0 && i < grant->profiles.count; i++) {
		const char *name = grant->profiles.items[i];

		if (strcmp(name, "*") != 0 && !parse_find(compiling->parse, SETTINGS_PROFILE, name))
			r = parse_refuse_title(compiling->parse, SETTINGS_PROFILE,
			                       grant->profiles.places[i], name, compiling->error);
	}
	return r;
}

/* Ceilings follow the grants in the same array, and are searched together with them. */
static int add_grants(struct compiling *compiling)
{
	struct compiled *compiled = compiling->compiled;
	size_t grants = parse_count(compiling->parse, SETTINGS_GRANT),
	       count = grants + parse_count(compiling->parse, SETTINGS_CEILING);
	int r = 0;

	compiled->grants = calloc(count + 1, sizeof *compiled->grants);
	if (!compiled->grants)
		return -ENOMEM;
	compiled->policy.grants_count = count;
	compiled->policy.ceilings_count = (uint32_t)(count - grants);
	for (size_t i = 0; r == 0 && i < count; i++) {
		enum settings_section_index kind = i < grants ? SETTINGS_GRANT : SETTINGS_CEILING;

		r = add_grant(compiling, kind,
		              parse_section(compiling->parse, kind, i < grants ? i : i - grants),
		              &compiled->grants[i]);
	}
	return r;
}

static struct seccomp_names names_of(const struct policy_list *list)
{
	return (struct seccomp_names){list->items, list->count, list->place.file, list->place.line};
}

static int compile_filters(struct settings_profile *written, struct yett_error *error)
{
	struct policy_profile *profile = &written->profile;
	struct seccomp_spec spec = {
		.strict = written->syscalls == SETTINGS_SYSCALLS_STRICT,
		.nested = profile->nested_userns,
		.perf = profile->perf_events,
		.allow = names_of(&written->syscalls_allow),
		.deny = names_of(&written->syscalls_deny),
		.log = names_of(&written->syscalls_log),
	};
	int r = seccomp_compile(&spec, SECCOMP_COMMAND, &profile->command_filter,
	                        &profile->command_filter_count, error);

	if (r == 0)
		r = seccomp_compile(&spec, SECCOMP_INIT, &profile->init_filter,
		                    &profile->init_filter_count, error);
	return r ? r
	         : seccomp_compile(&spec, SECCOMP_BUILD, &profile->build_filter,
	                           &profile->build_filter_count, error);
}

static bool same_list(const struct policy_list *a, const struct policy_list *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static int copy_filter(const struct sock_filter *filter, size_t count,
                       struct sock_filter **ret_copy, size_t *ret_count)
{
	*ret_copy = calloc(count, sizeof *filter);
	if (!*ret_copy)
		return -ENOMEM;
	memcpy(*ret_copy, filter, count * sizeof *filter);
	*ret_count = count;
	return 0;
}

/*
 * Reuses the filters of an earlier profile with the same system call settings. Most profiles extend
 * another one without changing these, and compiling a filter takes a millisecond.
 */
static int add_filters(struct compiling *compiling)
{
	struct settings_profile *all = compiling->compiled->profiles;
	int r = 0;

	for (size_t i = 0; r == 0 && i < compiling->compiled->policy.profiles_count; i++) {
		struct policy_profile *profile = &all[i].profile;
		size_t twin = 0;

		while (all[twin].syscalls != all[i].syscalls ||
		       all[twin].profile.nested_userns != profile->nested_userns ||
		       all[twin].profile.perf_events != profile->perf_events ||
		       !same_list(&all[twin].syscalls_allow, &all[i].syscalls_allow) ||
		       !same_list(&all[twin].syscalls_deny, &all[i].syscalls_deny) ||
		       !same_list(&all[twin].syscalls_log, &all[i].syscalls_log))
			twin++;
		if (twin == i) {
			r = compile_filters(&all[i], compiling->error);
			continue;
		}
		r = copy_filter(all[twin].profile.init_filter, all[twin].profile.init_filter_count,
		                &profile->init_filter, &profile->init_filter_count);
		if (r == 0)
			r = copy_filter(all[twin].profile.command_filter,
			                all[twin].profile.command_filter_count,
			                &profile->command_filter, &profile->command_filter_count);
		if (r == 0)
			r = copy_filter(all[twin].profile.build_filter,
			                all[twin].profile.build_filter_count,
			                &profile->build_filter, &profile->build_filter_count);
	}
	return r;
}

/*
 * Whether any sandbox of the profile can have core files. Counts max_core of every grant, no matter
 * which profiles it gives.
 */
static bool gives_core_files(const struct policy *policy, const struct policy_profile *profile)
{
	bool gives = profile->limits.core_bytes != PLAN_CORE_NONE;

	for (size_t i = 0; i < policy->grants_count; i++)
		gives = gives || (!policy->grants[i].is_ceiling &&
		                  policy->grants[i].limits_max.core_bytes > PLAN_CORE_NONE);
	return gives;
}

static size_t count_rules(const struct settings_rules *rules)
{
	return rules->list ? net_list_count(rules->list) : 0;
}

static uint32_t file_index(const struct policy *policy, const char *file)
{
	uint32_t i = 0;

	while (i + 1 < policy->files_count && policy->files[i] != file)
		i++;
	return i;
}

/*
 * Numbers all rules of the policy from 1 on, so that a copied rule can still be traced to its line.
 */
static struct policy_rules number_rules(struct policy *policy, const struct settings_rules *rules)
{
	struct net_record *record = NULL;

	if (count_rules(rules) == 0)
		return (struct policy_rules){0};
	while ((record = (struct net_record *)(uintptr_t)net_list_next(rules->list, record))) {
		const struct policy_place *place = &rules->places[record->origin];

		record->origin = (uint32_t)policy->rule_lines_count;
		policy->rule_lines[policy->rule_lines_count++] =
			place->line | file_index(policy, place->file) << POLICY_RULE_LINE_BITS;
	}
	return (struct policy_rules){rules->list, rules->list->size};
}

_Static_assert(POLICY_FILES_MAX <= 1 << (32 - POLICY_RULE_LINE_BITS),
               "a line's number is less than that of a file's bytes");

/*
 * Appends network_proxy or no_proxy rules to the profile's `deny` list. A network always gets the
 * denied addresses and the proxy together, and each rule records which kind it is.
 */
static int add_to_profile(const struct settings_rules *from, struct settings_profile *into)
{
	size_t used = into->deny.list ? into->deny.list->size : sizeof *into->deny.list,
	       room = used + (from->list ? from->list->size : 0);
	struct net_list *list = count_rules(from) > 0 ? realloc(into->deny.list, room) : NULL;
	int r;

	if (!list)
		return count_rules(from) > 0 ? -ENOMEM : 0;
	if (!into->deny.list)
		net_list_begin(list);
	into->deny.list = list;
	r = net_list_append(list, room, from->list);
	into->profile.deny = (struct policy_rules){list, list->size};
	return r < 0 || list->size > POLICY_RULES_SIZE_MAX ? -E2BIG : 0;
}

static int fill_proxy(struct compiled *compiled, struct yett_error *error)
{
	int r = 0;

	if (count_rules(&compiled->proxy) == 0)
		return count_rules(&compiled->direct) == 0
		               ? 0
		               : policy_refuse(compiled->direct.places[0], "no_proxy",
		                               "goes around a network_proxy, and there is none",
		                               error);
	(void)number_rules(&compiled->policy, &compiled->proxy);
	(void)number_rules(&compiled->policy, &compiled->direct);
	for (size_t i = 0; r == 0 && i < compiled->policy.profiles_count; i++) {
		r = add_to_profile(&compiled->proxy, &compiled->profiles[i]);
		if (r == 0)
			r = add_to_profile(&compiled->direct, &compiled->profiles[i]);
	}
	return r == -E2BIG ? policy_refuse(compiled->proxy.places[0], "no_proxy",
	                                   "has too many rules for what a profile denies besides",
	                                   error)
	                   : r;
}

static int fill_rules(struct compiled *compiled, struct yett_error *error)
{
	struct policy *policy = &compiled->policy;
	size_t count = count_rules(&compiled->proxy) + count_rules(&compiled->direct);

	for (size_t i = 0; i < policy->profiles_count; i++)
		count += count_rules(&compiled->profiles[i].allow) +
		         count_rules(&compiled->profiles[i].deny);
	for (size_t i = 0; i < policy->grants_count; i++)
		count += count_rules(&compiled->grants[i].allow) +
		         count_rules(&compiled->grants[i].deny);
	policy->rule_lines = calloc(count + 1, sizeof *policy->rule_lines);
	if (!policy->rule_lines)
		return -ENOMEM;
	policy->rule_lines_count = 1; /* no rule has the number 0 */
	for (size_t i = 0; i < policy->profiles_count; i++) {
		compiled->profiles[i].profile.allow =
			number_rules(policy, &compiled->profiles[i].allow);
		compiled->profiles[i].profile.deny =
			number_rules(policy, &compiled->profiles[i].deny);
	}
	for (size_t i = 0; i < policy->grants_count; i++) {
		compiled->grants[i].grant.allow = number_rules(policy, &compiled->grants[i].allow);
		compiled->grants[i].grant.deny = number_rules(policy, &compiled->grants[i].deny);
	}
	return fill_proxy(compiled, error);
}

/* Adds what the helper section records to each profile. Recording needs the audit. */
static int fill_record(struct compiled *compiled, struct yett_error *error)
{
	struct policy_place place = compiled->record_place;
	uint32_t any = compiled->record;

	for (size_t i = 0; i < compiled->policy.profiles_count; i++) {
		if (compiled->profiles[i].profile.record && !any)
			place = compiled->profiles[i].record_place;
		any |= compiled->profiles[i].profile.record;
		compiled->profiles[i].profile.record |= compiled->record;
	}
	compiled->policy.record = any;
	if (!any || compiled->policy.audit != POLICY_AUDIT_OFF)
		return 0;
	return policy_refuse(
		place, "record",
		"needs the audit, which is off: set audit to best_effort or required in the helper section",
		error);
}

/* Fills the tables of the policy itself, without what only the compiler needs. */
static int fill_tables(struct compiled *compiled)
{
	struct policy *policy = &compiled->policy;

	policy->profiles = calloc(policy->profiles_count + 1, sizeof *policy->profiles);
	policy->grants = calloc(policy->grants_count + 1, sizeof *policy->grants);
	if (!policy->profiles || !policy->grants)
		return -ENOMEM;
	for (size_t i = 0; i < policy->profiles_count; i++)
		policy->profiles[i] = compiled->profiles[i].profile;
	for (size_t i = 0; i < policy->grants_count; i++)
		policy->grants[i] = compiled->grants[i].grant;
	for (size_t i = 0; i < policy->profiles_count; i++)
		policy->profiles[i].core_files = gives_core_files(policy, &policy->profiles[i]);
	return namings_make(policy);
}

/* Records where a key is set, for yett-explain. If several files set it, the last one counts. */
static int add_origin(struct policy_list *origins, cfg_t *section, const char *key)
{
	const struct parse_value *first = parse_value(section, key, 0), *value;
	_cleanup_free_ char *text = NULL;
	size_t length;
	FILE *to = first ? open_memstream(&text, &length) : NULL;

	if (!to)
		return first ? -ENOMEM : 0;
	(void)fprintf(to, "%s\t", key);
	for (unsigned i = 0; (value = parse_value(section, key, i)); i++)
		(void)fprintf(to, "%s%s", i ? ", " : "", value->is_empty ? "" : value->text);
	if (first->over.file)
		(void)fprintf(to, "\t%s:%u", first->over.file, first->over.line);
	if (fclose(to) != 0)
		return -ENOMEM;
	origins->places[origins->count] = first->place;
	origins->items[origins->count++] = steal_ptr(&text);
	return 0;
}

static int add_origins(const struct compiling *compiling)
{
	const struct settings_section *helper = &settings_sections[SETTINGS_HELPER];
	struct policy_list *origins = &compiling->compiled->policy.origins;
	int r = 0;

	origins->items = calloc(helper->count, sizeof *origins->items);
	origins->places = calloc(helper->count, sizeof *origins->places);
	if (!origins->items || !origins->places)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < helper->count; i++)
		r = add_origin(origins, parse_section(compiling->parse, SETTINGS_HELPER, 0),
		               helper->keys[i].name);
	return r;
}

int compile(const struct compile_text *texts, size_t count, struct compiled **ret_compiled,
            struct yett_error *error)
{
	_cleanup_(compiling_clear) struct compiling compiling = {.error = error};
	int r = compiling_start(&compiling);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = compile_add_text(&compiling, &texts[i]);
	if (r == 0)
		r = fill_section(SETTINGS_HELPER,
		                 parse_section(compiling.parse, SETTINGS_HELPER, 0),
		                 compiling.compiled, error);
	if (r == 0)
		r = add_origins(&compiling);
	if (r == 0)
		r = add_profiles(&compiling);
	if (r == 0)
		r = add_grants(&compiling);
	if (r == 0)
		r = check_compiled(compiling.compiled, error);
	if (r == 0)
		r = add_filters(&compiling);
	if (r == 0)
		r = fill_rules(compiling.compiled, error);
	if (r == 0)
		r = fill_record(compiling.compiled, error);
	if (r == 0)
		r = fill_tables(compiling.compiled);
	if (r == 0)
		*ret_compiled = steal_ptr(&compiling.compiled);
	return r;
}
