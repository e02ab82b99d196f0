/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-files as a hostile sandbox would have it: inside it answers as the path of the request says
 * ("/tmp/fifo": with a FIFO), outside it becomes the real one. `fake-files archive NAME` writes one
 * of its archives to stdout.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

#define SOCKET 1

static struct message request, answer;
static struct frame frame;

/* --- archives: ustar(5), by hand, for no library writes what these are to hold --- */

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[8], owner[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == 512, "a block of tar");

static int put_all(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size > 0;) {
		ssize_t n = write(fd, at, size);

		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int put(int fd, const char *name, char type, unsigned mode, const char *link,
               const char *content, unsigned long long size)
{
	struct header header = {.type = type, .magic = "ustar"};
	const unsigned char *bytes = (const unsigned char *)&header;
	char block[512] = "";
	unsigned sum = 0;

	memcpy(header.magic + 6, "00", 2);
	(void)snprintf(header.name, sizeof header.name, "%s", name);
	(void)snprintf(header.link, sizeof header.link, "%s", link);
	(void)snprintf(header.mode, sizeof header.mode, "%07o", mode);
	(void)snprintf(header.uid, sizeof header.uid, "%07o", 0U);
	(void)snprintf(header.gid, sizeof header.gid, "%07o", 0U);
	(void)snprintf(header.size, sizeof header.size, "%011llo", size);
	(void)snprintf(header.mtime, sizeof header.mtime, "%011o", 0U);
	(void)snprintf(header.major, sizeof header.major, "%07o", 1U);
	(void)snprintf(header.minor, sizeof header.minor, "%07o", 3U);
	memset(header.checksum, ' ', sizeof header.checksum);
	for (size_t i = 0; i < sizeof header; i++)
		sum += bytes[i];
	(void)snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
	if (put_all(fd, &header, sizeof header) < 0)
		return -1;
	if (!content)
		return 0;
	(void)snprintf(block, sizeof block, "%s", content);
	return put_all(fd, block, sizeof block);
}

#define ROOT                                    \
	{                                       \
		"root/", '5', 0755, "", NULL, 0 \
	}
#define DIRECTORY(n, m)                \
	{                              \
		n, '5', m, "", NULL, 0 \
	}
#define REGULAR(n, m)                                          \
	{                                                      \
		n, '0', m, "", "hostile", sizeof "hostile" - 1 \
	}
#define VICTIM(n) REGULAR(n, 0644)
#define SYMLINK(n, to)                    \
	{                                 \
		n, '2', 0777, to, NULL, 0 \
	}
#define HARD_LINK(n, to)                  \
	{                                 \
		n, '1', 0644, to, NULL, 0 \
	}
#define SPECIAL(n, type)                   \
	{                                  \
		n, type, 0666, "", NULL, 0 \
	}
#define AFTER REGULAR("root/after", 0644)

/* Archives of a few entries. A request names the archive that it wants. */
static const struct {
	const char *name;
	struct entry {
		const char *name;
		char type;
		unsigned mode;
		const char *link, *content;
		unsigned long long size;
	} entries[5];
} archives[] = {
	{"root-link", {SYMLINK("root", "../outside"), VICTIM("root/victim")}},
	{"climb", {ROOT, VICTIM("root/../../outside/victim")}},
	{"absolute", {ROOT, VICTIM("/tmp/yett-test-victim")}},
	{"elsewhere", {ROOT, VICTIM("other/victim")}},
	{"through-link",
         {ROOT, SYMLINK("root/a", "../../outside"), VICTIM("root/a/victim"), AFTER}},
	{"through-link-within",
         {ROOT, DIRECTORY("root/d/", 0755), SYMLINK("root/a", "d"), VICTIM("root/a/victim"),
          AFTER}},
	{"over-link", {ROOT, SYMLINK("root/a", "../../outside/victim"), VICTIM("root/a")}},
	{"directory-over-link",
         {ROOT, SYMLINK("root/a", "../../outside"), DIRECTORY("root/a/", 0777),
          VICTIM("root/a/victim")}},
	{"hard-link", {ROOT, HARD_LINK("root/a", "root/../../outside/victim")}},
	{"hard-link-absolute", {ROOT, HARD_LINK("root/a", "/etc/passwd")}},
	{"hard-link-through-link",
         {ROOT, SYMLINK("root/d", "../../outside"), HARD_LINK("root/a", "root/d/victim"), AFTER}},
	{"set-id", {ROOT, REGULAR("root/set-id", 06755), DIRECTORY("root/d/", 02755)}},
	{"device",
         {ROOT, SPECIAL("root/null", '3'), SPECIAL("root/disk", '4'), SPECIAL("root/fifo", '6'),
          AFTER}},
	{"twice", {ROOT, ROOT}},
	{"cut", {ROOT, {"root/a", '0', 0644, "", "half", 4000}}},
};

static int put_entry(int fd, const struct entry *entry)
{
	return put(fd, entry->name, entry->type, entry->mode, entry->link, entry->content,
	           entry->size);
}

static void put_archive(int fd, const char *which)
{
	for (size_t i = 0; i < ARRAY_SIZE(archives); i++) {
		const struct entry *entries = archives[i].entries;

		if (strcmp(archives[i].name, which) != 0)
			continue;
		for (size_t at = 0; at < ARRAY_SIZE(archives[i].entries) && entries[at].name; at++)
			if (put_entry(fd, &entries[at]) < 0)
				return;
	}
}

static int write_archive(int fd, const char *which)
{
	static const struct entry root = ROOT;
	static const char end[1024];
	char name[32], zeros[512] = "", lines[4096];

	put_archive(fd, which);
	if (strcmp(which, "cut") == 0)
		return 0;
	if (strcmp(which, "garbage") == 0) {
		(void)put_all(fd, memset(zeros, 'x', sizeof zeros), sizeof zeros);
	} else if (strcmp(which, "endless-entries") == 0) {
		(void)put_entry(fd, &root);
		for (unsigned i = 0; snprintf(name, sizeof name, "root/%u", i) > 0 &&
		                     put_entry(fd, &(struct entry)VICTIM(name)) == 0;)
			i++;
	} else if (strcmp(which, "endless-holes") == 0) {
		/* a sparse file of GNU's format 1.0, whose map claims to have a thousand million
		 * lines */
		(void)(put(fd, "x", 'x', 0644, "",
		           "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n24 GNU.sparse.name=root\n28 GNU.sparse.realsize=1000\n",
		           22 + 22 + 24 + 28) ||
		       put(fd, "root", '0', 0644, "", NULL, 077777777777ULL) ||
		       put_all(fd, "1000000000\n", 11));
		for (size_t i = 0; i < sizeof lines; i += 2)
			memcpy(lines + i, "0\n", 2);
		while (put_all(fd, lines, sizeof lines) == 0)
			continue;
	} else if (strcmp(which, "endless-data") == 0) {
		(void)put(fd, "root", '0', 0644, "", "x", 077777777777ULL);
		while (put_all(fd, zeros, sizeof zeros) == 0)
			continue;
	} else if (strcmp(which, "endless-drip") == 0) {
		/* too slow to fill a disk, and never so slow that it is given up on */
		(void)put(fd, "root", '0', 0644, "", "x", 077777777777ULL);
		while (put_all(fd, zeros, 1) == 0)
			(void)usleep(10000);
	}
	return put_all(fd, end, sizeof end);
}

/* --- answers --- */

static void say(enum message_kind kind, const int *fds, size_t count)
{
	answer.kind = (uint32_t)kind;
	if (frame_send_message(SOCKET, &answer, 1, fds, count, 0) < 0)
		_exit(1);
}

static void add_entry(const char *name)
{
	struct message_file_entries *body = &answer.body.file_entries;
	struct message_file_entry *entry = &body->entries[body->entries_count++];

	*entry = (struct message_file_entry){.kind = FILE_REGULAR};
	if (message_add_text(&answer, name, &entry->name) < 0)
		_exit(1);
}

static void list(const char *which)
{
	if (strcmp(which, "endless") == 0)
		for (unsigned i = 0;; i++) {
			char name[16];

			(void)snprintf(name, sizeof name, "%u", i);
			if (i % MESSAGE_FILE_ENTRIES_MAX == 0) {
				if (i > 0)
					say(MESSAGE_FILE_ENTRIES, NULL, 0);
				answer = (struct message){0};
			}
			add_entry(name);
		}
	add_entry(strcmp(which, "dots") == 0 ? ".." : "../../etc/passwd");
	say(MESSAGE_FILE_ENTRIES, NULL, 0);
}

static void open_something(const char *which)
{
	int pair[2] = {-1, -1}, fd = -1, count = 1;

	if (strcmp(which, "fifo") == 0 && mkfifo("/tmp/a-fifo", 0600) == 0)
		fd = open("/tmp/a-fifo", O_RDWR);
	else if (strcmp(which, "pipe") == 0 && pipe(pair) == 0)
		fd = pair[0];
	else if (strcmp(which, "device") == 0)
		fd = open("/dev/zero", O_RDONLY);
	else if (strcmp(which, "directory") == 0)
		fd = open("/", O_RDONLY | O_DIRECTORY);
	else if (strcmp(which, "path") == 0)
		fd = open("/etc/passwd", O_PATH);
	else if (strcmp(which, "symlink") == 0 && symlink("/etc/shadow", "/tmp/a-link") == 0)
		fd = open("/tmp/a-link", O_PATH | O_NOFOLLOW);
	else if (strcmp(which, "socket") == 0)
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
	else if (strcmp(which, "listens-tcp") == 0) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		(void)!listen(fd, 1);
	} else if (strcmp(which, "listens-packets") == 0) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		(void)!(bind(fd,
		             (const struct sockaddr *)&(const struct sockaddr_un){.sun_family =
		                                                                          AF_UNIX},
		             sizeof(sa_family_t)) < 0 ||
		        listen(fd, 1) < 0);
	} else if (strcmp(which, "proc") == 0)
		fd = open("/proc/self/status", O_RDONLY);
	else if (strcmp(which, "write-only") == 0)
		fd = open("/tmp/a-file", O_WRONLY | O_CREAT, 0600);
	else if (strcmp(which, "append") == 0)
		fd = open("/tmp/a-file", O_RDONLY | O_CREAT | O_APPEND, 0600);
	else if (strcmp(which, "two") == 0)
		fd = open("/etc/passwd", O_RDONLY), count = 2;
	else if (strcmp(which, "none") == 0)
		count = 0;
	if (fd < 0 && count > 0)
		_exit(1);
	say(MESSAGE_FILE_OPENED, (const int[]){fd, fd}, (size_t)count);
}

