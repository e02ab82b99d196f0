/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See planning.h. No privilege.
 *
 * struct planning keeps the first failure, and every later function does nothing. So the callers
 * need no checks, and the plan reads as a list.
 */
#include "programs/decide/decider/planning.h"
#include "programs/decide/decider/asked.h"
#include "programs/decide/decider/plan_add.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/refuse.h"
#include "programs/decide/decider/rules.h"
#include "base/escape.h"
#include "base/units_format.h"
#include "programs/decide/policy/target.h"

#include <string.h>

struct planning {
	const struct decision *decision;
	const struct message *request;
	struct plan *plan;
	struct yett_error *error;
	int r;
	/* Index of the first mount. While mounts are added, they reach to the last step. */
	uint32_t mounts;
};

/*
 * Parts of /proc that are read-only or hidden in every sandbox. Not every kernel has all of them.
 * Files that only root may open by their mode (kmsg, kpageflags …) need no mount: a private id
 * cannot open them either.
 */
static const char *const proc_read_only[] = {"/proc/bus",      "/proc/fs",  "/proc/irq",
                                             "/proc/pressure", "/proc/sys", NULL};
static const char *const proc_masked[] = {
	"/proc/acpi",      "/proc/asound",        "/proc/interrupts",    "/proc/kcore",
	"/proc/key-users", "/proc/keys",          "/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi",      "/proc/sysrq-trigger", "/proc/timer_list",    NULL,
};

/* `field` names the part of the request or policy that contains `text`. */
static void planning_refuse(struct planning *p, const char *field, const char *text,
                            const char *problem)
{
	if (p->r)
		return;
	p->r = error_set(p->error, YETT_E_INVALID_REQUEST, 0, "'%s' %s", ESCAPE(text), problem);
	error_detail(p->error, "%s", field);
}

static void planning_add_text(struct planning *p, const char *string, struct plan_text *text)
{
	if (!p->r && plan_add_text(p->plan, string, text) < 0)
		p->r = error_set(p->error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the texts of the request are too long together");
}

/* Never NULL: after a failure returns the last slot of the table, whose content does not matter. */
static struct plan_step *planning_add_step(struct planning *p, enum plan_step_kind kind,
                                           const char *target)
{
	struct plan_step *step = p->r ? NULL : plan_add_step(p->plan, kind);

	if (!step) {
		planning_refuse(p, "the plan", target, "is one part too many");
		return &p->plan->steps[PLAN_STEPS_MAX - 1];
	}
	planning_add_text(p, target, &step->target);
	return step;
}

static void planning_add_place(struct planning *p, struct policy_place place,
                               struct plan_text *text)
{
	char line[512];

	(void)units_append(line, sizeof line, "%s:%u", place.file, place.line);
	planning_add_text(p, line, text);
}

/*
 * Returns the step that mounts at `target`, or NULL. Skips stores: not the store is mounted, but
 * the overlay of the source that has the same target.
 */
static struct plan_step *find_mount(const struct planning *p, const char *target)
{
	for (struct plan_step *step = p->plan->steps + p->mounts;
	     step < p->plan->steps + p->plan->steps_count; step++)
		if (step->layer != PLAN_LAYER_STORE &&
		    strcmp(plan_text(p->plan, step->target), target) == 0)
			return step;
	return NULL;
}

static bool has_mount(const struct planning *p, const char *target)
{
	return find_mount(p, target) != NULL;
}

static struct plan_step *add_mount(struct planning *p, enum plan_step_kind kind, const char *target,
                                   const char *field)
{
	const char *problem =
		target ? policy_target_problem(p->decision->profile, target) : "is no text";

	if (!p->r && !problem && has_mount(p, target))
		problem = "is the target of two mounts";
	if (problem)
		planning_refuse(p, field, target, problem);
	return planning_add_step(p, kind, target ? target : "");
}

static struct plan_step *add_tmpfs(struct planning *p, const char *target, uint64_t size_bytes,
                                   const char *field)
{
	struct plan_step *step = add_mount(p, PLAN_TMPFS, target, field);

	step->mode = 01777;
	step->size_bytes = size_bytes ? size_bytes : p->decision->profile->tmp_size_bytes;
	return step;
}

static void add_profile_mounts(struct planning *p)
{
	const struct policy_profile *profile = p->decision->profile;

	for (size_t i = 0; !p->r && i < profile->mounts_count; i++) {
		const struct policy_mount *mount = &profile->mounts[i];
		struct plan_step *step =
			*mount->source
				? add_mount(p, PLAN_HOST, mount->target, "share of the profile")
				: add_tmpfs(p, mount->target, mount->size_bytes,
		                            "tmpfs of the profile");

		step->writable = mount->writable;
		planning_add_text(p, mount->source, &step->source);
		planning_add_place(p, mount->place, &step->from);
	}
}

/*
 * Joins the items of both lists, one in each line: the host directories below which a share must be
 * located, or the paths of sockets. Just "*" if a list has that item. In paths of sockets, "%u" is
 * replaced with the caller's uid.
 */
static struct plan_text planning_add_rules(struct planning *p, const struct policy_list *first,
                                           const struct policy_list *second)
{
	const struct policy_list *lists[] = {first, second};
	struct plan_text rules = {0};
	char text[8192] = "";
	size_t used = 0;

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			const char *item = lists[l]->items[i];
			const char *uid = lists[l] == &p->decision->grant->sockets
			                          ? strstr(item, "%u")
			                          : NULL;

			if (strcmp(item, "*") == 0) {
				planning_add_text(p, item, &rules);
				return rules;
			}
			if (used + strlen(item) + (uid ? 12 : 2) > sizeof text)
				planning_refuse(p, "the grant", p->decision->grant->name,
				                "names too many directories");
			used += units_append(text + used, sizeof text - used, "%s%.*s",
			                     used ? "\n" : "",
			                     uid ? (int)(uid - item) : (int)strlen(item), item);
			if (uid)
				used += units_append(text + used, sizeof text - used, "%u%s",
				                     p->decision->verified->peer->uid, uid + 2);
		}
	planning_add_text(p, text, &rules);
	return rules;
}

