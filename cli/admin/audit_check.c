/* SPDX-License-Identifier: Apache-2.0 */
/* See audit_check.h. */
#include "cli/admin/audit_check.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "cli/admin/audit_files.h"
#include "cli/options.h"
#include "cli/output.h"
#include "programs/audit/field.h"
#include "programs/audit/verify.h"

#define UNCHECKED 2

static const char begin_of_export[] = "{\"export\":1,";

static void audit_check_put_hex(struct json *json, const char *name, const uint8_t *bytes,
                                size_t size)
{
	char hex[CHAIN_HEX_SIZE];

	json_text(json, name, chain_hex(bytes, size, hex));
}

void audit_check_export_segment(FILE *to, uint32_t number, const char *bytes, size_t size)
{
	(void)fprintf(to, "%s\"segment\":%u,\"bytes\":%zu}\n", begin_of_export, number, size);
	(void)fwrite(bytes, 1, size, to);
}

void audit_check_export_state(FILE *to, const struct slots_state *state)
{
	struct json json = {.to = to};
	uint8_t vouch[CHAIN_HASH_SIZE];

	chain_vouch(&state->chain, vouch);
	json_open(&json, NULL, '{');
	json_number(&json, "export", 1);
	json_number(&json, "state", state->segment);
	json_number(&json, "size", state->size);
	audit_check_put_hex(&json, "chain", state->chain.id, sizeof state->chain.id);
	json_number(&json, "epoch", state->chain.epoch);
	json_number(&json, "seq", state->chain.number);
	audit_check_put_hex(&json, "seal", state->chain.seal, sizeof state->chain.seal);
	audit_check_put_hex(&json, "mac", state->chain.mac, sizeof state->chain.mac);
	audit_check_put_hex(&json, "vouch", vouch, sizeof vouch);
	json_close(&json);
	(void)fputc('\n', to);
}

static bool audit_check_read_state(const char *line, size_t length, struct slots_state *ret_state,
                                   uint8_t vouch[CHAIN_HASH_SIZE])
{
	struct chain *chain = &ret_state->chain;
	uint64_t segment = 0;

	*ret_state = (struct slots_state){0};
	if (!field_number(line, length, "state", &segment) ||
	    !field_number(line, length, "size", &ret_state->size) ||
	    !field_number(line, length, "epoch", &chain->epoch) ||
	    !field_number(line, length, "seq", &chain->number) ||
	    !field_bytes(line, length, "chain", chain->id, sizeof chain->id) ||
	    !field_bytes(line, length, "seal", chain->seal, sizeof chain->seal) ||
	    !field_bytes(line, length, "mac", chain->mac, sizeof chain->mac) ||
	    !field_bytes(line, length, "vouch", vouch, CHAIN_HASH_SIZE))
		return false;
	ret_state->segment = (uint32_t)segment;
	return true;
}

/* Reports a finding: prints it at once, or adds it to the array "findings" of the JSON document. */
static void audit_check_report(void *userdata, enum verify_kind kind, const char *file, size_t line,
                               const char *text)
{
	static const char *const kinds[] = {"wrong", "unchecked", "note"};
	struct json *json = output_json();

	(void)userdata;
	if (!json) {
		output_text(stdout, file, false);
		if (line)
			(void)printf(":%zu", line);
		(void)printf(": %s%s\n", kind == VERIFY_WRONG ? "WRONG: " : "", text);
		return;
	}
	json_open(json, NULL, '{');
	json_text(json, "kind", kinds[kind]);
	json_text(json, "file", file);
	json_number_or_null(json, "line", line);
	json_text(json, "text", text);
	json_close(json);
}

/*
 * Reads the keys from the file, one a line. Other lines are ignored, unless they begin like a key.
 */
static int read_keys(const char *path, struct verify *verify, struct yett_error *error)
{
	char *text = NULL, *rest, *line;
	size_t size;
	int r = audit_files_read_file(path, &text, &size, error);

	if (r)
		return r;
	for (line = strtok_r(text, "\r\n", &rest); line && verify->keys_count < VERIFY_KEYS_MAX;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		struct verify_key *key = &verify->keys[verify->keys_count];

		line += strspn(line, " \t");
		if (chain_parse_key(line, key->id, key->key))
			verify->keys_count++;
		else if (strncmp(line, "yett-audit", 10) == 0)
			r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			              "--key %s: a key in it was not copied as it was printed",
			              path);
	}
	sodium_memzero(text, size);
	free(text);
	if (r == 0 && verify->keys_count == 0)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "--key %s: there is no key in it, as yett audit keygen prints one",
		              path);
	return r;
}

static void audit_check_read_host(struct verify *verify)
{
	_cleanup_fd_ int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);

	chain_hash_host(text, n > 0 ? (size_t)n : 0, verify->host);
	verify->has_host = true;
}

static int audit_check_check_directory(const char *path, struct verify *verify,
                                       struct yett_error *error)
{
	struct audit_files files;
	int r = audit_files_open(path, &files, error);
	size_t last;

	if (r)
		return r;
	audit_check_read_host(verify);
	last = files.count;
	while (last > 1 && files.sizes[last - 1] == 0)
		last--;
	for (size_t i = 0; i < last && r == 0; i++) {
		char *bytes = NULL, name[32];

		r = audit_files_read(&files, i, name, &bytes, error);
		if (r == 0)
			verify_segment(verify, name, files.numbers[i], bytes, files.sizes[i],
			               i + 1 == last);
		free(bytes);
	}
	if (r == 0)
		verify_end(verify, files.has_state ? &files.state : NULL, NULL);
	audit_files_close(&files);
	return r;
}

