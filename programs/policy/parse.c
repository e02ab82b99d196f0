/*
 * See parse.h. Two passes: parse_clean() refuses what libConfuse would let pass and blanks the comments (its lexer
 * miscounts the lines after them); then libConfuse reads the rest. Every value is a CFGT_PTR made by parse_take(), so
 * that it keeps its line.
 *
 * libConfuse compares the title of a section with that of every one before it, so that it is left with one at a time: parse_keep() takes
 * each as soon as it is read, and finds its title in a tree.
 */
#include "programs/policy/parse.h"
#include "base/escape.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A key and values that nobody can write, for control characters are refused. */
#define PARSE_MARK      "\001"
#define PARSE_EMPTY     "\002"
#define PARSE_VALUE_MAX 4096

#define PARSE_ROOM_MIN 64

/* Those of one kind. `titles` is a tree of tsearch(3) over the same sections. */
struct parse_kept {
	cfg_t **sections;
	size_t count, room;
	void *titles;
};

struct parse {
	cfg_t *root; /* of libConfuse: what has no title, and what could not be read to its end */
	struct parse_kept kept[SETTINGS_SECTIONS];
};

struct parse_pass {
	struct parse *parse;
	const char *file;
	struct yett_error *error;
	bool failed;
};

/* libConfuse hands its callbacks no pointer of ours. Set while it parses only. */
static _Thread_local struct parse_pass *parse_pass;

/* What is wrong with the byte at text[at] inside quotes, or NULL. */
static const char *text_problem(const char *text, size_t at, size_t length)
{
	if (text[at] == '\\')
		return "a backslash has no meaning in a policy";
	if (text[at] == '$' && at + 1 < length && text[at + 1] == '{')
		return "${...} is not replaced in a policy";
	return (unsigned char)text[at] < ' ' || text[at] == 0x7f ? "a text ends on its line and holds no control characters" : NULL;
}

/* The same for one outside quotes; `last` is the one before it that is no blank. */
static const char *plain_problem(const char *text, size_t at, size_t length, char last)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:% \t\n\"#{},=+";

	if (!text[at] || !strchr(allowed, text[at]))
		return "this character needs quotes around its text";
	if (text[at] == '+' && (at + 1 == length || text[at + 1] != '='))
		return "'+' is not expected here";
	/* libConfuse would take a quoted path such as "helper|cgroup" for a key. */
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
		problem = is_text ? text_problem(text, i, length) : plain_problem(text, i, length, last);
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
			/* libConfuse calls nobody for an empty list: it gets an item. */
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
	return problem ? error_set(error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s", file, line, problem) : 0;
}

/* Keeps the first error: later ones follow from it. */
static void parse_fail(struct policy_place place, const char *what)
{
	if (!parse_pass->failed)
		(void)error_set(parse_pass->error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s", place.file, place.line, ESCAPE(what));
	parse_pass->failed = true;
}

static void _printf_(2, 0) parse_report(cfg_t *cfg, const char *format, va_list args)
{
	char what[ESCAPE_SIZE];

	(void)vsnprintf(what, sizeof what, format, args);
	for (char *quote = strchr(what, '\''); quote; quote = strchr(quote, '\''))
		*quote = '`'; /* kept readable by the escaping */
	parse_fail((struct policy_place){parse_pass->file, (unsigned)cfg->line}, what);
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
	};
	memcpy(value->text, text, size);
	*(struct parse_value **)result = value;
	if (size > PARSE_VALUE_MAX)
		cfg_error(cfg, "a value of %s is too long", opt->name);
	return 0;
}

/* libConfuse drops values while it parses only because their key is set again. */
static void parse_drop(void *pointer)
{
	struct parse_value *value = pointer;
	char what[ESCAPE_SIZE];

	if (parse_pass && !value->is_inherited) {
		(void)snprintf(what, sizeof what, "%s is set here and again later", value->key);
		parse_fail(value->place, what);
	}
	free(value);
}

/* libConfuse opens a stream for each list that begins with a mark. */
static cfg_opt_t parse_option(const char *name, bool is_list, bool has_mark)
{
	static char mark[] = PARSE_MARK; /* not const in libConfuse's type; only copied */

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
	cfg_t **sections = room > kept->room ? reallocarray(kept->sections, room, sizeof *sections) : kept->sections, **found;

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

/* Called behind the '}' of a section with a title, which is then the only one that libConfuse has of its kind. */
static int parse_keep(cfg_t *cfg, cfg_opt_t *option)
{
	cfg_value_t *last = option->values[cfg_opt_size(option) - 1];
	char what[ESCAPE_SIZE];
	int r = parse_kept_add(&parse_pass->parse->kept[parse_kind(option->name)], last->section);

	(void)cfg;
	if (r == -EEXIST) {
		(void)snprintf(what, sizeof what, "found duplicate title `%s`", cfg_title(last->section));
		parse_fail(parse_place(last->section), what);
	}
	if (r < 0)
		return r;
	last->section = NULL;
	return cfg_opt_rmnsec(option, 0);
}

/* libConfuse copies the options, so that they need to live for this call only. */
static cfg_t *parse_new_root(void)
{
	cfg_opt_t options[SETTINGS_SECTIONS][SETTINGS_KEYS_MAX + 2] = {0}, sections[SETTINGS_SECTIONS + 1] = {0};

	for (size_t i = 0; i < SETTINGS_SECTIONS; i++) {
		const struct settings_section *section = &settings_sections[i];

		for (size_t k = 0; k < section->count; k++)
			options[i][k] = parse_option(section->keys[k].name, settings_is_list(section->keys[k].kind),
			                             i == SETTINGS_PROFILE && settings_is_list(section->keys[k].kind));
		options[i][section->count] = parse_option(PARSE_MARK, true, true);
		sections[i] = (cfg_opt_t)CFG_SEC(section->name, options[i], section->flags);
		sections[i].validcb = section->flags & CFGF_TITLE ? parse_keep : NULL;
	}
	return cfg_init(sections, CFGF_NONE);
}

struct parse *parse_new(void)
{
	struct parse *parse = calloc(1, sizeof *parse);

	if (parse)
		parse->root = parse_new_root();
	if (parse && parse->root)
		return parse;
	free(parse);
	return NULL;
}

static void parse_keep_section(void *section)
{
	(void)section; /* the tree borrows it */
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
	free(parse);
}

int parse_text(struct parse *parse, const char *file, char *text, size_t length, struct yett_error *error)
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
	return r == CFG_SUCCESS ? 0 : -ENOMEM; /* the only failure that libConfuse does not report */
}

size_t parse_count(const struct parse *parse, enum settings_section_index kind)
{
	return settings_sections[kind].flags & CFGF_TITLE ? parse->kept[kind].count : 1;
}

cfg_t *parse_section(const struct parse *parse, enum settings_section_index kind, size_t index)
{
	if (settings_sections[kind].flags & CFGF_TITLE)
		return parse->kept[kind].sections[index];
	return cfg_getsec(parse->root, settings_sections[kind].name);
}

cfg_t *parse_find(const struct parse *parse, enum settings_section_index kind, const char *title)
{
	cfg_t wanted = {.title = (char *)(uintptr_t)title}, **found; /* not const in libConfuse's type; only compared */

	found = tfind(&wanted, &parse->kept[kind].titles, parse_compare_titles);
	return found ? *found : NULL;
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