/*
 * The changes of each overlay must go either into exactly one store or into memory, whose size is
 * known by now.
 */
static void check_layers(struct planning *p)
{
	struct plan_step *end = p->plan->steps + p->plan->steps_count;

	for (struct plan_step *step = p->plan->steps + p->mounts; !p->r && step < end; step++) {
		const char *target = plan_text(p->plan, step->target);
		unsigned stores = 0;

		for (struct plan_step *other = p->plan->steps + p->mounts;
		     step->layer && other < end; other++)
			stores += other->layer == PLAN_LAYER_STORE &&
			          strcmp(plan_text(p->plan, other->target), target) == 0;
		if (step->layer == PLAN_LAYER_STORE &&
		    (stores != 1 || !has_mount(p, target) ||
		     find_mount(p, target)->layer != PLAN_LAYER_SOURCE))
			planning_refuse(p, "a store of the request", target,
			                "is not the target of one copy-on-write share");
		if (step->layer == PLAN_LAYER_SOURCE && stores + (step->size_bytes != 0) != 1)
			planning_refuse(
				p, "a copy-on-write share of the request", target,
				"has not one place for what is changed: a store or a tmpfs");
	}
}

/*
 * Adds an empty tmpfs. If `target` is that of a copy-on-write share, sets the size of the memory
 * for the share's changes instead.
 */
static void add_request_tmpfs(struct planning *p, const struct message_tmpfs *tmpfs,
                              const char *field)
{
	const char *target = message_text(p->request, tmpfs->target);
	struct plan_step *source = target ? find_mount(p, target) : NULL;

	if (!source || source->layer != PLAN_LAYER_SOURCE || source->size_bytes) {
		(void)add_tmpfs(p, target, tmpfs->size_bytes, field);
		return;
	}
	source->size_bytes =
		tmpfs->size_bytes ? tmpfs->size_bytes : p->decision->profile->tmp_size_bytes;
}

/* Whether share `i` uses a descriptor of the packet that no earlier share uses. */
static bool is_its_own(const struct message_create *create, uint32_t i)
{
	bool is_own = create->shares[i].fd < create->shares_count;

	for (uint32_t j = 0; j < i; j++)
		is_own = is_own && create->shares[j].fd != create->shares[i].fd;
	return is_own;
}

