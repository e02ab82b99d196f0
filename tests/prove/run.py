#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves with Frama-C what `proofs` lists, and that each proof fails where the source has a mistake: docs/security-tests.md, "Proofs".

Usage: run.py [NAME…]. The last line tells how many were proven and how many mutants were found; the status is 0 if that is all of them.
A source is never changed: mutants, and the annotations of loops, which a harness cannot add from outside, are made in a copy.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLS = {"frama-c": "frama-c-base", "why3": "why3", "cvc4": "cvc4", "z3": "z3"}
TIMEOUT = 900

# EVA walks through a harness with sets of values; WP proves contracts of functions with solvers.
EVA_COMMON = ("-eva", "-eva-split-return", "full")
EVA_EACH = (*EVA_COMMON, "-eva-slevel", "100000", "-eva-ilevel", "256")  # each case of the harness apart
EVA_WALK = (*EVA_COMMON, "-eva-slevel", "0", "-eva-min-loop-unroll", "20", "-eva-ilevel", "64", "-eva-slevel-function",
            "main:1000,judge_all:1000,judge:20,make:2,narrow:20,intersect_is_less:20,unlimited:5,admit_next:20,intersect_begin:20,"
            "choose_limit:20,plan_lesser:20,choose_life:20")


def wp(functions):
    return ("-wp", "-wp-rte", "-wp-fct", functions, "-wp-prover", "cvc4,z3", "-wp-timeout", "15", "-wp-par", "2")


# A text of a source, which must be there once, and what stands in its place.
Change = namedtuple("Change", "source old new")


def loop(source, text, annotation):
    return Change(source, text, f"/*@ {annotation} */\n{text}")


ADMIT_LOOP = loop("helper/plan/admit.c", "\tfor (uint32_t i = 0; i < plan->steps_count; i++)\n\t\tif (plan->steps[i].kind >=", r"""
    loop invariant 0 <= i <= plan->steps_count;
    loop invariant \forall integer k; 0 <= k < i ==> is_right(plan, k);
    loop assigns i; loop variant plan->steps_count - i;""")

Proof = namedtuple("Proof", "name harness options changes mutants")
ENVELOPE, ADMIT, INTERSECT, UNITS = "protocol/envelope.c", "helper/plan/admit.c", "programs/decide/decider/intersect.c", "base/units_parse.c"
proofs = [
    Proof("an envelope is read within its packet", "envelope_packets.c", EVA_EACH, [], [
        Change(ENVELOPE, "length < ENVELOPE_HEADER_SIZE", "length < ENVELOPE_HEADER_SIZE - 1"),
        Change(ENVELOPE, "if (length < before_body + e.body_length)", "if (length + ENVELOPE_SIGNED_SIZE < before_body + e.body_length)")]),
    Proof("an envelope that is accepted is one", "envelope_contract.c",
          wp("envelope_read,envelope_size,envelope_kind_is_signed"), [], [
              Change(ENVELOPE, "if (length > before_body + e.body_length)", "if (length > before_body + e.body_length + 1)"),
              Change(ENVELOPE, "if (fd_count != e.fd_count)", "if (fd_count > e.fd_count)")]),
    Proof("a plan is unpacked within its struct", "admit_bytes.c", (*EVA_COMMON, "-eva-slevel", "100"), [], [
        Change(ADMIT, "plan->arena_used > PLAN_ARENA_MAX", "plan->arena_used > 2 * PLAN_ARENA_MAX")]),
    Proof("a plan that is unpacked has the shape of one", "admit_contract.c", wp("admit_unpack"), [ADMIT_LOOP], [
        Change(ADMIT, "plan->steps[i].kind >= PLAN_STEP_KINDS", "plan->steps[i].kind > PLAN_STEP_KINDS"),
        Change(ADMIT, "length != head + plan->steps_count", "length < head + plan->steps_count")]),
    Proof("of two bounds the lesser counts", "intersect_rules.c",
          wp("narrow,intersect_is_less,unlimited,plan_lesser,both,one_more"), [], [
              Change(INTERSECT, "(than == unlimited(row) || value < than)", "(than == unlimited(row) || value > than)"),
              Change("programs/decide/decider/plan_add.c", "(b != 0 && b < a)", "b < a")]),
    Proof("nothing in force is more than what bounds it", "intersect_walk.c", EVA_WALK, [], [
        Change(INTERSECT, 'ROW("max_requests", USER, requests_max, true, number)', 'ROW("max_requests", USER, creations_max, true, number)'),
        Change(INTERSECT, "if (grant->is_ceiling || intersect_rows", "if (intersect_rows")]),
    Proof("numbers are read within their text", "units_texts.c", (*EVA_COMMON, "-eva-slevel", "3000"), [], [
        Change(UNITS, "if (!end[1])", "if (!end[2])"),
        Change(UNITS, "if (at == text)\n\t\treturn -EINVAL;\n\t*ret_end = at;", "if (at == text)\n\t\treturn -EINVAL;\n\t*ret_end = at + 1;")]),
]


