/*
 * What a sandbox's groups have counted. See cgroup.h.
 *
 * Reads only what the kernel wrote, and what any user may read; no capability is needed.
 */
#include "helper/setup/cgroup.h"
#include "base/kernel.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define TEXT_MAX 16384
#define OPEN_FILES_OF_MAX 1024 /* processes; nobody waits for more to be looked at */

/* Of the sandbox's own group. Numbers behind a key are added up: some files have a line for each device. */
static const struct {
	enum usage_count count;
	int version;
	unsigned controller; /* 0: none is needed: v2 counts time in any case */
	const char *file, *key;
} sources[] = {
	{USAGE_CPU, 2, 0, "cpu.stat", "usage_usec "},
	{USAGE_USER, 2, 0, "cpu.stat", "user_usec "},
	{USAGE_SYSTEM, 2, 0, "cpu.stat", "system_usec "},
	{USAGE_MEMORY, 2, CGROUP_MEMORY, "memory.current", ""},
	{USAGE_MEMORY, 1, CGROUP_MEMORY, "memory.usage_in_bytes", ""},
	{USAGE_MEMORY_PEAK, 2, CGROUP_MEMORY, "memory.peak", ""},
	{USAGE_MEMORY_PEAK, 1, CGROUP_MEMORY, "memory.max_usage_in_bytes", ""},
	{USAGE_READ_BYTES, 2, CGROUP_IO, "io.stat", "rbytes="},
	{USAGE_READ_BYTES, 1, CGROUP_IO, "blkio.throttle.io_service_bytes", "Read "},
	{USAGE_WRITTEN_BYTES, 2, CGROUP_IO, "io.stat", "wbytes="},
	{USAGE_WRITTEN_BYTES, 1, CGROUP_IO, "blkio.throttle.io_service_bytes", "Write "},
	{USAGE_READS, 2, CGROUP_IO, "io.stat", "rios="},
	{USAGE_READS, 1, CGROUP_IO, "blkio.throttle.io_serviced", "Read "},
	{USAGE_WRITES, 2, CGROUP_IO, "io.stat", "wios="},
	{USAGE_WRITES, 1, CGROUP_IO, "blkio.throttle.io_serviced", "Write "},
	{USAGE_OOM_KILLS, 2, CGROUP_MEMORY, "memory.events", "oom_kill "},
	{USAGE_OOM_KILLS, 1, CGROUP_MEMORY, "memory.oom_control", "oom_kill "},
	/* Before Linux 6.11, where there is no such file, v2 counts where the process is that could not fork: in groups that go. */
	{USAGE_FORKS_REFUSED, 2, CGROUP_PIDS, "pids.events.local", "max "},
	{USAGE_FORKS_REFUSED, 1, CGROUP_PIDS, "pids.events", "max "},
};

/* Whether the key was there. v1 has no line for a device that it does not count at all, but a total of 0. */
static bool add_up(const char *text, const char *key, uint64_t *ret_sum)
{
	size_t length = strlen(key);
	bool found = length == 0 || *text == '\0'; /* io.stat without a line: nothing was read or written */

	*ret_sum = length == 0 ? strtoull(text, NULL, 10) : 0;
	for (const char *at = text; length > 0 && (at = strstr(at, key)); at += length) {
		if (at > text && at[-1] != ' ' && at[-1] != '\n')
			continue;
		*ret_sum += strtoull(at + length, NULL, 10);
		found = true;
	}
	return found;
}

static void set(struct cgroup_usage *usage, enum usage_count count, uint64_t value)
{
	usage->counts[count] = value;
	usage->known |= 1U << count;
}

static void add(struct cgroup_usage *usage, enum usage_count count, uint64_t value)
{
	set(usage, count, usage->counts[count] + value);
}

static FILE *open_lines(int leaf, const char *name)
{
	int fd = openat(leaf, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file)
		fd_close(fd);
	return file;
}

/* A file of /proc/PID/fd: its size is the number of descriptors, from Linux 6.2 on; before that 0. */
static void count_open_files(int proc, int pid, struct cgroup_usage *usage)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof path, "%d/fd", pid);
	if (usage->counts[USAGE_PROCESSES] <= OPEN_FILES_OF_MAX && fstatat(proc, path, &st, 0) == 0 && st.st_size > 0)
		add(usage, USAGE_OPEN_FILES, (uint64_t)st.st_size);
}

static void count_leaf(int leaf, int proc, struct cgroup_usage *usage)
{
	FILE *processes = open_lines(leaf, "cgroup.procs"), *threads = open_lines(leaf, "cgroup.threads");
	int id;

	while (processes && fscanf(processes, "%d", &id) == 1) {
		add(usage, USAGE_PROCESSES, 1);
		count_open_files(proc, id, usage);
	}
	while (threads && fscanf(threads, "%d", &id) == 1)
		add(usage, USAGE_THREADS, 1);
	if (processes)
		(void)fclose(processes);
	if (threads)
		(void)fclose(threads);
}

/* In the leaves: who is in the group itself makes inits. */
static void count_processes(const struct cgroup *cgroup, struct cgroup_usage *usage)
{
	_cleanup_fd_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int copy = openat(cgroup->sandbox[0], ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);

	if (!entries) {
		fd_close(copy);
		return;
	}
	for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
		_cleanup_fd_ int leaf = -1;

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			leaf = openat(cgroup->sandbox[0], entry->d_name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (leaf >= 0)
			count_leaf(leaf, proc, usage);
	}
	(void)closedir(entries);
	if (usage->counts[USAGE_PROCESSES] > OPEN_FILES_OF_MAX)
		usage->known &= ~(1U << USAGE_OPEN_FILES);
}

bool cgroup_read_count(const struct cgroup *cgroup, enum usage_count count, uint64_t *ret_value)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		for (size_t j = 0; sources[i].count == count && j < cgroup->host->count; j++) {
			const struct cgroup_tree *tree = &cgroup->host->trees[j];

			if (tree->version == sources[i].version && !(sources[i].controller & ~tree->controllers) &&
			    kernel_read_file(cgroup->sandbox[j], sources[i].file, text, sizeof text) >= 0 &&
			    add_up(text, sources[i].key, ret_value))
				return true;
		}
	*ret_value = 0;
	return false;
}

void cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage)
{
	uint64_t value;

	*ret_usage = (struct cgroup_usage){0};
	for (enum usage_count count = 0; count < USAGE_COUNTS_MAX; count++)
		if (cgroup_read_count(cgroup, count, &value))
			set(ret_usage, count, value);
	count_processes(cgroup, ret_usage);
}

/* What belongs to a sandbox that began when its groups had counted `before`. */
void cgroup_usage_since(const struct cgroup_usage *before, struct cgroup_usage *usage)
{
	static const enum usage_count sums[] = {USAGE_CPU,   USAGE_USER,   USAGE_SYSTEM,    USAGE_READ_BYTES,   USAGE_WRITTEN_BYTES,
						USAGE_READS, USAGE_WRITES, USAGE_OOM_KILLS, USAGE_FORKS_REFUSED};

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		if (usage->counts[sums[i]] >= before->counts[sums[i]])
			usage->counts[sums[i]] -= before->counts[sums[i]];
	/* A peak cannot be divided: one that an earlier sandbox reached says nothing of this one. */
	if (usage->counts[USAGE_MEMORY_PEAK] <= before->counts[USAGE_MEMORY_PEAK]) {
		usage->counts[USAGE_MEMORY_PEAK] = 0;
		usage->known &= ~(1U << USAGE_MEMORY_PEAK);
	}
}
