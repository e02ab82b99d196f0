/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of languages: how code is compiled and run, and which package provides the language.
 *
 * Programs are found by the sandbox's PATH. Caches that they write are in the sandbox's memory and
 * end with it; caches that would be used only once, such as Python's byte code, are turned off.
 */
#include <strings.h>

#include "agent/runner/languages.h"

#define LIST(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/*
 * Removes type annotations without checking them: a check would need declarations of packages that
 * a sandbox does not have. Syntax errors are reported with their line. Status 127 means, as in a
 * shell, that the compiler is missing.
 */
static const char strip_types[] =
	"const fs = require('fs');\n"
	"let ts;\n"
	"try { ts = require('typescript') } catch (error) { console.error(error.message); process.exit(127) }\n"
	"const host = {getCurrentDirectory: () => '', getCanonicalFileName: (f) => f, getNewLine: () => '\\n'};\n"
	"const compilerOptions = {target: 'es2021', module: 'commonjs', esModuleInterop: true, inlineSourceMap: true, inlineSources: true};\n"
	"for (const fileName of process.argv.slice(1)) {\n"
	"	if (fileName.endsWith('.d.ts')) continue;\n"
	"	const options = {fileName, reportDiagnostics: true, compilerOptions};\n"
	"	const made = ts.transpileModule(fs.readFileSync(fileName, 'utf8'), options);\n"
	"	fs.writeFileSync(fileName.replace(/ts$/, 'js'), made.outputText);\n"
	"	if (!made.diagnostics.length) continue;\n"
	"	process.stderr.write(ts.formatDiagnostics(made.diagnostics, host));\n"
	"	process.exitCode = 1;\n"
	"}\n";

/* Few threads and little memory: programs are short, and the sandbox may be small. */
#define JAVA_SHORT  "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"
#define JAVAC_SHORT "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xshare:auto"

/* Moves requests to descriptor 3, so that descriptor 0 is free for the code. */
#define KEPT_BY "sh", "-c", "exec \"$@\" 3<&0 </dev/null", "sh"

