/* SPDX-License-Identifier: Apache-2.0 */
/* See idmap.h. */
#include "helper/setup/idmap.h"
#include "base/kernel.h"

/* An id that does not follow the plain range. `host` is NO_ID for an id that is left unmapped. */
struct special {
	uint32_t inside, host;
};

#define NO_ID           UINT32_MAX
#define IDMAP_TEXT_SIZE 4096
#define SPECIALS_MAX    (2 * PLAN_GROUPS_MAX + 8)

struct specials {
	struct special items[SPECIALS_MAX];
	size_t count;
	/* number of ids at the top of the range that stand for ids above the range */
	uint32_t borrowed;
};

static void add_special(struct specials *specials, uint32_t inside, uint32_t host)
{
	size_t at = 0;

	while (at < specials->count && specials->items[at].inside < inside)
		at++;
	if (specials->count == SPECIALS_MAX ||
	    (at < specials->count && specials->items[at].inside == inside))
		return;
	memmove(&specials->items[at + 1], &specials->items[at],
	        (specials->count - at) * sizeof specials->items[0]);
	specials->items[at] = (struct special){inside, host};
	specials->count++;
}

static void add_caller_id(struct specials *specials, uint32_t id, uint32_t first,
                          enum plan_identity identity)
{
	if (identity == PLAN_IDENTITY_CALLER)
		add_special(specials, id, id);
	else if (id >= IDMAP_RANGE && identity == PLAN_IDENTITY_PRIVATE)
		add_special(specials, id, first + IDMAP_RANGE - ++specials->borrowed);
}

static int idmap_add_line(struct idmap_half *half, uint32_t inside, uint32_t host, uint32_t count)
{
	if (half->count == IDMAP_LINES_MAX)
		return -E2BIG;
	half->lines[half->count++] = (struct idmap_line){inside, host, count};
	return 0;
}

/*
 * Fills the map with the special ids, and between them the plain range: `count` ids from 0 on map
 * onto `first` and the ids after it.
 */
static int idmap_fill(const struct specials *specials, uint32_t first, uint32_t count,
                      struct idmap_half *half)
{
	uint32_t next = 0, end = count - specials->borrowed;
	int r = 0;

	for (size_t i = 0; r == 0 && i < specials->count; i++) {
		const struct special *s = &specials->items[i];
		uint32_t until = s->inside < end ? s->inside : end;

		if (next < until)
			r = idmap_add_line(half, next, first + next, until - next);
		if (r == 0 && s->host != NO_ID)
			r = idmap_add_line(half, s->inside, s->host, 1);
		if (s->inside >= next)
			next = s->inside + 1;
	}
	if (r == 0 && next < end)
		r = idmap_add_line(half, next, first + next, end - next);
	return r;
}

static bool idmap_taken(const struct idmap_subject *subject, uint32_t id)
{
	bool found = id == subject->uid || id == subject->gid;

	for (size_t i = 0; i < subject->groups_count; i++)
		found = found || id == subject->groups[i];
	return found;
}

int idmap_make(const struct idmap_subject *subject, uint32_t first, uint32_t face,
               struct idmap *ret_map)
{
	struct specials uids = {0}, gids = {0};
	bool root = subject->identity == PLAN_IDENTITY_ROOT;
	int r;

	if (subject->groups_count > PLAN_GROUPS_MAX)
		return -E2BIG;
	*ret_map = (struct idmap){
		.payload_uid = root ? 0 : subject->uid,
		.payload_gid = root ? 0 : subject->gid,
		.shares_need_own_map = root,
	};
	add_caller_id(&uids, subject->uid, first, subject->identity);
	add_caller_id(&gids, subject->gid, first, subject->identity);
	for (size_t i = 0; i < subject->groups_count; i++)
		add_caller_id(&gids, subject->groups[i], first, subject->identity);
	/*
	 * A command with id 0 needs that number for itself. Root's files then appear as nobody's.
	 */
	if (!root && subject->uid != 0)
		add_special(&uids, 0, face);
	if (!root && subject->gid != 0 && !idmap_taken(subject, 0))
		add_special(&gids, 0, face);
	r = idmap_fill(&uids, first, IDMAP_RANGE, &ret_map->uids);
	if (r == 0)
		r = idmap_fill(&gids, first, IDMAP_RANGE, &ret_map->gids);
	ret_map->init_inside =
		IDMAP_RANGE - 3 - (uids.borrowed > gids.borrowed ? uids.borrowed : gids.borrowed);
	while (idmap_taken(subject, ret_map->init_inside))
		ret_map->init_inside--;
	return r;
}

