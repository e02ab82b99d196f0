/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /run/yett/sandbox.json, which describes the sandbox to its commands. See build.h.
 *
 * The file is on a file system of init's, which commands see through a read-only mount (make_own()
 * of root.c). The file contains nothing of the host: no outside path and no outside id. Mounts are
 * listed at the end, one per line, so that init can change the list later without parsing JSON.
 */
#include "base/json.h"
#include "base/kernel.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/inside/init/build/build.h"

#include <stdio.h>
#include <sys/mman.h>

#define NAME    "sandbox.json"
#define NEXT    "next.json" /* renamed to NAME when everything that it says is true */
#define VERSION 1

/* Enough for the texts of a plan with every byte escaped, and for what is mounted later. */
#define TEXT_MAX (1 << 20)
/* Room for the members that are known only when all set-up is done. The rest of it is blanks. */
#define END_SIZE (INIT_LABEL_SIZE + 64)

/* --- members from the plan --- */

struct bound {
	const char *name;
	uint64_t value; /* 0: no limit, written as null */
};

static void about_put_bounds(struct json *json, const struct bound *bounds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_number_or_null(json, bounds[i].name, bounds[i].value);
}

static void put_limits(struct json *json, const struct plan *plan)
{
	const struct plan_limits *l = &plan->limits, *users = &plan->user_limits;
	const struct bound own[] = {{"memory_bytes", l->memory_bytes},
	                            {"cpu_millis", l->cpu_millis},
	                            {"pids", l->pids},
	                            {"files", l->files},
	                            {"file_bytes", l->file_bytes},
	                            {"cpu_seconds", l->cpu_seconds},
	                            {"stack_bytes", l->stack_bytes},
	                            {"stack_max_bytes", l->stack_max_bytes},
	                            {"io_read_bytes", l->io_read_bytes},
	                            {"io_write_bytes", l->io_write_bytes}};
	const struct bound shared[] = {{"memory_bytes", users->memory_bytes},
	                               {"cpu_millis", users->cpu_millis},
	                               {"pids", users->pids}};

	json_open(json, "limits", '{');
	about_put_bounds(json, own, ARRAY_SIZE(own));
	if (l->core_bytes == PLAN_CORE_NONE)
		json_number(json, "core_bytes", 0);
	else
		json_number_or_null(json, "core_bytes", l->core_bytes);
	json_close(json);
	json_open(json, "user_limits", '{');
	about_put_bounds(json, shared, ARRAY_SIZE(shared));
	json_close(json);
}

static void put_life(struct json *json, const struct plan_life *life)
{
	const struct bound own[] = {{"linger_ms", life->linger_ms},
	                            {"wall_ms", life->wall_ms},
	                            {"cpu_ms", life->cpu_ms},
	                            {"idle_ms", life->idle_ms},
	                            {"cleanup_ms", life->cleanup_ms}};
	const struct bound of_commands[] = {{"command_timeout_ms", life->command_ms},
	                                    {"max_command_timeout_ms", life->command_max_ms}};

	json_bool(json, "linger", life->linger);
	about_put_bounds(json, own, ARRAY_SIZE(own));
	json_text(json, "idle_action", life->idle_pauses ? "pause" : "end");
	about_put_bounds(json, of_commands, ARRAY_SIZE(of_commands));
}

/*
 * The rules at the start of the sandbox, for people. Each line ends with the rule's location
 * outside the sandbox in parentheses, which is left out.
 */
static void put_rules(struct json *json, const char *lines)
{
	json_open(json, "network_rules", '[');
	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		char line[1024];
		char *place;

		(void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
		place = strstr(line, " (");
		if (place)
			*place = '\0';
		json_text(json, NULL, line);
	}
	json_close(json);
}

static void about_put_labels(struct json *json, const char *name, const struct plan *plan,
                             bool are_annotations)
{
	json_open(json, name, '{');
	for (uint32_t i = 0; i < plan->labels_count && i < PLAN_LABELS_MAX; i++) {
		const char *label = plan_text(plan, plan->labels[i]), *value = strchr(label, '=');
		char key[PLAN_LABEL_MAX];

		if ((*label == PLAN_ANNOTATION) != are_annotations || !value)
			continue;
		label += are_annotations;
		(void)snprintf(key, sizeof key, "%.*s", (int)(value - label), label);
		json_text(json, key, value + 1);
	}
	json_close(json);
}

/*
 * Counts the profile's covers, which are those with a policy location. Covers of /proc are in every
 * sandbox, and the others come from the request.
 */
static uint64_t count_covers(const struct plan *plan, enum plan_step_kind kind)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < plan->steps_count; i++)
		count += plan->steps[i].kind == (uint32_t)kind && plan->steps[i].from.offset != 0;
	return count;
}