static void pack(const char *which, int stream)
{
	if (strcmp(which, "endless-skipped") == 0)
		for (;;) {
			answer = (struct message){0};
			if (message_add_text(&answer, "/x", &answer.body.file_skipped.path) < 0 ||
			    message_add_text(&answer, "no", &answer.body.file_skipped.why) < 0)
				_exit(1);
			say(MESSAGE_FILE_SKIPPED, NULL, 0);
		}
	if (strcmp(which, "silent") == 0)
		(void)pause();
	(void)write_archive(stream, which);
	(void)close(stream);
	say(MESSAGE_FILE_DONE, NULL, 0);
	if (strcmp(which, "cut") == 0)
		(void)pause();
}

static void lie(const char *path, int stream)
{
	const char *which = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (strcmp(which, "gone") == 0)
		_exit(3);
	if (strcmp(which, "bytes") == 0)
		(void)!send(SOCKET, "what is this", 12, 0);
	else if (strcmp(which, "other-kind") == 0)
		say(MESSAGE_FILE_DONE, NULL, 0);
	else if (strcmp(which, "done-and-more") == 0)
		say(MESSAGE_STARTED, NULL, 0);
	else if (request.body.file.operation == FILE_OPEN ||
	         request.body.file.operation == FILE_LISTEN)
		open_something(which);
	else if (request.body.file.operation == FILE_LIST)
		list(which);
	else
		pack(which, stream);
}

int main(int argc, char *argv[])
{
	char path[PATH_MAX], *slash;
	ssize_t n;

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], "archive") == 0)
		return write_archive(STDOUT_FILENO, argv[2]) < 0;
	if (argc == 2 && strcmp(argv[1], "0") == 0) {
		n = readlink("/proc/self/exe", path, sizeof path - 64);
		path[n > 0 ? n : 0] = '\0';
		slash = strrchr(path, '/');
		if (!slash)
			return 1;
		(void)strcpy(slash, "/../../helper/yett-files");
		(void)execv(path, argv);
		return 1;
	}
	if (frame_receive(SOCKET, &frame, 0) <= 0 ||
	    message_decode(MESSAGE_FILE, frame.bytes + envelope_size(MESSAGE_FILE),
	                   frame.length - envelope_size(MESSAGE_FILE), &request, NULL) != 0)
		return 1;
	lie(message_text(&request, request.body.file.path), frame.fd_count > 0 ? frame.fds[0] : -1);
	return 0;
}
