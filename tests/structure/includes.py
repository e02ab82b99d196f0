"""Who may include what. Dependencies point one way: cli → libclient → protocol, base ← helper ← programs."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)

# Folder: what its files may include besides their own folder. The longest folder that fits a file counts.
MAY_INCLUDE = {
    "base": ["protocol/yett_error.h"],
    "protocol": ["base/"],
    "libclient": ["base/", "protocol/", "yett_error.h"],
    "cli": ["base/", "libclient/yett.h"],
    # What runs as root, from below to above.
    "helper/policy": ["base/", "helper/plan/plan.h"],
    "helper/plan": ["base/", "protocol/", "helper/policy/policy.h", "helper/privilege/"],
    "helper/privilege": ["base/"],
    "helper/setup": ["base/", "protocol/", "helper/plan/order.h", "helper/plan/plan.h", "helper/policy/policy.h", "helper/privilege/privilege.h"],
    "helper/supervisor": ["base/", "protocol/", "helper/setup/setup.h", "helper/privilege/"],
    "helper/monitor": ["base/", "protocol/", "helper/plan/", "helper/policy/policy.h", "helper/supervisor/supervisor.h", "helper/privilege/"],
    "helper/listener": ["base/", "protocol/", "helper/monitor/monitor.h", "helper/supervisor/supervisor.h", "helper/privilege/"],
    "helper/start": ["base/", "protocol/", "helper/"],
    # What does not.
    "programs/closer": ["base/", "protocol/", "helper/privilege/lockdown.h"],
    "programs/decoder": ["base/", "protocol/", "helper/monitor/decoder.h", "helper/plan/plan.h", "helper/privilege/lockdown.h"],
    "programs/explain": ["base/", "protocol/", "helper/monitor/keys.h", "helper/plan/authorize.h", "helper/plan/planning.h", "helper/setup/making.h",
                         "programs/reader/own_keys.h"],
    "programs/files": ["base/", "protocol/"],
    "programs/init": ["base/", "protocol/", "helper/plan/order.h", "helper/plan/plan.h"],
    "programs/policy": ["base/", "helper/policy/image.h", "helper/policy/policy.h", "helper/privilege/lockdown.h"],
    "programs/reader": ["base/", "protocol/", "helper/monitor/key_line.h", "helper/monitor/reader.h", "helper/plan/peer.h", "helper/privilege/lockdown.h"],
    "programs/rootless": ["base/", "helper/"],
}

# Pure functions: nothing that opens, reads, writes, waits or asks the kernel. stdio.h is for text in memory only; the
# object files are looked at for that.
PURE = ["programs/rootless/means.c", "programs/rootless/means.h", "helper/plan/plan.c", "helper/plan/plan.h", "helper/plan/authorize.c", "helper/plan/authorize.h", "helper/plan/planning.c",
        "helper/plan/planning.h", "helper/policy/path.c"]
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
            for top in ("base", "protocol", "libclient", "cli", "helper", "programs") for path in sources(root, top)
            if "/examples/" not in path
            for kind, header in included(os.path.join(root, path)) if kind == '"' and not is_allowed(path, header)]


def io_in_pure_parts(root):
    return [f"{path} includes {header}" for path in PURE for _, header in included(os.path.join(root, path))
            if IO_HEADER.match(header)]
