/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate PROGRAM ARCHITECTURE VARIANT FILE: writes the filter of one program as C, for
 * filters.h.
 *
 * A tool of the build. It runs on the machine that builds, so it is compiled for that machine, and
 * ARCHITECTURE is that of the machine that the program is for.
 */
#include "programs/filters/table.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variants[] = {
	[FILTERS_MUSL] = "musl",
	[FILTERS_GLIBC] = "glibc",
	[FILTERS_SANITIZER] = "sanitizer",
};

static const struct filters_program *generate_find_program(const char *name)
{
	for (size_t i = 0; i < filters_programs_count; i++)
		if (strcmp(filters_programs[i].name, name) == 0)
			return &filters_programs[i];
	return NULL;
}

static int generate_find_variant(const char *name)
{
	for (int i = 0; i < (int)(sizeof variants / sizeof *variants); i++)
		if (strcmp(variants[i], name) == 0)
			return i;
	return -1;
}

static int generate_write(const char *path, const char *name, const struct sock_filter *code,
                          size_t count)
{
	FILE *file = fopen(path, "w");
	int failed;

	if (!file)
		return -1;
	(void)fprintf(file, "/* Made by programs/filters/generate.c. */\n"
	                    "#include \"programs/filters/filters.h\"\n\n"
	                    "static const struct sock_filter code[] = {\n");
	for (size_t i = 0; i < count; i++)
		(void)fprintf(file, "\t{0x%02x, %u, %u, 0x%08x},\n", code[i].code, code[i].jt,
		              code[i].jf, code[i].k);
	(void)fprintf(
		file,
		"};\nconst struct sock_fprog filters_%s = {%zu, (struct sock_filter *)code};\n",
		name, count);
	failed = ferror(file);
	return fclose(file) == 0 && !failed ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct filters_program *program = argc == 5 ? generate_find_program(argv[1]) : NULL;
	uint32_t arch = argc == 5 ? seccomp_arch_resolve_name(argv[2]) : 0;
	int variant = argc == 5 ? generate_find_variant(argv[3]) : -1, r;
	struct sock_filter *code;
	size_t count;

	if (!program || arch == 0 || variant < 0) {
		(void)fprintf(stderr, "usage: %s PROGRAM ARCHITECTURE VARIANT FILE\n", argv[0]);
		return 2;
	}
	r = filters_make(program, arch, (enum filters_variant)variant, &code, &count);
	if (r < 0) {
		(void)fprintf(stderr, "the filter of %s cannot be made: %s\n", program->name,
		              strerror(-r));
		return 1;
	}
	r = generate_write(argv[4], program->name, code, count);
	free(code);
	if (r != 0)
		perror(argv[4]);
	return r != 0;
}
