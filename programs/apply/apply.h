/*
 * yett-apply: takes over into the source directory what a copy-on-write sandbox changed, all of it
 * or nothing.
 *
 * A child of the `yett` command, with the rights of its user. What was changed is found out as
 * yett-diff does it (programs/diff/), and comes to a list of items, then of steps. Everything new
 * is copied to a stage on the source's file system first; then a journal in the store says what is
 * to be done; then each step is one rename or change of a mode, which is looked at afterwards and
 * taken back if it met anything unexpected. Store, source and journal are hostile: no link in them
 * is followed, and nothing outside the source is ever changed.
 */
#pragma once

#include "programs/diff/diff.h"
#include "programs/diff/ways.h"

/* and the store's id: in the source, where the stage cannot be in the store */
#define STAGE_NAME        ".yett-apply-"
#define APPLY_JOURNAL_MAX ((size_t)128 << 20)

/* What the exit status says. */
enum {
	APPLY_DONE = 0,
	APPLY_NOTHING = 1, /* nothing was changed in the source */
	APPLY_LEFT = 3,    /* done but for what is told */
	APPLY_BROKEN = 4,  /* begun, and neither completed nor taken back */
};

/* A file as it was looked at; mode 0: there is none. Of a directory only inode and mode mean
 * something. */
struct ident {
	uint64_t inode, size;
	int64_t mtime_ns,
		ctime_ns; /* the latter changes with each rename, and is not in the journal */
	uint32_t mode;
	uint32_t links; /* how many names it has; not in the journal */
};

/* One path that differs. */
struct item {
	char *path; /* the change's */
	struct ident old;
	const struct change
		*change; /* that tells of the new content; of the old where there is none */
	uint32_t new_mode;
	bool same_content;
	bool is_conflict;
	struct guard guard;
	const char *left; /* why nothing is done about it; NULL: something is */
	char *content; /* what is to be there, as it was shown and chosen; NULL: what the store has
	                */
	size_t content_size;
};

enum step_kind { STEP_ADD, STEP_REPLACE, STEP_REMOVE, STEP_MODE };

/* One change of the source. Its number, which is its index, is the name of what is staged for it,
 * or was taken out by it. */
struct step {
	enum step_kind kind;
	char *path;
	struct ident old, new;
	const struct item *item; /* NULL: from a journal */
};

/* What the store's info tells, as far as it matters here. */
struct origin {
	uint64_t inode, device; /* of the source; 0: not told */
	char used_boot[64]; /* in which the store was used last, and that the number of the device
	                       is of */
	uint64_t stamp_ns, uptime_ns;
	char boot[64];
};

/* A file as an earlier apply left it. */
struct own {
	char *path;
	uint64_t inode;
	int64_t ctime_ns;
};

struct apply {
	struct diff diff;
	const char *id;
	int store, source, room, stage; /* room: the store's "apply"; stage: -1, not open */
	int terminal;                   /* that is asked at; -1: none */
	bool is_stage_in_source;
	bool is_begun;        /* there is a journal of one that ended half-way */
	bool is_passing_over; /* what others have changed is left as it is, without being a failure
	                       */
	bool is_forced, is_dry, is_asking, is_json, takes_protected;
	struct origin origin;
	char boot[64]; /* which one of the machine this is */
	bool is_clock_doubtful;
	struct own *owns;
	size_t own_count;
	struct item *items;
	size_t item_count;
	size_t kept_bytes; /* of all items' contents */
	struct ways *ways; /* look.c, while it looks */
	struct step *steps;
	size_t step_count;
	size_t *made; /* stage.c, while it stages: of each item the step that makes it */
	uint64_t source_inode, source_device;
	bool is_missing;    /* a step was not in the stage as it should be */
	bool was_forced;    /* the one that a journal tells of */
	bool is_incomplete; /* something that was asked for is left */
	bool is_restored;   /* what was begun has been taken back */
};

/* --- plan.c: pure --- */

/* With those directories that are new above what is named: their changes, too, in the order of
 * paths. 0 or -errno; above.c. */
int above_add(struct apply *apply);

/* The items of changes that are sorted by their path: what went and what came under one name is
 * one. 0 or -ENOMEM. */
int plan_items(const struct diff *diff, struct item **ret_items, size_t *ret_count);

/* By its path; NULL: there is none. */
struct item *plan_find(struct item *items, size_t count, const char *path);

/* A directory cannot go while something in it is left, nor can something be added below one that is
 * not. */
void plan_leave(struct item *items, size_t count);

/* The steps for all items that are not left, in an order in which each can be taken, and in reverse
 * taken back. 0 or -ENOMEM. */
int plan_steps(const struct item *items, size_t count, struct step **ret_steps, size_t *ret_count);

/* Which mode a file gets, which never is set-id. A directory of the source keeps its own such bits.
 */
uint32_t plan_mode(uint32_t old_mode, uint32_t new_mode);

/* Whether the new file is made of what the layer has; or else there is none, or only a mode is
 * changed. */
bool plan_has_content(const struct item *item);

/* Whether it is the same file, not changed since. */
bool plan_is_same(const struct ident *a, const struct ident *b);

