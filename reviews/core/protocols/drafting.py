"""A protocol while somebody edits it: plain JSON that may still be invalid, and the editor's steps.

Places are JSON pointers. A form field is named after what it sets: ``/stages/0/title``; ``%/discrepancy_alarm`` for a
share typed in per cent; ``/stages/0/eligible/roles[]`` for a list with one field for each value.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from annotator.core.forms.shapes import Kind, Shape
from annotator.core.forms.values import read_or_keep
from annotator.core.roles import Role
from annotator.core.schema.canonical import unescape
from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.text import gettext_noop
from reviews.core.protocols.presets import EXPERT, ONE_COLLEAGUE, ONE_REVIEWER
from reviews.core.protocols.protocol import (
    ANY,
    AuthorRule,
    ChecklistItem,
    ContentRule,
    Eligible,
    EntryMode,
    ErrorType,
    Outcome,
    OutcomeRule,
    Protocol,
    Stage,
    StageKind,
    Verdict,
    read_protocol,
)
from reviews.core.protocols.validation import validate

Draft = dict[str, Any]
_PERCENT = Shape(Kind.PERCENT)
#: Entries of a list that a form can add.
_MAX_ENTRIES = 60
#: Entries and fields of a whole protocol, in all its lists and objects; the presets have about three hundred. Each row
#: of an outcome table is a row of fields on the page and is compared with every combination of verdicts.
MAX_VALUES = 5_000
#: Bytes of a protocol as JSON; the presets have about eight thousand.
MAX_BYTES = 400_000
_A, _F, _R = Verdict.APPROVE, Verdict.FIX, Verdict.REJECT
#: The outcome tables that an editor can ask for.
TABLES = {"agree": gettext_noop("all reviewers must agree"), "majority": gettext_noop("a majority decides")}


def overlay(draft: Draft, fields: Iterable[tuple[str, Sequence[str]]]) -> Draft:
    """Return a copy of the draft with the form's values set; ignore fields that lead nowhere."""
    draft = deepcopy(draft)
    for name, values in fields:
        path = name.removeprefix("%").removesuffix("[]")
        if not path.startswith("/"):
            continue
        holder, key = _holder(draft, path)
        if holder is None or not values:
            continue
        value: Any = values[-1].replace("\r\n", "\n")
        if name.endswith("[]"):
            value = [one for one in values if one]
        elif name.startswith("%"):
            value = read_or_keep(_PERCENT, value)
        holder[key] = value
    return draft


def step(draft: Draft, action: str) -> Draft:
    """Return a copy after one step.

    Steps: ``add:/stages``, ``remove:/stages/1``, ``up:…``, ``down:…``; ``agree:/stages/1`` writes an outcome table;
    ``give:/stages/3/entry/send_back`` and ``drop:…`` switch the sending back of an owner's other items on and off. An
    impossible step changes nothing, because the page may be outdated.
    """
    draft = deepcopy(draft)
    name, _, pointer = action.partition(":")
    if name == "add":
        holder, key = _holder(draft, pointer)
        found = holder[key] if holder is not None and _has(holder, key) else None
        make = _NEW.get(_shape(pointer))
        if isinstance(found, list) and make is not None and len(found) < _MAX_ENTRIES:
            found.append(make(draft, pointer))
        return draft
    if name in TABLES:
        holder, key = _holder(draft, f"{pointer}/outcomes")
        if isinstance(holder, dict):
            holder["outcomes"] = suggest_table(
                holder.get("kind", ""), holder.get("reviewers"), majority=name != "agree"
            )
        return draft
    holder, key = _holder(draft, pointer)
    if name in ("give", "drop") and isinstance(holder, dict) and key == "send_back":
        holder[key] = {"above": 0.2, "audited": 5} if name == "give" else None
        return draft
    if not isinstance(holder, list) or not isinstance(key, int) or not _has(holder, key):
        return draft
    if name == "remove":
        del holder[key]
    other = {"up": key - 1, "down": key + 1}.get(name, -1)
    if 0 <= other < len(holder) and name != "remove":
        holder[key], holder[other] = holder[other], holder[key]
    return draft


def complete(draft: Draft) -> Draft:
    """Return a copy with keys for new rows, made from their names, and no fraction where every item enters."""
    draft = deepcopy(draft)
    stages = _dicts(draft.get("stages"))
    for stage in stages:
        entry = stage.get("entry")
        if isinstance(entry, dict) and entry.get("mode") == EntryMode.ALL:
            entry["fraction"] = 0.0
    for rows, word, made in (
        (draft.get("stages"), "title", "stage"),
        (draft.get("taxonomy"), "label", "error_type"),
        *((one.get("items"), "text", "item") for one in _dicts([stage.get("checklist") for stage in stages])),
    ):
        taken = {key for row in _dicts(rows) if isinstance(key := row.get("key"), str)}
        for row in _dicts(rows):
            if not row.get("key"):
                row["key"] = _key(str(row.get(word) or ""), made, taken)
                taken.add(row["key"])
    return draft


def has_too_many_values(draft: Any) -> bool:
    """Return whether the draft is too large for a form."""
    left, waiting = MAX_VALUES, [draft]
    while waiting and left >= 0:
        value = waiting.pop()
        if isinstance(value, dict | list):
            left -= len(value)
            waiting += value.values() if isinstance(value, dict) else value
    return left < 0


