/* SPDX-License-Identifier: Apache-2.0 */
/* See settings.h. */
#include "programs/decide/policy/settings.h"
#include "base/date.h"
#include "base/escape.h"
#include "base/near.h"
#include "base/net_idn.h"
#include "base/net_list.h"
#include "base/net_rule_parse.h"
#include "base/units_parse.h"
#include "programs/decide/policy/compile.h"
#include "programs/decide/policy/parse.h"
#include "programs/decide/policy/target.h"

#include <cap-ng.h>
#include <stdio.h>
#include <string.h>

#define RUNTIME_OWN POLICY_RUNTIME_DIRS "/%u/"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static bool consists_of(const char *text, const char *characters)
{
	return *text && text[strspn(text, characters)] == '\0';
}

const char *settings_check_name(const char *text)
{
	if (strlen(text) > POLICY_NAME_MAX || !consists_of(text, LOWER DIGITS "._-") ||
	    strchr("._-", *text))
		return "is not a name (lower-case letters, digits, then also . _ -)";
	return NULL;
}

static const char *check_name_or_all(const char *text)
{
	return strcmp(text, "*") == 0 ? NULL : settings_check_name(text);
}

static const char *check_account(const char *text)
{
	return *text && strlen(text) < 256 ? NULL : "is not the name of a user or group";
}

static const char *check_rule(const char *text)
{
	return strcmp(text, "*") == 0 ? NULL : policy_path_problem(text);
}

/*
 * %u is allowed only in a user's runtime directory. Elsewhere a user's own directory could be
 * shared writable, and a sandbox could replace the socket: see helper/policy/check.c.
 */
static const char *check_socket(const char *text)
{
	const char *rest = strncmp(text, RUNTIME_OWN, strlen(RUNTIME_OWN)) == 0
	                           ? text + strlen(RUNTIME_OWN)
	                           : text;

	return strchr(rest, '%') ? "has a % other than at its beginning, in " RUNTIME_OWN
	                         : policy_path_problem(text);
}

/* Accepts only the canonical text of an address, because addresses are looked up by text. */
static const char *check_address(const char *text)
{
	struct net_address address;
	char own[NET_ADDRESS_TEXT_SIZE];

	return net_address_parse(text, &address) < 0 ||
	                       strcmp(net_address_print(&address, own), text) != 0
	               ? "is not an address such as \"0.0.0.0\" or \"2001:db8::1\""
	               : NULL;
}

/* A path cannot contain a colon, since a colon separates SOURCE and TARGET. */
int settings_split(const char *item, char **ret_head, char **ret_tail)
{
	const char *colon = strchr(item, ':');
	_cleanup_free_ char *head = strndup(item, colon ? (size_t)(colon - item) : strlen(item));
	char *tail = colon ? strdup(colon + 1) : NULL;

	if (!head || (colon && !tail)) {
		free(tail);
		return -ENOMEM;
	}
	*ret_head = steal_ptr(&head);
	*ret_tail = tail;
	return 0;
}

static const char *policy_settings_check_share(const char *text)
{
	_cleanup_free_ char *source = NULL, *target = NULL;
	const char *problem;

	if (settings_split(text, &source, &target) < 0)
		return "does not fit into memory";
	problem = policy_path_problem(source);
	return problem ? problem : policy_target_problem(NULL, target ? target : source);
}

static const char *check_tmpfs(const char *text)
{
	_cleanup_free_ char *target = NULL, *size = NULL;
	uint64_t bytes;

	if (settings_split(text, &target, &size) < 0)
		return "does not fit into memory";
	if (size && (units_parse_size(size, &bytes) < 0 || bytes == 0))
		return "does not end in a size such as 64M";
	return policy_target_problem(NULL, target);
}

static const char *check_etc(const char *text)
{
	_cleanup_free_ char *path = malloc(strlen(text) + 2);

	if (strcmp(text, "*") == 0)
		return NULL;
	if (!path)
		return "does not fit into memory";
	path[0] = '/';
	memcpy(path + 1, text, strlen(text) + 1);
	return policy_path_problem(path)
	               ? "is neither a path below /etc, written without /etc/, nor * for all of it"
	               : NULL;
}

static const char *check_device(const char *text)
{
	static const char *const memory[] = {"/dev/mem", "/dev/kmem", "/dev/port"};

	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		if (strcmp(text, memory[i]) == 0)
			return "gives access to all memory or I/O ports, and so to the whole machine";
	return policy_path_problem(text) || !policy_path_is_in(text, "/dev") || !text[4]
	               ? "is not a path below /dev"
	               : NULL;
}

