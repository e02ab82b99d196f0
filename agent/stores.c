/* SPDX-License-Identifier: Apache-2.0 */
/* See stores.h. */
#include "agent/stores.h"

#include <string.h>
#include <time.h>

#include "base/clock_us.h"
#include "workspace/yett-workspace.h"

/* Microseconds until the first poll: most sandboxes have ended by then. */
#define FIRST_US  20000
#define LAST_US   1000000  /* microseconds: the interval doubles up to this one */
#define TRIES     40       /* polls until a sandbox is given up: about half a minute */
#define AT_END_US 5000000  /* microseconds to wait at the program's end */
#define AT_END_NS 20000000 /* nanoseconds between polls at the program's end */

struct expected {
	char sandbox[YETT_ID_SIZE];
	unsigned tries;
	bool is_used; /* a store of the sandbox was locked at the last poll, or that is unknown */
	struct expected *next;
};

struct stores {
	struct expected *expected;
	sd_event_source *timer;
	uint64_t pause_us;
};

static struct expected *stores_find(const struct stores *stores, const char *sandbox)
{
	for (struct expected *at = stores->expected; at; at = at->next)
		if (strcmp(at->sandbox, sandbox) == 0)
			return at;
	return NULL;
}

/* Forgets sandboxes that have ended, or were polled too often, even if their stores remain. */
static void stores_forget(struct stores *stores)
{
	struct expected *one;

	for (struct expected **at = &stores->expected; *at;) {
		one = *at;
		if (one->is_used && ++one->tries < TRIES) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
}

static void stores_look(struct stores *stores)
{
	struct yett_work_list *list;
	const struct yett_work *work;
	struct expected *one;

	if (yett_works_list(&list, NULL) != 0)
		list = NULL;
	for (one = stores->expected; one; one = one->next)
		one->is_used = !list;
	for (size_t i = 0; list && i < yett_work_list_count(list); i++) {
		work = yett_work_list_get(list, i);
		one = stores_find(stores, work->sandbox);
		if (one && work->is_used)
			one->is_used = true;
		else if (one && !work->is_changed)
			(void)!yett_work_discard_unchanged(work->id, NULL);
	}
	yett_workspace_free(list);
	stores_forget(stores);
}

static int stores_on_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct stores *stores = data;

	(void)at_us;
	stores_look(stores);
	stores->pause_us = stores->pause_us * 2 < LAST_US ? stores->pause_us * 2 : LAST_US;
	if (stores->expected && sd_event_source_set_time_relative(source, stores->pause_us) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

struct stores *stores_new(struct agent *agent)
{
	struct stores *stores = calloc(1, sizeof *stores);

	if (stores && (sd_event_add_time_relative(agent->loop, &stores->timer, CLOCK_MONOTONIC,
	                                          FIRST_US, 0, stores_on_time, stores) < 0 ||
	               sd_event_source_set_enabled(stores->timer, SD_EVENT_OFF) < 0)) {
		stores_free(stores);
		return NULL;
	}
	return stores;
}

void stores_free(struct stores *stores)
{
	uint64_t end_us = clock_now_us() + AT_END_US;

	if (!stores)
		return;
	while (stores->expected) {
		stores_look(stores);
		if (stores->expected && clock_now_us() >= end_us)
			break;
		if (stores->expected)
			(void)nanosleep(&(const struct timespec){.tv_nsec = AT_END_NS}, NULL);
	}
	while (stores->expected) {
		struct expected *next = stores->expected->next;

		free(stores->expected);
		stores->expected = next;
	}
	(void)sd_event_source_disable_unref(stores->timer);
	free(stores);
}

void stores_expect(struct agent *agent, const char *sandbox)
{
	struct stores *stores = agent->stores;
	struct expected *new = stores_find(stores, sandbox) ? NULL : calloc(1, sizeof *new);

	if (!new)
		/*
		 * The sandbox is in the list already, or there is no memory for a new entry.
		 * Without an entry, its stores stay until the user runs `yett work prune`.
		 */
		return;
	(void)snprintf(new->sandbox, sizeof new->sandbox, "%s", sandbox);
	new->next = stores->expected;
	stores->expected = new;
	stores->pause_us = FIRST_US;
	if (sd_event_source_set_time_relative(stores->timer, FIRST_US) >= 0)
		(void)sd_event_source_set_enabled(stores->timer, SD_EVENT_ONESHOT);
}
