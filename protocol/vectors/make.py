#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the vectors of this folder. What each of them is expected to do is stated here by hand.

Run it in this folder; it overwrites the *.txt files and nothing else. PROTOCOL.md, "Vectors", explains their form.
"""

import struct
import textwrap

# --- canonical msgpack, by hand, so that nothing but the specification decides what the bytes are


def uint(n):
    if n < 0x80:
        return bytes([n])
    for first, form, bits in ((0xCC, ">B", 8), (0xCD, ">H", 16), (0xCE, ">I", 32), (0xCF, ">Q", 64)):
        if n < 1 << bits:
            return bytes([first]) + struct.pack(form, n)
    raise ValueError(n)


def head(n, fix, fix_max, forms):
    if n <= fix_max:
        return bytes([fix | n])
    for first, form, bits in forms:
        if n < 1 << bits:
            return bytes([first]) + struct.pack(form, n)
    raise ValueError(n)


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return head(len(raw), 0xA0, 31, ((0xD9, ">B", 8), (0xDA, ">H", 16), (0xDB, ">I", 32))) + raw


def binary(raw):
    return head(len(raw), 0, -1, ((0xC4, ">B", 8), (0xC5, ">H", 16))) + raw


def array(items):
    return head(len(items), 0x90, 15, ((0xDC, ">H", 16), (0xDD, ">I", 32))) + b"".join(items)


def mapping(pairs):
    return head(len(pairs), 0x80, 15, ((0xDE, ">H", 16), (0xDF, ">I", 32))) + b"".join(
        (key if isinstance(key, bytes) else text(key)) + value for key, value in pairs)


NIL, FALSE, TRUE = b"\xc0", b"\xc2", b"\xc3"
ZERO, ONE = uint(0), uint(1)

# --- whole messages; a keyword replaces a field's bytes, None leaves the field out


def body(fields, changes):
    pairs = [(name, changes.pop(name, value)) for name, value in fields]
    assert not changes, changes
    return mapping([(name, value) for name, value in pairs if value is not None])


def hello(**c):
    return body([("version_min", ONE), ("version_max", ONE), ("challenge", binary(bytes(range(32))))], c)


def limits(**c):
    return body([("memory_bytes", ZERO), ("cpu_millis", ZERO), ("pids", ZERO), ("files", ZERO), ("file_bytes", ZERO), ("core_bytes", ZERO)], c)


def share(**c):
    return body([("fd", ZERO), ("mode", ZERO), ("target", text("/src"))], c)


def tmpfs(**c):
    return body([("target", text("/scratch")), ("size_bytes", ZERO)], c)


def life(**c):
    return body([("linger", FALSE), ("wall_ms", ZERO), ("cpu_ms", ZERO), ("idle_ms", ZERO), ("idle_action", ZERO),
                 ("cleanup_ms", ZERO)], c)


def rule(**c):
    return body([("deny", FALSE), ("kind", ONE), ("bound", FALSE), ("prefix", ZERO), ("port_first", uint(443)), ("port_last", uint(443)),
                 ("address", binary(bytes(16))), ("name", text("pypi.org"))], c)


def create(**c):
    return body([("profile", text("default")), ("hostname", text("")), ("limits", limits()), ("shares", array([])),
                 ("tmpfs", array([])), ("plan_only", FALSE), ("name", text("")), ("labels", array([])), ("life", life()),
                 ("network", ZERO), ("rules", array([])), ("ask", FALSE), ("allow_private", FALSE),
                 ("masks", array([])), ("read_only", array([])), ("agent", FALSE)], c)


def created(**c):
    return body([("id", text("0123456789abcdef")), ("profile", text("default")), ("private_uid", uint(1879114752)),
                 ("label", text("yett-sandbox (enforce)")), ("landlock_abi", uint(6)), ("limits", limits()),
                 ("weaker", text("")), ("network", ZERO), ("hostname", text("sandbox")),
                 ("command_ms", ZERO), ("command_max_ms", uint(600000))], c)


def error(**c):
    return body([("code", uint(12)), ("reason", ZERO), ("retryable", FALSE), ("message", text("not permitted")),
                 ("detail", text("yett.conf:12")), ("rule", text("max_pids of grant 'everyone'")),
                 ("file", text("/etc/yett/yett.conf")), ("line", uint(12)), ("asked", text("64")), ("allowed", text("32")),
                 ("mend", text("max_pids = 64")), ("error_number", ZERO), ("step", text(""))], c)


def ended(**c):
    return body([("reason", ZERO)], c)


def manage(**c):
    return body([("action", ONE), ("sandbox", text("0123456789abcdef")), ("all", FALSE), ("changes", ZERO),
                 ("rules", array([])), ("ask", FALSE), ("allow_private", FALSE), ("agent", FALSE)], c)


def relay(**c):
    return body([("profile", text("default")), ("socket", text("/run/user/1000/agent")), ("address", binary(bytes(16))), ("port", ZERO),
                 ("agent", FALSE)], c)


def mount(**c):
    return body([("sandbox", text("0123456789abcdef")), ("unmount", array([])), ("refresh", array([])), ("shares", array([])), ("tmpfs", array([])),
                 ("masks", array([])), ("read_only", array([])), ("agent", FALSE)], c)


def allowed(**c):
    return body([], c)


def connect(**c):
    return body([("port", uint(8080)), ("family", ZERO)], c)


def connected(**c):
    return body([], c)


def done(**c):
    return body([("id", text("0123456789abcdef"))], c)


def state(**c):
    return body([("state", uint(2))], c)


def listing(**c):
    return body([("count", ONE), ("changes", ZERO), ("by_port", FALSE), ("allow_private", FALSE)], c)


def reach(**c):
    return body([("list", ZERO), ("rule", text("pypi.org:443")), ("asked", FALSE), ("file", text("/etc/yett/yett.conf")), ("line", uint(12))], c)


def sandbox(**c):
    return body([("id", text("0123456789abcdef")), ("name", text("")), ("profile", text("default")), ("state", uint(2)),
                 ("ended", ZERO), ("uid", uint(1000)), ("principal", text("")), ("private_uid", uint(1879114752)),
                 ("label", text("")), ("landlock_abi", uint(6)), ("limits", limits()), ("network", ZERO), ("life", life()),
                 ("linger_ms", ZERO), ("created_ms", uint(1763712000000)), ("started_ms", uint(1763712000003)), ("ended_ms", ZERO),
                 ("attached", ONE), ("labels", array([])), ("hostname", text("sandbox")),
                 ("command_ms", ZERO), ("command_max_ms", uint(600000)), ("recorded", ZERO)], c)


USAGE_COUNTS = ("cpu_us", "user_us", "system_us", "memory_bytes", "memory_peak_bytes", "read_bytes", "written_bytes", "reads",
                "writes", "processes", "threads", "open_files", "oom_kills", "forks_refused", "connections", "connected", "blocked", "sent_bytes",
                "received_bytes")


def usage(**c):
    return body([("id", text("0123456789abcdef")), ("name", text("")), ("state", uint(2)), ("taken_us", uint(81000000)),
                 ("uptime_ms", uint(41000)), ("memory_limit_bytes", uint(64 << 20)), ("pids_limit", ZERO), ("known", ONE),
                 ("cpu_us", uint(1500))] + [(name, ZERO) for name in USAGE_COUNTS[1:]], c)


def connection(**c):
    return body([("name", text("")), ("address", text("")), ("port", ZERO), ("verdict", ZERO), ("sent_bytes", ZERO),
                 ("received_bytes", ZERO), ("open", ZERO), ("rule", text("")), ("place", text(""))], c)


def followed(**c):
    return body([("number", uint(9)), ("time_ms", uint(1763712000000)), ("kind", ZERO), ("state", uint(2)), ("command", ZERO),
                 ("pid", ZERO), 
                 ("result", exited(status=ZERO, wall_us=ZERO, user_us=ZERO, system_us=ZERO, memory_peak_bytes=ZERO, read_bytes=ZERO,
                                   written_bytes=ZERO, started_ms=ZERO, ended_ms=ZERO)),
                 ("error", ZERO), ("count", ZERO), ("call", ZERO), ("ended", ZERO), ("connection", connection())], c)


def totals(**c):
    return body([(name, uint(i)) for i, name in enumerate(("sandboxes", "executions", "successes", "failures", "timeouts", "duration_us"))], c)


def following(**c):
    return body([("id", text("0123456789abcdef"))], c)


def execute(**c):
    return body([("argv", array([text("true")])), ("env", array([])), ("cwd", text("")),
                 ("stdio", array([ZERO, ZERO, ZERO])), ("timeout_ms", ZERO), ("terminal", FALSE), ("rows", ZERO),
                 ("columns", ZERO), ("capture_bytes", ZERO), ("restrictions", ZERO), ("paths", array([])),
                 ("has_user", FALSE), ("user", ZERO), ("memory_bytes", ZERO), ("pids", ZERO), ("more_bytes", ZERO),
                 ("more_argv", ZERO), ("more_env", ZERO), ("file_operation", FALSE), ("umask", uint(0o22)),
                 ("metadata", array([]))], c)


def started(**c):
    return body([("command", ONE), ("pid", uint(2))], c)


def exited(**c):
    return body([("signaled", FALSE), ("status", ZERO), ("timed_out", FALSE), ("out_of_memory", FALSE),
                 ("limits_hit", ZERO), ("wall_us", uint(1500)), ("user_us", uint(300)), ("system_us", uint(400)),
                 ("memory_peak_bytes", uint(2097152)), ("read_bytes", uint(4096)), ("written_bytes", uint(512)),
                 ("started_ms", uint(1763712000005)), ("ended_ms", uint(1763712000007))], c)


def signal(**c):
    return body([("command", ONE), ("signal", uint(15))], c)


def query(**c):
    return body([("action", ZERO), ("command", ZERO), ("output_bytes", array([ZERO, ZERO])), ("signal", ZERO)], c)


def command(**c):
    return body([("id", ONE), ("state", uint(2)), ("argv", array([text("make"), text("-j2")])),
                 ("argv_cut", FALSE), ("pid", uint(2)), ("started_ms", uint(1763712000005)),
                 ("captured", ONE), ("truncated", ZERO), ("output_bytes", array([uint(5), ZERO])), ("result", exited()),
                 ("code", ZERO), ("message", text("")), ("detail", text("")), ("error_number", ZERO), ("step", text("")),
                 ("metadata", array([]))], c)


def commands(**c):
    return body([("last", ONE), ("commands", array([command()]))], c)


def session(**c):
    return body([("cwd", text("")), ("set", array([])), ("unset", array([]))], c)


def surroundings(**c):
    return body([("cwd", text("")), ("env", array([]))], c)


def file(**c):
    return body([("operation", ONE), ("flags", ONE), ("mode", ZERO), ("path", binary(b"/a")), ("target", binary(b"")),
                 ("entries_max", ZERO), ("bytes_max", ZERO)], c)


def file_opened(**c):
    return body([("size_bytes", uint(5))], c)


def file_entry(**c):
    return body([("name", binary(b"a")), ("kind", ONE), ("mode", uint(0o644)), ("uid", uint(1000)), ("gid", uint(1000)),
                 ("owner", binary(b"alice")), ("group", binary(b"alice")), ("size_bytes", uint(5)), ("mtime_s", uint(1234567890)),
                 ("mtime_ns", ZERO), ("link", binary(b""))], c)


def file_entries(**c):
    return body([("entries", array([file_entry()]))], c)


def file_skipped(**c):
    return body([("path", binary(b"/a")), ("why", text("a socket is not copied"))], c)


def file_mount(**c):
    return body([("target", binary(b"/tmp")), ("root", binary(b"/")), ("type", text("tmpfs")), ("mode", ONE), ("is_own", TRUE),
                 ("size_bytes", uint(1 << 29)), ("used_bytes", uint(4096)), ("files_max", uint(1 << 18)), ("files_used", uint(7))], c)


def file_mounts(**c):
    return body([("mounts", array([file_mount()]))], c)


def file_done(**c):
    return body([("entries", ONE), ("bytes", uint(5)), ("skipped", ZERO)], c)


KINDS = {"hello": 1, "create": 2, "created": 3, "plan": 4, "error": 5, "ended": 6,
         "manage": 7, "done": 8, "state": 9, "listing": 10, "sandbox": 11, "usage": 12, "event": 13, "following": 14, "totals": 15, "reach": 16,
         "relay": 24, "allowed": 25, "mount": 26,
         "exec": 32, "started": 33, "exited": 34, "signal": 35, "query": 36, "commands": 37, "session": 38, "surroundings": 39,
         "connect": 40, "connected": 41, "keys": 64,
         "file": 96, "file_opened": 97, "file_entries": 98, "file_skipped": 99, "file_done": 100, "file_mounts": 101}


def packet(kind, content, *, magic=b"YETT", version=1, fds=0, sequence=1, length=None, signed=None):
    number = KINDS.get(kind, kind)
    signed = (b"\x11" * 8 + b"\x22" * 32 + b"\x33" * 64 if number in (2, 7, 24, 26) else b"") if signed is None else signed
    length = len(content) if length is None else length
    return magic + struct.pack("<BBHQI", version, fds, number, sequence, length) + signed + content


VECTORS = []


def accept(name, kind, why, content, fds=None):
    VECTORS.append((name, kind, "accept", None, why, content, fds))


def refuse(name, kind, reason, field, why, content, fds=None):
    VECTORS.append((name, kind, "refuse " + reason, field, why, content, fds))


# --- accepted

accept("hello-version-1", "hello", "the only version there is", hello())
accept("hello-widest-range", "hello", "both ends of the version range at their bounds", hello(version_max=uint(255)))
accept("create-least", "create", "everything that may be left to the profile is", create())
accept("create-full", "create", "every field says something", create(
    profile=text("build"), hostname=text("Box-1.example"),
    limits=limits(memory_bytes=uint(64 << 20), cpu_millis=uint(1500), pids=uint(100), files=uint(1024), file_bytes=uint(1 << 30),
                  core_bytes=uint(1 << 29)),
    shares=array([share(), share(fd=ONE, mode=ONE, target=text("/work"))]),
    tmpfs=array([tmpfs(size_bytes=uint(1 << 24))]), plan_only=TRUE, name=text("tests-1"),
    labels=array([text("app=web"), text("note=a b=c")]), life=life(
        linger=TRUE, wall_ms=uint(3600000), cpu_ms=uint(60000), idle_ms=uint(300000), idle_action=ONE, cleanup_ms=uint(1000)), network=uint(2), rules=array([
            rule(), rule(deny=TRUE, kind=uint(4), prefix=uint(104), port_first=ONE, port_last=uint(65535),
                         address=binary(bytes(10) + b"\xff\xff\x0a\x00\x00\x00"), name=text("")),
            rule(bound=TRUE, prefix=uint(128), address=binary(bytes(10) + b"\xff\xff\x0a\x01\x02\x03"), name=text("db.example.org"))])))
accept("create-32-labels", "create", "as many labels as there may be, each at its bound", create(
    labels=array([text("k%02x=" % i + "v" * 252) for i in range(32)])))
accept("manage-inspect", "manage", "by id", manage())
accept("manage-list-all", "manage", "a list names no sandbox", manage(action=ZERO, sandbox=text(""), all=TRUE))
accept("manage-last-action", "manage", "destroy, by name", manage(action=uint(7), sandbox=text("tests-1")))
accept("manage-usage-of-all", "manage", "the usage of all names no sandbox", manage(action=uint(8), sandbox=text("")))
accept("usage-plain", "usage", "a host that counts time only", usage())
accept("usage-full", "usage", "every count at its bound", usage(
    name=text("tests-1"), state=uint(3), known=uint((1 << 19) - 1), **{name: uint((1 << 64) - 1) for name in USAGE_COUNTS}))
accept("manage-follow", "manage", "by id", manage(action=uint(9)))
accept("manage-plan", "manage", "of one", manage(action=uint(11)))
accept("manage-rules", "manage", "of one", manage(action=uint(12)))
accept("manage-network", "manage", "other rules, and what none of them allows is asked about", manage(
    action=uint(13), changes=uint((1 << 32) - 1), rules=array([rule(), rule(deny=TRUE)]), ask=TRUE))
accept("reach-of-the-policy", "reach", "where it stands is told", reach())
accept("reach-of-a-request", "reach", "the longest rule, from nowhere", reach(list=uint(2), rule=text("r" * 335), asked=TRUE, file=text(""), line=ZERO))
accept("relay-socket", "relay", "of the host", relay())
accept("relay-port", "relay", "at the mapped form of 127.0.0.1, with the largest number", relay(
    socket=text(""), address=binary(bytes(10) + b"\xff\xff\x7f\0\0\1"), port=uint(65535)))
accept("allowed-plain", "allowed", "it has no fields", allowed())
accept("mount-of-a-share", "mount", "by name, writable, in place of another one", mount(
    sandbox=text("tests-1"), unmount=array([text("/mnt/old")]), refresh=array([text("/"), text("/mnt/a")]), shares=array([share(mode=ONE, target=text("/mnt/new"))])))
accept("mount-copy-on-write", "mount", "one with a store, and one with memory", mount(shares=array([
    share(mode=uint(3), target=text("/mnt/a")), share(fd=ONE, mode=uint(4), target=text("/mnt/a")), share(fd=uint(2), mode=uint(3), target=text("/mnt/b"))]),
    tmpfs=array([tmpfs(target=text("/mnt/b"), size_bytes=uint(1 << 20))])))
accept("create-with-covers", "create", "one path is hidden, and as many are read-only as may be", create(
    shares=array([share(mode=ONE, target=text("/w"))]), masks=array([text("/w/.ssh")]), read_only=array([text("/w/%03d" % i) for i in range(128)])))
accept("mount-with-covers", "mount", "the longest path, and one that lies in no share, which the policy says", mount(
    shares=array([share(mode=ONE, target=text("/w"))]), masks=array([text("/w" + "/m" * 2046)]), read_only=array([text("/elsewhere")])))
accept("connect-v6", "connect", "to ::1, with the largest number", connect(port=uint(65535), family=ONE))
accept("connected-plain", "connected", "it has no fields", connected())
accept("file-listen", "file", "of a socket", file(operation=uint(9), flags=ZERO, mode=uint(0o600)))
accept("file-mounts", "file", "the last operation", file(operation=uint(10), flags=ZERO, path=binary(b"/")))
accept("file-mounts-4", "file_mounts", "as many as there may be, each with its longest texts and numbers", file_mounts(mounts=array([file_mount(
    target=binary(b"/" + b"t" * 4094), root=binary(b"/" + b"\xff" * 4094), type=text("y" * 64), mode=uint(2), size_bytes=uint((1 << 64) - 1),
    used_bytes=uint((1 << 64) - 1), files_max=uint((1 << 64) - 1), files_used=uint((1 << 64) - 1))] * 4)))
refuse("file-mounts-5", "file_mounts", "too-long", "mounts", "one more than there may be", file_mounts(mounts=array([file_mount()] * 5)))
refuse("file-mounts-none", "file_mounts", "too-short", "mounts", "there is no such message without one", file_mounts(mounts=array([])))
refuse("file-mount-unknown-mode", "file_mounts", "range", "mounts[0].mode", "one more than there are", file_mounts(mounts=array([file_mount(mode=uint(3))])))
refuse("file-mount-without-a-place", "file_mounts", "too-short", "mounts[0].target", "it is somewhere", file_mounts(mounts=array([file_mount(target=binary(b""))])))
accept("manage-totals", "manage", "what is asked of all names none", manage(action=uint(10), sandbox=text("")))
accept("totals-plain", "totals", "a helper that has done a little", totals())
accept("totals-largest", "totals", "the largest of each", totals(sandboxes=uint((1 << 64) - 1), duration_us=uint((1 << 64) - 1)))
accept("following-plain", "following", "the id of the sandbox", following())
accept("sandbox-with-network", "sandbox", "the last kind of network", sandbox(network=uint(3)))
refuse("sandbox-large-network", "sandbox", "range", "network", "no kind of network", sandbox(network=uint(4)))
accept("event-followed", "event", "the first of a stream", followed())
accept("event-exited", "event", "the end of a command", followed(kind=uint(2), command=uint(3), pid=uint(7), result=exited()))
accept("event-denied", "event", "a system call that was refused, of the highest number", followed(
    kind=uint(10), pid=uint(7), count=uint(3), call=uint(1023)))
accept("event-blocked", "event", "a connection that was not allowed, for the last of the reasons", followed(
    kind=uint(14), count=uint(2), connection=connection(name=text("a.example"), address=text("169.254.169.254"), port=uint(65535), verdict=uint(6))))
accept("event-blocked-by-rule", "event", "a connection that a rule denies, with the longest text of one and of where it stands", followed(
    kind=uint(14), count=ONE, connection=connection(name=text("a.example"), port=uint(443), verdict=ONE, rule=text("r" * 335), place=text("p" * 4095))))
accept("event-network-lost", "event", "what serves the network ended", followed(kind=uint(16), count=ONE))
accept("event-unrecorded", "event", "the last kind there is", followed(kind=uint(18)))
accept("event-ended", "event", "the last of a stream, with the largest reason", followed(
    number=uint((1 << 64) - 1), kind=uint(9), state=uint(4), ended=uint(7)))
accept("done-plain", "done", "the id of the sandbox", done())
accept("state-last", "state", "the largest state on the wire", state(state=uint(6)))
accept("listing-of-none", "listing", "nothing in the descriptor", listing(count=ZERO))
accept("sandbox-plain", "sandbox", "one that runs", sandbox())
accept("sandbox-full", "sandbox", "every field says something", sandbox(
    name=text("tests-1"), state=uint(5), ended=uint(7), principal=text("laptop"), label=text("yett-sandbox (enforce)"),
    life=life(linger=TRUE, idle_ms=ONE, idle_action=ONE), linger_ms=uint(43200000), ended_ms=uint(1763712000004),
    labels=array([text("app=web")])))
accept("create-limits-at-their-bounds", "create", "the largest values allowed", create(limits=limits(
    memory_bytes=uint(1 << 50), cpu_millis=uint(1024000), pids=uint(4194304), files=uint(1048576), file_bytes=uint(1 << 50),
    core_bytes=uint(1 << 50))))
accept("create-125-shares", "create", "as many shares as there may be", create(
    shares=array([share(fd=uint(i), target=text("/s/%d" % i)) for i in range(125)])))
accept("create-socket", "create", "a socket that is shared", create(
    shares=array([share(mode=uint(2), target=text("/run/user/1000/wayland-0"))])))
accept("create-copy-on-write", "create", "a directory and its store, the largest mode of a share", create(
    shares=array([share(mode=uint(3), target=text("/work")), share(fd=ONE, mode=uint(4), target=text("/work"))])))
accept("create-32-tmpfs", "create", "as many tmpfs as there may be", create(
    tmpfs=array([tmpfs(target=text("/t/%d" % i)) for i in range(32)])))
accept("create-256-rules", "create", "as many rules as there may be", create(
    rules=array([rule(name=text("h%d.example.org" % i)) for i in range(256)])))
accept("create-rule-at-its-bounds", "create", "the largest values allowed; whether it means something is not asked here", create(
    network=uint(4), rules=array([rule(deny=TRUE, kind=uint(4), bound=TRUE, prefix=uint(128), port_first=uint(65535),
                                       port_last=uint(65535), address=binary(b"\xff" * 16), name=text("n" * 253))])))
accept("create-longest-target", "create", "a target of 4095 bytes", create(
    shares=array([share(target=text("/" + "d" * 4094))])))
accept("create-longest-name", "create", "a profile's name of 64 bytes", create(profile=text("p" * 64)))
accept("create-name-with-all-marks", "create", "dot, underscore and hyphen after the first character",
       create(profile=text("9a.b_c-d")))
accept("create-target-in-four-scripts", "create", "one to four bytes a character",
       create(shares=array([share(target=text("/a\u00e9\u20ac\U0001F600"))])))
accept("create-target-with-control-bytes", "create", "UTF-8 is asked, not print", create(
    shares=array([share(target=text("/a\n\x7f"))])))
accept("created-plain", "created", "a sandbox with the limits of its profile", created())
accept("created-largest-uid", "created", "the largest uid that is one", created(private_uid=uint(4294967294)))
accept("created-without-label", "created", "a kernel without AppArmor", created(label=text("")))
accept("created-longest-label", "created", "a label at its bound", created(label=text("l" * 127)))
accept("created-without-landlock", "created", "a kernel that has none", created(landlock_abi=ZERO))
accept("created-host", "created", "the widest network", created(network=uint(3)))
accept("created-longest-weaker", "created", "what is weaker, at its bound", created(weaker=text("w" * 511)))
accept("plan-empty", "plan", "the text is in the descriptor", mapping([]))
NO_RULE = {"rule": text(""), "file": text(""), "line": ZERO, "asked": text(""), "allowed": text(""), "mend": text("")}
accept("error-plain", "error", "a refusal with its rule", error())
accept("error-without-rule", "error", "one that does not rest on the policy", error(**NO_RULE))
accept("error-longest-texts", "error", "all texts at their bounds", error(
    message=text("m" * 255), detail=text("d" * 511), rule=text("r" * 127), file=text("f" * 255), line=uint(4294967295),
    asked=text("a" * 127), allowed=text("b" * 127), mend=text("e" * 255), reason=uint(27), code=ONE, retryable=TRUE))
accept("ended-each-reason", "ended", "the largest reason", ended(reason=uint(7)))
accept("exec-least", "exec", "a name and nothing else", execute())
accept("exec-full", "exec", "arguments, environment, directory, all three descriptors, a deadline", execute(
    argv=array([text("sh"), text("-c"), text("echo \"$A\""), text("")]),
    env=array([text("A=1"), text("B="), text("C==")]), cwd=text("/work"), stdio=array([ONE, ONE, ONE]),
    timeout_ms=uint(2592000000)))
accept("exec-4096-arguments", "exec", "as many arguments as there may be", execute(argv=array([text("")] * 4096)))
accept("exec-2048-variables", "exec", "as many variables as there may be", execute(
    env=array([text("A=")] * 2048)))
accept("exec-text-forms", "exec", "lengths at each change of the text header: 31, 32, 255, 256", execute(
    argv=array([text("a" * n) for n in (31, 32, 255, 256, 65536 - 1024)])))
accept("exec-terminal", "exec", "a terminal of 24 rows and 80 columns", execute(
    terminal=TRUE, rows=uint(24), columns=uint(80)))
accept("exec-terminal-largest", "exec", "as many rows and columns as struct winsize can hold", execute(
    terminal=TRUE, rows=uint(65535), columns=uint(65535)))
accept("exec-captured", "exec", "both outputs are kept in one place, up to the bound", execute(
    stdio=array([ZERO, uint(2), uint(3)]), capture_bytes=uint(16 << 20)))
accept("exec-more", "exec", "arguments and variables in memory besides, as many bytes as there may be", execute(
    more_bytes=uint(6 << 20), more_argv=uint(1 << 20), more_env=uint(5 << 20)))
accept("exec-file-operation", "exec", "no command of its user's", execute(file_operation=TRUE, stdio=array([ONE, ONE, ZERO])))
accept("exec-restricted", "exec", "every restriction, with limits of its own", execute(
    restrictions=uint(7), paths=array([text("/work")] * 64), has_user=TRUE, user=uint(4294967294), memory_bytes=uint(1 << 50),
    pids=uint(4194304)))
accept("exec-with-metadata", "exec", "as much as there may be", execute(metadata=array([text("k%02d=" % i + "v" * 59) for i in range(16)])))
accept("started-largest-id", "started", "the largest id of a command", started(command=uint((1 << 64) - 1)))
accept("started-largest-pid", "started", "the largest pid of Linux", started(pid=uint(4194304)))
accept("exited-plain", "exited", "an ordinary end", exited())
accept("exited-signaled", "exited", "ended by SIGKILL at its deadline, every limit met", exited(
    signaled=TRUE, status=uint(9), timed_out=TRUE, out_of_memory=TRUE, limits_hit=uint(15)))
accept("exited-number-forms", "exited", "integers at each change of their form", exited(
    status=uint(128), wall_us=uint(65535), user_us=uint(65536), system_us=uint(1 << 32),
    memory_peak_bytes=uint((1 << 32) - 1)))
accept("signal-plain", "signal", "SIGTERM to the first command", signal())
accept("signal-largest", "signal", "the largest sequence and the largest signal",
       signal(command=uint((1 << 64) - 1), signal=uint(64)))
accept("query-all", "query", "all that is known, from the first on", query())
accept("query-output", "query", "what is kept, of the largest id", query(action=uint(4), command=uint((1 << 64) - 1)))
accept("query-follow", "query", "more than the most that is kept", query(
    action=uint(5), command=uint(7), output_bytes=array([uint(16 << 20)] * 2)))
accept("query-signal", "query", "the last action, with the largest signal", query(action=uint(8), command=uint(7), signal=uint(64)))
accept("commands-none", "commands", "nothing was ever run", commands(last=ZERO, commands=array([])))
accept("commands-plain", "commands", "one that has ended", commands())
accept("commands-16", "commands", "as many as there may be, each with its longest texts", commands(commands=array([command(
    id=uint((1 << 64) - 1), state=uint(5), argv=array([text("t")] * 63 + [text("t" * 385)]), argv_cut=TRUE, pid=uint(4194304), started_ms=uint(1 << 50), captured=uint(3),
    truncated=uint(3), output_bytes=array([uint(16 << 20)] * 2), code=uint(16), message=text("m" * 255),
    detail=text("d" * 511), error_number=uint(4095), step=text("s" * 31),
    metadata=array([text("k%02d=" % i + "v" * 59) for i in range(16)]))] * 16)))
accept("session-asks", "session", "nothing is changed", session())
accept("session-full", "session", "a directory, two variables set and two taken away", session(
    cwd=text("/work"), set=array([text("A=1"), text("B=")]), unset=array([text("C"), text("D")])))
accept("surroundings-none", "surroundings", "of a new sandbox", surroundings())
accept("surroundings-full", "surroundings", "a directory and a variable", surroundings(cwd=text("/work"), env=array([text("A=1")])))
accept("packet-hello", "packet", "sequence 0, for it answers nothing", packet("hello", hello(), sequence=0))
accept("packet-create", "packet", "with the signed part and two descriptors", packet("create", create(
    shares=array([share(), share(fd=ONE, target=text("/b"))])), fds=2), fds=2)
accept("packet-exec", "packet", "three descriptors", packet("exec", execute(stdio=array([ONE] * 3)), fds=3,
                                                          sequence=(1 << 64) - 1), fds=3)
accept("packet-largest", "packet", "exactly 65536 bytes", packet("exec", execute(
    argv=array([text("a" * (65536 - 20 - len(execute(argv=array([])))  - 3))]))))
assert len(VECTORS[-1][5]) == 65536

accept("file-least", "file", "a path and what to do with it", file(path=binary(b"/")))
accept("file-full", "file", "every field at its bound", file(
    operation=uint(8), flags=uint(511), mode=uint(0o777), path=binary(b"/" + b"d" * 4094), target=binary(b"/" + b"t" * 4094),
    entries_max=uint((1 << 64) - 1), bytes_max=uint((1 << 64) - 1)))
accept("file-latin-1", "file", "a path is bytes, and need not be UTF-8", file(path=binary(b"/caf\xe9\xff\xc0\xaf\n")))
accept("file-opened-plain", "file_opened", "a file of five bytes", file_opened())
accept("file-entries-64", "file_entries", "as many entries as there may be", file_entries(entries=array([file_entry()] * 64)))
accept("file-entries-link", "file_entries", "a name of 255 bytes and a link to 4095", file_entries(entries=array([
    file_entry(name=binary(b"n" * 255), kind=uint(3), link=binary(b"l" * 4095))])))
accept("file-entries-largest", "file_entries", "numbers at their bounds, and no names of owners", file_entries(entries=array([
    file_entry(kind=uint(7), mode=uint(0o7777), uid=uint((1 << 32) - 1), gid=uint((1 << 32) - 1), owner=binary(b""), group=binary(b""),
               size_bytes=uint((1 << 63) - 1), mtime_s=uint((1 << 63) - 1), mtime_ns=uint(999999999))])))
accept("file-skipped-plain", "file_skipped", "what was passed over, and why", file_skipped())
accept("file-done-plain", "file_done", "one file with five bytes", file_done())

# --- refused: not msgpack, or not one value

refuse("empty-body", "create", "truncated", None, "no byte at all", b"")
refuse("cut-after-first-field", "create", "truncated", None, "the map claims eleven fields and holds one",
       create()[:17])
refuse("cut-in-a-text", "create", "truncated", None, "a text claims more bytes than there are",
       mapping([("profile", b"\xa7defa")])[:-1])
refuse("last-byte-missing", "create", "truncated", None, "one byte short", create()[:-1])
refuse("list-of-a-gigabyte", "create", "truncated", None, "a list claims 2^30 items; nothing is allocated for them",
       create(shares=b"\xdd\x40\x00\x00\x00", tmpfs=None, plan_only=None, name=None, labels=None, life=None, network=None, rules=None))
refuse("map-of-four-billion", "create", "truncated", None, "a map claims 2^32 - 1 pairs",
       b"\xdf\xff\xff\xff\xff" + text("profile") + text("default"))
refuse("text-of-a-gigabyte", "create", "truncated", None, "a text claims 2^30 bytes",
       b"\x89" + text("profile") + b"\xdb\x40\x00\x00\x00default")
refuse("extension-of-all-bytes", "create", "wrong-type", "profile", "an extension whose length overflows 32 bits",
       create(profile=b"\xc9\xff\xff\xff\xff"))
refuse("byte-after-the-end", "create", "trailing-bytes", None, "one byte more", create() + b"\x00")
refuse("two-bodies", "signal", "trailing-bytes", None, "a second message in the same body", signal() + signal())
refuse("reserved-byte", "create", "malformed", None, "0xc1 is never used in msgpack", b"\xc1")
refuse("reserved-byte-inside", "create", "malformed", None, "0xc1 where a value should be", create(plan_only=b"\xc1"))
refuse("json", "create", "trailing-bytes", None, "a brace is a number to msgpack, and more follows",
       b'{"profile":"default"}')
refuse("lists-within-lists", "create", "depth", None, "five lists within each other",
       create(shares=b"\x91\x91\x91\x91\x91\x00"))
refuse("a-thousand-lists", "exec", "depth", None, "a thousand lists within each other", b"\x91" * 1000)

# --- refused: not the shape

refuse("list-for-the-body", "create", "wrong-type", None, "a body is a map", array([]))
refuse("number-for-the-body", "create", "wrong-type", None, "a body is a map", ZERO)
refuse("nil-for-the-body", "ended", "wrong-type", None, "a body is a map", NIL)
refuse("number-as-a-key", "ended", "wrong-type", None, "a key is a text", mapping([(b"\x01", ZERO)]))
refuse("binary-as-a-key", "ended", "wrong-type", None, "a key is a text", mapping([(binary(b"reason"), ZERO)]))
refuse("empty-map", "ended", "missing-field", "reason", "no field at all", mapping([]))
refuse("first-field-missing", "create", "missing-field", "profile", "without the first", create(profile=None))
refuse("middle-field-missing", "create", "missing-field", "limits", "without one in the middle", create(limits=None))
refuse("last-field-missing", "create", "missing-field", "rules", "without the last", create(rules=None))
refuse("nested-field-missing", "create", "missing-field", "shares[1].mode", "in the second share",
       create(shares=array([share(), share(mode=None)])))
refuse("unknown-field-last", "ended", "unknown-field", "because", "one field more",
       mapping([("reason", ZERO), ("because", ZERO)]))
refuse("unknown-field-first", "ended", "unknown-field", "because", "an unknown field before the known one",
       mapping([("because", ZERO), ("reason", ZERO)]))
refuse("unknown-nested-field", "create", "unknown-field", "limits.memory", "a short name of a known field",
       create(limits=mapping([("memory", ZERO), ("cpu_millis", ZERO), ("pids", ZERO), ("files", ZERO), ("file_bytes", ZERO), ("core_bytes", ZERO)])))
refuse("field-in-capitals", "ended", "unknown-field", "Reason", "names are exact", mapping([("Reason", ZERO)]))
refuse("field-with-a-nul", "ended", "unknown-field", "reason", "a NUL after the name is part of it",
       mapping([(text(b"reason\x00"), ZERO)]))
refuse("field-in-a-plan", "plan", "unknown-field", "text", "a plan's body is empty", mapping([("text", text(""))]))
refuse("field-twice-in-a-row", "signal", "repeated-field", "command", "the same field again",
       mapping([("command", ONE), ("command", ONE), ("signal", uint(15))]))
refuse("field-again-at-the-end", "signal", "repeated-field", "command", "the same field again, with another value",
       mapping([("command", ONE), ("signal", uint(15)), ("command", uint(2))]))
refuse("nested-field-twice", "create", "repeated-field", "tmpfs[0].target", "in a tmpfs",
       create(tmpfs=array([mapping([("target", text("/a")), ("target", text("/b")), ("size_bytes", ZERO)])])))
refuse("fields-swapped", "signal", "field-order", "signal", "all fields, the wrong way round",
       mapping([("signal", uint(15)), ("command", ONE)]))
refuse("last-field-first", "create", "field-order", "rules", "the last field stands first",
       mapping([("rules", array([])), ("profile", text("default")), ("hostname", text("")), ("limits", limits()),
                ("shares", array([share()])), ("tmpfs", array([])), ("plan_only", FALSE), ("name", text("")), ("labels", array([])), ("life", life()), ("network", ZERO)]))

# --- refused: the wrong type

refuse("number-for-a-text", "create", "wrong-type", "profile", "a name is a text", create(profile=ONE))
refuse("binary-for-a-text", "create", "wrong-type", "profile", "a name is a text, not bytes",
       create(profile=binary(b"default")))
refuse("text-for-a-number", "signal", "wrong-type", "signal", "no digits in quotes", signal(signal=text("15")))
refuse("float-for-a-number", "signal", "wrong-type", "signal", "15.0 is not 15", signal(signal=b"\xca\x41\x70\x00\x00"))
refuse("double-for-a-number", "exited", "wrong-type", "wall_us", "no fractions",
       exited(wall_us=b"\xcb" + struct.pack(">d", 1.0)))
refuse("bool-for-a-number", "signal", "wrong-type", "signal", "true is not 1", signal(signal=TRUE))
refuse("number-for-a-bool", "create", "wrong-type", "plan_only", "1 is not true", create(plan_only=ONE))
refuse("nil-for-a-text", "create", "wrong-type", "hostname", "not given is the empty text", create(hostname=NIL))
refuse("nil-for-a-list", "create", "wrong-type", "shares", "none is the empty list", create(shares=NIL))
refuse("map-for-a-list", "create", "wrong-type", "shares", "a list of one is still a list", create(shares=share()))
refuse("list-for-a-map", "create", "wrong-type", "limits", "values without names",
       create(limits=array([ZERO, ZERO, ZERO, ZERO])))
refuse("text-for-binary", "hello", "wrong-type", "challenge", "the challenge is bytes", hello(challenge=text("c" * 32)))
refuse("extension-for-a-number", "started", "wrong-type", "pid", "no extension types", started(pid=b"\xd4\x01\x02"))
refuse("text-for-an-argument-list", "exec", "wrong-type", "argv", "a command line is a list", execute(argv=text("ls -l")))
refuse("number-among-arguments", "exec", "wrong-type", "argv[1]", "the second argument",
       execute(argv=array([text("ls"), ONE])))

# --- refused: outside the bounds

refuse("negative-number", "exec", "range", "timeout_ms", "-1 is not \"for ever\"", execute(timeout_ms=b"\xff"))
refuse("most-negative-number", "exec", "range", "timeout_ms", "-2^63", execute(timeout_ms=b"\xd3\x80" + b"\x00" * 7))
refuse("version-zero", "hello", "range", "version_min", "versions begin with 1", hello(version_min=ZERO))
refuse("version-too-large", "hello", "range", "version_max", "a version is one byte", hello(version_max=uint(256)))
refuse("memory-over-a-pebibyte", "create", "range", "limits.memory_bytes", "2^50 + 1",
       create(limits=limits(memory_bytes=uint((1 << 50) + 1))))
refuse("memory-of-all-bits", "create", "range", "limits.memory_bytes", "2^64 - 1",
       create(limits=limits(memory_bytes=uint((1 << 64) - 1))))
refuse("cpu-over-its-bound", "create", "range", "limits.cpu_millis", "more than 1024 processors",
       create(limits=limits(cpu_millis=uint(1024001))))
refuse("pids-over-their-bound", "create", "range", "limits.pids", "more than Linux has",
       create(limits=limits(pids=uint(4194305))))
refuse("files-over-their-bound", "create", "range", "limits.files", "more than 2^20",
       create(limits=limits(files=uint(1048577))))
refuse("file-size-over-a-pebibyte", "create", "range", "limits.file_bytes", "2^50 + 1",
       create(limits=limits(file_bytes=uint((1 << 50) + 1))))
refuse("core-size-over-a-pebibyte", "create", "range", "limits.core_bytes", "2^50 + 1",
       create(limits=limits(core_bytes=uint((1 << 50) + 1))))
refuse("descriptor-over-its-bound", "create", "range", "shares[0].fd", "index 125 of 125",
       create(shares=array([share(fd=uint(125))])))
refuse("descriptor-that-wraps", "create", "range", "shares[0].fd", "2^32 is not 0",
       create(shares=array([share(fd=uint(1 << 32))])))
refuse("unknown-share-mode", "create", "range", "shares[0].mode", "not one of the five", create(
    shares=array([share(mode=uint(5))])))
refuse("long-label", "created", "too-long", "label", "one byte more than a label has", created(label=text("l" * 128)))
refuse("created-unknown-network", "created", "range", "network", "no network that there is", created(network=uint(4)))
refuse("long-weaker", "created", "too-long", "weaker", "one byte more than it has", created(weaker=text("w" * 512)))
refuse("landlock-abi-over-its-bound", "created", "range", "landlock_abi", "256 is no version", created(landlock_abi=uint(256)))
refuse("uid-minus-one", "created", "range", "private_uid", "2^32 - 1 is no uid", created(private_uid=uint((1 << 32) - 1)))
refuse("error-code-zero", "error", "range", "code", "0 is success, which is no error", error(code=ZERO))
refuse("unknown-error-code", "error", "range", "code", "a code that is not in the table", error(code=uint(18)))
refuse("unknown-error-reason", "error", "range", "reason", "a reason that is not in the table", error(reason=uint(30)))
refuse("unknown-end", "ended", "range", "reason", "a reason that is not in the table", ended(reason=uint(8)))
refuse("unknown-idle-action", "create", "range", "life.idle_action", "neither end nor pause", create(life=life(idle_action=uint(2))))
refuse("wall-time-over-thirty-days", "create", "range", "life.wall_ms", "30 days and a millisecond",
       create(life=life(wall_ms=uint(2592000001))))
refuse("unknown-network", "create", "range", "network", "none, limited, open or host, and this is none of them", create(network=uint(5)))
refuse("unknown-kind-of-rule", "create", "range", "rules[1].kind", "one more than there are", create(rules=array([rule(), rule(kind=uint(5))])))
refuse("prefix-over-its-bound", "create", "range", "rules[0].prefix", "an address has 128 bits", create(rules=array([rule(prefix=uint(129))])))
refuse("port-zero", "create", "range", "rules[0].port_first", "ports begin with 1", create(rules=array([rule(port_first=ZERO)])))
refuse("port-70000", "create", "range", "rules[0].port_last", "ports end with 65535", create(rules=array([rule(port_last=uint(70000))])))
refuse("short-address", "create", "too-short", "rules[0].address", "four bytes are no mapped address",
       create(rules=array([rule(address=binary(b"\x0a\x00\x00\x01"))])))
refuse("long-name-in-a-rule", "create", "too-long", "rules[0].name", "254 bytes", create(rules=array([rule(name=text("n" * 254))])))
refuse("257-rules", "create", "too-long", "rules", "one more than there may be", create(rules=array([rule()] * 257)))
refuse("label-without-a-key", "create", "range", "labels[0]", "KEY=VALUE", create(labels=array([text("=web")])))
refuse("label-without-equals", "create", "range", "labels[1]", "KEY=VALUE", create(labels=array([text("a="), text("web")])))
refuse("long-key-value", "create", "too-long", "labels[0]", "257 bytes", create(labels=array([text("k=" + "v" * 255)])))
refuse("33-labels", "create", "too-long", "labels", "one more than there may be", create(labels=array([text("a=")] * 33)))
refuse("sandbox-name-with-a-slash", "create", "range", "name", "a name is not a path", create(name=text("../x")))
refuse("unknown-action", "manage", "range", "action", "an action that is not in the table", manage(action=uint(14)))
refuse("manage-257-rules", "manage", "too-long", "rules", "one more than there may be", manage(rules=array([rule()] * 257)))
refuse("reach-list", "reach", "range", "list", "no list of rules", reach(list=uint(3)))
refuse("reach-without-a-rule", "reach", "too-short", "rule", "a rule is never empty", reach(rule=text("")))
refuse("usage-unknown-count", "usage", "reserved", "known", "a bit that is in no table", usage(known=uint(524288)))
refuse("usage-of-one-that-is-gone", "usage", "range", "state", "what is destroyed uses nothing", usage(state=uint(7)))
refuse("event-unknown-kind", "event", "range", "kind", "a kind that is in no table", followed(kind=uint(19)))
refuse("event-large-port", "event", "range", "connection.port", "no port", followed(kind=uint(11), connection=connection(port=uint(65536))))
refuse("event-large-verdict", "event", "range", "connection.verdict", "no reason", followed(
    kind=uint(14), connection=connection(verdict=uint(8))))
refuse("event-long-rule", "event", "too-long", "connection.rule", "longer than rules are", followed(
    kind=uint(14), connection=connection(rule=text("a" * 336))))
refuse("event-long-name", "event", "too-long", "connection.name", "longer than names are", followed(
    kind=uint(14), connection=connection(name=text("a" * 254))))
refuse("event-status-256", "event", "range", "result.status", "what no command exits with", followed(
    kind=uint(2), result=exited(status=uint(256))))
refuse("event-large-call", "event", "range", "call", "a number that no system call has", followed(kind=uint(10), call=uint(1024)))
refuse("event-large-errno", "event", "range", "error", "no errno", followed(kind=uint(3), error=uint(4096)))
refuse("manage-long-name", "manage", "too-long", "sandbox", "65 bytes", manage(sandbox=text("s" * 65)))
refuse("state-of-one-that-is-gone", "state", "range", "state", "what is gone is not told of", state(state=uint(7)))
refuse("unknown-stdio", "exec", "range", "stdio[2]", "none of the four kinds",
       execute(stdio=array([ZERO, ONE, uint(4)])))
refuse("capture-over-its-bound", "exec", "range", "capture_bytes", "one byte more than may be kept",
       execute(capture_bytes=uint((16 << 20) + 1)))
refuse("session-variable-without-equals", "session", "range", "set[0]", "NAME=VALUE", session(set=array([text("A")])))
refuse("session-long-directory", "session", "too-long", "cwd", "4096 bytes", session(cwd=text("/" + "d" * 4095)))
refuse("session-2049-names", "session", "too-long", "unset", "one more than there may be",
       session(unset=array([text("A")] * 2049)))
refuse("surroundings-without-a-name", "surroundings", "range", "env[0]", "the name is empty", surroundings(env=array([text("=1")])))
refuse("more-than-execve-takes", "exec", "range", "more_bytes", "a byte more", execute(more_bytes=uint((6 << 20) + 1)))
refuse("exec-without-its-last-field", "exec", "missing-field", "umask", "what an exec was before it had one",
       execute(umask=None))
refuse("exec-with-a-mode-for-a-umask", "exec", "range", "umask", "more than permissions",
       execute(umask=uint(0o1000)))
refuse("unknown-restriction", "exec", "reserved", "restrictions", "a bit without a meaning", execute(restrictions=uint(8)))
refuse("65-paths", "exec", "too-long", "paths", "one more than there may be", execute(
    restrictions=uint(4), paths=array([text("/p")] * 65)))
refuse("user-of-nobody", "exec", "range", "user", "the id that is none", execute(has_user=TRUE, user=uint(4294967295)))
refuse("relay-without-a-profile", "relay", "too-short", "profile", "empty", relay(profile=text("")))
refuse("relay-of-a-short-address", "relay", "too-short", "address", "4 bytes: it is not mapped", relay(address=binary(bytes(4))))
refuse("relay-port-over-its-bound", "relay", "range", "port", "there is no such port", relay(port=uint(65536)))
refuse("relay-of-a-socket-with-a-nul", "relay", "embedded-nul", "socket", "it would end there", relay(socket=text("/run/a\0b")))
refuse("mount-in-nothing", "mount", "too-short", "sandbox", "one has to be named", mount(sandbox=text("")))
refuse("mount-that-unmounts-126", "mount", "too-long", "unmount", "one more than there may be", mount(unmount=array([text("/m")] * 126)))
refuse("mount-that-refreshes-126", "mount", "too-long", "refresh", "one more than there may be", mount(refresh=array([text("/m")] * 126)))
refuse("mount-with-a-nul", "mount", "embedded-nul", "unmount[0]", "it would end there", mount(unmount=array([text("/m\0n")])))
refuse("mount-unknown-share-mode", "mount", "range", "shares[0].mode", "a mode that is not in the table", mount(shares=array([share(mode=uint(5))])))
refuse("create-with-129-masks", "create", "too-long", "masks", "one more than there may be", create(masks=array([text("/m")] * 129)))
refuse("create-without-its-last-field", "create", "missing-field", "read_only", "what a create was before it had one", create(read_only=None))
refuse("mount-with-129-read-only", "mount", "too-long", "read_only", "one more than there may be", mount(read_only=array([text("/m")] * 129)))
refuse("mask-over-its-bound", "create", "too-long", "masks[0]", "a byte more than a path has", create(masks=array([text("/" + "m" * 4095)])))
refuse("connect-to-port-0", "connect", "range", "port", "none has it", connect(port=ZERO))
refuse("connect-unknown-family", "connect", "range", "family", "there are two", connect(family=uint(2)))
refuse("unknown-query", "query", "range", "action", "an action that is not in the table", query(action=uint(9)))
refuse("follow-of-more-than-is-kept", "query", "range", "output_bytes[1]", "one byte more than can be kept",
       query(action=uint(5), command=ONE, output_bytes=array([ZERO, uint((16 << 20) + 1)])))
refuse("signal-over-its-bound", "query", "range", "signal", "there are 64", query(action=uint(8), command=ONE, signal=uint(65)))
refuse("command-without-an-id", "commands", "range", "commands[0].id", "ids begin with 1",
       commands(commands=array([command(id=ZERO)])))
refuse("unknown-execution-state", "commands", "range", "commands[0].state", "a state that is not in the table",
       commands(commands=array([command(state=uint(6))])))
refuse("third-output", "commands", "reserved", "commands[0].captured", "there are two", commands(
    commands=array([command(captured=uint(4))])))
refuse("17-commands", "commands", "too-long", "commands", "one more than there may be", commands(commands=array([command()] * 17)))
refuse("17-pieces-of-metadata", "exec", "too-long", "metadata", "one more than there may be", execute(
    metadata=array([text("k%02d=v" % i) for i in range(17)])))
refuse("long-metadata", "exec", "too-long", "metadata[0]", "a byte more than there may be", execute(metadata=array([text("k=" + "v" * 1023)])))
refuse("metadata-without-a-key", "exec", "range", "metadata[0]", "the key is empty", execute(metadata=array([text("=v")])))
refuse("metadata-that-is-not-utf-8", "exec", "not-utf8", "metadata[0]", "a byte that begins nothing", execute(metadata=array([text(b"k=\xff")])))
refuse("status-in-a-command", "commands", "range", "commands[0].result.status", "a status is one byte", commands(
    commands=array([command(result=exited(status=uint(256)))])))
refuse("timeout-over-thirty-days", "exec", "range", "timeout_ms", "30 days and a millisecond",
       execute(timeout_ms=uint(2592000001)))
refuse("id-zero", "started", "range", "command", "ids begin with 1", started(command=ZERO))
refuse("pid-zero", "started", "range", "pid", "no process has it", started(pid=ZERO))
refuse("exit-status-256", "exited", "range", "status", "a status is one byte", exited(status=uint(256)))
refuse("signal-zero", "signal", "range", "signal", "a probe is not a signal", signal(signal=ZERO))
refuse("signal-65", "signal", "range", "signal", "more than Linux has", signal(signal=uint(65)))
refuse("command-zero", "signal", "range", "command", "sequences begin with 1", signal(command=ZERO))
refuse("unknown-limit-bit", "exited", "reserved", "limits_hit", "a bit without a meaning", exited(limits_hit=uint(16)))
refuse("profile-with-a-slash", "create", "range", "profile", "a name is not a path", create(profile=text("../default")))
refuse("profile-in-capitals", "create", "range", "profile", "lower case only", create(profile=text("Default")))
refuse("profile-begins-with-a-dot", "create", "range", "profile", "a letter or digit comes first",
       create(profile=text(".default")))
refuse("hostname-with-a-space", "create", "range", "hostname", "letters, digits, dot and hyphen",
       create(hostname=text("my box")))
refuse("id-in-capitals", "created", "range", "id", "lower case only", created(id=text("0123456789ABCDEF")))
refuse("variable-without-equals", "exec", "range", "env[0]", "NAME=VALUE", execute(env=array([text("PATH")])))
refuse("variable-without-a-name", "exec", "range", "env[1]", "the name is empty",
       execute(env=array([text("A=1"), text("=1")])))

# --- refused: texts and lists

refuse("empty-profile", "create", "too-short", "profile", "a profile has a name", create(profile=text("")))
refuse("number-for-a-terminal", "exec", "wrong-type", "terminal", "0 is not false", execute(terminal=ZERO))
refuse("rows-over-their-bound", "exec", "range", "rows", "one more than 16 bits hold", execute(
    terminal=TRUE, rows=uint(65536), columns=uint(80)))
refuse("columns-that-are-negative", "exec", "range", "columns", "-1 columns", execute(
    terminal=TRUE, rows=uint(24), columns=b"\xff"))
refuse("exec-without-its-terminal", "exec", "missing-field", "terminal", "what an exec was before it had one", execute(
    terminal=None, rows=None, columns=None, capture_bytes=None, restrictions=None, paths=None, has_user=None, user=None,
    memory_bytes=None, pids=None))
refuse("no-arguments", "exec", "too-short", "argv", "a command has a name", execute(argv=array([])))
refuse("two-of-stdio", "exec", "too-short", "stdio", "there are three", execute(stdio=array([ZERO, ZERO])))
refuse("four-of-stdio", "exec", "too-long", "stdio", "there are three", execute(stdio=array([ZERO] * 4)))
refuse("short-id", "created", "too-short", "id", "15 of 16 digits", created(id=text("0123456789abcde")))
refuse("short-challenge", "hello", "too-short", "challenge", "31 of 32 bytes", hello(challenge=binary(b"c" * 31)))
refuse("long-challenge", "hello", "too-long", "challenge", "33 of 32 bytes", hello(challenge=binary(b"c" * 33)))
refuse("long-profile", "create", "too-long", "profile", "65 bytes", create(profile=text("p" * 65)))
refuse("long-hostname", "create", "too-long", "hostname", "65 bytes", create(hostname=text("h" * 65)))
refuse("long-target", "create", "too-long", "shares[0].target", "4096 bytes: with its NUL more than PATH_MAX",
       create(shares=array([share(target=text("/" + "d" * 4095))])))
refuse("long-directory", "exec", "too-long", "cwd", "4096 bytes", execute(cwd=text("/" + "d" * 4095)))
refuse("long-error-message", "error", "too-long", "message", "256 bytes", error(message=text("m" * 256)))
refuse("long-error-mend", "error", "too-long", "mend", "256 bytes", error(mend=text("m" * 256)))
refuse("long-error-file", "error", "too-long", "file", "256 bytes", error(file=text("f" * 256)))
refuse("error-without-allowed", "error", "missing-field", "allowed", "a field is left out", error(allowed=None))
refuse("126-shares", "create", "too-long", "shares", "one more than there may be",
       create(shares=array([share()] * 126)))
refuse("ten-thousand-mounts", "create", "too-long", "shares", "they are counted before they are looked at",
       create(shares=array([ZERO] * 10000)))
refuse("33-tmpfs", "create", "too-long", "tmpfs", "one more than there may be", create(tmpfs=array([tmpfs()] * 33)))
refuse("4097-arguments", "exec", "too-long", "argv", "one more than there may be", execute(argv=array([text("")] * 4097)))
refuse("sixty-thousand-arguments", "exec", "too-long", "argv", "more values than any message has",
       execute(argv=array([text("")] * 60000)))
refuse("2049-variables", "exec", "too-long", "env", "one more than there may be",
       execute(env=array([text("A=")] * 2049)))
refuse("nul-in-a-target", "create", "embedded-nul", "shares[0].target", "what follows the NUL would be lost",
       create(shares=array([share(target=text("/a\x00/../b"))])))
refuse("nul-at-the-end-of-an-argument", "exec", "embedded-nul", "argv[0]", "the NUL is not part of a text",
       execute(argv=array([text("true\x00")])))
refuse("overlong-slash", "create", "not-utf8", "shares[0].target", "a slash in two bytes",
       create(shares=array([share(target=text(b"/a\xc0\xaf"))])))
refuse("lone-continuation-byte", "exec", "not-utf8", "argv[0]", "0x80 begins nothing",
       execute(argv=array([text(b"\x80")])))
refuse("cut-character", "exec", "not-utf8", "argv[0]", "two bytes of three", execute(argv=array([text(b"\xe2\x82")])))
refuse("surrogate", "exec", "not-utf8", "cwd", "U+D800 is no character", execute(cwd=text(b"/\xed\xa0\x80")))
refuse("beyond-unicode", "exec", "not-utf8", "env[0]", "U+110000 is no character",
       execute(env=array([text(b"A=\xf4\x90\x80\x80")])))
refuse("latin-1", "error", "not-utf8", "message", "an e acute in one byte", error(message=text(b"caf\xe9")))

# --- refused: files

refuse("file-path-with-a-nul", "file", "embedded-nul", "path", "what follows the NUL would be lost", file(path=binary(b"/a\x00b")))
refuse("file-path-too-long", "file", "too-long", "path", "4096 bytes", file(path=binary(b"/" + b"d" * 4095)))
refuse("file-path-as-text", "file", "wrong-type", "path", "a path is bytes", file(path=text("/a")))
refuse("file-unknown-operation", "file", "range", "operation", "an eleventh operation", file(operation=uint(11)))
refuse("file-unknown-flag", "file", "reserved", "flags", "a bit without a meaning", file(flags=uint(512)))
refuse("file-set-id-mode", "file", "range", "mode", "set-id bits are not to be asked for", file(mode=uint(0o4755)))
refuse("file-path-with-a-wide-header", "file", "not-canonical", "path", "2 bytes behind a bin 16 header", file(path=b"\xc5\x00\x02/a"))
refuse("file-entries-none", "file_entries", "too-short", "entries", "nothing to tell is not told", file_entries(entries=array([])))
refuse("file-entries-65", "file_entries", "too-long", "entries", "one more than there may be", file_entries(entries=array([file_entry()] * 65)))
refuse("file-entry-without-a-name", "file_entries", "too-short", "entries[0].name", "a file has a name",
       file_entries(entries=array([file_entry(name=binary(b""))])))
refuse("file-entry-name-too-long", "file_entries", "too-long", "entries[0].name", "256 bytes",
       file_entries(entries=array([file_entry(name=binary(b"n" * 256))])))
refuse("file-entry-unknown-kind", "file_entries", "range", "entries[0].kind", "a kind that Linux does not have",
       file_entries(entries=array([file_entry(kind=uint(8))])))
refuse("file-entry-second-of-nanoseconds", "file_entries", "range", "entries[0].mtime_ns", "10^9 of them are a second",
       file_entries(entries=array([file_entry(mtime_ns=uint(1000000000))])))
refuse("file-done-negative", "file_done", "range", "bytes", "2^63", file_done(bytes=uint(1 << 63)))

# --- refused: another spelling of the same value

refuse("number-in-two-bytes", "ended", "not-canonical", "reason", "0 as uint 8", ended(reason=b"\xcc\x00"))
refuse("number-in-nine-bytes", "started", "not-canonical", "pid", "2 as uint 64",
       started(pid=b"\xcf" + struct.pack(">Q", 2)))
refuse("number-as-signed", "started", "not-canonical", "pid", "2 as int 8", started(pid=b"\xd0\x02"))
refuse("large-number-as-signed", "exited", "not-canonical", "wall_us", "1500 as int 16", exited(wall_us=b"\xd1\x05\xdc"))
refuse("text-with-a-wide-header", "create", "not-canonical", "profile", "7 bytes behind a str 8 header",
       create(profile=b"\xd9\x07default"))
refuse("empty-text-with-a-wide-header", "create", "not-canonical", "hostname", "no bytes behind a str 32 header",
       create(hostname=b"\xdb\x00\x00\x00\x00"))
refuse("key-with-a-wide-header", "ended", "not-canonical", "reason", "a field's name behind a str 8 header",
       b"\x81\xd9\x06reason\x00")
refuse("list-with-a-wide-header", "create", "not-canonical", "shares", "no items behind an array 16 header",
       create(shares=b"\xdc\x00\x00"))
refuse("body-with-a-wide-header", "ended", "not-canonical", None, "one pair behind a map 16 header",
       b"\xde\x00\x01" + text("reason") + ZERO)
refuse("binary-with-a-wide-header", "hello", "not-canonical", "challenge", "32 bytes behind a bin 16 header",
       hello(challenge=b"\xc5\x00\x20" + b"c" * 32))
refuse("nested-wide-number", "create", "not-canonical", "shares[1].fd", "in the second share",
       create(shares=array([share(), share(fd=b"\xcc\x01")])))

# --- refused: packets

refuse("packet-empty", "packet", "truncated", None, "no byte at all", b"")
refuse("packet-of-three-bytes", "packet", "truncated", None, "not even the magic", b"YET")
refuse("packet-cut-in-its-header", "packet", "truncated", None, "19 of 20 bytes", packet("ended", ended())[:19])
refuse("packet-cut-in-its-signature", "packet", "truncated", None, "no body, and half a signature",
       packet("create", b"", signed=b"\x00" * 50))
refuse("packet-cut-in-its-body", "packet", "truncated", None, "a byte less than stated", packet("ended", ended())[:-1])
refuse("packet-with-a-byte-more", "packet", "trailing-bytes", None, "a byte more than stated",
       packet("ended", ended()) + b"\x00")
refuse("packet-that-understates", "packet", "trailing-bytes", None, "a length of 0 with a body",
       packet("ended", ended(), length=0))
refuse("packet-of-http", "packet", "magic", None, "another protocol", b"GET / HTTP/1.1\r\n\r\n")
refuse("packet-in-lower-case", "packet", "magic", None, "the magic is exact", packet("ended", ended(), magic=b"yett"))
refuse("packet-of-version-0", "packet", "version", None, "versions begin with 1", packet("ended", ended(), version=0))
refuse("packet-of-version-2", "packet", "version", None, "not spoken yet", packet("ended", ended(), version=2))
refuse("packet-of-kind-0", "packet", "kind", None, "no message has it", packet(0, mapping([])))
refuse("packet-of-unknown-kind", "packet", "kind", None, "between the kinds in use", packet(31, mapping([])))
refuse("packet-of-keys", "packet", "kind", None, "a kind that never travels", packet("keys", mapping([("keys", array([]))])))
refuse("packet-of-swapped-kind", "packet", "kind", None, "big-endian", packet(0x2000, execute()))
refuse("packet-that-states-too-much", "packet", "size", None, "a length beyond 64 KiB", packet("ended", ended(),
                                                                                          length=65517))
refuse("packet-that-states-four-gigabytes", "packet", "size", None, "a length of 2^32 - 1",
       packet("ended", ended(), length=(1 << 32) - 1))
refuse("packet-that-states-a-signed-body-too-large", "packet", "size", None, "the signed part counts too",
       packet("create", create(), length=65536 - 20 - 103))
refuse("packet-with-a-descriptor-too-many", "packet", "fd-count", None, "one came, none was stated",
       packet("ended", ended()), fds=1)
refuse("packet-with-a-descriptor-too-few", "packet", "fd-count", None, "two were stated, one came",
       packet("create", create(shares=array([share()])), fds=2), fds=1)
refuse("packet-with-300-descriptors", "packet", "fd-count", None, "300 do not fit the byte that states them",
       packet("ended", ended(), fds=44), fds=300)


def main():
    names = [v[0] for v in VECTORS]
    assert len(set(names)) == len(names)
    for name, kind, expect, field, why, content, fds in VECTORS:
        with open(("accept-" if expect == "accept" else "refuse-") + name + ".txt", "w") as f:
            f.write(f"kind: {kind}\nexpect: {expect}\n")
            if field is not None:
                f.write(f"field: {field}\n")
            if fds is not None:
                f.write(f"fds: {fds}\n")
            f.write(f"why: {why}\n")
            # What repeats is written as BYTES*COUNT, so that a vector of 64 KiB can be read.
            for line in runs(content):
                f.write(f"hex: {line}\n")
    print(sum(v[2] == "accept" for v in VECTORS), "accepted,", sum(v[2] != "accept" for v in VECTORS), "refused")


def repeats(content, at):
    """The unit and count of the longest repetition that begins here, if it is worth a line of its own."""
    best = (1, 1)
    for unit in range(1, 33):
        count = 1
        while content[at + unit * count:at + unit * (count + 1)] == content[at:at + unit] and count < 65536:
            count += 1
        if count >= 8 and unit * count >= 96 and unit * count > best[0] * best[1]:
            best = (unit, count)
    return best


def runs(content):
    plain, out, at = bytearray(), [], 0

    def flush():
        out.extend(textwrap.wrap(plain.hex(), 96))
        plain.clear()

    while at < len(content):
        unit, count = repeats(content, at)
        if count > 1:
            flush()
            out.append(f"{content[at:at + unit].hex()}*{count}")
        else:
            plain.extend(content[at:at + 1])
        at += unit * count
    flush()
    return out


if __name__ == "__main__":
    main()
