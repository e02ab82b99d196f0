/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's files: what is read, and that every mistake is found with file and line. */
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/units_format.h"
#include "programs/decide/policy/target.h"
#include "tests/support/bpf.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

/* A directory of this test's own, with yett.conf and conf.d in it. */
struct place {
	char directory[64], file[96];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof *place);

	strcpy(place->directory, "/tmp/yett-policy-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	(void)snprintf(place->file, sizeof place->file, "%s/yett.conf", place->directory);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	assert_int_equal(folder_remove(place->directory), 0);
	free(place);
	return 0;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/%s", place->directory, name);
	folder_write(path, text, 0600);
}

static int load_as(const struct place *place, bool with_fragments, uid_t owner,
                   struct policy **ret_policy, struct yett_error *error)
{
	return policy_load(
		&(struct policy_source){getenv("YETT_LIBEXEC"), place->file, with_fragments, owner},
		ret_policy, error);
}

static int load(const struct place *place, struct policy **ret_policy, struct yett_error *error)
{
	return load_as(place, true, getuid(), ret_policy, error);
}

#define GRANT "grant \"g\" { users = {\"*\"} profiles = {\"*\"} }\n"

#define WITH_PLACE(test) TEST_OF(test, struct place *place, make_place, remove_place)

WITH_PLACE(a_profile_inherits_what_it_does_not_set)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error;
	const struct policy_profile *child;

	write_file(
		place, "yett.conf",
		"profile \"base\" {\n  memory = 1G\n  cpus = 1.5\n  umask = 027\n  nice = -5\n  mask = {\"/srv\"}\n"
		"  environment = {\"A=1\",\n    \"B=2\"}\n  syscalls = strict\n  etc = {\"ssl/certs\"}\n}\n"
		"profile \"child\" {\n  extends = \"middle\"\n  memory = 2G\n  environment += {\"C=3\"}\n  mask = {}\n}\n"
		"profile \"middle\" { extends = \"base\" pids = 7 stack = unlimited private_home = no }\n" GRANT);
	assert_int_equal(load(place, &policy, &error), 0);
	child = policy_find_profile(policy, "child");
	assert_non_null(child);
	assert_int_equal(child->place.line, 12);
	assert_string_equal(child->place.file, place->file);
	assert_int_equal(child->limits.memory_bytes, 2ull << 30);
	assert_int_equal(child->limits.cpu_millis, 1500);
	assert_int_equal(child->limits.pids, 7);
	assert_int_equal(child->limits.cpu_weight, 100);
	assert_int_equal(child->umask, 027);
	assert_int_equal(child->nice, -5);
	assert_in_range(child->init_filter_count, 100, BPF_MAXINSNS);
	assert_in_range(child->command_filter_count, 1, child->init_filter_count);
	assert_in_range(child->build_filter_count, 20, child->init_filter_count);
	assert_int_equal(child->init_filter_count, policy->profiles[0].init_filter_count);
	assert_false(child->private_home);
	assert_true(child->shares);
	assert_int_equal(child->mask.count, 0);
	assert_int_equal(child->environment.count, 3);
	assert_string_equal(child->environment.items[0], "A=1");
	assert_int_equal(child->environment.places[1].line, 8);
	assert_string_equal(child->environment.items[2], "C=3");
	assert_int_equal(child->environment.places[2].line, 15);
	assert_string_equal(child->hostname, "sandbox");
	assert_null(policy_find_profile(policy, "other"));
}

WITH_PLACE(what_a_profile_mounts_is_split_before_the_helper_has_it)
{
	static const struct {
		const char *source, *target;
		uint64_t size_bytes;
		bool writable;
		unsigned line;
	} expected[] = {{"/usr/share", "/data", 0, false, 3},
	                {"/usr", "/usr", 0, true, 4},
	                {"", "/scratch", 2 << 20, false, 5},
	                {"", "/plain", 0, false, 6}};
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error;
	const struct policy_profile *profile;

	write_file(
		place, "yett.conf",
		"profile \"p\" {\n  system = {\"/etc/ssl\", \"/opt/x/y\", \"/opt/x\", \"/opt/xy\", \"/opt/x\"}\n  share_ro = {\"/usr/share:/data\"}\n"
		"  share_rw = {\"/usr\"}\n  tmpfs = {\"/scratch:2M\",\n    \"/plain\"}\n}\n" GRANT);
	if (load(place, &policy, &error) != 0)
		fail_msg("%s", error.message);
	profile = policy_find_profile(policy, "p");
	assert_int_equal(profile->mounts_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_string_equal(profile->mounts[i].source, expected[i].source);
		assert_string_equal(profile->mounts[i].target, expected[i].target);
		assert_int_equal(profile->mounts[i].size_bytes, expected[i].size_bytes);
		assert_int_equal(profile->mounts[i].writable, expected[i].writable);
		assert_int_equal(profile->mounts[i].place.line, expected[i].line);
	}
	assert_int_equal(profile->system.count, 3);
	assert_string_equal(profile->system.items[0], "/etc/ssl");
	assert_string_equal(profile->system.items[1], "/opt/xy");
	assert_string_equal(profile->system.items[2], "/opt/x");
}

