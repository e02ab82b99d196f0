/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See landlock.h. init and all commands share one domain; only a restricted command gets its own. A
 * domain for each command would keep it from signalling, tracing or inspecting what earlier
 * commands started, although the commands of a sandbox trust one another.
 *
 * There are no rules for TCP: Landlock knows ports but not addresses, so a rule that allows a port
 * on loopback allows it everywhere. The network namespace limits connections instead.
 *
 * Rights add up along a path. A read-only share in the writable private home is writable as far as
 * the domain is concerned, so landlock_check_mounts() checks that its mount is read-only.
 */
#include "programs/inside/init/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

/* Newer than Debian 12's headers; the values are the kernel's ABI. */
#define RIGHT_TRUNCATE  (UINT64_C(1) << 14)
#define RIGHT_IOCTL_DEV (UINT64_C(1) << 15)
/* connecting to a named socket that was created outside the domain */
#define RIGHT_RESOLVE_UNIX     (UINT64_C(1) << 16)
#define SCOPE_ABSTRACT_SOCKETS (UINT64_C(1) << 0)
#define SCOPE_SIGNALS          (UINT64_C(1) << 1)

/*
 * struct landlock_ruleset_attr of version 6. An older kernel accepts it as long as the members that
 * it does not know are 0.
 */
struct landlock_ruleset {
	uint64_t handled_files, handled_tcp, scoped;
};

/*
 * The rights that each version can handle. A right that is handled and not allowed by a rule is
 * denied. Without version 2 no file can be renamed or linked across directories, which would break
 * every sandbox; then no domain is made.
 */
static const struct {
	uint32_t abi;
	uint64_t files, scoped;
} landlock_versions[] = {
	{2, (LANDLOCK_ACCESS_FS_REFER << 1) - 1, 0},
	{3, RIGHT_TRUNCATE, 0},
	{5, RIGHT_IOCTL_DEV, 0},
	{6, 0, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS},
	/*
         * Allowed only for a socket that was shared as a socket. Other sockets in shares could
         * reach processes that listen outside the sandbox.
         */
	{9, RIGHT_RESOLVE_UNIX, 0},
};

/* Version 4 adds bind(2) and connect(2) of TCP on any port. */
#define TCP_ABI   4
#define TCP_ALL   UINT64_C(3)
#define SCOPE_ABI 6

/*
 * Version 7 only controls the kernel's audit log, and version 8 only adds restricting several
 * threads at once.
 */
#define LANDLOCK_ABI_KNOWN 9

#define READ \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)
#define MAKE                                                                                      \
	(LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                              \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                            \
	 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define CHANGE (LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)
/*
 * Without rights for device files: no process inside may create one, and none in a share may be
 * used.
 */
#define WRITE (READ | CHANGE | MAKE)
/* The rights that apply to a regular file; the others apply to directories only. */
#define OF_FILE                                                                                 \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | CHANGE | RIGHT_IOCTL_DEV | \
	 RIGHT_RESOLVE_UNIX)

/*
 * The rules for the paths that every sandbox has on its own root (init/build/root.c). Rights add up
 * from a path to the root, so "/" gets few.
 */
static const struct {
	const char *path;
	uint64_t rights;
} landlock_own[] = {
	{"/", LANDLOCK_ACCESS_FS_READ_DIR},
	{"/dev",
         LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE | RIGHT_IOCTL_DEV},
	/*
         * mq_open(3) opens queues through an internal kernel mount, whose root is the same
         * directory.
         */
	{"/dev/mqueue", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE},
	/*
         * For what is mounted there later. A rule on the mount itself would disappear with that
         * mount.
         */
	{"/mnt", WRITE},
	{"/proc", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE},
	{"/run", WRITE},
	{"/sys", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
	{"/tmp", WRITE},
	{"/var/tmp", WRITE},
};

/* The kernel rejects a rule without rights, so none is added then. */
static int landlock_add(int ruleset, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};

	return rights && syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
	                         0) < 0
	               ? -errno
	               : 0;
}

static int landlock_allow(int ruleset, uint64_t handled, int fd, uint64_t rights)
{
	int r = landlock_add(ruleset, fd, rights & handled);

	/* The file is not a directory, and directory rights are invalid for it. */
	return r == -EINVAL ? landlock_add(ruleset, fd, rights & handled & OF_FILE) : r;
}