static const char *check_environment(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals && equals != text ? NULL : "is not NAME=VALUE";
}

static const char *check_capability(const char *text)
{
	return capng_name_to_capability(text) < 0 ? "is not a capability" : NULL;
}

/* The filter compiler checks later whether such a call exists. */
static const char *check_syscall(const char *text)
{
	return consists_of(text, LOWER DIGITS "_") ? NULL : "is not the name of a system call";
}

static const char *const identities[] = {"private", "root", "caller", NULL};
static const char *const networks[] = {"none", "limited", "open", "host", NULL};
static const char *const workspaces[] = {"any", "cow", NULL};
static const char *const label_rules[] = {"if_available", "required", NULL};
/* Bits of enum policy_record, in this order. */
static const char *const records[] = {"commands", "connections", "denials", NULL};
static const char *const audits[] = {"off", "best_effort", "required", NULL};
static const char *const syscall_sets[] = {"default", "strict", NULL};

#define MEMORY_MIN     (1u << 20) /* refuses "4" written instead of "4G" */
#define BYTES_MAX      ((uint64_t)1 << 50)
#define PIDS_MAX       4194304
#define FILES_MAX      1048576
#define CPUS_MAX       1024000
#define COMMAND_MS_MAX ((uint64_t)30 * 24 * 3600 * 1000) /* the maximum of an exec request */
#define AUDIT_SIZE_MIN (64u << 10)                       /* room for some records */
#define RATE_MIN       (4u << 10) /* bytes a second; a smaller value probably lacks a unit */
#define RATE_MAX       1000000    /* a minute */

