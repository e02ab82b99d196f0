/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See parse.h. Two passes: parse_clean() refuses what libConfuse would accept, and blanks the
 * comments, since libConfuse's lexer miscounts the lines after them; then libConfuse parses the
 * rest. Every value is a CFGT_PTR made by parse_take(), which records its line.
 *
 * libConfuse compares the title of each section with all earlier ones, which takes quadratic time.
 * So parse_keep() removes each section as soon as it is complete, and keeps titles in a tree.
 */
#include "programs/decide/policy/parse.h"
#include "base/escape.h"
#include "base/near.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A key and values that a policy cannot contain, because control characters are refused. */
#define PARSE_MARK      "\001"
#define PARSE_EMPTY     "\002"
#define PARSE_VALUE_MAX 4096
#define PLACE_SHOWN_MAX 60 /* bytes shown of a second place's path in a message: the end of it */

#define PARSE_ROOM_MIN 64

/* The sections of one kind. `titles` is a tree of tsearch(3) over the same sections. */
struct parse_kept {
	cfg_t **sections;
	size_t count, room;
	void *titles;
};

struct parse {
	cfg_t *root; /* libConfuse's; holds what is not complete yet */
	cfg_t *once; /* the sections without title, merged from all texts */
	struct parse_kept kept[SETTINGS_SECTIONS];
};

struct parse_pass {
	struct parse *parse;
	const char *file;
	struct yett_error *error;
	const char
		/*
	         * a key that is set again; its next value gives the place of the error; NULL: none
	         */
		*again;
	struct policy_place before; /* where the key was set first */
	bool failed;
};

/* libConfuse passes no user pointer to callbacks. Set only during parsing. */
static _Thread_local struct parse_pass *parse_pass;

/* Returns what is wrong with the byte text[at] inside quotes, or NULL. */
static const char *text_problem(const char *text, size_t at, size_t length)
{
	if (text[at] == '\\')
		return "a backslash has no meaning in a policy";
	if (text[at] == '$' && at + 1 < length && text[at + 1] == '{')
		return "${...} is not replaced in a policy";
	return (unsigned char)text[at] < ' ' || text[at] == 0x7f
	               ? "a text ends on its line and holds no control characters"
	               : NULL;
}

/*
 * Returns what is wrong with a byte outside quotes, or NULL. `last` is the last byte before it that
 * is not blank.
 */
static const char *plain_problem(const char *text, size_t at, size_t length, char last)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:% \t\n\"#{},=+";

	if (!text[at] || !strchr(allowed, text[at]))
		return "this character needs quotes around its text";
	if (text[at] == '+' && (at + 1 == length || text[at + 1] != '='))
		return "'+' is not expected here";
	/* libConfuse would accept a quoted path such as "helper|cgroup" as a key. */
	if ((text[at] == '=' || text[at] == '+') && last == '"')
		return "a key is written without quotes";
	return NULL;
}

static int parse_clean(const char *file, char *text, size_t length, struct yett_error *error)
{
	bool is_comment = false, is_text = false;
	unsigned line = 1, depth = 0, opened = 0;
	const char *problem = NULL;
	char *list = NULL, last = 0;

	for (size_t i = 0; !problem && i < length; i++) {
		if (is_comment || (!is_text && text[i] == '#')) {
			is_comment = text[i] != '\n';
			text[i] = is_comment ? ' ' : '\n';
		}
		problem = is_text ? text_problem(text, i, length)
		                  : plain_problem(text, i, length, last);
		line += text[i] == '\n' && !problem;
		if (text[i] == '"')
			is_text = !is_text;
		if (is_text || strchr(" \t\n", text[i]))
			continue;
		if (text[i] == '{') {
			list = last == '=' ? text + i : NULL;
			opened = depth++ ? opened : line;
		} else if (text[i] == '}') {
			problem = depth-- ? NULL : "'}' closes nothing";
			/* libConfuse calls no callback for an empty list, so give it an item. */
			if (last == '{' && list) {
				*list = *PARSE_EMPTY;
				text[i] = ' ';
			}
		}
		last = text[i] == ' ' ? '}' : text[i];
	}
	if (!problem && (is_text || depth > 0)) {
		line = is_text ? line : opened;
		problem = is_text ? "the text does not end" : "the '{' of this line is not closed";
	}
	return problem ? error_set(error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s", file, line,
	                           problem)
	               : 0;
}