def check(draft: Draft) -> tuple[Protocol | None, list[Problem]]:
    """Return the protocol, if it can be read, and all its problems."""
    try:
        protocol = read_protocol(draft)
    except SchemaProblem as error:
        return None, error.problems
    return protocol, validate(protocol)


def suggest_table(kind: str, reviewers: Any, *, majority: bool = False) -> list[dict[str, Any]]:
    """Return a complete outcome table for that many reviewers, as JSON: what they agree on, else escalate.

    ``majority``: more than half is enough. A single reviewer decides, but cannot reject an item alone. A senior
    reviewer's verdict is final; if senior reviewers disagree, the item goes back to its author.
    """
    count = _count(reviewers)
    expert = kind == StageKind.EXPERT
    otherwise = Outcome.BACK_TO_AUTHOR if expert else Outcome.ESCALATE
    rules: Sequence[OutcomeRule]
    if count == 1:
        rules = EXPERT if expert else ONE_COLLEAGUE if kind == StageKind.CROSS_CHECK else ONE_REVIEWER
    else:
        enough = count // 2 + 1 if majority else count
        rest = (ANY,) * (count - enough)
        rules = [
            OutcomeRule(verdicts=(_A,) * enough + rest, outcome=Outcome.PASS),
            OutcomeRule(
                verdicts=(_F,) * enough + rest,
                content=ContentRule.MAJORITY if majority else ContentRule.SAME,
                outcome=Outcome.PASS_WITH_FIX,
            ),
            OutcomeRule(verdicts=(_R,) * enough + rest, outcome=Outcome.REJECTED),
            OutcomeRule(verdicts=(ANY,) * count, outcome=otherwise),
        ]
    return [rule.model_dump(mode="json") for rule in rules]


def renumber_checklists(protocol: Protocol, earlier: Sequence[Protocol]) -> Protocol:
    """Return the protocol with each checklist's version number as its history requires.

    ``earlier``: the versions so far, newest first. An unchanged checklist keeps its number, a changed one gets the next
    number unused in its stage, and the checklist of a new stage keeps the number it has.
    """
    stages = []
    for stage in protocol.stages:
        past = [one.checklist for version in earlier for one in version.stages if one.key == stage.key]
        if past:
            same = past[0].items == stage.checklist.items
            number = past[0].version if same else max(one.version for one in past) + 1
            stage = stage.model_copy(update={"checklist": stage.checklist.model_copy(update={"version": number})})
        stages.append(stage)
    return protocol.model_copy(update={"stages": tuple(stages)})


# --- in detail --------------------------------------------------------------------------------------------------------


def _count(reviewers: Any) -> int:
    """Return a number of reviewers as typed; 1 if it is none."""
    try:
        return max(1, min(9, int(reviewers)))
    except (TypeError, ValueError, OverflowError):
        return 1


def _new_stage(draft: Draft, pointer: str) -> Draft:
    eligible = Eligible(roles=(Role.ANNOTATOR, Role.SENIOR_REVIEWER), author=AuthorRule.NOT_AUTHOR)
    stage = Stage(
        key="x", title="New stage", kind=StageKind.CROSS_CHECK, eligible=eligible, blind=True, outcomes=ONE_COLLEAGUE
    )
    return stage.model_dump(mode="json") | {"key": ""}


def _new_rule(draft: Draft, pointer: str) -> Draft:
    holder, _ = _holder(draft, pointer)
    return {"verdicts": [ANY] * _count((holder or {}).get("reviewers", 1)), "content": "any", "outcome": "escalate"}


def _new_item(draft: Draft, pointer: str) -> Draft:
    return ChecklistItem(key="x", text="New question").model_dump() | {"key": ""}


def _new_kind(draft: Draft, pointer: str) -> Draft:
    return ErrorType(key="x", label="New error type").model_dump() | {"key": ""}


_NEW = {
    "/stages": _new_stage,
    "/taxonomy": _new_kind,
    "/stages/#/outcomes": _new_rule,
    "/stages/#/checklist/items": _new_item,
}


def _shape(pointer: str) -> str:
    return re.sub(r"/\d+", "/#", pointer)


def _holder(draft: Any, pointer: str) -> tuple[Any, Any]:
    """Return the dictionary or list that holds the place, and its key there; (None, None) if it leads nowhere."""
    steps = [unescape(one) for one in pointer.split("/")[1:]]
    node = draft
    for number, name in enumerate(steps):
        key: Any = name
        if isinstance(node, list):
            if not (name.isascii() and name.isdigit() and len(name) < 4):
                return None, None
            key = int(name)
        elif not isinstance(node, dict):
            return None, None
        if number == len(steps) - 1:
            return (node, key) if isinstance(node, dict) or key < len(node) else (None, None)
        if not _has(node, key):
            return None, None
        node = node[key]
    return None, None


def _has(node: Any, key: Any) -> bool:
    return key in node if isinstance(node, dict) else isinstance(node, list) and 0 <= key < len(node)


def _dicts(rows: Any) -> list[dict[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _key(text: str, made: str, taken: set[Any]) -> str:
    """Make a key from words: letters a to z, digits and underscores, not one of ``taken``."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:36].rstrip("_")
    if not re.match(r"[a-z]", stem):
        stem = f"{made}_{stem}".rstrip("_")
    key, number = stem, 2
    while key in taken:
        key, number = f"{stem[:36]}_{number}", number + 1
    return key
