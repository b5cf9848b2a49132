"""The findings of a dialogue as one list: the most severe first, then by place, with many of one check in a group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from annotator.core.checks import all_checks
from annotator.core.comparison.anchors import lineage
from annotator.core.findings import keys_digest
from annotator.core.text import gettext_noop
from annotator.presentation.dialogue import DialogueView, FindingView

#: Findings of one check that are shown as a group.
MANY = 3
#: Findings that each answer of the workspace lists for moving between them.
MAX_STEPS = 200
_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one check with one severity, in the order of their places."""

    check: str
    severity: str
    title: str
    findings: list[FindingView]

    @property
    def digest(self) -> str:
        """Return the hash of what a person sees, so that nothing else is waived with it."""
        return keys_digest((one.check, one.anchor, one.value_hash) for one in self.findings)

    @property
    def many(self) -> bool:
        """Return whether the group is one row that expands."""
        return len(self.findings) >= MANY


@dataclass(frozen=True, slots=True)
class FindingList:
    """All findings: those that count in groups, and those that a person waived."""

    groups: list[FindingGroup] = field(default_factory=list)
    waived: list[FindingView] = field(default_factory=list)
    #: Whether a person who moves from one to the next also visits those that were waived: to verify the waivers.
    visits_waived: bool = False

    @property
    def steps(self) -> list[FindingView]:
        """Return the first findings for moving from one to the next: those that count, in order, then the waived."""
        return [*self.open, *(self.waived if self.visits_waived else ())][:MAX_STEPS]

    @property
    def open(self) -> list[FindingView]:
        """Return the findings that count, in the order of the list."""
        return [finding for group in self.groups for finding in group.findings]


#: Titles of findings that follow from other dialogues, so that no check of one document makes them.
_TITLES = {"dialogue.untranslated": gettext_noop("A text is not translated")}


def arrange_findings(view: DialogueView, *, visits_waived: bool = False) -> FindingList:
    """Return the findings of a view in order: errors, warnings, notes; in each by place."""
    ranks = {anchor: number for number, anchor in enumerate(_places(view))}
    ordered = sorted(view.findings, key=lambda one: (_SEVERITIES.index(one.severity), _rank(one.anchor, ranks)))
    by_check: dict[tuple[str, str], list[FindingView]] = {}
    for finding in ordered:
        if not finding.waiver:
            by_check.setdefault((finding.check, finding.severity), []).append(finding)
    many = any(len(found) >= MANY for found in by_check.values())
    titles = _TITLES | {check.id: check.title for check in all_checks()} if many else {}
    groups: list[FindingGroup] = []
    for finding in ordered:
        key = (finding.check, finding.severity)
        found = by_check.get(key, [])
        if finding.waiver or (len(found) >= MANY and found[0] is not finding):
            continue
        title = _(titles[finding.check]) if finding.check in titles else finding.check
        groups.append(FindingGroup(*key, title, found if len(found) >= MANY else [finding]))
    return FindingList(groups, [finding for finding in ordered if finding.waiver], visits_waived)


def _places(view: DialogueView) -> Iterable[str]:
    """Yield the anchors of the parts, in order."""
    yield from (part.anchor for part in view.parts)


def _rank(anchor: str, ranks: dict[str, int]) -> int:
    """Return the number of the smallest part that a place is in; -1 for the dialogue itself."""
    return next((ranks[above] for above in lineage(anchor) if above in ranks), -1)


def find_alike(findings: Sequence[FindingView], check: str) -> list[tuple[str, str, str]]:
    """Return the keys (check, anchor, value hash) of the open warnings of a check."""
    return [
        (one.check, one.anchor, one.value_hash)
        for one in findings
        if one.check == check and one.severity == "warning" and not one.waiver
    ]
