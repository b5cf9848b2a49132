"""The automatic checks of a revision's content. Pure: no Django here."""

from annotator.core.checks.clean_marks import CleanMarks
from annotator.core.checks.registry import CheckInfo, all_checks, is_for_administrators, is_missing_label
from annotator.core.checks.running import run_checks
from annotator.core.checks.settings import CheckSettings
from annotator.core.checks.similarity import near_duplicate_finding
from annotator.core.findings import Finding, Severity, Stage