/* Records an error. Only the first counts, since later ones may result from it. */
static void parse_fail(struct policy_place place, const char *what)
{
	if (!parse_pass->failed)
		(void)error_set(parse_pass->error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s",
		                place.file, place.line, ESCAPE(what));
	parse_pass->failed = true;
}

static const struct settings_section *find_section(const char *name)
{
	for (size_t i = 0; i < SETTINGS_SECTIONS; i++)
		if (strcmp(settings_sections[i].name, name) == 0)
			return &settings_sections[i];
	return NULL;
}

/* Lists the keys of a section, or without `section` the section names. Returns their number. */
static size_t policy_parse_list_names(const struct settings_section *section,
                                      const char *names[SETTINGS_KEYS_MAX])
{
	size_t count = section ? section->count : SETTINGS_SECTIONS;

	for (size_t i = 0; i < count; i++)
		names[i] = section ? section->keys[i].name : settings_sections[i].name;
	return count;
}

/* A section that has such a key; NULL: none. */
static const char *policy_parse_find_owner(const char *key)
{
	for (size_t i = 0; i < SETTINGS_SECTIONS; i++)
		for (size_t k = 0; k < settings_sections[i].count; k++)
			if (strcmp(settings_sections[i].keys[k].name, key) == 0)
				return settings_sections[i].name;
	return NULL;
}

static void explain_unknown(const cfg_t *cfg, const char *name, char *out, size_t size)
{
	const struct settings_section *section = find_section(cfg->name);
	const char *names[SETTINGS_KEYS_MAX],
		*near = near_word(name, names, policy_parse_list_names(section, names)),
		*owner = policy_parse_find_owner(name);
	size_t used =
		(size_t)(section ? snprintf(out, size, "%s has no key `%.64s`", section->name, name)
	                         : snprintf(out, size, "there is no section `%.64s`", name));

	if (owner)
		(void)snprintf(out + used, size - used,
		               section ? ": it is a key of %s" : ": it is a key, of %s { }", owner);
	else if (near)
		(void)snprintf(out + used, size - used, ": did you mean %s?", near);
}

static void _printf_(2, 0) parse_report(cfg_t *cfg, const char *format, va_list args)
{
	char what[ESCAPE_SIZE];

	/* libConfuse uses this format for unknown keys and unknown sections */
	if (strcmp(format, "no such option '%s'") == 0)
		explain_unknown(cfg, va_arg(args, const char *), what, sizeof what);
	else
		(void)vsnprintf(what, sizeof what, format, args);
	for (char *quote = strchr(what, '\''); quote; quote = strchr(quote, '\''))
		*quote = '`'; /* a character that the escaping leaves alone */
	parse_fail((struct policy_place){parse_pass->file, (unsigned)cfg->line}, what);
}

static void fail_of_two(const char *key, struct policy_place first, struct policy_place second)
{
	size_t length = strlen(second.file),
	       cut = length > PLACE_SHOWN_MAX ? length - PLACE_SHOWN_MAX : 0;
	char what[ESCAPE_SIZE];

	if (first.file == second.file)
		(void)snprintf(what, sizeof what, "%s is set here, and again in line %u", key,
		               second.line);
	else
		(void)snprintf(what, sizeof what, "%s is set here, and again by %s%s:%u", key,
		               cut ? "…" : "", second.file + cut, second.line);
	parse_fail(first, what);
}

static int parse_take(cfg_t *cfg, cfg_opt_t *opt, const char *text, void *result)
{
	size_t size = strlen(text) + 1;
	struct parse_value *value = malloc(sizeof *value + size);

	if (!value)
		return -1;
	*value = (struct parse_value){
		.key = opt->name,
		.place = {parse_pass ? parse_pass->file : "policy", (unsigned)cfg->line},
		.is_inherited = strcmp(text, PARSE_MARK) == 0,
		.is_empty = strcmp(text, PARSE_EMPTY) == 0,
		.is_list = opt->flags & CFGF_LIST,
	};
	memcpy(value->text, text, size);
	if (parse_pass && parse_pass->again == opt->name)
		fail_of_two(opt->name, parse_pass->before, value->place);
	*(struct parse_value **)result = value;
	if (size > PARSE_VALUE_MAX)
		cfg_error(cfg, "a value of %s is too long", opt->name);
	return 0;
}

/*
 * During parsing, libConfuse drops a value only because its key is set again by the next value.
 * Values that parse_merge_key() replaced are marked is_inherited instead.
 */
static void parse_drop(void *pointer)
{
	struct parse_value *value = pointer;

	if (parse_pass && !value->is_inherited && !parse_pass->again) {
		parse_pass->again = value->key;
		parse_pass->before = value->place;
	}
	free(value);
}

