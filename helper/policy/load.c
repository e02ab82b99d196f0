/*
 * Reading the policy's files, and building one policy from their sections. Declared in policy.h.
 *
 * Runs with the privilege of its caller (root), before any client is served. It opens only files that `owner` alone
 * can have written, never by a link in the last component, and reads what it opened. It must not read anything of a
 * client.
 */
#include "helper/policy/policy.h"
#include "base/escape.h"
#include "helper/policy/check.h"
#include "helper/policy/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (1u << 20)
#define FILES_MAX     256

/* dist/yett.conf, embedded by the build. */
extern const char policy_builtin_text[];

/* What is being loaded: the sections of all files live until the policy has been made of them. */
struct loading {
	struct policy *policy;
	uid_t owner;
	cfg_t *root;
	struct yett_error *error;
};

static void loading_clear(struct loading *loading)
{
	if (loading->root)
		(void)cfg_free(loading->root);
	policy_free(loading->policy);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->profiles_count; i++) {
		settings_clear(SETTINGS_PROFILE, &policy->profiles[i]);
		free(policy->profiles[i].name);
	}
	for (size_t i = 0; i < policy->grants_count; i++) {
		settings_clear(SETTINGS_GRANT, &policy->grants[i]);
		free(policy->grants[i].name);
		free(policy->grants[i].uids);
		free(policy->grants[i].gids);
	}
	settings_clear(SETTINGS_HELPER, policy);
	for (size_t i = 0; i < policy->files_count; i++)
		free(policy->files[i]);
	free(policy->files);
	free(policy->profiles);
	free(policy->grants);
	free(policy);
}

/* What stands where no key is written. */
static int loading_start(struct loading *loading)
{
	struct policy *policy = loading->policy = calloc(1, sizeof *policy);

	loading->root = parse_new();
	if (!policy || !loading->root)
		return -ENOMEM;
	policy->runtime_dir = strdup("/run/yett");
	policy->keys_dir = strdup("/etc/yett/keys.d");
	policy->cgroup = strdup("/yett");
	policy->files = calloc(FILES_MAX, sizeof *policy->files);
	policy->ids_first = 1879048192; /* 0x70000000: above what systemd hands out, below 2^31 */
	policy->ids_ranges = 4096;
	policy->spares = 2;
	policy->generation = 0xcbf29ce484222325; /* the start of FNV-1a */
	return policy->runtime_dir && policy->keys_dir && policy->cgroup && policy->files ? 0 : -ENOMEM;
}

static int profile_defaults(struct policy_profile *profile)
{
	profile->tmp_size_bytes = 256u << 20;
	profile->private_home = true;
	profile->limits.cpu_weight = 100;
	profile->umask = 022;
	profile->shares = true;
	profile->hostname = strdup("sandbox");
	return profile->hostname ? 0 : -ENOMEM;
}

/* Takes a text that was read under the name `file`. `text` is changed. */
static int load_text(struct loading *loading, const char *file, char *text, size_t length)
{
	struct policy *policy = loading->policy;
	char *name = strdup(file);

	if (!name)
		return -ENOMEM;
	policy->files[policy->files_count++] = name;
	for (size_t i = 0; i < length; i++)
		policy->generation = (policy->generation ^ (unsigned char)text[i]) * 0x100000001b3;
	return parse_text(loading->root, name, text, length, loading->error);
}

/* Whether only `owner` can have put there what `fd` is. */
static int check_owner(const struct loading *loading, int fd, mode_t type, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type)
		return error_set(loading->error, YETT_E_SECURITY_VIOLATION, 0, "%s is not a %s", ESCAPE(name),
		                 type == S_IFDIR ? "directory" : "regular file");
	if (st.st_uid != loading->owner)
		return error_set(loading->error, YETT_E_SECURITY_VIOLATION, 0, "%s belongs to uid %u, not to uid %u",
		                 ESCAPE(name), st.st_uid, loading->owner);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(loading->error, YETT_E_SECURITY_VIOLATION, 0,
		                 "%s can be written by others (mode %04o)", ESCAPE(name), st.st_mode & 07777);
	return 0;
}

static int load_errno(const struct loading *loading, const char *name)
{
	int r = -errno;

	(void)error_set(loading->error, YETT_E_INVALID_REQUEST, 0, "%s cannot be read: %s", ESCAPE(name), strerror(-r));
	return r;
}

/* `name` is opened in the directory; `file` is its whole path. */
static int load_file(struct loading *loading, int dir, const char *name, const char *file)
{
	/* O_NONBLOCK: a FIFO is refused below, not waited for. */
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = malloc(FILE_SIZE_MAX + 1);
	size_t length = 0;
	ssize_t n = 1;
	int r;

	if (fd < 0)
		return load_errno(loading, file);
	r = text ? check_owner(loading, fd, S_IFREG, file) : -ENOMEM;
	if (r)
		return r;
	while (n > 0 && length <= FILE_SIZE_MAX) {
		n = read(fd, text + length, FILE_SIZE_MAX + 1 - length);
		length += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return load_errno(loading, file);
	if (length > FILE_SIZE_MAX)
		return error_set(loading->error, YETT_E_INVALID_REQUEST, 0, "%s is larger than 1 MiB", ESCAPE(file));
	return load_text(loading, file, text, length);
}

static int is_fragment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* by bytes, whatever the locale */
}

