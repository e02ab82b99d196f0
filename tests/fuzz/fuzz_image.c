/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the image of a policy: what yett-policy could say if it were captured. It is
 * refused, or every pointer of the policy can be followed.
 *
 * Mutations of a whole image get further than chance does, so each input is laid over one that is
 * right: pairs of an offset and bytes.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "programs/decide/policy/compile.h"
#include "programs/decide/policy/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHANGE_SIZE 11 /* an offset of 3 bytes and 8 bytes to put there */

static uint8_t *right;
static size_t right_size;

static void make_right(void)
{
	char *text = strdup(policy_builtin_text), name[] = "built-in";
	const struct compile_text part = {name, text, strlen(text)};
	int fd = memfd_create("right", MFD_CLOEXEC);
	struct compiled *compiled;
	struct yett_error error = {0};

	if (compile(&part, 1, &compiled, &error) != 0 ||
	    image_write(fd, 0, &compiled->policy, &error) != 0)
		__builtin_trap();
	compiled_free(compiled);
	free(text);
	right_size = (size_t)lseek(fd, 0, SEEK_END);
	right = malloc(right_size);
	if (pread(fd, right, right_size, 0) != (ssize_t)right_size)
		__builtin_trap();
	(void)close(fd);
}

static size_t follow_list(const struct policy_list *list)
{
	size_t sum = 0;

	for (size_t i = 0; i < list->count; i++)
		sum += strlen(list->items[i]) +
		       (list->places[i].file ? strlen(list->places[i].file) : 0);
	return sum;
}

static size_t follow(const struct policy *policy)
{
	size_t sum =
		strlen(policy->runtime_dir) + strlen(policy->keys_dir) + strlen(policy->cgroup);

	for (size_t i = 0; i < policy->profiles_count; i++) {
		const struct policy_profile *profile = &policy->profiles[i];

		sum += strlen(profile->name) + strlen(profile->hostname) +
		       follow_list(&profile->system) + follow_list(&profile->environment) +
		       profile->shares;
		for (size_t m = 0; m < profile->mounts_count; m++)
			sum += strlen(profile->mounts[m].source) +
			       strlen(profile->mounts[m].target);
		for (size_t f = 0; f < profile->init_filter_count; f++)
			sum += profile->init_filter[f].k;
	}
	for (size_t i = 0; i < policy->grants_count; i++) {
		sum += strlen(policy->grants[i].name) + follow_list(&policy->grants[i].share_rw) +
		       policy->grants[i].everyone;
		for (size_t u = 0; u < policy->grants[i].uids_count; u++)
			sum += policy->grants[i].uids[u];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static volatile size_t seen;
	_cleanup_fd_ int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct yett_error error = {0};
	int r;

	if (!right)
		make_right();
	if (write(fd, right, right_size) != (ssize_t)right_size)
		__builtin_trap();
	for (; size >= CHANGE_SIZE; data += CHANGE_SIZE, size -= CHANGE_SIZE)
		(void)!pwrite(fd, data + 3, 8,
		              (data[0] | data[1] << 8 | data[2] << 16) % (off_t)right_size);
	r = image_load(fd, &policy, &error);
	if (r == 0)
		seen += follow(policy);
	else if (r > 0 && (int)error.code != r)
		__builtin_trap();
	return 0;
}
