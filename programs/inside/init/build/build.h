/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a sandbox: what init does before it serves. Runs under a private id with capabilities
 * over the sandbox's own namespaces only.
 *
 * init starts in new mount, pid, network, ipc and uts namespaces that the sandbox's upper user
 * namespace owns, in a copy of the profile's template whose mounts the kernel has locked. init does
 * what the profile decides, then what the request adds on the sandbox's own file systems. Then it
 * drops the capabilities that override file permissions (lower_shed), attaches the client's mounts,
 * and enters the lower user namespace, where commands run: no process there has power over the
 * namespaces of the sandbox. Reads no client data except texts of the plan, which root has checked.
 * user_namespaces(7), mount_namespaces(7).
 */
#pragma once

#include "helper/plan/plan.h"
#include "programs/inside/init/config.h"
#include "protocol/frame.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct build_memory {
	void *bytes; /* NULL: none */
	size_t size;
};

/* Memory for building, in addition to the stack. init uses it for other purposes when it serves. */
struct build_room {
	struct plan *plan;
	/*
	 * The frame of the current packet. Between two packets its bytes hold the contents of a
	 * file, or other data that is being put together.
	 */
	struct frame *frame;
};

/* An open_memstream(3) stream that collects the contents of a file. */
struct build_text {
	FILE *out;
	char *bytes;
	size_t size;
};

/* sandbox.json, whose end is not written yet. */
struct build_about {
	struct build_memory file;
	struct build_text *text;
};

#define BUILD_DEV_PRESENT (1u << (INIT_FD_DEV - INIT_FD_CONTROL))

struct build {
	struct build_room room;
	struct build_text text;
	struct init_order order;
	const struct plan *plan; /* the plan of the current order, in `room`; NULL: none yet */
	const struct init_profile *profile;
	ino_t profile_number;    /* inode number of the mapped profile */
	struct yett_error error; /* the reason of the step that failed with a code */
	/*
	 * Bit n: descriptor INIT_FD_CONTROL + n is open. In contrast to struct init_config, this
	 * includes INIT_FD_DEV, which build_end() closes.
	 */
	uint32_t fds_present;
	bool is_ready; /* STAGE_READY is done */
	/* The sandbox's own files of /etc that the profile decides were made in STAGE_READY. */
	bool has_own_etc;
	bool enters;       /* works in a running sandbox: build_once() */
	bool is_command;   /* with `enters`: the capabilities over files were dropped */
	bool owns_network; /* The network namespace belongs to the sandbox, not to the host. */
	int trees_socket;  /* -1: no trees are sent */
	/* for each step: enum init_tree of the tree that will arrive */
	uint8_t kinds[PLAN_STEPS_MAX];
	int trees[PLAN_STEPS_MAX];   /* for each step: the mount to attach, or -1 */
	int targets[PLAN_STEPS_MAX]; /* for each step: the open mount point, or -1 */
	bool are_attached[PLAN_STEPS_MAX];
	int proc; /* the sandbox's own procfs; not attached before root_proc() */
	/*
	 * The template's root directory, below the sandbox's own; -1 until root_make(). In
	 * build_once(), a similar directory: open_beneath().
	 */
	int beneath;
	int root; /* the sandbox's root directory, or -1 */
	int own;  /* the directory that commands see read-only at /run/yett */
	dev_t root_device, own_device;
	uint32_t owner_uid, owner_gid; /* The ids that are root inside; UINT32_MAX: no id is. */
	uint32_t tty_gid;
	uint32_t host_uid;   /* init's uid outside */
	bool has_processors; /* commands run only on `processors` */
	struct processors processors;
	int lower_ns; /* the lower user namespace, or -1 */
	struct build_about about;
};

/* Whether the step changes a path inside something that is already mounted. */
static inline bool build_is_cover(const struct plan_step *step)
{
	return step->kind == PLAN_PIN || step->kind == PLAN_READ_ONLY || step->kind == PLAN_MASK;
}

/*
 * Whether the step covers a part of /proc, which is the same whatever a request adds. A path inside
 * a share, in contrast, exists only with the share.
 */
static inline bool build_covers_proc(const struct plan *plan, const struct plan_step *step)
{
	return strncmp(plan_text(plan, step->target), "/proc/", strlen("/proc/")) == 0;
}

typedef int (*build_step)(struct build *b, const struct plan_step *step);

/*
 * Takes orders from the control socket until the sandbox is built, and answers all but the last
 * one. Afterwards `config` is filled in, and init is in the lower user namespace with the label of
 * commands. The caller must then call start_run(), and about_finish() with `ret_about`. Returns 0,
 * -errno or a code, with the failed step in `ret_step` and the reason of a code in `ret_error`.
 * -EPIPE: the supervisor has closed the socket and wants no sandbox.
 */
