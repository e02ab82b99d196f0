/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, as ratios against a peer in the same run: a tree copied into a live sandbox against `tar |
 * tar`, both to the same disk and both to memory (/tmp inside, /dev/shm outside), where no disk's
 * moods are measured; and a large file read through the descriptor that an open in the sandbox
 * returns against cat(1).
 *
 * Runs as an ordinary user against a service, in a directory of that user's: the sandbox has it as
 * a writable share.
 */
#include "measure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ROUNDS      5
#define DIRECTORIES 100
#define FILES       100 /* in each */
#define FILE_MAX    4096
#define LARGE_BYTES (1LL << 30)
#define CHUNK       131072 /* as cat(1) reads. coreutils, ioblksize.h */
#define ROOM_BYTES  (3LL << 30)

static struct yett_sandbox *sandbox;
static const char *cli;
static char chunk[CHUNK], here[4096], in_memory[4096];
static char ours_on_disk[32], peer_on_disk[32]; /* in `here` */

static void write_file(const char *path, long long bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	while (fd >= 0 && bytes > 0) {
		ssize_t n = write(fd, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);

		if (n <= 0)
			fail(path, NULL);
		bytes -= n;
	}
	if (fd < 0 || close(fd) < 0)
		fail(path, NULL);
}

static void make_tree(void)
{
	char path[64];

	if (mkdir("tree", 0755) < 0 || mkdir("share", 0755) < 0)
		fail("mkdir", NULL);
	for (int i = 0; i < DIRECTORIES; i++) {
		(void)snprintf(path, sizeof path, "tree/%d", i);
		if (mkdir(path, 0755) < 0)
			fail(path, NULL);
		for (int j = 0; j < FILES; j++) {
			(void)snprintf(path, sizeof path, "tree/%d/%d", i, j);
			write_file(path, 1 + (i * FILES + j) * 37 % FILE_MAX);
		}
	}
}

/* The whole program, as the peer is; the sandbox lives. */
static void ours_copy(const char *to)
{
	char target[4300];
	const char *const argv[] = {cli, "cp", "tree", target, NULL};

	(void)snprintf(target, sizeof target, "bench:%s", to);
	spawn_and_wait(argv);
}

static void peer_copy(const char *to)
{
	const char *const argv[] = {
		"sh", "-c", "mkdir \"$1\" && tar -C tree -cf - . | tar -C \"$1\" -xf -",
		"sh", to,   NULL};

	spawn_and_wait(argv);
}

static void ours_to_disk(void)
{
	char path[4200];

	(void)snprintf(path, sizeof path, "%s/%s", here, ours_on_disk);
	ours_copy(path);
}

static void peer_to_disk(void)
{
	peer_copy(peer_on_disk);
}

static void ours_to_memory(void)
{
	ours_copy("/tmp/ours");
}

static void peer_to_memory(void)
{
	peer_copy(in_memory);
}

static void run_inside(const char *command)
{
	const char *const argv[] = {cli, "exec", "bench", "--", "sh", "-c", command, NULL};

	spawn_and_wait(argv);
}

/*
 * On disk each round has directories of its own: to a file system that passes over what was deleted
 * a moment ago (ext4 does, one by one), removing what the next round makes again would be most of
 * what is measured.
 */
static void begin_round(int round)
{
	const char *const argv[] = {"rm", "-rf", in_memory, NULL};

	spawn_and_wait(argv);
	run_inside("rm -rf /tmp/ours");
	(void)snprintf(ours_on_disk, sizeof ours_on_disk, "share/ours%d", round);
	(void)snprintf(peer_on_disk, sizeof peer_on_disk, "share/peer%d", round);
}

/* What was measured is the same work. */
static void check_copies(void)
{
	const char *const ours[] = {"diff", "-r", "tree", ours_on_disk, NULL};
	const char *const peer[] = {"diff", "-r", "tree",
	                            access(peer_on_disk, F_OK) == 0 ? peer_on_disk : in_memory,
	                            NULL};

	spawn_and_wait(peer);
	if (access(ours_on_disk, F_OK) == 0)
		spawn_and_wait(ours);
	else
		run_inside("[ $(find /tmp/ours -type f | wc -l) = 10000 ]");
}

