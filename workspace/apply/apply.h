/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-apply: applies the changes of a copy-on-write sandbox to the source directory, all of them
 * or none.
 *
 * A child of the `yett` command, with the rights of its user. It finds the changes as yett-diff
 * does (workspace/diff/), and makes items of them, then steps. Every new file is first copied to a
 * stage on the source's file system. A journal in the store then lists the steps. Each step is one
 * rename or mode change, which is checked afterwards and reverted if it met an unexpected file.
 * Store, source and journal are hostile: no link in them is followed, and nothing outside the
 * source and the store's "apply" directory is ever changed.
 */
#pragma once

#include "workspace/diff/diff.h"
#include "workspace/diff/ways.h"

/* Prefix of the stage's name, before the store's id, if the stage must be in the source. */
#define STAGE_NAME        ".yett-apply-"
#define APPLY_JOURNAL_MAX ((size_t)128 << 20)

/* Exit statuses. */
enum {
	APPLY_DONE = 0,
	APPLY_NOTHING = 1, /* nothing was changed in the source */
	APPLY_LEFT = 3,    /* done, except for changes that are reported */
	APPLY_BROKEN = 4,  /* begun, but neither completed nor undone */
};

/* A file as it was examined; mode 0: no file. For a directory, only inode and mode count. */
struct ident {
	uint64_t inode, size;
	int64_t mtime_ns, ctime_ns; /* ctime_ns: changes with each rename; not in the journal */
	uint32_t mode;
	uint32_t links; /* number of hard links; not in the journal */
};

/* A path that differs. */
struct item {
	char *path; /* belongs to `change` */
	struct ident old;
	/* the change with the new content or, without one, the removal */
	const struct change *change;
	uint32_t new_mode;
	bool same_content;
	bool is_conflict;
	struct guard guard;
	const char *left; /* why it is not applied; NULL: it is */
	char *content;    /* the content that was shown and chosen; NULL: as the store has it */
	size_t content_size;
};

enum step_kind { STEP_ADD, STEP_REPLACE, STEP_REMOVE, STEP_MODE };

/*
 * A change of the source. In the stage, the step's index is the name of the new file, and of the
 * file that the step takes out.
 */
struct step {
	enum step_kind kind;
	char *path;
	struct ident old, new;
	const struct item *item; /* NULL: the step comes from a journal */
};

/* The values of the store's info file that matter here. */
struct origin {
	uint64_t inode, device; /* of the source; 0: unknown */
	/* boot id of the last use of the store; `device` is valid in this boot only */
	char used_boot[64];
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
	/*
	 * Descriptors. room: the store's "apply" directory. stage: the directory for new files and
	 * for files that were taken out; -1: not open.
	 */
	int store, source, room, stage;
	int terminal; /* where the user is asked; -1: none */
	bool is_stage_in_source;
	bool is_begun;        /* there is the journal of an interrupted apply */
	bool is_passing_over; /* skip what others have changed; no failure */
	bool is_forced, is_dry, is_asking, is_json, takes_protected;
	struct origin origin;
	char boot[64]; /* boot id of the machine */
	bool is_clock_doubtful;
	struct own *owns;
	size_t own_count;
	struct item *items;
	size_t item_count;
	size_t kept_bytes; /* sum over all items' contents */
	struct ways *ways; /* set while look() runs */
	struct step *steps;
	size_t step_count;
	size_t *made; /* set while stage_fill() runs: per item, the step that makes its file */
	uint64_t source_inode, source_device;
	bool is_missing;    /* a step's file was not in the stage as expected */
	bool was_forced;    /* whether the journal's apply was forced */
	bool is_incomplete; /* a requested change is not applied */
	bool is_restored;   /* the begun steps have been undone */
};

/* --- plan.c: pure --- */

/*
 * Adds the new directories above the wanted paths to the changes, and sorts the changes by path.
 * Returns 0 or -errno; above.c.
 */
