"""Print how often the interval of the residual error rate covers the truth: a table of docs/simulations.md.

python docs/audit_coverage.py [SEEDS]
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parents[1]))

from reviews.core.agreement import residual_error
from reviews.core.protocols import Evidence
from reviews.core.simulation.audits import AuditSetting, simulate_audit

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
            said = [
                residual_error(run.strata, sensitivity=run.sensitivity if run.sensitivity.known else None)
                for run in runs
            ]
            figures = [one.residual for one in said]
            known = [
                (figure, run.truth)
                for figure, run in zip(figures, runs, strict=True)
                if figure.value is not None and figure.low is not None and figure.high is not None
            ]
            covered = [figure.low - 1e-9 <= truth <= figure.high + 1e-9 for figure, truth in known]  # type: ignore[operator]
            wide = fmean(figure.high - figure.low for figure, _ in known)  # type: ignore[operator]
            warned = sum(len(one.warnings) > (not setting.known) for one in said)
            yield (
                f"| {name} | {items:,} | {percent(fmean(run.truth for run in runs))} "
                f"| {percent(fmean(figure.value or 0 for figure, _ in known))} | {percent(wide)} "
                f"| {100 * fmean(covered):.1f} % | {100 * warned / seeds:.0f} % |"
            )


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    print("| setting | items | true | shown | mean width | covers | sent back |")
    print("|---|---|---|---|---|---|---|")
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 500):
        print(row, flush=True)
