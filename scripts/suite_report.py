"""Summarise the results of a test run from pytest's JUnit files."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

NOT_TESTED = "NOT TESTED: "
"""A skip reason begins with this if the machine lacks something that the test needs."""


@dataclass
class Outcome:
    """Results of one part: counts, names of failed tests, and skip reasons with their counts."""

    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Add the results of another part."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


def read_outcome(file: Path, exit_code: int) -> Outcome:
    """Read a JUnit file. If pytest itself failed, that counts as one failure."""
    outcome = Outcome()
    if file.exists():
        # Safe to parse: our own pytest run wrote this file.
        for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314
            name = f"{case.get('classname')}::{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                # A test that fails in its teardown too is listed twice.
                if name not in outcome.failures:
                    outcome.failed += 1
                    outcome.failures.append(name)
            elif skipped is not None:
                reason = skipped.get("message") or "no reason given"
                outcome.skipped[reason.partition(NOT_TESTED)[2] or reason] += 1
            else:
                outcome.passed += 1
    # 5 means that no test was selected, which is fine for a part.
    if exit_code not in (0, 5) and not outcome.failed:
        outcome.failed = 1
        outcome.failures.append(f"pytest failed with exit code {exit_code}")
    return outcome


def summary_lines(parts: dict[str, Outcome], missing: dict[str, str], seconds: float) -> list[str]:
    """Return the summary: the parts, the failures, what was not tested and, on the last line, the total counts.

    `missing`: service → what is not tested without it.
    """
    total = Outcome()
    lines = ["", "Summary"]
    for name, outcome in parts.items():
        total.add(outcome)
        lines.append(f"  {name}: {outcome.passed} passed, {outcome.failed} failed, {outcome.skipped.total()} skipped")
    lines.append(f"  in {seconds / 60:.1f} minutes")
    if total.failures:
        lines += ["", "FAILED", *(f"  {name}" for name in total.failures)]
    gaps = [f"{what}: {why}" for what, why in missing.items()]
    gaps += [f"{count} test{'s' if count > 1 else ''}: {reason}" for reason, count in sorted(total.skipped.items())]
    if gaps:
        lines += ["", "!" * 30 + " NOT TESTED " + "!" * 30, *(f"  {gap}" for gap in gaps), "!" * 72]
    else:
        lines += ["", "Nothing was skipped: SQLite, PostgreSQL, Redis, Chromium, Firefox and Caddy are installed."]
    lines += ["", f"{total.passed} passed, {total.failed} failed, {total.skipped.total()} skipped"]
    return lines
