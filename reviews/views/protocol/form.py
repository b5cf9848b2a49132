"""The protocol editor's form as data: a field for every setting, each with its problems."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.comparison.placing import ABSENT
from annotator.core.forms.fields import Field, field_at
from annotator.core.forms.shapes import Kind, own_shape, schema_at
from annotator.core.forms.values import read_or_keep
from annotator.core.schema.errors import Problem
from annotator.models import Role
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.components.labels import words_of
from reviews.core.protocols import Outcome, Protocol
from reviews.core.protocols.differences import (
    APPLIES,
    AUTHOR_RULES,
    CONTENT_RULES,
    ENTRY_MODES,
    OUTCOMES,
    STAGE_KINDS,
    VERDICTS,
)
from reviews.core.protocols.drafting import Draft

_SCHEMA = Protocol.model_json_schema()
#: The outcomes a table can name; the stage itself asks for confirmation.
_OUTCOMES = {key: words for key, words in OUTCOMES.items() if key != Outcome.CONFIRM}
#: The labels of the buttons that move a row up and down, and remove it.
_BUTTONS = {
    "stage": (
        gettext_lazy("Move stage %(number)s up"),
        gettext_lazy("Move stage %(number)s down"),
        gettext_lazy("Remove stage %(number)s"),
    ),
    "row": (
        gettext_lazy("Move row %(number)s up"),
        gettext_lazy("Move row %(number)s down"),
        gettext_lazy("Remove row %(number)s"),
    ),
    "question": (
        gettext_lazy("Move question %(number)s up"),
        gettext_lazy("Move question %(number)s down"),
        gettext_lazy("Remove question %(number)s"),
    ),
}


class Complaints:
    """Problems by place; a problem whose place has no field is shown at the nearest place above."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        self._places: dict[str, str] = {"": "editor"}

    def at(self, pointer: str, place: str, *, below: bool = False) -> str:
        """Return the problems of a place; ``below``: and of what is in it. ``place``: the id of its element."""
        self._places[pointer] = place
        return " ".join(
            dict.fromkeys(
                one.message
                for one in self.problems
                if one.pointer == pointer or (below and one.pointer.startswith(f"{pointer}/"))
            )
        )

    def summary(self) -> list[tuple[str, str, str, str]]:
        """Return (element id, pointer, sentence, the stage whose outcome table can be reset) of every problem."""
        return [
            (self._nearest(one.pointer), one.pointer, one.message, _stage_of_table(one.pointer))
            for one in self.problems
        ]

    def _nearest(self, pointer: str) -> str:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places[pointer]


def _stage_of_table(pointer: str) -> str:
    """Return the pointer of the stage if the problem is about its whole outcome table; else blank."""
    stage, _, field_name = pointer.rpartition("/")
    return stage if field_name == "outcomes" else ""


def form_of(draft: Draft, complaints: Complaints, *, known_kinds: frozenset[str]) -> dict[str, Any]:
    """Return what the editor's template shows. ``known_kinds``: adopted error types, which can't be removed."""
    maker = _Maker(draft, complaints)
    return {
        "name": maker.field("/name"),
        "alarm": maker.field("/discrepancy_alarm"),
        "alarm_after": maker.field("/alarm_after"),
        "verified_toolsets": maker.field("/verified_toolsets"),
        "stages": [maker.stage(place) for place in range(len(draft["stages"]))],
        "stages_error": complaints.at("/stages", "stages"),
        "taxonomy": [maker.kind(place, known_kinds) for place in range(len(draft["taxonomy"]))],
        "taxonomy_error": complaints.at("/taxonomy", "taxonomy"),
    }