int above_add(struct apply *apply);

/*
 * Makes items of changes that are sorted by path. A removal and an addition of the same path become
 * one item. Returns 0 or -ENOMEM.
 */
int plan_items(const struct diff *diff, struct item **ret_items, size_t *ret_count);

/* Finds an item by its path; NULL: there is none. */
struct item *plan_find(struct item *items, size_t count, const char *path);

/*
 * Leaves further items because they depend on an item that is left: a directory cannot be removed
 * while something in it is left, and nothing can be added below a directory that is not made.
 */
void plan_leave(struct item *items, size_t count);

/*
 * Makes the steps for all items that are not left. In this order each step is possible, and in
 * reverse order each can be undone. Returns 0 or -ENOMEM.
 */
int plan_steps(const struct item *items, size_t count, struct step **ret_steps, size_t *ret_count);

/*
 * Returns the mode that a file gets, which never has set-id or sticky bits. A directory of the
 * source keeps such bits.
 */
uint32_t plan_mode(uint32_t old_mode, uint32_t new_mode);

/*
 * Whether the new file gets content from the layer. False: there is no new file, it is a directory,
 * or only the mode changes.
 */
bool plan_has_content(const struct item *item);

/* Whether both are the same file, unchanged. */
bool plan_is_same(const struct ident *a, const struct ident *b);

/* The facts about a path in the source by which plan_conflict() judges. */
struct facts {
	uint32_t old_mode;
	int64_t ctime_ns;
	uint64_t stamp_ns;
	bool is_clock_doubtful;
	bool is_own;    /* unchanged since an earlier apply */
	bool is_hidden; /* the sandbox never saw it */
	bool is_moved;  /* a directory above it was moved to its place since */
	bool is_gone;   /* the file that the sandbox changed is missing */
	bool only_goes; /* a directory is removed: its contents are judged separately */
};

/* Returns why the file may have been changed outside since the store was made; NULL: it was not. */
const char *plan_conflict(const struct facts *facts);

/* --- journal.c: the steps of an apply that has begun, in the store --- */

struct journal {
	bool is_stage_in_source, is_forced;
	uint64_t source; /* inode number of the source directory */
};

/*
 * Pure. journal_parse() accepts only what journal_print() writes. The paths of the steps point into
 * `text`. Returns 0; -EBADMSG: malformed; -ENOMEM.
 */
int journal_parse(char *text, struct journal *ret_journal, struct step **ret_steps,
                  size_t *ret_count);
void journal_print(FILE *to, const struct journal *journal, const struct step *steps, size_t count);

/*
 * Pure. journal_is_bounded(): whether journal_parse() accepts these steps, and their text has at
 * most APPLY_JOURNAL_MAX bytes.
 */
size_t journal_step_size(const struct step *step); /* upper bound */
bool journal_is_bounded(const struct step *steps, size_t count);

int journal_write(struct apply *apply);
/*
 * Returns 0; -ENOENT: there is no journal; -EXDEV: the journal is of another source; -errno.
 * *ret_is_closed: its apply was completed or undone, and only the stage must still be emptied.
 */
int journal_read(struct apply *apply, bool *ret_is_closed);
int journal_close(struct apply *apply);
int journal_remove(struct apply *apply);

/* --- record.c: the store's info, and the files of earlier applies --- */

/*
 * Reads the boot id. Call it before the program confines itself, because a confined program cannot
 * read /proc.
 */
void record_read_boot(struct apply *apply);

int record_read_origin(struct apply *apply);
int record_read_owns(struct apply *apply);
bool record_is_own(const struct apply *apply, const char *path, const struct ident *ident);

/* Adds the files that the steps have left in the source to the record. */
int record_write_owns(struct apply *apply);

/*
 * Text files in the store's "apply" directory. record_create() makes a new one; NULL and errno if
 * it fails. record_finish() syncs a complete one and renames it to `wanted`. record_read_text()
 * reads one of at most APPLY_JOURNAL_MAX bytes, without NULs.
 */