#define S(field) offsetof(struct settings_profile, field)
#define P(field) S(profile.field)
static const struct settings_key profile_keys[] = {
	{"extends", SETTINGS_TEXT, S(extends), .check = settings_check_name},
	{"description", SETTINGS_TEXT, S(description)},
	{"system", SETTINGS_LIST, P(system), .check = policy_path_problem},
	{"etc", SETTINGS_LIST, P(etc), .check = check_etc},
	{"devices", SETTINGS_LIST, P(devices), .check = check_device},
	{"share_ro", SETTINGS_LIST, S(share_ro), .check = policy_settings_check_share},
	{"share_rw", SETTINGS_LIST, S(share_rw), .check = policy_settings_check_share},
	{"overlay_ro", SETTINGS_BOOL, P(overlay_ro)},
	{"read_only", SETTINGS_LIST, P(read_only), .check = policy_path_problem},
	{"mask", SETTINGS_LIST, P(mask), .check = policy_path_problem},
	{"tmpfs", SETTINGS_LIST, S(tmpfs), .check = check_tmpfs},
	{"tmp_size", SETTINGS_SIZE, P(tmp_size_bytes), MEMORY_MIN, BYTES_MAX},
	{"private_home", SETTINGS_BOOL, P(private_home)},
	{"memory_mount", SETTINGS_BOOL, P(memory_mount)},
	{"outputs_mount", SETTINGS_BOOL, P(outputs_mount)},
	{"environment", SETTINGS_LIST, P(environment), .check = check_environment},
	{"memory", SETTINGS_SIZE, P(limits.memory_bytes), MEMORY_MIN, BYTES_MAX,
         .has_unlimited = true, .place = P(limits_places[POLICY_LIMIT_MEMORY])},
	{"cpus", SETTINGS_CPUS, P(limits.cpu_millis), 10, CPUS_MAX, .has_unlimited = true,
         .place = P(limits_places[POLICY_LIMIT_CPUS])},
	{"cpu_weight", SETTINGS_NUMBER, P(limits.cpu_weight), 1, 10000},
	{"pids", SETTINGS_NUMBER, P(limits.pids), 2, PIDS_MAX, .has_unlimited = true,
         .place = P(limits_places[POLICY_LIMIT_PIDS])},
	{"files", SETTINGS_NUMBER, P(limits.files), 16, FILES_MAX, .has_unlimited = true,
         .place = P(limits_places[POLICY_LIMIT_FILES])},
	{"file_size", SETTINGS_SIZE, P(limits.file_bytes), 1, BYTES_MAX, .has_unlimited = true,
         .place = P(limits_places[POLICY_LIMIT_FILE_SIZE])},
	{"core", SETTINGS_CORE, P(limits.core_bytes), 1, BYTES_MAX, .has_unlimited = true,
         .place = P(limits_places[POLICY_LIMIT_CORE])},
	{"command_timeout", SETTINGS_TIME, P(command_ms), 1, COMMAND_MS_MAX, .has_unlimited = true,
         .place = P(command_places[0])},
	{"max_command_timeout", SETTINGS_TIME, P(command_max_ms), 1, COMMAND_MS_MAX,
         .has_unlimited = true, .place = P(command_places[1])},
	{"cpu_time", SETTINGS_NUMBER, P(limits.cpu_seconds), 1, UINT32_MAX, .has_unlimited = true},
	{"stack", SETTINGS_SIZE, P(limits.stack_bytes), 65536, BYTES_MAX, .has_unlimited = true},
	{"stack_max", SETTINGS_SIZE, P(limits.stack_max_bytes), 65536, BYTES_MAX,
         .has_unlimited = true},
	{"syscalls", SETTINGS_CHOICE, S(syscalls), .choices = syscall_sets},
	{"syscalls_allow", SETTINGS_LIST, S(syscalls_allow), .check = check_syscall},
	{"syscalls_deny", SETTINGS_LIST, S(syscalls_deny), .check = check_syscall},
	{"syscalls_log", SETTINGS_LIST, S(syscalls_log), .check = check_syscall},
	{"capabilities", SETTINGS_LIST, P(capabilities), .check = check_capability},
	{"nested_userns", SETTINGS_BOOL, P(nested_userns)},
	{"perf_events", SETTINGS_BOOL, P(perf_events)},
	{"identity", SETTINGS_CHOICE, P(identity), .choices = identities},
	{"umask", SETTINGS_OCTAL, P(umask), 0, 0777},
	{"nice", SETTINGS_SIGNED, P(nice), .max = 19},
	{"hostname", SETTINGS_TEXT, P(hostname), .check = policy_hostname_problem},
	{"apparmor_profile", SETTINGS_TEXT, P(apparmor_profile), .check = policy_label_problem},
	{"selinux_type", SETTINGS_TEXT, P(selinux_type), .check = policy_label_problem},
	{"label", SETTINGS_CHOICE, P(label), .choices = label_rules},
	{"shares", SETTINGS_BOOL, P(shares), .place = P(shares_place)},
	{"workspace", SETTINGS_CHOICE, P(workspace), .choices = workspaces},
	{"record", SETTINGS_CHOICES, P(record), .choices = records, .place = S(record_place)},
	{"network", SETTINGS_CHOICE, P(network), .choices = networks, .place = P(network_place)},
	{"allow", SETTINGS_ALLOW, S(allow)},
	{"deny", SETTINGS_DENY, S(deny)},
	{"allow_private", SETTINGS_BOOL, P(allow_private)},
	{"bandwidth_in", SETTINGS_SIZE, P(bandwidth_in_bytes), RATE_MIN, BYTES_MAX,
         .has_unlimited = true},
	{"bandwidth_out", SETTINGS_SIZE, P(bandwidth_out_bytes), RATE_MIN, BYTES_MAX,
         .has_unlimited = true},
	{"connections", SETTINGS_NUMBER4, P(connections), 1, POLICY_CONNECTIONS_MAX},
};
#undef P
#undef S

