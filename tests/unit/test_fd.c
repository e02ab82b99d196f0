/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as sealed memory. */
#include <string.h>

#include "base/fd.h"
#include "tests/support/testing.h"

#include <sys/mman.h>

TEST(memory_is_sealed_once_and_for_all)
{
	_cleanup_fd_ int memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(memory, "x", 1), 1);
	assert_int_equal(fd_seal(memory), 0);
	assert_int_equal(write(memory, "x", 1), -1);
	assert_int_equal(ftruncate(memory, 0), -1);
	assert_int_equal(fd_seal(memory), 0);
}

TEST(what_cannot_have_all_seals_is_not_taken_for_sealed)
{
	_cleanup_fd_ int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int partly = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_fd_ int never = memfd_create("test", MFD_CLOEXEC);

	assert_int_not_equal(fd_seal(file), 0);
	assert_int_equal(fcntl(partly, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL), 0);
	assert_int_not_equal(fd_seal(partly), 0);
	assert_int_not_equal(fd_seal(never), 0);
	assert_int_not_equal(fd_seal(-1), 0);
}

TEST_MAIN(NULL, NULL)