static void add_request_mounts(struct planning *p)
{
	const struct message_create *create = &p->request->body.create;
	const struct policy_grant *grant = p->decision->grant;
	const struct policy_list none = {0};
	struct plan_text rules[] = {
		[SHARE_RO] = planning_add_rules(p, &grant->share_ro, &grant->share_rw),
		[SHARE_RW] = planning_add_rules(p, &grant->share_rw, &none),
		[SHARE_SOCKET] = planning_add_rules(p, &grant->sockets, &none),
		[SHARE_STORE] = {0},
	};
	const struct policy_place places[] = {[SHARE_RO] = grant->places[POLICY_KEY_SHARE_RO],
	                                      [SHARE_RW] = grant->places[POLICY_KEY_SHARE_RW],
	                                      [SHARE_SOCKET] = grant->places[POLICY_KEY_SOCKETS],
	                                      [SHARE_COW] = grant->places[POLICY_KEY_SHARE_RO],
	                                      [SHARE_STORE] = grant->place};
	static const enum plan_layer layers[] = {
		[SHARE_COW] = PLAN_LAYER_SOURCE, [SHARE_STORE] = PLAN_LAYER_STORE};
	char field[48];

	if (create->shares_count != p->decision->verified->fd_count ||
	    create->shares_count > MESSAGE_SHARES_MAX)
		planning_refuse(p, "shares", "the list",
		                "does not have one share for each descriptor");
	rules[SHARE_COW] = rules[SHARE_RO]; /* the source itself is never changed */
	/* A store may be located anywhere: root checks that the directory belongs to the caller. */
	planning_add_text(p, "*", &rules[SHARE_STORE]);
	for (uint32_t i = 0; !p->r && i < create->shares_count; i++) {
		const struct message_share *share = &create->shares[i];
		const char *target = message_text(p->request, share->target);
		struct plan_step *step;

		(void)units_append(field, sizeof field, "share %u", i + 1);
		step = share->mode == SHARE_STORE && target
		               ? planning_add_step(p, PLAN_SHARE, target)
		               : add_mount(p, PLAN_SHARE, target, field);
		if (!is_its_own(create, i) || share->mode > SHARE_STORE) {
			planning_refuse(p, field, plan_text(p->plan, step->target),
			                "names a descriptor that did not come or is used twice");
			return;
		}
		step->fd = share->fd;
		step->layer = share->mode > SHARE_SOCKET ? layers[share->mode] : PLAN_LAYER_NONE;
		/* A copy-on-write source is writable only inside the sandbox. */
		step->writable = share->mode == SHARE_RW || step->layer;
		step->is_socket = share->mode == SHARE_SOCKET;
		step->source = rules[share->mode];
		planning_add_place(p, places[share->mode].file ? places[share->mode] : grant->place,
		                   &step->from);
	}
	for (uint32_t i = 0; !p->r && i < create->tmpfs_count && i < MESSAGE_TMPFS_MAX; i++) {
		(void)units_append(field, sizeof field, "tmpfs %u", i + 1);
		add_request_tmpfs(p, &create->tmpfs[i], field);
	}
	check_layers(p);
}

/*
 * If the profile has workspace = cow: refuses writable shares, except the one at PLAN_MEMORY, and
 * refuses a new sandbox that has shares but no copy-on-write share. `is_later`: the plan is for an
 * existing sandbox.
 */
static void check_workspace(struct planning *p, bool is_later)
{
	const struct policy_profile *profile = p->decision->profile;
	bool has_share = false, has_writable = false, has_source = false;

	for (const struct plan_step *step = p->plan->steps + p->mounts;
	     step < p->plan->steps + p->plan->steps_count; step++) {
		if (step->kind != PLAN_SHARE || step->is_socket ||
		    (profile->memory_mount &&
		     strcmp(plan_text(p->plan, step->target), PLAN_MEMORY) == 0))
			continue;
		has_share = true;
		has_source = has_source || step->layer == PLAN_LAYER_SOURCE;
		has_writable = has_writable || (step->writable && !step->layer);
	}
	if (p->r || profile->workspace != POLICY_WORKSPACE_COW ||
	    (!has_writable && (is_later || !has_share || has_source)))
		return;
	p->r = error_set(
		p->error, YETT_E_INVALID_REQUEST, YETT_R_WANTED_COW,
		"the profile '%s' requires shares to be copy-on-write, and %s: use --cow PATH",
		profile->name, has_writable ? "a share is writable" : "no share is");
	error_detail(p->error, "workspace of profile '%s' (%s:%u)", profile->name,
	             profile->place.file, profile->place.line);
}

/*
 * Adds the outputs directory that the profile wants, and refuses a request without the memory
 * directory that the profile wants, unless the request has mounts there.
 */
static void add_conventional(struct planning *p)
{
	const struct policy_profile *profile = p->decision->profile;

	if (!p->r && profile->outputs_mount && !has_mount(p, PLAN_OUTPUTS))
		(void)add_tmpfs(p, PLAN_OUTPUTS, 0, "outputs_mount of the profile");
	if (p->r || !profile->memory_mount || has_mount(p, PLAN_MEMORY))
		return;
	p->r = error_set(p->error, YETT_E_INVALID_REQUEST, YETT_R_WANTED_MOUNT,
	                 "the profile '%s' wants a directory of the user's at " PLAN_MEMORY,
	                 profile->name);
	error_detail(p->error, "memory_mount of profile '%s' (%s:%u)", profile->name,
	             profile->place.file, profile->place.line);
}

static int depth_of(const char *path)
{
	int depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* Parents come before children. Below that, the order does not depend on the request's order. */
static int compare_mounts(const void *a, const void *b, void *plan)
{
	const struct plan_step *x = a, *y = b;
	const char *s = plan_text(plan, x->target), *t = plan_text(plan, y->target);

	if (depth_of(s) != depth_of(t))
		return depth_of(s) - depth_of(t);
	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(s, t);
}

/*
 * Refuses a protected path whose parents a program could replace. Inside a writable mount a program
 * can rename a directory that is no mount point, and create another directory of that name: then
 * the protected path resolves to what the program made. So each parent inside a writable mount must
 * be a mount point itself. The mounts [p->mounts, end) are in order of depth, so the last match is
 * the innermost mount.
 */
static void check_pinned(struct planning *p, const char *path, uint32_t end, const char *field)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);
		bool is_open = false;

		for (uint32_t i = p->mounts; i < end; i++) {
			const struct plan_step *mount = &p->plan->steps[i];
			const char *target = plan_text(p->plan, mount->target);
			size_t n = strlen(target);

			if (n <= length && strncmp(path, target, n) == 0 && path[n] == '/')
				is_open = n < length &&
				          (mount->writable || mount->kind == PLAN_TMPFS);
		}
		if (is_open)
			planning_refuse(
				p, field, path,
				"cannot be kept from a program that may rename a directory above it: share that one on "
				"its own");
	}
}