#define S(field) offsetof(struct settings_grant, field)
#define G(field) S(grant.field)
#define AT(key)  G(places[POLICY_##key])
/* The first keys also apply to ceilings: the users and groups, and the limits. */
#define CEILING_KEYS 19
static const struct settings_key grant_keys[] = {
	{"users", SETTINGS_LIST, S(users), .check = check_account},
	{"groups", SETTINGS_LIST, S(groups), .check = check_account},
	{"max_memory", SETTINGS_SIZE, G(limits_max.memory_bytes), MEMORY_MIN, BYTES_MAX,
         .place = AT(LIMIT_MEMORY)},
	{"max_cpus", SETTINGS_CPUS, G(limits_max.cpu_millis), 10, CPUS_MAX,
         .place = AT(LIMIT_CPUS)},
	{"max_pids", SETTINGS_NUMBER, G(limits_max.pids), 2, PIDS_MAX, .place = AT(LIMIT_PIDS)},
	{"max_files", SETTINGS_NUMBER, G(limits_max.files), 16, FILES_MAX,
         .place = AT(LIMIT_FILES)},
	{"max_file_size", SETTINGS_SIZE, G(limits_max.file_bytes), 1, BYTES_MAX,
         .place = AT(LIMIT_FILE_SIZE)},
	{"max_core", SETTINGS_CORE, G(limits_max.core_bytes), 1, BYTES_MAX,
         .place = AT(LIMIT_CORE)},
	{"linger_max", SETTINGS_LINGER, G(linger_max_ms), .place = AT(KEY_LINGER)},
	{"max_command_timeout", SETTINGS_TIME, G(command_max_ms), 1, COMMAND_MS_MAX,
         .has_unlimited = true, .place = AT(KEY_COMMAND)},
	{"max_io_read", SETTINGS_SIZE, G(limits_max.io_read_bytes), RATE_MIN, BYTES_MAX,
         .has_unlimited = true, .place = AT(KEY_IO_READ)},
	{"max_io_write", SETTINGS_SIZE, G(limits_max.io_write_bytes), RATE_MIN, BYTES_MAX,
         .has_unlimited = true, .place = AT(KEY_IO_WRITE)},
	{"user_memory", SETTINGS_SIZE, G(user_limits.memory_bytes), MEMORY_MIN, BYTES_MAX,
         .has_unlimited = true, .place = AT(KEY_USER_MEMORY)},
	{"user_cpus", SETTINGS_CPUS, G(user_limits.cpu_millis), 10, CPUS_MAX, .has_unlimited = true,
         .place = AT(KEY_USER_CPUS)},
	{"user_pids", SETTINGS_NUMBER, G(user_limits.pids), 2, PIDS_MAX, .has_unlimited = true,
         .place = AT(KEY_USER_PIDS)},
	{"user_terminals", SETTINGS_NUMBER4, G(terminals_max), 1, INT32_MAX, .has_unlimited = true,
         .place = AT(KEY_USER_TERMINALS)},
	{"max_sandboxes", SETTINGS_NUMBER4, G(sandboxes_max), 1, POLICY_SANDBOXES_MAX,
         .has_unlimited = true, .place = AT(KEY_SANDBOXES)},
	{"max_creations", SETTINGS_NUMBER4, G(creations_max), 1, RATE_MAX, .has_unlimited = true,
         .place = AT(KEY_CREATIONS)},
	{"max_requests", SETTINGS_NUMBER4, G(requests_max), 1, RATE_MAX, .has_unlimited = true,
         .place = AT(KEY_REQUESTS)},
	{"expire", SETTINGS_DATE, G(expires), .min = 1},
	{"keys", SETTINGS_LIST, G(keys), .check = check_name_or_all, .otherwise = "*",
         .place = AT(KEY_KEYS)},
	{"profiles", SETTINGS_LIST, G(profiles), .check = check_name_or_all,
         .place = AT(KEY_PROFILES)},
	{"share_ro", SETTINGS_LIST, G(share_ro), .check = check_rule, .place = AT(KEY_SHARE_RO)},
	{"share_rw", SETTINGS_LIST, G(share_rw), .check = check_rule, .place = AT(KEY_SHARE_RW)},
	{"sockets", SETTINGS_LIST, G(sockets), .check = check_socket, .place = AT(KEY_SOCKETS)},
	{"publish", SETTINGS_LIST, G(publish), .check = check_address},
	{"capabilities", SETTINGS_LIST, G(capabilities), .check = check_capability,
         .place = AT(KEY_CAPABILITIES)},
	{"devices", SETTINGS_LIST, G(devices), .check = check_device, .place = AT(KEY_DEVICES)},
	{"identity_caller", SETTINGS_BOOL, G(identity_caller), .place = AT(KEY_IDENTITY_CALLER)},
	{"identity_root", SETTINGS_BOOL, G(identity_root), .place = AT(KEY_IDENTITY_ROOT)},
	{"nested_userns", SETTINGS_BOOL, G(nested_userns), .place = AT(KEY_NESTED_USERNS)},
	{"perf_events", SETTINGS_BOOL, G(perf_events), .place = AT(KEY_PERF_EVENTS)},
	{"allow_private", SETTINGS_BOOL, G(allow_private), .place = AT(KEY_ALLOW_PRIVATE)},
	{"network", SETTINGS_CHOICE, G(network), .choices = networks, .place = AT(KEY_NETWORK)},
	{"allow", SETTINGS_ALLOW, S(allow), .place = AT(KEY_ALLOW)},
	{"deny", SETTINGS_DENY, S(deny)},
	{"user_keys", SETTINGS_BOOL, G(user_keys), .place = AT(KEY_USER_KEYS)},
	{"confined_clients", SETTINGS_BOOL, G(confined_clients), .place = AT(KEY_CONFINED)},
	{"agents", SETTINGS_BOOL, G(agents)},
	{"fall_through", SETTINGS_BOOL, G(fall_through)},
};
#undef AT
#undef G
#undef S