class _Maker:
    def __init__(self, draft: Draft, complaints: Complaints) -> None:
        self.draft, self.complaints = draft, complaints

    def stage(self, place: int) -> dict[str, Any]:
        at, stage = f"/stages/{place}", self.draft["stages"][place]
        anchor = f"stage-{place + 1}"
        eligible = stage["eligible"]
        outcomes = [self.rule(f"{at}/outcomes", row, rule) for row, rule in enumerate(stage["outcomes"])]
        items = [
            self.item(f"{at}/checklist/items", row, len(stage["checklist"]["items"]))
            for row in range(len(stage["checklist"]["items"]))
        ]
        return {
            "number": place + 1,
            "at": at,
            "anchor": anchor,
            "title": stage["title"],
            "key": stage["key"],
            "buttons": self.buttons("stage", at, place, len(self.draft["stages"])),
            "fields": [
                self.field(f"{at}/title"),
                self.field(f"{at}/kind", words=STAGE_KINDS),
                self.field(f"{at}/reviewers"),
                self.field(f"{at}/consecutive"),
                self.field(f"{at}/lease_minutes"),
                self.field(f"{at}/eligible/author", words=AUTHOR_RULES),
                self.field(f"{at}/entry/mode", words=ENTRY_MODES),
                self.field(f"{at}/entry/fraction"),
            ],
            "roles": {
                "name": f"{at}/eligible/roles[]",
                "id": f"roles-{place + 1}",
                "options": [(role.value, words_of("role", role), role.value in eligible["roles"]) for role in Role],
                "error": self.complaints.at(f"{at}/eligible/roles", f"roles-{place + 1}", below=True),
            },
            "switches": [
                self.field(f"{at}/blind"),
                self.field(f"{at}/eligible/not_earlier_reviewers"),
                self.field(f"{at}/validators_are_checked_later"),
            ],
            "send_back": self.send_back(f"{at}/entry", stage["entry"]),
            "outcomes": outcomes,
            "outcomes_anchor": f"outcomes-{place + 1}",
            "outcomes_error": self.complaints.at(f"{at}/outcomes", f"outcomes-{place + 1}"),
            "outcomes_open": any(row["error"] for row in outcomes),
            "items": items,
            "items_anchor": f"checklist-{place + 1}",
            "items_error": self.complaints.at(f"{at}/checklist/items", f"checklist-{place + 1}"),
            "items_open": any(row["text"].error for row in items),
            "version": stage["checklist"].get("version", 1),
            "required": self.field(f"{at}/checklist/required"),
            "error": " ".join(
                filter(None, (self.complaints.at(at, anchor), self.complaints.at(f"{at}/entry", anchor)))
            ),
        }

    def send_back(self, at: str, entry: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the settings for sending back an owner's other items; None if the stage takes no sample."""
        on = isinstance(entry.get("send_back"), Mapping)
        if "send_back" not in entry or not (on or entry.get("mode") in ("fraction", "escalated_and_fraction")):
            return None
        return {
            "at": f"{at}/send_back",
            "on": on,
            "fields": [
                self.field(f"{at}/send_back/above"),
                self.field(f"{at}/send_back/audited"),
            ]
            if on
            else [],
        }

    def rule(self, at: str, row: int, rule: Mapping[str, Any]) -> dict[str, Any]:
        here = f"{at}/{row}"
        return {
            "buttons": self.buttons("row", here, row, len(self.value(at))),
            "verdicts": [
                self.field(
                    f"{here}/verdicts/{n}",
                    _("Row %(row)s, verdict %(verdict)s") % {"row": row + 1, "verdict": n + 1},
                    words=VERDICTS,
                )
                for n in range(len(rule["verdicts"]))
            ],
            "content": self.field(f"{here}/content", _("Row %(row)s, content") % {"row": row + 1}, words=CONTENT_RULES),
            "outcome": self.field(f"{here}/outcome", _("Row %(row)s, outcome") % {"row": row + 1}, words=_OUTCOMES),
            "error": self.complaints.at(here, dom_id(f"{here}/outcome"), below=True),
        }

    def item(self, at: str, row: int, rows: int) -> dict[str, Any]:
        here = f"{at}/{row}"
        return {
            "buttons": self.buttons("question", here, row, rows),
            "text": self.field(f"{here}/text", _("Question %(number)s") % {"number": row + 1}),
            "per_task": self.field(f"{here}/per_task"),
            "applies": self.field(
                f"{here}/applies", _("When question %(number)s is asked") % {"number": row + 1}, words=APPLIES
            ),
            "required": self.field(f"{here}/required"),
        }

    def kind(self, place: int, known: frozenset[str]) -> dict[str, Any]:
        here, kind = f"/taxonomy/{place}", self.draft["taxonomy"][place]
        return {
            "at": here,
            "number": place + 1,
            "key": kind["key"],
            "removable": kind["key"] not in known,
            "label": self.field(f"{here}/label", _("Error type %(number)s, name") % {"number": place + 1}),
            "description": self.field(
                f"{here}/description", _("Error type %(number)s, description") % {"number": place + 1}
            ),
            "retired": self.field(f"{here}/retired"),
            "error": self.complaints.at(here, dom_id(f"{here}/label")),
        }

    def buttons(self, what: str, at: str, row: int, rows: int) -> list[tuple[str, str, str, bool]]:
        """Return (value, icon, label, whether it is disabled) of the buttons of one of so many rows."""
        up, down, remove = (str(label) % {"number": row + 1} for label in _BUTTONS[what])
        return [
            (f"up:{at}", "arrow-up", up, row == 0),
            (f"down:{at}", "arrow-down", down, row == rows - 1),
            (f"remove:{at}", "trash", remove, False),
        ]

    # --- fields ---

    def value(self, pointer: str) -> Any:
        node: Any = self.draft
        for step in pointer.split("/")[1:]:
            if isinstance(node, list):
                node = node[int(step)] if int(step) < len(node) else None
            else:
                node = node.get(step) if isinstance(node, Mapping) else None
        return node

    def field(self, pointer: str, label: str = "", *, words: Mapping[str, str] | None = None) -> Field:
        """Return the field of a value, as the protocol's schema describes it. ``words``: labels of its choices."""
        shape = own_shape(pointer.rpartition("/")[2], schema_at(_SCHEMA, pointer))
        shape = replace(shape, title=_(shape.title), description=_(shape.description))
        if words is not None:
            shape = replace(shape, kind=Kind.ENUM, choices=tuple(words), words={one: _(words[one]) for one in words})
        value = self.value(pointer)
        if value is None:
            value = "" if shape.default is ABSENT else shape.default
        if isinstance(value, str):
            value = read_or_keep(shape, value)
        key = f"%{pointer}" if shape.kind is Kind.PERCENT else pointer
        error = self.complaints.at(pointer, dom_id(key), below=True)
        return field_at(pointer, shape, value, key=key, label=label, error=error)


def shaped(draft: Any) -> bool:
    """Return whether a draft has the shape of a protocol, whatever its values: the form is built from it."""

    def rows(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(one, dict) for one in value)

    if not isinstance(draft, dict) or not rows(draft.get("stages")) or not rows(draft.get("taxonomy")):
        return False
    return all(
        {"key", "title"} <= set(stage)
        and isinstance(stage.get("eligible"), dict)
        and isinstance(stage["eligible"].get("roles"), list)
        and isinstance(stage.get("entry"), dict)
        and isinstance(stage.get("checklist"), dict)
        and rows(stage["checklist"].get("items"))
        and rows(stage.get("outcomes"))
        and all(isinstance(rule.get("verdicts"), list) for rule in stage["outcomes"])
        for stage in draft["stages"]
    ) and all(isinstance(kind.get("key"), str) for kind in draft["taxonomy"])