/* Verifies each segment of an export, and then the state on its last line, if there is one. */
static int check_export(const char *path, const char *bytes, size_t size, struct verify *verify,
                        struct yett_error *error)
{
	struct slots_state state;
	uint8_t vouch[CHAIN_HASH_SIZE];
	bool has_state = false;
	const char *end;

	for (const char *at = bytes; at < bytes + size && !has_state;) {
		size_t left = size - (size_t)(at - bytes), length;
		uint64_t number, count;
		char name[32];

		end = memchr(at, '\n', left);
		length = end ? (size_t)(end - at) : 0;
		if (!end || length <= sizeof begin_of_export ||
		    memcmp(at, begin_of_export, sizeof begin_of_export - 1) != 0)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                 "%s: not an export of audit records after byte %zu", path,
			                 (size_t)(at - bytes));
		has_state = audit_check_read_state(at, length, &state, vouch);
		if (has_state)
			break;
		left -= length + 1;
		if (!field_number(at, length, "segment", &number) ||
		    !field_number(at, length, "bytes", &count) || number == 0 ||
		    number > SLOTS_SEGMENT_LAST || count > left)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                 "%s: it is cut, or no export of records", path);
		(void)snprintf(name, sizeof name, SLOTS_SEGMENT_NAME, (unsigned)number);
		at = end + 1;
		/*
		 * The segment is the last one if no further segment follows: only the state, or
		 * nothing.
		 */
		verify_segment(verify, name, (uint32_t)number, at, count,
		               left - count < sizeof begin_of_export ||
		                       memcmp(at + count, begin_of_export,
		                              sizeof begin_of_export - 1) != 0 ||
		                       memcmp(at + count + sizeof begin_of_export - 1,
		                              "\"segment\"", 9) != 0);
		at += count;
	}
	verify_end(verify, has_state ? &state : NULL, vouch);
	return 0;
}

/*
 * Verifies one export, or segments that still have their own names, in the order of the arguments.
 */
static int check_files(int count, char **paths, struct verify *verify, struct yett_error *error)
{
	bool has_segments = false;
	int r = 0;

	for (int i = 0; i < count && r == 0; i++) {
		const char *name = strrchr(paths[i], '/') ? strrchr(paths[i], '/') + 1 : paths[i];
		uint32_t number = slots_segment_number(name);
		char *bytes = NULL;
		size_t size;

		r = audit_files_read_file(paths[i], &bytes, &size, error);
		if (r == 0 && size >= sizeof begin_of_export &&
		    memcmp(bytes, begin_of_export, sizeof begin_of_export - 1) == 0 && count == 1) {
			r = check_export(paths[i], bytes, size, verify, error);
		} else if (r == 0 && number > 0) {
			verify_segment(verify, name, number, bytes, size, i + 1 == count);
			has_segments = true;
		} else if (r == 0) {
			r = error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"%s: expected segments under their own names (" SLOTS_SEGMENT_NAME
				"), or one export",
				paths[i], 1U);
		}
		free(bytes);
	}
	if (r == 0 && has_segments)
		verify_end(verify, NULL, NULL);
	return r;
}

static void put_summary(struct json *json, const struct verify *verify, int code)
{
	json_close(json); /* closes "findings" */
	json_number(json, "segments", verify->segments);
	json_number(json, "records", verify->records);
	json_number(json, "wrong", verify->wrong);
	json_bool(json, "is_whole", code == 0);
	json_bool(json, "finds_accidents_only", verify->has_open);
}

static void print_summary(const struct verify *verify, int code)
{
	if (code == UNCHECKED)
		(void)printf("cannot be checked: %llu segments, of which %llu records could be\n",
		             (unsigned long long)verify->segments,
		             (unsigned long long)verify->records);
	else if (code)
		(void)printf("NOT WHOLE: %llu places are wrong in %llu segments\n",
		             (unsigned long long)verify->wrong,
		             (unsigned long long)verify->segments);
	else
		(void)printf("whole: %llu records in %llu segments\n",
		             (unsigned long long)verify->records,
		             (unsigned long long)verify->segments);
	if (verify->has_open && !verify->has_sealed)
		(void)printf(
			"No key was made (yett audit keygen): this check finds accidental damage only, not deliberate edits.\n");
	else if (verify->has_open)
		(void)printf(
			"Some records were written before a key was made: for those, this finds accidental damage only.\n");
}

int audit_check_run(const struct audit_check *check, int count, char **files)
{
	static struct verify verify;
	struct yett_error error = {0};
	int r = 0, code;

	verify_begin(&verify, audit_check_report, NULL);
	verify.may_begin_later = check->is_pruned;
	if (output_json())
		json_open(output_json(), "findings", '[');
	if (check->key)
		r = read_keys(check->key, &verify, &error);
	if (r == 0)
		r = check->directory
		            ? audit_check_check_directory(check->directory, &verify, &error)
		            : check_files(count, files, &verify, &error);
	code = verify.wrong                                    ? EXIT_FAILED
	       : r || verify.unchecked || verify.segments == 0 ? UNCHECKED
	                                                       : 0;
	sodium_memzero(verify.keys, sizeof verify.keys);
	if (output_json())
		put_summary(output_json(), &verify, code);
	else if (r == 0)
		print_summary(&verify, code);
	if (r)
		output_error(&error);
	return code;
}
