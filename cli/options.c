/* See options.h. */
#include "cli/options.h"

#include <string.h>

#include "cli/output.h"

/* Which every subcommand has; the parser knows it by itself. */
static const struct option help_option = {'h', "help", NULL, "show this help", NULL};

static const struct option *find(const struct subcommand *subcommand, char letter, const char *name, size_t length)
{
	for (const struct option *option = subcommand->options; option && option->name; option++)
		if (name ? strlen(option->name) == length && memcmp(option->name, name, length) == 0
			 : option->letter && option->letter == letter)
			return option;
	return NULL;
}

/*
 * One option at argv[*at]: "--name", "--name=VALUE", "--name VALUE", "-x", "-xVALUE" or "-x VALUE". Moves *at past it.
 */
static int parse_one(const struct subcommand *subcommand, int argc, char **argv, int *at, void *into,
		     struct yett_error *error)
{
	const char *word = argv[(*at)++], *value = NULL;
	bool is_long = word[1] == '-';
	size_t length = is_long ? strcspn(word + 2, "=") : 0;
	const struct option *option = find(subcommand, word[1], is_long ? word + 2 : NULL, length);

	if (!option)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s has no option %s", subcommand->name,
				 word);
	if (is_long && word[2 + length] == '=')
		value = word + 2 + length + 1;
	else if (!is_long && word[2])
		value = word + 2;
	if (value && !option->value)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s takes no value", option->name);
	if (!value && option->value) {
		if (*at >= argc)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s needs %s", option->name,
					 option->value);
		value = argv[(*at)++];
	}
	return option->set(into, value, error);
}

int options_parse(const struct subcommand *subcommand, int argc, char **argv, void *into, bool *ret_help,
		  int *ret_first, struct yett_error *error)
{
	int at = 0, operands, r;

	*ret_help = false;
	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
			*ret_help = true;
			return 0;
		}
		r = parse_one(subcommand, argc, argv, &at, into, error);
		if (r)
			return r;
	}
	operands = argc - at;
	if (operands < subcommand->operands_min)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s needs %s", subcommand->name,
				 subcommand->operands);
	if (subcommand->operands_max >= 0 && operands > subcommand->operands_max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s does not know what to do with %s",
				 subcommand->name, argv[at + subcommand->operands_max]);
	*ret_first = at;
	return 0;
}

static void print_option(FILE *to, const struct option *option)
{
	const char *value = option->value;
	char left[64], short_form[8] = "    ";

	if (option->letter)
		(void)snprintf(short_form, sizeof short_form, "-%c, ", option->letter);
	(void)snprintf(left, sizeof left, "%s--%s%s%s", short_form, option->name, value ? " " : "", value ? value : "");
	(void)fprintf(to, "  %-28s %s\n", left, option->help);
}

void options_print_help(FILE *to, const struct subcommand *subcommand)
{
	(void)fprintf(to, "Usage: yett %s [OPTION…]%s%s\n\n%s.\n\nOptions:\n", subcommand->name,
		      *subcommand->operands ? " " : "", subcommand->operands, subcommand->summary);
	for (const struct option *option = subcommand->options; option && option->name; option++)
		print_option(to, option);
	print_option(to, &help_option);
}

static void print_member(FILE *to, const char *before, const char *text)
{
	(void)fputs(before, to);
	if (text)
		output_json_string(to, text);
	else
		(void)fputs("null", to);
}

static void print_json_option(FILE *to, const char *before, const struct option *option)
{
	const char letter[] = {option->letter, '\0'};

	(void)fputs(before, to);
	print_member(to, "\n    {\"letter\": ", *letter ? letter : NULL);
	print_member(to, ", \"name\": ", option->name);
	print_member(to, ", \"value\": ", option->value);
	print_member(to, ", \"help\": ", option->help);
	(void)fputc('}', to);
}

void options_print_json(FILE *to, const struct subcommand *subcommand)
{
	print_member(to, "  {\"name\": ", subcommand->name);
	print_member(to, ", \"operands\": ", subcommand->operands);
	print_member(to, ", \"summary\": ", subcommand->summary);
	(void)fputs(", \"options\": [", to);
	for (const struct option *option = subcommand->options; option && option->name; option++)
		print_json_option(to, option == subcommand->options ? "" : ",", option);
	print_json_option(to, subcommand->options && subcommand->options->name ? "," : "", &help_option);
	(void)fputs("]}", to);
}

int options_begin(const struct subcommand *subcommand, int argc, char **argv, void *into, int usage_code,
		  int *ret_first)
{
	struct yett_error error = {0};
	bool help;

	if (options_parse(subcommand, argc, argv, into, &help, ret_first, &error)) {
		output_error(&error);
		(void)fprintf(stderr, "  yett %s --help lists what it takes\n", subcommand->name);
		return usage_code;
	}
	if (!help)
		return -1;
	options_print_help(stdout, subcommand);
	return 0;
}
