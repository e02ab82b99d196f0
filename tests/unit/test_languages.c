/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of languages, and what code is looked through for: each rule finds its example, and not
 * in a comment or string.
 */
#include <stdio.h>
#include <string.h>

#include "agent/runner/languages.h"
#include "agent/runner/scan.h"
#include "agent/runner/validate.h"
#include "tests/support/testing.h"

static bool finds(const char *language, const char *code, const char *rule)
{
	struct finding findings[FINDINGS_MAX];
	size_t count = validate(language, code, strlen(code), findings);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(findings[i].rule->rule, rule) == 0)
			return true;
	}
	return false;
}

TEST(languages_are_found_by_any_of_their_names)
{
	assert_string_equal(language_find("python")->name, "python");
	assert_string_equal(language_find("Py")->name, "python");
	assert_string_equal(language_find("CPP")->name, "c++");
	assert_string_equal(language_find("TS")->name, "typescript");
	assert_null(language_find("cobol"));
	assert_null(language_find(""));
	for (const struct language *a = languages; a->name; a++) {
		assert_ptr_equal(language_find(a->name), a);
		for (const char *const *alias = a->aliases; *alias; alias++)
			assert_ptr_equal(language_find(*alias), a);
		assert_true(a->file && a->run && a->probe && a->package && a->image);
		assert_true(!a->kept || a->kept_by);
	}
}

/* --- findings --------------------------------------------------------------------------------- */

static const char *comment_of(const char *language)
{
	if (strcmp(language, "lua") == 0)
		return "-- ";
	return strstr("python bash ruby perl", language) ? "# " : "// ";
}

/* Each line of the code as a comment. */
static void comment(const char *language, const char *code, char *ret_text)
{
	ret_text += sprintf(ret_text, "%s", comment_of(language));
	for (; *code; code++) {
		*ret_text++ = *code;
		if (*code == '\n')
			ret_text += sprintf(ret_text, "%s", comment_of(language));
	}
	*ret_text = '\0';
}

/* The code as a string in its language. */
static void quote(const char *language, const char *code, char *ret_text)
{
	bool is_shell = strcmp(language, "bash") == 0;

	ret_text += sprintf(ret_text, "x = %c", is_shell ? '\'' : '"');
	for (; *code; code++) {
		if (*code == '\n' && !is_shell)
			ret_text += sprintf(ret_text, "\\n");
		else if (is_shell && *code == '\'')
			ret_text += sprintf(ret_text, "'\\''");
		else
			ret_text += sprintf(ret_text, "%s%c",
			                    !is_shell && strchr("\"\\", *code) ? "\\" : "", *code);
	}
	sprintf(ret_text, "%c;\n", is_shell ? '\'' : '"');
}

TEST(each_rule_finds_its_example_but_in_comments_and_strings)
{
	char text[1024];

	for (const struct finding_rule *rule = finding_rules; rule->pattern; rule++) {
		const char *language = rule->language ? rule->language : "python";
		struct finding findings[FINDINGS_MAX];
		size_t count = validate(language, rule->example, strlen(rule->example), findings);
		bool is_found = false;

		/* By this row, or by one of the same rule that is as grave. */
		for (size_t i = 0; i < count; i++)
			is_found |= strcmp(findings[i].rule->rule, rule->rule) == 0 &&
			            findings[i].rule->severity == rule->severity;
		if (!is_found)
			fail_msg("%s: %s is not found in: %s", language, rule->pattern,
			         rule->example);
		comment(language, rule->example, text);
		if (finds(language, text, rule->rule))
			fail_msg("%s: %s is found in a comment: %s", language, rule->pattern, text);
		quote(language, rule->example, text);
		if (rule->language && finds(language, text, rule->rule))
			fail_msg("%s: %s is found in a string: %s", language, rule->pattern, text);
	}
}

TEST(each_row_finds_its_example_by_itself)
{
	/* A row whose example another row finds first would never be tried. */
	for (const struct finding_rule *rule = finding_rules; rule->pattern; rule++) {
		struct finding findings[FINDINGS_MAX];
		size_t count = validate(rule->language ? rule->language : "python", rule->example,
		                        strlen(rule->example), findings);
		bool is_row = false;

		for (size_t i = 0; i < count; i++)
			is_row |= findings[i].rule == rule;
		if (!is_row)
			fail_msg("another row finds the example of: %s %s", rule->language,
			         rule->pattern);
	}
}

