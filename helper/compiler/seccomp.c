/*
 * See seccomp.h. In yett-policy, without privilege, on names from the policy only.
 *
 * Of two programs that libseccomp makes, init's filter is joined: first the refusals (whatever they do not refuse goes
 * on), then the allow-list (whatever it does not hold gets ENOSYS). So no call ever has rules of opposite actions in
 * one program, where libseccomp would have to choose.
 */
#include "helper/compiler/seccomp.h"

#include "helper/compiler/seccomp_table.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NAME_MAX_LENGTH 64

struct program {
	struct sock_filter *filter;
	size_t count;
};

static void program_free(struct program *program)
{
	free(program->filter);
}

static void context_release(scmp_filter_ctx *context)
{
	if (*context)
		seccomp_release(*context);
}

/* The number of a call: negative where this architecture lacks it, __NR_SCMP_ERROR where nobody knows the name. */
static int call_number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number == __NR_SCMP_ERROR && i < seccomp_newer_count; i++)
		if (strcmp(seccomp_newer[i].name, name) == 0)
			number = seccomp_newer[i].number;
	return number;
}

/* Copies the next name of a list from a table and moves past it; false at the end. */
static bool next_name(const char **list, char name[NAME_MAX_LENGTH])
{
	size_t length = strcspn(*list, " ");

	if (length == 0 || length >= NAME_MAX_LENGTH)
		return false;
	memcpy(name, *list, length);
	name[length] = '\0';
	*list += length + ((*list)[length] == ' ');
	return true;
}

static bool in_list(const char *list, const char *name)
{
	char other[NAME_MAX_LENGTH];

	while (next_name(&list, other))
		if (strcmp(other, name) == 0)
			return true;
	return false;
}

static bool listed(const struct seccomp_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

/* -EEXIST: the same rule a second time, from a name in two lists. */
static int add_rule(scmp_filter_ctx context, uint32_t action, int number, const struct scmp_arg_cmp *arguments,
		    unsigned count)
{
	int r;

	if (number < 0)
		return 0;
	r = seccomp_rule_add_array(context, action, number, count, arguments);
	return r == -EEXIST ? 0 : r;
}

static int add_allowed(scmp_filter_ctx context, const struct seccomp_spec *spec, const char *name)
{
	int number = call_number(name);
	int r = 0;

	if (strcmp(name, "personality") != 0 || listed(&spec->allow, name))
		return add_rule(context, SCMP_ACT_ALLOW, number, NULL, 0);
	for (size_t i = 0; i < seccomp_personalities_count && r == 0; i++)
		r = add_rule(context, SCMP_ACT_ALLOW, number,
			     &SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, seccomp_personalities[i]), 1);
	return r;
}

static int add_allowed_list(scmp_filter_ctx context, const struct seccomp_spec *spec, const char *list)
{
	char name[NAME_MAX_LENGTH];
	int r = 0;

	while (r == 0 && next_name(&list, name))
		r = add_allowed(context, spec, name);
	return r;
}

static int build_allowed(scmp_filter_ctx context, const struct seccomp_spec *spec)
{
	int r = add_allowed_list(context, spec, seccomp_init_calls);

	for (size_t i = 0; i < seccomp_groups_count && r == 0; i++)
		if (seccomp_groups[i].strict || !spec->strict)
			r = add_allowed_list(context, spec, seccomp_groups[i].calls);
	for (size_t i = 0; i < spec->allow.count && r == 0; i++)
		r = add_allowed(context, spec, spec->allow.names[i]);
	return r;
}

static int add_refusal(scmp_filter_ctx context, const struct seccomp_spec *spec, const struct seccomp_refusal *refusal)
{
	struct scmp_arg_cmp arguments[ARRAY_SIZE(refusal->arguments)];
	const char *list = refusal->calls;
	char name[NAME_MAX_LENGTH];
	int r = 0;

	for (unsigned i = 0; i < refusal->arguments_count; i++) {
		const struct seccomp_argument *argument = &refusal->arguments[i];

		if (argument->mask)
			arguments[i] = SCMP_CMP64(argument->index, SCMP_CMP_MASKED_EQ, argument->mask, argument->value);
		else
			arguments[i] = SCMP_CMP64(argument->index, SCMP_CMP_GT, argument->value);
	}
	while (r == 0 && next_name(&list, name))
		if (!listed(&spec->allow, name))
			r = add_rule(context, SCMP_ACT_ERRNO((uint32_t)refusal->error), call_number(name), arguments,
				     refusal->arguments_count);
	return r;
}

static int build_refused(scmp_filter_ctx context, const struct seccomp_spec *spec)
{
	int r = 0;

	for (size_t i = 0; i < seccomp_refusals_count && r == 0; i++)
		if (seccomp_refusals[i].set != (spec->strict ? SECCOMP_DEFAULT : SECCOMP_STRICT))
			r = add_refusal(context, spec, &seccomp_refusals[i]);
	return r;
}

/* What commands do not inherit from init: its own calls go, unless allowed; denied calls go; logged calls are logged.
 */
