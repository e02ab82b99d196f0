/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter of filters: what its programs say, against the verdicts that they are made of, and
 * against the programs that libseccomp makes of the same tables.
 */
#include <string.h>

#include "base/filter_head.h"
#include "programs/decide/policy/filter.h"
#include "programs/decide/policy/seccomp.h"
#include "tests/support/bpf.h"
#include "tests/support/testing.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ERROR(e)     (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define HIGH         0x100000000ULL
#define VALUES_MAX   256
#define OTHER_NUMBER 0x40000000u /* from here on x32 */

static struct seccomp_data call(uint32_t number, const uint64_t arguments[6])
{
	return (struct seccomp_data){.nr = (int)number,
	                             .arch = seccomp_arch_native(),
	                             .args = {arguments[0], arguments[1], arguments[2],
	                                      arguments[3], arguments[4], arguments[5]}};
}

/* Whether the answer to a number depends on nothing else, so that the kernel need not ask again if
 * it is "allow". */
static bool is_constant(const struct bpf *filter, uint32_t number)
{
	struct seccomp_data data = call(number, (uint64_t[6]){0});
	uint32_t value = 0;

	for (size_t pc = 0; pc < filter->count; pc++) {
		const struct sock_filter *insn = &filter->code[pc];

		if (insn->code == (BPF_RET | BPF_K))
			return true;
		if (insn->code == (BPF_LD | BPF_W | BPF_ABS)) {
			if (insn->k >= offsetof(struct seccomp_data, instruction_pointer))
				return false;
			memcpy(&value, (const uint8_t *)&data + insn->k, 4);
		} else if (insn->code == (BPF_JMP | BPF_JA)) {
			pc += insn->k;
		} else {
			assert_int_equal(BPF_CLASS(insn->code), BPF_JMP);
			pc += bpf_jump_taken(insn, value) ? insn->jt : insn->jf;
		}
	}
	fail_msg("the program runs off its end");
	return false;
}

/* --- against verdicts --- */

static uint64_t next_random(void)
{
	static uint64_t state = 1; /* the same numbers in each run */

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 32;
}

static bool fits(const struct seccomp_argument *argument, const uint64_t arguments[6])
{
	uint64_t value = arguments[argument->index];
	uint32_t low = (uint32_t)value & argument->mask;

	return argument->mask ? low >= argument->first && low <= argument->last
	                      : value > argument->last;
}

static bool rule_fits(const struct seccomp_rule *rule, const uint64_t arguments[6])
{
	for (unsigned i = 0; i < rule->arguments_count; i++)
		if (!fits(&rule->arguments[i], arguments))
			return false;
	return true;
}

static uint32_t judge(const struct filter *filter, uint32_t number, const uint64_t arguments[6])
{
	if (number >= FILTER_NUMBERS)
		return filter->otherwise;
	for (size_t i = 0; i < SECCOMP_RULES_MAX; i++)
		if (filter->verdicts[number].rules & 1ULL << i &&
		    rule_fits(&filter->rules[i], arguments))
			return seccomp_rule_action(&filter->rules[i]);
	return filter->verdicts[number].action;
}

static struct bpf emit(const struct filter *filter)
{
	struct bpf program = {0};

	assert_int_equal(filter_emit(filter, &program.code, &program.count), 0);
	return program;
}