/* The innermost mount below whose target `path` is located, without covers; NULL: none. */
static const struct plan_step *find_around(const struct planning *p, const char *path, uint32_t end)
{
	const struct plan_step *found = NULL;
	size_t longest = 0;

	for (uint32_t i = p->mounts; i < end; i++) {
		const struct plan_step *step = &p->plan->steps[i];
		const char *target = plan_text(p->plan, step->target);

		if (step->layer != PLAN_LAYER_STORE && strlen(target) > longest &&
		    policy_path_is_in(path, target) && strcmp(path, target) != 0) {
			found = step;
			longest = strlen(target);
		}
	}
	return found;
}

static bool is_in_share(const struct planning *p, const char *path, uint32_t end)
{
	for (uint32_t i = p->mounts; i < end; i++) {
		const char *target = plan_text(p->plan, p->plan->steps[i].target);

		if (p->plan->steps[i].kind == PLAN_SHARE && policy_path_is_in(path, target) &&
		    strcmp(path, target) != 0)
			return true;
	}
	return false;
}

/*
 * Makes each directory between a writable `share` and `path` a mount point. Otherwise a program
 * could rename one of them and create another file at `path`. `share` is the mount around `path`,
 * or NULL.
 */
static void add_pins(struct planning *p, const struct plan_step *share, const char *path)
{
	char above[MESSAGE_PATH_MAX + 1];

	if (!share || share->kind != PLAN_SHARE || !share->writable || share->layer)
		return;
	for (const char *slash = strchr(path + strlen(plan_text(p->plan, share->target)) + 1, '/');
	     slash; slash = strchr(slash + 1, '/')) {
		struct plan_step *step;

		(void)units_append(above, sizeof above, "%.*s", (int)(slash - path), path);
		if (has_mount(p, above))
			continue;
		step = planning_add_step(p, PLAN_PIN, above);
		step->optional = step->writable = true;
	}
}

/*
 * Adds the cover, or turns a pin or read-only cover at the path into the new cover. A mount that
 * the request has at the path stays uncovered: the client wants its content shown there.
 */
static void add_cover(struct planning *p, enum plan_step_kind kind, const char *path)
{
	struct plan_step *there = find_mount(p, path);

	if (!there) {
		planning_add_step(p, kind, path)->optional = true;
	} else if (there->kind == PLAN_PIN || there->kind == PLAN_READ_ONLY) {
		there->kind = kind;
		there->writable = false;
	}
}

/* Adds steps for the masks or the read-only paths of the request. */
static void planning_add_asked(struct planning *p, enum plan_step_kind kind,
                               const struct text *paths, uint32_t count, uint32_t end)
{
	const char *field = kind == PLAN_MASK ? "masks" : "read_only";

	for (uint32_t i = 0; !p->r && i < count && i < MESSAGE_COVERS_MAX; i++) {
		const char *path = message_text(p->request, paths[i]);
		const char *problem = path ? policy_path_problem(path) : "is no text";
		const struct plan_step *around;

		if (problem || !is_in_share(p, path, end)) {
			planning_refuse(p, field, path ? path : "",
			                problem ? problem : "is not inside a share of the request");
			return;
		}
		around = find_around(p, path, end);
		/* Another mount hides that part of the share, for example one of the profile. */
		if (around->kind != PLAN_SHARE)
			continue;
		add_pins(p, around, path);
		add_cover(p, kind, path);
	}
}

/*
 * Adds covers and pins before sort_mounts() sorts all mounts, so that a share inside a read-only
 * directory is mounted on top of that directory.
 */
static void add_covers(struct planning *p, const struct text *masks, uint32_t masks_count,
                       const struct text *read_only, uint32_t read_only_count)
{
	uint32_t end = p->plan->steps_count;

	planning_add_asked(p, PLAN_READ_ONLY, read_only, read_only_count, end);
	planning_add_asked(p, PLAN_MASK, masks, masks_count, end);
	for (uint32_t i = p->mounts; !p->r && i < end; i++) {
		const char *target = plan_text(p->plan, p->plan->steps[i].target);

		if (p->plan->steps[i].layer != PLAN_LAYER_STORE)
			add_pins(p, find_around(p, target, end), target);
	}
}

