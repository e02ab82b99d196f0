/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See image.h. Runs as root, on bytes from a process that the text of the policy may have
 * compromised.
 *
 * One pass in the order of the tables. Each part must begin exactly where the one before it ended,
 * so the pass only moves forward. It never reads or writes again what it has checked and made a
 * pointer to.
 */
#include "helper/policy/image.h"

#include <sys/mman.h>

#define LIST_MAX     256
#define SECTIONS_MAX 65536

/* Tables of the fields of OBJECT, which is defined before each table. */
#define AT(field) offsetof(OBJECT, field)
#define FIELD(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define TEXT(field)                FIELD(IMAGE_TEXT, AT(field))
#define CHECKED(field, check)      FIELD(IMAGE_TEXT, AT(field), .problem = policy_##check##_problem)
#define INSIDE(field, type, count) FIELD(IMAGE_INSIDE, AT(field), &(type), .max = (count))
#define PLACE(field)               INSIDE(field, place_type, 1)
#define ARRAY(field, type, counter, most) \
	FIELD(IMAGE_ARRAY, AT(field), &(type), AT(counter), .max = (most))
#define BOOL(field)                FIELD(IMAGE_BOOL, AT(field))
#define NUMBER(field, least, most) FIELD(IMAGE_NUMBER, AT(field), .min = (least), .max = (most))
#define TYPE(name, ...)                                                       \
	static const struct image_field name##_fields[] = {__VA_ARGS__};      \
	static const struct image_type name = {sizeof(OBJECT), name##_fields, \
	                                       ARRAY_SIZE(name##_fields)}

static const struct image_type number_type = {sizeof(uint32_t), NULL, 0};
static const struct image_type naming_type = {sizeof(uint64_t), NULL, 0};
static const struct image_type byte_type = {1, NULL, 0};
static const struct image_type filter_type = {sizeof(struct sock_filter), NULL, 0};

#define OBJECT char *
TYPE(text_type, {IMAGE_TEXT});
TYPE(path_type, {IMAGE_TEXT, .problem = policy_path_problem});
#undef OBJECT

#define OBJECT struct policy_place
TYPE(place_type, {IMAGE_PLACE, AT(file)});
#undef OBJECT

#define OBJECT struct policy_list
TYPE(texts_type, ARRAY(items, text_type, count, LIST_MAX),
     ARRAY(places, place_type, count, LIST_MAX), PLACE(place));
TYPE(paths_type, ARRAY(items, path_type, count, LIST_MAX),
     ARRAY(places, place_type, count, LIST_MAX), PLACE(place));
#undef OBJECT
#define TEXTS(field) INSIDE(field, texts_type, 1)
#define PATHS(field) INSIDE(field, paths_type, 1)

#define OBJECT struct policy_rules
TYPE(rules_type, ARRAY(list, byte_type, size, POLICY_RULES_SIZE_MAX));
#undef OBJECT
#define RULES(field) INSIDE(field, rules_type, 1)

#define OBJECT struct policy_mount
TYPE(mount_type, TEXT(source), CHECKED(target, path), BOOL(writable), PLACE(place));
#undef OBJECT

#define OBJECT struct policy_profile
TYPE(profile_type, TEXT(name), PLACE(place), PATHS(system), TEXTS(etc), PATHS(devices),
     ARRAY(mounts, mount_type, mounts_count, LIST_MAX), PATHS(read_only), PATHS(mask),
     BOOL(overlay_ro), BOOL(private_home), BOOL(memory_mount), BOOL(outputs_mount),
     TEXTS(environment), ARRAY(init_filter, filter_type, init_filter_count, BPF_MAXINSNS),
     ARRAY(command_filter, filter_type, command_filter_count, BPF_MAXINSNS),
     ARRAY(build_filter, filter_type, build_filter_count, BPF_MAXINSNS), TEXTS(capabilities),
     BOOL(nested_userns), BOOL(perf_events), BOOL(core_files),
     NUMBER(identity, 0, PLAN_IDENTITY_CALLER), NUMBER(umask, 0, PLAN_UMASK_CALLER), TEXT(hostname),
     CHECKED(apparmor_profile, label), CHECKED(selinux_type, label),
     NUMBER(label, 0, POLICY_LABEL_REQUIRED), BOOL(shares),
     NUMBER(workspace, 0, POLICY_WORKSPACE_COW), INSIDE(limits_places, place_type, POLICY_LIMITS),
     PLACE(shares_place), INSIDE(command_places, place_type, 2),
     NUMBER(network, 0, PLAN_NETWORKS - 1), RULES(allow), RULES(deny), BOOL(allow_private),
     NUMBER(connections, 1, POLICY_CONNECTIONS_MAX), NUMBER(record, 0, POLICY_RECORD_ALL),
     PLACE(network_place));
#undef OBJECT

#define OBJECT struct policy_enrolled
TYPE(enrolled_type, TEXT(file));
#undef OBJECT

#define OBJECT struct policy_grant
TYPE(grant_type, TEXT(name), PLACE(place), ARRAY(uids, number_type, uids_count, LIST_MAX),
     ARRAY(gids, number_type, gids_count, LIST_MAX), BOOL(everyone), TEXTS(keys), TEXTS(profiles),
     TEXTS(share_ro), TEXTS(share_rw), TEXTS(sockets), TEXTS(publish), TEXTS(capabilities),
     TEXTS(devices), BOOL(identity_caller), BOOL(identity_root), BOOL(nested_userns),
     BOOL(perf_events), BOOL(allow_private), NUMBER(network, 0, PLAN_NETWORKS - 1), RULES(allow),
     RULES(deny), BOOL(user_keys), BOOL(confined_clients), BOOL(agents), BOOL(fall_through),
     NUMBER(sandboxes_max, 0, POLICY_SANDBOXES_MAX), NUMBER(terminals_max, 0, INT32_MAX),
     INSIDE(places, place_type, POLICY_KEYS), TEXT(notice), BOOL(is_void), BOOL(is_ceiling));
#undef OBJECT

/* Files come first, because places point to them. */
#define OBJECT struct policy
TYPE(policy_type, ARRAY(files, text_type, files_count, POLICY_FILES_MAX),
     CHECKED(runtime_dir, path), CHECKED(keys_dir, path), CHECKED(cgroup, path),
     NUMBER(ids_first, POLICY_IDS_FIRST_MIN, POLICY_IDS_END_MAX - 2 * POLICY_IDS_STEP),
     NUMBER(ids_ranges, 2, POLICY_IDS_RANGES_MAX), PLACE(ids_place),
     NUMBER(audit, 0, POLICY_AUDIT_REQUIRED), NUMBER(record, 0, POLICY_RECORD_ALL),
     CHECKED(audit_dir, path), NUMBER(spares, 0, POLICY_SPARES_MAX),
     ARRAY(profiles, profile_type, profiles_count, SECTIONS_MAX),
     ARRAY(grants, grant_type, grants_count, SECTIONS_MAX),
     ARRAY(namings, naming_type, namings_count, IMAGE_SIZE_MAX),
     ARRAY(rule_lines, number_type, rule_lines_count, IMAGE_SIZE_MAX),
     ARRAY(enrolled, enrolled_type, enrolled_count, SECTIONS_MAX), TEXTS(origins));
#undef OBJECT
const struct image_type *const image_policy = &policy_type;

struct loading {
	char *base;
	size_t size, used;
	const struct policy *policy;
};

/*
 * Turns the offset at `pointer` into a pointer to the next part. Returns the part, or NULL if the
 * offset is not that of the next part or fewer than `size` bytes are left.
 */
static void *image_take(struct loading *loading, void *pointer, size_t size)
{
	size_t next = (loading->used + IMAGE_ALIGN - 1) & ~(size_t)(IMAGE_ALIGN - 1);
	char *part = loading->base + next;

	if (next > loading->size || size > loading->size - next || *(size_t *)pointer != next)
		return NULL;
	loading->used = next + size;
	*(char **)pointer = part;
	return part;
}

static bool load_text(struct loading *loading, char **field, const char *(*problem)(const char *))
{
	char *text = image_take(loading, field, 1), *end;

	end = text ? memchr(text, '\0', (size_t)(loading->base + loading->size - text)) : NULL;
	if (!end)
		return false;
	loading->used = (size_t)(end + 1 - loading->base);
	return !problem || !problem(text);
}

static bool load_place(const struct loading *loading, const char **field)
{
	size_t number = *(size_t *)field;

	if (number > loading->policy->files_count)
		return false;
	*field = number ? loading->policy->files[number - 1] : NULL;
	return true;
}

static bool load_objects(struct loading *loading, const struct image_type *type, char *object,
                         size_t count);

static bool load_array(struct loading *loading, const struct image_field *field, char *object)
{
	size_t count = *(size_t *)(object + field->count_at);
	char *first = count <= field->max
	                      ? image_take(loading, object + field->at, count * field->of->size)
	                      : NULL;

	return first && load_objects(loading, field->of, first, count);
}

static bool load_field(struct loading *loading, const struct image_field *field, char *object)
{
	void *at = object + field->at;

	switch (field->kind) {
	case IMAGE_TEXT:
		return load_text(loading, at, field->problem);
	case IMAGE_PLACE:
		return load_place(loading, at);
	case IMAGE_ARRAY:
		return load_array(loading, field, object);
	case IMAGE_INSIDE:
		return load_objects(loading, field->of, at, field->max);
	case IMAGE_BOOL:
		return *(uint8_t *)at <= 1;
	case IMAGE_NUMBER:
		return *(uint32_t *)at >= field->min && *(uint32_t *)at <= field->max;
	}
	return false;
}

static bool load_objects(struct loading *loading, const struct image_type *type, char *object,
                         size_t count)
{
	for (; type->count > 0 && count > 0; count--, object += type->size)
		for (size_t i = 0; i < type->count; i++)
			if (!load_field(loading, &type->fields[i], object))
				return false;
	return true;
}

/* Returns whether `image` now holds a policy whose pointers all point into the image. */
static bool load_image(struct image *image, size_t size)
{
	struct policy *policy = &image->policy;
	struct loading loading = {(char *)image, size, sizeof *image, policy};

	return load_objects(&loading, image_policy, (char *)policy, 1) && loading.used == size &&
	       policy->ids_first % POLICY_IDS_STEP == 0 &&
	       policy->ids_first + (uint64_t)policy->ids_ranges * POLICY_IDS_STEP <=
	               POLICY_IDS_END_MAX;
}

int image_load(int fd, struct policy **ret_policy, struct yett_error *error)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	_cleanup_free_ struct policy *policy = malloc(sizeof *policy);
	struct image *image;
	struct stat st;
	size_t size;
	int r = error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
	                  "yett-policy sent an invalid answer");

	/* Sealing fails as long as a process has a writable mapping of the pages. fcntl(2) */
	if (!policy ||
	    ((fcntl(fd, F_GET_SEALS) & seals) != seals && fcntl(fd, F_ADD_SEALS, seals) < 0) ||
	    fstat(fd, &st) < 0)
		return policy ? -errno : -ENOMEM;
	size = (size_t)st.st_size;
	if (size < sizeof *image || size > IMAGE_SIZE_MAX)
		return r;
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	if (image->r == -ENOMEM ||
	    (image->r > 0 && image->r == (int)image->error.code && error_is_sound(&image->error))) {
		r = image->r;
		if (r > 0 && error)
			*error = image->error;
	} else if (image->r == 0 && load_image(image, size)) {
		r = mprotect(image, size, PROT_READ) < 0 ? -errno : 0;
	}
	if (r != 0)
		return (void)munmap(image, size), r;
	*policy = image->policy;
	policy->image = image;
	policy->image_size = size;
	policy->memory = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (policy->memory < 0)
		return (void)munmap(image, size), -errno;
	*ret_policy = steal_ptr(&policy);
	return 0;
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	(void)munmap(policy->image, policy->image_size);
	fd_close(policy->memory);
	free(policy);
}
