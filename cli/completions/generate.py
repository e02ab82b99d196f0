# SPDX-License-Identifier: Apache-2.0
"""Writes the completions of a shell: generate.py SHELL OPTIONS.json TEMPLATE POLICY VERSION >SCRIPT

OPTIONS.json is what `yett help --json` prints, so that the tables of the sources are the only place where an option is declared. The
template is a script that completes by the functions which stand for @TABLES@.
"""
import json
import re
import sys

# What is completed for a value or an operand, by what help calls it. "" is for what nothing can be proposed for.
KINDS = {
    "[ADDR:]HOSTPORT:PORT": "",
    "ACTION": "word end|pause",
    "COMMAND": "command",
    "COMMAND-ID": "command-id",
    "DATE": "",
    "DIR": "directory",
    "DUR": "",
    "EVENT": "word create|failed|act|ended|refused|merged|policy|segment|torn|lost|pruned",
    "FILE": "file",
    "FILE.pub": "file",
    "FILE|ID": "file",
    "FILE|RUN-ARGUMENT": "file",
    "FROM": "place",
    "GLOB": "",
    "GRANT": "",
    "HOST[:PORT]": "",
    "ID": "",
    "ID|TIME": "",
    "INSIDE:PATH": "",
    "JSON": "",
    "KEY": "key",
    "KEY=VALUE": "",
    "MODE": "word none|limited|ask|open|host",
    "N": "",
    "NAME": "",
    "NAME=VALUE": "",
    "NODE": "",
    "OPERATION": "word run_code|run_command|wait_command|read_file|write_file|list_files|sandboxes|events",
    "PATH": "file",
    "PATH:INSIDE": "file",
    "PATH[:TARGET]": "file",
    "PATH[:TARGET][:memory=SIZE]": "file",
    "PRINCIPAL": "principal",
    "PROFILE": "profile",
    "REFSPEC": "",
    "SANDBOX": "sandbox",
    "SANDBOX|STORE": "store",
    "SANDBOX|STORE[:TARGET]": "store",
    "SANDBOX:/PATH": "inside",
    "SIGNAL": "word HUP|INT|QUIT|KILL|USR1|USR2|ALRM|TERM|CONT|STOP|TSTP|WINCH",
    "SIZE": "",
    "SNAPSHOT": "",
    "STEP": "",
    "SUBCOMMAND": "subcommand",
    "TAG": "",
    "TARGET": "",
    "TARGET[:SIZE]": "",
    "TEXT": "",
    "THREAD|ID": "",
    "TIME": "",
    "TO": "place",
    "UID": "",
    "USER": "user",
    "WHAT": "file",
    "WHAT=VALUE": "filter",
    "WHEN": "word auto|always|never",
}


def operands(text):
    """[(what help calls it, whether there may be more of it)], until a command, which has the rest for itself."""
    found = []
    for word in text.split():
        if word == "[--]":
            continue
        name = word.strip("[]").rstrip("…")
        found.append((name, "…" in word))
        if KINDS.get(name) == "command":
            break
    return found


def kind(name):
    """A word in lower case is typed as it is. What is not known is not completed, and a test finds it."""
    return "word " + name if re.fullmatch("[a-z|-]+", name) else KINDS.get(name, "")


def flags(option):
    return (["-" + option["letter"]] if option["letter"] else []) + ["--" + option["name"]]


def cases(rows):
    return "".join(f"\t{' | '.join(patterns)}) echo '{text}' ;;\n" for patterns, text in rows)


def shell_function(name, argument, rows):
    return f"{name}()\n{{\n\tcase {argument} in\n{cases(rows)}\tesac\n}}\n"


def bash(table):
    subcommands = [(["*"], " ".join(s["name"] for s in table))]
    options = [([s["name"]], " ".join(flag for o in s["options"] for flag in flags(o))) for s in table]
    values = [([f"'{s['name']} {flag}'" for flag in flags(o)], kind(o["value"]) or "none") for s in table for o in s["options"] if o["value"]]
    taken = [([f"'{s['name']} {n}'" + (f" | '{s['name']} '*" if more else "")], kind(name) or "none")
             for s in table for n, (name, more) in enumerate(operands(s["operands"]), 1)]
    return "\n".join([shell_function("_yett_subcommands", "x", subcommands), shell_function("_yett_options", "$1", options),
                      shell_function("_yett_value", '"$1 $2"', values), shell_function("_yett_operand", '"$1 $2"', taken)])


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


# Nothing is an empty list: behind the blank that _arguments has for it, no options would be proposed either.
ZSH_ACTIONS = {"directory": "_files -/", "file": "_files", "profile": "_yett_profiles", "subcommand": "_yett_subcommands", "": "()",
               "sandbox": "_yett_sandboxes", "store": "_yett_stores", "command-id": "_yett_command_ids", "inside": "_yett_insides", "place": "_yett_places",
               "principal": "_yett_principals", "key": "_yett_keys", "user": "_users", "filter": "_yett_filters"}


