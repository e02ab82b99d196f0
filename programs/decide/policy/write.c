/* SPDX-License-Identifier: Apache-2.0 */
/* See write.h. */
#include "programs/decide/policy/write.h"

#include <string.h>
#include <sys/mman.h>

struct writing {
	char *base;
	size_t used;
	const struct policy *policy;
	bool is_full;
};

/*
 * Reserves the next `size` bytes and stores their offset in the image's pointer field at `pointer`.
 * Returns NULL if the image is full.
 */
static char *write_next_part(struct writing *writing, void *pointer, size_t size)
{
	size_t next = (writing->used + IMAGE_ALIGN - 1) & ~(size_t)(IMAGE_ALIGN - 1);

	writing->is_full = writing->is_full || size > IMAGE_SIZE_MAX - next;
	if (writing->is_full)
		return NULL;
	writing->used = next + size;
	*(size_t *)pointer = next;
	return writing->base + next;
}

static size_t number_of_file(const struct writing *writing, const char *file)
{
	for (size_t i = 0; i < writing->policy->files_count; i++)
		if (writing->policy->files[i] == file)
			return i + 1;
	return 0;
}

static void write_objects(struct writing *writing, const struct image_type *type, char *copy,
                          const char *source, size_t count);

/*
 * Converts one field. `copy` is in the image and equals `source`; its pointers still point into
 * this process.
 */
static void write_field(struct writing *writing, const struct image_field *field, char *copy,
                        const char *source)
{
	const char *from = source + field->at;
	size_t count;
	char *part;

	switch (field->kind) {
	case IMAGE_TEXT:
		count = strlen(*(const char *const *)from) + 1;
		part = write_next_part(writing, copy + field->at, count);
		if (part)
			memcpy(part, *(const char *const *)from, count);
		break;
	case IMAGE_PLACE:
		*(size_t *)(copy + field->at) = number_of_file(writing, *(const char *const *)from);
		break;
	case IMAGE_ARRAY:
		count = *(const size_t *)(source + field->count_at);
		part = write_next_part(writing, copy + field->at, count * field->of->size);
		if (part && count) {
			memcpy(part, *(const char *const *)from, count * field->of->size);
			write_objects(writing, field->of, part, *(const char *const *)from, count);
		}
		break;
	case IMAGE_INSIDE:
		write_objects(writing, field->of, copy + field->at, from, field->max);
		break;
	case IMAGE_BOOL:
	case IMAGE_NUMBER:
		break;
	}
}

static void write_objects(struct writing *writing, const struct image_type *type, char *copy,
                          const char *source, size_t count)
{
	for (; type->count > 0 && count > 0; count--, copy += type->size, source += type->size)
		for (size_t i = 0; i < type->count; i++)
			write_field(writing, &type->fields[i], copy, source);
}

int image_write(int fd, int r, const struct policy *policy, const struct yett_error *error)
{
	struct writing writing = {.used = sizeof(struct image), .policy = policy};
	struct image *image;

	if (ftruncate(fd, IMAGE_SIZE_MAX) < 0)
		return -errno;
	image = mmap(NULL, IMAGE_SIZE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	image->r = r;
	image->error = *error;
	if (r == 0) {
		writing.base = (char *)image;
		image->policy = *policy;
		write_objects(&writing, image_policy, (char *)&image->policy, (const char *)policy,
		              1);
	}
	(void)munmap(image, IMAGE_SIZE_MAX);
	if (writing.is_full)
		return -E2BIG;
	return ftruncate(fd, (off_t)writing.used) < 0 ? -errno : 0;
}
