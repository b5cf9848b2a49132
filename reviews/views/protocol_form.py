"""The protocol editor's form, as data: a field for everything a protocol says, each with what is wrong with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.schema.errors import Problem
from annotator.models import Role
from annotator.presentation.components.form_tags import plain_name
from reviews.core.protocols import EntryMode, Outcome, Verdict
from reviews.core.protocols.differences import AUTHOR_RULES, CONTENT_RULES, ENTRY_MODES, OUTCOMES, STAGE_KINDS
from reviews.core.protocols.drafting import Draft
from reviews.core.protocols.protocol import ANY

Options = list[tuple[str, str]]
_VERDICTS: Options = [*((str(one), str(one)) for one in Verdict), (ANY, "any verdict")]
_ENTRY: Options = [(str(one), ENTRY_MODES.get(one, str(one))) for one in EntryMode]
#: What a table may say; a confirmation is made by the stage itself.
_OUTCOMES: Options = [(str(one), OUTCOMES.get(one, str(one))) for one in Outcome if one != "confirm"]


@dataclass(frozen=True)
class FormField:
    """One field: where its value stands, how it is drawn, and what is wrong with it."""

    name: str
    label: str
    value: Any
    type: str = "text"
    hint: str = ""
    error: str = ""
    options: Options = field(default_factory=list)
    checked: bool = False
    minimum: Any = ""
    maximum: Any = ""

    @property
    def id(self) -> str:
        return f"f-{plain_name(self.name)}"


class Complaints:
    """What is wrong, to be fetched place by place; what nobody fetched is said at the nearest place above."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        self._places: dict[str, str] = {"": "editor"}

    def at(self, pointer: str, place: str, *, below: bool = False) -> str:
        """The sentences about a place; ``below``: and about what is in it. ``place``: the id of its element."""
        self._places[pointer] = place
        return " ".join(
            dict.fromkeys(
                one.message
                for one in self.problems
                if one.pointer == pointer or (below and one.pointer.startswith(f"{pointer}/"))
            )
        )

    def summary(self) -> list[tuple[str, str, str, str]]:
        """(id of the element, where, sentence, the stage whose outcome table can be written anew) of every problem."""
        return [
            (self._nearest(one.pointer), one.pointer, one.message, _stage_of_table(one.pointer))
            for one in self.problems
        ]

    def _nearest(self, pointer: str) -> str:
        while pointer not in self._places:
            pointer = pointer.rpartition("/")[0]
        return self._places[pointer]


def _stage_of_table(pointer: str) -> str:
    """The pointer of the stage where a problem is about its whole outcome table; else blank."""
    stage, _, field_name = pointer.rpartition("/")
    return stage if field_name == "outcomes" else ""


