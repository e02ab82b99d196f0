/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc: see build.h. The profile chooses either the host's /etc, as it is now, or a list of entries
 * of it on a tmpfs of the sandbox.
 *
 * In both cases a few files are the sandbox's own, so that they reveal neither the host's network
 * nor other users. init reads the host's files without any privilege over them, through mounts in
 * which no id has more access than everybody.
 */
#include "base/beneath.h"
#include "base/kernel.h"
#include "programs/net/egress.h"
#include "programs/inside/init/build/build.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define ATTEMPTS_MAX 16
/* Size of the tmpfs of a small /etc. The tmpfs holds configuration files, in memory. */
#define SMALL_SIZE (16 << 20)

bool etc_is_hosts(const struct build *b)
{
	for (const char *name = NULL; (name = derive_next_name(b->profile, name));)
		if (strcmp(name, "*") == 0)
			return true;
	return false;
}

/* --- accounts --- */

struct accounts {
	FILE *out;
	bool is_group;
	const char *name; /* name of the caller, or of its group */
	/*
	 * `id` is that of `name`; `tty` that of the group "tty", which is listed already (0: none).
	 */
	uint32_t id, tty;
};

/*
 * Adds the line of an account that belongs to the host's system. passwd(5), group(5):
 * NAME:PASSWORD:ID:… Members of groups are left out.
 */
static void etc_add_line(const struct accounts *accounts, uint32_t people, char *line)
{
	char *password = strchr(line, ':'), *id = password ? strchr(password + 1, ':') : NULL,
	     *rest;
	unsigned long number = id ? strtoul(id + 1, &rest, 10) : 0;

	if (number == 0 || number >= people || *rest != ':' || number == accounts->id ||
	    number == accounts->tty)
		return;
	*password = '\0';
	if (strcmp(line, accounts->name) == 0)
		return;
	if (accounts->is_group)
		rest[1] = '\0';
	(void)fputs(line, accounts->out);
	(void)fputs(":x", accounts->out);
	(void)fputs(id, accounts->out);
	(void)fputc('\n', accounts->out);
}

/*
 * Reads the complete lines at the beginning of a host file, where the system accounts are listed.
 * Returns an empty text if the file cannot be read.
 */
static char *read_lines(const struct build *b, const char *path)
{
	char *text, *end;
	ssize_t n = build_read_file(b, b->root, path, &text);

	end = n == sizeof b->room.frame->bytes - 1 ? strrchr(text, '\n') : NULL;
	if (end)
		*end = '\0';
	return text;
}

/*
 * Parses a word and its value. Comparing the word first matters: login.defs(5) has hundreds of
 * lines, and sscanf() on each would cost more than ten mounts.
 */
static bool is_setting(const char *line, const char *word, unsigned *ret_value)
{
	const size_t length = strlen(word);

	line += strspn(line, " \t");
	return strncmp(line, word, length) == 0 && strspn(line + length, " \t") > 0 &&
	       sscanf(line + length, "%u", ret_value) == 1;
}

/*
 * Adds the host's accounts whose ids are below those of people, from files that everybody may read.
 */
