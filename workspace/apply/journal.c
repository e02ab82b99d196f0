/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. The journal is hostile when it is read: anything but the exact format is refused,
 * and every path must stay below the source.
 */
#include "workspace/apply/apply.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define NAME        "journal"
#define NAME_NEW    "journal.new"
#define NAME_CLOSED "journal.closed"
#define HEAD        "yett-apply 1\n"

#define JOURNAL_STEPS_MAX (2 * DIFF_CHANGES_MAX)

/*
 * Upper bound of a line without its path: a letter, twice two 64-bit numbers, a mode and a time,
 * and separators.
 */
#define LINE_MAX_BARE ((size_t)2 * (20 + 7 + 20 + 20 + 4) + 4)

static const char kinds[] = {
	[STEP_ADD] = 'a', [STEP_REPLACE] = 'r', [STEP_REMOVE] = 'd', [STEP_MODE] = 'm'};

static void put_ident(FILE *to, const struct ident *ident)
{
	(void)fprintf(to, " %" PRIu64 " %o %" PRIu64 " %" PRId64, ident->inode, ident->mode,
	              ident->size, ident->mtime_ns);
}

void journal_print(FILE *to, const struct journal *journal, const struct step *steps, size_t count)
{
	(void)fprintf(to, HEAD "%s %s %" PRIu64 " %zu\n",
	              journal->is_stage_in_source ? "source" : "store",
	              journal->is_forced ? "forced" : "plain", journal->source, count);
	for (size_t i = 0; i < count; i++) {
		(void)fputc(kinds[steps[i].kind], to);
		put_ident(to, &steps[i].old);
		put_ident(to, &steps[i].new);
		(void)fputc(' ', to);
		record_put_text(to, steps[i].path);
		(void)fputc('\n', to);
	}
	(void)fputs("end\n", to);
}

size_t journal_step_size(const struct step *step)
{
	return LINE_MAX_BARE + record_text_size(step->path);
}

bool journal_is_bounded(const struct step *steps, size_t count)
{
	size_t size = sizeof HEAD + 128;

	if (count > JOURNAL_STEPS_MAX)
		return false;
	for (size_t i = 0; i < count && size <= APPLY_JOURNAL_MAX; i++)
		size += journal_step_size(&steps[i]);
	return size <= APPLY_JOURNAL_MAX;
}

/* Parses a number, and the character after it. */
static bool journal_take_number(char **at, int base, char end, uint64_t *ret_number)
{
	bool is_negative = base == 10 && **at == '-';
	char *behind, first = (*at)[is_negative];

	if (first < '0' || first > '9')
		return false;
	errno = 0;
	*ret_number =
		is_negative ? (uint64_t)strtoll(*at, &behind, base) : strtoull(*at, &behind, base);
	if (errno || *behind != end)
		return false;
	*at = behind + 1;
	return true;
}