def form_of(draft: Draft, complaints: Complaints, *, known_kinds: frozenset[str]) -> dict[str, Any]:
    """Everything the editor's template shows. ``known_kinds``: kinds of faults in force, which are never removed."""
    maker = _Maker(draft, complaints)
    return {
        "name": maker.text("/name", "Name of the protocol"),
        "alarm": maker.percent(
            "/discrepancy_alarm",
            "Warn above, % of compared items",
            hint="When independent reviewers disagree more often than this, the project’s page warns.",
        ),
        "alarm_after": maker.number(
            "/alarm_after",
            "Warn from so many compared items",
            1,
            100_000,
            hint="Of a stage. Before that there is no warning: one disagreement in two items says little.",
        ),
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
        many = len(self.draft["stages"])
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
            "first": place == 0,
            "last": place == many - 1,
            "fields": [
                self.text(f"{at}/title", "Title"),
                self.select(f"{at}/kind", "Kind", [(str(key), word) for key, word in STAGE_KINDS.items()]),
                self.number(f"{at}/reviewers", "Independent reviewers", 1, 9),
                *self.in_a_row(at, stage),
                self.number(f"{at}/lease_minutes", "Lease, minutes", 1, 1440, hint="Without a sign of life."),
                self.select(
                    f"{at}/eligible/author", "Author rule", [(str(key), word) for key, word in AUTHOR_RULES.items()]
                ),
                self.select(f"{at}/entry/mode", "What enters", _ENTRY),
                self.percent(f"{at}/entry/fraction", "Random fraction, %", hint="Of what passes the stage before."),
            ],
            "roles": {
                "name": f"{at}/eligible/roles[]",
                "id": f"roles-{place + 1}",
                "options": [(role.value, role.label, role.value in eligible["roles"]) for role in Role],
                "error": self.complaints.at(f"{at}/eligible/roles", f"roles-{place + 1}", below=True),
            },
            "switches": [
                self.checkbox(f"{at}/blind", "Blind: nobody sees a review before all are in"),
                self.checkbox(
                    f"{at}/eligible/not_earlier_reviewers", "Nobody who reviewed the item in an earlier stage"
                ),
                *self.own_switches(at, stage),
            ],
            "send_back": self.send_back(f"{at}/entry", stage["entry"]),
            "outcomes": outcomes,
            "outcomes_anchor": f"outcomes-{place + 1}",
            "outcomes_error": self.complaints.at(f"{at}/outcomes", f"outcomes-{place + 1}"),
            "outcomes_open": any(row["error"] for row in outcomes),
            "items": items,
            "items_error": self.complaints.at(f"{at}/checklist/items", f"checklist-{place + 1}"),
            "items_open": any(row["text"].error for row in items),
            "version": stage["checklist"].get("version", 1),
            "required": self.checkbox(f"{at}/checklist/required", "Every question must be answered yes or no"),
            "error": " ".join(
                filter(None, (self.complaints.at(at, anchor), self.complaints.at(f"{at}/entry", anchor)))
            ),
        }

    def in_a_row(self, at: str, stage: Mapping[str, Any]) -> list[FormField]:
        hint = "How many people, one after the other, must approve the same version."
        return [self.number(f"{at}/consecutive", "Approvals in a row", 1, 5, hint)] if "consecutive" in stage else []

    def own_switches(self, at: str, stage: Mapping[str, Any]) -> list[FormField]:
        """Further fields of a stage that are yes or no."""
        known = ("blind",)
        return [
            self.checkbox(f"{at}/{name}", name.replace("_", " ").capitalize())
            for name, value in stage.items()
            if name not in known and (isinstance(value, bool) or value in ("true", "false"))
        ]

    def send_back(self, at: str, entry: Mapping[str, Any]) -> dict[str, Any] | None:
        """When the rest of an owner's items goes back: offered where a sample is taken."""
        on = isinstance(entry.get("send_back"), Mapping)
        if "send_back" not in entry or not (on or entry.get("mode") in ("fraction", "escalated_and_fraction")):
            return None
        return {
            "at": f"{at}/send_back",
            "on": on,
            "fields": [
                self.percent(f"{at}/send_back/above", "Send back above, % with an error"),
                self.number(f"{at}/send_back/audited", "… of at least so many audited", 1, 10_000),
            ]
            if on
            else [],
        }

    def rule(self, at: str, row: int, rule: Mapping[str, Any]) -> dict[str, Any]:
        here = f"{at}/{row}"
        rows = len(self.value(at))
        return {
            "at": here,
            "number": row + 1,
            "first": row == 0,
            "last": row == rows - 1,
            "verdicts": [
                self.select(f"{here}/verdicts/{n}", f"Row {row + 1}, verdict {n + 1}", _VERDICTS)
                for n in range(len(rule["verdicts"]))
            ],
            "content": self.select(
                f"{here}/content", f"Row {row + 1}, content", [(str(key), word) for key, word in CONTENT_RULES.items()]
            ),
            "outcome": self.select(f"{here}/outcome", f"Row {row + 1}, outcome", _OUTCOMES),
            "error": self.complaints.at(here, f"f-{plain_name(here)}-outcome", below=True),
        }

    def item(self, at: str, row: int, rows: int) -> dict[str, Any]:
        here = f"{at}/{row}"
        return {
            "at": here,
            "number": row + 1,
            "first": row == 0,
            "last": row == rows - 1,
            "text": self.text(f"{here}/text", f"Question {row + 1}"),
            "per_task": self.checkbox(f"{here}/per_task", "each task"),
        }

    def kind(self, place: int, known: frozenset[str]) -> dict[str, Any]:
        here, kind = f"/taxonomy/{place}", self.draft["taxonomy"][place]
        return {
            "at": here,
            "number": place + 1,
            "key": kind["key"],
            "removable": kind["key"] not in known,
            "label": self.text(f"{here}/label", f"Kind {place + 1}, word"),
            "description": self.text(f"{here}/description", "Description"),
            "retired": self.checkbox(f"{here}/retired", "not used any more"),
            "error": self.complaints.at(here, f"f-{plain_name(here)}-label"),
        }

    # --- fields ---

    def value(self, pointer: str) -> Any:
        node: Any = self.draft
        for step in pointer.split("/")[1:]:
            if isinstance(node, list):
                node = node[int(step)] if int(step) < len(node) else None
            else:
                node = node.get(step) if isinstance(node, Mapping) else None
        return node

    def text(self, pointer: str, label: str, hint: str = "") -> FormField:
        return self._field(pointer, label, hint=hint)

    def number(self, pointer: str, label: str, minimum: int, maximum: int, hint: str = "") -> FormField:
        return self._field(pointer, label, type="number", hint=hint, minimum=minimum, maximum=maximum)

    def percent(self, pointer: str, label: str, hint: str = "") -> FormField:
        value = self.value(pointer)
        shown = f"{round(value * 100, 6):g}" if isinstance(value, int | float) else value
        return self._field(pointer, label, name=f"%{pointer}", value=shown, hint=hint)

    def select(self, pointer: str, label: str, options: Sequence[tuple[str, str]]) -> FormField:
        return self._field(pointer, label, type="select", options=list(options))

    def checkbox(self, pointer: str, label: str) -> FormField:
        return self._field(pointer, label, type="checkbox", value="true", checked=self.value(pointer) in (True, "true"))

    def _field(self, pointer: str, label: str, *, name: str = "", **more: Any) -> FormField:
        made = FormField(name=name or pointer, label=label, value=more.pop("value", self.value(pointer)), **more)
        error = self.complaints.at(pointer, made.id, below=True)
        return FormField(**{**vars(made), "error": error})


def shaped(draft: Any) -> bool:
    """Whether a draft has a protocol's shape, whatever stands in its fields: the form is made along it."""

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
