# SPDX-License-Identifier: Apache-2.0
"""What must hold of the sources and of the linked programs: test_structure.py SOURCE_ROOT BUILD_ROOT CC…

Each check that looks for something bad is also run on something that has it, so that it is seen to find it. TAP.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import circles
import includes
import programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import yett  # pylint: disable=wrong-import-position

ROOT, BUILD, CC = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
HELPER, ROOTLESS, DECIDER, DECODER, CLOSER, POLICY, READER, READER_NSS, INIT, FILES = (os.path.join(BUILD, "helper", name) for name in
                                                        ("yett-helper", "yett-rootless", "yett-decider", "yett-decoder", "yett-closer", "yett-policy", "yett-reader", "yett-reader-nss", "yett-init", "yett-files"))
EXPLAIN, APPLY, DIFF = (os.path.join(BUILD, "helper", name) for name in ("yett-explain", "yett-apply", "yett-diff"))
AUDIT = os.path.join(BUILD, "helper", "yett-audit")
FRONT, DIALER, RESOLVER = (os.path.join(BUILD, "helper", name) for name in ("yett-front", "yett-dialer", "yett-resolver"))
YETT, LIBYETT = os.path.join(BUILD, "cli", "yett"), os.path.join(BUILD, "libclient", "libyett.so.1")
CHECKPOINT = os.path.join(BUILD, "checkpoint", "libyett-checkpoint.so.0")
WORKSPACE = os.path.join(BUILD, "workspace", "libyett-workspace.so.0")

# Inlined or not, one of these is in whatever decodes msgpack.
DECODES = re.compile(r"^(message_decode|msgpack_unpack|msgpack_zone|template_execute|template_callback)")

# What makes text of a plan, or JSON of anything.
PRINTS = re.compile(r"^(plan_print|json_|open_memstream$|fopencookie$)")

# What reads the policy's text, makes filters of it, and asks for accounts.
COMPILES = re.compile(r"^(cfg_|seccomp_|filter_emit$|parse_text|settings_|fill_(section|clear)|compile$|check_compiled|policy_builtin_text|get(pw|gr)nam(_r)?$)")

# What reads a user's own keys, and asks who the user is.
LOOKS_UP = re.compile(r"^(own_keys_|f?get(pw|gr|sp)(uid|gid|nam|ent)(_r)?$|getgrouplist$|initgroups$)")

# What a program does that builds sandboxes. The decoder must not even have the code for it.
OURS = re.compile(r"^(privilege_|setup_|supervisor_|monitor_|listener_|policy_|authorize|template_start|identity_|share_(start|check)$|forker_|build_run$|attach_|cgroup_|reserve_"
                  r"|crypto_sign|cfg_|capng_|seccomp_load)")
PRIVILEGED = re.compile(r"^(privilege_|setup_|supervisor_|monitor_|listener_|policy_load|authorize|template_start|identity_|share_(start|check)$|forker_|cgroup_|reserve_|spawn$)")
BUILDS = re.compile(OURS.pattern + r"|^(setns|unshare|mount|pivot_root|open_tree|move_mount|execve|fork|socket|open64$|openat64$)")

# What the decider asks its monitor for, and may not be able to do itself.
OF_THE_HELPER = re.compile(r"^(privilege_|setup_|supervisors?_|monitor_|listener_|policy_load$|template_start|identity_|share_(start|check)$|forker_"
                           r"|cgroup_|reserve_|registry_|capng_|keys_find$|own_keys_)")

# What judges a request, and what proves who asked.
DECIDES = re.compile(r"^(verify_|authorize|planning_|manage_(decide|handle|find)|connection_|requests_|sandboxes_|decoder_|fit_plan$|key_text$|plan_add_"
                     r"|crypto_|sodium_|randombytes)")

# What only an ordinary user's helper does, and what only root's.
WITHOUT_ROOT = re.compile(r"^(rootless_|userns_|builtin_image)")
OF_ROOT = re.compile(r"^(setuid_|listener_|admission_|closer_|notify_(open|send))")

# What a function without input and output may call, besides what this project defines.
PURE_CALLS = re.compile(r"^(__stack_chk_fail|__[a-z]+_chk|mem[a-z]+|str[a-z]+|qsort(_r)?|bsearch|sodium_bin2base64|free|malloc|calloc|realloc|abort|__assert_fail"
                        r"|sn?printf|vsnprintf|fprintf|fputc|fputs|fwrite|ferror|open_memstream|fclose|__errno_location"
                        r"|__(asan|ubsan|lsan|sanitizer)_.*|_GLOBAL_OFFSET_TABLE_|__start_.*|__stop_.*)$")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


class Programs(unittest.TestCase):
    @staticmethod
    def is_sanitized():
        return any(re.match("__(asan|ubsan)_", name) for name in programs.defined(DECIDER) | programs.undefined(DECIDER))

    def of_helper(self):
        """What root's program defines and calls, as far as it is ours. The C library is in it, too, with what nobody calls."""
        return set().union(*(programs.defined(one) | programs.undefined(one) for one in self.linked("helper/yett-helper") if "no_names" not in one))

    @staticmethod
    def linked(program):
        """The object files that are compiled for one program."""
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
            return [os.path.join(BUILD, command["output"]) for command in json.load(file) if command["output"].startswith(program + ".p/")]

    def test_the_helper_has_no_code_that_decodes_a_client_s_message(self):
        found = sorted(name for name in programs.defined(HELPER) if DECODES.match(name))
        self.assertEqual(found, [])

    def test_no_object_of_a_decoder_is_linked_into_the_helper(self):
        for source in ("protocol/decode.c", "programs/decide/decoder/main.c"):
            made = programs.objects(BUILD, os.path.join(ROOT, source))
            self.assertNotIn("helper/yett-helper", made, source)
            self.assertIn("helper/yett-decoder", made, source)

    def test_who_hears_and_answers_clients_knows_no_other_messages(self):
        for source in ("protocol/schema_all.c", "protocol/schema_command.c", "protocol/schema_file.c"):
            made = programs.objects(BUILD, os.path.join(ROOT, source))
            for program in ("helper/yett-helper", "helper/yett-decider", "helper/yett-decoder", "helper/yett-closer"):
                self.assertNotIn(program, made, source)
            self.assertIn("helper/yett-init", made, source)

    def test_the_helper_encodes_no_message(self):
        for source in ("schema.c", "schema_helper.c", "schema_few.c", "encode.c", "envelope.c", "frame_message.c", "message.c"):
            made = programs.objects(BUILD, os.path.join(ROOT, "protocol", source))
            self.assertNotIn("helper/yett-helper", made, source)
            self.assertIn("helper/yett-decider", made, source)

    def test_the_helper_has_no_code_that_prints_a_plan(self):
        self.assertEqual(sorted(name for name in self.of_helper() if PRINTS.match(name)), [])
        for source in ("programs/decide/decoder/plan_print.c", "programs/decide/decoder/plan_json.c", "base/json.c"):
            made = programs.objects(BUILD, os.path.join(ROOT, source))
            self.assertNotIn("helper/yett-helper", made, source)
            self.assertIn("helper/yett-decoder", made, source)

    def test_the_search_for_printing_code_finds_it_in_the_decoder(self):
        self.assertLessEqual({"plan_print", "plan_print_json", "json_open"}, {name for name in programs.defined(DECODER) if PRINTS.match(name)})

    def test_the_search_for_decoding_code_finds_it_in_the_decoder(self):
        self.assertTrue(any(DECODES.match(name) for name in programs.defined(DECODER)))

    def test_the_decoder_has_nothing_of_the_privileged_side(self):
        own = [programs.objects(BUILD, os.path.join(ROOT, path))["helper/yett-decoder"] for path in
               ("programs/decide/decoder/main.c", "programs/decide/decoder/plan_print.c", "programs/decide/decoder/plan_json.c", "base/json.c", "protocol/decode.c")]
        called = sorted(name for path in own for name in programs.undefined(path) if BUILDS.match(name))
        self.assertEqual(called, [])
        # It is linked statically: the C library's functions are in it whether or not they are called, but none of ours.
        self.assertEqual(sorted(name for name in programs.defined(DECODER) if OURS.match(name)), [])

    def test_the_decider_decodes_and_prints_nothing(self):
        self.assertEqual(sorted(name for name in programs.defined(DECIDER) if DECODES.match(name) or name.startswith(("plan_print", "json_"))), [])
        for source in ("protocol/decode.c", "programs/decide/decoder/main.c", "programs/decide/decoder/plan_print.c", "base/json.c"):
            self.assertNotIn("helper/yett-decider", programs.objects(BUILD, os.path.join(ROOT, source)), source)

    def test_the_decider_has_nothing_of_what_root_does(self):
        self.assertEqual(sorted(name for name in programs.defined(DECIDER) if OF_THE_HELPER.match(name)), [])
        self.assertLessEqual({"supervisors_begin", "monitor_serve", "keys_find"},
                             {name for name in programs.defined(HELPER) if OF_THE_HELPER.match(name)})
        # It starts its decoder before it has given root up, and calls nothing by itself that opens, makes or ends anything.
        called = {name for path in self.linked("helper/yett-decider") if "programs_decide_decider" in path or "programs/decide/decider" in path
                  for name in programs.undefined(path)}
        self.assertEqual(sorted(name for name in called if BUILDS.match(name) and not OURS.match(name)),
                         ["socketpair"])  # an event stream of a client's
        self.assertLessEqual({"program_start", "chroot"}, called)

    def test_what_decides_is_in_the_decider_and_not_in_the_helper(self):
        sources = {path for path in includes.sources(ROOT, "programs/decide/decider") if path.endswith(".c")}
        self.assertGreater(len(sources), 10)
        if self.is_sanitized():
            sources.remove("programs/decide/decider/musl.c")  # sanitizers want the host's C library
        for path in sources:
            made = programs.objects(BUILD, os.path.join(ROOT, path))
            self.assertNotIn("helper/yett-helper", made, path)
            self.assertIn("helper/yett-decider", made, path)
        self.assertEqual(sorted(name for name in self.of_helper() if DECIDES.match(name)), [])
        # libsodium is linked statically, but where sanitizers want the host's C library
        self.assertLessEqual({"verify_request", "authorize", "planning_make", "manage_handle", "crypto_sign_verify_detached", "plan_add_step"},
                             {name for name in programs.defined(DECIDER) | programs.undefined(DECIDER) if DECIDES.match(name)})

    def test_no_cryptography_is_linked_into_a_program_of_root(self):
        cryptography = re.compile(r"lib(sodium|crypto|ssl|gcrypt)\b")
        for path in (HELPER, ROOTLESS):
            self.assertEqual([name for name in programs.libraries(path) if cryptography.match(name)], [], path)
        self.assertTrue(any(cryptography.match(name) for name in programs.libraries(EXPLAIN)))

    def test_the_closer_has_nothing_of_the_privileged_side_and_decodes_nothing(self):
        self.assertEqual(sorted(name for name in programs.defined(CLOSER) if OURS.match(name) or DECODES.match(name)), [])
        made = programs.objects(BUILD, os.path.join(ROOT, "programs/closer/main.c"))
        self.assertEqual(list(made), ["helper/yett-closer"])

    def test_the_audit_has_nothing_by_which_it_could_open_cut_or_remove_a_file_once_it_serves(self):
        called = {name for path in self.linked("helper/yett-audit") if not re.search(r"(main|open)\.c\.o$|lockdown|base_fd", path) for name in programs.undefined(path)}
        self.assertLessEqual({"write", "fdatasync", "pread", "pwrite"}, {re.sub("64$", "", name) for name in called})
        self.assertEqual(sorted(name for name in called if re.match(r"^(open(at)?(64)?|f(dopen|open)|f?truncate(64)?|.*fallocate(64)?|mmap(64)?|mremap|mprotect|unlink(at)?|rename(at2?)?|flock|"
                                                                    r"socket|connect|bind|listen|v?fork|clone|exec.*|posix_spawn.*)$", name)), [])
        self.assertEqual(sorted(name for name in programs.defined(AUDIT) if OURS.match(name) or DECODES.match(name)), [])

    def test_the_front_has_nothing_by_which_it_could_connect(self):
        own = [path for path in self.linked("helper/yett-front")]
        self.assertGreater(len(own), 10)
        called = {name for path in own for name in programs.undefined(path)}
        self.assertEqual(sorted(name for name in called if re.match(r"^(socket|connect|bind|listen|open(at)?(64)?|f(dopen|open)|v?fork|clone|exec.*|posix_spawn.*)$", name)), [])
        self.assertLessEqual({"accept4", "splice", "lockdown_filter"}, called)
        self.assertEqual(sorted(name for name in programs.defined(FRONT) if OURS.match(name) or DECODES.match(name)), [])

    def test_what_is_read_of_a_user_is_read_by_the_reader_alone(self):
        for path in (READER, READER_NSS):
            self.assertEqual(sorted(name for name in programs.defined(path) if OURS.match(name) or DECODES.match(name)), [])
            self.assertLessEqual({"own_keys_find", "getpwuid", "getgrgid"}, programs.defined(path) | programs.undefined(path))
        self.assertEqual([name for name in programs.libraries(READER_NSS) if not re.match(r"lib(c|asan|ubsan)\b", name)], [])
        self.assertEqual(sorted(name for name in self.of_helper() if LOOKS_UP.match(name)), [])
        self.assertTrue(all(LOOKS_UP.match(name) for name in ("own_keys_find", "getpwuid", "getgrgid", "fgetpwent")))
        self.assertNotIn("helper/yett-helper", programs.objects(BUILD, os.path.join(ROOT, "programs/decide/reader/own_keys.c")))

    def test_the_search_for_privileged_code_finds_it_in_the_helper(self):
        self.assertTrue({"privilege_take", "setup_build", "supervisor_start"} <= {n for n in programs.defined(HELPER) if BUILDS.match(n)})

    def test_the_helper_has_no_code_that_reads_or_compiles_the_policy_s_text(self):
        self.assertEqual(sorted(name for name in self.of_helper() if COMPILES.match(name)), [])
        self.assertEqual([name for name in programs.libraries(HELPER) if re.match(r"lib(confuse|seccomp)\b", name)], [])
        for path in sorted(includes.sources(ROOT, "programs/decide/policy")):
            self.assertNotIn("helper/yett-helper", programs.objects(BUILD, os.path.join(ROOT, path)), path)

    def test_the_search_for_compiling_code_finds_it_in_yett_policy(self):
        found = {name for name in programs.defined(POLICY) | programs.undefined(POLICY) if COMPILES.match(name)}
        self.assertLessEqual({"parse_text", "compile", "cfg_parse_fp", "seccomp_compile", "filter_emit", "seccomp_syscall_resolve_name", "getpwnam"}, found)
        self.assertEqual(len([name for name in programs.libraries(POLICY) if re.match(r"lib(confuse|seccomp)\b", name)]), 2)

    def test_the_helper_has_nothing_that_works_without_root(self):
        for source in ("programs/rootless/rootless.c", "programs/rootless/start_own.c", "base/userns.c"):
            made = programs.objects(BUILD, os.path.join(ROOT, source))
            self.assertNotIn("helper/yett-helper", made, source)
            self.assertIn("helper/yett-rootless", made, source)
        self.assertEqual(sorted(name for name in programs.defined(HELPER) if WITHOUT_ROOT.match(name)), [])

    def test_the_helper_without_root_has_none_of_root_s_ways_to_be_started(self):
        self.assertEqual(sorted(name for name in programs.defined(ROOTLESS) if OF_ROOT.match(name)), [])

    def test_the_search_for_what_one_of_the_two_has_finds_it_in_the_other(self):
        self.assertLessEqual({"rootless_enter", "userns_find_rule", "builtin_image"},
                             {name for name in programs.defined(ROOTLESS) if WITHOUT_ROOT.match(name)})
        self.assertLessEqual({"setuid_cleanse", "listener_run"}, {name for name in programs.defined(HELPER) if OF_ROOT.match(name)})

    def test_the_compiler_of_the_policy_has_nothing_of_the_privileged_side(self):
        self.assertEqual(sorted(name for name in programs.defined(POLICY) if PRIVILEGED.match(name)), [])
        self.assertTrue(any(PRIVILEGED.match(name) for name in programs.defined(HELPER)))

    def test_the_pure_parts_call_nothing_with_input_or_output(self):
        for source in [path for path in includes.PURE if path.endswith(".c")]:
            made = programs.objects(BUILD, os.path.join(ROOT, source))
            program = next(name for name in ("helper/yett-helper", "helper/yett-decider") if name in made)
            path, own = made[program], set().union(*(programs.defined(one) for one in self.linked(program)))
            called = sorted(name for name in programs.undefined(path) if name not in own and not PURE_CALLS.match(name))
            self.assertEqual(called, [], source)

    def test_the_search_for_calls_finds_them_in_the_monitor(self):
        path = programs.objects(BUILD, os.path.join(ROOT, "helper/monitor/monitor.c"))["helper/yett-helper"]
        self.assertTrue(any(not PURE_CALLS.match(name) for name in programs.undefined(path) - set().union(*(programs.defined(one) for one in self.linked("helper/yett-helper")))))

    def test_what_runs_inside_and_what_runs_as_root_is_static(self):
        for path in (INIT, FILES) if self.is_sanitized() else (INIT, FILES, HELPER, ROOTLESS):
            self.assertFalse(programs.needs_interpreter(path), path)
        self.assertTrue(programs.needs_interpreter(POLICY))

    def test_every_program_is_hardened(self):
        for path in (HELPER, ROOTLESS, DECIDER, DECODER, CLOSER, POLICY, READER, READER_NSS, EXPLAIN, INIT, FILES, APPLY, DIFF, FRONT, DIALER, RESOLVER, YETT):
            self.assertEqual(programs.is_hardened(path), [], path)

    def test_a_program_that_is_not_hardened_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "x.c"), os.path.join(folder, "x")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int main(void) { return 0; }\n")
            subprocess.run([*CC, "-o", program, source, "-no-pie", "-fno-pie", "-fno-stack-protector", "-Wl,-z,norelro", "-Wl,-z,lazy",
                            "-Wl,-z,execstack"], check=True, capture_output=True)
            self.assertEqual(len(programs.is_hardened(program)), 5)

    # (library, its header, the version of its symbols, which is one itself, the list of its package)
    LIBRARIES = ((LIBYETT, "libclient/yett.h", "YETT_1", "libyett1.symbols"),
                 (CHECKPOINT, "checkpoint/yett-checkpoint.h", "YETT_CHECKPOINT_0", "libyett-checkpoint0.symbols"),
                 (WORKSPACE, "workspace/yett-workspace.h", "YETT_WORKSPACE_0", "libyett-workspace0.symbols"))

    def test_each_library_exports_exactly_what_its_header_declares(self):
        for library, header, version, _ in self.LIBRARIES:
            declared = set(re.findall(r"^YETT_API [^;{]*?(yett_\w+)\(", read(header), re.M))
            self.assertGreater(len(declared), 10)
            self.assertEqual(programs.exported(library) - {version}, declared)

    def test_the_package_of_each_library_lists_all_that_it_exports(self):
        for library, _, version, symbols in self.LIBRARIES:
            listed = re.findall(rf"^ (yett_\w+)@{version} ", read("dist", "debian", symbols), re.M)
            self.assertEqual(listed, sorted(programs.exported(library) - {version}))

    def test_the_library_of_checkpoints_needs_neither_libyett_nor_a_helper_and_the_command_waits_for_neither_it_nor_sqlite(self):
        self.assertEqual(sorted(name for name in programs.libraries(CHECKPOINT) if not name.startswith(("libasan.", "libubsan."))), ["libc.so.6", "libsqlite3.so.0"])
        self.assertEqual([name for name in programs.libraries(YETT) if "sqlite" in name or "checkpoint" in name], [])
        self.assertEqual([name for name in self.of_helper() if name.startswith("sqlite3_")], [])
        self.assertTrue(any(name.startswith("sqlite3_") for name in programs.undefined(CHECKPOINT)))

    def test_the_libraries_of_sandboxes_and_of_workspaces_need_not_each_other_and_the_command_loads_neither(self):
        ours = re.compile(r"^libyett")
        for library in (LIBYETT, WORKSPACE, YETT):
            self.assertEqual([name for name in programs.libraries(library) if ours.match(name)], [], library)
        self.assertEqual([name for name in programs.defined(LIBYETT) if re.match(r"^(work|snapshot|layers|pending|cover)_|^yett_(works?|snapshots?)_", name)], [])
        self.assertTrue(any(name.startswith("work_") for name in programs.defined(YETT)))
        self.assertEqual([name for name in programs.defined(WORKSPACE) if re.match(r"^(channel|message|connection|start)_|^yett_(connect|sandbox)", name)], [])

    def test_only_yett_files_reads_archives(self):
        self.assertTrue(any(name.startswith("archive_read_") for name in programs.defined(FILES)))
        for path in (HELPER, DECIDER, DECODER, INIT, LIBYETT):
            self.assertEqual([name for name in programs.defined(path) | programs.undefined(path) if re.match(r"archive_(read|write|entry)_", name)], [], path)
        # and of archives only tar, which nothing compresses
        self.assertEqual([name for name in programs.defined(FILES)
                          if re.match(r"archive_read_support_(filter|format_(?!(gnu)?tar$))|BZ2_|lzma_|ZSTD_|inflate|xml", name)], [])

    def test_each_library_has_the_soname_of_its_first_interface(self):
        self.assertEqual(programs.soname(LIBYETT), "libyett.so.1")
        self.assertEqual(programs.soname(CHECKPOINT), "libyett-checkpoint.so.0")
        self.assertEqual(programs.soname(WORKSPACE), "libyett-workspace.so.0")