/* Sorts the mounts by depth, and checks that no read-only mount can be replaced. */
static void sort_mounts(struct planning *p)
{
	struct plan *plan = p->plan;

	if (p->r)
		return;
	qsort_r(plan->steps + p->mounts, plan->steps_count - p->mounts, sizeof *plan->steps,
	        compare_mounts, plan);
	for (uint32_t i = p->mounts; i < plan->steps_count; i++)
		if ((plan->steps[i].kind == PLAN_SHARE || plan->steps[i].kind == PLAN_HOST) &&
		    !plan->steps[i].writable)
			check_pinned(p, plan_text(plan, plan->steps[i].target), plan->steps_count,
			             "a read-only share in a writable one");
}

static void planning_add_mounts(struct planning *p)
{
	const struct message_create *create = &p->request->body.create;

	p->mounts = p->plan->steps_count;
	add_profile_mounts(p);
	add_request_mounts(p);
	check_workspace(p, false);
	add_conventional(p);
	add_covers(p, create->masks, create->masks_count, create->read_only,
	           create->read_only_count);
	sort_mounts(p);
}

/* Covers the given paths of /proc, then those of the profile. The mounts end before `end`. */
static void add_protected(struct planning *p, enum plan_step_kind kind, const char *const *proc,
                          const struct policy_list *list, uint32_t end)
{
	for (; *proc; proc++)
		planning_add_step(p, kind, *proc)->optional = true;
	for (size_t i = 0; !p->r && i < list->count; i++) {
		struct plan_step *step = planning_add_step(p, kind, list->items[i]);

		check_pinned(p, list->items[i], end,
		             kind == PLAN_MASK ? "mask of the profile"
		                               : "read_only of the profile");
		step->optional = true;
		planning_add_place(p, list->places[i], &step->from);
	}
}

/* A colon or a newline in a field would add fields or lines to the sandbox's passwd(5). */
static const char *passwd_field(const char *text, const char *otherwise)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f || *at == ':')
			return otherwise;
	return *text ? text : otherwise;
}

static void planning_add_names(struct planning *p)
{
	struct plan *plan = p->plan;
	const struct peer *peer = p->decision->verified->peer;
	const struct policy_profile *profile = p->decision->profile;
	bool is_root = profile->identity == PLAN_IDENTITY_ROOT;
	const char *home = is_root ? "/root" : passwd_field(peer->names.home, "/");
	char asked[ASKED_SIZE];
	size_t used = 0;

	/*
	 * The home is "/" if the profile has no private_home, or if the account has no home or,
	 * like daemons, a home in a system directory.
	 */
	if (!profile->private_home || policy_target_problem(profile, home) ||
	    policy_path_is_in(home, "/etc"))
		home = "/";
	for (size_t i = 0; i < profile->system.count; i++)
		home = policy_path_is_in(home, profile->system.items[i]) ? "/" : home;
	planning_add_text(p, is_root ? "root" : passwd_field(peer->names.user, "user"),
	                  &plan->user_name);
	planning_add_text(p, is_root ? "root" : passwd_field(peer->names.group, "user"),
	                  &plan->group_name);
	planning_add_text(p, home, &plan->home);
	planning_add_text(p, passwd_field(peer->names.shell, "/bin/sh"), &plan->shell);
	planning_add_text(p, profile->apparmor_profile, &plan->label);
	planning_add_text(p, profile->selinux_type, &plan->selinux_type);
	plan->label_required = profile->label == POLICY_LABEL_REQUIRED;
	for (size_t i = 0; i < profile->devices.count; i++)
		used += units_append(
			plan->weaker + used, sizeof plan->weaker - used, "%s%s",
			i ? ", " : "by devices of the host: ", profile->devices.items[i]);
	if (plan->network == PLAN_NETWORK_HOST)
		(void)units_append(
			plan->weaker + used, sizeof plan->weaker - used,
			"%sby the network of the host: it reaches all that the host reaches, and what listens on 127.0.0.1",
			used ? "; " : "");
	planning_add_text(p, profile->name, &plan->profile_name);
	planning_add_place(p, profile->place, &plan->profile_place);
	planning_add_text(p, p->decision->grant->name, &plan->grant_name);
	planning_add_place(p, p->decision->grant->place, &plan->grant_place);
	planning_add_text(p, asked_describe(p->decision->verified->request, asked), &plan->asked);
}

/*
 * Adds the variables of the caller's account that the profile does not set, then those of the
 * profile.
 */
static void add_environment(struct planning *p)
{
	const struct policy_list *profile = &p->decision->profile->environment;
	struct plan *plan = p->plan;
	const struct {
		const char *name;
		struct plan_text value;
	} own[] = {{"HOME=", plan->home},
	           {"USER=", plan->user_name},
	           {"LOGNAME=", plan->user_name},
	           {"SHELL=", plan->shell}};
	char entry[MESSAGE_PATH_MAX + 16];

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		bool is_set = false;

		for (size_t j = 0; j < profile->count; j++)
			is_set = is_set ||
			         strncmp(profile->items[j], own[i].name, strlen(own[i].name)) == 0;
		(void)units_append(entry, sizeof entry, "%s%s", own[i].name,
		                   plan_text(plan, own[i].value));
		if (!is_set)
			planning_add_text(p, entry, &plan->env[plan->env_count++]);
	}
	for (size_t i = 0; i < profile->count && plan->env_count < PLAN_ENV_MAX; i++)
		planning_add_text(p, profile->items[i], &plan->env[plan->env_count++]);
}

