/* SPDX-License-Identifier: Apache-2.0 */
/* See connect.h. */
#include "cli/connect.h"

#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/escape_list.h"
#include "cli/output.h"

int connect_without_key(const struct connect_choice *choice,
                        struct yett_connection **ret_connection, struct yett_error *error)
{
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .socket_path = choice->socket_path,
	                                             .key_path = choice->key_path,
	                                             .workspace = yett_workspace()};

	return yett_connect(&options, ret_connection, error);
}

bool connect_find_closed(char path[static PATH_MAX], char group[static CONNECT_GROUP_SIZE])
{
	const struct group *entry;
	struct stat st;
	char *name;

	if (yett_helper_path(NULL, path, PATH_MAX, NULL) != 0 || !(name = strrchr(path, '/')) ||
	    strcmp(name, "/yett-rootless") != 0)
		return false;
	(void)strcpy(name, "/yett-helper");
	if (stat(path, &st) != 0 || st.st_uid != 0 || !(st.st_mode & S_ISUID) ||
	    access(path, X_OK) == 0)
		return false;
	entry = getgrgid(st.st_gid);
	(void)snprintf(group, CONNECT_GROUP_SIZE, "%u", st.st_gid);
	if (entry)
		(void)snprintf(group, CONNECT_GROUP_SIZE, "%s", entry->gr_name);
	return true;
}

static void note_fallback(void)
{
	char path[PATH_MAX], group[CONNECT_GROUP_SIZE];

	if (connect_find_closed(path, group))
		output_note("running without root: %s is for the group %s, and you are not in it",
		            path, group);
}

int connect_with_key(const struct connect_choice *choice, bool report,
                     struct yett_connection **ret_connection, struct yett_error *error)
{
	char path[4096];
	bool created = false;
	int r = choice->key_path ? 0 : yett_key_ensure(NULL, &created, error);

	if (r)
		return r;
	if (report && created && yett_key_path(path, sizeof path, NULL) == 0)
		output_note("made the key %s and enrolled it in authorized_keys beside it", path);
	r = connect_without_key(choice, ret_connection, error);
	if (r == 0 && report && geteuid() != 0 &&
	    yett_connection_start(*ret_connection) == YETT_START_PERSONAL)
		note_fallback();
	return r;
}

/*
 * Whether there may be sandboxes that were made without root: looks for their control sockets, in
 * the directories of programs/rootless/rootless.h.
 */
static bool has_own(void)
{
	const char *home = getenv("HOME");
	char places[3][512];
	bool has = false;

	(void)snprintf(places[0], sizeof places[0], "/run/user/%u/yett", geteuid());
	(void)snprintf(places[1], sizeof places[1], "/tmp/yett-%u", geteuid());
	(void)snprintf(places[2], sizeof places[2], "%s/.local/state/yett/run", home ? home : "");
	for (size_t i = 0; !has && i < ARRAY_SIZE(places); i++) {
		char control[sizeof places[0] + 16];
		struct stat st;
		const struct dirent *entry;
		DIR *entries;

		/* any user can create this name in /tmp */
		if (lstat(places[i], &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		(void)snprintf(control, sizeof control, "%.511s/control", places[i]);
		entries = opendir(control);

		while (entries && !has && (entry = readdir(entries)))
			has = entry->d_name[0] != '.';
		if (entries)
			(void)closedir(entries);
	}
	return has;
}

int connect_own(const struct connect_choice *choice, const struct yett_connection *other,
                struct yett_connection **ret_connection)
{
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .start = YETT_START_PERSONAL,
	                                             .key_path = choice->key_path,
	                                             .workspace = yett_workspace()};

	*ret_connection = NULL;
	if (choice->socket_path || geteuid() == 0 ||
	    yett_connection_start(other) == YETT_START_PERSONAL || !has_own())
		return 0;
	return yett_connect(&options, ret_connection, NULL);
}

int connect_for(const struct connect_choice *choice, bool report, const char *sandbox,
                struct yett_connection **ret_connection, struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	struct yett_connection *own = NULL;
	int r = connect_with_key(choice, report, ret_connection, error);

	/*
	 * Ask the caller's own helper first: the service would log that it does not know the name.
	 */
	if (r || !sandbox || connect_own(choice, *ret_connection, &own) || !own)
		return r;
	if (yett_sandbox_inspect(own, sandbox, &status, NULL) == 0) {
		struct yett_connection *other = *ret_connection;

		*ret_connection = own;
		own = other;
		output_note(
			"%s is a sandbox that was made without root; --socket asks the service alone",
			ESCAPE(sandbox));
	}
	yett_connection_close(own);
	return 0;
}

bool connect_is_to(const struct yett_connection *connection, const char *socket_path)
{
	struct sockaddr_un peer = {0};
	socklen_t length = sizeof peer;

	return yett_connection_start(connection) == YETT_START_SERVICE &&
	       getpeername(yett_connection_fd(connection), (struct sockaddr *)&peer, &length) ==
	               0 &&
	       peer.sun_family == AF_UNIX && strlen(socket_path) < sizeof peer.sun_path &&
	       strncmp(peer.sun_path, socket_path, sizeof peer.sun_path) == 0;
}
