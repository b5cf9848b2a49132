"""Automatic checks: what a revision's content says about itself. Pure: no Django here."""

from annotator.checks.clean import CleanMarks
from annotator.checks.findings import Finding, Severity, Stage
from annotator.checks.registry import CheckInfo, all_checks
from annotator.checks.running import run_checks
from annotator.checks.settings import CheckSettings
from annotator.checks.similarity import near_duplicate_finding

__all__ = [
    "CheckInfo",
    "CheckSettings",
    "CleanMarks",
    "Finding",
    "Severity",
    "Stage",
    "all_checks",
    "near_duplicate_finding",
    "run_checks",
]
