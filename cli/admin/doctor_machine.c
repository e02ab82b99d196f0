/* SPDX-License-Identifier: Apache-2.0 */
/* See doctor.h: the checks of the machine. They ask the kernel and read world-readable files. */
#include "cli/admin/doctor.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/machine.h"
#include "base/userns.h"

/* The private ids of the shipped policy: ids_first and ids_ranges of its helper section. */
#define IDS_FIRST 1879048192ULL
#define IDS_END   (IDS_FIRST + 4096ULL * 65536)

#define XFS_MAGIC  0x58465342
#define F2FS_MAGIC 0xF2F52010
#define EXT_MAGIC  EXT4_SUPER_MAGIC

bool doctor_kernel_is(const char *release, unsigned major, unsigned minor)
{
	unsigned a = 0, b = 0;

	return sscanf(release, "%u.%u", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

static void look_kernel(struct doctor_finding *finding)
{
	struct utsname name = {0};

	(void)uname(&name);
	if (!doctor_kernel_is(name.release, 5, 15))
		doctor_found(
			finding, DOCTOR_MISSING, "install a kernel of at least 5.15",
			"Linux %.64s: cgroup.kill and id-mapped ext4, xfs and btrfs are all there from 5.15 on",
			name.release);
	else if (!doctor_kernel_is(name.release, 6, 3))
		doctor_found(finding, DOCTOR_WEAKER, "install a kernel of at least 6.3",
		             "Linux %.64s: tmpfs can be id-mapped, and so shared, from 6.3 on",
		             name.release);
	else
		doctor_found(finding, DOCTOR_OK, NULL, "Linux %.64s", name.release);
}

/* Reports that /proc is not mounted: checks that read files there find nothing out then. */
static bool lacks_proc(struct doctor_finding *finding)
{
	if (access("/proc/self", F_OK) == 0)
		return false;
	doctor_found(finding, DOCTOR_MISSING, "mount -t proc proc /proc",
	             "cannot be told: /proc is not mounted");
	return true;
}

static void look_user_namespaces(struct doctor_finding *finding)
{
	char text[32];

	if (lacks_proc(finding))
		return;
	if (!machine_read("/proc/sys/user/max_user_namespaces", text, sizeof text))
		doctor_found(finding, DOCTOR_MISSING, "use a kernel with CONFIG_USER_NS",
		             "the kernel has none");
	else if (strtoul(text, NULL, 10) == 0)
		doctor_found(finding, DOCTOR_MISSING, "sysctl user.max_user_namespaces=15000",
		             "user.max_user_namespaces is 0, which binds root too");
	else
		doctor_found(finding, DOCTOR_OK, NULL, "at most %lu", strtoul(text, NULL, 10));
}

bool doctor_has_user_namespace(const char **ret_mend)
{
	const struct userns_rule *rule;
	int status = 1;
	char map[48];
	pid_t pid = fork();

	if (pid == 0) {
		FILE *file;

		(void)snprintf(map, sizeof map, "%u %u 1", geteuid(), geteuid());
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
		    !(file = fopen("/proc/self/uid_map", "we")))
			_exit(1);
		status = fputs(map, file) < 0;
		_exit(fclose(file) != 0 || status ||
		      mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return true;
	rule = userns_find_rule();
	*ret_mend =
		rule ? rule->mend
		     : "allow user namespaces, which the container or sandbox around you forbids";
	return false;
}

static void look_cgroups(struct doctor_finding *finding)
{
	static const char *const names[] = {"memory", "cpu", "pids"};
	char text[160] = "";
	bool has_all = true;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int version = machine_controller(names[i]);
		size_t used = strlen(text);

		has_all = has_all && version;
		(void)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "",
		               names[i],
		               version == 2   ? "on v2"
		               : version == 1 ? "on v1"
		                              : "nowhere");
	}
	if (!machine_has_cgroup2())
		doctor_found(finding, DOCTOR_MISSING, "mount -t cgroup2 none /sys/fs/cgroup",
		             "no cgroup v2 tree is mounted");
	else
		doctor_found(finding, has_all ? DOCTOR_OK : DOCTOR_WEAKER,
		             has_all ? NULL
		                     : "enable the missing controllers (cgroup_enable= at boot)",
		             "%s", text);
}

/*
 * The size of the compiled seccomp filters of one process that a sandbox starts, at most, as
 * SECURITY.md measures it. net.core.bpf_jit_limit is what all compiled filters of the machine may
 * take together; only root can read it. Documentation/admin-guide/sysctl/net.rst
 */
#define FILTERS_SIZE (444u << 10)

static void describe_room(char room[static 128])
{
	char text[32];

	room[0] = '\0';
	if (machine_read("/proc/sys/net/core/bpf_jit_limit", text, sizeof text))
		(void)snprintf(
			room, 128,
			"; the kernel has room for the largest ones of %llu processes (net.core.bpf_jit_limit)",
			strtoull(text, NULL, 10) / FILTERS_SIZE);
}

static void look_seccomp(struct doctor_finding *finding)
{
	char text[200], room[128];

	if (lacks_proc(finding))
		return;
	describe_room(room);
	if (machine_read("/proc/sys/kernel/seccomp/actions_avail", text, sizeof text) &&
	    machine_has_word(text, "errno"))
		doctor_found(finding, DOCTOR_OK, NULL, "filters%s%s%s",
		             machine_has_word(text, "log") ? ", with logging" : "",
		             machine_has_word(text, "user_notif")
		                     ? "; forbidden calls are reported"
		                     : "; forbidden calls are not reported: that needs Linux 5.0",
		             room);
	else
		doctor_found(finding, DOCTOR_MISSING, "use a kernel with CONFIG_SECCOMP_FILTER",
		             "the kernel has no filters");
}

static void look_landlock(struct doctor_finding *finding)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 1)
		doctor_found(finding, DOCTOR_OK, NULL, "ABI %ld, a further layer%s", abi,
		             abi < 6 ? "; whole from ABI 6 (Linux 6.12) on" : "");
	else
		doctor_found(
			finding, DOCTOR_OK, NULL,
			"not there, or older than ABI 2 (Linux 5.19): this further layer is missing");
}

