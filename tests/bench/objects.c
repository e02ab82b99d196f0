/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes many of one kind of what the kernel keeps for a process, and keeps them: objects KIND
 * COUNT. Runs as a command in a sandbox. Prints how many it has got, and why there are no more, and
 * waits for the end of its input. objects.py compares what they take of the host's memory with what
 * the sandbox is charged for.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static char bytes[1 << 16];
static int first = -1; /* what others of a kind are about */

static int own_socket(int family, int type, int protocol)
{
	return socket(family, type | SOCK_CLOEXEC, protocol);
}

/* --- descriptors --- */

static int make_pipe(unsigned i)
{
	int ends[2];

	(void)i;
	return pipe(ends);
}

static int make_full_pipe(unsigned i)
{
	int ends[2];

	(void)i;
	if (pipe2(ends, O_NONBLOCK) < 0)
		return -1;
	return write(ends[1], bytes, sizeof bytes) < 0 ? -1 : 0;
}

static int make_file(unsigned i)
{
	(void)i;
	return open("/dev/null", O_RDONLY);
}

static int make_eventfd(unsigned i)
{
	return eventfd(i, 0);
}

static int make_epoll(unsigned i)
{
	(void)i;
	return epoll_create1(0);
}

static int make_watch_of_epoll(unsigned i)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = eventfd(i, 0);

	first = first < 0 ? epoll_create1(0) : first;
	return fd < 0 ? -1 : epoll_ctl(first, EPOLL_CTL_ADD, fd, &event);
}

static int make_timerfd(unsigned i)
{
	(void)i;
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int make_signalfd(unsigned i)
{
	sigset_t none;

	(void)i;
	(void)sigemptyset(&none);
	return signalfd(-1, &none, 0);
}

static int make_inotify(unsigned i)
{
	(void)i;
	return inotify_init1(0);
}

static int make_watch_of_inotify(unsigned i)
{
	char name[64];

	first = first < 0 ? inotify_init1(0) : first;
	(void)snprintf(name, sizeof name, "/tmp/w%u", i);
	return mkdir(name, 0700) < 0 ? -1 : inotify_add_watch(first, name, IN_ALL_EVENTS);
}

static int make_pidfd(unsigned i)
{
	(void)i;
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int make_memfd(unsigned i)
{
	int fd = memfd_create("x", 0);

	(void)i;
	return fd < 0 ? -1 : (int)write(fd, bytes, PAGE);
}

static int make_terminal(unsigned i)
{
	(void)i;
	return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

static int make_userfaultfd(unsigned i)
{
	(void)i;
	return (int)syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
}

static int make_ring(unsigned i)
{
	char parameters[120] = "";

	(void)i;
	return (int)syscall(SYS_io_uring_setup, 64, parameters);
}

static int make_ruleset(unsigned i)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE};

	(void)i;
	return (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
}

static int make_context(unsigned i)
{
	aio_context_t context = 0;

	(void)i;
	return (int)syscall(SYS_io_setup, 128, &context);
}

/* --- sockets --- */

static int make_unix(unsigned i)
{
	int pair[2];

	(void)i;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int fill(int fd)
{
	while (send(fd, bytes, sizeof bytes / 2, MSG_DONTWAIT) > 0) {
	}
	return errno == EAGAIN ? 0 : -1;
}

static int make_full_unix(unsigned i)
{
	int pair[2];

	(void)i;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? -1 : fill(pair[0]);
}

static int make_full_datagrams(unsigned i)
{
	int pair[2];

	(void)i;
	return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ? -1 : fill(pair[0]);
}

static int make_flight(unsigned i)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec one = {bytes, 1};
	struct msghdr message = {.msg_iov = &one,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof control};
	int pair[2], fd = eventfd(i, 0);

	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    sendmsg(pair[0], &message, 0) < 0)
		return -1;
	return close(fd);
}

static int make_udp(unsigned i)
{
	(void)i;
	return own_socket(AF_INET, SOCK_DGRAM, 0);
}

/* One that nobody reads from, full. */
static int make_full_udp(unsigned i)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int to = own_socket(AF_INET, SOCK_DGRAM, 0), from = own_socket(AF_INET, SOCK_DGRAM, 0);

	(void)i;
	if (to < 0 || from < 0 || bind(to, (struct sockaddr *)&at, sizeof at) < 0 ||
	    getsockname(to, (struct sockaddr *)&at, &size) < 0 ||
	    connect(from, (struct sockaddr *)&at, sizeof at) < 0)
		return -1;
	for (int n = 0; n < 64; n++)
		(void)!send(from, bytes, 8192, MSG_DONTWAIT);
	return close(from);
}

static int make_tcp(unsigned i)
{
	(void)i;
	return own_socket(AF_INET, SOCK_STREAM, 0);
}

