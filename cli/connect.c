/* See connect.h. */
#include "cli/connect.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/output.h"

int connect_without_key(const struct connect_choice *choice, struct yett_connection **ret_connection, struct yett_error *error)
{
	const struct yett_connect_options options = {
		.size = sizeof options, .socket_path = choice->socket_path, .key_path = choice->key_path};

	return yett_connect(&options, ret_connection, error);
}

int connect_with_key(const struct connect_choice *choice, bool tell, struct yett_connection **ret_connection, struct yett_error *error)
{
	char path[4096];
	bool created = false;
	int r = choice->key_path ? 0 : yett_key_ensure(NULL, &created, error);

	if (r)
		return r;
	if (tell && created && yett_key_path(path, sizeof path, NULL) == 0)
		output_note("made the key %s and enrolled it in authorized_keys beside it", path);
	return connect_without_key(choice, ret_connection, error);
}

bool connect_is_to(const struct yett_connection *connection, const char *socket_path)
{
	struct sockaddr_un peer = {0};
	socklen_t length = sizeof peer;

	return yett_connection_start(connection) == YETT_START_SERVICE &&
	       getpeername(yett_connection_fd(connection), (struct sockaddr *)&peer, &length) == 0 && peer.sun_family == AF_UNIX &&
	       strlen(socket_path) < sizeof peer.sun_path && strncmp(peer.sun_path, socket_path, sizeof peer.sun_path) == 0;
}
