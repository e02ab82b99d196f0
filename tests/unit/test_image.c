/* SPDX-License-Identifier: Apache-2.0 */
/* The image of a policy: what yett-policy writes is read back, and nothing else is believed. */
#include <string.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/net_list.h"
#include "programs/decide/policy/check.h"
#include "programs/decide/policy/compile.h"
#include "programs/decide/policy/write.h"
#include "tests/support/testing.h"

TEST(private_ids_do_not_overlap_subordinate_ids)
{
	assert_int_equal(check_subid_line("alice:100000:65536", 165536, 200000), 0);
	assert_int_equal(check_subid_line("alice:100000:65536", 165535, 200000), 1);
	assert_int_equal(check_subid_line("1000:100000:65536", 65536, 100000), 0);
	assert_int_equal(check_subid_line("1000:100000:65536", 65536, 100001), 1);
	assert_int_equal(check_subid_line("alice:100000:0", 65536, 200000), 0);
	assert_int_equal(check_subid_line("", 0, 1), 0);
	assert_int_equal(check_subid_line("# alice:0:1", 0, 1), 0);
	assert_int_equal(check_subid_line("alice:100000", 0, 1), -EINVAL);
	assert_int_equal(check_subid_line("alice:-1:5", 0, 1), -EINVAL);
	assert_int_equal(check_subid_line("alice:1:5:6", 0, 1), -EINVAL);
	assert_int_equal(check_subid_line(":1:5", 0, 1), -EINVAL);
	assert_int_equal(check_subid_line("alice:1:99999999999", 0, 1), -EINVAL);
}

static const char source[] =
	"helper { ids_ranges = 8 }\n"
	"profile \"first\" {\n  system = {\"/usr\", \"/bin\"}\n  environment = {\"A=1\"}\n  tmpfs = {\"/scratch:4M\"}\n  identity = root"
	" allow = {\"a.org\", \"b.org:1\"}\n}\n"
	"profile \"second\" { extends = \"first\" syscalls = strict }\n"
	"grant \"all\" { users = {\"0\", \"4711\"} profiles = {\"*\"} identity_root = true\n max_memory = 1G }\n";

/* An image of that policy, in memory of its own, to be spoilt. */
struct bytes {
	struct image *image;
	size_t size;
};

static void make_image(struct bytes *bytes)
{
	char text[sizeof source], name[] = "source.conf";
	const struct compile_text part = {name, text, sizeof source - 1};
	_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC);
	struct compiled *compiled;
	struct yett_error error = {0};

	memcpy(text, source, sizeof source);
	if (compile(&part, 1, &compiled, &error) != 0)
		fail_msg("%s", error.message);
	assert_int_equal(image_write(fd, 0, &compiled->policy, &error), 0);
	compiled_free(compiled);
	bytes->size = (size_t)lseek(fd, 0, SEEK_END);
	bytes->image = malloc(bytes->size);
	assert_non_null(bytes->image);
	assert_int_equal(pread(fd, bytes->image, bytes->size, 0), bytes->size);
}

static int load_bytes(const void *bytes, size_t size, struct policy **ret_policy,
                      struct yett_error *error)
{
	_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, bytes, size), size);
	return image_load(fd, ret_policy, error);
}

static int set_up(void **state)
{
	struct bytes *bytes = calloc(1, sizeof *bytes);

	make_image(bytes);
	*state = bytes;
	return 0;
}

static int tear_down(void **state)
{
	struct bytes *bytes = *state;

	free(bytes->image);
	free(bytes);
	return 0;
}

static void assert_refused_as(const struct bytes *bytes, size_t size, const char *what)
{
	struct policy *policy = NULL;
	struct yett_error error = {0};
	int r = load_bytes(bytes->image, size, &policy, &error);

	if (r != YETT_E_HELPER_UNAVAILABLE || policy ||
	    strcmp(error.message, "yett-policy sent an invalid answer") != 0)
		fail_msg("%s gave %d: %s", what, r, error.message);
}

/* What an offset in the image leads to, whatever it says. */
static void *part(const struct bytes *bytes, const void *pointer)
{
	return (char *)bytes->image + *(const size_t *)pointer;
}

#define WITH_BYTES(test) TEST_OF(test, const struct bytes *bytes, set_up, tear_down)