#define C(field) offsetof(struct compiled, field)
#define H(field) C(policy.field)
static const struct settings_key helper_keys[] = {
	{"runtime_dir", SETTINGS_TEXT, H(runtime_dir), .check = policy_path_problem},
	{"keys_dir", SETTINGS_TEXT, H(keys_dir), .check = policy_path_problem},
	{"cgroup", SETTINGS_TEXT, H(cgroup), .check = policy_path_problem},
	{"ids_first", SETTINGS_NUMBER4, H(ids_first), POLICY_IDS_FIRST_MIN, UINT32_MAX,
         .place = H(ids_place)},
	{"ids_ranges", SETTINGS_NUMBER4, H(ids_ranges), 2, POLICY_IDS_RANGES_MAX,
         .place = H(ids_place)},
	{"audit", SETTINGS_CHOICE, H(audit), .choices = audits},
	{"audit_dir", SETTINGS_TEXT, H(audit_dir), .check = policy_path_problem},
	{"audit_max_size", SETTINGS_SIZE, H(audit_max_bytes), AUDIT_SIZE_MIN, BYTES_MAX,
         .has_unlimited = true},
	{"audit_user_size", SETTINGS_SIZE, H(audit_user_bytes), AUDIT_SIZE_MIN, BYTES_MAX,
         .has_unlimited = true},
	{"record", SETTINGS_CHOICES, C(record), .choices = records, .place = C(record_place)},
	{"spares", SETTINGS_NUMBER4, H(spares), 0, POLICY_SPARES_MAX},
	{"network_proxy", SETTINGS_PROXY, C(proxy)},
	{"no_proxy", SETTINGS_DIRECT, C(direct)},
};
#undef H
#undef C

const struct settings_section settings_sections[SETTINGS_SECTIONS] = {
	[SETTINGS_HELPER] = {"helper", CFGF_NONE, helper_keys, ARRAY_SIZE(helper_keys)},
	[SETTINGS_PROFILE] = {"profile", CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES,
                              profile_keys, ARRAY_SIZE(profile_keys)},
	[SETTINGS_GRANT] = {"grant", CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES, grant_keys,
                            ARRAY_SIZE(grant_keys)},
	[SETTINGS_CEILING] = {"ceiling", CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES, grant_keys,
                              CEILING_KEYS},
};

_Static_assert(ARRAY_SIZE(profile_keys) <= SETTINGS_KEYS_MAX, "the tables of parse.c");
_Static_assert(ARRAY_SIZE(grant_keys) <= SETTINGS_KEYS_MAX, "the tables of parse.c");

static int parse_octal(const char *text, uint64_t *ret_number)
{
	if (strlen(text) > 4 || !consists_of(text, "01234567"))
		return -EINVAL;
	*ret_number = strtoul(text, NULL, 8);
	return 0;
}

static int parse_bool(const char *text, uint64_t *ret_number)
{
	int value = cfg_parse_boolean(text);

	if (value < 0)
		return -EINVAL;
	*ret_number = (uint64_t)value;
	return 0;
}

/* Elsewhere 0 means no limit. For linger_max, 0 means "not at all", which is also the default. */
static int parse_linger(const char *text, uint64_t *ret_number)
{
	int r = 0;

	*ret_number = POLICY_LINGER_UNLIMITED;
	if (strcmp(text, "unlimited") != 0)
		r = units_parse_duration(text, ret_number);
	return r == 0 && *ret_number > BYTES_MAX && *ret_number != POLICY_LINGER_UNLIMITED ? -ERANGE
	                                                                                   : r;
}