def sources(changes, tree):
    """Copies of the sources that are changed, where the preprocessor finds them first."""
    for change in changes:
        path = tree / change.source
        text = (path if path.exists() else ROOT / change.source).read_text()
        if text.count(change.old) != 1:
            sys.exit(f"{change.source} has not once: {change.old!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(change.old, change.new))


def holds(options, output):
    """Whether the tool came to its end and has proven all, of which there is something."""
    if "-wp" in options:
        goals = re.search(r"Proved goals: +(\d+) / (\d+)", output)
        return bool(goals) and goals[1] == goals[2] != "0"
    checks = re.search(r"Assertions +(\d+) valid +(\d+) unknown +(\d+) invalid", output)
    calls = re.search(r"Preconditions +\d+ valid +(\d+) unknown +(\d+) invalid", output)
    return (bool(checks) and checks[1] != "0" and checks[2] == checks[3] == "0" and bool(calls) and calls[1] == calls[2] == "0" and
            "\n  0 alarms generated by the analysis." in output)


def analyze(proof, mutant, scratch):
    """What the tool says, and whether it is a proof. A tool that cannot read the source is an error, not a mutant found."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        tree = Path(directory)
        sources(proof.changes + ([mutant] if mutant else []), tree)
        # Frama-C itself puts the current directory first.
        arguments = f"-I{ROOT} -I{ROOT}/tests/prove/libc -DMESSAGE_HELPER_ONLY -D_GNU_SOURCE" + (" -DMUTANT" if mutant else "")
        command = ["frama-c", "-c11", "-machdep", "gcc_x86_64", f"-cpp-extra-args={arguments}", str(HERE / proof.harness), *proof.options]
        done = subprocess.run(command, cwd=tree, env={**os.environ, "WHY3CONFIG": str(scratch / "why3.conf")}, capture_output=True,
                              text=True, timeout=TIMEOUT, check=False)
    output = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"{output}\n{proof.name}: frama-c ended with {done.returncode}")
    return output, holds(proof.options, output)


def main():
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing:
        sys.exit(f"Nothing is proven: these packages are missing: {' '.join(missing)}")
    chosen = [proof for proof in proofs if not sys.argv[1:] or Path(proof.harness).stem in sys.argv[1:]]
    proven = found = 0
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        subprocess.run(["why3", "config", "detect", "-C", str(scratch / "why3.conf")], check=True, capture_output=True)
        for proof in chosen:
            output, is_proven = analyze(proof, None, scratch)
            proven += is_proven
            print(f"{'proven' if is_proven else 'NOT PROVEN'}  {proof.name} ({proof.harness})", flush=True)
            if not is_proven:
                print(output)
            for mutant in proof.mutants:
                is_found = not analyze(proof, mutant, scratch)[1]
                found += is_found
                print(f"  mutant {'found' if is_found else 'NOT FOUND'}: {mutant.new.splitlines()[-1].strip()}", flush=True)
    mutants = sum(len(proof.mutants) for proof in chosen)
    print(f"{proven} proven, {found} mutants found; of {len(chosen)} and {mutants}")
    return 0 if (proven, found) == (len(chosen), mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