static void fill_numbers(struct planning *p, const struct policy *policy)
{
	struct plan *plan = p->plan;
	const struct decision *decision = p->decision;
	const struct peer *peer = decision->verified->peer;
	/*
	 * Each sandbox gets an equal part of the user's terminals, as if the user had the maximum
	 * number of sandboxes. So nothing has to count the terminals of the other sandboxes.
	 */
	uint32_t sandboxes = (uint32_t)decision->bounds[POLICY_KEY_SANDBOXES].most;
	uint32_t terminals =
		((uint32_t)decision->bounds[POLICY_KEY_USER_TERMINALS].most ?: UINT32_MAX) /
		(sandboxes ?: POLICY_SANDBOXES_MAX);
	bool is_valid = peer->uid != (uid_t)-1 && peer->gid != (gid_t)-1 &&
	                peer->groups_count <= PLAN_GROUPS_MAX;

	plan->shape = PLAN_SHAPE;
	for (size_t i = 0; is_valid && i < peer->groups_count; i++)
		is_valid = peer->groups[i] != (gid_t)-1;
	if (!is_valid) {
		p->r = error_set(p->error, YETT_E_UNSUPPORTED, 0,
		                 "the caller's ids are not valid, or its groups more than %d",
		                 PLAN_GROUPS_MAX);
		return;
	}
	plan->policy_generation = policy->generation;
	plan->profile = (uint32_t)(decision->profile - policy->profiles);
	plan->caller_uid = peer->uid;
	plan->caller_gid = peer->gid;
	memcpy(plan->groups, peer->groups, peer->groups_count * sizeof plan->groups[0]);
	plan->groups_count = (uint32_t)peer->groups_count;
	plan->network = decision->network;
	plan->identity = decision->profile->identity;
	plan->capabilities = decision->profile->capabilities_mask;
	plan->nested_userns = decision->profile->nested_userns;
	plan->perf_events = decision->profile->perf_events;
	plan->overlay_ro = decision->profile->overlay_ro;
	plan->sandboxes_max = sandboxes;
	plan->terminals_max = terminals == 0                   ? 1
	                      : terminals < PLAN_TERMINALS_MAX ? terminals
	                                                       : PLAN_TERMINALS_MAX;
	plan->limits = decision->limits;
	plan->user_limits = decision->user_limits;
	plan->umask = decision->profile->umask;
	plan->nice = decision->profile->nice;
	plan->is_dry = p->request->body.create.plan_only;
	plan->share_fds = (uint32_t)decision->verified->fd_count;
}

static bool looks_like_an_id(const char *name)
{
	return strlen(name) == PLAN_ID_SIZE - 1 &&
	       strspn(name, "0123456789abcdef") == PLAN_ID_SIZE - 1;
}

_Static_assert(PLAN_LABEL_MAX == MESSAGE_KEY_VALUE_MAX && PLAN_LABELS_MAX == MESSAGE_LABELS_MAX &&
                       PLAN_ANNOTATION == MESSAGE_ANNOTATION,
               "a label is the same in a plan and in a message");

/* Adds the section that init names when it refuses a command that asks for too much time. */
static void add_commands(struct planning *p)
{
	const struct policy_profile *profile = p->decision->profile;
	const struct policy_grant *by = p->decision->bounds[POLICY_KEY_COMMAND].by;

	if (!p->plan->life.command_max_ms)
		return;
	planning_add_text(p, by ? refuse_section(by) : "profile", &p->plan->command_section);
	planning_add_text(p, by ? by->name : profile->name, &p->plan->command_name);
	planning_add_place(p, by ? by->places[POLICY_KEY_COMMAND] : profile->command_places[1],
	                   &p->plan->command_place);
}

/* Adds the life times, the name, the principal and the labels. */
static void planning_add_life(struct planning *p)
{
	const struct message_create *create = &p->request->body.create;
	const char *name = message_text(p->request, create->name);
	size_t used = 0;

	p->plan->life = p->decision->life;
	add_commands(p);
	if (name && looks_like_an_id(name))
		planning_refuse(p, "name", name, "could be the id of another sandbox");
	planning_add_text(p, name ? name : "", &p->plan->name);
	planning_add_text(p, p->decision->verified->principal, &p->plan->principal);
	for (uint32_t i = 0; i < create->labels_count && i < PLAN_LABELS_MAX; i++) {
		const char *label = message_text(p->request, create->labels[i]);
		size_t key = label ? strcspn(label, "=") + 1 : 0;

		if (!label) {
			planning_refuse(p, "labels", "", "is no text");
			return;
		}
		for (uint32_t j = 0; j < i; j++)
			if (strncmp(plan_text(p->plan, p->plan->labels[j]), label, key) == 0)
				planning_refuse(p, "labels", label, "has the key of another label");
		if (label[0] == PLAN_ANNOTATION && label[1] == '=')
			planning_refuse(p, "labels", label, "has no key");
		used += strlen(label) + 1;
		if (used > PLAN_LABELS_SIZE)
			planning_refuse(p, "labels", "labels and annotations",
			                "have more than 2,560 bytes together");
		planning_add_text(p, label, &p->plan->labels[p->plan->labels_count++]);
	}
}

