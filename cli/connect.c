/* See connect.h. */
#include "cli/connect.h"

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