WITH_PLACE(a_grant_knows_whom_it_is_for)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error;
	const struct policy_grant *grant;

	write_file(
		place, "yett.conf",
		"profile \"p\" { }\n"
		"grant \"g\" {\n  users = {\"root\", \"4711\"}\n  groups = {\"daemon\"}\n  profiles = {\"p\"}\n"
		"  max_memory = 64M\n  max_sandboxes = 3\n  capabilities = {\"chown\", \"kill\"}\n  share_ro = {\"/usr/share\", \"*\"}\n}\n");
	assert_int_equal(load(place, &policy, &error), 0);
	grant = &policy->grants[0];
	assert_int_equal(grant->uids_count, 2);
	assert_int_equal(grant->uids[0], 0);
	assert_int_equal(grant->uids[1], 4711);
	assert_int_equal(grant->gids_count, 1);
	assert_int_equal(grant->gids[0], 1);
	assert_false(grant->everyone);
	assert_int_equal(grant->limits_max.memory_bytes, 64 << 20);
	assert_int_equal(grant->places[POLICY_LIMIT_MEMORY].line, 6);
	assert_null(grant->places[POLICY_LIMIT_PIDS].file);
	assert_int_equal(grant->sandboxes_max, 3);
	assert_int_equal(grant->places[POLICY_KEY_SANDBOXES].line, 7);
	assert_int_equal(grant->capabilities_mask, 1u << 0 | 1u << 5);
}

WITH_PLACE(as_many_fragments_as_there_may_be_are_read_and_one_more_is_refused)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct policy *other = NULL;
	struct yett_error error;
	char path[160];

	(void)snprintf(path, sizeof path, "%s/conf.d", place->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(place, "yett.conf", "profile \"p\" { memory = 1G }\n");
	for (int i = 1; i < POLICY_FILES_MAX; i++) {
		(void)snprintf(path, sizeof path, "conf.d/%03d.conf", i);
		write_file(place, path, i == POLICY_FILES_MAX - 1 ? GRANT : "\n");
	}
	assert_int_equal(load(place, &policy, &error), 0);
	assert_int_equal(policy->grants_count, 1);
	write_file(place, "conf.d/one-more.conf", "\n");
	assert_int_equal(load(place, &other, &error), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "holds too many files"));
}

WITH_PLACE(fragments_are_read_in_the_order_of_their_names)
{
	_cleanup_(policy_freep) struct policy *policy = NULL, *other = NULL;
	struct yett_error error;
	char path[160];

	(void)snprintf(path, sizeof path, "%s/conf.d", place->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(place, "yett.conf", "profile \"p\" { memory = 1G }\n");
	write_file(place, "conf.d/20-b.conf",
	           "grant \"b\" { users = {\"*\"} profiles = {\"q\"} }\n");
	write_file(place, "conf.d/10-a.conf", "\nprofile \"q\" { extends = \"p\" }\n" GRANT);
	write_file(place, "conf.d/30-c.conf.bak", "nonsense");
	write_file(place, "conf.d/.hidden.conf", "nonsense");
	assert_int_equal(load(place, &policy, &error), 0);
	assert_int_equal(policy->grants_count, 2);
	assert_string_equal(policy->grants[0].name, "g");
	assert_string_equal(policy->grants[1].name, "b");
	assert_non_null(strstr(policy->profiles[1].place.file, "conf.d/10-a.conf"));
	assert_int_equal(policy->profiles[1].place.line, 2);
	assert_int_equal(policy->profiles[1].limits.memory_bytes, 1 << 30);
	write_file(place, "conf.d/20-b.conf",
	           "grant \"b\" { users = {\"*\"} profiles = {\"p\"} }\n");
	assert_int_equal(load(place, &other, &error), 0);
	assert_int_not_equal(policy->generation, other->generation);
	write_file(place, "conf.d/20-b.conf",
	           "grant \"g\" { users = {\"*\"} profiles = {\"p\"} }\n");
	policy_free(other);
	other = NULL;
	assert_int_equal(load(place, &other, &error), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "conf.d/20-b.conf:1"));
	assert_int_equal(load_as(place, false, getuid(), &other, &error), 0);
}

