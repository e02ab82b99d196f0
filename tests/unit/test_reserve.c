/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations: nothing is given twice while somebody has it, and what the dead have left is given
 * again. */
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "helper/setup/idmap.h"
#include "helper/setup/registry.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#define FIRST UINT32_C(1879048192)
#define ALICE 1000
#define BOB   1001

struct fixture {
	char directory[40];
	struct reserve_host host;
	struct yett_error error;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	*state = f;
	strcpy(f->directory, "/tmp/yett-reserve-XXXXXX");
	return mkdtemp(f->directory)
	               ? reserve_host_open(f->directory, FIRST, 4, &f->host, &f->error)
	               : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	int r = folder_remove(f->directory);

	reserve_host_close(&f->host);
	free(f);
	return r;
}

static unsigned files_in(int directory)
{
	DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	unsigned count = 0;

	assert_non_null(entries);
	for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
		count += entry->d_name[0] != '.';
	(void)closedir(entries);
	return count;
}

static int take_range(struct fixture *f, struct reservation *reservation, uint32_t *index)
{
	return reserve_range(&f->host, ALICE, "s0", reservation, index, &f->error);
}

/* --- ranges --- */

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *f, set_up, tear_down)

WITH_FIXTURE(each_range_is_somebodys_once_and_the_first_is_nobodys)
{
	struct reservation taken[3], more;
	uint32_t index[3], again;
	char name[16];

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(take_range(f, &taken[i], &index[i]), 0);
		assert_in_range(index[i], 1, 3);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(index[i], index[j]);
		(void)snprintf(name, sizeof name, "%u", FIRST + index[i] * IDMAP_RANGE);
		assert_int_equal(faccessat(f->host.dirs[RESERVE_RANGES], name, F_OK, 0),
		                 0); /* by which an older policy would know it */
	}
	assert_int_equal(take_range(f, &more, &again), YETT_E_RESOURCE_LIMIT);
	assert_non_null(strstr(f->error.message, "all 3 private id ranges"));
	reserve_release(&taken[1]);
	assert_int_equal(take_range(f, &taken[1], &again), 0);
	assert_int_equal(again, index[1]);
	for (size_t i = 0; i < 3; i++)
		reserve_release(&taken[i]);
	assert_int_equal(files_in(f->host.dirs[RESERVE_RANGES]), 0);
}

WITH_FIXTURE(where_there_is_one_range_or_none_there_is_no_other)
{
	struct reservation taken, more;
	uint32_t index;

	f->host.ids_ranges = 1;
	assert_int_equal(take_range(f, &taken, &index), YETT_E_RESOURCE_LIMIT);
	f->host.ids_ranges = 2;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take_range(f, &taken, &index), 0);
		assert_int_equal(index, 1);
		assert_int_equal(take_range(f, &more, &index), YETT_E_RESOURCE_LIMIT);
		reserve_release(&taken);
	}
}

WITH_FIXTURE(a_range_comes_again_when_all_others_have_had_their_turn)
{
	struct reservation held, taken;
	uint32_t index, first, kept;

	f->host.ids_ranges = 6;
	assert_int_equal(take_range(f, &held, &kept), 0);
	assert_int_equal(take_range(f, &taken, &first), 0);
	reserve_release(&taken);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take_range(f, &taken, &index), 0);
		assert_int_not_equal(index, kept);
		assert_int_not_equal(index, first);
		reserve_release(&taken);
	}
	assert_int_equal(take_range(f, &taken, &index), 0);
	assert_int_equal(index, first);
	reserve_release(&taken);
	reserve_release(&held);
}