uint32_t idmap_host(const struct idmap_half *half, uint32_t inside)
{
	for (size_t i = 0; i < half->count; i++)
		if (inside - half->lines[i].inside < half->lines[i].count)
			return half->lines[i].host + (inside - half->lines[i].inside);
	return UINT32_MAX;
}

/* The kernel takes a map in one write of less than a page. user_namespaces(7) */
static int format(const struct idmap_half *half, char text[static IDMAP_TEXT_SIZE])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < half->count; i++) {
		int n = snprintf(text + used, IDMAP_TEXT_SIZE - used,
		                 "%" PRIu32 " %" PRIu32 " %" PRIu32 "\n", half->lines[i].inside,
		                 half->lines[i].host, half->lines[i].count);

		if (n < 0 || (size_t)n >= IDMAP_TEXT_SIZE - used)
			return -E2BIG;
		used += (size_t)n;
	}
	return 0;
}

int idmap_open(pid_t pid, const struct idmap_half *uids, const struct idmap_half *gids)
{
	char uid_text[IDMAP_TEXT_SIZE], gid_text[IDMAP_TEXT_SIZE];
	_cleanup_fd_ int proc = open("/proc", O_DIRECTORY | O_PATH | O_CLOEXEC);
	int r = proc < 0 ? -errno : format(uids, uid_text);

	if (r == 0)
		r = format(gids, gid_text);
	if (r < 0)
		return r;
	return pid > 0 ? kernel_open_userns_of(proc, pid, uid_text, gid_text)
	               : kernel_open_userns(proc, uid_text, gid_text, NULL);
}

int idmap_open_single(uint32_t disk_uid, uint32_t host_uid, uint32_t disk_gid, uint32_t host_gid)
{
	struct idmap_half uids = {.lines = {{disk_uid, host_uid, 1}}, .count = 1};
	struct idmap_half gids = {.lines = {{disk_gid, host_gid, 1}}, .count = 1};

	return idmap_open(0, &uids, &gids);
}

/*
 * Maps `id`, the caller's on disk, onto `host`. The disk id `host` itself is left unmapped, so that
 * no file on disk that has that owner appears as the caller's.
 */
static void add_shared(struct specials *specials, uint32_t id, uint32_t host, bool alone)
{
	if (host == id && !alone)
		return;
	add_special(specials, id, host);
	/* no effect if `host` has its line by now */
	add_special(specials, host, NO_ID);
}

int idmap_open_shares(const struct idmap *map, const struct idmap_subject *subject, bool alone)
{
	struct specials uids = {0}, gids = {0};
	struct idmap shares = {0};
	int r;

	add_shared(&uids, subject->uid, idmap_host(&map->uids, subject->uid), alone);
	add_shared(&gids, subject->gid, idmap_host(&map->gids, subject->gid), alone);
	for (size_t i = 0; i < subject->groups_count; i++)
		add_shared(&gids, subject->groups[i], idmap_host(&map->gids, subject->groups[i]),
		           alone);
	r = idmap_fill(&uids, 0, alone ? 0 : UINT32_MAX, &shares.uids);
	if (r == 0)
		r = idmap_fill(&gids, 0, alone ? 0 : UINT32_MAX, &shares.gids);
	return r == 0 ? idmap_open(0, &shares.uids, &shares.gids) : r;
}
