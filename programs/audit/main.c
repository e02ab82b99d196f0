/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-audit: records who got which sandbox, and confirms when a record is on disk. Arguments: the
 * id to run as, the listening socket on which root's processes send struct audit_record, the size
 * limits of all records and of one user's in a day, and the directory of the files. Descriptor 0 is
 * the listener's: when it closes, yett-audit writes what is queued and exits.
 *
 * Records are full of values that users chose, so yett-audit may be compromised. It could then
 * forge this minute and later ones, but not change earlier records: its filter cannot open, map or
 * truncate, segments are append-only, and old keys are erased. It starts as root to open its files
 * (open.h), then gives root up in the stages of audit_lock_down(). The exit status is the stage
 * that failed.
 */
#include "base/fd.h"
#include "helper/privilege/lockdown.h"
#include "programs/audit/log_writer.h"
#include "programs/audit/copy.h"
#include "programs/audit/follow.h"
#include "programs/audit/serve.h"
#include "programs/filters/filters.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_MEMORY,
	STAGE_LIMITS,
	STAGE_BOUNDING_SET,
	STAGE_IDS,
	STAGE_CAPABILITIES,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_FILTER,
};

#define ADDRESSES_MAX (96u << 20)

static void audit_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool audit_parse_number(const char *text, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static bool audit_read_arguments(int argc, char **argv, uint32_t *ret_id, struct serve_options *ret)
{
	uint64_t listening;

	if (argc != 6 || !lockdown_parse_id(argv[1], ret_id) ||
	    !audit_parse_number(argv[2], &listening) || listening < 3 || listening > 1023 ||
	    !audit_parse_number(argv[3], &ret->max_bytes) ||
	    !audit_parse_number(argv[4], &ret->user_bytes))
		return false;
	ret->listening = (int)listening;
	ret->directory = argv[5];
	ret->listener = STDIN_FILENO;
	return fcntl(ret->listening, F_GETFD) >= 0;
}

/* Hashes the id of this host while the file can still be opened: machine-id(5). */
static void audit_read_host(uint8_t ret_host[CHAIN_ID_SIZE])
{
	_cleanup_fd_ int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[64];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);

	chain_hash_host(text, n > 0 ? (size_t)n : 0, ret_host);
}

/*
 * Forbids child processes, core dumps, and files longer than a segment. With RLIMIT_CORE 1, unlike
 * with 0, the kernel does not run the host's core_pattern program either. core(5)
 */
static bool audit_limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_NPROC, 0},
		{RLIMIT_NOFILE, SERVE_CONNECTIONS_MAX + FOLLOW_MAX + 32},
		{RLIMIT_FSIZE, CHAIN_SEGMENT_MAX + WRITER_BATCH_BYTES},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(ADDRESSES_MAX)},
	};

	/*
	 * A service manager sends SIGTERM to the whole service at once. Ignore it and write what is
	 * queued; descriptor 0 says when to exit.
	 */
	return signal(SIGTERM, SIG_IGN) != SIG_ERR && signal(SIGXFSZ, SIG_IGN) != SIG_ERR &&
	       lockdown_limits(limits, ARRAY_SIZE(limits));
}

static void audit_lock_down(int argc, char **argv, struct serve_options *options)
{
	bool is_root = lockdown_can_leave_root();
	uint32_t id;

	audit_need(audit_read_arguments(argc, argv, &id, options), STAGE_ARGUMENTS);
	fd_close_except(&options->listening, 1);
	audit_need(serve_begin(options) == 0, STAGE_MEMORY);
	audit_read_host(options->host);
	(void)gmtime(&(time_t){0}); /* some C libraries read a file on the first call */
	audit_need(audit_limit(), STAGE_LIMITS);
	if (is_root) {
		audit_need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
		audit_need(lockdown_ids(id, id), STAGE_IDS);
	}
	audit_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	audit_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	audit_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	options->uid = geteuid();
	/* No parent death signal: what is queued when root's process ends must still be written. */
	audit_need(lockdown_filter(&filters_audit), STAGE_FILTER);
}

int main(int argc, char **argv)
{
	static struct serve_options options;

	audit_lock_down(argc, argv, &options);
	serve_run(&options);
	_exit(0);
}