/* How number kinds are parsed and stored. */
static const struct {
	int (*parse)(const char *text, uint64_t *ret_number);
	const char *wanted;
	size_t size;
} numbers[] = {
	[SETTINGS_BOOL] = {parse_bool, "is not true or false", sizeof(bool)},
	[SETTINGS_SIZE] = {units_parse_size, "is not a size such as 64M or 2G", 8},
	[SETTINGS_CORE] = {units_parse_core,
                           "is not none, nor a size of at least 4K such as 64M or 2G", 8},
	[SETTINGS_CPUS] = {units_parse_cpus, "is not a number such as 2 or 1.5", 8},
	[SETTINGS_LINGER] = {parse_linger, "is not a time such as 30m or 12h, or unlimited", 8},
	[SETTINGS_DATE] = {date_parse, "is not a date such as 2026-12-31 or 2026-12-31T18:00:00Z",
                           8},
	[SETTINGS_TIME] = {units_parse_duration, "is not a time such as 30s or 10m, or unlimited",
                           8},
	[SETTINGS_NUMBER] = {units_parse_number, "is not a whole number", 8},
	[SETTINGS_NUMBER4] = {units_parse_number, "is not a whole number", 4},
	[SETTINGS_OCTAL] = {parse_octal, "is not an octal number such as 022, or caller", 4},
	[SETTINGS_SIGNED] = {units_parse_number, "is not a whole number", 4},
};

/* Returns what is wrong with the text, or NULL. So do the functions below that return text. */
static const char *set_number(const struct settings_key *key, const char *text, void *field)
{
	bool is_negative = key->kind == SETTINGS_SIGNED && *text == '-';
	uint64_t number = 0;

	if (key->kind == SETTINGS_OCTAL && strcmp(text, "caller") == 0) {
		number = PLAN_UMASK_CALLER;
	} else if (!key->has_unlimited || strcmp(text, "unlimited") != 0) {
		if (numbers[key->kind].parse(text + is_negative, &number) < 0)
			return numbers[key->kind].wanted;
		if (number < key->min || (key->max && number > key->max))
			return number < key->min ? "is too small" : "is too large";
	}
	number = is_negative ? -number : number;
	if (numbers[key->kind].size == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else if (numbers[key->kind].size == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)number;
	else
		*(bool *)field = number;
	return NULL;
}

int settings_refuse(struct policy_place place, const char *text, const char *problem,
                    const char *const *names, size_t count, struct yett_error *error)
{
	const char *near = near_word(text, names, count);
	char with_near[256];

	(void)snprintf(with_near, sizeof with_near, near ? "%s: did you mean %s?" : "%s", problem,
	               near ? ESCAPE(near) : "");
	return policy_refuse(place, text, with_near, error);
}

static int set_choice(const struct settings_key *key, const struct parse_value *value,
                      uint32_t *field, struct yett_error *error)
{
	char problem[160];
	uint32_t index = 0;
	size_t used = 0;

	while (key->choices[index] && strcmp(key->choices[index], value->text) != 0)
		index++;
	*field = index;
	if (key->choices[index])
		return 0;
	for (uint32_t i = 0; i < index; i++)
		used += (size_t)snprintf(problem + used, sizeof problem - used, "%s%s",
		                         i == 0           ? "is not "
		                         : i + 1 == index ? " or "
		                                          : ", ",
		                         key->choices[i]);
	return settings_refuse(value->place, value->text, problem, key->choices, index, error);
}

static int set_choices(const struct settings_key *key, cfg_t *section, void *object,
                       struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;
	uint32_t *field = (uint32_t *)((char *)object + key->offset), index = 0;
	int r = 0;

	*field = first ? *field : 0;
	for (unsigned i = first; r == 0 && (value = parse_value(section, key->name, i)); i++) {
		if (value->is_empty)
			continue;
		r = set_choice(key, value, &index, error);
		*field |= UINT32_C(1) << index;
		*(struct policy_place *)((char *)object + key->place) = value->place;
	}
	return r;
}

static const char *set_text(const struct settings_key *key, const char *text, char **field)
{
	const char *problem = key->check ? key->check(text) : NULL;
	char *copy = problem ? NULL : strdup(text);

	if (!copy)
		return problem ? problem : "does not fit into memory";
	free(*field);
	*field = copy;
	return NULL;
}

void settings_clear_list(struct policy_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	free(list->places);
	*list = (struct policy_list){0};
}

static const char *list_add(const struct settings_key *key, const char *text,
                            struct policy_place place, struct policy_list *list)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof *items);
	struct policy_place *places = reallocarray(list->places, list->count + 1, sizeof *places);
	const char *problem;

	list->items = items ? items : list->items;
	list->places = places ? places : list->places;
	if (!items || !places)
		return "does not fit into memory";
	if (list->count == SETTINGS_LIST_MAX)
		return "is one item too many";
	items[list->count] = NULL;
	problem = set_text(key, text, &items[list->count]);
	if (!problem)
		places[list->count++] = place;
	return problem;
}