static void add_hostname(struct planning *p)
{
	const char *name = message_text(p->request, p->request->body.create.hostname);
	const char *problem = name && *name ? policy_hostname_problem(name) : NULL;

	if (problem)
		planning_refuse(p, "hostname", name, problem);
	planning_add_text(p, name && *name ? name : p->decision->profile->hostname,
	                  &planning_add_step(p, PLAN_HOSTNAME, "")->source);
}

/* Adds the steps from `first` to `last`, which have no values. */
static void add_plain_steps(struct planning *p, enum plan_step_kind first, enum plan_step_kind last)
{
	for (unsigned kind = first; kind <= last; kind++)
		(void)planning_add_step(p, kind, "");
}

/* Adds a step that enforces a bound over all sandboxes of the user, with the grant that sets it. */
static void add_bound(struct planning *p, enum plan_step_kind kind, enum policy_key key)
{
	const struct policy_grant *grant = p->decision->bounds[key].by;
	struct plan_step *step = planning_add_step(p, kind, "");

	if (!grant)
		return;
	planning_add_text(p, refuse_section(grant), &step->target);
	planning_add_text(p, grant->name, &step->source);
	planning_add_place(p, grant->places[key], &step->from);
}

#define NETWORK_TEXT_SIZE 2048

/*
 * Adds a description of the network for people who read the plan. Nothing else uses it, so it is
 * left out if the arena has no room for it.
 */
static void describe_network(struct planning *p, const struct policy *policy)
{
	char text[NETWORK_TEXT_SIZE];

	for (uint32_t i = 0; !p->r && i < p->plan->steps_count; i++)
		if (p->plan->steps[i].kind == PLAN_NETWORK)
			(void)!plan_add_text(p->plan,
			                     rules_describe(policy, p->decision, text, sizeof text),
			                     &p->plan->steps[i].source);
}

int planning_make(const struct policy *policy, const struct decision *decision,
                  const char id[PLAN_ID_SIZE], struct plan *ret_plan, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	struct planning p = {.decision = decision,
	                     .request = decision->verified->request,
	                     .plan = ret_plan,
	                     .error = error};
	uint32_t mounts_end;

	memset(ret_plan, 0, offsetof(struct plan, arena));
	memcpy(ret_plan->id, id, PLAN_ID_SIZE - 1);
	fill_numbers(&p, policy);
	planning_add_names(&p);
	planning_add_life(&p);
	add_environment(&p);
	add_bound(&p, PLAN_SLOT, POLICY_KEY_SANDBOXES);
	add_bound(&p, PLAN_CGROUP, POLICY_KEY_USER_MEMORY);
	add_plain_steps(&p, PLAN_CGROUP + 1, PLAN_NAMESPACES);
	planning_add_step(&p, PLAN_ROOT, "")->size_bytes = profile->tmp_size_bytes;
	add_plain_steps(&p, PLAN_PROC, PLAN_ETC);
	planning_add_mounts(&p);
	mounts_end = ret_plan->steps_count;
	add_protected(&p, PLAN_READ_ONLY, proc_read_only, &profile->read_only, mounts_end);
	add_protected(&p, PLAN_MASK, proc_masked, &profile->mask, mounts_end);
	add_plain_steps(&p, decision->network == PLAN_NETWORK_HOST ? PLAN_NETWORK : PLAN_LOOPBACK,
	                PLAN_NETWORK);
	add_hostname(&p);
	add_plain_steps(&p, PLAN_IDENTITY, PLAN_INIT);
	describe_network(&p, policy);
	return p.r;
}

/* --- mounts in an existing sandbox ------------------------------------------------------------ */

/*
 * The sandbox's Landlock rules were made when it started, and let commands use later mounts only
 * below these directories: programs/inside/init/landlock.c.
 */
static bool is_reached_later(const struct planning *p, const char *target)
{
	const char *const places[] = {"/mnt", "/tmp", "/var/tmp", "/run",
	                              plan_text(p->plan, p->plan->home)};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i][0] && places[i][1] && policy_path_is_in(target, places[i]) &&
		    strcmp(target, places[i]) != 0)
			return true;
	return false;
}

