/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the counters of a sandbox's groups: see cgroup.h. Needs no capability: any user may read
 * these files, and only the kernel writes them.
 */
#include "helper/setup/cgroup.h"
#include "base/kernel.h"

#define TEXT_MAX          16384
#define OPEN_FILES_OF_MAX 1024 /* processes; looking at more would delay the caller */

static const struct {
	unsigned controller;  /* 0: no controller is needed */
	const char *names[2]; /* in v1, in v2 */
} files[CGROUP_FILES] = {
	[CGROUP_MEMORY_EVENTS] = {CGROUP_MEMORY, {"memory.oom_control", "memory.events"}},
	[CGROUP_MEMORY_PEAK] = {CGROUP_MEMORY, {"memory.max_usage_in_bytes", "memory.peak"}},
	[CGROUP_PIDS_EVENTS] = {CGROUP_PIDS, {"pids.events", "pids.events"}},
	[CGROUP_CPU_STAT] = {CGROUP_CPU, {"cpu.stat", "cpu.stat"}},
	[CGROUP_TIME] = {0, {NULL, "cpu.stat"}}, /* v2 has this file without any controller */
	[CGROUP_MEMORY_NOW] = {CGROUP_MEMORY, {"memory.usage_in_bytes", "memory.current"}},
	/*
         * pids.events.local exists since Linux 6.11. Before, v2 counts a refused fork in the group
         * of the process that forked, which is removed.
         */
	[CGROUP_FORKS] = {CGROUP_PIDS, {"pids.events", "pids.events.local"}},
	[CGROUP_IO_BYTES] = {CGROUP_IO, {"blkio.throttle.io_service_bytes", "io.stat"}},
	[CGROUP_IO_TIMES] = {CGROUP_IO, {"blkio.throttle.io_serviced", "io.stat"}},
};

/* The numbers after a key are added up: some files have one line for each device. */
static const struct {
	enum usage_count count;
	enum cgroup_file file;
	const char *key, *key_of_v1; /* NULL: the same key */
} sources[] = {
	{USAGE_CPU, CGROUP_TIME, "usage_usec "},
	{USAGE_USER, CGROUP_TIME, "user_usec "},
	{USAGE_SYSTEM, CGROUP_TIME, "system_usec "},
	{USAGE_MEMORY, CGROUP_MEMORY_NOW, ""},
	{USAGE_MEMORY_PEAK, CGROUP_MEMORY_PEAK, ""},
	{USAGE_READ_BYTES, CGROUP_IO_BYTES, "rbytes=", "Read "},
	{USAGE_WRITTEN_BYTES, CGROUP_IO_BYTES, "wbytes=", "Write "},
	{USAGE_READS, CGROUP_IO_TIMES, "rios=", "Read "},
	{USAGE_WRITES, CGROUP_IO_TIMES, "wios=", "Write "},
	{USAGE_OOM_KILLS, CGROUP_MEMORY_EVENTS, "oom_kill "},
	{USAGE_FORKS_REFUSED, CGROUP_FORKS, "max "},
};

