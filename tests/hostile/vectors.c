/* SPDX-License-Identifier: Apache-2.0 */
/* See vectors.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/hostile/vectors.h"
#include "base/error_text.h"

#include <dirent.h>
#include <stdio.h>

/* "BYTES" or "BYTES*COUNT". */
static void read_hex(struct vector *v, const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef");
	unsigned long count = line[digits] == '*' ? strtoul(line + digits + 1, NULL, 10) : 1;

	v->content = realloc(v->content, v->length + digits / 2 * count + 1);
	assert_non_null(v->content);
	for (unsigned long i = 0; i < count; i++)
		for (size_t j = 0; j + 1 < digits; j += 2) {
			unsigned byte;

			assert_int_equal(sscanf(line + j, "%2x", &byte), 1);
			v->content[v->length++] = (uint8_t)byte;
		}
}

static enum yett_reason reason_of(const char *name)
{
	for (int reason = 1; reason <= YETT_REASONS_COUNT; reason++)
		if (strcmp(error_reason_short_name(reason), name) == 0)
			return reason;
	fail_msg("no reason is called %s", name);
	return YETT_R_NONE;
}

static void read_line(struct vector *v, char *line)
{
	char *value = strstr(line, ": ");

	if (!value)
		return;
	*value = '\0';
	value += 2;
	value[strcspn(value, "\n")] = '\0';
	if (strcmp(line, "hex") == 0)
		read_hex(v, value);
	else if (strcmp(line, "kind") == 0)
		v->is_packet = strcmp(value, "packet") == 0,
		v->is_create = strcmp(value, "create") == 0;
	else if (strcmp(line, "fds") == 0)
		v->fd_count = strtoul(value, NULL, 10);
	else if (strcmp(line, "field") == 0)
		(void)snprintf(v->field, sizeof v->field, "%s", value);
	else if (strcmp(line, "expect") == 0 && strncmp(value, "refuse ", 7) == 0)
		v->reason = reason_of(value + 7);
}

static void read_vector(const char *directory, const char *name, struct vector *v)
{
	char path[4096], line[4096];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "re");
	assert_non_null(file);
	(void)snprintf(v->name, sizeof v->name, "vector %.*s", (int)strcspn(name, "."), name);
	while (fgets(line, sizeof line, file))
		read_line(v, line);
	(void)fclose(file);
}

size_t vectors_read(const char *directory, struct vector **ret_vectors)
{
	struct vector *vectors = NULL;
	size_t count = 0;
	DIR *entries = opendir(directory);

	assert_non_null(entries);
	for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
		struct vector v = {0};

		if (strncmp(entry->d_name, "refuse-", 7) != 0)
			continue;
		read_vector(directory, entry->d_name, &v);
		if (!v.is_packet && !v.is_create) {
			free(v.content);
			continue;
		}
		vectors = reallocarray(vectors, count + 1, sizeof *vectors);
		assert_non_null(vectors);
		vectors[count++] = v;
	}
	(void)closedir(entries);
	*ret_vectors = vectors;
	return count;
}
