/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. Reads accounts and keys with the privilege of the caller. */
#include "base/escape.h"
#include "base/units_parse.h"
#include "helper/monitor/keys.h"
#include "programs/decide/decider/key_text.h"
#include "programs/decide/explain/explain.h"
#include "programs/decide/reader/own_keys.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sodium.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void who_copy(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : "");
}

/*
 * Finds the groups of the account, which are those that the kernel would report for a client, not
 * the groups of this process.
 */
static int find_groups(const struct passwd *account, struct peer *peer, struct yett_error *error)
{
	int count = PLAN_GROUPS_MAX;

	if (getgrouplist(account->pw_name, account->pw_gid, peer->groups, &count) < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "%s is in more groups than %d",
		                 ESCAPE(account->pw_name), PLAN_GROUPS_MAX);
	peer->groups_count = (size_t)count;
	return 0;
}

static int find_own_groups(struct peer *peer, struct yett_error *error)
{
	int count = getgroups(PLAN_GROUPS_MAX, peer->groups);

	if (count < 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "your groups cannot be read: %s",
		                 strerror(errno));
	peer->groups_count = (size_t)count;
	return 0;
}

/* Sets the groups that were named, instead of the account's. */
static int name_groups(const char *groups, struct peer *peer, struct yett_error *error)
{
	_cleanup_free_ char *names = strdup(groups);
	char *rest = names, *name;

	if (!names)
		return -ENOMEM;
	peer->groups_count = 0;
	while ((name = strsep(&rest, ","))) {
		const struct group *group;
		uint64_t number;
		bool is_number = units_parse_number(name, &number) == 0 && number < UINT32_MAX;

		group = is_number ? NULL : getgrnam(name);
		if (!is_number && !group)
			return error_set(error, YETT_E_NOT_FOUND, 0,
			                 "%s is not a group of this host", ESCAPE(name));
		if (peer->groups_count == PLAN_GROUPS_MAX)
			return error_set(error, YETT_E_UNSUPPORTED, 0,
			                 "these are more groups than %d", PLAN_GROUPS_MAX);
		peer->groups[peer->groups_count++] = group ? group->gr_gid : (gid_t)number;
	}
	peer->gid = peer->groups[0];
	return 0;
}

int who_find(const char *user, const char *groups, struct peer *ret_peer, struct yett_error *error)
{
	struct peer peer = {
		.pid = getpid(), .uid = getuid(), .gid = getgid(), .now = (uint64_t)time(NULL)};
	const struct passwd *account;
	const struct group *group;
	uint64_t number;
	/* (uid_t)-1 is never the uid of an account. */
	bool is_number = user && units_parse_number(user, &number) == 0 && number < UINT32_MAX;
	int r = 0;

	account = !user ? getpwuid(peer.uid) : is_number ? getpwuid((uid_t)number) : getpwnam(user);
	if (!user) {
		r = find_own_groups(&peer, error);
	} else if (account) {
		peer.uid = account->pw_uid;
		peer.gid = account->pw_gid;
		r = find_groups(account, &peer, error);
	} else if (is_number) {
		peer.uid = (uid_t)number;
		peer.gid = WHO_NO_GROUP;
	} else {
		r = error_set(error, YETT_E_NOT_FOUND, 0, "%s is not a user of this host",
		              ESCAPE(user));
	}
	if (r == 0 && groups)
		r = name_groups(groups, &peer, error);
	if (r != 0)
		return r;
	who_copy(peer.names.user, sizeof peer.names.user, account ? account->pw_name : NULL);
	who_copy(peer.names.home, sizeof peer.names.home, account ? account->pw_dir : "/");
	who_copy(peer.names.shell, sizeof peer.names.shell, account ? account->pw_shell : NULL);
	group = getgrgid(peer.gid);
	who_copy(peer.names.group, sizeof peer.names.group, group ? group->gr_name : NULL);
	*ret_peer = peer;
	return 0;
}

/* Reads the key from a file whose text begins with "ed25519 BASE64". */
static int who_read_key(const char *path, uint8_t ret_key[static ENVELOPE_KEY_SIZE],
                        struct yett_error *error)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[256] = "";
	size_t length = 0;
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

	if (n < 0)
		return error_set(error, YETT_E_NOT_FOUND, 0, "the key %s cannot be read: %s",
		                 ESCAPE(path), strerror(errno));
	line[n] = '\0';
	if (strncmp(line, "ed25519 ", 8) == 0 &&
	    sodium_base642bin(ret_key, ENVELOPE_KEY_SIZE, line + 8, strcspn(line + 8, " \n"), NULL,
	                      &length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    length == ENVELOPE_KEY_SIZE)
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, 0, "%s holds no public key (\"ed25519 …\")",
	                 ESCAPE(path));
}

/*
 * Finds the name under which the helper would know a key, as explain_who_find_key() in
 * helper/monitor/monitor.c does.
 */
static int explain_who_find_key(struct explain *explain,
                                const uint8_t key[static ENVELOPE_KEY_SIZE],
                                struct yett_error *error)
{
	struct verified *verified = &explain->verified;
	const struct peer *peer = verified->peer;
	char line[KEY_LINE_LENGTH + 1];
	/* not used here: true if the user has no key yet, and the first run makes one */
	bool is_first;
	int r;

	key_text(key, line);
	r = keys_find(explain->policy, line, verified->principal, error);
	if (r >= 0)
		return r;
	verified->principal[0] = '\0';
	verified->key_source = KEY_OF_USER;
	if (!authorize_user_keys(explain->policy, peer))
		return authorize_manager(explain->policy, verified, error);
	r = own_keys_find(peer->names.home, peer->uid, line, &is_first, error);
	/* Another user's directory may be closed to this process, but not to the helper. */
	return r != 0 && error->os_error == EACCES && peer->uid != geteuid() ? 0 : r;
}

int who_find_key(struct explain *explain, const char *key,
                 const uint8_t signer[static ENVELOPE_KEY_SIZE], struct yett_error *error)
{
	uint8_t named[ENVELOPE_KEY_SIZE];
	int r;

	explain->verified = (struct verified){.peer = explain->peer, .key_source = KEY_ENROLLED};
	if (key && strchr(key, '/')) {
		r = who_read_key(key, named, error);
		return r ? r : explain_who_find_key(explain, named, error);
	}
	if (key) {
		who_copy(explain->verified.principal, sizeof explain->verified.principal, key);
		return 0;
	}
	if (explain->peer->uid == getuid() && !explain->is_own_key)
		return explain_who_find_key(explain, signer, error);
	explain->verified.key_source = KEY_OF_USER;
	return 0;
}
