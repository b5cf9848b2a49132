"""Print how often the interval of the residual error rate covers the truth: a table of docs/simulations.md.

python docs/audit_coverage.py [SEEDS]
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parents[1]))

from reviews.core.agreement import Figure, residual_error
from reviews.core.protocols import Evidence
from reviews.core.simulation.audits import AuditSetting, SimulatedAudit, simulate_audit

_BASE = AuditSetting()
_STRICT = Evidence(above=0.1, audited=5)
SETTINGS: dict[str, AuditSetting] = {
    "6 % wrong": _BASE,
    "2 % wrong": replace(_BASE, rate=0.02),
    "15 % wrong": replace(_BASE, rate=0.15),
    "15 % wrong, rework fixes nothing": replace(_BASE, rate=0.15, rework=0.0),
    "15 % wrong, nothing sent back": replace(_BASE, rate=0.15, send_back=None),
    "a quarter of the owners 30 % wrong": replace(_BASE, others=0.25, other_rate=0.3),
    "a quarter 30 % wrong, rework fixes nothing": replace(_BASE, others=0.25, other_rate=0.3, rework=0.0),
    "40 owners, a quarter 30 % wrong": replace(_BASE, owners=40, others=0.25, other_rate=0.3),
    "errors in groups of 5": replace(_BASE, clustered=5),
    "limit 10 %, a fifth drawn": replace(_BASE, rate=0.1, fraction=0.2, send_back=_STRICT),
    "limit 10 %, a fifth drawn, rework fixes nothing": replace(
        _BASE, rate=0.1, fraction=0.2, send_back=_STRICT, rework=0.0
    ),
    "experts notice 60 %, not measured": replace(_BASE, detection=0.6),
    "experts notice 60 %, 10 known errors": replace(_BASE, detection=0.6, known=10),
    "experts notice 60 %, 40 known errors": replace(_BASE, detection=0.6, known=40),
    "experts notice 80 %, 40 known errors": replace(_BASE, detection=0.8, known=40),
    "experts notice 95 %, 40 known errors": replace(_BASE, detection=0.95, known=40),
    "experts notice 80 %, 40 known, 15 % wrong, rework fixes nothing": replace(
        _BASE, detection=0.8, known=40, rate=0.15, rework=0.0
    ),
}
SIZES = (400, 1000)


def rows(seeds: int) -> Iterator[str]:
    """Yield the rows of the table."""
    for name, setting in SETTINGS.items():
        for items in SIZES:
            runs = [simulate_audit(replace(setting, items=items), seed) for seed in range(seeds)]
            plain = [residual_error([replace(one, sent_back=False) for one in run.strata]).residual for run in runs]
            found = [residual_error(run.strata, sensitivity=run.sensitivity).residual for run in runs]
            sent = fmean(any(one.sent_back for one in run.strata) for run in runs)
            yield (
                f"| {name} | {items:,} | {percent(fmean(run.truth for run in runs))} "
                f"| {summary(plain, runs)} | {summary(found, runs)} | {percent(wide(found))} | {100 * sent:.0f} % |"
            )


def summary(figures: Sequence[Figure], runs: Sequence[SimulatedAudit]) -> str:
    """Return the mean estimate, and how often the interval covers the truth. Without an interval it does not."""
    held = [
        figure.low is not None and figure.high is not None and figure.low - 1e-9 <= run.truth <= figure.high + 1e-9
        for figure, run in zip(figures, runs, strict=True)
    ]
    shown = fmean(figure.value for figure in figures if figure.value is not None)
    return f"{percent(shown)} | {100 * fmean(held):.1f} %"


def wide(figures: Sequence[Figure]) -> float:
    """Return the mean width of the intervals."""
    return fmean(one.high - one.low for one in figures if one.high is not None and one.low is not None)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    print("| setting | items | true | shown, plain | covers, plain | shown | covers | mean width | sent back |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(row, flush=True)