static int policy_settings_set_list(const struct settings_key *key, cfg_t *section,
                                    struct policy_list *list, struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;

	if (!first)
		settings_clear_list(list);
	for (unsigned i = first; (value = parse_value(section, key->name, i)); i++) {
		const char *problem =
			value->is_empty ? NULL : list_add(key, value->text, value->place, list);

		if (problem)
			return policy_refuse(value->place, value->text, problem, error);
	}
	if (key->otherwise && !parse_value(section, key->name, first) &&
	    list_add(key, key->otherwise, parse_place(section), list))
		return -ENOMEM;
	list->place = list->count ? list->places[0] : parse_place(section);
	value = parse_value(section, key->name, first);
	if (key->place && value)
		*(struct policy_place *)((char *)list - key->offset + key->place) = value->place;
	return 0;
}

static void rules_clear(struct settings_rules *rules)
{
	free(rules->list);
	free(rules->places);
	*rules = (struct settings_rules){0};
}

/* Makes room for one more rule and its place. */
static int rules_grow(struct settings_rules *rules, size_t count, size_t size)
{
	size_t used = rules->list ? rules->list->size : sizeof *rules->list;
	size_t room = used + size <= rules->room ? rules->room : 2 * (used + size);
	struct net_list *list = room > rules->room ? realloc(rules->list, room) : rules->list;
	/* The capacity is always a power of two. */
	const bool is_full = (count & (count - 1)) == 0;
	struct policy_place *places =
		is_full ? reallocarray(rules->places, count ? 2 * count : 1, sizeof *places)
			: rules->places;

	if (list && !rules->list)
		net_list_begin(list);
	rules->list = list ? list : rules->list;
	rules->places = places ? places : rules->places;
	if (!list || !places)
		return -ENOMEM;
	rules->room = room;
	return 0;
}

static int rules_add(enum net_list_kind kind, const struct net_rule *rule,
                     struct policy_place place, struct settings_rules *rules)
{
	size_t count = rules->list ? rules->list->count[kind] : 0, size = net_list_measure(rule);
	int r = count < POLICY_RULES_MAX ? rules_grow(rules, count, size) : -E2BIG;

	if (r < 0)
		return r;
	if (rules->list->size + size > POLICY_RULES_SIZE_MAX)
		return -E2BIG;
	rules->places[count] = place;
	return net_list_add(rules->list, rules->room, kind, rule, (uint32_t)count);
}

/* Adds "FILE:LINE: " to an error without a place. Keeps the hint. */
static int refuse_at(struct policy_place place, struct yett_error *error)
{
	struct yett_error what = *error;

	(void)error_set(error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s", place.file, place.line,
	                what.message);
	error_mend(error, "%s", what.mend);
	return YETT_E_INVALID_REQUEST;
}

/*
 * Returns the part of the value that is a rule: for a proxy, the text after the scheme. Returns
 * NULL with `error` set if the value is wrong.
 */
static const char *rule_text(enum net_list_kind kind, const struct parse_value *value,
                             char text[NET_RULE_TEXT_SIZE], struct yett_error *error)
{
	static const char scheme[] = "http://";
	/* The value may contain a password, so no message may show it. */
	bool has_user = strchr(value->text, '@');
	size_t length;

	if (kind != NET_LIST_PROXY)
		return value->text;
	if (has_user || strncmp(value->text, scheme, sizeof scheme - 1) != 0) {
		(void)policy_refuse(
			value->place, has_user ? "network_proxy" : value->text,
			has_user ? "has a name or a password in it, and Yett sends none to a proxy"
				 : "is not http://HOST:PORT",
			error);
		return NULL;
	}
	/* A text that is cut here is too long for a rule. */
	length = (size_t)snprintf(text, NET_RULE_TEXT_SIZE, "%s", value->text + sizeof scheme - 1);
	if (length > 0 && length < NET_RULE_TEXT_SIZE && text[length - 1] == '/')
		text[length - 1] = '\0';
	return text;
}

/* Whether the rule is one name or one address, with one port. */
static bool is_place(const struct net_rule *rule)
{
	return rule->port_first == rule->port_last && !rule->is_bound &&
	       (rule->kind == NET_RULE_NAME ||
	        (rule->kind == NET_RULE_ADDRESS && rule->prefix == NET_ADDRESS_PREFIX_MAX));
}