FILE *record_create(struct apply *apply, const char *name);
int record_finish(struct apply *apply, FILE *file, const char *name, const char *wanted);
int record_rename(struct apply *apply, const char *name, const char *wanted);
int record_read_text(struct apply *apply, const char *name, char **ret_text);

/*
 * record_put_text() writes unsafe characters as %XX, as libclient does. record_take_text() decodes
 * such text in place; false: malformed.
 */
void record_put_text(FILE *to, const char *text);
bool record_take_text(char *text);
size_t record_text_size(const char *text); /* of the encoded text */

/* --- look.c: compares the items with both sides --- */

int look(struct apply *apply);

extern const char look_protected[]; /* item.left of an item that is left because of its name */

/*
 * Examines a path below a directory without following links. mode 0: no file. Returns 0 or -errno.
 */
int look_at(int directory, const char *path, struct ident *ret_ident);

/* --- stage.c --- */

int stage_open(struct apply *apply, bool make);
int stage_fill(struct apply *apply);
int stage_empty(struct apply *apply);

/*
 * Whether a directory that was moved to the stage is empty; true for any other file. The contents
 * of such a directory have not been examined, so it must be empty.
 */
bool stage_is_empty_if_directory(const struct apply *apply, const char *staged, uint32_t mode);

/* --- inherit.c --- */

/*
 * Gives a staged file, open as `fd`, the group, ACL and label of the file that it replaces, or
 * those that it would get if it were made in its target directory. *mode is the mode that the
 * caller sets afterwards; it is narrowed to fit them. Returns 0 or -errno.
 */
int inherit(const struct apply *apply, const struct step *step, int fd, uint32_t *mode);

/* Removes the directory's default ACL, so that files made in it do not inherit one. */
int inherit_nothing(int directory);

/*
 * Pure. inherit_acl_bits() returns the permissions of the ACL's entry with a tag such as ACL_MASK,
 * as bits of "other". If there is no such entry, it returns INHERIT_NO_ENTRY for ACL_MASK,
 * otherwise 0. inherit_mode_of_default() returns a mode as the kernel limits it by a default ACL.
 */
#define INHERIT_NO_ENTRY 8u
uint32_t inherit_acl_bits(const char *acl, size_t size, unsigned tag);
uint32_t inherit_mode_of_default(uint32_t mode, const char *acl, size_t size);

/* --- keep.c --- */

/*
 * Moves every file in the stage that is neither a copy of the store's nor one that the source was
 * to lose to a directory beside the stage, and reports that directory. Returns 0 or -errno.
 */
int keep_others(struct apply *apply);

/*
 * If that directory exists, reports that a file missing in the stage may be in it: the process may
 * have been killed after keep_others().
 */
void keep_report(struct apply *apply);

/* --- step.c --- */

/*
 * Return 0; -ESTALE: others have changed the file, which stays as they left it; -EBADMSG: the stage
 * does not match the journal; -errno.
 */
int step_do(struct apply *apply, size_t i);
int step_undo(struct apply *apply, size_t i);

/* --- hunks.c: asks on a terminal for each change. 0 or -errno --- */

int hunks_ask(struct apply *apply);
bool hunks_is_not_chosen(const struct item *item);

/* --- report.c --- */

/* "added", "changed", "removed", "mode" */
const char *report_name(const struct item *item);

/* Writes what was applied, if `is_done`, and what is left, with notes about the latter. */
void report(struct apply *apply, bool is_done);

/* Writes the path of a directory, quoted. */
void report_directory(FILE *to, int fd);

/* Writes the outcome of an interrupted apply. */
void report_resumed(struct apply *apply, const char *what);

/* --- run.c: both return one of enum APPLY_* --- */

int run_apply(struct apply *apply);
int run_resume(struct apply *apply, bool undo);