static const struct plan_step *find_step(const struct plan *plan, enum plan_step_kind kind)
{
	for (uint32_t i = 0; i < plan->steps_count; i++)
		if (plan->steps[i].kind == (uint32_t)kind)
			return &plan->steps[i];
	return NULL;
}

static void put_plan(struct json *json, const struct plan *plan)
{
	static const char *const identities[] = {[PLAN_IDENTITY_PRIVATE] = "private",
	                                         [PLAN_IDENTITY_ROOT] = "root",
	                                         [PLAN_IDENTITY_CALLER] = "caller"};
	const struct plan_step *host = find_step(plan, PLAN_HOSTNAME),
			       *network = find_step(plan, PLAN_NETWORK);
	char id[PLAN_ID_SIZE];

	(void)snprintf(id, sizeof id, "%.*s", PLAN_ID_SIZE - 1, plan->id);
	json_number(json, "version", VERSION);
	json_text(json, "id", id);
	json_text_or_null(json, "name", plan_text(plan, plan->name));
	json_text(json, "profile", plan_text(plan, plan->profile_name));
	json_text_or_null(json, "hostname", host ? plan_text(plan, host->source) : NULL);
	json_text(json, "identity",
	          plan->identity < ARRAY_SIZE(identities) ? identities[plan->identity] : NULL);
	json_text(json, "network", plan_name_network(plan->network));
	put_rules(json, network ? plan_text(plan, network->source) : "");
	put_limits(json, plan);
	put_life(json, &plan->life);
	about_put_labels(json, "labels", plan, false);
	about_put_labels(json, "annotations", plan, true);
	json_number(json, "read_only", count_covers(plan, PLAN_READ_ONLY));
	json_number(json, "masked", count_covers(plan, PLAN_MASK));
}

/* --- the list of mounts, one per line --- */

/* Returns NULL if the step is not listed, or if its source does not exist. */
static const char *about_mode_of(const struct build *b, const struct plan_step *step)
{
	if (step->kind == PLAN_TMPFS)
		return "rw";
	if ((step->kind != PLAN_SHARE && step->kind != PLAN_HOST) ||
	    step->layer == PLAN_LAYER_STORE || b->kinds[step - b->plan->steps] == INIT_TREE_NONE)
		return NULL;
	return step->layer ? "cow" : step->is_socket ? "socket" : step->writable ? "rw" : "ro";
}

static void put_mounts(struct json *json, const struct build *b, bool are_own)
{
	for (uint32_t i = 0; i < b->plan->steps_count; i++) {
		const struct plan_step *step = &b->plan->steps[i];
		const char *mode = about_mode_of(b, step);

		if (!mode || (step->kind == PLAN_TMPFS) != are_own)
			continue;
		(void)fputc('\n', json->to);
		json_open(json, NULL, '{');
		json_text(json, "target", plan_text(b->plan, step->target));
		json_text(json, "mode", mode);
		if (are_own)
			json_number(json, "size_bytes", step->size_bytes);
		json_close(json);
	}
}

static void about_put_list(struct json *json, const char *name, const struct build *b, bool are_own)
{
	json_open(json, name, '[');
	put_mounts(json, b, are_own);
	(void)fputc('\n', json->to);
	json_close(json);
}

/* --- when the sandbox is made --- */

/*
 * Keeps the file mapped: about_finish() writes to it through the mapping, because the label of
 * commands, which init has by then, may forbid writing through a descriptor. mmap(2)
 */
