# SPDX-License-Identifier: Apache-2.0
"""Fills in what a page of the manual takes from the sources: manual.py PAGE.scd OPTIONS.json OPERATIONS.json ROOT VERSION >FILLED.scd

A line of the page that begins with "@" stands for text that is declared elsewhere, once:
  @title NAME SECTION TITLE   the first line
  @subcommand NAME            synopsis, summary and options, as `yett help --json` has them
  @others                     the same of every subcommand that the page does not name
  @names GROUP                the functions of a group of yett.h, yett-checkpoint.h or yett-workspace.h, for the section NAME
  @types GROUP                its types and constants
  @functions GROUP            each function with its contract
  @capabilities ROLE          the capabilities of a role of the helper, and what takes them
  @codes                      the codes of errors
  @operations                 the operations of yett-agent, as `yett-agent tool --list` has them
  @settings                   its settings, from the same
  @may                        what requests may ask for, of these settings
  @languages                  the languages that it runs code in, from the same
  @findings                   what it warns of in code, from the same
  @file PATH                  a file of the sources
A group of a header begins with a comment line "--- NAME ---"; what stands before the first one is the group "library".
"""
import json
import os
import re
import sys
import textwrap

WIDTH = 68  # of a literal line; more is broken by a terminal of 80 columns


def plain(text):
    """Text in which nothing is markup to scdoc(5)."""
    return re.sub(r"([\\*_`])", r"\\\1", text)


def literal(text):
    return "```\n" + text.rstrip().replace("\\", "\\\\") + "\n```\n"


def option_text(option):
    names = (["-" + option["letter"]] if option["letter"] else []) + ["--" + option["name"]]
    value = f" {plain(option['value'])}" if option["value"] else ""
    return ", ".join(f"*{name}*" for name in names) + f"{value}\n\t{plain(option['help'][0].upper() + option['help'][1:])}.\n"


def subcommand_text(subcommand):
    operands = plain(subcommand["operands"])
    text = f"## {subcommand['name']}\n\n*yett {subcommand['name']}* [OPTION…]{' ' if operands else ''}{operands}\n\n{plain(subcommand['summary'])}.\n\n"
    # --help is said once, for all of them
    return text + "\n".join(option_text(option) for option in subcommand["options"] if option["name"] != "help")


def groups(header):
    """{group: [block]} of a header: what stands between empty lines."""
    found, group = {}, "library"
    body = header[header.index("#define YETT_API"):header.rindex("#ifdef __cplusplus")]
    for block in re.split(r"\n\n+", body):
        begins = re.match(r"/\* --- (.+?) -+ \*/", block)
        if begins:
            group = begins.group(1)
        elif block.strip():
            found.setdefault(group, []).append(block.strip("\n"))
    return found


def comment_and_code(block):
    match = re.match(r"/\*(.*?)\*/(?:\n(.*))?$", block, re.S)
    if not match or "*/" in match.group(1):
        return "", block
    return joined(match.group(1)), match.group(2) or ""


def joined(comment):
    """The text of a comment, whose lines begin with " * "."""
    return " ".join(line.strip(" *\t") for line in comment.splitlines()).strip()


def declarations(block):
    return [re.sub(r"\s+", " ", found).replace("* yett_", "*yett_") for found in re.findall(r"^YETT_API (?:YETT_MUST_CHECK )?([^;]+;)", block, re.M)]


def wrapped(declaration):
    """Broken behind commas, below the first parameter or, where one is too long for that, further left."""
    start = declaration.index("(") + 1
    parameters = declaration[start:].split(", ")
    indent = start if start + max(map(len, parameters)) < WIDTH else 8
    lines = [declaration[:start] + parameters[0]]
    for parameter in parameters[1:]:
        if len(lines[-1]) + 2 + len(parameter) < WIDTH:
            lines[-1] += ", " + parameter
        else:
            lines[-1] += ","
            lines.append(" " * indent + parameter)
    return "\n".join(lines)