_must_check_ int build_run(struct build_room room, struct init_config *config,
                           struct build_about *ret_about, const char **ret_step,
                           struct yett_error *ret_error);

/*
 * Carries out one order in a running sandbox, in a process that exits afterwards: mounts or
 * unmounts what the order says, with the same steps and functions, or makes port listeners for its
 * connections. Reports the result to the supervisor. Returns 0, or -errno if the report failed.
 */
_must_check_ int build_once(void);

/*
 * Reads the beginning of a file below `dir` like kernel_read_file(), into `room`, where it stays
 * until the next packet or file. If that fails, the text is empty.
 */
ssize_t build_read_file(const struct build *b, int dir, const char *path, char **ret_text);

/* Closes the stream, if it is open, and frees its contents. */
void build_end_text(struct build_text *text);

/* root.c: the sandbox's own root, and the files that are private to the sandbox. */
int root_make(struct build *b, const struct plan_step *step);
int root_prepare_proc(struct build *b, const struct plan_step *step);
int root_proc(struct build *b, const struct plan_step *step);
int root_devpts(struct build *b, const struct plan_step *step);
int root_sys(struct build *b, const struct plan_step *step);
int root_processors(struct build *b, const struct plan_step *step);

/*
 * For etc.c: root_open_tmpfs() opens a tmpfs that belongs to the id that is root inside.
 * root_make_path() makes the directory at an absolute path on the root, with its parents.
 * root_make_directory() makes one directory below `dir`.
 */
_must_check_ int root_open_tmpfs(const struct build *b, uint64_t size_bytes);
_must_check_ int root_make_path(const struct build *b, const char *path);
_must_check_ int root_make_directory(int dir, const char *path);

/*
 * etc.c: etc_is_hosts() says whether the profile shows all of the host's /etc, which then is one of
 * the template's trees. etc_prepare() does what is possible before a request exists. etc_make()
 * completes /etc. In the host's /etc, it covers again files that were replaced outside meanwhile,
 * because rename(2) over a name removes what is mounted there. For a small /etc, it makes all of
 * it; the copies are from the time of the request.
 */
bool etc_is_hosts(const struct build *b);
int etc_prepare(struct build *b, const struct plan_step *step);
int etc_make(struct build *b, const struct plan_step *step);

/*
 * attach.c: opens a path below `at` with O_PATH. `at` is the root of the resolution, magic links
 * are not followed, and `resolve` adds RESOLVE_* flags. openat2(2). Returns a descriptor or -errno.
 */
_must_check_ int attach_open(int at, const char *path, uint64_t resolve);

/* attach.c: mounts on the sandbox's root. */
int attach_prepare(struct build *b, const struct plan_step *step);
int attach_mount(struct build *b, const struct plan_step *step);
int attach_unmount(struct build *b, const struct plan_step *step);
/* In a running sandbox: unmounts what was attached, when a later step has failed. */
void attach_take_back(const struct build *b);
/* Makes a path read-only, hides it, or pins it so that it cannot be renamed. */
int attach_cover(struct build *b, const struct plan_step *step);

/* Whether the target is inside a mount of the client, or of a path that the policy names. */
bool attach_lies_in_others(const struct build *b, const struct plan_step *step);

/*
 * overlay.c: replaces `*tree` (a detached mount, or one of this mount namespace) with a read-only
 * overlay that belongs to the sandbox and shows the same files. Locks, watches, FIFOs and sockets
 * of the overlay are separate from those of the underlying directory. `path` is the place of the
 * overlay in the sandbox. First called before the sandbox's root is in place. Returns 0, -errno, or
 * a code with the reason: for a file, for a tree with mounts below it, which the overlay would not
 * show, and if the kernel refuses.
 */
_must_check_ int overlay_make(struct build *b, const char *path, int *tree);

/*
 * overlay.c: overlay_put_beneath() mounts `tree` on "lower" in b->beneath, which no path of
 * commands reaches, and makes b->beneath the working directory. Returns 0 or -errno.
 * overlay_check_bare() checks that nothing is mounted below "lower": 0, -EBUSY if something is, or
 * another -errno.
 */
_must_check_ int overlay_put_beneath(const struct build *b, int tree);
_must_check_ int overlay_check_bare(void);

/*
 * overlay.c, in a running sandbox: drops the cached names of the overlay at the step's target (/:
 * of every overlay), because its layers may have been changed from outside. Uses the ids of
 * commands.
 */
int overlay_refresh(struct build *b, const struct plan_step *step);

/*
 * workspace.c: makes a copy-on-write share. `*tree` is the shared directory, the lower layer; the
 * function replaces it with an overlay above it. The upper layer is the store that came with the
 * share, or a tmpfs of the sandbox. The thread takes the ids of commands meanwhile, and the mount
 * child's rights: lower_be_mounter(). Returns the same results as overlay_make().
 */