static void write_hint(struct fixture *f, const char *text)
{
	int fd = openat(f->host.dirs[RESERVE_RUNTIME], "next-range",
	                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

/* Also behind the last one, where it begins anew; and one that was found behind others' backs moves
 * nothing back. */
WITH_FIXTURE(the_turn_goes_on_from_where_it_is)
{
	static struct reservation all[100];
	uint32_t index;

	f->host.ids_ranges = 100;
	for (uint32_t i = 1; i < 100; i++) {
		assert_int_equal(take_range(f, &all[i], &index), 0);
		assert_int_equal(index, i);
	}
	write_hint(f, "0000000090\n");
	reserve_release(&all[1]);
	assert_int_equal(take_range(f, &all[1], &index), 0);
	assert_int_equal(index, 1);
	reserve_release(&all[2]);
	reserve_release(&all[95]);
	assert_int_equal(take_range(f, &all[2], &index), 0);
	assert_int_equal(index, 2);
	write_hint(f, "0000000040\n");
	reserve_release(&all[30]);
	assert_int_equal(take_range(f, &all[30], &index), 0);
	assert_int_equal(index, 95); /* it comes first on the way round */
	write_hint(f, "0000000040\n");
	assert_int_equal(take_range(f, &all[95], &index), 0);
	assert_int_equal(index, 30);
	reserve_release(&all[35]);
	reserve_release(&all[45]);
	assert_int_equal(take_range(f, &all[45], &index), 0);
	assert_int_equal(index, 45);
	for (uint32_t i = 1; i < 100; i++)
		reserve_release(&all[i]);
}

/* The number is a hint in a file: whatever stands there, what is given lies in bounds and is free.
 */
WITH_FIXTURE(a_hint_that_is_none_does_no_harm)
{
	static const char *const hints[] = {"",           "0",          "3",
	                                    "4",          "5",          "-1",
	                                    "4294967295", "4294967296", "99999999999999999999",
	                                    "nonsense"};
	struct reservation taken[3], more;
	uint32_t index[3], seen;

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		write_hint(f, hints[i]);
		seen = 0;
		for (size_t j = 0; j < 3; j++) {
			assert_int_equal(take_range(f, &taken[j], &index[j]), 0);
			assert_in_range(index[j], 1, 3);
			seen |= 1u << index[j];
		}
		assert_int_equal(seen, 0xe);
		assert_int_equal(take_range(f, &more, &index[0]), YETT_E_RESOURCE_LIMIT);
		for (size_t j = 0; j < 3; j++)
			reserve_release(&taken[j]);
	}
}

/* --- slots, helpers and names --- */

WITH_FIXTURE(a_user_has_as_many_slots_as_are_allowed)
{
	struct reservation own[2], other, more;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 2, &own[i],
		                              &f->error),
		                 0);
	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 2, &more, &f->error),
		YETT_E_RESOURCE_LIMIT);
	assert_non_null(strstr(f->error.message, "this user 2 sandboxes"));
	assert_int_equal(more.fd, -1);
	assert_int_equal(reserve_slot(&f->host, BOB, RESERVE_SLOT_OF_SANDBOX, 2, &other, &f->error),
	                 0);
	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 3, &more, &f->error),
		0); /* the policy allows more now */
	reserve_release(&own[0]);
	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 2, &own[0], &f->error), 0);
	reserve_release(&own[0]);
	reserve_release(&own[1]);
	reserve_release(&other);
	reserve_release(&more);
	assert_int_equal(files_in(f->host.dirs[RESERVE_SLOTS]), 0);
}

WITH_FIXTURE(where_slots_have_no_bound_none_is_taken)
{
	struct reservation none;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(
			reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 0, &none, &f->error),
			0);
		assert_int_equal(none.fd, -1);
		reserve_release(&none);
	}
	assert_int_equal(files_in(f->host.dirs[RESERVE_SLOTS]), 0);
}

WITH_FIXTURE(helpers_and_sandboxes_of_a_user_are_counted_apart)
{
	struct reservation slot, helper, more;

	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 1, &slot, &f->error), 0);
	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_HELPER, 1, &helper, &f->error), 0);
	assert_int_equal(reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_HELPER, 1, &more, &f->error),
	                 YETT_E_RESOURCE_LIMIT);
	assert_non_null(strstr(f->error.message, "at most 1 set-user-id"));
	assert_int_equal(
		reserve_slot(&f->host, ALICE, RESERVE_SLOT_OF_SANDBOX, 1, &more, &f->error),
		YETT_E_RESOURCE_LIMIT);
	reserve_release(&slot);
	reserve_release(&helper);
}

