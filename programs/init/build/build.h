/*
 * Building a sandbox: what init does before it serves, as a private id with capabilities over the
 * sandbox's own namespaces only.
 *
 * init is started in new mount, pid, network, ipc and uts namespaces that belong to the sandbox's
 * upper user namespace, in a copy of the profile's template, whose mounts the kernel has locked. It
 * carries out the plan in this order: what the profile decides; what the request adds on file
 * systems of the sandbox's own; then it gives up what overrides modes and owners (lower_shed),
 * takes and attaches what the client brought, and enters the lower user namespace, in which it
 * serves and commands live: from there nobody has any power over the namespaces that the sandbox
 * was built in. user_namespaces(7), mount_namespaces(7).
 *
 * No byte of a client's is read here but the texts of the plan, which root has checked.
 */
#pragma once

#include "helper/plan/plan.h"
#include "programs/init/config.h"
#include "protocol/frame.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct build_memory {
	void *bytes; /* NULL: none */
	size_t size;
};

/* What init has for it, besides the stack: memory that it uses for other things when it serves. */
struct build_room {
	struct plan *plan;
	struct frame *frame; /* of the packet in hand; between two, its bytes are for what is read
	                        of a file, or put together */
};

/* A stream of open_memstream(3), for what is to be in a file. */
struct build_text {
	FILE *out;
	char *bytes;
	size_t size;
};

/* sandbox.json, of which the end is to be written yet. */
struct build_about {
	struct build_memory file;
	struct build_text *text;
};

#define BUILD_DEV_PRESENT (1u << (INIT_FD_DEV - INIT_FD_CONTROL))

struct build {
	struct build_room room;
	struct build_text text;
	struct init_order order;
	const struct plan *plan; /* of the order in hand, in `room`; NULL: there is none yet */
	const struct init_profile *profile;
	ino_t profile_number;    /* of its memory, which is mapped */
	struct yett_error error; /* of the step that was refused */
	uint32_t fds_present; /* as struct init_config has it, with INIT_FD_DEV until that is used
	                         up */
	bool is_ready;        /* what the profile decides is done */
	bool has_own_etc; /* with it, what the profile decides of the sandbox's own files of /etc */
	bool enters;      /* the sandbox is there: build_once() */
	bool is_command;  /* then: no power over files is left */
	bool owns_network; /* the network namespace is of the sandbox's own making, and not the
	                      host's */
	int trees_socket;  /* -1: none come */
	uint8_t kinds[PLAN_STEPS_MAX]; /* by step: enum init_tree of what is to come */
	int trees[PLAN_STEPS_MAX];     /* by step: the mount that is to be attached; -1 */
	int targets[PLAN_STEPS_MAX];   /* by step: where, once that is there; -1 */
	bool are_attached[PLAN_STEPS_MAX];
	int proc;    /* the sandbox's own, not attached before root_proc() */
	int beneath; /* the template's root directory, on which the sandbox's own lies; -1 until
	                root_make(). One like it: build_once() */
	int root;    /* the sandbox's root directory, once there is one */
	int own;     /* the directory of what commands see at /run/yett and cannot change */
	dev_t root_device, own_device;
	uint32_t owner_uid, owner_gid; /* of what is root's inside; UINT32_MAX: nobody is */
	uint32_t tty_gid;
	uint32_t host_uid;   /* our own, outside */
	bool has_processors; /* commands run on these, and no others */
	struct processors processors;
	int lower_ns; /* the lower user namespace, once there is one */
	struct build_about about;
};

/* Whether the step changes a path inside something that is already mounted. */
static inline bool build_is_cover(const struct plan_step *step)
{
	return step->kind == PLAN_PIN || step->kind == PLAN_READ_ONLY || step->kind == PLAN_MASK;
}

/* Whether it covers a part of /proc, which is the same whatever a request adds: what lies in a
 * share is there only when the share is. */
static inline bool build_covers_proc(const struct plan *plan, const struct plan_step *step)
{
	return strncmp(plan_text(plan, step->target), "/proc/", strlen("/proc/")) == 0;
}

typedef int (*build_step)(struct build *b, const struct plan_step *step);

