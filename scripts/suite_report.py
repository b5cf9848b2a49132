"""What a run of the test suite amounted to, read from pytest's own JUnit files."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

NOT_TESTED = "NOT TESTED: "
"""With these words a test is left out because the machine lacks something."""


@dataclass
class Outcome:
    """Counts of one part of the suite, the names of what failed, and the reasons of what was left out."""

    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Add another part's figures to these."""
        self.passed += other.passed
        self.failed += other.failed
        self.left_out += other.left_out
        self.failures += other.failures


def read_outcome(file: Path, exit_code: int) -> Outcome:
    """Read a JUnit file. Whatever ended pytest before or beside its tests counts as one failure."""
    outcome = Outcome()
    if file.exists():
        # The file was written a moment ago by pytest itself.
        for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314
            name = f"{case.get('classname')}::{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                # A test that fails and then fails again while tidying up stands here twice; it is one test.
                if name not in outcome.failures:
                    outcome.failed += 1
                    outcome.failures.append(name)
            elif skipped is not None:
                reason = skipped.get("message") or "no reason given"
                outcome.left_out[reason.partition(NOT_TESTED)[2] or reason] += 1
            else:
                outcome.passed += 1
    # 5: no test matched, which is well for a part of the suite that has none (yet).
    if exit_code not in (0, 5) and not outcome.failed:
        outcome.failed = 1
        outcome.failures.append(f"pytest itself ended with exit code {exit_code}")
    return outcome


def closing_lines(parts: dict[str, Outcome], lacking: dict[str, str], seconds: float) -> list[str]:
    """Return the last lines of a run: each part, what failed, what was not tested, the counts alone on the last one.

    `lacking` says for what the machine did not have what that left untested.
    """
    total = Outcome()
    lines = ["", "Summary"]
    for name, outcome in parts.items():
        total.add(outcome)
        lines.append(f"  {name}: {outcome.passed} passed, {outcome.failed} failed, {outcome.left_out.total()} left out")
    lines.append(f"  in {seconds / 60:.1f} minutes")
    if total.failures:
        lines += ["", "FAILED", *(f"  {name}" for name in total.failures)]
    gaps = [f"{what}: {why}" for what, why in lacking.items()]
    gaps += [f"{count} test{'s' if count > 1 else ''}: {reason}" for reason, count in sorted(total.left_out.items())]
    if gaps:
        lines += ["", "!" * 30 + " NOT TESTED " + "!" * 30, *(f"  {gap}" for gap in gaps), "!" * 72]
    else:
        lines += ["", "Nothing was left out: SQLite, PostgreSQL, Redis and Chromium were all there."]
    lines += ["", f"{total.passed} passed, {total.failed} failed, {total.left_out.total()} skipped"]
    return lines