#define PUBLISH(list) \
	"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} publish = {" list "} }"
#define SOCKETS(list) \
	"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} sockets = {" list "} }"

/* Each is refused, with the line and the words. */
static const struct {
	const char *text;
	unsigned line;
	const char *words;
} mistakes[] = {
	{"\n\nprofile \"p\" {\n  memroy = 2G\n}\n", 4,
         "profile has no key `memroy`: did you mean memory?"},
	{"# one\n# two\nprofiles \"p\" { }\n", 3,
         "there is no section `profiles`: it is a key, of grant { }"},
	{"profile \"p\" {\n# a {\n  memory = 2X\n}\n", 3, "is not a size"},
	{"profile \"p\" { memory = 4 }", 1, "is too small"},
	{"profile \"p\" { memory = 99999999999G }", 1, "is not a size"},
	{"profile \"p\" { memory = -1 }", 1, "is not a size"},
	{"profile \"p\" { memory = \"\" }", 1, "is not a size"},
	{"profile \"p\" { cpus = 1.2345 }", 1, "is not a number"},
	{"profile \"p\" { cpus = 1. }", 1, "is not a number"},
	{"profile \"p\" { pids = 1 }", 1, "is too small"},
	{"profile \"p\" { pids = 10M }", 1, "is not a whole number"},
	{"profile \"p\" { tmp_size = unlimited }", 1, "is not a size"},
	{"profile \"p\" { nice = -21 }", 1, "is too large"},
	{"profile \"p\" { umask = 088 }", 1, "is not an octal number"},
	{"profile \"p\" { umask = 7777 }", 1, "is too large"},
	{"profile \"p\" { umask = 1000 }", 1, "is too large"},
	{"profile \"p\" { shares = perhaps }", 1, "is not true or false"},
	{"profile \"p\" { identity = me }", 1, "'me' is not private, root or caller"},
	{"profile \"p\" { network = limitd }", 1,
         "'limitd' is not none, limited, open or host: did you mean limited?"},
	{"profile \"p\" { extends = \"qq\" }\nprofile \"q\" { }", 1, "'qq' is not a profile"},
	{"profile \"build\" { }\nprofile \"p\" { extends = \"biuld\" }", 2,
         "'biuld' is not a profile: did you mean build?"},
	{"profile \"build\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"buidl\"} }", 2,
         "'buidl' is not a profile: did you mean build?"},
	{"profile \"p\" { max_memory = 1G }", 1,
         "profile has no key `max_memory`: it is a key of grant"},
	{"audit = required", 1, "there is no section `audit`: it is a key, of helper { }"},
	{"heper { }", 1, "there is no section `heper`: did you mean helper?"},
	{"profile \"p\" { hostname = \"a_b\" }", 1, "is not a host name"},
	{"profile \"p\" { label = perhaps }", 1, "is not if_available or required"},
	{"profile \"p\" { network = hosts }", 1,
         "'hosts' is not none, limited, open or host: did you mean host?"},
	{"profile \"p\" {\n network = host\n deny = {\"a.org\"} }", 2,
         "the network host, in which 'deny' has no meaning"},
	{"profile \"p\" { allow = {\"a.org\"} }\nprofile \"q\" { extends = \"p\"\n network = host }",
         3, "in which 'allow' has no meaning"},
	{"profile \"p\" { network = host allow_private = true }", 1,
         "in which 'allow_private' has no meaning"},
	{"profile \"p\" { network = host bandwidth_in = 1M }", 1,
         "in which 'bandwidth_in' has no meaning"},
	{"profile \"p\" { network = host bandwidth_out = 1M }", 1,
         "in which 'bandwidth_out' has no meaning"},
	{"profile \"p\" { network = host connections = 10 }", 1,
         "in which 'connections' has no meaning"},
	{"profile \"p\" { network = host nested_userns = true }", 1,
         "in which 'nested_userns' is not possible"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} network = host\n deny = {\"a.org\"} }",
         3, "'g' denies this, and allows the network host"},
	{"profile \"p\" { connections = 257 }", 1, "is too large"},
	{"profile \"p\" { connections = unlimited }", 1, "is not a whole number"},
	{"profile \"p\" { bandwidth_in = 10 }", 1, "is too small"},
	{"profile \"p\" { allow = {\"a.org\",\n \":443\"} }", 2, "':443' names no host"},
	{"profile \"p\" { allow = {\"a..b\"} }", 1, "'a..b' has an empty label"},
	{"profile \"p\" {\n deny = {\"1.2.3.4/33\"} }", 2, "'1.2.3.4/33' has a prefix"},
	{"profile \"p\" { allow = {\"a.org:0\"} }", 1, "'a.org:0' has no port that there is"},
	{"profile \"p\" { allow = {\"a.org:70000\"} }", 1,
         "'a.org:70000' has no port that there is"},
	{"profile \"p\" { allow = {\"x.inject.internal\"} }", 1, "'x.inject.internal' is reserved"},
	{"profile \"p\" { allow = {\"169.254.0.0/16\"} }", 1, "'169.254.0.0/16' allows nothing"},
	{"profile \"p\" { allow = {\"a\xff.org\"} }", 1,
         "'a\\xff.org' is no name that DNS can have"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"}\n allow = {\"a.org:2-1\"} }",
         3, "'a.org:2-1' has ports that end"},
	{"profile \"p\" {\n label = required selinux_type = \"\" }", 1,
         "requires a label and names none"},
	{"profile \"p\" { apparmor_profile = \"a b\" }", 1,
         "is not the name of an AppArmor profile"},
	{"profile \"p\" { selinux_type = \"a:s0\" }", 1,
         "is not the name of an AppArmor profile or SELinux type"},
	{"profile \"p\" { apparmor_profile = \"a//&unconfined\" }", 1,
         "is not the name of an AppArmor profile"},
	{"profile \"p\" { apparmor_profile = \":ns:a\" }", 1,
         "is not the name of an AppArmor profile"},
	{"profile \"p\" {\n mask = {\"/a\",\n \"b\"} }", 3, "'b' is not an absolute path"},
	{"profile \"p\" { mask = {\"/a//b\"} }", 1, "empty component"},
	{"profile \"p\" { mask = {\"/a/\"} }", 1, "empty component"},
	{"profile \"p\" { mask = {\"/a/../b\"} }", 1, "component . or .."},
	{"profile \"p\" { mask = {\"/\"} }", 1, "the root itself"},
	{"profile \"p\" { tmpfs = {\"/proc/x\"} }", 1, "nothing is mounted"},
	{"profile \"p\" { tmpfs = {\"/run/yett\"} }", 1, "nothing is mounted"},
	{"profile \"p\" { tmpfs = {\"/run\"} }", 1, "would hide"},
	{"profile \"p\" { tmpfs = {\"/x:12Q\"} }", 1, "size such as"},
	{"profile \"p\" { tmpfs = {\"/x:0\"} }", 1, "size such as"},
	{"profile \"p\" { share_ro = {\"/usr/share:/etc\"} }", 1, "would hide"},
	{"profile \"p\" { share_ro = {\"/usr/share:rel\"} }", 1, "is not an absolute path"},
	{"profile \"p\" { share_ro = {\"/no/such/path\"} }", 1, "does not exist"},
	{"profile \"p\" { share_rw = {\"/tmp/x\"} }", 1, ""},
	{"profile \"p\" { system = {\"/usr/lib\"} share_ro = {\"/usr/share:/usr\"} }", 1,
         "hide a system directory"},
	{"profile \"p\" { etc = {\"../root\"} }", 1, "below /etc"},
	{"profile \"p\" { etc = {\"/etc/ssl\"} }", 1, "below /etc"},
	{"profile \"p\" { devices = {\"/etc/kvm\"} }", 1, "below /dev"},
	{"profile \"p\" { devices = {\"/dev/null\",\n \"/dev/mem\"} }", 2,
         "gives access to all memory"},
	{"profile \"p\" { devices = {\"/dev/fd\"} }", 1, "symbolic link"},
	{"profile \"p\" { devices = {\"/dev/fd/0\"} }", 1, "symbolic link"},
	{"profile \"p\" { environment = {\"=x\"} }", 1, "NAME=VALUE"},
	{"profile \"p\" { capabilities = {\"fly\"} }", 1, "is not a capability"},
	{"profile \"p\" { syscalls_allow = {\"Open\"} }", 1, "system call"},
	{"profile \"p\" { extends = \"q\" }", 1, "'q' is not a profile"},
	{"profile \"p\" { extends = \"q\" }\nprofile \"q\" {\n extends = \"p\" }", 3,
         "extends itself"},
	{"profile \"p\" { extends = \"p\" }", 1, "extends itself"},
	{"profile \"p\" { }\nprofile \"p\" { }", 1, "profile `p` is set here, and again in line 2"},
	{"profile \"P p\" { }", 1, "is not a name"},
	{"profile { }", 1, "missing title"},
	{"profile \"p\" {\n memory = 2G\n memory = 3G\n}", 2,
         "memory is set here, and again in line 3"},
	{"profile \"p\" {\n mask = {\"/a\"}\n mask = {} }", 2,
         "mask is set here, and again in line"},
	{"profile \"p\" {\n mask = {}\n mask = {\"/a\"} }", 2,
         "mask is set here, and again in line"},
	{"profile \"p\" {\n mask = { # none\n }\n mask = {} }", 2,
         "mask is set here, and again in line"},
	{"profile \"p\" { mask = {{}} }", 1, "unexpected token"},
	{"profile \"p\" { memory = {} }", 1, "is a list where"},
	{"profile \"p\" { description = {} }", 1, "is a list where"},
	{"helper { spares = 1 }\nhelper { spares = 2 }", 1,
         "spares is set here, and again in line 2"},
	{"profile \"p\" {\n memory = 2G\n", 1, "not closed"},
	{"profile \"p\" { }\n}", 2, "closes nothing"},
	{"profile \"p\" { description = \"a\nb\" }", 1, "ends on its line"},
	{"profile \"p\" { description = \"a", 1, "does not end"},
	{"profile \"p\" { description = \"a\\x41\" }", 1, "backslash"},
	{"profile \"p\" { description = \"${HOME}\" }", 1, "is not replaced"},
	{"profile \"p\" { memory = ${HOME} }", 1, "needs quotes"},
	{"profile \"p\" { memory = *2G }", 1, "needs quotes"},
	{"profile \"p\" { description = 'a' }", 1, "needs quotes"},
	{"profile \"p\" { \"memory\" = 2G }", 1, "without quotes"},
	{"\"helper|cgroup\" = \"/x\"", 1, "without quotes"},
	{"profile \"p\" { memory + 2G }", 1, "not expected"},
	{"profile \"p\" { memory += 2G }", 1, "append to non-list"},
	{"profile \"p\" { memory 2G }", 1, "missing equal sign"},
	{"include(\"/etc/passwd\")", 1, "needs quotes"},
	{"include \"/etc/passwd\"", 1, "there is no section `include`"},
	{"helper { ids_first = 131073 }", 1, "multiple of 65536"},
	{"helper { ids_first = 2147418112 }", 1, "beyond id"},
	{"helper { ids_first = 65536 }", 1, "is too small"},
	{"helper { cgroup = \"yett\" }", 1, "absolute path"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} }", 2, "names no profiles"},
	{"profile \"p\" { }\ngrant \"g\" { profiles = {\"p\"} }", 2, "neither users nor groups"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\",\n\"q\"} }", 3,
         "'q' is not a profile"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_ro = {\"/tmp/below\"} }",
         2, ""},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_ro = {\"/etc/passwd\"} }",
         2, "is not a directory"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_ro = {\"/no/such\"} }",
         2, "does not exist"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_ro = {\"/bin/x\"} }",
         2, "symbolic link"},
	{PUBLISH("\"localhost\""), 2, "'localhost' is not an address"},
	{PUBLISH("\"127.1\""), 2, "is not an address"},
	{PUBLISH("\"10.0.0.0/8\""), 2, "is not an address"},
	{PUBLISH("\"::0\""), 2, "is not an address"},
	{PUBLISH("\"0.0.0.0\",\n \"*\""), 3, "is not an address"},
	{SOCKETS("\"*\""), 2, "is not an absolute path"},
	{SOCKETS("\"/run/user/%u/a\",\n \"/run/user/%d/a\""), 3, "'/run/user/%d/a' has a %"},
	{SOCKETS("\"/run/user/%u/a%u\""), 2, "has a %"},
	{SOCKETS("\"/run/user/%u\""), 2, "has a %"},
	{SOCKETS("\"/home/%u/a\""), 2, "has a %"},
	{SOCKETS("\"/run/user/%u/../0/bus\""), 2, "component . or .."},
	{SOCKETS("\"/tmp/listens\""), 2, "others can write"},
	{SOCKETS("\"/bin/x\""), 2, "symbolic link"},
	{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} max_memory = unlimited }",
         2, "is not a size"},
};