/* Small numbers with all high bits, so that rules overlap and fit often. */
static struct seccomp_argument random_argument(void)
{
	static const uint32_t masks[] = {0,          1,          6,          0xf,
	                                 0x7fffffff, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct seccomp_argument argument = {(unsigned)next_random() % 3,
	                                    masks[next_random() % ARRAY_SIZE(masks)], 0, 0};

	argument.first = (uint32_t)next_random() % 8;
	argument.last =
		next_random() % 2 ? argument.first : argument.first + (uint32_t)next_random() % 8;
	if (next_random() % 3 == 0 && argument.mask) {
		argument.first = 1;
		argument.last = UINT32_MAX;
	}
	return argument;
}

static void random_filter(struct filter *filter, struct seccomp_rule *rules)
{
	uint32_t width = 1 + (uint32_t)next_random() % 60;

	for (size_t i = 0; i < SECCOMP_RULES_MAX; i++) {
		rules[i] = (struct seccomp_rule){.error = (int)next_random() % 5,
		                                 .arguments_count = 1 + next_random() % 2};
		for (unsigned j = 0; j < 2; j++)
			rules[i].arguments[j] = random_argument();
	}
	*filter = (struct filter){seccomp_arch_native(), SECCOMP_RET_ALLOW, rules, {{0}}};
	for (uint32_t i = 0; i < FILTER_NUMBERS; i++)
		if (i > 0 && next_random() % width)
			filter->verdicts[i] = filter->verdicts[i - 1];
		else
			filter->verdicts[i].action =
				next_random() % 2 ? SECCOMP_RET_ALLOW : ERROR(next_random() % 4);
	for (size_t i = 0; i < 20; i++)
		filter->verdicts[next_random() % FILTER_NUMBERS].rules =
			next_random() & next_random() & (next_random() << 32 | next_random());
	/* Some end as others do. */
	for (size_t i = 0; i < 20; i++) {
		const struct filter_verdict *other =
			&filter->verdicts[next_random() % FILTER_NUMBERS];

		filter->verdicts[next_random() % FILTER_NUMBERS] = (struct filter_verdict){
			other->rules & UINT64_MAX << next_random() % 64, other->action};
	}
}

TEST(a_program_says_what_the_verdicts_say)
{
	static struct seccomp_rule rules[SECCOMP_RULES_MAX];
	static struct filter filter;
	size_t longest = 0;

	for (size_t round = 0; round < 200; round++) {
		struct bpf program;

		random_filter(&filter, rules);
		program = emit(&filter);
		longest = program.count > longest ? program.count : longest;
		for (uint32_t number = 0; number < FILTER_NUMBERS + 8; number++)
			for (size_t i = 0; i < 8; i++) {
				uint64_t arguments[6] = {next_random() % 16, next_random() % 16,
				                         next_random() % 16, 0};
				struct seccomp_data data;

				arguments[i % 3] |= i == 7 ? HIGH << next_random() % 32 : 0;
				data = call(number, arguments);
				assert_int_equal(bpf_run(&program, &data),
				                 judge(&filter, number, arguments));
			}
		for (uint32_t number = 0; number < FILTER_NUMBERS; number++)
			assert_true(filter.verdicts[number].rules || is_constant(&program, number));
		free(program.code);
	}
	assert_true(longest > 600); /* jumps that do not reach had to be helped */
}

TEST(a_program_of_one_verdict_is_an_answer)
{
	static struct filter filter;
	struct seccomp_data data = call(7, (uint64_t[6]){0});
	struct sock_filter head[FILTER_HEAD];
	struct bpf program;

	filter.arch = data.arch;
	filter.otherwise = SECCOMP_RET_LOG;
	for (size_t i = 0; i < FILTER_NUMBERS; i++)
		filter.verdicts[i].action = SECCOMP_RET_LOG;
	program = emit(&filter);
	filter_head(head, data.arch, SECCOMP_RET_LOG);
	assert_in_range(program.count, FILTER_HEAD, FILTER_HEAD + 2);
	assert_memory_equal(program.code, head, sizeof head);
	assert_int_equal(bpf_run(&program, &data), SECCOMP_RET_LOG);
	data.arch++;
	assert_int_equal(bpf_run(&program, &data), SECCOMP_RET_LOG);
	free(program.code);
}

TEST(a_program_that_is_too_long_is_refused)
{
	static struct seccomp_rule rules[SECCOMP_RULES_MAX];
	static struct filter filter = {.rules = rules};
	struct bpf program = {0};

	for (size_t i = 0; i < SECCOMP_RULES_MAX; i++)
		rules[i] = (struct seccomp_rule){
			.error = 1,
			.arguments_count = 1,
			.arguments = {{0, UINT32_MAX, (uint32_t)i, (uint32_t)i}}};
	for (size_t i = 0; i < FILTER_NUMBERS; i++)
		filter.verdicts[i].rules = i << 20 | 0xffff;
	assert_int_equal(filter_emit(&filter, &program.code, &program.count), -E2BIG);
	assert_null(program.code);
}

/* --- against libseccomp --- */

static int number_of(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number == __NR_SCMP_ERROR && i < seccomp_newer_count; i++)
		if (strcmp(seccomp_newer[i].name, name) == 0)
			number = seccomp_newer[i].number;
	return number;
}

