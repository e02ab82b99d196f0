/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a key unless FILE exists, and prints its public key as the line that an
 * administrator enrolls: make_key FILE
 */
#include <stdio.h>
#include <yett.h>

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	uint8_t key[YETT_KEY_SIZE];
	char path[4096], line[256];
	int r;

	if (argc != 2)
		return 2;
	r = yett_key_generate(argv[1], &error);
	if (r == YETT_E_ALREADY_EXISTS)
		r = 0;
	snprintf(path, sizeof path, "%s.pub", argv[1]);
	if (r || yett_key_read_public(path, key, line, sizeof line, &error)) {
		fprintf(stderr, "make_key: %s\n  %s\n", error.message, error.detail);
		return 1;
	}
	puts(line);
	return 0;
}
