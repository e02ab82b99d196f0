# SPDX-License-Identifier: Apache-2.0
"""Who may include what. Dependencies point one way: cli → libclient, workspace → protocol, base ← helper ← programs."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)

# All that root's program knows of messages: packets with descriptors, and the structs of what it tells.
OF_MESSAGES = ("protocol/frame.h", "protocol/message_state.h")

# The command: what all groups of subcommands share, and which group may include which. The core groups know of changes no more
# than the stores that a sandbox uses, and nothing of agents, checkpoints and audit.
CLI = ["base/", "libclient/yett.h", "workspace/yett-workspace.h", *(f"cli/{name}.h" for name in ("connect", "exit_code", "options", "output", "parse", "subcommands", "terminal"))]
CLI_CORE = [*CLI, "cli/run/", "cli/sandboxes/", "cli/files/", "cli/network/", "cli/changes/work.h"]

# Folder: what its files may include besides their own folder. The longest folder that fits a file counts.
MAY_INCLUDE = {
    "base": ["protocol/yett_error.h"],
    "protocol": ["base/"],
    "libclient": ["base/", "protocol/", "yett_error.h"],
    "checkpoint": ["base/", "yett_error.h"],
    # Of libyett its public header, and the table of functions that libyett calls.
    "workspace/store": ["base/", "libclient/workspace.h", "workspace/yett-workspace.h"],
    "workspace": ["yett.h"],
    "cli": ["base/", "libclient/yett.h", "workspace/yett-workspace.h"],
    **{f"cli/{group}": CLI_CORE for group in ("run", "sandboxes", "files", "network")},
    "cli/changes": [*CLI, "cli/sandboxes/"],
    "cli/agents": [*CLI, "checkpoint/yett-checkpoint.h", "cli/changes/snapshot.h"],
    # Of yett-audit what reads its records, which takes no privilege.
    "cli/admin": [*CLI, "cli/run/", *(f"programs/audit/{name}.h" for name in ("chain", "field", "slots", "verify"))],
    "agent": ["base/", "libclient/yett.h", "workspace/yett-workspace.h"],
    # What runs as root, from below to above.
    "helper/policy": ["base/", "helper/plan/plan.h"],
    "helper/plan": ["base/", *OF_MESSAGES, "helper/policy/policy.h", "helper/privilege/"],
    "helper/privilege": ["base/", "protocol/frame.h"],
    "helper/setup": ["base/", *OF_MESSAGES, "helper/plan/order.h", "helper/plan/plan.h", "helper/policy/policy.h", "helper/privilege/privilege.h",
                     "programs/net/egress_report.h"],
    "helper/supervisor": ["base/", *OF_MESSAGES, "helper/setup/audit.h", "helper/setup/setup.h", "helper/privilege/", "programs/net/egress_report.h"],
    "helper/monitor": ["base/", *OF_MESSAGES, "helper/plan/", "helper/policy/key_line.h", "helper/policy/policy.h", "helper/setup/audit.h", "helper/setup/registry.h",
                       "helper/supervisor/supervisor.h", "helper/privilege/"],
    "helper/listener": ["base/", *OF_MESSAGES, "helper/monitor/monitor.h", "helper/setup/audit.h", "helper/setup/setup.h", "helper/supervisor/supervisor.h", "helper/privilege/"],
    "helper/start": ["base/", "helper/"],
    # What does not.
    "workspace/apply": ["base/", "programs/filters/filters.h", "helper/privilege/lockdown.h", "workspace/diff/diff.h", "workspace/diff/protect.h", "workspace/diff/ways.h"],
    "programs/audit": ["base/", "programs/filters/filters.h", "protocol/frame.h", "protocol/message_command.h", "helper/plan/plan.h", "helper/policy/policy.h", "helper/privilege/lockdown.h", "helper/setup/audit.h", "programs/decide/decider/plan_name.h", "programs/decide/decider/refuse_plan.h", "programs/decide/decoder/plan_fields.h", "programs/net/egress.h", "programs/net/report_text.h", "programs/inside/init/argv.h"],
    "programs/closer": ["base/", "protocol/", "helper/listener/closer.h", "helper/privilege/lockdown.h"],
    "programs/decide/decider": ["base/", "programs/filters/filters.h", "protocol/", "helper/monitor/decider.h", "helper/policy/key_line.h", "helper/plan/", "helper/policy/policy.h",
                         "helper/policy/image.h", "helper/privilege/program.h", "helper/privilege/lockdown.h", "programs/net/egress.h", "programs/net/report_text.h", "programs/decide/policy/target.h",
                         "programs/decide/reader/reader.h"],
    "programs/decide/decoder": ["base/", "programs/filters/filters.h", "protocol/", "programs/decide/decider/decoder.h", "programs/decide/decider/plan_name.h", "helper/plan/plan.h", "helper/privilege/lockdown.h"],
    "workspace/diff": ["base/", "programs/filters/filters.h", "helper/privilege/lockdown.h"],
    "programs/net": ["base/", "programs/filters/filters.h", "protocol/", "helper/plan/plan.h", "helper/privilege/lockdown.h"],
    "programs/decide/explain": ["base/", "protocol/", "helper/monitor/keys.h", "helper/plan/admit.h", "helper/setup/making.h", "programs/decide/decider/authorize.h", "programs/decide/decider/intersect.h", "programs/decide/decider/key_text.h",
                         "programs/decide/decider/plan_name.h", "programs/decide/decider/planning.h", "programs/decide/decider/refuse.h", "programs/decide/decider/refuse_plan.h", "programs/decide/decider/rules.h", "programs/decide/reader/own_keys.h"],
    "programs/filters": ["base/"],
    "programs/inside/files": ["base/", "programs/filters/filters.h", "protocol/"],
    "programs/inside/init": ["base/", "protocol/", "helper/plan/order.h", "helper/plan/plan.h", "programs/decide/decider/plan_add.h", "programs/decide/decider/plan_name.h", "programs/net/egress.h",
                      "programs/net/ruleset.h"],
    "programs/decide/policy": ["base/", "helper/policy/image.h", "helper/policy/key_line.h", "helper/policy/policy.h", "helper/privilege/lockdown.h"],
    "programs/decide/reader": ["base/", "protocol/", "helper/policy/key_line.h", "helper/plan/peer.h", "helper/privilege/lockdown.h"],
    "programs/rootless": ["base/", "helper/", "protocol/frame.h", "programs/decide/policy/target.h"],
}

# What makes a sandbox, and what it is understood without: sandboxes exist without agents, workspaces, checkpoints and the audit log.
CORE = ("base", "protocol", "helper", "programs/decide", "programs/inside", "programs/net", "libclient")
BEYOND_THE_CORE = ("agent/", "checkpoint/", "cli/", "programs/audit/", "workspace/")

# Pure functions: nothing that opens, reads, writes, waits or asks the kernel. stdio.h is for text in memory only; the
# object files are looked at for that.
PURE = ["helper/plan/admit.c", "helper/plan/admit.h", "helper/plan/plan.c", "helper/plan/plan.h", "helper/policy/path.c", "programs/decide/decider/asked.c", "programs/decide/decider/asked.h", "programs/decide/decider/authorize.c",
        "programs/decide/decider/authorize.h", "programs/decide/decider/decision.h", "programs/decide/decider/fit.c", "programs/decide/decider/fit.h", "programs/decide/decider/intersect.c", "programs/decide/decider/intersect.h", "programs/decide/decider/key_text.c", "programs/decide/decider/key_text.h",
        "programs/decide/decider/plan_add.c", "programs/decide/decider/plan_add.h", "programs/decide/decider/plan_name.c", "programs/decide/decider/plan_name.h", "programs/decide/decider/planning.c", "programs/decide/decider/planning.h", "programs/decide/decider/refuse.c", "programs/decide/decider/refuse.h", "programs/decide/decider/refuse_plan.c", "programs/decide/decider/refuse_plan.h", "programs/decide/decider/rules.c", "programs/decide/decider/rules.h", "programs/decide/policy/target.c", "programs/decide/policy/target.h"]
IO_HEADER = re.compile(r"^(unistd|fcntl|poll|sched|signal|dirent|spawn|pwd|grp|netdb|syslog|pthread|ftw|glob)\.h$"
                       r"|^sys/(?!types\.h)|^linux/(?!capability\.h)|^net|^arpa/")


def included(path):
    """The headers that a file names, as ('"', 'base/fd.h') or ('<', 'stdio.h')."""
    with open(path, encoding="utf-8") as file:
        return INCLUDE.findall(file.read())


def sources(root, folder):
    for directory, _, names in sorted(os.walk(os.path.join(root, folder))):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(directory, name), root)


def owner(path):
    return max((folder for folder in MAY_INCLUDE if path.startswith(folder + "/")), key=len)


def is_allowed(path, header):
    folder = owner(path)
    for allowed in [folder + "/"] + MAY_INCLUDE[folder]:
        if header.startswith(allowed) if allowed.endswith("/") else header == allowed:
            return True
    return False


def wrong_directions(root):
    """Each include that points the wrong way, as 'FILE includes HEADER'."""
    return [f"{path} includes {header}"
            for top in ("base", "protocol", "libclient", "checkpoint", "cli", "agent", "helper", "programs", "workspace") for path in sources(root, top)
            if "/examples/" not in path
            for kind, header in included(os.path.join(root, path)) if kind == '"' and not is_allowed(path, header)]


def beyond_the_core(root):
    """Each include by which a file of the core knows of what lies beyond it. Also with <>, and without a folder."""
    headers = {os.path.basename(path) for top in BEYOND_THE_CORE for path in sources(root, top.rstrip("/")) if os.path.basename(path).startswith("yett-")}
    return [f"{path} includes {header}" for folder in CORE for path in sources(root, folder) for _, header in included(os.path.join(root, path))
            if header.startswith(BEYOND_THE_CORE) or header in headers]


def io_in_pure_parts(root):
    return [f"{path} includes {header}" for path in PURE for _, header in included(os.path.join(root, path))
            if IO_HEADER.match(header)]