_must_check_ int workspace_make(struct build *b, const struct plan_step *step, int *tree);

/*
 * about.c: /run/yett/sandbox.json, which describes the sandbox to its commands. about_make() writes
 * what the plan says. about_finish(), called when init can do no more than commands, adds the
 * security layers through the mapping and unmaps the file. Room for a label is reserved.
 */
int about_make(struct build *b, const struct plan_step *step);
_must_check_ int about_finish(struct build_about about, const struct init_layers *layers,
                              bool has_filter);

/*
 * about.c, in a running sandbox: about_change() writes the new contents to a second file, while the
 * capabilities over files remain. about_end_change() puts that file in place of the old one, or
 * removes it. Both return 0 or -errno.
 */
_must_check_ int about_change(struct build *b);
_must_check_ int about_end_change(const struct build *b, bool is_done);

/* attach.c: makes a tmpfs that belongs to commands. Returns a mount or -errno. */
_must_check_ int attach_open_tmpfs(const struct build *b, uint32_t mode, uint64_t size_bytes);

/*
 * names.c: the loopback interface and the host name. names_loopback() also finds out whether the
 * sandbox owns its network namespace, and does nothing else if it does not.
 */
int names_loopback(struct build *b, const struct plan_step *step);
int names_host(struct build *b, const struct plan_step *step);

/*
 * network.c: network_prepare() selects TCP congestion control without pacing (bbr paces) while
 * /proc/sys is writable; every kernel allows reno. network_make() sets up the routes of a sandbox
 * that has a network with rules.
 */
int network_prepare(struct build *b, const struct plan_step *step);
int network_make(struct build *b, const struct plan_step *step);

/*
 * ports.c: runs in a separate process, in the sandbox's network namespace, which that process then
 * leaves. Makes a listener for each port that `rules` (a sealed memfd of the decider) names, and
 * for port 53, and sends the listeners to the proxy. Returns 0, -errno or a code.
 */
_must_check_ int ports_serve(struct build *b, int rules);

/*
 * lower.c: makes and enters the lower user namespace, in which commands run. The lower namespace
 * has the same ids as the upper one, and no user namespace can be made below it unless the plan
 * allows that. Where the host allows only root to make user namespaces there is no lower one, and
 * commands can have no capabilities.
 */
int lower_make(struct build *b, const struct plan_step *step);
int lower_enter(struct build *b, const struct plan_step *step);

/*
 * lower.c: clears the ambient and inheritable capability sets, through which init's capabilities
 * survived the exec: init executes nothing while it builds. Returns 0 or -errno.
 */
_must_check_ int lower_begin(void);

/*
 * lower.c: permanently drops the building capabilities that override file modes and owners. With
 * `mounts_overlays`, CAP_DAC_OVERRIDE stays permitted, and is effective only while a client's
 * overlay is being mounted. Call again with false to drop it. Returns 0 or -errno.
 */
_must_check_ int lower_shed(bool mounts_overlays);

/*
 * lower.c: with true, prepares for mounting an overlay; with false, undoes that. The kernel
 * accesses the layers of an overlay with the credentials that the process had when it mounted the
 * overlay. These are the ids of a command, plus the capabilities that overlayfs needs for its own
 * bookkeeping in files and directories that nobody may write. They give no access to other users'
 * files, because only the caller's ids are mapped in these layers. Returns 0 or -errno.
 */
_must_check_ int lower_be_mounter(bool is_mounter);

/*
 * lower.c: from here on, files are accessed with the ids and groups of commands, until
 * lower_be_owner(). The capabilities that do not concern files stay effective. Returns 0 or -errno.
 */
_must_check_ int lower_be_command(const struct build *b);

/*
 * lower.c: from here on, new files belong to root inside (owner_uid, owner_gid), or else to init's
 * own ids. All permitted capabilities become effective.
 */
void lower_be_owner(const struct build *b);

/* label.c: takes the label of commands. */
int label_take(struct build *b, const struct plan_step *step);

/*
 * derive.c: fills in the configuration for start_run() and the commands. Returns 0, -errno, or a
 * code with the reason, if a limit of the plan is too high for this host.
 */
_must_check_ int derive_config(struct build *b, struct init_config *config);

/*
 * Returns the entry after `name` (NULL: the first) of the profile's list for /etc; NULL after the
 * last one.
 */
const char *derive_next_name(const struct init_profile *profile, const char *name);

/*
 * Iterates over the template's trees in struct init_profile. `*at` must be NULL at first. Returns
 * false after the last tree.
 */
bool derive_next_entry(const struct init_profile *profile, const char **at, const char **ret_path,
                       const char **ret_link);
