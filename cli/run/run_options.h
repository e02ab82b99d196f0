/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the options of `yett run`, shell, create, exec and mount ask for. run_option_table.h has the
 * tables, which read the options.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/connect.h"
#include "cli/network/relays.h"
#include "libclient/yett.h"

#define RUN_SHARES_MAX    125
#define RUN_TMPFS_MAX     32
#define RUN_ENV_MAX       2048
#define RUN_LABELS_MAX    32
#define RUN_METADATA_MAX  16
#define RUN_COPIES_MAX    64
#define RUN_PATHS_MAX     64
#define RUN_RULES_MAX     256
#define RUN_HIDE_MAX      4096
#define RUN_CAPTURE_BYTES ((uint64_t)1 << 20)

struct run_copy {
	char *from;     /* owned */
	const char *to; /* points into `from` */
};

struct run_options {
	struct connect_choice connect;
	const char *profile, *hostname, *directory;
	char *memory_dir; /* owned */
	/* An extra entry is for the current directory. Owns paths, targets and stores. */
	struct yett_share shares[RUN_SHARES_MAX + 1];
	size_t shares_count;
	const char *hide[RUN_HIDE_MAX + 1], *no_hide[RUN_HIDE_MAX + 1];
	size_t hide_count, no_hide_count;
	const char *const *hide_listed;         /* owned; NULL: not read yet */
	struct yett_tmpfs tmpfs[RUN_TMPFS_MAX]; /* targets owned */
	size_t tmpfs_count;
	enum yett_network network;
	bool ask; /* a connection that no rule allows waits for a decision */
	bool allow_private;
	/* RUN_RULES_MAX applies to both together; owned. */
	char *allow[RUN_RULES_MAX], *deny[RUN_RULES_MAX];
	size_t allow_count, deny_count;
	struct relays relays;
	struct run_copy copies_in[RUN_COPIES_MAX], copies_out[RUN_COPIES_MAX];
	size_t copies_in_count, copies_out_count;
	const char *env[RUN_ENV_MAX + 1];
	size_t env_count;
	struct {
		uint64_t memory_bytes, cpu_millis, pids, files, file_bytes, core_bytes;
	} limits;
	uint64_t timeout_ms;
	const char *metadata[RUN_METADATA_MAX + 1];
	size_t metadata_count;
	const char *name;
	const char *labels[RUN_LABELS_MAX + 1], *annotations[RUN_LABELS_MAX + 1];
	size_t labels_count, annotations_count;
	struct {
		bool linger;
		uint64_t wall_ms, cpu_ms, idle_ms, cleanup_ms;
		enum yett_idle_action idle_action;
		bool idle_suspend; /* the request to the helper has YETT_IDLE_END */
	} life;
	bool dry_run, tty, no_stdin, rm, background, capture, input_later;
	bool deny_write, deny_network, other_user;
	const char *only_paths[RUN_PATHS_MAX + 1];
	size_t only_paths_count;
	uint32_t user;
	struct {
		uint64_t memory_bytes, pids;
	} own; /* limits of this command alone */
	/*
	 * The output to keep of a command in the background, or of one whose outputs go into the
	 * document. `capture`: the option was given.
	 */
	uint64_t capture_bytes;
	char *current_directory; /* from getcwd(3); NULL: unknown */
};

/* Sets all members to their defaults, and reads the current directory. */
void run_options_init(struct run_options *options);

void run_options_free(struct run_options *options);
