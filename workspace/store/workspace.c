/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See yett_workspace() in yett-workspace.h, and libclient/workspace.h: makes and finds stores for
 * the requests of libyett. Runs as the caller.
 */
#include "libclient/workspace.h"

#include "base/memory.h"
#include "workspace/store/work.h"

static int workspace_find(const char *id, struct work **works, const char **ret_source,
                          const char **ret_target, struct yett_error *error)
{
	int r = work_find(id, works, error);

	if (r)
		return r;
	*ret_source = (*works)->source;
	*ret_target = (*works)->target;
	return 0;
}

static int workspace_prepare(const struct workspace_share *share, struct work **works,
                             int *ret_store, struct yett_error *error)
{
	int r = share->is_found
	                ? work_reuse(*works, share->source, share->name, share->target, error)
	                : work_make(share->source, share->target, works, error);

	if (r == 0 && share->hide)
		r = work_hide(*works, share->source, share->name, share->hide, share->no_hide,
		              error);
	if (r == 0)
		*ret_store = (*works)->store;
	return r;
}

const struct yett_workspace *yett_workspace(void)
{
	static const struct yett_workspace workspace = {.size = sizeof workspace,
	                                                .find = workspace_find,
	                                                .prepare = workspace_prepare,
	                                                .keep = work_keep,
	                                                .drop = work_drop};

	return &workspace;
}

void yett_workspace_free(void *memory)
{
	memory_free(memory);
}
