/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "work" in yett-workspace.h: finds the store that a name means. Runs as the caller. Reads only
 * the list and the path of the current directory.
 */
#include "workspace/store/work.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/own_place.h"

static bool is_later(const struct yett_work *work, const struct yett_work *than)
{
	return !than || work->created_ms > than->created_ms;
}

static bool is_of(const struct yett_work *work, const char *sandbox)
{
	return *sandbox &&
	       (strcmp(work->sandbox, sandbox) == 0 || strcmp(work->name, sandbox) == 0);
}

static int work_choose_not_found(const char *name, struct yett_error *error)
{
	(void)error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                "there is no store %.80s, and no sandbox of that name has one",
	                ESCAPE(name));
	error_mend(
		error,
		"the first word must be a sandbox or store: yett work list lists them. Changes that are kept in memory have no store");
	return YETT_E_NOT_FOUND;
}

static int find_here(const struct yett_work_list *list, const struct yett_work **ret_work,
                     struct yett_error *error)
{
	const struct yett_work *found = NULL;
	char here[PATH_MAX];

	if (!realpath(".", here))
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "the current directory cannot be told: %m");
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (work->is_complete && work->is_changed &&
		    own_place_is_below(here, work->source) && is_later(work, found))
			found = work;
	}
	if (found) {
		*ret_work = found;
		return 0;
	}
	(void)error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                "no store contains changes of a sandbox in %s", ESCAPE(here));
	error_mend(error, "name a sandbox or store: yett work list tells which there are");
	return YETT_E_NOT_FOUND;
}

/*
 * Returns the newest store whose sandbox has this id or name. Several sandboxes may have had the
 * name.
 */
static const struct yett_work *find_last(const struct yett_work_list *list, const char *sandbox)
{
	const struct yett_work *last = NULL;

	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (is_of(work, sandbox) && is_later(work, last))
			last = work;
	}
	return last;
}

static int refuse_several(const struct yett_work_list *list, const struct yett_work *last,
                          const char *name, struct yett_error *error)
{
	char mend[sizeof error->mend] = "name one of them:";

	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "the sandbox %.80s has more than one store", ESCAPE(name));
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);
		size_t used = strlen(mend);

		if (strcmp(work->sandbox, last->sandbox) == 0)
			(void)snprintf(mend + used, sizeof mend - used, " %s (%.100s)", work->id,
			               ESCAPE(work->target));
	}
	error_mend(error, "%s", mend);
	return YETT_E_INVALID_REQUEST;
}

int yett_work_find(const struct yett_work_list *list, const char *name,
                   const struct yett_work **ret_work, struct yett_error *error)
{
	const struct yett_work *last;

	if (!name)
		return find_here(list, ret_work, error);
	for (size_t i = 0; i < yett_work_list_count(list); i++)
		if (strcmp(yett_work_list_get(list, i)->id, name) == 0) {
			*ret_work = yett_work_list_get(list, i);
			return 0;
		}
	last = find_last(list, name);
	if (!last)
		return work_choose_not_found(name, error);
	for (size_t i = 0; i < yett_work_list_count(list); i++)
		if (yett_work_list_get(list, i) != last && *last->sandbox &&
		    strcmp(yett_work_list_get(list, i)->sandbox, last->sandbox) == 0)
			return refuse_several(list, last, name, error);
	*ret_work = last;
	return 0;
}
