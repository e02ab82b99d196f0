/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See filter.h. Part of yett-policy; pure, without privilege.
 *
 * libseccomp makes the fixed filters of our own programs (programs/filters/), but not these:
 *
 * - The rules of the table have an order, and some of them allow and others refuse the same call.
 *   Rules of libseccomp have no order.
 * - The kernel ignores the high half of an int argument, so rules must ignore it as well.
 *   libseccomp's comparisons of order and inequality read 64 bits. Its comparison under a mask can
 *   read 32, but only for equality, so a range or an inequality becomes up to 32 rules.
 * - Its programs are larger and slower to load, even in the form of a binary tree and without the
 *   calls that it cannot express: the default filter of init has 718 instructions instead of 275,
 *   and takes 0.18 ms instead of 0.09 (version 2.5.4). tests/unit/test_filter.c compares verdicts
 *   and lengths.
 *
 * The program is written from its end to its beginning, so that the target of every jump is known.
 * A position is the index of an instruction, and stands for what the program does from there on. A
 * conditional jump names two positions. Only a load continues with the instruction after it.
 */
#include "programs/decide/policy/filter.h"

#include "base/filter_head.h"

#include <string.h>

/*
 * A conditional jump skips at most 255 instructions. push_jump() may insert a BPF_JA for the other
 * target into that distance, so one instruction is kept in reserve.
 */
#define REACH 254

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the halves of an argument are the other way round there"
#endif
#define LOW_HALF(index) \
	((uint32_t)(offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t)))
#define HIGH_HALF(index) (LOW_HALF(index) + 4)

struct range {
	uint32_t first; /* first system call number of the range */
	const struct filter_verdict *verdict;
	/* where the code for the verdict's rules begins; 0: no rules, or not written yet */
	size_t position;
};

struct emitter {
	const struct filter *filter;
	size_t first; /* position of the instruction that was written last */
	bool is_full; /* the program is too long; positions are invalid */
	struct sock_filter code[BPF_MAXINSNS];
	size_t ranges_count;
	struct range ranges[FILTER_NUMBERS + 2]; /* one more, for the end of the last range */
};

static size_t filter_push(struct emitter *emitter, struct sock_filter instruction)
{
	if (emitter->first == 0)
		return emitter->is_full = true, 0;
	emitter->code[--emitter->first] = instruction;
	return emitter->first;
}