/* Only options that need a default get the mark: libConfuse opens a stream for each such list. */
static cfg_opt_t parse_option(const char *name, bool is_list, bool has_mark)
{
	/* libConfuse's type is not const, but libConfuse only copies it */
	static char mark[] = PARSE_MARK;

	return (cfg_opt_t){
		.name = name,
		.type = CFGT_PTR,
		.flags = is_list ? CFGF_LIST : CFGF_NONE,
		.def.parsed = has_mark ? mark : NULL,
		.parsecb = parse_take,
		.freecb = parse_drop,
	};
}

static int parse_compare_titles(const void *a, const void *b)
{
	return strcmp(cfg_title((cfg_t *)(uintptr_t)a), cfg_title((cfg_t *)(uintptr_t)b));
}

static int parse_kept_add(struct parse_kept *kept, cfg_t *section)
{
	size_t room = kept->count < kept->room ? kept->room : 2 * kept->room + PARSE_ROOM_MIN;
	cfg_t **sections = room > kept->room ? reallocarray(kept->sections, room, sizeof *sections)
	                                     : kept->sections,
	      **found;

	if (!sections)
		return -ENOMEM;
	kept->sections = sections;
	kept->room = room;
	found = tsearch(section, &kept->titles, parse_compare_titles);
	if (!found)
		return -ENOMEM;
	if (*found != section)
		return -EEXIST;
	kept->sections[kept->count++] = section;
	return 0;
}

static enum settings_section_index parse_kind(const char *name)
{
	enum settings_section_index kind = 0;

	while (strcmp(settings_sections[kind].name, name) != 0)
		kind++;
	return kind;
}

/*
 * If `section` sets the key, swaps its values with those in `into`, and marks the old values of
 * `into` is_inherited. So parse_drop() reports nothing when libConfuse parses the section again.
 */
static int parse_merge_key(cfg_t *section, cfg_t *into, const char *key)
{
	cfg_opt_t *from = cfg_getopt(section, key), *to = cfg_getopt(into, key);
	struct parse_value *value = cfg_opt_size(from) ? cfg_opt_getnptr(from, 0) : NULL,
			   *old = cfg_opt_size(to) ? cfg_opt_getnptr(to, 0) : NULL;
	cfg_value_t **values = to->values;
	unsigned count = to->nvalues;

	/*
	 * No value, or a value that an earlier call moved here from `into` and marked is_inherited:
	 * the section that was just parsed does not set the key.
	 */
	if (!value || value->is_inherited)
		return 0;
	if (old && !old->is_inherited && (old->is_list || old->place.file == value->place.file)) {
		fail_of_two(key, old->place, value->place);
		return -EEXIST;
	}
	if (old && !old->is_inherited)
		value->over = old->place;
	if (old)
		old->is_inherited = true; /* so that parse_drop() does not report it */
	to->values = from->values;
	to->nvalues = from->nvalues;
	from->values = values;
	from->nvalues = count;
	return 0;
}

/* Called after the closing brace of a section without title. */
static int parse_merge(cfg_t *cfg, cfg_opt_t *option)
{
	const struct settings_section *table = &settings_sections[parse_kind(option->name)];
	cfg_t *section = option->values[0]->section,
	      *into = cfg_getsec(parse_pass->parse->once, table->name);
	int r = 0;

	(void)cfg;
	for (size_t i = 0; r == 0 && i < table->count; i++)
		r = parse_merge_key(section, into, table->keys[i].name);
	return r;
}

/*
 * Called after the closing brace of a section with a title. At that point libConfuse has no other
 * section of its kind.
 */
static int parse_keep(cfg_t *cfg, cfg_opt_t *option)
{
	cfg_value_t *last = option->values[cfg_opt_size(option) - 1];
	char what[ESCAPE_SIZE];
	int r = parse_kept_add(&parse_pass->parse->kept[parse_kind(option->name)], last->section);

	(void)cfg;
	if (r == -EEXIST) {
		(void)snprintf(what, sizeof what, "%s `%.64s`", option->name,
		               cfg_title(last->section));
		fail_of_two(what,
		            parse_place(parse_find(parse_pass->parse, parse_kind(option->name),
		                                   cfg_title(last->section))),
		            parse_place(last->section));
	}
	if (r < 0)
		return r;
	last->section = NULL;
	return cfg_opt_rmnsec(option, 0);
}

