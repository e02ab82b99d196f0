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
#include "programs/decide/policy/compiled.h"
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
#define BYTES_MAX      SETTINGS_MAX
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

int settings_refuse(struct policy_place place, const char *text, const char *problem,
                    const char *const *names, size_t count, struct yett_error *error)
{
	const char *near = near_word(text, names, count);
	char with_near[256];

	(void)snprintf(with_near, sizeof with_near, near ? "%s: did you mean %s?" : "%s", problem,
	               near ? ESCAPE(near) : "");
	return policy_refuse(place, text, with_near, error);
}

bool settings_has_rules(enum settings_kind kind)
{
	return kind >= SETTINGS_ALLOW && kind <= SETTINGS_PROXY;
}

bool settings_is_list(enum settings_kind kind)
{
	return kind == SETTINGS_LIST || kind == SETTINGS_CHOICES ||
	       (settings_has_rules(kind) && kind != SETTINGS_PROXY);
}
