/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a sandbox's groups, from files as Linux writes them for cgroup v1 and v2, and
 * what limits are written to them. */
#include <string.h>

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "helper/setup/cgroup.h"
#include "tests/support/testing.h"

#define GROUP "user-7/sandbox"

struct fixture {
	struct cgroup_host host;
	char folder[64];
};

static void put(const struct fixture *fixture, size_t tree, const char *name, const char *text)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof path, GROUP "/%s", name);
	fd = openat(fixture->host.trees[tree].parent, path,
	            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void add_tree(struct fixture *fixture, int version, unsigned controllers)
{
	size_t i = fixture->host.count++;
	char path[80];

	(void)snprintf(path, sizeof path, "%s/%zu", fixture->folder, i);
	assert_int_equal(mkdir(path, 0700), 0);
	fixture->host.trees[i] =
		(struct cgroup_tree){.version = version,
	                             .parent = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC),
	                             .controllers = controllers};
	assert_int_equal(mkdirat(fixture->host.trees[i].parent, "user-7", 0700), 0);
	assert_int_equal(mkdirat(fixture->host.trees[i].parent, GROUP, 0700), 0);
}

static void set_up(struct fixture *fixture)
{
	*fixture = (struct fixture){.folder = "/tmp/yett-usage-XXXXXX"};
	assert_non_null(mkdtemp(fixture->folder));
}

/* As the helper does it for a sandbox that it finds. */
static void read_all(struct fixture *fixture, struct cgroup_usage *ret_usage)
{
	struct cgroup cgroup;

	cgroup_find(&fixture->host, 7, "sandbox", &cgroup);
	cgroup_read_usage(&cgroup, UINT32_MAX, ret_usage);
	cgroup_count_processes(&cgroup, ret_usage);
	cgroup_close(&cgroup);
}

static void tear_down(struct fixture *fixture)
{
	char command[100];

	cgroup_host_close(&fixture->host);
	(void)snprintf(command, sizeof command, "rm -r %s", fixture->folder);
	assert_int_equal(system(command), 0);
}

static void assert_count(const struct cgroup_usage *usage, enum usage_count count,
                         uint64_t expected)
{
	assert_true(usage->known & 1U << count);
	assert_int_equal(usage->counts[count], expected);
}

TEST(all_of_v2_is_read)
{
	struct fixture f;
	struct cgroup_usage usage;
	char own[32];

	set_up(&f);
	add_tree(&f, 2, CGROUP_MEMORY | CGROUP_CPU | CGROUP_PIDS | CGROUP_IO);
	put(&f, 0, "cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 0\n");
	put(&f, 0, "memory.current", "4096\n");
	put(&f, 0, "memory.peak", "8192\n");
	put(&f, 0, "memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n");
	put(&f, 0, "pids.events", "max 9\n");
	put(&f, 0, "pids.events.local", "max 3\nfork_fail 0\n");
	put(&f, 0, "io.stat",
	    "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=5 wbytes=5 rios=1 wios=1 dbytes=9 dios=9\n");
	assert_int_equal(mkdirat(f.host.trees[0].parent, GROUP "/init", 0700), 0);
	assert_int_equal(mkdirat(f.host.trees[0].parent, GROUP "/c0", 0700), 0);
	(void)snprintf(own, sizeof own, "%d\n", getpid());
	put(&f, 0, "cgroup.procs", "1\n"); /* a builder, which is not counted */
	put(&f, 0, "init/cgroup.procs", own);
	put(&f, 0, "init/cgroup.threads", own);
	put(&f, 0, "c0/cgroup.procs", own);
	put(&f, 0, "c0/cgroup.threads", "1\n2\n3\n");
	read_all(&f, &usage);
	assert_count(&usage, USAGE_CPU, 1500);
	assert_count(&usage, USAGE_USER, 1000);
	assert_count(&usage, USAGE_SYSTEM, 500);
	assert_count(&usage, USAGE_MEMORY, 4096);
	assert_count(&usage, USAGE_MEMORY_PEAK, 8192);
	assert_count(&usage, USAGE_READ_BYTES, 15);
	assert_count(&usage, USAGE_WRITTEN_BYTES, 25);
	assert_count(&usage, USAGE_READS, 2);
	assert_count(&usage, USAGE_WRITES, 3);
	assert_count(&usage, USAGE_OOM_KILLS, 2);
	assert_count(&usage, USAGE_FORKS_REFUSED, 3);
	assert_count(&usage, USAGE_PROCESSES, 2);
	assert_count(&usage, USAGE_THREADS, 4);
	put(&f, 0, "io.stat", "");
	read_all(&f, &usage);
	assert_count(&usage, USAGE_READ_BYTES, 0);
	tear_down(&f);
}

