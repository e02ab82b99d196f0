/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's answers to forbidden system calls, and what it tells of them. setup/ and the
 * followers are played here. */
#include <string.h>

#include "tests/support/testing.h"
#include "tests/support/waiting.h"
#include "helper/setup/setup.h"
#include "helper/supervisor/denied.h"
#include "protocol/frame_message.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define FIRST 1000 /* no kernel has these calls, so they fail with ENOSYS where nobody is asked */
#define PID   77

static struct message_happened reports[64];
static uint32_t lost[64];
static size_t told_count, asked; /* asked: for the process of a thread */
static uint64_t slow_ms; /* not 0: the clock goes a millisecond forward with each look at it, and
                            callers are waited for */

int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	if (slow_ms == 0)
		return (int)syscall(SYS_clock_gettime, clock, ret_now);
	*ret_now = (struct timespec){.tv_sec = (time_t)(++slow_ms / 1000),
	                             .tv_nsec = (long)(slow_ms % 1000) * 1000000};
	return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const struct timespec second = {.tv_sec = 1},
			      given = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	return (int)syscall(SYS_ppoll, fds, count,
	                    slow_ms          ? &second
	                    : timeout_ms < 0 ? NULL
	                                     : &given,
	                    NULL, 0);
}

void events_report(struct events *events, struct message_happened event,
                   const struct iovec *network, uint32_t lost_before)
{
	assert_non_null(events);
	assert_null(network);
	assert_int_equal(event.kind, EVENT_DENIED);
	assert_true(told_count < ARRAY_SIZE(reports));
	lost[told_count] = lost_before;
	reports[told_count++] = event;
}

uint32_t setup_pid_inside(uint32_t thread)
{
	assert_true(thread > 1);
	asked++;
	return PID;
}

/* From here on all from FIRST on are forbidden. */
static void forbid(int socket)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_SIZE(code), code};
	int listener;

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                        SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (frame_send(socket, "", 1, &listener, 1, 0) < 0)
		_exit(255);
	(void)close(listener);
}

/* Makes `count` calls from FIRST on, or again and again the first; the exit status says how many
 * failed with EPERM. */
static _Noreturn void call(int socket, int count, bool is_one)
{
	int refused = 0;

	forbid(socket);
	for (int i = 0; i < count; i++)
		refused += syscall(FIRST + (is_one ? 0 : i)) == -1 && errno == EPERM;
	_exit(refused);
}

/* Sixteen processes that call without end, and count what is refused. */
static _Noreturn void call_for_ever(int socket, unsigned *refused)
{
	(void)setpgid(0, 0);
	forbid(socket);
	for (int i = 0; i < 4; i++)
		(void)fork();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0,
	            0); /* each with its parent, if the test is killed */
	for (;;)
		if (syscall(FIRST) == -1)
			(void)__atomic_add_fetch(refused, 1, __ATOMIC_SEQ_CST);
}

static struct denied denied;
static struct events events;

static int receive_listener(int socket)
{
	static struct frame frame;

	frame.fd_count = 0;
	assert_int_equal(frame_receive(socket, &frame, 0), 1);
	assert_int_equal(frame.fd_count, 1);
	return frame.fds[0];
}

/* Starts a process that calls, and answers until it has ended; the number of its calls that were
 * refused. */