static bool in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *found = strstr(list, name); found; found = strstr(found + 1, name))
		if ((found == list || found[-1] == ' ') &&
		    (found[length] == ' ' || found[length] == '\0'))
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

/* Adds a rule for a call, unless the architecture lacks it. The same rule a second time (-EEXIST)
 * changes nothing. */
static void add(scmp_filter_ctx context, uint32_t action, const char *name,
                const struct scmp_arg_cmp *arguments, unsigned count)
{
	int number = number_of(name);
	int r = number < 0 ? 0 : seccomp_rule_add_array(context, action, number, count, arguments);

	if (r != 0 && r != -EEXIST)
		fail_msg("%s: %s", name, strerror(-r));
}

/* libseccomp compares under a mask with one value: bits one by one, and so the numbers of a range.
 */
static void add_arguments(scmp_filter_ctx context, const struct seccomp_rule *rule,
                          const char *name, struct scmp_arg_cmp arguments[3], unsigned done)
{
	const struct seccomp_argument *argument = &rule->arguments[done];

	if (done == rule->arguments_count) {
		add(context, seccomp_rule_action(rule), name, arguments, done);
	} else if (argument->mask == 0) {
		arguments[done] = SCMP_CMP64(argument->index, SCMP_CMP_GT, argument->last);
		add_arguments(context, rule, name, arguments, done + 1);
	} else if (argument->last == UINT32_MAX && argument->first == 1) {
		for (uint32_t bit = 1; bit; bit <<= 1) {
			arguments[done] = SCMP_CMP64(argument->index, SCMP_CMP_MASKED_EQ, bit, bit);
			if (argument->mask & bit)
				add_arguments(context, rule, name, arguments, done + 1);
		}
	} else {
		for (uint64_t value = argument->first; value <= argument->last; value++) {
			arguments[done] = SCMP_CMP64(argument->index, SCMP_CMP_MASKED_EQ,
			                             argument->mask, value);
			add_arguments(context, rule, name, arguments, done + 1);
		}
	}
}

typedef void each_function(scmp_filter_ctx context, const struct seccomp_spec *spec,
                           const char *name, const struct seccomp_rule *rule);

static void each_name(const char *list, each_function *each, scmp_filter_ctx context,
                      const struct seccomp_spec *spec, const struct seccomp_rule *rule)
{
	char copy[4096], *rest = copy;

	assert_true(strlen(list) < sizeof copy);
	strcpy(copy, list);
	for (char *name; (name = strsep(&rest, " "));)
		each(context, spec, name, rule);
}

static void allow(scmp_filter_ctx context, const struct seccomp_spec *spec, const char *name,
                  const struct seccomp_rule *rule)
{
	(void)spec;
	(void)rule;
	add(context, SCMP_ACT_ALLOW, name, NULL, 0);
}

static bool is_in_set(const struct seccomp_spec *spec, const struct seccomp_rule *rule)
{
	return rule->set == SECCOMP_PERF
	               ? spec->perf
	               : rule->set != (spec->strict ? SECCOMP_DEFAULT : SECCOMP_STRICT);
}

/* libseccomp knows no order: what rules decide that allow and rules that refuse is compared with
 * the table alone (test_seccomp.c). So is what is pretended. */
static bool is_ordered(const struct seccomp_spec *spec, const char *name)
{
	bool allows = false, refuses = false, pretends = false;

	for (size_t i = 0; i < seccomp_rules_count; i++)
		if (is_in_set(spec, &seccomp_rules[i]) && in_list(seccomp_rules[i].calls, name)) {
			allows = allows || seccomp_rules[i].error == 0;
			pretends = pretends || seccomp_rules[i].error == SECCOMP_PRETEND;
			refuses = refuses || (seccomp_rules[i].error != 0 &&
			                      seccomp_rules[i].error != SECCOMP_PRETEND);
		}
	return (allows || pretends) && refuses;
}

static void apply(scmp_filter_ctx context, const struct seccomp_spec *spec, const char *name,
                  const struct seccomp_rule *rule)
{
	struct scmp_arg_cmp arguments[3];

	if (!listed(&spec->allow, name) && !is_ordered(spec, name))
		add_arguments(context, rule, name, arguments, 0);
}