static void look_lsm(struct doctor_finding *finding)
{
	bool enforces;
	enum machine_lsm lsm = machine_lsm(&enforces);

	if (lsm == MACHINE_LSM_APPARMOR)
		doctor_found(finding, DOCTOR_OK, NULL, "AppArmor; the policy names the profiles");
	else if (lsm == MACHINE_LSM_SELINUX)
		doctor_found(finding, DOCTOR_OK, NULL, "SELinux, %s; the policy names the types",
		             enforces ? "enforcing" : "permissive");
	else
		doctor_found(finding, DOCTOR_OK, NULL,
		             "neither AppArmor nor SELinux: this further layer is missing");
}

static void look_overlay(struct doctor_finding *finding)
{
	char text[4096];

	if (machine_read("/proc/filesystems", text, sizeof text) &&
	    machine_has_word(text, "overlay"))
		doctor_found(finding, DOCTOR_OK, NULL, "there");
	else
		doctor_found(finding, DOCTOR_OK, NULL, "not loaded");
}

/*
 * Finds the first line NAME:FIRST:COUNT (subuid(5)) whose range overlaps the private ids. False if
 * there is none.
 */
static bool overlaps(const char *path, char *ret_name, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[256], name[64];
	unsigned long long first, count;
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file))
		if (sscanf(line, "%63[^:]:%llu:%llu", name, &first, &count) == 3 &&
		    first < IDS_END && first + count > IDS_FIRST) {
			(void)snprintf(ret_name, size, "%s", name);
			found = true;
		}
	if (file)
		(void)fclose(file);
	return found;
}

static void look_ids(struct doctor_finding *finding)
{
	char name[64];

	if (overlaps("/etc/subuid", name, sizeof name) ||
	    overlaps("/etc/subgid", name, sizeof name))
		doctor_found(finding, DOCTOR_MISSING,
		             "set ids_first in the helper section of " YETT_POLICY_PATH,
		             "%llu to %llu are partly given to %s", IDS_FIRST, IDS_END - 1, name);
	else
		doctor_found(finding, DOCTOR_OK, NULL,
		             "%llu to %llu are free of /etc/subuid and /etc/subgid", IDS_FIRST,
		             IDS_END - 1);
}

static void look_idmap(struct doctor_finding *finding)
{
	/* the file systems with FS_ALLOW_IDMAP in Linux 6.12 */
	static const struct {
		unsigned long magic;
		const char *name;
	} types[] = {{EXT_MAGIC, "ext4"},          {XFS_MAGIC, "xfs"},
	             {BTRFS_SUPER_MAGIC, "btrfs"}, {TMPFS_MAGIC, "tmpfs"},
	             {F2FS_MAGIC, "f2fs"},         {EROFS_SUPER_MAGIC_V1, "erofs"},
	             {SQUASHFS_MAGIC, "squashfs"}, {MSDOS_SUPER_MAGIC, "vfat"}};
	struct statfs fs = {0};

	(void)statfs("/", &fs);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)fs.f_type == types[i].magic) {
			doctor_found(finding, DOCTOR_OK, NULL, "%s can be id-mapped",
			             types[i].name);
			return;
		}
	doctor_found(finding, DOCTOR_WEAKER, "keep what you share on ext4, xfs or btrfs",
	             "the root file system (type %#lx) may refuse id-mapped mounts",
	             (unsigned long)fs.f_type);
}