def functions_text(blocks):
    text = []
    for block in blocks:
        comment, code = comment_and_code(block)
        if declarations(code):
            text.append(literal("\n".join(wrapped(found) for found in declarations(code))))
            text.append(plain(comment) + "\n" if comment else "")
    return "\n".join(part for part in text if part)


def broken_anew(code):
    """The code with each comment that has its own lines broken for a literal block."""
    def one(match):
        tabs, text = match.group(1), joined(match.group(2))
        lines = textwrap.wrap(text, WIDTH - 4 * len(tabs) - 6)
        return "".join(f"{tabs}{'/* ' if i == 0 else '   '}{line}{' */' if i == len(lines) - 1 else ''}\n" for i, line in enumerate(lines))
    return re.sub(r"^(\t*)/\*((?:(?!\*/).)*)\*/\n", one, code, flags=re.M | re.S)


def above(line):
    """A line of a struct, with the comment at its end above it where both do not fit."""
    tabs = re.match(r"\t*", line).group().count("\t")
    match = re.match(r"(\t*)(.*?;|.*?,|.*?\S)\s*/\* (.*) \*/$", line)
    if not match:
        return "    " * tabs + line[tabs:].rstrip()
    indent, code, comment = "    " * tabs, match.group(2), match.group(3)
    short = f"{indent}{code}  /* {comment} */"
    if len(short) <= WIDTH:
        return short
    lines = textwrap.wrap(comment, WIDTH - len(indent) - 6)
    return f"{indent}/* " + f"\n{indent}   ".join(lines) + f" */\n{indent}{code}"


def types_text(blocks):
    text = []
    for block in blocks:
        comment, code = comment_and_code(block)
        if declarations(code):
            continue
        lines = [re.sub(r"(#define \w+)\s+", r"\1 ", line) for line in broken_anew(code).splitlines() if not re.search(r"__attribute__", line)]
        if any(lines):
            text.append(literal("\n".join(above(line) for line in lines)))
        text.append(plain(comment) + "\n" if comment else "")  # a comment alone is about its group
    return "\n".join(part for part in text if part)


def codes_text(header):
    rows = re.findall(r'X\((\w+), \d+, (true|false), "(.*?)"\)', header[:header.index("enum yett_code")])
    return "\n".join(f"*YETT\\_E\\_{plain(name)}*\n\t{plain(text[0].upper() + text[1:])}.{' It may work later.' if again == 'true' else ''}\n"
                     for name, again, text in rows)


def kind_text(schema):
    """What JSON Schema says of a value, in words."""
    kinds = schema.get("type", "any JSON")
    kinds = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    if kinds == ["number", "string"]:
        return "a duration"
    if "enum" in schema:
        return "one of " + ", ".join(choice for choice in schema["enum"] if choice)
    if kinds == ["array"]:
        return "a list of " + {"string": "texts", "object": "objects"}[schema["items"]["type"]]
    return {"string": "a text", "integer": "a number", "number": "a number", "boolean": "true or false", "object": "an object",
            "any JSON": "any JSON"}[kinds[0]]


def sentence(text):
    return text[0].upper() + text[1:] + "." if text else ""


def fields_text(schema):
    """The members of an object, a paragraph each."""
    text = []
    for name, field in schema["properties"].items():
        without = f"; {json.dumps(field['default'])} without it" if "default" in field else "; required" if name in schema.get("required", ()) else ""
        text.append(f"*{plain(name)}*: {plain(kind_text(field) + without)}\n\t{plain(sentence(field.get('description', '')) or '—')}\n")
    return "\n".join(text)


def operation_text(operation):
    answer = dict(operation["answer"])
    answer["properties"] = {name: field for name, field in answer["properties"].items() if name != "error"}
    return (f"## {plain(operation['name'])}\n\n{plain(operation['description'])}\n\nIt is asked with\n\n{fields_text(operation['request'])}\n"
            f"and answered with\n\n{fields_text(answer)}")