static void planning_check_place(struct planning *p, const char *field, const char *target)
{
	if (p->r || is_reached_later(p, target))
		return;
	planning_refuse(p, field, target, "is no place for what is mounted, or taken off, later");
	error_mend(p->error, "take a place below /mnt, /tmp, /var/tmp, /run or the home");
}

static bool is_in_list(const struct policy_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (policy_path_is_in(path, list->items[i]))
			return true;
	return false;
}

static bool planning_is_protected(const struct policy_profile *profile, const char *path)
{
	return is_in_list(&profile->read_only, path) || is_in_list(&profile->mask, path);
}

/*
 * Refuses a target at or below a path that the profile protects. If that path did not exist when
 * the sandbox was made, no mount covers it.
 */
static void check_mount(struct planning *p, const struct plan_step *step)
{
	const char *target = plan_text(p->plan, step->target);

	if (!p->r && step->kind == PLAN_TMPFS)
		planning_refuse(p, "tmpfs", target,
		                "can be mounted only when the sandbox is made, not later");
	if (!p->r && planning_is_protected(p->decision->profile, target))
		planning_refuse(p, "shares", target, "is protected by the profile");
	planning_check_place(p, "shares", target);
}

/* Covers are mounts, too: refuse to unmount a path that the profile protects or mounts. */
static void add_unmount(struct planning *p, const char *target, const char *field)
{
	const struct policy_profile *profile = p->decision->profile;
	const char *problem = target ? policy_target_problem(profile, target) : "is no text";

	for (size_t i = 0; !problem && i < profile->mounts_count; i++)
		problem =
			strcmp(profile->mounts[i].target, target) == 0 ? "is the profile's" : NULL;
	if (!problem && planning_is_protected(profile, target))
		problem = "is protected by the profile";
	if (problem)
		planning_refuse(p, field, target ? target : "", problem);
	else
		planning_check_place(p, field, target);
	(void)planning_add_step(p, PLAN_UNMOUNT, target ? target : "");
}

/* Covers the paths of `list`, which the profile protects, that are inside a share of this plan. */
static void add_protected_inside(struct planning *p, enum plan_step_kind kind,
                                 const struct policy_list *list, uint32_t end)
{
	for (size_t i = 0; i < list->count; i++)
		for (uint32_t j = p->mounts; j < end; j++) {
			const char *target = plan_text(p->plan, p->plan->steps[j].target);

			if (!policy_path_is_in(list->items[i], target) ||
			    strcmp(list->items[i], target) == 0)
				continue;
			check_pinned(p, list->items[i], end,
			             kind == PLAN_MASK ? "mask of the profile"
			                               : "read_only of the profile");
			planning_add_step(p, kind, list->items[i])->optional = true;
			break;
		}
}

/* Needs no planning_check_place(): a refreshed overlay shows only its layers, which were visible
 * before. */
static void add_refresh(struct planning *p, const char *target)
{
	const char *problem = !target                    ? "is no text"
	                      : strcmp(target, "/") == 0 ? NULL
	                                                 : policy_path_problem(target);

	if (problem)
		planning_refuse(p, "refresh", target ? target : "", problem);
	(void)planning_add_step(p, PLAN_REFRESH, target ? target : "");
}

int planning_mount(const struct policy *policy, const struct decision *decision,
                   const char id[PLAN_ID_SIZE], const struct message_mount *mount,
                   struct plan *ret_plan, struct yett_error *error)
{
	struct planning p = {.decision = decision,
	                     .request = decision->verified->request,
	                     .plan = ret_plan,
	                     .error = error};
	uint32_t end;

	memset(ret_plan, 0, offsetof(struct plan, arena));
	memcpy(ret_plan->id, id, PLAN_ID_SIZE - 1);
	fill_numbers(&p, policy);
	ret_plan->network = PLAN_NETWORK_NONE;
	planning_add_names(&p);
	add_bound(&p, PLAN_SLOT, POLICY_KEY_SANDBOXES);
	add_bound(&p, PLAN_CGROUP, POLICY_KEY_USER_MEMORY);
	for (size_t i = 0; !p.r && i < mount->unmount_count; i++)
		add_unmount(&p, message_text(p.request, mount->unmount[i]), "unmount");
	for (size_t i = 0; !p.r && i < mount->refresh_count; i++)
		add_refresh(&p, message_text(p.request, mount->refresh[i]));
	p.mounts = ret_plan->steps_count;
	add_request_mounts(&p);
	check_workspace(&p, true);
	end = ret_plan->steps_count;
	for (uint32_t i = p.mounts; i < end; i++)
		check_mount(&p, &ret_plan->steps[i]);
	add_covers(&p, mount->masks, mount->masks_count, mount->read_only, mount->read_only_count);
	sort_mounts(&p);
	if (p.r)
		return p.r;
	end = ret_plan->steps_count;
	add_protected_inside(&p, PLAN_READ_ONLY, &decision->profile->read_only, end);
	add_protected_inside(&p, PLAN_MASK, &decision->profile->mask, end);
	return p.r;
}