WITH_PLACE(every_mistake_is_found_with_its_line)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct policy *policy = NULL;
		struct yett_error error = {0};
		char start[128];
		int r;

		write_file(place, "yett.conf", mistakes[i].text);
		r = load(place, &policy, &error);
		(void)snprintf(start, sizeof start, "%s:%u: ", place->file, mistakes[i].line);
		if (r != YETT_E_INVALID_REQUEST ||
		    strncmp(error.message, start, strlen(start)) != 0 ||
		    !strstr(error.message, mistakes[i].words))
			fail_msg("%s\ngave %d: %s", mistakes[i].text, r, error.message);
		assert_null(policy);
	}
}

WITH_PLACE(a_rule_for_what_others_can_rename_is_refused)
{
	struct policy *policy = NULL;
	struct yett_error error;
	char text[512], path[160];

	/* /tmp, which everyone can write, is a parent of it. */
	(void)snprintf(path, sizeof path, "%s/inside", place->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(
		text, sizeof text,
		"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_rw = {\"%s\"} }",
		path);
	write_file(place, "yett.conf", text);
	assert_int_equal(load(place, &policy, &error), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "others can write"));
}

/* Users may put sockets there, sandboxes may not; and where root alone may, it may do so later. */
WITH_PLACE(sockets_are_named_where_no_sandbox_can_put_one)
{
	static const char text[] = SOCKETS(
		"\"/run/user/%u/wayland-0\", \"/run/user/1000/pulse/native\", \"/tmp/.X11-unix/X0\", \"/run/no-such/listens\"");
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error = {0};

	write_file(place, "yett.conf", text);
	if (load(place, &policy, &error) != 0)
		fail_msg("%s", error.message);
	assert_int_equal(policy->grants[0].sockets.count, 4);
	assert_string_equal(policy->grants[0].sockets.items[0], "/run/user/%u/wayland-0");
	assert_int_equal(policy->grants[0].places[POLICY_KEY_SOCKETS].line, 2);
}

