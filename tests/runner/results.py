# SPDX-License-Identifier: Apache-2.0
"""
What a test program said, as cases; and how a run is told. Decides; runs nothing.

An outcome is of one case: a line of TAP, a test of cmocka, or a program that is neither. A program that failed although none of its
cases did (it crashed, say, or ran out of time) counts as one more failure.
"""
import dataclasses
import json
import re

TAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\S*\s*(.*))?$", re.M | re.I)
TAP_CASE = re.compile(r"^(not )?ok\b\s+\d+\s*-?\s*([^#\n]*?)\s*(?:#\s*(SKIP|TODO)\S*\s*(.*))?$", re.M | re.I)
CMOCKA_CASE = re.compile(r"^\[\s*(OK|FAILED|SKIPPED|ERROR)\s*\]\s+(?!\d+ test)(\w+)", re.M)

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
GOOD_RESULTS = ("OK", "EXPECTEDFAIL")
SHOWN_LINES = 40  # of a failure
FEW_LINES = 2
WHOLE = "the program itself"


@dataclasses.dataclass(frozen=True)
class Outcome:
    outcome: str
    case: str
    reason: str = ""  # of a skip


def tap_cases(text):
    """Outcomes, or None where this is no TAP."""
    plan = TAP_PLAN.search(text)
    if plan and plan.group(1) == "0":
        return [Outcome(SKIPPED, "all of it", plan.group(2) or "no reason given")]
    cases = []
    for failed, name, directive, reason in TAP_CASE.findall(text):
        outcome = SKIPPED if directive.upper() == "SKIP" else FAILED if failed and directive.upper() != "TODO" else PASSED
        cases.append(Outcome(outcome, name, reason or "no reason given"))
    missing = int(plan.group(1)) - len(cases) if plan else 0
    return cases + [Outcome(FAILED, "a planned case that did not run")] * max(missing, 0) or None


def cmocka_cases(text):
    outcomes = {"OK": PASSED, "FAILED": FAILED, "ERROR": FAILED, "SKIPPED": SKIPPED}
    # cmocka names a failure again in its summary.
    cases = {name: Outcome(outcomes[word], name, "the test skipped itself") for word, name in CMOCKA_CASE.findall(text)}
    return list(cases.values()) or None


def text_of(entry):
    return (entry.get("stdout", "") + "\n" + entry.get("stderr", "")).strip()


def outcomes_of(entry):
    """Outcomes of an entry of a log: name, result (OK, FAIL, SKIP, TIMEOUT, ERROR), stdout, stderr."""
    text, result = text_of(entry), entry["result"]
    if result == "SKIP" and not tap_cases(text):
        return [Outcome(SKIPPED, "all of it", (text.splitlines() or ["it gave no reason"])[-1])]
    cases = tap_cases(text) or cmocka_cases(text) or [Outcome(PASSED if result in GOOD_RESULTS else FAILED, WHOLE)]
    if result not in (*GOOD_RESULTS, "SKIP") and not any(case.outcome == FAILED for case in cases):
        cases.append(Outcome(FAILED, f"{WHOLE} ({result})"))
    return cases


def failed_cases(entry):
    return [one.case for one in outcomes_of(entry) if one.outcome == FAILED]


def end_of_case(entry, case):
    """The last lines that one case of TAP wrote, or else the whole program."""
    text = text_of(entry)
    said = re.search(r"^not ok\b\s+\d+\s*-?\s*" + re.escape(case) + r"\s*\n((?:#.*\n?)*)", text, re.M)
    lines = (said.group(1) if said and said.group(1) else text).rstrip().splitlines()[-SHOWN_LINES:]
    if len(lines) <= FEW_LINES:  # a program in C, whose helper's log and whose reasons are on its other output
        lines += entry.get("stderr", "").rstrip().splitlines()[-SHOWN_LINES // 2:]
    return [f"  | {line}" for line in lines]


def failure_lines(entry, case):
    """What somebody reads of a failure: what failed, what it said, how to run it again."""
    again = [f"  | again: {entry['again'][case]}"] if case in entry.get("again", ()) else []
    return [f"failed: {entry['name']}: {case}", *end_of_case(entry, case), *again]


def read_log(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in log]


def count(entries, failing=()):
    """
    The counts of outcomes, lines that name each skip, and lines that tell each failure. `failing` is of pairs of an entry's name and a
    case that are not failures after all: they passed when they were repeated.
    """
    numbers = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    skips, failures = [], []
    for entry in entries:
        for one in outcomes_of(entry):
            outcome = PASSED if (entry["name"], one.case) in failing else one.outcome
            numbers[outcome] += 1
            if outcome == SKIPPED:
                skips.append(f"skipped: {entry['name']}: {one.case}: {one.reason}")
            elif outcome == FAILED:
                failures += failure_lines(entry, one.case)
    lines = [line if skips.count(line) == 1 else f"{line} ({skips.count(line)} times)" for line in dict.fromkeys(skips)]
    return numbers, lines, failures


def total_line(numbers):
    return ", ".join(f"{number} {outcome}" for outcome, number in numbers.items())