static int build_command(scmp_filter_ctx context, const struct seccomp_spec *spec)
{
	const char *list = seccomp_init_calls;
	char name[NAME_MAX_LENGTH];
	int r = 0;

	for (size_t i = 0; i < spec->deny.count && r == 0; i++)
		r = add_rule(context, SCMP_ACT_ERRNO(EPERM), call_number(spec->deny.names[i]), NULL, 0);
	while (r == 0 && next_name(&list, name))
		if (!listed(&spec->allow, name) && !listed(&spec->deny, name))
			r = add_rule(context, SCMP_ACT_ERRNO(ENOSYS), call_number(name), NULL, 0);
	for (size_t i = 0; i < spec->log.count && r == 0; i++)
		if (!listed(&spec->deny, spec->log.names[i]) &&
		    (listed(&spec->allow, spec->log.names[i]) || !in_list(seccomp_init_calls, spec->log.names[i])))
			r = add_rule(context, SCMP_ACT_LOG, call_number(spec->log.names[i]), NULL, 0);
	return r;
}

/* libseccomp 2.5 writes a program to a descriptor only. */
static int export_program(scmp_filter_ctx context, struct program *ret_program)
{
	_cleanup_fd_ int fd = memfd_create("yett-filter", MFD_CLOEXEC);
	_cleanup_free_ struct sock_filter *filter = NULL;
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	filter = malloc((size_t)st.st_size);
	if (!filter)
		return -ENOMEM;
	if (pread(fd, filter, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	*ret_program = (struct program){steal_ptr(&filter), (size_t)st.st_size / sizeof *filter};
	return 0;
}

typedef int build_function(scmp_filter_ctx context, const struct seccomp_spec *spec);

/*
 * Other calling conventions of the processor (i386, x32) get `otherwise` too; init's filter, which everything inside is
 * under, thereby refuses them. A binary tree keeps the look-up short.
 */
static int compile_program(const struct seccomp_spec *spec, build_function *build, uint32_t otherwise,
			   struct program *ret_program)
{
	_cleanup_(context_release) scmp_filter_ctx context = seccomp_init(otherwise);
	int r;

	if (!context)
		return -ENOMEM;
	r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, otherwise);
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = build(context, spec);
	return r == 0 ? export_program(context, ret_program) : r;
}

/* Appends `second`, reached from wherever `first` would have allowed the call. */
static int join_programs(const struct program *first, const struct program *second, struct program *ret_program)
{
	size_t count = first->count + second->count;
	struct sock_filter *filter = calloc(count, sizeof *filter);

	if (!filter)
		return -ENOMEM;
	memcpy(filter, first->filter, first->count * sizeof *filter);
	memcpy(filter + first->count, second->filter, second->count * sizeof *filter);
	for (size_t i = 0; i < first->count; i++)
		if (filter[i].code == (BPF_RET | BPF_K) && filter[i].k == SECCOMP_RET_ALLOW)
			filter[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(first->count - i - 1));
	*ret_program = (struct program){filter, count};
	return 0;
}

static int check_names(const struct seccomp_names *names, struct yett_error *error)
{
	for (size_t i = 0; i < names->count; i++)
		if (call_number(names->names[i]) == __NR_SCMP_ERROR)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					 "%s:%u: no system call is called \"%s\"", names->file, names->line,
					 names->names[i]);
	return 0;
}

static int check_spec(const struct seccomp_spec *spec, struct yett_error *error)
{
	int r = check_names(&spec->allow, error);

	if (r == 0)
		r = check_names(&spec->deny, error);
	if (r == 0)
		r = check_names(&spec->log, error);
	if (r == 0 && listed(&spec->deny, "execve"))
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			      "%s:%u: without execve no command can be started", spec->deny.file, spec->deny.line);
	return r;
}

static int compile_init(const struct seccomp_spec *spec, struct program *ret_program)
{
	_cleanup_(program_free) struct program refused = {0}, allowed = {0};
	int r = compile_program(spec, build_refused, SCMP_ACT_ALLOW, &refused);

	if (r == 0)
		r = compile_program(spec, build_allowed, SCMP_ACT_ERRNO(ENOSYS), &allowed);
	return r == 0 ? join_programs(&refused, &allowed, ret_program) : r;
}

int seccomp_compile(const struct seccomp_spec *spec, enum seccomp_role role, struct sock_filter **ret_filter,
		    size_t *ret_count, struct yett_error *error)
{
	_cleanup_(program_free) struct program program = {0};
	int r = check_spec(spec, error);

	if (r != 0)
		return r;
	if (role == SECCOMP_INIT)
		r = compile_init(spec, &program);
	else
		r = compile_program(spec, build_command, SCMP_ACT_ALLOW, &program);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE, "libseccomp cannot compile the filter: %s",
				 strerror(-r));
	if (program.count > BPF_MAXINSNS)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE, "the filter is longer than the kernel takes");
	*ret_count = program.count;
	*ret_filter = steal_ptr(&program.filter);
	return 0;
}
