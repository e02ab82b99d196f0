/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-explain: answers requests like a helper, but creates nothing. libyett starts it like a
 * private helper, on descriptor 3. Each request for a sandbox is answered with what the policy says
 * of it (explain.h).
 *
 * Runs only with the privilege of its caller. It verifies no signature, because it grants nothing:
 * options name the assumed client.
 */
#include "base/date.h"
#include "base/error_text.h"
#include "base/escape.h"
#include "base/log.h"
#include "programs/decide/explain/explain.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SOCKET 3 /* the same as in libclient/start.c */

enum what { OF_REQUEST, OF_PROFILES, OF_POLICY, OF_EFFECTIVE, OF_ORIGIN };

struct options {
	const char *policy; /* NULL: the installed policy, else the built-in one */
	const char *user, *groups, *key;
	const char *at; /* NULL: now */
	enum what what;
	bool is_own_key, is_agents;
	bool is_alone; /* without conf.d */
};

static int explain_parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"policy", required_argument, NULL, 'p'},
		{"user", required_argument, NULL, 'u'},
		{"groups", required_argument, NULL, 'g'},
		{"key", required_argument, NULL, 'k'},
		{"at", required_argument, NULL, 't'},
		{"agent", no_argument, NULL, 'm'},
		{"own-key", no_argument, NULL, 'o'},
		{"alone", no_argument, NULL, 'a'},
		{"profiles", no_argument, NULL, 'l'},
		{"check", no_argument, NULL, 'c'},
		{"effective", no_argument, NULL, 'e'},
		{"origin", no_argument, NULL, 'r'},
		{"personal", no_argument, NULL, 0},
		{"quiet", no_argument, NULL, 0},
		/* options that libyett passes to every helper */
		{"fd", required_argument, NULL, 0},
		{0},
	};
	int key;

	while ((key = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (key) {
		case 'p':
			options->policy = optarg;
			break;
		case 'u':
			options->user = optarg;
			break;
		case 'g':
			options->groups = optarg;
			break;
		case 't':
			options->at = optarg;
			break;
		case 'm':
			options->is_agents = true;
			break;
		case 'o':
			options->is_own_key = true;
			break;
		case 'k':
			options->key = optarg;
			break;
		case 'a':
			options->is_alone = true;
			break;
		case 'l':
			options->what = OF_PROFILES;
			break;
		case 'c':
			options->what = OF_POLICY;
			break;
		case 'e':
			options->what = OF_EFFECTIVE;
			break;
		case 'r':
			options->what = OF_ORIGIN;
			break;
		case 0:
			break;
		default:
			return -EINVAL;
		}
	return optind == argc ? 0 : -EINVAL;
}

/* Finds the directory of this program, which also contains yett-policy. */
static bool explain_own_folder(char folder[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	folder[n < 0 ? 0 : n] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/* Copies the prefix "FILE:LINE: " of an error in a policy to the error's fields. */
static void name_place(struct yett_error *error)
{
	const char *end = strstr(error->message, ": "),
		   *colon = end ? memrchr(error->message, ':', (size_t)(end - error->message))
	                        : NULL;

	if (!colon || colon + 1 + strspn(colon + 1, "0123456789") != end)
		return;
	(void)snprintf(error->file, sizeof error->file, "%.*s", (int)(colon - error->message),
	               error->message);
	error->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static int explain_load(const struct options *options, struct policy **ret_policy,
                        const char **ret_path, struct yett_error *error)
{
	char folder[PATH_MAX];
	const char *path = options->policy ? options->policy : YETT_POLICY_PATH;
	struct policy_source source = {folder, path, !options->is_alone, geteuid()};
	struct stat st;
	int r;

	if (!explain_own_folder(folder))
		return error_set(error, YETT_E_UNSUPPORTED, 0,
		                 "this program cannot find its directory: /proc is missing");
	if (stat(path, &st) == 0 && st.st_uid == 0)
		source.owner = 0; /* any user may read a policy that belongs to root */
	else if (!options->policy && access(path, F_OK) < 0 && errno == ENOENT)
		source.path = NULL;
	r = policy_load(&source, ret_policy, error);
	*ret_path = source.path ? source.path : "built-in";
	if (r > 0)
		name_place(error);
	if (r == -EACCES) {
		error->code = YETT_E_PERMISSION_DENIED;
		error_mend(
			error,
			"ask as the administrator, with --user and the user's name, or let all users read the policy: chmod a+r");
		return YETT_E_PERMISSION_DENIED;
	}
	if (r < 0 && !error->message[0])
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "the policy cannot be read: %s",
		                 strerror(-r));
	return r < 0 ? (int)error->code : r;
}

/*
 * Refuses a policy that names a device which this host does not have: the service does not load it
 * here, and other helpers refuse the profile. See read_devices() in helper/setup/template.c.
 */
static int check_devices(const struct policy *policy, struct yett_error *error)
{
	struct stat st;

	for (size_t i = 0; i < policy->profiles_count; i++)
		for (size_t j = 0; j < policy->profiles[i].devices.count; j++) {
			const struct policy_list *devices = &policy->profiles[i].devices;

			if (stat(devices->items[j], &st) == 0 && S_ISCHR(st.st_mode))
				continue;
			(void)error_set(error, YETT_E_UNSUPPORTED, 0,
			                "%s:%u: %s is not a character device of this host",
			                devices->places[j].file, devices->places[j].line,
			                devices->items[j]);
			name_place(error);
			return YETT_E_UNSUPPORTED;
		}
	return 0;
}

/* Decodes the request in the packet. Does not verify its signature. */
static int read_request(const struct frame *frame, struct message *message,
                        struct envelope *ret_envelope, struct yett_error *error)
{
	int r = envelope_read(frame->bytes, frame->length, frame->fd_count, ret_envelope, error);

	if (r == 0 && ret_envelope->kind != MESSAGE_CREATE)
		r = error_set(error, YETT_E_PROTOCOL, YETT_R_KIND, "%s",
		              error_reason_text(YETT_R_KIND));
	if (r == 0)
		r = message_decode(ret_envelope->kind,
		                   frame->bytes + envelope_size(ret_envelope->kind),
		                   ret_envelope->body_length, message, error);
	return r;
}

static int explain_explain_answer(const struct options *options, struct explain *explain,
                                  const struct frame *frame, const struct envelope *envelope,
                                  struct explain_answer *into, struct yett_error *error)
{
	const struct message *request = explain->verified.request;
	int r;

	if (options->what == OF_POLICY) {
		r = check_devices(explain->policy, error);
		if (r == 0)
			explain_policy(explain, into);
		return r;
	}
	if (options->what == OF_ORIGIN) {
		explain_origin(explain, into);
		return 0;
	}
	r = who_find_key(explain, options->key, envelope->key, error);
	explain->verified.is_agents = options->is_agents;
	explain->verified.request = request;
	explain->verified.fd_count = frame->fd_count;
	if (r != 0)
		return r;
	if (options->what == OF_EFFECTIVE) {
		explain_effective(explain, into);
		return 0;
	}
	return options->what == OF_PROFILES ? explain_profiles(explain, into, error)
	                                    : explain_request(explain, frame->fds, into, error);
}

/* Sends the text, a NUL, and the JSON: the same form as a plan. */
static int explain_send_answer(uint64_t sequence, const char *text, size_t text_length,
                               const char *json, size_t json_length)
{
	static struct message message;
	_cleanup_free_ char *both = malloc(text_length + 1 + json_length);
	int fd, r;

	if (!both)
		return -ENOMEM;
	memcpy(both, text, text_length + 1);
	memcpy(both + text_length + 1, json, json_length);
	fd = fd_new_sealed("yett-explain", both, text_length + 1 + json_length);
	if (fd < 0)
		return fd;
	(void)message_begin(&message, MESSAGE_PLAN);
	r = frame_send_message(SOCKET, &message, sequence, &fd, 1, 0);
	fd_close(fd);
	return r;
}

/* Handles a request. Returns a negative value if no answer can be sent. */
static int explain_handle(const struct options *options, struct explain *explain,
                          const struct frame *frame)
{
	static struct message message;
	_cleanup_free_ char *text = NULL, *json = NULL;
	size_t text_length, json_length;
	struct explain_answer into = {open_memstream(&text, &text_length),
	                              open_memstream(&json, &json_length)};
	struct envelope envelope = {0};
	struct yett_error error = {0};
	bool is_whole;
	int r = into.text && into.json ? read_request(frame, &message, &envelope, &error) : -ENOMEM;

	explain->verified.request = &message;
	if (r == 0)
		r = explain_explain_answer(options, explain, frame, &envelope, &into, &error);
	is_whole = into.text && fclose(into.text) == 0;
	is_whole = into.json && fclose(into.json) == 0 && is_whole;
	if (r == 0)
		return is_whole ? explain_send_answer(envelope.sequence, text, text_length, json,
		                                      json_length)
		                : -ENOMEM;
	if (r < 0)
		(void)error_set(&error, YETT_E_INIT_FAILED, 0, "the policy cannot be explained: %s",
		                strerror(-r));
	return frame_send_error(SOCKET, &error, envelope.sequence, 0);
}

static int explain_hello(void)
{
	static struct message message;
	struct message_hello *hello = &message_begin(&message, MESSAGE_HELLO)->hello;

	hello->version_min = hello->version_max = ENVELOPE_VERSION;
	randombytes_buf(hello->challenge, sizeof hello->challenge);
	return frame_send_message(SOCKET, &message, 0, NULL, 0, 0);
}

int main(int argc, char **argv)
{
	static struct frame frame;
	static struct peer peer;
	_cleanup_(policy_freep) struct policy *policy = NULL;
	struct explain explain = {.peer = &peer};
	struct options options = {0};
	struct yett_error error = {0};
	int r;

	if (explain_parse_options(argc, argv, &options) < 0) {
		(void)fprintf(stderr,
		              "yett-explain is executed by yett: yett policy, yett profiles\n");
		return 2;
	}
	(void)signal(SIGCHLD, SIG_DFL);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	log_set_level(LOG_LEVEL_ERROR);
	r = sodium_init() < 0 ? error_set(&error, YETT_E_UNSUPPORTED, 0, "libsodium cannot be used")
	                      : explain_load(&options, &policy, &explain.path, &error);
	if (r == 0)
		r = who_find(options.user, options.groups, &peer, &error);
	if (r == 0 && options.at && date_parse(options.at, &peer.now) < 0)
		r = error_set(&error, YETT_E_INVALID_REQUEST, 0,
		              "%s is not a date such as 2026-12-31 or 2026-12-31T18:00:00Z",
		              ESCAPE(options.at));
	explain.policy = policy;
	if (r == 0)
		share_find_protected(policy, &explain.protected_paths);
	explain.is_own_key = options.is_own_key;
	if (r != 0)
		return frame_send_error(SOCKET, &error, 0, 0) < 0 ? 2 : 1;
	for (r = explain_hello(); r == 0;) {
		if (frame_receive(SOCKET, &frame, 0) <= 0)
			break;
		r = explain_handle(&options, &explain, &frame);
		frame_close_fds(&frame);
	}
	return r == 0 ? 0 : 2;
}