def language_text(language):
    traits = [f"package {language['package']}" if " " not in language["package"] else f"packages {language['package']}",
              "compiled" if language["compiled"] else "", "keeps state" if language["kept"] else ""]
    names = ", ".join([language["name"]] + language["aliases"])
    return f"*{plain(names)}*\n\t{plain('; '.join(trait for trait in traits if trait))}\n"


def findings_text(findings):
    """Of each language a paragraph for each rule, with what it is about and an example."""
    text, seen = [], set()
    for language in dict.fromkeys(finding["language"] for finding in findings):
        text.append(f"*{plain(language or 'any language')}*")
        for finding in findings:
            key = (language, finding["rule"], finding["severity"])
            if finding["language"] == language and key not in seen:
                seen.add(key)
                example = plain(finding["example"].replace("\n", " ").replace("\t", " "))
                text.append(f"\t_{plain(finding['rule'])}_ ({finding['severity']}): {plain(finding['text'])}, as {example}")
                text.append("")
    return "\n".join(text)


class Page:
    def __init__(self, source, options, operations, root, version):
        self.root, self.version, self.source = root, version, source
        with open(operations, encoding="utf-8") as file:
            self.agent = json.load(file)
        with open(options, encoding="utf-8") as file:
            self.subcommands = json.load(file)["result"]["subcommands"]
        self.groups = groups(self.read("libclient/yett.h"))
        for header in ("checkpoint/yett-checkpoint.h", "workspace/yett-workspace.h"):
            of_header = groups(self.read(header))
            self.groups.update({group: of_header[group] for group in of_header if group != "library"})

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def title(self, name, section, *words):
        return f'{name}({section}) "Yett {self.version}" "{" ".join(words)}"\n'

    def subcommand(self, name):
        return subcommand_text(next(s for s in self.subcommands if s["name"] == name))

    def others(self):
        named = set(re.findall(r"^@subcommand (\S+)", self.source, re.M))
        return "\n".join(subcommand_text(s) for s in self.subcommands if s["name"] not in named)

    def names(self, group):
        return ", ".join(plain(re.search(r"(\w+)\(", found).group(1)) for block in self.groups[group] for found in declarations(block))

    def types(self, group):
        return types_text(self.groups[group])

    def functions(self, group):
        return functions_text(self.groups[group])

    def codes(self):
        return codes_text(self.read("protocol/yett_error.h"))

    def operations(self):
        return "\n".join(operation_text(operation) for operation in self.agent["operations"])

    def settings(self):
        return re.sub("^", "\t", fields_text(self.agent["settings"]), flags=re.M)

    def may(self):
        return re.sub("^", "\t", fields_text(self.agent["may"]), flags=re.M)

    def languages(self):
        return "\n".join(language_text(language) for language in self.agent["languages"])

    def findings(self):
        return findings_text(self.agent["findings"])

    def capabilities(self, role):
        table = re.search(r"static const int %s\[\] = \{\n(.*?)\};" % role, self.read("helper/privilege/privilege.c"), re.S).group(1)
        return "\n".join(f"*{plain(name)}*\n\t{plain(why)}\n" for name, why in re.findall(r"(CAP_\w+), +/\* (.*?) \*/", table))

    def file(self, path):
        return literal(re.sub(r"^/\* SPDX-License-Identifier: .* \*/\n", "", self.read(path)).expandtabs(4))

    def filled(self):
        known = {"title", "subcommand", "others", "names", "types", "functions", "codes", "operations", "settings", "may", "languages", "findings", "capabilities", "file"}

        def fill(match):
            word, *arguments = match.group(1).split()
            if word not in known:
                raise SystemExit(f"manual.py knows no @{word}")
            return getattr(self, word)(*arguments).rstrip("\n")
        text = re.sub(r"^@(.*)$", fill, self.source, flags=re.M)
        return re.sub(r"\n{3,}", "\n\n", re.sub(r", @names (\w+)", lambda m: f", {self.names(m.group(1))}", text))


def main():
    page, options, operations, root, version = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        source = file.read()
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(Page(source, options, operations, root, version).filled())


if __name__ == "__main__":
    main()
