/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between client and yett-files: their fields and structs (fields.h). PROTOCOL.md is
 * normative.
 */
#pragma once

#include "protocol/fields.h"

#define MESSAGE_MEMBER_PATH(name, shortest, longest) struct text name; /* any bytes but NUL */

#define MESSAGE_FILE_NAME_MAX    255
#define MESSAGE_FILE_OWNER_MAX   32
#define MESSAGE_FILE_ENTRIES_MAX 64
#define MESSAGE_FILE_MOUNTS_MAX  4
#define MESSAGE_FILE_TYPE_MAX    64

/* X(NAME, number, body): each makes a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_FILE_KINDS(X)                                                                   \
	X(FILE, 96, file) /* client → yett-files; the descriptors that the operation needs */ \
	X(FILE_OPENED, 97, file_opened)   /* yett-files → client; one descriptor */           \
	X(FILE_ENTRIES, 98, file_entries) /* yett-files → client, any number of times */      \
	X(FILE_SKIPPED, 99, file_skipped) /* yett-files → client, any number of times */      \
	X(FILE_DONE, 100, file_done)      /* yett-files → client, once, last; or ERROR */     \
	X(FILE_MOUNTS, 101, file_mounts)  /* yett-files → client, any number of times */

enum file_operation {
	FILE_OPEN = 1,
	FILE_STAT = 2,
	FILE_LIST = 3,
	FILE_MKDIR = 4,
	FILE_RENAME = 5,
	FILE_REMOVE = 6,
	FILE_PACK = 7,   /* makes an archive of a file or tree */
	FILE_UNPACK = 8, /* makes a file or tree from an archive */
	FILE_LISTEN = 9, /* on a Unix socket */
	FILE_MOUNTS = 10,
};

/* Bits of message_file.flags. Each operation uses only some of them. */
enum file_flag {
	FILE_READ = 1,
	FILE_WRITE = 2,
	FILE_CREATE = 4,
	FILE_EXCLUSIVE = 8,
	FILE_APPEND = 16,
	FILE_TRUNCATE = 32,
	FILE_FOLLOW = 64,     /* the last component may be a symbolic link, too */
	FILE_RECURSIVE = 128, /* mkdir: make parents, too; remove: with everything below */
	FILE_REPLACE = 256,
};

#define MESSAGE_FILE_FIELDS(F, S)                                                     \
	F(S, U32, operation, FILE_OPEN, FILE_MOUNTS) /* enum file_operation */        \
	F(S, BITS, flags, FILE_BITS)                 /* enum file_flag, or-ed */      \
	F(S, U32, mode, 0, 0777)                     /* of a new file or directory */ \
	F(S, PATH, path, 0, MESSAGE_PATH_MAX)                                         \
	F(S, PATH, target, 0, MESSAGE_PATH_MAX)                                       \
	F(S, U64, entries_max, 0, UINT64_MAX) /* 0: no limit */                       \
	F(S, U64, bytes_max, 0, UINT64_MAX)
MESSAGE_STRUCT(file, MESSAGE_FILE_FIELDS);

#define MESSAGE_FILE_OPENED_FIELDS(F, S) F(S, U64, size_bytes, 0, INT64_MAX)
MESSAGE_STRUCT(file_opened, MESSAGE_FILE_OPENED_FIELDS);

enum file_kind {
	FILE_OTHER = 0,
	FILE_REGULAR = 1,
	FILE_DIRECTORY = 2,
	FILE_SYMLINK = 3,
	FILE_FIFO = 4,
	FILE_SOCKET = 5,
	FILE_CHARACTER_DEVICE = 6,
	FILE_BLOCK_DEVICE = 7,
};

#define MESSAGE_FILE_ENTRY_FIELDS(F, S)                                                \
	F(S, PATH, name, 1, MESSAGE_FILE_NAME_MAX)                                     \
	F(S, U32, kind, 0, FILE_BLOCK_DEVICE) /* enum file_kind */                     \
	F(S, U32, mode, 0, 07777)             /* permission bits, set-id and sticky */ \
	F(S, U32, uid, 0, UINT32_MAX)                                                  \
	F(S, U32, gid, 0, UINT32_MAX)                                                  \
	F(S, PATH, owner, 0, MESSAGE_FILE_OWNER_MAX) /* empty: the id has no name */   \
	F(S, PATH, group, 0, MESSAGE_FILE_OWNER_MAX)                                   \
	F(S, U64, size_bytes, 0, INT64_MAX)                                            \
	F(S, U64, mtime_s, 0, INT64_MAX) /* 0: before 1970 */                          \
	F(S, U32, mtime_ns, 0, 999999999)                                              \
	F(S, PATH, link, 0, MESSAGE_PATH_MAX) /* target of a symbolic link */
MESSAGE_STRUCT(file_entry, MESSAGE_FILE_ENTRY_FIELDS);

#define MESSAGE_FILE_ENTRIES_FIELDS(F, S) \
	F(S, MAPS, entries, 1, MESSAGE_FILE_ENTRIES_MAX, file_entry)
MESSAGE_STRUCT(file_entries, MESSAGE_FILE_ENTRIES_FIELDS);

#define MESSAGE_FILE_SKIPPED_FIELDS(F, S)     \
	F(S, PATH, path, 1, MESSAGE_PATH_MAX) \
	F(S, TEXT, why, ANY, 1, 255)
MESSAGE_STRUCT(file_skipped, MESSAGE_FILE_SKIPPED_FIELDS);

#define MESSAGE_FILE_DONE_FIELDS(F, S)   \
	F(S, U64, entries, 0, INT64_MAX) \
	F(S, U64, bytes, 0, INT64_MAX)   \
	F(S, U64, skipped, 0, INT64_MAX)
MESSAGE_STRUCT(file_done, MESSAGE_FILE_DONE_FIELDS);

enum file_mount_mode {
	FILE_MOUNT_READ_ONLY = 0,
	FILE_MOUNT_WRITABLE = 1,
	FILE_MOUNT_COPY_ON_WRITE = 2
};

#define MESSAGE_FILE_MOUNT_FIELDS(F, S)                                                           \
	F(S, PATH, target, 1, MESSAGE_PATH_MAX)                                                   \
	F(S, PATH, root, 1, MESSAGE_PATH_MAX) /* what is mounted, as a path in its file system */ \
	F(S, TEXT, type, ANY, 1, MESSAGE_FILE_TYPE_MAX) /* of the file system */                  \
	F(S, U32, mode, 0, FILE_MOUNT_COPY_ON_WRITE)    /* enum file_mount_mode */                \
	/* only this sandbox uses the file system; otherwise the next four are 0 */               \
	F(S, BOOL, is_own)                                                                        \
	F(S, U64, size_bytes, 0, UINT64_MAX)                                                      \
	F(S, U64, used_bytes, 0, UINT64_MAX)                                                      \
	F(S, U64, files_max, 0, UINT64_MAX)                                                       \
	F(S, U64, files_used, 0, UINT64_MAX)
MESSAGE_STRUCT(file_mount, MESSAGE_FILE_MOUNT_FIELDS);

#define MESSAGE_FILE_MOUNTS_FIELDS(F, S) F(S, MAPS, mounts, 1, MESSAGE_FILE_MOUNTS_MAX, file_mount)
MESSAGE_STRUCT(file_mounts, MESSAGE_FILE_MOUNTS_FIELDS);