WITH_BYTES(what_was_written_is_read)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	const struct policy_profile *second;
	struct yett_error error;

	assert_int_equal(load_bytes(bytes->image, bytes->size, &policy, &error), 0);
	assert_int_equal(policy->ids_first, POLICY_IDS_FIRST_DEFAULT);
	assert_int_equal(policy->ids_ranges, 8);
	assert_string_equal(policy->ids_place.file, "source.conf");
	assert_string_equal(policy->runtime_dir, "/run/yett");
	assert_int_equal(policy->profiles_count, 2);
	second = &policy->profiles[1];
	assert_string_equal(second->name, "second");
	assert_int_equal(second->place.line, 8);
	assert_int_equal(second->system.count, 2);
	assert_string_equal(second->system.items[1], "/bin");
	assert_int_equal(second->allow.size, second->allow.list->size);
	assert_int_equal(second->allow.list->count[NET_LIST_ALLOW], 2);
	assert_int_equal(second->deny.size, 0);
	assert_int_equal(second->connections, POLICY_CONNECTIONS_MAX);
	assert_int_equal(policy->rule_lines_count, 5);
	assert_int_equal(policy->rule_lines[4], 6);
	assert_int_equal(second->system.places[1].line, 3);
	assert_ptr_equal(second->system.places[1].file, policy->files[0]);
	assert_int_equal(second->mounts_count, 1);
	assert_string_equal(second->mounts[0].source, "");
	assert_string_equal(second->mounts[0].target, "/scratch");
	assert_int_equal(second->mounts[0].size_bytes, 4 << 20);
	assert_int_equal(second->mounts[0].place.line, 5);
	assert_int_equal(second->mask.count, 0);
	assert_int_equal(second->identity, PLAN_IDENTITY_ROOT);
	assert_int_not_equal(second->init_filter_count, policy->profiles[0].init_filter_count);
	assert_int_equal(policy->grants[0].uids[1], 4711);
	assert_string_equal(policy->grants[0].places[POLICY_LIMIT_MEMORY].file, "source.conf");
	assert_null(policy->grants[0].places[POLICY_LIMIT_PIDS].file);
}

WITH_BYTES(every_shorter_image_is_refused)
{
	for (size_t size = 0; size < bytes->size; size += size + 8 < sizeof *bytes->image ? 64 : 1)
		assert_refused_as(bytes, size, "an image that was cut off");
}

TEST_OF(a_longer_image_is_refused, struct bytes *bytes, set_up, tear_down)
{
	bytes->image = realloc(bytes->image, bytes->size + 8);
	memset((char *)bytes->image + bytes->size, 0, 8);
	assert_refused_as(bytes, bytes->size + 8, "an image with something after it");
}

/* Every pointer to a part, with every offset that it must not have: before, after, over another
 * part, outside. */
WITH_BYTES(a_part_that_lies_elsewhere_is_refused)
{
	struct policy *policy = &bytes->image->policy;
	struct policy_profile *profile = part(bytes, &policy->profiles);
	struct policy_grant *grant = part(bytes, &policy->grants);
	void *pointers[] = {
		&policy->files,
		&policy->runtime_dir,
		&policy->cgroup,
		&policy->profiles,
		&policy->grants,
		&profile->name,
		&profile->system.items,
		&profile->system.places,
		&profile->mask.items,
		&profile->init_filter,
		&profile->hostname,
		&grant->uids,
		&grant->gids,
		&grant->profiles.items,
		part(bytes, &profile->system.items),
		&profile->allow.list,
		&profile->deny.list,
		&grant->allow.list,
		&policy->rule_lines,
	};

	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
		size_t right = *(size_t *)pointers[i];
		const size_t wrong[] = {0,
		                        8,
		                        right - 8,
		                        right - 1,
		                        right + 1,
		                        right + 8,
		                        bytes->size,
		                        SIZE_MAX,
		                        SIZE_MAX - 7,
		                        *(size_t *)pointers[(i + 1) % ARRAY_SIZE(pointers)]};

		for (size_t w = 0; w < ARRAY_SIZE(wrong); w++) {
			if (wrong[w] == right) /* an empty list leads to what comes next */
				continue;
			*(size_t *)pointers[i] = wrong[w];
			assert_refused_as(bytes, bytes->size, "a part at a wrong offset");
		}
		*(size_t *)pointers[i] = right;
	}
}