static int answer(int count, bool is_one, bool is_followed)
{
	int pair[2], pidfd, status;
	pid_t pid;

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), errno);
	pid = fork();
	if (pid == 0)
		call(pair[1], count, is_one);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_return_code(pidfd, errno);
	close(pair[1]);
	told_count = asked = 0;
	events.are_followed = is_followed;
	denied = (struct denied){.listener = receive_listener(pair[0])};
	for (struct pollfd wait[2] = {{.events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	     !wait[1].revents;) {
		wait[0].fd = denied_fd(&denied);
		/* Without a descriptor it has answered enough for a moment, and must be asked
		 * again. */
		if (poll(wait, 2, wait[0].fd >= 0 ? waiting_deadline_ms() : 1) == 0 &&
		    wait[0].fd >= 0)
			fail_msg("neither a call nor the end of the caller");
		if (wait[0].revents & POLLIN)
			denied_answer(&denied, &events);
	}
	close(pidfd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pair[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(the_first_is_told_at_once_and_the_others_together)
{
	assert_int_equal(answer(200, true, true), 200);
	assert_int_equal(told_count, 1);
	assert_int_equal(reports[0].call, FIRST);
	assert_int_equal(reports[0].pid, PID);
	assert_int_equal(reports[0].count, 1);
	assert_int_equal(asked, 1);
	denied_end(&denied, &events);
	assert_int_equal(told_count, 2);
	assert_int_equal(reports[1].call, FIRST);
	assert_int_equal(reports[1].count, 199);
	assert_int_equal(lost[1], 0);
	assert_int_equal(denied_fd(&denied), -1);
}

TEST(of_more_kinds_than_are_told_it_is_told_that_they_are_lost)
{
	assert_int_equal(answer(DENIED_CALLS_MAX + 5, false, true), DENIED_CALLS_MAX + 5);
	assert_int_equal(told_count, DENIED_CALLS_MAX);
	for (int i = 0; i < DENIED_CALLS_MAX; i++) {
		assert_int_equal(reports[i].call, FIRST + i);
		assert_int_equal(lost[i], 0);
	}
	assert_int_equal(denied.lost, 5);
	denied.calls[3].count = 1; /* as if it had been made once more */
	denied_end(&denied, &events);
	assert_int_equal(told_count, DENIED_CALLS_MAX + 1);
	assert_int_equal(reports[DENIED_CALLS_MAX].call, FIRST + 3);
	assert_int_equal(lost[DENIED_CALLS_MAX], 5);
}

TEST(without_a_follower_they_are_refused_as_well)
{
	assert_int_equal(answer(100, false, false), 100);
	denied_end(&denied, &events);
	assert_int_equal(told_count, 0);
	assert_int_equal(asked, 0);
}

TEST(what_was_not_made_again_within_a_second_is_told_at_once_again)
{
	assert_int_equal(answer(2, false, true), 2);
	assert_int_equal(denied.count, 2);
	denied.calls[1].count = 7;
	denied.reported_ms -= 1000; /* a second later */
	assert_true(denied_report(&denied, &events) <= 1000);
	assert_int_equal(told_count, 3);
	assert_int_equal(reports[2].call, FIRST + 1);
	assert_int_equal(reports[2].count, 7);
	assert_int_equal(denied.count, 1); /* which is told of for another second */
	denied.reported_ms -= 1000;
	assert_true(denied_report(&denied, &events) == UINT64_MAX);
	assert_int_equal(told_count, 3);
	assert_int_equal(denied.count, 0);
	denied_end(&denied, &events);
}

/* On a slow machine, where time goes on while they are answered: whoever answers has something else
 * to do, too. */
TEST(callers_without_end_do_not_keep_it_busy)
{
	unsigned *refused = mmap(NULL, sizeof *refused, PROT_READ | PROT_WRITE,
	                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pollfd wait;
	int pair[2];
	pid_t pid;

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), errno);
	pid = fork();
	if (pid == 0)
		call_for_ever(pair[1], refused);
	denied = (struct denied){.listener = receive_listener(pair[0])};
	events.are_followed = false;
	wait = (struct pollfd){.fd = denied.listener, .events = POLLIN};
	assert_int_equal(poll(&wait, 1, -1), 1);
	slow_ms = 1000;
	(void)alarm((unsigned)waiting_deadline_ms() / 1000); /* or the test ends here */
	denied_answer(&denied, &events);
	(void)alarm(0);
	slow_ms = 0;
	assert_in_range(*refused, 0, 64);
	assert_return_code(kill(-pid, SIGKILL), errno);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	denied_end(&denied, &events);
	close(pair[0]);
	close(pair[1]);
	munmap(refused, sizeof *refused);
}

/* Either would be readable for ever. */
TEST(what_is_no_listener_any_more_or_never_was_is_closed)
{
	int ends[2];

	assert_int_equal(answer(1, true, true), 1);
	denied_answer(&denied, &events); /* all who called are gone */
	assert_int_equal(denied.listener, -1);
	assert_return_code(pipe(ends), errno);
	assert_int_equal(write(ends[1], "x", 1), 1);
	denied = (struct denied){.listener = ends[0]};
	denied_answer(&denied, &events);
	assert_int_equal(denied.listener, -1);
	close(ends[1]);
}

TEST_MAIN(NULL, NULL)