static int make_full_tcp(unsigned i)
{
	static struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof at;
	int fd = own_socket(AF_INET, SOCK_STREAM, 0);

	(void)i;
	if (first < 0) {
		at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		first = own_socket(AF_INET, SOCK_STREAM, 0);
		if (first < 0 || bind(first, (struct sockaddr *)&at, sizeof at) < 0 ||
		    listen(first, 4096) < 0 ||
		    getsockname(first, (struct sockaddr *)&at, &size) < 0)
			return -1;
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    accept(first, NULL, NULL) < 0)
		return -1;
	return fill(fd);
}

static int make_packet(unsigned i)
{
	(void)i;
	return own_socket(AF_PACKET, SOCK_RAW, 0);
}

/* With answers that nobody reads. */
static int make_netlink(unsigned i)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} ask = {{sizeof ask, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {AF_UNSPEC}};
	int fd = own_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	(void)i;
	return fd < 0 ? -1 : (int)send(fd, &ask, sizeof ask, 0);
}

static int make_filtered(unsigned i)
{
	struct sock_filter pass = {BPF_RET | BPF_K, 0, 0, 1};
	struct sock_fprog program = {1, &pass};
	int fd = own_socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)i;
	return fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* --- processes --- */

static void *sleeper(void *data)
{
	(void)pause();
	return data;
}

static int make_thread(unsigned i)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)i;
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 1 << 14);
	errno = pthread_create(&thread, &attr, sleeper, NULL);
	return errno ? -1 : 0;
}

static int make_process(unsigned i)
{
	pid_t pid = fork();

	(void)i;
	if (pid == 0)
		(void)pause();
	return pid < 0 ? -1 : 0;
}

static int make_zombie(unsigned i)
{
	pid_t pid = fork();

	(void)i;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : 0;
}

static int make_timer(unsigned i)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	(void)i;
	return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

static int make_signal(unsigned i)
{
	union sigval value = {.sival_int = (int)i};
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	return sigqueue(getpid(), SIGRTMIN, value);
}

static int make_filter(unsigned i)
{
	struct sock_filter pass = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog program = {1, &pass};

	(void)i;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
	               ? -1
	               : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int make_namespace(unsigned i)
{
	(void)i;
	return unshare(CLONE_NEWUSER);
}

static int make_key(unsigned i)
{
	char name[32];

	(void)snprintf(name, sizeof name, "k%u", i);
	return (int)syscall(SYS_add_key, "user", name, bytes, 1000, -4 /* KEY_SPEC_USER_KEYRING */);
}

static int make_perf_event(unsigned i)
{
	char attr[128] = {1, 0, 0, 0, 112};

	(void)i;
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
}

/* --- memory --- */

static int make_mapping(unsigned i)
{
	/* other rights, so that neighbours are not one */
	return mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	            0) == MAP_FAILED
	               ? -1
	               : 0;
}

/* A page of each 2 MiB: a table for each. */
static int make_table(unsigned i)
{
	volatile char *at =
		mmap(NULL, 4 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)i;
	return at == MAP_FAILED ? -1 : at[2 << 20];
}

static int make_locked(unsigned i)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)i;
	return at == MAP_FAILED ? -1 : mlock(at, PAGE);
}

static int make_huge(unsigned i)
{
	volatile char *at = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
	                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	(void)i;
	if (at == MAP_FAILED)
		return -1;
	at[0] = 1;
	return 0;
}

static int make_policy(unsigned i)
{
	unsigned long nodes = 1;
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)i;
	return at == MAP_FAILED ? -1 : (int)syscall(SYS_mbind, at, PAGE, 2, &nodes, 2, 0);
}

/* --- of System V and POSIX --- */

static int make_segment(unsigned i)
{
	(void)i;
	return shmget(IPC_PRIVATE, PAGE, 0600);
}

static int make_semaphores(unsigned i)
{
	(void)i;
	return semget(IPC_PRIVATE, 1000, 0600);
}

static int make_messages(unsigned i)
{
	struct {
		long type;
		char text[8000];
	} message = {.type = 1};
	int queue = msgget(IPC_PRIVATE, 0600);

	(void)i;
	return queue < 0 ? -1 : msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT);
}

static int make_queue(unsigned i)
{
	char name[32];

	(void)snprintf(name, sizeof name, "/q%u", i);
	return (int)mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
}

/* --- files --- */

static int make_inode(unsigned i)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof name, "/tmp/f%u", i);
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	return fd < 0 ? -1 : close(fd);
}

static int make_link(unsigned i)
{
	char name[64];

	(void)snprintf(name, sizeof name, "/tmp/l%u", i);
	return symlink(name, name);
}