WITH_FIXTURE(a_name_is_one_sandboxs_of_each_user)
{
	char longest[MESSAGE_NAME_MAX + 1], other[MESSAGE_NAME_MAX + 1];
	struct reservation name, another, more;

	assert_int_equal(reserve_name(&f->host, ALICE, "box", &name, &f->error), 0);
	assert_int_equal(reserve_name(&f->host, ALICE, "box", &more, &f->error),
	                 YETT_E_ALREADY_EXISTS);
	assert_non_null(strstr(f->error.message, "'box'"));
	assert_int_equal(reserve_name(&f->host, BOB, "box", &another, &f->error), 0);
	reserve_release(&name);
	assert_int_equal(reserve_name(&f->host, ALICE, "box", &name, &f->error), 0);
	reserve_release(&name);
	reserve_release(&another);
	/* The longest name of the largest uid is whole in the name of the file: two that differ at
	 * their ends are two. */
	memset(longest, 'n', MESSAGE_NAME_MAX);
	longest[MESSAGE_NAME_MAX] = '\0';
	memcpy(other, longest, sizeof other);
	other[MESSAGE_NAME_MAX - 1] = 'm';
	assert_int_equal(reserve_name(&f->host, UINT32_MAX - 1, longest, &name, &f->error), 0);
	assert_int_equal(reserve_name(&f->host, UINT32_MAX - 1, other, &another, &f->error), 0);
	reserve_release(&name);
	reserve_release(&another);
	assert_int_equal(files_in(f->host.dirs[RESERVE_NAMES]), 0);
}

WITH_FIXTURE(what_holds_nothing_is_released_without_harm)
{
	struct reservation none = {.fd = -1, .dir = -1}, name;

	reserve_release(&none);
	assert_int_equal(reserve_name(&f->host, ALICE, "box", &name, &f->error), 0);
	reserve_release(&name);
	assert_int_equal(reserve_name(&f->host, ALICE, "box", &none, &f->error), 0);
	reserve_release(&name); /* again: it is somebody else's by now */
	assert_int_equal(files_in(f->host.dirs[RESERVE_NAMES]), 1);
	reserve_release(&none);
}

/* --- deciders --- */

static void end(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A process that takes the id of a decider, tells which one, and stays; that it can have none it
 * tells with IDMAP_DECIDERS. */
static pid_t hold_decider(struct fixture *f, uint32_t *ret_number)
{
	int told[2];
	pid_t child;

	assert_int_equal(pipe(told), 0);
	child = fork();
	if (child == 0) {
		uint32_t number;

		if (reserve_decider(&f->host, &number) < 0)
			number = IDMAP_DECIDERS;
		(void)!write(told[1], &number, sizeof number);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(told[0], ret_number, sizeof *ret_number), sizeof *ret_number);
	(void)close(told[0]);
	(void)close(told[1]);
	return child;
}

WITH_FIXTURE(each_decider_has_a_number_that_no_other_has)
{
	enum { COUNT = 40 };
	uint32_t numbers[2 * COUNT];
	pid_t children[COUNT];
	int held[COUNT];

	/* Of one process and of others: where the search begins depends on who asks. */
	for (size_t i = 0; i < COUNT; i++) {
		held[i] = reserve_decider(&f->host, &numbers[2 * i]);
		assert_true(held[i] >= 0);
		children[i] = hold_decider(f, &numbers[2 * i + 1]);
	}
	for (size_t i = 0; i < 2 * COUNT; i++) {
		assert_in_range(numbers[i], 0, IDMAP_DECIDERS - 1);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(numbers[i], numbers[j]);
	}
	for (size_t i = 0; i < COUNT; i++) {
		(void)close(held[i]);
		end(children[i]);
	}
}

/* Takes all bytes of the file but one, as so many deciders would. */
static int take_all_but(struct fixture *f, uint32_t free)
{
	int fd = openat(f->host.dirs[RESERVE_RUNTIME], "deciders", O_RDWR | O_CREAT | O_CLOEXEC,
	                0600);
	struct flock
		before = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = free},
		after = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = free + 1, .l_len = 0};

	assert_true(fd >= 0);
	if (free > 0)
		assert_int_equal(fcntl(fd, F_OFD_SETLK, &before), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &after), 0);
	return fd;
}

WITH_FIXTURE(the_last_number_is_found_and_after_it_there_is_none)
{
	static const uint32_t last[] = {0, 4711, IDMAP_DECIDERS - 1, IDMAP_DECIDERS};

	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		int others = take_all_but(f, last[i]), held = -1;
		uint32_t number, again;

		if (last[i] < IDMAP_DECIDERS) {
			held = reserve_decider(&f->host, &number);
			assert_true(held >= 0);
			assert_int_equal(number, last[i]);
		}
		assert_int_equal(reserve_decider(&f->host, &again), -EAGAIN);
		(void)close(held);
		(void)close(others);
	}
}

