/*
 * What is known of commands: while they run, and of those that ended last, for whoever asks by
 * their ids.
 *
 * As init, unprivileged. Bounded: the oldest result makes room for a new one, and for output that
 * is to be kept; one that somebody has fetched before one that nobody has.
 */
#pragma once

#include "programs/init/capture.h"
#include "programs/init/launch.h"

#define RECORDS_MAX 256
/* of output that is kept, of all commands together */
#define RECORDS_BYTES_MAX ((size_t)64 << 20)

struct record {
	uint64_t id; /* never 0 */
	pid_t pid;
	char argv[MESSAGE_COMMAND_TEXT_MAX]; /* what was asked for, as far as it fits: each with its
	                                        NUL */
	uint32_t argv_count;
	bool argv_cut;
	char *metadata; /* each with its NUL; NULL: none; owned */
	uint32_t metadata_count;
	struct launch_failure failure; /* error != 0: it never ran */
	struct message_exited exited;
	struct capture captures[2]; /* of stdout, and of stderr; owned */
	bool is_fetched; /* a client was told of the end, and has what was kept of the outputs */
};

/* Those that have ended, in a ring. */
struct records {
	size_t first, count;
	uint64_t last;       /* the id that was given last */
	uint64_t operations; /* ids that were given to file operations, which are counted apart */
	struct record table[RECORDS_MAX];
};

/* Begins a record: the next id, and what is asked for. 0 or -ENOMEM; it is a record either way. */
_must_check_ int record_begin(struct records *records, struct record *record,
                              const struct message *message);

/* Takes the id back, of which nobody was told; it is the one that was given last. */
void records_take_back(struct records *records, const struct record *record);

/* Frees what belongs to it. */
void record_free(struct record *record);

/* Whether it is a command to its user, and not how the library does something with files. */
bool record_is_command(const struct record *record);

/* Its arguments, as a struct argv. */
void record_copy_argv(const struct record *record, uint8_t out[static INIT_ARGV_SIZE]);

/* A client was told of its end, and `with_output` of what is kept. */
void record_fetched(struct record *record, bool with_output);

/* Takes over what there is to know of a command that has ended. */
void records_keep_consume(struct records *records, struct record *record);

/* NULL: it is not among them. */
struct record *records_find(struct records *records, uint64_t id);

/* Of those that have ended, the one with the lowest id from this one on, or NULL. */
struct record *records_find_from(struct records *records, uint64_t id);

/* Forgets one with output: of those that were fetched the one that ended first, else of all. False
 * when none has any. */
bool records_make_room(struct records *records);

/* How much is kept of the outputs of a record. */
size_t record_bytes(const struct record *record);
size_t records_bytes(const struct records *records);

/* As of an enum execution_state. Of a command that has ended. */
uint32_t record_state(const struct record *record);

/* Puts it into the list of MESSAGE_COMMANDS in `message`, which has room. */
void record_tell(const struct record *record, uint32_t state, struct message *message);
