"""Words for figures and slices, and figures as texts."""

import json
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.presentation.components.labels import words_of
from annotator.services.dialogues.listing import LANGUAGES
from benchmark.core.formats.labels import C3_INFORMATION, C3_POLICIES, WILD_INFORMATION
from benchmark.models import Figure

NAMES: dict[str, Promise] = {
    "right": gettext_lazy("Right, as published"),
    "right_as_in_the_paper": gettext_lazy("Right, as in the paper"),
    "right_with_equal_arguments": gettext_lazy("Right, equal arguments"),
    "session": gettext_lazy("Dialogues right"),
    "AP": gettext_lazy("AP"),
    "OP": gettext_lazy("OP"),
    "SR": gettext_lazy("SR, as published"),
    "PSR": gettext_lazy("PSR, as published"),
    "strict SR": gettext_lazy("SR, strict"),
    "strict PSR": gettext_lazy("PSR, strict"),
    "overall": gettext_lazy("All tasks solved"),
    "kept": gettext_lazy("Without withdrawn items"),
    "language": gettext_lazy("Language"),
    "scenario": gettext_lazy("Scenario"),
    "policy": gettext_lazy("Policy"),
    "type": gettext_lazy("Policy"),
    "task_type": gettext_lazy("Task type"),
    "order": gettext_lazy("Place in the dialogue"),
    "layer": gettext_lazy("Place in the dialogue"),
    "information": gettext_lazy("Information"),
    "turn_type": gettext_lazy("Hides something"),
    "turn_subtype": gettext_lazy("Information"),
    "tasks_in_dialogue": gettext_lazy("Tasks in the dialogue"),
    "tasks": gettext_lazy("Tasks so far"),
    "switches": gettext_lazy("Switches so far"),
    "switches_so_far": gettext_lazy("Switches so far"),
    "switches_in_dialogue": gettext_lazy("Switches in the dialogue"),
    "topology": gettext_lazy("Topology"),
    "challenge": gettext_lazy("Challenge"),
}
_CELLS: dict[str, Promise] = {
    "published": gettext_lazy("as published"),
    "as_in_the_paper": gettext_lazy("as in the paper"),
    "as_in_c3_code": gettext_lazy("as in C3-Bench’s code"),
    "all": gettext_lazy("all"),
    "True": gettext_lazy("yes"),
    "False": gettext_lazy("no"),
}
#: Slice → the kind of its labels, and their values by the words of the format.
_LABELLED: dict[str, tuple[str, dict[str, str]]] = {
    "policy": ("policy", {}),
    "type": ("policy", C3_POLICIES),
    "information": ("information", WILD_INFORMATION),
    "turn_subtype": ("information", C3_INFORMATION),
    "topology": ("topology", {"combine": "parallel", "serial": "sequential", "cs": "mixed"}),
}


def title(name: str, cell: str) -> str:
    """Return the heading of a figure."""
    words = str(NAMES.get(name, name))
    return words if cell == "all" else f"{words}: {cell_words(name, cell)}"


def cell_words(name: str, cell: str) -> str:
    """Return the words for a cell of a slice. Places are counted from 1."""
    if name in _LABELLED:
        kind, values = _LABELLED[name]
        return words_of(kind, values.get(cell, cell))
    if name in ("order", "layer"):
        return str(int(cell) + 1)
    if name == "overall" and cell != "all":
        kind, _hash, size = cell.partition("#")
        return _("%(kind)s, %(size)s tasks") % {"kind": kind, "size": size} if size else _("delay %s") % cell
    return str(LANGUAGES.get(cell, cell) if name == "language" else _CELLS.get(cell, cell))


def percent(value: float | None) -> str:
    """Return a share in per cent with one decimal place."""
    return "" if value is None else f"{100 * value:.1f}"


@dataclass(frozen=True)
class Shown:
    """A figure for a page: texts, and the geometry of its bar of 0 to 100."""

    value: str = ""
    low: str = ""
    high: str = ""
    n: int = 0
    x: str = "0"
    left: str = "0"
    width: str = "0"

    @property
    def words(self) -> str:
        if not self.value:
            return _("no figure")
        if not self.low:
            return _("%(value)s %%, n = %(n)s") % {"value": self.value, "n": f"{self.n:,}"}
        return _("%(value)s %%, 95 %% interval %(low)s to %(high)s, n = %(n)s") % {
            "value": self.value, "low": self.low, "high": self.high, "n": f"{self.n:,}",
        }  # fmt: skip


def show(figure: Figure | None) -> Shown:
    """Return a stored figure for a page."""
    if figure is None or figure.value is None:
        return Shown()
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return Shown(
        percent(figure.value), percent(figure.low), percent(figure.high), figure.n,
        f"{100 * figure.value:.2f}", f"{100 * low:.2f}", f"{100 * (high - low):.2f}",
    )  # fmt: skip


def p_words(p: float) -> str:
    """Return a p value for a sentence."""
    return _("p < 0.001") if p < 0.001 else _("p = %(p)s") % {"p": f"{p:.3f}"}


def shown_json(value: Any) -> str:
    """Return a JSON value as indented text."""
    return json.dumps(value, ensure_ascii=False, indent=1)