WITH_FIXTURE(the_number_of_a_decider_that_died_is_free_and_one_with_a_copy_is_not)
{
	int others = take_all_but(f, 42), held, copy;
	uint32_t number;
	pid_t child = hold_decider(f, &number);

	assert_int_equal(number, 42);
	assert_int_equal(reserve_decider(&f->host, &number), -EAGAIN);
	end(child);
	held = reserve_decider(&f->host, &number);
	assert_true(held >= 0);
	assert_int_equal(number, 42);
	copy = dup(held);
	(void)close(held);
	assert_int_equal(reserve_decider(&f->host, &number), -EAGAIN);
	(void)close(copy);
	held = reserve_decider(&f->host, &number);
	assert_true(held >= 0);
	(void)close(held);
	(void)close(others);
}

/* Locks of the other kind go with any descriptor of the file that a process closes: these do not.
 */
WITH_FIXTURE(nobody_loses_a_number_by_another_ones_end_in_the_same_process)
{
	uint32_t first, second, third;
	int one = reserve_decider(&f->host, &first), two = reserve_decider(&f->host, &second),
	    three;
	pid_t child;

	assert_true(one >= 0 && two >= 0);
	(void)close(two);
	child = hold_decider(
		f, &third); /* of another process, which locks keep out that are of this one */
	assert_int_not_equal(third, first);
	three = reserve_decider(&f->host, &second);
	assert_int_not_equal(second, first);
	assert_int_not_equal(second, third);
	end(child);
	(void)close(one);
	(void)close(three);
}

/* --- the dead --- */

/* A process with one reservation of each kind, which stays until it is killed. */
static pid_t hold_all(struct fixture *f, uid_t uid, const char *cgroup)
{
	int ready[2];
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct reservation held[3];
		uint32_t index;
		bool is_held =
			reserve_range(&f->host, uid, cgroup, &held[0], &index, &f->error) == 0 &&
			reserve_slot(&f->host, uid, RESERVE_SLOT_OF_SANDBOX, 1, &held[1],
		                     &f->error) == 0 &&
			reserve_name(&f->host, uid, "box", &held[2], &f->error) == 0;

		(void)!write(ready[1], is_held ? "y" : "n", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	(void)close(ready[0]);
	(void)close(ready[1]);
	return child;
}

struct swept {
	unsigned count;
	uid_t uid;
	char cgroup[24];
	bool is_audited;
	int answer;
};

static int sweep(void *userdata, const struct record *record)
{
	struct swept *swept = userdata;

	swept->count++;
	swept->uid = record->uid;
	swept->is_audited = record->is_audited;
	(void)snprintf(swept->cgroup, sizeof swept->cgroup, "%s", record->cgroup);
	return swept->answer;
}

WITH_FIXTURE(what_the_dead_have_left_is_swept_and_of_the_living_nothing)
{
	struct swept swept = {0};
	struct reservation again;
	pid_t alice = hold_all(f, ALICE, "s1"), bob = hold_all(f, BOB, "s2");

	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 0);
	end(bob);
	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 3);
	assert_int_equal(swept.count, 1);
	assert_int_equal(swept.uid, BOB);
	assert_string_equal(swept.cgroup, "s2");
	assert_int_equal(reserve_name(&f->host, ALICE, "box", &again, &f->error),
	                 YETT_E_ALREADY_EXISTS);
	assert_int_equal(reserve_name(&f->host, BOB, "box", &again, &f->error), 0);
	reserve_release(&again);
	end(alice);
	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 3);
	assert_int_equal(swept.uid, ALICE);
	assert_int_equal(files_in(f->host.dirs[RESERVE_RANGES]) +
	                         files_in(f->host.dirs[RESERVE_SLOTS]) +
	                         files_in(f->host.dirs[RESERVE_NAMES]),
	                 0);
}