static void add_system(const struct build *b, const struct accounts *accounts)
{
	char *save = NULL;
	unsigned value;
	uint32_t people = 1000;

	for (char *line = strtok_r(read_lines(b, "etc/login.defs"), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (is_setting(line, accounts->is_group ? "GID_MIN" : "UID_MIN", &value))
			people = value;
	for (char *line = strtok_r(read_lines(b, accounts->is_group ? "etc/group" : "etc/passwd"),
	                           "\n", &save);
	     line; line = strtok_r(NULL, "\n", &save))
		etc_add_line(accounts, people, line);
}

static void list_users(const struct build *b, FILE *out)
{
	const struct plan *plan = b->plan;
	const struct accounts users = {
		.out = out, .name = plan_text(plan, plan->user_name), .id = b->order.payload_uid};

	if (users.id != 0)
		(void)fprintf(out, "root:x:0:0:root:/root:/bin/sh\n");
	(void)fprintf(out, "%s:x:%" PRIu32 ":%" PRIu32 "::%s:%s\n", users.name, users.id,
	              b->order.payload_gid, plan_text(plan, plan->home),
	              plan_text(plan, plan->shell));
	(void)fprintf(out, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
	if (etc_is_hosts(b))
		add_system(b, &users);
}

static void list_groups(const struct build *b, FILE *out)
{
	const struct accounts groups = {.out = out,
	                                .is_group = true,
	                                .name = plan_text(b->plan, b->plan->group_name),
	                                .id = b->order.payload_gid,
	                                .tty = 5};

	if (groups.id != 0)
		(void)fprintf(out, "root:x:0:\n");
	(void)fprintf(out, "%s:x:%" PRIu32 ":\ntty:x:5:\nnogroup:x:65534:\n", groups.name,
	              groups.id);
	if (etc_is_hosts(b))
		add_system(b, &groups);
}

static const char *hostname_of(const struct build *b)
{
	for (uint32_t i = 0; i < b->plan->steps_count; i++)
		if (b->plan->steps[i].kind == PLAN_HOSTNAME)
			return plan_text(b->plan, b->plan->steps[i].source);
	return "";
}

/* hosts(5). A sandbox named mine.example is also reachable as "mine". */
static void list_hosts(const struct build *b, FILE *out)
{
	const char *name = hostname_of(b);
	int first = (int)strcspn(name, ".");

	(void)fprintf(
		out,
		"127.0.0.1\tlocalhost\n127.0.1.1\t%s%s%.*s\n::1\tlocalhost ip6-localhost ip6-loopback\n",
		name, name[first] ? " " : "", name[first] ? first : 0, name);
}

static void list_hostname(const struct build *b, FILE *out)
{
	(void)fprintf(out, "%s\n", hostname_of(b));
}

static void list_services(const struct build *b, FILE *out)
{
	(void)b;
	(void)fprintf(
		out,
		"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n");
}

static void list_resolvers(const struct build *b, FILE *out)
{
	if (b->plan->network == PLAN_NETWORK_NONE)
		(void)fprintf(out, "# no network\n");
	else if (b->plan->network == PLAN_NETWORK_HOST)
		(void)fputs(b->order.resolvers, out);
	else
		(void)fprintf(out, "nameserver " EGRESS_SERVER_V4 "\noptions edns0\n");
}

static void list_nothing(const struct build *b, FILE *out)
{
	(void)b, (void)out;
}

static const struct own {
	const char *name;
	void (*list)(const struct build *b, FILE *out);
	/* depends on the request, so it is not known in a pre-started sandbox */
	bool is_of_request;
} own[] = {
	{"passwd", list_users, false},
	{"group", list_groups, false},
	{"hosts", list_hosts, true},
	{"hostname", list_hostname, true},
	{"nsswitch.conf", list_services, false},
	{"resolv.conf", list_resolvers, true},
	{"mtab", list_nothing, false},
	/* these files list other users as well */
	{"passwd-", list_nothing, false},
	{"group-", list_nothing, false},
	{"subuid", list_nothing, false},
	{"subgid", list_nothing, false},
	{"subuid-", list_nothing, false},
	{"subgid-", list_nothing, false},
};

#define OWN_PLACE "/run/yett/"

/* The path at which commands see the file. All empty files are one file. */
static void own_path(const struct own *file, char path[static 64])
{
	(void)snprintf(path, 64, OWN_PLACE "%s",
	               file->list == list_nothing ? "nothing" : file->name);
}

static int list_own(const struct build *b, const struct own *file, int fd)
{
	const char *at;
	long size;

	rewind(b->text.out);
	file->list(b, b->text.out);
	if (fflush(b->text.out) != 0 || (size = ftell(b->text.out)) < 0)
		return -ENOMEM;
	for (at = b->text.bytes; size > 0;) {
		ssize_t n = write(fd, at, (size_t)size);

		if (n < 0)
			return -errno;
		at += n;
		size -= n;
	}
	return 0;
}

/*
 * Writes a file of the sandbox's own, unless it exists already. Where the file is mounted, the
 * mount shows the new contents too.
 */
static int etc_write_own(const struct build *b, const struct own *file)
{
	_cleanup_fd_ int fd = -1;
	char path[64];

	if (b->has_own_etc && !file->is_of_request)
		return 0;
	own_path(file, path);
	fd = openat(b->own, path + strlen(OWN_PLACE),
	            O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
	                    (file->is_of_request ? O_TRUNC : O_EXCL),
	            0644);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return list_own(b, file, fd);
}

/* --- files in the host's /etc --- */

/*
 * If the host's file is a symbolic link whose target does not exist inside, makes the target: a
 * symbolic link to the sandbox's own file at `own_path`. Does nothing if the target would not be on
 * the sandbox's own root.
 */
static int fill_link(const struct build *b, const char *name, const char *own_path)
{
	char link[PATH_MAX], path[PATH_MAX + 8], *slash;
	struct stat st;
	ssize_t n = readlinkat(b->root, name, link, sizeof link - 1);

	if (n < 0)
		return 0;
	link[n] = '\0';
	/*
	 * Following symbolic links in this path is safe: init's root directory is the sandbox's, so
	 * that no link leads out of it, and what is mounted at this stage is the sandbox's own or
	 * read-only.
	 */
	(void)snprintf(path, sizeof path, "%s%s", link[0] == '/' ? "" : "/etc/", link);
	slash = strrchr(path, '/');
	*slash = '\0';
	if (*path && root_make_path(b, path) < 0)
		return 0;
	if (stat(*path ? path : "/", &st) < 0 || st.st_dev != b->root_device)
		return 0;
	*slash = '/';
	return symlink(own_path, path) < 0 ? -errno : 0;
}

/*
 * Whether the host's file is not covered: in the host's network the host's own resolv.conf is
 * right. The sandbox's own resolv.conf is used there only if the host's is a link whose target does
 * not exist inside.
 */
static bool is_left(const struct build *b, const struct own *file)
{
	return file->list == list_resolvers && b->plan->network == PLAN_NETWORK_HOST;
}

/*
 * Whether the host's file is still uncovered: it is neither one of the sandbox's own files, nor on
 * the sandbox's own root, nor on the file system `proc`, to which /etc/mtab may be a link.
 */
static bool is_bare(const struct build *b, const struct stat *st, dev_t proc)
{
	return S_ISREG(st->st_mode) && st->st_dev != b->root_device &&
	       st->st_dev != b->own_device && st->st_dev != proc;
}

/*
 * Mounts a file of the sandbox's own over the host's, after following symbolic links, unless it is
 * mounted already. If the host has no such file, nothing is mounted.
 */
static int etc_cover(const struct build *b, const struct own *file, dev_t proc)
{
	_cleanup_fd_ int there = -1, tree = -1;
	char name[64], path[64];
	struct stat st;

	(void)snprintf(name, sizeof name, "etc/%s", file->name);
	own_path(file, path);
	/* still covered as etc_prepare() left it */
	if (b->has_own_etc && fstatat(b->root, name, &st, 0) == 0 && !is_bare(b, &st, proc))
		return 0;
	there = openat(b->root, name, O_PATH | O_CLOEXEC);
	if (there < 0)
		return errno == ENOENT ? fill_link(b, name, path)
		       : errno == ELOOP || errno == ENOTDIR || errno == EACCES ? 0
		                                                               : -errno;
	if (fstat(there, &st) < 0)
		return -errno;
	if (is_left(b, file) || !is_bare(b, &st, proc))
		return 0;
	/* The clone is read-only, like the mount from which it is cloned. */
	tree = open_tree(b->root, path + 1, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    move_mount(tree, "", there, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* --- a small /etc --- */

/* Opens an entry of the template's /etc, which is below the sandbox's root. */
static int open_listed(const struct build *b, const char *name, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC | O_NOFOLLOW,
	                       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "etc/%s", name);
	return beneath_open(b->beneath, path, &how);
}

/*
 * Copies a single file, so that no other sandbox shares its locks and watches. Skips files that are
 * not world-readable.
 */
static int etc_copy_file(const struct build *b, const char *name, int etc)
{
	_cleanup_fd_ int in = open_listed(b, name, O_RDONLY | O_NONBLOCK), out = -1;
	char bytes[16384];
	struct stat st;
	ssize_t n;

	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return 0;
	out = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	             0644 | (st.st_mode & 0111));
	if (out < 0)
		return -errno;
	while ((n = read(in, bytes, sizeof bytes)) > 0)
		/* A short write means that the tmpfs is full. */
		if (write(out, bytes, (size_t)n) != n)
			return -ENOSPC;
	return n < 0 ? -errno : 0;
}

static int bind_directory(struct build *b, const char *name, int there, int etc)
{
	_cleanup_fd_ int tree = open_tree(
		there, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	char path[PATH_MAX];
	int r = tree < 0 ? -errno : root_make_directory(etc, name);

	(void)snprintf(path, sizeof path, "/etc/%s", name);
	if (r == 0 && b->plan->overlay_ro) {
		r = lower_be_command(b);
		if (r == 0)
			r = overlay_make(b, path, &tree);
		lower_be_owner(b);
	}
	return r == 0 && move_mount(tree, "", etc, name, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : r;
}

static int show_listed(struct build *b, const char *name, int etc)
{
	_cleanup_fd_ int there = open_listed(b, name, O_PATH);
	char link[PATH_MAX], parent[PATH_MAX];
	struct stat st;
	ssize_t n;
	int r = 0;

	/* The host has no such entry, or one of ours exists already. */
	if (there < 0 || fstat(there, &st) < 0 ||
	    faccessat(etc, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	for (const char *slash = strchr(name, '/'); r == 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		(void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - name), name);
		r = root_make_directory(etc, parent);
	}
	if (r < 0 || S_ISREG(st.st_mode))
		return r < 0 ? r : etc_copy_file(b, name, etc);
	if (S_ISDIR(st.st_mode))
		return bind_directory(b, name, there, etc);
	n = S_ISLNK(st.st_mode) ? readlinkat(there, "", link, sizeof link - 1) : -1;
	/* Skip sockets, FIFOs and devices, which could connect to processes outside. */
	if (n < 0)
		return 0;
	link[n] = '\0';
	return symlinkat(link, etc, name) < 0 ? -errno : 0;
}

static int make_small(struct build *b)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
	_cleanup_fd_ int etc = root_open_tmpfs(b, SMALL_SIZE);
	int r = etc < 0 ? etc : root_make_path(b, "/etc");
	char path[64];

	if (r == 0 && move_mount(etc, "", b->root, "etc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++) {
		(void)snprintf(path, sizeof path, OWN_PLACE "%s", own[i].name);
		if (own[i].list != list_nothing && symlinkat(path, etc, own[i].name) < 0)
			r = -errno;
	}
	if (r == 0 && symlinkat("/proc/self/mounts", etc, "mtab") < 0)
		r = -errno;
	for (const char *name = NULL; r == 0 && (name = derive_next_name(b->profile, name));)
		r = show_listed(b, name, etc);
	return r == 0 && mount_setattr(etc, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0
	               ? -errno
	               : r;
}

static int cover_all(const struct build *b)
{
	bool is_hosts = etc_is_hosts(b);
	int r = 0, covered = 0;
	struct stat proc;

	if (fstat(b->proc, &proc) < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++) {
		if (is_hosts || own[i].list != list_nothing)
			r = etc_write_own(b, &own[i]);
		/* -ENOENT: the host's file was replaced in between. */
		for (int attempt = 0; r == 0 && is_hosts && (attempt == 0 || covered == -ENOENT) &&
		                      attempt < ATTEMPTS_MAX;
		     attempt++)
			covered = etc_cover(b, &own[i], proc.st_dev);
		r = r == 0 ? covered : r;
	}
	return r;
}

int etc_prepare(struct build *b, const struct plan_step *step)
{
	int r;

	(void)step;
	/* Otherwise etc_make() does this next. */
	if (b->order.kind != INIT_ORDER_READY || !etc_is_hosts(b))
		return 0;
	r = cover_all(b);
	b->has_own_etc = r == 0;
	return r;
}

int etc_make(struct build *b, const struct plan_step *step)
{
	int r = etc_is_hosts(b) ? 0 : make_small(b);

	(void)step;
	return r == 0 ? cover_all(b) : r;
}