int cgroup_open_file(const struct cgroup *cgroup, enum cgroup_file file)
{
	char path[sizeof cgroup->path + 40];

	for (size_t i = 0; i < cgroup->host->count; i++) {
		const struct cgroup_tree *tree = &cgroup->host->trees[i];
		const char *name = files[file].names[tree->version - 1];

		if (!name || (files[file].controller & ~tree->controllers))
			continue;
		FORMAT(path, "%s/%s", cgroup->path, name);
		return openat(tree->parent, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	return -1;
}

/*
 * Adds up the numbers after `key`, or reads the one number of the file if `key` is empty. Returns
 * whether `key` is there. If v1 does not count a device at
 * all, the file has no line for it, only a total of 0.
 */
static bool add_up(const char *text, const char *key, uint64_t *ret_sum)
{
	size_t length = strlen(key);
	/* an empty io.stat means that nothing was read or written */
	bool found = length == 0 || *text == '\0';

	*ret_sum = length == 0 ? strtoull(text, NULL, 10) : 0;
	for (const char *at = text; length > 0 && (at = strstr(at, key)); at += length) {
		if (at > text && at[-1] != ' ' && at[-1] != '\n')
			continue;
		*ret_sum += strtoull(at + length, NULL, 10);
		found = true;
	}
	return found;
}

void cgroup_read_usage(struct cgroup *cgroup, uint32_t wanted, struct cgroup_usage *ret_usage)
{
	enum cgroup_file last = CGROUP_FILES;
	char text[TEXT_MAX];
	ssize_t n = -1;

	*ret_usage = (struct cgroup_usage){0};
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		enum cgroup_file file = sources[i].file;
		uint64_t *value = &ret_usage->counts[sources[i].count];

		if (!(wanted & 1U << sources[i].count))
			continue;
		if (file != last) {
			if (cgroup->files[file] < 0)
				cgroup->files[file] = cgroup_open_file(cgroup, file);
			n = pread(cgroup->files[file], text, sizeof text - 1, 0);
			text[n < 0 ? 0 : n] = '\0';
			last = file;
		}
		if (n >= 0 && (add_up(text, sources[i].key, value) ||
		               (sources[i].key_of_v1 && add_up(text, sources[i].key_of_v1, value))))
			ret_usage->known |= 1U << sources[i].count;
	}
}

static void cgroup_usage_add(struct cgroup_usage *usage, enum usage_count count, uint64_t value)
{
	usage->counts[count] += value;
	usage->known |= 1U << count;
}

/*
 * Since Linux 6.2, the size of the directory /proc/PID/fd is the number of open descriptors;
 * before, it is 0.
 */
static void count_open_files(int pid, struct cgroup_usage *usage)
{
	char path[32];
	struct stat st;

	FORMAT(path, "/proc/%d/fd", pid);
	if (usage->counts[USAGE_PROCESSES] <= OPEN_FILES_OF_MAX && stat(path, &st) == 0 &&
	    st.st_size > 0)
		cgroup_usage_add(usage, USAGE_OPEN_FILES, (uint64_t)st.st_size);
}

static void count_leaf(int group, const char *leaf, void *userdata)
{
	static const struct {
		const char *file;
		enum usage_count count;
	} lists[] = {{"cgroup.procs", USAGE_PROCESSES}, {"cgroup.threads", USAGE_THREADS}};
	struct cgroup_usage *usage = userdata;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char path[NAME_MAX + 20];
		FILE *file;
		int fd, id;

		FORMAT(path, "%s/%s", leaf, lists[i].file);
		fd = openat(group, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		file = fd < 0 ? NULL : fdopen(fd, "r");
		while (file && fscanf(file, "%d", &id) == 1) {
			cgroup_usage_add(usage, lists[i].count, 1);
			if (lists[i].count == USAGE_PROCESSES)
				count_open_files(id, usage);
		}
		if (file)
			(void)fclose(file);
		else
			fd_close(fd);
	}
}

void cgroup_count_processes(const struct cgroup *cgroup, struct cgroup_usage *usage)
{
	/*
	 * Only the leaves count: a process in the group itself makes inits and is not the
	 * sandbox's.
	 */
	cgroup_each(cgroup->group, count_leaf, usage);
	if (usage->counts[USAGE_PROCESSES] > OPEN_FILES_OF_MAX)
		usage->known &= ~(1U << USAGE_OPEN_FILES);
}

void cgroup_usage_since(const struct cgroup_usage *before, struct cgroup_usage *usage)
{
	for (enum usage_count i = 0; i < USAGE_COUNTS_MAX; i++)
		if ((CGROUP_SUMS & 1U << i) && usage->counts[i] >= before->counts[i])
			usage->counts[i] -= before->counts[i];
	/*
	 * A peak cannot be subtracted. If an earlier sandbox reached it, it says nothing about this
	 * one.
	 */
	if (usage->counts[USAGE_MEMORY_PEAK] <= before->counts[USAGE_MEMORY_PEAK]) {
		usage->counts[USAGE_MEMORY_PEAK] = 0;
		usage->known &= ~(1U << USAGE_MEMORY_PEAK);
	}
}