/*
 * Calls openat(2), because musl's open(3) additionally sets FD_CLOEXEC for old kernels that ignored
 * O_CLOEXEC.
 */
static int landlock_open(const char *path)
{
	return openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
}

/* A path that does not exist (an optional share), or that no command can reach, needs no rule. */
static int landlock_allow_path(int ruleset, uint64_t handled, const char *path, uint64_t rights)
{
	_cleanup_fd_ int fd = landlock_open(path);

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	return landlock_allow(ruleset, handled, fd, rights);
}

/* Returns the paths of the configuration, each preceded by its enum init_path byte. */
static const char *landlock_paths(const struct init_config *config)
{
	const char *text = init_config_texts(config);

	for (uint32_t i = 0; i < config->env_count; i++)
		text += strlen(text) + 1;
	return text;
}

static int landlock_allow_paths(const struct init_config *config, int ruleset, uint64_t handled)
{
	const char *text = landlock_paths(config);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(landlock_own); i++)
		r = landlock_allow_path(ruleset, handled, landlock_own[i].path,
		                        landlock_own[i].rights);
	/*
	 * A command that is root inside, or has capabilities, may write anywhere on the sandbox's
	 * own root.
	 */
	if (r == 0 && (config->uid == 0 || config->capabilities != 0))
		r = landlock_allow_path(ruleset, handled, "/", WRITE);
	for (uint32_t i = 0; r == 0 && i < config->paths_count; i++, text += strlen(text) + 1)
		r = landlock_allow_path(ruleset, handled, text + 1,
		                        *text == INIT_PATH_WRITE    ? WRITE
		                        : *text == INIT_PATH_SOCKET ? RIGHT_RESOLVE_UNIX
		                                                    : READ);
	return r;
}

/*
 * Asks the kernel whether each path that must be read-only really is, whatever the steps that made
 * the mounts reported. Skips paths that do not exist or that no command can reach.
 */
static int landlock_look_at_mounts(const struct init_config *config, int ruleset, uint64_t handled)
{
	const char *text = landlock_paths(config);

	(void)ruleset, (void)handled;
	for (uint32_t i = 0; i < config->paths_count; i++, text += strlen(text) + 1) {
		struct statvfs mount = {.f_flag = ST_RDONLY};
		/* Uses a descriptor, because statvfs(2) with a path would trigger an automount. */
		bool is_open = *text == INIT_PATH_WRITE;
		_cleanup_fd_ int fd = is_open ? -1 : landlock_open(text + 1);

		if (!is_open &&
		    (fd < 0 ? errno != ENOENT && errno != EACCES : fstatvfs(fd, &mount) < 0))
			return -errno;
		if (!(mount.f_flag & ST_RDONLY))
			return -EPERM;
	}
	return 0;
}

/*
 * Opens the paths as a command would. init's own id can reach less, for example nothing below the
 * caller's private home. Only the file system ids change, so that init keeps its capabilities.
 */
static int landlock_as_command(const struct init_config *config, int ruleset, uint64_t handled,
                               int (*use_paths)(const struct init_config *config, int ruleset,
                                                uint64_t handled))
{
	int gid = setfsgid(config->gid), uid = setfsuid(config->uid), r = -EPERM;

	if (setfsuid((uid_t)-1) == (int)config->uid && setfsgid((gid_t)-1) == (int)config->gid)
		r = use_paths(config, ruleset, handled);
	(void)setfsuid((uid_t)uid);
	(void)setfsgid((gid_t)gid);
	return r;
}

int landlock_check_mounts(const struct init_config *config)
{
	return landlock_as_command(config, -1, 0, landlock_look_at_mounts);
}