/* What the policy says of the directory `path` in each of its lists that a client or a sandbox gets
 * something by. */
static void check_rules(const struct place *place, const char *path, const char *problem)
{
	static const struct {
		const char *before, *after;
	} rules[] = {
		{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_rw = {\"",
	         "\"} }"},
		{"profile \"p\" { }\ngrant \"g\" { users = {\"*\"} profiles = {\"p\"} share_ro = {\"",
	         "\"} }"},
		{"profile \"p\" { share_rw = {\"", ":/x\"} }\n" GRANT},
		{"profile \"p\" { share_ro = {\"", ":/x\"} }\n" GRANT},
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		_cleanup_(policy_freep) struct policy *policy = NULL;
		struct yett_error error = {0};
		int r;

		(void)snprintf(text, sizeof text, "%s%s%s", rules[i].before, path, rules[i].after);
		write_file(place, "yett.conf", text);
		r = load(place, &policy, &error);
		if (r != (problem ? YETT_E_INVALID_REQUEST : 0) ||
		    (problem && !strstr(error.message, problem)))
			fail_msg("%s: %d: %s", text, r, error.message);
	}
}

WITH_PLACE(a_rule_names_what_only_the_administrator_can_replace)
{
	char top[] = "/var/lib/yett-policy-XXXXXX", inner[64], link[64], file[64];

	if (geteuid() != 0) {
		print_message("not root: no directory can be made that nobody else could rename\n");
		return;
	}
	assert_non_null(mkdtemp(top));
	(void)snprintf(inner, sizeof inner, "%s/inner", top);
	(void)snprintf(link, sizeof link, "%s/link", top);
	(void)snprintf(file, sizeof file, "%s/file", top);
	assert_int_equal(mkdir(inner, 0777), 0);
	assert_int_equal(chown(inner, 12345, 12345),
	                 0); /* what lies in it is anybody's, and its name is not */
	assert_int_equal(symlink(inner, link), 0);
	(void)close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	check_rules(place, inner, NULL);
	check_rules(place, link, "symbolic link");
	check_rules(place, "/var/lib/yett-no-such-directory", "does not exist");
	for (mode_t mode = 0002; mode <= 0020; mode += 016) {
		assert_int_equal(chmod(top, 0755 | mode), 0);
		check_rules(place, inner, "others can write");
	}
	assert_int_equal(chmod(top, 0755), 0);
	assert_int_equal(chown(top, 12345, 0), 0);
	check_rules(place, inner, "others can write");
	assert_int_equal(chown(top, 0, 12345), 0);
	check_rules(place, inner, NULL);
	(void)snprintf(link, sizeof link, "%s/file/x", top);
	check_rules(place, link, "goes through a file");
	assert_int_equal(folder_remove(top), 0);
}

WITH_PLACE(binary_and_huge_files_are_refused)
{
	struct policy *policy = NULL;
	struct yett_error error;
	FILE *file;

	write_file(place, "yett.conf", "");
	file = fopen(place->file, "w");
	assert_int_equal(fwrite("profile \"p\" { }\0memory", 1, 22, file), 22);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, ":1: "));
	assert_int_equal(truncate(place->file, 2 << 20), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_INVALID_REQUEST);
	assert_non_null(strstr(error.message, "larger than 1 MiB"));
}

