/*
 * Of libarchive's writers only the one for pax is to be linked. Its archive_write_set_format.c has
 * a table of all, which would bring seven more libraries with it (libxml2, liblzma, nettle …), and
 * besides it this one function, by which a writer refuses a kind of file that its format does not
 * have. pack.c writes none that pax does not have.
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
