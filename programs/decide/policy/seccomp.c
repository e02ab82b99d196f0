/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See seccomp.h. Part of yett-policy; runs without privilege, only on names from the policy.
 *
 * libseccomp maps names to numbers. The tables and the policy's lists give a verdict for each
 * number, each list overriding the earlier ones. filter.c turns the verdicts into a program.
 */
#include "programs/decide/policy/seccomp.h"

#include "programs/decide/policy/filter.h"

#include <seccomp.h>
#include <string.h>

#define NAME_MAX_LENGTH 64

/* tests replace it, to show what the other filters do without this one */
#ifndef SECCOMP_BUILD_OTHERWISE
#define SECCOMP_BUILD_OTHERWISE (SECCOMP_RET_ERRNO | ENOSYS)
#endif

/*
 * The number of a system call: negative if this architecture lacks it, __NR_SCMP_ERROR if the name
 * is unknown.
 */
static int call_number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number == __NR_SCMP_ERROR && i < seccomp_newer_count; i++)
		if (strcmp(seccomp_newer[i].name, name) == 0)
			number = seccomp_newer[i].number;
	return number;
}

/* Copies the next name of a table's list and advances *list. Returns false at the end. */
static bool seccomp_next_name(const char **list, char name[NAME_MAX_LENGTH])
{
	size_t length = strcspn(*list, " ");

	if (length == 0 || length >= NAME_MAX_LENGTH)
		return false;
	memcpy(name, *list, length);
	name[length] = '\0';
	*list += length + ((*list)[length] == ' ');
	return true;
}

static bool seccomp_listed(const struct seccomp_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i], name) == 0)
			return true;
	return false;
}

/* The verdict of a call; NULL if this architecture lacks it. */
static struct filter_verdict *seccomp_verdict_of(struct filter *filter, const char *name)
{
	int number = call_number(name);

	return number >= 0 && number < FILTER_NUMBERS ? &filter->verdicts[number] : NULL;
}

static void seccomp_judge(struct filter *filter, const char *name, uint32_t action)
{
	struct filter_verdict *verdict = seccomp_verdict_of(filter, name);

	if (verdict)
		*verdict = (struct filter_verdict){0, action};
}

static void seccomp_judge_names(struct filter *filter, const struct seccomp_names *names,
                                uint32_t action)
{
	for (size_t i = 0; i < names->count; i++)
		seccomp_judge(filter, names->names[i], action);
}

static void judge_list(struct filter *filter, const char *list, uint32_t action)
{
	char name[NAME_MAX_LENGTH];

	while (seccomp_next_name(&list, name))
		seccomp_judge(filter, name, action);
}

static bool seccomp_holds(const char *list, const char *wanted)
{
	char name[NAME_MAX_LENGTH];

	while (seccomp_next_name(&list, name))
		if (strcmp(name, wanted) == 0)
			return true;
	return false;
}

/* Whether the call is allowed with any argument. */
static bool seccomp_is_allowed(const struct seccomp_spec *spec, const char *name)
{
	return seccomp_listed(&spec->allow, name) ||
	       (spec->nested && seccomp_holds(seccomp_nested_calls, name));
}

static void seccomp_add_rule(struct filter *filter, const struct seccomp_spec *spec, size_t index)
{
	const struct seccomp_rule *rule = &seccomp_rules[index];
	const char *list = rule->calls;
	char name[NAME_MAX_LENGTH];

	while (seccomp_next_name(&list, name)) {
		struct filter_verdict *verdict =
			seccomp_is_allowed(spec, name) ? NULL : seccomp_verdict_of(filter, name);

		if (verdict && rule->arguments_count > 0)
			verdict->rules |= 1ULL << index;
		else if (verdict)
			*verdict = (struct filter_verdict){0, seccomp_rule_action(rule)};
	}
}

/* Whether init may make the call. Init runs with the strict set. */
static bool is_of_init(const char *name)
{
	for (size_t i = 0; i < seccomp_groups_count; i++)
		if (seccomp_groups[i].strict && seccomp_holds(seccomp_groups[i].calls, name))
			return true;
	return seccomp_holds(seccomp_init_calls, name);
}

/*
 * Refuses each denied call in one filter: in init's, if init does not need the call, else in the
 * command filter.
 */
static void judge_denied(struct filter *filter, const struct seccomp_spec *spec,
                         enum seccomp_role role)
{
	for (size_t i = 0; i < spec->deny.count; i++)
		if (is_of_init(spec->deny.names[i]) == (role == SECCOMP_COMMAND))
			seccomp_judge(filter, spec->deny.names[i],
			              role == SECCOMP_INIT ? SECCOMP_FORBIDDEN
			                                   : SECCOMP_RET_ERRNO | EPERM);
}

static void judge_held(struct filter *filter, const struct seccomp_spec *spec)
{
	judge_list(filter, seccomp_init_calls, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < seccomp_groups_count; i++)
		if (seccomp_groups[i].strict || !spec->strict)
			judge_list(filter, seccomp_groups[i].calls, SECCOMP_RET_ALLOW);
	if (spec->nested)
		judge_list(filter, seccomp_nested_calls, SECCOMP_RET_ALLOW);
	seccomp_judge_names(filter, &spec->allow, SECCOMP_RET_ALLOW);
}

