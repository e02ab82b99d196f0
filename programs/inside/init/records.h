/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of commands: of running ones, and of those that ended last, for clients that ask by id.
 *
 * Runs as init, unprivileged. Memory is bounded: the oldest record of an ended command is dropped
 * for a new one, and for new captured output. Records that a client has fetched are dropped before
 * those that no client has fetched.
 */
#pragma once

#include "programs/inside/init/capture.h"
#include "programs/inside/init/launch.h"

#define RECORDS_MAX 256
/* limit of captured output, all commands together */
#define RECORDS_BYTES_MAX ((size_t)64 << 20)

struct record {
	uint64_t id; /* never 0 */
	pid_t pid;
	/* The arguments of the EXEC, cut to fit, each with its NUL. */
	char argv[MESSAGE_COMMAND_TEXT_MAX];
	uint32_t argv_count;
	bool argv_cut;
	char *metadata; /* texts, each with its NUL; NULL: none; owned */
	uint32_t metadata_count;
	struct launch_failure failure; /* error != 0: the program was never executed */
	struct message_exited exited;
	struct capture captures[2]; /* the captured stdout and stderr; owned */
	bool is_fetched;            /* A client has received the result and the captured output. */
};

/* The records of ended commands, as a ring buffer. */
struct records {
	size_t first, count;
	uint64_t last;       /* the id that was assigned last */
	uint64_t operations; /* counts file operations, whose ids are numbered separately */
	struct record table[RECORDS_MAX];
};

/*
 * Initializes a record with the next id and the request's arguments. Returns 0 or -ENOMEM; the
 * record is valid in both cases.
 */
_must_check_ int record_begin(struct records *records, struct record *record,
                              const struct message *message);

/* Takes back the id that was assigned last. Call only if no client has received that id. */
void records_take_back(struct records *records, const struct record *record);

/* Frees the captured output and the metadata. */
void record_free(struct record *record);

/* Whether this is a command that the user started, rather than a file operation of the library. */
bool record_is_command(const struct record *record);

/* Copies the arguments into `out` as a struct argv. */
void record_copy_argv(const struct record *record, uint8_t out[static INIT_ARGV_SIZE]);

/* Call when a client has received the command's result; `with_output`: also its captured output. */
void record_fetched(struct record *record, bool with_output);

/* Moves the record of an ended command into the ring buffer. `record` is empty afterwards. */
void records_keep_consume(struct records *records, struct record *record);

/* Returns NULL if there is no record with this id. */
struct record *records_find(struct records *records, uint64_t id);

/* Returns the record with the lowest id that is at least `id`, or NULL. */
struct record *records_find_from(struct records *records, uint64_t id);

/*
 * Drops one record that has captured output: the oldest fetched one, or else the oldest. Returns
 * false when no record has captured output.
 */
bool records_make_room(struct records *records);

/* The bytes of captured output in a record. */
size_t record_bytes(const struct record *record);
size_t records_bytes(const struct records *records);

/* The enum execution_state of a command that has ended. */
uint32_t record_state(const struct record *record);

/* Appends the record to the list of the MESSAGE_COMMANDS `message`, which must have room. */
void record_report(const struct record *record, uint32_t state, struct message *message);