static void add_lack(char *lacks, size_t size, const char *format, ...) _printf_(3, 4);
static void add_lack(char *lacks, size_t size, const char *format, ...)
{
	size_t used = strlen(lacks);
	va_list args;

	used += (size_t)snprintf(lacks + used, size - used, "%s", used ? "; " : "");
	va_start(args, format);
	if (used < size)
		(void)vsnprintf(lacks + used, size - used, format, args);
	va_end(args);
}

/*
 * Whether terminals belong to the group tty, gid 5. Programs that make a terminal for another user
 * expect that.
 */
static bool has_tty_group(void)
{
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *mounts = fopen("/proc/self/mounts", "re");

	while (mounts && !found && getline(&line, &size, mounts) >= 0)
		found = strstr(line, " /dev/pts devpts ") && machine_has_word(line, "gid=5");
	if (mounts)
		(void)fclose(mounts);
	free(line);
	return found;
}

static bool has_own_name(void)
{
	char hosts[8192] = "", name[256] = "";

	(void)gethostname(name, sizeof name - 1);
	return machine_read("/etc/hosts", hosts, sizeof hosts) && machine_has_word(hosts, name);
}

/*
 * Reports what some programs expect of a host and this host lacks: the column `host` of the corpus,
 * tests/programs/corpus.py. Nothing of this is a fault, since most users need none of it.
 */
static void look_programs(struct doctor_finding *finding)
{
	static const struct {
		const char *name, *path;
		long most;
		const char *whom;
	} settings[] = {
		{"kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", 2,
	         "perf, of a profile with perf_events"},
		{"kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", 0, "gdb --pid"},
		{"vm.mmap_rnd_bits", "/proc/sys/vm/mmap_rnd_bits", 28, "ThreadSanitizer"},
	};
	char lacks[sizeof finding->found - 32] = "", text[32];
	const char *mend;

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (machine_read(settings[i].path, text, sizeof text)) {
			if (strtol(text, NULL, 10) > settings[i].most)
				add_lack(lacks, sizeof lacks, "%s at %ld or less (%s)",
				         settings[i].name, settings[i].most, settings[i].whom);
		} else if (errno != ENOENT) {
			add_lack(lacks, sizeof lacks,
			         "perhaps %s at %ld or less, which root can see (%s)",
			         settings[i].name, settings[i].most, settings[i].whom);
		}
	}
	if (!doctor_has_user_namespace(&mend))
		add_lack(lacks, sizeof lacks, "user namespaces for ordinary users (bwrap)");
	if (!has_tty_group())
		add_lack(lacks, sizeof lacks, "devpts mounted with gid=5 (sshd)");
	if (!has_own_name())
		add_lack(lacks, sizeof lacks, "its own name in /etc/hosts (hostname -f, java)");
	if (*lacks)
		doctor_found(finding, DOCTOR_OK, NULL, "some programs lack: %s", lacks);
	else
		doctor_found(finding, DOCTOR_OK, NULL, "the host has what programs ask for");
}

/*
 * Reports whether commands can have core files. The condition is that of
 * programs/inside/init/cores.c, which has the reasons. core(5)
 */
static void look_cores(struct doctor_finding *finding)
{
	char text[160] = "";

	if (lacks_proc(finding))
		return;
	if (!machine_read("/proc/sys/kernel/core_pattern", text, sizeof text)) {
		doctor_found(finding, DOCTOR_OK, NULL, "the kernel writes none");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	if (*text && *text != '|' && *text != '@' && !strchr(text, '/'))
		doctor_found(finding, DOCTOR_OK, NULL,
		             "written to the directory of a command that has --core: '%s'", text);
	else
		doctor_found(
			finding, DOCTOR_OK, NULL,
			"none inside: kernel.core_pattern is '%s', not a plain file name such as core",
			text);
}

const struct doctor_check doctor_machine[] = {
	{"kernel", look_kernel},          {"user namespaces", look_user_namespaces},
	{"cgroups", look_cgroups},        {"seccomp", look_seccomp},
	{"Landlock", look_landlock},      {"label", look_lsm},
	{"overlay", look_overlay},        {"private ids", look_ids},
	{"root file system", look_idmap}, {"programs", look_programs},
	{"core files", look_cores},       {0},
};