static bool is_in_set(const struct seccomp_rule *rule, const struct seccomp_spec *spec)
{
	if (rule->set == SECCOMP_PERF)
		return spec->perf;
	return rule->set != (spec->strict ? SECCOMP_DEFAULT : SECCOMP_STRICT);
}

static void judge_init(struct filter *filter, const struct seccomp_spec *spec)
{
	judge_held(filter, spec);
	/* From last to first, so that a rule without arguments discards the rules after it. */
	for (size_t i = seccomp_rules_count; i-- > 0;)
		if (is_in_set(&seccomp_rules[i], spec))
			seccomp_add_rule(filter, spec, i);
	judge_denied(filter, spec, SECCOMP_INIT);
}

/*
 * The differences from init's filter: log logged calls, remove init's own calls unless they are
 * allowed, and deny the calls that init's filter could not.
 */
static void judge_command(struct filter *filter, const struct seccomp_spec *spec)
{
	const char *list = seccomp_init_calls;
	char name[NAME_MAX_LENGTH];

	seccomp_judge_names(filter, &spec->log, SECCOMP_RET_LOG);
	while (seccomp_next_name(&list, name))
		if (!seccomp_listed(&spec->allow, name))
			seccomp_judge(filter, name, SECCOMP_RET_ERRNO | ENOSYS);
	judge_denied(filter, spec, SECCOMP_COMMAND);
}

/*
 * Refuses calls with the errors that commands would get anyway. This filter's errors are final, and
 * the listener gets no notification of them.
 */
static void judge_build(struct filter *filter, const struct seccomp_spec *spec)
{
	char name[NAME_MAX_LENGTH];

	judge_held(filter, spec);
	for (size_t i = 0; i < seccomp_rules_count; i++)
		if (is_in_set(&seccomp_rules[i], spec) &&
		    seccomp_rule_action(&seccomp_rules[i]) == SECCOMP_RET_ALLOW)
			judge_list(filter, seccomp_rules[i].calls, SECCOMP_RET_ALLOW);
	judge_list(filter, seccomp_build_calls, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < seccomp_rules_count; i++)
		for (const char *list = seccomp_rules[i].calls;
		     is_in_set(&seccomp_rules[i], spec) && seccomp_rules[i].arguments_count == 0 &&
		     seccomp_next_name(&list, name);) {
			struct filter_verdict *verdict = seccomp_verdict_of(filter, name);

			if (verdict && verdict->action == SECCOMP_BUILD_OTHERWISE &&
			    verdict->action != SECCOMP_RET_ALLOW)
				verdict->action =
					SECCOMP_RET_ERRNO | (uint32_t)seccomp_rules[i].error;
		}
}

static int seccomp_check_names(const struct seccomp_names *names, struct yett_error *error)
{
	for (size_t i = 0; i < names->count; i++)
		if (call_number(names->names[i]) == __NR_SCMP_ERROR)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                 "%s:%u: no system call is called \"%s\"", names->file,
			                 names->line, names->names[i]);
	return 0;
}

static int check_spec(const struct seccomp_spec *spec, struct yett_error *error)
{
	int r = seccomp_check_names(&spec->allow, error);

	if (r == 0)
		r = seccomp_check_names(&spec->deny, error);
	if (r == 0)
		r = seccomp_check_names(&spec->log, error);
	if (r == 0 && seccomp_listed(&spec->deny, "execve"))
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "%s:%u: without execve no command can be started", spec->deny.file,
		              spec->deny.line);
	return r;
}

/*
 * System calls by other calling conventions (i386, x32) get the action `otherwise`, like calls with
 * too high a number: the number of every x32 call is higher than all others. In init's filter,
 * under which all processes inside run, `otherwise` is ENOSYS.
 */
static void seccomp_start(struct filter *filter, uint32_t otherwise)
{
	/* SCMP_ARCH_* equal AUDIT_ARCH_* except for x32: seccomp.h. */
	filter->arch = seccomp_arch_native();
	filter->otherwise = otherwise;
	filter->rules = seccomp_rules;
	for (size_t i = 0; i < FILTER_NUMBERS; i++)
		filter->verdicts[i] = (struct filter_verdict){0, otherwise};
}

static const struct {
	uint32_t otherwise;
	void (*judge)(struct filter *filter, const struct seccomp_spec *spec);
} roles[] = {
	[SECCOMP_INIT] = {SECCOMP_RET_ERRNO | ENOSYS, judge_init},
	[SECCOMP_COMMAND] = {SECCOMP_RET_ALLOW, judge_command},
	[SECCOMP_BUILD] = {SECCOMP_BUILD_OTHERWISE, judge_build},
};

int seccomp_compile(const struct seccomp_spec *spec, enum seccomp_role role,
                    struct sock_filter **ret_filter, size_t *ret_count, struct yett_error *error)
{
	struct filter filter;
	int r = check_spec(spec, error);

	if (r != 0)
		return r;
	seccomp_start(&filter, roles[role].otherwise);
	roles[role].judge(&filter, spec);
	r = filter_emit(&filter, ret_filter, ret_count);
	if (r == -E2BIG)
		r = error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		              "the filter is longer than the kernel takes");
	return r;
}