static void ours_read(void)
{
	struct yett_error error = {0};
	char path[4200];
	long long bytes = 0;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof path, "%s/share/large", here);
	if (yett_file_open(sandbox, path, YETT_OPEN_READ, 0, &fd, &error))
		fail("open", &error);
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		bytes += n;
	if (n < 0 || bytes != LARGE_BYTES)
		fail("read", NULL);
	close(fd);
}

static void peer_read(void)
{
	static const char *const argv[] = {"cat", "share/large", NULL};

	spawn_and_wait(argv);
}

/* Each in turn; the first round finds caches as it leaves them, and does not count. */
static void measure(const char *name, void (*ours)(void), const char *peer_name, void (*peer)(void),
                    double wanted, FILE *json)
{
	double o[ROUNDS], p[ROUNDS];

	for (int n = -1; n < ROUNDS; n++) {
		double a, b;

		begin_round(n + 1);
		a = timed(ours, 0);
		b = timed(peer, 0);
		if (n < 0 && ours != ours_read)
			check_copies();
		if (n >= 0) {
			o[n] = a;
			p[n] = b;
		}
	}
	report(json, name, "service", median(o, ROUNDS), peer_name, median(p, ROUNDS), wanted);
}

/* Of the disk, and of the memory that is to hold the file: else the disk would be measured. */
static bool has_room(const char *what, long long bytes)
{
	if (bytes >= ROOM_BYTES)
		return true;
	printf("not measured: files of 1 GiB: %s has %lld MiB free, wanted %lld\n", what,
	       bytes >> 20, ROOM_BYTES >> 20);
	return false;
}

static long long memory_available(void)
{
	FILE *info = fopen("/proc/meminfo", "re");
	long long kib = 0;
	char line[128];

	while (info && fgets(line, sizeof line, info))
		(void)!sscanf(line, "MemAvailable: %lld kB", &kib);
	if (info)
		fclose(info);
	return kib << 10;
}

int main(int argc, char **argv)
{
	struct yett_share share = {
		.size = sizeof share, .path = "share", .flags = YETT_SHARE_WRITABLE};
	struct yett_sandbox_options options = {
		.size = sizeof options, .shares = &share, .shares_count = 1, .name = "bench"};
	struct yett_connection *connection;
	struct yett_error error = {0};
	char target[4200];
	struct statvfs disk;
	bool created;
	FILE *json;

	if (argc != 5) {
		fprintf(stderr, "usage: files CLI JSON-LINES DIRECTORY DIRECTORY-IN-MEMORY\n");
		return 2;
	}
	cli = argv[1];
	json = fopen(argv[2], "ae");
	if (!json || chdir(argv[3]) < 0 || statvfs(".", &disk) < 0 || !getcwd(here, sizeof here))
		fail(argv[3], NULL);
	(void)snprintf(target, sizeof target, "%s/share", here);
	share.target = target;
	memset(chunk, 'x', sizeof chunk);
	make_tree();
	if (yett_key_ensure(NULL, &created, &error) || yett_connect(NULL, &connection, &error) ||
	    yett_sandbox_create(connection, &options, &sandbox, &error))
		fail("start", &error);
	(void)snprintf(in_memory, sizeof in_memory, "%s/peer", argv[4]);
	measure("yett cp, 10,000 small files, in memory", ours_to_memory, "tar | tar",
	        peer_to_memory, 1.5, json);
	measure("yett cp, 10,000 small files, on disk", ours_to_disk, "tar | tar", peer_to_disk,
	        1.5, json);
	if (has_room("the disk", (long long)disk.f_bavail * (long long)disk.f_frsize) &&
	    has_room("the memory", memory_available())) {
		write_file("share/large", LARGE_BYTES);
		measure("open and read of 1 GiB", ours_read, "cat", peer_read, 1 / 0.95, json);
	}
	begin_round(0); /* leaves nothing in memory */
	fclose(json);
	yett_sandbox_end(sandbox, NULL);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return 0;
}