static int policy_settings_add_rule(enum net_list_kind kind, const struct parse_value *value,
                                    struct settings_rules *rules, struct yett_error *error)
{
	char proxy[NET_RULE_TEXT_SIZE];
	_cleanup_free_ char *text = NULL;
	struct net_rule rule;
	const char *written = rule_text(kind, value, proxy, error);
	int r = written ? net_idn_rule(written, &text, error) : 0;

	if (!written)
		return YETT_E_INVALID_REQUEST;
	if (r == 0)
		r = net_rule_parse(text, &rule, error);
	if (r == 0 && kind == NET_LIST_PROXY && !is_place(&rule))
		return policy_refuse(value->place, value->text, "is not http://HOST:PORT", error);
	if (r == 0 && kind == NET_LIST_ALLOW && net_rule_allows_nothing(&rule)) {
		r = policy_refuse(
			value->place, value->text,
			"allows nothing: no sandbox reaches link-local, cloud metadata or non-host addresses",
			error);
		error_mend(error, "leave it out");
		return r;
	}
	if (r != 0)
		return r > 0 ? refuse_at(value->place, error) : r;
	r = rules_add(kind, &rule, value->place, rules);
	return r == -E2BIG
	               ? policy_refuse(
				 value->place, value->text,
				 "is one rule too many: a list has up to 5000, and 640 KiB of them",
				 error)
	               : r;
}

/* Indexed by kind - SETTINGS_ALLOW. */
static const enum net_list_kind lists_of_rules[] = {NET_LIST_ALLOW, NET_LIST_DENY, NET_LIST_DIRECT,
                                                    NET_LIST_PROXY};

static int set_rules(const struct settings_key *key, cfg_t *section, struct settings_rules *rules,
                     struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;
	int r = 0;

	if (!first)
		rules_clear(rules);
	for (unsigned i = first; r == 0 && (value = parse_value(section, key->name, i)); i++)
		if (!value->is_empty)
			r = policy_settings_add_rule(lists_of_rules[key->kind - SETTINGS_ALLOW],
			                             value, rules, error);
	value = parse_value(section, key->name, first);
	if (key->place && value)
		*(struct policy_place *)((char *)rules - key->offset + key->place) = value->place;
	return r;
}

static int set_scalar(const struct settings_key *key, cfg_t *section, void *object,
                      struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	void *field = (char *)object + key->offset;
	const char *problem = NULL;
	int r = 0;

	if (!value)
		return 0;
	if (value->is_empty)
		problem = "is a list where one value is expected";
	else if (key->kind == SETTINGS_TEXT)
		problem = set_text(key, value->text, field);
	else if (key->kind == SETTINGS_CHOICE)
		r = set_choice(key, value, field, error);
	else
		problem = set_number(key, value->text, field);
	if (problem)
		r = policy_refuse(value->place, value->text, problem, error);
	if (r != 0)
		return r;
	if (key->place)
		*(struct policy_place *)((char *)object + key->place) = value->place;
	return 0;
}

static bool has_rules(enum settings_kind kind)
{
	return kind >= SETTINGS_ALLOW && kind <= SETTINGS_PROXY;
}

bool settings_is_list(enum settings_kind kind)
{
	return kind == SETTINGS_LIST || kind == SETTINGS_CHOICES ||
	       (has_rules(kind) && kind != SETTINGS_PROXY);
}

int settings_fill(enum settings_section_index index, cfg_t *section, void *object,
                  struct yett_error *error)
{
	const struct settings_section *table = &settings_sections[index];
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const struct settings_key *key = &table->keys[i];

		if (key->kind == SETTINGS_LIST)
			r = policy_settings_set_list(key, section,
			                             (void *)((char *)object + key->offset), error);
		else if (key->kind == SETTINGS_CHOICES)
			r = set_choices(key, section, object, error);
		else if (has_rules(key->kind))
			r = set_rules(key, section, (void *)((char *)object + key->offset), error);
		else
			r = set_scalar(key, section, object, error);
	}
	return r;
}

void settings_clear(enum settings_section_index index, void *object)
{
	const struct settings_section *table = &settings_sections[index];

	for (size_t i = 0; i < table->count; i++) {
		void *field = (char *)object + table->keys[i].offset;

		if (table->keys[i].kind == SETTINGS_LIST)
			settings_clear_list(field);
		else if (has_rules(table->keys[i].kind))
			rules_clear(field);
		else if (table->keys[i].kind == SETTINGS_TEXT)
			freep(field);
	}
}