def zsh_text(text):
    return re.sub(r"([][:\\])", r"\\\1", text)


def zsh_action(name):
    found = kind(name)
    return f"({found[5:].replace('|', ' ')})" if found.startswith("word ") else ZSH_ACTIONS[found]


def zsh_operand(n, name, more):
    if KINDS.get(name) == "command":
        return "'*::: :_yett_command'"
    return quoted(f"{'*' if more else n}:{zsh_text(name)}:{zsh_action(name)}")


def zsh_option(option):
    value = f":{zsh_text(option['value'])}:{zsh_action(option['value'])}" if option["value"] else ""
    return ["{}{}{}".format(quoted("*") if value else "", flag + ("=" if value and flag[1] == "-" else "+" if value else ""),
                            quoted(f"[{zsh_text(option['help'])}]{value}")) for flag in flags(option)]


def zsh(table):
    described = "\n".join("\t\t" + quoted(f"{s['name']}:{zsh_text(s['summary'])}") for s in table)
    text = f"_yett_subcommands()\n{{\n\tlocal -a list=(\n{described}\n\t)\n\t_describe subcommand list\n}}\n\n"
    text += "_yett_arguments()\n{\n\tcase $1 in\n"
    for s in table:
        # The last operand may be a command, which takes all that follows.
        taken = operands(s["operands"])
        words = [word for option in s["options"] for word in zsh_option(option)]
        words += [zsh_operand(n, name, more) for n, (name, more) in enumerate(taken, 1)]
        text += f"\t{s['name']})\n\t\t_arguments -s -S -A '-*'" + "".join(" \\\n\t\t\t" + word for word in words) + "\n\t\t;;\n"
    return text + "\tesac\n}\n"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FISH_ACTIONS = {"directory": "-xa '(__fish_complete_directories)'", "file": "-rF",
                "profile": "-xa '(__yett_profiles)'", "subcommand": "-xa '(__yett_subcommands)'", "": "-x",
                "sandbox": "-xa '(__yett_sandboxes)'", "store": "-xa '(__yett_stores)'", "command-id": "-xa '(__yett_command_ids)'", "inside": "-xa '(__yett_insides)'",
                "place": "-rFa '(__yett_insides)'", "principal": "-xa '(__yett_principals)'",
                "key": "-rFa '(__yett_principals)'", "user": "-xa '(__fish_complete_users)'", "filter": "-xa 'state= name= profile= label='"}


def fish_action(name):
    found = kind(name)
    return f"-xa {fish_quoted(found[5:].replace('|', ' '))}" if found.startswith("word ") else FISH_ACTIONS[found]


def fish(table):
    lines = ["function __yett_subcommands"]
    lines += [f"\tprintf '%s\\t%s\\n' {s['name']} {fish_quoted(s['summary'])}" for s in table]
    lines += ["end", "", "# Whether this option of this subcommand takes a value.", "function __yett_takes", "\tswitch \"$argv\""]
    lines += ["\t\tcase " + " ".join(f"'{s['name']} {flag}'" for o in s["options"] if o["value"] for flag in flags(o)) + "\n\t\t\treturn 0"
              for s in table if any(o["value"] for o in s["options"])]
    lines += ["\tend", "\treturn 1", "end", ""]
    for s in table:
        for o in s["options"]:
            letter = f"-s {o['letter']} " if o["letter"] else ""
            action = " " + fish_action(o["value"]) if o["value"] else ""
            lines.append(f"complete -c yett -n '__yett_in {s['name']}' {letter}-l {o['name']}{action} -d {fish_quoted(o['help'])}")
        for n, (name, more) in enumerate(operands(s["operands"]), 1):
            if KINDS.get(name) == "command":
                lines.append(f"complete -c yett -n '__yett_in {s['name']} {n} more' -xa '(__yett_command {n})'")
            elif fish_action(name) != "-x":
                action = fish_action(name).replace("-rF", "-F")
                lines.append(f"complete -c yett -n '__yett_in {s['name']} {n}{' more' if more else ''}' {action}")
    return "\n".join(lines) + "\n"


def main():
    shell, options, template, policy, version = sys.argv[1:]
    with open(options, encoding="utf-8") as file:
        table = json.load(file)["result"]["subcommands"]
    with open(template, encoding="utf-8") as file:
        text = file.read()
    tables = {"bash": bash, "zsh": zsh, "fish": fish}[shell](table)
    text = text.replace("@POLICY@", policy).replace("@VERSION@", version).replace("@TABLES@\n", tables)
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