static void add_rules(scmp_filter_ctx context, const struct seccomp_spec *spec, bool refusing)
{
	for (size_t i = 0; i < seccomp_rules_count; i++)
		if (is_in_set(spec, &seccomp_rules[i]) && (seccomp_rules[i].error != 0) == refusing)
			each_name(seccomp_rules[i].calls, apply, context, spec, &seccomp_rules[i]);
}

static void add_allowed(scmp_filter_ctx context, const struct seccomp_spec *spec)
{
	each_name(seccomp_init_calls, allow, context, spec, NULL);
	for (size_t i = 0; i < seccomp_groups_count; i++)
		if (seccomp_groups[i].strict || !spec->strict)
			each_name(seccomp_groups[i].calls, allow, context, spec, NULL);
	for (size_t i = 0; i < spec->allow.count; i++)
		add(context, SCMP_ACT_ALLOW, spec->allow.names[i], NULL, 0);
	add_rules(context, spec, false);
}

static bool is_of_init(const char *name)
{
	bool is = in_list(seccomp_init_calls, name);

	for (size_t i = 0; i < seccomp_groups_count; i++)
		is = is || (seccomp_groups[i].strict && in_list(seccomp_groups[i].calls, name));
	return is;
}

static void add_denied(scmp_filter_ctx context, const struct seccomp_spec *spec, bool of_init,
                       uint32_t action)
{
	for (size_t i = 0; i < spec->deny.count; i++)
		if (is_of_init(spec->deny.names[i]) == of_init)
			add(context, action, spec->deny.names[i], NULL, 0);
}

static void take_back(scmp_filter_ctx context, const struct seccomp_spec *spec, const char *name,
                      const struct seccomp_rule *rule)
{
	(void)rule;
	if (!listed(&spec->allow, name) && !listed(&spec->deny, name))
		add(context, ERROR(ENOSYS), name, NULL, 0);
}

static void add_command(scmp_filter_ctx context, const struct seccomp_spec *spec)
{
	add_denied(context, spec, true, ERROR(EPERM));
	each_name(seccomp_init_calls, take_back, context, spec, NULL);
	for (size_t i = 0; i < spec->log.count; i++)
		if ((!listed(&spec->deny, spec->log.names[i]) || !is_of_init(spec->log.names[i])) &&
		    (listed(&spec->allow, spec->log.names[i]) ||
		     !in_list(seccomp_init_calls, spec->log.names[i])))
			add(context, SCMP_ACT_LOG, spec->log.names[i], NULL, 0);
}

static scmp_filter_ctx new_context(uint32_t otherwise)
{
	scmp_filter_ctx context = seccomp_init(otherwise);

	assert_non_null(context);
	assert_int_equal(seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, otherwise), 0);
	assert_int_equal(seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2),
	                 0); /* a binary tree */
	return context;
}

