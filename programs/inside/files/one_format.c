/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets us link the pax writer of libarchive without its other writers. libarchive's
 * archive_write_set_format.c has a table of all writers, which would pull in seven more libraries
 * (libxml2, liblzma, nettle …). The same file defines the function below, which a writer calls to
 * refuse a kind of file that its format lacks. pack.c writes no kind that pax lacks.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

void __archive_write_entry_filetype_unsupported(struct archive *archive,
                                                struct archive_entry *entry, const char *format);

void __archive_write_entry_filetype_unsupported(struct archive *archive,
                                                struct archive_entry *entry, const char *format)
{
	archive_set_error(archive, EINVAL, "%s: not a kind of file that %s has",
	                  archive_entry_pathname(entry), format);
}
