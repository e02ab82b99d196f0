/*
 * For libsodium, which distributions build for their own C library: what musl has under another
 * name. Of the rest that the parts we link need (memory, files, a mutex, getrandom(2)), both
 * libraries have the same names and layouts.
 */
#include <stddef.h>
#include <string.h>

/* What explicit_bzero(3) becomes there where sizes are known: `size` is that of what `memory` lies
 * in. */
void __explicit_bzero_chk(void *memory, size_t length,
                          size_t size); /* NOLINT(bugprone-reserved-identifier) */

void __explicit_bzero_chk(void *memory, size_t length, size_t size)
{
	explicit_bzero(memory, length < size ? length : size);
}
