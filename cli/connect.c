/* See connect.h. */
#include "cli/connect.h"

#include "cli/output.h"

int connect_with_key(const char *socket_path, bool tell, struct yett_connection **ret_connection, struct yett_error *error)
{
	const struct yett_connect_options options = {.socket_path = socket_path};
	char path[4096];
	bool created;
	int r = yett_key_ensure(NULL, &created, error);

	if (r)
		return r;
	if (tell && created && yett_key_path(path, sizeof path, NULL) == 0)
		output_note("made the key %s and enrolled it in authorized_keys beside it", path);
	return yett_connect(&options, ret_connection, error);
}