const struct language languages[] = {
	{
		.name = "python",
		.aliases = LIST("py", "python3"),
		.file = "main.py",
		/* -u: output stays in order, and none is lost by a kill. -B: no byte code files. */
		.run = LIST("python3", "-uB", "%f"),
		.probe = LIST("python3", "--version"),
		.package = "python3",
		.image = "docker.io/library/python:3-slim",
		.kept = kept_python_text,
		.kept_by = LIST(KEPT_BY, "python3", "-uB", "-c"),
	},
	{
		.name = "javascript",
		.aliases = LIST("js", "node", "nodejs"),
		.file = "main.js",
		.run = LIST("node", "%f"),
		.probe = LIST("node", "--version"),
		.package = "nodejs",
		.image = "docker.io/library/node:lts-slim",
		.kept = kept_javascript_text,
		.kept_by = LIST(KEPT_BY, "node", "-e"),
	},
	{
		.name = "typescript",
		.aliases = LIST("ts"),
		.file = "main.ts",
		.compile = LIST("node", "-e", strip_types, "--", "%s"),
		.run = LIST("node", "--enable-source-maps", "%d/main.js"),
		.probe = LIST("node", "-p", "'TypeScript ' + require('typescript').version"),
		/* Debian's directory of modules, and those of `npm install -g`. */
		.env = LIST(
			"NODE_PATH=/usr/share/nodejs:/usr/local/lib/node_modules:/usr/lib/node_modules"),
		.package = "node-typescript",
		.image = "docker.io/library/node:lts-slim",
	},
	{
		.name = "bash",
		.aliases = LIST("sh", "shell"),
		.file = "main.sh",
		.run = LIST("bash", "%f"),
		.probe = LIST("bash", "--version"),
		.package = "bash",
		.image = "docker.io/library/bash:latest",
	},
	{
		.name = "go",
		.aliases = LIST("golang"),
		.file = "main.go",
		.compile = LIST("go", "build", "-o", "%p", "."),
		.run = LIST("%p"),
		.probe = LIST("go", "version"),
		/* auto: go.mod is used, but not required. local: no toolchain is downloaded. */
		.env = LIST("GO111MODULE=auto", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local"),
		.package = "golang-go",
		.image = "docker.io/library/golang:latest",
	},
	{
		.name = "rust",
		.aliases = LIST("rs"),
		.file = "main.rs",
		.compile =
			LIST("rustc", "--edition", "2021", "-C", "debuginfo=1", "-o", "%p", "%f"),
		.run = LIST("%p"),
		.probe = LIST("rustc", "--version"),
		.env = LIST("RUST_BACKTRACE=1"),
		.package = "rustc",
		.image = "docker.io/library/rust:slim",
	},
	{
		.name = "c",
		.aliases = LIST("gcc"),
		.file = "main.c",
		.compile = LIST("gcc", "-std=gnu17", "-g", "-O1", "-Wall", "-pthread", "-o", "%p",
                                "%s", "-lm"),
		.run = LIST("%p"),
		.probe = LIST("gcc", "--version"),
		.package = "gcc libc6-dev",
		.image = "docker.io/library/gcc:latest",
	},
	{
		.name = "c++",
		.aliases = LIST("cpp", "cxx", "g++"),
		.file = "main.cpp",
		.compile = LIST("g++", "-std=gnu++20", "-g", "-O1", "-Wall", "-pthread", "-o", "%p",
                                "%s", "-lm"),
		.run = LIST("%p"),
		.probe = LIST("g++", "--version"),
		.package = "g++",
		.image = "docker.io/library/gcc:latest",
	},
	{
		.name = "java",
		.aliases = LIST("jdk"),
		.file = "Main.java",
		.compile = LIST("javac", JAVAC_SHORT, "-d", ".", "%s"),
		.run = LIST("java", JAVA_SHORT, "-cp", "%d", "%m"),
		.probe = LIST("javac", "--version"),
		.package = "default-jdk-headless",
		.image = "docker.io/library/eclipse-temurin:17",
	},
	{
		.name = "ruby",
		.aliases = LIST("rb"),
		.file = "main.rb",
		.run = LIST("ruby", "%f"),
		.probe = LIST("ruby", "--version"),
		.package = "ruby",
		.image = "docker.io/library/ruby:slim",
	},
	{
		.name = "perl",
		.aliases = LIST("pl"),
		.file = "main.pl",
		.run = LIST("perl", "%f"),
		.probe = LIST("perl", "--version"),
		.package = "perl",
		.image = "docker.io/library/perl:slim",
	},
	{
		.name = "php",
		.aliases = LIST("php8"),
		.file = "main.php",
		/* Report errors once, on stderr; Debian's php.ini would print them on stdout. */
		.run = LIST("php", "-d", "display_errors=stderr", "-d", "log_errors=0", "-d",
                            "html_errors=0", "%f"),
		.probe = LIST("php", "--version"),
		.package = "php-cli",
		.image = "docker.io/library/php:cli",
	},
	{
		.name = "lua",
		.aliases = LIST("lua5.4"),
		.file = "main.lua",
		.run = LIST("lua5.4", "%f"),
		.probe = LIST("lua5.4", "-v"),
		.package = "lua5.4",
		.image = "docker.io/nickblah/lua:5.4",
	},
	{.name = NULL},
};

static bool languages_is_named(const struct language *language, const char *name)
{
	if (strcasecmp(language->name, name) == 0)
		return true;
	for (const char *const *alias = language->aliases; *alias; alias++) {
		if (strcasecmp(*alias, name) == 0)
			return true;
	}
	return false;
}

const struct language *language_find(const char *name)
{
	for (const struct language *language = languages; language->name; language++) {
		if (languages_is_named(language, name))
			return language;
	}
	return NULL;
}