WITH_BYTES(a_count_that_does_not_fit_is_refused)
{
	struct policy *policy = &bytes->image->policy;
	struct policy_profile *profile = part(bytes, &policy->profiles);
	struct policy_grant *grant = part(bytes, &policy->grants);
	size_t *counts[] = {&policy->files_count,
	                    &policy->profiles_count,
	                    &policy->grants_count,
	                    &profile->system.count,
	                    &profile->mounts_count,
	                    &profile->init_filter_count,
	                    &profile->command_filter_count,
	                    &profile->build_filter_count,
	                    &grant->uids_count,
	                    &profile->allow.size,
	                    &policy->rule_lines_count};
	static const size_t wrong[] = {0,
	                               257,
	                               4097,
	                               65537,
	                               SIZE_MAX,
	                               SIZE_MAX / 8 + 2,
	                               SIZE_MAX / sizeof(struct policy_profile) + 2};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		size_t right = *counts[i];

		for (size_t w = 0; w < ARRAY_SIZE(wrong); w++) {
			*counts[i] = wrong[w];
			assert_refused_as(bytes, bytes->size, "a wrong count");
		}
		*counts[i] = right;
	}
}

WITH_BYTES(a_text_without_an_end_is_refused)
{
	struct policy_profile *profile = part(bytes, &bytes->image->policy.profiles);
	char *text = part(bytes, &profile->hostname);

	memset(text, 'x', (size_t)((char *)bytes->image + bytes->size - text));
	assert_refused_as(bytes, bytes->size, "a text that does not end");
}

WITH_BYTES(a_wrong_value_is_refused)
{
	struct policy *policy = &bytes->image->policy;
	struct policy_profile *profile = part(bytes, &policy->profiles);
	struct policy_grant *grant = part(bytes, &policy->grants);
	const struct {
		void *at;
		size_t size;
		uint64_t wrong;
	} values[] = {
		{&profile->overlay_ro, 1, 2},
		{&profile->private_home, 1, 2},
		{&profile->memory_mount, 1, 2},
		{&profile->outputs_mount, 1, 2},
		{&profile->shares, 1, 0xff},
		{&grant->everyone, 1, 2},
		{&grant->user_keys, 1, 0x80},
		{&profile->allow_private, 1, 2},
		{&profile->network, 4, PLAN_NETWORKS},
		{&grant->network, 4, PLAN_NETWORKS},
		{&profile->connections, 4, 0},
		{&profile->connections, 4, POLICY_CONNECTIONS_MAX + 1},
		{&profile->identity, 4, PLAN_IDENTITY_CALLER + 1},
		{&profile->umask, 4, PLAN_UMASK_CALLER + 1},
		{&grant->sandboxes_max, 4, POLICY_SANDBOXES_MAX + 1},
		{&grant->terminals_max, 4, UINT32_MAX},
		{&policy->spares, 4, POLICY_SPARES_MAX + 1},
		{&policy->ids_first, 4, 0},
		{&policy->ids_first, 4, POLICY_IDS_FIRST_DEFAULT + 1},
		{&policy->ids_first, 4, POLICY_IDS_END_MAX - 2 * POLICY_IDS_STEP},
		{&policy->ids_ranges, 4, 1},
		{&policy->ids_ranges, 4, POLICY_IDS_RANGES_MAX},
		{&policy->ids_place.file, 8, 2},
		{&profile->place.file, 8, SIZE_MAX},
		{&((struct policy_place *)part(bytes, &profile->system.places))[1].file, 8, 2},
		{part(bytes, &policy->cgroup), 1, 'x'},
		{part(bytes, part(bytes, &profile->system.items)), 1, '.'},
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		uint64_t right;

		memcpy(&right, values[i].at, values[i].size);
		memcpy(values[i].at, &values[i].wrong, values[i].size);
		assert_refused_as(bytes, bytes->size, "a wrong value");
		memcpy(values[i].at, &right, values[i].size);
	}
}

/* Every byte of it, spoilt in three ways, is refused or read without harm: sanitizers and valgrind
 * look on. */