int landlock_restrict(const struct init_config *config, uint32_t *ret_abi)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset attributes = {0};
	_cleanup_fd_ int ruleset = -1;
	int r;

	*ret_abi = 0;
	for (size_t i = 0; i < ARRAY_SIZE(landlock_versions) && abi >= landlock_versions[i].abi;
	     i++) {
		attributes.handled_files |= landlock_versions[i].files;
		attributes.scoped |= landlock_versions[i].scoped;
	}
	/*
	 * A process whose file access is restricted in any way may not mount anything. landlock(7)
	 */
	if (config->nested_userns)
		attributes.handled_files = 0;
	/*
	 * Nothing to restrict: the system call is missing, Landlock was disabled at boot, or the
	 * kernel has only the first version of Landlock, which has none of these rights.
	 */
	if (attributes.handled_files == 0 && attributes.scoped == 0)
		return 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (ruleset < 0)
		return -errno;
	r = attributes.handled_files
	            ? landlock_as_command(config, ruleset, attributes.handled_files,
	                                  landlock_allow_paths)
	            : 0;
	/*
	 * init's leaf cgroups for commands (leaf.c). No command has a path or a descriptor for that
	 * directory.
	 */
	if (r == 0 && attributes.handled_files &&
	    config->fds_present & 1U << (INIT_FD_CGROUP - INIT_FD_CONTROL))
		r = landlock_allow(ruleset, attributes.handled_files, INIT_FD_CGROUP,
		                   READ | CHANGE | LANDLOCK_ACCESS_FS_MAKE_DIR |
		                           LANDLOCK_ACCESS_FS_REMOVE_DIR);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	if (r == 0 && attributes.handled_files)
		*ret_abi = abi < LANDLOCK_ABI_KNOWN ? (uint32_t)abi : LANDLOCK_ABI_KNOWN;
	return r;
}

/*
 * The paths that a command restricted to some paths can still access, so that programs can be
 * executed and can find out about their environment.
 */
static const struct {
	const char *path;
	uint64_t rights;
} landlock_needed[] = {
	{"/bin", READ},
	{"/sbin", READ},
	{"/lib", READ},
	{"/lib32", READ},
	{"/lib64", READ},
	{"/libx32", READ},
	{"/usr", READ},
	{"/etc", READ},
	{"/proc", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
	{"/sys", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
	/* the sandbox's own files of /etc, such as user names */
	{"/run/yett", READ},
};

/* Devices that no command can do without, and in which nothing can be stored. */
static const char *const landlock_devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                               "/dev/random", "/dev/urandom", "/dev/tty",
                                               "/dev/ptmx",   "/dev/pts"};

static int landlock_allow_command(const struct message *message, int ruleset, uint64_t handled,
                                  const char **ret_refused)
{
	const struct message_exec *exec = &message->body.exec;
	/*
	 * RIGHT_RESOLVE_UNIX is for the sockets of other commands, which were created outside this
	 * domain.
	 */
	uint64_t rights = RIGHT_RESOLVE_UNIX | (exec->restrictions & RESTRICT_WRITE ? READ : WRITE);
	uint64_t device = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | CHANGE |
	                  RIGHT_IOCTL_DEV;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(landlock_devices); i++)
		r = landlock_allow_path(ruleset, handled, landlock_devices[i], device);
	if (!(exec->restrictions & RESTRICT_PATHS))
		return r;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(landlock_needed); i++)
		r = landlock_allow_path(ruleset, handled, landlock_needed[i].path,
		                        landlock_needed[i].rights);
	for (uint32_t i = 0; r == 0 && i < exec->paths_count; i++) {
		const char *path = message_text(message, exec->paths[i]);
		_cleanup_fd_ int fd = landlock_open(path);

		/* Unlike the paths above, this one was requested. */
		r = fd < 0 ? -errno : landlock_allow(ruleset, handled, fd, rights);
		if (fd < 0)
			*ret_refused = path;
	}
	return r;
}

int landlock_restrict_command(const struct message *message, uint32_t abi, const char **ret_refused)
{
	uint32_t restrictions = message->body.exec.restrictions;
	/*
	 * The kernel rejects a ruleset that handles nothing. Creating block devices is a harmless
	 * right to handle, because no process inside can create one anyway.
	 */
	struct landlock_ruleset attributes = {.handled_files = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
	_cleanup_fd_ int ruleset = -1;
	uint64_t known = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(landlock_versions) && abi >= landlock_versions[i].abi;
	     i++)
		known |= landlock_versions[i].files;
	if (restrictions & RESTRICT_WRITE)
		attributes.handled_files |= known & (CHANGE | MAKE | LANDLOCK_ACCESS_FS_MAKE_CHAR);
	if (restrictions & RESTRICT_PATHS)
		attributes.handled_files |= known;
	if (restrictions & RESTRICT_NETWORK && abi >= TCP_ABI)
		attributes.handled_tcp = TCP_ALL;
	if (restrictions & RESTRICT_NETWORK && abi >= SCOPE_ABI)
		attributes.scoped = SCOPE_ABSTRACT_SOCKETS;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (ruleset < 0)
		return -errno;
	r = landlock_allow_command(message, ruleset, attributes.handled_files, ret_refused);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	return r;
}