static int build_about_make(struct build *b, const char *text, size_t size)
{
	_cleanup_fd_ int fd =
		openat(b->own, NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	char *mapped;

	if (fd < 0 || ftruncate(fd, (off_t)(size + END_SIZE)) < 0)
		return -errno;
	mapped = mmap(NULL, size + END_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	memcpy(mapped, text, size);
	b->about = (struct build_about){{mapped, size + END_SIZE}, &b->text};
	return 0;
}

int about_make(struct build *b, const struct plan_step *step)
{
	struct json json = {.to = b->text.out};
	long size;

	(void)step;
	rewind(b->text.out);
	json_open(&json, NULL, '{');
	put_plan(&json, b->plan);
	about_put_list(&json, "tmpfs", b, true);
	about_put_list(&json, "shares", b, false);
	size = fflush(b->text.out) != 0 ? -1 : ftell(b->text.out);
	return size < 0 || size > TEXT_MAX ? -ENOMEM
	                                   : build_about_make(b, b->text.bytes, (size_t)size);
}

/* Writes the end of the object that about_make() began. */
static long put_end(FILE *out, const struct init_layers *layers, const char *label, bool has_filter)
{
	struct json json = {.to = out, .open = {'}'}, .depth = 1, .has_member = true};

	rewind(out);
	json_number(&json, "landlock_abi", layers->landlock_abi);
	json_text_or_null(&json, "label", label);
	json_bool(&json, "seccomp", has_filter);
	json_close(&json);
	return fflush(out) != 0 ? -1 : ftell(out);
}

int about_finish(struct build_about about, const struct init_layers *layers, bool has_filter)
{
	char *end = (char *)about.file.bytes + about.file.size - END_SIZE, label[INIT_LABEL_SIZE];
	long size = END_SIZE;

	(void)snprintf(label, sizeof label, "%s", layers->label);
	/* Shortens a label whose escaped form is too long. No known label is that long. */
	for (size_t length = strlen(label) + 1; size >= END_SIZE && length-- > 0;) {
		label[length] = '\0';
		size = put_end(about.text->out, layers, label, has_filter);
		if (size < 0)
			return -ENOMEM;
	}
	memset(end, ' ', END_SIZE);
	memcpy(end, about.text->bytes, (size_t)size);
	end[END_SIZE - 1] = '\n';
	build_end_text(about.text);
	return munmap(about.file.bytes, about.file.size) < 0 ? -errno : 0;
}

/* --- changes of the mounts of a running sandbox --- */

/* Whether a line describes a mount that is being removed, or one below it. */
static bool about_is_gone(const struct build *b, const char *entry)
{
	bool is_gone = false;

	for (uint32_t i = 0; !is_gone && i < b->plan->steps_count; i++) {
		_cleanup_free_ char *text = NULL;
		size_t size = 0;
		FILE *out = b->plan->steps[i].kind == PLAN_UNMOUNT ? open_memstream(&text, &size)
		                                                   : NULL;
		struct json json = {.to = out};

		if (!out)
			continue;
		json_open(&json, NULL, '{');
		json_text(&json, "target", plan_text(b->plan, b->plan->steps[i].target));
		if (fclose(out) == 0) /* without the closing quote */
			is_gone = strncmp(entry, text, size - 1) == 0 &&
			          (entry[size - 1] == '"' || entry[size - 1] == '/');
	}
	return is_gone;
}

/*
 * Copies each line except those of removed mounts, and adds the new mounts at the end of the second
 * list. The lines have the format that about_put_list() writes.
 */
static void build_about_change(const struct build *b, char *old, FILE *out)
{
	static const char entry[] = "{\"target\":";
	struct json json = {.to = out, .open = {'}', ']'}, .depth = 2};
	unsigned ends = 0;

	for (char *line; (line = strsep(&old, "\n")) && *line;) {
		bool is_end = *line == ']';

		if (is_end && ++ends == 2)
			put_mounts(&json, b, false);
		line += *line == ',';
		if (strncmp(line, entry, strlen(entry)) != 0) {
			(void)fprintf(
				out, "%s%.*s", is_end ? "\n" : "",
				(int)(strrchr(line, is_end && ends == 2 ? '}' : '[') - line + 1),
				line);
			json.has_member = false;
		} else if (!about_is_gone(b, line)) {
			(void)fputc('\n', out);
			json_raw(&json, NULL, line, strlen(line));
		}
	}
	(void)fputc('\n', out);
}

/* Opens a writable copy of the mount through which commands see the file system of init's files. */
static int about_open_own(struct build *b)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};

	b->own = open_tree(b->root, "run/yett", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return b->own < 0 || mount_setattr(b->own, "", AT_EMPTY_PATH, &attributes,
	                                   sizeof attributes) < 0
	               ? -errno
	               : 0;
}

static int about_write_next(const struct build *b, const char *text, size_t size)
{
	_cleanup_fd_ int fd =
		openat(b->own, NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	ssize_t n = fd < 0 ? -1 : write(fd, text, size);

	return n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
}

int about_change(struct build *b)
{
	_cleanup_free_ char *old = malloc(TEXT_MAX), *text = NULL;
	size_t size = 0;
	FILE *out = old ? open_memstream(&text, &size) : NULL;
	ssize_t n = out ? about_open_own(b) : -ENOMEM;

	if (n == 0)
		n = kernel_read_file(b->own, NAME, old, TEXT_MAX);
	/* The file may be longer than what was read. */
	if (n == TEXT_MAX - 1)
		n = -E2BIG;
	if (n > 0)
		build_about_change(b, old, out);
	if (out && fclose(out) != 0)
		n = -ENOMEM;
	return n < 0 ? (int)n : about_write_next(b, text, size);
}

int about_end_change(const struct build *b, bool is_done)
{
	int r;

	lower_be_owner(b);
	r = is_done ? renameat(b->own, NEXT, b->own, NAME) : unlinkat(b->own, NEXT, 0);
	return r < 0 ? -errno : 0;
}