/* libConfuse copies the options, so they need to exist only during this call. */
static cfg_t *parse_new_root(void)
{
	cfg_opt_t options[SETTINGS_SECTIONS][SETTINGS_KEYS_MAX + 2] = {0},
								 sections[SETTINGS_SECTIONS + 1] = {
									 0};

	for (size_t i = 0; i < SETTINGS_SECTIONS; i++) {
		const struct settings_section *section = &settings_sections[i];

		for (size_t k = 0; k < section->count; k++)
			options[i][k] = parse_option(
				section->keys[k].name, settings_is_list(section->keys[k].kind),
				i == SETTINGS_PROFILE && settings_is_list(section->keys[k].kind));
		options[i][section->count] = parse_option(PARSE_MARK, true, true);
		sections[i] = (cfg_opt_t)CFG_SEC(section->name, options[i], section->flags);
		sections[i].validcb = section->flags & CFGF_TITLE ? parse_keep : parse_merge;
	}
	return cfg_init(sections, CFGF_NONE);
}

static void parse_keep_section(void *section)
{
	(void)section; /* parse_free() frees the sections, not the tree */
}

void parse_free(struct parse *parse)
{
	if (!parse)
		return;
	for (size_t kind = 0; kind < SETTINGS_SECTIONS; kind++) {
		struct parse_kept *kept = &parse->kept[kind];

		tdestroy(kept->titles, parse_keep_section);
		for (size_t i = 0; i < kept->count; i++)
			(void)cfg_free(kept->sections[i]);
		free(kept->sections);
	}
	(void)cfg_free(parse->root);
	(void)cfg_free(parse->once);
	free(parse);
}

struct parse *parse_new(void)
{
	struct parse *parse = calloc(1, sizeof *parse);

	if (parse)
		parse->root = parse_new_root();
	if (parse && parse->root)
		parse->once = parse_new_root();
	if (parse && parse->once)
		return parse;
	parse_free(parse);
	return NULL;
}

int parse_text(struct parse *parse, const char *file, char *text, size_t length,
               struct yett_error *error)
{
	struct parse_pass pass = {.parse = parse, .file = file, .error = error};
	int r = parse_clean(file, text, length, error);
	FILE *stream;

	if (r || length == 0)
		return r;
	stream = fmemopen(text, length, "r");
	if (!stream)
		return -errno;
	(void)cfg_set_error_function(parse->root, parse_report);
	parse_pass = &pass;
	r = cfg_parse_fp(parse->root, stream);
	parse_pass = NULL;
	(void)fclose(stream);
	if (pass.failed)
		return YETT_E_INVALID_REQUEST;
	/* libConfuse reports all other failures. */
	return r == CFG_SUCCESS ? 0 : -ENOMEM;
}

size_t parse_count(const struct parse *parse, enum settings_section_index kind)
{
	return settings_sections[kind].flags & CFGF_TITLE ? parse->kept[kind].count : 1;
}

cfg_t *parse_section(const struct parse *parse, enum settings_section_index kind, size_t index)
{
	if (settings_sections[kind].flags & CFGF_TITLE)
		return parse->kept[kind].sections[index];
	return cfg_getsec(parse->once, settings_sections[kind].name);
}

cfg_t *parse_find(const struct parse *parse, enum settings_section_index kind, const char *title)
{
	/* libConfuse's type is not const, but the title is only compared. */
	cfg_t wanted = {.title = (char *)(uintptr_t)title}, **found;

	found = tfind(&wanted, &parse->kept[kind].titles, parse_compare_titles);
	return found ? *found : NULL;
}

int parse_refuse_title(const struct parse *parse, enum settings_section_index kind,
                       struct policy_place place, const char *title, struct yett_error *error)
{
	const struct parse_kept *kept = &parse->kept[kind];
	_cleanup_free_ const char **titles = calloc(kept->count + 1, sizeof *titles);
	char problem[64];

	if (!titles)
		return -ENOMEM;
	for (size_t i = 0; i < kept->count; i++)
		titles[i] = cfg_title(kept->sections[i]);
	(void)snprintf(problem, sizeof problem, "is not a %s", settings_sections[kind].name);
	return settings_refuse(place, title, problem, titles, kept->count, error);
}

const struct parse_value *parse_value(cfg_t *section, const char *key, unsigned index)
{
	cfg_opt_t *option = cfg_getopt(section, key);

	return index < cfg_opt_size(option) ? cfg_opt_getnptr(option, index) : NULL;
}

struct policy_place parse_place(cfg_t *section)
{
	return parse_value(section, PARSE_MARK, 0)->place;
}
