"""Suggestions for pages: the value in words, who suggests it, and beside which field it is shown."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.comparison.anchors import covers, label_key, owner, split
from annotator.core.fields import CustomField, value_words
from annotator.core.suggestion_content import edge_of
from annotator.core.suggestion_shape import PlaceKind
from annotator.presentation.dialogue import INFORMATION_LABELS, POLICY_LABELS, pretty
from annotator.presentation.graph import Proposal, kind_label

#: Characters of a value that are shown.
MAX_SHOWN = 600
_WORDS: dict[str, Mapping[str, str]] = {
    PlaceKind.POLICY: POLICY_LABELS,
    PlaceKind.INFORMATION: INFORMATION_LABELS,
    PlaceKind.ANSWER_TYPE: {"tool": gettext_noop("Tool results"), "chat": gettext_noop("Own knowledge")},
    PlaceKind.LANGUAGE: {"en": gettext_noop("English"), "zh": gettext_noop("Chinese")},
}
KIND_LABELS = {
    PlaceKind.POLICY: gettext_noop("Policy"),
    PlaceKind.INFORMATION: gettext_noop("Information"),
    PlaceKind.ANSWER_TYPE: gettext_noop("Answer based on"),
    PlaceKind.LANGUAGE: gettext_noop("Language"),
    PlaceKind.CATEGORY: gettext_noop("Category"),
    PlaceKind.TEXT: gettext_noop("Text"),
    PlaceKind.TOOL: gettext_noop("Tool"),
    PlaceKind.ARGUMENT: gettext_noop("Argument"),
    PlaceKind.OBSERVATION: gettext_noop("Observation"),
    PlaceKind.DEPENDENCY: gettext_noop("Dependency"),
    PlaceKind.LABEL: gettext_noop("Custom field"),
}


@dataclass(frozen=True, slots=True)
class GhostView:
    """A suggestion beside a field. ``detail``: which argument it is about; blank for a whole field."""

    public_id: str
    place: str
    kind: str
    shown: str
    detail: str
    by: str
    refused: bool

    @property
    def label(self) -> str:
        """The text for screen readers."""
        value = f"{self.detail}: {self.shown}" if self.detail else self.shown
        sentence = _("Refused suggestion of %(by)s: %(value)s") if self.refused else _("Suggested by %(by)s: %(value)s")
        return sentence % {"by": self.by, "value": value}


def view_ghost(ghost: Any, fields: Sequence[CustomField] = ()) -> GhostView:
    """Return a ``Ghost`` in words. ``fields``: the project's custom fields, which have titles for values."""
    by = ghost.source
    if ghost.score is not None:
        by = _("%(source)s, score %(score)s") % {"source": ghost.source, "score": f"{ghost.score:.2f}"}
    parts = split(ghost.place)
    detail = "/".join(parts[5:]) if len(parts) > 5 and parts[4] == "arguments" else ""
    return GhostView(ghost.public_id, ghost.place, ghost.kind, _value(ghost, parts, fields), detail, by, ghost.refused)


def _value(ghost: Any, parts: tuple[str, ...], fields: Sequence[CustomField]) -> str:
    words = _WORDS.get(ghost.kind)
    if words is not None:
        return _(words.get(ghost.value, ghost.value))
    if ghost.kind == PlaceKind.DEPENDENCY:
        if len(parts) == 5:
            return _("depends on nothing")
        return _("depends on %(step)s: %(kind)s") % {"step": parts[5], "kind": kind_label(ghost.value)}
    if ghost.kind == PlaceKind.LABEL:
        text = value_words(ghost.value, next((one for one in fields if one.key == label_key(parts)), None))
    else:
        text = ghost.value if isinstance(ghost.value, str) else pretty(ghost.value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def by_field(ghosts: Sequence[GhostView], anchor: str) -> Mapping[str, list[GhostView]]:
    """Return the ghosts of the part at ``anchor`` (blank: of the dialogue itself), by the name of their field, or by
    their place if that is a label.
    """
    depth = len(split(anchor))
    found: defaultdict[str, list[GhostView]] = defaultdict(list)
    for ghost in ghosts:
        if owner(ghost.place) == anchor and covers(anchor, ghost.place):
            parts = split(ghost.place)
            found[ghost.place if label_key(parts) else parts[depth]].append(ghost)
    return found


def open_elsewhere(ghosts: Sequence[GhostView], anchor: str, order: Sequence[str]) -> tuple[int, str]:
    """Return the number of undecided suggestions at other parts, and the next of these parts after ``anchor``.

    ``order``: the anchors of all parts in document order, the dialogue's own as a blank text.
    """
    there = [owner(ghost.place) for ghost in ghosts if not ghost.refused and owner(ghost.place) != anchor]
    ranks = {one: rank for rank, one in enumerate(order)}
    here = ranks.get(anchor, -1)
    parts = sorted({one for one in there if one in ranks}, key=lambda one: ((ranks[one] < here), ranks[one]))
    return len(there), parts[0] if parts else ""


def proposals_of(ghosts: Sequence[Any], task_id: str) -> list[Proposal]:
    """Return the undecided dependencies among ``Ghost`` objects, for the graph of a task."""
    found = []
    for ghost in ghosts:
        edge = edge_of(ghost.place)
        if edge is not None and edge[0] == task_id and not ghost.refused:
            found.append(Proposal(edge[1], edge[2], ghost.value, view_ghost(ghost).by, ghost.public_id))
    return found
