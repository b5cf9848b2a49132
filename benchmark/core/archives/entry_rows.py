"""The entries of a release: a row for each task that scores can name, and rows with messages for the challenges.

Enumerated as the scorers do it: the id of an entry is its name in scores. A row of the entries refers to the messages
of ``openai.jsonl`` by their number; a row of a challenge has its messages, so that a model can answer it at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from annotator.core.composites.prompt import first_message
from annotator.core.graph import derive_topology
from annotator.core.schema.exact_json import dumps
from benchmark.core.archives.message_copies import message_places
from benchmark.core.archives.table import CHALLENGES, ENTRIES, SPLIT, Table
from benchmark.core.formats.answer_nodes import write_nodes
from benchmark.core.formats.interface import CANARY, ReadDialogue
from benchmark.core.inference.asking import as_tools
from benchmark.core.inference.tasks import Openings
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.challenges import Challenge, challenge_id, challenges_of
from benchmark.core.scoring.references import (
    ReferenceDialogue,
    UnusableReference,
    entry_name,
    switches,
    task_type,
)

NOT_SCORED, OTHER_KIND = "not_scored", "other_kind"
_MULTI_TURN = "multi_turn"
_TOOLSET = "toolset"
_SHADOWED = "Another dialogue of the release has the same id and language, and the scorers read only that one."


class Part:
    """A value that a file has as JSON. Its text is written once."""

    __slots__ = ("_text", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._text: bytes | None = None

    @property
    def text(self) -> bytes:
        if self._text is None:
            self._text = dumps(self.value)
        return self._text


#: Column → its value, JSON values as ``Part``; the canary is missing.
Row = dict[str, Any]


def as_record(row: Row) -> dict[str, Any]:
    """Return a row with plain values."""
    return {name: value.value if type(value) is Part else value for name, value in row.items()}


def as_line(row: Row, canary: str) -> bytes:
    """Return a row as a line of JSON."""
    values = {name: orjson.Fragment(value.text) if type(value) is Part else value for name, value in row.items()}
    return dumps(values | {CANARY: canary}, option=orjson.OPT_APPEND_NEWLINE)


def as_table_row(row: Row, canary: str) -> dict[str, Any]:
    """Return a row with JSON values as texts."""
    values = {name: value.text.decode() if type(value) is Part else value for name, value in row.items()}
    return values | {CANARY: canary}


class EntryRows:
    """Makes the rows of a release in one format, dialogue by dialogue, and counts them.

    ``toolset_of`` returns the hash of a dialogue's toolset by the dialogue's id.
    """

    def __init__(self, native_format: str, toolset_of: Callable[[str], str]) -> None:
        self.challenges = challenges_of(native_format)
        self._toolset_of = toolset_of
        #: The tools of the last dialogue, and as a challenge has them: many dialogues share theirs.
        self._tools: tuple[list[Any] | None, Part] = (None, Part(None))
        self._entries = self._not_scored = 0
        self._excluded: dict[str, Counter[str]] = {one.name: Counter() for one in self.challenges}
        self._within: dict[str, Counter[str]] = {one.name: Counter() for one in self.challenges}

    @property
    def tables(self) -> list[Table]:
        """The tables that can have rows."""
        return [Table(ENTRIES), *(Table(CHALLENGES, one.name) for one in self.challenges)]

    def of(self, variants: Sequence[ReadDialogue]) -> dict[str, list[Row]]:
        """Return the rows of one dialogue in all its languages: split → rows."""
        found: dict[str, list[Row]] = {SPLIT: [], **{one.name: [] for one in self.challenges}}
        # Of dialogues with the same id and language, the scorers keep the last.
        last = {_language(one): one for one in variants if one.document["kind"] == _MULTI_TURN}
        scored: dict[str, set[str]] = {one.name: set() for one in self.challenges}
        for one in variants:
            if one.document["kind"] == _TOOLSET:
                # A model answers no toolset.
                continue
            if one.document["kind"] != _MULTI_TURN:
                found[SPLIT].append(self._whole(one))
                continue
            problem = _problem(one) if last[_language(one)] is one else _SHADOWED
            for row, parts in self._tasks(one, problem, scored):
                found[SPLIT].append(row)
                for challenge, part in parts:
                    found[challenge.name].append(part)
        for name, dialogues in scored.items():
            self._within[name]["dialogues"] += len(dialogues)
        return found

    def summary(self) -> dict[str, Any]:
        """Return how many entries there are, how many of each challenge, and why others are not in it."""
        return {
            "entries": self._entries,
            "not_scored": self._not_scored,
            "challenges": {
                one.name: {
                    "history": one.history,
                    "entries": self._within[one.name]["entries"],
                    "dialogues": self._within[one.name]["dialogues"],
                    "excluded": dict(sorted(self._excluded[one.name].items())),
                }
                for one in self.challenges
            },
        }

    def _tasks(
        self, one: ReadDialogue, problem: str, scored: dict[str, set[str]]
    ) -> Iterator[tuple[Row, list[tuple[Challenge, Row]]]]:
        """Yield the row of each task, with its rows in challenges. ``scored`` collects the dialogues of each."""
        document, dialogue = one.document, one.variant_group or one.external_id
        policies = [task["policy"] for task in document["tasks"]]
        if one.tools is not self._tools[0]:
            self._tools = one.tools, Part(as_tools(one.tools))
        openings, tools = Openings(document), self._tools[1]
        for index, (task, (whole, told)) in enumerate(zip(document["tasks"], message_places(one), strict=True)):
            topology = derive_topology(task["steps"])
            labels = {
                "policy": task["policy"] or "",
                "task_type": task_type(task) or "",
                "topology": str(topology) if topology else "",
                "information": task["information"] or "",
                "switches": switches(policies[: index + 1]),
            }
            entry = entry_name(dialogue, index)
            place = {"dialogue": dialogue, "item": one.external_id, "task": index, "language": _language(one)}
            reference = Part(write_nodes(task, full=True))
            parts: list[tuple[Challenge, Row]] = []
            messages: dict[str, Part] = {}
            for challenge in self._containing(task["policy"], index, problem):
                scored[challenge.name].add(dialogue)
                history = challenge.history
                if history not in messages:
                    messages[history] = Part(openings.of(index, history))
                row: Row = {"id": challenge_id(entry, challenge), "entry": entry} | place
                row |= {"challenge": challenge.name, "history": history} | labels
                row |= {"messages": messages[history], "tools": tools, "reference": reference}
                parts.append((challenge, row))
            row = {"id": entry} | place | {"kind": document["kind"], "history_messages": whole, "history_answers": told}
            row |= labels | {
                "calls": sum(step["type"] == "call" for step in task["steps"]),
                "challenges": [challenge.name for challenge, _ in parts],
            }
            yield self._finished(one, row, problem, task["user_message"], reference), parts

    def _containing(self, policy: str | None, index: int, problem: str) -> list[Challenge]:
        """Return the challenges that have the entry of a task, and count the others."""
        found = []
        for challenge in self.challenges:
            outside = NOT_SCORED if problem else challenge.outside(policy, index)
            if outside:
                self._excluded[challenge.name][outside] += 1
            else:
                self._within[challenge.name]["entries"] += 1
                found.append(challenge)
        return found

    def _whole(self, one: ReadDialogue) -> Row:
        """Return the row of a case, single task or composite, which is one entry."""
        for challenge in self.challenges:
            self._excluded[challenge.name][OTHER_KIND] += 1
        document, problem, before = one.document, "", 0
        reference: Any
        if document["kind"] == "constrained":
            before, request = int(bool(document["system_prompt"])), document["user_query"]
            trajectory = document["reference_trajectory"]
            reference = {"unsolved_set": document["unsolved_set"], "reference_trajectory": trajectory}
            calls = sum(len(each["calls"]) for each in trajectory or ())
            problem = _case_problem(one)
        elif document["kind"] == "composite":
            members = document["tasks"]
            request = first_message({task["single"]: task["user_message"] for task in members})
            reference = {"tasks": [task["single"] for task in members]}
            calls = sum(task["calls"] for task in members)
        else:
            (task,) = document["tasks"]
            request, reference = task["user_message"], write_nodes(task, full=True)
            calls = sum(step["type"] == "call" for step in task["steps"])
        row = {
            "id": one.external_id, "dialogue": one.external_id, "item": one.external_id, "task": 0,
            "language": _language(one), "kind": document["kind"], "history_messages": before,
            "history_answers": before, "policy": "", "task_type": "", "topology": "", "information": "", "switches": 0,
            "calls": calls, "challenges": [],
        }  # fmt: skip
        return self._finished(one, row, problem, request, Part(reference))

    def _finished(self, one: ReadDialogue, row: Row, problem: str, request: str, reference: Part) -> Row:
        self._entries += 1
        self._not_scored += bool(problem)
        return row | {
            "not_scored": problem, "toolset_sha256": self._toolset_of(one.external_id), "request": request,
            "reference": reference,
        }  # fmt: skip


def _language(one: ReadDialogue) -> str:
    """Return the language in which the scorers count a dialogue."""
    return one.document.get("language") or one.language


def _problem(one: ReadDialogue) -> str:
    """Return why the scorers cannot use the reference of a dialogue; blank if they can."""
    try:
        for task in ReferenceDialogue(one).tasks:
            task.graph  # noqa: B018 - it raises for dependencies that cannot be followed
    except UnusableReference as problem:
        return str(problem)
    return ""


def _case_problem(one: ReadDialogue) -> str:
    try:
        ReferenceCase(one)
    except UnusableReference as problem:
        return str(problem)
    return ""