/* What is known of a name of the source, to be judged. */
struct facts {
	uint32_t old_mode;
	int64_t ctime_ns;
	uint64_t stamp_ns;
	bool is_clock_doubtful;
	bool is_own;    /* as an earlier apply left it */
	bool is_hidden; /* the sandbox has never seen it */
	bool is_moved;  /* a directory that it is in has come there since */
	bool is_gone;   /* the one that it changed is not there */
	bool only_goes; /* a directory that is removed: what is in it is judged by itself */
};

/* Why it may have been changed outside since the store was made; NULL: it was not. */
const char *plan_conflict(const struct facts *facts);

/* --- journal.c: what was begun, in the store --- */

struct journal {
	bool is_stage_in_source, is_forced;
	uint64_t source; /* its inode */
};

/* Pure: reads what journal_print() wrote, and nothing else; the paths stay in the text. -EBADMSG */
int journal_parse(char *text, struct journal *ret_journal, struct step **ret_steps,
                  size_t *ret_count);
void journal_print(FILE *to, const struct journal *journal, const struct step *steps, size_t count);

/* Pure: whether journal_parse() would take it, and its text is at most APPLY_JOURNAL_MAX bytes. */
size_t journal_step_size(const struct step *step); /* at most */
bool journal_is_bounded(const struct step *steps, size_t count);

int journal_write(struct apply *apply);
/* -ENOENT: none; -EXDEV: of another source; *ret_is_closed: what it tells of was completed, or
 * taken back, and the stage is to be emptied.
 */
int journal_read(struct apply *apply, bool *ret_is_closed);
int journal_close(struct apply *apply);
int journal_remove(struct apply *apply);

/* --- record.c: what the store tells, and what was applied before --- */

/* While that can still be read: before the program confines itself. */
void record_read_boot(struct apply *apply);

int record_read_origin(struct apply *apply);
int record_read_owns(struct apply *apply);
bool record_is_own(const struct apply *apply, const char *path, const struct ident *ident);

/* Adds what the steps have left in the source to what is there. */
int record_write_owns(struct apply *apply);

/* Text files in the room: a new one, NULL and errno; that takes its name once it is whole and on
 * the disk; and one of at most APPLY_JOURNAL_MAX bytes, without NULs. */
FILE *record_create(struct apply *apply, const char *name);
int record_finish(struct apply *apply, FILE *file, const char *name, const char *wanted);
int record_rename(struct apply *apply, const char *name, const char *wanted);
int record_read_text(struct apply *apply, const char *name, char **ret_text);

/* Text with what is not plain in it as %XX, as libclient writes it; and back, in place: false, it
 * is none. */
void record_put_text(FILE *to, const char *text);
bool record_take_text(char *text);
size_t record_text_size(const char *text); /* as it is written */

/* --- look.c: items by what is found on both sides --- */

int look(struct apply *apply);

extern const char look_protected[]; /* what item.left points to where its name is why */

/* What is at a path below a directory, without links. mode 0: nothing; -errno. */
int look_at(int directory, const char *path, struct ident *ret_ident);

/* --- stage.c --- */

int stage_open(struct apply *apply, bool make);
int stage_fill(struct apply *apply);
int stage_empty(struct apply *apply);

/* A directory that was moved has to be empty: what is in it nobody has looked at. */
bool stage_is_empty_if_directory(const struct apply *apply, const char *staged, uint32_t mode);

/* --- inherit.c --- */

/* Gives what is staged, and open as `fd`, the group, the ACL and the label that it would have if it
 * were made where it is going to be; or, of one that it replaces, those. *mode is the one that it
 * is to get afterwards, and is narrowed to what fits to them. */
int inherit(const struct apply *apply, const struct step *step, int fd, uint32_t *mode);

/* What is made in the directory gets no ACL of it. */
int inherit_nothing(int directory);

/* Pure: what an ACL says for ACL_MASK and the like, as bits of "other"; and a mode as the kernel
 * has it where there is a default ACL. */
#define INHERIT_NO_ENTRY 8u
uint32_t inherit_acl_bits(const char *acl, size_t size, unsigned tag);
uint32_t inherit_mode_of_default(uint32_t mode, const char *acl, size_t size);

/* --- keep.c --- */

/* Moves what is in the stage, and is neither from the store nor what the source was to lose, to a
 * directory beside it, and tells it. */
int keep_others(struct apply *apply);

/* Where that directory is there: that what is not in the stage may be in it, since one was killed
 * behind keep_others(). */
void keep_tell(struct apply *apply);

/* --- step.c --- */

/* 0; -ESTALE: others have changed it, and it is as they left it; -EBADMSG: the stage is not what
 * the journal says; -errno. */
int step_do(struct apply *apply, size_t i);
int step_undo(struct apply *apply, size_t i);

/* --- hunks.c: asks on a terminal for each change. 0 or -errno --- */

int hunks_ask(struct apply *apply);
bool hunks_is_not_chosen(const struct item *item);

/* --- tell.c --- */

/* "added", "changed", "removed", "mode" */
const char *tell_name(const struct item *item);

/* What was done, if it is, and what is left; and a note for each of the latter. */
void tell(struct apply *apply, bool is_done);

/* Where a directory is, quoted. */
void tell_directory(FILE *to, int fd);

/* What became of one that had ended half-way. */
void tell_resumed(struct apply *apply, const char *what);

/* --- run.c: each is one of enum APPLY_* --- */

int run_apply(struct apply *apply);
int run_resume(struct apply *apply, bool undo);