TEST(v1_is_read_where_v2_has_no_controllers)
{
	struct fixture f;
	struct cgroup_usage usage;

	set_up(&f);
	add_tree(&f, 2, 0);
	add_tree(&f, 1, CGROUP_MEMORY);
	add_tree(&f, 1, CGROUP_IO);
	put(&f, 0, "cpu.stat", "usage_usec 7\nuser_usec 4\nsystem_usec 3\n");
	put(&f, 1, "memory.usage_in_bytes", "100\n");
	put(&f, 1, "memory.max_usage_in_bytes", "200\n");
	put(&f, 1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	put(&f, 2, "blkio.throttle.io_service_bytes",
	    "8:0 Read 11\n8:0 Write 22\n8:0 Sync 33\n8:0 Total 33\n8:16 Read 1\n8:16 Write 2\nTotal 36\n");
	put(&f, 2, "blkio.throttle.io_serviced", "Total 0\n");
	read_all(&f, &usage);
	assert_count(&usage, USAGE_CPU, 7);
	assert_count(&usage, USAGE_MEMORY, 100);
	assert_count(&usage, USAGE_MEMORY_PEAK, 200);
	assert_count(&usage, USAGE_OOM_KILLS, 4);
	assert_count(&usage, USAGE_READ_BYTES, 12);
	assert_count(&usage, USAGE_WRITTEN_BYTES, 24);
	/* A kernel that counts for no device, and a controller that is not there. */
	assert_false(usage.known &
	             (1U << USAGE_READS | 1U << USAGE_WRITES | 1U << USAGE_FORKS_REFUSED));
	assert_int_equal(usage.counts[USAGE_READS], 0);
	tear_down(&f);
}

TEST(nothing_is_known_of_what_is_not_there)
{
	struct fixture f;
	struct cgroup_usage usage;

	set_up(&f);
	f.host.count = 1;
	f.host.trees[0] =
		(struct cgroup_tree){.version = 2, .parent = -1, .controllers = CGROUP_MEMORY};
	read_all(&f, &usage);
	assert_int_equal(usage.known, 0);
	f.host.count = 0;
	tear_down(&f);
}

TEST(what_an_earlier_sandbox_used_is_not_a_later_one_s)
{
	struct cgroup_usage before = {0}, usage = {.known = (1U << USAGE_COUNTS_MAX) - 1};

	before.counts[USAGE_CPU] = 100;
	before.counts[USAGE_MEMORY_PEAK] = 50;
	before.counts[USAGE_PROCESSES] = 9;
	usage.counts[USAGE_CPU] = 130;
	usage.counts[USAGE_MEMORY_PEAK] = 60;
	usage.counts[USAGE_PROCESSES] = 2;
	cgroup_usage_since(&before, &usage);
	assert_count(&usage, USAGE_CPU, 30);
	assert_count(&usage, USAGE_MEMORY_PEAK, 60);
	assert_count(&usage, USAGE_PROCESSES, 2);
	before.counts[USAGE_MEMORY_PEAK] = 60;
	cgroup_usage_since(&before, &usage);
	assert_false(usage.known & 1U << USAGE_MEMORY_PEAK);
}

#define USER "user-7"

/* An empty file, and what it holds then. */
static void expect_file(const struct fixture *fixture, size_t tree, const char *group,
                        const char *name)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", group, name);
	fd = openat(fixture->host.trees[tree].parent, path,
	            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void assert_file(const struct fixture *fixture, size_t tree, const char *group,
                        const char *name, const char *expected)
{
	char path[80], text[64];

	(void)snprintf(path, sizeof path, "%s/%s", group, name);
	assert_true(kernel_read_file(fixture->host.trees[tree].parent, path, text, sizeof text) >=
	            0);
	assert_string_equal(text, expected);
}

static bool has_disks(void)
{
	glob_t found;
	bool has = glob("/sys/block/*/device", 0, NULL, &found) == 0;

	globfree(&found);
	return has;
}

static const struct {
	int version;
	const char *file, *limited, *unlimited;
} limits[] = {
	{1, "memory.memsw.limit_in_bytes", "67108864", "-1"},
	{1, "memory.limit_in_bytes", "67108864", "-1"},
	{1, "cpu.cfs_quota_us", "150000", "-1"},
	{1, "cpu.shares", "2048", "1024"},
	{1, "pids.max", "8", "max"}, /* with the one that makes inits */
	{2, "memory.swap.max", "0", "max"},
	{2, "memory.max", "67108864", "max"},
	{2, "cpu.max", "150000", "max"},
	{2, "cpu.weight", "200", "100"},
	{2, "pids.max", "7", "max"},
};

TEST(limits_are_written_as_each_version_has_them)
{
	const struct plan_limits asked = {.memory_bytes = 64 << 20,
	                                  .cpu_millis = 1500,
	                                  .cpu_weight = 200,
	                                  .pids = 7},
				 none = {0};
	struct yett_error error;

	for (int version = 1; version <= 2; version++) {
		struct fixture f;
		struct cgroup cgroup;

		set_up(&f);
		add_tree(&f, version, CGROUP_MEMORY | CGROUP_CPU | CGROUP_PIDS);
		f.host.controllers = f.host.trees[0].controllers;
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
			for (int own = 0; own < 2 && limits[i].version == version; own++)
				expect_file(&f, 0, own ? GROUP : USER, limits[i].file);
		cgroup_find(&f.host, 7, "sandbox", &cgroup);
		assert_int_equal(cgroup_limit(&cgroup, &asked, &none, &error), 0);
		cgroup_close(&cgroup);
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
			if (limits[i].version != version)
				continue;
			assert_file(&f, 0, GROUP, limits[i].file, limits[i].limited);
			assert_file(&f, 0, USER, limits[i].file, limits[i].unlimited);
		}
		tear_down(&f);
	}
}

/* Of each disk that this machine has: none, where it has none. */
TEST(rates_are_written_of_each_disk)
{
	static const struct {
		int version;
		const char *file, *before;
	} files[] = {{1, "blkio.throttle.read_bps_device", ""},
	             {1, "blkio.throttle.write_bps_device", ""},
	             {2, "io.max", "wbps="}};
	const struct plan_limits asked = {.io_read_bytes = 2 << 20, .io_write_bytes = 3 << 20},
				 none = {0};
	struct yett_error error;

	for (int version = 1; version <= 2; version++) {
		struct fixture f;
		struct cgroup cgroup;

		set_up(&f);
		add_tree(&f, version, CGROUP_IO);
		f.host.controllers = CGROUP_IO;
		for (size_t i = 0; i < ARRAY_SIZE(files); i++)
			for (int own = 0; own < 2 && files[i].version == version; own++)
				expect_file(&f, 0, own ? GROUP : USER, files[i].file);
		cgroup_find(&f.host, 7, "sandbox", &cgroup);
		for (unsigned turn = 0; turn < 3; turn++) {
			/* bounded; unbounded, which was not; and unbounded, which was */
			assert_int_equal(
				cgroup_limit(&cgroup, turn == 1 ? &asked : &none, &none, &error),
				0);
			for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
				const char *value = turn == 2 ? "18446744073709551615"
				                    : i == 0  ? "2097152"
				                              : "3145728";
				char path[80], text[256], end[64];
				unsigned major, minor;

				if (files[i].version != version)
					continue;
				assert_file(&f, 0, USER, files[i].file, "");
				(void)snprintf(path, sizeof path, GROUP "/%s", files[i].file);
				assert_true(kernel_read_file(f.host.trees[0].parent, path, text,
				                             sizeof text) >= 0);
				(void)snprintf(end, sizeof end, " %s%s", files[i].before, value);
				if (!has_disks() || turn == 0)
					assert_string_equal(text, "");
				else
					assert_true(sscanf(text, "%u:%u", &major, &minor) == 2 &&
					            strstr(text, end));
			}
		}
		cgroup_close(&cgroup);
		tear_down(&f);
	}
}