static bool take_ident(char **at, struct ident *ident)
{
	uint64_t mode, mtime;

	if (!journal_take_number(at, 10, ' ', &ident->inode) ||
	    !journal_take_number(at, 8, ' ', &mode) ||
	    !journal_take_number(at, 10, ' ', &ident->size) ||
	    !journal_take_number(at, 10, ' ', &mtime) || mode > (S_IFMT | 07777))
		return false;
	ident->mode = (uint32_t)mode;
	ident->mtime_ns = (int64_t)mtime;
	return !mode || S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

/* Whether the path has the form of those that walk() finds. */
static bool journal_is_path(const char *path)
{
	if (!*path || strlen(path) >= PATH_MAX)
		return false;
	for (;;) {
		size_t length = strcspn(path, "/");

		if (length == 0 || length > NAME_MAX ||
		    (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
			return false;
		if (!path[length])
			return true;
		path += length + 1;
	}
}

/*
 * Whether the step is valid. A file never gets set-id or sticky bits. A directory may keep those
 * that it has, or be made with set-group-ID, as in a parent that passes its group on.
 */
static bool is_step(const struct step *step)
{
	uint32_t kept = step->kind == STEP_MODE
	                        ? (S_ISDIR(step->old.mode) ? step->old.mode & 07000 : 0)
	                        : (S_ISDIR(step->new.mode) ? (uint32_t)S_ISGID : 0);
	bool has_old = step->kind != STEP_ADD, has_new = step->kind != STEP_REMOVE;

	if ((step->old.mode != 0) != has_old || (step->new.mode != 0) != has_new ||
	    (step->new.mode & 07000 & ~kept))
		return false;
	return step->kind != STEP_MODE ||
	       ((step->old.mode & S_IFMT) == (step->new.mode &S_IFMT) &&
	        step->old.inode == step->new.inode && !S_ISLNK(step->old.mode));
}

static bool journal_take_step(char *line, struct step *step)
{
	const char *kind = *line ? memchr(kinds, *line, sizeof kinds) : NULL;
	char *at = line + 2;

	if (!kind || line[1] != ' ')
		return false;
	step->kind = (enum step_kind)(kind - kinds);
	if (!take_ident(&at, &step->old) || !take_ident(&at, &step->new) || !record_take_text(at) ||
	    !journal_is_path(at))
		return false;
	step->path = at;
	return is_step(step);
}

static bool take_head(char **rest, struct journal *journal, uint64_t *ret_count)
{
	static const char *const places[] = {"store ", "source "}, *const ways[] = {"plain ",
	                                                                            "forced "};
	char *line = strsep(rest, "\n");
	unsigned place, way;

	for (place = 0; place < ARRAY_SIZE(places) &&
	                strncmp(line, places[place], strlen(places[place])) != 0;)
		place++;
	if (place == ARRAY_SIZE(places))
		return false;
	line += strlen(places[place]);
	for (way = 0; way < ARRAY_SIZE(ways) && strncmp(line, ways[way], strlen(ways[way])) != 0;)
		way++;
	if (way == ARRAY_SIZE(ways))
		return false;
	line += strlen(ways[way]);
	*journal = (struct journal){.is_stage_in_source = place == 1, .is_forced = way == 1};
	return journal_take_number(&line, 10, ' ', &journal->source) &&
	       journal_take_number(&line, 10, '\0', ret_count) && *ret_count <= JOURNAL_STEPS_MAX;
}

int journal_parse(char *text, struct journal *ret_journal, struct step **ret_steps,
                  size_t *ret_count)
{
	_cleanup_free_ struct step *steps = NULL;
	char *rest = text, *line;
	struct journal journal;
	uint64_t count;

	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return -EBADMSG;
	rest += strlen(HEAD);
	if (!take_head(&rest, &journal, &count))
		return -EBADMSG;
	steps = calloc(count + 1, sizeof *steps);
	if (!steps)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		line = strsep(&rest, "\n");
		if (!line || !rest || !journal_take_step(line, &steps[i]))
			return -EBADMSG;
	}
	if (!rest || strcmp(rest, "end\n") != 0)
		return -EBADMSG;
	*ret_journal = journal;
	*ret_steps = steal_ptr(&steps);
	*ret_count = count;
	return 0;
}

int journal_write(struct apply *apply)
{
	const struct journal journal = {apply->is_stage_in_source, apply->is_forced,
	                                apply->source_inode};
	FILE *to = record_create(apply, NAME_NEW);
	int r;

	if (!to)
		return -errno;
	journal_print(to, &journal, apply->steps, apply->step_count);
	r = record_finish(apply, to, NAME_NEW, NAME);
	/*
	 * The new name may exist without being on the disk. Remove it: the caller empties the
	 * stage.
	 */
	if (r < 0)
		(void)unlinkat(apply->room, NAME, 0);
	return r;
}

int journal_read(struct apply *apply, bool *ret_is_closed)
{
	struct journal journal;
	char *text; /* not freed: the paths point into it */
	int r = record_read_text(apply, NAME, &text);

	*ret_is_closed = r == -ENOENT;
	if (r == -ENOENT)
		r = record_read_text(apply, NAME_CLOSED, &text);
	if (r == 0)
		r = journal_parse(text, &journal, &apply->steps, &apply->step_count);
	if (r == 0 && journal.source != apply->source_inode)
		r = -EXDEV;
	if (r == 0) {
		apply->is_stage_in_source = journal.is_stage_in_source;
		apply->was_forced = journal.is_forced;
	}
	return r;
}

int journal_close(struct apply *apply)
{
	return record_rename(apply, NAME, NAME_CLOSED);
}

int journal_remove(struct apply *apply)
{
	return unlinkat(apply->room, NAME_CLOSED, 0) == 0 || errno == ENOENT ? 0 : -errno;
}