static size_t push_answer(struct emitter *emitter, uint32_t action)
{
	for (size_t i = emitter->first; i < BPF_MAXINSNS && i - emitter->first <= REACH; i++)
		if (emitter->code[i].code == (BPF_RET | BPF_K) && emitter->code[i].k == action)
			return i;
	return filter_push(emitter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static size_t push_goto(struct emitter *emitter, size_t target)
{
	return filter_push(emitter, (struct sock_filter)BPF_STMT(
					    BPF_JMP | BPF_JA, (uint32_t)(target - emitter->first)));
}

static size_t push_jump(struct emitter *emitter, uint16_t comparison, uint32_t k, size_t yes,
                        size_t no)
{
	if (yes - emitter->first > REACH)
		yes = push_goto(emitter, yes);
	if (no - emitter->first > REACH)
		no = push_goto(emitter, no);
	return filter_push(emitter, (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, k,
	                                                         (uint8_t)(yes - emitter->first),
	                                                         (uint8_t)(no - emitter->first)));
}

static size_t push_load(struct emitter *emitter, uint32_t offset, size_t next)
{
	if (next != emitter->first)
		(void)push_goto(emitter, next);
	return filter_push(emitter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static bool is_bits(const struct seccomp_argument *argument)
{
	return argument->first == 1 && argument->last == UINT32_MAX;
}

/* Compares the low half of the argument, which is loaded. */
static size_t push_comparison(struct emitter *emitter, const struct seccomp_argument *argument,
                              size_t yes, size_t no)
{
	size_t position;

	if (is_bits(argument))
		return push_jump(emitter, BPF_JSET, argument->mask, yes, no);
	if (argument->first == argument->last) {
		position = push_jump(emitter, BPF_JEQ, argument->first, yes, no);
	} else {
		position = push_jump(emitter, BPF_JGT, argument->last, no, yes);
		position = push_jump(emitter, BPF_JGE, argument->first, position, no);
	}
	if (argument->mask != UINT32_MAX)
		position = filter_push(emitter, (struct sock_filter)BPF_STMT(
							BPF_ALU | BPF_AND | BPF_K, argument->mask));
	return position;
}

static size_t push_argument(struct emitter *emitter, const struct seccomp_argument *argument,
                            bool is_loaded, size_t yes, size_t no)
{
	size_t position;

	if (argument->mask) {
		position = push_comparison(emitter, argument, yes, no);
		return is_loaded ? position
		                 : push_load(emitter, LOW_HALF(argument->index), position);
	}
	position = push_jump(emitter, BPF_JGT, argument->last, yes, no);
	position = push_load(emitter, LOW_HALF(argument->index), position);
	position = push_jump(emitter, BPF_JEQ, 0, position, yes);
	return push_load(emitter, HIGH_HALF(argument->index), position);
}

/* Whether the low half that `rule` needs first is still loaded after `before` did not match. */
static bool is_loaded_by(const struct seccomp_rule *before, const struct seccomp_rule *rule)
{
	const struct seccomp_argument *a = before->arguments, *b = rule->arguments;

	return before->arguments_count == 1 && a->index == b->index && b->mask &&
	       (a->mask == UINT32_MAX || is_bits(a));
}

static size_t push_rule(struct emitter *emitter, const struct seccomp_rule *rule, bool is_loaded,
                        size_t next)
{
	size_t position = push_answer(emitter, seccomp_rule_action(rule));

	for (unsigned i = rule->arguments_count; i-- > 0;)
		position = push_argument(emitter, &rule->arguments[i], is_loaded && i == 0,
		                         position, next);
	return position;
}

static bool filter_is_same(const struct range *a, const struct range *b)
{
	return a->verdict->rules == b->verdict->rules && a->verdict->action == b->verdict->action;
}

static void find_ranges(struct emitter *emitter, const struct filter_verdict *otherwise)
{
	struct range *range = emitter->ranges;

	for (uint32_t number = 0; number <= FILTER_NUMBERS; number++) {
		*range = (struct range){number,
		                        number < FILTER_NUMBERS ? &emitter->filter->verdicts[number]
		                                                : otherwise,
		                        0};
		if (number == 0 || !filter_is_same(range - 1, range))
			range++;
	}
	/* Higher numbers are not used, so the last range counts as one number in the search. */
	range->first = range[-1].first + 1;
	emitter->ranges_count = (size_t)(range - emitter->ranges);
}

/* Whether the rules of `range` end with all rules of `tail`, and both have the same action. */
static bool has_tail(const struct range *range, const struct range *tail)
{
	uint64_t rules = tail->verdict->rules;

	return range->verdict->action == tail->verdict->action && rules &&
	       (range->verdict->rules & -(rules & -rules)) == rules;
}

/* The written range with the longest list of rules that ends the list of `range`; NULL: none. */
static const struct range *find_tail(const struct emitter *emitter, const struct range *range)
{
	const struct range *longest = NULL;

	for (const struct range *other = emitter->ranges;
	     other < emitter->ranges + emitter->ranges_count; other++)
		if (other->position && has_tail(range, other) &&
		    (!longest || has_tail(other, longest)))
			longest = other;
	return longest;
}

static size_t push_rules(struct emitter *emitter, const struct range *range)
{
	const struct range *tail = find_tail(emitter, range);
	uint64_t rest = range->verdict->rules ^ (tail ? tail->verdict->rules : 0);
	size_t next = tail ? tail->position : push_answer(emitter, range->verdict->action);
	const struct seccomp_rule *rule = NULL, *before;

	for (size_t i = SECCOMP_RULES_MAX; i-- > 0;) {
		if (!(rest & 1ULL << i))
			continue;
		before = &emitter->filter->rules[i];
		if (rule)
			next = push_rule(emitter, rule, is_loaded_by(before, rule), next);
		rule = before;
	}
	return rule ? push_rule(emitter, rule, false, next) : next;
}

/* Writes the shortest lists of rules first, so that longer ones can jump into them. */
static void push_verdicts(struct emitter *emitter)
{
	for (int count = 1; count <= SECCOMP_RULES_MAX; count++)
		for (struct range *range = emitter->ranges;
		     range < emitter->ranges + emitter->ranges_count; range++)
			if (__builtin_popcountll(range->verdict->rules) == count)
				range->position = push_rules(emitter, range);
}

static size_t push_range(struct emitter *emitter, const struct range *range)
{
	return range->verdict->rules ? range->position
	                             : push_answer(emitter, range->verdict->action);
}

/* Whether one comparison for equality can distinguish the three ranges. */
static bool is_triple(const struct range *ranges)
{
	return filter_is_same(&ranges[0], &ranges[2]) && ranges[2].first - ranges[1].first == 1;
}

/* Returns the range that divides the numbers most evenly. Avoids dividing a triple. */
static size_t find_middle(const struct range *ranges, size_t count)
{
	size_t middle = 0;
	uint32_t least = UINT32_MAX;

	for (size_t i = 1; i < count; i++) {
		bool splits = (i + 1 < count && is_triple(&ranges[i - 1])) ||
		              (i > 1 && is_triple(&ranges[i - 2]));
		uint32_t twice = 2 * ranges[i].first, ends = ranges[0].first + ranges[count].first;
		uint32_t uneven = (twice > ends ? twice - ends : ends - twice) +
		                  (splits ? 4 * FILTER_NUMBERS : 0);

		if (uneven < least) {
			least = uneven;
			middle = i;
		}
	}
	return middle;
}

static size_t filter_push_search(struct emitter *emitter, const struct range *ranges, size_t count)
{
	size_t middle, low, high;

	if (count == 1)
		return push_range(emitter, ranges);
	if (count == 3 && is_triple(ranges)) {
		low = push_range(emitter, &ranges[0]);
		high = push_range(emitter, &ranges[1]);
		return push_jump(emitter, BPF_JEQ, ranges[1].first, high, low);
	}
	middle = find_middle(ranges, count);
	high = filter_push_search(emitter, ranges + middle, count - middle);
	low = filter_push_search(emitter, ranges, middle);
	return push_jump(emitter, BPF_JGE, ranges[middle].first, high, low);
}

static void push_program(struct emitter *emitter)
{
	struct sock_filter head[FILTER_HEAD];
	size_t position;

	push_verdicts(emitter);
	position = filter_push_search(emitter, emitter->ranges, emitter->ranges_count);
	if (position != emitter->first)
		(void)push_goto(emitter, position);
	filter_head(head, emitter->filter->arch, emitter->filter->otherwise);
	for (size_t i = FILTER_HEAD; i-- > 0;)
		(void)filter_push(emitter, head[i]);
}

int filter_emit(const struct filter *filter, struct sock_filter **ret_code, size_t *ret_count)
{
	const struct filter_verdict otherwise = {0, filter->otherwise};
	_cleanup_free_ struct emitter *emitter = calloc(1, sizeof *emitter);
	struct sock_filter *code;
	size_t count;

	if (!emitter)
		return -ENOMEM;
	emitter->filter = filter;
	emitter->first = BPF_MAXINSNS;
	find_ranges(emitter, &otherwise);
	push_program(emitter);
	if (emitter->is_full)
		return -E2BIG;
	count = BPF_MAXINSNS - emitter->first;
	code = malloc(count * sizeof *code);
	if (!code)
		return -ENOMEM;
	memcpy(code, emitter->code + emitter->first, count * sizeof *code);
	*ret_count = count;
	*ret_code = code;
	return 0;
}