static int load_fragments(struct loading *loading, int parent, const char *path)
{
	_cleanup_fd_ int dir = openat(parent, "conf.d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **entries = NULL;
	int count, r;

	if (dir < 0)
		return errno == ENOENT ? 0 : load_errno(loading, path);
	r = check_owner(loading, dir, S_IFDIR, path);
	if (r)
		return r;
	count = scandirat(dir, ".", &entries, is_fragment, compare_names);
	if (count < 0)
		return load_errno(loading, path);
	if (count >= FILES_MAX)
		r = error_set(loading->error, YETT_E_INVALID_REQUEST, 0, "%s holds too many files", ESCAPE(path));
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *file = NULL;

		if (r == 0)
			r = asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0 ? -ENOMEM : 0;
		if (r == 0)
			r = load_file(loading, dir, entries[i]->d_name, file);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load_files(struct loading *loading, const char *path, bool with_fragments)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	_cleanup_free_ char *fragments = NULL;
	_cleanup_fd_ int dir = -1;
	int r;

	if (!parent || asprintf(&fragments, "%s/conf.d", parent) < 0)
		return -ENOMEM;
	dir = open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return load_errno(loading, parent);
	r = check_owner(loading, dir, S_IFDIR, parent);
	if (r == 0)
		r = load_file(loading, dir, slash ? slash + 1 : path, path);
	return r == 0 && with_fragments ? load_fragments(loading, dir, fragments) : r;
}

/* Fills a profile from the one it extends, that one's own, and so on: the eldest first. */
static int fill_profile(struct loading *loading, cfg_opt_t *sections, size_t index)
{
	struct policy *policy = loading->policy;
	_cleanup_free_ cfg_t **line = calloc(policy->profiles_count, sizeof *line);
	const struct parse_value *extends;
	size_t length = 0;
	int r = line ? profile_defaults(&policy->profiles[index]) : -ENOMEM;

	if (r < 0)
		return r;
	for (line[length++] = cfg_opt_getnsec(sections, (unsigned)index);
	     (extends = parse_value(line[length - 1], "extends", 0)); length++) {
		cfg_t *base = cfg_opt_gettsec(sections, extends->text);

		if (!base || length == policy->profiles_count)
			return policy_refuse(extends->place, extends->text,
			                     base ? "extends itself in the end" : "is not a profile", loading->error);
		line[length] = base;
	}
	while (r == 0 && length > 0)
		r = settings_fill(SETTINGS_PROFILE, line[--length], &policy->profiles[index], loading->error);
	return r;
}

/* A copy of a section's name. */
static int take_name(const struct loading *loading, cfg_t *section, char **ret_name)
{
	const char *problem = settings_check_name(cfg_title(section));

	if (problem)
		return policy_refuse(parse_place(section), cfg_title(section), problem, loading->error);
	*ret_name = strdup(cfg_title(section));
	return *ret_name ? 0 : -ENOMEM;
}

static int load_profiles(struct loading *loading, cfg_opt_t *sections)
{
	struct policy *policy = loading->policy;
	int r = 0;

	policy->profiles = calloc(cfg_opt_size(sections) + 1, sizeof *policy->profiles);
	if (!policy->profiles)
		return -ENOMEM;
	policy->profiles_count = cfg_opt_size(sections);
	for (unsigned i = 0; r == 0 && i < policy->profiles_count; i++) {
		policy->profiles[i].place = parse_place(cfg_opt_getnsec(sections, i));
		r = take_name(loading, cfg_opt_getnsec(sections, i), &policy->profiles[i].name);
		if (r == 0)
			r = fill_profile(loading, sections, i);
	}
	return r;
}

static int load_grants(struct loading *loading, cfg_opt_t *sections)
{
	struct policy *policy = loading->policy;
	int r = 0;

	policy->grants = calloc(cfg_opt_size(sections) + 1, sizeof *policy->grants);
	if (!policy->grants)
		return -ENOMEM;
	policy->grants_count = cfg_opt_size(sections);
	for (unsigned i = 0; r == 0 && i < policy->grants_count; i++) {
		policy->grants[i].place = parse_place(cfg_opt_getnsec(sections, i));
		r = take_name(loading, cfg_opt_getnsec(sections, i), &policy->grants[i].name);
		if (r == 0)
			r = settings_fill(SETTINGS_GRANT, cfg_opt_getnsec(sections, i), &policy->grants[i],
			                  loading->error);
	}
	return r;
}

static int load_build(struct loading *loading, struct policy **ret_policy)
{
	cfg_t *root = loading->root;
	int r = settings_fill(SETTINGS_HELPER, cfg_getsec(root, "helper"), loading->policy, loading->error);

	if (r == 0)
		r = load_profiles(loading, cfg_getopt(root, "profile"));
	if (r == 0)
		r = load_grants(loading, cfg_getopt(root, "grant"));
	if (r == 0)
		r = check_policy(loading->policy, loading->owner, loading->error);
	if (r == 0)
		*ret_policy = steal_ptr(&loading->policy);
	return r;
}

int policy_load(const char *path, bool with_fragments, uid_t owner, struct policy **ret_policy,
                struct yett_error *error)
{
	_cleanup_(loading_clear) struct loading loading = {.owner = owner, .error = error};
	int r = loading_start(&loading);

	if (r == 0)
		r = load_files(&loading, path, with_fragments);
	return r ? r : load_build(&loading, ret_policy);
}

int policy_load_builtin(struct policy **ret_policy, struct yett_error *error)
{
	_cleanup_(loading_clear) struct loading loading = {.error = error};
	_cleanup_free_ char *text = strdup(policy_builtin_text);
	int r = text ? loading_start(&loading) : -ENOMEM;

	if (r == 0)
		r = load_text(&loading, "built-in", text, strlen(text));
	return r ? r : load_build(&loading, ret_policy);
}