TEST(what_only_looks_alike_is_not_found)
{
	static const struct {
		const char *language, *code, *rule;
	} cases[] = {
		{"python", "model.eval()", "code-from-text"},
		{"python", "def eval(x): pass", "code-from-text"},
		{"python", "s = '''\nos.system('ls')\n'''", "shell"},
		{"python", "s = r'\\' + \"\"\"eval(x)\"\"\"", "code-from-text"},
		{"javascript", "/* eval(x)\n eval(y) */ 1", "code-from-text"},
		{"javascript", "const t = `eval(x)`", "code-from-text"},
		{"javascript", "const r = /eval(x)/", "code-from-text"},
		{"javascript", "page.eval(x)", "code-from-text"},
		{"bash", "cat <<EOF\nrm -rf /\nEOF\n", "remove-all"},
		{"bash", "cat <<-'END'\n\trm -rf /\n\tEND\n", "remove-all"},
		{"bash", "rm -rf /tmp/x", "remove-all"},
		{"bash", "echo eval x", "code-from-text"},
		{"bash", "echo $#; x=a#b", "code-from-text"},
		{"go", "s := `exec.Command(x)`", "programs"},
		{"rust", "let s = r#\"unsafe { \"x\" }\"#;", "unsafe"},
		{"rust", "/* a /* unsafe { */ unsafe { */ fn f<'a>(x: &'a str) {}", "unsafe"},
		{"c++", "auto s = R\"x(system(\"ls\"))x\";", "shell"},
		{"c", "int system(const char *s);", "shell"},
		{"c", "p->fork();", "fork"},
		{"java", "String s = \"\"\"\n new ProcessBuilder(\"x\") \"\"\";", "programs"},
		{"ruby", "=begin\nsystem('x')\n=end\nx = %q(system('x'))", "shell"},
		{"ruby", "x = <<~TEXT\n  eval(x)\nTEXT\n", "code-from-text"},
		{"perl", "=pod\n\nsystem('x')\n\n=cut\nmy $x = q{eval $y};", "shell"},
		{"perl", "my $x = q{eval $y}; s{eval $x}{eval $y}; tr/eval(/x/;", "code-from-text"},
		{"perl", "eval { f(); };", "code-from-text"},
		{"php", "<p>system('ls')</p><?php $db->exec('x'); ?> system('x')", "shell"},
		{"php", "$x = <<<EOT\neval($y);\n  EOT;\n", "code-from-text"},
		{"lua", "--[==[ os.execute('x')\n]] ]==] x = [[ os.execute('x') ]]", "shell"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (finds(cases[i].language, cases[i].code, cases[i].rule))
			fail_msg("%s: %s is found in: %s", cases[i].language, cases[i].rule,
			         cases[i].code);
	}
}

TEST(code_after_comments_and_strings_is_code)
{
	static const struct {
		const char *language, *code, *rule;
	} cases[] = {
		{"python", "s = 'it\\'s'; os.system('x')", "shell"},
		{"python", "\"\"\"a \"quoted\" b\"\"\"\nos.system('x')", "shell"},
		{"javascript", "const r = a / b / eval(x)", "code-from-text"},
		{"javascript", "const r = /[/\"]/; eval(x)", "code-from-text"},
		{"javascript", "`a ${ {b: eval(x)} } c`", "code-from-text"},
		{"typescript", "const x: string = eval(y)", "code-from-text"},
		{"bash", "cat <<A\nx\nA\nrm -r /", "remove-all"},
		{"bash", "echo \"x\" # 'y\nrm -r /", "remove-all"},
		{"bash", "bomb() { bomb | bomb & }; bomb", "fork-bomb"},
		{"rust", "let c = '\"'; let d = '\\''; unsafe { }", "unsafe"},
		{"c++", "char c = '\"'; system(\"ls\");", "shell"},
		{"go", "s := `\\`; exec.Command(x)", "programs"},
		{"ruby", "x = a << B\nsystem('x')", "shell"},
		{"perl", "my %h = (y => 1); $s = 1; system('x');", "shell"},
		{"perl", "my $n = $#list; system('x');", "shell"},
		{"php", "<?php // x ?> <b>'</b> <?= system('x') ?>", "shell"},
		{"lua", "x = a[b[1]] --[[ c ]] os.execute('x')", "shell"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!finds(cases[i].language, cases[i].code, cases[i].rule))
			fail_msg("%s: %s is not found in: %s", cases[i].language, cases[i].rule,
			         cases[i].code);
	}
}

TEST(a_rule_is_told_once_with_its_first_line)
{
	static const char code[] = "import os\n# os.system\n\nos.system('a')\nos.system('b')\n";
	struct finding findings[FINDINGS_MAX];

	assert_int_equal(validate("python", code, strlen(code), findings), 1);
	assert_int_equal(findings[0].line, 4);
	assert_string_equal(finding_severity_name(findings[0].rule->severity), "warn");
}

TEST(whatever_is_not_closed_ends_with_the_code)
{
	static const char *const ends[] = {
		"\"",     "'",   "`",     "`${",    "`${`${", "/*", "--[[",     "[==[", "r#\"",
		"R\"x(",  "R\"", "<<A\n", "<<<'A",  "q{",     "s/", "s{a}",     "%q(",  "=pod",
		"=begin", "/",   "\\",    "\"\"\"", "'\\",    "<?", "<?php ?>", "\xff", "x=\\"};
	struct finding findings[FINDINGS_MAX];

	for (const struct language *language = languages; language->name; language++) {
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			size_t length = strlen(ends[i]);
			char *exact = malloc(length);

			memcpy(exact, ends[i], length);
			assert_int_equal(validate(language->name, exact, length, findings), 0);
			free(exact);
		}
	}
}

TEST(code_that_is_slow_to_look_at_is_given_up)
{
	static char code[1 << 20];
	struct finding findings[FINDINGS_MAX];

	for (size_t i = 0; i + 6 < sizeof code; i += 6)
		memcpy(code + i, "rm -r ", 6);
	assert_int_equal(validate("bash", code, sizeof code - 6, findings), 0);
}

TEST_MAIN(NULL, NULL)
