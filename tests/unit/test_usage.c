/* What is read of a sandbox's groups, from files as Linux writes them for cgroup v1 and v2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/setup/cgroup.h"

struct fixture {
	struct cgroup_host host;
	struct cgroup cgroup;
	char folder[64];
};

static void put(const struct fixture *fixture, size_t tree, const char *name, const char *text)
{
	int fd = openat(fixture->cgroup.sandbox[tree], name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

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
	fixture->host.trees[i] = (struct cgroup_tree){.version = version, .parent = -1, .controllers = controllers};
	fixture->cgroup.sandbox[i] = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_true(fixture->cgroup.sandbox[i] >= 0);
}

static void set_up(struct fixture *fixture)
{
	*fixture = (struct fixture){.folder = "/tmp/yett-usage-XXXXXX"};
	assert_non_null(mkdtemp(fixture->folder));
	fixture->cgroup.host = &fixture->host;
}

static void tear_down(struct fixture *fixture)
{
	char command[100];

	for (size_t i = 0; i < fixture->host.count; i++)
		(void)close(fixture->cgroup.sandbox[i]);
	(void)snprintf(command, sizeof command, "rm -r %s", fixture->folder);
	assert_int_equal(system(command), 0);
}

static void assert_count(const struct cgroup_usage *usage, enum usage_count count, uint64_t expected)
{
	assert_true(usage->known & 1U << count);
	assert_int_equal(usage->counts[count], expected);
}

static void all_of_v2_is_read(void **state)
{
	struct fixture f;
	struct cgroup_usage usage;
	char own[32];

	(void)state;
	set_up(&f);
	add_tree(&f, 2, CGROUP_MEMORY | CGROUP_CPU | CGROUP_PIDS | CGROUP_IO);
	put(&f, 0, "cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 0\n");
	put(&f, 0, "memory.current", "4096\n");
	put(&f, 0, "memory.peak", "8192\n");
	put(&f, 0, "memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n");
	put(&f, 0, "pids.events", "max 9\n");
	put(&f, 0, "pids.events.local", "max 3\nfork_fail 0\n");
	put(&f, 0, "io.stat", "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=5 wbytes=5 rios=1 wios=1 dbytes=9 dios=9\n");
	assert_int_equal(mkdirat(f.cgroup.sandbox[0], "init", 0700), 0);
	assert_int_equal(mkdirat(f.cgroup.sandbox[0], "c0", 0700), 0);
	(void)snprintf(own, sizeof own, "%d\n", getpid());
	put(&f, 0, "cgroup.procs", "1\n"); /* a builder, which is not counted */
	put(&f, 0, "init/cgroup.procs", own);
	put(&f, 0, "init/cgroup.threads", own);
	put(&f, 0, "c0/cgroup.procs", own);
	put(&f, 0, "c0/cgroup.threads", "1\n2\n3\n");
	cgroup_read_usage(&f.cgroup, &usage);
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
	cgroup_read_usage(&f.cgroup, &usage);
	assert_count(&usage, USAGE_READ_BYTES, 0);
	tear_down(&f);
}

static void v1_is_read_where_v2_has_no_controllers(void **state)
{
	struct fixture f;
	struct cgroup_usage usage;

	(void)state;
	set_up(&f);
	add_tree(&f, 2, 0);
	add_tree(&f, 1, CGROUP_MEMORY);
	add_tree(&f, 1, CGROUP_IO);
	put(&f, 0, "cpu.stat", "usage_usec 7\nuser_usec 4\nsystem_usec 3\n");
	put(&f, 1, "memory.usage_in_bytes", "100\n");
	put(&f, 1, "memory.max_usage_in_bytes", "200\n");
	put(&f, 1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	put(&f, 2, "blkio.throttle.io_service_bytes", "8:0 Read 11\n8:0 Write 22\n8:0 Sync 33\n8:0 Total 33\n8:16 Read 1\n8:16 Write 2\nTotal 36\n");
	put(&f, 2, "blkio.throttle.io_serviced", "Total 0\n");
	cgroup_read_usage(&f.cgroup, &usage);
	assert_count(&usage, USAGE_CPU, 7);
	assert_count(&usage, USAGE_MEMORY, 100);
	assert_count(&usage, USAGE_MEMORY_PEAK, 200);
	assert_count(&usage, USAGE_OOM_KILLS, 4);
	assert_count(&usage, USAGE_READ_BYTES, 12);
	assert_count(&usage, USAGE_WRITTEN_BYTES, 24);
	/* A kernel that counts for no device, and a controller that is not there. */
	assert_false(usage.known & (1U << USAGE_READS | 1U << USAGE_WRITES | 1U << USAGE_FORKS_REFUSED));
	assert_int_equal(usage.counts[USAGE_READS], 0);
	tear_down(&f);
}

static void nothing_is_known_of_what_is_not_there(void **state)
{
	struct fixture f;
	struct cgroup_usage usage;

	(void)state;
	set_up(&f);
	f.host.count = 1;
	f.host.trees[0] = (struct cgroup_tree){.version = 2, .parent = -1, .controllers = CGROUP_MEMORY};
	f.cgroup.sandbox[0] = -1;
	cgroup_read_usage(&f.cgroup, &usage);
	assert_int_equal(usage.known, 0);
	f.host.count = 0;
	tear_down(&f);
}

static void what_an_earlier_sandbox_used_is_not_a_later_one_s(void **state)
{
	struct cgroup_usage before = {0}, usage = {.known = (1U << USAGE_COUNTS_MAX) - 1};

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_v2_is_read),
		cmocka_unit_test(v1_is_read_where_v2_has_no_controllers),
		cmocka_unit_test(nothing_is_known_of_what_is_not_there),
		cmocka_unit_test(what_an_earlier_sandbox_used_is_not_a_later_one_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
