/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See mounted.h, and "mounts" in yett.h. Runs as the caller. Messages from inside the sandbox are
 * untrusted.
 */
#include "libclient/mounted.h"

#include <string.h>

/* the default of fs.mount-max, the kernel's limit for one mount namespace */
#define MOUNTS_MAX 100000

_Static_assert((int)YETT_MOUNT_READ_ONLY == FILE_MOUNT_READ_ONLY &&
                       (int)YETT_MOUNT_WRITABLE == FILE_MOUNT_WRITABLE &&
                       (int)YETT_MOUNT_COPY_ON_WRITE == FILE_MOUNT_COPY_ON_WRITE,
               "the public modes are those of the wire");

/* Opaque in yett.h. */
struct yett_mount_list {
	struct list list;
};

static struct yett_mount *take_mount(const struct message *message,
                                     const struct message_file_mount *from)
{
	_cleanup_(memory_freep) struct yett_mount *to = memory_new(sizeof *to);

	if (!to || !(to->target = memory_add_text(to, message_text(message, from->target))) ||
	    !(to->root = memory_add_text(to, message_text(message, from->root))) ||
	    !(to->type = memory_add_text(to, message_text(message, from->type))))
		return NULL;
	to->size = sizeof *to;
	to->mode = (enum yett_mount_mode)from->mode;
	to->is_own = from->is_own;
	to->size_bytes = from->size_bytes;
	to->used_bytes = from->used_bytes;
	to->files_max = from->files_max;
	to->files_used = from->files_used;
	return steal_ptr(&to);
}

int mounted_take(const struct message *message, struct yett_mount_list *list,
                 struct yett_error *error)
{
	const struct message_file_mounts *from = &message->body.file_mounts;

	for (uint32_t i = 0; i < from->mounts_count; i++) {
		struct yett_mount *mount;

		if (list->list.count == MOUNTS_MAX)
			return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
			                 "the sandbox told of more mounts than there can be");
		mount = take_mount(message, &from->mounts[i]);
		if (!mount || !list_add(&list->list, mount))
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "no memory for a list");
	}
	return 0;
}

struct yett_mount_list *mounted_new(void)
{
	return memory_new(sizeof(struct yett_mount_list));
}

size_t yett_mount_list_count(const struct yett_mount_list *list)
{
	return list->list.count;
}

const struct yett_mount *yett_mount_list_get(const struct yett_mount_list *list, size_t i)
{
	return i < list->list.count ? list->list.items[i] : NULL;
}
