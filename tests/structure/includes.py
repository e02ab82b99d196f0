"""Who may include what. Dependencies point one way: cli → libclient → protocol, base ← helper, files."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)

# Folder: what its files may include besides their own folder. The longest folder that fits a file counts.
MAY_INCLUDE = {
    "base": ["protocol/yett_error.h"],
    "protocol": ["base/"],
    "libclient": ["base/", "protocol/", "yett_error.h"],
    "files": ["base/", "protocol/"],
    "cli": ["base/", "libclient/yett.h"],
    "helper/decoder": ["base/", "protocol/", "helper/lockdown.h", "helper/plan.h"],
    "helper/closer": ["base/", "protocol/", "helper/lockdown.h"],
    "helper/reader": ["base/", "protocol/", "helper/lockdown.h", "helper/key_line.h", "helper/peer.h", "helper/privilege.h"],
    "helper/compiler": ["base/", "helper/lockdown.h", "helper/policy/image.h", "helper/policy/policy.h"],
    "helper/explain": ["base/", "protocol/", "helper/log.h", "helper/monitor/authorize.h", "helper/monitor/keys.h", "helper/monitor/planning.h", "helper/reader/own_keys.h",
                       "helper/setup/making.h"],
    "helper/init": ["base/", "protocol/", "helper/plan.h"],
    "helper/policy": ["base/", "helper/plan.h"],
    "helper/setup": ["base/", "protocol/", "helper/plan.h", "helper/policy/policy.h", "helper/init/order.h", "helper/privilege.h"],
    "helper/supervisor": ["base/", "protocol/", "helper/setup/setup.h", "helper/log.h", "helper/place.h",
                          "helper/privilege.h"],
    "helper/monitor": ["base/", "protocol/", "helper/means.h", "helper/plan.h", "helper/policy/policy.h", "helper/decoder/decoder.h", "helper/key_line.h", "helper/peer.h", "helper/reader/reader.h",
                       "helper/supervisor/supervisor.h", "helper/log.h", "helper/place.h", "helper/privilege.h"],
    "helper/listener": ["base/", "protocol/", "helper/monitor/monitor.h", "helper/supervisor/supervisor.h", "helper/log.h",
                        "helper/place.h", "helper/privilege.h"],
    "helper": ["base/", "helper/"],
}

# Pure functions: nothing that opens, reads, writes, waits or asks the kernel. stdio.h is for text in memory only; the
# object files are looked at for that.
PURE = ["helper/means.c", "helper/means.h", "helper/plan.c", "helper/plan.h", "helper/monitor/authorize.c", "helper/monitor/authorize.h", "helper/monitor/planning.c",
        "helper/monitor/planning.h", "helper/policy/path.c"]
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
            for top in ("base", "protocol", "files", "libclient", "cli", "helper") for path in sources(root, top)
            if "/examples/" not in path
            for kind, header in included(os.path.join(root, path)) if kind == '"' and not is_allowed(path, header)]


def io_in_pure_parts(root):
    return [f"{path} includes {header}" for path in PURE for _, header in included(os.path.join(root, path))
            if IO_HEADER.match(header)]