class Sources(unittest.TestCase):
    @staticmethod
    def unformatted(root):
        """The sources in C below `root` that clang-format would write otherwise."""
        sources = [str(path) for path in sorted(pathlib.Path(root).rglob("*.[ch]")) if not path.relative_to(root).parts[0].startswith((".", "build"))]
        done = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *sources], check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not sources:
            raise AssertionError(done.stderr)
        return sorted({os.path.relpath(line.split(":")[0], root) for line in done.stderr.splitlines() if " error: " in line})

    def test_each_source_names_its_licence(self):
        endings = (".c", ".h", ".py", ".js", ".mjs", ".css", "meson.build")
        sources = [path for path in sorted(pathlib.Path(ROOT).rglob("*")) if path.name.endswith(endings) and
                   not path.relative_to(ROOT).parts[0].startswith((".", "build")) and path.is_file()]
        self.assertGreater(len(sources), 1000)
        self.assertEqual([str(path) for path in sources if "SPDX-License-Identifier: Apache-2.0" not in path.read_text(encoding="utf-8")[:200]], [])

    def test_the_sources_are_as_clang_format_writes_them(self):
        self.assertEqual(self.unformatted(ROOT), [])

    def test_a_source_that_is_written_otherwise_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(ROOT, ".clang-format"), folder)
            for name, text in (("good.c", "int a;\n"), ("bad.c", "int  a ;\n")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(self.unformatted(folder), ["bad.c"])

    def test_dependencies_point_one_way(self):
        self.assertEqual(includes.wrong_directions(ROOT), [])

    def test_a_dependency_that_points_the_other_way_is_found(self):
        wrong = {"helper/setup/x.c": "helper/monitor/monitor.h", "cli/x.c": "libclient/channel.h", "cli/run/x.c": "cli/changes/diff.h", "cli/sandboxes/x.c": "cli/agents/checkpoint.h", "cli/files/x.c": "checkpoint/yett-checkpoint.h",
                 "cli/network/x.c": "programs/audit/verify.h", "cli/changes/x.c": "cli/admin/doctor.h", "cli/agents/x.c": "checkpoint/store.h", "checkpoint/x.c": "libclient/yett.h", "cli/y.c": "checkpoint/store.h", "programs/inside/init/x.c": "helper/setup/setup.h",
                 "cli/z.c": "workspace/store/work.h", "workspace/store/x.c": "libclient/channel.h", "libclient/y.c": "workspace/yett-workspace.h", "workspace/store/y.c": "workspace/diff/diff.h",
                 "protocol/x.c": "libclient/yett.h", "helper/policy/x.h": "helper/setup/setup.h", "libclient/x.c": "helper/plan/plan.h", "helper/monitor/x.c": "programs/decide/decider/ask.h",
                 "helper/plan/x.c": "protocol/encode.h", "programs/decide/decider/x.c": "helper/monitor/monitor.h", "programs/decide/decider/y.c": "helper/setup/setup.h"}
        with tempfile.TemporaryDirectory() as folder:
            for path, header in wrong.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(f'#include "{header}"\n#include <stdio.h>\n')
            self.assertEqual(sorted(includes.wrong_directions(folder)), sorted(f"{path} includes {header}" for path, header in wrong.items()))

    def test_no_files_include_each_other_in_a_circle(self):
        self.assertEqual(circles.report(ROOT), [])

    @staticmethod
    def circles_of(files):
        """The circles in a source tree with these files: {path: headers that it includes}."""
        with tempfile.TemporaryDirectory() as folder:
            for path, headers in files.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write("".join(f'#include "{header}"\n' for header in headers))
            return circles.circles(circles.dependencies(folder))

    def test_a_circle_is_found_whichever_of_the_files_include(self):
        self.assertEqual(self.circles_of({"cli/a.c": ["cli/b.h"], "cli/a.h": [], "cli/b.c": [], "cli/b.h": ["agent/c.h"], "agent/c.h": [],
                                          "agent/c.c": ["cli/a.h"], "cli/d.c": ["cli/a.h", "cli/b.h"]}), [["agent/c", "cli/a", "cli/b"]])
        self.assertEqual(self.circles_of({"cli/a.c": ["cli/a.h", "cli/b.h"], "cli/a.h": ["cli/b.h"], "cli/b.c": ["cli/b.h"], "cli/b.h": []}), [])

    def test_a_header_for_the_files_of_one_part_is_no_file_of_its_own(self):
        files = {"cli/a.c": ["cli/a_parts.h"], "cli/a_more.c": ["cli/a_parts.h"], "cli/a.h": [], "cli/a_parts.h": ["cli/a.h"]}
        self.assertEqual(self.circles_of(files), [])
        self.assertEqual(self.circles_of({**files, "cli/b.c": ["cli/a_parts.h"]}), [["cli/a", "cli/a_parts"]])

    def test_the_core_knows_nothing_of_agents_workspaces_checkpoints_and_the_audit_log(self):
        self.assertEqual(includes.beyond_the_core(ROOT), [])

    def test_a_core_that_knows_what_lies_beyond_it_is_found(self):
        wrong = {"libclient/x.c": '"workspace/store/work.h"', "libclient/y.c": "<yett-workspace.h>", "helper/setup/x.c": '"programs/audit/entry.h"',
                 "programs/decide/decider/x.c": '"agent/agent.h"', "programs/inside/init/x.c": '"checkpoint/yett-checkpoint.h"', "base/x.c": '"cli/work.h"'}
        with tempfile.TemporaryDirectory() as folder:
            for path, header in {**wrong, "workspace/yett-workspace.h": '"yett.h"', "libclient/z.c": '"libclient/workspace.h"'}.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(f"#include {header}\n")
            self.assertEqual(sorted(includes.beyond_the_core(folder)), sorted(f'{path} includes {header[1:-1]}' for path, header in wrong.items()))

    def test_the_pure_parts_include_no_header_for_input_or_output(self):
        self.assertEqual(includes.io_in_pure_parts(ROOT), [])
        for header in ("unistd.h", "sys/mount.h", "fcntl.h", "linux/openat2.h"):
            self.assertTrue(includes.IO_HEADER.match(header), header)

    def test_the_units_grant_the_capabilities_that_building_takes_and_no_other(self):
        table = re.search(r"static const int build\[\] = \{(.*?)\};", read("helper", "privilege", "privilege.c"), re.S).group(1)
        build = set(re.findall(r"^\s*(CAP_\w+)", table, re.M))
        self.assertIn("CAP_SYS_ADMIN", build)
        build.add("CAP_LINUX_IMMUTABLE")  # yett-audit's
        for unit in ("yett.service", "yett@.service"):
            granted = re.findall(r"^CapabilityBoundingSet=(.*)$", read("dist", "systemd", unit), re.M)
            self.assertEqual(set(" ".join(granted).split()), build, unit)

    @staticmethod
    def trusted_size(*argv):
        return subprocess.run([os.path.join(ROOT, "tools", "trusted-size"), *argv], check=False, capture_output=True, text=True)

    def test_the_privileged_code_is_no_larger_than_it_was(self):
        done = self.trusted_size(BUILD)
        self.assertEqual(done.returncode, 0, "\n" + done.stdout + done.stderr)
        # Those folders are linked into it as long as it speaks the protocol.
        self.assertRegex(done.stdout, r"(?m)^  base +[1-9]\d* .*\n(.*\n)*  protocol +[1-9]\d* ")

    def test_code_that_grew_too_large_is_found(self):
        limit = int(re.search(r"^LIMIT = (\d+)$", read("tools", "trusted-size"), re.M).group(1))
        with tempfile.TemporaryDirectory() as folder:
            # Three tokens each: the include, an "int a;", the pragma, and "char b;".
            self.make_build(folder, {"helper/x.c": '#include "base/x.h"\n' + "int a;" * ((limit - 9) // 3) + "\n/* \" */ // int\n" + ";" * (limit % 3),
                                     "base/x.h": "#pragma once\n/* of two\nlines */\nchar \\\nb;\n", "helper/not_linked.c": "int d;\n" * 100,
                                     "base/not_included.h": "int e;\n" * 100}, linked=["helper/x.c"])
            for code, expected in (("", limit), (";\n", limit + 1)):
                with open(os.path.join(folder, "base", "x.h"), "a", encoding="utf-8") as file:
                    file.write(code)
                subprocess.run(["ninja", "-C", os.path.join(folder, "build")], check=True, capture_output=True)
                done = self.trusted_size(os.path.join(folder, "build"), folder)
                self.assertRegex(done.stdout, rf"(?m)^  base +{expected - limit + 6} .*\n  helper +{limit - 6} .*\n  together +{expected} ")
                self.assertEqual(done.returncode, 0 if expected == limit else 1)

    def test_code_that_cannot_be_counted_is_not_taken_for_small(self):
        with tempfile.TemporaryDirectory() as folder:
            self.make_build(folder, {"helper/x.c": "int a;\n"}, linked=["helper/x.c"])
            done = self.trusted_size(os.path.join(folder, "build"), folder)
            self.assertEqual((done.returncode, "has to be built first" in done.stderr), (2, True), done.stderr)
            self.make_build(folder, {"helper/x.c": "int a;\n"}, linked=["helper/x.c"], library="base/libx.a")
            done = self.trusted_size(os.path.join(folder, "build"), folder)
            self.assertEqual((done.returncode, "what that holds is not known" in done.stderr), (2, True), done.stderr)

    @staticmethod
    def make_build(folder, files, linked, library=""):
        """A source tree with `files` ({path: text}), and a build of it that makes a helper of some of them; nothing is built yet."""
        objects = " ".join(path + ".o" for path in linked)
        files["build/build.ninja"] = (
            f"rule cc\n  command = {shlex.join(CC)} -MD -MF $out.d -I.. -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
            f"rule link\n  command = {shlex.join(CC)} -shared -o $out $in\n"
            + "".join(f"build {path}.o: cc ../{path}\n" for path in files if path.endswith(".c"))
            + f"build helper/yett-helper: link {objects} {library}\n")
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(text)

    def parse_apparmor(self, path):
        """What the parser says of a file of profiles; nothing is loaded."""
        parser = shutil.which("apparmor_parser", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not parser:
            self.skipTest("apparmor_parser is needed (Debian package apparmor)")
        return subprocess.run([parser, "--skip-kernel-load", "--skip-cache", "--names", "-I", os.path.join(ROOT, "apparmor"), "-I",
                               "/etc/apparmor.d", path], check=False, capture_output=True, text=True)

    def test_the_apparmor_profiles_parse_and_are_those_that_the_policy_names(self):
        self.assertEqual(self.parse_apparmor(os.path.join(ROOT, "apparmor", "yett-helper")).returncode, 0)
        done = self.parse_apparmor(os.path.join(ROOT, "apparmor", "yett-sandbox"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(done.stdout.split()), set(re.findall(r'apparmor_profile = "(.+)"', read("dist", "yett.conf"))))

    def test_a_profile_with_a_mistake_is_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".profile") as file:
            file.write("profile wrong { network of sorts, }\n")
            file.flush()
            self.assertNotEqual(self.parse_apparmor(file.name).returncode, 0)


class Vectors(unittest.TestCase):
    FOLDER = os.path.join(ROOT, "protocol", "vectors")

    @staticmethod
    def texts(folder):
        return {name: read(folder, name) for name in os.listdir(folder) if name.endswith(".txt")}

    def differences(self, there):
        """Between files {name: text} and what their generator writes, by name."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(self.FOLDER, "make.py")], check=True, capture_output=True, cwd=folder)
            made = self.texts(folder)
        self.assertGreater(len(made), 200)
        return sorted(name for name in {*there, *made} if there.get(name) != made.get(name))

    def test_they_are_those_of_their_generator(self):
        self.assertEqual(self.differences(self.texts(self.FOLDER)), [])

    def test_one_that_is_missing_changed_or_of_no_generator_is_found(self):
        there = self.texts(self.FOLDER)
        missing, changed = sorted(there)[:2]
        del there[missing]
        there[changed] = there[changed].replace("hex: ", "hex: 00", 1)
        there["refuse-what-nobody-wrote.txt"] = "kind: create\n"
        self.assertEqual(self.differences(there), sorted([missing, changed, "refuse-what-nobody-wrote.txt"]))


class Help(unittest.TestCase):
    """Help for people and for programs is made of the same tables, each in its own way: neither leaves out what the other has."""

    @classmethod
    def setUpClass(cls):
        told = json.loads(output(YETT, "help", "--json"))["result"]["subcommands"]
        cls.subcommands = {one["name"]: {option["name"]: option for option in one["options"]} for one in told}

    def options_of_text(self, *argv):
        """{name: letter} of the lines of a help text."""
        return {name: letter for letter, name in re.findall(r"(?m)^ +(?:-(\w), )?--([a-z0-9-]+)(?=[ =\[]|$)", output(*argv, "--help", *(["--all"] if argv[0] == YETT else [])))}

    def test_each_subcommand_lists_every_option(self):
        for name, options in self.subcommands.items():
            self.assertEqual(self.options_of_text(YETT, name), {option["name"]: option["letter"] or "" for option in options.values()}, name)
        self.assertGreater(len(self.subcommands["run"]), 30)

    def test_whoever_asks_the_helper_lists_how(self):
        asking = {name for name, options in self.subcommands.items() if {"socket", "key"} <= set(options)}
        self.assertLessEqual({"doctor", "run", "create", "exec", "ps", "stats", "events", "wait", "env", "cp", "kill", "destroy"}, asking)

    def test_every_subcommand_lists_what_all_have(self):
        for name, options in self.subcommands.items():
            self.assertLessEqual({"json", "json-fd", "quiet", "help"}, set(options), name)

    def test_yett_lists_every_subcommand(self):
        self.assertGreaterEqual(len(self.subcommands), 6)
        self.assertEqual(set(re.findall(r"(?m)^  ([a-z]+) ", output(YETT, "help"))), set(self.subcommands))

    def test_the_helper_takes_every_option_that_it_lists(self):
        names = self.options_of_text(HELPER)
        self.assertGreaterEqual(len(names), 8)
        for name in [*names, "no-such-option"]:
            # The first --help is the value, where it takes one: nothing else is done in either case.
            done = subprocess.run([HELPER, "--" + name, "--help", "--help"], check=False, capture_output=True, text=True)
            self.assertEqual("unrecognized option" in done.stderr, name == "no-such-option", (name, done.stderr))


class Tools(unittest.TestCase):
    """What make calls, on a build tree of one target."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name

    def build(self, text=None):
        if text is not None:
            with open(os.path.join(self.tree, "build.ninja"), "w", encoding="utf-8") as file:
                file.write(text)
        return subprocess.run([os.path.join(ROOT, "tools", "build"), self.tree], check=False, capture_output=True, text=True)

    def test_a_build_says_how_much_it_is_and_one_with_nothing_to_do_is_silent(self):
        done = self.build("rule touch\n  command = touch $out\nbuild made: touch\n")
        self.assertEqual((done.returncode, "(1 steps)" in done.stdout), (0, True), done)
        done = self.build()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), done)

    def test_a_build_that_ninja_cannot_even_plan_fails(self):
        for text in (None, "rule copy\n  command = cp $in $out\nbuild made: copy missing\n"):
            with self.subTest(text):
                done = self.build(text)
                self.assertNotEqual(done.returncode, 0, done)
                self.assertIn("ninja: error", done.stdout + done.stderr)


if __name__ == "__main__":
    yett.run_cases(())