WITH_FIXTURE(a_range_stays_reserved_until_what_it_stood_for_is_gone)
{
	struct swept swept = {.answer = -EBUSY};

	end(hold_all(f, ALICE, "s1"));
	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 2); /* the slot and the name */
	assert_int_equal(files_in(f->host.dirs[RESERVE_RANGES]), 1);
	swept.answer = 0;
	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 1);
	assert_int_equal(files_in(f->host.dirs[RESERVE_RANGES]), 0);
}

/* What is torn is not told of: who was killed while writing. */
WITH_FIXTURE(an_end_that_was_not_told_is_and_no_torn_one)
{
	struct swept swept = {0};
	struct record record;
	size_t length;
	int fd;

	for (int is_torn = 0; is_torn < 2; is_torn++) {
		record_init(&record, ALICE, "s1");
		record.is_audited = true;
		length = record_seal(&record);
		record.sum += (uint64_t)is_torn;
		fd = openat(f->host.dirs[RESERVE_RANGES], "1879113728",
		            O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, &record, length), length);
		(void)close(fd);
		assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 1);
		assert_int_equal(swept.is_audited, !is_torn);
	}
}

/* Nobody is told to kill or remove anything by a file that nobody wrote. */
WITH_FIXTURE(what_is_no_record_sweeps_nothing)
{
	struct swept swept = {0};
	int fd = openat(f->host.dirs[RESERVE_RANGES], "1879113728", O_WRONLY | O_CREAT | O_CLOEXEC,
	                0600);

	assert_int_equal(write(fd, "s1 1000\n", 8), 8);
	(void)close(fd);
	(void)close(openat(f->host.dirs[RESERVE_RANGES], "1879179264",
	                   O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	(void)close(openat(f->host.dirs[RESERVE_RANGES], "lost+found",
	                   O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(symlinkat("lost+found", f->host.dirs[RESERVE_RANGES], "1879244800"), 0);
	(void)close(openat(f->host.dirs[RESERVE_NAMES], "lost+found",
	                   O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); /* nor is it removed */
	assert_int_equal(reserve_sweep(&f->host, sweep, &swept), 0);
	assert_int_equal(swept.count, 0);
	assert_int_equal(files_in(f->host.dirs[RESERVE_RANGES]), 4);
	assert_int_equal(files_in(f->host.dirs[RESERVE_NAMES]), 1);
}

/* --- the directory --- */

WITH_FIXTURE(directories_are_its_owners_alone)
{
	const int closed[] = {f->host.dirs[RESERVE_RANGES], f->host.dirs[RESERVE_SLOTS],
	                      f->host.dirs[RESERVE_NAMES], f->host.dirs[RESERVE_CONTROL]};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
		assert_int_equal(fstat(closed[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0700);
		assert_int_equal(st.st_uid, geteuid());
	}
}

static void check_unusable(struct fixture *f, const char *path)
{
	struct reserve_host host;

	assert_true(reserve_host_open(path, FIRST, 4, &host, &f->error) < 0);
	assert_int_equal(f->error.code, YETT_E_UNSUPPORTED);
	assert_non_null(strstr(f->error.message, path));
}

WITH_FIXTURE(one_that_others_can_write_or_made_is_not_used)
{
	struct reserve_host host;
	char path[64];

	for (mode_t mode = 0002; mode <= 0020; mode += 016) {
		assert_int_equal(chmod(f->directory, 0755 | mode), 0);
		check_unusable(f, f->directory);
	}
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_int_equal(fchmod(f->host.dirs[RESERVE_NAMES], 0770), 0);
	check_unusable(f, f->directory);
	assert_int_equal(fchmod(f->host.dirs[RESERVE_NAMES], 0700), 0);
	(void)snprintf(path, sizeof path, "%s/link", f->directory);
	assert_int_equal(symlink(f->directory, path), 0);
	check_unusable(f, path);
	(void)snprintf(path, sizeof path, "%s/file", f->directory);
	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	check_unusable(f, path);
	if (geteuid() == 0) {
		assert_int_equal(chown(f->directory, ALICE, 0), 0);
		check_unusable(f, f->directory);
		assert_int_equal(chown(f->directory, 0, 0), 0);
	} else {
		print_message("not root: no directory of somebody else's can be made\n");
	}
	assert_int_equal(reserve_host_open(f->directory, FIRST, 4, &host, &f->error), 0);
	reserve_host_close(&host);
}

TEST_MAIN(NULL, NULL)
