/* SPDX-License-Identifier: Apache-2.0 */
/* See relays.h. */
#include "cli/network/relays.h"

#include <string.h>
#include <unistd.h>

#include "base/units_parse.h"
#include "cli/output.h"
#include "cli/parse.h"

static int relays_invalid(const char *option, const char *value, const char *expected,
                          struct yett_error *error)
{
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s %.100s: expected %s",
	                 option, value, expected);
}

static int next_request(struct relays *relays, const char *option,
                        struct relay_request **ret_request, struct yett_error *error)
{
	if (relays->count == RELAYS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s: one sandbox can have at most %d ports and sockets", option,
		                 RELAYS_MAX);
	*ret_request = &relays->requests[relays->count];
	**ret_request = (struct relay_request){0};
	return 0;
}

static bool parse_port(const char *text, size_t length, bool may_be_zero, uint16_t *ret_port)
{
	char digits[8];
	uint64_t number;

	if (length >= sizeof digits)
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (units_parse_number(digits, &number) < 0 || number > UINT16_MAX ||
	    (number == 0 && !may_be_zero))
		return false;
	*ret_port = (uint16_t)number;
	return true;
}

/*
 * Copies the address before the ports, as written; the library reports what is wrong with it.
 * -EINVAL, -ENOMEM.
 */
static int split_address(const char *value, const char *end, char **ret_address)
{
	bool has_brackets = *value == '[';

	*ret_address = NULL;
	if (end == value - 1)
		return 0;
	if (has_brackets && end[-1] != ']')
		return -EINVAL;
	value += has_brackets;
	end -= has_brackets;
	if (end <= value || (!has_brackets && memchr(value, ':', (size_t)(end - value))))
		return -EINVAL;
	*ret_address = strndup(value, (size_t)(end - value));
	return *ret_address ? 0 : -ENOMEM;
}

/* Returns the last colon before `end`, or `value` - 1 if there is none. */
static const char *colon_before(const char *value, const char *end)
{
	do
		end--;
	while (end >= value && *end != ':');
	return end;
}

int relays_add_port(struct relays *relays, const char *option, const char *value,
                    struct yett_error *error)
{
	static const char expected[] =
		"[ADDRESS:]HOSTPORT:PORT, like 8080:80, 0:80 or [::1]:8080:80";
	const char *end = value + strlen(value), *last = colon_before(value, end), *first;
	struct relay_request *request;
	int r = next_request(relays, option, &request, error);

	if (r)
		return r;
	if (last < value)
		return relays_invalid(option, value, expected, error);
	first = colon_before(value, last);
	if (!parse_port(last + 1, (size_t)(end - last - 1), false, &request->port) ||
	    !parse_port(first + 1, (size_t)(last - first - 1), true, &request->host_port))
		return relays_invalid(option, value, expected, error);
	r = split_address(value, first, &request->address);
	if (r == -EINVAL)
		return relays_invalid(option, value, expected, error);
	if (r)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for %s",
		                 option);
	relays->count++;
	return 0;
}

int relays_add_socket(struct relays *relays, const char *option, const char *value,
                      struct yett_error *error)
{
	_cleanup_free_ char *directory = getcwd(NULL, 0);
	struct relay_request *request;
	int r = next_request(relays, option, &request, error);

	if (r)
		return r;
	if (parse_share(directory ? directory : "/", value, &request->path, &request->target) < 0)
		return relays_invalid(option, value, "PATH or PATH:TARGET", error);
	relays->count++;
	return 0;
}

static int open_one(struct yett_relay *relay, struct relay_request *request, bool reports_all,
                    struct yett_error *error)
{
	const char *address = request->address ? request->address : "127.0.0.1";
	bool is_v6 = strchr(address, ':') != NULL;
	uint16_t chosen;
	int r;

	if (request->path) {
		r = yett_relay_socket(relay, request->path, request->target, error);
		if (r == 0 && reports_all)
			output_note("%s inside leads to %s", request->target, request->path);
	} else {
		r = yett_relay_publish(relay, request->address, request->host_port, request->port,
		                       &chosen, error);
		if (r == 0 && (reports_all || request->host_port == 0))
			output_note("%s%s%s:%u leads to port %u of the sandbox", is_v6 ? "[" : "",
			            address, is_v6 ? "]" : "", chosen, request->port);
	}
	request->is_open = r == 0;
	return r;
}

int relays_open(struct relays *relays, struct yett_sandbox *sandbox, bool reports_all,
                struct yett_error *error)
{
	int r = relays->count > 0 ? yett_relay_new(sandbox, &relays->relay, error) : 0;

	for (size_t i = 0; r == 0 && i < relays->count; i++)
		r = open_one(relays->relay, &relays->requests[i], reports_all, error);
	return r;
}

int relays_fd(const struct relays *relays)
{
	return relays->relay ? yett_relay_fd(relays->relay) : -1;
}

void relays_dispatch(struct relays *relays)
{
	if (relays->relay)
		yett_relay_dispatch(relays->relay);
}

void relays_close(struct relays *relays, struct yett_sandbox *goes_on)
{
	yett_relay_close(relays->relay);
	relays->relay = NULL;
	for (size_t i = 0; i < relays->count; i++) {
		struct relay_request *request = &relays->requests[i];
		struct yett_file_info *info = NULL;

		if (goes_on && request->is_open && request->path &&
		    yett_file_stat(goes_on, request->target, 0, &info, NULL) == 0 &&
		    info->kind == YETT_FILE_SOCKET)
			(void)!yett_file_remove(goes_on, request->target, 0, NULL);
		yett_free(info);
		request->is_open = false;
	}
}

void relays_free(struct relays *relays)
{
	for (size_t i = 0; i < relays->count; i++) {
		free(relays->requests[i].address);
		free(relays->requests[i].path);
		free(relays->requests[i].target);
	}
	relays->count = 0;
}
