/* SPDX-License-Identifier: Apache-2.0 */
/* Key files and signers: made once, for their owner alone, and read only as such. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sodium.h>

#include "libclient/keyfile.h"
#include "libclient/signer.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

static char directory[64];

static char *path_of(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
	return path;
}

static int make_directory(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/yett-keys-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"id_ed25519", "id_ed25519.pub", "authorized_keys",
	                                    "other",      "link",           "fifo"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(directory);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST_WITH(a_made_key_signs_and_its_files_have_the_right_modes, make_directory, remove_directory)
{
	struct yett_signer *signer = NULL;
	struct yett_error error = {0};
	uint8_t signature[YETT_SIGNATURE_SIZE], key[YETT_KEY_SIZE];
	const uint8_t text[] = "what is signed";
	char line[256];

	assert_int_equal(yett_key_generate(path_of("id_ed25519"), &error), 0);
	assert_int_equal(mode_of(path_of("id_ed25519")), 0600);
	assert_int_equal(mode_of(path_of("id_ed25519.pub")), 0644);
	assert_int_equal(yett_signer_load(path_of("id_ed25519"), &signer, &error), 0);
	assert_int_equal(signer_sign(signer, text, sizeof text, signature, &error), 0);
	assert_int_equal(crypto_sign_verify_detached(signature, text, sizeof text,
	                                             yett_signer_public_key(signer)),
	                 0);
	assert_int_equal(
		yett_key_read_public(path_of("id_ed25519.pub"), key, line, sizeof line, &error), 0);
	assert_memory_equal(key, yett_signer_public_key(signer), sizeof key);
	assert_int_equal(strncmp(line, "ed25519 ", 8), 0);
	yett_signer_free(signer);
}

TEST_WITH(a_key_is_never_overwritten, make_directory, remove_directory)
{
	struct yett_error error = {0};

	folder_write(path_of("id_ed25519"), "precious", 0600);
	assert_int_equal(yett_key_generate(path_of("id_ed25519"), &error), YETT_E_ALREADY_EXISTS);
	assert_int_not_equal(access(path_of("id_ed25519.pub"), F_OK), 0);
	assert_int_equal(unlink(path_of("id_ed25519")), 0);
	folder_write(path_of("id_ed25519.pub"), "precious", 0644);
	assert_int_equal(yett_key_generate(path_of("id_ed25519"), &error), YETT_E_ALREADY_EXISTS);
	assert_int_not_equal(access(path_of("id_ed25519"), F_OK), 0);
}

TEST_WITH(a_key_that_others_can_reach_is_refused, make_directory, remove_directory)
{
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0666};
	struct yett_signer *signer = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_key_generate(path_of("id_ed25519"), &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(path_of("id_ed25519"), modes[i]), 0);
		assert_int_equal(yett_signer_load(path_of("id_ed25519"), &signer, &error),
		                 YETT_E_SECURITY_VIOLATION);
		assert_non_null(strstr(error.detail, "chmod 600"));
	}
	if (geteuid() == 0) {
		assert_int_equal(chmod(path_of("id_ed25519"), 0600), 0);
		assert_int_equal(chown(path_of("id_ed25519"), 12345, 12345), 0);
		assert_int_equal(yett_signer_load(path_of("id_ed25519"), &signer, &error),
		                 YETT_E_SECURITY_VIOLATION);
	}
}

TEST_WITH(what_is_no_key_file_is_refused, make_directory, remove_directory)
{
	static const char *const texts[] = {
		"",
		"yett-ed25519-private-v1 ",
		"yett-ed25519-private-v1 AAAA\n",
		"yett-ed25519-private-v2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"yett-ed25519-private-v1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nmore\n",
		"yett-ed25519-private-v1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= \n",
		"yett-ed25519-private-v1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n",
		"yett-ed25519-private-v1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
	};
	struct yett_signer *signer = NULL;
	struct yett_error error = {0};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		folder_write(path_of("other"), texts[i], 0600);
		assert_int_equal(yett_signer_load(path_of("other"), &signer, &error),
		                 YETT_E_INVALID_REQUEST);
	}
	assert_int_equal(yett_signer_load(path_of("none"), &signer, &error), YETT_E_NOT_FOUND);
	assert_int_equal(yett_signer_load(directory, &signer, &error), YETT_E_INVALID_REQUEST);
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	assert_int_equal(yett_signer_load(path_of("fifo"), &signer, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_key_generate(path_of("id_ed25519"), &error), 0);
	assert_int_equal(symlink("id_ed25519", path_of("link")), 0);
	assert_int_equal(yett_signer_load(path_of("link"), &signer, &error),
	                 YETT_E_FILE_OPERATION_FAILED);
}

TEST_WITH(a_public_key_is_read_strictly_and_its_comment_is_made_harmless, make_directory,
          remove_directory)
{
	static const char *const refused[] = {
		"",
		"ed25519",
		"ed25519 short\n",
		"rsa AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= me\n",
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= me\ned25519 AAAA\n",
	};
	struct yett_error error = {0};
	uint8_t key[YETT_KEY_SIZE];
	char line[256];

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		folder_write(path_of("other"), refused[i], 0644);
		assert_int_equal(
			yett_key_read_public(path_of("other"), key, line, sizeof line, &error),
			YETT_E_INVALID_REQUEST);
	}
	folder_write(path_of("other"),
	             "ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= a\033[2Jb\n", 0644);
	assert_int_equal(yett_key_read_public(path_of("other"), key, line, sizeof line, &error), 0);
	assert_string_equal(line, "ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= a?[2Jb");
}

static size_t lines_of(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n, lines = 0;

	assert_non_null(file);
	n = fread(out, 1, size - 1, file);
	out[n] = '\0';
	(void)fclose(file);
	for (size_t i = 0; i < n; i++)
		lines += out[i] == '\n';
	return lines;
}

TEST_WITH(a_first_key_is_enrolled_and_a_second_call_changes_nothing, make_directory,
          remove_directory)
{
	char enrolled[1024], public_line[1024];
	struct yett_error error = {0};
	bool created = false;

	assert_int_equal(yett_key_ensure(directory, &created, &error), 0);
	assert_true(created);
	assert_int_equal(mode_of(path_of("authorized_keys")), 0600);
	assert_int_equal(lines_of(path_of("authorized_keys"), enrolled, sizeof enrolled), 1);
	(void)lines_of(path_of("id_ed25519.pub"), public_line, sizeof public_line);
	assert_string_equal(enrolled, public_line);
	assert_int_equal(yett_key_ensure(directory, &created, &error), 0);
	assert_false(created);
	assert_int_equal(lines_of(path_of("authorized_keys"), enrolled, sizeof enrolled), 1);
}

TEST_WITH(a_first_key_is_added_after_the_keys_that_are_there, make_directory, remove_directory)
{
	char enrolled[1024];
	struct yett_error error = {0};
	bool created = false;

	folder_write(path_of("authorized_keys"), "# mine, without a line end", 0600);
	assert_int_equal(yett_key_ensure(directory, &created, &error), 0);
	assert_int_equal(lines_of(path_of("authorized_keys"), enrolled, sizeof enrolled), 2);
	assert_int_equal(strncmp(enrolled, "# mine, without a line end\ned25519 ", 35), 0);
}

TEST_WITH(a_key_is_not_made_where_it_could_not_be_enrolled, make_directory, remove_directory)
{
	struct yett_error error = {0};
	bool created = false;

	folder_write(path_of("authorized_keys"), "", 0666);
	assert_int_equal(yett_key_ensure(directory, &created, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_not_equal(access(path_of("id_ed25519"), F_OK), 0);
	assert_int_not_equal(access(path_of("id_ed25519.pub"), F_OK), 0);
}

static int sign_elsewhere(const uint8_t *message, size_t length,
                          uint8_t ret_signature[YETT_SIGNATURE_SIZE], void *data)
{
	(void)message;
	memset(ret_signature, (int)length, YETT_SIGNATURE_SIZE);
	return *(int *)data;
}

TEST_WITH(a_signer_elsewhere_is_asked_and_may_refuse, make_directory, remove_directory)
{
	const uint8_t key[YETT_KEY_SIZE] = {7};
	uint8_t signature[YETT_SIGNATURE_SIZE];
	struct yett_signer *signer = NULL;
	struct yett_error error = {0};
	int answer = 0;

	assert_int_equal(yett_signer_new(key, sign_elsewhere, &answer, &signer, &error), 0);
	assert_memory_equal(yett_signer_public_key(signer), key, sizeof key);
	assert_int_equal(signer_sign(signer, (const uint8_t *)"abc", 3, signature, &error), 0);
	assert_int_equal(signature[0], 3);
	answer = EPERM;
	assert_int_equal(signer_sign(signer, (const uint8_t *)"abc", 3, signature, &error),
	                 YETT_E_BAD_SIGNATURE);
	yett_signer_free(signer);
}

TEST_MAIN(NULL, NULL)
