"""Which findings a person sees: notes of checks for administrators are left out for everybody else."""

from collections.abc import Iterable, Set
from typing import TypeVar

from annotator.core.checks import Finding, is_for_administrators
from annotator.core.roles import Role
from annotator.models import Finding as StoredFinding

Found = TypeVar("Found", Finding, StoredFinding)


def findings_for(roles: Set[Role], findings: Iterable[Found]) -> list[Found]:
    """Return the findings that a person with these roles in the project sees."""
    if Role.ADMINISTRATOR in roles:
        return list(findings)
    return [one for one in findings if not is_note_for_administrators(one)]


def is_note_for_administrators(finding: Finding | StoredFinding) -> bool:
    """Return whether only administrators see a finding."""
    check = finding.check if isinstance(finding, Finding) else finding.check_id
    return is_for_administrators(check, finding.severity)
