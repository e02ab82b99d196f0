/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See leaf.h. Unprivileged; uses only files below INIT_FD_CGROUP and the descriptors of the
 * counters.
 */
#include "programs/inside/init/leaf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LEAF_PATH_SIZE   64
#define LEAF_ABOVE_BYTES 65536

static void leaf_path(unsigned number, const char *file, char path[LEAF_PATH_SIZE])
{
	(void)snprintf(path, LEAF_PATH_SIZE, "c%u%s", number, file);
}

static int leaf_write(unsigned number, const char *file, const char *text)
{
	char path[LEAF_PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	leaf_path(number, file, path);
	fd = openat(INIT_FD_CGROUP, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int leaf_write_number(unsigned number, const char *file, uint64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return leaf_write(number, file, text);
}

/*
 * Failure is ignored: where the controllers are not enabled for leaves, these files do not exist.
 */
static void leaf_report_limits(unsigned number, const struct init_config *config)
{
	char text[64];

	if (config->memory_bytes)
		(void)!leaf_write_number(number, "/memory.max",
		                         config->memory_bytes + LEAF_ABOVE_BYTES);
	if (!config->cpu_millis)
		return;
	(void)snprintf(text, sizeof text, "%llu 100000",
	               (unsigned long long)config->cpu_millis * 100);
	(void)!leaf_write(number, "/cpu.max", text);
	(void)!leaf_write_number(number, "/cpu.max.burst", config->cpu_millis * 100);
}

int leaf_open(unsigned number, const struct init_config *config, int *ret_leaf)
{
	char path[LEAF_PATH_SIZE];
	int fd, r;

	leaf_path(number, "", path);
	fd = openat(INIT_FD_CGROUP, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(INIT_FD_CGROUP, path, 0755) < 0)
			return -errno;
		leaf_report_limits(number, config);
		fd = openat(INIT_FD_CGROUP, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0) {
		r = -errno;
		(void)unlinkat(INIT_FD_CGROUP, path, AT_REMOVEDIR);
		return r;
	}
	*ret_leaf = fd;
	return 0;
}

int leaf_limit(unsigned number, uint64_t memory_bytes, uint64_t pids)
{
	int r = memory_bytes ? leaf_write_number(number, "/memory.max", memory_bytes) : 0;

	/*
	 * Without this, the processes could exceed the limit by swapping. A kernel without swap
	 * accounting has no such file.
	 */
	if (r == 0 && memory_bytes)
		(void)!leaf_write_number(number, "/memory.swap.max", 0);
	return r == 0 && pids ? leaf_write_number(number, "/pids.max", pids) : r;
}

void leaf_kill(unsigned number)
{
	char path[LEAF_PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	leaf_path(number, "/cgroup.kill", path);
	fd = openat(INIT_FD_CGROUP, path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "1", 1) < 0)
		return;
}

int leaf_remove(unsigned number)
{
	char path[LEAF_PATH_SIZE];

	leaf_path(number, "", path);
	return unlinkat(INIT_FD_CGROUP, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

#define LEAF_TEXT_SIZE 2048

static void leaf_read(int fd, char text[LEAF_TEXT_SIZE])
{
	ssize_t n = pread(fd, text, LEAF_TEXT_SIZE - 1, 0);

	text[n > 0 ? n : 0] = '\0';
}

/*
 * Returns the number after `key` at the start of a line of a "key value" file; with an empty key,
 * the first number of the file.
 */
static uint64_t leaf_find_value(char *text, const char *key)
{
	size_t length = strlen(key);

	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (length == 0 || (strncmp(line, key, length) == 0 && line[length] == ' '))
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}

static uint64_t leaf_read_value(int fd, const char *key)
{
	char text[LEAF_TEXT_SIZE];

	leaf_read(fd, text);
	return leaf_find_value(text, key);
}

static bool leaf_open_value(unsigned number, const char *file, const char *key, uint64_t *value)
{
	char path[LEAF_PATH_SIZE];
	_cleanup_fd_ int fd = -1;

	leaf_path(number, file, path);
	fd = openat(INIT_FD_CGROUP, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	*value = leaf_read_value(fd, key);
	return true;
}

void leaf_read_usage(unsigned number, struct leaf_usage *ret_usage)
{
	char path[LEAF_PATH_SIZE], text[LEAF_TEXT_SIZE];
	_cleanup_fd_ int fd = -1;

	*ret_usage = (struct leaf_usage){0};
	leaf_path(number, "/cpu.stat", path);
	fd = openat(INIT_FD_CGROUP, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Read the file once: the kernel aggregates the counters on every read. */
	leaf_read(fd, text);
	ret_usage->user_us = leaf_find_value(text, "user_usec");
	ret_usage->system_us = leaf_find_value(text, "system_usec");
	if (!leaf_open_value(number, "/memory.peak", "", &ret_usage->memory_peak_bytes))
		ret_usage->memory_peak_bytes = 0;
}

bool leaf_populated(unsigned number)
{
	uint64_t populated = 0;

	return leaf_open_value(number, "/cgroup.events", "populated", &populated) && populated != 0;
}

void leaf_read_sandbox(uint32_t fds_present, struct leaf_counters *ret_counters)
{
	const struct {
		int fd;
		const char *key;
		uint64_t *value;
	} sources[] = {
		{INIT_FD_MEMORY_EVENTS, "oom_kill", &ret_counters->oom_kills},
		{INIT_FD_MEMORY_PEAK, "", &ret_counters->memory_peak_bytes},
		{INIT_FD_PIDS_EVENTS, "max", &ret_counters->pids_refused},
		{INIT_FD_CPU_STAT, "nr_throttled", &ret_counters->cpu_throttled},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		*sources[i].value = fds_present & 1U << (sources[i].fd - INIT_FD_CONTROL)
		                            ? leaf_read_value(sources[i].fd, sources[i].key)
		                            : 0;
}

bool leaf_read_own(unsigned number, struct leaf_counters *counters)
{
	uint64_t oom_kills = 0, refused = 0;

	if (!leaf_open_value(number, "/memory.events", "oom_kill", &oom_kills))
		return false;
	counters->oom_kills = oom_kills;
	if (!leaf_open_value(number, "/memory.peak", "", &counters->memory_peak_bytes))
		counters->memory_peak_bytes = 0;
	/*
	 * Before Linux 6.11 a refused fork is counted in the cgroup of the process that tried to
	 * fork, not in the cgroup that has the limit.
	 */
	if (leaf_open_value(number, "/pids.events", "max", &refused) && refused)
		counters->pids_refused += refused;
	return true;
}