WITH_BYTES(no_byte_can_do_harm)
{
	char *base = (char *)bytes->image;
	size_t refused = 0;

	for (size_t i = offsetof(struct image, policy); i < bytes->size; i += 1 + i % 3) {
		struct policy *policy = NULL;
		char right = base[i];

		base[i] = (char)(i % 3 == 0 ? right ^ 1 : i % 3 == 1 ? right ^ 0x80 : ~right);
		refused += load_bytes(base, bytes->size, &policy, NULL) != 0;
		for (size_t p = 0; policy && p < policy->profiles_count; p++)
			assert_true(strlen(policy->profiles[p].name) < bytes->size);
		policy_free(policy);
		base[i] = right;
	}
	assert_true(refused > 100);
}

WITH_BYTES(what_was_loaded_cannot_be_changed_any_more)
{
	_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct policy *other = NULL;
	struct yett_error error;
	int status = 0;
	pid_t child;
	void *map;

	assert_int_equal(write(fd, bytes->image, bytes->size), bytes->size);
	map = mmap(NULL, bytes->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_int_equal(image_load(fd, &other, &error),
	                 -EBUSY); /* somebody can still write to its pages */
	assert_int_equal(munmap(map, bytes->size), 0);
	assert_int_equal(image_load(fd, &policy, &error), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	/* Nor by ourselves: what goes wrong in root's process changes no rule. */
	child = fork();
	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL); /* whatever the library of the tests, or a
		                                   sanitizer, makes of it */
		policy->profiles[0].name[0] = 'x';
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* The monitor hands the decider what it has loaded itself. */
WITH_BYTES(what_was_loaded_and_sealed_is_loaded_again)
{
	_cleanup_(policy_freep) struct policy *policy = NULL, *again = NULL;
	_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			 half = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct policy *none = NULL;
	struct yett_error error;

	assert_int_equal(write(fd, bytes->image, bytes->size), bytes->size);
	assert_int_equal(image_load(fd, &policy, &error), 0);
	assert_int_equal(close(steal_fd(&fd)), 0); /* the policy has its own */
	assert_int_equal(image_load(policy->memory, &again, &error), 0);
	assert_int_not_equal(again->memory, policy->memory);
	assert_ptr_not_equal(again->image, policy->image);
	assert_int_equal(again->profiles_count, policy->profiles_count);
	assert_string_equal(again->profiles[1].name, policy->profiles[1].name);
	assert_int_equal(again->generation, policy->generation);
	/* Sealed against seals, but not against writing, it is none. */
	assert_int_equal(write(half, bytes->image, bytes->size), bytes->size);
	assert_int_equal(fcntl(half, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(image_load(half, &none, &error), -EPERM);
	assert_null(none);
}

TEST(an_error_is_handed_on)
{
	_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct yett_error error = {0}, got = {0};
	struct policy *policy = NULL;

	(void)error_set(&error, YETT_E_SECURITY_VIOLATION, 0, "why");
	error_detail(&error, "more");
	assert_int_equal(image_write(fd, YETT_E_SECURITY_VIOLATION, NULL, &error), 0);
	assert_int_equal(image_load(fd, &policy, &got), YETT_E_SECURITY_VIOLATION);
	assert_memory_equal(&got, &error, sizeof got);
	assert_null(policy);
}

TEST_OF(an_error_that_is_none_is_refused, struct bytes *bytes, set_up, tear_down)
{
	struct image *image = bytes->image;
	const int codes[] = {-1, -EPERM, 1 << 30, YETT_CODES_COUNT + 1};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		image->r = codes[i];
		image->error = (struct yett_error){.code = (enum yett_code)codes[i]};
		assert_refused_as(bytes, bytes->size, "an error of a wrong number");
	}
	image->r = YETT_E_TIMEOUT;
	image->error = (struct yett_error){.code = YETT_E_INVALID_REQUEST};
	assert_refused_as(bytes, bytes->size, "an error of two numbers");
	image->error =
		(struct yett_error){.code = YETT_E_TIMEOUT, .reason = (enum yett_reason)1000};
	assert_refused_as(bytes, bytes->size, "an error with a wrong reason");
	image->error = (struct yett_error){.code = YETT_E_TIMEOUT};
	memset(image->error.message, 'x', sizeof image->error.message);
	assert_refused_as(bytes, bytes->size, "an error without an end");
}

TEST_MAIN(NULL, NULL)
