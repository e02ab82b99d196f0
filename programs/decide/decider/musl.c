/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of glibc that a distribution's libsodium, built for glibc, needs and musl lacks. For
 * everything else that the linked parts of libsodium use (memory, files, a mutex, getrandom(2)),
 * both C libraries have the same names and layouts.
 */
#include <stddef.h>
#include <string.h>

/*
 * glibc's fortified explicit_bzero(3), for an object of known size: `size` is the size of the
 * object that contains `memory`.
 */
void __explicit_bzero_chk(void *memory, size_t length,
                          size_t size); /* NOLINT(bugprone-reserved-identifier) */

void __explicit_bzero_chk(void *memory, size_t length, size_t size)
{
	explicit_bzero(memory, length < size ? length : size);
}