WITH_PLACE(a_file_that_others_could_have_written_is_refused)
{
	struct policy *policy = NULL;
	struct yett_error error;
	char path[160];

	write_file(place, "yett.conf", "profile \"p\" { }\n" GRANT);
	assert_int_equal(chmod(place->file, 0620), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(error.message, "can be written by others (mode 0620)"));
	assert_int_equal(chmod(place->file, 0600), 0);
	assert_int_equal(load_as(place, true, getuid() + 1, &policy, &error),
	                 YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(error.message, "belongs to uid"));
	assert_int_equal(chmod(place->directory, 0702), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(chmod(place->directory, 0700), 0);
	(void)snprintf(path, sizeof path, "%s/conf.d", place->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(load(place, &policy, &error), 0);
	policy_free(policy);
}

WITH_PLACE(only_a_regular_file_is_read)
{
	struct policy *policy = NULL;
	struct yett_error error;

	assert_int_equal(load(place, &policy, &error), -ENOENT);
	assert_non_null(strstr(error.message, "cannot be read: No such file"));
	assert_int_equal(symlink("/dev/null", place->file), 0);
	assert_int_equal(load(place, &policy, &error), -ELOOP);
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(mkfifo(place->file, 0600), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(mkdir(place->file, 0700), 0);
	assert_int_equal(load(place, &policy, &error), YETT_E_SECURITY_VIOLATION);
}

static uint32_t answer(const struct policy_profile *profile, long number)
{
	const struct seccomp_data data = {.nr = (int)number, .arch = NATIVE_ARCH};

	return bpf_run(&(struct bpf){profile->init_filter, profile->init_filter_count}, &data);
}

TEST(the_builtin_policy_has_the_shipped_profiles)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error = {0};
	const struct policy_profile *strict;

	assert_int_equal(policy_load(&(struct policy_source){.libexec = getenv("YETT_LIBEXEC")},
	                             &policy, &error),
	                 0);
	assert_non_null(policy_find_profile(policy, "default"));
	assert_true(policy_find_profile(policy, "build")->limits.pids >
	            policy_find_profile(policy, "default")->limits.pids);
	strict = policy_find_profile(policy, "strict");
	assert_false(strict->shares);
	assert_int_equal(answer(policy_find_profile(policy, "default"), SYS_ptrace),
	                 SECCOMP_RET_ALLOW);
	assert_int_equal(answer(strict, SYS_ptrace), SECCOMP_RET_ERRNO | ENOSYS);
	assert_string_equal(strict->system.items[0], "/usr");
	assert_string_equal(strict->place.file, "built-in");
	assert_int_equal(policy->grants_count, 1);
	assert_true(policy->grants[0].everyone);
	assert_true(policy->grants[0].user_keys);
	assert_string_equal(policy->grants[0].share_rw.items[0], "*");
	for (size_t i = 0; i < policy->profiles_count; i++)
		assert_int_equal(policy->profiles[i].network, PLAN_NETWORK_NONE);
	assert_int_equal(policy->grants[0].network, PLAN_NETWORK_OPEN);
	assert_true(policy->grants[0].allow.size > 0);
}

TEST_MAIN(NULL, NULL)