/*
 * Takes orders from the control socket until the sandbox is built, and answers those before the
 * last. Then `config` is filled in, init is in the lower user namespace with the label of commands,
 * and what is left is start_run()'s, and about_finish() with `ret_about`. 0, -errno or a code, with
 * `ret_step` as what failed and the reason of a code in `ret_error`; -EPIPE: nobody wants a sandbox
 * any more.
 */
_must_check_ int build_run(struct build_room room, struct init_config *config,
                           struct build_about *ret_about, const char **ret_step,
                           struct yett_error *ret_error);

/*
 * Takes one order, of a sandbox that is there, in a process of its own, which then ends: mounts in
 * it, or takes off, what that says, by the same steps and the same functions; or has its
 * connections caught by ports. It tells the supervisor how that went. 0, or -errno when it could
 * not.
 */
_must_check_ int build_once(void);

/*
 * The beginning of a file below `dir`, as kernel_read_file() has it, in `room`: until the next
 * packet or file. Where it cannot be read the text is empty.
 */
ssize_t build_read_file(const struct build *b, int dir, const char *path, char **ret_text);

/* Closes the stream, if it is open, and frees what was put into it. */
void build_end_text(struct build_text *text);

/* root.c: the sandbox's own root, and what is personal. */
int root_make(struct build *b, const struct plan_step *step);
int root_prepare_proc(struct build *b, const struct plan_step *step);
int root_proc(struct build *b, const struct plan_step *step);
int root_devpts(struct build *b, const struct plan_step *step);
int root_sys(struct build *b, const struct plan_step *step);
int root_processors(struct build *b, const struct plan_step *step);

/* For etc.c: a file system for what is root's inside; an absolute directory on the root, with all
 * above it; one below `dir`. */
_must_check_ int root_open_tmpfs(const struct build *b, uint64_t size_bytes);
_must_check_ int root_make_path(const struct build *b, const char *path);
_must_check_ int root_make_directory(int dir, const char *path);

/*
 * etc.c: whether the profile shows all of the host's /etc, which then is one of the template's
 * trees; what of that can be done before there is a request; and what makes it the sandbox's: in
 * the host's, which files that were replaced outside since are covered again, as rename(2) takes
 * off what is mounted on a name; or all of a small one, whose copies are of the time of the
 * request.
 */
bool etc_is_hosts(const struct build *b);
int etc_prepare(struct build *b, const struct plan_step *step);
int etc_make(struct build *b, const struct plan_step *step);

/*
 * attach.c: a path below `at`, which is taken for the root, with no links of the kernel's followed,
 * and as `resolve` says. openat2(2). With O_PATH; or -errno.
 */
_must_check_ int attach_open(int at, const char *path, uint64_t resolve);

/* attach.c: what is mounted on it. */
int attach_prepare(struct build *b, const struct plan_step *step);
int attach_mount(struct build *b, const struct plan_step *step);
int attach_unmount(struct build *b, const struct plan_step *step);
void attach_take_back(const struct build *b); /* of a sandbox that is there: what was attached,
                                                 where the rest cannot be */
int attach_cover(struct build *b, const struct plan_step *step); /* read-only, or hides */

/* Whether a mount of the client's, or of a path that the policy names, comes above it. */
bool attach_lies_in_others(const struct build *b, const struct plan_step *step);

/*
 * overlay.c: makes of `*tree` (a mount, of no namespace or of this one) a read-only overlay of the
 * sandbox's own that shows the same: a lock, a watch, a pipe or a socket there is none of what lies
 * behind. `path` is where it is, or will be. First called before the sandbox's root is in place. 0,
 * -errno, or a code with the reason: for files, for what has mounts below it, which would not be
 * shown, and where the kernel refuses.
 */
_must_check_ int overlay_make(struct build *b, const char *path, int *tree);

/*
 * overlay.c: mounts `tree` on "lower" beneath, where no name of commands leads to, and which is the
 * working directory then; and whether that has no mounts below, -EBUSY: it has. 0 or -errno.
 */
_must_check_ int overlay_put_beneath(const struct build *b, int tree);
_must_check_ int overlay_check_bare(void);

/*
 * overlay.c: of a sandbox that is there: has the overlay of the step's target (/: each that there
 * is) forget what it remembers of the names of its layers, which may have been changed from outside
 * meanwhile. In the name of commands.
 */
int overlay_refresh(struct build *b, const struct plan_step *step);