static int make_absence(unsigned i)
{
	char name[300];

	(void)snprintf(name, sizeof name, "/tmp/%0200u", i);
	return access(name, F_OK) < 0 && errno == ENOENT ? 0 : -1;
}

static int make_attribute(unsigned i)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof name, "/tmp/a%u", i);
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || fsetxattr(fd, "user.x", bytes, 1000, 0) < 0)
		return -1;
	return close(fd);
}

static int own_file(void)
{
	return first < 0 ? (first = open("/tmp/locked", O_CREAT | O_RDWR, 0600)) : first;
}

static int make_lock(unsigned i)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * (off_t)i, .l_len = 1};

	return own_file() < 0 ? -1 : fcntl(first, F_SETLK, &lock);
}

static int make_ofd_lock(unsigned i)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * (off_t)i, .l_len = 1};

	return own_file() < 0 ? -1 : fcntl(first, F_OFD_SETLK, &lock);
}

static int make_flock(unsigned i)
{
	int fd = open("/tmp/locked", O_CREAT | O_RDWR, 0600);

	(void)i;
	return fd < 0 ? -1 : flock(fd, LOCK_SH);
}

static int make_lease(unsigned i)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof name, "/tmp/s%u", i);
	fd = open(name, O_CREAT | O_RDONLY, 0600);
	return fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK);
}

static int make_dnotify(unsigned i)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);

	(void)i;
	return fd < 0 ? -1 : fcntl(fd, F_NOTIFY, 0x80000000 | 4 /* DN_MULTISHOT | DN_CREATE */);
}

static int make_mount_context(unsigned i)
{
	(void)i;
	return (int)syscall(SYS_fsopen, "tmpfs", 0);
}

static const struct {
	const char *name;
	int (*make)(unsigned i);
} kinds[] = {
	{"pipe", make_pipe},
	{"full-pipe", make_full_pipe},
	{"file", make_file},
	{"eventfd", make_eventfd},
	{"epoll", make_epoll},
	{"epoll-watch", make_watch_of_epoll},
	{"timerfd", make_timerfd},
	{"signalfd", make_signalfd},
	{"inotify", make_inotify},
	{"inotify-watch", make_watch_of_inotify},
	{"pidfd", make_pidfd},
	{"memfd", make_memfd},
	{"terminal", make_terminal},
	{"userfaultfd", make_userfaultfd},
	{"io_uring", make_ring},
	{"landlock-ruleset", make_ruleset},
	{"aio-context", make_context},
	{"unix", make_unix},
	{"full-unix", make_full_unix},
	{"full-datagrams", make_full_datagrams},
	{"descriptor-in-flight", make_flight},
	{"udp", make_udp},
	{"full-udp", make_full_udp},
	{"tcp", make_tcp},
	{"full-tcp", make_full_tcp},
	{"packet", make_packet},
	{"netlink-unread", make_netlink},
	{"filtered-socket", make_filtered},
	{"thread", make_thread},
	{"process", make_process},
	{"zombie", make_zombie},
	{"timer", make_timer},
	{"signal", make_signal},
	{"seccomp-filter", make_filter},
	{"user-namespace", make_namespace},
	{"key", make_key},
	{"perf-event", make_perf_event},
	{"mapping", make_mapping},
	{"page-table", make_table},
	{"locked-page", make_locked},
	{"huge-page", make_huge},
	{"memory-policy", make_policy},
	{"sysv-memory", make_segment},
	{"sysv-semaphores", make_semaphores},
	{"sysv-messages", make_messages},
	{"message-queue", make_queue},
	{"inode", make_inode},
	{"symlink", make_link},
	{"negative-dentry", make_absence},
	{"attribute", make_attribute},
	{"lock", make_lock},
	{"ofd-lock", make_ofd_lock},
	{"flock", make_flock},
	{"lease", make_lease},
	{"dnotify", make_dnotify},
	{"mount-context", make_mount_context},
};
#define KINDS (sizeof kinds / sizeof *kinds)

int main(int argc, char **argv)
{
	struct rlimit limit;
	unsigned count, made = 0;
	size_t kind = 0;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (size_t i = 0; i < KINDS; i++)
			(void)puts(kinds[i].name);
		return 0;
	}
	while (argc == 3 && kind < KINDS && strcmp(kinds[kind].name, argv[1]) != 0)
		kind++;
	if (argc != 3 || kind == KINDS)
		return 2;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)signal(SIGCHLD, SIG_DFL);
	count = (unsigned)strtoul(argv[2], NULL, 10);
	errno = 0;
	while (made < count && kinds[kind].make(made) >= 0)
		made++;
	(void)printf("%u %s\n", made, made < count ? strerror(errno) : "-");
	(void)fflush(stdout);
	(void)!read(STDIN_FILENO, bytes, 1);
	(void)kill(0, SIGKILL);
	return 0;
}