static struct bpf export_program(scmp_filter_ctx context)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	struct bpf program;
	struct stat st;

	assert_int_equal(seccomp_export_bpf(context, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	program.count = (size_t)st.st_size / sizeof *program.code;
	program.code = malloc((size_t)st.st_size);
	assert_non_null(program.code);
	assert_int_equal(pread(fd, program.code, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	seccomp_release(context);
	return program;
}

/* First the refusals; whatever they let through is up to the list of what is allowed. */
struct reference {
	struct bpf refused, allowed, command;
};

static struct reference build_reference(const struct seccomp_spec *spec)
{
	scmp_filter_ctx refused = new_context(SCMP_ACT_ALLOW), allowed = new_context(ERROR(ENOSYS)),
			command = new_context(SCMP_ACT_ALLOW);

	add_denied(refused, spec, false, SCMP_ACT_NOTIFY);
	add_rules(refused, spec, true);
	add_allowed(allowed, spec);
	add_command(command, spec);
	return (struct reference){export_program(refused), export_program(allowed),
	                          export_program(command)};
}

struct compared {
	const struct seccomp_spec *spec;
	struct bpf init, command;
	struct reference reference;
	size_t calls, ties;
};

/* Where rules with different actions fit, the first one counts; libseccomp has an order of its own.
 */
static bool is_tie(const struct seccomp_spec *spec, const struct seccomp_data *data, uint32_t got,
                   uint32_t want)
{
	bool has_got = false, has_want = false;
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, data->nr);

	for (size_t i = 0; name && i < seccomp_rules_count; i++) {
		uint64_t arguments[6] = {data->args[0], data->args[1], data->args[2],
		                         data->args[3], data->args[4], data->args[5]};

		if (seccomp_rules[i].error && in_list(seccomp_rules[i].calls, name) &&
		    rule_fits(&seccomp_rules[i], arguments)) {
			has_got = has_got || got == seccomp_rule_action(&seccomp_rules[i]);
			has_want = has_want || want == seccomp_rule_action(&seccomp_rules[i]);
		}
	}
	has_got = has_got || (name && is_ordered(spec, name));
	has_want = has_want || (name && is_ordered(spec, name));
	free(name);
	return has_got && has_want;
}

static void compare(struct compared *compared, const struct seccomp_data *data)
{
	uint32_t got = bpf_run(&compared->init, data),
		 want = bpf_run(&compared->reference.refused, data);

	if (want == SECCOMP_RET_ALLOW)
		want = bpf_run(&compared->reference.allowed, data);
	compared->calls++;
	if (got != want && is_tie(compared->spec, data, got, want))
		compared->ties++;
	else if (got != want)
		fail_msg("arch %#x number %d (%#llx, %#llx, %#llx, %#llx): %#x, not %#x",
		         data->arch, data->nr, data->args[0], data->args[1], data->args[2],
		         data->args[3], got, want);
	assert_int_equal(bpf_run(&compared->command, data),
	                 bpf_run(&compared->reference.command, data));
}

static void add_value(uint64_t values[VALUES_MAX], size_t *count, uint64_t value)
{
	for (size_t i = 0; i < *count; i++)
		if (values[i] == value)
			return;
	assert_true(*count < VALUES_MAX);
	values[(*count)++] = value;
}

/* Values of an argument about which a rule for the call might be wrong; only 0 if no rule looks at
 * it. */
static size_t find_values(const char *name, unsigned index, uint64_t values[VALUES_MAX])
{
	size_t count = 0;

	add_value(values, &count, 0);
	for (size_t i = 0; i < seccomp_rules_count; i++)
		for (unsigned j = 0; j < seccomp_rules[i].arguments_count; j++) {
			const struct seccomp_argument *argument = &seccomp_rules[i].arguments[j];
			uint64_t first = argument->mask ? argument->first : argument->last,
				 last = argument->last;

			if (argument->index != index || !in_list(seccomp_rules[i].calls, name))
				continue;
			for (uint64_t near = 0; near < 3; near++) {
				add_value(values, &count, first + near - 1);
				add_value(values, &count, last + near - 1);
			}
			add_value(values, &count, (uint32_t)first | (uint32_t)~argument->mask);
			add_value(values, &count, argument->mask);
			add_value(values, &count, (uint32_t)~argument->mask);
			for (uint64_t bit = 1; bit < HIGH; bit <<= 1)
				if (argument->mask != UINT32_MAX || bit == HIGH / 2)
					add_value(values, &count,
					          argument->mask == 0 || first != 1 ? first ^ bit
					                                            : bit);
			add_value(values, &count, first | HIGH);
			add_value(values, &count, last | 1ULL << 63);
			add_value(values, &count, UINT64_MAX);
		}
	return count;
}

/* All combinations of these values for the calls that rules name. */
static void compare_arguments(struct compared *compared, const char *name)
{
	static uint64_t values[4][VALUES_MAX];
	int number = number_of(name);
	size_t counts[4];

	for (unsigned i = 0; i < 4; i++)
		counts[i] = find_values(name, i, values[i]);
	if (number < 0)
		return;
	for (size_t i = 0; i < counts[0] * counts[1] * counts[2] * counts[3]; i++) {
		uint64_t arguments[6] = {values[0][i % counts[0]],
		                         values[1][i / counts[0] % counts[1]],
		                         values[2][i / counts[0] / counts[1] % counts[2]],
		                         values[3][i / counts[0] / counts[1] / counts[2]]};
		struct seccomp_data data = call((uint32_t)number, arguments);

		compare(compared, &data);
	}
}

static void compare_numbers(struct compared *compared)
{
	static const uint64_t arguments[][6] = {
		{0}, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, {1, 2, 3, 4}};
	static const uint32_t arches[] = {
		AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0,
		UINT32_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(arguments) * ARRAY_SIZE(arches); i++)
		for (uint32_t number = 0; number < FILTER_NUMBERS + 8; number++) {
			const uint32_t numbers[] = {number,
			                            OTHER_NUMBER + number,
			                            OTHER_NUMBER - number,
			                            INT32_MAX - number,
			                            0x80000000u + number,
			                            UINT32_MAX - number};

			for (size_t j = 0; j < ARRAY_SIZE(numbers); j++) {
				struct seccomp_data data =
					call(numbers[j], arguments[i % ARRAY_SIZE(arguments)]);

				data.arch = arches[i / ARRAY_SIZE(arguments)];
				compare(compared, &data);
			}
		}
}

static void compare_spec(const struct seccomp_spec *spec)
{
	static const char *const calls[] = {
		"clone",    "unshare", "ioctl", "open",    "openat", "chmod",     "fchmod",
		"fchmodat", "creat",   "mknod", "mknodat", "fcntl",  "setrlimit", "personality"};
	struct compared compared = {.spec = spec, .reference = build_reference(spec)};
	struct yett_error error = {0};

	if (seccomp_compile(spec, SECCOMP_INIT, &compared.init.code, &compared.init.count,
	                    &error) != 0 ||
	    seccomp_compile(spec, SECCOMP_COMMAND, &compared.command.code, &compared.command.count,
	                    &error) != 0)
		fail_msg("%s", error.message);
	compare_numbers(&compared);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		compare_arguments(&compared, calls[i]);
	print_message(
		"%zu calls, %zu of them with errors to choose from; %zu instructions, and %zu by libseccomp\n",
		compared.calls, compared.ties, compared.init.count,
		compared.reference.refused.count + compared.reference.allowed.count);
	/* why filter.c exists; the calls of is_ordered() are missing from libseccomp's programs */
	assert_true(compared.init.count <
	            compared.reference.refused.count + compared.reference.allowed.count);
	free(compared.init.code);
	free(compared.command.code);
	free(compared.reference.refused.code);
	free(compared.reference.allowed.code);
	free(compared.reference.command.code);
}

#define NAMES(...)                                                                         \
	{                                                                                  \
		(char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), \
			"yett.conf", 1                                                     \
	}

TEST(each_filter_says_what_libseccomps_would_say)
{
	static char clone3[] = "clone3", keyctl[] = "keyctl", mount[] = "mount",
		    openat[] = "openat", socket[] = "socket", personality[] = "personality",
		    ptrace[] = "ptrace", getpid[] = "getpid", bpf[] = "bpf",
		    statmount[] = "statmount", mknodat[] = "mknodat", uselib[] = "uselib";
	const struct seccomp_spec specs[] = {
		{0},
		{.strict = true},
		{.allow = NAMES(clone3, keyctl, mount, personality, socket, statmount)},
		{.deny = NAMES(ptrace, clone3, socket, getpid, uselib),
	         .log = NAMES(openat, getpid, bpf, personality)},
		{.strict = true,
	         .allow = NAMES(keyctl, openat, ptrace, mknodat, bpf),
	         .deny = NAMES(keyctl, mount, getpid),
	         .log = NAMES(keyctl, clone3, openat, socket)},
		{.perf = true},
		{.allow = NAMES(clone3, uselib), .log = NAMES(clone3, statmount, mknodat)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		compare_spec(&specs[i]);
}

TEST(calls_that_are_always_allowed_are_allowed_by_number)
{
	static const long numbers[] = {SYS_read,  SYS_write,       SYS_getpid,       SYS_mmap,
	                               SYS_futex, SYS_close_range, SYS_set_mempolicy};

	for (int role = 0; role < 2; role++) {
		struct yett_error error = {0};
		struct bpf program = {0};

		assert_int_equal(seccomp_compile(&(struct seccomp_spec){0},
		                                 role == 0 ? SECCOMP_INIT : SECCOMP_COMMAND,
		                                 &program.code, &program.count, &error),
		                 0);
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
			assert_true(is_constant(&program, (uint32_t)numbers[i]));
		assert_int_equal(is_constant(&program, SYS_openat), role == 1);
		free(program.code);
	}
}

TEST_MAIN(NULL, NULL)