/*
 * workspace.c: makes of `*tree`, the source of a step that is the layer of an overlay, that
 * overlay, with what was changed in the store of the same target or in memory of the sandbox's own.
 * In the name of commands; lower_be_mounter(). The same results.
 */
_must_check_ int workspace_make(struct build *b, const struct plan_step *step, int *tree);

/*
 * about.c: /run/yett/sandbox.json, by which commands can tell what their sandbox is. First all that
 * the plan says; then, when nobody can do more than commands, what holds it besides, in what was
 * mapped for that, which is taken off. It has room for a label.
 */
int about_make(struct build *b, const struct plan_step *step);
_must_check_ int about_finish(struct build_about about, const struct init_layers *layers,
                              bool has_filter);

/*
 * about.c: of a sandbox that is there: writes down what it will say when the order is carried out,
 * while power over files is left; and has that said, as init, or forgets it. 0 or -errno.
 */
_must_check_ int about_change(struct build *b);
_must_check_ int about_end_change(const struct build *b, bool is_done);

/* attach.c: a file system in memory that belongs to commands. A mount or -errno. */
_must_check_ int attach_open_tmpfs(const struct build *b, uint32_t mode, uint64_t size_bytes);

/* names.c: what the sandbox is called, and how it is reached: only in a network namespace of its
 * own. Finds out whether it has one. */
int names_loopback(struct build *b, const struct plan_step *step);
int names_host(struct build *b, const struct plan_step *step);

/*
 * network.c: that packets are not paced, as bbr does it, while all of /proc/sys can be written
 * (reno is what every kernel lets one choose); and where connections go, in a sandbox that has a
 * network.
 */
int network_prepare(struct build *b, const struct plan_step *step);
int network_make(struct build *b, const struct plan_step *step);

/*
 * ports.c: for a process of its own, in the sandbox's network namespace, which it leaves: makes
 * what catches that one's connections at each port that `rules` are about, sealed memory of the
 * decider's, and at port 53, and sends it to the front. 0, -errno or a code.
 */
_must_check_ int ports_serve(struct build *b, int rules);

/*
 * lower.c: the user namespace of commands, with the same ids as this one; below it there can be no
 * further one. Where the host lets nobody make one there is none, and commands have no
 * capabilities.
 */
int lower_make(struct build *b, const struct plan_step *step);
int lower_enter(struct build *b, const struct plan_step *step);

/* lower.c: forgets by which sets they came across the exec: nothing is executed while init builds.
 * 0 or -errno. */
_must_check_ int lower_begin(void);

/*
 * lower.c: gives up the capabilities of building that override modes and owners of files, for good;
 * but for one that is in force while an overlay of the client's is mounted, if there is to be one,
 * and is given up when this is called once more, with false. 0 or -errno.
 */
_must_check_ int lower_shed(bool mounts_overlays);

/*
 * lower.c: who mounts an overlay is who uses its layers from then on, with the capabilities that he
 * has in that moment. As a command, with what the kernel needs for the overlay's own notes in files
 * and directories that nobody may write: on layers of which only the caller's ids are ids here,
 * what is another's stays as closed as it is. And back. 0 or -errno.
 */
_must_check_ int lower_be_mounter(bool is_mounter);

/*
 * lower.c: from here on, files are used in the name of commands (their ids and groups) until
 * lower_be_owner(); capabilities that go with ids stay. 0 or -errno.
 */
_must_check_ int lower_be_command(const struct build *b);

/* lower.c: what is made is root's inside, from here on: of owner_uid and owner_gid, or else of
 * init's own ids. With all capabilities left.
 */
void lower_be_owner(const struct build *b);

/* label.c: takes the label of commands. */
int label_take(struct build *b, const struct plan_step *step);

/* derive.c: what start_run() and the commands go by. 0, -errno, or a code with the reason: a limit
 * that cannot be given. */
_must_check_ int derive_config(struct build *b, struct init_config *config);

/* What follows `name` (NULL: the first) in the profile's list for /etc; NULL after the last one. */
const char *derive_next_name(const struct init_profile *profile, const char *name);

/* The trees of the template, as struct init_profile has them. `*at` begins as NULL; false after the
 * last one. */
bool derive_next_entry(const struct init_profile *profile, const char **at, const char **ret_path,
                       const char **ret_link);