TEST(a_limit_that_cannot_be_written_is_told)
{
	const struct plan_limits asked = {.memory_bytes = 64 << 20}, none = {0};
	struct yett_error error;

	for (int version = 1; version <= 2; version++) {
		struct fixture f;
		struct cgroup cgroup;

		set_up(&f);
		add_tree(&f, version, CGROUP_MEMORY);
		cgroup_find(&f.host, 7, "sandbox", &cgroup);
		/* Nobody has the controller; then it is there, and has no file but that of what
		 * only kernels with swap accounting have. */
		assert_int_equal(cgroup_limit(&cgroup, &asked, &none, &error), YETT_E_UNSUPPORTED);
		f.host.controllers = CGROUP_MEMORY;
		expect_file(&f, 0, USER,
		            version == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max");
		assert_int_equal(cgroup_limit(&cgroup, &asked, &none, &error), -ENOENT);
		assert_non_null(strstr(error.message, "memory limit"));
		expect_file(&f, 0, USER, version == 1 ? "memory.limit_in_bytes" : "memory.max");
		expect_file(&f, 0, GROUP, version == 1 ? "memory.limit_in_bytes" : "memory.max");
		assert_int_equal(cgroup_limit(&cgroup, &asked, &none, &error), 0);
		cgroup_close(&cgroup);
		tear_down(&f);
	}
}

TEST_MAIN(NULL, NULL)
