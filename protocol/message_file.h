/*
 * The messages between client and yett-files as C structs: schema_file.c ties them to their msgpack form, PROTOCOL.md is normative.
 */
#pragma once

#include "protocol/text.h"

#define MESSAGE_FILE_NAME_MAX 255
#define MESSAGE_FILE_OWNER_MAX 32
#define MESSAGE_FILE_ENTRIES_MAX 64

/* X(NAME, number, body): each is a MESSAGE_NAME, with a struct message_body. */
#define MESSAGE_FILE_KINDS(X) \
	X(FILE, 96, file)                 /* client → yett-files; the descriptors that its operation takes */ \
	X(FILE_OPENED, 97, file_opened)   /* yett-files → client; one descriptor */                           \
	X(FILE_ENTRIES, 98, file_entries) /* yett-files → client, as often as need be */                      \
	X(FILE_SKIPPED, 99, file_skipped) /* yett-files → client, as often as need be */                      \
	X(FILE_DONE, 100, file_done)      /* yett-files → client, once, last; or ERROR */

enum file_operation {
	FILE_OPEN = 1,
	FILE_STAT = 2,
	FILE_LIST = 3,
	FILE_MKDIR = 4,
	FILE_RENAME = 5,
	FILE_REMOVE = 6,
	FILE_PACK = 7,	 /* a file or tree becomes an archive */
	FILE_UNPACK = 8, /* and the other way round */
};

/* Bits of message_file.flags; the operation says which have a meaning. */
enum file_flag {
	FILE_READ = 1,
	FILE_WRITE = 2,
	FILE_CREATE = 4,
	FILE_EXCLUSIVE = 8,
	FILE_APPEND = 16,
	FILE_TRUNCATE = 32,
	FILE_FOLLOW = 64,    /* the last component too may be a symbolic link */
	FILE_RECURSIVE = 128, /* with what is above (mkdir), or below (remove) */
	FILE_REPLACE = 256,
};

struct message_file {
	uint32_t operation; /* enum file_operation */
	uint32_t flags;	    /* enum file_flag, or-ed */
	uint32_t mode;	    /* of what is made */
	struct text path, target;
	uint64_t entries_max, bytes_max; /* 0: no bound */
};

struct message_file_opened {
	uint64_t size_bytes;
};

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

struct message_file_entry {
	struct text name;
	uint32_t kind; /* enum file_kind */
	uint32_t mode; /* permission bits, set-id and sticky */
	uint32_t uid, gid;
	struct text owner, group; /* empty: no name */
	uint64_t size_bytes;
	uint64_t mtime_s; /* before 1970: 0 */
	uint32_t mtime_ns;
	struct text link; /* of a symbolic link */
};

struct message_file_entries {
	struct message_file_entry entries[MESSAGE_FILE_ENTRIES_MAX];
	uint32_t entries_count;
};

struct message_file_skipped {
	struct text path;
	struct text why;
};

struct message_file_done {
	uint64_t entries, bytes, skipped;
};
